"""Rounds of work on the blocks of a table, by the workers of a Dask cluster or by Dask's own threads."""

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

# Requests to the scheduler of a Dask cluster, and how long a fit waits for its answers.


#: In Dask's configuration: how long a scheduler may be silent, or without workers, until a fit is given up.
PATIENCE_KEY = "highrelief.patience"
#: As long as Dask's scheduler waits, by default, for a worker that sends no heartbeat.
_PATIENCE = "5 minutes"


class SchedulerSilent(ConnectionError):  # noqa: N818
    """The scheduler does not answer."""


def patience() -> float:
    """Seconds that a scheduler may be silent, or without workers, as Dask's configuration says."""
    wanted = dask.config.get(PATIENCE_KEY, _PATIENCE)
    try:
        seconds = float(parse_timedelta(wanted))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise ValueError(
            f"{PATIENCE_KEY}={wanted!r} in Dask's configuration is invalid: use a positive number of seconds,"
            " or a duration such as '5 minutes'."
        )
    return seconds


def ask(client: Any, question: Callable[[], Any]) -> Any:
    """Return the scheduler's answer to a coroutine function; raise if there is none in time.

    How long tasks take does not matter: a scheduler that works answers while they run.
    """
    seconds = patience()
    end = time.monotonic() + seconds
    while True:
        try:
            return client.sync(question, callback_timeout=max(end - time.monotonic(), 0.0))
        except Exception as error:
            # Dask gives up a new connection sooner, also to a scheduler that is only slow.
            if type(error) not in (OSError, TimeoutError) or client.status != "running":
                raise
            if time.monotonic() >= end:
                raise SchedulerSilent(
                    f"The scheduler of the Dask cluster has not answered for {seconds:g} seconds"
                    f" ({PATIENCE_KEY} in Dask's configuration). Nothing was fitted; fit again when the"
                    " scheduler is running."
                ) from error


# Properties that take a round of work to make, for objects that several threads ask.


Made = TypeVar("Made")


class once(Generic[Made]):  # noqa: N801
    """A property that is made when it is first asked for, by one thread, while others who ask wait.

    As :class:`functools.cached_property`, which lets all threads make it or, before Python 3.12, has those
    who ask *other* objects wait, too.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Made]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Made: ...

    def __get__(self, instance: Any, owner: type) -> once[Made] | Made:
        """What was made; found in the object itself from then on."""
        if instance is None:
            return self
        kept = instance.__dict__

        def make() -> Made:
            if self._name not in kept:
                kept[self._name] = self._make(instance)
            return kept[self._name]

        return kept.setdefault("_one_at_a_time", Exclusive()).run(make)


Result = TypeVar("Result")

#: How many results are added up by one task.
_FAN_IN = 4
#: How often a round is begun at most: anew after workers were lost that held a part of it.
_ATTEMPTS = 5
#: Seconds after which those who wait look whether the workers that they wait for are still there.
_LOOK_EVERY = 1.0
#: What Dask raises where data are lost that it cannot make again.
_LOST = ("FutureCancelledError", "FuturesCancelledError", "CancelledError", "FutureLostError")


_configuring = Exclusive()


class Worker(NamedTuple):
    """What a worker has: threads, and bytes that it may use, which are infinite where it does not say."""

    n_threads: int
    memory: float


class WorkerLost(Exception):  # noqa: N818
    """A worker is gone that tasks can run on alone."""


class Work:
    """Runs tasks on the cluster of the current client, or on Dask's threads if there is none.

    A round is a function that returns tasks. It is called again where a round has failed because a worker
    is gone that tasks were bound to, or took data with it that Dask cannot make again.

    Parameters
    ----------
    here : bool
        Whether Dask's threads work, even if there is a cluster.
    """

    def __init__(self, *, here: bool = False) -> None:
        self._client = None if here else _current_client()
        #: Where kept values lie. Several fits may ask, each in a thread of its own.
        self._places: dict[str, str] = {}
        #: Another one whenever a round had to be begun anew, because workers were lost.
        self.loss = object()
        #: Of the round that a thread puts together: the workers that its tasks are bound to.
        self._round = threading.local()

    @property
    def backend(self) -> str:
        """Who works, for the user to see."""
        return "dask threads" if self._client is None else "dask cluster"

    @property
    def memory(self) -> float:
        """Bytes that the workers may use, all together; 0 where they do not say."""
        return sum(worker.memory for worker in self._crew.values() if worker.memory < float("inf"))

    @property
    def least_memory(self) -> float:
        """Bytes that the worker with the least may use; infinite where none of them says."""
        return min((worker.memory for worker in self._crew.values()), default=float("inf"))

    @property
    def n_workers(self) -> int:
        """Processes between which values must be moved."""
        return max(1, len(self._crew))

    @property
    def n_threads(self) -> int:
        """Tasks that can run at the same time."""
        if self._client is None:
            return dask.config.get("num_workers", None) or dask.system.CPU_COUNT
        return max(1, sum(worker.n_threads for worker in self._crew.values()))

    @once
    def _crew(self) -> dict[str, Worker]:
        """The workers as the fit begins, by their addresses. It is planned by them; they are asked once."""
        if self._client is None:
            return {}
        said = self._asked(partial(self._client.scheduler.identity, n_workers=-1))
        return {
            address: Worker(each["nthreads"], float(each["memory_limit"] or "inf"))
            for address, each in said["workers"].items()
        }

    def _ncores(self) -> dict[str, int]:
        assert self._client is not None
        return self._asked(self._client.scheduler.ncores)

    def _asked(self, question: Callable[[], Any]) -> Any:
        """The answer of the scheduler; one sentence where there is none."""
        try:
            return ask(self._client, question)
        except (SchedulerSilent, ValueError):
            raise
        except Exception as error:
            raise self._explained(error) from error

    @property
    def keeps(self) -> bool:
        """Whether kept values stay with workers; otherwise they are made anew in every round.

        What a round takes twice is then held from the first time to the last, and may be all of a table.
        """
        return self._client is not None

    def kept(self, values: Sequence[Delayed]) -> list[Delayed]:
        """The same values, made once and left with the workers; Dask's threads make them whenever needed."""
        if self._client is None:
            return list(values)
        return list(self._client.persist(list(values)))

    def beside(self, value: Delayed, *, elsewhere: bool = False) -> AbstractContextManager[Any]:
        """A context whose tasks run where a kept value lies, and nowhere else.

        Dask would hand tasks to idle workers, and send them the value, whenever it expects that to be faster.
        What is kept itself must be made ``elsewhere`` where its worker is lost.
        """
        if self._client is None:
            return nullcontext()
        place = self._place_of(value)
        if not elsewhere:
            self._bound.add(place)
        return dask.annotate(workers=[place], allow_other_workers=elsewhere)

    def places_of(self, values: Sequence[Delayed]) -> frozenset[str]:
        """The workers that some kept values lie with."""
        if self._client is None:
            return frozenset()
        self.locate(values)
        return frozenset(map(self._place_of, values))

    def bind(self, places: frozenset[str]) -> None:
        """Have the round end where one of these workers is lost, which something from before needs."""
        self._bound.update(places)

    def location_of(self, value: Delayed, other: Delayed) -> None:
        """Note that a kept value is made where another one lies; nobody has to wait to be told."""
        place = self._places.get(other.key)
        if place is not None:
            self._places[value.key] = place

    @property
    def _bound(self) -> set[str]:
        if not hasattr(self._round, "bound"):
            self._round.bound = set()
        return self._round.bound

    def _place_of(self, value: Delayed) -> str:
        while True:
            place = self._places.get(value.key)
            if place is not None:
                return place
            self.locate([value])

    def locate(self, values: Sequence[Delayed]) -> None:
        """Note where kept values lie, once they are made; those that were lost with a worker are made again.

        Who is about to bind tasks to several of them asks once.
        """
        if self._client is None:
            return
        missing = [value for value in values if value.key not in self._places]
        while missing:
            futures = sys.modules["distributed"].futures_of(missing)
            self._wait_for(futures)
            for future in futures:
                if future.status == "error":
                    future.result()
            places = self._asked(partial(self._client.scheduler.who_has, keys=[each.key for each in futures]))
            self._places.update((each.key, min(places[each.key])) for each in missing if places[each.key])
            missing = [value for value in missing if not places[value.key]]
            if missing:
                time.sleep(0.01)  # lost since

    def by_worker(self, values: Sequence[Delayed]) -> list[tuple[list[int], Worker]]:
        """Which of some kept values lie with each worker, by their places in the list, and what it has.

        Dask's threads take every value by itself.
        """
        if self._client is None:
            return [([i], Worker(1, 0.0)) for i in range(len(values))]
        self.locate(values)
        found: dict[str, list[int]] = {}
        for i, value in enumerate(values):
            found.setdefault(self._place_of(value), []).append(i)
        # Of those who came later only the threads are asked for.
        later = {} if self._crew.keys() >= found.keys() else self._ncores()
        return [
            (which, self._crew.get(place) or Worker(later.get(place, 1), 0.0))
            for place, which in found.items()
        ]

    def _wait_for(self, futures: Any, bound: set[str] | frozenset[str] = frozenset()) -> None:
        """Wait until all are done, while the workers are there that tasks are ``bound`` to, or any at all."""

        def are_done(seconds: float) -> bool:
            assert self._client is not None
            try:
                # Dask asks for the current client of the thread, which may have none.
                with self._client.as_current():
                    sys.modules["distributed"].wait(futures, timeout=seconds)
            except TimeoutError:
                return False
            return True

        self._watch(are_done, futures, bound)

    def _bring(self, futures: Any, bound: set[str]) -> list[Any]:
        """Results that are done: from the workers themselves, through the scheduler what cannot be had so.

        Where a worker is lost with one of them, Dask waits until it is made again.
        """
        assert self._client is not None
        gather = self._client.gather(futures, direct=True, asynchronous=True)
        brought = asyncio.run_coroutine_threadsafe(gather, self._client.loop.asyncio_loop)
        try:
            self._watch(lambda seconds: bool(wait([brought], seconds).done), futures, bound)
            return list(brought.result())
        except BaseException:
            brought.cancel()
            raise

    def _watch(
        self, is_over: Callable[[float], bool], futures: Any, bound: set[str] | frozenset[str]
    ) -> None:
        """Wait until it is over, while the workers are there that tasks are ``bound`` to, or any at all."""
        assert self._client is not None
        seen, seconds = time.monotonic(), patience()
        while not is_over(_LOOK_EVERY):
            workers = set(self._ncores())
            if bound - workers:
                self._asked(partial(self._client.cancel, futures, asynchronous=True))
                # Who brings some of them hears of it, and ends.
                is_over(_LOOK_EVERY)
                raise WorkerLost
            if workers:
                seen = time.monotonic()
            elif time.monotonic() - seen > seconds:
                raise RuntimeError(
                    f"The Dask cluster has had no worker for {seconds:g} seconds ({PATIENCE_KEY} in Dask's"
                    " configuration). Nothing was fitted; fit again when there are workers."
                )

    def made(self, values: Sequence[Delayed]) -> list[Delayed]:
        """The same values, made once, for what takes longer to make than it is worth not to hold it.

        They are left with the workers; what Dask's threads have made is held here.
        """
        if self._client is not None:
            return self.kept(values)
        found = dask.compute(*values, scheduler="threads")
        return [delayed(value, traverse=False, pure=False) for value in found]

    def halfway(self, value: Delayed) -> Delayed:
        """A result of some tasks of a round that others of them take.

        A cluster gets all of the round at once. Dask's threads make the value now: blocks that those before
        and those after it take would be held from the one to the other.
        """
        return value if self.keeps else self.made([value])[0]

    def shared(self, value: Any) -> Delayed:
        """A value that many tasks of a round take, sent once; workers hand it on to each other.

        It goes with the tasks, so that Dask can send it again: what is scattered is lost with its worker.
        """
        # Not hashed: a name is enough.
        leaf = delayed(value, traverse=False, pure=False)
        # As it is now: a leaf would be bound, with the first task that takes it, to the worker of that.
        return Delayed(leaf.key, leaf.dask)

    def results(self, tasks: Callable[[], Sequence[Delayed]]) -> list[Any]:
        """What the tasks of a round return, in their order."""
        if self._client is None:
            return list(dask.compute(*tasks(), scheduler="threads"))
        with stepped_aside():
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    return self._gathered(tasks)
                except Exception as error:
                    if not self._may_try_again(error) or attempt == _ATTEMPTS:
                        explained = self._explained(error)
                        if explained is error:
                            raise
                        raise explained from error
                    self._places.clear()
                    self.loss = object()
        raise AssertionError("unreachable")

    def _gathered(self, tasks: Callable[[], Sequence[Delayed]]) -> list[Any]:
        """Results of tasks, unless a worker is gone that one of them may run on alone."""
        assert self._client is not None
        # What tasks are made of may need a round of its own.
        around, self._round.bound = self._bound, set()
        made = list(tasks())
        bound, self._round.bound = self._round.bound, around
        futures = _configuring.run(partial(_submitted, self._client, made))
        self._wait_for(futures, bound)
        return self._bring(futures, bound)

    def total(self, tasks: Callable[[], Sequence[Delayed]], add: Callable[[list[Any]], Any]) -> Any:
        """What the tasks of a round return, added up by a tree of further tasks whose shape is fixed.

        ``add`` must not change what it is given.
        """
        return self.results(lambda: [tree(list(tasks()), add)])[0]

    def _may_try_again(self, error: Exception) -> bool:
        """Whether data were lost with a worker, while the cluster itself goes on."""
        lost = type(error).__name__ in (*_LOST, "WorkerLost")
        return lost and self._client is not None and self._is_connected

    @property
    def _is_connected(self) -> bool:
        assert self._client is not None
        if self._client.status != "running":
            return False
        try:
            ask(self._client, self._client.scheduler.ncores)
        except Exception:
            return False
        return True

    def _explained(self, error: Exception) -> Exception:
        """One sentence where it was the cluster that failed, and the error itself where it was not."""
        name = type(error).__name__
        if name == "KilledWorker":
            return RuntimeError(
                "Workers of the Dask cluster died again and again while they worked on the same block; they"
                " may have too little memory. Smaller chunks of X, or workers with more memory, may help."
                " Nothing was fitted."
            )
        if name in (*_LOST, "WorkerLost") and self._is_connected:
            return RuntimeError(
                "Workers of the Dask cluster were lost, again and again, with what the fit needed, or X was"
                " persisted by a client that is closed. Nothing was fitted."
            )
        broken = (*_LOST, "CommClosedError", "TimeoutError", "OSError", "ConnectionError", "WorkerLost")
        if name in broken and not self._is_connected:
            return ConnectionError(
                "The connection to the scheduler of the Dask cluster was lost, and nothing was fitted. Fit"
                " again once a client is connected."
            )
        return error


def _submitted(client: Any, tasks: list[Delayed]) -> list[Any]:
    """Futures of tasks. What is shared is in their graph on purpose; the configuration is of all threads."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.compute(tasks)


def tree(tasks: list[Delayed], add: Callable[..., Any], *given: Any) -> Delayed:
    """A task whose result is the sum of those of all tasks; neighbors are added first.

    ``add`` takes a list of results, and what is ``given`` to all.
    """
    branches = boughs(tasks, add, *given)
    return branches[0] if len(branches) == 1 else delayed(add, pure=False)(branches, *given)


def boughs(tasks: list[Delayed], add: Callable[..., Any], *given: Any) -> list[Delayed]:
    """The last few tasks of such a tree, for one that adds them up and goes on from there."""
    adding = delayed(add, pure=False)
    while len(tasks) > _FAN_IN:
        tasks = [adding(tasks[i : i + _FAN_IN], *given) for i in range(0, len(tasks), _FAN_IN)]
    return tasks


def added(parts: list[Any]) -> Any:
    """The sum of arrays, from the first to the last; none of them is changed."""
    if len(parts) == 1:
        return parts[0]
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    return total


def own_threads(otherwise: int) -> int:
    """Threads of the worker that runs a task; what is said ``otherwise`` where there is none."""
    worker = _own_worker()
    return otherwise if worker is None else int(worker.state.nthreads)


def in_turn(function: Callable[..., Result]) -> Callable[..., Result]:
    """A task that has all threads of its worker to itself: others of this kind wait there.

    Two that work side by side, with a thread each, would push each other out of the cache.
    """

    @wraps(function)
    def task(*arguments: Any) -> Result:
        worker = _own_worker()
        if worker is None:
            return function(*arguments)
        with _taking_turns:
            turn = _turns.setdefault(worker, threading.Lock())
        with turn:
            return function(*arguments)

    return task


_turns: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
_taking_turns = threading.Lock()


def _renew_locks() -> None:
    """Replace locks in a forked child, where nobody would release those that are held."""
    global _turns, _taking_turns, _configuring
    _turns, _taking_turns, _configuring = WeakKeyDictionary(), threading.Lock(), Exclusive()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _own_worker() -> Any:
    """The worker that runs this task; None where Dask's threads do, or nobody."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with suppress(ValueError):
            return distributed.get_worker()
    return None


@contextmanager
def stepped_aside() -> Iterator[None]:
    """Within a task: let others have its thread while it waits for them."""
    distributed = sys.modules.get("distributed")
    # A thread of a worker says whether it goes on to the next task: not if it has stepped aside already.
    if distributed is None or not getattr(distributed.threadpoolexecutor.thread_state, "proceed", False):
        yield
        return
    distributed.secede()
    try:
        yield
    finally:
        distributed.rejoin()


def _current_client() -> Any:
    """The client that Dask would use; None if there is no cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
