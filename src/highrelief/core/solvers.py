"""From margins to weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def unit_positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Maximise wᵀν over ‖w‖₂ = 1, w ≥ 0: (ν)⁺/‖(ν)⁺‖₂ (Sun 2007, eqs. 6 and 12).

    None where no component of ν is positive and the maximiser is not defined by the formula.
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
    """Minimise ‖w − v‖₂ over w ≥ 0, Σw = 1.

    With a multiplier θ for the sum, w = (v − θ)⁺. Σ(v − θ)⁺ falls as θ grows, and is linear between two
    neighbouring values of v: among the k largest, θ = (their sum − 1)/k, for the largest k at which the k-th
    of them still exceeds it.
    """
    falling = np.sort(v)[::-1]
    excess = falling.cumsum() - 1.0
    k = np.count_nonzero(falling * np.arange(1, v.size + 1) > excess)
    w = np.maximum(v - excess[k - 1] / k, 0.0)
    return w / w.sum()  # 1 to the last digit
