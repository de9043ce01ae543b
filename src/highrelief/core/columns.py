"""A table by blocks of columns.

Nothing here copies the table: what is needed of it is taken block by block, C-ordered and in floats,
whatever its order and type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import columns as kernels
from .cached_property import cached_property
from .ranges import BLOCK_BYTES, ColumnRanges, float_type, n_blocks, one_block
from .scaling import Scaling
from .threads import even_ranges

#: Ranges beyond this, or below its inverse, are brought near 1 by a power of 2: squares must not overflow.
_WIDE_RANGE = 2.0**40
#: Where values are, on average, nearer than this to an end of their range, a few others are far out.
_SMALL_PART = 1 / 32


class Columns:
    """Columns of a table with what makes them comparable.

    Parameters
    ----------
    X : (n_samples, n_features) float32, float64 or one-byte numbers
        The table.
    scaling : Scaling
        Of the features.
    ranges : ColumnRanges, default=None
        Of the columns, if they are known.
    distance_unit : float, default=None
        As below, where these are some of the columns of a wider table.
    """

    def __init__(
        self,
        X: NDArray[Any],
        scaling: Scaling,
        ranges: ColumnRanges | None = None,
        distance_unit: float | None = None,
    ) -> None:
        self.X = X
        self._ranges = ColumnRanges.of(X) if ranges is None else ranges
        self.n_samples, self.n_features = X.shape
        self.dtype = float_type(X.dtype)
        self._scaling = scaling
        if distance_unit is not None:
            self.distance_unit = distance_unit

    @cached_property
    def _unit(self) -> NDArray[np.floating] | None:
        """Powers of 2 that bring very wide and very narrow ranges near 1; None if there are none."""
        low, high = self._ranges.low, self._ranges.high
        with np.errstate(over="ignore"):
            width = high - low
        odd = (width > 0.0) & ((width > _WIDE_RANGE) | (width < 1.0 / _WIDE_RANGE))
        if not odd.any():
            return None
        # A quarter of the widest range is a number; that of the narrowest is 0.
        quarter = high.astype(np.float64) * 0.25 - low.astype(np.float64) * 0.25
        size = np.where(np.isfinite(width), np.frexp(width)[1], np.frexp(quarter)[1] + 2)
        exponent = np.where(odd, 1 - size, 0)
        # The inverse of a subnormal range would overflow.
        most = 126 if self.dtype == np.float32 else 1022
        return np.ldexp(1.0, np.clip(exponent, -most, most)).astype(self.dtype)

    @cached_property
    def low(self) -> NDArray[np.floating]:
        """Smallest values, in the units of the blocks."""
        return self._ranges.low if self._unit is None else self._ranges.low * self._unit

    @cached_property
    def high(self) -> NDArray[np.floating]:
        """Largest values, in the units of the blocks."""
        return self._ranges.high if self._unit is None else self._ranges.high * self._unit

    @cached_property
    def factors(self) -> NDArray[np.float64]:
        """What makes a difference of values in a block one of scaled values; 0 where there is none."""
        scaling = self._scaling
        divisor = scaling.divisor.astype(np.float64)
        # Of features that varied much more, or much less, where they were fitted it may be 0, or infinite.
        with np.errstate(over="ignore"):
            # First the unit: the inverse of a subnormal range would overflow.
            factors = 1.0 / (divisor if self._unit is None else divisor * self._unit)
            factors = factors if scaling.unit is None else factors * scaling.unit
        return np.where(self._ranges.low < self._ranges.high, factors, 0.0)

    @cached_property
    def distance_factors(self) -> NDArray[np.float64]:
        """The same, times a power of 2 that brings the largest scaled range near 1.

        Who is nearer stays the same, and squares of differences neither overflow nor vanish.
        """
        return self.factors * self.distance_unit

    @cached_property
    def distance_unit(self) -> float:
        """A power of 2 that brings the largest scaled range near 1."""
        return float(np.ldexp(1.0, -int(np.frexp(self.spans.max())[1])))

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""
        return (self.high.astype(np.float64) - self.low) * self.factors

    @cached_property
    def far_out(self) -> bool:
        """Whether nearly all values use a small part of the ranges, of which float32 leaves few digits."""
        if self.X.dtype != np.float32:
            return False
        varies = self._ranges.high > self._ranges.low
        used = self.rarity if varies.all() else self.rarity[varies]
        # Written so that what overflowed counts as far out.
        return used.size == 0 or not bool(used.mean() >= _SMALL_PART)

    @cached_property
    def rarity(self) -> NDArray[np.float64]:
        """How near the means are to the nearer end of the ranges; the share of the rarer of two levels."""
        out = np.empty(self.n_features)
        kernels.rarity(self._ranges.low, self._ranges.high, self._ranges.mean, out)
        return out

    @property
    def in_place(self) -> bool:
        """Whether blocks of columns need no copy."""
        return self._unit is None and self.X.flags.c_contiguous and self.X.dtype == self.dtype

    @property
    def n_blocks(self) -> int:
        """Into how many blocks the columns are cut."""
        blocks = n_blocks(self.X)
        if self._unit is not None:
            blocks = max(blocks, -(-self.X.size * self.dtype.itemsize // BLOCK_BYTES))
        return blocks

    def blocks(self) -> Iterator[tuple[NDArray[np.floating], int, slice]]:
        """All columns: arrays, where a block begins in its array, and which columns it holds."""
        for start, end in even_ranges(self.n_features, self.n_blocks):
            # No name here for the array: whoever drops it before the next block has one at a time.
            yield *self.block(start, end), slice(start, end)

    @property
    def as_it_is(self) -> bool:
        """Whether sums are made from the table itself, without a copy of blocks of it."""
        return self.in_place and not self.far_out

    def cuts(self) -> list[tuple[int, int]]:
        """Cut the columns into blocks that are small enough to be copied where that is necessary."""
        n_blocks = self.n_blocks
        if self.far_out:
            n_blocks = max(n_blocks, -(-self.X.size * 8 // BLOCK_BYTES))
        return even_ranges(self.n_features, n_blocks, multiple=16)

    def precise_block(self, start: int, end: int) -> tuple[NDArray[np.floating], int]:
        """A block in float64 where float32 would leave too few digits of sums."""
        array, first = self.block(start, end)
        if not self.far_out:
            return array, first
        return array[:, first : first + end - start].astype(np.float64), 0

    def block(self, start: int, end: int) -> tuple[NDArray[np.floating], int]:
        """A C-ordered array that holds these columns, and where they begin in it."""
        array, first = one_block(self.X, start, end, self.dtype)
        if self._unit is None:
            return array, first
        return array[:, first : first + end - start] * self._unit[start:end], 0

    def chosen(self, which: NDArray[np.integer]) -> tuple[NDArray[np.floating], int]:
        """A C-ordered array that holds the given columns side by side, and where they begin in it."""
        n = which.size
        if n == 0 or which[-1] - which[0] + 1 == n:
            start = int(which[0]) if n else 0
            return self.block(start, start + n)
        values = np.ascontiguousarray(self.X[:, which], dtype=self.dtype)
        return (values if self._unit is None else values * self._unit[which]), 0
