"""Who is near whom, by blocks of columns: workers add up distances, and one of them looks for the nearest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..distances import Doubt
from ..division import Division, added_exact
from ..float_distances import ProductDistances, TileDistances
from ..neighbor_search import NeighborSearch, Report, distance_array, nothing, padded_rows
from ..neighborhood import Neighborhood, Neighbors
from ..packed import Packed
from ..ranges import float_type
from ..threads import even_ranges
from ..whole_numbers import Plan, WholeNumbers, planned
from .column_blocks import ColumnBlock, ColumnBlocks, Layout, added
from .work import Worker, boughs, in_turn, own_threads

#: Bytes of the columns that a worker turns into whole numbers at a time.
_PIECE_BYTES = 2.0**24
#: How much of its memory a worker may need for blocks that wait to be worked on, some of which lie on disk.
_SHARE_OF_MEMORY = 0.25

Kind = type[WholeNumbers] | type[ProductDistances] | type[TileDistances]
#: Distances of rows to all over some columns, and what their errors follow from.
Share = tuple[NDArray[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class Sought:
    """Whose neighbours are looked for, and who may be one."""

    layout: Layout
    among: Neighborhood
    anchors: NDArray[np.bool_]
    #: Rows whose distances to all are wanted; None: all.
    rows: NDArray[np.int64] | None
    kind: Kind
    dtype: np.dtype[Any]
    tolerance: float
    #: Threads where there is no worker to have some.
    n_threads: int

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is sent to whom."""
        return object.__sizeof__(self) + _n_bytes(*self.layout, self.anchors, self.rows)


@dataclass(frozen=True)
class GivenNeighbors:
    """Neighbours that were found, for passes over some of the columns alone."""

    among: Neighborhood
    anchors: NDArray[np.bool_]
    found: tuple[Neighbors, ...]

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is sent to whom."""
        lists = (array for each in self.found for array in vars(each).values())
        return object.__sizeof__(self) + _n_bytes(self.anchors, *lists)


def _n_bytes(*values: Any) -> int:
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


class ColumnSearch(NeighborSearch):
    """A search for the nearest neighbours of the anchors, by the workers that have the columns."""

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
        """Neighbours of all anchors that have a hit, brought here."""
        (given,) = self._blocks.work.results(lambda: [self.found()])
        report()
        yield from given.found

    def found(self) -> Delayed:
        """A task of a round: the neighbours of all anchors that have a hit.

        The shares of all columns in the distances are added up, who may be a neighbour is looked for in the
        sums, and the workers measure where that leaves a doubt.
        """
        work, blocks = self._blocks.work, self._blocks.blocks
        anchors = np.flatnonzero(self._chosen)
        if not anchors.size:
            return work.shared(GivenNeighbors(self._among, self._anchors, ()))
        sought = work.shared(self._sought(padded_rows(anchors) if self._way == "rows" else None))
        shares = boughs(self._distance_shares(sought), added)
        given = work.halfway(delayed(_candidates, pure=False)(sought, shares))
        if not self._must_measure:
            return given
        task = self._blocks.task
        lengths = boughs([task(_measured, block, given, self._metric) for block in blocks], added)
        return work.halfway(delayed(_divided, pure=False)(given, lengths, self._division))

    def _sought(self, rows: NDArray[np.int64] | None) -> Sought:
        layout, kind = self._blocks.layout, cast("Kind", type(self._distances))
        of_table = self._table.dtype, self._tolerance, self._table.n_threads
        return Sought(layout, self._among, self._anchors, rows, kind, *of_table)

    def _distance_shares(self, sought: Delayed) -> list[Delayed]:
        """Tasks that have the distances over some of the columns each, and over all of them together.

        Whole numbers add up to the same in any order: each worker adds the shares of its blocks to each
        other, of as many at a time as it has room for. Floats are added along a tree of all blocks, whose
        shape does not depend on where these lie.
        """
        work, blocks, cuts = self._blocks.work, self._blocks.blocks, self._blocks.cuts
        plan = self._distances.plan if isinstance(self._distances, WholeNumbers) else None
        if plan is not None:
            chains = [self._at_a_time(*each) for each in work.by_worker(blocks)]
        else:
            chains = [[[i]] for i in range(len(blocks))]
        share = delayed(_share, pure=False)
        ends: list[Delayed] = []
        for chain in chains:
            total: Any = None
            for which in chain:
                plans = None if plan is None else [plan.of_columns(*cuts[i]) for i in which]
                with work.beside(blocks[which[0]]):
                    total = share(total, [blocks[i] for i in which], plans, sought)
            ends.append(total)
        return ends

    def _at_a_time(self, which: list[int], worker: Worker) -> list[list[int]]:
        """The blocks of a worker that are taken at a time, which must be in its memory all at once.

        As many tasks may have theirs there, and wait for their turn, as the worker has threads.
        """
        widest = max(b - a for a, b in self._blocks.cuts)
        block_bytes = widest * self._table.n_samples * self._blocks.source.dtype.itemsize
        room = _SHARE_OF_MEMORY * worker.memory / worker.n_threads
        n = max(worker.n_threads, int(min(room / block_bytes, len(which))))
        return [which[a : a + n] for a in range(0, len(which), n)]


class _CandidateSearch(NeighborSearch):
    """A search in distances that were added up already; who is left in doubt is measured later."""

    def __init__(self, sought: Sought, distances: Doubt, D: NDArray[np.uint32]) -> None:
        # The layout of the rows is all that counts here.
        table = sought.layout.bare(sought.dtype, own_threads(sought.n_threads))
        self._known, self._D, self._few = distances, D, sought.rows is not None
        super().__init__(table, sought.among, sought.anchors)

    def _make_columns(self) -> Any:
        return None

    def _choose_distances(self) -> Any:
        return self._known

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """Candidates of all anchors that have a hit, divided unless they must be measured first."""
        anchors = np.flatnonzero(self._chosen)
        if not self._few:
            yield from self._from_all_distances(anchors, report)
            return
        self._keep_out_of_reach(self._D, anchors, (0, self._table.n_rows))
        yield super()._candidates(self._D, anchors)

    def _all_distances(self, report: Report) -> NDArray[np.uint32]:
        return self._D

    def _share(self, found: Neighbors) -> None:
        if not self._must_measure:
            super()._share(found)


# What workers do


@in_turn
def _share(
    before: Share | None, blocks: list[ColumnBlock], plans: list[Plan] | None, sought: Sought
) -> Share:
    """The share of some blocks in the distances of rows to all, added to that of those before."""
    n_rows, rows = blocks[0].table.n_rows, sought.rows
    D = distance_array(n_rows if rows is None else rows.size, n_rows)
    noted: Any = 0.0
    if before is not None:
        D[...], noted = before
    n_threads, everything = own_threads(1), (0, n_rows)
    for i, block in enumerate(blocks):
        of_block = block.columns, block.table.position
        if plans is not None:
            distances: Any = WholeNumbers(*of_block, sought.tolerance, n_threads, plans[i])
        else:
            distances = cast("type[TileDistances]", sought.kind)(*of_block, n_threads)
        for part, n_parts in distances.pieces(_PIECE_BYTES):
            piece = distances.piece(part, n_parts)
            add = before is not None or i > 0 or part > 0
            if rows is None:
                distances.add_tiles(piece, everything, everything, D, D, add=add)
            else:
                distances.fill_rows(piece, rows, D, add=add)
        noted = noted + distances.noted
    D[:, n_rows:] = 0  # what the kernels look at, and nobody has written
    # As what they are, so that they can be added up.
    return D.view(np.float32) if sought.kind.as_float else D, noted


@in_turn
def _candidates(sought: Sought, shares: list[Share]) -> GivenNeighbors:
    """Who may be a neighbour of each anchor, by the distances over all columns."""
    parts, notes = zip(*shares, strict=True)
    keys, noted = distance_array(*parts[0].shape), sum(notes[1:], notes[0])
    total = keys.view(parts[0].dtype)
    total[...] = parts[0]
    for part in parts[1:]:
        total += part
    doubt = sought.kind.doubt(noted, float_type(sought.dtype))
    found = tuple(_CandidateSearch(sought, doubt, keys).neighbors())
    return GivenNeighbors(sought.among, sought.anchors, found)


@in_turn
def _measured(block: ColumnBlock, given: GivenNeighbors, metric: int) -> tuple[NDArray[np.float64], ...]:
    """Shares of the columns of a block in the exact distances of candidates that are not sure."""
    columns, position, n_threads = block.columns, block.table.position, block.table.n_threads
    shares = []
    for found in given.found:
        ranges = even_ranges(found.anchors.size, 4 * n_threads)
        shares.append(added_exact(columns, position, found, metric, ranges, n_threads))
    return tuple(shares)


def _divided(
    given: GivenNeighbors, lengths: list[tuple[NDArray[np.float64], ...]], division: Division
) -> GivenNeighbors:
    """Neighbours by the exact distances of all candidates."""
    divided = []
    for found, exact in zip(given.found, added(lengths), strict=True):
        divided.append(replace(found, shares=np.zeros(found.rows.size)))
        division.divide(divided[-1], exact)
    return replace(given, found=tuple(divided))
