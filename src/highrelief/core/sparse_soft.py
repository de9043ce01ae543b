"""Soft neighbourhoods of rows of which only the values that are not 0 are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, soft
from ..kernels import sparse_soft as kernels
from .cached_property import cached_property
from .lacks import Lacks
from .packed import sum_in_order
from .pair_sums import Coefficients, PairSums
from .soft_rows import SoftPasses
from .sparse_distances import ScaledTable
from .sparse_packed import SparsePacked
from .threads import even_ranges, run_all


class SparsePasses(SoftPasses):
    """Passes over all pairs of rows, whose distances must be stored."""

    table: SparsePacked

    def __init__(self, table: SparsePacked, memory: float) -> None:
        super().__init__(table, memory)
        if not self.stored:
            size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
            raise MemoryError(
                f"A sparse X of {table.n_samples} samples needs {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB: raise it, or fit to fewer samples."
            )

    @cached_property
    def rows(self) -> SparseWeightedRows:  # type: ignore[override]
        """The rows under the last weights."""
        return SparseWeightedRows(self.table)

    @property
    def _positive(self) -> None:
        """All sums are made: they take the time of the pairs of stored values alone."""
        return None


class SparseWeightedRows:
    """Rows under weights that change, listed by columns.

    Offers what :class:`.weighted_rows.WeightedBlocks` does.

    Parameters
    ----------
    table : SparsePacked
        The rows.
    """

    by_blocks = True

    def __init__(self, table: SparsePacked) -> None:
        self._table = table
        self._far = soft.out_of_reach(table.dtype)
        #: No row, for kernels that find all distances stored.
        self.X = np.empty((0, 0), table.dtype)
        self.w = np.empty(0, table.dtype)
        self.sums = np.zeros(table.n_rows)
        self._given = np.empty(0)
        self._plain = self._scaled(table.columns.factors)
        #: Nothing: a sparse table has no missing values.
        self.lacks = Lacks(table)

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self._given = w

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Store the distances of all pairs, and sum the rows."""
        table = self._table
        scaled = self._scaled(table.columns.factors * self._given)
        index = scaled.index((0, table.n_rows)).arrays
        self.sums = scaled.sums()
        self.sums[~table.real] = self._far

        def of_rows(a: int, b: int) -> None:
            kernels.fill_tiles(*scaled.arrays, table.position, self.sums, self._far, a, b, *index, tiles)

        run_all(of_rows, even_ranges(table.n_rows, table.n_parts(1)), table.n_threads)

    def sum_differences(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature. Distances become coefficients."""
        table, plain = self._table, self._plain
        pairs = PairSums(table, tiles, by, self.lacks)
        index = plain.index((0, table.n_rows)).arrays

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(table.n_features)
            kernels.add_common(*plain.arrays, table.position, pairs.tiles, a, b, *index, out)
            return out

        common = sum_in_order(run_all(part, table.row_ranges(table.n_features), table.n_threads))
        sums = np.zeros(table.n_features)
        kernels.mix_rows(*plain.arrays, table.position, pairs.row_totals, sums)
        return sums - common

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter.

        As for a table whose zeros are stored: the same samples are drawn.
        """
        table = self._table
        stored, absent = table.distances_from_ends()
        indptr, indices, _ = table.columns.rows
        owner = np.repeat(np.arange(table.n_samples), np.diff(indptr))
        frequency = np.cos(np.arange(table.n_features))
        content = np.zeros((table.n_rows, 3))
        for k, (of_stored, of_absent) in enumerate(
            (
                (stored, absent),
                (stored**2, absent**2),
                (stored * frequency[indices], absent * frequency),
            )
        ):
            extra = np.bincount(owner, weights=of_stored - of_absent[indices], minlength=table.n_samples)
            content[table.real, k] = (of_absent.sum() + extra)[table.position[table.real]]
        return content

    def _scaled(self, factors: NDArray[np.float64]) -> ScaledTable:
        return ScaledTable(self._table.columns, self._table.position, factors, np.float64)
