"""Neighbours within a radius, and beyond one: moments of distances, counts, coefficients of pairs.

Distances come as tiles of the upper triangle, ``D[t − first]`` for tile t; those on the diagonal are
mirrored. A padding row, and a row seen from itself, is farther than ``reach``. For an anchor n, all rows at a
distance below ``near[n]`` are near and all beyond ``far[n]`` are far; what lies between, ends included, does
not count. The arrays ``[2, class, row]`` hold what belongs to near and to far rows of a class, seen from a
row.
"""

import numpy as np

from .distances import TILE, tile_corner
from .jit import kernel, summing_kernel, wide_vectors
from .pair_sums import FEATURES_PER_BLOCK, add_tile_products
from .soft import compute_tile


@kernel
def fill_tiles(X, w, sums, lacks, beyond, batches, within, t0, t1, first, D):
    """Store the distances of tiles t0 … t1; ``beyond`` is that of a row to itself."""
    n = X.shape[0]
    T = np.empty((TILE, TILE))
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        compute_tile(X, w, sums, lacks, beyond, batches, within, i0, i1, j0, j1, T, D[t - first])


@summing_kernel
def _add_moments(row, copies, own, center, centers, squared, reach, totals):
    """Sum d − center, or its square, over a row, which is returned, and by column around ``centers``."""
    wide_vectors()
    total = 0.0
    for u in range(row.shape[0]):
        d = np.float64(row[u])
        a = d - center if d < reach else 0.0
        b = d - centers[u] if d < reach else 0.0
        total += copies[u] * (a * a if squared else a)
        totals[u] += own * (b * b if squared else b)
    return total


@kernel
def tile_moments(D, first, t0, t1, copies, centers, squared, reach, totals):
    """Add Σ_i s_i·(d_ni − centers[n]), or the squares, over tiles t0 … t1 to totals[n]."""
    n = copies.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        j1 = min(j0 + TILE, n)
        for p in range(min(TILE, n - i0)):
            i = i0 + p
            # On the diagonal every pair stands twice.
            own = 0.0 if i0 == j0 else copies[i]
            totals[i] += _add_moments(
                D[t - first, p, : j1 - j0],
                copies[j0:j1],
                own,
                centers[i],
                centers[j0:j1],
                squared,
                reach,
                totals[j0:j1],
            )


@summing_kernel
def _add_counts(row, copies, own, near, far, nears, fars, reach, near_counts, far_counts):
    """Count near and far rows of one class in a row, which are returned, and by column."""
    wide_vectors()
    n_near = 0.0
    n_far = 0.0
    for u in range(row.shape[0]):
        d = np.float64(row[u])
        n_near += copies[u] if d < near else 0.0
        n_far += copies[u] if far < d < reach else 0.0
        near_counts[u] += own if d < nears[u] else 0.0
        far_counts[u] += own if fars[u] < d < reach else 0.0
    return n_near, n_far


@kernel
def tile_counts(D, first, t0, t1, codes, copies, near, far, reach, counts):
    """Add the copies of near and of far rows of each class, over tiles t0 … t1, to counts[2, class, n]."""
    n = copies.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        j1 = min(j0 + TILE, n)
        q = j0
        while q < j1:
            end = q
            while end < j1 and codes[end] == codes[q]:
                end += 1
            for p in range(min(TILE, n - i0)):
                i = i0 + p
                own = 0.0 if i0 == j0 else copies[i]
                n_near, n_far = _add_counts(
                    D[t - first, p, q - j0 : end - j0],
                    copies[q:end],
                    own,
                    near[i],
                    far[i],
                    near[q:end],
                    far[q:end],
                    reach,
                    counts[0, codes[i], q:end],
                    counts[1, codes[i], q:end],
                )
                counts[0, codes[q], i] += n_near
                counts[1, codes[q], i] += n_far
            q = end


@summing_kernel
def _to_coefficients(
    row,
    copies,
    own,
    near,
    far,
    near_factor,
    far_factor,
    nears,
    fars,
    near_factors,
    far_factors,
    reach,
    totals,
):
    """Turn distances into the coefficients of both directions; sum them, also by column."""
    wide_vectors()
    total = 0.0
    for u in range(row.shape[0]):
        d = np.float64(row[u])
        c = near_factor if d < near else 0.0
        c += far_factor if far < d < reach else 0.0
        e = near_factors[u] if d < nears[u] else 0.0
        e += far_factors[u] if fars[u] < d < reach else 0.0
        f = copies[u] * c + own * e
        row[u] = f
        # What was rounded is what the sums of minima see.
        f = np.float64(row[u])
        total += f
        totals[u] += f
    return total


@kernel
def tile_coefficients(D, first, t0, t1, codes, copies, near, far, factors, reach, totals):
    """Turn tiles t0 … t1 into the coefficients of pairs, each pair once; add them up by row.

    The coefficient of row i for anchor n is s_i·factors[near or far, class of i, n].
    """
    n = copies.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        j1 = min(j0 + TILE, n)
        q = j0
        while q < j1:
            end = q
            while end < j1 and codes[end] == codes[q]:
                end += 1
            for p in range(min(TILE, n - i0)):
                i = i0 + p
                start = q
                if i0 == j0:
                    start = max(q, i + 1)
                    for u in range(q, min(end, i + 1)):
                        D[t - first, p, u - j0] = 0
                    if start >= end:
                        continue
                totals[i] += _to_coefficients(
                    D[t - first, p, start - j0 : end - j0],
                    copies[start:end],
                    copies[i],
                    near[i],
                    far[i],
                    factors[0, codes[q], i],
                    factors[1, codes[q], i],
                    near[start:end],
                    far[start:end],
                    factors[0, codes[i], start:end],
                    factors[1, codes[i], start:end],
                    reach,
                    totals[start:end],
                )
            q = end


@kernel
def add_products(X, S, first, t0, t1, minima):
    """Add Σ over the pairs of tiles t0 … t1 of coefficient·min(x, x') to ``minima``, feature by feature."""
    n = X.shape[0]
    partial = np.empty(FEATURES_PER_BLOCK, X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        add_tile_products(X, i0, min(i0 + TILE, n), j0, min(j0 + TILE, n), S[t - first], partial, minima)
