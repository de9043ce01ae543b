"""Soft neighbourhoods by blocks of columns: workers add up distances, and weigh their own columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import distances
from ..lacks import Lacks
from ..packed import Packed
from ..pair_sums import Coefficients, PairSums, sums_of_products
from ..soft_rows import SoftPasses
from ..weighted_rows import WeightedBlocks, fill_from_minima
from .column_blocks import ColumnBlock, ColumnBlocks


class ColumnPasses(SoftPasses):
    """Passes over all pairs of rows, whose distances are stored here."""

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self._blocks = blocks
        if not self.stored:
            size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
            raise MemoryError(
                f"By columns, {table.n_samples} samples need {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB. Raise it, or have Dask's"
                ' configuration say highrelief.partition="rows".'
            )

    @cached_property
    def rows(self) -> ColumnWeightedRows:  # type: ignore[override]
        """The rows under the last weights."""
        return ColumnWeightedRows(self.table, self._blocks)

    @property
    def _positive(self) -> None:
        """All sums are made: the workers do not know which can be left out."""
        return None


class ColumnWeightedRows:
    """Rows under weights that change, whose columns lie with the workers.

    Offers what :class:`.weighted_rows.WeightedBlocks` does.
    """

    by_blocks = True

    def __init__(self, table: Packed, blocks: ColumnBlocks) -> None:
        self._table, self._blocks = table, blocks
        #: No row, for kernels that find all distances stored.
        self.X = np.empty((0, 0), table.dtype)
        self.w = np.empty(0, table.dtype)
        self.sums = np.zeros(table.n_rows)
        self._given = np.empty(0)
        self.lacks = Lacks(table)

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self._given = w

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Store the distances of all pairs, and sum the rows."""
        w = self._given
        minima, sums = self._blocks.total(
            _minima,
            lambda cut: (w[slice(*cut)],),
            # A block of which nothing counts has no part in the distances.
            where=(lambda cut: bool(w[slice(*cut)].any())) if w.any() else lambda cut: True,
        )
        self.sums = sums.copy()
        fill_from_minima(self._table, minima, self.sums, self.lacks, tiles)

    def sum_differences(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature. Distances become coefficients."""
        pairs = PairSums(self._table, tiles, by, self.lacks)
        return summed_differences(self._blocks, pairs)

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        (content,) = self._blocks.total(_content)
        return content


def summed_differences(blocks: ColumnBlocks, pairs: PairSums) -> NDArray[np.float64]:
    """Σ over pairs of coefficient·|x − x'|, feature by feature: each worker for its own columns."""
    return blocks.joined(_sums_of_products, shared=(pairs.tiles, pairs.row_totals))


def _minima(
    block: ColumnBlock, shared: Any, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = WeightedBlocks(block.table)
    rows.put_under(w)
    return rows.minima()


def _sums_of_products(
    block: ColumnBlock, shared: tuple[NDArray[np.floating], NDArray[np.float64]]
) -> NDArray[np.float64]:
    return sums_of_products(block.table, np.arange(block.table.n_features), *shared)


def _content(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (WeightedBlocks(block.table, block.first).content(),)
