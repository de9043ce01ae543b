"""Large arrays in cached memory, and flat lists of different lengths.

The arrays of a fit with missing values are its largest, and live as long as the fit. The system would clear
their pages again for the next fit, which takes up to a quarter of its time. A limited amount is therefore
cached.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import packing
from .limits import limits

#: Bytes of a cache line, to which arrays are aligned.
_LINE = 64

#: Unused memory by its identity, least recently used first. Without a lock: ``__del__`` may run at any line,
#: also of this module, and each operation on a dict is atomic.
_free: dict[int, NDArray[np.uint8]] = {}


class _CachedMemory:
    """Memory of an array, cached again when neither the array nor a view of it is left."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        if _free is None:  # at interpreter shutdown
            return
        _free[id(self._memory)] = self._memory
        _release(cached_bytes() - limits.max_cached_bytes)


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an uninitialized array on a 64-byte boundary, for large arrays that live as long as a fit."""
    dtype = np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes < limits.min_cached_bytes:
        return packing.aligned_empty(shape, dtype)
    memory = np.asarray(_CachedMemory(_take(n_bytes + _LINE)))
    start = -memory.__array_interface__["data"][0] % _LINE
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


def cached_bytes() -> int:
    """Return the number of cached bytes."""
    return sum(memory.nbytes for memory in list(_free.values()))


def _take(n_bytes: int) -> NDArray[np.uint8]:
    """Return memory of at least this size: the smallest cached block that fits, or a new one."""
    fitting = [(memory.nbytes, key) for key, memory in list(_free.items())]
    for size, key in sorted(fitting):
        if n_bytes <= size <= n_bytes / limits.min_reused_share:
            memory = _free.pop(key, None)
            if memory is not None:
                return memory
    return np.empty(n_bytes, np.uint8)


def _release(n_bytes: int) -> None:
    """Release this many cached bytes, least recently used first."""
    for key in list(_free):
        if n_bytes <= 0:
            return
        memory = _free.pop(key, None)
        n_bytes -= 0 if memory is None else memory.nbytes


# Lists of different lengths in a flat array


Places = NDArray[np.int64]


def within_lists(count: Places) -> Places:
    """Return the index of every entry within its list, from the lengths of the lists."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)


def list_starts(count: Places) -> Places:
    """Return the first place of every list, from the lengths of the lists, of any shape."""
    return (np.cumsum(count) - count.ravel()).reshape(count.shape)


def entries_of(first: Places, count: Places) -> tuple[Places, Places]:
    """Return the list of every entry, and the place of every entry in the flat array."""
    return np.repeat(np.arange(count.size), count), np.repeat(first, count) + within_lists(count)


def portions(costs: NDArray[Any], most: float) -> list[tuple[int, int]]:
    """Return ranges of a list over which the costs add up to about ``most``."""
    portion = (np.cumsum(costs) // most).astype(np.int64)
    borders = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [costs.size]])
    return [(int(a), int(b)) for a, b in pairwise(borders) if b > a]
