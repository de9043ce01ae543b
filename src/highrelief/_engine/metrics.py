"""Metrics: how differences of features add up to a distance, and which distances are tied.

A new distance is an entry of :data:`METRICS`. One whose terms are neither absolute nor squared differences
also needs pair sources that compute them (:mod:`.distances`, :mod:`.sparse`) and margins of such terms
(``_kernels/nearest.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A distance by which neighbors are found: a sum over features of (squared) differences, or its root.

    Pair sources select neighbors by the sums, which add up over columns and have the order of the distances.
    """

    name: str
    #: Whether the terms of the sum are squared differences; otherwise they are absolute differences.
    squares: bool = False
    #: Whether the distance is the square root of the sum.
    rooted: bool = False

    @property
    def squares_margins(self) -> bool:
        """Whether margins are of squared differences: those that the distance is the sum of."""
        return self.squares and not self.rooted

    def from_sums(self, sums: Vector) -> Vector:
        """Return distances from the sums over features."""
        return np.sqrt(sums) if self.rooted else sums

    def to_sums(self, distances: Vector) -> Vector:
        """Return the sums over features from the distances."""
        return distances**2 if self.rooted else distances

    def tolerance_of_sums(self, tolerance: float) -> float:
        """Return the relative difference of sums whose distances differ by ``tolerance``."""
        return 2.0 * tolerance if self.rooted else tolerance

    def margin_factors(self, factors: Vector) -> Vector:
        """Return the factors of margins, from those that scale differences."""
        return factors**2 if self.squares_margins else factors


#: All metrics by their names.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("manhattan"),
        Metric("euclidean", squares=True, rooted=True),
        Metric("sqeuclidean", squares=True),
    )
}


def tie_tolerance(dtype: np.dtype[Any]) -> float:
    """Return the relative difference below which distances are tied: scaling splits true ties by rounding."""
    return 1e-6 if dtype == np.float32 else 1e-12


def merge_ties(distances: Vector, tolerance: float) -> Vector:
    """Return the distances with the smallest of each row in place of all that are tied with it.

    Rounding must not decide which of two tied distances is smaller.
    """
    nearest = distances.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        tied = distances <= nearest * (1.0 + tolerance)
    return np.where(tied, nearest, distances)
