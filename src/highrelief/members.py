"""Clones of an estimator, fitted some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .core.parameters import checked_thread_count
from .core.threads import one_blas_thread, run_all

#: Seeds of members are below this.
SEEDS = 2**31 - 1
Result = TypeVar("Result")


def run_some(
    fit: Callable[[Any], Result],
    arguments: Sequence[Any],
    advance: Callable[[], bool],
    *,
    ours: bool,
    n_jobs: int | None,
) -> list[Result | None]:
    """Fit members, some at a time; None in the place of those that a callback did not want.

    ``advance`` says that one is done, and hears whether that is enough. Members of this package run in
    threads, ``ours``; others in workers of joblib.
    """
    n_threads = checked_thread_count(n_jobs)
    if not ours and n_threads > 1:
        return _by_joblib(fit, arguments, advance, n_jobs)
    lock, stopped = Lock(), False

    def fit_one(argument: Any) -> Result | None:
        nonlocal stopped
        if stopped:
            return None
        fitted = fit(argument)
        with lock:
            stopped = advance() or stopped
        return fitted

    return in_threads(fit_one, arguments, ours=ours, n_threads=n_threads)


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

    def tasks() -> Iterator[Any]:
        for argument in arguments:
            if stopped:
                return
            yield delayed(fit)(argument)

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
