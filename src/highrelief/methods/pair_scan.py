"""PairScan: an exhaustive scan of all pairs of features for information about the class."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from .._engine.categories import MISSING, MOST_LEVELS, level_codes_of_columns, level_counts
from .._engine.memory import check_room
from .._engine.parameters import constraints, count, random_generator
from .._engine.threads import even_ranges, n_pieces, run_all
from .._kernels import pair_scan as kernels
from ..base.categorical import CategoricalFeaturesMixin
from ..base.progress import watched, with_callbacks
from ..base.selector import best_features
from ..base.training_data import TrainingData
from ..base.validation import FLOAT_TYPES
from ..base.weighter import FeatureWeighter

#: Level of ``threshold_``, Bonferroni over all ordered pairs.
LEVEL = 0.05
#: Most quantile bins; no level may have less than 2 % of the samples anyway.
_MOST_BINS = 100
#: Integers that span less are counted instead of sorted.
_SPAN = 256
#: Columns that are discretized at a time.
_COLUMNS_AT_ONCE = 256
#: Blocks of features of a task: their planes stay in the L1 or L2 cache.
_BLOCKS_PER_TASK = 4
#: Bits of the integer grid of n·log n; sums of four terms fit into 64.
_GRID_BITS = 60


class Levels(NamedTuple):
    """Features as levels 0, 1, …, in one or several binnings."""

    #: (n_columns, n_samples) int8, -1 where the value is missing.
    codes: NDArray[np.int8]
    #: (n_features, n_binnings) column of each feature in each binning, the same in all if it is not binned.
    columns: NDArray[np.int64]

    def of(self, features: NDArray[np.int64]) -> Levels:
        """Return some of the features."""
        columns = self.columns[features]
        used, columns = np.unique(columns, return_inverse=True)
        return Levels(self.codes[used], columns.reshape(features.size, -1))


class Scan(NamedTuple):
    """What a scan of all pairs finds; z is 0, and a partner -1, where no z is above 0."""

    #: (n_features,) z of G(x_j; y).
    single: NDArray[np.float64]
    #: (n_features,) largest z of G(x_j; y | x_i) over i, and this i.
    conditional: NDArray[np.float64]
    partner: NDArray[np.int64]
    #: (n_features,) largest z of the interaction part over i, and this i.
    interaction: NDArray[np.float64]
    interaction_partner: NDArray[np.int64]
    #: Best pairs: features, lower first; the smaller of both conditional z, falling; z of the interaction.
    pair_features: NDArray[np.int64]
    pair_statistic: NDArray[np.float64]
    pair_interaction: NDArray[np.float64]


class PairScan(CategoricalFeaturesMixin, FeatureWeighter):
    r"""PairScan: conditional information of a feature about the class, given its best partner.

    For each pair of features the table of counts :math:`n_{abc}` (level a of :math:`x_i`, level b of
    :math:`x_j`, class c) over the n samples where both are observed gives

    .. math::

        G(x_j; y \mid x_i) &= 2 n\, I(x_j; y \mid x_i)
          = 2 \sum_{abc} n_{abc} \log \frac{n_{abc}\, n_{a \cdot \cdot}}{n_{ab \cdot}\, n_{a \cdot c}} \\
        G_{ij} &= G(x_i, x_j; y) - G(x_i; y) - G(x_j; y)

    with natural logarithms. Degrees of freedom are those of the cells that are not empty:
    :math:`\sum_a (J_a - 1)(C_a - 1)` for the conditional information, with :math:`J_a` levels of :math:`x_j`
    and :math:`C_a` classes among the samples of level a, and :math:`(K - I - J + 1)(C - 1)` for the
    interaction part :math:`G_{ij}`, with K cells (a, b), I and J levels and C classes. Each G becomes a
    deviate that is nearly normal if x_j and y are independent given x_i (Wilson and Hilferty 1931), which
    makes features with different numbers of levels comparable,

    .. math::

        z = \frac{\sqrt[3]{\max(G, 0) / f} - (1 - 2 / (9 f))}{\sqrt{2 / (9 f)}}

    with f degrees of freedom, and 0 if there are none. The weight of :math:`x_j` is the largest z of
    :math:`G(x_j; y \mid x_i)` over all partners i, or 0 if none is positive. It includes the information that
    :math:`x_j` has by itself, which is all there is if X has one feature. All weights are 0 if no class has
    two samples.

    The interaction part is the interaction information of the pair. It measures how much more informative
    two features are together than one by one; it is no test: correlated features, and two strong main
    effects, change it without any interaction.

    **Levels.** Declared categorical features, integers of at most 10 distinct values, and two numbers of any
    kind, are taken as they are. All other numbers are binned: with m of n observed values below and e equal
    to a value, its bin of B is :math:`\lfloor B (2 m + e) / (2 n) \rfloor`. With several B in ``n_bins`` each
    z of a pair that contains a binned feature is the mean over these B, before the maximum is taken; both
    features of a pair are binned with the same B. Levels of fewer than max(0.02·n, min(5, n/4)) samples are
    merged: the smallest (of equal ones the first) joins the smaller of its two neighbors in the order of
    values (of equal ones the lower), and the next smallest level of a categorical feature, until all are
    large enough.

    Parameters
    ----------
    n_bins : int or sequence of int, default=(3, 4, 5, 6, 8)
        Numbers of quantile bins, 2 to 100, over which z is averaged.
    n_pairs : int, default=100
        Rows of ``pairs_``.
    n_permutations : int, default=0
        Scans with permuted labels, from which p-values follow; 0: none.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Features whose values are levels without an order. "from_dtype": the columns of a DataFrame that
        contain categories or text. "auto": these, and all columns that are not binned. None: all are numbers.
    n_features_to_select : int, float or None, default=None
        None keeps the ``n_features_`` features with weights above ``threshold_``, at least one; an int that
        many; a float in (0, 1] that share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How ``transform`` scales weighted columns; the scan itself does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows progress on long work.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        Largest z of the conditional information, ≥ 0.
    feature_importances_ : array of shape (n_features,)
        The same.
    best_partner_ : array of shape (n_features,)
        Index of the partner with the largest z (of equal ones the lowest), -1 if no z is positive. A partner
        of a feature that is informative by itself is chosen by chance: see ``interaction_``.
    interaction_ : array of shape (n_features,)
        Largest z of the interaction part over all partners, or 0.
    interaction_partner_ : array of shape (n_features,)
        Index of the partner with this z, -1 if no z is positive.
    single_ : array of shape (n_features,)
        z of the information of the feature by itself, G(x_j; y) with (J - 1)(C - 1) degrees of freedom; can
        be negative.
    pairs_ : dict of arrays of shape (at most n_pairs,)
        Best pairs, as columns for a DataFrame: ``"first"`` and ``"second"``, indices of the features;
        ``"statistic"``, the smaller of the two conditional z, by which they are sorted, if it is positive;
        ``"interaction"``, the z of the interaction part.
    threshold_ : float
        Quantile of the normal distribution at 0.05/(p·(p - 1)), the Bonferroni bound over all ordered pairs.
    n_features_ : int
        Number of features with weights above ``threshold_``, at least 1. If ``feature_weights_.max()`` is
        below ``threshold_``, none stands out.
    pvalues_ : array of shape (n_features,) or None
        (1 + number of permutations where the weight of the feature is at least as large) / (1 +
        ``n_permutations``), for one feature; among many, some are small by chance.
    adjusted_pvalues_ : array of shape (n_features,) or None
        The same with the largest weight of all features in the permutation, which controls the familywise
        error rate if no feature matters; beside strong features it is an approximation.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: one AND and population count per pair of levels and 64 samples, O(n·p²/64). ``fit`` does not support
    sample weights: a table of weighted counts has no bit planes.

    References
    ----------
    Wilson, E. and Hilferty, M. (1931). The distribution of chi-square. PNAS 17(12), 684-688.

    Wan, X., Yang, C., Yang, Q., Xue, H., Fan, X., Tang, N. and Yu, W. (2010). BOOST: a fast approach to
    detecting gene-gene interactions in genome-wide case-control studies. American Journal of Human Genetics
    87(3), 325-340.

    Examples
    --------
    >>> from highrelief import PairScan
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> scan = PairScan().fit(X, y)
    >>> scan.get_support(indices=True)
    array([0, 1])
    >>> scan.best_partner_[:2]
    array([1, 0])
    """

    _allows_missing = True
    _types = (*FLOAT_TYPES, np.int8, np.uint8, np.bool_)
    _finds_levels = True

    _constraints = constraints(n_pairs=count(at_least=0), n_permutations=count(at_least=0))

    def __init__(
        self,
        *,
        n_bins: int | Sequence[int] = (3, 4, 5, 6, 8),
        n_pairs: int = 100,
        n_permutations: int = 0,
        categorical_features: Any = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_bins = n_bins
        self.n_pairs = n_pairs
        self.n_permutations = n_permutations
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        numbers_of_bins(self.n_bins)

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Scan all pairs of features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. NaN is allowed: a pair uses the samples where both features are observed.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y)
        n_threads, n_classes = self._n_threads, self.classes_.size
        levels = levels_of(data, numbers_of_bins(self.n_bins), n_threads)
        n_features = len(levels.columns)
        generator = random_generator("random_state", self.random_state)
        steps = n_steps(levels)
        with watched(self, total=(1 + self.n_permutations) * steps) as progress:
            found = scan_pairs(
                levels,
                data.codes,
                n_classes,
                n_pairs=self.n_pairs,
                n_threads=n_threads,
                advance=progress.advance,
            )
            weights = _weights(found, data.codes)
            larger = np.zeros((2, n_features), np.int64)
            for _ in range(self.n_permutations):
                labels = generator.permutation(data.codes)
                scan = scan_pairs(levels, labels, n_classes, n_threads=n_threads, advance=progress.advance)
                permuted = _weights(scan, labels)
                larger += permuted >= weights, permuted.max() >= weights
        self.best_partner_, self.interaction_partner_ = found.partner, found.interaction_partner
        self.single_, self.interaction_ = found.single, found.interaction
        self.pairs_ = {
            "first": found.pair_features[:, 0],
            "second": found.pair_features[:, 1],
            "statistic": found.pair_statistic,
            "interaction": found.pair_interaction,
        }
        self.pvalues_ = self.adjusted_pvalues_ = None
        if self.n_permutations:
            self.pvalues_, self.adjusted_pvalues_ = (1.0 + larger) / (1.0 + self.n_permutations)
        self.threshold_ = float(norm.isf(LEVEL / max(n_features * (n_features - 1), 1)))
        self.n_features_ = max(1, int(np.count_nonzero(weights > self.threshold_)))
        return self._set_weights(weights)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        if self.n_features_to_select is None and self.__sklearn_is_fitted__():
            return best_features(self.feature_weights_, self.n_features_)
        return super()._get_support_mask()


def _weights(found: Scan, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weights that follow from a scan."""
    if np.bincount(codes).max() < 2:
        return np.zeros(found.single.size)
    return found.conditional if found.single.size > 1 else np.maximum(found.single, 0.0)


def numbers_of_bins(n_bins: Any) -> tuple[int, ...]:
    """Return ``n_bins`` as a tuple, after checking it."""
    several = tuple(n_bins) if isinstance(n_bins, (list, tuple, np.ndarray)) else (n_bins,)
    whole = [isinstance(each, Integral) and not isinstance(each, (bool, np.bool_)) for each in several]
    if not several or not all(whole) or not all(2 <= each <= _MOST_BINS for each in several):
        raise ValueError(
            f"n_bins={n_bins!r} must be an integer from 2 to {_MOST_BINS}, or a sequence of such numbers."
        )
    return tuple(int(each) for each in several)


# Levels


def levels_of(data: TrainingData, n_bins: Sequence[int], n_threads: int = 1) -> Levels:
    """Return the levels of validated samples."""
    encoding = data.encoding
    if encoding is None:
        return discretized(data.observed, n_bins, n_threads)
    is_categorical = encoding.is_categorical
    numbers = discretized(data.observed[:, encoding.first[~is_categorical]], n_bins, n_threads)
    codes = np.stack([merged_codes(row, ordered=False) for row in encoding.codes])
    columns = np.empty((encoding.n_features, numbers.columns.shape[1]), np.int64)
    columns[~is_categorical] = numbers.columns
    columns[is_categorical] = len(numbers.codes) + np.arange(len(codes))[:, np.newaxis]
    return Levels(np.concatenate([numbers.codes, codes]), columns)


def discretized(X: NDArray[Any], n_bins: Sequence[int], n_threads: int = 1) -> Levels:
    """Return the levels of numeric features, NaN where values are missing; see :class:`PairScan`."""
    n_samples, n_features = X.shape
    starts = [(start,) for start in range(0, n_features, _COLUMNS_AT_ONCE)]
    parts = run_all(lambda a: _discretized_block(X[:, a : a + _COLUMNS_AT_ONCE], n_bins), starts, n_threads)
    codes = [np.empty((0, n_samples), np.int8)] + [each for each, _ in parts]
    n_rows = np.concatenate([np.empty(0, np.int64)] + [each for _, each in parts])
    columns = _starts(n_rows)[:, np.newaxis] + np.where(n_rows[:, np.newaxis] > 1, np.arange(len(n_bins)), 0)
    return Levels(np.concatenate(codes), columns if n_rows.sum() > n_features else columns[:, :1])


def _discretized_block(X: NDArray[Any], n_bins: Sequence[int]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return the levels of some features, (row, n_samples), and the number of rows of each."""
    columns = np.ascontiguousarray(X.T)
    is_small, small = _small_integers(columns)
    few = np.flatnonzero(~is_small)[level_counts(X[:, ~is_small]) <= MOST_LEVELS]
    is_number = ~is_small
    is_number[few] = False
    is_complete, complete = _complete_levels(columns, is_number, n_bins)
    is_number &= ~is_complete
    n_rows = np.where(is_complete | is_number, len(n_bins), 1)
    first = _starts(n_rows)
    codes = np.empty((n_rows.sum(), len(X)), np.int8)
    codes[first[is_small]], codes[first[few]] = small, _few_values(X, few)
    codes[first[is_complete][:, np.newaxis] + np.arange(len(n_bins))] = complete
    for j in np.flatnonzero(is_number):
        codes[first[j] : first[j] + len(n_bins)] = _binned(columns[j], n_bins)
    return codes, n_rows


def _few_values(X: NDArray[Any], features: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the levels of columns of at most ten distinct values."""
    codes = level_codes_of_columns(X, features)
    levels = _level_table(np.stack([(codes == value).sum(axis=1) for value in range(MOST_LEVELS)], axis=1))
    known = np.take_along_axis(levels, np.maximum(codes, 0), axis=1)
    return np.where(codes == MISSING, MISSING, known).astype(np.int8)


def _small_integers(part: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Return which rows have few integers that are close to each other, and the levels of these."""
    if part.dtype.kind == "f":
        observed = ~np.isnan(part)
        low = np.where(observed, part, np.inf).min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            offsets = np.where(observed, part - low, -1.0)
            small = (offsets < _SPAN).all(axis=1) & ((part == np.floor(part)) | ~observed).all(axis=1)
        offsets = offsets[small].astype(np.int16)
    else:
        small = np.ones(len(part), bool)
        offsets = part.astype(np.int16) - part.min(axis=1, keepdims=True)
    n_values = int(offsets.max(initial=0)) + 1
    counts = np.empty((len(offsets), n_values), np.int64)
    for value in range(n_values):
        counts[:, value] = (offsets == value).sum(axis=1)
    present = counts > 0
    few = present.sum(axis=1) <= MOST_LEVELS
    levels, offsets = _level_table(counts[few]), offsets[few]
    codes = offsets.astype(np.int8)
    for row in np.flatnonzero((present[few] & (levels != np.arange(n_values))).any(axis=1)):
        codes[row] = np.append(levels[row], MISSING)[offsets[row]]
    small[np.flatnonzero(small)[~few]] = False
    return small, codes


def _complete_levels(
    part: NDArray[Any], among: NDArray[np.bool_], n_bins: Sequence[int]
) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Return which rows are numbers to bin with none missing, and their levels, (row, n_bins, n)."""
    rows, n_samples = part[among], part.shape[1]
    order = np.argsort(rows, axis=1)
    rising = np.take_along_axis(rows, order, axis=1)
    rises = rising[:, 1:] > rising[:, :-1]
    # A NaN is last.
    chosen = ~np.isnan(rising[:, -1])
    order, rises = order[chosen], rises[chosen]
    # Values below each and, from the other end, above it.
    place = np.arange(1, n_samples)
    below, above = np.zeros(order.shape, np.int64), np.zeros(order.shape, np.int64)
    below[:, 1:] = np.maximum.accumulate(np.where(rises, place, 0), axis=1)
    above[:, :-1] = np.maximum.accumulate(np.where(rises, n_samples - place, 0)[:, ::-1], axis=1)[:, ::-1]
    twice_rank = below + n_samples - above
    levels = np.empty((len(order), len(n_bins), n_samples), np.int8)
    for which, each in enumerate(n_bins):
        bins = each * twice_rank // (2 * n_samples)
        counts = np.stack([(bins == value).sum(axis=1) for value in range(each)], axis=1)
        in_order = np.take_along_axis(_level_table(counts), bins, axis=1).astype(np.int8)
        np.put_along_axis(levels[:, which], order, in_order, axis=1)
    is_complete = among.copy()
    is_complete[among] = chosen
    return is_complete, levels


def _level_table(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the level of each value of each row, given how often it occurs; rare ones are merged."""
    present = counts > 0
    levels = np.where(present, np.cumsum(present, axis=1) - 1, MISSING)
    least = least_count(counts.sum(axis=1, keepdims=True))
    has_rare = (present & (counts < least)).any(axis=1)
    if has_rare.any():
        # Many columns have the same counts.
        distinct, which = np.unique(counts[has_rare], axis=0, return_inverse=True)
        tables = np.full(distinct.shape, MISSING, np.int64)
        for table, each in zip(tables, distinct, strict=True):
            table[each > 0] = merged_levels(each[each > 0], ordered=True)
        levels[has_rare] = tables[which.ravel()]
    return levels


def _binned(column: NDArray[Any], n_bins: Sequence[int]) -> NDArray[np.int8]:
    """Return the levels of a column of numbers, one row per number of bins."""
    column = column.astype(np.float64, copy=False)
    observed = ~np.isnan(column)
    _, inverse, counts = np.unique(column[observed], return_inverse=True, return_counts=True)
    twice_rank = 2 * np.cumsum(counts) - counts
    codes = np.full((len(n_bins), column.size), MISSING, np.int8)
    for row, each in zip(codes, n_bins, strict=True):
        # Bins within equal values are empty.
        bins = np.unique(each * twice_rank // (2 * inverse.size), return_inverse=True)[1]
        row[observed] = merged_codes(bins[inverse], ordered=True)
    return codes


def merged_codes(codes: NDArray[Any], *, ordered: bool) -> NDArray[np.int8]:
    """Return levels 0, 1, … with rare ones merged; -1 remains."""
    observed = codes >= 0
    merged = merged_levels(np.bincount(codes[observed]), ordered=ordered)
    return np.where(observed, np.append(merged, MISSING)[codes], MISSING).astype(np.int8)


def least_count(n: Any) -> Any:
    """Return the number of samples below which a level of n samples is rare."""
    return np.maximum(0.02 * n, np.minimum(5.0, 0.25 * n))


def merged_levels(counts: NDArray[np.int64], *, ordered: bool) -> NDArray[np.int64]:
    """Return the new level of each level such that none is rare; see :class:`PairScan`."""
    least = least_count(counts.sum())
    sizes = counts.tolist()
    groups = [[level] for level in range(counts.size)]
    while len(sizes) > 1 and min(sizes) < least:
        smallest = int(np.argmin(sizes))
        if ordered:
            beside = [place for place in (smallest - 1, smallest + 1) if 0 <= place < len(sizes)]
        else:
            beside = [place for place in range(len(sizes)) if place != smallest]
        target = min(beside, key=sizes.__getitem__)
        kept, left = sorted((smallest, target))
        sizes[kept] += sizes.pop(left)
        groups[kept] += groups.pop(left)
    merged = np.empty(counts.size, np.int64)
    for place, group in enumerate(groups):
        merged[group] = place
    return merged


# The scan


def n_steps(levels: Levels) -> int:
    """Return how often a scan reports progress."""
    n_features, n_binnings = levels.columns.shape
    pairs = 0.5 * n_features**2 * (4.0 * n_binnings if n_binnings > 1 else 1.0)
    most = n_features // (kernels.LANES * _BLOCKS_PER_TASK)
    return max(1, min(n_pieces(pairs * (levels.codes.shape[1] + 500)), most))


def scan_pairs(
    levels: Levels,
    y: NDArray[np.int64],
    n_classes: int,
    *,
    strata: NDArray[np.int64] | None = None,
    n_pairs: int = 0,
    n_threads: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> Scan:
    """Scan all pairs of features; see :class:`PairScan`.

    Parameters
    ----------
    levels : Levels
        The features, as :func:`discretized` returns them.
    y : array of shape (n_samples,)
        Classes 0, 1, …
    n_classes : int
        Number of classes.
    strata : array of shape (n_samples,), default=None
        Strata 0, 1, … of the samples. All information is conditional on the stratum: G and degrees of freedom
        are sums over the strata.
    n_pairs : int, default=0
        Number of best pairs to return.
    n_threads : int, default=1
        Number of threads; the result is the same for any.
    advance : callable
        Called ``n_steps(levels)`` times.

    Returns
    -------
    found : Scan
        Maxima over the partners of each feature, and the best pairs.
    """
    planes, single = _packed(levels, y, n_classes, strata, n_threads)
    states = deque(_no_maxima(planes.feature.size, n_pairs) for _ in range(max(n_threads, 1)))

    def scan(first: int, last: int) -> None:
        # Maxima of any order of visits are the same.
        maxima = states.pop()
        kernels.scan_blocks(planes, maxima, first, last)
        states.append(maxima)

    tasks = _task_ranges(planes.complete.size)
    for start, end in even_ranges(len(tasks), n_steps(levels)):
        run_all(scan, tasks[start:end], n_threads)
        advance()
    maxima = states.pop()
    for other in states:
        kernels.merge_maxima(maxima, other)
    at = _places(planes)
    listed = maxima.pair_z[0] > 0.0
    return Scan(
        _single_z(planes, single),
        maxima.z[0, at],
        maxima.partners[0, at],
        maxima.z[1, at],
        maxima.partners[1, at],
        maxima.pair_features[:, listed].T.copy(),
        maxima.pair_z[0, listed],
        maxima.pair_z[1, listed],
    )


def single_statistics(
    levels: Levels,
    features: NDArray[np.int64],
    y: NDArray[np.int64],
    n_classes: int,
    strata: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return ``single`` of a scan of some features, for which pairs need not be visited."""

    def part(start: int, end: int) -> NDArray[np.float64]:
        return _single_z(*_packed(levels.of(features[start:end]), y, n_classes, strata, 1))

    ranges = even_ranges(features.size, -(-features.size // _COLUMNS_AT_ONCE))
    return np.concatenate(run_all(part, ranges, n_threads))


def _single_z(planes: kernels.Planes, single: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return z of single features from their G, in the order of the features."""
    z = np.empty(single.shape)
    kernels.z_scores(planes.unit * single, planes.constants[2], planes.deviates, z)
    return (z.sum(axis=0) / np.repeat(planes.binnings, kernels.LANES))[_places(planes)]


def _places(planes: kernels.Planes) -> NDArray[np.int64]:
    """Return the place of each feature in the blocks."""
    is_feature = planes.feature >= 0
    at = np.empty(np.count_nonzero(is_feature), np.int64)
    at[planes.feature[is_feature]] = np.flatnonzero(is_feature)
    return at


def _task_ranges(n_blocks: int) -> list[tuple[int, int]]:
    """Return ranges of blocks for the tasks of a scan."""
    return even_ranges(n_blocks, -(-n_blocks // _BLOCKS_PER_TASK))


def _no_maxima(n_places: int, n_pairs: int) -> kernels.Maxima:
    """Return maxima over no pair."""
    return kernels.Maxima(
        np.zeros((2, n_places)),
        np.full((2, n_places), -1),
        np.zeros((4, n_places), np.int64),
        np.zeros((2, n_pairs)),
        np.full((2, n_pairs), -1),
    )


def _packed(
    levels: Levels, y: NDArray[np.int64], n_classes: int, strata: NDArray[np.int64] | None, n_threads: int
) -> tuple[kernels.Planes, NDArray[np.int64]]:
    """Return bit planes, and G of single features on the integer grid."""
    lanes, n_samples = kernels.LANES, y.size
    groups = y if strata is None else strata * n_classes + y
    n_strata = 1 if strata is None else int(strata.max()) + 1
    sizes = np.bincount(groups, minlength=n_strata * n_classes)
    group_words = np.concatenate([[0], np.cumsum(-(-sizes // kernels.WORD))])
    order = np.argsort(groups, kind="stable")
    places = np.empty(n_samples, np.int64)
    rank = np.arange(n_samples) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places[order] = group_words[groups[order]] * kernels.WORD + rank

    n_levels = levels.codes.max(axis=1, initial=0).astype(np.int64) + 1
    feature, kinds = _in_blocks(levels, n_levels)
    is_binned, complete = kinds[::lanes] >= 2, kinds[::lanes] % 2 == 0
    n_binnings = levels.columns.shape[1]
    of_blocks = np.where(feature[:, np.newaxis] < 0, 1, n_levels[levels.columns[feature]]).T
    most = of_blocks.reshape(n_binnings, -1, lanes).max(axis=2)
    binnings = np.where(is_binned, n_binnings, 1)
    used = np.arange(n_binnings)[:, np.newaxis] < binnings
    n_planes = np.where(used, most - complete, 0)
    n_words = int(group_words[-1])
    first_word = _starts(n_planes * n_words * lanes)
    first_spare = _starts(np.where(used, most, 0) * n_strata * lanes)
    size = int((n_planes * n_words * lanes).sum())
    spare = int(np.where(used, most, 0).sum()) * n_strata * lanes
    check_room(
        8.0 * (size + spare * (n_classes + 1)),
        f"Bit planes of {len(levels.columns)} features and {n_samples} samples",
        "Use fewer features, or one number of bins.",
    )
    by_stratum = sizes.reshape(n_strata, n_classes)
    entropy, bits = _entropy_grid(n_samples)
    df = np.arange(1 + min(n_samples, n_strata * int(most.max()) ** 2) * max(n_classes - 1, 1))
    spread = 2.0 / (9.0 * np.maximum(df, 1))
    planes = kernels.Planes(
        np.zeros(size, np.uint64),
        first_word,
        n_planes,
        np.zeros(spare * n_classes, np.uint64),
        np.zeros(spare, np.int64),
        first_spare,
        complete,
        binnings,
        np.zeros(complete.size, bool),
        feature,
        np.zeros((3, n_binnings, feature.size), np.int64),
        group_words,
        np.maximum((by_stratum > 0).sum(axis=1) - 1, 0),
        int(entropy[sizes].sum() - entropy[by_stratum.sum(axis=1)].sum()),
        entropy,
        2.0 ** (1 - bits),
        np.stack([1.0 - spread, np.sqrt(spread)]),
    )
    single = np.zeros((n_binnings, feature.size), np.int64)
    # Kernels are compiled for one layout of arrays.
    codes, columns = np.ascontiguousarray(levels.codes), np.ascontiguousarray(levels.columns)
    more = (codes, columns, n_levels, groups.astype(np.int64), places, planes)
    ranges = even_ranges(complete.size, 4 * n_threads if n_threads > 1 else 1)
    run_all(lambda a, b: kernels.pack_blocks(*more, a, b, single), ranges, n_threads)
    full = (planes.constants[1, 0] == 3 * (n_classes - 1)) | (feature < 0)
    planes.three[:] = (n_planes[0] == 2) & complete & ~is_binned & full.reshape(-1, lanes).all(axis=1)
    planes.three[:] &= n_strata == 1
    return planes, single


def _in_blocks(levels: Levels, n_levels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return features in blocks of one kind, -1 for padding, and the kind of each place.

    Kinds: 0 complete, 1 with missing values, 2 and 3 the same and binned. Within a kind features are sorted
    by number of levels, so that few planes are padding.
    """
    lacks = levels.codes.min(axis=1, initial=0) < 0
    columns = levels.columns
    kinds = 2 * (columns[:, 0] != columns[:, -1]) + lacks[columns[:, 0]]
    order = np.lexsort((n_levels[columns].max(axis=1), kinds))
    parts, of_parts = [], []
    bounds = np.searchsorted(kinds[order], np.arange(5))
    for kind, (start, end) in enumerate(pairwise(bounds)):
        padding = -(end - start) % kernels.LANES
        parts += [order[start:end], np.full(padding, -1)]
        of_parts.append(np.full(end - start + padding, kind))
    return np.concatenate(parts), np.concatenate(of_parts)


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each part begins if they follow one another."""
    return (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)


def _entropy_grid(n_samples: int) -> tuple[NDArray[np.int64], int]:
    """Return n·log n for n = 0 … n_samples on a grid of integers, and the bits behind the point."""
    n = np.arange(n_samples + 1, dtype=np.float64)
    values = n * np.log(np.maximum(n, 1.0))
    bits = _GRID_BITS - int(np.ceil(np.log2(values[-1] + 2.0)))
    return np.rint(np.ldexp(values, bits)).astype(np.int64), bits
