"""Margins of single samples by blocks of columns, for the few features that a sparse solution is about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import packing
from ..packed import Packed
from ..pair_sums import PairSums
from ..soft_neighborhoods import SoftNeighborhoods
from ..soft_rows import SoftPasses
from ..sparse_margins import BoundedSums, MarginColumns, SparseMargins
from .column_blocks import ColumnBlocks
from .column_soft import ColumnNeighborhoods, ColumnPasses, summed_differences

#: Up to this share of the features, those at work are brought here.
_FEW = 1 / 16


class ColumnMargins(SparseMargins):
    """Margins under weights that change, of which few are not 0.

    The columns of these few are brought here, where all that is about them is found. The workers tell, by
    sums over their own columns, which others ask to come back.
    """

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self.blocks = blocks

    def _few(self, n_features: int, n_all: int) -> bool:
        return n_features <= _FEW * n_all

    def _passes_over(self, table: Packed) -> SoftPasses:
        if table is not self.table:
            return SoftPasses(table, self._memory)
        return ColumnPasses(table, self._memory, self.blocks)

    def _neighborhoods(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        of_passes = ColumnNeighborhoods if isinstance(passes, ColumnPasses) else SoftNeighborhoods
        return of_passes(passes, w, sigma)

    def _columns(self, *of: Any) -> MarginColumns:
        return ColumnMarginColumns(self, *of)


class ColumnMarginColumns(MarginColumns):
    """The margins z̄_n of all samples under one w; sums over samples are those of all features."""

    _source: ColumnMargins

    def _written(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        few = self._table.of_features(features)
        width = packing.padded_width(features.size, few.dtype.itemsize)
        X = packing.aligned_zeros((few.n_rows, width), few.dtype)
        few.scaled.write(np.arange(features.size), X)
        return X

    def _screened_sums(self, factors: NDArray[np.float64], threshold: float) -> BoundedSums:
        by = self._near.coefficients(factors)
        if isinstance(self._passes, ColumnPasses):
            exact = self._passes.sum_differences(by)
        else:
            # The few features at work are here, and so are the distances that they make.
            pairs = PairSums(self._table, self._passes.tiles()[0].copy(), by, self._source.lacks)
            exact = summed_differences(self._source.blocks, pairs)
        return BoundedSums(np.arange(exact.size), exact, exact.copy(), lambda features: exact[features])
