"""The engine for Dask collections split by columns.

Distances add up over columns. Each worker computes the contribution of its columns to the distances of all
pairs; the contributions are summed, one worker determines the neighborhoods, and each worker computes the
margins of its own columns. The table itself is never moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.columns import CenteredColumns, Columns
from .._engine.distances import ProductDistances, TileDistances
from .._engine.engine import LocalRows
from .._engine.labelings import Pairs, RelabeledRows, added_distances, summed_pairs
from .._engine.layout import Layout, Packed
from .._engine.missing_pairs import MissingCorrection
from .._engine.nearest import NearestPass, NeighborMargins, SampleMargins
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
    PairSums,
    WeightedBlocks,
    fill_from_minima,
    sums_of_products,
    tile_parts,
    to_coefficients,
)
from .._engine.quantized import Plan, QuantizedDistances, plan_columns
from .._engine.scaling import ColumnRanges, Scaling, float_type
from .._engine.search import (
    NeighborSearch,
    Report,
    exact_distances,
    nothing,
    padded_rows,
)
from .._engine.soft import (
    ActiveSetMargins,
    BoundedSums,
    MarginColumns,
    PairwiseDistances,
    SoftNeighborhoods,
    Statistics,
    parts_of_pass,
    tile_moments,
    tile_statistics,
)
from .._engine.threads import even_ranges
from .._kernels import distances as distances_kernels
from .._kernels import nearest, packing
from .matrix import ColumnMatrix
from .scheduler import (
    Worker,
    exclusive_on_worker,
    locked_cached_property,
    reduce_to_fan_in,
    sum_arrays,
    worker_threads,
)
from .table import DaskPacked, DaskTable, TableBlocks


class LayoutSpec(NamedTuple):
    """Inputs of the layout that all blocks share: classes and weights of the samples."""

    codes: NDArray[np.integer]
    n_classes: int
    sample_weight: NDArray[np.float64] | None
    class_weights: NDArray[np.float64] | None
    #: A power of 2 that scales the largest scaled range of all columns to about 1.
    distance_unit: float

    def packed(
        self, X: NDArray[Any], scaling: Scaling, ranges: ColumnRanges | None = None, n_threads: int = 1
    ) -> Packed:
        """Return some columns of the samples in the layout of the kernels."""
        return Packed(
            X,
            self.codes,
            self.n_classes,
            scaling=scaling,
            sample_weight=self.sample_weight,
            n_threads=n_threads,
            ranges=ranges,
            class_weights=self.class_weights,
        )

    def layout(self, n_threads: int) -> Layout:
        """Return the layout of the rows."""
        return Layout(
            self.codes,
            self.n_classes,
            sample_weight=self.sample_weight,
            n_threads=n_threads,
            class_weights=self.class_weights,
        )


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
        return self.layout.packed(self.X, self.scaling, self.ranges, worker_threads(1))

    @cached_property
    def columns(self) -> Columns:
        """The columns, with the distance unit of all blocks."""
        return Columns(self.X, self.scaling, self.ranges, self.layout.distance_unit)


class ColumnBlocks(TableBlocks):
    """All blocks of columns of a table, and tasks that run where their block is stored.

    Parameters
    ----------
    source : DaskTable
        The table, in blocks of columns.
    table : Packed
        Its layout and metadata.
    """

    pinned = True

    def __init__(self, source: DaskTable, table: Packed) -> None:
        super().__init__(source, table)
        unit = Columns(table.raw, table.scaling, table.ranges).distance_unit
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
        assert ranges is not None
        layout = self.executor.share(self.layout)
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
        last = self.share(shared)
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

Kind = type[QuantizedDistances] | type[ProductDistances] | type[TileDistances]
#: Distances of rows to all over some columns, and their error terms.
Share = tuple[NDArray[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class NeighborQuery:
    """Anchors, and the neighborhood to search."""

    layout: LayoutSpec
    among: Neighborhood
    anchors: NDArray[np.bool_]
    #: Rows whose distances to all are computed; None: all.
    rows: NDArray[np.int64] | None
    kind: Kind
    dtype: np.dtype[Any]
    tolerance: float
    #: Number of threads without a worker.
    n_threads: int

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which Dask decides what to send."""
        return object.__sizeof__(self) + _n_bytes(*self.layout, self.anchors, self.rows)


@dataclass(frozen=True)
class NeighborLists:
    """Neighbors of all anchors, for margins in some of the columns."""

    among: Neighborhood
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

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: ColumnBlocks
    ) -> None:
        self._blocks, self._among = blocks, among
        super().__init__(table, among, anchors)

    def _plan(self) -> Plan:
        return plan_columns(self.columns, *self._blocks.levels, self._tolerance)

    @property
    def n_reports(self) -> int:
        """Number of times that a search reports progress."""
        return 1

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
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
        anchors = np.flatnonzero(self._chosen)
        if not anchors.size:
            return executor.share(NeighborLists(self._among, self._anchors, ()))
        query = executor.share(self._query(padded_rows(anchors) if self._way == "rows" else None))
        shares = reduce_to_fan_in(self._distance_shares(query), sum_arrays)
        candidates = executor.materialize_if_local(delayed(_candidates, pure=False)(query, shares))
        if not self._nearest.needs_exact:
            return candidates
        task = self._blocks.task
        lengths = reduce_to_fan_in(
            [task(_exact_distances, block, candidates, self._metric) for block in blocks], sum_arrays
        )
        return executor.materialize_if_local(
            delayed(_with_shares, pure=False)(candidates, lengths, self._nearest.tie_sharing)
        )

    def _query(self, rows: NDArray[np.int64] | None) -> NeighborQuery:
        layout, kind = self._blocks.layout, cast("Kind", type(self._distances))
        of_table = self._table.dtype, self._tolerance, self._table.n_threads
        return NeighborQuery(layout, self._among, self._anchors, rows, kind, *of_table)

    def _distance_shares(self, query: Delayed) -> list[Delayed]:
        """Return tasks with the distances over some of the columns each, together over all of them.

        Integer sums do not depend on the order: each worker sums the contributions of its own blocks, as many
        at a time as fit into memory. Floats are summed along a tree of all blocks, whose shape does not
        depend on their workers.
        """
        executor, blocks, bounds = self._blocks.executor, self._blocks.blocks, self._blocks.bounds
        plan = self._distances.plan if isinstance(self._distances, QuantizedDistances) else None
        if plan is not None:
            chains = [self._at_a_time(*each) for each in executor.group_by_worker(blocks)]
        else:
            chains = [[[i]] for i in range(len(blocks))]
        share = delayed(_share, pure=False)
        ends: list[Delayed] = []
        for chain in chains:
            total: Any = None
            for which in chain:
                plans = None if plan is None else [plan.of_columns(*bounds[i]) for i in which]
                with executor.pinned_to(blocks[which[0]]):
                    total = share(total, [blocks[i] for i in which], plans, query)
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
def _share(
    before: Share | None, blocks: list[ColumnBlock], plans: list[Plan] | None, query: NeighborQuery
) -> Share:
    """Return the contribution of some blocks to the distances of rows to all, plus that of earlier ones."""
    n_rows, rows = blocks[0].table.n_rows, query.rows
    D = distance_array(n_rows if rows is None else rows.size, n_rows)
    error_terms: Any = 0.0
    if before is not None:
        D[...], error_terms = before
    n_threads, everything = worker_threads(1), (0, n_rows)
    for i, block in enumerate(blocks):
        of_block = block.columns, block.table.position
        if plans is not None:
            distances: Any = QuantizedDistances(*of_block, query.tolerance, n_threads, plans[i])
        else:
            distances = cast("type[TileDistances]", query.kind)(*of_block, n_threads)
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
    return D.view(np.float32) if query.kind.as_float else D, error_terms


@exclusive_on_worker
def _candidates(query: NeighborQuery, shares: list[Share]) -> NeighborLists:
    """Return the candidates of each anchor, from the distances over all columns."""
    parts, notes = zip(*shares, strict=True)
    keys, error_terms = distance_array(*parts[0].shape), sum(notes[1:], notes[0])
    total = keys.view(parts[0].dtype)
    total[...] = parts[0]
    for part in parts[1:]:
        total += part
    error_bound = query.kind.error_bound(error_terms, float_type(query.dtype))
    layout = query.layout.layout(worker_threads(query.n_threads))
    nearest_k = NearestK(layout, query.among, query.tolerance, error_bound)
    anchors = np.flatnonzero(query.anchors & layout.has_hit)
    mask_pairs(
        layout, keys, anchors if query.rows is not None else np.arange(layout.n_rows), (0, layout.n_rows)
    )
    found = nearest_k.from_all_distances(keys, anchors)
    if query.rows is not None:
        found = iter([nearest_k.candidates(keys, anchors)])
    lists = tuple(found)
    if not nearest_k.needs_exact:
        for each in lists:
            ranges = work_ranges(each.anchors.size, layout.n_threads)
            nearest_k.tie_sharing.share(each, np.zeros(each.rows.size), ranges, layout.n_threads)
    return NeighborLists(query.among, query.anchors, lists)


@exclusive_on_worker
def _exact_distances(
    block: ColumnBlock, neighbors: NeighborLists, metric: int
) -> tuple[NDArray[np.float64], ...]:
    """Return the contributions of a block to the exact distances of candidates that are not certain."""
    columns, position, n_threads = block.columns, block.table.position, block.table.n_threads
    shares = []
    for each in neighbors.lists:
        ranges = even_ranges(each.anchors.size, 4 * n_threads)
        shares.append(exact_distances(columns, position, each, metric, ranges, n_threads))
    return tuple(shares)


def _with_shares(
    neighbors: NeighborLists, lengths: list[tuple[NDArray[np.float64], ...]], sharing: TieSharing
) -> NeighborLists:
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

    def __init__(
        self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_], blocks: ColumnBlocks
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, anchors, ColumnSearch(table, among, anchors, blocks))

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
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
        self, report: Report = nothing, *, apart: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Return the margins of all samples.

        The rows are a matrix on the workers, unless it is smaller than all distances.
        """
        neighbors = self.neighbor_lists(report)
        between = np.zeros(0)
        if gaps:
            (between,) = self._blocks.sum_blocks(_gaps, shared=neighbors)
        n_rows = self._table.n_samples * (1 + apart)
        if self._table.n_features <= self._table.n_samples:
            rows: Any = self._blocks.joined(_sample_margins, apart, shared=neighbors)
        else:
            rows = self._blocks.matrix(_sample_margins, apart, shared=neighbors, n_rows=n_rows)
        return SampleMargins(rows, between, self._table.unpacked(self._anchors & self._table.has_hit))

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j w_j·z_j of every sample; 0 if it is no anchor."""
        (margins,) = self._blocks.sum_blocks(
            _margins_under, self._blocks.slices(w), shared=self.neighbor_lists(nothing)
        )
        return margins

    def neighbor_lists(self, report: Report) -> NeighborLists:
        """Return the neighbors of all anchors, to be sent to the workers."""
        return NeighborLists(self._among, self._anchors, tuple(self._search.neighbors(report)))


def _margins(block: ColumnBlock, neighbors: NeighborLists) -> NeighborMargins:
    """Return the margins in the columns of a block."""
    return NeighborMargins(block.table, block.columns, neighbors.among)


# Tasks


@exclusive_on_worker
def _sums(block: ColumnBlock, neighbors: NeighborLists, with_squares: bool) -> NDArray[np.float64]:
    return _margins(block, neighbors).sums(neighbors.lists, with_squares=with_squares)


@exclusive_on_worker
def _sample_margins(block: ColumnBlock, neighbors: NeighborLists, apart: bool) -> NDArray[np.float64]:
    return _margins(block, neighbors).sample_margins(neighbors.lists, apart=apart).rows


@exclusive_on_worker
def _gaps(block: ColumnBlock, neighbors: NeighborLists) -> tuple[NDArray[np.float64]]:
    return (_margins(block, neighbors).sample_margins(neighbors.lists, gaps=True).gaps,)


@exclusive_on_worker
def _margins_under(
    block: ColumnBlock, neighbors: NeighborLists, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64]]:
    return (_margins(block, neighbors).under(w, neighbors.lists),)


# Soft neighborhoods


class ColumnPairwiseDistances(PairwiseDistances):
    """Distances of all pairs of rows, on a worker."""

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self._blocks = blocks
        if not self.stored:
            size = float(table.n_tiles) * distances_kernels.TILE**2 * table.dtype.itemsize
            raise MemoryError(
                f"By columns, {table.n_samples} samples need {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB. Raise it, or set"
                ' highrelief.partition="rows" in Dask\'s configuration.'
            )

    @cached_property
    def rows(self) -> ColumnWeightedRows:
        """The rows under the last weights."""
        return ColumnWeightedRows(self.table, self._blocks)

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature."""
        return self.rows.sum_differences(by)


class ColumnWeightedRows:
    """Rows under weights that change: columns on the workers, and the distances on one of them."""

    by_blocks = True

    def __init__(self, table: Packed, blocks: ColumnBlocks) -> None:
        self._table, self._blocks = table, blocks
        self.correction = MissingCorrection.of(table)
        self.sums = np.zeros(table.n_rows)
        self._weights = np.empty(0)
        self._cache: _CachedDistances | None = None

    def set_weights(self, w: NDArray[np.float64]) -> None:
        """Set the weights."""
        self._weights, self._cache = w, None

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Gather the distances of all pairs, and the sums of the rows, on the client."""
        (stored,) = self._blocks.executor.compute(lambda: [self._distances()])
        tiles[...], self.sums = stored.tiles, stored.sums

    def apply(self, function: Callable[..., Any], *more: Any) -> Any:
        """Return a function of the distances, computed by the worker that has them."""
        (answer,) = self._blocks.executor.compute(
            lambda: [delayed(function, pure=False)(self._distances(), *more)]
        )
        return answer

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature; each worker sums its own columns."""
        executor, blocks = self._blocks.executor, self._blocks

        def tasks() -> list[Delayed]:
            made = delayed(_coefficients, pure=False)(self._distances(), executor.share(by))
            return blocks.map_blocks(_sums_of_products, executor.materialize_if_local(made))

        return np.concatenate(executor.compute(tasks))

    def fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between unequal rows, whatever the weights, (n_rows, 3)."""
        (fingerprints,) = self._blocks.sum_blocks(_fingerprints)
        return fingerprints

    def _distances(self) -> Delayed:
        """Return a task with the distances of all pairs, which are cached until the weights change.

        The tasks that sum them are bound to the workers of the blocks. If one of these is lost, its results
        cannot be recomputed elsewhere, and another attempt starts from the blocks.
        """
        blocks, executor, w, loss = (
            self._blocks,
            self._blocks.executor,
            self._weights,
            self._blocks.executor.generation,
        )
        if self._cache is None or self._cache.loss is not loss:
            minima = blocks.map_blocks(
                _minima,
                None,
                blocks.slices(w),
                # Blocks without a positive weight do not contribute.
                where=(lambda bounds: bool(w[slice(*bounds)].any())) if w.any() else lambda bounds: True,
            )
            spec = blocks.shared_layout, self._table.dtype, self._table.n_threads
            stored = delayed(_stored_distances, pure=False)(reduce_to_fan_in(minima, sum_arrays), *spec)
            self._cache = _CachedDistances(
                executor.materialize([stored])[0], loss, executor.addresses_of(blocks.blocks)
            )
        # Other fits may have recorded a loss since.
        executor.require(self._cache.places)
        return self._cache.stored


class _CachedDistances(NamedTuple):
    """Distances that a worker caches for the next rounds."""

    stored: Delayed
    #: The last loss of workers before they were requested.
    loss: object
    #: The only workers that compute them.
    places: frozenset[str]


class ColumnNeighborhoods(SoftNeighborhoods):
    """Soft neighborhoods, from statistics computed by the worker that has the distances."""

    _pairs: ColumnPairwiseDistances

    def _statistics_of_pairs(self) -> Statistics:
        self._pairs.set_weights(self._w)
        return self._pairs.rows.apply(_statistics, self._per_sigma)

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        self._pairs.set_weights(self._w)
        return self._pairs.rows.apply(_moments, self._per_sigma, self._low)


def summed_differences(blocks: ColumnBlocks, pairs: PairSums) -> NDArray[np.float64]:
    """Return Σ over pairs of coefficient·|x − x'|; coefficients on the client, sums on the workers."""
    return blocks.joined(_sums_of_products, shared=(pairs.tiles, pairs.row_totals))


# Tasks


class StoredDistances:
    """Distances of all pairs on the worker that has them; a :class:`.._engine.soft.PairSource`."""

    def __init__(
        self, tiles: NDArray[np.floating], sums: NDArray[np.float64], layout: LayoutSpec, n_threads: int
    ) -> None:
        self.tiles, self.sums, self._layout, self._n_threads = tiles, sums, layout, n_threads
        #: No rows: the kernels read stored distances only.
        self.X, self.w = np.empty((0, 0), tiles.dtype), np.empty(0, tiles.dtype)

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
    def correction(self) -> MissingCorrection:
        """Empty: no value is missing."""
        return MissingCorrection(self.table, None, 0, self.tiles.dtype)


@exclusive_on_worker
def _minima(
    block: ColumnBlock, shared: Any, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = WeightedBlocks(block.table)
    rows.set_weights(w)
    return rows.minima()


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
    fill_from_minima(stored.table, minima, stored.sums, stored.correction, stored.tiles)
    return stored


@exclusive_on_worker
def _statistics(stored: StoredDistances, per_sigma: np.floating) -> Statistics:
    return tile_statistics(stored.table, stored, stored.tiles, True, per_sigma, parts_of_pass(stored.table))


@exclusive_on_worker
def _moments(
    stored: StoredDistances, per_sigma: np.floating, low: NDArray[np.floating]
) -> NDArray[np.float64]:
    return tile_moments(stored.table, stored, stored.tiles, True, per_sigma, low, parts_of_pass(stored.table))


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
_FEW = 1 / 16


class ColumnActiveSetMargins(ActiveSetMargins):
    """Margins under weights that change and of which few are not 0.

    The columns of the active features are gathered on the client, which computes everything about them. The
    workers sum over their own columns, which determines the features that become active.
    """

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self.blocks = blocks

    def _copies_active(self, n_features: int, n_all: int) -> bool:
        return n_features <= _FEW * n_all

    def _pairs_over(self, table: Packed) -> PairwiseDistances:
        if table is not self.table:
            return PairwiseDistances(table, self._memory)
        return ColumnPairwiseDistances(table, self._memory, self.blocks)

    def _neighborhoods(
        self, pairs: PairwiseDistances, w: NDArray[np.float64], sigma: float
    ) -> SoftNeighborhoods:
        of_passes = ColumnNeighborhoods if isinstance(pairs, ColumnPairwiseDistances) else SoftNeighborhoods
        return of_passes(pairs, w, sigma)

    def _columns(self, *of: Any) -> MarginColumns:
        return ColumnMarginColumns(self, *of)


class ColumnMarginColumns(MarginColumns):
    """Margins z̄_n of all samples under one w; sums over samples are computed for all features."""

    _source: ColumnActiveSetMargins

    def _packed_columns(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        few = self._table.of_features(features)
        width = packing.padded_width(features.size, few.dtype.itemsize)
        X = packing.aligned_zeros((few.n_rows, width), few.dtype)
        few.scaled.write(np.arange(features.size), X)
        return X

    def _screened_sums(self, factors: NDArray[np.float64], threshold: float) -> BoundedSums:
        by = self._neighborhoods.coefficients(factors)
        if isinstance(self._pairs, ColumnPairwiseDistances):
            exact = self._pairs.sum_differences(by)
        else:
            # The active features are on the client, and so are their distances.
            pairs = PairSums(self._table, self._pairs.tiles()[0].copy(), by, self._source.correction)
            exact = summed_differences(self._source.blocks, pairs)
        return BoundedSums(np.arange(exact.size), exact, exact.copy(), lambda features: exact[features])


# Margins under many labelings: distances are summed over all workers once; neighbor lists and coefficients of
# pairs are computed on the client and sent to all workers, which sum their own columns for all labelings at
# once.


class ColumnRelabeledRows(RelabeledRows):
    """Rows, whose columns are on workers, under many labelings."""

    def __init__(
        self,
        table: Packed,
        among: Neighborhood,
        class_weights: NDArray[np.float64] | None,
        blocks: ColumnBlocks,
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, class_weights)

    def _distances(self) -> NDArray[np.float64]:
        (D,) = self._blocks.sum_blocks(_distances, shared=self._metric)
        return np.sqrt(D) if self._metric == nearest.EUCLIDEAN else np.array(D)

    def _summed(self, pairs: Pairs) -> NDArray[np.floating]:
        return self._blocks.joined(_summed, shared=(pairs, self._metric == nearest.SQUARED_EUCLIDEAN))


# Tasks


@exclusive_on_worker
def _distances(block: ColumnBlock, metric: int) -> tuple[NDArray[np.float64]]:
    return (added_distances(block.table, metric),)


@exclusive_on_worker
def _summed(block: ColumnBlock, shared: tuple[Pairs, bool]) -> NDArray[np.floating]:
    pairs, squared = shared
    return summed_pairs(block.table, pairs, squared)


# Centered columns


class CenteredBlocks:
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


class ColumnRows(LocalRows):
    """Rows of a table whose columns are on workers."""

    _table: DaskPacked

    def __init__(self, table: DaskPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = ColumnBlocks(table.source, table)

    @cached_property
    def _soft(self) -> ColumnPairwiseDistances:
        return ColumnPairwiseDistances(self._table, self._memory, self._blocks)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> ColumnNeighborhoods:
        """Return the neighborhoods under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return ColumnNeighborhoods(self._soft, w, sigma)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """Return the choices that were made for these rows, for ``execution_``."""
        return super().execution(soft=soft) | self._blocks.source.execution()

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> ColumnNearestPass:
        return ColumnNearestPass(self._table, among, anchors, self._blocks)

    def relabeled(
        self, among: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> ColumnRelabeledRows:
        """Return margins under many labelings; sample weights are 1, and no value is missing."""
        return ColumnRelabeledRows(self._table, among, class_weights, self._blocks)

    def active_set_margins(self) -> ColumnActiveSetMargins:
        """Return the margins of single samples under weights of which few are not 0."""
        return ColumnActiveSetMargins(self._table, self._memory, self._blocks)

    def centered(self) -> CenteredBlocks:
        """Return the scaled rows minus their mean."""
        return CenteredBlocks(self._blocks)
