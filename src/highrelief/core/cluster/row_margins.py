"""Margins of single samples by blocks of rows, for the few features that a sparse solution is about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..packed import Packed
from ..soft_rows import SoftPasses
from ..sparse_margins import MarginColumns, SparseMargins
from .row_blocks import RowBlocks
from .row_soft import RowNeighborhoods, RowPasses


class RowMargins(SparseMargins):
    """Margins under weights that change, of which few are not 0.

    The margins of all samples for these few are brought here. Sums of all features are made by the workers,
    which find distances, from the few features that count, again each time.
    """

    def __init__(self, table: Packed, memory: float, blocks: RowBlocks) -> None:
        super().__init__(table, memory)
        self._blocks = blocks
        self.stored = False

    def _passes_over(self, table: Packed) -> RowPasses:
        return RowPasses(table, self._memory, self._blocks)

    def _neighborhoods(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> RowNeighborhoods:
        assert isinstance(passes, RowPasses)
        return RowNeighborhoods(passes, w, sigma)

    def _columns(self, *of: Any) -> RowMarginColumns:
        return RowMarginColumns(self, *of)


class RowMarginColumns(MarginColumns):
    """The margins z̄_n of all samples under one w; the workers write the columns that they ask for."""

    def _written(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        return np.empty((0, features.size), self._table.dtype)
