"""Large arrays in memory that is kept for the next ones.

What a fit needs for missing values takes more memory than anything else in it, and lives only as long as the
fit. The system takes such memory back at once, and clears it, page by page, when the next fit asks for it
again: that takes up to a quarter of a fit. A limited part of it is therefore kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import packing

#: Bytes that are kept at most.
MOST_KEPT = 2**25
#: Memory is used again for what takes at least this share of it.
_LEAST_SHARE = 0.5
#: Arrays of fewer bytes come and go without the system.
SMALL = 2**20
#: Arrays begin where cache lines do.
_LINE = 64

#: Memory that is free, by its identity, the longest unused first. Without a lock: a loan may end within any
#: line of Python, also of this module, and each step on a dict is one that no thread sees half done.
_free: dict[int, NDArray[np.uint8]] = {}


class _Loan:
    """Memory behind an array, which is free again when neither it nor a view of it is left."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        if _free is None:  # the interpreter ends, and has taken this module apart
            return
        _free[id(self._memory)] = self._memory
        _let_go(cached_bytes() - MOST_KEPT)


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Room on a 64-byte boundary, with anything in it; for large arrays that live as long as a fit."""
    dtype = np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes < SMALL:
        return packing.aligned_empty(shape, dtype)
    memory = np.asarray(_Loan(_taken(n_bytes + _LINE)))
    start = -memory.__array_interface__["data"][0] % _LINE
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


def cached_bytes() -> int:
    """Bytes that are kept for later arrays."""
    return sum(memory.nbytes for memory in list(_free.values()))


def _taken(n_bytes: int) -> NDArray[np.uint8]:
    """Memory of at least this size: the smallest that is free and not far too large, or new."""
    fitting = [(memory.nbytes, key) for key, memory in list(_free.items())]
    for size, key in sorted(fitting):
        if n_bytes <= size <= n_bytes / _LEAST_SHARE:
            memory = _free.pop(key, None)
            if memory is not None:
                return memory
    return np.empty(n_bytes, np.uint8)


def _let_go(n_bytes: int) -> None:
    """Keep this many bytes less, the longest unused first."""
    for key in list(_free):
        if n_bytes <= 0:
            return
        memory = _free.pop(key, None)
        n_bytes -= 0 if memory is None else memory.nbytes


# Lists of different lengths, one after another in a flat array.


Places = NDArray[np.int64]


def within_lists(count: Places) -> Places:
    """Place of every entry in its own list, from 0 on, given how long the lists are."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)


def entries_of(first: Places, count: Places) -> tuple[Places, Places]:
    """Numbers of lists, each as often as it is long, and the places of their entries in the array."""
    return np.repeat(np.arange(count.size), count), np.repeat(first, count) + within_lists(count)
