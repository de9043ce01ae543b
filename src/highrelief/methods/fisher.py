"""The Fisher score: the univariate baseline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.columns import Moments
from .._engine.limits import limits
from .._engine.scaling import Scaling
from .._engine.threads import even_ranges
from ..base.progress import with_callbacks
from ..base.training_data import TrainingData
from ..base.validation import is_sparse
from ..base.weighter import FeatureWeighter


class FisherScore(FeatureWeighter):
    r"""Scatter between the classes over scatter within them, feature by feature.

    .. math:: F_j = \frac{\sum_c n_c (\mu_{cj} - \mu_j)^2}{\sum_c n_c \sigma_{cj}^2}

    with the population variance. It sees no interaction. A constant feature scores 0; a feature that is
    constant within every class, but not between them, scores about 1e30: the scatter within counts as no
    smaller than N·(ε·range)², with the machine's precision ε.

    Parameters
    ----------
    class_weight : None, "balanced" or dict, default=None
        What n_c is multiplied by: a weight > 0 for each class; "balanced" is N/(C·n_c), so that all C classes
        count the same.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by the weights, or their square
        roots for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How ``transform`` scales weighted columns; the score itself does not depend on it.
    n_jobs : int or None, default=None
        Not used: the score takes one sweep.
    verbose : int, default=0
        Not used.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        The scores, ≥ 0.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Duda, R., Hart, P. and Stork, D. (2001). Pattern Classification, 2nd ed., section 3.8.

    Examples
    --------
    >>> from highrelief import FisherScore
    >>> FisherScore().fit([[0, 3], [1, 1], [4, 2], [5, 2]], [0, 0, 1, 1]).feature_weights_
    array([16.,  0.])
    """

    _needs_hits = False
    _takes_sparse = True

    def __init__(
        self,
        *,
        class_weight: Any = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
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
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Score the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y, sample_weight)
        sample_weight = np.ones(data.codes.size) if data.sample_weight is None else data.sample_weight
        if data.class_weights is not None:
            sample_weight = sample_weight * data.class_weights[data.codes]
        sizes = np.bincount(data.codes, weights=sample_weight)  # n_c
        centers, within = _centers_and_scatter(data, sample_weight, sizes)  # μ_c, and Σ n_c σ_c²
        mean = sizes @ centers / sizes.sum()
        between = sizes @ (centers - mean) ** 2
        smallest = sample_weight.sum() * np.finfo(np.float64).eps ** 2
        return self._set_weights(_ratio(between, np.maximum(within, smallest)))


def _centers_and_scatter(
    data: TrainingData, sample_weight: NDArray[np.float64], sizes: NDArray[np.number]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of the classes, (n_classes, n_features), and the scatter around them, (n_features,).

    In the units of the range: no digits are lost far from 0, and no square overflows.
    """
    inside = Scaling.to_range(data.ranges.low, data.ranges.high)
    n_features = data.X.shape[1]
    centers, within = np.empty((sizes.size, n_features)), np.zeros(n_features)
    n_blocks = 1 if is_sparse(data.X) else -(-data.X.size * 8 // limits.block_bytes)
    for start, end in even_ranges(n_features, n_blocks):
        part = slice(start, end)
        X, scaling = (data.X, inside) if n_blocks == 1 else (data.X[:, part], inside.of(part))
        for c in range(sizes.size):
            of_class = data.codes == c
            centers[c, part], around = _center_and_scatter(
                X[of_class], scaling, sample_weight[of_class], sizes[c]
            )
            within[part] += around
    return centers, within


def _center_and_scatter(
    X: Any, scaling: Scaling, sample_weight: NDArray[np.float64], size: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of every scaled column, and the weighted sum of squared differences from it."""
    if is_sparse(X):
        moments = Moments(X, scaling)
        center = moments.mean(sample_weight)
        return center, moments.squares_around(center, sample_weight)
    members = scaling.apply(X).astype(np.float64, copy=False)
    center = members[0] + sample_weight @ (members - members[0]) / size
    return center, sample_weight @ (members - center) ** 2


def _ratio(between: NDArray[np.float64], within: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(between, within, out=np.zeros_like(between), where=within > 0.0)
