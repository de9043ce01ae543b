"""LOGO: few features that give every sample a large margin."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.active_set import ActiveSetMargins, MarginColumns
from .._engine.engine import Engine
from .._engine.parameters import constraints, positive_or
from .._solvers.fixed_point import unit_positive_part
from .._solvers.minimizers import sparse_logistic
from ..base.progress import with_callbacks
from ..base.soft import GridPoint, RepeatedWeighter, Width
from ..base.training_data import TrainingData
from ..base.validation import warn_user

#: λ of ``alpha="auto"``, as a share of the smallest λ that leaves no feature.
ALPHA_SHARE = 0.2


class LOGO(RepeatedWeighter):
    r"""LOGO: local margins, and of all features only those that the margins need.

    Under the current weights every sample has an expected margin, feature by feature, over its soft
    neighborhoods: with :math:`d_{ni} = \sum_j w_j |x_{nj} - x_{ij}|`, and α and β the softmax of −d/σ over
    the misses M and over the hits H of sample n,

    .. math::

        \bar z_n &= \sum_{i \in M_n} \alpha_{in} |x_n - x_i| - \sum_{i \in H_n} \beta_{in} |x_n - x_i|, \\
        w &\leftarrow \arg\min_{w \ge 0} \sum_n \log\bigl(1 + e^{-w^\top \bar z_n}\bigr) + \lambda \|w\|_1 .

    This is iterated until w converges. The inner problem is convex and solved to a relative residual of
    1e-10; the loss is a sum over samples, not a mean.

    Parameters
    ----------
    sigma : "auto" or float, default="auto"
        Kernel width σ, in the units of Σ_j w_j|x_j| under the weights as they are; the paper takes 2. "auto"
        finds, in every step, the σ at which the entropy of softmax(−d/σ) over all other samples is on
        average log(``perplexity``·(N − 1)), brings the solutions to unit norm, and averages them.
    alpha : "auto" or float, default="auto"
        The penalty λ; the paper takes 1. "auto" is, in every step, 0.2 times the smallest λ that leaves no
        feature.
    averaging : bool or None, default=None
        Whether w is the mean of the solutions of all steps so far, instead of the last: a damped iteration,
        for where the plain one runs in a cycle. None: with ``sigma="auto"`` only.
    perplexity : float or None, default=0.5
        Effective number of neighbors, as a fraction of all samples, for ``sigma="auto"``; None: 0.5.
    max_iter : int or None, default=None
        Largest number of iterations. None: a schedule of 10 averaged ones, or at most 50 plain ones.
    tol : float, default=1e-4
        The iteration ends when ‖w − w_before‖₂ is smaller.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Initial weights. "uniform" is 1, as in the paper; with thousands of features and a given σ the first
        neighborhoods are then a single sample each, and 1/√n_features, given as an array, makes them wider.
    memory_budget : float or None, default=None
        Bytes that may be spent on distances and coefficients of all pairs. Beyond, they are computed in each
        pass, over all features. None: half of the memory that is free.
    class_weight : None, "balanced" or dict, default=None
        How much the samples of each class count in the sum: a weight > 0 for each class; "balanced" is
        N/(C·n_c) for the n_c samples of a class, so that all C classes contribute equally.
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
        Scaling of the features; "range" maps to [0, 1].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        ≥ 0, most of them 0. Their size is set by λ; with ``sigma="auto"`` they have Euclidean norm 1.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    sigma_ : float
        The kernel width; with "auto" that of the final weights.
    alpha_ : float
        The penalty λ of the last step; NaN if the first had no solution.
    kkt_residual_ : float
        Largest violation of the conditions of a minimum in the last step, relative to the larger of λ and the
        largest derivative at w = 0; NaN if the first had no solution.
    n_iter_ : int
        Iterations run.
    converged_ : bool
        Whether the weights converged, or the whole schedule of ``max_iter=None`` was run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no solution.
    cycle_length_ : int
        Length of the cycle that the iteration ended in; 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, whether distances were stored; ``features_summed``
        is the number of features summed in each pass.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y., Todorovic, S. and Goodison, S. (2010). Local-learning-based feature selection for
    high-dimensional data analysis. IEEE TPAMI 32(9), 1610-1626.

    Examples
    --------
    >>> from highrelief import LOGO
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=50, random_state=0)
    >>> LOGO(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _allows_missing = True
    _refuses_dask: str | None = None
    _plain_steps = 50
    _constraints = constraints(alpha=positive_or("auto"))

    def __init__(
        self,
        *,
        sigma: str | float = "auto",
        alpha: str | float = "auto",
        averaging: bool | None = None,
        perplexity: float | None = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-4,
        init: str | ArrayLike = "uniform",
        memory_budget: float | None = None,
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
        self.alpha = alpha
        self.class_weight = class_weight
        self.batch_neighbors = batch_neighbors

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
            The samples. NaN is allowed: a difference to a missing value is replaced by its expectation over
            the observed values.
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
        return self._learn(data, self._choose_engine(data), self._first_weights())

    def _learn(
        self, data: TrainingData, engine: Engine, w: NDArray[np.float64], point: GridPoint | None = None
    ) -> Self:
        """Run the iteration from weights w."""
        margins = engine.active_set_margins
        width = self._width(margins, point)
        share = ALPHA_SHARE if point is None or point.alpha_share is None else point.alpha_share
        solution = np.zeros(self.n_features_in_)
        self.alpha_ = self.kkt_residual_ = np.nan

        def step(w: NDArray[np.float64]) -> NDArray[np.float64] | None:
            nonlocal solution
            if not w.any():  # λ has left no feature: there is nothing to weigh distances by
                return w
            near = margins.at(w, width(w))  # z̄_n under w
            alpha = self._penalty(near, solution, share)
            if not alpha > 0.0:
                return None
            self.alpha_ = alpha
            solution, self.kkt_residual_ = sparse_logistic(near, alpha, solution)
            if not solution.any():
                return self._nothing_left(near)
            return unit_positive_part(solution) if self._automatic else solution

        return self._set_fitted(engine, margins, self._repeat(step, w), width)

    def _set_fitted(
        self, engine: Engine, margins: ActiveSetMargins, w: NDArray[np.float64], width: Width
    ) -> Self:
        """Set the weights, those of averaged directions at unit norm, and the width under them."""
        unit = unit_positive_part(w) if self._automatic else w  # a mean of unit vectors is shorter
        self._set_weights(w if unit is None else unit)
        self.sigma_ = width(self.feature_weights_)
        self.execution_ = engine.execution() | margins.execution()
        return self

    def _penalty(self, near: MarginColumns, solution: NDArray[np.float64], share: float) -> float:
        """Return the parameter λ, or a share of the smallest λ that leaves no feature."""
        if isinstance(self.alpha, str):
            return share * near.largest_sum(0.5 * near.sample_weight, np.flatnonzero(solution))
        return float(self.alpha)

    def _nothing_left(self, near: MarginColumns) -> NDArray[np.float64] | None:
        """Warn and return weights of 0; None if no λ would leave a feature."""
        largest = near.largest_sum(0.5 * near.sample_weight, np.empty(0, np.int64))
        if not largest > 0.0:
            return None
        warn_user(
            f"alpha={self.alpha!r} leaves no feature: all weights are 0. An alpha below {largest:.3g} leaves"
            " some here.",
            UserWarning,
        )
        return np.zeros(self.n_features_in_)
