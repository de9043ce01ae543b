"""Dask-backed tables: their partition into blocks, and statistics of their columns.

Validation wraps a Dask array as a :class:`DaskTable`, which offers what estimators need of an array: shape,
type, subsets of rows, ranges and scaling of the columns. :func:`choose_partition` decides once per fit
whether its blocks are columns of all samples or rows with all features. :class:`DaskPacked` is the labeled
table that an engine starts from, and :class:`TableBlocks` runs functions on every block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple

import dask
import numpy as np
from dask.array import concatenate, from_delayed, where
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.columns import Columns, ColumnStatistics
from .._engine.layout import DenseTable, Packed
from .._engine.limits import limits
from .._engine.memory import memory_budget
from .._engine.quantized import find_levels
from .._engine.scaling import ColumnRanges, Scaling, float_type
from .._engine.threads import thread_count
from .scheduler import Executor, locked_cached_property, sum_arrays

Partition = Literal["columns", "rows"]
PARTITIONS: tuple[Partition, ...] = ("columns", "rows")
Chunks = tuple[tuple[int, ...], tuple[int, ...]]
#: First column or row of a block, and the end of its last.
Bounds = tuple[int, int]

#: Key of Dask's configuration that sets the partition.
CONFIG_KEY = "highrelief.partition"
#: Bytes per pair of samples in a partition by columns: a distance, its float64 sum and its coefficient.
PAIR_BYTES = 24.0
#: Memory of the workers that a fit takes, in multiples of its table: blocks, and the layout of the kernels.
_TABLES_PER_FIT = 2.5


# Partition of a table into blocks


class Costs(NamedTuple):
    """Bytes sent between workers in one pass over all pairs, by partition."""

    columns: float
    rows: float


def costs(shape: tuple[int, int], itemsize: int, chunks: Chunks, n_workers: int) -> Costs:
    """Return the bytes that each partition sends.

    By columns, every worker sends the distances of all pairs and receives their coefficients; by rows, every
    worker receives the rows of all others. A table that is chunked along the other axis is sent once more.
    """
    n, d = shape
    table = float(n) * d * itemsize
    pairs = 8.0 * n * n
    columns = 2.0 * n_workers * pairs + (table if len(chunks[0]) > 1 else 0.0)
    rows = n_workers * table + (table if len(chunks[1]) > 1 else 0.0)
    return Costs(columns, rows)


def pair_memory(executor: Executor) -> float:
    """Return the bytes available, in a partition by columns, for values of all pairs of samples.

    Any of the workers may add the distances of all pairs. The client gathers some of them: to choose a
    kernel width, and for sparse solutions.
    """
    return min(memory_budget(None), limits.memory_share * executor.least_memory)


def choose_partition(shape: tuple[int, int], itemsize: int, chunks: Chunks, executor: Executor) -> Partition:
    """Return the partition from Dask's configuration, or the one that sends fewer bytes.

    By columns, the distances of all pairs must fit in one memory; otherwise the partition is by rows.
    """
    configured = dask.config.get(CONFIG_KEY, "auto")
    if configured in PARTITIONS:
        return configured
    if configured != "auto":
        raise ValueError(
            f"Dask's configuration has {CONFIG_KEY}={configured!r}; it must be 'columns', 'rows' or 'auto'."
        )
    needed = PAIR_BYTES * shape[0] ** 2
    if needed > limits.unchecked_bytes and needed > pair_memory(executor):
        return "rows"
    sent = costs(shape, itemsize, chunks, executor.n_workers)
    return "columns" if sent.columns <= sent.rows else "rows"


def block_sizes(
    partition: Partition, shape: tuple[int, int], itemsize: int, chunks: Chunks, n_threads: int
) -> list[int]:
    """Return the widths (or heights) of the blocks: the chunks, unless these are too large, small or few."""
    n, d = shape
    if partition == "columns":
        most = max(limits.min_dask_columns, limits.dask_block_bytes // (n * itemsize))
        most = min(most, max(limits.min_dask_columns, -(-d // n_threads)))
        return _resized(chunks[1], limits.min_dask_columns, most)
    most = min(limits.max_dask_rows, max(limits.min_dask_rows, limits.dask_block_bytes // (d * itemsize)))
    # Tasks work on pairs of blocks: about four per thread.
    n_blocks = max(1, int((4.0 * n_threads) ** 0.5))
    most = min(most, max(limits.min_dask_rows, -(-n // n_blocks)))
    return _resized(chunks[0], min(limits.min_dask_rows, most), most)


def _resized(sizes: tuple[int, ...], least: int, most: int) -> list[int]:
    """Split sizes above ``most`` evenly, and join neighbors below ``least``."""
    resized: list[int] = []
    joins = False
    for size in sizes:
        n = max(1, -(-size // most))
        parts = [size * (i + 1) // n - size * i // n for i in range(n)]
        for part in parts:
            if joins and resized[-1] + part <= most:
                resized[-1] += part
            else:
                resized.append(part)
            joins = resized[-1] < least
    return [size for size in resized if size]


def bounds_of(sizes: Iterable[int]) -> list[Bounds]:
    """Return first and end of consecutive blocks of these sizes."""
    return list(pairwise(accumulate(sizes, initial=0)))


# Tables


class DaskTable:
    """A validated Dask-backed table, in blocks of columns or in blocks of rows.

    It offers what validation and estimators need of an array: shape, type, subsets of rows. Only tasks see
    its values.

    Parameters
    ----------
    array : dask.array.Array of shape (n_samples, n_features)
        The table, in chunks of known sizes.
    executor : Executor
        Runs the tasks.
    partition : {"columns", "rows"} or None
        None: as :func:`choose_partition` returns.
    """

    ndim = 2
    #: For :func:`.collections.is_dask_table`, which must not import this module.
    is_dask_table = True

    def __init__(self, array: Any, executor: Executor, partition: Partition | None = None) -> None:
        self.array, self.executor = array, executor
        self.shape: tuple[int, int] = array.shape
        self.dtype: np.dtype[Any] = array.dtype
        #: Whether blocks are of columns or of rows.
        self.partition: Partition = partition or choose_partition(
            self.shape, self.dtype.itemsize, array.chunks, executor
        )

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole table."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]

    @property
    def pairs_fit_on_client(self) -> bool:
        """Whether values of all pairs of samples may be gathered on the client."""
        return self.partition == "columns"

    def execution(self) -> dict[str, Any]:
        """Return the entries of ``execution_`` that describe the partition and the workers."""
        return {
            "backend": self.executor.backend,
            "partition": self.partition,
            "n_blocks": len(self.bounds),
            "n_workers": self.executor.n_workers,
            "n_threads": self.executor.n_threads,
        }

    def astype(self, dtype: Any, copy: bool = True) -> DaskTable:
        """Return the table with another type."""
        if self.dtype == dtype:
            return self
        return DaskTable(self.array.astype(dtype), self.executor, self.partition)

    def __getitem__(self, rows: Any) -> Any:
        """Return a table of some rows, by mask or indices; for a pair of keys, part of the Dask array."""
        if isinstance(rows, tuple):
            return self.array[rows]
        if isinstance(rows, slice) and rows == slice(None):
            return self
        indices = np.flatnonzero(rows) if rows.dtype == bool else rows
        return DaskTable(self.array[indices], self.executor, self.partition)

    def persist(self) -> None:
        """Store the blocks on the workers, and read subsets from them instead of from the source again."""
        if not self.executor.is_distributed:
            return
        n, d = self.shape
        by_columns = self.partition == "columns"
        parts = [
            from_delayed(block, (n, b - a) if by_columns else (b - a, d), self.dtype)
            for block, (a, b) in zip(self.blocks, self.bounds, strict=True)
        ]
        self.array = concatenate(parts, axis=int(by_columns))

    def with_permuted_rows(self, fixed: NDArray[np.bool_], permutation: NDArray[np.int64]) -> DaskTable:
        """Return the table with its rows permuted in all features but the fixed ones."""
        return DaskTable(where(fixed, self.array, self.array[permutation]), self.executor, self.partition)

    # Blocks

    @cached_property
    def bounds(self) -> list[Bounds]:
        """First column or row of every block, and the end of its last."""
        itemsize, chunks = self.dtype.itemsize, self.array.chunks
        return bounds_of(block_sizes(self.partition, self.shape, itemsize, chunks, self.executor.n_threads))

    @locked_cached_property
    def blocks(self) -> list[Delayed]:
        """The blocks as arrays, persisted."""
        sizes = tuple(b - a for a, b in self.bounds)
        n, d = self.shape
        chunks = ((n,), sizes) if self.partition == "columns" else (sizes, (d,))
        array = self.array if self.array.chunks == chunks else self.array.rechunk(chunks)
        return self.executor.persist([delayed(_contiguous)(block) for block in array.to_delayed().ravel()])

    def gather_columns(self, features: NDArray[np.int64]) -> NDArray[Any]:
        """Return some of the columns, gathered on the client."""
        if self.partition == "rows":
            task = delayed(take_columns, pure=False)
            parts = self.executor.compute(lambda: [task(block, features) for block in self.blocks])
            return np.concatenate(parts)
        out = np.empty((len(self), features.size), self.dtype)
        return gather_columns(self.blocks, self.bounds, features, out, self.executor)

    @locked_cached_property
    def row_hashes(self) -> NDArray[np.uint64]:
        """A hash of every row: equal rows have equal hashes."""
        task = delayed(_hash_rows, pure=False)
        blocks = list(enumerate(self.blocks))
        if self.partition == "rows":
            return np.concatenate(self.executor.compute(lambda: [task(block, 0) for _, block in blocks]))
        return self.executor.reduce(lambda: [task(block, k) for k, block in blocks], _sum_hashes)

    # Statistics of the columns

    def ranges(self) -> ColumnRanges:
        """Return minima, maxima and means of the columns, and whether all values are finite."""
        return self._ranges

    @locked_cached_property
    def _ranges(self) -> ColumnRanges:
        if self.partition == "rows":
            task = delayed(_row_block_ranges, pure=False)
            fractions = [(b - a) / len(self) for a, b in self.bounds]
            blocks = list(zip(self.blocks, fractions, strict=True))
            ranges = self.executor.reduce(lambda: [task(*each) for each in blocks], _merge_ranges)
            return replace(ranges, mean=ranges.mean.astype(float_type(self.dtype)))
        task = delayed(_ranges_and_levels, pure=False)
        results = self.executor.compute(lambda: [task(block) for block in self.blocks])
        parts, levels = zip(*results, strict=True)
        # Computed on the same pass over the blocks, for ``levels``.
        self._levels = np.concatenate(levels, axis=1)
        low, high, mean = (
            np.concatenate([getattr(each, name) for each in parts]) for name in ("low", "high", "mean")
        )
        return ColumnRanges(low, high, mean, all(each.finite for each in parts))

    @property
    def levels(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Result of :func:`.quantized.find_levels` for all columns.

        Available in a partition by columns once :meth:`ranges` was called.
        """
        is_other, is_middle = self._levels
        return is_other, is_middle

    def scaling(
        self, scale: str | None, weights: NDArray[np.float64] | None, ranges: ColumnRanges
    ) -> Scaling:
        """Return the scaling of the features, as :func:`.scaling.feature_scaling` does for an array."""
        dtype = self.dtype if np.issubdtype(self.dtype, np.floating) else np.dtype(np.float64)
        if scale is None:
            return Scaling.none(self.shape[1], dtype)
        low, high = (each.astype(dtype, copy=False) for each in (ranges.low, ranges.high))
        to_range = Scaling.to_range(low, high)
        if scale == "range":
            return to_range
        weights = np.ones(len(self)) if weights is None else weights
        mean = self._weighted_sums(to_range, weights, np.zeros(self.shape[1]), 1) / weights.sum()
        variance = self._weighted_sums(to_range, weights, mean, 2) / weights.sum()
        return to_range.standardized(mean, np.sqrt(variance))

    def _weighted_sums(
        self, scaling: Scaling, weights: NDArray[np.float64], center: NDArray[np.float64], power: int
    ) -> NDArray[np.float64]:
        """Return Σ_n s_n (x_nj − center_j)^power of every scaled feature."""

        def tasks() -> list[Delayed]:
            task = delayed(_moment)
            blocks = list(zip(self.blocks, self.bounds, strict=True))
            if self.partition == "rows":
                shared = self.executor.broadcast((scaling, center))
                return [task(block, shared, weights[a:b], power) for block, (a, b) in blocks]
            shared = self.executor.broadcast(weights)
            return [
                task(block, (scaling.of(slice(a, b)), center[a:b]), shared, power) for block, (a, b) in blocks
            ]

        parts = self.executor.compute(tasks)
        return np.concatenate(parts) if self.partition == "columns" else np.sum(parts, axis=0)


class DaskPacked(DenseTable):
    """A labeled Dask-backed table: layout and metadata on the client, values on the workers."""

    raw: DaskTable
    ranges: ColumnRanges

    @cached_property
    def columns(self) -> ColumnStatistics:
        """The ranges of the columns, and the factors that scale their differences."""
        return ColumnStatistics(self.raw.shape, self.dtype, self.scaling, self.ranges)

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""
        return self.ranges.scaled_spans(self.scaling)

    def of_features(self, features: NDArray[np.int64]) -> Packed:
        """Return the rows with some of the features only, gathered on the client."""
        X = self.raw.gather_columns(features)
        return self._with_values(X, self.scaling.of(features), self.ranges.of_features(features))

    def packed_columns(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the columns of some features, gathered on the client, scaled, in the layout."""
        return self.of_features(features).packed_columns(np.arange(features.size))


class TableBlocks(ABC):
    """The blocks of a labeled table, and rounds of tasks that run a function on each of them.

    A function takes a block, the shared argument of the round (None if there is none) and its own arguments.

    Parameters
    ----------
    table : DaskPacked
        The table.
    """

    #: Whether a task runs only on the worker that stores its block.
    pinned = False

    def __init__(self, table: DaskPacked) -> None:
        self.table, self.source, self.executor = table, table.raw, table.raw.executor

    @property
    @abstractmethod
    def blocks(self) -> list[Delayed]:
        """The blocks with their metadata, persisted."""

    @property
    def bounds(self) -> list[Bounds]:
        """First column or row of every block, and the end of its last."""
        return self.source.bounds

    def broadcast(self, value: Any) -> Delayed | None:
        """Return the shared argument of a round as its tasks take it."""
        return None if value is None else self.executor.broadcast(value)

    def task(
        self,
        function: Callable[..., Any],
        block: Delayed,
        *arguments: Any,
        allow_other_workers: bool = False,
    ) -> Delayed:
        """Return a task on a block; ``allow_other_workers`` for pinned tasks, if its worker is lost."""
        if not self.pinned:
            return delayed(function, pure=False)(block, *arguments)
        with self.executor.pinned_to(block, allow_other_workers=allow_other_workers):
            return delayed(function, pure=False)(block, *arguments)

    def map_blocks(
        self,
        function: Callable[..., Any],
        shared: Any,
        *arguments: Sequence[Any],
        where: Callable[[Bounds], bool] = lambda bounds: True,
    ) -> list[Delayed]:
        """Return one task per block. ``arguments``: sequences with one item per block; ``where``: which."""
        if self.pinned:
            self.executor.locate(self.blocks)
        return [
            self.task(function, block, shared, *own)
            for block, bounds, *own in zip(self.blocks, self.bounds, *arguments, strict=True)
            if where(bounds)
        ]

    def compute_blocks(
        self, function: Callable[..., Any], *arguments: Sequence[Any], shared: Any = None
    ) -> list[Any]:
        """Return the results of a function, block by block."""
        return self.executor.compute(lambda: self.map_blocks(function, self.broadcast(shared), *arguments))

    def sum_blocks(self, function: Callable[..., Any], *arguments: Sequence[Any], shared: Any = None) -> Any:
        """Return the sum over all blocks of the arrays, or tuples of arrays, that a function returns."""
        return self.executor.reduce(
            lambda: self.map_blocks(function, self.broadcast(shared), *arguments), sum_arrays
        )


def gather_columns(
    blocks: Sequence[Delayed],
    bounds: Sequence[Bounds],
    columns: NDArray[np.int64],
    out: NDArray[Any],
    executor: Executor,
) -> NDArray[Any]:
    """Return ``out`` with some columns of a table in blocks of columns, gathered on the client."""
    owner = np.searchsorted([b for _, b in bounds], columns, side="right")
    owners = np.unique(owner)
    task = delayed(take_columns, pure=False)
    parts = executor.compute(lambda: [task(blocks[k], columns[owner == k] - bounds[k][0]) for k in owners])
    for k, part in zip(owners, parts, strict=True):
        out[:, owner == k] = part
    return out


def n_concurrent_fits(table: DaskTable, n_fits: int, n_jobs: int | None) -> int:
    """Return how many fits, each to about all rows of a table, run at the same time.

    A positive ``n_jobs`` is their number. None and −1 mean two per worker of a cluster, if the memory of the
    workers and of the client allows it; with threads one fit already uses all of them.
    """
    if n_jobs is not None and n_jobs > 0:
        return min(n_fits, thread_count(n_jobs))
    executor = table.executor
    if not executor.is_distributed:
        return 1
    most = limits.fits_per_worker * executor.n_workers
    if executor.memory:
        # Dask and the system need half of the memory, and one table is stored already.
        most = min(most, int((0.5 * executor.memory - table.nbytes) / (_TABLES_PER_FIT * table.nbytes)))
    if table.partition == "columns":
        most = min(most, int(pair_memory(executor) / (PAIR_BYTES * len(table) ** 2)))
    return max(1, min(n_fits, most))


# Tasks


def take_columns(block: NDArray[Any], columns: NDArray[np.int64]) -> NDArray[Any]:
    """Return some columns of a block."""
    return np.take(block, columns, axis=1)


def _contiguous(block: Any) -> NDArray[Any]:
    """Return a block as an aligned, C-ordered array.

    Arrays that Dask has received may be misaligned, and every pass would copy them again.
    """
    return np.require(block, requirements=["C", "A"])


def _ranges_and_levels(block: NDArray[Any]) -> tuple[ColumnRanges, NDArray[np.bool_]]:
    """Return the ranges of whole columns, and which of them have few levels."""
    ranges = ColumnRanges.of(block)
    if not ranges.finite:
        return ranges, np.ones((2, block.shape[1]), dtype=bool)
    scaling = Scaling.none(block.shape[1], ranges.low.dtype)
    return ranges, np.stack(find_levels(Columns(block, scaling, ranges), 1))


def _row_block_ranges(block: NDArray[Any], fraction: float) -> ColumnRanges:
    """Return the ranges of the columns in some rows, with means times the fraction of all rows."""
    ranges = ColumnRanges.of(block)
    with np.errstate(invalid="ignore", over="ignore"):
        return replace(ranges, mean=fraction * ranges.mean.astype(np.float64))


def _merge_ranges(parts: list[ColumnRanges]) -> ColumnRanges:
    """Return the ranges of the columns in the rows of several blocks."""
    with np.errstate(invalid="ignore", over="ignore"):
        return ColumnRanges(
            np.min([each.low for each in parts], axis=0),
            np.max([each.high for each in parts], axis=0),
            np.sum([each.mean for each in parts], axis=0),
            all(each.finite for each in parts),
        )


def _hash_rows(block: NDArray[Any], salt: int) -> NDArray[np.uint64]:
    """Return hashes of the rows of a block, different for every salt; 0 and −0 are equal."""
    values = block + 0 if block.dtype.kind == "f" else block
    salt_bytes = str(salt).encode()
    digests = [blake2b(row.tobytes(), digest_size=8, salt=salt_bytes).digest() for row in values]
    return np.frombuffer(b"".join(digests), np.uint64)


def _sum_hashes(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.sum(parts, axis=0, dtype=np.uint64)


def _moment(
    block: NDArray[Any],
    scaling_and_center: tuple[Scaling, NDArray[np.float64]],
    weights: NDArray[np.float64],
    power: int,
) -> NDArray[np.float64]:
    scaling, center = scaling_and_center
    return weights @ (scaling.apply(block) - center) ** power
