"""The layout that the other kernels work on.

Rows are sorted by class and every class is padded to whole blocks of :data:`ROW_BLOCK` rows; features
are padded to whole vectors. Values are distances from one end of their column, hence ≥ 0: differences do not
change, and the identity |a − b| = a + b − 2·min(a, b) loses as few digits as it can.
"""

import numpy as np

from .jit import kernel

#: Rows of a register block: the distance kernels work on 4 × 4 pairs at a time.
ROW_BLOCK = 4
#: Features of the widest vector (16 float32).
FEATURE_BLOCK = 16
#: Position of a padding row in the table: none.
PADDING = -1


def aligned_zeros(shape, dtype):
    """Zeros on a 64-byte boundary: a vector that straddles two cache lines loads at half the speed."""
    dtype = np.dtype(dtype)
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    buffer = np.zeros(n_bytes + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
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
def weigh_columns(packed, columns, weights, weighted):
    """Write the chosen columns times their weights; the columns beyond stay as they are (0)."""
    for p in range(packed.shape[0]):
        row = packed[p]
        out = weighted[p]
        for j in range(columns.shape[0]):
            out[j] = row[columns[j]] * weights[j]


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
