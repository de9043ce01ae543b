"""Numba intrinsics, and their Python fallbacks for ``NUMBA_DISABLE_JIT``.

Intrinsics emit LLVM instructions, which Python cannot run. Vector code has scalar fallbacks next to it, which
``HIGHRELIEF_VECTORS=off`` selects as well; the fallbacks of all other intrinsics are defined here.
"""

from typing import Any

import numpy as np
from numba import extending
from numba.core import config

#: Whether kernels are compiled; otherwise they run as Python.
COMPILED = not getattr(config, "DISABLE_JIT", 0)


def _bits(flags):
    return np.uint64(sum(1 << place for place, flag in enumerate(flags) if flag))


_PYTHON_FALLBACKS: dict[str, Any] = {
    # Compiler and cache hints.
    "wide_vectors": lambda: None,
    "never_nan": lambda: None,
    "prefetch": lambda array, place: None,
    "prefetch_rows": lambda X, i, k0, k1, part: None,
    # Bit casts.
    "float32_from_bits": lambda bits: np.int32(bits).view(np.float32),
    "float64_from_bits": lambda bits: np.int64(bits).view(np.float64),
    "bits_from_float32": lambda value: np.float32(value).view(np.int32),
    # Masks of 64 elements as the bits of an integer.
    "at_most_bits": lambda D, row, column, threshold: _bits(D[row, column : column + 64] <= threshold),
    "above_bits": lambda X, row, column, low, at: _bits(X[row, column : column + 64] > low[at : at + 64]),
    "nan_bits": lambda X, row, column: _bits(np.isnan(X[row, column : column + 64])),
    "count_bits": lambda bits: int(bits).bit_count(),
    "lowest_bit": lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
    # Number of lanes of a 64-byte vector; a multiply-add that rounds twice.
    "lanes_of": lambda X: 64 // X.itemsize,
    "_multiply_add": lambda a, b, c: a * b + c,
}


def intrinsic(function: Any) -> Any:
    """Return Numba's intrinsic, or its Python fallback; vector code has its fallback elsewhere."""
    return extending.intrinsic(function) if COMPILED else _PYTHON_FALLBACKS.get(function.__name__, function)
