"""Margin losses as functions of linear scores u = Aw.

Log and hinge see margins: A has the rows z_i = m_i − h_i, one per sample. The square losses see the two
energies apart: A has the rows h_i, then the rows m_i, and u holds E = Hw, then Ē = Mw. Every loss is a sum;
``factors`` c_i count samples, and hold the 1/n of a mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._engine.threads import one_blas_thread

Vector = NDArray[np.float64]


class SmoothLoss(Protocol):
    """A convex loss with a gradient that has slopes."""

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""

    def gradient(self, u: Vector) -> Vector:
        """Derivative by every score."""

    def curvature(self, u: Vector) -> Vector:
        """Second derivative by every score, ≥ 0; scores do not interact."""


@dataclass(frozen=True)
class LogLoss:
    """Σ c_i log(1 + exp(−u_i)) (Li et al. 2015, eq. 6)."""

    factors: Vector

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""
        return float(self.factors @ np.logaddexp(0.0, -u))

    def gradient(self, u: Vector) -> Vector:
        """Derivative by every score."""
        return -self.factors * expit(-u)

    def curvature(self, u: Vector) -> Vector:
        """Second derivative by every score."""
        return self.factors * (expit(u) * expit(-u))


@dataclass(frozen=True)
class HingeLoss:
    """Σ c_i max(0, Δ_i − u_i). It has corners: see :meth:`smoothed`."""

    factors: Vector
    margins: Vector

    def value(self, u: Vector) -> float:
        """The loss."""
        return float(self.factors @ np.maximum(self.margins - u, 0.0))

    def gradient(self, u: Vector) -> Vector:
        """Derivative by every score; 0 at the corner."""
        return np.where(u < self.margins, -self.factors, 0.0)

    def smoothed(self, width: float) -> SmoothedHinge:
        """The same with a parabola over the last ``width`` before the corner."""
        return SmoothedHinge(self.factors, self.margins, width)


@dataclass(frozen=True)
class SmoothedHinge:
    """A hinge whose slope grows from 0 to c_i over ``width``; it is at most c_i·width/2 below the hinge."""

    factors: Vector
    margins: Vector
    width: float

    def _share(self, u: Vector) -> Vector:
        return np.clip((self.margins - u) / self.width, 0.0, 1.0)

    def value(self, u: Vector) -> float:
        """The loss."""
        share = self._share(u)
        return float(self.factors @ (share * (self.margins - u - 0.5 * self.width * share)))

    def gradient(self, u: Vector) -> Vector:
        """Derivative by every score."""
        return -self.factors * self._share(u)

    def curvature(self, u: Vector) -> Vector:
        """Second derivative by every score."""
        inside = (u < self.margins) & (u > self.margins - self.width)
        return np.where(inside, self.factors / self.width, 0.0)


@dataclass(frozen=True)
class SquareLoss:
    """Σ c_i (E_i² + max(0, Δ_i − Ē_i)²) (Li et al. 2015, eq. 7); u = (E, Ē)."""

    factors: Vector
    margins: Vector

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""
        hit, short = self._parts(u)
        return float(self.factors @ (hit**2 + short**2))

    def gradient(self, u: Vector) -> Vector:
        """Derivative by every score."""
        hit, short = self._parts(u)
        return np.concatenate([2.0 * self.factors * hit, -2.0 * self.factors * short])

    def curvature(self, u: Vector) -> Vector:
        """Second derivative by every score; that from below at the corner of the slope."""
        _, short = self._parts(u)
        return np.concatenate([2.0 * self.factors, np.where(short > 0.0, 2.0 * self.factors, 0.0)])

    def _parts(self, u: Vector) -> tuple[Vector, Vector]:
        """E, and how far Ē falls short of the margin."""
        n = self.margins.size
        return u[:n], np.maximum(self.margins - u[n:], 0.0)


@dataclass(frozen=True)
class SquareExpLoss:
    """Σ c_i (E_i² + γ exp(−Ē_i)); u = (E, Ē)."""

    factors: Vector
    gamma: float = 1.0

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""
        hit, push = self._parts(u)
        return float(self.factors @ (hit**2 + push))

    def gradient(self, u: Vector) -> Vector:
        """Derivative by every score."""
        hit, push = self._parts(u)
        return np.concatenate([2.0 * self.factors * hit, -self.factors * push])

    def curvature(self, u: Vector) -> Vector:
        """Second derivative by every score."""
        _, push = self._parts(u)
        return np.concatenate([2.0 * self.factors, self.factors * push])

    def _parts(self, u: Vector) -> tuple[Vector, Vector]:
        """E and γ exp(−Ē)."""
        n = self.factors.size
        with np.errstate(over="ignore"):  # a step that goes too far, and is taken back
            return u[:n], self.gamma * np.exp(-u[n:])


# What a minimizer returns, and how far it is from the conditions of a minimum.


#: Times the machine's precision, what two values of an objective may differ by through rounding.
_ROUNDING = 16.0 * np.finfo(np.float64).eps
#: Relative to the largest entry, how much equal columns may differ.
_EQUAL = 16.0 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Minimum:
    """Weights that minimize a penalized loss."""

    weights: Vector
    #: Largest violation of the conditions of a minimum, relative to the largest |derivative of the loss| at
    #: w = 0 (and to α for the L1 penalty). For the hinge, which has corners: the duality gap, relative to
    #: the loss at w = 0.
    residual: float
    #: Newton steps, or programs solved.
    n_steps: int


def l2_violation(derivative: Vector, w: Vector, positive: bool) -> float:
    """How far ``derivative``, of loss and penalty at w, is from that of a minimum: 0, or ≥ 0 at the bound."""
    if positive:
        derivative = np.where(w > 0.0, derivative, np.minimum(derivative, 0.0))
    return float(np.abs(derivative).max(initial=0.0))


def l1_violations(derivative: Vector, w: Vector, alpha: float, positive: bool) -> Vector:
    """How far the derivative of the loss by every weight is from −α·sign(w), or from [−α, α] at w = 0."""
    if positive:
        return np.where(w > 0.0, np.abs(derivative + alpha), np.maximum(-derivative - alpha, 0.0))
    return np.where(
        w == 0.0, np.maximum(np.abs(derivative) - alpha, 0.0), np.abs(derivative + alpha * np.sign(w))
    )


def step_length(objective: Callable[[float], float], slope: float) -> float:
    """Largest of 1, ½, ¼ … at which the objective falls as its slope promises (Armijo); 0 if none does.

    ``slope``: the promised change for a step of 1, negative.
    """
    before = objective(0.0)
    step = 1.0
    for _ in range(60):
        if objective(step) <= before + 1e-4 * step * slope + _ROUNDING * abs(before):
            return step
        step *= 0.5
    return 0.0


def shared_among_twins(
    A: NDArray[np.float64], w: Vector, derivative: Vector, alpha: float, tolerance: float
) -> Vector:
    """Give equal columns equal weights, by the L1 penalty as good as any: the shortest of these minimizers.

    ``derivative``: of the loss at w, within ``tolerance`` of −α or α wherever a weight could be other than 0.
    """
    candidates = np.flatnonzero((w != 0.0) | (np.abs(derivative) >= alpha - tolerance))
    if candidates.size < 2:
        return w
    columns = np.asarray(A[:, candidates])
    near = _EQUAL * np.abs(columns).max()
    # Equal columns have equal projections, and stand side by side.
    order = np.argsort(np.cos(np.arange(len(A))) @ columns, kind="stable")
    step = np.abs(np.diff(columns[:, order], axis=1)).max(axis=0)
    group = np.concatenate([[0], np.cumsum(step > near)])
    members = candidates[order]
    shared = w.copy()
    shared[members] = (np.bincount(group, weights=w[members]) / np.bincount(group))[group]
    return shared


# Products that arrays answer, and matrices that lie with workers.


def weighted_gram(A: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """AᵀCA with the diagonal matrix C of weights ≥ 0."""
    if not isinstance(A, np.ndarray):
        return A.weighted_gram(weights)
    bent = np.sqrt(weights)[:, np.newaxis] * A
    with one_blas_thread():
        return bent.T @ bent  # BLAS computes half of a product with itself
