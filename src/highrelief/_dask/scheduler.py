"""Run tasks on a Dask cluster, or on Dask's local threads if there is no client.

:class:`Executor` is all that the other modules know of Dask's schedulers. A fit is a sequence of rounds,
each one call of :meth:`Executor.compute` or :meth:`Executor.reduce` with a function that builds tasks
(:class:`dask.delayed.Delayed`). If a worker is lost with data that Dask cannot compute again, the function
is called again. Results are added along a tree whose shape depends on the number of tasks alone, so that
no bit depends on which worker runs a task, or when.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial, wraps
from typing import Any, Generic, NamedTuple, TypeVar, overload
from weakref import WeakKeyDictionary

import dask
from dask.delayed import Delayed, delayed
from dask.utils import parse_timedelta

from .._engine.threads import Exclusive

Value = TypeVar("Value")
Result = TypeVar("Result")

#: Key of Dask's configuration: how long a scheduler may be silent, or without workers, before a fit fails.
PATIENCE_KEY = "highrelief.patience"
#: As long as Dask's scheduler waits, by default, for a worker that sends no heartbeat.
_DEFAULT_PATIENCE = "5 minutes"
#: Number of results that one task of a reduction adds.
_FAN_IN = 4
#: Maximum number of attempts at a round, each after a loss of workers.
_ATTEMPTS = 5
#: Seconds between two checks that the workers of a round are still alive.
_POLL_SECONDS = 1.0
#: Names of Dask's exceptions for lost data that it cannot compute again.
_LOST_DATA = ("FutureCancelledError", "FuturesCancelledError", "CancelledError", "FutureLostError")

#: Dask's configuration is global: one thread at a time overrides it.
_configuration_lock = Exclusive()
_worker_locks: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
_worker_locks_lock = threading.Lock()


def _renew_locks() -> None:
    """Replace the locks in a forked child, where no thread would release them."""
    global _worker_locks, _worker_locks_lock, _configuration_lock
    _worker_locks, _worker_locks_lock, _configuration_lock = (
        WeakKeyDictionary(),
        threading.Lock(),
        Exclusive(),
    )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


class SchedulerTimeout(ConnectionError):  # noqa: N818
    """The scheduler does not answer."""


class WorkerLost(Exception):  # noqa: N818
    """A worker that tasks are pinned to is gone."""


# Calls of the scheduler of a cluster


def patience() -> float:
    """Return the seconds that a scheduler may be silent, or without workers, from Dask's configuration."""
    duration = dask.config.get(PATIENCE_KEY, _DEFAULT_PATIENCE)
    try:
        seconds = float(parse_timedelta(duration))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise ValueError(
            f"{PATIENCE_KEY}={duration!r} in Dask's configuration is invalid: use a positive number of"
            " seconds, or a duration such as '5 minutes'."
        )
    return seconds


def call_scheduler(client: Any, coroutine: Callable[[], Any]) -> Any:
    """Return what a coroutine function of the scheduler returns; raise if it does not answer in time.

    The time that tasks take does not matter: a live scheduler answers while they run.
    """
    seconds = patience()
    end = time.monotonic() + seconds
    while True:
        try:
            return client.sync(coroutine, callback_timeout=max(end - time.monotonic(), 0.0))
        except Exception as error:
            # Dask gives up on a new connection sooner, even if the scheduler is only slow.
            if type(error) not in (OSError, TimeoutError) or client.status != "running":
                raise
            if time.monotonic() >= end:
                raise SchedulerTimeout(
                    f"The scheduler of the Dask cluster has not answered for {seconds:g} seconds"
                    f" ({PATIENCE_KEY} in Dask's configuration). Nothing was fitted; fit again when the"
                    " scheduler is running."
                ) from error


class locked_cached_property(Generic[Value]):  # noqa: N801
    """A cached property that one thread computes while others wait for it.

    For values that take a round of tasks. :class:`functools.cached_property` lets several threads compute the
    value or, before Python 3.12, makes threads that access *other* instances wait as well.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> locked_cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: Any, owner: type) -> locked_cached_property[Value] | Value:
        """Return the value; later accesses find it in the instance."""
        if instance is None:
            return self
        cache = instance.__dict__

        def cached() -> Value:
            if self._name not in cache:
                cache[self._name] = self._function(instance)
            return cache[self._name]

        return cache.setdefault("_property_lock", Exclusive()).run(cached)


class Worker(NamedTuple):
    """Resources of a worker."""

    n_threads: int
    #: Bytes that it may use; infinite if it has no limit.
    memory: float


class Executor:
    """Runs tasks on the cluster of the current client, or on Dask's threads if there is none.

    Parameters
    ----------
    local : bool
        Whether to use Dask's threads even if there is a cluster.
    """

    def __init__(self, *, local: bool = False) -> None:
        self._client = None if local else _current_client()
        #: Addresses of the workers that store persisted values, by key. Several fits may share them.
        self._addresses: dict[str, str] = {}
        #: Replaced whenever a round failed because workers were lost.
        self.generation = object()
        #: Of the round that a thread builds: the workers that its tasks are pinned to.
        self._round = threading.local()

    # Resources

    @property
    def backend(self) -> str:
        """Name of the scheduler in ``execution_``."""
        return "dask threads" if self._client is None else "dask cluster"

    @property
    def is_distributed(self) -> bool:
        """Whether workers store persisted values; Dask's threads compute these again in every round.

        With threads, a value that a round needs twice stays in memory from its first to its last use, which
        may add up to a whole table.
        """
        return self._client is not None

    @property
    def memory(self) -> float:
        """Total bytes that the workers may use; 0 if they have no limit."""
        return sum(worker.memory for worker in self._workers.values() if worker.memory < float("inf"))

    @property
    def least_memory(self) -> float:
        """Bytes that the worker with the lowest limit may use; infinite if none has a limit."""
        return min((worker.memory for worker in self._workers.values()), default=float("inf"))

    @property
    def n_workers(self) -> int:
        """Number of processes between which data is sent."""
        return max(1, len(self._workers))

    @property
    def n_threads(self) -> int:
        """Number of tasks that can run at the same time."""
        if self._client is None:
            return dask.config.get("num_workers", None) or dask.system.CPU_COUNT
        return max(1, sum(worker.n_threads for worker in self._workers.values()))

    @locked_cached_property
    def _workers(self) -> dict[str, Worker]:
        """The workers at the beginning of the fit, by address: the partition is chosen for them."""
        if self._client is None:
            return {}
        identity = self._call_scheduler(partial(self._client.scheduler.identity, n_workers=-1))
        return {
            address: Worker(each["nthreads"], float(each["memory_limit"] or "inf"))
            for address, each in identity["workers"].items()
        }

    def _ncores(self) -> dict[str, int]:
        assert self._client is not None
        return self._call_scheduler(self._client.scheduler.ncores)

    def _call_scheduler(self, coroutine: Callable[[], Any]) -> Any:
        """Return what the scheduler answers; raise an error that explains why it does not."""
        try:
            return call_scheduler(self._client, coroutine)
        except (SchedulerTimeout, ValueError):
            raise
        except Exception as error:
            raise self._explained(error) from error

    # Data on the workers

    def persist(self, values: Sequence[Delayed]) -> list[Delayed]:
        """Compute values once and store them on the workers; with threads, return them as is."""
        if self._client is None:
            return list(values)
        return list(self._client.persist(list(values)))

    def materialize(self, values: Sequence[Delayed]) -> list[Delayed]:
        """Compute values once and store them, on the workers or, with threads, in this process.

        For values whose computation costs more than their memory.
        """
        if self._client is not None:
            return self.persist(values)
        results = dask.compute(*values, scheduler="threads")
        return [delayed(value, traverse=False, pure=False) for value in results]

    def materialize_if_local(self, value: Delayed) -> Delayed:
        """Compute an intermediate result of a round now with threads; return it as is for a cluster.

        A cluster gets the whole graph at once. With threads, blocks that tasks need before and after this
        result would stay in memory in between.
        """
        return value if self.is_distributed else self.materialize([value])[0]

    def broadcast(self, value: Any) -> Delayed:
        """Return a value as an argument for many tasks of a round; it is sent once.

        It is part of the graph, so that Dask can send it again: scattered data is lost with its worker.
        """
        # A unique name instead of a hash of the value.
        leaf = delayed(value, traverse=False, pure=False)
        # Frozen: otherwise Dask pins the leaf to the worker of the first task that uses it.
        return Delayed(leaf.key, leaf.dask)

    def pinned_to(self, value: Delayed, *, allow_other_workers: bool = False) -> AbstractContextManager[Any]:
        """Return a context whose tasks run on the worker that stores a persisted value.

        Dask would move tasks to idle workers, and send the value, whenever it expects this to be faster.
        Tasks whose results are persisted must be allowed on other workers, in case theirs is lost.
        """
        if self._client is None:
            return nullcontext()
        address = self._address_of(value)
        if not allow_other_workers:
            self._required.add(address)
        return dask.annotate(workers=[address], allow_other_workers=allow_other_workers)

    def addresses_of(self, values: Sequence[Delayed]) -> frozenset[str]:
        """Return the addresses of the workers that store persisted values."""
        if self._client is None:
            return frozenset()
        self.locate(values)
        return frozenset(map(self._address_of, values))

    def require(self, addresses: frozenset[str]) -> None:
        """Make the round fail if one of these workers is lost: it uses data that only they can compute."""
        self._required.update(addresses)

    def set_same_address(self, value: Delayed, other: Delayed) -> None:
        """Record that a persisted value is computed on the worker that stores another, without waiting."""
        address = self._addresses.get(other.key)
        if address is not None:
            self._addresses[value.key] = address

    @property
    def _required(self) -> set[str]:
        """Addresses of the workers without which the current round fails."""
        if not hasattr(self._round, "required"):
            self._round.required = set()
        return self._round.required

    def _address_of(self, value: Delayed) -> str:
        while True:
            address = self._addresses.get(value.key)
            if address is not None:
                return address
            self.locate([value])

    def locate(self, values: Sequence[Delayed]) -> None:
        """Wait for persisted values and record which workers store them, with one call for all.

        Values that were lost with a worker are computed again.
        """
        if self._client is None:
            return
        unknown = [value for value in values if value.key not in self._addresses]
        while unknown:
            futures = sys.modules["distributed"].futures_of(unknown)
            self._wait_for(futures)
            for future in futures:
                if future.status == "error":
                    future.result()
            who_has = partial(self._client.scheduler.who_has, keys=[each.key for each in futures])
            addresses = self._call_scheduler(who_has)
            self._addresses.update(
                (each.key, min(addresses[each.key])) for each in unknown if addresses[each.key]
            )
            unknown = [value for value in unknown if not addresses[value.key]]
            if unknown:
                time.sleep(0.01)  # lost since

    def group_by_worker(self, values: Sequence[Delayed]) -> list[tuple[list[int], Worker]]:
        """Return the indices of the persisted values that each worker stores, and its resources.

        With threads, every value is a group of its own.
        """
        if self._client is None:
            return [([i], Worker(1, 0.0)) for i in range(len(values))]
        self.locate(values)
        groups: dict[str, list[int]] = {}
        for i, value in enumerate(values):
            groups.setdefault(self._address_of(value), []).append(i)
        # Of workers that joined later, only the number of threads is known.
        joined = {} if self._workers.keys() >= groups.keys() else self._ncores()
        return [
            (indices, self._workers.get(address) or Worker(joined.get(address, 1), 0.0))
            for address, indices in groups.items()
        ]

    # Rounds

    def compute(self, tasks: Callable[[], Sequence[Delayed]]) -> list[Any]:
        """Return the results of the tasks of a round, in their order.

        ``tasks`` builds them. It is called again if the round fails because a worker is gone that tasks are
        pinned to, or that stored data which Dask cannot compute again.
        """
        if self._client is None:
            return list(dask.compute(*tasks(), scheduler="threads"))
        with seceded():
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    return self._attempt(tasks)
                except Exception as error:
                    if not self._is_recoverable(error) or attempt == _ATTEMPTS:
                        explained = self._explained(error)
                        if explained is error:
                            raise
                        raise explained from error
                    self._addresses.clear()
                    self.generation = object()
        raise AssertionError("unreachable")

    def reduce(self, tasks: Callable[[], Sequence[Delayed]], combine: Callable[[list[Any]], Any]) -> Any:
        """Return the results of the tasks of a round, combined by the workers along a tree of fixed shape.

        ``combine`` takes a list of results, which it must not change.
        """
        return self.compute(lambda: [tree_reduce(list(tasks()), combine)])[0]

    def _attempt(self, tasks: Callable[[], Sequence[Delayed]]) -> list[Any]:
        """Compute a round once; raise :class:`WorkerLost` if a worker that it is pinned to is gone."""
        assert self._client is not None
        # To build tasks may take a round of its own.
        outer, self._round.required = self._required, set()
        graph = list(tasks())
        required, self._round.required = self._round.required, outer
        futures = _configuration_lock.run(partial(_submit, self._client, graph))
        self._wait_for(futures, required)
        return self._gather(futures, required)

    def _wait_for(self, futures: Any, required: set[str] | frozenset[str] = frozenset()) -> None:
        """Wait for futures while the required workers are alive, or any worker at all."""

        def are_done(seconds: float) -> bool:
            assert self._client is not None
            try:
                # Dask looks up the current client of the thread, which may have none.
                with self._client.as_current():
                    sys.modules["distributed"].wait(futures, timeout=seconds)
            except TimeoutError:
                return False
            return True

        self._poll(are_done, futures, required)

    def _gather(self, futures: Any, required: set[str]) -> list[Any]:
        """Send finished results to the client, from the workers directly if they can be reached.

        If a worker is lost with one of them, Dask waits until it is computed again.
        """
        assert self._client is not None
        coroutine = self._client.gather(futures, direct=True, asynchronous=True)
        transfer = asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)
        try:
            self._poll(lambda seconds: bool(wait([transfer], seconds).done), futures, required)
            return list(transfer.result())
        except BaseException:
            transfer.cancel()
            raise

    def _poll(
        self, is_done: Callable[[float], bool], futures: Any, required: set[str] | frozenset[str]
    ) -> None:
        """Wait until ``is_done`` while the required workers are alive, or any worker at all."""
        assert self._client is not None
        last_seen, seconds = time.monotonic(), patience()
        while not is_done(_POLL_SECONDS):
            workers = set(self._ncores())
            if required - workers:
                self._call_scheduler(partial(self._client.cancel, futures, asynchronous=True))
                # A transfer in progress notices the cancellation, and ends.
                is_done(_POLL_SECONDS)
                raise WorkerLost
            if workers:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > seconds:
                raise RuntimeError(
                    f"The Dask cluster has had no worker for {seconds:g} seconds ({PATIENCE_KEY} in Dask's"
                    " configuration). Nothing was fitted; fit again when there are workers."
                )

    # Errors

    def _is_recoverable(self, error: Exception) -> bool:
        """Return whether data was lost with a worker while the cluster is still reachable."""
        lost = type(error).__name__ in (*_LOST_DATA, "WorkerLost")
        return lost and self._client is not None and self._is_connected

    @property
    def _is_connected(self) -> bool:
        assert self._client is not None
        if self._client.status != "running":
            return False
        try:
            call_scheduler(self._client, self._client.scheduler.ncores)
        except Exception:
            return False
        return True

    def _explained(self, error: Exception) -> Exception:
        """Return an error that explains a failure of the cluster; any other error as is."""
        name = type(error).__name__
        if name == "KilledWorker":
            return RuntimeError(
                "Workers of the Dask cluster died again and again while they worked on the same block; they"
                " may have too little memory. Smaller chunks of X, or workers with more memory, may help."
                " Nothing was fitted."
            )
        if name in (*_LOST_DATA, "WorkerLost") and self._is_connected:
            return RuntimeError(
                "Workers of the Dask cluster were lost, again and again, with what the fit needed, or X was"
                " persisted by a client that is closed. Nothing was fitted."
            )
        broken = (*_LOST_DATA, "CommClosedError", "TimeoutError", "OSError", "ConnectionError", "WorkerLost")
        if name in broken and not self._is_connected:
            return ConnectionError(
                "The connection to the scheduler of the Dask cluster was lost, and nothing was fitted. Fit"
                " again once a client is connected."
            )
        return error


def _submit(client: Any, tasks: list[Delayed]) -> list[Any]:
    """Return futures of tasks, without a warning about shared data: it is in the graph on purpose."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.compute(tasks)


def _current_client() -> Any:
    """Return the client that Dask would use, or None if there is no cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


# Reductions


def tree_reduce(tasks: list[Delayed], combine: Callable[..., Any], *arguments: Any) -> Delayed:
    """Return a task whose result combines those of all tasks, neighbors first.

    ``combine`` takes a list of results, and the arguments.
    """
    branches = reduce_to_fan_in(tasks, combine, *arguments)
    return branches[0] if len(branches) == 1 else delayed(combine, pure=False)(branches, *arguments)


def reduce_to_fan_in(tasks: list[Delayed], combine: Callable[..., Any], *arguments: Any) -> list[Delayed]:
    """Return the last branches of such a tree, for a task that combines them and goes on from there."""
    task = delayed(combine, pure=False)
    while len(tasks) > _FAN_IN:
        tasks = [task(tasks[i : i + _FAN_IN], *arguments) for i in range(0, len(tasks), _FAN_IN)]
    return tasks


def sum_arrays(parts: Sequence[Any]) -> Any:
    """Return the sum of arrays, or of tuples of arrays, from the first to the last; none is changed."""
    if isinstance(parts[0], tuple):
        return tuple(map(sum_arrays, zip(*parts, strict=True)))
    if len(parts) == 1:
        return parts[0]
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    return total


# Within tasks


def worker_threads(default: int) -> int:
    """Return the number of threads of the worker that runs this task; the default if there is none."""
    worker = _own_worker()
    return default if worker is None else int(worker.state.nthreads)


def exclusive_on_worker(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a task that runs on all threads of its worker while other such tasks wait there.

    Two tasks side by side, with one thread each, would evict each other's data from the cache.
    """

    @wraps(function)
    def task(*arguments: Any) -> Result:
        worker = _own_worker()
        if worker is None:
            return function(*arguments)
        with _worker_locks_lock:
            lock = _worker_locks.setdefault(worker, threading.Lock())
        with lock:
            return function(*arguments)

    return task


def _own_worker() -> Any:
    """Return the worker that runs this task; None outside of a cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with suppress(ValueError):
            return distributed.get_worker()
    return None


@contextmanager
def seceded() -> Iterator[None]:
    """Release the thread of the current task, if any, to other tasks while it waits for them."""
    distributed = sys.modules.get("distributed")
    # The state of a worker's thread: ``proceed`` is False if its task has seceded already.
    if distributed is None or not getattr(distributed.threadpoolexecutor.thread_state, "proceed", False):
        yield
        return
    distributed.secede()
    try:
        yield
    finally:
        distributed.rejoin()
