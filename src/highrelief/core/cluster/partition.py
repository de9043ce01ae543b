"""Whether a table is worked on by blocks of columns or by blocks of rows, and how it is cut."""

from __future__ import annotations

from typing import Literal, NamedTuple

import dask

from ..memory import SHARE, UNASKED, memory_budget
from .work import Work

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

    Neighbourhoods are found by any of the workers, each of which may add up distances of all pairs, and some
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
    """Cut sizes above ``most`` evenly, and join neighbours below ``least``."""
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
