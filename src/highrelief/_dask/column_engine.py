"""The engine for Dask collections split by columns.

Distances add up over columns. Each worker computes the contribution of its columns to the distances of all
pairs; the contributions are summed, one worker determines the neighborhoods, and each worker computes the
margins of its own columns. The table itself is never moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.active_set import ActivePairs, ActiveSetMargins, BoundedSums, exact_sums
from .._engine.cached_property import cached_property
from .._engine.columns import CenteredColumns, Columns
from .._engine.distances import FloatDistances, exact_distances
from .._engine.engine import Engine
from .._engine.labelings import Pairs, RelabeledRows, added_distances, summed_pairs
from .._engine.layout import DenseTable, Layout, Packed
from .._engine.metrics import METRICS
from .._engine.missing_pairs import MissingCorrection
from .._engine.nearest import NearestPass, NeighborMargins, SampleMargins, mean_gaps
from .._engine.neighbors import (
    NearestK,
    Neighborhood,
    Neighbors,
    TieSharing,
    distance_array,
    mask_pairs,
    work_ranges,
)
from .._engine.pair_sums import (
    Coefficients,
    RowsUnderWeights,
    WeightedBlocks,
    fill_from_minima,
    parts_of_tiles,
    stored_rows,
    sums_of_products,
    tile_parts,
    to_coefficients,
)
from .._engine.quantized import Plan, QuantizedDistances, plan_columns
from .._engine.scaling import ColumnRanges, Scaling, float_type
from .._engine.search import (
    DistanceKind,
    NeighborSearch,
    Report,
    choose_kind,
    distances_of_kind,
    no_report,
    padded_rows,
)
from .._engine.soft import (
    AnchorColumns,
    DistanceColumns,
    LocalPairwiseDistances,
    LocalWeightedPairs,
    PairwiseDistances,
    Statistics,
    WeightedPairs,
    distance_columns,
    margin_columns,
    parts_of_pass,
    tile_moments,
    tile_statistics,
)
from .._engine.threads import even_ranges
from .._kernels import packing
from .matrix import ColumnMatrix
from .scheduler import (
    Worker,
    exclusive_on_worker,
    locked_cached_property,
    reduce_to_fan_in,
    sum_arrays,
    worker_threads,
)
from .table import DaskPacked, TableBlocks


class LayoutSpec(NamedTuple):
    """Inputs of the layout that all blocks share: classes and weights of the samples."""

    codes: NDArray[np.integer]
    n_classes: int
    sample_weight: NDArray[np.float64] | None
    class_weights: NDArray[np.float64] | None
    #: A power of 2 that scales the largest scaled range of all columns to about 1.
    distance_unit: float

    def packed(self, X: NDArray[Any], n_threads: int, **metadata: Any) -> Packed:
        """Return some columns of the samples in the layout of the kernels."""
        return Packed(X, self.codes, self.n_classes, n_threads=n_threads, **self._weights, **metadata)

    def layout(self, n_threads: int) -> Layout:
        """Return the layout of the rows."""
        return Layout(self.codes, self.n_classes, n_threads=n_threads, **self._weights)

    @property
    def _weights(self) -> dict[str, Any]:
        return {"sample_weight": self.sample_weight, "class_weights": self.class_weights}


class ColumnBlock:
    """Some columns of all samples, on a worker.

    Parameters
    ----------
    X : (n_samples, width)
        The columns, not scaled.
    layout : LayoutSpec
        Inputs of the layout, shared by all blocks.
    scaling : Scaling
        Of these columns.
    ranges : ColumnRanges
        Of these columns.
    first : int
        Index of the first of them in the table.
    """

    def __init__(
        self, X: NDArray[Any], layout: LayoutSpec, scaling: Scaling, ranges: ColumnRanges, first: int
    ) -> None:
        self.X, self.layout, self.scaling, self.ranges, self.first = X, layout, scaling, ranges, first

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which Dask decides what to spill."""
        return object.__sizeof__(self) + self.X.nbytes

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent or spilled: nothing that can be recomputed."""
        return {name: value for name, value in self.__dict__.items() if name not in ("table", "columns")}

    @cached_property
    def table(self) -> Packed:
        """The columns in the layout of the kernels, for all threads of the worker."""
        return self.layout.packed(self.X, worker_threads(1), scaling=self.scaling, ranges=self.ranges)

    @cached_property
    def columns(self) -> Columns:
        """The columns, with the distance unit of all blocks."""
        return Columns(self.X, self.scaling, self.ranges, self.layout.distance_unit)


class ColumnBlocks(TableBlocks):
    """All blocks of columns of a table, and tasks that run where their block is stored.

    Parameters
    ----------
    table : DaskPacked
        The table, in blocks of columns.
    """

    pinned = True

    def __init__(self, table: DaskPacked) -> None:
        super().__init__(table)
        unit = table.columns.distance_unit
        sample_weight = table.input_sample_weight if table.has_sample_weight else None
        self.layout = LayoutSpec(table.input_codes, table.n_classes, sample_weight, table.class_weights, unit)

    @property
    def levels(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Result of :func:`.._engine.quantized.find_levels` for all columns."""
        return self.source.levels

    @property
    def shared_layout(self) -> Delayed:
        """The layout, persisted."""
        return self._persisted[0]

    @property
    def blocks(self) -> list[Delayed]:
        """The blocks with their metadata, persisted."""
        return self._persisted[1:]

    @locked_cached_property
    def _persisted(self) -> list[Delayed]:
        """The layout, and the blocks."""
        ranges = self.table.ranges
        layout = self.executor.broadcast(self.layout)
        values = [layout]
        self.executor.locate(self.source.blocks)
        for X, (a, b) in zip(self.source.blocks, self.bounds, strict=True):
            metadata = self.table.scaling.of(slice(a, b)), ranges.of_features(np.arange(a, b))
            values.append(self.task(ColumnBlock, X, layout, *metadata, a, allow_other_workers=True))
        persisted = self.executor.persist(values)
        for block, X in zip(persisted[1:], self.source.blocks, strict=True):
            self.executor.set_same_address(block, X)
        return persisted

    def joined(
        self, function: Callable[..., NDArray[Any]], *arguments: Any, shared: Any = None
    ) -> NDArray[Any]:
        """Return the results of a function of each block, concatenated along the last axis."""
        same = ([argument] * len(self.bounds) for argument in arguments)
        return np.concatenate(self.compute_blocks(function, *same, shared=shared), axis=-1)

    def matrix(
        self, function: Callable[..., NDArray[Any]], *arguments: Any, n_rows: int, shared: Any = None
    ) -> ColumnMatrix:
        """Return the results of a function of each block as a matrix that the workers store."""
        last = self.broadcast(shared)
        tasks = [
            self.task(function, block, last, *arguments, allow_other_workers=True) for block in self.blocks
        ]
        return ColumnMatrix(self.executor.persist(tasks), self.bounds, n_rows, self.executor)

    def slices(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return values by feature, block by block."""
        return [values[a:b] for a, b in self.bounds]


# Nearest neighbors: workers sum distances, and one of them selects the nearest.


#: Bytes of the columns that a worker quantizes at a time.
_PIECE_BYTES = 2.0**24
#: Share of its memory that a worker may use for blocks of waiting tasks, some of which are spilled to disk.
_SHARE_OF_MEMORY = 0.25

#: Distances of rows to all over some columns, and their error terms.
PartialDistances = tuple[NDArray[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class NeighborQuery:
    """Anchors, and the neighborhood to search."""

    layout: LayoutSpec
    neighborhood: Neighborhood
    anchors: NDArray[np.bool_]
    #: Rows whose distances to all are computed; None: all.
    rows: NDArray[np.int64] | None
    #: The class of the distances.
    source: type[QuantizedDistances] | type[FloatDistances]
    dtype: np.dtype[Any]
    tolerance: float
    #: Number of threads without a worker.
    n_threads: int

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which Dask decides what to send."""
        return object.__sizeof__(self) + _n_bytes(*self.layout, self.anchors, self.rows)


@dataclass(frozen=True)
class ColumnNeighborLists:
    """Neighbors of all anchors, for margins in some of the columns."""

    neighborhood: Neighborhood
    anchors: NDArray[np.bool_]
    lists: tuple[Neighbors, ...]

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which Dask decides what to send."""
        lists = (array for each in self.lists for array in vars(each).values())
        return object.__sizeof__(self) + _n_bytes(self.anchors, *lists)


def _n_bytes(*values: Any) -> int:
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


class ColumnSearch(NeighborSearch):
    """A search for the nearest neighbors of the anchors on the workers that have the columns."""

    def __init__(self, blocks: ColumnBlocks, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        table = blocks.table

        def plan() -> Plan:
            return plan_columns(table.columns, *blocks.levels, table.tie_tolerance)

        self._blocks, self._metric = blocks, METRICS[neighborhood.metric]
        self._kind = choose_kind(table.columns, self._metric, plan)
        super().__init__(table, neighborhood, anchors, exact=self._kind.exact)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return self._kind.describe()

    @property
    def n_reports(self) -> int:
        """Number of times that a search reports progress."""
        return 1

    def neighbors(self, report: Report = no_report) -> Iterator[Neighbors]:
        """Yield the neighbors of all anchors that have a hit, gathered on the client."""
        (neighbors,) = self._blocks.executor.compute(lambda: [self.neighbor_lists()])
        report()
        yield from neighbors.lists

    def neighbor_lists(self) -> Delayed:
        """Return a task: the neighbors of all anchors that have a hit.

        The contributions of all columns to the distances are summed, candidates are selected from the sums,
        and the workers compute exact distances of those that are not certain.
        """
        executor, blocks = self._blocks.executor, self._blocks.blocks
        anchors = np.flatnonzero(self._searched)
        if not anchors.size:
            return executor.broadcast(ColumnNeighborLists(self._neighborhood, self._anchors, ()))
        query = executor.broadcast(self._query(padded_rows(anchors) if self._order == "rows" else None))
        shares = reduce_to_fan_in(self._distance_shares(query), sum_arrays)
        candidates = executor.materialize_if_local(delayed(_candidates, pure=False)(query, shares))
        if not self._nearest.needs_exact:
            return candidates
        task = self._blocks.task
        lengths = reduce_to_fan_in(
            [task(_exact_distances, block, candidates, self._metric.squares) for block in blocks], sum_arrays
        )
        return executor.materialize_if_local(
            delayed(_with_shares, pure=False)(candidates, lengths, self._nearest.tie_sharing)
        )

    def _query(self, rows: NDArray[np.int64] | None) -> NeighborQuery:
        source = QuantizedDistances if isinstance(self._kind, Plan) else self._kind
        of_table = self._table.dtype, self._tolerance, self._table.n_threads
        return NeighborQuery(self._blocks.layout, self._neighborhood, self._anchors, rows, source, *of_table)

    def _distance_shares(self, query: Delayed) -> list[Delayed]:
        """Return tasks with the distances over some of the columns each, together over all of them.

        Integer sums do not depend on the order: each worker sums the contributions of its own blocks, as many
        at a time as fit into memory. Floats are summed along a tree of all blocks, whose shape does not
        depend on their workers.
        """
        executor, blocks, bounds = self._blocks.executor, self._blocks.blocks, self._blocks.bounds
        kinds: list[DistanceKind] = [self._kind] * len(blocks)
        if isinstance(self._kind, Plan):
            kinds = [self._kind.of_columns(*each) for each in bounds]
            chains = [self._at_a_time(*each) for each in executor.group_by_worker(blocks)]
        else:
            chains = [[[i]] for i in range(len(blocks))]
        add_blocks = delayed(_partial_distances, pure=False)
        ends: list[Delayed] = []
        for chain in chains:
            total: Any = None
            for which in chain:
                own = [blocks[i] for i in which], [kinds[i] for i in which]
                with executor.pinned_to(blocks[which[0]]):
                    total = add_blocks(total, *own, query)
            ends.append(total)
        return ends

    def _at_a_time(self, which: list[int], worker: Worker) -> list[list[int]]:
        """Return groups of the blocks of a worker that fit into its memory at a time.

        Each thread of the worker may have a task with such a group waiting.
        """
        widest = max(b - a for a, b in self._blocks.bounds)
        block_bytes = widest * self._table.n_samples * self._blocks.source.dtype.itemsize
        room = _SHARE_OF_MEMORY * worker.memory / worker.n_threads
        n = max(worker.n_threads, int(min(room / block_bytes, len(which))))
        return [which[a : a + n] for a in range(0, len(which), n)]


# Tasks


@exclusive_on_worker
def _partial_distances(
    before: PartialDistances | None,
    blocks: list[ColumnBlock],
    kinds: list[DistanceKind],
    query: NeighborQuery,
) -> PartialDistances:
    """Return the contribution of some blocks to the distances of rows to all, plus that of earlier ones."""
    n_rows, rows = blocks[0].table.n_rows, query.rows
    D = distance_array(n_rows if rows is None else rows.size, n_rows)
    error_terms: Any = 0.0
    if before is not None:
        D[...], error_terms = before
    n_threads, everything = worker_threads(1), (0, n_rows)
    for i, block in enumerate(blocks):
        distances = distances_of_kind(kinds[i], block.columns, block.table.sample_of_row, n_threads)
        for part, n_parts in distances.pieces(_PIECE_BYTES):
            piece = distances.piece(part, n_parts)
            add = before is not None or i > 0 or part > 0
            if rows is None:
                distances.add_tiles(piece, everything, everything, D, D, add=add)
            else:
                distances.fill_rows(piece, rows, D, add=add)
        error_terms = error_terms + distances.error_terms
    D[:, n_rows:] = 0  # read by the kernels, written by none
    # In their own type, so that they can be summed.
    return D.view(np.float32) if query.source.as_float else D, error_terms


@exclusive_on_worker
def _candidates(query: NeighborQuery, shares: list[PartialDistances]) -> ColumnNeighborLists:
    """Return the candidates of each anchor, from the distances over all columns."""
    parts, terms = zip(*shares, strict=True)
    keys, error_terms = distance_array(*parts[0].shape), sum(terms[1:], terms[0])
    total = keys.view(parts[0].dtype)
    total[...] = parts[0]
    for part in parts[1:]:
        total += part
    bound = query.source.bound_of(error_terms, float_type(query.dtype))
    layout = query.layout.layout(worker_threads(query.n_threads))
    nearest_k = NearestK(layout, query.neighborhood, query.tolerance, bound.exact)
    anchors = np.flatnonzero(query.anchors & layout.has_hit)
    mask_pairs(
        layout, keys, anchors if query.rows is not None else np.arange(layout.n_rows), (0, layout.n_rows)
    )
    found = nearest_k.from_all_distances(keys, anchors, bound)
    if query.rows is not None:
        found = iter([nearest_k.candidates(keys, anchors, bound)])
    lists = tuple(found)
    if not nearest_k.needs_exact:
        for each in lists:
            ranges = work_ranges(each.anchors.size, layout.n_threads)
            nearest_k.tie_sharing.share(each, np.zeros(each.rows.size), ranges, layout.n_threads)
    return ColumnNeighborLists(query.neighborhood, query.anchors, lists)


@exclusive_on_worker
def _exact_distances(
    block: ColumnBlock, neighbors: ColumnNeighborLists, squares: bool
) -> tuple[NDArray[np.float64], ...]:
    """Return the contributions of a block to the exact distances of candidates that are not certain."""
    columns, sample_of_row, n_threads = block.columns, block.table.sample_of_row, block.table.n_threads
    shares = []
    for each in neighbors.lists:
        ranges = even_ranges(each.anchors.size, 4 * n_threads)
        shares.append(exact_distances(columns, sample_of_row, each, squares, ranges, n_threads))
    return tuple(shares)


def _with_shares(
    neighbors: ColumnNeighborLists, lengths: list[tuple[NDArray[np.float64], ...]], sharing: TieSharing
) -> ColumnNeighborLists:
    """Return the neighbors with shares from the exact distances of all candidates."""
    with_shares = []
    for each, exact in zip(neighbors.lists, sum_arrays(lengths), strict=True):
        with_shares.append(replace(each, shares=np.zeros(each.rows.size)))
        sharing.share(with_shares[-1], exact)
    return replace(neighbors, lists=tuple(with_shares))


# Margins at the nearest neighbors


class ColumnNearestPass(NearestPass):
    """One pass over the nearest neighbors of the anchors; each worker compares its own columns."""

    _search: ColumnSearch

    def __init__(self, blocks: ColumnBlocks, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        self._blocks, search = blocks, ColumnSearch(blocks, neighborhood, anchors)
        super().__init__(blocks.table, neighborhood, anchors, search)

    def sums(self, report: Report = no_report, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Return Σ s·z over the anchors, s their weights; ``with_squares`` also Σ s²z and Σ s²z².

        In one round: the workers search for the neighbors and compute the sums.
        """

        def tasks() -> list[Delayed]:
            neighbors = self._search.neighbor_lists()
            return [self._blocks.task(_sums, block, neighbors, with_squares) for block in self._blocks.blocks]

        parts = self._blocks.executor.compute(tasks)
        report()
        return np.concatenate(parts, axis=-1)

    def sample_margins(
        self, report: Report = no_report, *, separate: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Return the margins of all samples.

        The rows are a matrix on the workers, unless it is smaller than all distances.
        """
        neighbors = self.neighbor_lists(report)
        between = np.zeros(0)
        if gaps:
            (between,) = self._blocks.sum_blocks(_gaps, shared=neighbors)
        n_rows = self._table.n_samples * (1 + separate)
        if self._table.n_features <= self._table.n_samples:
            rows: Any = self._blocks.joined(_sample_margins, separate, shared=neighbors)
        else:
            rows = self._blocks.matrix(_sample_margins, separate, shared=neighbors, n_rows=n_rows)
        return SampleMargins(rows, between, self._table.unpacked(self._anchors & self._table.has_hit))

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j w_j·z_j of every sample; 0 if it is no anchor."""
        (margins,) = self._blocks.sum_blocks(
            _margins_under, self._blocks.slices(w), shared=self.neighbor_lists(no_report)
        )
        return margins

    def neighbor_lists(self, report: Report) -> ColumnNeighborLists:
        """Return the neighbors of all anchors, to be sent to the workers."""
        return ColumnNeighborLists(self._neighborhood, self._anchors, tuple(self._search.neighbors(report)))


def _margins(block: ColumnBlock, neighbors: ColumnNeighborLists) -> NeighborMargins:
    """Return the margins in the columns of a block."""
    return NeighborMargins(block.table, block.columns, neighbors.neighborhood)


# Tasks


@exclusive_on_worker
def _sums(block: ColumnBlock, neighbors: ColumnNeighborLists, with_squares: bool) -> NDArray[np.float64]:
    return _margins(block, neighbors).sums(neighbors.lists, with_squares=with_squares)


@exclusive_on_worker
def _sample_margins(
    block: ColumnBlock, neighbors: ColumnNeighborLists, separate: bool
) -> NDArray[np.float64]:
    return _margins(block, neighbors).sample_margins(neighbors.lists, separate=separate).rows


@exclusive_on_worker
def _gaps(block: ColumnBlock, neighbors: ColumnNeighborLists) -> tuple[NDArray[np.float64]]:
    gaps = np.zeros(block.table.n_samples)
    for found in neighbors.lists:
        gaps[block.table.sample_of_row[found.anchors]] = mean_gaps(block.table, block.columns, found)
    return (gaps,)


@exclusive_on_worker
def _margins_under(
    block: ColumnBlock, neighbors: ColumnNeighborLists, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64]]:
    return (_margins(block, neighbors).under(w, neighbors.lists),)


# Soft neighborhoods


class ColumnPairwiseDistances(PairwiseDistances["ColumnWeightedPairs"]):
    """Distances of all pairs of rows, on a worker.

    Parameters
    ----------
    memory : float
        Bytes for stored distances, on a worker and on the client.
    blocks : ColumnBlocks
        The columns on the workers.
    """

    stored = True

    def __init__(self, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(blocks.table, MissingCorrection.of(blocks.table))
        table = blocks.table
        size = table.pair_bytes(table.dtype.itemsize)
        if size > memory:
            raise MemoryError(
                f"By columns, {table.n_samples} samples need {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB. Raise it, or set"
                ' highrelief.partition="rows" in Dask\'s configuration.'
            )
        self.blocks, self.remaining_memory = blocks, memory - size
        #: Weights of the distances that a worker caches, and of those gathered on the client.
        self._cached: tuple[NDArray[np.float64], _CachedDistances] | None = None
        self._gathered: tuple[NDArray[np.float64], RowsUnderWeights] | None = None
        self._tiles: NDArray[np.floating] | None = None

    def _weighted(self, w: NDArray[np.float64]) -> ColumnWeightedPairs:
        return ColumnWeightedPairs(self, w)

    def _row_fingerprints(self) -> NDArray[np.float64]:
        (fingerprints,) = self.blocks.sum_blocks(_fingerprints)
        return fingerprints

    def gathered(self, w: NDArray[np.float64]) -> tuple[RowsUnderWeights, NDArray[np.floating]]:
        """Return the sums of the rows and the distances of all pairs under weights w, on the client."""
        if self._tiles is None:
            self._tiles = self.table.pair_tiles(self.table.dtype)
        if self._gathered is None or self._gathered[0] is not w:
            (stored,) = self.blocks.executor.compute(lambda: [self.distances(w)])
            self._tiles[...] = stored.tiles
            self._gathered = w, stored_rows(stored.sums, self.correction.under(w), self.table.dtype)
        return self._gathered[1], self._tiles

    def distances(self, w: NDArray[np.float64]) -> Delayed:
        """Return a task with the distances under weights w, which are cached until other weights come.

        The tasks that sum them are bound to the workers of the blocks. If one of these is lost, its results
        cannot be recomputed elsewhere, and another attempt starts from the blocks.
        """
        blocks, executor, loss = self.blocks, self.blocks.executor, self.blocks.executor.generation
        if self._cached is None or self._cached[0] is not w or self._cached[1].loss is not loss:
            self._cached = None  # lets the worker drop them
            minima = blocks.map_blocks(
                _minima,
                None,
                blocks.slices(w),
                # Blocks without a positive weight do not contribute.
                where=(lambda bounds: bool(w[slice(*bounds)].any())) if w.any() else lambda bounds: True,
            )
            spec = blocks.shared_layout, self.table.dtype, self.table.n_threads
            stored = delayed(_stored_distances, pure=False)(reduce_to_fan_in(minima, sum_arrays), *spec)
            cached = _CachedDistances(
                executor.materialize([stored])[0], loss, executor.addresses_of(blocks.blocks)
            )
            self._cached = w, cached
        # Other fits may have recorded a loss since.
        executor.require(self._cached[1].places)
        return self._cached[1].stored


class _CachedDistances(NamedTuple):
    """Distances that a worker caches for the next rounds."""

    stored: Delayed
    #: The last loss of workers before they were requested.
    loss: object
    #: The only workers that compute them.
    places: frozenset[str]


class ColumnWeightedPairs(WeightedPairs):
    """Passes over all pairs of rows by the worker that has the distances; sums where the columns are."""

    def __init__(self, distances: ColumnPairwiseDistances, w: NDArray[np.float64]) -> None:
        super().__init__(distances, w)
        self._distances, self._blocks = distances, distances.blocks

    @property
    def row_sums(self) -> NDArray[np.float64]:
        """Weighted sum of every row, (n_rows,)."""
        return self._distances.gathered(self.w)[0].sums

    def statistics(self, per_sigma: np.floating) -> Statistics:
        """Return the smallest distance and mass of every class for every row, over other rows."""
        return self._reduced(_statistics, per_sigma)

    def moments(self, per_sigma: np.floating, low: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return Σ f·(d − low)/σ over the other rows of every class, for every row, (n_classes, n_rows)."""
        return self._reduced(_moments, per_sigma, low)

    def _reduced(self, function: Callable[..., Any], *more: Any) -> Any:
        """Return a function of the distances, computed by the worker that has them."""
        (answer,) = self._blocks.executor.compute(
            lambda: [delayed(function, pure=False)(self._distances.distances(self.w), *more)]
        )
        return answer

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature; each worker sums its own columns."""
        executor, blocks = self._blocks.executor, self._blocks

        def tasks() -> list[Delayed]:
            stored = self._distances.distances(self.w)
            made = delayed(_coefficients, pure=False)(stored, executor.broadcast(by))
            return blocks.map_blocks(_sums_of_products, executor.materialize_if_local(made))

        return np.concatenate(executor.compute(tasks))

    def margin_columns(
        self, by: Coefficients, features: NDArray[np.int64], table: DenseTable, correction: MissingCorrection
    ) -> NDArray[np.float64]:
        """Return Σ_i coefficient·|x_n − x_i| of every row for some features, gathered on the client."""
        return margin_columns(self.table, self._distances_to(), by, features, table, correction)

    def anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> AnchorColumns:
        """Return the distances of all rows to some of them, each of which has a weight, on the client."""
        room = self._distances.remaining_memory
        return AnchorColumns(self, self._distances_to(), anchors, weights, room)

    def _distances_to(self) -> DistanceColumns:
        source, tiles = self._distances.gathered(self.w)
        return partial(distance_columns, self.table, self.correction, source, tiles, True)


# Tasks


class StoredDistances:
    """Distances of all pairs on the worker that has them."""

    def __init__(
        self, tiles: NDArray[np.floating], sums: NDArray[np.float64], layout: LayoutSpec, n_threads: int
    ) -> None:
        self.tiles, self.sums, self._layout, self._n_threads = tiles, sums, layout, n_threads

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which Dask decides what to send and to spill."""
        return object.__sizeof__(self) + self.tiles.nbytes + self.sums.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what is sent or spilled: nothing that can be recomputed."""
        return StoredDistances, (self.tiles, self.sums, self._layout, self._n_threads)

    @cached_property
    def table(self) -> Layout:
        """The layout of the rows, for all threads of the worker whose task comes first."""
        return self._layout.layout(worker_threads(self._n_threads))

    @cached_property
    def source(self) -> RowsUnderWeights:
        """The rows as the kernels read them: only their sums; no value is missing."""
        complete = MissingCorrection(self.table, None, 0, self.tiles.dtype)
        return stored_rows(self.sums, complete.under(np.empty(0)), self.tiles.dtype)


@exclusive_on_worker
def _minima(
    block: ColumnBlock, shared: Any, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return WeightedBlocks(block.table).minima(w)


@exclusive_on_worker
def _stored_distances(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    layout: LayoutSpec,
    dtype: np.dtype[Any],
    n_threads: int,
) -> StoredDistances:
    """Return the distances of all pairs, from the sums of minima over all columns."""
    minima, sums = sum_arrays(parts)
    stored = StoredDistances(packing.aligned_zeros(minima.shape, dtype), sums.copy(), layout, n_threads)
    fill_from_minima(stored.table, minima, stored.source, stored.tiles)
    return stored


@exclusive_on_worker
def _statistics(stored: StoredDistances, per_sigma: np.floating) -> Statistics:
    of_stored = stored.table, stored.source, stored.tiles, True
    return tile_statistics(*of_stored, per_sigma, parts_of_pass(stored.table))


@exclusive_on_worker
def _moments(
    stored: StoredDistances, per_sigma: np.floating, low: NDArray[np.floating]
) -> NDArray[np.float64]:
    of_stored = stored.table, stored.source, stored.tiles, True
    return tile_moments(*of_stored, per_sigma, low, parts_of_pass(stored.table))


@exclusive_on_worker
def _coefficients(
    stored: StoredDistances, by: Coefficients
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Return the coefficients of all pairs, and their sums by row."""
    tiles = packing.aligned_zeros(stored.tiles.shape, stored.tiles.dtype)
    tiles[...] = stored.tiles  # a copy: other tasks read the distances
    parts = tile_parts(stored.table, 0, tiles.dtype)
    return tiles, to_coefficients(stored.table, tiles, by, parts)


@exclusive_on_worker
def _sums_of_products(
    block: ColumnBlock, shared: tuple[NDArray[np.floating], NDArray[np.float64]]
) -> NDArray[np.float64]:
    return sums_of_products(block.table, np.arange(block.table.n_features), *shared)


def _fingerprints(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (WeightedBlocks(block.table, block.first).fingerprints(),)


# Margins of single samples under sparse weights


#: Largest share of active features whose columns are gathered on the client.
_MAX_GATHERED_SHARE = 1 / 16


class ColumnActiveSetMargins(ActiveSetMargins):
    """Margins under weights that change and of which few are not 0.

    The columns of the active features are gathered on the client, which computes everything about them. The
    workers sum over their own columns, which determines the features that become active.

    Parameters
    ----------
    memory, blocks
        As in :class:`ColumnPairwiseDistances`.
    """

    table: DaskPacked

    def __init__(self, memory: float, blocks: ColumnBlocks) -> None:
        self._memory, self._blocks, table = memory, blocks, blocks.table
        size = table.pair_bytes(table.dtype.itemsize)
        # Distances, coefficients, and a copy of the coefficients to send.
        super().__init__(table, stored=memory // size > 2, copied=_MAX_GATHERED_SHARE)
        self._distances: ColumnPairwiseDistances | None = None
        self._gathered: LocalPairwiseDistances | None = None

    def _under(self, w: NDArray[np.float64]) -> ActivePairs:
        table, w = self._active(w)
        if table is None:
            self._gathered, self._distances = None, self._whole()
            whole = self._distances.under(w)
            return ActivePairs(whole, exact_sums(whole))
        self._distances = None
        if self._gathered is None or self._gathered.table is not table:
            self._gathered = LocalPairwiseDistances.of(table, self._memory)
        pairs = self._gathered.under(w)
        return ActivePairs(pairs, partial(self._summed, pairs))

    def _whole(self) -> ColumnPairwiseDistances:
        return self._distances or ColumnPairwiseDistances(self._memory, self._blocks)

    def _all_fingerprints(self) -> NDArray[np.float64]:
        return self._whole().fingerprints

    def _summed(self, pairs: LocalWeightedPairs, by: Coefficients, threshold: float) -> BoundedSums:
        """Return the sums of all features; distances are on the client, and so are their coefficients."""
        tiles = pairs.tiles().copy()
        row_totals = to_coefficients(self.table, tiles, by, parts_of_tiles(self.table))
        return BoundedSums.exact_of(self._blocks.joined(_sums_of_products, shared=(tiles, row_totals)))


# Margins under many labelings: distances are summed over all workers once; neighbor lists and coefficients of
# pairs are computed on the client and sent to all workers, which sum their own columns for all labelings at
# once.


def relabeled_rows(
    blocks: ColumnBlocks, neighborhood: Neighborhood, class_weights: NDArray[np.float64] | None
) -> RelabeledRows:
    """Return rows, whose columns are on workers, under many labelings."""

    def distances(squares: bool) -> NDArray[np.float64]:
        (D,) = blocks.sum_blocks(_distances, shared=squares)
        return np.array(D)

    def summed(pairs: Pairs, squared: bool) -> NDArray[np.floating]:
        return blocks.joined(_summed, shared=(pairs, squared))

    return RelabeledRows(blocks.table, neighborhood, class_weights, distances, summed)


# Tasks


@exclusive_on_worker
def _distances(block: ColumnBlock, squares: bool) -> tuple[NDArray[np.float64]]:
    return (added_distances(block.table, squares),)


@exclusive_on_worker
def _summed(block: ColumnBlock, shared: tuple[Pairs, bool]) -> NDArray[np.floating]:
    pairs, squared = shared
    return summed_pairs(block.table, pairs, squared)


# Centered columns


class ColumnCenteredMatrix:
    """Scaled columns on workers, minus their means; a :class:`.._engine.columns.Centered`."""

    def __init__(self, blocks: ColumnBlocks) -> None:
        self._blocks = blocks
        self.n_samples, self.n_features = blocks.source.shape

    @locked_cached_property
    def _matrix(self) -> ColumnMatrix:
        return self._blocks.matrix(_whole, n_rows=self.n_samples)

    def matrix(self) -> ColumnMatrix:
        """Return all columns as a matrix on the workers."""
        return self._matrix

    def squares(self) -> NDArray[np.float64]:
        """Return the squared norm of every row."""
        (squares,) = self._blocks.sum_blocks(_squares)
        return squares

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """Return XᵀLX, (n_features, n_features), from all pairs of blocks."""
        return self._matrix.scatter(L)

    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_samples, n_samples)."""
        (gram,) = self._blocks.sum_blocks(_gram)
        return gram

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights.T @ X, (m, n_features); ``weights`` is (n_samples, m)."""
        return self._blocks.joined(_combined, shared=weights)


def _centered(block: ColumnBlock) -> CenteredColumns:
    return CenteredColumns(block.X, block.scaling, 1)


def _whole(block: ColumnBlock, shared: Any) -> NDArray[np.float64]:
    return _centered(block).whole()


def _squares(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (_centered(block).squares(),)


def _gram(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (_centered(block).gram(),)


def _combined(block: ColumnBlock, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return _centered(block).combined(weights)


# The engine


class ColumnEngine(Engine):
    """Rows of a table whose columns are on workers; parameters as in :class:`.Engine`."""

    def __init__(self, table: DaskPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = ColumnBlocks(table)

    def _backend_execution(self) -> dict[str, Any]:
        return self._blocks.source.execution()

    def nearest(self, neighborhood: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """Return a pass over the nearest neighbors of the anchors (None: all samples)."""
        return ColumnNearestPass(self._blocks, neighborhood, self._anchor_rows(anchors))

    @cached_property
    def _pairs(self) -> ColumnPairwiseDistances:
        return ColumnPairwiseDistances(self._memory, self._blocks)

    @cached_property
    def active_set_margins(self) -> ColumnActiveSetMargins:
        """Margins of single samples under weights of which few are not 0."""
        return ColumnActiveSetMargins(self._memory, self._blocks)

    def centered(self) -> ColumnCenteredMatrix:
        """Return the scaled rows minus their mean."""
        return ColumnCenteredMatrix(self._blocks)

    def relabeled(
        self, neighborhood: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> RelabeledRows:
        """Return margins under many labelings; sample weights are 1, and no value is missing."""
        return relabeled_rows(self._blocks, neighborhood, class_weights)
