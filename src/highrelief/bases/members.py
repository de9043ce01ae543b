"""Clones of an estimator, fitted some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ..core.held import on_cluster
from ..core.parameters import checked_thread_count
from ..core.threads import Exclusive, one_blas_thread, run_all

#: Seeds of members are below this.
SEEDS = 2**31 - 1
Result = TypeVar("Result")


class Hands(NamedTuple):
    """Who fits members, and how many of them at a time."""

    #: "threads", "joblib", "dask cluster" or "dask threads", for the user to see.
    backend: str
    n_at_a_time: int
    #: How the table is worked on, where Dask holds it.
    of_table: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def for_fits(cls, X: Any, n_fits: int, *, ours: bool, n_jobs: int | None) -> Hands:
        """The hands for so many fits to the rows of X; ``ours``: of this package.

        Where joblib was told to send its work away (to Dask), so is this; otherwise ours run in threads. A
        table that Dask holds stays where it is: threads here drive fits that are done there.
        """
        if on_cluster(X):
            from ..core.cluster.simultaneous import n_simultaneous  # noqa: PLC0415

            return cls(X.work.backend, n_simultaneous(X, n_fits, n_jobs), X.execution())
        n_threads = checked_thread_count(n_jobs)
        if _sends_away():
            return cls("joblib", min(n_fits, max(1, effective_n_jobs(n_jobs))))
        n_at_a_time = min(n_fits, n_threads)
        return cls("threads" if ours or n_threads == 1 else "joblib", n_at_a_time)

    def waiting(self) -> AbstractContextManager[None]:
        """A context to wait in for fits: within a task of Dask's, whose thread they may need."""
        if not self.of_table:
            return nullcontext()
        from ..core.cluster.work import stepped_aside  # noqa: PLC0415

        return stepped_aside()

    @property
    def execution(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return {"backend": self.backend, "n_at_a_time": self.n_at_a_time, **self.of_table}


def _sends_away() -> bool:
    """Whether joblib was told to work elsewhere, and this is not already there."""
    backend = get_active_backend()[0]
    return type(backend).__name__ == "DaskDistributedBackend" and not backend.nesting_level


def run_some(
    fit: Callable[[Any], Result],
    arguments: Sequence[Any],
    advance: Callable[[], bool],
    *,
    ours: bool,
    n_jobs: int | None,
    X: Any = None,
    hands: Hands | None = None,
) -> list[Result | None]:
    """Fit members, some at a time; None in the place of those that a callback did not want.

    ``advance`` says that one is done, and hears whether that is enough. Members of this package run in
    threads, ``ours``; others in workers of joblib. ``X``: what they are fitted to parts of, if it may be a
    table that Dask holds; ``hands``: who fits them, if that is known.
    """
    hands = hands or Hands.for_fits(X, len(arguments), ours=ours, n_jobs=n_jobs)
    if hands.backend == "joblib":
        return _by_joblib(fit, arguments, advance, n_jobs)
    lock, stopped = Exclusive(), False

    def tell() -> None:
        nonlocal stopped
        stopped = advance() or stopped

    def fit_one(argument: Any) -> Result | None:
        if stopped:
            return None
        fitted = fit(argument)
        lock.run(tell)
        return fitted

    with hands.waiting():
        return in_threads(fit_one, arguments, ours=ours, n_threads=hands.n_at_a_time)


def in_threads(
    function: Callable[[Any], Result], arguments: Sequence[Any], *, ours: bool, n_threads: int
) -> list[Result]:
    """Call a function for each member, in threads where the members are ours.

    Our kernels release the interpreter lock. A member that asks for threads itself is helped by those of
    them that are idle.
    """
    if not ours:
        return [function(each) for each in arguments]
    config = get_config()

    def call(argument: Any) -> Result:
        with config_context(**config), one_blas_thread():
            return function(argument)

    return run_all(call, [(each,) for each in arguments], n_threads)


def _by_joblib(
    fit: Callable[[Any], Result], arguments: Sequence[Any], advance: Callable[[], bool], n_jobs: int | None
) -> list[Result | None]:
    """Fit the members by workers of joblib; None in the place of those after the one that a callback ends at.

    Members that are under way when a callback asks for an end are finished and left out: which ones they are
    would be up to chance.
    """
    stopped = False
    # Large arguments that all have in common are sent once to each worker by joblib's backend of Dask.
    whole = fit if isinstance(fit, partial) else partial(fit)

    def tasks() -> Iterator[Any]:
        for argument in arguments:
            if stopped:
                return
            yield delayed(whole.func)(*whole.args, argument, **whole.keywords)

    # Backends of others (Dask, Ray) may only know lists: all reports then come at the end.
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    workers = Parallel(n_jobs=n_jobs, return_as="generator" if one_by_one else "list")
    fitted: list[Result | None] = []
    for each in workers(tasks()):
        # Taken to the end: joblib warns of results that nobody takes.
        if not stopped:
            fitted.append(each)
            stopped = advance()
    return fitted + [None] * (len(arguments) - len(fitted))


def unseeded(estimator: Any) -> list[str]:
    """Names of the parameters, also of what is inside, that leave random numbers to chance."""
    return [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and name.rpartition("__")[2] == "random_state"
    ]


def seeded_clone(estimator: Any, names: list[str], seed: int) -> Any:
    """A clone in which the parameters of these names follow from the seed."""
    member = clone(estimator)
    random = np.random.RandomState(seed)
    return member.set_params(**{name: int(random.randint(SEEDS)) for name in names})
