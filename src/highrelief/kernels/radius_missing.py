"""What missing values add to tiles of distances, and to sums over their pairs; see :mod:`.missing`.

Tiles are those of :mod:`.radius`. ``own`` below are a row's further copies: a copy of a row lacks what the
row lacks, and is then not at distance 0.
"""

import numpy as np

from .distances import TILE, tile_corner
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .missing import CHUNK


@fused_kernel
def _add_rows(values, which, t0, t1, out):
    """Add the rows which[t0 … t1] of ``values`` to ``out``, four at a time."""
    wide_vectors()
    t = t0
    while t + 4 <= t1:
        a, b, c, d = which[t], which[t + 1], which[t + 2], which[t + 3]
        for q in range(CHUNK):
            out[q] += (values[a, q] + values[b, q]) + (values[c, q] + values[d, q])
        t += 4
    while t < t1:
        a = which[t]
        for q in range(CHUNK):
            out[q] += values[a, q]
        t += 1


@kernel
def _lacks_of(r0, r1, c0, start, which, set_of, excess, F):
    """Fill F[a − r0, b − c0] with lack(a, b) for rows a from r0 to r1 and a tile of rows b from c0 on."""
    for a in range(r0, r1):
        for q in range(TILE):
            F[a - r0, q] = 0
        if start[a] == start[a + 1]:
            continue
        for q in range(0, TILE, CHUNK):
            if (c0 + q) // CHUNK < excess.shape[1]:
                values = excess[set_of[a], (c0 + q) // CHUNK]
                _add_rows(values, which, start[a], start[a + 1], F[a - r0, q : q + CHUNK])


@kernel
def add_lacks(D, first, t0, t1, n_rows, start, which, set_of, excess):
    """Turn the distances of tiles t0 … t1 into expected ones: add lack(a, b) + lack(b, a)."""
    F = np.empty((TILE, TILE), excess.dtype)
    G = np.empty((TILE, TILE), excess.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n_rows), min(j0 + TILE, n_rows)
        _lacks_of(i0, i1, j0, start, which, set_of, excess, F)
        _lacks_of(j0, j1, i0, start, which, set_of, excess, G)
        for p in range(i1 - i0):
            for q in range(j1 - j0):
                # Rounding can leave −ε for rows that are nearly equal.
                d = D[t - first, p, q] + (F[p, q] + G[q, p])
                D[t - first, p, q] = d if d > 0 else 0


@summing_kernel
def _add_products(values, which, t0, t1, coefficients, sums):
    """Add Σ coefficients·row to the sums of the rows which[t0 … t1] of ``values``."""
    wide_vectors()
    for t in range(t0, t1):
        k = which[t]
        total = 0.0
        for q in range(CHUNK):
            total += coefficients[q] * np.float64(values[k, q])
        sums[k] += total


@kernel
def _sum_lacks_of(F, r0, r1, c0, start, which, set_of, excess, sums):
    """Add Σ_b F[a − r0, b − c0]·excess to the sums of the features that rows a, from r0 to r1, lack."""
    for a in range(r0, r1):
        if start[a] == start[a + 1]:
            continue
        for q in range(0, TILE, CHUNK):
            if (c0 + q) // CHUNK < excess.shape[1]:
                values = excess[set_of[a], (c0 + q) // CHUNK]
                _add_products(values, which, start[a], start[a + 1], F[a - r0, q : q + CHUNK], sums)


@kernel
def sum_lacks(S, first, t0, t1, n_rows, start, which, set_of, excess, sums):
    """Add Σ coefficient·excess over the pairs of tiles t0 … t1, each pair once, to the sums of features."""
    F = np.empty((TILE, TILE))
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n_rows), min(j0 + TILE, n_rows)
        for p in range(TILE):
            for q in range(TILE):
                F[p, q] = S[t - first, p, q] if p < i1 - i0 and q < j1 - j0 else 0
        _sum_lacks_of(F, i0, i1, j0, start, which, set_of, excess, sums)
        for p in range(TILE):
            for q in range(TILE):
                F[q, p] = S[t - first, p, q] if p < i1 - i0 and q < j1 - j0 else 0
        _sum_lacks_of(F, j0, j1, i0, start, which, set_of, excess, sums)


@kernel
def own_distances(start, which, set_of, excess, out):
    """Write the expected distance of every row to a copy of itself."""
    for a in range(out.shape[0]):
        total = 0.0
        for t in range(start[a], start[a + 1]):
            total += 2.0 * np.float64(excess[set_of[a], a // CHUNK, which[t], a % CHUNK])
        out[a] = total


@kernel
def sum_own(coefficients, start, which, set_of, excess, sums):
    """Add coefficients[a]·(expected difference of row a and a copy of itself) to the sums of features."""
    for a in range(coefficients.shape[0]):
        if coefficients[a] != 0.0:
            for t in range(start[a], start[a + 1]):
                e = 2.0 * np.float64(excess[set_of[a], a // CHUNK, which[t], a % CHUNK])
                sums[which[t]] += coefficients[a] * e
