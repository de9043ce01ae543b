"""Sums of listed rows of an array, kept in registers from the first row to the last.

Left to itself, LLVM writes the sum to memory after each row, which takes three times as long.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import intrinsic
from .jit import kernel, wide_vectors
from .simd import SETTING, element_type, fused, load, row_pointer, store, target_vector_bytes

#: Length of the rows.
WIDTH = 64


_INDEX, _LANE = ir.IntType(64), ir.IntType(32)


def _vector(dtype):
    """LLVM's type of a vector of numbers, as wide as the machine has it, and how many it holds."""
    size = max(target_vector_bytes(), 16) // (4 if dtype == types.float32 else 8)
    return ir.VectorType(element_type(dtype), size), size


def _array(context, builder, signature, arguments, n):
    return context.make_array(signature.args[n])(context, builder, arguments[n])


def _sums(context, builder, signature, arguments):
    """The vectors of the sum of rows, of those that the first four arguments name."""
    source, which = (_array(context, builder, signature, arguments, n) for n in (0, 1))
    vector, size = _vector(signature.args[0].dtype)
    totals = [cgutils.alloca_once(builder, vector) for _ in range(WIDTH // size)]
    for total in totals:
        builder.store(ir.Constant(vector, None), total)
    with cgutils.for_range_slice(builder, *arguments[2:4], _INDEX(1), intp=_INDEX) as (t, _):
        place = builder.load(builder.gep(which.data, [t]))
        first = row_pointer(builder, source, place, _INDEX(0))
        for n, total in enumerate(totals):
            values = load(builder, first, vector, _INDEX(n * size))
            builder.store(builder.fadd(builder.load(total), values), total)
    return [builder.load(total) for total in totals]


def _emit_sum(context, builder, signature, arguments):
    out = _array(context, builder, signature, arguments, 4)
    target = row_pointer(builder, out, arguments[5], _INDEX(0))
    for n, total in enumerate(_sums(context, builder, signature, arguments)):
        store(builder, total, builder.gep(target, [_INDEX(n * total.type.count)]))
    return context.get_dummy_value()


def _emit_product(context, builder, signature, arguments):
    totals = _sums(context, builder, signature, arguments)
    other = _array(context, builder, signature, arguments, 4)
    first = row_pointer(builder, other, arguments[5], _INDEX(0))
    vector = totals[0].type
    doubles = ir.VectorType(ir.DoubleType(), vector.count)
    added = ir.Constant(doubles, None)
    for n, total in enumerate(totals):
        pair = total, load(builder, first, vector, _INDEX(n * vector.count))
        if vector != doubles:
            pair = tuple(builder.fpext(values, doubles) for values in pair)
        added = fused(builder, *pair, added)
    return _sum_of_lanes(builder, added)


def _sum_of_lanes(builder, values):
    """Add one half of a vector to the other until one number is left."""
    while values.type.count > 1:
        half = values.type.count // 2
        low, high = (
            builder.shuffle_vector(values, values, ir.Constant(ir.VectorType(_LANE, half), list(lanes)))
            for lanes in (range(half), range(half, 2 * half))
        )
        values = builder.fadd(low, high)
    return builder.extract_element(values, _LANE(0))


@intrinsic
def _sum_rows(typing_context, source, which, t0, t1, out, row):
    def emit(context, builder, signature, arguments):
        return _emit_sum(context, builder, signature, arguments)

    place = types.intp
    return types.void(source, which, place, place, out, place), emit


@intrinsic
def _product_with_sum(typing_context, source, which, t0, t1, other, row):
    def emit(context, builder, signature, arguments):
        return _emit_product(context, builder, signature, arguments)

    place = types.intp
    return types.float64(source, which, place, place, other, place), emit


# The same for LLVM to vectorise


@kernel
def _add_row(values, out):
    wide_vectors()
    for q in range(WIDTH):
        out[q] += values[q]


@kernel
def _plain_sum_rows(source, which, t0, t1, out, row):
    for q in range(WIDTH):
        out[row, q] = 0
    for t in range(t0, t1):
        _add_row(source[which[t]], out[row])


@kernel
def _plain_product_with_sum(source, which, t0, t1, other, row):
    total = np.zeros(WIDTH, source.dtype)
    for t in range(t0, t1):
        _add_row(source[which[t]], total)
    product = 0.0
    for q in range(WIDTH):
        product += np.float64(total[q]) * np.float64(other[row, q])
    return product


_plain = SETTING == "off"
#: sum_rows(source, which, t0, t1, out, row) writes Σ_t source[which[t]], t0 ≤ t < t1, to out[row].
sum_rows = _plain_sum_rows if _plain else _sum_rows
#: product_with_sum(source, which, t0, t1, other, row): Σ_q other[row, q]·(Σ_t source[which[t], q]), the sums
#: of rows in their type, all else in float64.
product_with_sum = _plain_product_with_sum if _plain else _product_with_sum
