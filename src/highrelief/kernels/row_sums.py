"""Sums of listed rows of an array, kept in registers from the first row to the last.

Left to itself, LLVM writes the sum to memory after each row, which takes three times as long.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .jit import fused_kernel, kernel, wide_vectors
from .simd import SETTING, element_type, fused, load, row_pointer, splat, store, target_vector_bytes

#: Length of the rows.
WIDTH = 64


_INDEX = ir.IntType(64)


def _vector(dtype):
    """LLVM's type of a vector of numbers, as wide as the machine has it, and how many it holds."""
    size = max(target_vector_bytes(), 16) // (4 if dtype == types.float32 else 8)
    return ir.VectorType(element_type(dtype), size), size


def _emit(context, builder, signature, arguments, weighted):
    source_type, which_type, factors_type, out_type = (signature.args[n] for n in (0, 1, 4, 5))
    source = context.make_array(source_type)(context, builder, arguments[0])
    which = context.make_array(which_type)(context, builder, arguments[1])
    factors = context.make_array(factors_type)(context, builder, arguments[4])
    out = context.make_array(out_type)(context, builder, arguments[5])
    t0, t1, row = arguments[2], arguments[3], arguments[6]
    vector, size = _vector(source_type.dtype)
    index = _INDEX
    totals = [cgutils.alloca_once(builder, vector) for _ in range(WIDTH // size)]
    for total in totals:
        builder.store(ir.Constant(vector, None), total)
    with cgutils.for_range_slice(builder, t0, t1, index(1), intp=index) as (t, _):
        place = builder.load(builder.gep(which.data, [t]))
        first = row_pointer(builder, source, place, index(0))
        factor = (
            splat(builder, builder.load(builder.gep(factors.data, [place])), vector) if weighted else None
        )
        for n, total in enumerate(totals):
            values = load(builder, first, vector, index(n * size))
            before = builder.load(total)
            after = fused(builder, factor, values, before) if weighted else builder.fadd(before, values)
            builder.store(after, total)
    target = row_pointer(builder, out, row, index(0))
    for n, total in enumerate(totals):
        store(builder, builder.load(total), builder.gep(target, [index(n * size)]))
    return context.get_dummy_value()


def _signature(source, which, factors, out):
    place = types.intp
    return types.void(source, which, place, place, factors, out, place)


@intrinsic
def _sum_rows(typing_context, source, which, t0, t1, factors, out, row):
    def emit(context, builder, signature, arguments):
        return _emit(context, builder, signature, arguments, False)

    return _signature(source, which, factors, out), emit


@intrinsic
def _sum_weighted_rows(typing_context, source, which, t0, t1, factors, out, row):
    def emit(context, builder, signature, arguments):
        return _emit(context, builder, signature, arguments, True)

    return _signature(source, which, factors, out), emit


# The same for LLVM to vectorise


@kernel
def _add_row(values, out):
    wide_vectors()
    for q in range(WIDTH):
        out[q] += values[q]


@fused_kernel
def _add_weighted_row(factor, values, out):
    wide_vectors()
    for q in range(WIDTH):
        out[q] += factor * values[q]


@kernel
def _plain_sum_rows(source, which, t0, t1, factors, out, row):
    for q in range(WIDTH):
        out[row, q] = 0
    for t in range(t0, t1):
        _add_row(source[which[t]], out[row])


@kernel
def _plain_sum_weighted_rows(source, which, t0, t1, factors, out, row):
    for q in range(WIDTH):
        out[row, q] = 0
    for t in range(t0, t1):
        _add_weighted_row(factors[which[t]], source[which[t]], out[row])


_plain = SETTING == "off"
#: sum_rows(source, which, t0, t1, factors, out, row) writes Σ_t source[which[t]], t0 ≤ t < t1, to out[row].
sum_rows = _plain_sum_rows if _plain else _sum_rows
#: The same for Σ_t factors[which[t]]·source[which[t]].
sum_weighted_rows = _plain_sum_weighted_rows if _plain else _sum_weighted_rows
