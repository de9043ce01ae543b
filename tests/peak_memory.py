"""How much memory something takes: Python's and NumPy's, as ``tracemalloc`` counts it."""

import tracemalloc
from collections.abc import Callable


def peak_of(work: Callable[[], object]) -> int:
    """Most bytes that there are at a time, beside those before, while something is done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
