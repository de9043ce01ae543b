"""The row layout of the other kernels, column statistics, and quantization.

Rows are sorted by class and every class is padded to whole blocks of :data:`ROW_BLOCK` rows; features are
padded to whole vectors. Values are |x·unit − end|/divisor, distances from one end of their column and hence
≥ 0: differences are unchanged, and |a − b| = a + b − 2·min(a, b) loses as few digits as possible.
"""

import math

import numpy as np

from .intrinsics import empty, minimum
from .jit import kernel, summing_kernel, wide_vectors
from .simd import above_bits

#: Rows of a register block: distance kernels process 4 × 4 pairs at a time.
ROW_BLOCK = 4
#: Features of the widest vector: 16 float32.
FEATURE_BLOCK = 16
#: Position of a padding row in the table.
PADDING = -1


def aligned_zeros(shape, dtype):
    """Return zeros on a 64-byte boundary: vectors that straddle two cache lines load at half the speed."""
    return _aligned(np.zeros, shape, dtype)


def aligned_empty(shape, dtype):
    """Return an uninitialized array on a 64-byte boundary."""
    return _aligned(np.empty, shape, dtype)


def _aligned(make, shape, dtype):
    dtype = np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    buffer = make(n_bytes + 64, dtype=np.uint8)
    # `buffer.ctypes.data` takes as long as a pass over a small table.
    start = -buffer.__array_interface__["data"][0] % 64
    return buffer[start : start + n_bytes].view(dtype).reshape(shape)


def padded_width(n_features, itemsize):
    """Return the padded row length: whole vectors, and no multiple of the page size (shared cache sets)."""
    width = -(-max(n_features, 1) // FEATURE_BLOCK) * FEATURE_BLOCK
    return width + FEATURE_BLOCK if width * itemsize % 4096 == 0 else width


def class_layout(codes, n_classes):
    """Assign packed rows to the rows of the table, class by class.

    Returns
    -------
    position : (n_packed,) int64
        Row of the table at each packed row, or ``PADDING``.
    packed_codes : (n_packed,) int64
        Class of each packed row, padding included.
    """
    counts = np.bincount(codes, minlength=n_classes)
    padded = -(-counts // ROW_BLOCK) * ROW_BLOCK
    position = np.full(padded.sum(), PADDING, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(padded)[:-1]])
    ends = np.cumsum(counts)
    for start, count, end in zip(starts, counts, ends, strict=True):
        position[start : start + count] = order[end - count : end]
    return position, np.repeat(np.arange(n_classes, dtype=np.int64), padded)


@kernel
def _gather(row, columns, out):
    for c in range(columns.shape[0]):
        out[c] = row[columns[c]]


@kernel
def _scale(row, unit, end, divisor, out):
    wide_vectors()
    for c in range(end.shape[0]):
        out[c] = abs(row[c] * unit[c] - end[c]) / divisor[c]


@kernel
def pack_columns(X, columns, position, unit, end, divisor, p0, p1, packed, at):
    """Write the chosen columns of X, scaled, into rows p0 … p1 of the layout, from column ``at`` on.

    Values are |x·unit − end|/divisor, with one unit, end and divisor per chosen column. Padding rows are
    unchanged.
    """
    n = columns.shape[0]
    contiguous = n > 0
    for c in range(1, n):
        contiguous = contiguous and columns[c] == columns[c - 1] + 1
    chosen = empty(n, packed.dtype)
    for p in range(p0, p1):
        if position[p] < 0:
            continue
        row, out = X[position[p]], packed[p, at : at + n]
        if contiguous:
            _scale(row[columns[0] : columns[0] + n], unit, end, divisor, out)
        else:
            _gather(row, columns, chosen)
            _scale(chosen, unit, end, divisor, out)


@kernel
def reorder_columns(packed, places, p0, p1):
    """Move the columns at ``places`` to the front, in this order, in rows p0 … p1."""
    n = places.shape[0]
    row = empty(n, packed.dtype)
    for p in range(p0, p1):
        _gather(packed[p], places, row)
        packed[p, :n] = row


@kernel
def mix_rows(coefficients, packed, mixture):
    """Add Σ_p coefficients[p]·packed[p] to ``mixture``, in float64 and in the order of the rows."""
    for p in range(packed.shape[0]):
        c = coefficients[p]
        if c == 0.0:
            continue
        row = packed[p]
        for j in range(mixture.shape[0]):
            mixture[j] += c * row[j]


@kernel
def add_content(packed, places, frequencies, content):
    """Add Σ x, Σ x² and Σ x·frequency of every row, over the columns at ``places``, in this order."""
    for p in range(packed.shape[0]):
        row = packed[p]
        first, second, third = content[p, 0], content[p, 1], content[p, 2]
        for c in range(places.shape[0]):
            x = np.float64(row[places[c]])
            first += x
            second += x * x
            third += x * frequencies[c]
        content[p, 0], content[p, 1], content[p, 2] = first, second, third


# Column statistics and quantization.
#
# Arrays are C-ordered, float32 or float64; a block of columns is identified by the index of its first column.
# ``position`` maps rows of the layout to rows of the table, −1 for padding.

_COLUMNS_AT_ONCE = 2048
#: Lowest point of the integer grid, an int16.
LOWEST = -32768


@kernel
def _widen(row, low, high, total, largest):
    """Extend column ranges by a row and add it to the totals; return whether all its values are finite."""
    wide_vectors()
    undefined = False
    for k in range(row.shape[0]):
        v = row[k]
        undefined |= not (abs(v) <= largest)
        low[k] = v if v < low[k] else low[k]
        high[k] = v if v > high[k] else high[k]
        total[k] += v
    return not undefined


@kernel
def _widen_by_four(a, b, c, d, low, high, total, largest):
    """Extend column ranges by four rows, in order; return whether all values are finite."""
    wide_vectors()
    undefined = False
    for k in range(low.shape[0]):
        p, q, r, s = a[k], b[k], c[k], d[k]
        undefined |= not (
            (abs(p) <= largest) & (abs(q) <= largest) & (abs(r) <= largest) & (abs(s) <= largest)
        )
        least, most = low[k], high[k]
        least = p if p < least else least
        most = p if p > most else most
        least = q if q < least else least
        most = q if q > most else most
        least = r if r < least else least
        most = r if r > most else most
        low[k] = s if s < least else least
        high[k] = s if s > most else most
        total[k] = total[k] + p + q + r + s
    return not undefined


@kernel
def column_ranges(X, n0, n1, k0, k1, largest, low, high, total):
    """Extend the ranges low … high of columns k0 … k1 by rows n0 … n1, and add these to ``total``.

    Returns False if a value is NaN or its magnitude exceeds ``largest``.
    """
    finite = True
    by_four = n0 + (n1 - n0) // 4 * 4
    for k in range(k0, k1, _COLUMNS_AT_ONCE):
        end = minimum(k + _COLUMNS_AT_ONCE, k1)
        block = slice(k - k0, end - k0)
        low_part, high_part, total_part = low[block], high[block], total[block]
        for i in range(n0, by_four, 4):
            a, b, c, d = X[i, k:end], X[i + 1, k:end], X[i + 2, k:end], X[i + 3, k:end]
            finite &= _widen_by_four(a, b, c, d, low_part, high_part, total_part, largest)
        for i in range(by_four, n1):
            finite &= _widen(X[i, k:end], low_part, high_part, total_part, largest)
    return finite


@kernel
def rarity(low, high, mean, out):
    """Write the distance of each mean to the nearer end of its range, over the range; 0.5 if constant."""
    for k in range(out.shape[0]):
        a, b, m = np.float64(low[k]), np.float64(high[k]), np.float64(mean[k])
        # An overflowed range or mean yields 0 or NaN, as intended.
        out[k] = minimum(m - a, b - m) / (b - a) if b > a else 0.5


@kernel
def _mark_levels(row, low, middle, high, is_other, is_middle):
    wide_vectors()
    for k in range(row.shape[0]):
        v = row[k]
        is_middle[k] |= v == middle[k]
        is_other[k] |= (v != low[k]) & (v != middle[k]) & (v != high[k])


@kernel
def mark_levels(X, n0, n1, first, low, middle, high, is_other, is_middle):
    """Mark columns with a value other than low, middle and high, and those with the middle one."""
    for i in range(n0, n1):
        _mark_levels(X[i, first : first + low.shape[0]], low, middle, high, is_other, is_middle)


@summing_kernel
def _round_row(row, low, per_step, out):
    """Round a row to the integer grid; return the sum of the rounding errors, in steps."""
    wide_vectors()
    moved = row.dtype.type(0)
    for k in range(row.shape[0]):
        t = (row[k] - low[k]) * per_step[k]
        q = np.rint(t)
        moved += abs(t - q)
        out[k] = np.int16(np.int32(q) + LOWEST)
    return moved


@summing_kernel
def _sum_int16(row):
    wide_vectors()
    total = np.int32(0)
    for k in range(row.shape[0]):
        total += row[k]
    return total


@kernel
def round_rows(X, first, position, p0, p1, low, per_step, G, at, sums, moved):
    """Quantize len(low) columns from ``first`` on, for rows p0 … p1, into G from column ``at`` on.

    Adds to ``sums`` the row sums of G (modulo 2³²) and to ``moved`` the total rounding errors of the rows, in
    steps.
    """
    n = low.shape[0]
    for p in range(p0, p1):
        if position[p] < 0:
            continue
        for k in range(0, n, _COLUMNS_AT_ONCE):
            end = minimum(k + _COLUMNS_AT_ONCE, n)
            out = G[p, at + k : at + end]
            moved[p] += _round_row(X[position[p], first + k : first + end], low[k:end], per_step[k:end], out)
            sums[p] += np.uint32(_sum_int16(out))


@kernel
def plane_rows(X, first, position, p0, p1, bounds, P, word):
    """Write bit planes of rows p0 … p1: one bit per column, set above ``bounds``, from ``word`` on."""
    n = bounds.shape[0]
    for p in range(p0, p1):
        i = position[p]
        if i < 0:
            continue
        full = n // 64 * 64
        for k in range(0, full, 64):
            P[p, word + k // 64] = above_bits(X, i, first + k, bounds, k)
        if full < n:
            bits = np.uint64(0)
            for u in range(n - full):
                if X[i, first + full + u] > bounds[full + u]:
                    bits |= np.uint64(1) << np.uint64(u)
            P[p, word + full // 64] = bits
