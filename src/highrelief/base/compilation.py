"""Compilation of kernels: announced where it takes long, and its time kept apart from that of a fit.

Numba compiles a kernel when it is first called with new types. Later processes load it from the disk cache.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.event import Listener, register

from .._engine.limits import limits
from .._engine.threads import start_helper

#: Called with True when a compilation is taking long, and with False when it is done.
Observer = Callable[[bool], None]

_PACKAGE = f"{__name__.partition('.')[0]}."
MESSAGE = "Compiling for this machine, which happens once; `python -m highrelief.warmup` does it ahead."


class _Compilations(Listener):
    """Measure compilations, and report those that take long to the observer or the user."""

    def __init__(self) -> None:
        self._depth = 0
        self._begin = 0.0
        self._seconds = 0.0
        self._done = threading.Event()
        self._announced = False
        self.observers: list[Observer] = []

    @property
    def seconds(self) -> float:
        """Wall time of all compilations in this process."""
        return self._seconds + (time.perf_counter() - self._begin if self._depth else 0.0)

    # Numba compiles under a lock of the process: events do not overlap.

    def on_start(self, event: Any) -> None:
        """Begin with a kernel; those that it calls are compiled on the way."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._begin = time.perf_counter()
        done = self._done = threading.Event()
        left = limits.compilation_delay - self._seconds
        if left <= 0.0:
            self._tell(True)
        elif not self._announced or self.observers:
            start_helper(lambda: None if done.wait(left) else self._tell(True))

    def on_end(self, event: Any) -> None:
        """End with a kernel."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0:
            self._seconds += time.perf_counter() - self._begin
            self._done.set()
            if self.observers:
                self.observers[-1](False)

    def _tell(self, compiling: bool) -> None:
        if self.observers:
            self.observers[-1](compiling)
        elif not self._announced and multiprocessing.parent_process() is None and sys.stderr is not None:
            sys.stderr.write(f"highrelief: {MESSAGE}\n")
            sys.stderr.flush()
        self._announced = self._announced or not self.observers


def _is_ours(event: Any) -> bool:
    """Return whether a kernel of this package is compiled, and not one of the user."""
    return str(event.data["dispatcher"].py_func.__module__).startswith(_PACKAGE)


_compilations = _Compilations()
register("numba:compile", _compilations)


def compilation_seconds() -> float:
    """Return the wall time that this process has spent on compiling."""
    return _compilations.seconds


def clock() -> float:
    """Return a time in seconds that stands still during compilations, to measure fits."""
    return time.perf_counter() - compilation_seconds()


@contextmanager
def observing_compilation(observer: Observer) -> Iterator[None]:
    """Report compilations that take long to an observer, instead of writing a line to standard error."""
    _compilations.observers.append(observer)
    try:
        yield
    finally:
        _compilations.observers.remove(observer)
