"""Blocks of rows with their labels, and tasks on all pairs of blocks.

In a partition by rows, a task gets two blocks and compares all their rows, in both directions. On a cluster
the blocks are persisted and sent between workers; with Dask's threads a task loads its two blocks itself
(:class:`LazyBlock`), so that a table larger than the memory never is in it as a whole.
:class:`StackedBlocks` puts the two blocks into the layout of the kernels, and :class:`RowBlocks` builds the
tasks and merges their results block by block in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.columns import ScaledColumns
from .._engine.layout import Packed
from .._engine.scaling import ColumnRanges, Scaling
from .._kernels import distances, packing
from .matrix import RowMatrix
from .scheduler import locked_cached_property, sum_arrays, tree_reduce
from .table import Bounds, TableBlocks

#: Indices of two blocks, the first not larger than the second.
Pair = tuple[int, int]


class BlockMetadata(NamedTuple):
    """Metadata that all blocks share: classes and features."""

    n_classes: int
    scaling: Scaling
    #: Of the whole table, with means by sample weight.
    ranges: ColumnRanges


class RowBlock:
    """Some rows of the table.

    Parameters
    ----------
    X : (height, n_features)
        The rows, not scaled.
    first : int
        Index of the first row in the table.
    codes : (height,) int
        Class codes.
    sample_weight : (height,) float64 or None
        Sample weights; None: 1.
    metadata : BlockMetadata
        Shared by all blocks.
    """

    def __init__(
        self,
        X: NDArray[Any],
        first: int,
        codes: NDArray[np.integer],
        sample_weight: NDArray[np.float64] | None,
        metadata: BlockMetadata,
    ) -> None:
        self.X, self.first, self.codes = X, first, codes
        self.sample_weight, self.metadata = sample_weight, metadata
        #: Indices of the rows in the table.
        self.samples = np.arange(first, first + len(X))

    def __len__(self) -> int:
        return len(self.X)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to spill to disk."""
        return object.__sizeof__(self) + self.X.nbytes

    @property
    def table_rows(self) -> slice:
        """The rows of the table that are in the block."""
        return slice(self.first, self.first + len(self.X))

    def take(self, rows: NDArray[np.int64]) -> RowBlock:
        """Return a block of some of the rows."""
        sample_weight = None if self.sample_weight is None else self.sample_weight[rows]
        block = RowBlock(self.X[rows], self.first, self.codes[rows], sample_weight, self.metadata)
        block.samples = self.samples[rows]
        return block


class LazyBlock:
    """A block that a task loads itself, and drops when it is done."""

    def __init__(self, block: Delayed, first: int, end: int) -> None:
        self._block, self.first, self._end = block, first, end

    def __len__(self) -> int:
        return self._end - self.first

    def load(self) -> RowBlock:
        """Return the block."""
        return self._block.compute(scheduler="synchronous")


def load_with_each(block: LazyBlock, others: Iterable[LazyBlock]) -> Iterator[tuple[RowBlock, RowBlock]]:
    """Yield a block with each of some others, one at a time.

    The rows of both are views of one array, so that :func:`stacked_rows` need not copy them.
    """
    first, n = block.load(), len(block)
    X = first.X
    for other in others:
        if len(X) != n + len(other):
            X = np.empty((n + len(other), X.shape[1]), X.dtype)
            X[:n] = first.X
            first.X = X[:n]  # drops the loaded array before the next one is loaded
        second = other.load()
        X[n:] = second.X
        second.X = X[n:]
        yield first, second


def _loading_blocks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of two lazy blocks, or of one and None, that loads them first."""

    @wraps(function)
    def task(block: LazyBlock, other: LazyBlock | None, *arguments: Any) -> Any:
        if other is None:
            return function(block.load(), None, *arguments)
        ((first, second),) = load_with_each(block, [other])
        return function(first, second, *arguments)

    return task


def blocks_of_pair(block: RowBlock, other: RowBlock | None) -> list[RowBlock]:
    """Return the blocks of a pair: two, or one if it is paired with itself."""
    return [block] if other is None else [block, other]


def stacked_rows(blocks: Sequence[RowBlock]) -> NDArray[Any]:
    """Return the rows of one or two blocks as one array, without a copy if they are views of one."""
    return _stacked([block.X for block in blocks])


def _stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    whole = first.base
    if isinstance(whole, np.ndarray) and whole is second.base and len(whole) == len(first) + len(second):
        adjacent = second.ctypes.data - first.ctypes.data == first.nbytes
        if adjacent and whole.shape[1:] == first.shape[1:] and whole.flags.c_contiguous:
            return whole
    return np.concatenate(parts)


class StackedBlocks(Packed):
    """One or two blocks in the layout of the kernels, for one thread.

    Each block is sorted by class and padded to whole tiles, so that the pairs between two blocks fill whole
    tiles as well.

    Parameters
    ----------
    blocks : list of RowBlock
        One or two.
    features : (n,) int or None
        Selected columns; None: all.
    """

    def __init__(self, blocks: Sequence[RowBlock], features: NDArray[np.int64] | None = None) -> None:
        self._blocks = blocks
        metadata = blocks[0].metadata
        scaling, ranges = metadata.scaling, metadata.ranges
        parts = [block.X for block in blocks]
        if features is not None:
            parts = [np.take(part, features, axis=1) for part in parts]
            scaling, ranges = scaling.of(features), ranges.of_features(features)
        sample_weight = None
        if blocks[0].sample_weight is not None:
            sample_weight = np.concatenate(
                [block.sample_weight for block in blocks if block.sample_weight is not None]
            )
        super().__init__(
            _stacked(parts),
            np.concatenate([block.codes for block in blocks]),
            metadata.n_classes,
            scaling=scaling,
            sample_weight=sample_weight,
            ranges=ranges,
        )

    def _laid_out(self, codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        positions, row_codes, class_starts = [], [], []
        #: First row of every block in the layout, and the end of its last.
        self.parts: list[Bounds] = []
        first = row = 0
        for block in self._blocks:
            sample_of_row, codes_of_part = packing.class_layout(block.codes, self.n_classes)
            class_starts.append(np.searchsorted(codes_of_part, np.arange(self.n_classes + 1)))
            n_padding = -sample_of_row.size % distances.TILE
            sample_of_row = np.where(sample_of_row == packing.PADDING, packing.PADDING, sample_of_row + first)
            positions.append(np.concatenate([sample_of_row, np.full(n_padding, packing.PADDING)]))
            row_codes.append(np.concatenate([codes_of_part, np.full(n_padding, self.n_classes - 1)]))
            self.parts.append((row, row + positions[-1].size))
            first, row = first + len(block), row + positions[-1].size
        #: For every block, the first row of each class, relative to the block, and the end of the last.
        self.class_starts_in_part: list[NDArray[np.int64]] = class_starts
        return np.concatenate(positions), np.concatenate(row_codes)

    @property
    def heights(self) -> list[int]:
        """Number of samples of every block."""
        return [len(block) for block in self._blocks]

    @cached_property
    def samples(self) -> NDArray[np.int64]:
        """Index in the table of every row of the layout; −1 for padding."""
        samples = np.concatenate([block.samples for block in self._blocks])
        return np.where(self.is_sample, samples[self.sample_of_row], -1)

    @cached_property
    def scaled(self) -> ScaledColumns:
        """The columns, scaled and laid out; relative to the ranges of the whole table."""
        return ScaledColumns(self.raw, self.sample_of_row, self.scaling, ranges=self.ranges)

    @property
    def cross_tiles(self) -> list[Bounds]:
        """Ranges of the tiles that contain the pairs: within one block, or between two."""
        if len(self.parts) == 1:
            return [(0, self.n_tiles)]
        height = self.parts[0][1] // distances.TILE
        columns = range(height, self.n_rows // distances.TILE)
        return [(j * (j + 1) // 2, j * (j + 1) // 2 + height) for j in columns]


class RowBlocks(TableBlocks):
    """All blocks of rows of a table, and tasks on them and on pairs of them.

    A function of a pair takes two blocks (the second is None for the pair of a block with itself), the shared
    argument of the round, and its own arguments: for every sequence of items by block, that of the first
    block and that of the second, or None.
    """

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of blocks, including those of a block with itself."""
        return [(i, j) for j in range(len(self.bounds)) for i in range(j + 1)]

    @locked_cached_property
    def blocks(self) -> list[Delayed]:
        """All blocks, persisted."""
        table, ranges = self.table, self.table.ranges
        sample_weight = None
        if table.has_sample_weight:
            sample_weight = table.input_sample_weight
            ranges = replace(ranges, mean=self._weighted_mean(sample_weight).astype(ranges.mean.dtype))
        metadata = delayed(BlockMetadata(table.n_classes, table.scaling, ranges), traverse=False, pure=False)
        task = delayed(RowBlock, pure=False)
        blocks = []
        for X, (a, b) in zip(self.source.blocks, self.bounds, strict=True):
            weights = None if sample_weight is None else sample_weight[a:b]
            blocks.append(task(X, a, table.input_codes[a:b], weights, metadata))
        return self.executor.persist(blocks)

    def _weighted_mean(self, sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means of the columns by sample weight."""
        task = delayed(_weighted_sums, pure=False)
        blocks = list(zip(self.source.blocks, self.bounds, strict=True))
        sums = self.executor.compute(lambda: [task(X, sample_weight[a:b]) for X, (a, b) in blocks])
        return np.sum(sums, axis=0) / sample_weight.sum()

    # Tasks

    def map_pairs(
        self,
        function: Callable[..., Any],
        shared: Any,
        *arguments: Sequence[Any],
        where: Callable[[int, int], bool] = lambda i, j: True,
    ) -> dict[Pair, Any]:
        """Return one task per pair of blocks. ``where``: for which pairs."""
        task, blocks = delayed(function, pure=False), list[Any](self.blocks)
        if not self.executor.is_distributed:
            # Otherwise a block would stay in memory from its first pair to its last.
            task, blocks = delayed(_loading_blocks(function), pure=False), self._lazy_blocks
        tasks = {}
        for i, j in self.pairs:
            if where(i, j):
                other = None if i == j else blocks[j]
                own = [item for each in arguments for item in (each[i], None if i == j else each[j])]
                tasks[i, j] = task(blocks[i], other, shared, *own)
        return tasks

    def map_lazy_blocks(
        self, function: Callable[..., Any], shared: Any, *arguments: Sequence[Any]
    ) -> list[Delayed]:
        """Return one task per block, with a function of that block, of all blocks and of the arguments.

        The blocks are lazy: the function loads one after the other, and two at a time.
        """
        task, lazy = delayed(function, pure=False), self._lazy_blocks
        everything = self.executor.broadcast(lazy)
        return [task(block, everything, shared, *own) for block, *own in zip(lazy, *arguments, strict=True)]

    @property
    def _lazy_blocks(self) -> list[LazyBlock]:
        return [LazyBlock(block, *bounds) for block, bounds in zip(self.blocks, self.bounds, strict=True)]

    def merge_by_block(self, tasks: dict[Pair, Any], merge: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return for every block a task that merges the results of its pairs, in a fixed order.

        The tasks of pairs return one result for their first block, and one for their second. ``merge`` takes
        a list of these, and the arguments. None for a block that is in no pair.
        """
        if not self.executor.is_distributed:
            return self._merge_sequentially(tasks, merge, *arguments)
        parts: list[list[Any]] = [[] for _ in self.bounds]
        for b, part in enumerate(parts):
            for other in range(len(parts)):
                pair = (min(b, other), max(b, other))
                if pair in tasks:
                    part.append(tasks[pair][1 if other < b else 0])
        return [tree_reduce(part, merge, *arguments) if part else None for part in parts]

    def _merge_sequentially(
        self, tasks: dict[Pair, Any], merge: Callable[..., Any], *arguments: Any
    ) -> list[Any]:
        """Merge the results of each block's pairs with the blocks before it: few are in memory at a time."""
        task = delayed(merge, pure=False)
        merged: list[Any] = [None for _ in self.bounds]
        for j in range(len(merged)):
            pairs = [(i, j) for i in range(j + 1) if (i, j) in tasks]
            results: list[Any] = self.executor.materialize([tasks[pair] for pair in pairs])
            parts = [merged[j]] if merged[j] is not None else []
            for (i, _), part in zip(pairs, results, strict=True):
                if i < j:
                    merged[i] = part[0] if merged[i] is None else task([merged[i], part[0]], *arguments)
                parts.append(part[int(i < j)])
            if parts:
                merged[j] = tree_reduce(parts, merge, *arguments)
            known = [b for b, each in enumerate(merged) if each is not None]
            for b, each in zip(known, self.executor.materialize([merged[b] for b in known]), strict=True):
                merged[b] = each
        return merged

    # Rounds

    def sum_pairs(self, function: Callable[..., Any], *, shared: Any) -> Any:
        """Return the sum over all pairs of the arrays that a function returns."""
        return self.executor.reduce(
            lambda: list(self.map_pairs(function, self.broadcast(shared)).values()), sum_arrays
        )

    def compute_merged(
        self, function: Callable[..., Any], merge: Callable[..., Any], *arguments: Any, shared: Any
    ) -> list[Any]:
        """Return the results of a function of pairs, merged block by block and gathered on the client."""
        return self.executor.compute(
            lambda: self.merge_by_block(self.map_pairs(function, self.broadcast(shared)), merge, *arguments)
        )


def centered_rows(blocks: RowBlocks) -> RowMatrix:
    """Return the scaled rows minus their mean: :class:`.columns.Centered` on the workers."""
    n_samples, n_features = blocks.source.shape
    mean = blocks.sum_blocks(_sum_centered, shared=np.zeros(n_features)) / n_samples
    # The mean of the remainders: centered rows are then as precise as those of an array in memory.
    mean = mean + blocks.sum_blocks(_sum_centered, shared=mean) / n_samples
    centered = blocks.executor.persist(blocks.map_blocks(_centered, blocks.broadcast(mean)))
    return RowMatrix(centered, blocks.bounds, n_features, blocks.executor)


# Tasks


def _weighted_sums(X: NDArray[Any], sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.einsum("i,ij->j", sample_weight, X)


def _scaled(block: RowBlock) -> NDArray[np.float64]:
    return block.metadata.scaling.apply(block.X).astype(np.float64, copy=False)


def _sum_centered(block: RowBlock, center: NDArray[np.float64]) -> NDArray[np.float64]:
    return (_scaled(block) - center).sum(axis=0)


def _centered(block: RowBlock, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    return _scaled(block) - mean
