"""Redundant features: one of each group is selected, the second stage that Sun (2007) suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from .._engine.limits import limits
from .._engine.parameters import constraints, number, one_of
from .._engine.threads import one_blas_thread
from ..base.meta import CategoricalSingleFitWeighter, innermost, ranked_by, weights_of
from ..base.progress import watched, with_callbacks
from ..base.selector import best_features, best_first, n_selected_features
from ..base.validation import warn_user

# Groups of redundant features, and their representatives


#: Linkages: distances of groups from distances of their features.
LINKAGES = ("complete", "average", "single")
#: Similarities are rounded to 12 digits.
_DISTANCE_ROUNDING = 1e-11
#: Columns whose correlations with all others are computed at a time.
_COLUMNS_AT_ONCE = 256


@dataclass(frozen=True)
class FeatureGroups:
    """Features in groups, the group of the best feature first."""

    #: (n_features,) index of the group; -1 for features that were not grouped.
    labels: NDArray[np.int64]
    #: (n_groups,) the best feature of each group.
    representatives: NDArray[np.int64]
    #: (n_features,) similarity to the representative, 1 for itself; NaN for features that were not grouped.
    similarity: NDArray[np.float64]
    #: The features of each group, from the best on.
    members: list[NDArray[np.int64]]


def group_features(
    X: Any,
    best: NDArray[np.int64],
    *,
    threshold: float,
    similarity: str = "pearson",
    linkage: str = "complete",
    categorical: NDArray[np.bool_] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> FeatureGroups:
    """Group some features of X, given from the best on; see :class:`RedundancyFilter`.

    Features that no chain of similar features links are in no group together, whatever the linkage: each
    linked part is clustered by itself.
    """
    columns = X[:, best]
    values = (columns.toarray() if sparse.issparse(columns) else np.asarray(columns)).astype(np.float64)
    of_best = None if categorical is None else categorical[best]
    if of_best is None and not np.isnan(values).any():
        if similarity == "spearman":
            values, similarity = midranks(values, sample_weight), "pearson"
        parts = linked_columns(values, threshold, sample_weight)
    else:
        parts = [np.arange(best.size)]
    #: The first, and so best, feature of the group of each feature, and the similarity to it.
    leader, to_leader = np.arange(best.size), np.ones(best.size)
    for part in parts:
        if part.size > limits.max_grouped_features:
            raise ValueError(
                f"{part.size:,} features would be grouped, each compared with each other; at most"
                f" {limits.max_grouped_features:,} can be. Keep fewer of them by n_features_to_select."
            )
        if part.size > 1:
            similar = similarities(
                values[:, part],
                similarity,
                categorical=None if of_best is None else of_best[part],
                sample_weight=sample_weight,
            )
            first = _first_of_group(similar, threshold, linkage)
            leader[part], to_leader[part] = part[first], similar[np.arange(part.size), first]
    leaders, of_group = np.unique(leader, return_inverse=True)
    labels = np.full(X.shape[1], -1, dtype=np.int64)
    labels[best] = of_group
    to_representative = np.full(X.shape[1], np.nan)
    to_representative[best] = to_leader
    order = np.argsort(of_group, kind="stable")
    members = np.split(best[order], np.cumsum(np.bincount(of_group))[:-1]) if best.size else []
    return FeatureGroups(labels, best[leaders], to_representative, members)


def _first_of_group(similar: NDArray[np.float64], threshold: float, method: str) -> NDArray[np.int64]:
    """Cluster by 1 − similarity, cut at 1 − threshold; return the first member of the group of each."""
    apart = squareform(1.0 - similar, checks=False)
    found = fcluster(
        linkage(apart, method=method), 1.0 - threshold + _DISTANCE_ROUNDING, criterion="distance"
    )
    _, first, places = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(first[places])


def linked_columns(
    values: NDArray[np.float64], threshold: float, sample_weight: NDArray[np.float64] | None = None
) -> list[NDArray[np.int64]]:
    """Return the sets of columns that chains of correlations of at least the threshold link.

    Correlations are computed in single precision, and their error is granted: a set may be larger than
    needed, but no link is missed. Columns of which none is linked to another are left out.
    """
    n_samples, n_columns = values.shape
    if not n_columns:
        return []
    unit = np.nan_to_num(_unit_columns(values, sample_weight)[0]).astype(np.float32)
    least = np.float32(threshold - 2.0 * (n_samples + 8) * np.finfo(np.float32).eps)
    label = np.arange(n_columns)
    for start in range(0, n_columns, _COLUMNS_AT_ONCE):
        with one_blas_thread():
            block = unit[:, start : start + _COLUMNS_AT_ONCE].T @ unit[:, start:]
        np.abs(block, out=block)
        rows, others = np.divmod(np.flatnonzero(block >= least), block.shape[1])
        links = sparse.coo_array(
            (np.ones(rows.size, dtype=bool), (label[start + rows], label[start + others])),
            shape=(n_columns, n_columns),
        )
        label = connected_components(links, directed=False)[1][label]
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(label))[:-1])
    return [part for part in parts if part.size > 1]


def grouped_until(
    wanted: int, order: NDArray[np.int64], group: Callable[[NDArray[np.int64]], FeatureGroups]
) -> FeatureGroups:
    """Group the best ``wanted`` features, twice as many, and so on, until there are enough groups."""
    n_looked_at = wanted
    while True:
        found = group(order[:n_looked_at])
        if found.representatives.size >= wanted or n_looked_at >= order.size:
            return found
        n_looked_at *= 2


# Similarities of columns: correlations of numbers, Cramér's V of categories


#: Similarities of numeric features.
SIMILARITIES = ("pearson", "spearman")
#: Similarities are rounded to these digits, so that rounding errors do not split ties.
DIGITS = 12
#: A variance below this part of the mean square is rounding.
_CORRELATION_ROUNDING = 1e-12


def similarities(
    values: NDArray[np.float64],
    kind: str = "pearson",
    *,
    categorical: NDArray[np.bool_] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the similarity of each pair of columns, from 0 to 1.

    |r| of two numbers, Cramér's V of two categories, each by the samples that have both; 0 for a number and a
    category, for a constant column, and for columns that are never known together.

    Parameters
    ----------
    values : (n_samples, n_columns) float64
        Numbers; those of categories are names. NaN where a value is missing.
    kind : {"pearson", "spearman"}
        Spearman's correlation is Pearson's of the ranks, which are those among all known values of a column.
    categorical : (n_columns,) bool or None
        Which columns are categories.
    sample_weight : (n_samples,) float64 or None
        How often each sample counts.

    Returns
    -------
    matrix : (n_columns, n_columns) float64
        Symmetric; 1 on the diagonal.
    """
    n_columns = values.shape[1]
    is_category = np.zeros(n_columns, dtype=bool) if categorical is None else categorical
    if is_category.any():
        matrix = np.zeros((n_columns, n_columns))
        matrix[np.ix_(is_category, is_category)] = cramers_v(values[:, is_category], sample_weight)
        matrix[np.ix_(~is_category, ~is_category)] = _correlations(
            values[:, ~is_category], kind, sample_weight
        )
    else:
        matrix = _correlations(values, kind, sample_weight)
    np.abs(matrix, out=matrix)
    np.nan_to_num(matrix, copy=False)
    np.round(matrix, DIGITS, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _correlations(
    values: NDArray[np.float64], kind: str, sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    if kind == "spearman":
        values = midranks(values, sample_weight)
    return (
        pairwise_pearson(values, sample_weight) if np.isnan(values).any() else pearson(values, sample_weight)
    )


def pearson(
    values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return Pearson's correlations of columns; NaN for constant columns."""
    if not values.shape[1]:
        return np.empty((0, 0))
    unit, varies = _unit_columns(values, sample_weight)
    with one_blas_thread():
        matrix = unit.T @ unit
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(varies, 1.0, np.nan))
    return matrix


def _unit_columns(
    values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return centered columns of norm 1, whose products are correlations, and the mask of those that vary."""
    scaled, varies = _in_units_of_the_range(values)
    scaled -= np.average(scaled, axis=0, weights=sample_weight)
    if sample_weight is not None:
        scaled *= np.sqrt(sample_weight)[:, np.newaxis]
    return scaled / np.where(varies, np.linalg.norm(scaled, axis=0), np.nan), varies


def pairwise_pearson(
    values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return Pearson's correlations of columns over samples that have both; NaN if one is constant there."""
    known = ~np.isnan(values)
    scaled, varies = _in_units_of_the_range(values)
    weights = np.ones(len(values)) if sample_weight is None else sample_weight
    counts = np.maximum((known * weights[:, np.newaxis]).sum(axis=0), 1.0)
    # Centered, so that differences of sums keep their digits.
    scaled -= np.nansum(scaled * weights[:, np.newaxis], axis=0) / counts
    scaled[~known] = 0.0
    there = known * weights[:, np.newaxis]
    with one_blas_thread():
        n_both = known.T.astype(np.float64) @ there
        sums = scaled.T @ there
        squares = (scaled**2).T @ there
        products = scaled.T @ (scaled * weights[:, np.newaxis])
    n_both = np.where(n_both > 0.0, n_both, np.nan)
    # Of the column of the row, by the samples that have that of the column too.
    spread = squares - sums**2 / n_both
    spread = np.where(spread > _CORRELATION_ROUNDING * np.maximum(squares, spread), spread, np.nan)
    matrix = (products - sums * sums.T / n_both) / np.sqrt(spread * spread.T)
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(varies, 1.0, np.nan))
    return matrix


def _in_units_of_the_range(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return columns scaled to [0, 1], so that squares do not overflow, and the mask of those that vary."""
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=0)
    high = np.where(known, values, -np.inf).max(axis=0)
    varies = low < high
    low, high = np.where(varies, low, 0.0), np.where(varies, high, 0.0)
    # Halved first where a range may not be a number; half of the smallest is 0.
    unit = np.where(np.maximum(high, -low) > 1e300, 0.5, 1.0)
    inside = np.where(varies, high * unit - low * unit, 1.0)
    return np.where(varies, (values * unit - low * unit) / inside, values * 0.0), varies


def midranks(
    values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return ranks of the observed values of each column, ties averaged, under sample weights."""
    weights = np.ones(len(values)) if sample_weight is None else sample_weight
    ranks = np.full(values.shape, np.nan)
    for j, column in enumerate(values.T):
        known = ~np.isnan(column)
        _, places = np.unique(column[known], return_inverse=True)
        counts = np.bincount(places, weights=weights[known])
        ranks[known, j] = (np.cumsum(counts) - 0.5 * counts)[places]
    return ranks


def cramers_v(
    values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Return Cramér's V of categorical columns over samples that have both; 0 if one has one level.

    .. math:: V^2 = \frac{1}{\min(L_i, L_j) - 1} \Bigl( \sum_{ab} \frac{N_{ab}^2}{N_{a\cdot} N_{\cdot b}}
              - 1 \Bigr)

    with the levels that the two columns have where both are known: 1 if they are the same but for names.
    """
    known = ~np.isnan(values)
    blocks, starts = [], [0]
    for j, column in enumerate(values.T):
        levels = np.unique(column[known[:, j]])
        # A column without any value has a level that no sample is of.
        blocks.append(column[:, np.newaxis] == (levels if levels.size else [np.inf]))
        starts.append(starts[-1] + blocks[-1].shape[1])
    of_level = np.hstack(blocks).astype(np.float64)
    first, owner = np.array(starts[:-1]), np.repeat(np.arange(values.shape[1]), np.diff(starts))
    weights = np.ones(len(values)) if sample_weight is None else sample_weight
    with one_blas_thread():
        together = of_level.T @ (of_level * weights[:, np.newaxis])
        # (levels, columns): samples of a level that have a value of the other column.
        margins = of_level.T @ (known * weights[:, np.newaxis])
    expected = margins[:, owner] * margins[:, owner].T
    parts = np.divide(together**2, expected, out=np.zeros_like(together), where=expected > 0.0)
    sums = np.add.reduceat(np.add.reduceat(parts, first, axis=0), first, axis=1)
    n_levels = np.add.reduceat(margins > 0.0, first, axis=0, dtype=np.int64)
    fewest = np.minimum(n_levels, n_levels.T) - 1
    squared = np.divide(sums - 1.0, fewest, out=np.zeros_like(sums), where=fewest > 0)
    return np.sqrt(np.clip(squared, 0.0, 1.0))


class RedundancyFilter(CategoricalSingleFitWeighter):
    r"""Select one feature of each group of redundant features, around any selector.

    A weighter gives two copies of a feature the same weight, and keeps both. Sun (2007) suggests two stages:
    all features that matter first, then, among these few, those that are redundant. Here the wrapped
    estimator is fitted and keeps features as it does by itself; these are put into groups by how similar
    they are to each other,

    .. math:: s_{ij} = |r_{ij}| \text{ (numbers)}, \quad V_{ij} \text{ (categories)},

    by hierarchical clustering of :math:`1 - s_{ij}`, cut at 1 − ``threshold``; of each group the feature of
    the largest weight is kept, of equal ones that in the lower column. Weights and ranks stay those of the
    wrapped estimator.

    Parameters
    ----------
    estimator : estimator
        What keeps features: a weighter with its ``n_features_to_select``, a meta-estimator that chooses their
        number, or any estimator with ``feature_importances_`` or ``coef_`` (those above 0 count as kept). It
        is cloned, never fitted itself.
    threshold : float, default=0.9
        Similarity, in (0, 1], from which on features are redundant. 1: copies only, in whatever units and
        whichever sign.
    similarity : {"pearson", "spearman"}, default="pearson"
        The correlation of two numbers; Spearman's is 1 also where one is a bent, but rising or falling,
        function of the other. Of two categories, as the wrapped weighter's ``categorical_features`` has
        them, it is Cramér's V; a number and a category are in no group together. Samples with one of the
        two values missing are left out for this pair.
    linkage : {"complete", "average", "single"}, default="complete"
        What makes a group: every two of its features reach ``threshold``; or they do on average; or each is
        linked to the next, which may make long chains. With "complete" and "average" kept features of two
        groups may still be as similar as ``threshold``; with "single" never.
    n_features_to_select : int, float or None, default=None
        None: a representative of each group of the features that ``estimator`` keeps. An int, or a float in
        (0, 1], a share of all: so many representatives; the best so many features are grouped, twice as
        many, four times as many, until there are enough groups.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is the metric of the wrapped weighter.
    n_jobs : int or None, default=None
        Threads of the wrapped weighter, unless it has its own ``n_jobs``.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    labels_ : array of shape (n_features,)
        The group of each feature, from 0 on, the group of the best feature first; -1 for features that were
        not looked at.
    representatives_ : array of shape (n_groups,)
        The best feature of each group, the best first.
    groups_ : list of n_groups arrays
        The features of each group, from the best, its representative, on.
    similarity_ : array of shape (n_features,)
        Similarity to the representative of the group; 1 for itself, nan for features not looked at.
    estimator_ : estimator
        The fitted clone.
    feature_weights_ : array of shape (n_features,)
        Those of ``estimator_``.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes, if y holds class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Finding the links between m features takes m² n / 2 multiplications in single precision; linked features
    are then compared with each other, which takes 12 bytes per pair. No more than 20,000 may be linked, or
    selected if there are categories or missing values. After the fit ``n_features_to_select`` can be set to
    fewer.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), 1035-1051.

    Examples
    --------
    >>> import numpy as np
    >>> from highrelief import RedundancyFilter, ReliefF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> X = np.column_stack([X, -2.0 * X[:, 0]])  # x22 is x0 in other units
    >>> ReliefF(n_features_to_select=3).fit(X, y).get_support(indices=True)
    array([ 0,  1, 22])
    >>> selector = RedundancyFilter(ReliefF(n_features_to_select=3)).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    >>> [group.tolist() for group in selector.groups_]
    [[1], [0, 22]]
    """

    _groups: FeatureGroups
    _constraints = constraints(
        threshold=number(above=0.0, at_most=1.0),
        similarity=one_of(*SIMILARITIES),
        linkage=one_of(*LINKAGES),
    )

    def __init__(
        self,
        estimator: Any,
        *,
        threshold: float = 0.9,
        similarity: str = "pearson",
        linkage: str = "complete",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.threshold = threshold
        self.similarity = similarity
        self.linkage = linkage

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Fit the wrapped selector, and group the features it selects.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their classes, or another target of the wrapped estimator.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to the wrapped estimator, and used in the similarities.
        groups : array-like of shape (n_samples,), default=None
            Passed to the wrapped estimator, if it takes them.
        batches : array-like of shape (n_samples,), default=None
            The same. Similarities are those of all samples together.

        Returns
        -------
        self : object
            The fitted selector.
        """
        data = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        metadata = data.metadata_for("estimator")
        with watched(self, total=2) as progress:
            member = self._clone_for_features()
            self.estimator_ = member.fit(data.X, *([] if data.y is None else [data.y]), **metadata)
            weights = weights_of(self.estimator_, self.n_features_in_)
            progress.advance()
            found = self._grouped(data.X, data.sample_weight, ranked_by(self.estimator_, weights))
            progress.advance()
        self.labels_, self.representatives_ = found.labels, found.representatives
        self.similarity_, self.groups_ = found.similarity, found.members
        return self._set_weights(weights)

    def _grouped(
        self, X: Any, sample_weight: NDArray[np.float64] | None, ranked_by: NDArray[np.float64]
    ) -> FeatureGroups:
        order = best_first(ranked_by)

        def group(best: NDArray[np.int64]) -> FeatureGroups:
            return group_features(
                X,
                best,
                threshold=self.threshold,
                similarity=self.similarity,
                linkage=self.linkage,
                categorical=self._is_categorical,
                sample_weight=sample_weight,
            )

        if self.n_features_to_select is None:
            return group(order[_selected(self.estimator_, ranked_by)[order]])
        wanted = n_selected_features(self.n_features_to_select, order.size)
        found = grouped_until(wanted, order, group)
        n_groups = found.representatives.size
        if n_groups < wanted:
            warn_user(
                f"All {order.size} features are of {n_groups} groups at threshold={self.threshold:g}: so many"
                f" are kept, and not {wanted}.",
                UserWarning,
            )
        return found

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        support = np.zeros(self.n_features_in_, dtype=bool)
        if self.n_features_to_select is None:
            support[self.representatives_] = True
            # The fit may have grouped more features.
            selected = _selected(self.estimator_, self.feature_weights_)
            both = support & selected
            return both if both.any() or not selected.any() else support
        wanted = n_selected_features(self.n_features_to_select, self.n_features_in_)
        if wanted > self.representatives_.size and np.any(self.labels_ == -1):
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select!r} is more than the"
                f" {self.representatives_.size} groups of the features that fit looked at: fit again."
            )
        support[self.representatives_[:wanted]] = True
        return support

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        return ranked_by(self.estimator_, self.feature_weights_)


def _selected(fitted: Any, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the mask of the features that a fitted estimator selects; of positive weight if it does not."""
    inside = innermost(fitted)
    if hasattr(inside, "get_support"):
        mask = np.asarray(inside.get_support())
        if mask.shape == weights.shape:
            return mask
    return best_features(weights, None)
