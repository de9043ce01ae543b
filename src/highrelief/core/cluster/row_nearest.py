"""Nearest neighbours by blocks of rows: pairs of blocks find candidates, whose lists merge.

The lists of the anchors of a block hold k neighbours in each slot, and who is tied with the last, unless that
are many. They stay with the workers, but for passes whose answer they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..cached_property import cached_property
from ..columns import Columns
from ..nearest_rows import Compared, NearestPass
from ..neighbor_search import NeighborSearch, Report, nothing
from ..neighborhood import HITS, MISSES, Neighborhood, Neighbors
from ..packed import Packed
from ..whole_numbers import Plan, WholeNumbers, marked_levels, planned
from .matrix import RowMatrix
from .row_blocks import RowBlock, RowBlocks
from .row_candidates import BlockNeighbors, Wanted, merged, settled
from .row_comparison import (
    Given,
    Margins,
    OfRows,
    in_rows,
    moments,
    on_rows,
    rows_between,
    sums_between,
    under_weights,
)
from .row_gaps import gaps, gaps_between, gaps_in_turn, picked
from .row_pairs import candidates_between
from .row_ties import counted, n_cut, tied_copies, tied_neighbors
from .work import added, tree

#: Bytes of a matrix of margins that is brought here.
_SMALL = 2**24


class RowSearch(NeighborSearch):
    """A search for the nearest neighbours of the anchors, by pairs of blocks of rows."""

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: RowBlocks
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, anchors)

    def _plan(self) -> Plan:
        is_other, is_middle = self._blocks.total(_levels) > 0
        return planned(self.columns, is_other, is_middle, self._tolerance)

    @property
    def n_reports(self) -> int:
        """How often a search reports."""
        return 1

    @property
    def wanted(self) -> Wanted:
        """What is looked for, for the workers."""
        table, distances = self._table, self._distances
        return Wanted(
            distances.plan if isinstance(distances, WholeNumbers) else type(distances),  # type: ignore[arg-type]
            self._metric,
            self._tolerance,
            float(self._n_ranks),
            self._rank_weights,
            self._uniform,
            self._pooled,
            self._n_slots,
            table.unpacked(self._chosen),
            table.copies_given,
        )

    def with_anchors(self, i: int, j: int) -> bool:
        """Whether one of two blocks has anchors; True for all where there are none at all."""
        return self._have_anchors[i] or self._have_anchors[j] or not any(self._have_anchors)

    @cached_property
    def _have_anchors(self) -> list[bool]:
        chosen = self._table.unpacked(self._chosen)
        return [bool(chosen[a:b].any()) for a, b in self._blocks.cuts]

    def found(self) -> Found:
        """The neighbours of the anchors of every block, left with the workers."""
        blocks, work, wanted = self._blocks, self._blocks.work, self.wanted
        lists = work.made(self.tasks(wanted))
        n_of_blocks = work.results(lambda: [delayed(n_cut, pure=False)(each) for each in lists])
        if not any(n_of_blocks):
            return Found(lists, None)
        pairs = blocks.of_pairs(
            tied_copies, work.shared(wanted), lists, where=lambda i, j: n_of_blocks[i] + n_of_blocks[j] > 0
        )
        count = delayed(counted, pure=False)
        copies = blocks.gathered(pairs, added)
        return Found(work.made([count(*each) for each in zip(lists, copies, strict=True)]), wanted)

    def tasks(self, wanted: Wanted) -> list[Delayed]:
        """The neighbours of the anchors of every block, as far as there is room for them in lists."""
        given = self._blocks.work.shared(wanted)
        pairs = self._blocks.of_pairs(candidates_between, given, where=self.with_anchors)
        lists = self._blocks.gathered(pairs, merged, given)
        settle = delayed(settled, pure=False)
        return [settle(found, given) for found in lists]

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """Neighbours of all anchors that have a hit, block by block, brought here."""
        table, blocks = self._table, self._blocks
        row_of = np.empty(table.n_samples, np.int64)
        row_of[table.position[table.real]] = np.flatnonzero(table.real)
        found = self.found()
        lists: list[Neighbors] = blocks.work.results(lambda: found.lists)
        if found.cut is not None:
            for pair in blocks.work.results(
                lambda: list(blocks.of_pairs(_tied, blocks.work.shared(found.cut), found.lists).values())
            ):
                lists += pair
        report()
        for each in lists:
            if each.anchors.size:
                yield replace(each, anchors=row_of[each.anchors], rows=row_of[each.rows])


@dataclass(frozen=True)
class Found:
    """The neighbours that a search has found."""

    #: Block by block, with the workers.
    lists: list[Delayed]
    #: What was looked for, if lists are cut, so that pairs of blocks have to look again; otherwise None.
    cut: Wanted | None


class RowNearestPass(NearestPass):
    """One pass over the nearest neighbours of the anchors; pairs of blocks compare their rows."""

    _search: RowSearch

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: RowBlocks
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, anchors)

    def _make_search(self, among: Neighborhood) -> RowSearch:
        return RowSearch(self._table, among, self._anchors, self._blocks)

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z²."""
        found = self._search.found()
        tasks = self._tasks_of_moments if with_squares else self._tasks_of_sums
        total = self._blocks.work.total(lambda: tasks(found), added)
        report()
        factors = self._margin_factors()
        total[:2] *= factors
        if with_squares:
            total[2] *= factors**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        found, scaled = self._search.found(), self._margin_factors() * w
        return np.concatenate(
            self._blocks.work.results(
                lambda: self._tasks_on_rows(found, self._all_slots, under_weights, scaled)
            )
        )

    def compared(self, report: Report = nothing, *, apart: bool = False, gaps: bool = False) -> Compared:
        """Every anchor compared with its neighbours; the rows are a matrix that lies with the workers.

        Where there is little of it, it is brought here: solvers ask for many products.
        """
        blocks, work = self._blocks, self._blocks.work
        found = self._search.found()
        factors = self._margin_factors()
        pieces = []
        # Hits by themselves have a minus sign, which is taken back.
        for slots, sign in [([HITS], -1.0), ([MISSES], 1.0)] if apart else [(self._all_slots, 1.0)]:
            pieces += self._tasks_on_rows(found, slots, in_rows, sign * factors)
        heights = [b - a for a, b in blocks.cuts] * (1 + apart)
        matrix = RowMatrix(work.made(pieces), heights, self._table.n_features, work)
        between = np.zeros(0)
        if gaps:
            between = np.concatenate(work.results(lambda: self._tasks_of_gaps(found)))
        report()
        table = self._table
        brought = np.asarray(matrix) if matrix.nbytes <= _SMALL else matrix
        return Compared(brought, between, table.unpacked(self._anchors & table.has_hit))

    # Tasks

    @property
    def _margins(self) -> Margins:
        weights = self._table.class_weights
        ones = np.ones(self._table.n_classes)
        return Margins(
            self._factors, ones if weights is None else weights, self._squared, self._table.n_features
        )

    def _tasks_of_sums(self, found: Found) -> list[Delayed]:
        given = self._blocks.work.shared(Given(self._margins, None, found.cut))
        pairs = self._blocks.of_pairs(sums_between, given, found.lists, where=self._search.with_anchors)
        return list(pairs.values())

    def _tasks_of_moments(self, found: Found) -> list[Delayed]:
        return self._tasks_on_rows(found, self._all_slots, moments, self._margins.class_weights)

    @property
    def _all_slots(self) -> list[int]:
        return list(range(self._factors.shape[1]))

    def _tasks_on_rows(
        self, found: Found, slots: list[int], function: OfRows, argument: NDArray[np.float64]
    ) -> list[Delayed]:
        """What a function makes of the margins of the anchors of every block at all their neighbours."""
        blocks, work = self._blocks, self._blocks.work
        used = np.zeros(self._factors.shape[1], dtype=bool)
        used[slots] = True
        given, shared = work.shared(Given(self._margins, used, found.cut)), work.shared(argument)
        if work.keeps:
            pairs = blocks.of_pairs(rows_between, given, found.lists, where=self._search.with_anchors)
            return blocks.of_blocks(function, shared, found.lists, blocks.gathered(pairs, added))
        # What pairs of blocks find would be held here until all of them are done.
        same = [function] * len(found.lists), [shared] * len(found.lists)
        return blocks.of_blocks_in_turn(on_rows, given, found.lists, *same)

    def _tasks_of_gaps(self, found: Found) -> list[Delayed]:
        """E‖miss − hit‖₁ of all rows of every block."""
        blocks, work = self._blocks.blocks, self._blocks.work
        if not work.keeps:
            return self._blocks.of_blocks_in_turn(gaps_in_turn, work.shared(found.cut), found.lists)
        if found.cut is None:
            # From the rows that are neighbours in it.
            pick, measure = delayed(picked, pure=False), delayed(gaps, pure=False)
            return [
                measure(block, lists, [pick(other, lists) for other in blocks])
                for block, lists in zip(blocks, found.lists, strict=True)
            ]
        given, measure = work.shared(found.cut), delayed(gaps_between, pure=False)
        return [
            tree([measure(block, lists, hits, misses, given) for hits in blocks for misses in blocks], added)
            for block, lists in zip(blocks, found.lists, strict=True)
        ]


# What workers do


def _levels(block: RowBlock, shared: None) -> NDArray[np.int64]:
    columns = Columns(block.X, block.common.scaling, block.common.ranges)
    return np.stack(marked_levels(columns, 1)).astype(np.int64)


def _tied(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> list[Neighbors]:
    """Neighbours that no list holds."""
    return [each for _, _, each in tied_neighbors(block, other, wanted, found, of_other)]
