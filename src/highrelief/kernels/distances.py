"""Tiles of pairwise distances.

Manhattan tiles use |a − b| = a + b − 2·min(a, b): the sums of a and of b belong to the rows, so that
a pair costs one minimum and one addition per feature. The row sums are made by the same additions in
the same order, hence two equal rows are at distance 0 exactly.

A sum runs in the precision of the data over the lanes of :mod:`.vectors`, at most
:data:`ADDITIONS_PER_LANE` additions in each, and then goes to float64. :func:`relative_error` bounds what
that can cost.
"""

import math

import numpy as np

from .jit import kernel, wide_vectors
from .packing import ROW_BLOCK
from .vectors import LANE_BYTES, add_minimum_sums, fetch_rows, lanes_of

#: Rows of a tile.
TILE = 64
#: Features that a lane adds up in the precision of the data before the sum goes to float64.
ADDITIONS_PER_LANE = 64


def relative_error(dtype):
    """Bound the error of a block's sum, relative to the sum: roundings on the way of a term × unit roundoff.

    A term is added in its lane, then the lanes are added by halves.
    """
    dtype = np.dtype(dtype)
    halvings = math.log2(LANE_BYTES // dtype.itemsize)
    return (ADDITIONS_PER_LANE + halvings + 4) * np.finfo(dtype).eps / 2


def n_tiles(n_rows):
    """Number of tiles that cover every pair of rows once."""
    blocks = -(-n_rows // TILE)
    return blocks * (blocks + 1) // 2


@kernel
def tile_corner(t):
    """Corner (i, j), i ≤ j, of the t-th tile: column by column, each down to the diagonal."""
    j = np.int64((math.sqrt(8.0 * t + 1.0) - 1.0) / 2.0)
    # The root may be off by one in its last digit.
    while j * (j + 1) // 2 > t:
        j -= 1
    while (j + 1) * (j + 2) // 2 <= t:
        j += 1
    return (t - j * (j + 1) // 2) * TILE, j * TILE


@kernel
def _add_sums(A, i0, i1, B, j0, j1, k0, k1, unit, upper_only, T):
    """Add Σ_k min(a_ik, b_jk), k0 ≤ k < k1, to T[i − i0, j − j0].

    ``unit`` holds a 1 that the compiler cannot see; see :mod:`.vectors`.
    """
    wide_vectors()
    one = unit[0]
    for i in range(i0, i1, ROW_BLOCK):
        start = j0 + (i - i0) if upper_only else j0
        for j in range(start, j1, ROW_BLOCK):
            if i + 2 * ROW_BLOCK <= A.shape[0]:
                fetch_rows(A, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
            add_minimum_sums(A, i, B, j, k0, k1, one, T, i - i0, j - j0)


@kernel
def row_sums(X, out):
    """Sum every row by the additions that the tiles make, so that equal rows cancel exactly."""
    T = np.zeros((ROW_BLOCK, ROW_BLOCK))
    unit = np.ones(1, X.dtype)
    features = ADDITIONS_PER_LANE * lanes_of(X)
    for i in range(0, X.shape[0], ROW_BLOCK):
        T[:] = 0.0
        for k0 in range(0, X.shape[1], features):
            k1 = min(k0 + features, X.shape[1])
            _add_sums(X, i, i + ROW_BLOCK, X, i, i + ROW_BLOCK, k0, k1, unit, False, T)
        for r in range(ROW_BLOCK):
            out[i + r] = T[r, r]


@kernel
def minima_to_distances(row, own_sum, sums):
    """Turn Σ min(a, b), for one a and many b, into Σ |a − b|."""
    wide_vectors()
    for q in range(sums.shape[0]):
        # Rounding can leave −ε for rows that are nearly equal.
        d = (own_sum + sums[q]) - 2.0 * row[q]
        row[q] = d if d > 0.0 else 0.0


@kernel
def distance_block(A, a_sums, i0, i1, B, b_sums, j0, j1, upper_only, T):
    """Fill T[:i1−i0, :j1−j0] with the distances of rows i0 … i1 of A to rows j0 … j1 of B.

    Whole blocks of rows. ``upper_only`` leaves out the blocks below the diagonal of a square tile.
    """
    unit = np.ones(1, A.dtype)
    features = ADDITIONS_PER_LANE * lanes_of(A)
    for p in range(i1 - i0):
        T[p, : j1 - j0] = 0.0
    for k0 in range(0, A.shape[1], features):
        k1 = min(k0 + features, A.shape[1])
        _add_sums(A, i0, i1, B, j0, j1, k0, k1, unit, upper_only, T)
    for p in range(i1 - i0):
        minima_to_distances(T[p, : j1 - j0], a_sums[i0 + p], b_sums[j0:j1])


@kernel
def distance_tile(X, sums, i0, i1, j0, j1, T):
    """Fill T with the distances of rows i0 … i1 to rows j0 … j1; a tile on the diagonal is mirrored."""
    distance_block(X, sums, i0, i1, X, sums, j0, j1, i0 == j0, T)
    if i0 == j0:
        for p in range(i1 - i0):
            for q in range(p):
                T[p, q] = T[q, p]
