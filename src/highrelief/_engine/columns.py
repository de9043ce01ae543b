"""Columns of a table: blocks for the kernels, scaled and centered columns, sparse columns.

The values below :class:`.layout.Layout` in the diagram of CONTRIBUTING.md. The table is never copied as a
whole: it is read block by block, C-ordered and as floats, whatever its memory order and type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels import packing, sparse
from .cached_property import cached_property
from .limits import limits
from .memory import check_room
from .scaling import ColumnRanges, Scaling, float_type, n_blocks, one_block, writable_view
from .threads import even_ranges, one_blas_thread, run_all

#: Wider ranges, and narrower than the inverse, are scaled by a power of 2: squares must not overflow.
_WIDE_RANGE = 2.0**40
#: Mean distance of values from an end of their range, relative to it, below which others are outliers.
_SMALL_PART = 1 / 32


class ColumnStatistics:
    """Ranges of the columns of a table, and the factors that scale their differences; no values.

    Parameters
    ----------
    shape : (int, int)
        Numbers of samples and features.
    dtype : dtype
        Type of the table.
    scaling : Scaling
        Of the features.
    ranges : ColumnRanges
        Of the columns.
    distance_unit : float, default=None
        As below, if these are some of the columns of a wider table.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        scaling: Scaling,
        ranges: ColumnRanges,
        distance_unit: float | None = None,
    ) -> None:
        self.n_samples, self.n_features = shape
        self.dtype = float_type(dtype)
        self._scaling, self._ranges = scaling, ranges
        if distance_unit is not None:
            self.distance_unit = distance_unit

    @cached_property
    def _unit(self) -> NDArray[np.floating] | None:
        """Powers of 2 that scale very wide and very narrow ranges to about 1; None if there are none."""
        low, high = self._ranges.low, self._ranges.high
        with np.errstate(over="ignore"):
            width = high - low
        odd = (width > 0.0) & ((width > _WIDE_RANGE) | (width < 1.0 / _WIDE_RANGE))
        if not odd.any():
            return None
        # A quarter of the widest range does not overflow; that of the narrowest is 0.
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
        """Factors from differences of values in a block to scaled ones; 0 for a constant column."""
        scaling = self._scaling
        divisor = scaling.divisor.astype(np.float64)
        # Infinite, or 0, if the range at the fit was much narrower, or much wider.
        with np.errstate(over="ignore"):
            # The unit comes first: the inverse of a subnormal range would overflow.
            factors = 1.0 / (divisor if self._unit is None else divisor * self._unit)
            factors = factors if scaling.unit is None else factors * scaling.unit
        return np.where(self._ranges.low < self._ranges.high, factors, 0.0)

    @cached_property
    def distance_factors(self) -> NDArray[np.float64]:
        """:attr:`factors` times :attr:`distance_unit`.

        The order of distances stays the same, and squares of differences neither overflow nor vanish.
        """
        return self.factors * self.distance_unit

    @cached_property
    def distance_unit(self) -> float:
        """A power of 2 that scales the largest scaled range to about 1."""
        return float(np.ldexp(1.0, -int(np.frexp(self.spans.max())[1])))

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""
        return (self.high.astype(np.float64) - self.low) * self.factors

    @cached_property
    def rarity(self) -> NDArray[np.float64]:
        """Relative distance of the means from the closer end of the range: the share of the rarer level."""
        out = np.empty(self.n_features)
        packing.rarity(self._ranges.low, self._ranges.high, self._ranges.mean, out)
        return out


class Columns(ColumnStatistics):
    """Columns of a table, and the factors that scale their differences.

    Parameters
    ----------
    X : (n_samples, n_features) float32, float64 or one-byte numbers
        The table.
    scaling : Scaling
        Of the features.
    ranges : ColumnRanges, default=None
        Of the columns, if known.
    distance_unit : float, default=None
        As in :class:`ColumnStatistics`.
    """

    def __init__(
        self,
        X: NDArray[Any],
        scaling: Scaling,
        ranges: ColumnRanges | None = None,
        distance_unit: float | None = None,
    ) -> None:
        known = ColumnRanges.of(X) if ranges is None else ranges
        super().__init__(X.shape, X.dtype, scaling, known, distance_unit)
        self.X = X

    @cached_property
    def needs_float64(self) -> bool:
        """Whether nearly all values are in a small part of their range, so that float32 sums lose digits."""
        if self.X.dtype != np.float32:
            return False
        varies = self._ranges.high > self._ranges.low
        used = self.rarity if varies.all() else self.rarity[varies]
        # Negated, so that NaN after an overflow needs float64.
        return used.size == 0 or not bool(used.mean() >= _SMALL_PART)

    @property
    def in_place(self) -> bool:
        """Whether blocks of columns need no copy."""
        return self._unit is None and self.X.flags.c_contiguous and self.X.dtype == self.dtype

    @property
    def n_blocks(self) -> int:
        """Number of blocks that the columns are split into."""
        blocks = n_blocks(self.X)
        if self._unit is not None:
            blocks = max(blocks, -(-self.X.size * self.dtype.itemsize // limits.block_bytes))
        return blocks

    def blocks(self) -> Iterator[tuple[NDArray[np.floating], int, slice]]:
        """Yield all columns: an array, the index of the first column of the block in it, and the columns."""
        for start, end in even_ranges(self.n_features, self.n_blocks):
            # The array has no name here: a caller that deletes it has one block in memory at a time.
            yield *self.block(start, end), slice(start, end)

    @property
    def precise_in_place(self) -> bool:
        """Whether :meth:`precise_block` copies nothing."""
        return self.in_place and not self.needs_float64

    def cuts(self) -> list[tuple[int, int]]:
        """Return ranges of columns that are small enough to be copied if necessary."""
        n_blocks = self.n_blocks
        if self.needs_float64:
            n_blocks = max(n_blocks, -(-self.X.size * 8 // limits.block_bytes))
        return even_ranges(self.n_features, n_blocks, multiple=16)

    def precise_block(self, start: int, end: int) -> tuple[NDArray[np.floating], int]:
        """Return a block in float64 if float32 sums would lose too many digits."""
        array, first = self.block(start, end)
        if not self.needs_float64:
            return array, first
        return array[:, first : first + end - start].astype(np.float64), 0

    def block(self, start: int, end: int) -> tuple[NDArray[np.floating], int]:
        """Return a C-ordered array with these columns, and the index of the first of them in it."""
        array, first = one_block(self.X, start, end, self.dtype)
        if self._unit is None:
            return array, first
        return array[:, first : first + end - start] * self._unit[start:end], 0

    def select(self, which: NDArray[np.integer]) -> tuple[NDArray[np.floating], int]:
        """Return a C-ordered array with some columns, and the index of the first of them in it."""
        n = which.size
        if n == 0 or which[-1] - which[0] + 1 == n:
            start = int(which[0]) if n else 0
            return self.block(start, start + n)
        values = np.ascontiguousarray(self.X[:, which], dtype=self.dtype)
        return (values if self._unit is None else values * self._unit[which]), 0


# Scaled columns


#: Number of ranges of rows that threads share.
_PARTS = 16


class ScaledColumns:
    """Scaled columns of a table, measured from one end of each.

    Differences do not depend on the end. The end that is closer to most of the values preserves more of their
    digits, and makes the sums in a + b − 2·min(a, b) small if there are outliers.

    Parameters
    ----------
    X : (n_samples, n_features) float32 or float64
        The table; it is not copied.
    sample_of_row : (n_rows,) int
        The row of the table at each row of the layout, or ``PADDING``.
    scaling : Scaling
        Of the features.
    sample_weight : (n_samples,) float64 or None
        Sample weights; None: 1.
    ranges : ColumnRanges or None
        Of the columns, if known.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        sample_of_row: NDArray[np.int64],
        scaling: Scaling,
        *,
        sample_weight: NDArray[np.float64] | None = None,
        ranges: ColumnRanges | None = None,
        n_threads: int = 1,
    ) -> None:
        self._X, self._sample_of_row, self._scaling, self._sample_weight = (
            X,
            sample_of_row,
            scaling,
            sample_weight,
        )
        self._ranges = ColumnRanges.of(X, n_threads) if ranges is None else ranges
        self._n_threads = n_threads
        unit = np.ones(X.shape[1], X.dtype) if scaling.unit is None else scaling.unit
        self._unit, self._divisor = unit, scaling.divisor

    def whole(self) -> NDArray[np.floating]:
        """Return all columns in the order of the features; padding is 0."""
        n_features = self._X.shape[1]
        width = packing.padded_width(n_features, self._X.itemsize)
        check_room(
            float(self._sample_of_row.size) * width * self._X.itemsize,
            f"A scaled copy of {self._sample_of_row.size} samples of {n_features} features",
            "Use fewer features, or float32 instead of float64.",
        )
        packed = packing.aligned_zeros((self._sample_of_row.size, width), self._X.dtype)
        self.write(np.arange(n_features), packed)
        return packed

    def write(self, which: NDArray[np.int64], packed: NDArray[np.floating]) -> None:
        """Write some columns side by side in the layout; padding rows are not overwritten."""
        in_place = self._X.flags.c_contiguous and self._X.flags.aligned
        n_blocks = (
            1 if in_place else -(-which.size * self._X.shape[0] * self._X.itemsize // limits.block_bytes)
        )
        for start, end in even_ranges(which.size, n_blocks):
            self._write_block(which[start:end], packed, start, in_place)

    def _write_block(
        self, which: NDArray[np.int64], packed: NDArray[np.floating], at: int, in_place: bool
    ) -> None:
        if in_place:
            X, columns = one_block(self._X, 0, self._X.shape[1], self._X.dtype)[0], which
        else:
            # np.take would copy a whole table that is not C-ordered.
            side_by_side = bool(np.all(np.diff(which) == 1))
            chosen = self._X[:, slice(which[0], which[-1] + 1) if side_by_side else which]
            X, columns = np.ascontiguousarray(chosen), np.arange(which.size)
        steps = self._unit[which], self._end[which], self._divisor[which]

        def of_rows(a: int, b: int) -> None:
            packing.pack_columns(X, columns, self._sample_of_row, *steps, a, b, packed, at)

        run_all(of_rows, even_ranges(self._sample_of_row.size, _PARTS), self._n_threads)

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Largest value of every column; the smallest is 0."""
        return self._ranges.scaled_spans(self._scaling)

    @cached_property
    def _end(self) -> NDArray[np.floating]:
        low, high = self._ranges.low, self._ranges.high
        with np.errstate(over="ignore", invalid="ignore"):
            end = nearer_end(self._mean(), low, high)
        return end * self._unit

    def _mean(self) -> NDArray[np.floating]:
        if self._sample_weight is None:
            return self._ranges.mean
        n_blocks = -(-self._X.size * 8 // limits.block_bytes)
        return np.concatenate(
            [
                np.average(self._X[:, a:b], axis=0, weights=self._sample_weight)
                for a, b in even_ranges(self._X.shape[1], n_blocks)
            ]
        )


def nearer_end(
    mean: NDArray[np.floating], low: NDArray[np.floating], high: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return the end of each range that the mean is closer to.

    The tolerance prevents sample weights from changing the choice by rounding if both are equally close.
    """
    return np.where(mean - low <= (high - mean) * (1.0 + 1e-6), low, high)


# Sparse tables: ranges, scaling and columns, in memory proportional to the stored values or the columns.


#: CSR matrix of SciPy, sorted, without duplicate entries, float32 or float64; SciPy is imported late.
SparseTable = Any


def sparse_ranges(X: SparseTable) -> ColumnRanges:
    """Return the ranges of the columns; values that are not stored are 0."""
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
    """Return :func:`.scaling.feature_scaling` of the same table stored densely."""
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
    """Weighted moments of the scaled columns of a sparse table.

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
        #: Columns without a zero.
        self._full = self._count == X.shape[0]
        unit = np.ones(X.shape[1]) if scaling.unit is None else scaling.unit.astype(np.float64)
        offset, divisor = scaling.offset.astype(np.float64), scaling.divisor.astype(np.float64)
        self._values = (X.data * unit[X.indices] - offset[X.indices]) / divisor[X.indices]
        self._zero = -offset / divisor
        # Relative to a value of the column: if all are equal, their mean is exact.
        first = np.zeros(X.shape[1])
        first[X.indices[::-1]] = self._values[::-1]
        self._origin = np.where(self._full, first, self._zero)

    def mean(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means of the columns."""
        apart = self._sum(self._values - self._origin[self._columns], weights)
        return np.asarray(self._origin + apart / weights.sum())

    def squares_around(
        self, center: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return weighted sums of squared differences from one number per column."""
        squares = self._sum((self._values - center[self._columns]) ** 2, weights)
        # Clipped: the squares may be smaller than a rounding error.
        left_out = np.maximum(weights.sum() - self._sum(np.ones_like(self._values), weights), 0.0)
        zeros = np.where(self._full, 0.0, left_out) * (np.where(self._full, center, self._zero) - center) ** 2
        return squares + zeros

    def _sum(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        weighted = values * np.repeat(weights, self._stored)
        return np.bincount(self._columns, weights=weighted, minlength=self._n_features).astype(np.float64)


class SparseColumns(ColumnStatistics):
    """Columns of a sparse table, and the factors that scale their differences.

    Parameters
    ----------
    X : SparseTable
        The table.
    scaling : Scaling
        Of the features.
    ranges : ColumnRanges
        Of the columns.
    """

    def __init__(self, X: SparseTable, scaling: Scaling, ranges: ColumnRanges) -> None:
        super().__init__(X.shape, X.dtype, scaling, ranges)
        self.X = X

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Index of the first value of each row, and the end of the last."""
        return np.asarray(self.X.indptr, dtype=np.int64)

    @cached_property
    def indices(self) -> NDArray[np.int32]:
        """Columns of the stored values."""
        return stored_values(self.X)[0]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Stored values, with very wide and very narrow ranges scaled to about 1."""
        values = stored_values(self.X)[1]
        return values if self._unit is None else values * self._unit[self.indices].astype(np.float64)

    @property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """CSR arrays of the rows, as the kernels read them."""
        return writable_view(self.indptr), self.indices, self.values

    @property
    def rows_from_origin(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """CSR arrays with values relative to :attr:`origin`, whose differences lose no digits."""
        return (*self.rows[:2], self._values_from_origin)

    @cached_property
    def _values_from_origin(self) -> NDArray[np.float64]:
        return self.values - self.origin[self.indices] if self.origin.any() else self.values

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of stored values of each column."""
        return np.bincount(self.indices, minlength=self.n_features)

    def densified(self, which: NDArray[np.int64]) -> Columns:
        """Return some columns, densified."""
        some = Columns(self.X[:, which].toarray(), self._scaling.of(which), self._ranges.of_features(which))
        # Another column of the table may have the largest range.
        some.distance_factors = self.distance_factors[which]
        return some

    @cached_property
    def origin(self) -> NDArray[np.float64]:
        """Origin of scaled values: 0, or the minimum of a column without zeros."""
        return np.where(self.counts == self.n_samples, self.low, 0.0).astype(np.float64)


def stored_values(X: SparseTable) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the columns and values that are stored, in the types that the kernels are compiled for."""
    indices, values = X.indices.astype(np.int32, copy=False), X.data.astype(np.float64, copy=False)
    return writable_view(indices), writable_view(values)


# Centered columns, for scatter matrices


#: Columns processed at a time. Sums are split here, whatever the number of threads.
_COLUMNS_AT_ONCE = 1024
#: Columns of a product with all others.
_COLUMNS_OF_PRODUCT = 256


class Centered(Protocol):
    """Columns of a table, scaled, minus their means; see :class:`CenteredColumns`."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def matrix(self) -> Any:
        """Return all columns: an array, or a matrix on the workers that multiplies like one."""

    def squares(self) -> NDArray[np.float64]:
        """Return the squared norm of every row."""

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """Return XᵀLX, (n_features, n_features)."""

    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_samples, n_samples)."""

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights.T @ X, (m, n_features); ``weights`` is (n_samples, m)."""


class CenteredColumns:
    """Columns of a table, scaled, minus their means, in float64; computed on access.

    Parameters
    ----------
    X : (n_samples, n_features)
        The table, unmodified.
    scaling : Scaling
        Of the features.
    n_threads : int
        Number of threads.
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
        # Relative to one of the values first: the sum of equal large values may overflow.
        block -= block[0].copy()
        block -= block.mean(axis=0)
        return block

    def whole(self) -> NDArray[np.float64]:
        """Return all columns, (n_samples, n_features)."""
        X = np.empty(self._X.shape)
        for a, b in self._cuts:
            X[:, a:b] = self._block(a, b)
        return X

    def matrix(self) -> NDArray[np.float64]:
        """Return all columns."""
        return self._cached

    def squares(self) -> NDArray[np.float64]:
        """Return the squared norm of every row."""
        return np.einsum("ij,ij->i", self._cached, self._cached)

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """Return XᵀLX, (n_features, n_features)."""
        X = self._cached
        S = np.empty((X.shape[1], X.shape[1]))

        def of_columns(a: int, b: int) -> None:
            with one_blas_thread():
                S[:, a:b] = X.T @ (L @ X[:, a:b])

        cuts = even_ranges(len(S), -(-len(S) // _COLUMNS_OF_PRODUCT))
        run_all(of_columns, cuts, self._n_threads)
        return S

    @cached_property
    def _cached(self) -> NDArray[np.float64]:
        return self.whole()

    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_samples, n_samples)."""

        def of_columns(a: int, b: int) -> NDArray[np.float64]:
            block = self._block(a, b)
            with one_blas_thread():
                return block @ block.T

        total = np.zeros((self.n_samples, self.n_samples))
        cuts = self._cuts
        # At most one product per thread is in memory, and they are added in the order of the columns.
        for first in range(0, len(cuts), self._n_threads):
            for part in run_all(of_columns, cuts[first : first + self._n_threads], self._n_threads):
                total += part
        return total

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights.T @ X, (m, n_features); ``weights`` is (n_samples, m)."""
        out = np.empty((weights.shape[1], self.n_features))

        def of_columns(a: int, b: int) -> None:
            block = self._block(a, b)
            with one_blas_thread():
                out[:, a:b] = weights.T @ block

        run_all(of_columns, self._cuts, self._n_threads)
        return out
