"""The loops around a step."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# From margins to weights.


def unit_positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Maximize wᵀν over ‖w‖₂ = 1, w ≥ 0: (ν)⁺/‖(ν)⁺‖₂ (Sun 2007, eqs. 6 and 12).

    None where no component of ν is positive and the maximizer is not defined by the formula.
    """
    positive = _positive_part(nu)
    return None if positive is None else positive / euclidean_norm(positive)


def euclidean_norm(v: NDArray[np.float64]) -> float:
    """‖v‖₂. Not by BLAS, whose threads may wait for each other longer than the sum takes."""
    return math.sqrt(float(np.square(v).sum()))


def simplex_positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """(ν)⁺/‖(ν)⁺‖₁ (Bei and Hong 2015, eq. 9), or None where no component of ν is positive."""
    positive = _positive_part(nu)
    return None if positive is None else positive / positive.sum()


def _positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """(ν)⁺ relative to its largest component, whose square might underflow; None if there is none above 0."""
    positive = np.maximum(nu, 0.0)
    largest = positive.max(initial=0.0)
    return positive / largest if largest > 0.0 else None


def simplex_projection(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimize ‖w − v‖₂ over w ≥ 0, Σw = 1.

    With a multiplier θ for the sum, w = (v − θ)⁺. Σ(v − θ)⁺ falls as θ grows, and is linear between two
    neighboring values of v: among the k largest, θ = (their sum − 1)/k, for the largest k at which the k-th
    of them still exceeds it.
    """
    falling = np.sort(v)[::-1]
    excess = falling.cumsum() - 1.0
    k = np.count_nonzero(falling * np.arange(1, v.size + 1) > excess)
    w = np.maximum(v - excess[k - 1] / k, 0.0)
    return w / w.sum()  # 1 to the last digit


Weights = NDArray[np.float64]
#: From weights to the next ones; None where it is not defined.
Step = Callable[[Weights], Weights | None]
#: Whether an iteration may end: asked with the new weights and how much they changed.
Settled = Callable[[Weights, float], bool]

#: Longest cycle that is looked for.
LONGEST_CYCLE = 6


@dataclass
class FixedPoint:
    """Where an iteration w ← step(w) ended, and how."""

    weights: Weights
    n_iter: int = 0
    #: The change fell below the tolerance, or what else was to settle did.
    settled: bool = False
    #: ‖w⁽ᵗ⁾ − w⁽ᵗ⁻¹⁾‖₂ for every t.
    changes: list[float] = field(default_factory=list)
    #: Number of points that the iteration runs through again and again; 0 if it does not.
    cycle_length: int = 0
    #: The step had no answer for the last weights.
    undefined: bool = False
    #: Somebody who was watching asked for an early end.
    interrupted: bool = False


def fixed_point(
    step: Step,
    start: Weights,
    *,
    max_iter: int,
    tol: float,
    averaging: bool = False,
    settled: Settled | None = None,
    report: Callable[[], bool] = lambda: False,
) -> FixedPoint:
    """Repeat w ← step(w) until w changes by less than ``tol``, at most ``max_iter`` times.

    With ``settled`` that is asked instead; ``tol`` then only tells a cycle from standing still.

    With ``averaging`` w is the mean of the images so far, w ← w + (step(w) − w)/t: the plain iteration
    may jump between two points for ever, the mean settles between them.

    A step that returns None (it is not defined at this w) ends the iteration at the last w, or at 0 if
    it was the first. An iteration that comes back to a point where it was before ends there too.
    ``report`` is called after every iteration and may ask for an early end by returning True.
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
        enough = not moves if settled is None else settled(w, change)
        if report():
            end.interrupted = True
            return end
        if moves and not averaging:
            # First: points of a cycle may be as good as each other, and then only the weights change.
            recent.append(w)
            end.cycle_length = _cycle_length(recent, change, min(tol, 1e-3 * change))
            if end.cycle_length:
                return end
        if enough:
            end.settled = True
            return end
    if not averaging:
        # Not closed to within the tolerance, but plainly going round.
        end.cycle_length = _cycle_length(recent, change, 0.02 * change)
    return end


def _cycle_length(recent: deque[Weights], change: float, tolerance: float) -> int:
    """Smallest p ≥ 2 with ‖w⁽ᵗ⁾ − w⁽ᵗ⁻ᵖ⁾‖₂ below the tolerance, or 0."""
    if not change > 0.0:
        return 0
    last = recent[-1]
    for period in range(2, len(recent)):
        if euclidean_norm(last - recent[-1 - period]) < tolerance:
            return period
    return 0
