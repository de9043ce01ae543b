"""Columns of a table, scaled and laid out for the kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import packing
from .cached_property import cached_property
from .memory import check_room
from .ranges import BLOCK_BYTES, ColumnRanges, one_block
from .scaling import Scaling
from .threads import even_ranges, run_all

#: Parts of the rows that threads share.
_PARTS = 16


class ScaledColumns:
    """Columns of a table, as distances from one end of each, scaled.

    Differences do not care from which end they are measured. The end nearer to most of the values keeps
    more of their digits, and makes the sums of a + b − 2·min(a, b) small, where a few values lie far out.

    Parameters
    ----------
    X : (n_samples, n_features) float32 or float64
        The table; it is not copied.
    position : (n_rows,) int
        The row of the table at each row of the layout, or ``PADDING``.
    scaling : Scaling
        Of the features.
    copies : (n_samples,) float64 or None
        How often each sample counts; None: once.
    ranges : ColumnRanges or None
        Of the columns, if they are known.
    n_threads : int
        Threads to use.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        position: NDArray[np.int64],
        scaling: Scaling,
        *,
        copies: NDArray[np.float64] | None = None,
        ranges: ColumnRanges | None = None,
        n_threads: int = 1,
    ) -> None:
        self._X, self._position, self._scaling, self._copies = X, position, scaling, copies
        self._ranges = ColumnRanges.of(X, n_threads) if ranges is None else ranges
        self._n_threads = n_threads
        unit = np.ones(X.shape[1], X.dtype) if scaling.unit is None else scaling.unit
        self._unit, self._divisor = unit, scaling.divisor

    def whole(self) -> NDArray[np.floating]:
        """All columns in the order of the features; padding is 0."""
        n_features = self._X.shape[1]
        width = packing.padded_width(n_features, self._X.itemsize)
        check_room(
            float(self._position.size) * width * self._X.itemsize,
            f"A scaled copy of {self._position.size} samples of {n_features} features",
            "Fewer features would do, or float32 instead of float64.",
        )
        packed = packing.aligned_zeros((self._position.size, width), self._X.dtype)
        self.write(np.arange(n_features), packed)
        return packed

    def write(self, which: NDArray[np.int64], packed: NDArray[np.floating]) -> None:
        """Write the given columns side by side into the layout; padding rows stay as they are."""
        in_place = self._X.flags.c_contiguous and self._X.flags.aligned
        n_blocks = 1 if in_place else -(-which.size * self._X.shape[0] * self._X.itemsize // BLOCK_BYTES)
        for start, end in even_ranges(which.size, n_blocks):
            self._write_block(which[start:end], packed, start, in_place)

    def _write_block(
        self, which: NDArray[np.int64], packed: NDArray[np.floating], at: int, in_place: bool
    ) -> None:
        if in_place:
            X, columns = one_block(self._X, 0, self._X.shape[1], self._X.dtype)[0], which
        else:
            # Not np.take, which copies a table that is not C-ordered as a whole.
            side_by_side = bool(np.all(np.diff(which) == 1))
            chosen = self._X[:, slice(which[0], which[-1] + 1) if side_by_side else which]
            X, columns = np.ascontiguousarray(chosen), np.arange(which.size)
        steps = self._unit[which], self._end[which], self._divisor[which]

        def of_rows(a: int, b: int) -> None:
            packing.pack_columns(X, columns, self._position, *steps, a, b, packed, at)

        run_all(of_rows, even_ranges(self._position.size, _PARTS), self._n_threads)

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Largest value of every column; the smallest is 0."""
        low, high = self._ranges.low * self._unit, self._ranges.high * self._unit
        with np.errstate(over="ignore"):
            return (np.abs(high - low) / self._divisor).astype(np.float64)

    @cached_property
    def _end(self) -> NDArray[np.floating]:
        low, high = self._ranges.low, self._ranges.high
        with np.errstate(over="ignore", invalid="ignore"):
            end = nearer_end(self._mean(), low, high)
        return end * self._unit

    def _mean(self) -> NDArray[np.floating]:
        if self._copies is None:
            return self._ranges.mean
        n_blocks = -(-self._X.size * 8 // BLOCK_BYTES)
        return np.concatenate(
            [
                np.average(self._X[:, a:b], axis=0, weights=self._copies)
                for a, b in even_ranges(self._X.shape[1], n_blocks)
            ]
        )


def nearer_end(
    mean: NDArray[np.floating], low: NDArray[np.floating], high: NDArray[np.floating]
) -> NDArray[np.floating]:
    """The end of each range that the mean is nearer to.

    Not by a rounding error: where both are as near, copies of rows must not change the choice.
    """
    return np.where(mean - low <= (high - mean) * (1.0 + 1e-6), low, high)
