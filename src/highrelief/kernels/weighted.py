"""Distances under weights, Σ_k w_k·|a_k − b_k|, without a copy of the rows times their weights.

The weight goes into the multiply-add by which a minimum is added, where :mod:`.distances` has a 1. Sums run
over the first len(w) columns, which are whole vectors, and by the same blocks as there; hence columns may
also come block by block, if all blocks but the last are of whole :func:`columns_per_sum`.
"""

import numpy as np

from .distances import ADDITIONS_PER_LANE, TILE, minima_to_distances, tile_corner
from .jit import kernel, wide_vectors
from .packing import ROW_BLOCK
from .vectors import LANE_BYTES, add_weighted_minimum_sums, fetch_rows, lanes_of


def columns_per_sum(itemsize):
    """Columns that are added up in the precision of the data before their sum goes to float64."""
    return ADDITIONS_PER_LANE * (LANE_BYTES // itemsize)


@kernel
def _add_sums(A, i0, i1, B, j0, j1, k0, k1, w, upper_only, T):
    wide_vectors()
    for i in range(i0, i1, ROW_BLOCK):
        start = j0 + (i - i0) if upper_only else j0
        for j in range(start, j1, ROW_BLOCK):
            if i + 2 * ROW_BLOCK <= A.shape[0]:
                fetch_rows(A, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
            add_weighted_minimum_sums(A, i, B, j, k0, k1, w, T, i - i0, j - j0)


@kernel
def _add_minima(A, i0, i1, B, j0, j1, w, upper_only, T):
    """Add Σ_k w_k·min(a_ik, b_jk) to T[i − i0, j − j0]."""
    features = ADDITIONS_PER_LANE * lanes_of(A)
    for k0 in range(0, w.shape[0], features):
        _add_sums(A, i0, i1, B, j0, j1, k0, min(k0 + features, w.shape[0]), w, upper_only, T)


@kernel
def add_row_sums(X, w, p0, p1, sums):
    """Add the weighted sums of rows p0 … p1 by the additions of the tiles: equal rows cancel exactly."""
    T = np.zeros((ROW_BLOCK, ROW_BLOCK))
    for i in range(p0, p1, ROW_BLOCK):
        for r in range(ROW_BLOCK):
            T[r, r] = sums[i + r]
        _add_minima(X, i, i + ROW_BLOCK, X, i, i + ROW_BLOCK, w, False, T)
        for r in range(ROW_BLOCK):
            sums[i + r] = T[r, r]


@kernel
def add_tile_minima(X, w, t0, t1, M):
    """Add the weighted sums of minima for the pairs of tiles t0 … t1; on the diagonal, the upper half."""
    n = X.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        _add_minima(X, i0, min(i0 + TILE, n), X, j0, min(j0 + TILE, n), w, i0 == j0, M[t])


@kernel
def finish_tile(sums, i0, i1, j0, j1, T):
    """Turn sums of minima into distances; a tile on the diagonal is mirrored."""
    for p in range(i1 - i0):
        minima_to_distances(T[p, : j1 - j0], sums[i0 + p], sums[j0:j1])
    if i0 == j0:
        for p in range(i1 - i0):
            for q in range(p):
                T[p, q] = T[q, p]


@kernel
def weighted_tile(X, w, sums, i0, i1, j0, j1, T):
    """Fill T with the distances of rows i0 … i1 to rows j0 … j1."""
    for p in range(i1 - i0):
        T[p, : j1 - j0] = 0.0
    _add_minima(X, i0, i1, X, j0, j1, w, i0 == j0, T)
    finish_tile(sums, i0, i1, j0, j1, T)


@kernel
def weighted_block(A, a_sums, i0, i1, B, b_sums, w, T):
    """Fill T with the distances of rows i0 … i1 of A to all rows of B."""
    n = B.shape[0]
    for p in range(i1 - i0):
        T[p, :n] = 0.0
    _add_minima(A, i0, i1, B, 0, n, w, False, T)
    for p in range(i1 - i0):
        minima_to_distances(T[p, :n], a_sums[i0 + p], b_sums)
