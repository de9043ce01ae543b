"""How many fits to parts of one table are under way at the same time."""

from __future__ import annotations

from ..threads import thread_count
from .partition import PAIR_BYTES, room_for_pairs
from .table import ClusterTable

#: Fits per worker: while one waits for its neighbourhoods, or for the client, workers go on with another.
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
