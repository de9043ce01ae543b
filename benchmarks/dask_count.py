"""What Dask counts while a fit runs on a cluster: tasks, bytes, and where blocks lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.utils import key_split
from distributed import Client, LocalCluster, SchedulerPlugin, wait
from numpy.typing import NDArray

from highrelief import IRelief, ReliefF
from highrelief._dask.scheduler import Executor

from . import dask_costs as costs
from .dask_costs import Problem


class Case(NamedTuple):
    """A fit, and how its table is made and cut."""

    method: str
    by: str
    n: int
    d: int
    chunk: int
    dtype: str = "float32"
    n_anchors: int | None = None
    n_iterations: int = 2

    @property
    def label(self) -> str:
        """For the reader."""
        name = {"relieff": "ReliefF", "irelief": f"I-RELIEF, {self.n_iterations} iterations"}[self.method]
        anchors = "" if self.n_anchors is None else f", {self.n_anchors:,} anchors"
        return f"{name}{anchors}, {self.n:,} x {self.d:,} {self.dtype}, {self.by}"

    def table(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Values, some of which the class shifts, and the classes."""
        rng = np.random.default_rng(0)
        y = np.arange(self.n) % 2
        if self.dtype == "int8":
            X = rng.integers(0, 3, (self.n, self.d), dtype=np.int8)
            X[:, ::64] = np.clip(X[:, ::64] + y[:, np.newaxis], 0, 2)
            return X, y
        X = rng.standard_normal((self.n, self.d)).astype(self.dtype)
        # In all blocks: those whose weights are all 0 are not asked again.
        X[:, ::64] += y[:, np.newaxis]
        return X, y

    def estimator(self) -> Any:
        """What is fitted."""
        if self.method == "relieff":
            return ReliefF(n_anchors=self.n_anchors, random_state=0)
        return IRelief(sigma=self.d / 20.0, max_iter=self.n_iterations, tol=0.0)


class Counted(NamedTuple):
    """What a fit has made Dask do."""

    tasks: Counter[str]
    #: Bytes that workers have sent to others and to the client, and that the client has shared with all.
    by_workers: float
    from_client: float
    #: The worker of every block.
    places: list[int]


class _Tasks(SchedulerPlugin):
    """Counts tasks that are done, and notes where the blocks are made."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.places: dict[tuple[int, ...], str] = {}

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Note one task."""
        if (start, finish) != ("processing", "memory"):
            return
        name = key_split(key)
        self.done[name] += 1
        if name == "contiguous":
            (chunk,) = (each.key for each in self.scheduler.tasks[key].dependencies)
            self.places[chunk[1:]] = kwargs["worker"]

    def watch(self, scheduler: Any) -> None:
        """Begin."""
        self.scheduler = scheduler
        scheduler.add_plugin(self, name="count tasks")


@contextmanager
def cluster(n_workers: int) -> Any:
    """A client of worker processes with one thread each."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            processes=True,
            memory_limit=None,
            silence_logs="CRITICAL",
        ) as made,
        Client(made, set_as_default=True) as client,
    ):
        # Where it does not know how long a task takes, Dask hands it to whoever is idle, with its block.
        for small in (Case("relieff", "columns", 64, 512, 256), Case("relieff", "rows", 512, 8, 256)):
            X, y = small.table()
            fit(small, laid_out(small, X), y)
        yield client


def laid_out(case: Case, X: NDArray[Any]) -> Any:
    """The table with the workers, cut as it will be worked on."""
    chunks = (-1, case.chunk) if case.by == "columns" else (case.chunk, -1)
    lazy = da.from_array(X, chunks=chunks).persist()
    wait(lazy)
    return lazy


def fit(case: Case, X: Any, y: NDArray[np.int64]) -> Any:
    """The fitted estimator."""
    with dask.config.set({"highrelief.partition": case.by}):
        return case.estimator().fit(X, y)


def counted(case: Case, client: Any) -> Counted:
    """What Dask counts in one fit."""
    X, y = case.table()
    lazy = laid_out(case, X)
    plugin, scheduler = _Tasks(), client.cluster.scheduler
    shared = [0.0]
    plugin.watch(scheduler)
    before = _sent(client)
    broadcast = Executor.broadcast

    def counting(executor: Executor, value: Any) -> Any:
        shared[0] += _weight(value)
        return broadcast(executor, value)

    Executor.broadcast = counting  # type: ignore[method-assign]
    try:
        fit(case, lazy, y)
    finally:
        Executor.broadcast = broadcast  # type: ignore[method-assign]
        scheduler.remove_plugin("count tasks")
    names = {worker: k for k, worker in enumerate(client.ncores())}
    places = [names[plugin.places[key]] for key in sorted(plugin.places)]
    return Counted(plugin.done, _sent(client) - before, shared[0], places)


def _sent(client: Any) -> float:
    return float(sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values()))


def _weight(value: Any) -> float:
    """Bytes of a value, with all arrays that are in it."""
    if isinstance(value, np.ndarray):
        return float(value.nbytes)
    if isinstance(value, (list, tuple)):
        return sum(_weight(each) for each in value)
    if isinstance(value, type):
        return 0.0  # known by its name
    return sum(_weight(each) for each in getattr(value, "__dict__", {}).values())


def modeled(case: Case, n_workers: int, places: list[int]) -> tuple[Counter[str], float, float, float]:
    """Tasks, the least and the most bytes that workers send, and the bytes that the client shares."""
    size = case.d if case.by == "columns" else case.n
    problem = Problem(
        case.n,
        case.d,
        np.dtype(case.dtype).itemsize,
        -(-size // case.chunk),
        n_workers,
        n_anchors=case.n_anchors,
        measures=case.dtype != "int8",
    )
    if case.method == "relieff":
        if case.by == "columns":
            tasks = costs.relieff_columns_tasks(problem, places)
            least, most = (costs.relieff_columns_bytes(problem, places, most=each) for each in (False, True))
        else:
            tasks = costs.relieff_rows_tasks(problem)
            least, most = (costs.relieff_rows_bytes(problem, most=each) for each in (False, True))
    elif case.by == "columns":
        tasks = costs.irelief_columns_tasks(problem, case.n_iterations)
        least, most = (
            costs.irelief_columns_bytes(problem, case.n_iterations, places, most=each)
            for each in (False, True)
        )
    else:
        tasks = costs.irelief_rows_tasks(problem, case.n_iterations)
        least, most = (
            costs.irelief_rows_bytes(problem, case.n_iterations, most=each) for each in (False, True)
        )
    return tasks, least.by_workers, most.by_workers, least.from_client


CASES = (
    Case("relieff", "columns", 600, 8192, 512),
    Case("relieff", "columns", 1200, 4096, 512),
    Case("relieff", "columns", 600, 8192, 512, "int8"),
    Case("relieff", "columns", 2000, 4096, 512, n_anchors=200),
    Case("irelief", "columns", 600, 8192, 512),
    Case("irelief", "columns", 1200, 4096, 512),
    Case("relieff", "rows", 2048, 20, 256),
    Case("relieff", "rows", 4096, 50, 256),
    Case("relieff", "rows", 4096, 800, 512),
    Case("irelief", "rows", 4096, 50, 256),
    Case("irelief", "rows", 4096, 800, 512),
)


def each_case(report: Callable[[dict[str, Any]], None], worker_counts: tuple[int, ...] = (2, 4)) -> None:
    """Count all cases, and report each beside the model."""
    for n_workers in worker_counts:
        with cluster(n_workers) as client:
            for case in CASES:
                found = counted(case, client)
                tasks, least, most, shared = modeled(case, n_workers, found.places)
                report(
                    {
                        "case": case.label,
                        "workers": n_workers,
                        "tasks": found.tasks.total(),
                        "tasks of the model": tasks.total(),
                        "same tasks": found.tasks == tasks,
                        "sent": found.by_workers,
                        "least of the model": least,
                        "most of the model": most,
                        "shared": found.from_client,
                        "shared by the model": shared,
                    }
                )
