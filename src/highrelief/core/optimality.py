"""What a minimiser returns, and how far it is from the conditions of a minimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: Times the machine's precision, what two values of an objective may differ by through rounding.
_ROUNDING = 16.0 * np.finfo(np.float64).eps
#: Relative to the largest entry, how much equal columns may differ.
_EQUAL = 16.0 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Minimum:
    """Weights that minimise a penalised loss."""

    weights: Vector
    #: Largest violation of the conditions of a minimum, relative to the largest |derivative of the loss| at
    #: w = 0 (and to α for the L1 penalty). For the hinge, which has corners: the duality gap, relative to
    #: the loss at w = 0.
    residual: float
    #: Newton steps, or programmes solved.
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
    """Give equal columns equal weights, by the L1 penalty as good as any: the shortest of these minimisers.

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
