"""The layout that the other kernels work on.

Rows are sorted by class and every class is padded to whole blocks of :data:`ROW_BLOCK` rows; features
are padded to whole vectors. Values are distances from one end of their column, hence ≥ 0: differences do not
change, and the identity |a − b| = a + b − 2·min(a, b) loses as few digits as it can.
"""

import math

import numpy as np

from .jit import kernel, wide_vectors

#: Rows of a register block: the distance kernels work on 4 × 4 pairs at a time.
ROW_BLOCK = 4
#: Features of the widest vector (16 float32).
FEATURE_BLOCK = 16
#: Position of a padding row in the table: none.
PADDING = -1


def aligned_zeros(shape, dtype):
    """Zeros on a 64-byte boundary: a vector that straddles two cache lines loads at half the speed."""
    return _aligned(np.zeros, shape, dtype)


def aligned_empty(shape, dtype):
    """Room on a 64-byte boundary, for what is written in full."""
    return _aligned(np.empty, shape, dtype)


def _aligned(make, shape, dtype):
    dtype = np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    buffer = make(n_bytes + 64, dtype=np.uint8)
    # Not `buffer.ctypes.data`, which takes as long as a pass over a small table.
    start = -buffer.__array_interface__["data"][0] % 64
    return buffer[start : start + n_bytes].view(dtype).reshape(shape)


def padded_width(n_features, itemsize):
    """Row length: whole vectors, and not a multiple of the page size (rows would share cache sets)."""
    width = -(-max(n_features, 1) // FEATURE_BLOCK) * FEATURE_BLOCK
    return width + FEATURE_BLOCK if width * itemsize % 4096 == 0 else width


def class_layout(codes, n_classes):
    """Place rows by class.

    Returns
    -------
    position : (n_packed,) int64
        The row of the table that stands at each packed row, or ``PADDING``.
    packed_codes : (n_packed,) int64
        The class of each packed row, padding included.
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

    As |x·unit − end|/divisor, each given for the chosen columns. Padding rows stay as they are.
    """
    n = columns.shape[0]
    side_by_side = n > 0
    for c in range(1, n):
        side_by_side = side_by_side and columns[c] == columns[c - 1] + 1
    chosen = np.empty(n, packed.dtype)
    for p in range(p0, p1):
        if position[p] < 0:
            continue
        row, out = X[position[p]], packed[p, at : at + n]
        if side_by_side:
            _scale(row[columns[0] : columns[0] + n], unit, end, divisor, out)
        else:
            _gather(row, columns, chosen)
            _scale(chosen, unit, end, divisor, out)


@kernel
def reorder_columns(packed, places, p0, p1):
    """Bring the columns at ``places`` to the front, in this order, in rows p0 … p1."""
    n = places.shape[0]
    row = np.empty(n, packed.dtype)
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
