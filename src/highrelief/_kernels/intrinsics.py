"""Numba's intrinsics, and what stands in for them where ``NUMBA_DISABLE_JIT`` runs kernels as Python.

An intrinsic is written in LLVM's terms, which Python cannot run. Vector code has plain twins beside it, which
``HIGHRELIEF_VECTORS=off`` chooses too; each of the other intrinsics has one here.
"""

from typing import Any

import numpy as np
from numba import extending
from numba.core import config

#: Whether kernels are compiled, or run as Python.
COMPILED = not getattr(config, "DISABLE_JIT", 0)


def _bits(flags):
    return np.uint64(sum(1 << place for place, flag in enumerate(flags) if flag))


_IN_PYTHON: dict[str, Any] = {
    # Hints to the compiler and to the caches.
    "wide_vectors": lambda: None,
    "never_nan": lambda: None,
    "fetch": lambda array, place: None,
    "fetch_rows": lambda X, i, k0, k1, part: None,
    # The same bits as another type.
    "float32_from_bits": lambda bits: np.int32(bits).view(np.float32),
    "float64_from_bits": lambda bits: np.int64(bits).view(np.float64),
    "bits_from_float32": lambda value: np.float32(value).view(np.int32),
    # Sets of 64 as the bits of a number.
    "at_most_bits": lambda D, row, column, threshold: _bits(D[row, column : column + 64] <= threshold),
    "above_bits": lambda X, row, column, low, at: _bits(X[row, column : column + 64] > low[at : at + 64]),
    "nan_bits": lambda X, row, column: _bits(np.isnan(X[row, column : column + 64])),
    "count_bits": lambda bits: int(bits).bit_count(),
    "lowest_bit": lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
    # Sums in as many parts as a vector of 64 bytes has numbers; a product and a sum, rounded twice.
    "lanes_of": lambda X: 64 // X.itemsize,
    "_multiply_add": lambda a, b, c: a * b + c,
}


def intrinsic(function: Any) -> Any:
    """Return Numba's intrinsic, or its twin in Python; vector code, whose twin is elsewhere, as it is."""
    return extending.intrinsic(function) if COMPILED else _IN_PYTHON.get(function.__name__, function)
