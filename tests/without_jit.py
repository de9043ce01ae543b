"""Kernels as the Python functions that they are written as: a plugin of pytest, for `make coverage-kernels`.

It has to come before the package: ``NUMBA_DISABLE_JIT=1 HIGHRELIEF_VECTORS=off pytest -p without_jit``. What
is written in LLVM's terms cannot run so. Most of it has a plain twin, which ``HIGHRELIEF_VECTORS=off`` takes;
each of the rest stands here in Python.
"""

import os
import sys

import numba.extending
import numpy as np
import pytest

if not os.environ.get("NUMBA_DISABLE_JIT") or os.environ.get("HIGHRELIEF_VECTORS") != "off":
    raise RuntimeError("without_jit needs NUMBA_DISABLE_JIT=1 and HIGHRELIEF_VECTORS=off.")
if "highrelief.kernels" in sys.modules:
    raise RuntimeError("without_jit comes before the package: pytest -p without_jit.")


def _bits(flags):
    return np.uint64(sum(1 << place for place, flag in enumerate(flags) if flag))


IN_PYTHON = {
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


def _in_python(function):
    """Stand in for Numba's decorator."""

    def only_compiled(*arguments):
        raise NotImplementedError(f"{function.__name__} has no twin in Python")

    return IN_PYTHON.get(function.__name__, only_compiled)


numba.extending.intrinsic = _in_python


@pytest.hookimpl(trylast=True)
def pytest_sessionstart():
    """Put what else cannot run in its place: now, as coverage sees from now on what is imported."""
    from highrelief.kernels import exponential, integer_tiles

    def decay(x):
        return exponential._decay(numba.typeof(x))(x)

    def add_minimum_sums(A, i, B, j, *more):
        """The same on wider numbers: Numba's sums of int16 are int64, those of NumPy are not."""
        a, b = (X[first : first + integer_tiles.BLOCK].astype(np.int64) for X, first in ((A, i), (B, j)))
        integer_tiles._minimum_sums_plainly(a, 0, b, 0, *more)

    exponential.decay = decay
    integer_tiles._add_minimum_sums = add_minimum_sums
