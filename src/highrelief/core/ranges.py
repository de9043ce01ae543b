"""Ranges of the columns of a table of any order and type, which is not copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..kernels import columns as kernels
from .threads import even_ranges, run_all

#: Bytes of a block of columns that has to be copied.
BLOCK_BYTES = 2**24
#: Tables with this many times more features than samples are those that passes take little more time for
#: than copies do: up to so many bytes they are copied once, rather than block by block in every pass.
_WIDE, _MOST_COPIED = 10, 8 * 10**7
#: Columns that are copied at a time: all of their rows stay in the cache.
_COPIED_AT_A_TIME = 512
#: Columns of a block that needs no copy.
_WIDEST = 2**16


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Floats that hold all values of a type: float32 for itself and for one-byte numbers."""
    return np.dtype(np.float32) if dtype == np.float32 or dtype.itemsize == 1 else np.dtype(np.float64)


def precise_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Floats in which results keep all their digits: float32 for itself, float64 for all others."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


@dataclass(frozen=True)
class ColumnRanges:
    """Smallest and largest values of the columns, rough means, and whether all values are finite."""

    low: NDArray[np.floating]
    high: NDArray[np.floating]
    mean: NDArray[np.floating]
    finite: bool

    @classmethod
    def of(cls, X: NDArray[Any], n_threads: int = 1) -> Self:
        """Look through a table once."""
        dtype = float_type(X.dtype)
        largest = np.finfo(dtype).max
        n_samples, n_features = X.shape
        low = np.full(n_features, np.inf, dtype)
        high = np.full(n_features, -np.inf, dtype)
        total = np.zeros(n_features, dtype)

        def of_columns(a: int, b: int) -> bool:
            array, first = one_block(X, a, b, dtype)
            of = slice(a, b)
            return bool(
                kernels.column_ranges(
                    array, 0, n_samples, first, first + b - a, largest, low[of], high[of], total[of]
                )
            )

        parts = even_ranges(n_features, max(n_blocks(X), n_threads), multiple=16)
        finite = all(run_all(of_columns, parts, n_threads))
        return cls(low, high, total / dtype.type(n_samples), finite)

    def of_features(self, features: NDArray[np.int64]) -> Self:
        """The same for some of the columns."""
        return type(self)(self.low[features], self.high[features], self.mean[features], self.finite)


def c_ordered(X: NDArray[Any]) -> NDArray[Any]:
    """The same table with its rows one after another, where that saves more time than it takes memory.

    A small table is a single block, which every pass over it would copy. A large one stays as it is.
    """
    n_samples, n_features = X.shape
    most = _MOST_COPIED if n_features >= _WIDE * n_samples else BLOCK_BYTES
    if X.flags.c_contiguous or X.nbytes > most:
        return X
    copy = np.empty(X.shape, X.dtype)
    for start in range(0, n_features, _COPIED_AT_A_TIME):
        part = slice(start, start + _COPIED_AT_A_TIME)
        copy[:, part] = X[:, part]
    return copy


def n_blocks(X: NDArray[Any]) -> int:
    """Into how many blocks the columns are cut."""
    n_samples, n_features = X.shape
    if X.flags.c_contiguous and X.dtype == float_type(X.dtype):
        return max(1, -(-n_features // _WIDEST))
    return max(1, -(-n_features * n_samples * float_type(X.dtype).itemsize // BLOCK_BYTES))


def one_block(X: NDArray[Any], start: int, end: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    """A C-ordered array of floats that holds the columns, and where they begin in it."""
    if X.flags.c_contiguous and X.flags.aligned and X.dtype == dtype:
        return as_kernels_know_it(X), start
    return np.ascontiguousarray(X[:, start:end], dtype=dtype), 0


class _Memory:
    """Memory of an array, without the note that it must not be written to."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def as_kernels_know_it(X: NDArray[Any]) -> NDArray[Any]:
    """The same array for kernels that only read it: Numba would compile all anew for a read-only one."""
    return X if X.flags.writeable else np.asarray(_Memory(X))
