"""A labelled table of which only the values that are not 0 are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cached_property import cached_property
from .packed import Packed
from .ranges import ColumnRanges
from .scaled_columns import nearer_end
from .sparse_columns import SparseColumns, SparseTable


class SparsePacked(Packed):
    """A labelled table whose zeros are not stored; ``raw`` is a :data:`.sparse_columns.SparseTable`."""

    raw: SparseTable
    ranges: ColumnRanges

    @cached_property
    def columns(self) -> SparseColumns:
        """The columns, with what makes them comparable."""
        return SparseColumns(self.raw, self.scaling, self.ranges)

    @property
    def row_bytes(self) -> float:
        """Bytes that a row of the table takes, on average: values and their columns."""
        return self.raw.nnz * (self.dtype.itemsize + 4) / self.n_samples

    @property
    def scaled(self) -> SparseColumns:  # type: ignore[override]
        """The same: no column is laid out."""
        return self.columns

    def distances_from_ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What :class:`.scaled_columns.ScaledColumns` holds: for the stored values, and by column for a 0."""
        indices, unit = self.columns.indices, self.scaling.unit
        values = self.raw.data.astype(np.float64)
        copies = self.copies_given
        weighted = values * np.repeat(copies, np.diff(self.raw.indptr))
        mean = np.bincount(indices, weights=weighted, minlength=self.n_features) / copies.sum()
        low, high = self.ranges.low.astype(np.float64), self.ranges.high.astype(np.float64)
        end = nearer_end(mean, low, high)
        if unit is not None:
            values, end = values * unit[indices], end * unit
        divisor = self.scaling.divisor.astype(np.float64)
        return np.abs(values - end[indices]) / divisor[indices], np.abs(end) / divisor
