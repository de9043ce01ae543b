"""A table by blocks of columns.

Nothing here copies the table: what is needed of it is taken block by block, C-ordered and in floats, whatever its
order and type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..kernels import columns as kernels
from .scaling import Scaling
from .threads import even_ranges, run_all

#: Bytes of a block that has to be copied.
_BLOCK_BYTES = 2**24
#: Columns of a block that needs no copy.
_WIDEST = 2**16
#: Ranges beyond this, or below its inverse, are brought near 1 by a power of 2: squares must not overflow.
_WIDE_RANGE = 2.0**40


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Floats that hold all values of a type: float32 for itself and for one-byte numbers."""
    return np.dtype(np.float32) if dtype == np.float32 or dtype.itemsize == 1 else np.dtype(np.float64)


@dataclass(frozen=True)
class ColumnRanges:
    """Smallest and largest values of the columns, and whether all values are finite."""

    low: NDArray[np.floating]
    high: NDArray[np.floating]
    finite: bool

    @classmethod
    def of(cls, X: NDArray[Any], n_threads: int = 1) -> Self:
        """Look through a table once."""
        dtype = float_type(X.dtype)
        largest = np.finfo(dtype).max
        n_samples, n_features = X.shape
        low = np.full(n_features, np.inf, dtype)
        high = np.full(n_features, -np.inf, dtype)

        def of_columns(array: NDArray[Any], shift: int, a: int, b: int) -> bool:
            return bool(
                kernels.column_ranges(array, 0, n_samples, shift + a, shift + b, largest, low[a:b], high[a:b])
            )

        finite = True
        for start, end in even_ranges(n_features, _n_blocks(X)):
            array, first = _block(X, start, end, dtype)
            parts = even_ranges(end - start, n_threads, multiple=16)
            work = [(array, first - start, start + a, start + b) for a, b in parts]
            finite &= all(run_all(of_columns, work, n_threads))
        return cls(low, high, finite)


def _n_blocks(X: NDArray[Any]) -> int:
    n_samples, n_features = X.shape
    if X.flags.c_contiguous and X.dtype == float_type(X.dtype):
        return max(1, -(-n_features // _WIDEST))
    return max(1, -(-n_features * n_samples * float_type(X.dtype).itemsize // _BLOCK_BYTES))


def _block(X: NDArray[Any], start: int, end: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    """A C-ordered array of floats that holds the columns, and where they begin in it."""
    if X.flags.c_contiguous and X.dtype == dtype:
        return X, start
    return np.ascontiguousarray(X[:, start:end], dtype=dtype), 0


class Columns:
    """Columns of a table with what makes them comparable.

    Parameters
    ----------
    X : (n_samples, n_features) float32, float64 or one-byte numbers
        The table.
    scaling : Scaling
        Of the features.
    """

    def __init__(self, X: NDArray[Any], scaling: Scaling) -> None:
        self.X = X
        self.n_samples, self.n_features = X.shape
        self.dtype = float_type(X.dtype)
        self._scaling = scaling

    @cached_property
    def _ranges(self) -> ColumnRanges:
        return ColumnRanges.of(self.X)

    @cached_property
    def _unit(self) -> NDArray[np.floating] | None:
        """Powers of 2 that bring very wide and very narrow ranges near 1; None if there are none."""
        quarter = self._ranges.high.astype(np.float64) * 0.25 - self._ranges.low.astype(np.float64) * 0.25
        odd = (quarter > 0.0) & ((quarter > _WIDE_RANGE / 4.0) | (quarter < 0.25 / _WIDE_RANGE))
        if not odd.any():
            return None
        exponent = np.where(odd, -np.frexp(quarter)[1] - 1, 0)
        # The inverse of a subnormal range would overflow.
        most = 126 if self.dtype == np.float32 else 1022
        return np.ldexp(1.0, np.clip(exponent, -most, most)).astype(self.dtype)

    @property
    def low(self) -> NDArray[np.floating]:
        """Smallest values, in the units of the blocks."""
        return self._ranges.low if self._unit is None else self._ranges.low * self._unit

    @property
    def high(self) -> NDArray[np.floating]:
        """Largest values, in the units of the blocks."""
        return self._ranges.high if self._unit is None else self._ranges.high * self._unit

    @cached_property
    def factors(self) -> NDArray[np.float64]:
        """What makes a difference of values in a block one of scaled values."""
        scaling = self._scaling
        factors = 1.0 / scaling.divisor.astype(np.float64)
        if scaling.unit is not None:
            factors *= scaling.unit
        return factors if self._unit is None else factors / self._unit

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""
        return (self.high.astype(np.float64) - self.low) * self.factors

    @property
    def in_place(self) -> bool:
        """Whether blocks of columns need no copy."""
        return self._unit is None and self.X.flags.c_contiguous and self.X.dtype == self.dtype

    @property
    def n_blocks(self) -> int:
        """Into how many blocks the columns are cut."""
        blocks = _n_blocks(self.X)
        if self._unit is not None:
            blocks = max(blocks, -(-self.X.size * self.dtype.itemsize // _BLOCK_BYTES))
        return blocks

    def blocks(self) -> Iterator[tuple[NDArray[np.floating], int, slice]]:
        """All columns: arrays, where a block begins in its array, and which columns it holds."""
        for start, end in even_ranges(self.n_features, self.n_blocks):
            array, first = self.block(start, end)
            yield array, first, slice(start, end)

    def block(self, start: int, end: int) -> tuple[NDArray[np.floating], int]:
        """A C-ordered array that holds these columns, and where they begin in it."""
        array, first = _block(self.X, start, end, self.dtype)
        if self._unit is None:
            return array, first
        return array[:, first : first + end - start] * self._unit[start:end], 0

    def chosen(self, which: NDArray[np.integer]) -> tuple[NDArray[np.floating], int]:
        """A C-ordered array that holds the given columns side by side, and where they begin in it."""
        n = which.size
        if n == 0 or which[-1] - which[0] + 1 == n:
            start = int(which[0]) if n else 0
            return self.block(start, start + n)
        values = np.take(self.X, which, axis=1).astype(self.dtype, copy=False)
        return (values if self._unit is None else values * self._unit[which]), 0
