"""Quadratic functions in a box: the dual of the hinge loss has the form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .optimality import Vector

#: Projected steps, before bounds come and go one at a time.
_MOST_STEPS = 50
#: Relative to the largest slope at 0, a slope that is rounding.
_ROUNDING = 1e-15


def minimize_in_box(Q: NDArray[np.float64], b: Vector, start: Vector, top: Vector) -> Vector:
    """Minimise ½xᵀQx − bᵀx over 0 ≤ x ≤ top, from ``start`` in the box on; Q is positive definite."""
    return _bound_by_bound(Q, b, _projected(Q, b, start, top), top)


def _projected(Q: NDArray[np.float64], b: Vector, x: Vector, top: Vector) -> Vector:
    """Newton steps cut to the box, which put many variables at their bounds at once."""
    enough = _ROUNDING * float(np.abs(b).max())
    for _ in range(_MOST_STEPS):
        slope = Q @ x - b
        free = ~(((x <= 0.0) & (slope >= 0.0)) | ((x >= top) & (slope <= 0.0)))
        if not np.abs(slope[free]).max(initial=0.0) > enough:
            return x
        target = np.clip(_target(Q, b, x, free), 0.0, top)
        move = target - x
        change = float(slope @ move)
        if not change < 0.0:
            return x
        # The minimum on the way to the cut target.
        t = min(1.0, -change / float(move @ Q @ move))
        x = target if t == 1.0 else x + t * move
    return x


def _bound_by_bound(Q: NDArray[np.float64], b: Vector, x: Vector, top: Vector) -> Vector:
    """Go to the minimum of the variables off their bounds; then the one that asks most leaves its bound."""
    x = x.copy()
    enough = _ROUNDING * float(np.abs(b).max())
    free = (x > 0.0) & (x < top)
    for _ in range(10 * x.size + 10):
        target = _target(Q, b, x, free)
        bound = np.where(target < x, 0.0, top)
        beyond = free & ((target < 0.0) | (target > top))
        if beyond.any():
            ways = (bound[beyond] - x[beyond]) / (target[beyond] - x[beyond])
            t = float(ways.min())
            x[free] += t * (target[free] - x[free])
            reached = np.flatnonzero(beyond)[ways == t]
            x[reached] = bound[reached]
            free[reached] = False
            continue
        x = target
        slope = Q @ x - b
        asks = np.where(x <= 0.0, -slope, slope)
        asks[free | (top == 0.0)] = 0.0
        most = int(asks.argmax())
        if asks[most] <= enough:
            return x
        free[most] = True
    return x


def _target(Q: NDArray[np.float64], b: Vector, x: Vector, free: NDArray[np.bool_]) -> Vector:
    """The minimum over the free variables, wherever it is."""
    target = x.copy()
    if free.any():
        rest = b[free] - Q[np.ix_(free, ~free)] @ x[~free]
        system = Q[np.ix_(free, free)]
        _, solution, failed = lapack.dposv(system, rest)
        target[free] = np.linalg.lstsq(system, rest, rcond=None)[0] if failed else solution
    return target
