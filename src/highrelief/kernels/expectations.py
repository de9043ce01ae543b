"""Expected distances in softmax neighbourhoods (Bei and Hong 2015, eqs. 5, 6 and 10).

With ``nearest`` and ``mass`` of :mod:`.soft`, what is missing of an expected distance, and of an entropy, is
the first moment of e = (d − nearest)/σ: ``moment[c, n]`` = Σ_i s_i·exp(−e)·e over the rows i of class c. Then
E[d] = nearest + σ·moment/mass, and the entropy of the softmax is log(mass) + moment/mass.
"""

import numpy as np

from .distances import TILE, tile_corner
from .exponential import decay
from .jit import fused_kernel, kernel, wide_vectors
from .soft import compute_tile, computed_columns, merge_rows


@fused_kernel
def _add_moment_row(row, low, per_sigma, copies, partial):
    wide_vectors()
    most = row.dtype.type(1000)  # beyond, the share is 0, and stays 0 times a finite number
    for q in range(low.shape[0]):
        e = (row[q] - low[q]) * per_sigma
        e = e if e < most else most
        partial[q] += copies * decay(-e) * e


@kernel
def _add_moments(F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, partial, nearest, moment):
    """Add the moments over a tile's rows for the anchors in its columns."""
    p = 0
    while p < n_rows:
        code = codes[i0 + p]
        for q in range(n_columns):
            partial[q] = 0
        while p < n_rows and codes[i0 + p] == code:
            if weights[i0 + p] > 0:
                _add_moment_row(
                    F[p], nearest[code, j0 : j0 + n_columns], per_sigma, weights[i0 + p], partial[:n_columns]
                )
            p += 1
        for q in range(n_columns):
            moment[code, j0 + q] += partial[q]


@kernel
def tile_moments(
    X, w, sums, lacks, D, known, codes, weights, per_sigma, far, batches, within, nearest, t0, t1, moment
):
    """Gather ``moment`` (from 0) over tiles t0 … t1, around ``nearest``, which is that of all tiles.

    Tiles are read from D if they are ``known``, otherwise computed, and stored if D has room for them.
    """
    n = codes.shape[0]
    T = np.empty((TILE, TILE))
    own = np.empty((1, TILE, TILE), X.dtype)
    G = np.empty((TILE, TILE), X.dtype)
    partial = np.empty(TILE, X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        F = D[t] if D.shape[0] > 0 else own[0]
        if not known:
            compute_tile(X, w, sums, lacks, far, batches, within, i0, i1, j0, j1, T, F)
        _add_moments(F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, partial, nearest, moment)
        if i0 != j0:
            for p in range(i1 - i0):
                row = F[p]
                for q in range(j1 - j0):
                    G[q, p] = row[q]
            _add_moments(G, j0, j1 - j0, i0, i1 - i0, codes, weights, per_sigma, partial, nearest, moment)


@kernel
def expected_distances(X, w, sums, codes, weights, Q, query_sums, lacks, per_sigma, far, out):
    """Fill out[c, q] with E[d] between row q of Q, at most 64, and the rows of X that are of class c.

    ``lacks`` is what missing values add to distances, or has no entries.
    """
    n, m = X.shape[0], Q.shape[0]
    D = np.empty((n, m), X.dtype)
    computed_columns(X, w, sums, Q, query_sums, D)
    for i in range(lacks.shape[0]):
        for q in range(m):
            D[i, q] += lacks[i, q]
    nearest = np.full(out.shape, far, X.dtype)
    mass = np.zeros(out.shape)
    moment = np.zeros(out.shape)
    scratch = np.empty((2, m), X.dtype)
    for i0 in range(0, n, TILE):
        n_rows = min(TILE, n - i0)
        merge_rows(D[i0:], i0, n_rows, 0, m, codes, weights, per_sigma, far, scratch, nearest, mass)
    for i0 in range(0, n, TILE):
        n_rows = min(TILE, n - i0)
        _add_moments(D[i0:], i0, n_rows, 0, m, codes, weights, per_sigma, scratch[0], nearest, moment)
    for c in range(out.shape[0]):
        for q in range(m):
            out[c, q] = nearest[c, q] + moment[c, q] / mass[c, q] / per_sigma
