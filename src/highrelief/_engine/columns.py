"""A table by blocks of columns.

Nothing here copies the table: what is needed of it is taken block by block, C-ordered and in floats,
whatever its order and type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels import packing, sparse
from .cached_property import cached_property
from .memory import check_room
from .scaling import BLOCK_BYTES, ColumnRanges, Scaling, as_kernels_know_it, float_type, n_blocks, one_block
from .threads import even_ranges, one_blas_thread, run_all

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
        packing.rarity(self._ranges.low, self._ranges.high, self._ranges.mean, out)
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


# Columns of a table, scaled and laid out for the kernels.


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
    sample_weight : (n_samples,) float64 or None
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
        sample_weight: NDArray[np.float64] | None = None,
        ranges: ColumnRanges | None = None,
        n_threads: int = 1,
    ) -> None:
        self._X, self._position, self._scaling, self._sample_weight = X, position, scaling, sample_weight
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
        if self._sample_weight is None:
            return self._ranges.mean
        n_blocks = -(-self._X.size * 8 // BLOCK_BYTES)
        return np.concatenate(
            [
                np.average(self._X[:, a:b], axis=0, weights=self._sample_weight)
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


# A table of which only the values that are not 0 are stored: ranges, scaling and columns.
#
# What is made here is of the size of what is stored, or of one number for each column.


#: CSR of SciPy, sorted, no column twice in a row, float32 or float64. SciPy's own types come late.
SparseTable = Any


def sparse_ranges(X: SparseTable) -> ColumnRanges:
    """Ranges of the columns; what is not stored is 0."""
    low, high, total = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf), np.zeros(X.shape[1])
    count = np.zeros(X.shape[1], np.int64)
    sparse.column_ranges(*stored_values(X), low, high, total, count)
    empty = count < X.shape[0]
    low[empty], high[empty] = np.minimum(low[empty], 0.0), np.maximum(high[empty], 0.0)
    with np.errstate(over="ignore"):
        low, high, mean = (each.astype(X.dtype) for each in (low, high, total / X.shape[0]))
    return ColumnRanges(low, high, mean, bool(np.isfinite(X.data).all()))


def sparse_scaling(
    X: SparseTable, scale: str | None, weights: NDArray[np.float64] | None, ranges: ColumnRanges
) -> Scaling:
    """What :func:`.scaling.feature_scaling` finds if all values are stored."""
    if scale is None:
        return Scaling.none(X.shape[1], X.dtype)
    to_range = Scaling.to_range(ranges.low, ranges.high)
    if scale == "range":
        return to_range
    values = Moments(X, to_range)
    weights = np.ones(X.shape[0]) if weights is None else weights
    mean = values.mean(weights)
    return to_range.standardized(mean, np.sqrt(values.squares_around(mean, weights) / weights.sum()))


class Moments:
    """Sums over scaled columns of which the zeros are not stored.

    Parameters
    ----------
    X : SparseTable
        The table.
    scaling : Scaling
        Of its columns.
    """

    def __init__(self, X: SparseTable, scaling: Scaling) -> None:
        self._n_samples, self._n_features = X.shape
        self._columns = X.indices
        self._stored = np.diff(X.indptr)
        self._count = np.bincount(X.indices, minlength=X.shape[1])
        #: Where no value is left out, there is no 0.
        self._full = self._count == X.shape[0]
        unit = np.ones(X.shape[1]) if scaling.unit is None else scaling.unit.astype(np.float64)
        offset, divisor = scaling.offset.astype(np.float64), scaling.divisor.astype(np.float64)
        self._values = (X.data * unit[X.indices] - offset[X.indices]) / divisor[X.indices]
        self._zero = -offset / divisor
        # From a value that is there: if all are equal, their mean is the same number.
        first = np.zeros(X.shape[1])
        first[X.indices[::-1]] = self._values[::-1]
        self._origin = np.where(self._full, first, self._zero)

    def mean(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of the columns."""
        apart = self._sum(self._values - self._origin[self._columns], weights)
        return np.asarray(self._origin + apart / weights.sum())

    def squares_around(
        self, center: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weighted sums of the squared differences from one number for each column."""
        squares = self._sum((self._values - center[self._columns]) ** 2, weights)
        # Not by a rounding error, which the squares may be smaller than.
        left_out = np.maximum(weights.sum() - self._sum(np.ones_like(self._values), weights), 0.0)
        zeros = np.where(self._full, 0.0, left_out) * (np.where(self._full, center, self._zero) - center) ** 2
        return squares + zeros

    def _sum(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        weighted = values * np.repeat(weights, self._stored)
        return np.bincount(self._columns, weights=weighted, minlength=self._n_features).astype(np.float64)


class SparseColumns(Columns):
    """Columns of such a table with what makes them comparable; all of them are one block.

    Parameters
    ----------
    X : SparseTable
        The table.
    scaling : Scaling
        Of the features.
    ranges : ColumnRanges
        Of the columns.
    """

    X: SparseTable
    far_out = False
    as_it_is = True

    def cuts(self) -> list[tuple[int, int]]:
        """All columns at once."""
        return [(0, self.n_features)]

    def precise_block(self, start: int, end: int) -> tuple[NDArray[np.floating], int]:
        """The stored values, row after row."""
        return self.values, 0

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Where the values of each row begin, and where the last ends."""
        return np.asarray(self.X.indptr, dtype=np.int64)

    @cached_property
    def indices(self) -> NDArray[np.int32]:
        """Columns of the stored values."""
        return stored_values(self.X)[0]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The stored values, very wide and narrow ranges brought near 1."""
        values = stored_values(self.X)[1]
        return values if self._unit is None else values * self._unit[self.indices].astype(np.float64)

    @property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """The rows as the kernels take them."""
        return as_kernels_know_it(self.indptr), self.indices, self.values

    @property
    def rows_from_origin(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """The same, values measured from :attr:`origin`: no difference loses digits to what both have."""
        return (*self.rows[:2], self._values_from_origin)

    @cached_property
    def _values_from_origin(self) -> NDArray[np.float64]:
        return self.values - self.origin[self.indices] if self.origin.any() else self.values

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many values of each column are stored."""
        return np.bincount(self.indices, minlength=self.n_features)

    def filled(self, which: NDArray[np.int64]) -> Columns:
        """Some columns with their zeros."""
        some = Columns(self.X[:, which].toarray(), self._scaling.of(which), self._ranges.of_features(which))
        # As large as here, where another column may have the largest range.
        some.distance_factors = self.distance_factors[which]
        return some

    @cached_property
    def origin(self) -> NDArray[np.float64]:
        """What scaled values are measured from: 0, or the lower end of a column that has no 0 left out."""
        return np.where(self.counts == self.n_samples, self.low, 0.0).astype(np.float64)


def stored_values(X: SparseTable) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Columns and values of what is stored, in the types that the kernels are compiled for."""
    indices, values = X.indices.astype(np.int32, copy=False), X.data.astype(np.float64, copy=False)
    return as_kernels_know_it(indices), as_kernels_know_it(values)


# A table, scaled and measured from its mean: what scatter matrices are made of.


#: Columns that are worked on at a time. Sums are cut here, whatever the number of threads.
_COLUMNS_AT_ONCE = 1024
#: Columns of a product with all others.
_COLUMNS_OF_PRODUCT = 256


class CenteredTable(Protocol):
    """Scaled rows minus their mean: in memory (:class:`CenteredColumns`), or on Dask workers."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def matrix(self) -> Any:
        """Return the rows as a matrix that multiplies vectors."""

    def squares(self) -> NDArray[np.float64]:
        """Return the sum of squares of every row."""

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """Return XᵀLX, (n_features, n_features)."""

    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_samples, n_samples)."""

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""


class CenteredColumns:
    """The columns of a table, scaled, minus their means, in float64; made when they are asked for.

    Parameters
    ----------
    X : (n_samples, n_features)
        The table, as it was given.
    scaling : Scaling
        Of the features.
    n_threads : int
        Threads to use.
    """

    def __init__(self, X: NDArray[Any], scaling: Scaling, n_threads: int) -> None:
        self._X = X
        self._scaling = scaling
        self._n_threads = n_threads

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self._X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._X.shape[1]

    @property
    def _cuts(self) -> list[tuple[int, int]]:
        return even_ranges(self.n_features, -(-self.n_features // _COLUMNS_AT_ONCE))

    def _block(self, a: int, b: int) -> NDArray[np.float64]:
        columns = slice(a, b)
        block = self._scaling.of(columns).apply(self._X[:, columns]).astype(np.float64, copy=False)
        # First from a value that is there: of large ones that are all the same, the sum may be no number.
        block -= block[0].copy()
        block -= block.mean(axis=0)
        return block

    def whole(self) -> NDArray[np.float64]:
        """All columns, (n_samples, n_features)."""
        X = np.empty(self._X.shape)
        for a, b in self._cuts:
            X[:, a:b] = self._block(a, b)
        return X

    def matrix(self) -> NDArray[np.float64]:
        """Something to multiply vectors with: all columns."""
        return self._held

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        return np.einsum("ij,ij->i", self._held, self._held)

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """XᵀLX, (n_features, n_features)."""
        X = self._held
        S = np.empty((X.shape[1], X.shape[1]))

        def of_columns(a: int, b: int) -> None:
            with one_blas_thread():
                S[:, a:b] = X.T @ (L @ X[:, a:b])

        cuts = even_ranges(len(S), -(-len(S) // _COLUMNS_OF_PRODUCT))
        run_all(of_columns, cuts, self._n_threads)
        return S

    @cached_property
    def _held(self) -> NDArray[np.float64]:
        return self.whole()

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_samples, n_samples)."""

        def of_columns(a: int, b: int) -> NDArray[np.float64]:
            block = self._block(a, b)
            with one_blas_thread():
                return block @ block.T

        total = np.zeros((self.n_samples, self.n_samples))
        cuts = self._cuts
        # No more than one product for each thread is held, and they are added in the order of the columns.
        for first in range(0, len(cuts), self._n_threads):
            for part in run_all(of_columns, cuts[first : first + self._n_threads], self._n_threads):
                total += part
        return total

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""
        out = np.empty((weights.shape[1], self.n_features))

        def of_columns(a: int, b: int) -> None:
            block = self._block(a, b)
            with one_blas_thread():
                out[:, a:b] = weights.T @ block

        run_all(of_columns, self._cuts, self._n_threads)
        return out
