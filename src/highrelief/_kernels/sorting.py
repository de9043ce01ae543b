"""Sorting networks for LANES columns at once, and vector steps over (n, LANES) arrays.

Each row of the array contains one key of each of :data:`LANES` columns and is one vector: two rows are
compared by a minimum and a maximum. Batcher's bitonic network merges two sorted halves by comparing the first
row with the last, the second with the last but one, …, then rows half as far apart, a quarter as far, …
(Batcher, "Sorting networks and their applications", 1968). Rows beyond the last count as infinite.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import intrinsic, maximum, minimum
from .jit import kernel, wide_vectors
from .simd import SETTING, element_type, load, row_pointer, splat, store

#: Columns per array.
LANES = 16
#: Rows that are sorted in registers; the length of arrays is a multiple of it.
GROUP = 8
#: Rows per block, so that they stay in the L1 cache while they are sorted.
_ROWS_AT_ONCE = 256

#: Comparators: a network that sorts eight rows; the last three steps of a merge, on eight rows; two steps of
#: a merge on four rows; and its first two steps, which compare rows at equal distances from both ends.
_SORT = (
    *((0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3), (4, 5), (6, 7)),
    *((2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6)),
)
_MERGE = ((0, 4), (1, 5), (2, 6), (3, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 1), (2, 3), (4, 5), (6, 7))
_HALVE_TWICE = ((0, 2), (1, 3), (0, 1), (2, 3))
_FOLD_AND_HALVE = ((0, 3), (1, 2), (0, 1), (2, 3))


def _emit(context, builder, signature, arguments, comparisons):
    keys = context.make_array(signature.args[0])(context, builder, arguments[0])
    vector = ir.VectorType(ir.IntType(32), LANES)
    zero = ir.IntType(64)(0)
    places = [row_pointer(builder, keys, row, zero) for row in arguments[1:]]
    rows = [load(builder, place, vector) for place in places]
    for a, b in comparisons:
        less = builder.icmp_unsigned("<", rows[a], rows[b])
        rows[a], rows[b] = builder.select(less, rows[a], rows[b]), builder.select(less, rows[b], rows[a])
    for row, place in zip(rows, places, strict=True):
        store(builder, row, place)
    return context.get_dummy_value()


@intrinsic
def _compare(typing_context, keys, a, b):
    def emit(context, builder, signature, arguments):
        return _emit(context, builder, signature, arguments, [(0, 1)])

    return types.void(keys, types.intp, types.intp), emit


def _network_on_four(comparisons):
    @intrinsic
    def on_four(typing_context, keys, a, b, c, d):
        def emit(context, builder, signature, arguments):
            return _emit(context, builder, signature, arguments, comparisons)

        return types.void(keys, *[types.intp] * 4), emit

    return on_four


def _network_on_eight(comparisons):
    @intrinsic
    def on_eight(typing_context, keys, a):
        def emit(context, builder, signature, arguments):
            rows = [builder.add(arguments[1], ir.IntType(64)(n)) for n in range(GROUP)]
            return _emit(context, builder, signature, [arguments[0], *rows], comparisons)

        return types.void(keys, types.intp), emit

    return on_eight


# Fallbacks for HIGHRELIEF_VECTORS=off, vectorized by LLVM


@kernel
def _plain_compare(keys, a, b):
    for q in range(LANES):
        first, second = keys[a, q], keys[b, q]
        keys[a, q], keys[b, q] = minimum(first, second), maximum(first, second)


@kernel
def _plain_halve_twice(keys, a, b, c, d):
    _plain_compare(keys, a, c)
    _plain_compare(keys, b, d)
    _plain_compare(keys, a, b)
    _plain_compare(keys, c, d)


@kernel
def _plain_fold_and_halve(keys, a, b, c, d):
    _plain_compare(keys, a, d)
    _plain_compare(keys, b, c)
    _plain_compare(keys, a, b)
    _plain_compare(keys, c, d)


@kernel
def _plain_sort_eight(keys, a):
    for end in range(a + 1, a + GROUP):
        for b in range(end, a, -1):
            _plain_compare(keys, b - 1, b)


@kernel
def _plain_merge_eight(keys, a):
    for b in range(a, a + 4):
        _plain_compare(keys, b, b + 4)
    for b in (a, a + 4):
        _plain_halve_twice(keys, b, b + 1, b + 2, b + 3)


if SETTING == "off":
    _compare, _halve_twice, _fold_and_halve = _plain_compare, _plain_halve_twice, _plain_fold_and_halve
    _sort_eight, _merge_eight = _plain_sort_eight, _plain_merge_eight
else:
    _halve_twice, _fold_and_halve = _network_on_four(_HALVE_TWICE), _network_on_four(_FOLD_AND_HALVE)
    _sort_eight, _merge_eight = _network_on_eight(_SORT), _network_on_eight(_MERGE)


@kernel
def _begin_merge(keys, start, half, stop):
    """Begin to merge two halves: compare the first row with the last, …, then rows half as far apart."""
    quarter = half // 2
    for t in range(quarter):
        a, b = start + t, start + quarter + t
        c, d = start + half + quarter - 1 - t, start + 2 * half - 1 - t
        if d < stop:
            _fold_and_halve(keys, a, b, c, d)
            continue
        if c < stop:
            _compare(keys, b, c)
        _compare(keys, a, b)


@kernel
def _compare_at(keys, start, stop, stride):
    """Compare rows at the distance ``stride``."""
    for first in range(start, stop, 2 * stride):
        for a in range(first, minimum(first + stride, stop - stride)):
            _compare(keys, a, a + stride)


@kernel
def _compare_at_twice(keys, start, stop, stride):
    """Compare rows at twice the distance ``stride``, then at ``stride``."""
    for first in range(start, stop, 4 * stride):
        for a in range(first, minimum(first + stride, stop)):
            b, c, d = a + stride, a + 2 * stride, a + 3 * stride
            if d < stop:
                _halve_twice(keys, a, b, c, d)
                continue
            if c < stop:
                _compare(keys, a, c)
            if b < stop:
                _compare(keys, a, b)


@kernel
def _merge(keys, start, stop, half):
    """Merge rows start … stop, sorted in runs of ``half`` rows, two runs at a time."""
    wide_vectors()
    for first in range(start, stop - half, 2 * half):
        _begin_merge(keys, first, half, stop)
    stride = half // 4
    while stride >= 2 * GROUP:
        _compare_at_twice(keys, start, stop, stride // 2)
        stride //= 4
    if stride == GROUP:
        _compare_at(keys, start, stop, GROUP)
    for first in range(start, stop, GROUP):
        _merge_eight(keys, first)


@kernel
def sort_columns(keys):
    """Sort the columns of an (n, LANES) array of uint32; n is a multiple of GROUP."""
    wide_vectors()
    n = keys.shape[0]
    for start in range(0, n, _ROWS_AT_ONCE):
        stop = minimum(start + _ROWS_AT_ONCE, n)
        for first in range(start, stop, GROUP):
            _sort_eight(keys, first)
        half = GROUP
        while half < minimum(_ROWS_AT_ONCE, stop - start):
            _merge(keys, start, stop, half)
            half *= 2
    half = _ROWS_AT_ONCE
    while half < n:
        _merge(keys, 0, n, half)
        half *= 2


# Steps over the rows of (n, LANES) arrays, one vector per row, with sums in registers.
#
# LLVM on its own writes sums to memory after each row, and checks that arrays do not overlap.

_INDEX = ir.IntType(64)
_FIRST = _INDEX(0)
_KEYS = ir.VectorType(ir.IntType(32), LANES)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)


class _Lanes:
    """Array whose rows begin with LANES elements of one type."""

    def __init__(self, context, builder, array_type, value):
        self._builder = builder
        self._array = context.make_array(array_type)(context, builder, value)
        self._has_rows = array_type.ndim == 2
        is_integer = isinstance(array_type.dtype, types.Integer)
        self.vector = _KEYS if is_integer else ir.VectorType(element_type(array_type.dtype), LANES)
        self.n = cgutils.unpack_tuple(builder, self._array.shape, array_type.ndim)[0]

    def _at(self, row, column):
        if not self._has_rows:
            return self._builder.gep(self._array.data, [_INDEX(0)])
        return row_pointer(self._builder, self._array, row, column)

    def load(self, row=_FIRST, column=_FIRST):
        return load(self._builder, self._at(row, column), self.vector)

    def load_doubles(self, row=_FIRST):
        values = self.load(row)
        return values if self.vector == _DOUBLES else self._builder.fpext(values, _DOUBLES)

    def store(self, value, row=_FIRST):
        store(self._builder, value, self._at(row, _INDEX(0)))

    def store_doubles(self, value, row=_FIRST):
        self.store(value if self.vector == _DOUBLES else self._builder.fptrunc(value, self.vector), row)


def _arrays(context, builder, signature, arguments):
    """Wrap the arrays among the arguments; other arguments are unchanged."""
    pairs = list(zip(signature.args, arguments, strict=True))
    return [_Lanes(context, builder, t, v) if isinstance(t, types.Array) else v for t, v in pairs]


def _register(builder, value):
    """Allocate a variable that LLVM promotes to a register, and initialize it."""
    place = cgutils.alloca_once(builder, value.type)
    builder.store(value, place)
    return place


def _rows_of(builder, array, first=0):
    return cgutils.for_range_slice(builder, _INDEX(first), array.n, _INDEX(1), intp=_INDEX)


@intrinsic
def _offset_columns(typing_context, X, column, low, block, largest, total):
    def emit(context, builder, signature, arguments):
        X, column, low, block, largest, total = _arrays(context, builder, signature, arguments)
        least = low.load()
        most = _register(builder, ir.Constant(block.vector, None))
        added = _register(builder, ir.Constant(_DOUBLES, None))
        with _rows_of(builder, block) as (i, _):
            values = builder.fsub(X.load(i, column), least)
            block.store(values, i)
            before = builder.load(most)
            more = builder.fcmp_ordered(">", values, before)
            builder.store(builder.select(more, values, before), most)
            doubles = values if block.vector == _DOUBLES else builder.fpext(values, _DOUBLES)
            builder.store(builder.fadd(builder.load(added), doubles), added)
        largest.store(builder.load(most))
        total.store(builder.load(added))
        return context.get_dummy_value()

    return types.void(X, types.intp, low, block, largest, total), emit


@intrinsic
def _write_keys(typing_context, block, per_cell, shift, keys):
    def emit(context, builder, signature, arguments):
        block, per_cell, shift, keys = _arrays(context, builder, signature, arguments)
        factors = per_cell.load()
        number = ir.IntType(32)
        shifts = splat(builder, builder.trunc(shift, number), _KEYS)
        with _rows_of(builder, block) as (i, _):
            cells = builder.fptosi(builder.fmul(block.load(i), factors), _KEYS)
            sample = splat(builder, builder.trunc(i, number), _KEYS)
            keys.store(builder.or_(builder.shl(cells, shifts), sample), i)
        return context.get_dummy_value()

    return types.void(block, per_cell, types.intp, keys), emit


@intrinsic
def _unsorted_columns(typing_context, ordered):
    def emit(context, builder, signature, arguments):
        (ordered,) = _arrays(context, builder, signature, arguments)
        previous = _register(builder, ordered.load())
        bits = _register(builder, ir.Constant(ir.VectorType(ir.IntType(1), LANES), None))
        with _rows_of(builder, ordered, 1) as (u, _):
            values = ordered.load(u)
            falls = builder.fcmp_ordered("<", values, builder.load(previous))
            builder.store(builder.or_(builder.load(bits), falls), bits)
            builder.store(values, previous)
        return builder.zext(builder.bitcast(builder.load(bits), ir.IntType(LANES)), _INDEX)

    return types.uint64(ordered), emit


@intrinsic
def _turn_into_excess(typing_context, ordered, weights, n_observed, per_weight, total_weight, total, minima):
    def emit(context, builder, signature, arguments):
        ordered, weights, n_observed, per_weight, total_weight, total, minima = _arrays(
            context, builder, signature, arguments
        )
        zero = ir.Constant(_DOUBLES, None)
        observed, factor, sums = n_observed.load(), per_weight.load(), total.load()
        below, added, above = (
            _register(builder, zero),
            _register(builder, zero),
            _register(builder, total_weight.load()),
        )
        unweighted = builder.icmp_signed("==", weights.n, _INDEX(1))
        step = builder.select(unweighted, _INDEX(0), _INDEX(1))
        with _rows_of(builder, ordered) as (u, _):
            value = ordered.load_doubles(u)
            place = splat(builder, builder.sitofp(u, ir.DoubleType()), _DOUBLES)
            is_observed = builder.fcmp_ordered("<", place, observed)
            c = builder.select(is_observed, weights.load(builder.mul(u, step)), zero)
            least = builder.fadd(builder.load(below), builder.fmul(value, builder.load(above)))
            builder.store(builder.fadd(builder.load(below), builder.fmul(c, value)), below)
            builder.store(builder.fadd(builder.load(added), builder.fmul(c, least)), added)
            builder.store(builder.fsub(builder.load(above), c), above)
            twice = builder.fadd(least, least)
            ordered.store_doubles(builder.fmul(builder.fsub(sums, twice), factor), u)
        minima.store(builder.load(added))
        return context.get_dummy_value()

    return types.void(ordered, weights, n_observed, per_weight, total_weight, total, minima), emit


# Fallbacks for HIGHRELIEF_VECTORS=off, vectorized by LLVM


@kernel
def _plain_offset_columns(X, column, low, block, largest, total):
    for q in range(LANES):
        largest[q] = total[q] = 0
    for i in range(block.shape[0]):
        for q in range(LANES):
            value = X[i, column + q] - low[q]
            block[i, q] = value
            largest[q] = maximum(largest[q], value)
            total[q] += np.float64(value)


@kernel
def _plain_write_keys(block, per_cell, shift, keys):
    for i in range(block.shape[0]):
        for q in range(LANES):
            keys[i, q] = np.uint32(np.int32(block[i, q] * per_cell[q])) << np.uint32(shift) | np.uint32(i)


@kernel
def _plain_unsorted_columns(ordered):
    bits = np.uint64(0)
    for u in range(1, ordered.shape[0]):
        for q in range(LANES):
            if ordered[u, q] < ordered[u - 1, q]:
                bits |= np.uint64(1) << np.uint64(q)
    return bits


@kernel
def _plain_turn_into_excess(ordered, weights, n_observed, per_weight, total_weight, total, minima):
    for q in range(LANES):
        below, added, above = 0.0, 0.0, total_weight[q]
        for u in range(ordered.shape[0]):
            c = weights[u if weights.shape[0] > 1 else 0, q] if u < n_observed[q] else 0.0
            value = np.float64(ordered[u, q])
            least = below + value * above
            below += c * value
            added += c * least
            above -= c
            ordered[u, q] = (total[q] - 2.0 * least) * per_weight[q]
        minima[q] = added


_plain = SETTING == "off"
#: offset_columns(X, column, low, block, largest, total) writes LANES columns of X from ``column`` on, minus
#: ``low``, to ``block``, and their maxima and sums; all values are ≥ 0.
offset_columns = _plain_offset_columns if _plain else _offset_columns
#: write_keys(block, per_cell, shift, keys) writes ⌊value·per_cell⌋·2^shift + row.
write_keys = _plain_write_keys if _plain else _write_keys
#: unsorted_columns(ordered) returns a bit mask of the columns that are not ascending.
unsorted_columns = _plain_unsorted_columns if _plain else _unsorted_columns
#: turn_into_excess(ordered, weights, n_observed, per_weight, total_weight, total, minima) replaces sorted
#: values x by the excess (total − 2·M(x))·per_weight, with M(x) = Σ c·min(x, v) over the first
#: ``n_observed``, and writes Σ c·M to ``minima``. ``weights`` are the weights c of the values, or (1, LANES)
#: ones.
turn_into_excess = _plain_turn_into_excess if _plain else _turn_into_excess
