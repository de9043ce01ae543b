"""What missing values add to distances of all pairs, tile by tile, and to sums over them.

``lacks`` is (start, which, place, factors, excess). Rows stand in chunks, as long as the tiles are. What the
rows of chunk c lack is listed from ``start[c]`` to ``start[c + 1]``, feature by feature: ``which`` of the
incomplete features, and the ``place`` of the row in the chunk. The features have the weights ``factors``, and
what |x − x'| is too small by, where one row lacks feature k and the other is b, is
``excess[b // CHUNK, k, b % CHUNK]``, as :mod:`.missing` says. Where ``which`` is empty nothing is missing.
"""

import numpy as np

from .distances import TILE, tile_corner
from .exponential import decay
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .missing import CHUNK


@fused_kernel
def _add_lacks(which, place, factors, excess, out):
    """Add Σ_k factors[k]·excess[k] to out[p], over the features k that the row at place p lacks.

    Feature by feature, so that ``excess`` is read once and in order; each row adds in the order of features.
    """
    wide_vectors()
    for t in range(which.shape[0]):
        k, p = which[t], place[t]
        factor = factors[k]
        if factor != 0:
            for q in range(CHUNK):
                out[p, q] += factor * excess[k, q]


@kernel
def add_tile_lacks(lacks, i0, i1, j0, j1, F):
    """Add lack(a, b) + lack(b, a) to the distances F of rows a = i0 … i1 and b = j0 … j1."""
    start, which, place, factors, excess = lacks
    if which.shape[0] == 0:
        return
    i, j = i0 // CHUNK, j0 // CHUNK
    ours, theirs = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
    L = np.zeros((2, TILE, TILE), F.dtype)
    _add_lacks(which[ours], place[ours], factors, excess[j], L[0])
    other = L[0]
    if i != j:
        other = L[1]
        _add_lacks(which[theirs], place[theirs], factors, excess[i], other)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            F[p, q] += L[0, p, q] + other[q, p]


@kernel
def add_column_lacks(lacks, anchor_which, anchor_place, anchor_excess, out):
    """Add the same to the distances of all rows to at most 64 others, the anchors, with the same bits.

    What the anchors lack is listed as for a chunk; the excess between a row that lacks feature k and anchor q
    is ``anchor_excess[k, q]``.
    """
    start, which, place, factors, excess = lacks
    n, m = out.shape
    for i0 in range(0, n, CHUNK):
        i = i0 // CHUNK
        ours = slice(start[i], start[i + 1])
        L = np.zeros((2, CHUNK, CHUNK), out.dtype)
        _add_lacks(which[ours], place[ours], factors, anchor_excess, L[0])
        _add_lacks(anchor_which, anchor_place, factors, excess[i], L[1])
        for p in range(min(CHUNK, n - i0)):
            for q in range(m):
                out[i0 + p, q] += L[0, p, q] + L[1, q, p]


@summing_kernel
def _add_products(which, place, wanted, coefficients, excess, sums):
    """Add Σ_q coefficients[p, q]·excess[k, q] to sums[k], for wanted features k that the row at p lacks."""
    wide_vectors()
    for t in range(which.shape[0]):
        k, p = which[t], place[t]
        if wanted[k]:
            total = coefficients.dtype.type(0)
            for q in range(CHUNK):
                total += coefficients[p, q] * excess[k, q]
            sums[k] += total


@kernel
def add_lacking_products(lacks, wanted, i0, i1, j0, j1, S, sums):
    """Add Σ S·excess over the pairs of a tile, each of which has its coefficient once, to ``sums``."""
    start, which, place, _, excess = lacks
    if which.shape[0] == 0:
        return
    i, j = i0 // CHUNK, j0 // CHUNK
    ours, theirs = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
    C = np.zeros((2, TILE, TILE), S.dtype)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            C[0, p, q] += S[p, q]
            # On the diagonal one row may be either of a pair.
            C[1 if i != j else 0, q, p] += S[p, q]
    _add_products(which[ours], place[ours], wanted, C[0], excess[j], sums)
    if i != j:
        _add_products(which[theirs], place[theirs], wanted, C[1], excess[i], sums)


@kernel
def add_products(lacks, wanted, S, n_rows, t0, t1, sums):
    """Add the same for the tiles t0 … t1 of S."""
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        add_lacking_products(
            lacks, wanted, i0, min(i0 + TILE, n_rows), j0, min(j0 + TILE, n_rows), S[t], sums
        )


@kernel
def add_margin_lacks(
    start, which, columns, excess, D, first, codes, weights, per_sigma, nearest, scales, out
):
    """Add to margins of single rows what :func:`.soft_margins.margins_from_distances` leaves out.

    Row n lacks ``which[start[n] : start[n + 1]]``, which all have a column of ``out``, in ``columns``.
    """
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
def _n_up_to(x, ordered, n):
    """How many of the first n of ordered values are not above x, by halving."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


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
                u = _n_up_to(x, ordered[k], n_observed)
                out[k, q] = x * (2.0 * share[u] - whole) - 2.0 * total[u] + mean - abs(x)
