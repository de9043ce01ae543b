"""What missing values add to distances of all pairs, tile by tile, and to sums over them.

``lacks`` is (start, which, factors, excess), as :mod:`.missing` has them: row a lacks the features
``which[start[a] : start[a + 1]]``, those that have a weight have it in ``factors``, and what |x − x'| is too
small by, where one row lacks feature k and the other is b, is ``excess[b // CHUNK, k, b % CHUNK]``. Where
nothing is missing ``which`` has no entries. A chunk is a tile wide.
"""

import numpy as np

from .distances import TILE, tile_corner
from .exponential import decay
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .missing import CHUNK, _n_not_above


@fused_kernel
def _add_lacks(which, factors, excess, out):
    """Add Σ_k factors[k]·excess[k, q] to out[q], over the features k that a row lacks."""
    wide_vectors()
    for t in range(which.shape[0]):
        k = which[t]
        factor = factors[k]
        if factor != 0:
            for q in range(CHUNK):
                out[q] += factor * excess[k, q]


@kernel
def _none_lacks(start, i0, i1, j0, j1):
    return start[i0] == start[i1] and start[j0] == start[j1]


@kernel
def add_tile_lacks(lacks, i0, i1, j0, j1, F):
    """Add lack(a, b) + lack(b, a) to the distances F of rows a = i0 … i1 and b = j0 … j1."""
    start, which, factors, excess = lacks
    if which.shape[0] == 0 or _none_lacks(start, i0, i1, j0, j1):
        return
    L = np.zeros((2, TILE, TILE), F.dtype)
    for p in range(i1 - i0):
        _add_lacks(which[start[i0 + p] : start[i0 + p + 1]], factors, excess[j0 // CHUNK], L[0, p])
    for q in range(j1 - j0):
        _add_lacks(which[start[j0 + q] : start[j0 + q + 1]], factors, excess[i0 // CHUNK], L[1, q])
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            F[p, q] += L[0, p, q] + L[1, q, p]


@kernel
def add_column_lacks(lacks, anchors, out):
    """Add the same to the distances of all rows to at most 64 of them, with the same bits."""
    start, which, _, excess = lacks
    if which.shape[0] == 0:
        return
    m = anchors.shape[0]
    of_anchors = np.zeros((excess.shape[1], CHUNK), excess.dtype)
    bounds = np.empty((m, 2), np.int64)
    for q in range(m):
        bounds[q, 0] = start[anchors[q]]
        bounds[q, 1] = start[anchors[q] + 1]
        for k in range(excess.shape[1]):
            of_anchors[k, q] = excess[anchors[q] // CHUNK, k, anchors[q] % CHUNK]
    add_block_lacks(lacks, bounds, which, of_anchors, out)


@kernel
def add_block_lacks(lacks, bounds, anchor_which, of_anchors, out):
    """Add the same to the distances of all rows to at most 64 other ones, the anchors.

    Anchor q lacks ``anchor_which[bounds[q, 0] : bounds[q, 1]]``; the excess between a row that lacks feature k
    and anchor q is ``of_anchors[k, q]``.
    """
    start, which, factors, excess = lacks
    n, m = out.shape[0], bounds.shape[0]
    for i0 in range(0, n, CHUNK):
        L = np.zeros((2, CHUNK, CHUNK), out.dtype)
        i1 = min(i0 + CHUNK, n)
        for p in range(i1 - i0):
            _add_lacks(which[start[i0 + p] : start[i0 + p + 1]], factors, of_anchors, L[0, p])
        for q in range(m):
            lacked = anchor_which[bounds[q, 0] : bounds[q, 1]]
            _add_lacks(lacked, factors, excess[i0 // CHUNK], L[1, q])
        for p in range(i1 - i0):
            for q in range(m):
                out[i0 + p, q] += L[0, p, q] + L[1, q, p]


@summing_kernel
def _add_products(which, wanted, coefficients, excess, sums):
    """Add Σ_q coefficients[q]·excess[k, q] to sums[k], for the wanted features k that a row lacks."""
    wide_vectors()
    for t in range(which.shape[0]):
        k = which[t]
        if wanted[k]:
            total = coefficients.dtype.type(0)
            for q in range(CHUNK):
                total += coefficients[q] * excess[k, q]
            sums[k] += total


@kernel
def add_tile_products(lacks, wanted, i0, i1, j0, j1, S, sums):
    """Add Σ S·excess over the pairs of a tile, each of which has its coefficient once, to ``sums``."""
    start, which, _, excess = lacks
    if which.shape[0] == 0 or _none_lacks(start, i0, i1, j0, j1):
        return
    C = np.zeros((2, TILE, TILE), S.dtype)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            C[0, p, q] = S[p, q]
            C[1, q, p] = S[p, q]
    for p in range(i1 - i0):
        _add_products(which[start[i0 + p] : start[i0 + p + 1]], wanted, C[0, p], excess[j0 // CHUNK], sums)
    for q in range(j1 - j0):
        _add_products(which[start[j0 + q] : start[j0 + q + 1]], wanted, C[1, q], excess[i0 // CHUNK], sums)


@kernel
def add_products(lacks, wanted, S, n_rows, t0, t1, sums):
    """Add the same for the tiles t0 … t1 of S."""
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        add_tile_products(lacks, wanted, i0, min(i0 + TILE, n_rows), j0, min(j0 + TILE, n_rows), S[t], sums)


@kernel
def add_margin_lacks(lacks, columns, D, first, codes, weights, per_sigma, nearest, scales, out):
    """Add to margins of single rows what :func:`.soft_margins.margins_from_distances` leaves out.

    ``columns`` has the column of ``out`` that stands for each incomplete feature; all that are lacked have
    one.
    """
    start, which, _, excess = lacks
    n_rows = D.shape[0]
    shares = np.empty(n_rows)
    for q in range(D.shape[1]):
        n = first + q
        for i in range(n_rows):
            c = codes[i]
            shares[i] = weights[i] * scales[c, n] * decay((nearest[c, n] - D[i, q]) * per_sigma)
            if shares[i] != 0:
                for t in range(start[i], start[i + 1]):
                    k = which[t]
                    out[n, columns[k]] += shares[i] * excess[n // CHUNK, k, n % CHUNK]
        for t in range(start[n], start[n + 1]):
            k = which[t]
            total = 0.0
            for i in range(n_rows):
                total += shares[i] * excess[i // CHUNK, k, i % CHUNK]
            out[n, columns[k]] += total


@kernel
def excess_at(points, ordered, shares, out):
    """Fill out[k, q] with E|x − V| − |x| for x = points[k, q], or E|V − V'|/2 where that is NaN.

    V has the values ``ordered[k]``, from the smallest on, each as likely as ``shares[k]`` says; what has no
    share comes last.
    """
    n = ordered.shape[1]
    share = np.zeros(n + 1)
    total = np.zeros(n + 1)
    for k in range(points.shape[0]):
        n_observed = 0
        for u in range(n):
            share[u + 1] = share[u] + shares[k, u]
            total[u + 1] = total[u] + shares[k, u] * ordered[k, u]
            if shares[k, u] > 0.0:
                n_observed = u + 1
        whole, mean = share[n_observed], total[n_observed]
        between = 0.0
        for u in range(n_observed):
            between += shares[k, u] * (ordered[k, u] * (2.0 * share[u] - whole) - 2.0 * total[u] + mean)
        for q in range(points.shape[1]):
            x = points[k, q]
            if np.isnan(x):
                out[k, q] = 0.5 * between
            else:
                u = _n_not_above(ordered[k], n_observed, x)
                out[k, q] = x * (2.0 * share[u] - whole) - 2.0 * total[u] + mean - abs(x)
