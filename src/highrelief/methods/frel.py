"""FREL: feature weighting as regularized energy-based learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from .._engine.nearest import SampleMargins
from .._engine.neighbors import Neighborhood
from .._engine.parameters import check_flag, constraints, count, number, one_of
from .._kernels import descent
from .._solvers.losses import HingeLoss, LogLoss, Minimum, SquareExpLoss, SquareLoss
from .._solvers.minimizers import minimize_l1, minimize_l2
from ..base.progress import watched, with_callbacks
from ..base.selector import WeighterTags
from ..base.validation import warn_user
from ..base.weighter import FeatureWeighter

Loss = LogLoss | SquareLoss | HingeLoss | SquareExpLoss

#: Losses and their codes in the kernel.
LOSSES = {
    "log": descent.LOG,
    "square": descent.SQUARE,
    "hinge": descent.HINGE,
    "square-exp": descent.SQUARE_EXP,
}
#: Losses of the two energies, not of their difference alone.
OF_BOTH_ENERGIES = ("square", "square-exp")
#: Losses with a margin Δ.
WITH_MARGIN = ("square", "hinge")
PENALTIES = ("l2", "l1")
SOLVERS = ("sgd", "exact")
#: γ of the square-exponential loss.
GAMMA = 1.0
#: Relative residual above which a minimum was not reached.
_NOT_REACHED = 1e-9


class _FitBySolver:
    """``fit`` of an instance: only the exact solver has the parameter ``sample_weight``."""

    def __init__(self, exact: Callable[..., Any], sequential: Callable[..., Any]) -> None:
        self._exact, self._sequential = exact, sequential
        self.__doc__ = exact.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        for function in (self._exact, self._sequential):
            named: Any = function
            while named is not None:  # with callbacks, one is wrapped in another
                named.__name__, named.__qualname__ = name, f"{owner.__qualname__}.{name}"
                named = getattr(named, "__wrapped__", None)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self._exact
        chosen = self._exact if instance.solver == "exact" else self._sequential
        return chosen.__get__(instance, owner)


class FREL(FeatureWeighter):
    r"""FREL: weights that minimize a margin loss of the nearest hit and miss, and a penalty.

    .. math:: \frac{1}{n} \sum_i L(E_i, \bar E_i) + \lambda R(w), \quad
              E_i = w^T |x_i - \mathrm{NH}(x_i)|, \quad \bar E_i = w^T |x_i - \mathrm{NM}(x_i)|

    NH is the nearest sample of the same class and NM the nearest of all others, found once, by the unweighted
    Manhattan distance. Weights may be negative: that of a feature in which misses are nearer than hits is. A
    sample that is alone in its class has no loss. Where several samples are tied as the nearest, :math:`|x -
    \mathrm{NH}|`, :math:`|x - \mathrm{NM}|` and Δ are their means.

    ======================  ==================================================
    ``loss``                L
    ======================  ==================================================
    ``"log"``               log(1 + exp(E − Ē))
    ``"square"``            E² + max(0, Δ − Ē)², Δ = ‖NM(x) − NH(x)‖₁
    ``"hinge"``             max(0, Δ + E − Ē)
    ``"square-exp"``        E² + exp(−Ē)
    ======================  ==================================================

    Parameters
    ----------
    loss : {"log", "square", "hinge", "square-exp"}, default="log"
        L, see above.
    penalty : {"l2", "l1"}, default="l2"
        R: ‖w‖₂², or ‖w‖₁, which leaves few features.
    alpha : float, default=1.0
        λ; > 0 for ``solver="exact"``.
    positive : bool, default=False
        Whether weights must not be negative; for ``solver="exact"``.
    solver : {"sgd", "exact"}, default="sgd"
        "sgd": Algorithm 1 of the paper, literally: from w = 1 on, one step of length 1 per sample, in their
        order, down the slope of that sample's loss and the penalty. It does not minimize: the steps do not
        get shorter. "exact": the minimizer, which the paper's theorems speak of.
    n_epochs : int, default=1
        How often "sgd" goes through the samples.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean of losses, each > 0; "balanced" is N/(C·n_c) for the n_c samples of
        a class, so that all C classes contribute equally. For ``solver="exact"``: a step of Algorithm 1 does
        not depend on the size of the loss.
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
        Scaling of the features.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        The weights; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    objective_ : float
        What is minimized, at the weights.
    residual_ : float
        How far the weights are from the conditions of a minimum, relative to the slope of the loss at w = 0
        (for the hinge: the duality gap, relative to the loss there); NaN for "sgd".
    n_steps_ : int
        Steps taken: one per sample, or Newton's.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm. IEEE
    Transactions on Neural Networks and Learning Systems 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief import FREL
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=3, random_state=0)
    >>> FREL(solver="exact", alpha=0.01, n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _constraints = constraints(
        loss=one_of(*LOSSES),
        penalty=one_of(*PENALTIES),
        solver=one_of(*SOLVERS),
        positive=check_flag,
        n_epochs=count(),
        alpha=number(at_least=0.0),
    )

    def __init__(
        self,
        *,
        loss: str = "log",
        penalty: str = "l2",
        alpha: float = 1.0,
        positive: bool = False,
        solver: str = "sgd",
        n_epochs: int = 1,
        class_weight: Any = None,
        batch_neighbors: str = "within",
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
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.positive = positive
        self.solver = solver
        self.n_epochs = n_epochs
        self.class_weight = class_weight
        self.batch_neighbors = batch_neighbors

    _allows_missing = True

    def _dask_refusal(self) -> str | None:
        if self.solver == "exact":
            return None
        return "Algorithm 1 visits one sample after the other; solver='exact' works where the table lies."

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        tags.order_dependent = self.solver != "exact"
        return tags

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.solver == "exact" and self.alpha == 0.0:
            raise ValueError(f"alpha={self.alpha!r} must be > 0 for solver='exact': there may be no minimum.")
        if self.solver == "sgd" and self.positive:
            raise ValueError("positive=True needs solver='exact': Algorithm 1 has no constraint.")
        if self.solver == "sgd" and self.class_weight is not None:
            raise ValueError(
                f"class_weight={self.class_weight!r} needs solver='exact': the steps of Algorithm 1 have"
                " length 1, whatever a loss is multiplied by."
            )

    @with_callbacks
    def _fit_exact(
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
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples. Only for ``solver="exact"``:
            Algorithm 1 visits one sample after the other.
        batches : array-like of shape (n_samples,), default=None
            Batch of each sample, a name or a number. Features are scaled within each batch, and
            ``batch_neighbors`` determines which batches neighbors are in. A sample without a hit or a miss
            there has no loss.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        return self._weigh(X, y, sample_weight, batches)

    @with_callbacks
    def _fit_sequential(
        self, X: ArrayLike, y: ArrayLike, *, batches: ArrayLike | None = None, **refused: Any
    ) -> Self:
        """Compute the feature weights by Algorithm 1, which does not support sample weights."""
        given = [name for name, value in refused.items() if name != "sample_weight" or value is not None]
        if given:
            raise TypeError(
                f"FREL.fit does not take {', '.join(given)} with solver={self.solver!r}: Algorithm 1 visits"
                " one sample after the other. solver='exact' takes sample_weight."
            )
        return self._weigh(X, y, batches=batches)

    fit = _FitBySolver(_fit_exact, _fit_sequential)

    def _weigh(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        data = self._check_fit(X, y, sample_weight, batches)
        engine = self._choose_engine(data)
        search = engine.nearest(Neighborhood(1, pooled=True))
        with watched(self, total=search.n_reports + 1) as progress:
            near = search.sample_margins(
                progress.advance, separate=self.loss in OF_BOTH_ENERGIES, gaps=self.loss in WITH_MARGIN
            )
            loss = self._loss_of(near, engine.weights)
            if not near.counts.any():
                end = Minimum(np.zeros(self.n_features_in_), np.nan, 0)
            elif self.solver == "sgd":
                end = self._descend(near)
            else:
                minimize = minimize_l2 if self.penalty == "l2" else minimize_l1
                end = minimize(loss, near.rows, float(self.alpha), bool(self.positive))
            progress.advance()
        self._set_weights(end.weights)
        self.objective_ = loss.value(near.rows @ self.feature_weights_) + self.alpha * self._penalty
        self.residual_, self.n_steps_ = end.residual, end.n_steps
        self.execution_ = engine.execution() | search.describe()
        if end.residual > _NOT_REACHED:
            warn_user(
                f"FREL did not reach the minimum: its conditions are missed by {end.residual:.2g},"
                " relatively. A larger alpha may help.",
                ConvergenceWarning,
            )
        return self

    def _loss_of(self, near: SampleMargins, weights: NDArray[np.float64]) -> Loss:
        """Return the mean loss under sample weights."""
        factors = np.where(near.counts, weights, 0.0) / weights.sum()
        if self.loss == "log":
            return LogLoss(factors)
        if self.loss == "hinge":
            return HingeLoss(factors, near.gaps)
        return SquareLoss(factors, near.gaps) if self.loss == "square" else SquareExpLoss(factors, GAMMA)

    def _descend(self, near: SampleMargins) -> Minimum:
        """Algorithm 1: a step of length 1 per sample."""
        w = np.where(self._constant, 0.0, 1.0)  # step 2; constant features do not count in the norm of a step
        descent.descend(
            near.rows,
            near.counts.size,
            LOSSES[self.loss],
            GAMMA,
            near.gaps if self.loss in WITH_MARGIN else np.zeros(near.counts.size),
            near.counts,
            float(self.alpha),
            self.penalty == "l1",
            int(self.n_epochs),
            w,
        )
        return Minimum(w, np.nan, int(self.n_epochs) * int(near.counts.sum()))

    @property
    def _penalty(self) -> float:
        """The penalty R(w)."""
        w = self.feature_weights_
        return float(w @ w if self.penalty == "l2" else np.abs(w).sum())

    def margins(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the margin of every sample of X, with neighbors in X, under the learned weights.

        ``Ē − E = wᵀ(|x − NM(x)| − |x − NH(x)|)``, with the weights as they are, sign and size included, and
        the neighbors by the unweighted Manhattan distance. Positive: the sample is nearer to its own class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
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
        engine, _ = self._margin_engine(X, y, batches)
        return engine.nearest(Neighborhood(1, pooled=True)).margins() @ self.feature_weights_
