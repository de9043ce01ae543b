"""Nearest neighbours by blocks of columns: workers add up distances, and weigh their own columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from ..nearest_rows import Compared, NearestPass
from ..neighbor_search import Report, nothing
from ..neighborhood import Neighborhood, Neighbors
from ..packed import Packed
from .column_blocks import ColumnBlock, ColumnBlocks
from .column_search import ColumnSearch, GivenNeighbors
from .work import in_turn


class ColumnNearestPass(NearestPass):
    """One pass over the nearest neighbours of the anchors; workers compare what lies with them."""

    _search: ColumnSearch

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: ColumnBlocks
    ) -> None:
        self._blocks, self._among = blocks, among
        super().__init__(table, among, anchors)

    def _make_search(self, among: Neighborhood) -> ColumnSearch:
        return ColumnSearch(self._table, among, self._anchors, self._blocks)

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z².

        In one round: the workers find the neighbours, and go on from there.
        """

        def tasks() -> list[Delayed]:
            found = self._search.found()
            return [self._blocks.task(_sums, block, found, with_squares) for block in self._blocks.blocks]

        parts = self._blocks.work.results(tasks)
        report()
        return np.concatenate(parts, axis=-1)

    def compared(self, report: Report = nothing, *, apart: bool = False, gaps: bool = False) -> Compared:
        """Every anchor compared with its neighbours.

        The rows are a matrix that lies with the workers, unless it is smaller than all distances.
        """
        found = self.found(report)
        between = np.zeros(0)
        if gaps:
            (between,) = self._blocks.total(_gaps, shared=found)
        n_rows = self._table.n_samples * (1 + apart)
        if self._table.n_features <= self._table.n_samples:
            rows: Any = self._blocks.joined(_compared, apart, shared=found)
        else:
            rows = self._blocks.matrix(_compared, apart, shared=found, n_rows=n_rows)
        return Compared(rows, between, self._table.unpacked(self._anchors & self._table.has_hit))

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        (margins,) = self._blocks.total(
            _margins_under, lambda cut: (w[slice(*cut)],), shared=self.found(nothing)
        )
        return margins

    def found(self, report: Report) -> GivenNeighbors:
        """The neighbours of all anchors, for workers to compare them with."""
        return GivenNeighbors(self._among, self._anchors, tuple(self._search.neighbors(report)))


class _GivenSearch:
    """What a pass asks of a search that is over."""

    n_reports = 0

    def __init__(self, block: ColumnBlock, given: GivenNeighbors) -> None:
        self.columns, self._found = block.columns, given.found

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """The neighbours that were found."""
        yield from self._found

    def describe(self) -> dict[str, Any]:
        """Nothing is chosen here."""
        return {}


class _BlockPass(NearestPass):
    """One pass over the columns of a block, with neighbours that were found elsewhere."""

    def __init__(self, block: ColumnBlock, given: GivenNeighbors) -> None:
        self._block, self._given = block, given
        super().__init__(block.table, given.among, given.anchors)

    def _make_search(self, among: Neighborhood) -> Any:
        return _GivenSearch(self._block, self._given)


# What workers do


@in_turn
def _sums(block: ColumnBlock, given: GivenNeighbors, with_squares: bool) -> NDArray[np.float64]:
    return _BlockPass(block, given).sums(with_squares=with_squares)


@in_turn
def _compared(block: ColumnBlock, given: GivenNeighbors, apart: bool) -> NDArray[np.float64]:
    return _BlockPass(block, given).compared(apart=apart).rows


@in_turn
def _gaps(block: ColumnBlock, given: GivenNeighbors) -> tuple[NDArray[np.float64]]:
    return (_BlockPass(block, given).compared(gaps=True).gaps,)


@in_turn
def _margins_under(
    block: ColumnBlock, given: GivenNeighbors, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64]]:
    return (_BlockPass(block, given).rows() @ w,)
