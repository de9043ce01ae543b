"""Rows of which only the values that are not 0 are stored: the same passes, and none is filled up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import nearest, sparse_differences, sparse_rows
from .cached_property import cached_property
from .nearest_rows import NearestPass
from .neighbor_search import NeighborSearch, Report, nothing
from .neighborhood import Neighborhood, Neighbors
from .rows import LocalRows
from .sparse_columns import SparseColumns
from .sparse_distances import OverlapDistances
from .sparse_packed import SparsePacked
from .sparse_soft import SparsePasses
from .threads import even_ranges, run_all


class SparseSearch(NeighborSearch):
    """A search for the nearest neighbours of the anchors by :class:`.sparse_distances.OverlapDistances`."""

    _table: SparsePacked
    columns: SparseColumns

    def _make_columns(self) -> SparseColumns:
        return self._table.columns

    def _choose_distances(self) -> OverlapDistances:
        table = self._table
        squared = self._metric != nearest.MANHATTAN
        return OverlapDistances(self.columns, table.position, squared, table.n_threads)

    def _measure(self, found: Neighbors, exact: NDArray[np.float64], ranges: list[tuple[int, int]]) -> None:
        columns = self.columns

        def measure(a: int, b: int) -> None:
            sparse_rows.add_exact(
                *columns.rows,
                columns.distance_factors,
                self._metric,
                self._table.position,
                found.anchors,
                a,
                b,
                found.start,
                found.count,
                found.sure,
                found.rows,
                exact,
            )

        run_all(measure, ranges, self._table.n_threads)


class SparseNearestPass(NearestPass):
    """One pass over the nearest neighbours of the anchors."""

    _table: SparsePacked
    _search: SparseSearch
    _search_type = SparseSearch

    def __init__(self, table: SparsePacked, among: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        super().__init__(table, among, anchors)
        # Whole numbers as coefficients, where all neighbours weigh the same: sums of counts are then exact.
        self._unit = float(self._n_neighbors)
        self._factors = self._factors * self._unit

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z²."""
        total = super().sums(report, with_squares=with_squares)
        total[:2] /= self._unit
        total[2:] /= self._unit**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        table, columns = self._table, self._search.columns
        out = np.zeros(table.n_samples)
        weights = w * self._margin_factors() / self._unit
        for neighbors in self._search.neighbors():

            def of_anchors(a: int, b: int, found: Neighbors = neighbors) -> None:
                sparse_differences.margins_under(
                    *columns.rows_from_origin,
                    self._metric == nearest.SQUARED_EUCLIDEAN,
                    table.position,
                    found.anchors,
                    a,
                    b,
                    table.codes,
                    self._factors,
                    found.start,
                    found.count,
                    found.rows,
                    found.shares,
                    weights,
                    out,
                )

            run_all(of_anchors, even_ranges(neighbors.anchors.size, table.n_threads), table.n_threads)
        return out

    def _add_margins(
        self,
        neighbors: Neighbors,
        array: NDArray[np.floating],
        first: int,
        a: int,
        b: int,
        out: NDArray[np.float64],
        *,
        by_row: bool = False,
    ) -> None:
        table = self._table
        sparse_differences.margins(
            *self._search.columns.rows_from_origin,
            self._metric == nearest.SQUARED_EUCLIDEAN,
            table.position,
            neighbors.anchors,
            a,
            b,
            table.codes,
            table.row_weights,
            self._factors,
            neighbors.start,
            neighbors.count,
            neighbors.rows,
            neighbors.shares,
            out,
        )


class SparseRows(LocalRows):
    """Rows of such a table in this process, worked on by its threads."""

    _table: SparsePacked

    @cached_property
    def _soft(self) -> SparsePasses:
        return SparsePasses(self._table, self._memory)

    def spans_and_rarity(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ranges of the scaled features, and the share of samples away from the common end of each."""
        columns = self._table.columns
        return columns.spans, np.clip(np.nan_to_num(columns.rarity, nan=0.5), 0.0, 0.5)

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> NearestPass:
        return SparseNearestPass(self._table, among, anchors)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | {"table": "sparse"}
