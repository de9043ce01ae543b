"""Ctrl-C while a kernel is compiled.

LLVM calls Python back when it is done with a kernel, and an interruption that is raised in there is printed
and lost: the fit would go on as if nothing had happened. It waits until the kernel is ready instead.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let an interruption wait for the end of the block."""
    usual = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted, or may say what happens then.
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    waiting: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if waiting:
            usual(*waiting[-1])


def without_interruption(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, at whose end interruptions wait."""

    @wraps(function)
    def held(*arguments: Any, **named: Any) -> Any:
        with held_interrupts():
            return function(*arguments, **named)

    return held
