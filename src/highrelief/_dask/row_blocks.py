"""Blocks of rows where they lie, and what is asked of all pairs of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.columns import Columns, ScaledColumns
from .._engine.layout import Packed
from .._engine.scaling import ColumnRanges, Scaling
from .._kernels import distances, packing
from .matrix import RowMatrix
from .scheduler import added, once, tree
from .table import ClusterTable, Cut

#: Two blocks, the first not after the second.
Pair = tuple[int, int]


class Common(NamedTuple):
    """What all blocks have in common: the features."""

    n_classes: int
    scaling: Scaling
    #: Of the whole table; the means count copies.
    ranges: ColumnRanges


class RowBlock:
    """Some rows of the table, with the worker that has them.

    Parameters
    ----------
    X : (height, n_features)
        The rows, not scaled.
    first : int
        The place of the first of them in the table.
    codes : (height,) int
        Their classes.
    sample_weight : (height,) float64 or None
        How often each counts; None: once.
    common : Common
        What all blocks share.
    """

    def __init__(
        self,
        X: NDArray[Any],
        first: int,
        codes: NDArray[np.integer],
        sample_weight: NDArray[np.float64] | None,
        common: Common,
    ) -> None:
        self.X, self.first, self.codes, self.sample_weight, self.common = (
            X,
            first,
            codes,
            sample_weight,
            common,
        )
        self.samples = np.arange(first, first + len(X))

    def __len__(self) -> int:
        return len(self.X)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is moved to the disk."""
        return object.__sizeof__(self) + self.X.nbytes

    @property
    def place(self) -> slice:
        """Where its rows are in the table."""
        return slice(self.first, self.first + len(self.X))

    def of_rows(self, which: NDArray[np.int64]) -> RowBlock:
        """Some of the rows."""
        sample_weight = None if self.sample_weight is None else self.sample_weight[which]
        block = RowBlock(self.X[which], self.first, self.codes[which], sample_weight, self.common)
        block.samples = self.samples[which]
        return block


class Stack(Packed):
    """One block, or two blocks one below the other, in the layout of the kernels.

    Each block is laid out by class and padded to whole tiles, so that the pairs between two blocks are whole
    tiles, too. One thread works on it.

    Parameters
    ----------
    blocks : list of RowBlock
        One or two.
    features : (n,) int or None
        The columns that are wanted; None: all.
    """

    def __init__(self, blocks: Sequence[RowBlock], features: NDArray[np.int64] | None = None) -> None:
        self._blocks = blocks
        common = blocks[0].common
        scaling, ranges = common.scaling, common.ranges
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
            _below_each_other(parts),
            np.concatenate([block.codes for block in blocks]),
            common.n_classes,
            scaling=scaling,
            sample_weight=sample_weight,
            ranges=ranges,
        )

    def _laid_out(self, codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        positions, laid_out, starts = [], [], []
        #: First and last row of every block in the layout.
        self.parts: list[Cut] = []
        first = row = 0
        for block in self._blocks:
            position, of_rows = packing.class_layout(block.codes, self.n_classes)
            starts.append(np.searchsorted(of_rows, np.arange(self.n_classes + 1)))
            missing = -position.size % distances.TILE
            position = np.where(position == packing.PADDING, packing.PADDING, position + first)
            positions.append(np.concatenate([position, np.full(missing, packing.PADDING)]))
            laid_out.append(np.concatenate([of_rows, np.full(missing, self.n_classes - 1)]))
            self.parts.append((row, row + positions[-1].size))
            first, row = first + len(block), row + positions[-1].size
        #: First row of every class in every block, counted from the first of the block; the end of the last.
        self.starts_in_part: list[NDArray[np.int64]] = starts
        return np.concatenate(positions), np.concatenate(laid_out)

    @property
    def heights(self) -> list[int]:
        """Number of samples of every block."""
        return [len(block) for block in self._blocks]

    @cached_property
    def samples(self) -> NDArray[np.int64]:
        """The place in the table of every row of the layout; −1 for padding."""
        samples = np.concatenate([block.samples for block in self._blocks])
        return np.where(self.real, samples[self.position], -1)

    @cached_property
    def scaled(self) -> ScaledColumns:
        """The columns, scaled and laid out; measured from the same ends in all blocks."""
        return ScaledColumns(self.raw, self.position, self.scaling, ranges=self.ranges)

    @cached_property
    def columns(self) -> Columns:
        """The columns with what makes them comparable."""
        return Columns(self.raw, self.scaling, self.ranges)

    @property
    def cross_tiles(self) -> list[Cut]:
        """Ranges of the tiles that hold the pairs: of the block, or of one block with the other."""
        if len(self.parts) == 1:
            return [(0, self.n_tiles)]
        height = self.parts[0][1] // distances.TILE
        columns = range(height, self.n_rows // distances.TILE)
        return [(j * (j + 1) // 2, j * (j + 1) // 2 + height) for j in columns]


class RowBlocks:
    """All blocks of rows of a table, and rounds of work on them and on pairs of them.

    Parameters
    ----------
    source : ClusterTable
        The table, cut by rows.
    table : Packed
        What is known of it here: all but its values.
    """

    def __init__(self, source: ClusterTable, table: Packed) -> None:
        self.source, self.table, self.work = source, table, source.work

    @property
    def cuts(self) -> list[Cut]:
        """First and last row of every block."""
        return self.source.cuts

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of blocks, each with itself too."""
        return [(i, j) for j in range(len(self.cuts)) for i in range(j + 1)]

    @once
    def blocks(self) -> list[Delayed]:
        """All blocks, each to be made, or found, by a worker."""
        table, ranges = self.table, self.table.ranges
        assert ranges is not None
        if table.has_sample_weight:
            ranges = replace(ranges, mean=self._mean(ranges))
        sample_weight = table.input_sample_weight if table.has_sample_weight else None
        common = delayed(Common(table.n_classes, table.scaling, ranges), traverse=False, pure=False)
        make = delayed(RowBlock, pure=False)
        return self.work.kept(
            [
                make(
                    X,
                    a,
                    table.input_codes[a:b],
                    None if sample_weight is None else sample_weight[a:b],
                    common,
                )
                for X, (a, b) in zip(self.source.blocks, self.cuts, strict=True)
            ]
        )

    def _mean(self, ranges: ColumnRanges) -> NDArray[np.floating]:
        """Means of the columns that count the copies of the rows."""
        sample_weight = self.table.input_sample_weight
        task = delayed(_weighted_sums, pure=False)
        sums = self.work.results(
            lambda: [
                task(X, sample_weight[a:b]) for X, (a, b) in zip(self.source.blocks, self.cuts, strict=True)
            ]
        )
        return (np.sum(sums, axis=0) / sample_weight.sum()).astype(ranges.mean.dtype)

    # Tasks, to be put together to a round

    def of_blocks(self, function: Callable[..., Any], given: Any, *more: Sequence[Any]) -> list[Delayed]:
        """What a function of a block, of what is given to all and of its own arguments returns."""
        task = delayed(function, pure=False)
        return [task(block, given, *own) for block, *own in zip(self.blocks, *more, strict=True)]

    def of_pairs(
        self,
        function: Callable[..., Any],
        given: Any,
        *more: Sequence[Any],
        where: Callable[[int, int], bool] = lambda i, j: True,
    ) -> dict[Pair, Any]:
        """The same of two blocks, or of one and None, and of what there is ``more`` of either."""
        task, blocks = delayed(function, pure=False), list[Any](self.blocks)
        if not self.work.keeps:
            # A block would be held from its first pair to its last.
            task = delayed(_of_unread(function), pure=False)
            blocks = self._unread
        tasks = {}
        for i, j in self.pairs:
            if where(i, j):
                other = None if i == j else blocks[j]
                own = [argument for each in more for argument in (each[i], None if i == j else each[j])]
                tasks[i, j] = task(blocks[i], other, given, *own)
        return tasks

    def of_blocks_in_turn(
        self, function: Callable[..., Any], given: Any, *more: Sequence[Any]
    ) -> list[Delayed]:
        """What a function of a block, of all of them, of what is given and of its own arguments returns.

        No block is read yet. The function reads one after the other, and holds two at a time.
        """
        task, everything = delayed(function, pure=False), self.work.shared(self._unread)
        return [task(block, everything, given, *own) for block, *own in zip(self._unread, *more, strict=True)]

    @property
    def _unread(self) -> list[Unread]:
        return [Unread(block, *cut) for block, cut in zip(self.blocks, self.cuts, strict=True)]

    def gathered(self, of_pairs: dict[Pair, Any], merge: Callable[..., Any], *given: Any) -> list[Any]:
        """For every block, what the pairs that it is in return for it, merged in a fixed order.

        Pairs return something of their first block, and something of their second. ``merge`` takes a list of
        these, and what is ``given`` to all. None for a block that is in no pair.
        """
        if not self.work.keeps:
            return self._gathered_in_turn(of_pairs, merge, *given)
        parts: list[list[Any]] = [[] for _ in self.cuts]
        for b, found in enumerate(parts):
            for other in range(len(parts)):
                pair = (min(b, other), max(b, other))
                if pair in of_pairs:
                    found.append(of_pairs[pair][1 if other < b else 0])
        return [tree(found, merge, *given) if found else None for found in parts]

    def _gathered_in_turn(
        self, of_pairs: dict[Pair, Any], merge: Callable[..., Any], *given: Any
    ) -> list[Any]:
        """The same, one block after the other with those before it: few results are held at a time."""
        merging = delayed(merge, pure=False)
        merged: list[Any] = [None for _ in self.cuts]
        for j in range(len(merged)):
            pairs = [(i, j) for i in range(j + 1) if (i, j) in of_pairs]
            found: list[Any] = self.work.made([of_pairs[pair] for pair in pairs])
            parts = [merged[j]] if merged[j] is not None else []
            for (i, _), part in zip(pairs, found, strict=True):
                if i < j:
                    merged[i] = part[0] if merged[i] is None else merging([merged[i], part[0]], *given)
                parts.append(part[int(i < j)])
            if parts:
                merged[j] = tree(parts, merge, *given)
            which = [b for b, each in enumerate(merged) if each is not None]
            for b, each in zip(which, self.work.made([merged[b] for b in which]), strict=True):
                merged[b] = each
        return merged

    # Rounds

    def each(self, function: Callable[..., Any], *more: Sequence[Any], shared: Any = None) -> list[Any]:
        """What a function of a block, of what is ``shared`` and of its own arguments returns, by block."""
        return self.work.results(
            lambda: self.of_blocks(function, None if shared is None else self.work.shared(shared), *more)
        )

    def total(self, function: Callable[..., Any], *more: Sequence[Any], shared: Any = None) -> Any:
        """The sum of the arrays that such a function returns."""
        return self.work.total(
            lambda: self.of_blocks(function, None if shared is None else self.work.shared(shared), *more),
            added,
        )

    def total_of_pairs(self, function: Callable[..., Any], *, shared: Any) -> Any:
        """The sum of the arrays that a function of two blocks, or of one and None, returns."""
        return self.work.total(
            lambda: list(self.of_pairs(function, self.work.shared(shared)).values()), added
        )

    def gathered_from_pairs(
        self, function: Callable[..., Any], merge: Callable[..., Any], *given: Any, shared: Any
    ) -> list[Any]:
        """What a function of two blocks returns of each of them, merged block by block, brought here."""
        return self.work.results(
            lambda: self.gathered(self.of_pairs(function, self.work.shared(shared)), merge, *given)
        )


class Unread:
    """A block that a task reads by itself, and holds no longer than it works."""

    def __init__(self, block: Delayed, first: int, end: int) -> None:
        self._block, self.first, self._end = block, first, end

    def __len__(self) -> int:
        return self._end - self.first

    def read(self) -> RowBlock:
        """The block."""
        return self._block.compute(scheduler="synchronous")


def _of_unread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of blocks that it has to read first."""

    @wraps(function)
    def read_first(block: Unread, other: Unread | None, *more: Any) -> Any:
        return function(*_read(block, other), *more)

    return read_first


def _read(block: Unread, other: Unread | None) -> tuple[RowBlock, RowBlock | None]:
    """Two blocks that lie one below the other, so that nobody has to copy them, or one."""
    if other is None:
        return block.read(), None
    (pair,) = with_each(block, [other])
    return pair


def with_each(block: Unread, others: Iterable[Unread]) -> Iterator[tuple[RowBlock, RowBlock]]:
    """A block with each of some others in turn, which lie below it, so that nobody has to copy them."""
    first, n = block.read(), len(block)
    X = first.X
    for other in others:
        if len(X) != n + len(other):
            X = np.empty((n + len(other), X.shape[1]), X.dtype)
            X[:n] = first.X
            first.X = X[:n]  # what was read is dropped before more is
        second = other.read()
        X[n:] = second.X
        second.X = X[n:]
        yield first, second


def below_each_other(blocks: Sequence[RowBlock]) -> NDArray[Any]:
    """The rows of one block or two, one below the other."""
    return _below_each_other([block.X for block in blocks])


def _below_each_other(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    whole = first.base
    if isinstance(whole, np.ndarray) and whole is second.base and len(whole) == len(first) + len(second):
        behind = second.ctypes.data - first.ctypes.data == first.nbytes
        if behind and whole.shape[1:] == first.shape[1:] and whole.flags.c_contiguous:
            return whole  # as they were read
    return np.concatenate(parts)


def both(block: RowBlock, other: RowBlock | None) -> list[RowBlock]:
    """The blocks of a pair."""
    return [block] if other is None else [block, other]


def _weighted_sums(X: NDArray[Any], sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.einsum("i,ij->j", sample_weight, X)


# A table in blocks of rows, scaled and measured from its mean.


class CenteredRows:
    """What :class:`.centered_columns.CenteredColumns` offers, of rows that lie with workers."""

    def __init__(self, blocks: RowBlocks) -> None:
        self._blocks = blocks
        self.n_samples, self.n_features = blocks.source.shape

    @once
    def _held(self) -> RowMatrix:
        blocks = self._blocks
        n_columns = blocks.source.shape[1]
        sums = blocks.total(_sums, shared=np.zeros(n_columns))
        mean = sums / self.n_samples
        # What rounding has left of the mean, once more: the rows are then as near to it as those of an array.
        mean = mean + blocks.total(_sums, shared=mean) / self.n_samples
        work = blocks.work
        tasks = blocks.of_blocks(_centered, work.shared(mean))
        return RowMatrix(work.kept(tasks), [b - a for a, b in blocks.cuts], n_columns, work)

    def matrix(self) -> RowMatrix:
        """Something to multiply vectors with; it lies with the workers."""
        return self._held

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        return self._held.squares()

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """XᵀLX, (n_features, n_features), from the pairs of blocks that L links."""
        return self._held.scatter(L)

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_samples, n_samples), which are brought here."""
        return self._held.gram()

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""
        return weights.T @ self._held


def _scaled(block: RowBlock) -> NDArray[np.float64]:
    return block.common.scaling.apply(block.X).astype(np.float64, copy=False)


def _sums(block: RowBlock, center: NDArray[np.float64]) -> NDArray[np.float64]:
    return (_scaled(block) - center).sum(axis=0)


def _centered(block: RowBlock, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    return _scaled(block) - mean
