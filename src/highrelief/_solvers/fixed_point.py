"""Fixed-point iterations w ← step(w), and the closed-form steps from margins to weights."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# Closed-form steps.


def unit_positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Maximize wᵀν over ‖w‖₂ = 1, w ≥ 0: (ν)⁺/‖(ν)⁺‖₂ (Sun 2007, eqs. 6 and 12).

    Returns None if no component of ν is positive; the formula is then undefined.
    """
    positive = _positive_part(nu)
    return None if positive is None else positive / euclidean_norm(positive)


def euclidean_norm(v: NDArray[np.float64]) -> float:
    """Return ‖v‖₂ without BLAS, whose threads may wait for each other longer than the sum takes."""
    return math.sqrt(float(np.square(v).sum()))


def simplex_positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return (ν)⁺/‖(ν)⁺‖₁ (Bei and Hong 2015, eq. 9), or None if no component of ν is positive."""
    positive = _positive_part(nu)
    return None if positive is None else positive / positive.sum()


def _positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return (ν)⁺ over its maximum, so that squares do not underflow; None if no component is positive."""
    positive = np.maximum(nu, 0.0)
    largest = positive.max(initial=0.0)
    return positive / largest if largest > 0.0 else None


def simplex_projection(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimize ‖w − v‖₂ over w ≥ 0, Σw = 1.

    With a multiplier θ for the sum, w = (v − θ)⁺. Σ(v − θ)⁺ decreases in θ and is linear between adjacent
    values of v: θ = (sum of the k largest − 1)/k, for the largest k at which the k-th largest exceeds it.
    """
    descending = np.sort(v)[::-1]
    excess = descending.cumsum() - 1.0
    k = np.count_nonzero(descending * np.arange(1, v.size + 1) > excess)
    w = np.maximum(v - excess[k - 1] / k, 0.0)
    return w / w.sum()  # removes the rounding error of the sum


Weights = NDArray[np.float64]
#: Maps weights to the next weights; None if undefined.
Step = Callable[[Weights], Weights | None]
#: Stopping rule: maps the new weights and the norm of their change to whether the iteration has converged.
StoppingRule = Callable[[Weights, float], bool]

#: Longest cycle that is detected.
LONGEST_CYCLE = 6


@dataclass
class FixedPoint:
    """End of an iteration w ← step(w), and its history."""

    weights: Weights
    n_iter: int = 0
    #: Whether the change fell below the tolerance, or the stopping rule was met.
    converged: bool = False
    #: ‖w⁽ᵗ⁾ − w⁽ᵗ⁻¹⁾‖₂ for every t.
    changes: list[float] = field(default_factory=list)
    #: Length of the cycle that the iteration ended in; 0 if there is none.
    cycle_length: int = 0
    #: Whether the step was undefined at the last weights.
    undefined: bool = False
    #: Whether ``report`` stopped the iteration.
    interrupted: bool = False


def fixed_point(
    step: Step,
    start: Weights,
    *,
    max_iter: int,
    tol: float,
    averaging: bool = False,
    converged: StoppingRule | None = None,
    report: Callable[[], bool] = lambda: False,
) -> FixedPoint:
    """Iterate w ← step(w) until w changes by less than ``tol``, at most ``max_iter`` times.

    ``converged`` replaces this criterion; ``tol`` then only distinguishes a cycle from a fixed point.

    With ``averaging``, w is the mean of the images so far, w ← w + (step(w) − w)/t: the plain iteration may
    alternate between two points forever, while the mean converges.

    A step that returns None (it is undefined at this w) ends the iteration at the last w, or at 0 if it was
    the first. An iteration that returns to an earlier point ends there as well. ``report`` is called after
    every iteration and stops it by returning True.
    """
    end = FixedPoint(start)
    recent: deque[Weights] = deque([start], maxlen=LONGEST_CYCLE + 1)
    for t in range(1, max_iter + 1):
        image = step(end.weights)
        if image is None:
            end.undefined = True
            if t == 1:
                end.weights = np.zeros_like(start)
            return end
        w = end.weights + (image - end.weights) / t if averaging else image
        change = euclidean_norm(w - end.weights)
        end.weights, end.n_iter = w, t
        end.changes.append(change)
        moves = not change < tol
        has_converged = not moves if converged is None else converged(w, change)
        if report():
            end.interrupted = True
            return end
        if moves and not averaging:
            # Before the stopping rule, which may be met by a cycle of equally good points.
            recent.append(w)
            end.cycle_length = _cycle_length(recent, change, min(tol, 1e-3 * change))
            if end.cycle_length:
                return end
        if has_converged:
            end.converged = True
            return end
    if not averaging:
        # A cycle that is not closed to within the tolerance.
        end.cycle_length = _cycle_length(recent, change, 0.02 * change)
    return end


def _cycle_length(recent: deque[Weights], change: float, tolerance: float) -> int:
    """Return the smallest p ≥ 2 with ‖w⁽ᵗ⁾ − w⁽ᵗ⁻ᵖ⁾‖₂ below the tolerance, or 0."""
    if not change > 0.0:
        return 0
    last = recent[-1]
    for period in range(2, len(recent)):
        if euclidean_norm(last - recent[-1 - period]) < tolerance:
            return period
    return 0
