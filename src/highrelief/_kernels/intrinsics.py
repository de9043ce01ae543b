"""Numba intrinsics, and their Python fallbacks for ``NUMBA_DISABLE_JIT``.

Intrinsics emit LLVM instructions, which Python cannot run. Vector code has scalar fallbacks next to it, which
``HIGHRELIEF_VECTORS=off`` selects as well; the fallbacks of all other intrinsics are defined here.
"""

import operator
from typing import Any

import numpy as np
from numba import extending, types
from numba.core import cgutils, config, typing
from numba.np.arrayobj import _empty_nd_impl, _parse_shape

#: Whether kernels are compiled; otherwise they run as Python.
COMPILED = not getattr(config, "DISABLE_JIT", 0)


def _bits(flags):
    return np.uint64(sum(1 << place for place, flag in enumerate(flags) if flag))


_PYTHON_FALLBACKS: dict[str, Any] = {
    # Of Python and NumPy.
    "minimum": min,
    "maximum": max,
    "empty": np.empty,
    "zeros": np.zeros,
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


# Numba compiles min, max, np.empty and np.zeros as functions of their own, once per type, which takes a tenth
# to a fifth of the time of the kernels that use them. Intrinsics are part of the kernel.


def _select(compare, typing_context, a, b):
    """Return the signature and the code of ``b if compare(b, a) else a``."""
    kind = typing_context.unify_types(types.unliteral(a), types.unliteral(b))

    def emit(context, builder, signature, arguments):
        a, b = arguments
        compared = context.get_function(compare, typing.signature(types.boolean, kind, kind))
        return builder.select(compared(builder, (b, a)), b, a)

    return kind(kind, kind), emit


@intrinsic
def minimum(typing_context, a, b):
    """Return the smaller of two numbers; if one is NaN, the first one."""
    return _select(operator.lt, typing_context, a, b)


@intrinsic
def maximum(typing_context, a, b):
    """Return the larger of two numbers; if one is NaN, the first one."""
    return _select(operator.gt, typing_context, a, b)


def _allocate(shape, dtype, cleared):
    """Return the signature and the code of ``np.empty(shape, dtype)`` or, ``cleared``, of ``np.zeros``."""
    shape = types.unliteral(shape)
    n_dimensions = 1 if isinstance(shape, types.Integer) else len(shape)
    array = types.Array(dtype.dtype, n_dimensions, "C")

    def emit(context, builder, signature, arguments):
        sizes = _parse_shape(context, builder, signature.args[0], arguments[0])
        made = _empty_nd_impl(context, builder, array, sizes)
        if cleared:
            cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
        return made._getvalue()

    return array(shape, dtype), emit


@intrinsic
def empty(typing_context, shape, dtype):
    """Return an uninitialized array."""
    return _allocate(shape, dtype, cleared=False)


@intrinsic
def zeros(typing_context, shape, dtype):
    """Return an array of zeros."""
    return _allocate(shape, dtype, cleared=True)
