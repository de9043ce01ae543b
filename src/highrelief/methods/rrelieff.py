"""RRELIEF-F: RELIEF-F for a continuous target."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.batches import BatchConstraint
from .._engine.metrics import METRICS
from .._engine.nearest import TargetDifferences
from .._engine.neighbors import Neighborhood
from .._engine.parameters import check_count, constraints, count, number, one_of, random_generator
from ..base.categorical import CategoricalFeaturesMixin
from ..base.progress import watched, with_callbacks
from ..base.training_data import TrainingData
from ..base.validation import FLOAT_TYPES, ValidationMixin
from ..base.weighter import FeatureWeighter


class ContinuousTargetMixin(ValidationMixin):
    """Validates continuous targets. List it before the base class of a weighter."""

    _continuous_target = True
    # Name of the class of the method for class labels.
    _for_classes = "ReliefF"

    def _validate_target(self, y: NDArray[Any]) -> NDArray[np.float64]:
        if y.dtype.kind in "iufb":
            return y.astype(np.float64, copy=False)
        try:
            return y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"y must hold numbers for {type(self).__name__}, which weighs features for a continuous"
                f" target; for classes use {self._for_classes}."
            ) from None

    def _set_target(self, y: NDArray[np.float64]) -> NDArray[np.int64]:
        if y.min() == y.max():
            raise ValueError(
                f"{type(self).__name__} compares samples of different targets, but y is constant ({y[0]:g})."
            )
        return np.zeros(y.size, dtype=np.int64)

    def _check_batches(self, data: TrainingData, batch_constraint: BatchConstraint) -> None:
        if not batch_constraint.has_hits(data.codes, data.sample_weight).any():
            reason = (
                "each sample has a batch of its own"
                if batch_constraint.within
                else "all samples are of one batch"
            )
            raise ValueError(
                f"batch_neighbors={self.batch_neighbors!r} leaves {type(self).__name__} without neighbors:"
                f" {reason}."
            )


class RReliefF(ContinuousTargetMixin, CategoricalFeaturesMixin, FeatureWeighter):
    r"""RRELIEF-F: features by which samples of different targets differ, and samples of like targets do not.

    .. math::

        W_j = \frac{N_{dC\&dA}[j]}{N_{dC}} - \frac{N_{dA}[j] - N_{dC\&dA}[j]}{m - N_{dC}}

    with sums over m anchors n and their k nearest neighbors i, all samples being of one class,

    .. math::

        N_{dC} = \sum_n \sum_i u_{ni} \, |y_n - y_i|, \quad
        N_{dA}[j] = \sum_n \sum_i u_{ni} \, |x_{nj} - x_{ij}|, \quad
        N_{dC\&dA}[j] = \sum_n \sum_i u_{ni} \, |y_n - y_i| \, |x_{nj} - x_{ij}|

    where y is scaled to [0, 1] by its range and :math:`u_{ni} \propto \exp(-(\mathrm{rank}/20)^2)`, summing
    to 1 over the neighbors of a sample. W estimates P(different value | near, different target) − P(different
    value | near, same target). Samples tied at the k-th distance share the remaining weight, so that results
    do not depend on the order of the rows. Where all neighbors have the same target, or all lie at the
    opposite end of its range, the fraction that this leaves without a denominator is 0.

    Parameters
    ----------
    n_neighbors : int, default=10
        Nearest samples, whatever their targets.
    neighbor_weights : {"rank", "uniform"}, default="rank"
        "rank": a neighbor weighs exp(−(rank/rank_decay)²), divided by the sum over the k, as in the paper;
        "uniform": all weigh 1/k.
    rank_decay : float, default=20
        Decay of the weights with the rank.
    n_anchors : int or None, default=None
        Number of anchors x_n to sum over, drawn without replacement; None: all samples.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Categorical features: two values differ by 1 if they are not equal. "auto": columns of at most two
        values, of at most 10 whole numbers, such as genotypes, or of text. "from_dtype": the columns of a
        DataFrame that hold categories or text. None: all features are numeric; a warning is issued if "auto"
        would take all of them as categories. []: the same without it.
    metric : {"manhattan", "euclidean", "sqeuclidean"}, default="manhattan"
        Distance by which neighbors are found. With "sqeuclidean" the differences of the features in the sums
        are squared.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether neighbors are in the batch of a sample, or in the other batches.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1] and weights to [−1, 1].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.
    random_state : int, RandomState or None, default=None
        Determines the anchors.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        W; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    n_anchors_ : int
        Number of anchors.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Robnik-Šikonja, M. and Kononenko, I. (1997). An adaptation of Relief for attribute estimation in
    regression. ICML.

    Robnik-Šikonja, M. and Kononenko, I. (2003). Theoretical and empirical analysis of ReliefF and
    RReliefF. Machine Learning 53.

    Examples
    --------
    >>> import numpy as np
    >>> from highrelief import RReliefF
    >>> X = np.random.default_rng(0).uniform(size=(300, 10))
    >>> y = np.cos(6 * X[:, 0]) * np.sin(6 * X[:, 1])
    >>> RReliefF(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _allows_missing = True
    # Genotypes and other small integers are used as is.
    _types = (*FLOAT_TYPES, np.int8, np.uint8, np.bool_)
    _constraints = constraints(
        n_neighbors=count(),
        neighbor_weights=one_of("uniform", "rank"),
        rank_decay=number(above=0.0),
        metric=one_of(*METRICS),
    )

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        neighbor_weights: str = "rank",
        rank_decay: float = 20,
        n_anchors: int | None = None,
        categorical_features: Any = None,
        metric: str = "manhattan",
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_neighbors = n_neighbors
        self.neighbor_weights = neighbor_weights
        self.rank_decay = rank_decay
        self.n_anchors = n_anchors
        self.categorical_features = categorical_features
        self.metric = metric
        self.batch_neighbors = batch_neighbors
        self.random_state = random_state

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.n_anchors is not None:
            check_count("n_anchors", self.n_anchors, at_most=n_samples, of="samples")

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Compute the feature weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their continuous targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.
        batches : array-like of shape (n_samples,), default=None
            Batch of each sample, a name or a number. Features, but not the target, are scaled within each
            batch, and ``batch_neighbors`` determines which batches neighbors are in. A sample without
            neighbors there contributes nothing.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y, sample_weight, batches)
        engine = self._choose_engine(data)
        target = to_unit_range(data.y)
        ranked = self.neighbor_weights == "rank"
        among = Neighborhood(
            self.n_neighbors, self.metric, pooled=True, rank_decay=float(self.rank_decay) if ranked else None
        )
        nearest = engine.nearest(among, self._anchors(target.size))
        with watched(self, total=nearest.n_reports) as progress:
            self._set_weights(_weights(nearest.target_differences(target, progress.advance)))
        self.n_anchors_ = target.size if self.n_anchors is None else int(self.n_anchors)
        self.execution_ = engine.execution() | nearest.describe()
        return self

    def _anchors(self, n_samples: int) -> NDArray[np.int64] | None:
        if self.n_anchors is None:
            return None
        generator = random_generator("random_state", self.random_state)
        return generator.choice(n_samples, self.n_anchors, replace=False)


def _weights(sums: TargetDifferences) -> NDArray[np.float64]:
    """Return N_dC&dA/N_dC − (N_dA − N_dC&dA)/(m − N_dC); a quotient with denominator 0 is 0."""
    with_different = sums.of_both / sums.of_target if sums.of_target > 0.0 else 0.0 * sums.of_both
    alike = sums.n_anchors - sums.of_target
    # 0 up to rounding if all neighbors are at opposite ends of the range.
    if alike <= 1e-12 * sums.n_anchors:
        return with_different
    return with_different - (sums.of_features - sums.of_both) / alike


def to_unit_range(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return targets scaled to [0, 1]; large ones are halved first, so that the range does not overflow."""
    unit = 0.5 if max(-y.min(), y.max()) > 1e300 else 1.0
    low, high = y.min() * unit, y.max() * unit
    return (y * unit - low) / (high - low)
