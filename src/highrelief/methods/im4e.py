"""I-M4E: large margins of high quality, and the classifier that uses them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._dask.collections import is_dask_table
from .._engine.class_distances import ClassDistances
from .._engine.engine import Engine
from .._engine.metrics import merge_ties, tie_tolerance
from .._engine.parameters import constraints, number, one_of, optional, positive_or
from .._solvers.fixed_point import simplex_positive_part, simplex_projection, unit_positive_part
from ..base.folds import check_folds, has_misses, usable_folds
from ..base.progress import with_callbacks
from ..base.selector import check_columns, map_row_blocks
from ..base.soft import GridPoint, RepeatedWeighter, Width
from ..base.training_data import TrainingData
from ..base.validation import (
    FLOAT_TYPES,
    assert_all_finite,
    is_dask_backed,
    label_codes,
    validate_data,
    warn_user,
)

#: The paper's σ path: 1, ½, ¼, … down to the last that is not below 0.0001.
SIGMA_PATH: NDArray[np.float64] = np.ldexp(1.0, -np.arange(14))


class IM4E(ClassifierMixin, RepeatedWeighter):
    r"""I-M4E: weights that balance how large margins are against how much they hang on single samples.

    Under the distance :math:`d_{ni} = \sum_j w_j |x_{nj} - x_{ij}|` minimize

    .. math::

        C = {}& \sum_n \Bigl(
            \sum_{h \in H_n} \alpha_{nh} d_{nh} - \sum_{m \in M_n} \beta_{nm} d_{nm} \Bigr) \\
            &+ \sigma \sum_n \bigl( E_{miss}(n) - E_{hit}(n) \bigr) + \lambda \|w\|_2^2,
        \quad w \ge 0, \; \|w\|_1 = 1

    where α and β are probabilities over the hits H and the misses M of a sample and E their entropies, in
    nats. For given w, α minimizes C and β maximizes it at the softmax of −d/σ (eqs. 5 and 6); for given α
    and β, with :math:`v = \frac{1}{2\lambda} \sum_n (\sum_m \beta_{nm} |x_n - x_m| - \sum_h \alpha_{nh}
    |x_n - x_h|)`, the next weights are :math:`(v)^+ / \|(v)^+\|_1` (eq. 9). The two steps alternate.

    New samples go to the class with the smallest expected distance (eq. 10),
    :math:`\Psi_c(x) = \sum_{y_n = c} P^c_n d(x, x_n)`, with P the softmax of −d/σ over the class.

    Parameters
    ----------
    sigma : "auto", "path" or float, default="auto"
        Kernel width σ, in the units of Σ_j w_j|x_j| with Σw = 1. With a number Algorithm 1 runs. "auto"
        finds, in every step, the σ at which the entropy of softmax(−d/σ) over all other samples is on average
        log(``perplexity``·(N − 1)), and averages the steps. "path" is the paper's choice: of 1, ½, ¼, … ≥
        0.0001 the one whose rule classifies best in an inner cross-validation, ties to the larger; each σ
        starts from the weights of the one before.
    w_step : {"paper", "exact"}, default="paper"
        How weights follow from v: by eq. (9), or as the exact minimizer of C on the simplex, which is the
        projection of v on it, (v − θ)⁺ with θ such that the sum is 1.
    alpha : float or None, default=None
        λ; None is the number of samples (the sum of their weights). By eq. (9) it only shifts the cost. In
        the exact step a large λ makes weights alike, a small one leaves few of them.
    loss : {"linear", "log"}, default="linear"
        "linear" is the paper's. "log" is ours, after its outlook: the sum of margin and quality of a sample,
        m_n = ρ_n − σ(E_miss − E_hit), enters as σ·log(1 + exp(−m_n/σ)). That leaves eqs. (5) and (6) as
        they are, is −σ·log of the probability γ_n that the sample is nearer to its class than to others
        (Sun 2007, eq. 10), and multiplies the sample's part of v by 1 − γ_n: samples well inside their class
        count little.
    sparsity : float, default=0.0
        In [0, 1); ours, after the paper's outlook on L1. A penalty μ‖w‖₁ beside λ‖w‖₂² subtracts μ/2λ from v
        before its positive part is taken; μ = ``sparsity`` times the smallest μ at which no feature is left,
        the largest component of 2λv. The simplex cannot see it: not with ``w_step="exact"``.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, instead of the last. None: with
        ``sigma="auto"`` only.
    perplexity : float or None, default=None
        Effective number of neighbors, as a fraction of all samples, for ``sigma="auto"``. None: 0.5, and the
        final weights are combined with the margin at equal weights, as in :class:`highrelief.IRelief`; not
        with ``w_step="exact"`` or a ``sparsity``, which are for fewer features.
    cv : int, splitter or iterable, default=5
        For ``sigma="path"``: the number of stratified folds, not shuffled, or, as in scikit-learn, an object
        that splits, or pairs of samples to fit and to leave out. Folds that leave one class are skipped.
    max_iter : int or None, default=None
        Largest number of iterations. None: a schedule of 10 averaged ones, or at most 100 plain ones.
    tol : float, default=1e-6
        The iteration ends when C changes by less, or, in float32, by no more than rounding does; never if 0.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Initial weights, normalized to sum 1. The paper draws them at random.
    memory_budget : float or None, default=None
        Bytes for storing the distances of all pairs between passes; if they need more, they are recomputed in
        each pass. None: half of the free memory. Results are bitwise identical for any value.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether hits and misses are in the batch of a sample, or in the other
        batches.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by the weights, or their square
        roots for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1]. The paper has "standard".
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        ≥ 0, sum 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    cost_ : array of shape (n_iter,)
        C after every iteration, at its weights with the α and β that made them; with ``loss="log"`` at the
        weights that the iteration began with and their own α and β. With ``sigma="auto"`` every iteration has
        its own σ.
    hit_entropy_, miss_entropy_ : array of shape (n_iter,)
        Σ_n E_hit and Σ_n E_miss in every iteration, in nats.
    sigma_ : float
        The kernel width; with "auto" that of the final weights.
    sigma_path_, cv_scores_ : array of shape (14,)
        With ``sigma="path"``: the widths, and the share of left-out samples that the rule classified right;
        NaN if no sample could be left out.
    n_iter_ : int
        Iterations run; with ``sigma="path"`` with the chosen width.
    converged_ : bool
        Whether C converged, or the whole schedule of ``max_iter=None`` was run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no solution.
    cycle_length_ : int
        Length of the cycle that the iteration ended in; 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, whether distances were stored or recomputed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Bei, Y. and Hong, P. (2015). Maximizing margin quality and quantity. IEEE International Workshop on
    Machine Learning for Signal Processing.

    Examples
    --------
    >>> from highrelief import IM4E
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(300, n_irrelevant=20, random_state=0)
    >>> model = IM4E(n_features_to_select=2).fit(X[:200], y[:200])
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    _allows_missing = True
    # Differences are not squared.
    _widest = (1e290, 1e30)

    def _dask_refusal(self) -> str | None:
        return "sigma='path' cuts folds of tables in memory." if self.sigma == "path" else None

    _random_norm = 1
    _constraints = constraints(
        sigma=positive_or("auto", "path"),
        w_step=one_of("paper", "exact"),
        loss=one_of("linear", "log"),
        alpha=optional(number(above=0.0)),
        sparsity=number(at_least=0.0, below=1.0),
        cv=check_folds,
    )

    def __init__(
        self,
        *,
        sigma: str | float = "auto",
        w_step: str = "paper",
        alpha: float | None = None,
        loss: str = "linear",
        sparsity: float = 0.0,
        averaging: bool | None = None,
        perplexity: float | None = None,
        cv: Any = 5,
        max_iter: int | None = None,
        tol: float = 1e-6,
        init: str | ArrayLike = "uniform",
        memory_budget: float | None = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            sigma=sigma,
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            memory_budget=memory_budget,
            random_state=random_state,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.w_step = w_step
        self.alpha = alpha
        self.loss = loss
        self.sparsity = sparsity
        self.cv = cv
        self.batch_neighbors = batch_neighbors

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Weigh the features (Bei and Hong 2015, Algorithm 1), and keep what the classifier needs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. NaN is allowed: a difference to a missing value is replaced by its expectation over
            the observed values.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.
        batches : array-like of shape (n_samples,), default=None
            Batch of each sample, a name or a number. Features are scaled within each batch, and
            ``batch_neighbors`` determines which batches neighbors are in. A sample without a hit or a miss
            there contributes nothing. The classifier takes the samples as one data, scaled as a whole.
        groups : array-like of shape (n_samples,), default=None
            For ``sigma="path"``: samples of the same group (such as those of one patient) are in one fold of
            the inner cross-validation.

        Returns
        -------
        self : object
            The fitted weighter and classifier.
        """
        data = self._check_fit(X, y, sample_weight, batches)
        w, point = self._first_weights(), None
        if self.sigma == "path":
            point, w = self._best_of_path(data, w, label_codes("groups", groups, data.included))
        return self._learn(data, self._choose_engine(data), w, point)

    def _learn(
        self, data: TrainingData, engine: Engine, w: NDArray[np.float64], point: GridPoint | None = None
    ) -> Self:
        """Run Algorithm 1 from weights w."""
        weights = engine.weights
        n_samples = float(weights.sum())
        first, width = self._first_margin(engine), self._width(engine, point)
        history = _History(
            n_samples if self.alpha is None else float(self.alpha),
            # The error of a sum of N rounded terms of either sign is √N roundings.
            rounding=float(np.finfo(self._scaling.offset.dtype).eps) / math.sqrt(n_samples),
        )

        def step(w: NDArray[np.float64]) -> NDArray[np.float64] | None:
            sigma = width(w)
            near = engine.soft_neighborhoods(w, sigma)  # α, β of eqs. (5), (6)
            history.add_entropies(*near.entropies(), weights, sigma / w.sum())
            if self.loss == "log":
                history.add_log_cost(near.log_inlier, weights, w)
            nu = near.mean_margin(
                pooled=True,
                outliers=False,
                hard=self.loss == "log",
                # The projection, and the cost at averaged weights, need all of v.
                only_positive=self.w_step == "paper" and not self._averages,
            )
            history.margin = n_samples * nu  # 2λv
            return self._next_weights(history)

        def converged(w: NDArray[np.float64], change: float) -> bool:
            if self.loss == "linear":
                history.add_cost(w)
            return history.has_converged(self.tol)

        w = self._repeat(step, w / w.sum(), converged=converged)
        self.cost_ = np.array(history.cost[: len(self.history_)])
        self.hit_entropy_ = np.array(history.hit_entropy[: len(self.history_)])
        self.miss_entropy_ = np.array(history.miss_entropy[: len(self.history_)])
        return self._set_fitted(data, engine, self._joined(w, first), width)

    def _first_margin(self, engine: Engine) -> NDArray[np.float64] | None:
        return None if self.w_step == "exact" or self.sparsity > 0.0 else super()._first_margin(engine)

    def _next_weights(self, history: _History) -> NDArray[np.float64] | None:
        """Return the weights from 2λv; None if no feature has a positive margin."""
        largest = history.margin.max()
        if self.w_step == "paper" or not largest > 0.0:
            v = history.margin - self.sparsity * max(largest, 0.0)
            # An automatic width adapts to any norm; averaged steps of unit norm are those of I-RELIEF.
            return unit_positive_part(v) if self._automatic else simplex_positive_part(v)  # eq. (9)
        w, varies = np.zeros_like(history.margin), ~self._constant
        # The projection is invariant to the subtraction, which prevents overflow.
        w[varies] = simplex_projection((history.margin[varies] - largest) / (2.0 * history.alpha))
        return w

    def _reset(self) -> None:
        super()._reset()
        for name in ("sigma_path_", "cv_scores_"):
            self.__dict__.pop(name, None)

    def _set_fitted(self, data: TrainingData, engine: Engine, w: NDArray[np.float64], width: Width) -> Self:
        """Set the weights at sum 1, the width under them, and the reference samples of the classifier."""
        on_simplex = simplex_positive_part(w)
        self._set_weights(w if on_simplex is None else on_simplex)
        self.sigma_ = width(self.feature_weights_)
        active = np.flatnonzero(self.feature_weights_ > 0.0)
        self._references = ClassDistances(
            _observed_features(data, active),
            self._scaling.of(active),
            data.codes,
            self.feature_weights_[active],
            self.sigma_,
            data.sample_weight,
        )
        self.execution_ = engine.execution(soft=True)
        return self

    # The paper's choice of σ

    def _best_of_path(
        self, data: TrainingData, w: NDArray[np.float64], groups: NDArray[np.int64] | None
    ) -> tuple[GridPoint, NDArray[np.float64]]:
        """Return the width that classifies best, ties to the larger, and the weights of the one before it."""
        self.sigma_path_ = SIGMA_PATH.copy()
        sample_weight = np.ones(len(data.X)) if data.sample_weight is None else data.sample_weight
        n_correct, n_tested = np.zeros(SIGMA_PATH.size), 0.0
        for training, test in usable_folds(self.cv, data.X, data.codes, data.included, groups):
            if not has_misses(data, training):
                continue
            path = self._path_models(data, training, w, SIGMA_PATH)
            for i, model in enumerate(path):
                correct = model.predict(data.observed[test]) == data.y[test]
                n_correct[i] += sample_weight[test] @ correct
            n_tested += sample_weight[test].sum()
        self.cv_scores_ = n_correct / n_tested if n_tested > 0.0 else np.full(SIGMA_PATH.size, np.nan)
        if not n_tested > 0.0:
            warn_user("No fold of cv leaves two classes to fit: sigma=1.0 is taken.", UserWarning)
        best = int(np.argmax(n_correct))
        for model in self._path_models(data, np.arange(len(data.X)), w, SIGMA_PATH[:best]):
            w = model.feature_weights_ if model.feature_weights_.any() else w
        return _at_width(SIGMA_PATH[best]), w

    def _path_models(
        self,
        data: TrainingData,
        which: NDArray[np.int64],
        w: NDArray[np.float64],
        widths: NDArray[np.float64],
    ) -> Iterator[IM4E]:
        """Yield a model fitted to some of the samples with one width after another."""
        model = type(self)(**{**self.get_params(deep=False), "sigma": 1.0, "verbose": 0})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all samples warns of what matters
            part = model._check_fit(**data.fit_arguments(which))
            engine = model._choose_engine(part)
        for width in widths:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model._learn(part, engine, w, _at_width(width))
            yield model
            w = model.feature_weights_ if model.feature_weights_.any() else w

    # The classifier

    def expected_distances(self, X: ArrayLike) -> NDArray[np.float64]:
        """Ψ_c(x) of eq. (10): how far samples are, on average over the near ones, from every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; scaled as in ``fit``. A missing value is replaced by its expectation over the samples
            of ``fit``.

        Returns
        -------
        distances : array of shape (n_samples, n_classes)
            In the units of Σ_j w_j|x_j|.
        """
        check_is_fitted(self)
        active = self.feature_weights_ > 0.0
        if is_dask_backed(X):
            psi = self._expected_of_dask(X, active)
        else:
            samples = validate_data(self, X, dtype=FLOAT_TYPES, ensure_all_finite="allow-nan", reset=False)
            psi = self._references.expected(samples[:, active], self._n_threads)
        return merge_ties(psi, tie_tolerance(self._scaling.offset.dtype))

    def _expected_of_dask(self, X: Any, active: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return Ψ of the rows of a Dask collection, computed on the workers."""
        if not is_dask_table(X):
            check_columns(self, X)
        references, name = self._references, type(self).__name__

        def of_rows(samples: NDArray[Any]) -> NDArray[np.float64]:
            assert_all_finite(samples, allow_nan=True, estimator_name=name, input_name="X")
            return references.expected(samples, 1)

        return map_row_blocks(X, active, of_rows)

    def assignment_loss(self, X: ArrayLike) -> NDArray[np.float64]:
        """Loss of assigning samples to each class (eq. 11), Ψ_c − Σ_{c' ≠ c} Ψ_c'.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        loss : array of shape (n_samples, n_classes)
            Smallest for the class that ``predict`` gives.
        """
        psi = self.expected_distances(X)
        return 2.0 * psi - psi.sum(axis=1, keepdims=True)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """−Ψ for every class, the largest wins; for two classes, as in scikit-learn, one number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decision : array of shape (n_samples, n_classes), or (n_samples,) for two classes
            −Ψ_c(x); for two classes −Ψ_1(x) + Ψ_0(x), which is positive where the second wins.
        """
        psi = self.expected_distances(X)
        return psi[:, 0] - psi[:, 1] if self.classes_.size == 2 else -psi

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Softmax of −Ψ/σ over the classes: a score between 0 and 1, not a calibrated probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        scores : array of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        psi = self.expected_distances(X)
        shares = np.exp((psi.min(axis=1, keepdims=True) - psi) / self.sigma_)
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class with the smallest expected distance (eq. 10); ties go to the smaller class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        classes : array of shape (n_samples,)
            One of ``classes_`` for every sample.
        """
        psi = self.expected_distances(X)
        return self.classes_[np.argmin(psi, axis=1)]

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.sparsity > 0.0 and self.w_step == "exact":
            raise ValueError(
                f"sparsity={self.sparsity!r} cannot act with w_step='exact', where the L1 norm is always 1;"
                " use w_step='paper', or a smaller alpha for fewer features."
            )


def _observed_features(data: TrainingData, features: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return some features, with NaN where values are missing."""
    missing_mask = None if data.missing_mask is None else data.missing_mask.of_features(features)
    X = data.X[:, features]
    return X if missing_mask is None else missing_mask.restore_nan(X)


def _at_width(sigma: float) -> GridPoint:
    """Return the point of the path with this width, at any weights."""
    return GridPoint(lambda w: float(sigma))


class _History:
    """Cost and entropies of every iteration of Algorithm 1, summed over samples."""

    def __init__(self, alpha: float, rounding: float) -> None:
        self.alpha = alpha
        self._rounding = rounding
        self.cost: list[float] = []
        self.hit_entropy: list[float] = []
        self.miss_entropy: list[float] = []
        #: Of the last step: 2λv, and σ for weights of sum 1.
        self.margin: NDArray[np.float64] = np.empty(0)
        self.sigma = 0.0

    def add_entropies(
        self,
        hit: NDArray[np.float64],
        miss: NDArray[np.float64],
        sample_weight: NDArray[np.float64],
        sigma: float,
    ) -> None:
        """Add the entropies of the samples at a width."""
        self.hit_entropy.append(float(sample_weight @ hit))
        self.miss_entropy.append(float(sample_weight @ miss))
        self.sigma = sigma

    def add_cost(self, w: NDArray[np.float64]) -> None:
        """Add the cost of eq. (3) at new weights, with the α and β that they follow from."""
        w = w / w.sum()
        quality = self.sigma * (self.miss_entropy[-1] - self.hit_entropy[-1])
        self.cost.append(float(-w @ self.margin + quality + self.alpha * w @ w))

    def add_log_cost(
        self, log_inlier: NDArray[np.float64], sample_weight: NDArray[np.float64], w: NDArray[np.float64]
    ) -> None:
        """Add the cost −σ·Σ log γ + λ‖w‖² at the weights before a step."""
        w = w / w.sum()
        self.cost.append(float(-self.sigma * (sample_weight @ log_inlier) + self.alpha * w @ w))

    def has_converged(self, tol: float) -> bool:
        """Return whether the last change of the cost is below ``tol``, or no larger than rounding."""
        if len(self.cost) < 2 or tol == 0.0:
            return False
        noise = self._rounding * self.sigma * (self.hit_entropy[-1] + self.miss_entropy[-1])
        return abs(self.cost[-1] - self.cost[-2]) < max(tol, noise)
