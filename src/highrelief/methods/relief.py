"""RELIEF and RELIEF-F: mean margins at the nearest neighbors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.engine import Engine
from .._engine.metrics import METRICS
from .._engine.neighbors import Neighborhood
from .._engine.parameters import check_count, constraints, count, number, one_of, optional, random_generator
from .._solvers.sampled_mean import AnchorSample, is_settled, sampling_rounds
from ..base.categorical import CategoricalFeaturesMixin
from ..base.progress import watched, with_callbacks
from ..base.selector import n_selected_features
from ..base.validation import FLOAT_TYPES
from ..base.weighter import FeatureWeighter


class _NearestWeighter(FeatureWeighter):
    """Base of RELIEF and RELIEF-F, which differ in their neighborhoods."""

    _allows_missing = True
    _refuses_dask: str | None = None
    _bytes_per_value = 2
    # Genotypes and other small integers are used as is.
    _types = (*FLOAT_TYPES, np.int8, np.uint8, np.bool_)

    _takes_sparse = True
    _constraints = constraints(
        metric=one_of(*METRICS),
        max_error=optional(number(at_least=0.0)),
        confidence=number(above=0.0, below=1.0),
    )

    n_anchors: int | None
    max_error: float | None
    confidence: float
    metric: str
    random_state: Any

    @abstractmethod
    def _neighborhood(self) -> Neighborhood:
        """Return the number and the weights of the neighbors."""

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.n_anchors is not None:
            check_count("n_anchors", self.n_anchors, at_most=n_samples, of="samples")

    def _largest_range(self, dtype: np.dtype[Any]) -> float:
        # Distances are computed in units in which they can be squared. Weights are squared differences with
        # "sqeuclidean", and the variance of sampled anchors squares them again.
        if self._draws_anchors or METRICS[self.metric].squares_margins:
            return super()._largest_range(dtype)
        return 1e30 if dtype == np.float32 else 1e290

    @property
    def _draws_anchors(self) -> bool:
        """Whether weights are estimated from a random sample of anchors."""
        return self.n_anchors is not None or self.max_error is not None

    def _sampled_margins(self, engine: Engine, n_samples: int) -> tuple[AnchorSample, dict[str, Any]]:
        """Draw anchors until there are enough; return their margins, and how neighbors were found."""
        generator = random_generator("random_state", self.random_state)
        n_anchors = n_samples if self.n_anchors is None else self.n_anchors
        order = generator.choice(n_samples, n_anchors, replace=False)
        sample = AnchorSample(engine.weights, *engine.spans_and_rarity())
        rounds = [(0, n_anchors)] if self.max_error is None else sampling_rounds(n_anchors)
        # Bonferroni: for all features and all rounds together.
        risk = (1.0 - self.confidence) / (self.n_features_in_ * len(rounds))
        with watched(self, total=len(rounds)) as progress:
            for a, b in rounds:
                search = engine.nearest(self._neighborhood(), order[a:b])
                sample.add(order[a:b], search.sums())
                progress.advance()
                if self.max_error is not None and is_settled(
                    sample.mean, sample.half_width(risk), self._n_selected, self.max_error
                ):
                    break
        return sample, search.describe()

    @property
    def _n_selected(self) -> int | None:
        """Number of features to select; None: those of positive weight."""
        if self.n_features_to_select is None:
            return None
        return n_selected_features(self.n_features_to_select, self.n_features_in_)

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
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.
        batches : array-like of shape (n_samples,), default=None
            Batch of each sample, a name or a number. Features are scaled within each batch, and
            ``batch_neighbors`` determines which batches neighbors are in. A sample without a hit or a miss
            there contributes nothing.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y, sample_weight, batches)
        engine = self._choose_engine(data)
        if self._draws_anchors:
            sample, described = self._sampled_margins(engine, data.codes.size)
            self._set_weights(sample.mean)
            intervals = sample.intervals(self.confidence)
            self.weight_intervals_ = np.where(self._constant[:, np.newaxis], 0.0, intervals)
            self.n_anchors_ = sample.n_drawn
        else:
            search = engine.nearest(self._neighborhood())
            with watched(self, total=search.n_reports) as progress:
                self._set_weights(search.mean(progress.advance))
            described = search.describe()
            self.weight_intervals_ = np.stack([self.feature_weights_] * 2, axis=1)
            self.n_anchors_ = data.codes.size
        self.execution_ = engine.execution() | described
        return self

    def margins(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the margin of every sample of X, with neighbors in X, under the learned weights.

        ρ_n = Σ_j w_j (E|x_nj − miss_j| − E|x_nj − hit_j|) with w = (weights)⁺/‖(weights)⁺‖₂, the maximizer of
        the mean margin (Sun 2007, eqs. 2 and 6), and the neighbors as in ``fit``. Positive: the sample is
        nearer to its own class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; scaled as in ``fit``.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Their batches; features are then scaled within each batch.

        Returns
        -------
        margins : array of shape (n_samples,)
            0 for a sample without another of its class.
        """
        engine, w = self._margin_engine(X, y, batches)
        return engine.nearest(self._neighborhood()).margins_under(w)


class Relief(_NearestWeighter):
    r"""RELIEF: mean margin at the nearest hit and the nearest miss.

    .. math:: W_j = \frac{1}{N} \sum_n |x_{nj} - \mathrm{NM}_j(x_n)| - |x_{nj} - \mathrm{NH}_j(x_n)|

    NH is the nearest sample of the same class, NM the nearest of all others. Ties share: the order of the
    rows never matters. A sample without another of its class contributes nothing.

    Parameters
    ----------
    n_anchors : int or None, default=None
        Number of anchors x_n to sum over, drawn without replacement; None: all samples.
    max_error : float or None, default=None
        Draw anchors, up to ``n_anchors``, only until the selection is settled: at ``confidence``, no other
        feature has a weight that exceeds that of a selected one by more than ``max_error``. The selection is
        that of ``n_features_to_select``; with None it is the features of positive weight, and the others are
        compared with 0.
    confidence : float, default=0.95
        Confidence of each of ``weight_intervals_``, and of ``max_error``, there simultaneous for all features
        and all rounds of drawing anchors.
    metric : {"manhattan", "euclidean", "sqeuclidean"}, default="manhattan"
        Distance by which neighbors are found. With "sqeuclidean" the differences in the sum are squared too,
        as in the RELIEF of Gilad-Bachrach et al. (2004).
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean, each > 0; "balanced" is N/(C·n_c) for the n_c samples of a class,
        so that all C classes contribute equally.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether hits and misses are in the batch of a sample, or in the other
        batches.
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
        Mean margin per feature; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    weight_intervals_ : array of shape (n_features, 2)
        Confidence interval, at ``confidence``, of the weight that all samples as anchors would give. The
        weight itself, twice, if all of them were.
    n_anchors_ : int
        Number of anchors.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Kira, K. and Rendell, L. (1992). A practical approach to feature selection. ICML.

    Sun, Y. (2007). Iterative RELIEF for feature weighting. IEEE TPAMI 29(6), Fig. 1 and eqs. (2)-(6).

    Examples
    --------
    >>> from highrelief import Relief
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=3, random_state=0)
    >>> Relief(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    def __init__(
        self,
        *,
        n_anchors: int | None = None,
        max_error: float | None = None,
        confidence: float = 0.95,
        metric: str = "manhattan",
        class_weight: Any = None,
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
        self.n_anchors = n_anchors
        self.max_error = max_error
        self.confidence = confidence
        self.metric = metric
        self.class_weight = class_weight
        self.batch_neighbors = batch_neighbors
        self.random_state = random_state

    def _neighborhood(self) -> Neighborhood:
        return Neighborhood(1, self.metric, pooled=True)


class ReliefF(CategoricalFeaturesMixin, _NearestWeighter):
    r"""RELIEF-F: mean margin at the k nearest hits and the k nearest misses of each other class.

    .. math::

        W_j = \frac{1}{N} \sum_n \Bigl( & \sum_{c \ne y_n} \frac{P(c)}{1 - P(y_n)}
              \sum_{i \in \mathrm{NM}_c} u_i |x_{nj} - x_{ij}| \\
              & - \sum_{i \in \mathrm{NH}} u_i |x_{nj} - x_{ij}| \Bigr)

    with :math:`u_i` = 1/k, or falling with the rank. Samples tied at the k-th distance share the remaining
    weight, so that results do not depend on the order of the rows. If there are fewer than k, all of them
    count. A sample without another of its class contributes nothing.

    Parameters
    ----------
    n_neighbors : int, default=10
        Nearest hits, and nearest misses from each other class.
    neighbor_weights : {"uniform", "rank"}, default="uniform"
        "rank": a neighbor weighs exp(−(rank/rank_decay)²), divided by the sum over the k.
    rank_decay : float, default=20
        Decay of the weights with the rank.
    n_anchors : int or None, default=None
        Number of anchors x_n to sum over, drawn without replacement; None: all samples.
    max_error : float or None, default=None
        Draw anchors, up to ``n_anchors``, only until the selection is settled: at ``confidence``, no other
        feature has a weight that exceeds that of a selected one by more than ``max_error``. The selection is
        that of ``n_features_to_select``; with None it is the features of positive weight, and the others are
        compared with 0.
    confidence : float, default=0.95
        Confidence of each of ``weight_intervals_``, and of ``max_error``, there simultaneous for all features
        and all rounds of drawing anchors.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Categorical features: two values differ by 1 if they are not equal. "auto": columns of at most two
        values, of at most 10 integers, such as genotypes, or of text. "from_dtype": the columns of a
        DataFrame that hold categories or text. None: all features are numeric; a warning is issued if "auto"
        would take all of them as categories. []: the same without it.
    metric : {"manhattan", "euclidean", "sqeuclidean"}, default="manhattan"
        Distance by which neighbors are found. With "sqeuclidean" the differences in the sum are squared.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean and in P(c), each > 0; "balanced" is N/(C·n_c) for the n_c samples
        of a class, so that all C classes contribute equally.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether hits and misses are in the batch of a sample, or in the other
        batches.
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
        Mean margin per feature; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    weight_intervals_ : array of shape (n_features, 2)
        Confidence interval, at ``confidence``, of the weight that all samples as anchors would give. The
        weight itself, twice, if all of them were.
    n_anchors_ : int
        Number of anchors.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Kononenko, I. (1994). Estimating attributes: analysis and extensions of RELIEF. ECML.

    Robnik-Šikonja, M. and Kononenko, I. (2003). Theoretical and empirical analysis of ReliefF and
    RReliefF. Machine Learning 53.

    Examples
    --------
    >>> from highrelief import ReliefF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=50, random_state=0)
    >>> ReliefF(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _constraints = constraints(
        n_neighbors=count(),
        neighbor_weights=one_of("uniform", "rank"),
        rank_decay=number(above=0.0),
    )

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        neighbor_weights: str = "uniform",
        rank_decay: float = 20,
        n_anchors: int | None = None,
        max_error: float | None = None,
        confidence: float = 0.95,
        categorical_features: Any = None,
        metric: str = "manhattan",
        class_weight: Any = None,
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
        self.max_error = max_error
        self.confidence = confidence
        self.categorical_features = categorical_features
        self.metric = metric
        self.class_weight = class_weight
        self.batch_neighbors = batch_neighbors
        self.random_state = random_state

    def _neighborhood(self) -> Neighborhood:
        ranked = self.neighbor_weights == "rank"
        return Neighborhood(
            self.n_neighbors, self.metric, rank_decay=float(self.rank_decay) if ranked else None
        )
