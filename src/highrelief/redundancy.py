"""Features that say the same: one of each group is kept, the second stage that Sun (2007) suggests."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .bases.input import warn_user
from .bases.meta import innermost, ranked_by, weights_of
from .bases.meta_mixed import MixedSingleFitWeighter
from .bases.progress import watched, with_callbacks
from .bases.selector import best_features, falling, n_features_kept
from .core.feature_groups import LINKAGES, MOST_GROUPED, FeatureGroups, grouped, grouped_until
from .core.parameters import check_choice, check_number
from .core.similarity import SIMILARITIES, similarities


class RedundancyFilter(MixedSingleFitWeighter):
    r"""Keep one feature of each group that says the same, around any selector.

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
        Similarity, in (0, 1], from which on features say the same. 1: copies only, in whatever units and
        whichever sign.
    similarity : {"pearson", "spearman"}, default="pearson"
        The correlation of two numbers; Spearman's is 1 also where one is a bent, but rising or falling,
        function of the other. Of two categories, as the wrapped weighter's ``categorical_features`` has
        them, it is Cramér's V; a number and a category are in no group together. Samples that lack one of
        two values are left out for this pair.
    linkage : {"complete", "average", "single"}, default="complete"
        What makes a group: every two of its features reach ``threshold``; or they do on average; or each is
        linked to the next, which may make long chains. With "complete" and "average" kept features of two
        groups may still be as similar as ``threshold``; with "single" never.
    n_features_to_select : int, float or None, default=None
        None: a representative of each group of the features that ``estimator`` keeps. An int, or a float in
        (0, 1], a share of all: so many representatives; the best so many features are grouped, twice as
        many, four times as many, until there are enough groups.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by max(weight, 0), or its square root
        for "euclidean"; True is the metric of the wrapped weighter.
    n_jobs : int or None, default=None
        Threads of the wrapped weighter, where it names none.
    verbose : int, default=0
        1 shows progress on long work.

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
        1 = best; equal weights share the lowest number.
    classes_ : array of shape (n_classes,)
        The classes, if that is what y holds.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Grouping m features takes about 12 m² bytes (1.2 GB for 10,000) and time in proportion to m² (n + log m);
    no more than 20,000 are grouped. After the fit ``n_features_to_select`` can be set to fewer.

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

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        check_number("threshold", self.threshold, above=0.0, at_most=1.0)
        check_choice("similarity", self.similarity, SIMILARITIES)
        check_choice("linkage", self.linkage, LINKAGES)

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Fit the wrapped selector, and group what it keeps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their classes, or what else the wrapped estimator is to be told.
        sample_weight : array-like of shape (n_samples,), default=None
            Given to the wrapped estimator; samples count so often in the similarities too.
        groups : array-like of shape (n_samples,), default=None
            Given to the wrapped estimator, if it takes them.
        batches : array-like of shape (n_samples,), default=None
            The same. Similarities are those of all samples together.

        Returns
        -------
        self : object
            The fitted selector.
        """
        table = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        told = table.told_to("estimator")
        with watched(self, total=2) as progress:
            member = self._told_of_categories()
            self.estimator_ = member.fit(table.X, *([] if table.y is None else [table.y]), **told)
            weights = weights_of(self.estimator_, self.n_features_in_)
            progress.advance()
            found = self._grouped(table.X, table.copies, ranked_by(self.estimator_, weights))
            progress.advance()
        self.labels_, self.representatives_ = found.labels, found.representatives
        self.similarity_, self.groups_ = found.similarity, found.members
        return self._set_weights(weights)

    def _grouped(
        self, X: Any, copies: NDArray[np.float64] | None, ranked_by: NDArray[np.float64]
    ) -> FeatureGroups:
        order = falling(ranked_by)

        def group(best: NDArray[np.int64]) -> FeatureGroups:
            return group_features(
                X,
                best,
                threshold=self.threshold,
                similarity=self.similarity,
                linkage=self.linkage,
                categorical=self._is_categorical,
                copies=copies,
            )

        if self.n_features_to_select is None:
            return group(order[_kept(self.estimator_, ranked_by)[order]])
        wanted = n_features_kept(self.n_features_to_select, order.size)
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
        mask = np.zeros(self.n_features_in_, dtype=bool)
        if self.n_features_to_select is None:
            mask[self.representatives_] = True
            # After a fit that looked further down the ranking.
            kept = _kept(self.estimator_, self.feature_weights_)
            both = mask & kept
            return both if both.any() or not kept.any() else mask
        wanted = n_features_kept(self.n_features_to_select, self.n_features_in_)
        if wanted > self.representatives_.size and np.any(self.labels_ == -1):
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select!r} is more than the"
                f" {self.representatives_.size} groups of the features that fit looked at: fit again."
            )
        mask[self.representatives_[:wanted]] = True
        return mask

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        return ranked_by(self.estimator_, self.feature_weights_)


def group_features(
    X: Any,
    best: NDArray[np.int64],
    *,
    threshold: float,
    similarity: str = "pearson",
    linkage: str = "complete",
    categorical: NDArray[np.bool_] | None = None,
    copies: NDArray[np.float64] | None = None,
) -> FeatureGroups:
    """Group some features of a table, given from the best on; see :class:`RedundancyFilter`."""
    if best.size > MOST_GROUPED:
        raise ValueError(
            f"{best.size:,} features would be grouped, each compared with each other; at most"
            f" {MOST_GROUPED:,} can be. Keep fewer of them before, by n_features_to_select."
        )
    columns = X[:, best]
    values = (columns.toarray() if sparse.issparse(columns) else np.asarray(columns)).astype(np.float64)
    of_best = None if categorical is None else categorical[best]
    similar = similarities(values, similarity, categorical=of_best, copies=copies)
    return grouped(similar, best, X.shape[1], threshold, linkage)


def _kept(fitted: Any, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which features a fitted estimator keeps, perhaps none; those above 0 where it does not select."""
    inside = innermost(fitted)
    if hasattr(inside, "get_support"):
        mask = np.asarray(inside.get_support())
        if mask.shape == weights.shape:
            return mask
    return best_features(weights, None)
