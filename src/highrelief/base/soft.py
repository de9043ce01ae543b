"""What the methods with soft neighborhoods share: kernel width, margins of samples, and the iteration."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.engine import LocalRows
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

# Weights where the user chooses no kernel width: what margins tell before and after weights are learned.


#: Share of all samples that neighborhoods under learned weights hold, in effect.
LEARNED_SHARE = 0.5
#: The same before anything is learned, where single features show best over wide neighborhoods.
FIRST_SHARE = 0.7


def first_margin(engine: LocalRows, n_features: int) -> NDArray[np.float64]:
    """ν of Sun 2007, eq. (11), while all weights are equal, over wide neighborhoods, (n_features,).

    No sample counts as an outlier (γ = 1), and the misses of each class count by themselves (eq. 20).
    """
    equal = np.full(n_features, 1.0 / n_features)
    near = engine.soft_neighborhoods(equal, engine.width_for_perplexity(equal, FIRST_SHARE))
    return near.mean_margin(pooled=False, outliers=False)


def joined(learned: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """(w/‖w‖₂ + c·ν/‖ν‖₂)⁺ at unit norm: learned weights w, and the margin ν that they began with.

    c = cos²(w, ν⁺) is the share of w that ν explains. Where features act only together ν does not show those
    that w has found, c is small, and the many small ν of the others add little. Where many features tell the
    same, ν shows them too; w prefers some of them by chance, and ν sets that right.
    """
    unit, shown = unit_positive_part(learned), unit_positive_part(first)
    if unit is None or shown is None:
        return learned if unit is None else unit
    share = float((unit * shown).sum()) ** 2
    both = unit_positive_part(unit + share / euclidean_norm(first) * first)
    return unit if both is None else both


#: Which misses form a neighborhood: of all classes (eq. 21), or of each by itself (eq. 20).
MARGINS = ("nearest", "prior")
#: Steps of the averaged iteration where the user does not say; they are then the whole method.
AVERAGED_STEPS = 10


class WithDistances(Protocol):
    """Rows whose distances a kernel width can be found from."""

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """σ at which a neighborhood holds, in effect, ``share`` of the other samples."""


class SoftWeighter(FeatureWeighter):
    """Base of the weighters whose neighbors are weighed by exp(−d/σ)."""

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
        """Whether the misses of all classes are one set, or each class counts by itself."""
        return True

    def _width(self, engine: WithDistances, w: NDArray[np.float64]) -> float:
        """σ as the user gave it, or such that neighborhoods under w have the wanted size."""
        if self._automatic:
            return engine.width_for_perplexity(
                w, LEARNED_SHARE if self.perplexity is None else self.perplexity
            )
        return float(self.sigma)

    def margins(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> NDArray[np.float64]:
        """Expected margin of every sample among the given ones, under the learned weights.

        ρ_n = Σ_i α_in ‖x_n − x_i‖_w − Σ_i β_in ‖x_n − x_i‖_w: how much farther the misses are than the hits,
        each weighed by exp(−d/σ) (Sun 2007, eq. 11, without γ). Positive: the sample is nearer to its own
        class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, scaled here as in ``fit``. What is missing may be any value of these samples.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Their batches; features are then scaled in each of these by itself.

        Returns
        -------
        margins : array of shape (n_samples,)
            0 for a sample that is alone in its class.
        """
        engine, _ = self._margin_engine(X, y, batches)
        w = self.feature_importances_  # σ is in the units of the distance under these
        return engine.soft_neighborhoods(w, self.sigma_).margins(pooled=self._pooled)


class ClassMargins(SoftWeighter):
    """Base of those that may take the misses class by class, and count outliers less."""

    margin: str | None
    outliers: bool | None

    #: Whether both may be None, and then follow from the width.
    _margin_may_follow: ClassVar[bool] = False

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        follows = self._margin_may_follow
        check_choice("margin", self.margin, (*MARGINS, None) if follows else MARGINS)
        if self.outliers is not None or not follows:
            check_flag("outliers", self.outliers)

    @property
    def _pooled(self) -> bool:
        """Whether the misses of all classes are one set (eq. 21), or each class counts by itself (eq. 20)."""
        return self.margin == "nearest"


class RepeatedWeighter(SoftWeighter):
    """Base of those that repeat w ← step(w) from first weights until nothing moves.

    Parameters
    ----------
    sigma, averaging, perplexity, max_iter, tol, init, memory_budget, random_state
        As :class:`highrelief.IRelief` has them.
    **shared
        For :class:`.base.FeatureWeighter`.
    """

    #: Steps of the plain iteration where the user does not say.
    _plain_steps: ClassVar[int] = 100
    #: What ``init="uniform"`` stands for, None for 1/n_features; and the norm of ``init="random"``.
    _uniform: ClassVar[float | None] = 1.0
    _random_norm: ClassVar[int] = 2
    #: σ at weights of norm 1, where a search over kernel widths sets it; ``sigma`` must then be "auto".
    _sigma_at_norm_1: float | None = None
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
        """Whether neither a width nor the size of neighborhoods is given."""
        return self._automatic and self.perplexity is None

    @property
    def _memory(self) -> float:
        return memory_budget(self.memory_budget)

    @property
    def _averages(self) -> bool:
        return self._automatic if self.averaging is None else self.averaging

    @property
    def _ran_its_schedule(self) -> bool:
        """Whether all steps of a fixed number were made, the weights averaged over them."""
        whole = self._averages and self.max_iter is None and self.n_iter_ == AVERAGED_STEPS
        return bool(whole and self.converged_)

    def _repeat(
        self,
        step: Step,
        start: NDArray[np.float64],
        *,
        converged: StoppingRule | None = None,
    ) -> NDArray[np.float64]:
        """Repeat the step as the parameters say, store how that ended, and return the last weights."""
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
        whole_schedule = averaging and self.max_iter is None and not end.interrupted
        self._set_iterations(end, complete=whole_schedule, advice=self._advice(end))
        return end.weights

    def _width(self, engine: WithDistances, w: NDArray[np.float64]) -> float:
        if self._sigma_at_norm_1 is not None:
            return self._sigma_at_norm_1 * (euclidean_norm(w) or 1.0)
        return super()._width(engine, w)

    def _workspace(self, data: TrainingData) -> Any:
        """Return what repeated fits to one table share: its rows, and what is computed from them once."""
        return self._engine(data)

    def _learn(self, data: TrainingData, workspace: Any, w: NDArray[np.float64]) -> Self:
        """Iterate from weights w, and store the results."""
        raise NotImplementedError

    def _first_margin(self, engine: LocalRows) -> NDArray[np.float64] | None:
        """What the features tell before weights are learned; None where the user wants no more than these."""
        return first_margin(engine, self.n_features_in_) if self._parameter_free else None

    @staticmethod
    def _joined(w: NDArray[np.float64], first: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Learned weights, joined with that margin if it was asked for."""
        return w if first is None else joined(w, first)

    def _advice(self, end: FixedPoint) -> str:
        """What may help an iteration that did not converge."""
        if self._automatic:
            return "" if self._averages else "averaging=True may help."
        if self._averages:
            return 'A larger sigma or sigma="auto" may help.'
        return 'A larger sigma, averaging=True or sigma="auto" may help.'

    def _first_weights(self) -> NDArray[np.float64]:
        """Return initial weights as ``init`` defines them."""
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
