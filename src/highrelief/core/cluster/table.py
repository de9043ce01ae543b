"""A table that Dask holds: its blocks, their ranges, their scaling."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from dask.array import concatenate, from_delayed, where
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..cached_property import cached_property
from ..columns import Columns
from ..ranges import ColumnRanges, float_type
from ..scaling import Scaling
from ..whole_numbers import marked_levels
from .once import once
from .partition import By, block_sizes, partition
from .work import Work

Cut = tuple[int, int]


class ClusterTable:
    """A table that Dask holds, in blocks of columns or in blocks of rows.

    What it has in common with an array is what the judges of the input ask for: shape, type, some of the
    rows. Its values are seen by tasks alone.

    Parameters
    ----------
    array : dask.array.Array of shape (n_samples, n_features)
        The table; the sizes of its chunks are known.
    work : Work
        Who works on it.
    by : {"columns", "rows"} or None
        How it is cut; None: as :func:`.partition` finds best.
    """

    ndim = 2
    #: By which it is told from what users give.
    held_by_dask = True

    def __init__(self, array: Any, work: Work, by: By | None = None) -> None:
        self.array, self.work = array, work
        self.shape: tuple[int, int] = array.shape
        self.dtype: np.dtype[Any] = array.dtype
        #: Whether blocks are of columns or of rows.
        self.by: By = by or partition(self.shape, self.dtype.itemsize, array.chunks, work)

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

    def execution(self) -> dict[str, Any]:
        """How the table is worked on, for the user to see."""
        return {
            "backend": self.work.backend,
            "partition": self.by,
            "n_blocks": len(self.cuts),
            "n_workers": self.work.n_workers,
            "n_threads": self.work.n_threads,
        }

    def astype(self, dtype: Any, copy: bool = True) -> ClusterTable:
        """The same values in another type."""
        return self if self.dtype == dtype else ClusterTable(self.array.astype(dtype), self.work, self.by)

    def __getitem__(self, rows: Any) -> Any:
        """Some of the rows, by a mask or by their places; columns, as Dask's array, by a pair of keys."""
        if isinstance(rows, tuple):
            return self.array[rows]
        if isinstance(rows, slice) and rows == slice(None):
            return self
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        return ClusterTable(self.array[places], self.work, self.by)

    def settled(self) -> ClusterTable:
        """The same table as it lies with the workers: parts of it are taken from there, not read anew."""
        if not self.work.keeps:
            return self
        n, d = self.shape
        parts = [
            from_delayed(block, (n, b - a) if self.by == "columns" else (b - a, d), self.dtype)
            for block, (a, b) in zip(self.blocks, self.cuts, strict=True)
        ]
        same = copy(self)
        same.array = concatenate(parts, axis=int(self.by == "columns"))
        return same

    def moved(self, found: NDArray[np.bool_], places: NDArray[np.int64]) -> ClusterTable:
        """The table with the rows of all features but those found in another order."""
        return ClusterTable(where(found, self.array, self.array[places]), self.work, self.by)

    def columns(self, features: NDArray[np.int64]) -> NDArray[Any]:
        """Some of the columns, brought here."""
        if self.by == "rows":
            task = delayed(taken, pure=False)
            return np.concatenate(self.work.results(lambda: [task(block, features) for block in self.blocks]))
        out = np.empty((len(self), features.size), self.dtype)
        return columns_of(self.blocks, self.cuts, features, out, self.work)

    @property
    def pairs_are_here(self) -> bool:
        """Whether something of every pair of samples may be brought here, so that there is room for more."""
        return self.by == "columns"

    @cached_property
    def cuts(self) -> list[Cut]:
        """First and last column, or row, of every block."""
        sizes = block_sizes(self.by, self.shape, self.dtype.itemsize, self.array.chunks, self.work.n_threads)
        return list(pairwise(accumulate(sizes, initial=0)))

    @once
    def blocks(self) -> list[Delayed]:
        """The blocks as arrays, each to be made, or found, by a worker."""
        sizes = tuple(b - a for a, b in self.cuts)
        whole = (self.shape[0],), (self.shape[1],)
        chunks = (whole[0], sizes) if self.by == "columns" else (sizes, whole[1])
        array = self.array if self.array.chunks == chunks else self.array.rechunk(chunks)
        return self.work.kept([delayed(_plain)(block) for block in array.to_delayed().ravel()])

    def ranges(self) -> ColumnRanges:
        """Smallest and largest values of the columns, means, and whether all values are finite."""
        return self._ranges

    @once
    def _ranges(self) -> ColumnRanges:
        look = delayed(_look if self.by == "columns" else _look_at_rows, pure=False)
        if self.by == "rows":
            shares = [(b - a) / len(self) for a, b in self.cuts]
            looks = list(zip(self.blocks, shares, strict=True))
            found = self.work.total(lambda: [look(*each) for each in looks], _joined)
            return replace(found, mean=found.mean.astype(float_type(self.dtype)))
        looked = self.work.results(lambda: [look(block) for block in self.blocks])
        ranges, marks = zip(*looked, strict=True)
        self._level_marks = np.concatenate(marks, axis=1)
        low, high, mean = (
            np.concatenate([getattr(each, name) for each in ranges]) for name in ("low", "high", "mean")
        )
        return ColumnRanges(low, high, mean, all(each.finite for each in ranges))

    @property
    def levels(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which columns have other values than their ends and the middle, and which have that.

        Known once the ranges were looked at by blocks of columns.
        """
        is_other, is_middle = self._level_marks
        return is_other, is_middle

    @once
    def row_marks(self) -> NDArray[np.uint64]:
        """A number for every row: the same for rows that are equal, another for all others."""
        mark = delayed(_marks, pure=False)
        blocks = list(enumerate(self.blocks))
        if self.by == "rows":
            return np.concatenate(self.work.results(lambda: [mark(block, 0) for _, block in blocks]))
        return self.work.total(lambda: [mark(block, k) for k, block in blocks], _sum_of_marks)

    def scaling(
        self, scale: str | None, weights: NDArray[np.float64] | None, ranges: ColumnRanges
    ) -> Scaling:
        """Scaling of the features, as :func:`.scaling.feature_scaling` has it for an array."""
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
        return to_range.standardised(mean, np.sqrt(variance))

    def _weighted_sums(
        self, scaling: Scaling, weights: NDArray[np.float64], center: NDArray[np.float64], power: int
    ) -> NDArray[np.float64]:
        """Σ_n s_n (x_nj − center_j)^power of every scaled feature."""

        def tasks() -> list[Delayed]:
            moment = delayed(_moment)
            blocks = list(zip(self.blocks, self.cuts, strict=True))
            if self.by == "rows":
                given = self.work.shared((scaling, center))
                return [moment(block, given, weights[a:b], power) for block, (a, b) in blocks]
            shared = self.work.shared(weights)
            return [
                moment(block, (scaling.of(slice(a, b)), center[a:b]), shared, power)
                for block, (a, b) in blocks
            ]

        parts = self.work.results(tasks)
        return np.concatenate(parts) if self.by == "columns" else np.sum(parts, axis=0)


def _plain(block: Any) -> NDArray[Any]:
    """A block as the kernels take it, with its rows one after another, whatever it comes as.

    What Dask was sent lies at any address, and every pass would copy it again.
    """
    return np.require(block, requirements=["C", "A"])


def columns_of(
    blocks: Sequence[Delayed], cuts: Sequence[Cut], which: NDArray[np.int64], out: NDArray[Any], work: Work
) -> NDArray[Any]:
    """Some columns of a table in blocks of columns, brought here into ``out``."""
    owner = np.searchsorted([b for _, b in cuts], which, side="right")
    owners = np.unique(owner)
    task = delayed(taken, pure=False)
    parts = work.results(lambda: [task(blocks[k], which[owner == k] - cuts[k][0]) for k in owners])
    for k, part in zip(owners, parts, strict=True):
        out[:, owner == k] = part
    return out


def taken(block: NDArray[Any], which: NDArray[np.int64]) -> NDArray[Any]:
    """Some columns of a block."""
    return np.take(block, which, axis=1)


def _look(block: NDArray[Any]) -> tuple[ColumnRanges, NDArray[np.bool_]]:
    """Ranges of whole columns, and which of them have few levels."""
    ranges = ColumnRanges.of(block)
    if not ranges.finite:
        return ranges, np.ones((2, block.shape[1]), dtype=bool)
    scaling = Scaling.none(block.shape[1], ranges.low.dtype)
    return ranges, np.stack(marked_levels(Columns(block, scaling, ranges), 1))


def _look_at_rows(block: NDArray[Any], share: float) -> ColumnRanges:
    """Ranges of the columns in some rows, and the share of these in the means."""
    ranges = ColumnRanges.of(block)
    with np.errstate(invalid="ignore", over="ignore"):
        return replace(ranges, mean=share * ranges.mean.astype(np.float64))


def _joined(parts: list[ColumnRanges]) -> ColumnRanges:
    """Ranges of the columns in all rows of several blocks."""
    with np.errstate(invalid="ignore", over="ignore"):
        return ColumnRanges(
            np.min([each.low for each in parts], axis=0),
            np.max([each.high for each in parts], axis=0),
            np.sum([each.mean for each in parts], axis=0),
            all(each.finite for each in parts),
        )


def _marks(block: NDArray[Any], place: int) -> NDArray[np.uint64]:
    """Digests of the rows of a block, others at every place; 0 and −0 are equal."""
    values = block + 0 if block.dtype.kind == "f" else block
    salt = str(place).encode()
    digests = [blake2b(row.tobytes(), digest_size=8, salt=salt).digest() for row in values]
    return np.frombuffer(b"".join(digests), np.uint64)


def _sum_of_marks(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.sum(parts, axis=0, dtype=np.uint64)


def _moment(
    block: NDArray[Any],
    given: tuple[Scaling, NDArray[np.float64]],
    weights: NDArray[np.float64],
    power: int,
) -> NDArray[np.float64]:
    scaling, center = given
    return weights @ (scaling.apply(block) - center) ** power
