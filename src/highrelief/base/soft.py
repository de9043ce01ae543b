"""Base classes of the methods with soft neighborhoods: kernel width, margins, and the iteration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.engine import Engine
from .._engine.memory import memory_budget
from .._engine.parameters import (
    check_bytes,
    check_choice,
    check_flag,
    check_number,
    constraints,
    count,
    number,
    optional,
    positive_or,
    random_generator,
)
from .._solvers.fixed_point import (
    FixedPoint,
    Step,
    StoppingRule,
    euclidean_norm,
    fixed_point,
    unit_positive_part,
)
from .progress import watched
from .training_data import TrainingData
from .weighter import FeatureWeighter

# Weights for an automatic kernel width: margins at equal weights combined with learned weights


#: Perplexity of neighborhoods under learned weights, as a fraction of all samples.
LEARNED_PERPLEXITY = 0.5
#: Perplexity at equal weights, where wide neighborhoods show single features best.
INITIAL_PERPLEXITY = 0.7


def first_margin(engine: Engine, n_features: int) -> NDArray[np.float64]:
    """Return ν of Sun 2007, eq. (11), at equal weights, over wide neighborhoods, (n_features,).

    No sample is an outlier (γ = 1), and each class of misses has a neighborhood of its own (eq. 20).
    """
    equal = np.full(n_features, 1.0 / n_features)
    near = engine.soft_neighborhoods(equal, engine.width_for_perplexity(equal, INITIAL_PERPLEXITY))
    return near.mean_margin(pooled=False, outliers=False)


def joined(learned: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (w/‖w‖₂ + c·ν/‖ν‖₂)⁺ at unit norm, for learned weights w and the margin ν at equal weights.

    c = cos²(w, ν⁺) is the fraction of w that ν explains. For features that matter only in combination ν is
    small, c is small, and the many small ν of the others add little. Of redundant features w prefers some at
    random; ν is alike for all of them, and corrects that.
    """
    w, nu = unit_positive_part(learned), unit_positive_part(first)
    if w is None or nu is None:
        return learned if w is None else w
    c = float((w * nu).sum()) ** 2
    both = unit_positive_part(w + c / euclidean_norm(first) * first)
    return w if both is None else both


#: Misses that form a neighborhood: those of all classes (eq. 21), or of each class (eq. 20).
MARGINS = ("nearest", "prior")
#: Default number of averaged steps, a schedule of fixed length.
AVERAGED_STEPS = 10


class WithDistances(Protocol):
    """An engine that computes a kernel width from distances."""

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """Return σ at which the perplexity of neighborhoods is ``share`` of the other samples."""


#: Function of the weights w that returns σ.
Width = Callable[[NDArray[np.float64]], float]


class GridPoint(NamedTuple):
    """Values with which a search fits a weighter, instead of its parameters."""

    width: Width
    #: λ of a LOGO, as a fraction of the smallest λ that leaves no feature; None: no penalty is chosen.
    alpha_share: float | None = None


class SoftWeighter(FeatureWeighter):
    """Base of the weighters whose neighbors have weights exp(−d/σ)."""

    sigma: str | float
    perplexity: float | None
    sigma_: float

    _constraints = constraints(sigma=positive_or("auto"))

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        self._check_perplexity()

    def _check_perplexity(self) -> None:
        check_number("perplexity", self.perplexity, above=0.0, at_most=1.0)

    @property
    def _automatic(self) -> bool:
        return isinstance(self.sigma, str) and self.sigma == "auto"

    @property
    def _pooled(self) -> bool:
        """Whether misses of all classes form one neighborhood, or those of each class."""
        return True

    def margins(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the expected margin of every sample of X, with neighbors in X, under the learned weights.

        ρ_n = Σ_i α_in ‖x_n − x_i‖_w − Σ_i β_in ‖x_n − x_i‖_w: how much farther the misses are than the hits,
        each weighted by exp(−d/σ) (Sun 2007, eq. 11, without γ). Positive: the sample is nearer to its own
        class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; scaled as in ``fit``. A missing value is replaced by its expectation over them.
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
        w = self.feature_importances_  # σ is in units of the distance under these
        return engine.soft_neighborhoods(w, self.sigma_).margins(pooled=self._pooled)


class ClassMargins(SoftWeighter):
    """Base of the weighters with the parameters ``margin`` and ``outliers``."""

    margin: str | None
    outliers: bool | None

    #: Whether both may be None, which derives them from the kernel width.
    _margin_may_be_none: ClassVar[bool] = False

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        optional_margin = self._margin_may_be_none
        check_choice("margin", self.margin, (*MARGINS, None) if optional_margin else MARGINS)
        if self.outliers is not None or not optional_margin:
            check_flag("outliers", self.outliers)

    @property
    def _pooled(self) -> bool:
        """Whether misses of all classes form one neighborhood (eq. 21), or those of each class (eq. 20)."""
        return self.margin == "nearest"


class RepeatedWeighter(SoftWeighter):
    """Base of the weighters that iterate w ← step(w) to a fixed point.

    Parameters
    ----------
    sigma, averaging, perplexity, max_iter, tol, init, memory_budget, random_state
        See :class:`highrelief.IRelief`.
    **shared
        See :class:`.weighter.FeatureWeighter`.
    """

    #: Default ``max_iter`` of the plain iteration.
    _plain_steps: ClassVar[int] = 100
    #: Weight for ``init="uniform"``, None for 1/n_features; order of the norm for ``init="random"``.
    _uniform: ClassVar[float | None] = 1.0
    _random_norm: ClassVar[int] = 2
    _constraints = constraints(
        averaging=optional(check_flag),
        max_iter=optional(count()),
        tol=number(at_least=0.0),
        memory_budget=check_bytes,
    )

    def __init__(
        self,
        *,
        sigma: str | float,
        averaging: bool | None,
        perplexity: float | None,
        max_iter: int | None,
        tol: float,
        init: str | ArrayLike,
        memory_budget: float | None,
        random_state: Any,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.sigma = sigma
        self.averaging = averaging
        self.perplexity = perplexity
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.memory_budget = memory_budget
        self.random_state = random_state

    def _check_perplexity(self) -> None:
        if self.perplexity is not None:
            super()._check_perplexity()

    @property
    def _parameter_free(self) -> bool:
        """Whether neither ``sigma`` nor ``perplexity`` is set."""
        return self._automatic and self.perplexity is None

    @property
    def _memory(self) -> float:
        return memory_budget(self.memory_budget)

    @property
    def _averages(self) -> bool:
        return self._automatic if self.averaging is None else self.averaging

    @property
    def _ran_its_schedule(self) -> bool:
        """Whether the whole schedule of averaged steps was run."""
        complete = self._averages and self.max_iter is None and self.n_iter_ == AVERAGED_STEPS
        return bool(complete and self.converged_)

    def _repeat(
        self,
        step: Step,
        start: NDArray[np.float64],
        *,
        converged: StoppingRule | None = None,
    ) -> NDArray[np.float64]:
        """Iterate the step, set the attributes of the iteration, and return the last weights."""
        averaging = self._averages
        max_iter = self.max_iter or (AVERAGED_STEPS if averaging else self._plain_steps)
        with watched(self, total=max_iter) as progress:
            end = fixed_point(
                step,
                start,
                max_iter=max_iter,
                tol=self.tol,
                averaging=averaging,
                converged=converged,
                report=progress.advance,
            )
        complete = averaging and self.max_iter is None and not end.interrupted
        self._set_iterations(end, complete=complete, advice=self._advice(end))
        return end.weights

    def _width(self, engine: WithDistances, point: GridPoint | None) -> Width:
        """Return σ of a grid point, the parameter σ, or σ at which neighborhoods have the perplexity."""
        if point is not None:
            return point.width
        if not self._automatic:
            sigma = float(self.sigma)
            return lambda w: sigma
        perplexity = LEARNED_PERPLEXITY if self.perplexity is None else self.perplexity
        return lambda w: engine.width_for_perplexity(w, perplexity)

    @abstractmethod
    def _learn(
        self, data: TrainingData, engine: Engine, w: NDArray[np.float64], point: GridPoint | None = None
    ) -> Self:
        """Iterate from weights w, and set the fitted attributes.

        Several fits to the same data share an engine, and what it computes once.
        """

    def _first_margin(self, engine: Engine) -> NDArray[np.float64] | None:
        """Return the margin at equal weights, with which learned weights are combined; None: they are not."""
        return first_margin(engine, self.n_features_in_) if self._parameter_free else None

    @staticmethod
    def _joined(w: NDArray[np.float64], first: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return learned weights, combined with that margin unless it is None."""
        return w if first is None else joined(w, first)

    def _advice(self, end: FixedPoint) -> str:
        """Return what may help an iteration that did not converge."""
        if self._automatic:
            return "" if self._averages else "averaging=True may help."
        if self._averages:
            return 'A larger sigma or sigma="auto" may help.'
        return 'A larger sigma, averaging=True or sigma="auto" may help.'

    def _first_weights(self) -> NDArray[np.float64]:
        """Return the initial weights by ``init``."""
        n_features = self.n_features_in_
        if isinstance(self.init, str):
            check_choice("init", self.init, ("uniform", "random"))
            if self.init == "uniform":
                return np.full(n_features, 1.0 / n_features if self._uniform is None else self._uniform)
            drawn = np.asarray(random_generator("random_state", self.random_state).uniform(size=n_features))
            return drawn / np.linalg.norm(drawn, self._random_norm)
        try:
            start = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            start = np.empty(0)
        if start.shape != (n_features,):
            raise ValueError(
                f"init={self.init!r} must be 'uniform', 'random', or one weight for each of the {n_features}"
                f" features; got shape {np.shape(self.init)}."
            )
        if not np.all(np.isfinite(start) & (start >= 0.0)) or not start.any():
            raise ValueError(
                f"init={self.init!r} must hold finite weights >= 0 that are not all 0: no NaN, no infinity."
            )
        return start
