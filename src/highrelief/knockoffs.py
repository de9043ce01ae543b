r"""Model-X knockoffs: a feature is kept if it weighs more than a copy that means nothing.

Every feature gets a knockoff, drawn from the other features without a look at y, such that a feature and its
knockoff could change places unnoticed, were it not for y. One fit weighs all of them side by side. Features
that y does not need are as likely to lose against their knockoffs as to win: those that lose tell how many of
those that win do so by chance.

What is null here: y and the feature are independent *given all other features*. A feature that only goes
along with one that counts is null, and so is each of two copies of the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import ndtri
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import has_fit_parameter

from .bases.checks import check_array
from .bases.cluster_input import refuse_held
from .bases.decisions import CONTROLS, Decision
from .bases.input import checked_copies, warn_user
from .bases.members import SEEDS, seeded_clone, unseeded
from .bases.meta import weights_of
from .core.gaussian_knockoffs import MOST_APART, Spectrum, draw_knockoffs
from .core.latent_scores import latent_scores
from .core.memory import memory_budget
from .core.parameters import check_choice, check_number, checked_thread_count, random_generator
from .core.threads import one_blas_thread

__all__ = ["decide_by_knockoffs"]

#: What is taken to be known of the distribution of a feature by itself.
MARGINALS = ("empirical", "gaussian")


def decide_by_knockoffs(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    control: str = "fdr",
    level: float = 0.1,
    marginals: str = "empirical",
    covariance: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
) -> Decision:
    r"""Keep the features that beat their knockoffs by a margin that bounds the false discovery rate.

    W is the weight of a feature minus that of its knockoff, both from one fit to all 2p columns; which of the
    two comes first is up to lots. Kept is what has a W of at least

    .. math:: T = \min\{t > 0 : (1 + \#\{j : W_j \le -t\}) / \#\{j : W_j \ge t\} \le \text{level}\}

    (knockoff+). The false discovery rate is then at most ``level`` if rows are independent and the
    distribution of the features is known; here their correlations are estimated, and it holds as far as the
    model does: a Gaussian copula. The 1 has a price: nothing is kept unless 1/``level`` features are, 10 at
    0.1. Two features that act together are not found among thousands at that level; permutation is for them.

    Parameters
    ----------
    estimator : estimator
        What weighs the features; it is cloned, and fitted once.
    X : array-like of shape (n_samples, n_features)
        Numbers, none of them missing.
    y : array-like of shape (n_samples,)
        What the estimator is told of the samples.
    control : {"fdr"}, default="fdr"
        The family-wise error rate is beyond knockoffs: the first feature that wins by chance is no rarer than
        one in two.
    level : float, default=0.1
        Bound of the false discovery rate, in (0, 1).
    marginals : {"empirical", "gaussian"}, default="empirical"
        "empirical": normal scores are what is taken for Gaussian, and a knockoff has exactly the values of
        its feature, in another order: binary features have binary knockoffs, and ranges are the same, by
        which weighters scale. Where features take few values, scores of equals are drawn as the model says
        (``core/latent_scores.py``). "gaussian": the features are Gaussian as they are.
    covariance : array-like of shape (n_features, n_features), default=None
        Covariance of the features, where it is known; with ``marginals="gaussian"`` only. None estimates the
        correlations from X, shrunk after Ledoit and Wolf.
    n_jobs : int or None, default=None
        Threads of the fit, unless the estimator says how many; the result is the same.
    random_state : int, RandomState or None, default=None
        Which knockoffs are drawn.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts. A sample and its copies have the same knockoffs.
    groups, batches : None
        Knockoffs know neither: samples are independent, and of one distribution.

    Returns
    -------
    decision : Decision
        ``statistic`` is W, ``threshold`` is T; ``qvalues`` the smallest level at which a feature would be
        kept.

    Notes
    -----
    Up to 600 features the knockoffs are those of minimum variance-based reconstructability (Spector and
    Janson, 2022), exact for each feature; beyond, all features share one s, and no matrix of all pairs of
    features is made: 20,000 features of 72 samples take no more memory than a few copies of X.

    References
    ----------
    Candès, E., Fan, Y., Janson, L. and Lv, J. (2018). Panning for gold: model-X knockoffs for high
    dimensional controlled variable selection. Journal of the Royal Statistical Society B 80, 551-577.

    Barber, R. F. and Candès, E. (2015). Controlling the false discovery rate via knockoffs. Annals of
    Statistics 43, 2055-2085.
    """
    _check(control, level, marginals, covariance, groups, batches)
    # Not the stream of the seed itself: tables are drawn from small seeds too, and noise that were the same
    # numbers would make each knockoff its feature.
    random = np.random.RandomState(random_generator("random_state", random_state).randint(SEEDS, size=4))
    samples, target, copies = _table(estimator, X, y, sample_weight)
    if samples.shape[1] < 1.0 / level:
        warn_user(
            f"Knockoffs keep no fewer than {int(np.ceil(1.0 / level))} features at level={level!r}, and"
            f" X has {samples.shape[1]} feature(s): nothing can be kept.",
            UserWarning,
        )
    with one_blas_thread():
        copied = knockoffs_of(samples, random, marginals=marginals, covariance=covariance, copies=copies)
    swapped = random.random_sample(samples.shape[1]) < 0.5
    member = _member(estimator, n_jobs, int(random.randint(SEEDS)))
    told = {} if copies is None else {"sample_weight": copies}
    side_by_side = np.hstack([np.where(swapped, copied, samples), np.where(swapped, samples, copied)])
    member.fit(side_by_side, target, **told)
    first, second = np.split(weights_of(member, side_by_side.shape[1]), 2)
    W = np.where(swapped, second - first, first - second)
    threshold, qvalues = knockoff_cut(W, level)
    return Decision(threshold <= W, W, None, qvalues, None, threshold)


def knockoff_cut(W: NDArray[np.float64], level: float) -> tuple[float, NDArray[np.float64]]:
    """The threshold of knockoff+, inf if nothing can be kept, and the smallest level that keeps each feature.

    Parameters
    ----------
    W : array of shape (n_features,)
        By how much features win against their knockoffs.
    level : float
        Bound of the false discovery rate.

    Returns
    -------
    threshold : float
        What W must be at least.
    qvalues : array of shape (n_features,)
        1 for features that do not win.
    """
    qvalues = np.ones(W.size)
    wins, losses = np.sort(W[W > 0.0]), np.sort(-W[W < 0.0])
    if not wins.size:
        return np.inf, qvalues
    # Between two wins nothing changes for the better: they are the only thresholds to try.
    kept = wins.size - np.searchsorted(wins, wins, side="left")
    rates = (1.0 + losses.size - np.searchsorted(losses, wins, side="left")) / kept
    best = np.minimum(np.minimum.accumulate(rates), 1.0)
    qvalues[W > 0.0] = best[np.searchsorted(wins, W[W > 0.0], side="left")]
    reached = np.flatnonzero(rates <= level)
    return float(wins[reached[0]]) if reached.size else np.inf, qvalues


def knockoffs_of(
    X: NDArray[np.float64],
    random: np.random.RandomState,
    *,
    marginals: str = "empirical",
    covariance: ArrayLike | None = None,
    copies: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Knockoffs of a table; those of features of one value are the same value."""
    varies = X.min(axis=0) < X.max(axis=0)
    knockoffs = X.copy()
    if not varies.any():
        return knockoffs
    given = X[:, varies]
    _check_room(given)
    scores = given
    if marginals == "empirical":
        scores = latent_scores(given, _normal_scores(given, random), random, copies)
    mean = np.average(scores, axis=0, weights=copies)
    scale = np.sqrt(np.average(np.square(scores - mean), axis=0, weights=copies))
    if covariance is not None:
        known = _checked_covariance(covariance, varies)
        scale = np.sqrt(known.diagonal())
        spectrum = Spectrum.of(known / np.outer(scale, scale))
    else:
        spectrum = Spectrum.shrunk((scores - mean) / scale, copies)
    Z = (scores - mean) / scale
    drawn = draw_knockoffs(Z, spectrum, random, equal=given.shape[1] > MOST_APART)
    if marginals == "gaussian":
        knockoffs[:, varies] = mean + scale * drawn
    else:
        places = drawn.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        knockoffs[:, varies] = np.take_along_axis(np.sort(given, axis=0), places, axis=0)
    return knockoffs


def _normal_scores(X: NDArray[np.float64], random: np.random.RandomState) -> NDArray[np.float64]:
    """Φ⁻¹ of (rank − ½)/n in each column, lots drawn among equals."""
    lots = random.permutation(len(X))
    places = X[lots].argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    ranks = np.empty_like(places)
    ranks[lots] = places
    return np.asarray(ndtri((ranks + 0.5) / len(X)))


# What can be given


def _check(
    control: str,
    level: float,
    marginals: str,
    covariance: ArrayLike | None,
    groups: ArrayLike | None,
    batches: ArrayLike | None,
) -> None:
    check_choice("control", control, CONTROLS)
    if control == "fwer":
        raise ValueError(
            "control='fwer' is beyond knockoffs, whose first choice is wrong by chance in up to one of two"
            " cases; use control='fdr', or method='permutation' or 'stability'."
        )
    check_number("level", level, above=0.0, below=1.0)
    check_choice("marginals", marginals, MARGINALS)
    if covariance is not None and marginals != "gaussian":
        raise ValueError("covariance is that of the features as they are: it needs marginals='gaussian'.")
    for name, value in (("groups", groups), ("batches", batches)):
        if value is not None:
            raise ValueError(
                "Knockoffs take samples to be independent and of one distribution, and cannot be told of"
                f" {name}; use method='permutation' or 'stability'."
            )


def _table(
    estimator: Any, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], Any, NDArray[np.float64] | None]:
    """Samples that count, what they are labelled with, and how often they count."""
    refuse_held(X, "decide_by_knockoffs", "knockoffs are drawn of tables in memory.")
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse; knockoffs are drawn for all values, so X must be an array: X.toarray()."
        )
    categorical = [
        value for name, value in estimator.get_params().items() if name.endswith("categorical_features")
    ]
    if any(value is not None and np.size(value) for value in categorical):
        raise ValueError("Knockoffs are of features that are numbers; categorical_features must be None.")
    samples = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
    if np.isnan(samples).any():
        raise ValueError(
            "X has missing values (NaN), of which no knockoffs can be drawn; fill them in first."
        )
    copies, kept = checked_copies(sample_weight, samples)
    if copies is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(f"The fit of {type(estimator).__name__} does not take sample_weight.")
    target = None
    if y is not None:
        check_consistent_length(samples, y)
        target = np.asarray(y)[kept]
    return samples[kept], target, copies


def _checked_covariance(covariance: ArrayLike, varies: NDArray[np.bool_]) -> NDArray[np.float64]:
    known = check_array(covariance, dtype=np.float64, input_name="covariance")
    if known.shape != (varies.size, varies.size):
        raise ValueError(
            f"covariance must be of shape ({varies.size}, {varies.size}), for the features of X; got"
            f" {known.shape}."
        )
    known = known[np.ix_(varies, varies)]
    if not np.allclose(known, known.T) or np.linalg.eigvalsh(known).min() <= 0.0:
        raise ValueError("covariance must be symmetric and positive definite.")
    return known


def _check_room(X: NDArray[np.float64]) -> None:
    """Raise before memory runs out: eigenvectors, scores, noise and knockoffs are there at the same time."""
    n, p = X.shape
    needed = 8.0 * (9 * n * p + (6 * p * p if p <= MOST_APART else 2 * p * min(n, p)))
    if needed > memory_budget(None):
        raise MemoryError(
            f"Knockoffs of {p} features of {n} samples need about {needed / 2**30:.1f} GiB; keep fewer"
            " features first, by something that does not look at y."
        )


def _member(estimator: Any, n_jobs: int | None, seed: int) -> Any:
    """A clone with the threads to itself, unless it says how many it wants."""
    checked_thread_count(n_jobs)
    member = seeded_clone(estimator, unseeded(estimator), seed)
    if n_jobs is not None and getattr(member, "n_jobs", 0) is None:
        member.set_params(n_jobs=n_jobs)
    return member
