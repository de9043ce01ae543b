"""A set of features that changes by one at a time, and the score of its margins."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..kernels import gflip
from ..kernels.packing import PADDING, class_layout
from .memory import check_room

#: Utilities and their numbers in the kernel.
UTILITIES = {"linear": gflip.LINEAR, "sigmoid": gflip.SIGMOID, "zero-one": gflip.ZERO_ONE}
#: Bits that a sum of squared differences may have; two numbers hold 106.
_BITS = 104
#: Growth of a score, and a margin, that is smaller than this, relatively, is a rounding of the table's.
_TIED = 1e-12


class ClassedColumns:
    """Features as rows of one array, samples sorted by class, every class padded to whole blocks.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        The samples, scaled.
    codes : (n_samples,) int64
        Their classes.
    copies : (n_samples,) float64 or None
        How often each counts; None: once.
    """

    def __init__(
        self, X: NDArray[np.float64], codes: NDArray[np.int64], copies: NDArray[np.float64] | None
    ) -> None:
        position, sorted_codes = class_layout(codes, int(codes.max()) + 1)
        borders = np.concatenate([[0], np.cumsum(np.bincount(sorted_codes))])
        self.n_samples = len(X)
        self.real = position != PADDING
        # Padding is the first sample, which has no part in anything there.
        order = np.where(self.real, position, 0)
        self.values, self.least_steps = _whole_steps(np.ascontiguousarray(X[order].T))
        self.starts, self.ends = borders[sorted_codes], borders[sorted_codes + 1]
        self.copies = np.where(self.real, 1.0 if copies is None else copies[order], 0.0)

    @property
    def n_rows(self) -> int:
        """Number of samples, padding included."""
        return self.real.size

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.values)

    @property
    def in_parts(self) -> bool:
        """Whether samples count in parts: then more than one may be needed for a whole neighbour."""
        return bool(self.copies[self.real].min() < 1.0)

    @property
    def has_hits(self) -> bool:
        """Whether there is a sample with another of its class, or a copy of itself."""
        return bool(np.bincount(self.starts, self.real).max() > 1.0 or self.copies.max() > 1.0)

    @property
    def work_per_sweep(self) -> float:
        """Pairs that a sweep looks at, in the time that one takes where samples count once or more."""
        return (0.5 if not self.in_parts else 5.0) * self.n_samples**2 * self.n_features

    def check_memory(self, n_sets: int) -> None:
        """Raise if the distances of all pairs, once for every set, are more than there is room for."""
        n = float(self.n_rows)
        needed = n_sets * 8.0 * n * n * (2.0 if self.in_parts else 1.0)
        check_room(
            needed,
            f"The distances of all pairs of {self.n_samples} samples, {n_sets} at a time,",
            "Fewer samples, or n_jobs=1, would do.",
        )


def _whole_steps(columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Move each column to 0, in place, and round it to multiples of a step.

    Returns also how many steps the smallest range has.

    A power of 2, such that the sums of squared differences of all columns, in multiples of its square, have
    no more than the given number of bits: with ranges of 1 it is 2⁻⁴⁷ for 500 columns, 2⁻⁴² for a million.
    """
    columns -= columns.min(axis=1)[:, np.newaxis]
    spans = columns.max(axis=1)
    size = int(np.ceil(np.log2(spans @ spans)))
    exponent = (_BITS - size) // 2
    np.ldexp(columns, exponent, out=columns)
    np.rint(columns, out=columns)
    return np.ldexp(columns, -exponent, out=columns), float(np.ldexp(spans.min(), exponent))


class FeatureSet:
    """Members among the features, at first none.

    Parameters
    ----------
    columns : ClassedColumns
        The table.
    utility : str
        What is summed over the samples, of their margins.
    beta : float
        Of the sigmoid.
    """

    def __init__(self, columns: ClassedColumns, utility: str, beta: float) -> None:
        n = columns.n_rows
        self._columns = columns
        self._utility = (UTILITIES[utility], beta, _TIED)
        self._high, self._low = (np.empty(gflip.pairs_of(n)) for _ in range(2))
        gflip.begin(columns.real, self._high, self._low)
        self._matrix = np.empty((n, n) if columns.in_parts else (0, 0))
        self._nearest = np.empty((2, n))
        self._score = np.zeros(1)
        self.members = np.zeros(columns.n_features, dtype=np.bool_)

    @classmethod
    def of_all(cls, columns: ClassedColumns) -> Self:
        """Have all features as members; the score is not asked for."""
        features = cls(columns, "linear", np.nan)
        for column in columns.values:
            gflip.flip(column, True, features._high, features._low)
        return features

    def margins(self) -> NDArray[np.float64]:
        """½(‖x − NM‖ − ‖x − NH‖) of every row of the columns; 0 without a hit or a miss."""
        table = self._columns
        nothing = np.zeros(table.n_rows)
        gflip.tried(
            nothing,
            True,
            self._high,
            self._low,
            table.starts,
            table.ends,
            table.copies,
            self._matrix,
            *self._utility,
            *self._nearest,
        )
        known = np.isfinite(self._nearest).all(axis=0)
        hits, misses = np.where(known, self._nearest, 0.0)
        return 0.5 * (misses - hits)

    @property
    def has_hits(self) -> bool:
        """Whether any sample has a margin."""
        return self._columns.has_hits

    @property
    def score(self) -> float:
        """Sum of the utilities of all margins; 0 without members."""
        return float(self._score[0])

    def sweep(self, order: NDArray[np.int64]) -> int:
        """Try the features in this order, flip what makes the score grow; returns the number of flips."""
        table = self._columns
        return gflip.sweep(
            table.values,
            order,
            table.starts,
            table.ends,
            table.copies,
            self._matrix,
            *self._utility,
            self._high,
            self._low,
            self.members,
            self._score,
            self._nearest,
        )

    def losses(self, n_pieces: int = 1) -> NDArray[np.float64]:
        """What the score loses when a member leaves; 0 for the others.

        In so many pieces that an interrupt is answered in between.
        """
        table = self._columns
        losses = np.zeros(table.n_features)
        for piece in np.array_split(np.flatnonzero(self.members), n_pieces):
            gflip.losses(
                table.values,
                piece,
                table.starts,
                table.ends,
                table.copies,
                self._matrix,
                *self._utility,
                self._high,
                self._low,
                self.members,
                self._score,
                self._nearest,
                losses,
            )
        return losses
