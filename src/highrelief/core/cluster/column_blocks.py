"""Blocks of columns where they lie, and what is asked of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..cached_property import cached_property
from ..columns import Columns
from ..packed import Packed
from ..ranges import ColumnRanges
from ..scaling import Scaling
from .matrix import ColumnMatrix
from .once import once
from .table import ClusterTable, Cut
from .work import added as sum_of_arrays
from .work import own_threads


class Layout(NamedTuple):
    """What all blocks have in common: the classes of the samples, and how much these count."""

    codes: NDArray[np.integer]
    n_classes: int
    copies: NDArray[np.float64] | None
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
            copies=self.copies,
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
        return self.layout.packed(self.X, self.scaling, self.ranges, own_threads(1))

    @cached_property
    def columns(self) -> Columns:
        """The columns with what makes them comparable to those of all blocks."""
        return Columns(self.X, self.scaling, self.ranges, self.layout.distance_unit)


class ColumnBlocks:
    """All blocks of columns of a table, and rounds of work on them.

    Parameters
    ----------
    source : ClusterTable
        The table, cut by columns.
    table : Packed
        What is known of it here: all but its values.
    """

    def __init__(self, source: ClusterTable, table: Packed) -> None:
        self.source, self.table, self.work = source, table, source.work
        unit = Columns(table.raw, table.scaling, table.ranges).distance_unit
        copies = table.copies_given if table.counted else None
        self.layout = Layout(table.given_codes, table.n_classes, copies, table.class_weights, unit)

    @property
    def cuts(self) -> list[Cut]:
        """First and last column of every block."""
        return self.source.cuts

    @property
    def levels(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """What :func:`.whole_numbers.marked_levels` says of all columns."""
        return self.source.levels

    @property
    def shared_layout(self) -> Delayed:
        """The layout, which the workers keep."""
        return self._kept[0]

    @property
    def blocks(self) -> list[Delayed]:
        """The blocks, with what makes them comparable, each to be found by a worker."""
        return self._kept[1:]

    @once
    def _kept(self) -> list[Delayed]:
        """The layout, and the blocks."""
        ranges = self.table.ranges
        assert ranges is not None
        layout, make = self.work.shared(self.layout), delayed(ColumnBlock, pure=False)
        made = [layout]
        self.work.locate(self.source.blocks)
        for X, (a, b) in zip(self.source.blocks, self.cuts, strict=True):
            with self.work.beside(X, elsewhere=True):
                of_block = self.table.scaling.of(slice(a, b)), ranges.of_features(np.arange(a, b))
                made.append(make(X, layout, *of_block, a))
        kept = self.work.kept(made)
        for block, X in zip(kept[1:], self.source.blocks, strict=True):
            self.work.lies_with(block, X)
        return kept

    def task(
        self, function: Callable[..., Any], block: Delayed, *more: Any, elsewhere: bool = False
    ) -> Delayed:
        """A task on a block, to be done where that lies; ``elsewhere``, if that worker is lost."""
        with self.work.beside(block, elsewhere=elsewhere):
            return delayed(function, pure=False)(block, *more)

    def each(
        self,
        function: Callable[..., Any],
        of_block: Callable[[Cut], tuple[Any, ...]] = lambda cut: (),
        *,
        shared: Any = None,
        where: Callable[[Cut], bool] = lambda cut: True,
    ) -> list[Any]:
        """What a function of a block, of what is ``shared`` and of its own arguments returns, block by block.

        ``where``: which of the blocks are asked.
        """
        return self.work.results(lambda: self.of_blocks(function, self._shared(shared), of_block, where))

    def joined(self, function: Callable[..., NDArray[Any]], *more: Any, shared: Any = None) -> NDArray[Any]:
        """The same for functions that return something of each column, along the last axis."""
        return np.concatenate(self.each(function, lambda cut: more, shared=shared), axis=-1)

    def total(
        self,
        function: Callable[..., Any],
        of_block: Callable[[Cut], tuple[Any, ...]] = lambda cut: (),
        *,
        shared: Any = None,
        where: Callable[[Cut], bool] = lambda cut: True,
    ) -> Any:
        """The sums of arrays that a function returns as a tuple, over all blocks; added up by the workers."""
        return self.work.total(lambda: self.of_blocks(function, self._shared(shared), of_block, where), added)

    def matrix(
        self, function: Callable[..., NDArray[Any]], *more: Any, n_rows: int, shared: Any = None
    ) -> ColumnMatrix:
        """What a function returns of each column, as a matrix that stays with the workers."""
        given = self._shared(shared)
        made = [self.task(function, block, given, *more, elsewhere=True) for block in self.blocks]
        return ColumnMatrix(self.work.kept(made), self.cuts, n_rows, self.work)

    def of_blocks(
        self,
        function: Callable[..., Any],
        given: Delayed | None,
        of_block: Callable[[Cut], tuple[Any, ...]] = lambda cut: (),
        where: Callable[[Cut], bool] = lambda cut: True,
    ) -> list[Delayed]:
        """Tasks of a round: a function of a block, of what is ``given`` to all, and of its own arguments."""
        self.work.locate(self.blocks)
        chosen = [(block, cut) for block, cut in zip(self.blocks, self.cuts, strict=True) if where(cut)]
        return [self.task(function, block, given, *of_block(cut)) for block, cut in chosen]

    def _shared(self, value: Any) -> Delayed | None:
        return None if value is None else self.work.shared(value)


def added(parts: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    """Sums of arrays, place by place of the tuples that hold them; the tuples are not changed."""
    return tuple(sum_of_arrays(list(each)) for each in zip(*parts, strict=True))
