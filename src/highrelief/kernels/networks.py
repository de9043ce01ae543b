"""Columns put in order side by side, by comparisons that do not depend on what is found.

A row of the array holds one key of each of :data:`LANES` columns, and is one vector: two rows are compared by
a minimum and a maximum. Batcher's bitonic network merges two sorted halves by comparing the first row with
the last, the second with the last but one, …, then rows half as far apart, a quarter as far, … (Batcher,
"Sorting networks and their applications", 1968). What lies beyond the last row would be larger than all.
"""

from llvmlite import ir
from numba import types

from .intrinsics import intrinsic
from .jit import kernel, wide_vectors
from .simd import SETTING, load, row_pointer, store

#: Columns side by side.
LANES = 16
#: Rows that are sorted in registers; arrays have a multiple of it.
GROUP = 8
#: Rows that stay in the first cache while they are sorted.
_ROWS_AT_ONCE = 256

#: Comparisons of rows: all that sort eight; those that merge them, of which the lower four and the upper four
#: belong to the one half and the other of a longer merge; two steps of a merge on four rows, and its
#: beginning, where rows are as far from the first as from the last.
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


def _on_four(comparisons):
    @intrinsic
    def on_four(typing_context, keys, a, b, c, d):
        def emit(context, builder, signature, arguments):
            return _emit(context, builder, signature, arguments, comparisons)

        return types.void(keys, *[types.intp] * 4), emit

    return on_four


def _on_eight(comparisons):
    @intrinsic
    def on_eight(typing_context, keys, a):
        def emit(context, builder, signature, arguments):
            rows = [builder.add(arguments[1], ir.IntType(64)(n)) for n in range(GROUP)]
            return _emit(context, builder, signature, [arguments[0], *rows], comparisons)

        return types.void(keys, types.intp), emit

    return on_eight


# The same for LLVM to vectorise


@kernel
def _plain_compare(keys, a, b):
    for q in range(LANES):
        first, second = keys[a, q], keys[b, q]
        keys[a, q], keys[b, q] = min(first, second), max(first, second)


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
    _halve_twice, _fold_and_halve = _on_four(_HALVE_TWICE), _on_four(_FOLD_AND_HALVE)
    _sort_eight, _merge_eight = _on_eight(_SORT), _on_eight(_MERGE)


@kernel
def _fold(keys, start, half, stop):
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
def _halve(keys, start, stop, apart):
    """Compare rows that are ``apart``."""
    for first in range(start, stop, 2 * apart):
        for a in range(first, min(first + apart, stop - apart)):
            _compare(keys, a, a + apart)


@kernel
def _halve_both(keys, start, stop, apart):
    """Compare rows that are twice as far ``apart``, then those that are ``apart``."""
    for first in range(start, stop, 4 * apart):
        for a in range(first, min(first + apart, stop)):
            b, c, d = a + apart, a + 2 * apart, a + 3 * apart
            if d < stop:
                _halve_twice(keys, a, b, c, d)
                continue
            if c < stop:
                _compare(keys, a, c)
            if b < stop:
                _compare(keys, a, b)


@kernel
def _merge(keys, start, stop, half):
    """Merge rows start … stop, sorted in parts of ``half`` rows, two parts at a time."""
    wide_vectors()
    for first in range(start, stop - half, 2 * half):
        _fold(keys, first, half, stop)
    apart = half // 4
    while apart >= 2 * GROUP:
        _halve_both(keys, start, stop, apart // 2)
        apart //= 4
    if apart == GROUP:
        _halve(keys, start, stop, GROUP)
    for first in range(start, stop, GROUP):
        _merge_eight(keys, first)


@kernel
def sort_columns(keys):
    """Sort the columns of an (n, LANES) array of uint32; n is a multiple of GROUP."""
    wide_vectors()
    n = keys.shape[0]
    for start in range(0, n, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, n)
        for first in range(start, stop, GROUP):
            _sort_eight(keys, first)
        half = GROUP
        while half < min(_ROWS_AT_ONCE, stop - start):
            _merge(keys, start, stop, half)
            half *= 2
    half = _ROWS_AT_ONCE
    while half < n:
        _merge(keys, 0, n, half)
        half *= 2
