"""Blocks of columns where they lie, and what is asked of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.columns import CenteredColumns, Columns
from .._engine.distances import ErrorBound, ProductDistances, TileDistances
from .._engine.engine import LocalRows
from .._engine.labelings import Pairs, RelabeledRows, added_distances, summed_pairs
from .._engine.layout import Packed
from .._engine.missing_pairs import MissingCorrection
from .._engine.nearest import Compared, NearestPass
from .._engine.neighbors import Neighborhood, Neighbors
from .._engine.pair_sums import Coefficients, PairSums, WeightedBlocks, fill_from_minima, sums_of_products
from .._engine.quantized import Plan, WholeNumbers, planned
from .._engine.scaling import ColumnRanges, Scaling, float_type
from .._engine.search import (
    Division,
    NeighborSearch,
    Report,
    added_exact,
    distance_array,
    nothing,
    padded_rows,
)
from .._engine.soft import (
    BoundedSums,
    MarginColumns,
    SoftNeighborhoods,
    SoftPasses,
    SparseMargins,
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


class Layout(NamedTuple):
    """What all blocks have in common: the classes of the samples, and how much these count."""

    codes: NDArray[np.integer]
    n_classes: int
    sample_weight: NDArray[np.float64] | None
    class_weights: NDArray[np.float64] | None
    #: A power of 2 that brings the largest scaled range of all columns near 1.
    distance_unit: float

    def packed(
        self, X: NDArray[Any], scaling: Scaling, ranges: ColumnRanges | None = None, n_threads: int = 1
    ) -> Packed:
        """Some columns of the samples in the layout of the kernels."""
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

    def bare(self, dtype: np.dtype[Any], n_threads: int) -> Packed:
        """The layout alone, with no column."""
        none = np.empty((self.codes.size, 0), dtype)
        return self.packed(none, Scaling.none(0, np.dtype(np.float64)), n_threads=n_threads)


class ColumnBlock:
    """Some columns of all samples, with the worker that has them.

    Parameters
    ----------
    X : (n_samples, width)
        The columns, not scaled.
    layout : Layout
        What all blocks share.
    scaling : Scaling
        Of these columns.
    ranges : ColumnRanges
        Of these columns.
    first : int
        The place of the first of them in the table.
    """

    def __init__(
        self, X: NDArray[Any], layout: Layout, scaling: Scaling, ranges: ColumnRanges, first: int
    ) -> None:
        self.X, self.layout, self.scaling, self.ranges, self.first = X, layout, scaling, ranges, first

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is moved to the disk."""
        return object.__sizeof__(self) + self.X.nbytes

    def __getstate__(self) -> dict[str, Any]:
        """What is sent, or moved to the disk: nothing that can be made again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("table", "columns")}

    @cached_property
    def table(self) -> Packed:
        """The columns in the layout of the kernels, for all threads of the worker."""
        return self.layout.packed(self.X, self.scaling, self.ranges, worker_threads(1))

    @cached_property
    def columns(self) -> Columns:
        """The columns with what makes them comparable to those of all blocks."""
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
        sample_weight = table.input_sample_weight if table.counted else None
        self.layout = Layout(table.input_codes, table.n_classes, sample_weight, table.class_weights, unit)

    @property
    def levels(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Result of :func:`.quantized.marked_levels` for all columns."""
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


# Who is near whom, by blocks of columns: workers add up distances, and one of them looks for the nearest.


#: Bytes of the columns that a worker turns into whole numbers at a time.
_PIECE_BYTES = 2.0**24
#: How much of its memory a worker may need for blocks that wait to be worked on, some of which lie on disk.
_SHARE_OF_MEMORY = 0.25

Kind = type[WholeNumbers] | type[ProductDistances] | type[TileDistances]
#: Distances of rows to all over some columns, and what their errors follow from.
Share = tuple[NDArray[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class Sought:
    """Whose neighbors are looked for, and who may be one."""

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
    """Neighbors that were found, for passes over some of the columns alone."""

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
    """A search for the nearest neighbors of the anchors, by the workers that have the columns."""

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
        """Neighbors of all anchors that have a hit, brought here."""
        (given,) = self._blocks.executor.compute(lambda: [self.found()])
        report()
        yield from given.found

    def found(self) -> Delayed:
        """A task of a round: the neighbors of all anchors that have a hit.

        The shares of all columns in the distances are added up, who may be a neighbor is looked for in the
        sums, and the workers measure where that leaves a doubt.
        """
        executor, blocks = self._blocks.executor, self._blocks.blocks
        anchors = np.flatnonzero(self._chosen)
        if not anchors.size:
            return executor.share(GivenNeighbors(self._among, self._anchors, ()))
        sought = executor.share(self._sought(padded_rows(anchors) if self._way == "rows" else None))
        shares = reduce_to_fan_in(self._distance_shares(sought), sum_arrays)
        given = executor.materialize_if_local(delayed(_candidates, pure=False)(sought, shares))
        if not self._must_measure:
            return given
        task = self._blocks.task
        lengths = reduce_to_fan_in(
            [task(_measured, block, given, self._metric) for block in blocks], sum_arrays
        )
        return executor.materialize_if_local(delayed(_divided, pure=False)(given, lengths, self._division))

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
        executor, blocks, cuts = self._blocks.executor, self._blocks.blocks, self._blocks.bounds
        plan = self._distances.plan if isinstance(self._distances, WholeNumbers) else None
        if plan is not None:
            chains = [self._at_a_time(*each) for each in executor.group_by_worker(blocks)]
        else:
            chains = [[[i]] for i in range(len(blocks))]
        share = delayed(_share, pure=False)
        ends: list[Delayed] = []
        for chain in chains:
            total: Any = None
            for which in chain:
                plans = None if plan is None else [plan.of_columns(*cuts[i]) for i in which]
                with executor.pinned_to(blocks[which[0]]):
                    total = share(total, [blocks[i] for i in which], plans, sought)
            ends.append(total)
        return ends

    def _at_a_time(self, which: list[int], worker: Worker) -> list[list[int]]:
        """The blocks of a worker that are taken at a time, which must be in its memory all at once.

        As many tasks may have theirs there, and wait for their turn, as the worker has threads.
        """
        widest = max(b - a for a, b in self._blocks.bounds)
        block_bytes = widest * self._table.n_samples * self._blocks.source.dtype.itemsize
        room = _SHARE_OF_MEMORY * worker.memory / worker.n_threads
        n = max(worker.n_threads, int(min(room / block_bytes, len(which))))
        return [which[a : a + n] for a in range(0, len(which), n)]


class _CandidateSearch(NeighborSearch):
    """A search in distances that were added up already; who is left in doubt is measured later."""

    def __init__(self, sought: Sought, distances: ErrorBound, D: NDArray[np.uint32]) -> None:
        # The layout of the rows is all that counts here.
        table = sought.layout.bare(sought.dtype, worker_threads(sought.n_threads))
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
        self._mask_pairs(self._D, anchors, (0, self._table.n_rows))
        yield super()._candidates(self._D, anchors)

    def _all_distances(self, report: Report) -> NDArray[np.uint32]:
        return self._D

    def _share(self, found: Neighbors) -> None:
        if not self._must_measure:
            super()._share(found)


# What workers do


@exclusive_on_worker
def _share(
    before: Share | None, blocks: list[ColumnBlock], plans: list[Plan] | None, sought: Sought
) -> Share:
    """The share of some blocks in the distances of rows to all, added to that of those before."""
    n_rows, rows = blocks[0].table.n_rows, sought.rows
    D = distance_array(n_rows if rows is None else rows.size, n_rows)
    noted: Any = 0.0
    if before is not None:
        D[...], noted = before
    n_threads, everything = worker_threads(1), (0, n_rows)
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


@exclusive_on_worker
def _candidates(sought: Sought, shares: list[Share]) -> GivenNeighbors:
    """Who may be a neighbor of each anchor, by the distances over all columns."""
    parts, notes = zip(*shares, strict=True)
    keys, noted = distance_array(*parts[0].shape), sum(notes[1:], notes[0])
    total = keys.view(parts[0].dtype)
    total[...] = parts[0]
    for part in parts[1:]:
        total += part
    error_bound = sought.kind.error_bound(noted, float_type(sought.dtype))
    found = tuple(_CandidateSearch(sought, error_bound, keys).neighbors())
    return GivenNeighbors(sought.among, sought.anchors, found)


@exclusive_on_worker
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
    """Neighbors by the exact distances of all candidates."""
    divided = []
    for found, exact in zip(given.found, sum_arrays(lengths), strict=True):
        divided.append(replace(found, shares=np.zeros(found.rows.size)))
        division.divide(divided[-1], exact)
    return replace(given, found=tuple(divided))


# Nearest neighbors by blocks of columns: workers add up distances, and weigh their own columns.


class ColumnNearestPass(NearestPass):
    """One pass over the nearest neighbors of the anchors; workers compare what lies with them."""

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

        In one round: the workers find the neighbors, and go on from there.
        """

        def tasks() -> list[Delayed]:
            found = self._search.found()
            return [self._blocks.task(_sums, block, found, with_squares) for block in self._blocks.blocks]

        parts = self._blocks.executor.compute(tasks)
        report()
        return np.concatenate(parts, axis=-1)

    def compared(self, report: Report = nothing, *, apart: bool = False, gaps: bool = False) -> Compared:
        """Every anchor compared with its neighbors.

        The rows are a matrix that lies with the workers, unless it is smaller than all distances.
        """
        found = self.found(report)
        between = np.zeros(0)
        if gaps:
            (between,) = self._blocks.sum_blocks(_gaps, shared=found)
        n_rows = self._table.n_samples * (1 + apart)
        if self._table.n_features <= self._table.n_samples:
            rows: Any = self._blocks.joined(_compared, apart, shared=found)
        else:
            rows = self._blocks.matrix(_compared, apart, shared=found, n_rows=n_rows)
        return Compared(rows, between, self._table.unpacked(self._anchors & self._table.has_hit))

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        (margins,) = self._blocks.sum_blocks(
            _margins_under, self._blocks.slices(w), shared=self.found(nothing)
        )
        return margins

    def found(self, report: Report) -> GivenNeighbors:
        """The neighbors of all anchors, for workers to compare them with."""
        return GivenNeighbors(self._among, self._anchors, tuple(self._search.neighbors(report)))


class _GivenSearch:
    """What a pass asks of a search that is over."""

    n_reports = 0

    def __init__(self, block: ColumnBlock, given: GivenNeighbors) -> None:
        self.columns, self._found = block.columns, given.found

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """The neighbors that were found."""
        yield from self._found

    def describe(self) -> dict[str, Any]:
        """Nothing is chosen here."""
        return {}


class _BlockPass(NearestPass):
    """One pass over the columns of a block, with neighbors that were found elsewhere."""

    def __init__(self, block: ColumnBlock, given: GivenNeighbors) -> None:
        self._block, self._given = block, given
        super().__init__(block.table, given.among, given.anchors)

    def _make_search(self, among: Neighborhood) -> Any:
        return _GivenSearch(self._block, self._given)


# What workers do


@exclusive_on_worker
def _sums(block: ColumnBlock, given: GivenNeighbors, with_squares: bool) -> NDArray[np.float64]:
    return _BlockPass(block, given).sums(with_squares=with_squares)


@exclusive_on_worker
def _compared(block: ColumnBlock, given: GivenNeighbors, apart: bool) -> NDArray[np.float64]:
    return _BlockPass(block, given).compared(apart=apart).rows


@exclusive_on_worker
def _gaps(block: ColumnBlock, given: GivenNeighbors) -> tuple[NDArray[np.float64]]:
    return (_BlockPass(block, given).compared(gaps=True).gaps,)


@exclusive_on_worker
def _margins_under(
    block: ColumnBlock, given: GivenNeighbors, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64]]:
    return (_BlockPass(block, given).rows() @ w,)


# Soft neighborhoods by blocks of columns: workers add up distances, and weigh their own columns.


class ColumnPasses(SoftPasses):
    """Passes over all pairs of rows, whose distances lie with a worker."""

    rows: ColumnWeightedRows  # type: ignore[assignment]

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self.rows = ColumnWeightedRows(table, blocks)
        if not self.stored:
            size = float(table.n_tiles) * distances_kernels.TILE**2 * table.dtype.itemsize
            raise MemoryError(
                f"By columns, {table.n_samples} samples need {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB. Raise it, or have Dask's"
                ' configuration say highrelief.partition="rows".'
            )

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature."""
        return self.rows.summed(by)

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """The same: the workers do not know which can be left out."""
        return self.sum_differences(by)


class ColumnWeightedRows:
    """Rows under weights that change; columns lie with the workers, and the distances with one of them."""

    by_blocks = True

    def __init__(self, table: Packed, blocks: ColumnBlocks) -> None:
        self._table, self._blocks = table, blocks
        self.correction = MissingCorrection(table)
        self.sums = np.zeros(table.n_rows)
        self._given = np.empty(0)
        self._held: _Held | None = None

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self._given, self._held = w, None

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Bring the distances of all pairs here, and the sums of the rows."""
        (near,) = self._blocks.executor.compute(lambda: [self._distances()])
        tiles[...], self.sums = near.tiles, near.sums

    def ask(self, function: Callable[..., Any], *more: Any) -> Any:
        """What a function of the distances returns, with the worker that has them."""
        (answer,) = self._blocks.executor.compute(
            lambda: [delayed(function, pure=False)(self._distances(), *more)]
        )
        return answer

    def summed(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature: each worker for its own columns."""
        executor, blocks = self._blocks.executor, self._blocks

        def tasks() -> list[Delayed]:
            made = delayed(_coefficients, pure=False)(self._distances(), executor.share(by))
            return blocks.map_blocks(_sums_of_products, executor.materialize_if_local(made))

        return np.concatenate(executor.compute(tasks))

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        (content,) = self._blocks.sum_blocks(_content)
        return content

    def _distances(self) -> Delayed:
        """For the tasks of a round: the distances of all pairs. They stay until the weights change.

        Tasks that add them up are bound to the workers of the blocks. Where one of these is lost, nobody can
        make again what it took along, and another attempt begins with these.
        """
        blocks, executor, w, loss = (
            self._blocks,
            self._blocks.executor,
            self._given,
            self._blocks.executor.generation,
        )
        if self._held is None or self._held.loss is not loss:
            minima = blocks.map_blocks(
                _minima,
                None,
                blocks.slices(w),
                # Features of weight 0 add nothing to the distances.
                where=(lambda bounds: bool(w[slice(*bounds)].any())) if w.any() else lambda bounds: True,
            )
            given = blocks.shared_layout, self._table.dtype, self._table.n_threads
            near = delayed(_near, pure=False)(reduce_to_fan_in(minima, sum_arrays), *given)
            self._held = _Held(executor.materialize([near])[0], loss, executor.addresses_of(blocks.blocks))
        # Other fits may have noted a loss since.
        executor.require(self._held.places)
        return self._held.near


class _Held(NamedTuple):
    """Distances that a worker keeps for the next rounds."""

    near: Delayed
    #: The last loss of workers before they were asked for.
    loss: object
    #: The workers that they are made by alone.
    places: frozenset[str]


class ColumnNeighborhoods(SoftNeighborhoods):
    """Who is near whom, from statistics that the worker gathers which has the distances."""

    _passes: ColumnPasses

    def _statistics_of_pairs(self) -> Statistics:
        self._passes.put_under(self._w)
        return self._passes.rows.ask(_statistics, self._per_sigma)

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        self._passes.put_under(self._w)
        return self._passes.rows.ask(_moments, self._per_sigma, self._low)


def summed_differences(blocks: ColumnBlocks, pairs: PairSums) -> NDArray[np.float64]:
    """Σ over pairs of coefficient·|x − x'|, whose coefficients are here: each worker for its own columns."""
    return blocks.joined(_sums_of_products, shared=(pairs.tiles, pairs.row_totals))


# What workers do


class Near:
    """The distances of all pairs, with the worker that has them.

    Offers what passes over stored distances ask of rows.
    """

    def __init__(
        self, tiles: NDArray[np.floating], sums: NDArray[np.float64], layout: Layout, n_threads: int
    ) -> None:
        self.tiles, self.sums, self._layout, self._n_threads = tiles, sums, layout, n_threads
        #: No row: kernels find all distances stored.
        self.X, self.w = np.empty((0, 0), tiles.dtype), np.empty(0, tiles.dtype)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is sent to whom, and moved to the disk."""
        return object.__sizeof__(self) + self.tiles.nbytes + self.sums.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        """What is sent, or moved to the disk: nothing that can be made again."""
        return Near, (self.tiles, self.sums, self._layout, self._n_threads)

    @cached_property
    def table(self) -> Packed:
        """The layout of the rows, for all threads of the worker whose task asks first."""
        return self._layout.bare(self.tiles.dtype, worker_threads(self._n_threads))

    @cached_property
    def correction(self) -> MissingCorrection:
        """Nothing is missing."""
        return MissingCorrection(self.table)


@exclusive_on_worker
def _minima(
    block: ColumnBlock, shared: Any, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = WeightedBlocks(block.table)
    rows.put_under(w)
    return rows.minima()


@exclusive_on_worker
def _near(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    layout: Layout,
    dtype: np.dtype[Any],
    n_threads: int,
) -> Near:
    """Distances of all pairs, from the sums of smaller values over all columns."""
    minima, sums = sum_arrays(parts)
    near = Near(packing.aligned_zeros(minima.shape, dtype), sums.copy(), layout, n_threads)
    fill_from_minima(near.table, minima, near.sums, near.correction, near.tiles)
    return near


@exclusive_on_worker
def _statistics(near: Near, per_sigma: np.floating) -> Statistics:
    return tile_statistics(near.table, near, near.tiles, True, per_sigma, parts_of_pass(near.table))


@exclusive_on_worker
def _moments(near: Near, per_sigma: np.floating, low: NDArray[np.floating]) -> NDArray[np.float64]:
    return tile_moments(near.table, near, near.tiles, True, per_sigma, low, parts_of_pass(near.table))


@exclusive_on_worker
def _coefficients(near: Near, by: Coefficients) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Coefficients of all pairs, and their sums by row."""
    tiles = packing.aligned_zeros(near.tiles.shape, near.tiles.dtype)
    tiles[...] = near.tiles  # which others will ask again
    pairs = PairSums(near.table, tiles, by, near.correction)
    return pairs.tiles, pairs.row_totals


@exclusive_on_worker
def _sums_of_products(
    block: ColumnBlock, shared: tuple[NDArray[np.floating], NDArray[np.float64]]
) -> NDArray[np.float64]:
    return sums_of_products(block.table, np.arange(block.table.n_features), *shared)


def _content(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (WeightedBlocks(block.table, block.first).content(),)


# Margins of single samples by blocks of columns, for the few features that a sparse solution is about.


#: Up to this share of the features, those at work are brought here.
_FEW = 1 / 16


class ColumnMargins(SparseMargins):
    """Margins under weights that change, of which few are not 0.

    The columns of these few are brought here, where all that is about them is found. The workers tell, by
    sums over their own columns, which others ask to come back.
    """

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self.blocks = blocks

    def _few(self, n_features: int, n_all: int) -> bool:
        return n_features <= _FEW * n_all

    def _passes_over(self, table: Packed) -> SoftPasses:
        if table is not self.table:
            return SoftPasses(table, self._memory)
        return ColumnPasses(table, self._memory, self.blocks)

    def _neighborhoods(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        of_passes = ColumnNeighborhoods if isinstance(passes, ColumnPasses) else SoftNeighborhoods
        return of_passes(passes, w, sigma)

    def _columns(self, *of: Any) -> MarginColumns:
        return ColumnMarginColumns(self, *of)


class ColumnMarginColumns(MarginColumns):
    """The margins z̄_n of all samples under one w; sums over samples are those of all features."""

    _source: ColumnMargins

    def _written(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        few = self._table.of_features(features)
        width = packing.padded_width(features.size, few.dtype.itemsize)
        X = packing.aligned_zeros((few.n_rows, width), few.dtype)
        few.scaled.write(np.arange(features.size), X)
        return X

    def _screened_sums(self, factors: NDArray[np.float64], threshold: float) -> BoundedSums:
        by = self._near.coefficients(factors)
        if isinstance(self._passes, ColumnPasses):
            exact = self._passes.sum_differences(by)
        else:
            # The few features at work are here, and so are the distances that they make.
            pairs = PairSums(self._table, self._passes.tiles()[0].copy(), by, self._source.correction)
            exact = summed_differences(self._source.blocks, pairs)
        return BoundedSums(np.arange(exact.size), exact, exact.copy(), lambda features: exact[features])


# Nearest neighbors under many labelings, by blocks of columns.
#
# Distances are added up over all workers once; the lists of neighbors, and what each pair counts under
# each labeling, are made here and sent to all workers, which weigh their own columns for all labelings at
# once.


class ColumnRelabeledRows(RelabeledRows):
    """Rows, whose columns lie with workers, under many labelings."""

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


# What workers do


@exclusive_on_worker
def _distances(block: ColumnBlock, metric: int) -> tuple[NDArray[np.float64]]:
    return (added_distances(block.table, metric),)


@exclusive_on_worker
def _summed(block: ColumnBlock, given: tuple[Pairs, bool]) -> NDArray[np.floating]:
    pairs, squared = given
    return summed_pairs(block.table, pairs, squared)


# A table in blocks of columns, scaled and measured from its mean.


class CenteredBlocks:
    """What :class:`.columns.CenteredColumns` offers, of columns that lie with workers."""

    def __init__(self, blocks: ColumnBlocks) -> None:
        self._blocks = blocks
        self.n_samples, self.n_features = blocks.source.shape

    @locked_cached_property
    def _held(self) -> ColumnMatrix:
        return self._blocks.matrix(_whole, n_rows=self.n_samples)

    def matrix(self) -> ColumnMatrix:
        """Something to multiply vectors with; it lies with the workers."""
        return self._held

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        (squares,) = self._blocks.sum_blocks(_squares)
        return squares

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """XᵀLX, (n_features, n_features), from all pairs of blocks."""
        return self._held.scatter(L)

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_samples, n_samples)."""
        (gram,) = self._blocks.sum_blocks(_gram)
        return gram

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""
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


# Rows of a table that is worked on by blocks of columns.
#
# Distances add up over columns. Each worker finds the share of its columns in the distances of all pairs;
# the shares are added up, neighborhoods are formed once, by one of the workers, and sent to the others,
# and each weighs its own columns. The table itself is never moved.


class ColumnRows(LocalRows):
    """Rows of a table whose columns lie with workers."""

    def __init__(self, table: DaskPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = ColumnBlocks(table.source, table)

    @cached_property
    def _soft(self) -> ColumnPasses:
        return ColumnPasses(self._table, self._memory, self._blocks)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> ColumnNeighborhoods:
        """Who is near whom under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return ColumnNeighborhoods(self._soft, w, sigma)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | self._blocks.source.execution()

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> ColumnNearestPass:
        return ColumnNearestPass(self._table, among, anchors, self._blocks)

    def relabeled(
        self, among: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> ColumnRelabeledRows:
        """The nearest neighbors of all samples under many labelings; every sample once, and complete."""
        return ColumnRelabeledRows(self._table, among, class_weights, self._blocks)

    def sparse_margins(self) -> ColumnMargins:
        """Margins of single samples for few features, under weights that are mostly 0."""
        return ColumnMargins(self._table, self._memory, self._blocks)

    def centered(self) -> CenteredBlocks:
        """The rows, scaled, measured from their mean."""
        return CenteredBlocks(self._blocks)
