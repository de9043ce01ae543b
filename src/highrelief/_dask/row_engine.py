"""The engine for a partition by rows.

A task compares two blocks of rows in both directions; it needs memory for the two blocks and for the
distances between them. Its results merge in an order that the blocks alone determine (:mod:`.row_blocks`).
The client stores values by sample, by class and by feature, never of all pairs.

Nearest neighbors take one pass over the pairs of blocks (:mod:`.row_neighbors`), whose lists stay on the
workers for the pass that computes margins. Soft neighborhoods take two: the first merges smallest distances
and kernel masses, the second recomputes the distances and weights the features by the resulting
coefficients. :class:`RowEngine` offers both to the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.active_set import ActivePairs, ActiveSetMargins, exact_sums
from .._engine.cached_property import cached_property
from .._engine.columns import Columns
from .._engine.engine import Engine
from .._engine.layout import DenseTable, Packed
from .._engine.limits import limits
from .._engine.metrics import METRICS
from .._engine.missing_pairs import MissingCorrection
from .._engine.nearest import NearestPass, SampleMargins, mean_gaps
from .._engine.neighbors import HITS, MISSES, Neighborhood, Neighbors
from .._engine.pair_sums import Coefficients, RowsUnderWeights, WeightedRows
from .._engine.quantized import Plan, find_levels, plan_columns
from .._engine.search import NeighborSearch, Report, choose_kind, no_report
from .._engine.soft import (
    PairwiseDistances,
    Statistics,
    WeightedPairs,
    merge_statistics,
    tile_moments,
    tile_statistics,
)
from .._engine.threads import even_ranges
from .._kernels import distances as distances_kernels
from .._kernels import nearest, packing
from .._kernels import soft as soft_kernels
from .matrix import RowMatrix
from .row_blocks import (
    LazyBlock,
    RowBlock,
    RowBlocks,
    StackedBlocks,
    blocks_of_pair,
    centered_rows,
    load_with_each,
    stacked_rows,
)
from .row_neighbors import (
    BlockNeighbors,
    SearchSpec,
    candidates_between,
    finalize_neighbors,
    merge_candidates,
    n_truncated,
    neighbors_in,
    neighbors_within,
    tied_neighbors,
    tied_neighbors_in,
    tied_weight,
    with_tied_weight,
)
from .scheduler import sum_arrays, tree_reduce
from .table import DaskPacked, bounds_of

# Margins at the nearest neighbors: tasks


class MarginSpec(NamedTuple):
    """Parameters of a pass that computes margins, for all its tasks."""

    #: Sign and weight of hits and misses, by class of the anchor and slot.
    slot_factors: NDArray[np.float64]
    #: (n_classes,).
    class_weights: NDArray[np.float64]
    squared: bool
    n_features: int
    #: Which slots to use; None: all.
    used_slots: NDArray[np.bool_] | None
    #: Parameters of the search, to find ties again if lists are truncated; otherwise None.
    search: SearchSpec | None


#: A function of a block, an argument, the neighbors of its anchors, and the margins of the anchors.
MarginFunction = Callable[
    [RowBlock, NDArray[np.float64], Neighbors, NDArray[np.float64]], NDArray[np.float64]
]


class _DirectedNeighbors(NamedTuple):
    """Anchors of one block of a pair, and some of their neighbors in the other; as rows of the pair."""

    #: The block of the anchors (0 or 1), and which of its anchors they are.
    side: int
    which: NDArray[np.int64] | slice
    neighbors: Neighbors


class _BlockPair:
    """Two blocks, or one paired with itself, stacked to compute margins."""

    def __init__(self, block: RowBlock, other: RowBlock | None, spec: MarginSpec) -> None:
        self._block, self._other, self._spec = block, other, spec
        self._blocks = blocks_of_pair(block, other)
        metadata = block.metadata
        self._columns = Columns(stacked_rows(self._blocks), metadata.scaling, metadata.ranges)
        self._codes = np.concatenate([each.codes for each in self._blocks]).astype(np.int64)
        sample_weight = [
            np.ones(len(each)) if each.sample_weight is None else each.sample_weight for each in self._blocks
        ]
        self._weights = np.concatenate(sample_weight) * spec.class_weights[self._codes]
        # The rows of the second block follow those of the first.
        self._first = [block.first] if other is None else [block.first, other.first - len(block)]

    def directions(
        self, neighbors: BlockNeighbors, other_neighbors: BlockNeighbors | None
    ) -> Iterator[_DirectedNeighbors]:
        """Yield the neighbors of the anchors of each block in the other: of lists, then ties beyond these."""
        for side, lists in enumerate(
            [neighbors] if other_neighbors is None else [neighbors, other_neighbors]
        ):
            yield self._directed(side, slice(None), neighbors_within(lists, self._blocks[-1 - side]))
        if self._spec.search is not None:
            for side, which, tied in tied_neighbors(
                self._block, self._other, self._spec.search, neighbors, other_neighbors
            ):
                yield self._directed(side, which, tied)

    def directions_from_first(self, neighbors: BlockNeighbors) -> Iterator[_DirectedNeighbors]:
        """Yield the neighbors of the anchors of the first block in the second, which may be the same."""
        assert self._other is not None
        yield self._directed(0, slice(None), neighbors_within(neighbors, self._other))
        if self._spec.search is not None:
            for which, tied in tied_neighbors_in(self._block, self._other, self._spec.search, neighbors):
                yield self._directed(0, which, tied)

    def _directed(
        self, side: int, which: NDArray[np.int64] | slice, neighbors: Neighbors
    ) -> _DirectedNeighbors:
        anchors, rows = neighbors.anchors - self._first[side], neighbors.rows - self._first[-1 - side]
        used = self._spec.used_slots
        count = neighbors.count if used is None else neighbors.count * used
        return _DirectedNeighbors(side, which, replace(neighbors, anchors=anchors, rows=rows, count=count))

    def add_margins(self, direction: _DirectedNeighbors, out: NDArray[np.float64], *, by_row: bool) -> None:
        """Add the margins at the neighbors to ``out``, in the units of the blocks of columns."""
        neighbors, columns, spec = direction.neighbors, self._columns, self._spec
        sample_of_row = np.arange(columns.n_samples)
        for a, b in columns.cuts():
            array, first = columns.precise_block(a, b)
            margins = np.zeros((neighbors.anchors.size if by_row else 1, b - a))
            nearest.margins(
                array,
                first,
                b - a,
                spec.squared,
                sample_of_row,
                neighbors.anchors,
                0,
                neighbors.anchors.size,
                self._codes,
                self._weights,
                spec.slot_factors,
                neighbors.start,
                neighbors.count,
                neighbors.rows,
                neighbors.shares,
                by_row,
                False,
                margins,
            )
            out[direction.which if by_row else slice(None), a:b] += margins


def margin_sums_between(
    block: RowBlock,
    other: RowBlock | None,
    spec: MarginSpec,
    neighbors: BlockNeighbors,
    other_neighbors: BlockNeighbors | None,
) -> NDArray[np.float64]:
    """Return Σ s·z over the anchors of both blocks, from their neighbors in the other."""
    total = np.zeros((1, block.X.shape[1]))
    pair = _BlockPair(block, other, spec)
    for direction in pair.directions(neighbors, other_neighbors):
        pair.add_margins(direction, total, by_row=False)
    return total


def margins_between(
    block: RowBlock,
    other: RowBlock | None,
    spec: MarginSpec,
    neighbors: BlockNeighbors,
    other_neighbors: BlockNeighbors | None,
) -> list[NDArray[np.float64]]:
    """Return the margins of the anchors of each block, from their neighbors in the other."""
    lists = [each for each in (neighbors, other_neighbors) if each is not None]
    margins = [np.zeros((each.anchors.size, block.X.shape[1])) for each in lists]
    pair = _BlockPair(block, other, spec)
    for direction in pair.directions(neighbors, other_neighbors):
        pair.add_margins(direction, margins[direction.side], by_row=True)
    return margins


def apply_to_margins(
    block: LazyBlock,
    blocks: list[LazyBlock],
    spec: MarginSpec,
    neighbors: BlockNeighbors,
    function: MarginFunction,
    argument: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the result of a function of the margins of the anchors of a block, loading others in turn."""
    margins = np.zeros((neighbors.anchors.size, spec.n_features))
    # If lists are truncated, any block may have neighbors.
    truncated = spec.search is not None and neighbors.anchors.size > 0
    others = [each for each in blocks if truncated or neighbors_within(neighbors, each).rows.size]
    own = None
    for own, other in load_with_each(block, others):
        pair = _BlockPair(own, other, spec)
        for direction in pair.directions_from_first(neighbors):
            pair.add_margins(direction, margins, by_row=True)
        del pair  # before the next block is loaded
    return function(own or block.load(), argument, neighbors, margins)


def margins_of_rows(
    block: RowBlock, factors: NDArray[np.float64], neighbors: Neighbors, margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the scaled margins of all rows of a block; 0 for rows that are no anchors."""
    rows = np.zeros(block.X.shape)
    rows[neighbors.anchors - block.first] = margins * factors
    return rows


def weighted_margins(
    block: RowBlock, weights: NDArray[np.float64], neighbors: Neighbors, margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Σ_j w_j z_j of all rows of a block; 0 for rows that are no anchors."""
    sums = np.zeros(len(block))
    sums[neighbors.anchors - block.first] = margins @ weights
    return sums


def margin_moments(
    block: RowBlock, class_weights: NDArray[np.float64], neighbors: Neighbors, z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Σ s·z, Σ s²z and Σ s²z² over the anchors of a block."""
    anchors = neighbors.anchors - block.first
    s = class_weights[block.codes[anchors]]
    if block.sample_weight is not None:
        s = s * block.sample_weight[anchors]
    return np.stack([s @ z, s**2 @ z, s**2 @ z**2])


def _levels(block: RowBlock, shared: None) -> NDArray[np.int64]:
    columns = Columns(block.X, block.metadata.scaling, block.metadata.ranges)
    return np.stack(find_levels(columns, 1)).astype(np.int64)


def _tied_of_pair(
    block: RowBlock,
    other: RowBlock | None,
    spec: SearchSpec,
    neighbors: BlockNeighbors,
    other_neighbors: BlockNeighbors | None,
) -> list[Neighbors]:
    """Return the neighbors missing from truncated lists."""
    return [tied for _, _, tied in tied_neighbors(block, other, spec, neighbors, other_neighbors)]


# Distances between the neighbors of a sample: tasks


def neighbor_rows(block: RowBlock, neighbors: Neighbors) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the rows of a block that are neighbors: their indices in the table, and their values."""
    samples = np.unique(neighbors_within(neighbors, block).rows)
    return samples, block.X[samples - block.first]


def gaps(
    block: RowBlock, neighbors: Neighbors, rows: list[tuple[NDArray[np.int64], NDArray[Any]]]
) -> NDArray[np.float64]:
    """Return E‖miss − hit‖₁ of all rows of a block, from the rows that are neighbors."""
    gaps = np.zeros(len(block))
    if not neighbors.anchors.size:
        return gaps
    samples = np.concatenate([indices for indices, _ in rows])
    X = np.concatenate([values for _, values in rows])
    indexed = replace(neighbors, rows=np.searchsorted(samples, neighbors.rows))
    gaps[neighbors.anchors - block.first] = _mean_gaps(block, X, indexed)
    return gaps


def gaps_between(
    block: RowBlock,
    neighbors: BlockNeighbors,
    hit_block: RowBlock,
    miss_block: RowBlock,
    spec: SearchSpec,
) -> NDArray[np.float64]:
    """Return the part of E‖miss − hit‖₁ of all rows of a block with hits and misses in two other blocks."""
    gaps = np.zeros(len(block))
    if not neighbors.anchors.size:
        return gaps
    hits = neighbors_in(block, hit_block, spec, neighbors).without(MISSES)
    misses = neighbors_in(block, miss_block, spec, neighbors).without(HITS)
    # Lists and rows of the misses follow those of the hits.
    stacked = Neighbors(
        neighbors.anchors,
        np.stack([hits.start[:, HITS], hits.rows.size + misses.start[:, MISSES]], axis=1),
        hits.count + misses.count,
        hits.n_certain,
        np.concatenate([hits.rows - hit_block.first, misses.rows - miss_block.first + len(hit_block)]),
        np.concatenate([hits.shares, misses.shares]),
    )
    X = stacked_rows([hit_block, miss_block])
    gaps[neighbors.anchors - block.first] = _mean_gaps(block, X, stacked)
    return gaps


def gaps_of_lazy_blocks(
    block: LazyBlock, blocks: list[LazyBlock], search: SearchSpec | None, neighbors: BlockNeighbors
) -> NDArray[np.float64]:
    """Return E‖miss − hit‖₁ of all rows of a block, loading others in turn."""
    own = block.load()
    if search is None:
        used = [each for each in blocks if neighbors_within(neighbors, each).rows.size]
        return gaps(own, neighbors, [neighbor_rows(each.load(), neighbors) for each in used])
    return sum(
        (
            gaps_between(own, neighbors, hit_block, miss_block, search)
            for lazy_block in blocks
            for hit_block, miss_block in load_with_each(lazy_block, blocks)
        ),
        np.zeros(len(own)),
    )


def _mean_gaps(block: RowBlock, X: NDArray[Any], neighbors: Neighbors) -> NDArray[np.float64]:
    """Return E‖miss − hit‖₁ of anchors whose neighbors are rows of X."""
    scaling, ranges = block.metadata.scaling, block.metadata.ranges
    # With one class, the layout has the order of X.
    table = Packed(X, np.zeros(len(X), np.int64), 1, scaling=scaling, ranges=ranges)
    return mean_gaps(table, Columns(X, scaling, ranges), neighbors)


# Nearest neighbors


@dataclass(frozen=True)
class RowNeighborLists:
    """The result of a neighbor search, on the workers."""

    #: A :class:`.row_neighbors.BlockNeighbors` per block.
    by_block: list[Delayed]
    #: Parameters of the search, to find ties again if lists are truncated; otherwise None.
    search: SearchSpec | None


class RowSearch(NeighborSearch):
    """A search for the nearest neighbors of the anchors, by pairs of blocks of rows."""

    def __init__(self, blocks: RowBlocks, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        table = blocks.table

        def plan() -> Plan:
            is_other, is_middle = blocks.sum_blocks(_levels) > 0
            return plan_columns(table.columns, is_other, is_middle, table.tie_tolerance)

        self._blocks, self._metric = blocks, METRICS[neighborhood.metric]
        self._kind = choose_kind(table.columns, self._metric, plan)
        super().__init__(table, neighborhood, anchors, exact=self._kind.exact)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return self._kind.describe()

    @property
    def n_reports(self) -> int:
        """Number of progress reports of a search."""
        return 1

    @property
    def spec(self) -> SearchSpec:
        """Parameters of the search, for its tasks."""
        table = self._table
        return SearchSpec(
            self._kind,
            self._metric,
            self._tolerance,
            float(self._nearest.n_ranks),
            self._nearest.rank_weights,
            self._nearest.uniform,
            self._nearest.pooled,
            self._nearest.n_slots,
            table.unpacked(self._searched),
            table.input_sample_weight,
        )

    def has_anchors(self, i: int, j: int) -> bool:
        """Return whether one of two blocks has anchors; True for all pairs if there are no anchors."""
        return (
            self._blocks_with_anchors[i] or self._blocks_with_anchors[j] or not any(self._blocks_with_anchors)
        )

    @cached_property
    def _blocks_with_anchors(self) -> list[bool]:
        is_anchor = self._table.unpacked(self._searched)
        return [bool(is_anchor[a:b].any()) for a, b in self._blocks.bounds]

    def lists(self) -> RowNeighborLists:
        """Return the neighbors of the anchors of every block, left on the workers."""
        blocks, executor, spec = self._blocks, self._blocks.executor, self.spec
        by_block = executor.materialize(self._tasks(spec))
        numbers = executor.compute(lambda: [delayed(n_truncated, pure=False)(each) for each in by_block])
        if not any(numbers):
            return RowNeighborLists(by_block, None)
        pairs = blocks.map_pairs(
            tied_weight, executor.broadcast(spec), by_block, where=lambda i, j: numbers[i] + numbers[j] > 0
        )
        task = delayed(with_tied_weight, pure=False)
        weights = blocks.merge_by_block(pairs, sum_arrays)
        by_block = executor.materialize([task(*each) for each in zip(by_block, weights, strict=True)])
        return RowNeighborLists(by_block, spec)

    def _tasks(self, spec: SearchSpec) -> list[Delayed]:
        """Return tasks whose results are the neighbors of the anchors of every block."""
        shared = self._blocks.executor.broadcast(spec)
        pairs = self._blocks.map_pairs(candidates_between, shared, where=self.has_anchors)
        candidates = self._blocks.merge_by_block(pairs, merge_candidates, shared)
        task = delayed(finalize_neighbors, pure=False)
        return [task(each, shared) for each in candidates]

    def neighbors(self, report: Report = no_report) -> Iterator[Neighbors]:
        """Yield the neighbors of all anchors that have a hit, block by block, gathered on the client."""
        blocks, row_of = self._blocks, self._table.row_of_sample
        lists = self.lists()
        neighbors: list[Neighbors] = blocks.executor.compute(lambda: lists.by_block)
        if lists.search is not None:
            for tied in blocks.executor.compute(
                lambda: list(
                    blocks.map_pairs(_tied_of_pair, blocks.broadcast(lists.search), lists.by_block).values()
                )
            ):
                neighbors += tied
        report()
        for each in neighbors:
            if each.anchors.size:
                yield replace(each, anchors=row_of[each.anchors], rows=row_of[each.rows])


class RowNearestPass(NearestPass):
    """One pass over the nearest neighbors of the anchors, by pairs of blocks of rows."""

    _search: RowSearch

    def __init__(self, blocks: RowBlocks, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        self._blocks, search = blocks, RowSearch(blocks, neighborhood, anchors)
        super().__init__(blocks.table, neighborhood, anchors, search)
        self._metric = METRICS[neighborhood.metric]
        self._column_factors = self._metric.margin_factors(blocks.table.columns.factors)

    def sums(self, report: Report = no_report, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Return Σ s·z over the anchors, z = E|x − miss| − E|x − hit|; with squares also Σ s²z and Σ s²z².

        s is the weight of an anchor.
        """
        lists = self._search.lists()

        def tasks() -> list[Delayed]:
            if with_squares:
                return self._margin_tasks(lists, margin_moments, self._class_weights)
            return self._sum_tasks(lists)

        total = self._blocks.executor.reduce(tasks, sum_arrays)
        report()
        factors = self._column_factors
        total[:2] *= factors
        if with_squares:
            total[2] *= factors**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        lists, weights = self._search.lists(), self._column_factors * w
        return np.concatenate(
            self._blocks.executor.compute(lambda: self._margin_tasks(lists, weighted_margins, weights))
        )

    def sample_margins(
        self, report: Report = no_report, *, separate: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Return the margins of every sample, as a matrix that the workers store.

        A small matrix is gathered on the client.
        """
        table, executor = self._table, self._blocks.executor
        lists = self._search.lists()
        factors = self._column_factors
        tasks = []
        # The factors of hits are negative: their own rows are positive.
        for slot, sign in [(HITS, -1.0), (MISSES, 1.0)] if separate else [(None, 1.0)]:
            tasks += self._margin_tasks(lists, margins_of_rows, sign * factors, slot)
        bounds = bounds_of([b - a for a, b in self._blocks.bounds] * (1 + separate))
        matrix = RowMatrix(executor.materialize(tasks), bounds, table.n_features, executor)
        between = np.zeros(0)
        if gaps:
            between = np.concatenate(executor.compute(lambda: self._gap_tasks(lists)))
        report()
        rows = np.asarray(matrix) if matrix.nbytes <= limits.max_gathered_bytes else matrix
        return SampleMargins(rows, between, table.unpacked(self._anchors & table.has_hit))

    # Tasks

    def _spec(self, lists: RowNeighborLists, slot: int | None = None) -> MarginSpec:
        """Return the parameters of a pass that computes margins at one slot, or at all."""
        used = None if slot is None else np.arange(self._slot_factors.shape[1]) == slot
        n_features = self._table.n_features
        return MarginSpec(
            self._slot_factors,
            self._class_weights,
            self._metric.squares_margins,
            n_features,
            used,
            lists.search,
        )

    @property
    def _class_weights(self) -> NDArray[np.float64]:
        weights = self._table.class_weights
        return np.ones(self._table.n_classes) if weights is None else weights

    def _sum_tasks(self, lists: RowNeighborLists) -> list[Delayed]:
        shared = self._blocks.executor.broadcast(self._spec(lists))
        pairs = self._blocks.map_pairs(
            margin_sums_between, shared, lists.by_block, where=self._search.has_anchors
        )
        return list(pairs.values())

    def _margin_tasks(
        self,
        lists: RowNeighborLists,
        function: MarginFunction,
        argument: NDArray[np.float64],
        slot: int | None = None,
    ) -> list[Delayed]:
        """Return tasks with a function of the margins of every block's anchors, at one slot or at all."""
        blocks, executor = self._blocks, self._blocks.executor
        spec, shared = executor.broadcast(self._spec(lists, slot)), executor.broadcast(argument)
        if executor.is_distributed:
            pairs = blocks.map_pairs(margins_between, spec, lists.by_block, where=self._search.has_anchors)
            margins = blocks.merge_by_block(pairs, sum_arrays)
            return blocks.map_blocks(function, shared, lists.by_block, margins)
        # With threads, margins of pairs of blocks would be in memory until all of them are computed.
        n_blocks = len(lists.by_block)
        same = [function] * n_blocks, [shared] * n_blocks
        return blocks.map_lazy_blocks(apply_to_margins, spec, lists.by_block, *same)

    def _gap_tasks(self, lists: RowNeighborLists) -> list[Delayed]:
        """Return tasks that compute E‖miss − hit‖₁ of all rows of every block."""
        blocks, executor = self._blocks.blocks, self._blocks.executor
        if not executor.is_distributed:
            shared = executor.broadcast(lists.search)
            return self._blocks.map_lazy_blocks(gaps_of_lazy_blocks, shared, lists.by_block)
        if lists.search is None:
            # Only the rows that are neighbors are sent.
            rows_task, task = delayed(neighbor_rows, pure=False), delayed(gaps, pure=False)
            return [
                task(block, neighbors, [rows_task(other, neighbors) for other in blocks])
                for block, neighbors in zip(blocks, lists.by_block, strict=True)
            ]
        shared, task = executor.broadcast(lists.search), delayed(gaps_between, pure=False)
        return [
            tree_reduce(
                [task(block, neighbors, hits, misses, shared) for hits in blocks for misses in blocks],
                sum_arrays,
            )
            for block, neighbors in zip(blocks, lists.by_block, strict=True)
        ]


# Soft neighborhoods: tasks


class SoftKernel(NamedTuple):
    """Feature weights and inverse width of a soft neighborhood, for all tasks of a pass."""

    w: NDArray[np.float64]
    per_sigma: np.floating


class SampleCoefficients(NamedTuple):
    """:class:`.pair_sums.Coefficients` by class and sample of the table, for the tasks of a second pass."""

    kernel: SoftKernel
    low: NDArray[np.floating]
    scales: NDArray[np.floating]


def _active(blocks: list[RowBlock], w: NDArray[np.float64]) -> tuple[StackedBlocks, RowsUnderWeights]:
    """Return stacked blocks with the features of nonzero weight, and their rows under these weights."""
    features = np.flatnonzero(w)
    stack = StackedBlocks(blocks, None if features.size == w.size else features)
    return stack, WeightedRows(stack).under(w[features])


def _by_block(stack: StackedBlocks, by_row: NDArray[Any]) -> list[NDArray[Any]]:
    """Return values by class and row of the layout, by class and sample of each block."""
    by_sample = stack.unpacked(by_row.T).T
    return np.split(by_sample, np.cumsum(stack.heights)[:-1], axis=1)


def _laid_out(stack: StackedBlocks, by_sample: NDArray[np.floating], padding: float) -> NDArray[np.floating]:
    """Return values by class and sample of the table, by class and row of the layout."""
    # Not an index, which would leave the classes of a sample side by side.
    by_row = np.take(by_sample, stack.samples, axis=1)
    by_row[:, ~stack.is_sample] = padding
    return by_row


def _no_tiles(dtype: np.dtype[Any]) -> NDArray[np.floating]:
    """Return no tiles: distances are not stored."""
    return np.empty((0, distances_kernels.TILE, distances_kernels.TILE), dtype)


def _statistics(block: RowBlock, other: RowBlock | None, kernel: SoftKernel) -> list[Statistics]:
    stack, rows = _active(blocks_of_pair(block, other), kernel.w)
    tiles, parts = _no_tiles(stack.dtype), [tuple(stack.cross_tiles)]
    low, mass = tile_statistics(stack, rows, tiles, False, kernel.per_sigma, parts)
    return list(zip(_by_block(stack, low), _by_block(stack, mass), strict=True))


def _merge_statistics(parts: list[Statistics], per_sigma: np.floating) -> Statistics:
    low, mass = np.array(parts[0][0], order="C"), np.array(parts[0][1], order="C")
    for other_low, other_mass in parts[1:]:
        merge_statistics(
            low, mass, np.ascontiguousarray(other_low), np.ascontiguousarray(other_mass), per_sigma
        )
    return low, mass


def _moments(
    block: RowBlock, other: RowBlock | None, coefficients: SampleCoefficients
) -> list[NDArray[np.float64]]:
    kernel = coefficients.kernel
    stack, rows = _active(blocks_of_pair(block, other), kernel.w)
    low = _laid_out(stack, coefficients.low, soft_kernels.masked_distance(stack.dtype))
    tiles, parts = _no_tiles(stack.dtype), [tuple(stack.cross_tiles)]
    return _by_block(stack, tile_moments(stack, rows, tiles, False, kernel.per_sigma, low, parts))


def _coefficients(stack: StackedBlocks, coefficients: SampleCoefficients) -> Coefficients:
    low = _laid_out(stack, coefficients.low, soft_kernels.masked_distance(stack.dtype))
    return Coefficients(coefficients.kernel.per_sigma, low, _laid_out(stack, coefficients.scales, 0.0))


def _differences(
    block: RowBlock, other: RowBlock | None, coefficients: SampleCoefficients
) -> NDArray[np.float64]:
    """Return Σ over the pairs of coefficient·|x − x'|, feature by feature."""
    stack = StackedBlocks(blocks_of_pair(block, other))
    by, tiles = _coefficients(stack, coefficients), _no_tiles(stack.dtype)
    return WeightedRows(stack).sum_differences(coefficients.kernel.w, tiles, by, stack.cross_tiles)


def _margins(
    block: RowBlock, other: RowBlock | None, shared: tuple[SampleCoefficients, NDArray[np.int64]]
) -> list[NDArray[np.float64]]:
    """Return the margins of the rows of each block for some features, from the rows of the other."""
    coefficients, features = shared
    blocks = blocks_of_pair(block, other)
    stack, rows = _active(blocks, coefficients.kernel.w)
    by = _coefficients(stack, coefficients)
    columns = StackedBlocks(blocks, features).X
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
    by_sample = stack.unpacked(Z[:, : features.size])
    return np.split(by_sample, np.cumsum(stack.heights)[:-1])


def _row_sums(block: RowBlock, w: NDArray[np.float64]) -> NDArray[np.float64]:
    stack = StackedBlocks([block])
    return stack.unpacked(WeightedRows(stack).under(w).sums)


def _fingerprints(block: RowBlock, shared: None) -> NDArray[np.float64]:
    stack = StackedBlocks([block])
    return stack.unpacked(WeightedRows(stack).fingerprints())


def _anchor_rows(
    block: RowBlock, w: NDArray[np.float64], anchors: NDArray[np.int64]
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Return the anchors among the rows of a block with the features of nonzero weight, and their sums."""
    stack, rows = _active([block], w)
    own = stack.row_of_sample[anchors]
    return rows.X[own], rows.sums[own]


#: Distances of the rows of a block to some anchors, and the sample weights of the rows.
_AnchorChunk = tuple[NDArray[np.floating], NDArray[np.floating]]


def _anchor_distances(
    block: RowBlock,
    shared: tuple[NDArray[np.float64], NDArray[np.floating], NDArray[np.float64], NDArray[np.int64]],
) -> list[_AnchorChunk]:
    """Return the distances of the rows of a block to the anchors, in chunks of anchors."""
    w, anchors, anchor_sums, samples = shared
    stack, rows = _active([block], w)
    chunks = []
    for a, b in even_ranges(len(anchors), len(anchors), multiple=distances_kernels.TILE):
        D = packing.aligned_zeros((stack.n_rows, b - a), stack.dtype)
        soft_kernels.computed_columns(rows.X, rows.w, rows.sums, anchors[a:b], anchor_sums[a:b], D)
        D[stack.samples[:, np.newaxis] == samples[a:b]] = soft_kernels.masked_distance(stack.dtype)
        chunks.append((D, stack.sample_weight.astype(stack.dtype)))
    return chunks


def _smallest(block: RowBlock, shared: None, chunks: list[_AnchorChunk]) -> NDArray[np.floating]:
    return np.concatenate([D.min(axis=0) for D, _ in chunks])


def _entropy_moments(
    block: RowBlock, shared: tuple[NDArray[np.floating], np.floating], chunks: list[_AnchorChunk]
) -> NDArray[np.float64]:
    low, per_sigma = shared
    moments, first = np.zeros((3, low.size)), 0
    for D, sample_weight in chunks:
        last = first + D.shape[1]
        chunk_moments = np.zeros((3, D.shape[1]))
        soft_kernels.add_entropy_moments(D, sample_weight, per_sigma, low[first:last], chunk_moments)
        moments[:, first:last] = chunk_moments
        first = last
    return moments


# Soft neighborhoods


class RowPairwiseDistances(PairwiseDistances["RowWeightedPairs"]):
    """Distances of all pairs of rows, which the workers recompute in every pass.

    Parameters
    ----------
    memory : float
        Bytes that a worker may use for distances of anchors.
    blocks : RowBlocks
        The rows on the workers.
    """

    stored = False

    def __init__(self, memory: float, blocks: RowBlocks) -> None:
        super().__init__(blocks.table, MissingCorrection.of(blocks.table))
        self.memory, self.blocks = memory, blocks

    def _weighted(self, w: NDArray[np.float64]) -> RowWeightedPairs:
        return RowWeightedPairs(self, w)

    def _row_fingerprints(self) -> NDArray[np.float64]:
        return self.table.laid_out(np.concatenate(self.blocks.compute_blocks(_fingerprints)))


class RowWeightedPairs(WeightedPairs):
    """Passes over all pairs of rows, by pairs of blocks."""

    def __init__(self, distances: RowPairwiseDistances, w: NDArray[np.float64]) -> None:
        super().__init__(distances, w)
        self.blocks, self.memory = distances.blocks, distances.memory

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Weighted sum of every row, (n_rows,)."""
        return self.table.laid_out(np.concatenate(self.blocks.compute_blocks(_row_sums, shared=self.w)))

    def statistics(self, per_sigma: np.floating) -> Statistics:
        """Return the smallest distance and mass of every class for every row, over other rows."""
        kernel = SoftKernel(self.w, per_sigma)
        merged = self.blocks.compute_merged(_statistics, _merge_statistics, per_sigma, shared=kernel)
        low, mass = zip(*merged, strict=True)
        masked = soft_kernels.masked_distance(self.table.dtype)
        return self._by_class_and_row(list(low), masked), self._by_class_and_row(list(mass), 0.0)

    def moments(self, per_sigma: np.floating, low: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return Σ f·(d − low)/σ over the other rows of every class, for every row, (n_classes, n_rows)."""
        shared = SampleCoefficients(SoftKernel(self.w, per_sigma), self._by_sample(low), np.empty(0))
        return self._by_class_and_row(self.blocks.compute_merged(_moments, sum_arrays, shared=shared), 0.0)

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature."""
        return self.blocks.sum_pairs(_differences, shared=self._sample_coefficients(by))

    def margin_columns(
        self, by: Coefficients, features: NDArray[np.int64], table: DenseTable, correction: MissingCorrection
    ) -> NDArray[np.float64]:
        """Return Σ_i coefficient·|x_n − x_i| of every row for some features; workers scale the columns."""
        shared = self._sample_coefficients(by), features
        return table.laid_out(np.concatenate(self.blocks.compute_merged(_margins, sum_arrays, shared=shared)))

    def anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> RowAnchorColumns:
        """Return the distances of all rows to some of them, each of which has a weight, on the workers."""
        return RowAnchorColumns(self, anchors, weights)

    def _sample_coefficients(self, by: Coefficients) -> SampleCoefficients:
        """Return coefficients for the tasks of a pass."""
        kernel = SoftKernel(self.w, by.per_sigma)
        return SampleCoefficients(kernel, self._by_sample(by.low), self._by_sample(by.scales))

    def _by_sample(self, by_row: NDArray[Any]) -> NDArray[Any]:
        """Return values by class and row of the layout, by class and sample."""
        return np.ascontiguousarray(self.table.unpacked(by_row.T).T)

    def _by_class_and_row(self, parts: list[NDArray[Any]], padding: float) -> NDArray[Any]:
        """Return values of blocks by class and sample, by class and row of the layout."""
        by_row = np.take(np.concatenate(parts, axis=1), self.table.sample_of_row, axis=1)
        by_row[:, ~self.table.is_sample] = padding
        return by_row


class RowAnchorColumns:
    """Distances of all rows to the anchors, on the workers; an :class:`.AnchorEntropy`.

    They are stored there if they fit into the memory that each worker may take; otherwise recomputed.
    """

    def __init__(
        self, pairs: RowWeightedPairs, anchors: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        table, blocks, executor = pairs.table, pairs.blocks, pairs.blocks.executor
        self._blocks, self._weights = blocks, weights
        self._own = table.own_weight[anchors], pairs.between_duplicates[anchors]
        samples = table.sample_of_row[anchors]
        indices = [np.flatnonzero((samples >= a) & (samples < b)) for a, b in blocks.bounds]
        block_rows = [samples[own] - a for own, (a, _) in zip(indices, blocks.bounds, strict=True)]
        parts = blocks.compute_blocks(_anchor_rows, block_rows, shared=pairs.w)
        rows = packing.aligned_zeros((samples.size, parts[0][0].shape[1]), table.dtype)
        sums = np.zeros(samples.size)
        for own, (anchor_rows, anchor_sums) in zip(indices, parts, strict=True):
            rows[own], sums[own] = anchor_rows, anchor_sums
        tasks = blocks.map_blocks(_anchor_distances, executor.broadcast((pairs.w, rows, sums, samples)))
        size = float(table.n_samples) * samples.size * table.dtype.itemsize
        fits = size <= pairs.memory * executor.n_workers
        self._distances: list[Delayed] = executor.materialize(tasks) if fits else tasks
        low = np.min(blocks.compute_blocks(_smallest, self._distances), axis=0)
        several = table.own_weight[anchors] > 1.0
        self._low = np.where(several, np.minimum(low, table.dtype.type(0.0)), low)

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Return the mean entropy of the anchors' neighborhoods, and its derivative by log σ."""
        moments = np.empty((3, self._low.size))
        soft_kernels.own_entropy_moments(*self._own, per_sigma, self._low, moments)
        shared = self._low, per_sigma
        moments = moments + self._blocks.sum_blocks(_entropy_moments, self._distances, shared=shared)
        entropy, slope = soft_kernels.entropy_of_moments(moments, self._weights)
        return entropy / self._weights.sum(), slope / self._weights.sum()


# Margins of single samples, for the few features of a sparse solution


class RowActiveSetMargins(ActiveSetMargins):
    """Margins under weights that change and are mostly 0.

    The client gathers the margins of all samples for the features of nonzero weight. The workers compute sums
    over all features, from distances that they recompute each time.

    Parameters
    ----------
    memory, blocks
        As in :class:`RowPairwiseDistances`.
    """

    def __init__(self, memory: float, blocks: RowBlocks) -> None:
        super().__init__(blocks.table, stored=False, copied=0.0)
        self._distances = RowPairwiseDistances(memory, blocks)

    def _under(self, w: NDArray[np.float64]) -> ActivePairs:
        pairs = self._distances.under(w)
        return ActivePairs(pairs, exact_sums(pairs))

    def _all_fingerprints(self) -> NDArray[np.float64]:
        return self._distances.fingerprints


class RowEngine(Engine):
    """Rows of a Dask-backed table in a partition by rows; parameters as in :class:`.Engine`."""

    def __init__(self, table: DaskPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = RowBlocks(table)

    def _backend_execution(self) -> dict[str, Any]:
        return self._blocks.source.execution()

    def nearest(self, neighborhood: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """Return a pass over the nearest neighbors of the anchors (None: all samples)."""
        return RowNearestPass(self._blocks, neighborhood, self._anchor_rows(anchors))

    @cached_property
    def _pairs(self) -> RowPairwiseDistances:
        return RowPairwiseDistances(self._memory, self._blocks)

    @cached_property
    def active_set_margins(self) -> RowActiveSetMargins:
        """Margins of single samples under weights of which few are not 0."""
        return RowActiveSetMargins(self._memory, self._blocks)

    def centered(self) -> RowMatrix:
        """Return the scaled rows minus their mean."""
        return centered_rows(self._blocks)
