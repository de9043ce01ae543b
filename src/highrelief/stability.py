r"""Stability: agreement of the rankings or selections of several fits.

Rankings are compared by :func:`spearman`; selections by :func:`jaccard`, :func:`kuncheva` and
:func:`nogueira`. The last two are corrected for chance: independent selections score 0 on average, whatever
their size. :func:`stability_score` fits an estimator to random subsets of the samples and compares the
results.

Every measure takes one ranking, or one selection, per row, and needs at least two rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from ._engine.parameters import check_choice, check_count, check_number
from .base.meta import innermost
from .base.resampling import ResampledWeighter
from .base.selector import best_features, is_fraction
from .base.validation import check_array, plain

__all__ = [
    "NogueiraStability",
    "StabilityBySize",
    "accuracy_tradeoff",
    "jaccard",
    "kuncheva",
    "nogueira",
    "spearman",
    "stability_by_size",
    "stability_score",
]

#: Measures of ``stability_score``.
MEASURES = ("spearman", "jaccard", "kuncheva", "nogueira")


class NogueiraStability(NamedTuple):
    """Nogueira's estimate of the stability of a selection, and its confidence interval."""

    #: At most 1; 0 on average for random selections; nan if nothing or everything was selected.
    stability: float
    #: Bounds of the asymptotic interval; they may exceed 1.
    lower: float
    upper: float


def spearman(rankings: ArrayLike) -> float:
    r"""Mean of Spearman's rank correlation over all pairs of rankings (Li et al. 2015, eqs. 21 and 22).

    .. math:: S = \frac{2}{c (c - 1)} \sum_{l < l'} \rho(R_l, R_{l'})

    Each row is ranked again, equal values sharing the mean of their ranks, and ρ is the correlation of these
    ranks: without ties that is the paper's :math:`1 - 6 \sum_p (R_l^p - R_{l'}^p)^2 / (d (d^2 - 1))`. The
    latter must not be fed averaged ranks, as those of an ensemble: m random rankings averaged score 1 − 1/m
    by it.

    Parameters
    ----------
    rankings : array-like of shape (n_rankings, n_features)
        Ranks, mean ranks or weights, one row for each fit; all best-first, or all best-last.

    Returns
    -------
    stability : float
        In [−1, 1]; nan for a single feature. A row whose values are all the same orders nothing: its
        correlation with any other counts as 0.

    References
    ----------
    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm.
    IEEE TNNLS 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief.stability import spearman
    >>> spearman([[1, 2, 3, 4], [1, 2, 3, 4], [2, 1, 3, 4]])
    0.8666666666666666
    """
    rows = _checked_rows(rankings, "rankings")
    n_rankings, n_features = rows.shape
    if n_features == 1:
        return float("nan")
    centered = rankdata(rows, axis=1) - 0.5 * (n_features + 1)
    squares = np.sum(np.square(centered), axis=1, keepdims=True)
    largest = squares.max()
    if largest == 0.0:
        return 0.0
    # Of the same length; rows without ties keep their exact ranks.
    even = np.divide(centered, np.sqrt(squares / largest), out=np.zeros_like(centered), where=squares > 0.0)
    # Products of all pairs, from the square of the sum.
    total = np.sum(np.square(even.sum(axis=0))) / largest - np.count_nonzero(squares)
    return _within(total / (n_rankings * (n_rankings - 1)), -1.0, 1.0)


def jaccard(supports: ArrayLike) -> float:
    r"""Mean over all pairs of selections of what they share, as part of what either keeps.

    .. math:: J = \frac{2}{c (c - 1)} \sum_{l < l'} \frac{|A_l \cap A_{l'}|}{|A_l \cup A_{l'}|}

    Not corrected for chance: selections of nearly all features appear stable.

    Parameters
    ----------
    supports : array-like of shape (n_selections, n_features)
        Masks of the selected features, one row for each fit.

    Returns
    -------
    stability : float
        In [0, 1]; two empty selections score 1.

    Examples
    --------
    >>> from highrelief.stability import jaccard
    >>> jaccard([[1, 1, 0, 0], [1, 0, 1, 0]])
    0.3333333333333333
    """
    selected = _checked_supports(supports)
    sizes = selected.sum(axis=1)
    shared = selected @ selected.T
    either = sizes[:, np.newaxis] + sizes - shared
    parts = np.divide(shared, either, out=np.ones_like(shared), where=either > 0.0)
    np.fill_diagonal(parts, 0.0)
    return _within(parts.sum() / (len(selected) * (len(selected) - 1)), 0.0, 1.0)


def kuncheva(supports: ArrayLike) -> float:
    r"""Mean over all pairs of Kuncheva's consistency of two selections of the same size.

    .. math:: I(A, B) = \frac{r d - k^2}{k (d - k)}

    with k features of d in each and r in both; 0 on average for random selections.

    Parameters
    ----------
    supports : array-like of shape (n_selections, n_features)
        Masks of the selected features, one row for each fit; the same number in every row.

    Returns
    -------
    stability : float
        In [−1, 1]; nan if nothing or everything is selected.

    References
    ----------
    Kuncheva, L. (2007). A stability index for feature selection. Proceedings of the 25th IASTED International
    Conference on Artificial Intelligence and Applications, 390-395.

    Examples
    --------
    >>> from highrelief.stability import kuncheva
    >>> kuncheva([[1, 1, 0, 0], [1, 1, 0, 0]]), kuncheva([[1, 1, 0, 0], [1, 0, 1, 0]])
    (1.0, 0.0)
    """
    selected = _checked_supports(supports)
    sizes = selected.sum(axis=1)
    if np.any(sizes != sizes[0]):
        raise ValueError(
            f"kuncheva compares selections of the same size, but the rows of supports keep"
            f" {int(sizes.min())} to {int(sizes.max())} features; use nogueira, which does without."
        )
    n, d, k = len(selected), selected.shape[1], sizes[0]
    if k in {0, d}:
        return float("nan")
    # r summed over ordered pairs, from the selection counts.
    times = selected.sum(axis=0)
    mean_shared = np.sum(times * (times - 1.0)) / (n * (n - 1))
    return float((mean_shared * d - k**2) / (k * (d - k)))


def nogueira(supports: ArrayLike, *, confidence: float = 0.95) -> NogueiraStability:
    r"""Nogueira's stability of selections of any sizes, with a confidence interval.

    .. math:: \hat\Phi = 1 - \frac{\frac{1}{d} \sum_f \frac{M}{M - 1} \hat p_f (1 - \hat p_f)}
              {\frac{\bar k}{d} (1 - \frac{\bar k}{d})}

    with :math:`\hat p_f` the share of the M selections that keep feature f, and :math:`\bar k` features
    kept on average. Equal to Kuncheva's index where all selections have the same size.

    Parameters
    ----------
    supports : array-like of shape (n_selections, n_features)
        Masks of the selected features, one row for each fit.
    confidence : float, default=0.95
        Confidence level of the interval. It assumes independent selections; fits to overlapping subsets are
        dependent, and measure only the stability under leaving samples out.

    Returns
    -------
    result : NogueiraStability
        ``stability`` with the interval from ``lower`` to ``upper``; all nan if nothing or everything is
        selected in every row.

    References
    ----------
    Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms.
    Journal of Machine Learning Research 18(174), 1-54.

    Examples
    --------
    >>> from highrelief.stability import nogueira
    >>> nogueira([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]).stability
    0.33333333333333326
    """
    check_number("confidence", confidence, above=0.0, below=1.0)
    selected = _checked_supports(supports)
    m, d = selected.shape
    sizes = selected.sum(axis=1)
    share, mean_size = selected.mean(axis=0), sizes.mean()
    at_random = mean_size / d * (1.0 - mean_size / d)
    if at_random == 0.0:
        return NogueiraStability(*3 * [float("nan")])
    stability = 1.0 - m / (m - 1) * np.mean(share * (1.0 - share)) / at_random
    # The contributions of the selections give the variance of the estimate.
    parts = (
        selected @ share / d
        - sizes * mean_size / d**2
        + stability / 2.0 * (2.0 * sizes * mean_size / d**2 - sizes / d - mean_size / d + 1.0)
    ) / at_random
    variance = 4.0 / m**2 * np.sum(np.square(parts - parts.mean()))
    half = ndtri(0.5 + 0.5 * confidence) * np.sqrt(variance)
    return NogueiraStability(float(stability), float(stability - half), float(stability + half))


class StabilityBySize(NamedTuple):
    """Nogueira's stability of the best 1, 2, … features."""

    #: (n_sizes,) numbers of best features.
    sizes: NDArray[np.int64]
    #: (n_sizes,) nan where undefined.
    stability: NDArray[np.float64]
    #: (n_sizes,) bounds of the intervals.
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def stability_by_size(
    weights: ArrayLike, sizes: ArrayLike | None = None, *, confidence: float = 0.95
) -> StabilityBySize:
    """Return Nogueira's stability of the best k features, for several k.

    Parameters
    ----------
    weights : array-like of shape (n_fits, n_features)
        Weights, larger = better, one row for each fit.
    sizes : array-like of shape (n_sizes,), default=None
        Values of k below n_features. None: 1, 2, 5, 10, 20, 50, …, or all for at most 20 features.
    confidence : float, default=0.95
        Confidence level of the intervals, as in :func:`nogueira`.

    Returns
    -------
    curve : StabilityBySize
        nan for a k at which the k-th and the next weight of some row are equal, as in a row with fewer than k
        non-zero weights. Breaking ties by index would make rows agree on features that none of them selected.

    Examples
    --------
    >>> from highrelief.stability import stability_by_size
    >>> curve = stability_by_size([[9, 8, 1, 0], [8, 9, 1, 0], [9, 8, 0, 1]], sizes=[1, 2, 3])
    >>> curve.stability.round(2)
    array([0.11, 1.  , 0.11])
    """
    rows = _checked_rows(weights, "weights")
    n_features = rows.shape[1]
    checked = checked_sizes(sizes, n_features)
    order = np.argsort(-rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    results = np.full((len(checked), 3), np.nan)
    supports = np.zeros(rows.shape, dtype=bool)
    for place, size in enumerate(checked):
        if np.all(ordered[:, size - 1] > ordered[:, size]):
            supports[:] = False
            np.put_along_axis(supports, order[:, :size], True, axis=1)
            results[place] = nogueira(supports, confidence=confidence)
    return StabilityBySize(checked, *results.T)


def checked_sizes(sizes: ArrayLike | None, n_features: int) -> NDArray[np.int64]:
    """Return the validated numbers of best features, or the default ones."""
    if n_features < 2:
        raise ValueError("There is a single feature: no choice that could be stable.")
    checked = default_sizes(n_features) if sizes is None else np.atleast_1d(np.asarray(sizes))
    if not checked.size:
        raise ValueError("sizes is empty: give the numbers of features to compare.")
    for size in checked:
        check_count("sizes", plain(size), at_most=n_features - 1, of="features that leave out one")
    return checked.astype(np.int64)


def default_sizes(n_features: int) -> NDArray[np.int64]:
    """Return 1, 2, 5, 10, … below the number of features; all for at most 20."""
    if n_features <= 20:
        return np.arange(1, n_features)
    steps = (np.array([1, 2, 5]) * 10 ** np.arange(len(str(n_features)))[:, np.newaxis]).ravel()
    return steps[steps < n_features]


def stability_score(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_subsets: int = 10,
    fraction: float = 0.9,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    measure: str = "spearman",
    n_features: int | float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> float | NogueiraStability:
    """Measure the stability of an estimator over random subsets of the samples.

    The protocol of Li et al. (2015): c subsets, drawn without replacement and not stratified; one ranking or
    selection from each; :func:`spearman` or another measure.

    Parameters
    ----------
    estimator : estimator
        A weighter, or any estimator with ``feature_importances_`` or ``coef_``; for measures of selections
        also any with ``get_support``. Also a pipeline that ends in one. It is cloned.
    X : array-like of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Class labels.
    n_subsets : int, default=10
        Number of subsets, c.
    fraction : float, default=0.9
        Share of the samples in each, below 1.
    groups : array-like of shape (n_samples,), default=None
        Group labels: a subset has all samples of a group or none.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; subsets are drawn from samples regardless of their weights.
    batches : array-like of shape (n_samples,), default=None
        Batch labels, passed to the fits if the estimator supports them.
    measure : {"spearman", "jaccard", "kuncheva", "nogueira"}, default="spearman"
        How results are compared. The last three compare selections.
    n_features : int, float or None, default=None
        Number or share of features selected by their weights; None: the estimator's ``get_support``.
    n_jobs : int or None, default=None
        Number of parallel fits; does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the subsets.

    Returns
    -------
    stability : float, or NogueiraStability
        The result of the measure.

    References
    ----------
    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm.
    IEEE TNNLS 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief import ReliefF
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.stability import stability_score
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> stability_score(ReliefF(), X, y, measure="kuncheva", n_features=2, random_state=0)
    1.0
    """
    check_choice("measure", measure, MEASURES)
    check_count("n_subsets", n_subsets, at_least=2)
    check_number("fraction", fraction, above=0.0, below=1.0)
    by_itself = measure != "spearman" and n_features is None
    fits = (_SubsetSelections if by_itself else _SubsetFits)(
        estimator,
        n_estimators=n_subsets,
        max_samples=float(fraction),
        n_jobs=n_jobs,
        random_state=random_state,
    )
    fits._fit_members(X, y, sample_weight, groups, batches)
    if measure == "spearman":
        return spearman(fits.member_weights_)
    supports = fits.member_weights_ if by_itself else _best(fits.member_weights_, n_features)
    if measure == "nogueira":
        return nogueira(supports)
    return jaccard(supports) if measure == "jaccard" else kuncheva(supports)


class _SubsetFits(ResampledWeighter):
    """The fits of a score, with its parameter names in messages."""

    _size_name = "fraction"


def _support_of(fitted: Any, n_features: int) -> NDArray[np.bool_]:
    """Return the features that a fitted estimator selects, in a pipeline or search those of its last step."""
    inside = innermost(fitted)
    if not hasattr(inside, "get_support"):
        raise ValueError(f"{type(fitted).__name__} selects nothing by itself; use n_features.")
    support = np.asarray(inside.get_support())
    if support.shape != (n_features,):
        raise ValueError(
            f"{type(inside).__name__} selects among {support.size} features; one of {type(fitted).__name__}'s"
            f" steps before it has changed the {n_features} features of X."
        )
    return support


class _SubsetSelections(_SubsetFits):
    """The fits of a score of selections: rows of ``member_weights_`` are masks."""

    _member_values = staticmethod(_support_of)


def _best(weights: NDArray[np.float64], n_features: Any) -> NDArray[np.bool_]:
    """Return masks of the features with the largest weights in each row."""
    if is_fraction(n_features):
        check_number("n_features", n_features, above=0.0, at_most=1.0)
    else:
        check_count("n_features", n_features, at_most=weights.shape[1], of="features of X")
    return np.stack([best_features(each, n_features) for each in weights])


def accuracy_tradeoff(stability: float, accuracy: float) -> float:
    """Harmonic mean of stability and accuracy, 2·S·A/(S + A) (Li et al. 2015).

    Parameters
    ----------
    stability : float
        At most 1; a negative stability, worse than chance, counts as 0.
    accuracy : float
        Share of samples that are classified correctly, in [0, 1].

    Returns
    -------
    tradeoff : float
        0 if either is 0.

    References
    ----------
    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm.
    IEEE TNNLS 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief.stability import accuracy_tradeoff
    >>> accuracy_tradeoff(0.5, 1.0)
    0.6666666666666666
    """
    check_number("stability", stability, at_least=-1.0, at_most=1.0)
    check_number("accuracy", accuracy, at_least=0.0, at_most=1.0)
    stable = max(float(stability), 0.0)
    return 2.0 * stable * accuracy / (stable + accuracy) if stable + accuracy > 0.0 else 0.0


def _checked_rows(rows: ArrayLike, name: str) -> NDArray[np.float64]:
    return check_array(rows, dtype=np.float64, ensure_min_samples=2, input_name=name, estimator=name)


def _checked_supports(supports: ArrayLike) -> NDArray[np.float64]:
    """Return selections as 0 and 1."""
    selected = _checked_rows(supports, "supports")
    if np.any((selected != 0.0) & (selected != 1.0)):
        raise ValueError(
            "supports must hold True or False, or 1 and 0, for each feature; the first k of rankings are"
            " rankings <= k."
        )
    return selected


def _within(mean: float, least: float, most: float) -> float:
    """Clip a mean to its bounds, which rounding may exceed."""
    return float(min(max(mean, least), most))
