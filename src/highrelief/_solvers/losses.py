"""Margin losses as functions of linear scores u = Aw.

Log and hinge loss depend on margins: A has the rows z_i = m_i − h_i, one per sample. The square losses depend
on both energies: A has the rows h_i, then the rows m_i, and u contains E = Hw, then Ē = Mw. Every loss is a
sum with the ``factors`` c_i, which contain sample weights and, for a mean, 1/n.
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
    """Convex loss with a piecewise differentiable gradient."""

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""

    def gradient(self, u: Vector) -> Vector:
        """Derivative with respect to every score."""

    def curvature(self, u: Vector) -> Vector:
        """Second derivative with respect to every score, ≥ 0; the Hessian is diagonal."""


@dataclass(frozen=True)
class LogLoss:
    """Σ c_i log(1 + exp(−u_i)) (Li et al. 2015, eq. 6)."""

    factors: Vector

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""
        return float(self.factors @ np.logaddexp(0.0, -u))

    def gradient(self, u: Vector) -> Vector:
        """Derivative with respect to every score."""
        return -self.factors * expit(-u)

    def curvature(self, u: Vector) -> Vector:
        """Second derivative with respect to every score."""
        return self.factors * (expit(u) * expit(-u))


@dataclass(frozen=True)
class HingeLoss:
    """Σ c_i max(0, Δ_i − u_i), which is not differentiable at u_i = Δ_i; see :meth:`smoothed`."""

    factors: Vector
    margins: Vector

    def value(self, u: Vector) -> float:
        """The loss."""
        return float(self.factors @ np.maximum(self.margins - u, 0.0))

    def gradient(self, u: Vector) -> Vector:
        """Subgradient with respect to every score; 0 at the kink."""
        return np.where(u < self.margins, -self.factors, 0.0)

    def smoothed(self, width: float) -> SmoothedHinge:
        """Return the loss with a quadratic section of length ``width`` before the kink."""
        return SmoothedHinge(self.factors, self.margins, width)


@dataclass(frozen=True)
class SmoothedHinge:
    """Hinge loss whose slope grows from 0 to c_i over ``width``; at most c_i·width/2 below the hinge loss."""

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
        """Derivative with respect to every score."""
        return -self.factors * self._share(u)

    def curvature(self, u: Vector) -> Vector:
        """Second derivative with respect to every score."""
        inside = (u < self.margins) & (u > self.margins - self.width)
        return np.where(inside, self.factors / self.width, 0.0)


@dataclass(frozen=True)
class SquareLoss:
    """Σ c_i (E_i² + max(0, Δ_i − Ē_i)²) (Li et al. 2015, eq. 7); u = (E, Ē)."""

    factors: Vector
    margins: Vector

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""
        hit, shortfall = self._parts(u)
        return float(self.factors @ (hit**2 + shortfall**2))

    def gradient(self, u: Vector) -> Vector:
        """Derivative with respect to every score."""
        hit, shortfall = self._parts(u)
        return np.concatenate([2.0 * self.factors * hit, -2.0 * self.factors * shortfall])

    def curvature(self, u: Vector) -> Vector:
        """Second derivative with respect to every score; the left one where the slope has a kink."""
        _, shortfall = self._parts(u)
        return np.concatenate([2.0 * self.factors, np.where(shortfall > 0.0, 2.0 * self.factors, 0.0)])

    def _parts(self, u: Vector) -> tuple[Vector, Vector]:
        """Return E, and the shortfall of Ē below the margin."""
        n = self.margins.size
        return u[:n], np.maximum(self.margins - u[n:], 0.0)


@dataclass(frozen=True)
class SquareExpLoss:
    """Σ c_i (E_i² + γ exp(−Ē_i)); u = (E, Ē)."""

    factors: Vector
    gamma: float = 1.0

    def value(self, u: Vector) -> float:
        """The loss; infinite where it overflows."""
        hit, decay = self._parts(u)
        return float(self.factors @ (hit**2 + decay))

    def gradient(self, u: Vector) -> Vector:
        """Derivative with respect to every score."""
        hit, decay = self._parts(u)
        return np.concatenate([2.0 * self.factors * hit, -self.factors * decay])

    def curvature(self, u: Vector) -> Vector:
        """Second derivative with respect to every score."""
        _, decay = self._parts(u)
        return np.concatenate([2.0 * self.factors, self.factors * decay])

    def _parts(self, u: Vector) -> tuple[Vector, Vector]:
        """Return E and γ exp(−Ē)."""
        n = self.factors.size
        with np.errstate(over="ignore"):  # an overlong trial step, which is rejected
            return u[:n], self.gamma * np.exp(-u[n:])


# Results of minimizers, and violations of the optimality conditions.

#: Relative rounding error of an objective.
_ROUNDING = 16.0 * np.finfo(np.float64).eps
#: Tolerance for equal columns, relative to the largest entry.
_EQUAL = 16.0 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Minimum:
    """Weights that minimize a penalized loss."""

    weights: Vector
    #: Largest violation of the optimality conditions, relative to the largest |derivative of the loss| at
    #: w = 0 (and to α for the L1 penalty). For the hinge loss: the duality gap relative to the loss at w = 0.
    residual: float
    #: Newton steps, or linear programs solved.
    n_steps: int


def l2_violation(derivative: Vector, w: Vector, positive: bool) -> float:
    """Return the largest violation of ``derivative`` = 0 (≥ 0 at the bound), of loss and penalty at w."""
    if positive:
        derivative = np.where(w > 0.0, derivative, np.minimum(derivative, 0.0))
    return float(np.abs(derivative).max(initial=0.0))


def l1_violations(derivative: Vector, w: Vector, alpha: float, positive: bool) -> Vector:
    """Return how far the loss's derivative is from −α·sign(w), or from [−α, α] at w = 0, by weight."""
    if positive:
        return np.where(w > 0.0, np.abs(derivative + alpha), np.maximum(-derivative - alpha, 0.0))
    return np.where(
        w == 0.0, np.maximum(np.abs(derivative) - alpha, 0.0), np.abs(derivative + alpha * np.sign(w))
    )


def step_length(objective: Callable[[float], float], slope: float) -> float:
    """Return the largest of 1, ½, ¼ … with sufficient decrease of the objective (Armijo); 0 if there is none.

    ``slope`` is the predicted change for a step of 1, negative.
    """
    before = objective(0.0)
    step = 1.0
    for _ in range(60):
        if objective(step) <= before + 1e-4 * step * slope + _ROUNDING * abs(before):
            return step
        step *= 0.5
    return 0.0


def equalize_duplicates(
    A: NDArray[np.float64], w: Vector, derivative: Vector, alpha: float, tolerance: float
) -> Vector:
    """Assign equal weights to equal columns: of all minimizers of the L1 problem, the one of smallest norm.

    ``derivative``, of the loss at w, is within ``tolerance`` of −α or α wherever a weight could be nonzero.
    """
    candidates = np.flatnonzero((w != 0.0) | (np.abs(derivative) >= alpha - tolerance))
    if candidates.size < 2:
        return w
    columns = np.asarray(A[:, candidates])
    equal_within = _EQUAL * np.abs(columns).max()
    # Equal columns have equal projections, and are adjacent after sorting.
    order = np.argsort(np.cos(np.arange(len(A))) @ columns, kind="stable")
    step = np.abs(np.diff(columns[:, order], axis=1)).max(axis=0)
    group = np.concatenate([[0], np.cumsum(step > equal_within)])
    members = candidates[order]
    equalized = w.copy()
    equalized[members] = (np.bincount(group, weights=w[members]) / np.bincount(group))[group]
    return equalized


# Products of NumPy arrays and of matrices on Dask workers.


def weighted_gram(A: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return AᵀCA with the diagonal matrix C of weights ≥ 0."""
    if not isinstance(A, np.ndarray):
        return A.weighted_gram(weights)
    scaled = np.sqrt(weights)[:, np.newaxis] * A
    with one_blas_thread():
        return scaled.T @ scaled  # BLAS computes only half of a symmetric product
