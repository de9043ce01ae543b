"""Threads for kernels that release the global interpreter lock.

:func:`run_all` runs independent parts of a computation on the calling thread and on helper threads of the
process; :func:`even_ranges` splits the work.
"""

from __future__ import annotations

import _thread
import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, TypeVar

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from .._kernels.jit import deferred_interrupts

Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs`` in the current context.

    As in joblib: None is 1, or the value of :class:`joblib.parallel_config`; −1 is all cores, −2 all but one.
    Inside a worker of joblib, of Dask or of a process pool the cores are allocated already: it is 1, or up to
    the number of cores (``inner_max_num_threads``) that joblib assigns to its processes.
    """
    backend, of_context = get_active_backend()
    n_threads = (of_context or 1) if n_jobs is None else n_jobs
    if n_threads < 0:
        n_threads = max(joblib.cpu_count() + 1 + n_threads, 1)
    depth = backend.nesting_level or 0
    process = multiprocessing.current_process()
    if depth == 1 and process.name.startswith("LokyProcess"):
        share = os.environ.get("OMP_NUM_THREADS", "")  # set by joblib for its workers
        return min(n_threads, int(share) if share.isdigit() else 1)
    return 1 if depth > 0 or process.daemon or _in_dask_worker() else n_threads


def _in_dask_worker() -> bool:
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


class Helper:
    """One call of ``work`` by another thread: started at most once, and waited for only if it has started.

    Ends without allocating memory, of which none may be left.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._turn, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call ``work``, unless it was canceled."""
        work = self._work
        if work is None or not self._turn.acquire(blocking=False):
            return
        try:
            work()
        except BaseException as error:
            self._error = error
        finally:
            # An idle thread must not keep arrays alive.
            self._work = work = None
            self._done.release()

    def end(self) -> BaseException | None:
        """Cancel the call if no thread has started it, wait for it otherwise, and return its error."""
        if self._turn.acquire(blocking=False):
            self._work = None
        else:
            self._done.acquire()
        return self._error


def start_helper(work: Callable[[], None]) -> Helper:
    """Call ``work`` in a new thread, or not at all if no thread can be started."""
    helper = Helper(work)
    with suppress(RuntimeError, MemoryError):
        # The start() of threading.Thread would wait until the thread runs.
        _thread.start_new_thread(helper.run, ())
    return helper


class _Shared:
    """State of the process: helper threads, and the limit on the threads of BLAS."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.helpers: SimpleQueue[Helper] = SimpleQueue()
        self.n_threads = 0
        self.blas: list[Any] | None = None
        self.blas_before: list[tuple[Any, int]] = []
        self.n_limiting = 0


_shared = _Shared()
#: Compiler locks that a forking thread has acquired.
_compiler_locks: list[Any] = []


def _take_compiler_locks() -> None:
    """Make a fork wait until no other thread compiles or loads a kernel.

    The child inherits locks and LLVM's state. No thread of the child would release a lock that another
    thread has acquired here, and the first compilation in the child would wait forever.
    """
    numba = sys.modules.get("numba.core.compiler_lock")
    llvm = sys.modules.get("llvmlite.binding.ffi")
    # In the order in which a compilation acquires them.
    found = [getattr(numba, "global_compiler_lock", None), getattr(getattr(llvm, "lib", None), "_lock", None)]
    for lock in (getattr(each, "_lock", None) for each in found):
        if lock is not None:
            lock.acquire()
            _compiler_locks.append(lock)


def _release_compiler_locks() -> None:
    while _compiler_locks:
        _compiler_locks.pop().release()


def _reset_after_fork() -> None:
    """Discard the parent's state in a forked child: its threads do not exist, its lock may be acquired."""
    global _shared  # noqa: PLW0603
    _shared = _Shared()
    _release_compiler_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_take_compiler_locks, after_in_parent=_release_compiler_locks, after_in_child=_reset_after_fork
    )


class Exclusive:
    """A lock that is released after an interrupt at any line.

    Python 3.14 may raise KeyboardInterrupt after ``with`` has acquired a lock and before its block begins:
    the lock is then never released, and helper threads wait forever. Functions run under this lock can be
    interrupted.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def run(self, function: Callable[[], Result]) -> Result:
        """Call a function while no other thread runs one."""
        try:
            self._lock.acquire()
            return function()
        finally:
            # After an interrupt before the acquisition there is nothing to release.
            with suppress(RuntimeError):
                self._lock.release()


def _start(work: Callable[[], None], n_times: int, started: list[Helper]) -> None:
    """Queue ``work`` for helper threads; new threads are started if fewer than ``n_times`` exist.

    ``started`` lists the queued calls, whatever happens. Interrupts are deferred, as locks are acquired here.
    Nothing waits for a new thread: if memory is short it may end before its first line, or not start at all,
    and the caller works alone.
    """
    shared = _shared
    with deferred_interrupts(), shared.lock:
        with suppress(RuntimeError, MemoryError):
            while shared.n_threads < n_times:
                _thread.start_new_thread(_help, (shared.helpers,))
                shared.n_threads += 1
        for _ in range(min(n_times, shared.n_threads)):
            started.append(Helper(work))
            shared.helpers.put(started[-1])


def _help(helpers: SimpleQueue[Helper]) -> None:
    """Run queued calls for as long as the process lives."""
    # If memory is short, the call itself may fail.
    ignoring = suppress(MemoryError)
    while True:
        with ignoring:
            helpers.get().run()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Restrict BLAS to the calling thread; every thread that calls BLAS enters this context.

    Most libraries have one limit for the process: it applies from the first caller's entry to the last one's
    exit. Those built on OpenMP have one per thread.
    """
    shared, of_thread, is_in = _shared, list[tuple[Any, int]](), False
    # Interrupts are deferred while the limit is set, and may arrive at any other line.
    try:
        with deferred_interrupts(), shared.lock:
            if shared.blas is None:  # cached: it takes longer than a small fit
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
            with deferred_interrupts(), shared.lock:
                shared.n_limiting -= 1
                _set_blas_threads(of_thread + ([] if shared.n_limiting else shared.blas_before))


def _set_blas_threads(limits: list[tuple[Any, int]]) -> None:
    for library, n_threads in limits:
        # threadpoolctl 3.8 accepts a limit from the first thread only; here callers are serialized by the
        # lock.
        set_number = getattr(library, "_real_set_num_threads", library.set_num_threads)
        set_number(n_threads)


#: Elements (pairs of samples × features) between two progress reports: about a second.
_ELEMENTS_PER_PIECE = 1e10
_MOST_PIECES = 64


def n_pieces(elements: float) -> int:
    """Return the number of pieces of a computation, between which progress and interrupts are handled."""
    return int(min(max(elements / _ELEMENTS_PER_PIECE, 1.0), _MOST_PIECES))


def run_all(
    function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], n_threads: int
) -> list[Result]:
    """Return the results of ``function`` for each tuple of arguments, in the order of the arguments.

    The calling thread works too. All callers share the same few helper threads of the process and continue
    without them if they are busy.
    """
    n_threads = min(n_threads, len(arguments))
    if n_threads <= 1:
        return [function(*each) for each in arguments]
    results: dict[int, Result] = {}
    # A deque: threads pop from it without a lock.
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

    helpers: list[Helper] = []
    try:
        _start(work, n_threads - 1, helpers)
        work()
    except BaseException:
        # An interrupt may also arrive between two calls.
        stopped.set()
        raise
    finally:
        errors = [helper.end() for helper in helpers]
    for error in errors:
        if error is not None:
            raise error
    return [results[place] for place in range(len(arguments))]


def even_ranges(n: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Return at most ``parts`` ranges of 0 … n whose borders are multiples of ``multiple``."""
    blocks = -(-n // multiple)
    parts = max(1, min(parts, blocks))
    borders = [multiple * (blocks * p // parts) for p in range(parts)] + [n]
    return [(a, b) for a, b in pairwise(borders) if b > a]
