"""Nearest neighbors by blocks of rows: pairs of blocks find candidates, whose lists merge.

The lists of the anchors of a block hold k neighbors in each slot, and who is tied with the last, unless that
are many. They stay with the workers, but for passes whose answer they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.columns import Columns
from .._engine.engine import LocalRows
from .._engine.layout import Packed
from .._engine.missing_pairs import MissingCorrection
from .._engine.nearest import NearestPass, NeighborMargins, SampleMargins, mean_gaps
from .._engine.neighbors import HITS, MISSES, Neighborhood, Neighbors
from .._engine.pair_sums import Coefficients, WeightedRows
from .._engine.quantized import Plan, QuantizedDistances, find_levels, plan_columns
from .._engine.search import NeighborSearch, Report, nothing
from .._engine.soft import (
    ActiveSetMargins,
    AnchorColumns,
    MarginColumns,
    PairwiseDistances,
    SoftNeighborhoods,
    Statistics,
    merge_statistics,
    tile_moments,
    tile_statistics,
)
from .._engine.threads import even_ranges
from .._kernels import distances as distances_kernels
from .._kernels import nearest, packing
from .._kernels import soft as soft_kernels
from .matrix import RowMatrix
from .row_blocks import CenteredRows, RowBlock, RowBlocks, Stack, Unread, below_each_other, both, with_each
from .row_neighbors import (
    BlockNeighbors,
    Wanted,
    candidates_between,
    counted,
    merged,
    n_cut,
    neighbors_in,
    settled,
    tied_neighbors,
    tied_neighbors_in,
    tied_weight,
    within,
)
from .scheduler import added, tree
from .table import ClusterPacked

# Margins of anchors at their neighbors: of two blocks of rows, or of one with all others in turn.


#: What tasks make of the margins of the anchors of a block.
OfRows = Callable[[RowBlock, NDArray[np.float64], Neighbors, NDArray[np.float64]], NDArray[np.float64]]


class Margins(NamedTuple):
    """What makes margins of neighbors, for all tasks of a pass."""

    #: Sign and weight of hits and misses, by class of the anchor and slot.
    slot_factors: NDArray[np.float64]
    #: (n_classes,) how much a class counts.
    class_weights: NDArray[np.float64]
    squared: bool
    n_features: int


class Given(NamedTuple):
    """What tasks are given that make margins of pairs of blocks."""

    margins: Margins
    #: Which slots count; None: all.
    used: NDArray[np.bool_] | None
    #: What was looked for, if lists are cut.
    cut: Wanted | None


class _Side(NamedTuple):
    """Anchors of one block, and some of their neighbors in another; as rows of both."""

    #: Which of the blocks the anchors are in, and which of its anchors they are.
    of: int
    which: NDArray[np.int64] | slice
    found: Neighbors


class _Pair:
    """Two blocks one below the other, or one, to be compared."""

    def __init__(self, block: RowBlock, other: RowBlock | None, given: Given) -> None:
        self._block, self._other, self._given = block, other, given
        self._blocks = both(block, other)
        self._columns = Columns(below_each_other(self._blocks), block.common.scaling, block.common.ranges)
        self._codes = np.concatenate([each.codes for each in self._blocks]).astype(np.int64)
        sample_weight = [
            np.ones(len(each)) if each.sample_weight is None else each.sample_weight for each in self._blocks
        ]
        self._weights = np.concatenate(sample_weight) * given.margins.class_weights[self._codes]
        # The rows of the second stand behind those of the first.
        self._first = [block.first] if other is None else [block.first, other.first - len(block)]

    def sides(self, found: BlockNeighbors, of_other: BlockNeighbors | None) -> Iterator[_Side]:
        """Both directions, or the one that a single block has: neighbors in lists, and those in none."""
        for of, lists in enumerate([found] if of_other is None else [found, of_other]):
            yield self._side(of, slice(None), within(lists, self._blocks[-1 - of]))
        if self._given.cut is not None:
            pair = self._block, self._other, self._given.cut, found, of_other
            for of, which, neighbors in tied_neighbors(*pair):
                yield self._side(of, which, neighbors)

    def sides_of_first(self, found: BlockNeighbors) -> Iterator[_Side]:
        """The anchors of the first block with their neighbors in the second, which may be itself."""
        assert self._other is not None
        yield self._side(0, slice(None), within(found, self._other))
        if self._given.cut is not None:
            for which, neighbors in tied_neighbors_in(self._block, self._other, self._given.cut, found):
                yield self._side(0, which, neighbors)

    def _side(self, of: int, which: NDArray[np.int64] | slice, found: Neighbors) -> _Side:
        anchors, rows = found.anchors - self._first[of], found.rows - self._first[-1 - of]
        used = self._given.used
        count = found.count if used is None else found.count * used
        return _Side(of, which, replace(found, anchors=anchors, rows=rows, count=count))

    def add_margins(self, side: _Side, out: NDArray[np.float64], *, by_row: bool) -> None:
        """Add the margins at the neighbors to ``out``, in the units of the blocks of columns."""
        found, columns, given = side.found, self._columns, self._given.margins
        position = np.arange(columns.n_samples)
        for a, b in columns.cuts():
            array, first = columns.precise_block(a, b)
            margins = np.zeros((found.anchors.size if by_row else 1, b - a))
            nearest.margins(
                array,
                first,
                b - a,
                given.squared,
                position,
                found.anchors,
                0,
                found.anchors.size,
                self._codes,
                self._weights,
                given.slot_factors,
                found.start,
                found.count,
                found.rows,
                found.shares,
                by_row,
                False,
                margins,
            )
            out[side.which if by_row else slice(None), a:b] += margins


def sums_between(
    block: RowBlock,
    other: RowBlock | None,
    given: Given,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> NDArray[np.float64]:
    """Σ s·z of the anchors of both blocks, as far as their neighbors are in the other."""
    total = np.zeros((1, block.X.shape[1]))
    pair = _Pair(block, other, given)
    for side in pair.sides(found, of_other):
        pair.add_margins(side, total, by_row=False)
    return total


def rows_between(
    block: RowBlock,
    other: RowBlock | None,
    given: Given,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> list[NDArray[np.float64]]:
    """Margins of the anchors of each block, as far as their neighbors are in the other and in some slots."""
    lists = [each for each in (found, of_other) if each is not None]
    rows = [np.zeros((each.anchors.size, block.X.shape[1])) for each in lists]
    pair = _Pair(block, other, given)
    for side in pair.sides(found, of_other):
        pair.add_margins(side, rows[side.of], by_row=True)
    return rows


def on_rows(
    block: Unread,
    blocks: list[Unread],
    given: Given,
    found: BlockNeighbors,
    function: OfRows,
    argument: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What a function makes of the margins of the anchors of a block: other blocks are read in turn."""
    rows = np.zeros((found.anchors.size, given.margins.n_features))
    # Where lists are cut, there may be neighbors in every block.
    cut = given.cut is not None and found.anchors.size > 0
    own = None
    for own, other in with_each(block, [each for each in blocks if cut or within(found, each).rows.size]):
        pair = _Pair(own, other, given)
        for side in pair.sides_of_first(found):
            pair.add_margins(side, rows, by_row=True)
        del pair  # before the next block is read
    return function(own or block.read(), argument, found, rows)


# What is made of margins, by block


def in_rows(
    block: RowBlock, factors: NDArray[np.float64], found: Neighbors, margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Margins of all rows of a block, scaled; 0 for who is no anchor."""
    rows = np.zeros(block.X.shape)
    rows[found.anchors - block.first] = margins * factors
    return rows


def under_weights(
    block: RowBlock, scaled: NDArray[np.float64], found: Neighbors, margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ_j of scaled weights times margins, of all rows of a block; 0 for who is no anchor."""
    under = np.zeros(len(block))
    under[found.anchors - block.first] = margins @ scaled
    return under


def moments(
    block: RowBlock, class_weights: NDArray[np.float64], found: Neighbors, z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ s·z, Σ s²z and Σ s²z² over the anchors of a block."""
    anchors = found.anchors - block.first
    s = class_weights[block.codes[anchors]]
    if block.sample_weight is not None:
        s = s * block.sample_weight[anchors]
    return np.stack([s @ z, s**2 @ z, s**2 @ z**2])


# How far the neighbors of a sample are from each other, by blocks of rows.


def picked(block: RowBlock, found: Neighbors) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The rows of a block that are neighbors, and their places in the table."""
    wanted = np.unique(within(found, block).rows)
    return wanted, block.X[wanted - block.first]


def gaps(
    block: RowBlock, found: Neighbors, picked: list[tuple[NDArray[np.int64], NDArray[Any]]]
) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of all rows of a block; 0 for who is no anchor."""
    gaps = np.zeros(len(block))
    if not found.anchors.size:
        return gaps
    samples = np.concatenate([places for places, _ in picked])
    X = np.concatenate([rows for _, rows in picked])
    among = replace(found, rows=np.searchsorted(samples, found.rows))
    gaps[found.anchors - block.first] = _mean_gaps(block, X, among)
    return gaps


def gaps_between(
    block: RowBlock, found: BlockNeighbors, of_hits: RowBlock, of_misses: RowBlock, wanted: Wanted
) -> NDArray[np.float64]:
    """What hits in one block and misses in another add to E‖miss − hit‖₁ of all rows of a block."""
    gaps = np.zeros(len(block))
    if not found.anchors.size:
        return gaps
    hits = neighbors_in(block, of_hits, wanted, found).without(MISSES)
    misses = neighbors_in(block, of_misses, wanted, found).without(HITS)
    # The misses, and the rows that they are in, stand behind the hits.
    among = Neighbors(
        found.anchors,
        np.stack([hits.start[:, HITS], hits.rows.size + misses.start[:, MISSES]], axis=1),
        hits.count + misses.count,
        hits.sure,
        np.concatenate([hits.rows - of_hits.first, misses.rows - of_misses.first + len(of_hits)]),
        np.concatenate([hits.shares, misses.shares]),
    )
    gaps[found.anchors - block.first] = _mean_gaps(block, below_each_other([of_hits, of_misses]), among)
    return gaps


def gaps_in_turn(
    block: Unread, blocks: list[Unread], cut: Wanted | None, found: BlockNeighbors
) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of all rows of a block: others are read in turn."""
    own = block.read()
    if cut is None:
        used = [each for each in blocks if within(found, each).rows.size]
        return gaps(own, found, [picked(each.read(), found) for each in used])
    return sum(
        (
            gaps_between(own, found, of_hits, of_misses, cut)
            for hits in blocks
            for of_hits, of_misses in with_each(hits, blocks)
        ),
        np.zeros(len(own)),
    )


def _mean_gaps(block: RowBlock, X: NDArray[Any], among: Neighbors) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of anchors whose neighbors are rows of X."""
    scaling, ranges = block.common.scaling, block.common.ranges
    # All of one class, so that they stand in the layout as they do here.
    table = Packed(X, np.zeros(len(X), np.int64), 1, scaling=scaling, ranges=ranges)
    return mean_gaps(table, Columns(X, scaling, ranges), among)


#: Bytes of a matrix of margins that is brought here.
_SMALL = 2**24


class RowSearch(NeighborSearch):
    """A search for the nearest neighbors of the anchors, by pairs of blocks of rows."""

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: RowBlocks
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, anchors)

    def _plan(self) -> Plan:
        is_other, is_middle = self._blocks.total(_levels) > 0
        return plan_columns(self.columns, is_other, is_middle, self._tolerance)

    @property
    def n_reports(self) -> int:
        """How often a search reports."""
        return 1

    @property
    def wanted(self) -> Wanted:
        """What is looked for, for the workers."""
        table, distances = self._table, self._distances
        return Wanted(
            distances.plan if isinstance(distances, QuantizedDistances) else type(distances),  # type: ignore[arg-type]
            self._metric,
            self._tolerance,
            float(self._nearest.n_ranks),
            self._nearest.rank_weights,
            self._nearest.uniform,
            self._nearest.pooled,
            self._nearest.n_slots,
            table.unpacked(self._chosen),
            table.input_sample_weight,
        )

    def with_anchors(self, i: int, j: int) -> bool:
        """Whether one of two blocks has anchors; True for all where there are none at all."""
        return self._have_anchors[i] or self._have_anchors[j] or not any(self._have_anchors)

    @cached_property
    def _have_anchors(self) -> list[bool]:
        chosen = self._table.unpacked(self._chosen)
        return [bool(chosen[a:b].any()) for a, b in self._blocks.cuts]

    def found(self) -> Found:
        """The neighbors of the anchors of every block, left with the workers."""
        blocks, work, wanted = self._blocks, self._blocks.work, self.wanted
        lists = work.made(self.tasks(wanted))
        n_of_blocks = work.results(lambda: [delayed(n_cut, pure=False)(each) for each in lists])
        if not any(n_of_blocks):
            return Found(lists, None)
        pairs = blocks.of_pairs(
            tied_weight, work.shared(wanted), lists, where=lambda i, j: n_of_blocks[i] + n_of_blocks[j] > 0
        )
        count = delayed(counted, pure=False)
        sample_weight = blocks.gathered(pairs, added)
        return Found(work.made([count(*each) for each in zip(lists, sample_weight, strict=True)]), wanted)

    def tasks(self, wanted: Wanted) -> list[Delayed]:
        """The neighbors of the anchors of every block, as far as there is room for them in lists."""
        given = self._blocks.work.shared(wanted)
        pairs = self._blocks.of_pairs(candidates_between, given, where=self.with_anchors)
        lists = self._blocks.gathered(pairs, merged, given)
        settle = delayed(settled, pure=False)
        return [settle(found, given) for found in lists]

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """Neighbors of all anchors that have a hit, block by block, brought here."""
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
    """The neighbors that a search has found."""

    #: Block by block, with the workers.
    lists: list[Delayed]
    #: What was looked for, if lists are cut, so that pairs of blocks have to look again; otherwise None.
    cut: Wanted | None


class RowNearestPass(NearestPass):
    """One pass over the nearest neighbors of the anchors; pairs of blocks compare their rows."""

    _search: RowSearch

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: RowBlocks
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, anchors, RowSearch(table, among, anchors, blocks))
        # The client has no rows, but the factors of their columns.
        self._local = NeighborMargins(table, self._search.columns, among)

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z²."""
        found = self._search.found()
        tasks = self._tasks_of_moments if with_squares else self._tasks_of_sums
        total = self._blocks.work.total(lambda: tasks(found), added)
        report()
        factors = self._local.column_factors
        total[:2] *= factors
        if with_squares:
            total[2] *= factors**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        found, scaled = self._search.found(), self._local.column_factors * w
        return np.concatenate(
            self._blocks.work.results(
                lambda: self._tasks_on_rows(found, self._all_slots, under_weights, scaled)
            )
        )

    def sample_margins(
        self, report: Report = nothing, *, apart: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Every anchor compared with its neighbors; the rows are a matrix that lies with the workers.

        Where there is little of it, it is brought here: solvers ask for many products.
        """
        blocks, work = self._blocks, self._blocks.work
        found = self._search.found()
        factors = self._local.column_factors
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
        return SampleMargins(brought, between, table.unpacked(self._anchors & table.has_hit))

    # Tasks

    @property
    def _margins(self) -> Margins:
        weights = self._table.class_weights
        ones = np.ones(self._table.n_classes)
        return Margins(
            self._slot_factors,
            ones if weights is None else weights,
            self._among.metric == "sqeuclidean",
            self._table.n_features,
        )

    def _tasks_of_sums(self, found: Found) -> list[Delayed]:
        given = self._blocks.work.shared(Given(self._margins, None, found.cut))
        pairs = self._blocks.of_pairs(sums_between, given, found.lists, where=self._search.with_anchors)
        return list(pairs.values())

    def _tasks_of_moments(self, found: Found) -> list[Delayed]:
        return self._tasks_on_rows(found, self._all_slots, moments, self._margins.class_weights)

    @property
    def _all_slots(self) -> list[int]:
        return list(range(self._slot_factors.shape[1]))

    def _tasks_on_rows(
        self, found: Found, slots: list[int], function: OfRows, argument: NDArray[np.float64]
    ) -> list[Delayed]:
        """What a function makes of the margins of the anchors of every block at all their neighbors."""
        blocks, work = self._blocks, self._blocks.work
        used = np.zeros(self._slot_factors.shape[1], dtype=bool)
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
            # From the rows that are neighbors in it.
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
    return np.stack(find_levels(columns, 1)).astype(np.int64)


def _tied(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> list[Neighbors]:
    """Neighbors that no list holds."""
    return [each for _, _, each in tied_neighbors(block, other, wanted, found, of_other)]


# Soft neighborhoods by blocks of rows.
#
# One pass over the pairs of blocks gathers smallest distances and masses, which merge; a second finds the
# same distances again and weighs the features by what follows from all of them.


class Kernel(NamedTuple):
    """Weights and width of a soft neighborhood, for all tasks of a pass."""

    w: NDArray[np.float64]
    per_sigma: np.floating


class Around(NamedTuple):
    """What a second pass knows of all samples; by class and sample."""

    kernel: Kernel
    low: NDArray[np.floating]
    scales: NDArray[np.floating]


class RowPasses(PairwiseDistances):
    """Passes over all pairs of rows, whose distances are found again in each."""

    def __init__(self, table: Packed, memory: float, blocks: RowBlocks) -> None:
        super().__init__(table, memory)
        self.blocks = blocks
        self.stored = self._stores_coefficients = False
        self.remaining_memory = memory
        self._tiles = np.empty((0, distances_kernels.TILE, distances_kernels.TILE), table.dtype)

    @cached_property
    def rows(self) -> RowsUnderWeights:
        """The rows under the last weights."""
        return RowsUnderWeights(self.table, self.blocks)

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature."""
        return self.blocks.total_of_pairs(_differences, shared=self.around(by))

    def around(self, by: Coefficients) -> Around:
        """What makes coefficients of distances, for the workers."""
        assert self._w is not None
        return Around(Kernel(self._w, by.per_sigma), self.by_sample(by.low), self.by_sample(by.scales))

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """The same: the workers do not know which can be left out."""
        return self.sum_differences(by)

    def by_sample(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """What is known by class and row of the layout, by class and sample."""
        return np.ascontiguousarray(self.table.unpacked(of_rows.T).T)

    def by_row(self, parts: list[NDArray[Any]], padding: float) -> NDArray[Any]:
        """What blocks know by class and sample, by class and row of the layout."""
        known = np.concatenate(parts, axis=1)
        found = np.take(known, self.table.position, axis=1)
        found[:, ~self.table.real] = padding
        return found

    def _anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> RowAnchorColumns:
        return RowAnchorColumns(self, anchors, weights)


class RowsUnderWeights:
    """Rows under weights that change, in blocks that lie with the workers.

    Offers what :class:`.weighted_rows.WeightedRows` does.
    """

    by_blocks = False

    def __init__(self, table: Packed, blocks: RowBlocks) -> None:
        self._table, self._blocks = table, blocks
        self.correction = MissingCorrection.of(table)
        self.given = np.empty(0)
        self._sums: NDArray[np.float64] | None = None

    def set_weights(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self.given, self._sums = w, None

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sums of all rows under the weights, (n_rows,)."""
        if self._sums is None:
            self._sums = self._of_rows(self._blocks.each(_sums, shared=self.given))
        return self._sums

    def fingerprints(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        return self._of_rows(self._blocks.each(_fingerprints))

    def _of_rows(self, parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        known = np.concatenate(parts)
        out = np.zeros((self._table.n_rows, *known.shape[1:]))
        out[self._table.real] = known[self._table.position[self._table.real]]
        return out


class RowNeighborhoods(SoftNeighborhoods):
    """Who is near whom, from statistics that pairs of blocks have gathered."""

    _pairs: RowPasses

    def _statistics_of_pairs(self) -> Statistics:
        passes = self._pairs
        kernel = Kernel(self._w, self._per_sigma)
        found = passes.blocks.gathered_from_pairs(_statistics, _merged, self._per_sigma, shared=kernel)
        low, mass = zip(*found, strict=True)
        return passes.by_row(list(low), passes.masked_distance), passes.by_row(list(mass), 0.0)

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        passes = self._pairs
        around = Around(Kernel(self._w, self._per_sigma), passes.by_sample(self._low), np.empty(0))
        return passes.by_row(passes.blocks.gathered_from_pairs(_moments, added, shared=around), 0.0)

    def margin_columns(
        self,
        X: NDArray[np.floating],
        features: NDArray[np.int64],
        correction: MissingCorrection,
        *,
        pooled: bool,
    ) -> NDArray[np.float64]:
        """Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i| of every row, for some features; X is with the workers."""
        passes = self._pairs
        passes.set_weights(self._w)
        by = self.coefficients(self.shares(pooled)[0])
        shared = (passes.around(by), features)
        found = passes.blocks.gathered_from_pairs(_margins, added, shared=shared)
        return passes.rows._of_rows(found)


class RowAnchorColumns(AnchorColumns):
    """Distances of all rows to the anchors, which lie with the workers.

    They are kept there if they fit into the memory that every worker may take, otherwise found again.
    """

    _pairs: RowPasses

    def _prepare(self) -> None:
        passes, table = self._pairs, self._pairs.table
        blocks, samples = passes.blocks, table.position[self._anchors]
        w = passes.rows.given
        # Padding is no anchor.
        self._weights = np.where(samples >= 0, self._weights, 0.0)
        own = [np.flatnonzero((samples >= a) & (samples < b)) for a, b in blocks.cuts]
        chosen = [samples[which] - a for which, (a, _) in zip(own, blocks.cuts, strict=True)]
        parts = blocks.each(_anchor_rows, chosen, shared=w)
        rows = packing.aligned_zeros((samples.size, parts[0][0].shape[1]), table.dtype)
        sums = np.zeros(samples.size)
        for which, (of_block, of_sums) in zip(own, parts, strict=True):
            rows[which], sums[which] = of_block, of_sums
        given = blocks.work.shared((w, rows, sums, samples))
        tasks = blocks.of_blocks(_anchor_distances, given)
        size = float(table.n_samples) * samples.size * table.dtype.itemsize
        fits = size <= passes.remaining_memory * blocks.work.n_workers
        self._distances: list[Delayed] = blocks.work.made(tasks) if fits else tasks
        low = np.min(blocks.work.results(lambda: blocks.of_blocks(_smallest, None, self._distances)), axis=0)
        several = table.own_weight[self._anchors] > 1.0
        self._low = np.where(several, np.minimum(low, table.dtype.type(0.0)), low)

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Mean entropy of the anchors' neighborhoods, and its derivative by log σ."""
        blocks, anchors = self._pairs.blocks, self._anchors
        moments = np.empty((3, anchors.size))
        sample_weight = self._pairs.table.own_weight[anchors]
        soft_kernels.own_entropy_moments(
            sample_weight, self._between_duplicates[anchors], per_sigma, self._low, moments
        )
        moments = moments + blocks.total(_entropy_moments, self._distances, shared=(self._low, per_sigma))
        entropy, slope = soft_kernels.entropy_of_moments(moments, self._weights)
        return entropy / self._weights.sum(), slope / self._weights.sum()


# What workers do


def _under(stack: Stack, w: NDArray[np.float64]) -> WeightedRows:
    rows = WeightedRows(stack)
    rows.set_weights(w)
    return rows


def _active(blocks: list[RowBlock], w: NDArray[np.float64]) -> tuple[Stack, WeightedRows]:
    """Blocks with the features that count, under their weights."""
    features = np.flatnonzero(w)
    stack = Stack(blocks, None if features.size == w.size else features)
    return stack, _under(stack, w[features])


def _of_blocks(stack: Stack, of_rows: NDArray[Any]) -> list[NDArray[Any]]:
    """What is known by class and row of the layout, by class and sample of each block."""
    by_sample = stack.unpacked(of_rows.T).T
    return np.split(by_sample, np.cumsum(stack.heights)[:-1], axis=1)


def _laid_out(stack: Stack, of_samples: NDArray[np.floating], padding: float) -> NDArray[np.floating]:
    """What is known by class and sample of the table, by class and row of the layout."""
    # Not an index, which would leave the classes of a sample side by side.
    found = np.take(of_samples, stack.samples, axis=1)
    found[:, ~stack.real] = padding
    return found


def _no_tiles(stack: Stack) -> NDArray[np.floating]:
    return np.empty((0, distances_kernels.TILE, distances_kernels.TILE), stack.dtype)


def _statistics(block: RowBlock, other: RowBlock | None, kernel: Kernel) -> list[Statistics]:
    stack, rows = _active(both(block, other), kernel.w)
    low, mass = tile_statistics(
        stack, rows, _no_tiles(stack), False, kernel.per_sigma, [tuple(stack.cross_tiles)]
    )
    return list(zip(_of_blocks(stack, low), _of_blocks(stack, mass), strict=True))


def _merged(parts: list[Statistics], per_sigma: np.floating) -> Statistics:
    low, mass = np.array(parts[0][0], order="C"), np.array(parts[0][1], order="C")
    for other_low, other_mass in parts[1:]:
        merge_statistics(
            low, mass, np.ascontiguousarray(other_low), np.ascontiguousarray(other_mass), per_sigma
        )
    return low, mass


def _moments(block: RowBlock, other: RowBlock | None, around: Around) -> list[NDArray[np.float64]]:
    kernel = around.kernel
    stack, rows = _active(both(block, other), kernel.w)
    low = _laid_out(stack, around.low, soft_kernels.masked_distance(stack.dtype))
    parts = [tuple(stack.cross_tiles)]
    moments = tile_moments(stack, rows, _no_tiles(stack), False, kernel.per_sigma, low, parts)
    return _of_blocks(stack, moments)


def _coefficients(stack: Stack, around: Around) -> Coefficients:
    low = _laid_out(stack, around.low, soft_kernels.masked_distance(stack.dtype))
    return Coefficients(around.kernel.per_sigma, low, _laid_out(stack, around.scales, 0.0))


def _differences(block: RowBlock, other: RowBlock | None, around: Around) -> NDArray[np.float64]:
    """Σ over the pairs of coefficient·|x − x'|, feature by feature."""
    stack = Stack(both(block, other))
    rows = _under(stack, around.kernel.w)
    return rows.sum_differences(_no_tiles(stack), _coefficients(stack, around), stack.cross_tiles)


def _margins(
    block: RowBlock, other: RowBlock | None, shared: tuple[Around, NDArray[np.int64]]
) -> list[NDArray[np.float64]]:
    """Margins of the rows of each block for some features, as far as they come from the other."""
    around, features = shared
    stack, rows = _active(both(block, other), around.kernel.w)
    by = _coefficients(stack, around)
    columns = Stack(both(block, other), features).X
    sample_weight = stack.sample_weight.astype(stack.dtype)
    Z = np.zeros(columns.shape)
    for side, (first, last) in enumerate(stack.parts):
        low, high = stack.parts[-1 - side]
        for start in range(first, last, distances_kernels.TILE):
            own = np.arange(start, start + distances_kernels.TILE)
            D = packing.aligned_zeros((high - low, own.size), stack.dtype)
            soft_kernels.computed_columns(
                rows.X[low:high], rows.w, rows.sums[low:high], rows.X[own], rows.sums[own], D
            )
            if other is None:
                D[own, np.arange(own.size)] = soft_kernels.masked_distance(stack.dtype)
            soft_kernels.margins_from_distances(
                columns, D, low, start, stack.codes, sample_weight, by.per_sigma, by.low, by.scales, Z
            )
    of_samples = stack.unpacked(Z[:, : features.size])
    return np.split(of_samples, np.cumsum(stack.heights)[:-1])


def _sums(block: RowBlock, w: NDArray[np.float64]) -> NDArray[np.float64]:
    stack = Stack([block])
    return stack.unpacked(_under(stack, w).sums)


def _fingerprints(block: RowBlock, shared: None) -> NDArray[np.float64]:
    stack = Stack([block])
    return stack.unpacked(WeightedRows(stack).fingerprints())


def _anchor_rows(
    block: RowBlock, w: NDArray[np.float64], which: NDArray[np.int64]
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Some rows of a block with the features that count, and their sums."""
    stack, rows = _active([block], w)
    row_of = np.empty(len(block), np.int64)
    row_of[stack.position[stack.real]] = np.flatnonzero(stack.real)
    return rows.X[row_of[which]], rows.sums[row_of[which]]


def _anchor_distances(
    block: RowBlock,
    shared: tuple[NDArray[np.float64], NDArray[np.floating], NDArray[np.float64], NDArray[np.int64]],
) -> list[tuple[NDArray[np.floating], NDArray[np.floating]]]:
    """Distances of the rows of a block to the anchors, some of these at a time, and copies of the rows."""
    w, anchors, anchor_sums, samples = shared
    stack, rows = _active([block], w)
    found = []
    for a, b in even_ranges(len(anchors), len(anchors), multiple=distances_kernels.TILE):
        D = packing.aligned_zeros((stack.n_rows, b - a), stack.dtype)
        soft_kernels.computed_columns(rows.X, rows.w, rows.sums, anchors[a:b], anchor_sums[a:b], D)
        D[stack.samples[:, np.newaxis] == samples[a:b]] = soft_kernels.masked_distance(stack.dtype)
        found.append((D, stack.sample_weight.astype(stack.dtype)))
    return found


def _smallest(
    block: RowBlock, shared: None, found: list[tuple[NDArray[np.floating], NDArray[np.floating]]]
) -> NDArray[np.floating]:
    return np.concatenate([D.min(axis=0) for D, _ in found])


def _entropy_moments(
    block: RowBlock,
    shared: tuple[NDArray[np.floating], np.floating],
    found: list[tuple[NDArray[np.floating], NDArray[np.floating]]],
) -> NDArray[np.float64]:
    low, per_sigma = shared
    moments, first = np.zeros((3, low.size)), 0
    for D, sample_weight in found:
        last = first + D.shape[1]
        of_chunk = np.zeros((3, D.shape[1]))
        soft_kernels.add_entropy_moments(D, sample_weight, per_sigma, low[first:last], of_chunk)
        moments[:, first:last] = of_chunk
        first = last
    return moments


# Margins of single samples by blocks of rows, for the few features that a sparse solution is about.


class RowMargins(ActiveSetMargins):
    """Margins under weights that change, of which few are not 0.

    The margins of all samples for these few are brought here. Sums of all features are made by the workers,
    which find distances, from the few features that count, again each time.
    """

    def __init__(self, table: Packed, memory: float, blocks: RowBlocks) -> None:
        super().__init__(table, memory)
        self._blocks = blocks
        self.stored = False

    def _pairs_over(self, table: Packed) -> RowPasses:
        return RowPasses(table, self._memory, self._blocks)

    def _neighborhoods(
        self, passes: PairwiseDistances, w: NDArray[np.float64], sigma: float
    ) -> RowNeighborhoods:
        assert isinstance(passes, RowPasses)
        return RowNeighborhoods(passes, w, sigma)

    def _columns(self, *of: Any) -> RowMarginColumns:
        return RowMarginColumns(self, *of)


class RowMarginColumns(MarginColumns):
    """The margins z̄_n of all samples under one w; the workers write the columns that they ask for."""

    def _packed_columns(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        return np.empty((0, features.size), self._table.dtype)


# Rows of a table that is worked on by blocks of rows.
#
# Two blocks at a time are compared, each pair by one task, which serves both directions: it takes memory
# for the two blocks and for the distances between them. What they find of their rows merges, in an order
# that is fixed by the blocks. Here are kept numbers by sample, by class and by feature, never those of all
# pairs.


class RowRows(LocalRows):
    """Rows of a table that lie with workers."""

    _table: ClusterPacked

    def __init__(self, table: ClusterPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = RowBlocks(table.raw, table)

    @cached_property
    def _soft(self) -> RowPasses:
        return RowPasses(self._table, self._memory, self._blocks)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> RowNeighborhoods:
        """Who is near whom under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return RowNeighborhoods(self._soft, w, sigma)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | self._table.raw.execution()

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> RowNearestPass:
        return RowNearestPass(self._table, among, anchors, self._blocks)

    def active_set_margins(self) -> RowMargins:
        """Margins of single samples for few features, under weights that are mostly 0."""
        return RowMargins(self._table, self._memory, self._blocks)

    def centered(self) -> CenteredRows:
        """The rows, scaled, measured from their mean."""
        return CenteredRows(self._blocks)
