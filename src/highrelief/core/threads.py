"""Threads for kernels that release the interpreter lock."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, TypeVar

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from ..kernels.interruption import held_interrupts

Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Number of threads that ``n_jobs`` stands for, here and now.

    As in joblib: None is 1, or what :class:`joblib.parallel_config` says; −1 is all cores, −2 all but one.
    Inside a worker of joblib, of Dask or of a pool of processes the cores have been dealt out already: there
    it is 1, or up to the share of cores (``inner_max_num_threads``) that joblib leaves to its processes.
    """
    backend, of_context = get_active_backend()
    wanted = (of_context or 1) if n_jobs is None else n_jobs
    if wanted < 0:
        wanted = max(joblib.cpu_count() + 1 + wanted, 1)
    depth = backend.nesting_level or 0
    process = multiprocessing.current_process()
    if depth == 1 and process.name.startswith("LokyProcess"):
        share = os.environ.get("OMP_NUM_THREADS", "")  # how joblib tells its workers their share
        return min(wanted, int(share) if share.isdigit() else 1)
    return 1 if depth > 0 or process.daemon or _in_dask_worker() else wanted


def _in_dask_worker() -> bool:
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


class _Shared:
    """What the callers in one process share: threads, and the limit on those of BLAS."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None
        self.size = 0
        self.blas: list[Any] | None = None
        self.blas_before: list[tuple[Any, int]] = []
        self.n_limiting = 0


_shared = _Shared()


def _begin_anew() -> None:
    """Drop what a forked child has from its parent: the threads do not exist there, the lock may be held."""
    global _shared  # noqa: PLW0603
    _shared = _Shared()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


class Exclusive:
    """A lock that no interruption leaves held.

    Python 3.14 may raise one after ``with`` has taken a lock and before its block begins: then nobody lets go
    of it, and all who help wait for ever. What is done under this one can be interrupted.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def run(self, function: Callable[[], Result]) -> Result:
        """Call a function while no other thread is in here."""
        try:
            self._lock.acquire()
            return function()
        finally:
            # Who was interrupted before has nothing to let go of.
            with suppress(RuntimeError):
                self._lock.release()


def _start(work: Callable[[], None], n_times: int, started: list[Future[None]]) -> None:
    """Have threads of the process run ``work``; there are as many as the most that were asked for.

    Those that are ``started`` are known, whatever happens. An interruption waits: there are locks in here.
    """
    shared = _shared
    with held_interrupts(), shared.lock:
        if shared.pool is None or shared.size < n_times:
            if shared.pool is not None:
                shared.pool.shutdown(wait=False)  # ends when it has done what it was given
            shared.pool = ThreadPoolExecutor(n_times, thread_name_prefix="highrelief")
            shared.size = n_times
        started.extend(shared.pool.submit(work) for _ in range(n_times))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to the thread that calls it; to be entered by every thread of ours that does.

    Most libraries have one limit for the process: it holds from the first caller in to the last one out.
    Those built on OpenMP have one for every thread.
    """
    shared, of_thread, is_in = _shared, list[tuple[Any, int]](), False
    # An interruption waits while the limit is set, and may come at any other line.
    try:
        with held_interrupts(), shared.lock:
            if shared.blas is None:  # looked up once: it takes longer than a small fit
                shared.blas = ThreadpoolController().select(user_api="blas").lib_controllers
            before = [(library, library.num_threads) for library in shared.blas]
            of_thread = [(library, n) for library, n in before if library.threading_layer == "openmp"]
            if shared.n_limiting == 0:
                shared.blas_before = [
                    (library, n) for library, n in before if library.threading_layer != "openmp"
                ]
            shared.n_limiting += 1
            is_in = True
            _set_blas_threads([(library, 1) for library, _ in before])
        yield
    finally:
        if is_in:
            with held_interrupts(), shared.lock:
                shared.n_limiting -= 1
                _set_blas_threads(of_thread + ([] if shared.n_limiting else shared.blas_before))


def _set_blas_threads(limits: list[tuple[Any, int]]) -> None:
    for library, n_threads in limits:
        # threadpoolctl 3.8 obeys one thread only, the first that set OpenBLAS; here the callers take turns.
        set_number = getattr(library, "_real_set_num_threads", library.set_num_threads)
        set_number(n_threads)


#: Elements (pairs of samples × features) after which a user would like to hear something: about a second.
_ELEMENTS_PER_PIECE = 1e10
_MOST_PIECES = 64


def n_pieces(elements: float) -> int:
    """Into how many pieces work is cut so that progress is seen, and an interrupt answered, in between."""
    return int(min(max(elements / _ELEMENTS_PER_PIECE, 1.0), _MOST_PIECES))


def run_all(
    function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], n_threads: int
) -> list[Result]:
    """Call ``function`` with each tuple of arguments; results come in the order of the arguments.

    The calling thread works too. However many callers there are, each is helped by the same few threads of
    the process and goes on without them if they are busy.
    """
    n_threads = min(n_threads, len(arguments))
    if n_threads <= 1:
        return [function(*each) for each in arguments]
    results: dict[int, Result] = {}
    # Which threads may take from without a lock.
    places = deque(range(len(arguments)))
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                place = places.popleft()
            except IndexError:
                return
            try:
                results[place] = function(*arguments[place])
            except BaseException:
                stopped.set()
                raise

    helpers: list[Future[None]] = []
    try:
        _start(work, n_threads - 1, helpers)
        work()
    except BaseException:
        # An interruption may also come between two pieces of work.
        stopped.set()
        raise
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        errors = [helper.exception() for helper in begun]
    for error in errors:
        if error is not None:
            raise error
    return [results[place] for place in range(len(arguments))]


def even_ranges(n: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut 0 … n into at most ``parts`` ranges whose borders are multiples of ``multiple``."""
    blocks = -(-n // multiple)
    parts = max(1, min(parts, blocks))
    borders = [multiple * (blocks * p // parts) for p in range(parts)] + [n]
    return [(a, b) for a, b in pairwise(borders) if b > a]
