"""A table that Dask holds: its blocks, their ranges, their scaling."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
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
from .._engine.columns import Columns
from .._engine.layout import Packed
from .._engine.memory import SHARE, UNASKED, memory_budget
from .._engine.quantized import find_levels
from .._engine.scaling import ColumnRanges, Scaling, float_type
from .._engine.threads import thread_count
from .scheduler import Work, once

# Whether a table is worked on by blocks of columns or by blocks of rows, and how it is cut.


By = Literal["columns", "rows"]
WAYS: tuple[By, ...] = ("columns", "rows")
Chunks = tuple[tuple[int, ...], tuple[int, ...]]

#: Key of Dask's configuration by which users force a partition.
CONFIG_KEY = "highrelief.partition"
#: Bytes of a block at most, where the samples allow it.
_BLOCK_BYTES = 2**27
#: Fewer columns than this make a block whose distances take longer to send than to find.
FEWEST_COLUMNS = 256
#: Rows of a block at most: its distances to another one take 134 MB in float64.
_MOST_ROWS = 4096
#: Fewer rows than this make a block that is not worth a task.
FEWEST_ROWS = 256
#: Bytes that one pair of samples takes by columns: a distance, what it was added up from, its coefficient.
PAIR_BYTES = 24.0


class Costs(NamedTuple):
    """Bytes that are sent between workers in one pass over all pairs."""

    columns: float
    rows: float


def costs(shape: tuple[int, int], itemsize: int, chunks: Chunks, n_workers: int) -> Costs:
    """Bytes to be sent by either partition.

    By columns every worker sends the distances of all pairs and is sent their coefficients; by rows every
    worker is sent the rows of all others. A table that is not cut that way is moved once before.
    """
    n, d = shape
    table = float(n) * d * itemsize
    pairs = 8.0 * n * n
    columns = 2.0 * n_workers * pairs + (table if len(chunks[0]) > 1 else 0.0)
    rows = n_workers * table + (table if len(chunks[1]) > 1 else 0.0)
    return Costs(columns, rows)


def room_for_pairs(work: Work) -> float:
    """Bytes that may be taken, by columns, for something of all pairs of samples.

    Neighborhoods are found by any of the workers, each of which may add up distances of all pairs, and some
    of what that takes is brought here: where a kernel width is looked for, and for sparse solutions.
    """
    return min(memory_budget(None), SHARE * work.least_memory)


def partition(shape: tuple[int, int], itemsize: int, chunks: Chunks, work: Work) -> By:
    """How the table is worked on: as Dask's configuration says, or so that least is sent.

    By columns the distances of all pairs are held in one memory: where they do not fit, it is by rows.
    """
    asked = dask.config.get(CONFIG_KEY, "auto")
    if asked in WAYS:
        return asked
    if asked != "auto":
        raise ValueError(
            f"Dask's configuration has {CONFIG_KEY}={asked!r}; it must be 'columns', 'rows' or 'auto'."
        )
    needed = PAIR_BYTES * shape[0] ** 2
    if needed > UNASKED and needed > room_for_pairs(work):
        return "rows"
    moved = costs(shape, itemsize, chunks, work.n_workers)
    return "columns" if moved.columns <= moved.rows else "rows"


def block_sizes(by: By, shape: tuple[int, int], itemsize: int, chunks: Chunks, n_threads: int) -> list[int]:
    """Widths (or heights) of the blocks: the chunks there are, unless these are too large, small or few."""
    n, d = shape
    if by == "columns":
        most = max(FEWEST_COLUMNS, _BLOCK_BYTES // (n * itemsize))
        most = min(most, max(FEWEST_COLUMNS, -(-d // n_threads)))
        return _recut(chunks[1], FEWEST_COLUMNS, most)
    most = min(_MOST_ROWS, max(FEWEST_ROWS, _BLOCK_BYTES // (d * itemsize)))
    # Pairs of blocks are what is shared among the threads.
    n_blocks = max(1, int((4.0 * n_threads) ** 0.5))
    most = min(most, max(FEWEST_ROWS, -(-n // n_blocks)))
    return _recut(chunks[0], min(FEWEST_ROWS, most), most)


def _recut(sizes: tuple[int, ...], least: int, most: int) -> list[int]:
    """Cut sizes above ``most`` evenly, and join neighbors below ``least``."""
    cut: list[int] = []
    joins = False
    for size in sizes:
        n = max(1, -(-size // most))
        parts = [size * (i + 1) // n - size * i // n for i in range(n)]
        for part in parts:
            if joins and cut[-1] + part <= most:
                cut[-1] += part
            else:
                cut.append(part)
            joins = cut[-1] < least
    return [size for size in cut if size]


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
        return to_range.standardized(mean, np.sqrt(variance))

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
    return ranges, np.stack(find_levels(Columns(block, scaling, ranges), 1))


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


# What is known here of a labeled table that Dask holds: all but its values.


class ClusterPacked(Packed):
    """A labeled table whose values lie with workers; ``raw`` says its shape and type."""

    raw: ClusterTable  # type: ignore[assignment]

    def _taken(self, features: NDArray[np.int64]) -> NDArray[Any]:
        return self.raw.columns(features)


# How many fits to parts of one table are under way at the same time.


#: Fits per worker: while one waits for its neighborhoods, or for the client, workers go on with another.
_PER_WORKER = 2
#: What a fit takes with the workers, in tables: its rows, and the same in the layout of the kernels.
_TABLES_PER_FIT = 2.5


def n_simultaneous(table: ClusterTable, n_fits: int, n_jobs: int | None) -> int:
    """How many of so many fits, each to about all rows of a table, are driven at a time.

    As many as ``n_jobs`` says if it is a number of threads. None, and −1, are two for every worker of a
    cluster, if memory allows it there and here; without a cluster one fit has all of Dask's threads already.
    """
    if n_jobs is not None and n_jobs > 0:
        return min(n_fits, thread_count(n_jobs))
    work = table.work
    if not work.keeps:
        return 1
    most = _PER_WORKER * work.n_workers
    if work.memory:
        # Half of the memory is for what Dask and the system need, and one table lies there already.
        most = min(most, int((0.5 * work.memory - table.nbytes) / (_TABLES_PER_FIT * table.nbytes)))
    if table.by == "columns":
        most = min(most, int(room_for_pairs(work) / (PAIR_BYTES * len(table) ** 2)))
    return max(1, min(n_fits, most))
