"""Nearest neighbours by blocks of rows: pairs of blocks find candidates, whose lists merge.

The lists of the anchors of a block hold k neighbours in each slot, and who is tied with the last. They stay
with the workers, but for passes whose answer they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ...kernels import nearest
from ..columns import Columns
from ..distances import Distances
from ..float_distances import ProductDistances, TileDistances
from ..nearest_rows import Compared, NearestPass
from ..neighbor_pairs import mean_gaps
from ..neighbor_search import NeighborSearch, Report, nothing
from ..neighborhood import HITS, MISSES, Neighborhood, Neighbors
from ..packed import Packed
from ..whole_numbers import WholeNumbers, marked_levels, planned
from .matrix import RowMatrix
from .row_blocks import RowBlock, RowBlocks, added, both
from .row_candidates import Wanted, candidates_between, merged, settled

#: Bytes of a matrix of margins that is brought here.
_SMALL = 2**24


class RowSearch(NeighborSearch):
    """A search for the nearest neighbours of the anchors, by pairs of blocks of rows."""

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: RowBlocks
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, anchors)

    def _choose_distances(self) -> Distances:
        position, n_threads = self._table.position, self._table.n_threads
        if self._metric != nearest.MANHATTAN:
            return ProductDistances(self.columns, position, n_threads)
        is_other, is_middle = self._blocks.total(_levels) > 0
        plan = planned(self.columns, is_other, is_middle, self._tolerance)
        numbers = WholeNumbers(self.columns, position, self._tolerance, n_threads, plan)
        return TileDistances(self.columns, position, n_threads) if numbers.too_coarse else numbers

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
            self._rank_weights,
            self._uniform,
            self._pooled,
            self._n_slots,
            table.unpacked(self._chosen),
            table.copies_given,
        )

    def tasks(self, wanted: Wanted) -> list[Delayed]:
        """The neighbours of the anchors of every block, for a round that goes on with them."""
        has_anchors = [bool(wanted.chosen[a:b].any()) for a, b in self._blocks.cuts]
        given = self._blocks.work.shared(wanted)
        pairs = self._blocks.of_pairs(
            candidates_between, given, where=lambda i, j: has_anchors[i] or has_anchors[j]
        )
        lists = self._blocks.gathered(pairs, merged, given)
        settle = delayed(settled, pure=False)
        return [settle(found, given) for found in lists]

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """Neighbours of all anchors that have a hit, block by block, brought here."""
        table = self._table
        row_of = np.empty(table.n_samples, np.int64)
        row_of[table.position[table.real]] = np.flatnonzero(table.real)
        found = self._blocks.work.results(lambda: self.tasks(self.wanted))
        report()
        for each in found:
            if each.anchors.size:
                yield replace(each, anchors=row_of[each.anchors], rows=row_of[each.rows])


class Margins(NamedTuple):
    """What makes margins of neighbours, for all tasks of a pass."""

    #: Sign and weight of hits and misses, by class of the anchor and slot.
    slot_factors: NDArray[np.float64]
    #: (n_classes,) how much a class counts.
    class_weights: NDArray[np.float64]
    squared: bool


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
        function = self._tasks_of_moments if with_squares else self._tasks_of_sums
        total = self._blocks.work.total(function, added)
        report()
        factors = self._margin_factors()
        total[:2] *= factors
        if with_squares:
            total[2] *= factors**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        return self.compared().rows @ w

    def compared(self, report: Report = nothing, *, apart: bool = False, gaps: bool = False) -> Compared:
        """Every anchor compared with its neighbours; the rows are a matrix that lies with the workers.

        Where there is little of it, it is brought here: solvers ask for many products.
        """
        blocks, work = self._blocks, self._blocks.work
        found = work.made(self._search.tasks(self._search.wanted))
        factors = self._margin_factors()
        fill = delayed(_in_rows, pure=False)
        pieces = []
        # Hits by themselves have a minus sign, which is taken back.
        everything = list(range(self._factors.shape[1]))
        for slots, sign in [([HITS], -1.0), ([MISSES], 1.0)] if apart else [(everything, 1.0)]:
            rows = self._tasks_of_rows(found, slots)
            pieces += [
                fill(block, lists, part, sign * factors)
                for block, lists, part in zip(blocks.blocks, found, rows, strict=True)
            ]
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
        return Margins(self._factors, ones if weights is None else weights, self._squared)

    def _tasks_of_sums(self) -> list[Delayed]:
        found = self._search.tasks(self._search.wanted)
        given = self._blocks.work.shared(self._margins)
        return list(self._blocks.of_pairs(_sums_between, given, found).values())

    def _tasks_of_moments(self) -> list[Delayed]:
        found = self._search.tasks(self._search.wanted)
        rows = self._tasks_of_rows(found, list(range(self._factors.shape[1])))
        return self._blocks.of_blocks(_moments, self._margins.class_weights, found, rows)

    def _tasks_of_rows(self, found: list[Delayed], slots: list[int]) -> list[Any]:
        """Margins of the anchors of every block, added up over the blocks of their neighbours."""
        used = np.zeros(self._factors.shape[1], dtype=bool)
        used[slots] = True
        given = self._blocks.work.shared((self._margins, used))
        return self._blocks.gathered(self._blocks.of_pairs(_rows_between, given, found), added)

    def _tasks_of_gaps(self, found: list[Delayed]) -> list[Delayed]:
        """E‖miss − hit‖₁ of all rows of every block, from the rows that are neighbours in it."""
        pick, measure = delayed(_picked, pure=False), delayed(_gaps, pure=False)
        blocks = self._blocks.blocks
        return [
            measure(block, lists, [pick(other, lists) for other in blocks])
            for block, lists in zip(blocks, found, strict=True)
        ]


# What workers do


def _levels(block: RowBlock, shared: None) -> NDArray[np.int64]:
    columns = Columns(block.X, block.common.scaling, block.common.ranges)
    return np.stack(marked_levels(columns, 1)).astype(np.int64)


def _within(found: Neighbors, block: RowBlock) -> Neighbors:
    """Those of the neighbours that are in a block."""
    n_lists = found.count.size
    lists = np.repeat(np.arange(n_lists), found.count.ravel())
    here = (found.rows >= block.first) & (found.rows < block.first + len(block))
    count = np.bincount(lists[here], minlength=n_lists)
    start = (np.cumsum(count) - count).reshape(found.count.shape)
    count = count.reshape(found.count.shape)
    return Neighbors(found.anchors, start, count, np.zeros_like(count), found.rows[here], found.shares[here])


class _Side(NamedTuple):
    """Anchors of one block, and those of their neighbours that are in another; as rows of both."""

    found: Neighbors
    columns: Columns
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]


def _sides(
    block: RowBlock, other: RowBlock | None, given: Margins, found: Neighbors, of_other: Neighbors | None
) -> list[_Side]:
    """Both directions of a pair of blocks, or the one that there is of a single block."""
    blocks = both(block, other)
    X = block.X if other is None else np.concatenate([block.X, other.X])
    columns = Columns(X, block.common.scaling, block.common.ranges)
    codes = np.concatenate([each.codes for each in blocks]).astype(np.int64)
    copies = [np.ones(len(each)) if each.copies is None else each.copies for each in blocks]
    weights = np.concatenate(copies) * given.class_weights[codes]
    first, n = block.first, len(block)
    if other is None or of_other is None:
        return [_Side(_moved(found, first, block, first), columns, codes, weights)]
    # The rows of the second stand behind those of the first.
    second = other.first - n
    return [
        _Side(_moved(found, first, other, second), columns, codes, weights),
        _Side(_moved(of_other, second, block, first), columns, codes, weights),
    ]


def _moved(found: Neighbors, of_anchors: int, block: RowBlock, of_rows: int) -> Neighbors:
    """The neighbours in a block, counted from elsewhere, and so the anchors."""
    here = _within(found, block)
    return replace(here, anchors=here.anchors - of_anchors, rows=here.rows - of_rows)


def _margins_of(side: _Side, given: Margins, out: NDArray[np.float64], *, by_row: bool) -> None:
    """Add the margins at the neighbours to ``out``, in the units of the blocks of columns."""
    found, columns = side.found, side.columns
    position = np.arange(columns.n_samples)
    for a, b in columns.cuts():
        array, first = columns.precise_block(a, b)
        margins = np.zeros((len(out), b - a))
        nearest.margins(
            array,
            first,
            b - a,
            given.squared,
            position,
            found.anchors,
            0,
            found.anchors.size,
            side.codes,
            side.weights,
            given.slot_factors,
            found.start,
            found.count,
            found.rows,
            found.shares,
            by_row,
            False,
            margins,
        )
        out[:, a:b] += margins


def _sums_between(
    block: RowBlock, other: RowBlock | None, given: Margins, found: Neighbors, of_other: Neighbors | None
) -> NDArray[np.float64]:
    """Σ s·z of the anchors of both blocks, as far as their neighbours are in the other."""
    total = np.zeros((1, block.X.shape[1]))
    for side in _sides(block, other, given, found, of_other):
        _margins_of(side, given, total, by_row=False)
    return total


def _rows_between(
    block: RowBlock,
    other: RowBlock | None,
    given: tuple[Margins, NDArray[np.bool_]],
    found: Neighbors,
    of_other: Neighbors | None,
) -> list[NDArray[np.float64]]:
    """Margins of the anchors of each block, as far as their neighbours are in the other and in some slots."""
    margins, used = given
    rows = []
    for side in _sides(block, other, margins, found, of_other):
        side.found.count *= used
        out = np.zeros((side.found.anchors.size, block.X.shape[1]))
        _margins_of(side, margins, out, by_row=True)
        rows.append(out)
    return rows


def _in_rows(
    block: RowBlock, found: Neighbors, margins: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Margins of all rows of a block, scaled; 0 for who is no anchor."""
    rows = np.zeros(block.X.shape)
    rows[found.anchors - block.first] = margins * factors
    return rows


def _moments(
    block: RowBlock, class_weights: NDArray[np.float64], found: Neighbors, z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ s·z, Σ s²z and Σ s²z² over the anchors of a block."""
    anchors = found.anchors - block.first
    s = class_weights[block.codes[anchors]]
    if block.copies is not None:
        s = s * block.copies[anchors]
    return np.stack([s @ z, s**2 @ z, s**2 @ z**2])


def _picked(block: RowBlock, found: Neighbors) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The rows of a block that are neighbours, and their places in the table."""
    wanted = np.unique(_within(found, block).rows)
    return wanted, block.X[wanted - block.first]


def _gaps(
    block: RowBlock, found: Neighbors, picked: list[tuple[NDArray[np.int64], NDArray[Any]]]
) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of all rows of a block; 0 for who is no anchor."""
    gaps = np.zeros(len(block))
    if not found.anchors.size:
        return gaps
    samples = np.concatenate([places for places, _ in picked])
    X = np.concatenate([rows for _, rows in picked])
    # All of one class, so that they stand in the layout as they do here.
    table = Packed(X, np.zeros(len(X), np.int64), 1, scaling=block.common.scaling, ranges=block.common.ranges)
    columns = Columns(X, block.common.scaling, block.common.ranges)
    among = replace(found, rows=np.searchsorted(samples, found.rows))
    gaps[found.anchors - block.first] = mean_gaps(table, columns, among)
    return gaps
