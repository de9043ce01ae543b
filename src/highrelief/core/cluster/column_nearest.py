"""Nearest neighbours by blocks of columns: workers add up distances, and weigh their own columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..division import Division, added_exact
from ..float_distances import ProductDistances, TileDistances
from ..nearest_rows import Compared, NearestPass
from ..neighbor_search import NeighborSearch, Report, distance_array, nothing, padded_rows
from ..neighborhood import Neighborhood, Neighbors
from ..packed import Packed
from ..whole_numbers import Plan, WholeNumbers, planned
from .column_blocks import ColumnBlock, ColumnBlocks, Cut, added
from .work import tree

#: Bytes of the columns that a worker turns into whole numbers at a time.
_PIECE_BYTES = 2.0**24


class ColumnSearch(NeighborSearch):
    """A search for the nearest neighbours of the anchors, whose distances are gathered over all workers.

    Who may be a neighbour, and who is, is decided here, as for a table in memory.
    """

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: ColumnBlocks
    ) -> None:
        self._blocks, self._among = blocks, among
        super().__init__(table, among, anchors)

    def _plan(self) -> Plan:
        return planned(self.columns, *self._blocks.levels, self._tolerance)

    @property
    def n_reports(self) -> int:
        """How often a search reports."""
        return 1

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """Neighbours of all anchors that have a hit, some anchors at a time."""
        for found, division in self.candidates(report):
            if division is not None:
                super()._share(found)
            yield found

    def candidates(self, report: Report = nothing) -> Iterator[tuple[Neighbors, Division | None]]:
        """Candidates, and how they are to be divided once they are measured; None: they are divided."""
        anchors = np.flatnonzero(self._chosen)
        if not anchors.size:
            return
        way = self._from_rows if self._way == "rows" else self._from_all_distances
        for found in way(anchors, report):
            yield found, self._division if self._must_measure else None

    def _share(self, found: Neighbors) -> None:
        # Left to those who ask for candidates, where workers have to measure first.
        if not self._must_measure:
            super()._share(found)

    def _all_distances(self, report: Report) -> NDArray[np.uint32]:
        D = self._gathered(None)
        report()
        return D

    def _from_rows(
        self, anchors: NDArray[np.int64], report: Report, whole: Any = None
    ) -> Iterator[Neighbors]:
        D = self._gathered(padded_rows(anchors))
        self._keep_out_of_reach(D, anchors, (0, self._table.n_rows))
        yield self._candidates(D, anchors)
        report()

    def _gathered(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint32]:
        """Distances of some rows of the layout, or of all, to all."""
        distances = self._distances
        if isinstance(distances, WholeNumbers):
            plan = distances.plan

            def kind(cut: Cut) -> tuple[Any, ...]:
                return plan.of_columns(*cut), self._tolerance
        else:

            def kind(cut: Cut) -> tuple[Any, ...]:
                return type(distances), self._tolerance

        D, noted = self._blocks.total(_distances, kind, shared=(rows,))
        distances.note(noted)  # type: ignore[attr-defined]
        keys = distance_array(*D.shape)
        keys[...] = D.view(np.uint32)
        return keys

    def _measure(self, found: Neighbors, exact: NDArray[np.float64], ranges: list[Cut]) -> None:
        given = GivenNeighbors(self._among, self._anchors, (found,))
        (measured,) = self._blocks.total(_measured, lambda cut: (self._metric,), shared=given)
        exact += measured


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
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z²."""
        total = np.zeros((3 if with_squares else 1, self._table.n_features))
        if not self._blocks.work.keeps:
            for found in self._search.neighbors(report):
                total += self._sums_at(self._given(found), None, with_squares)
            return total
        for found, division in self._search.candidates(report):
            total += self._sums_at(self._given(found), division, with_squares)
        return total

    def _sums_at(
        self, given: GivenNeighbors, division: Division | None, squares: bool
    ) -> NDArray[np.float64]:
        """The same at neighbours that were found, or at candidates, which are measured and divided first.

        In one round: the workers measure, one of them divides, and all go on from there.
        """
        work, blocks, task = self._blocks.work, self._blocks.blocks, self._blocks.task

        def tasks() -> list[Delayed]:
            shared = work.shared(given)
            if division is not None:
                lengths = tree([task(_measured, block, shared, self._metric) for block in blocks], added)
                shared = delayed(_divided, pure=False)(shared, lengths, division)
            return [task(_sums, block, shared, squares) for block in blocks]

        return np.concatenate(work.results(tasks), axis=-1)

    def compared(self, report: Report = nothing, *, apart: bool = False, gaps: bool = False) -> Compared:
        """Every anchor compared with its neighbours.

        The rows are a matrix that lies with the workers, unless it is smaller than the distances held here.
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
        return self._given(*self._search.neighbors(report))

    def _given(self, *found: Neighbors) -> GivenNeighbors:
        return GivenNeighbors(self._among, self._anchors, found)


class GivenNeighbors:
    """Neighbours that were found, for passes over some of the columns alone."""

    def __init__(self, among: Neighborhood, anchors: NDArray[np.bool_], found: tuple[Neighbors, ...]) -> None:
        self.among, self.anchors, self.found = among, anchors, found

    def compared_in(self, block: ColumnBlock) -> NearestPass:
        """A pass over the columns of a block."""
        return _BlockPass(block, self)


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


def _distances(
    block: ColumnBlock,
    shared: tuple[NDArray[np.int64] | None],
    kind: Plan | type[ProductDistances] | type[TileDistances],
    tolerance: float,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Distances of rows to all, over the columns of a block, and what their errors follow from."""
    (rows,) = shared
    table, columns = block.table, block.columns
    if isinstance(kind, Plan):
        distances: Any = WholeNumbers(columns, table.position, tolerance, 1, kind)
    else:
        distances = kind(columns, table.position, 1)
    D = distance_array(table.n_rows if rows is None else rows.size, table.n_rows)
    everything = (0, table.n_rows)
    for part, n_parts in distances.pieces(_PIECE_BYTES):
        piece = distances.piece(part, n_parts)
        if rows is None:
            distances.add_tiles(piece, everything, everything, D, D, add=part > 0)
        else:
            distances.fill_rows(piece, rows, D, add=part > 0)
    D[:, table.n_rows :] = 0  # what the kernels look at, and nobody has written
    # As what they are, so that they can be added up.
    return D.view(np.float32) if distances.as_float else D, distances.noted


def _measured(block: ColumnBlock, given: GivenNeighbors, metric: int) -> tuple[NDArray[np.float64]]:
    (found,) = given.found
    return (added_exact(block.columns, block.table.position, found, metric),)


def _divided(
    given: GivenNeighbors, lengths: tuple[NDArray[np.float64]], division: Division
) -> GivenNeighbors:
    (found,) = given.found
    found = replace(found, shares=np.zeros(found.rows.size))
    division.divide(found, *lengths)
    return GivenNeighbors(given.among, given.anchors, (found,))


def _sums(block: ColumnBlock, given: GivenNeighbors, with_squares: bool) -> NDArray[np.float64]:
    return given.compared_in(block).sums(with_squares=with_squares)


def _compared(block: ColumnBlock, given: GivenNeighbors, apart: bool) -> NDArray[np.float64]:
    return given.compared_in(block).compared(apart=apart).rows


def _gaps(block: ColumnBlock, given: GivenNeighbors) -> tuple[NDArray[np.float64]]:
    return (given.compared_in(block).compared(gaps=True).gaps,)


def _margins_under(
    block: ColumnBlock, given: GivenNeighbors, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64]]:
    return (given.compared_in(block).rows() @ w,)
