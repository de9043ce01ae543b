"""A table of which only the values that are not 0 are stored: ranges, scaling and columns.

What is made here is of the size of what is stored, or of one number for each column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import sparse_rows as kernels
from .cached_property import cached_property
from .columns import Columns
from .ranges import ColumnRanges, as_kernels_know_it
from .scaling import Scaling

#: CSR of SciPy, sorted, no column twice in a row, float32 or float64. SciPy's own types come late.
SparseTable = Any


def sparse_ranges(X: SparseTable) -> ColumnRanges:
    """Ranges of the columns; what is not stored is 0."""
    low, high, total = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf), np.zeros(X.shape[1])
    count = np.zeros(X.shape[1], np.int64)
    kernels.column_ranges(*stored_values(X), low, high, total, count)
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
    return to_range.standardised(mean, np.sqrt(values.squares_around(mean, weights) / weights.sum()))


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
