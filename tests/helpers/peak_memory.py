"""How much memory something takes: what Python and NumPy ask for, or what the system gives to a process."""

import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path


def peak_of(work: Callable[[], object]) -> int:
    """Most bytes that Python and NumPy hold at a time, beside those before, while something is done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def anonymous() -> int:
    """Bytes of this process that no file holds, as Linux tells."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def anonymous_peak_of(work: Callable[[], object]) -> int:
    """Most of these, beside those before, while something is done."""
    before = most = anonymous()
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.001):
            most = max(most, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return most - before
