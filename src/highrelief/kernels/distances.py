"""Tiles of pairwise distances.

Manhattan tiles use |a − b| = a + b − 2·min(a, b): the sums of a and of b belong to the rows, so that
a pair costs one minimum and one addition per feature. The row sums are made by the same additions in
the same order, hence two equal rows are at distance 0 exactly.

Within a block of :data:`FEATURES_PER_SUM` features a sum runs in the precision of the data; blocks are
added up in float64. :func:`relative_error` bounds what that can cost.
"""

import math

import numpy as np

from .jit import kernel, summing_kernel, wide_vectors
from .packing import ROW_BLOCK

#: Rows of a tile.
TILE = 64
#: Features summed in the precision of the data before the sum goes to float64.
FEATURES_PER_SUM = 512

#: Metrics, as the kernels know them.
MANHATTAN, SQUARED_EUCLIDEAN, EUCLIDEAN = 0, 1, 2


def relative_error(dtype):
    """Bound the error of a block's sum, relative to the sum: additions in a chain × unit roundoff.

    Every machine that Numba knows has vectors of at least 16 bytes, which split a sum into chains.
    """
    dtype = np.dtype(dtype)
    chains = 16 // dtype.itemsize
    return (FEATURES_PER_SUM / chains + 8) * np.finfo(dtype).eps / 2


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


@summing_kernel
def _add_minimum_sums(A, i, B, j, k0, k1, unit, T, p, q):
    """Add Σ_k min(a_ik, b_jk), k0 ≤ k < k1, for 4 × 4 pairs of rows to T[p:p+4, q:q+4].

    ``unit`` holds a 1 that the compiler cannot see: times it, the additions become fused multiply-adds, which
    give the same sums. On AMD's Zen 4, minima and additions wait for the same units and multiply-adds do not;
    that is worth a factor of 1.6. Elsewhere it costs nothing.
    """
    wide_vectors()
    # Slices first: an index with an unknown start would be checked for wrapping around and compile to
    # gathers, five times slower.
    a0 = A[i, k0:k1]
    a1 = A[i + 1, k0:k1]
    a2 = A[i + 2, k0:k1]
    a3 = A[i + 3, k0:k1]
    b0 = B[j, k0:k1]
    b1 = B[j + 1, k0:k1]
    b2 = B[j + 2, k0:k1]
    b3 = B[j + 3, k0:k1]
    zero = A.dtype.type(0)
    one = unit[0]
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    for k in range(a0.shape[0]):
        u0, u1, u2, u3 = a0[k], a1[k], a2[k], a3[k]
        v = b0[k]
        s00 += one * (u0 if u0 < v else v)
        s10 += one * (u1 if u1 < v else v)
        s20 += one * (u2 if u2 < v else v)
        s30 += one * (u3 if u3 < v else v)
        v = b1[k]
        s01 += one * (u0 if u0 < v else v)
        s11 += one * (u1 if u1 < v else v)
        s21 += one * (u2 if u2 < v else v)
        s31 += one * (u3 if u3 < v else v)
        v = b2[k]
        s02 += one * (u0 if u0 < v else v)
        s12 += one * (u1 if u1 < v else v)
        s22 += one * (u2 if u2 < v else v)
        s32 += one * (u3 if u3 < v else v)
        v = b3[k]
        s03 += one * (u0 if u0 < v else v)
        s13 += one * (u1 if u1 < v else v)
        s23 += one * (u2 if u2 < v else v)
        s33 += one * (u3 if u3 < v else v)
    T[p, q] += s00
    T[p, q + 1] += s01
    T[p, q + 2] += s02
    T[p, q + 3] += s03
    T[p + 1, q] += s10
    T[p + 1, q + 1] += s11
    T[p + 1, q + 2] += s12
    T[p + 1, q + 3] += s13
    T[p + 2, q] += s20
    T[p + 2, q + 1] += s21
    T[p + 2, q + 2] += s22
    T[p + 2, q + 3] += s23
    T[p + 3, q] += s30
    T[p + 3, q + 1] += s31
    T[p + 3, q + 2] += s32
    T[p + 3, q + 3] += s33


@summing_kernel
def _add_squared_sums(A, i, B, j, k0, k1, T, p, q):
    """Add Σ_k (a_ik − b_jk)², k0 ≤ k < k1, for 4 × 1 pairs of rows to T[p:p+4, q]."""
    wide_vectors()
    a0 = A[i, k0:k1]
    a1 = A[i + 1, k0:k1]
    a2 = A[i + 2, k0:k1]
    a3 = A[i + 3, k0:k1]
    b = B[j, k0:k1]
    zero = A.dtype.type(0)
    s0 = s1 = s2 = s3 = zero
    for k in range(b.shape[0]):
        v = b[k]
        t0 = a0[k] - v
        t1 = a1[k] - v
        t2 = a2[k] - v
        t3 = a3[k] - v
        s0 += t0 * t0
        s1 += t1 * t1
        s2 += t2 * t2
        s3 += t3 * t3
    T[p, q] += s0
    T[p + 1, q] += s1
    T[p + 2, q] += s2
    T[p + 3, q] += s3


@kernel
def row_sums(X, out):
    """Sum every row by the additions that the tiles make, so that equal rows cancel exactly."""
    T = np.zeros((ROW_BLOCK, ROW_BLOCK))
    unit = np.ones(1, X.dtype)
    for i in range(0, X.shape[0], ROW_BLOCK):
        T[:] = 0.0
        for k0 in range(0, X.shape[1], FEATURES_PER_SUM):
            _add_minimum_sums(X, i, X, i, k0, min(k0 + FEATURES_PER_SUM, X.shape[1]), unit, T, 0, 0)
        for r in range(ROW_BLOCK):
            out[i + r] = T[r, r]


@kernel
def distance_block(A, a_sums, i0, i1, B, b_sums, j0, j1, metric, upper_only, T):
    """Fill T[:i1−i0, :j1−j0] with the distances of rows i0 … i1 of A to rows j0 … j1 of B.

    Squared Euclidean distances stand for both Euclidean metrics. ``upper_only`` leaves out the blocks
    below the diagonal of a square tile.
    """
    unit = np.ones(1, A.dtype)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            T[p, q] = 0.0
    for k0 in range(0, A.shape[1], FEATURES_PER_SUM):
        k1 = min(k0 + FEATURES_PER_SUM, A.shape[1])
        for i in range(i0, i1, ROW_BLOCK):
            start = j0 + (i - i0) if upper_only else j0
            if metric == MANHATTAN:
                for j in range(start, j1, ROW_BLOCK):
                    _add_minimum_sums(A, i, B, j, k0, k1, unit, T, i - i0, j - j0)
            else:
                for j in range(start, j1):
                    _add_squared_sums(A, i, B, j, k0, k1, T, i - i0, j - j0)
    if metric == MANHATTAN:
        for p in range(i1 - i0):
            for q in range(j1 - j0):
                # Rounding can leave −ε for rows that are nearly equal.
                d = (a_sums[i0 + p] + b_sums[j0 + q]) - 2.0 * T[p, q]
                T[p, q] = d if d > 0.0 else 0.0


@kernel
def distance_tile(X, sums, i0, i1, j0, j1, metric, T):
    """Fill T with the distances of rows i0 … i1 to rows j0 … j1; a tile on the diagonal is mirrored."""
    distance_block(X, sums, i0, i1, X, sums, j0, j1, metric, i0 == j0, T)
    if i0 == j0:
        for p in range(i1 - i0):
            for q in range(p):
                T[p, q] = T[q, p]


@summing_kernel
def _manhattan(a, b):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        total += abs(np.float64(a[k]) - np.float64(b[k]))
    return total


@summing_kernel
def _squared_euclidean(a, b):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        t = np.float64(a[k]) - np.float64(b[k])
        total += t * t
    return total


@kernel
def exact_distance(a, b, metric):
    """Distance of two rows by the definition, difference by difference, in float64."""
    if metric == MANHATTAN:
        return _manhattan(a, b)
    d = _squared_euclidean(a, b)
    return d if metric == SQUARED_EUCLIDEAN else np.sqrt(d)
