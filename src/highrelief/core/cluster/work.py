"""Rounds of work on the blocks of a table, by the workers of a Dask cluster or by Dask's own threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import dask
from dask.delayed import Delayed, delayed

Result = TypeVar("Result")

#: How many results are added up by one task.
_FAN_IN = 4
#: How often a round is begun anew after workers were lost that held a part of it.
_ATTEMPTS = 3


class Work:
    """Runs tasks on the cluster of the current client, or on Dask's threads if there is none.

    A round is a function that returns tasks. It is called again where a round has failed because a worker
    took data with it that Dask cannot make again: what is shared with the workers is then shared anew.
    """

    def __init__(self) -> None:
        self._client = _current_client()

    @property
    def backend(self) -> str:
        """Who works, for the user to see."""
        return "dask threads" if self._client is None else "dask cluster"

    @property
    def n_workers(self) -> int:
        """Processes between which values must be moved."""
        return 1 if self._client is None else max(1, len(self._ncores()))

    @property
    def n_threads(self) -> int:
        """Tasks that can run at the same time."""
        if self._client is None:
            return dask.config.get("num_workers", None) or dask.system.CPU_COUNT
        return max(1, sum(self._ncores().values()))

    def _ncores(self) -> dict[str, int]:
        assert self._client is not None
        return self._client.ncores()

    def kept(self, values: Sequence[Delayed]) -> list[Delayed]:
        """The same values, made once and left with the workers; Dask's threads make them whenever needed."""
        if self._client is None:
            return list(values)
        return list(self._client.persist(list(values)))

    def made(self, values: Sequence[Delayed]) -> list[Delayed]:
        """The same values, made once, for what takes longer to make than it is worth not to hold it.

        They are left with the workers; what Dask's threads have made is held here.
        """
        if self._client is not None:
            return self.kept(values)
        found = dask.compute(*values, scheduler="threads")
        return [delayed(value, traverse=False, pure=False) for value in found]

    def shared(self, value: Any) -> Any:
        """A value that many tasks of a round take, sent once to every worker."""
        if self._client is None:
            # Not hashed: a name is enough.
            return delayed(value, traverse=False, pure=False)
        # In a list, or Dask would take the entries of a list or a dictionary for values of their own.
        return self._client.scatter([value], broadcast=True, hash=False)[0]

    def results(self, tasks: Callable[[], Sequence[Delayed]]) -> list[Any]:
        """What the tasks of a round return, in their order."""
        if self._client is None:
            return list(dask.compute(*tasks(), scheduler="threads"))
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return list(self._client.gather(self._client.compute(list(tasks()))))
            except Exception as error:
                if not self._may_try_again(error) or attempt == _ATTEMPTS:
                    raise self._explained(error) from error
        raise AssertionError("unreachable")

    def total(self, tasks: Callable[[], Sequence[Delayed]], add: Callable[[list[Any]], Any]) -> Any:
        """What the tasks of a round return, added up by a tree of further tasks whose shape is fixed.

        ``add`` must not change what it is given.
        """
        return self.results(lambda: [tree(list(tasks()), add)])[0]

    def _may_try_again(self, error: Exception) -> bool:
        """Whether data were lost with a worker, while the cluster itself goes on."""
        lost = type(error).__name__ in ("FutureCancelledError", "CancelledError", "FutureLostError")
        return lost and self._client is not None and self._is_connected

    @property
    def _is_connected(self) -> bool:
        assert self._client is not None
        try:
            return self._client.status == "running" and bool(self._ncores())
        except Exception:
            return False

    def _explained(self, error: Exception) -> Exception:
        """One sentence where it was the cluster that failed, and the error itself where it was not."""
        name = type(error).__name__
        if name == "KilledWorker":
            return RuntimeError(
                "Workers of the Dask cluster died again and again while they worked on the same block; they"
                " may have too little memory. Smaller chunks of X, or workers with more memory, may help."
                " Nothing was fitted."
            )
        cluster_errors = ("FutureCancelledError", "CancelledError", "FutureLostError", "CommClosedError")
        if name in (*cluster_errors, "TimeoutError", "OSError", "ConnectionError") and not self._is_connected:
            return ConnectionError(
                "The connection to the scheduler of the Dask cluster was lost, and nothing was fitted. Fit"
                " again once a client is connected."
            )
        return error


def tree(tasks: list[Delayed], add: Callable[..., Any], *given: Any) -> Delayed:
    """A task whose result is the sum of those of all tasks; neighbours are added first.

    ``add`` takes a list of results, and what is ``given`` to all.
    """
    adding = delayed(add, pure=False)
    while len(tasks) > 1:
        tasks = [adding(tasks[i : i + _FAN_IN], *given) for i in range(0, len(tasks), _FAN_IN)]
    return tasks[0]


def _current_client() -> Any:
    """The client that Dask would use; None if there is no cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
