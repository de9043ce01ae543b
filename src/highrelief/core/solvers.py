"""From margins to weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def unit_positive_part(nu: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Maximise wᵀν over ‖w‖₂ = 1, w ≥ 0: (ν)⁺/‖(ν)⁺‖₂ (Sun 2007, eqs. 6 and 12).

    None where no component of ν is positive and the maximiser is not defined by the formula.
    """
    positive = np.maximum(nu, 0.0)
    largest = positive.max(initial=0.0)
    if not largest > 0.0:
        return None
    positive /= largest  # the squares of tiny margins would underflow
    return positive / euclidean_norm(positive)


def euclidean_norm(v: NDArray[np.float64]) -> float:
    """‖v‖₂. Not by BLAS, whose threads may wait for each other longer than the sum takes."""
    return math.sqrt(float(np.square(v).sum()))
