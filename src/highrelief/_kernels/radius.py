"""Neighbors within a radius, and beyond one: moments of distances, counts, and coefficients of pairs.

Distances are stored as tiles of the upper triangle, ``D[t − first]`` for tile t; those on the diagonal are
symmetric. Masked pairs, such as padding or a row and itself, have distances of at least ``limit``. For an
anchor n, rows at a distance below ``near_bounds[n]`` are near and rows beyond ``far_bounds[n]`` are far; rows
in between, bounds included, are ignored. Arrays ``[2, class, row]`` refer to the near and far rows of a class
as seen from a row.
"""

import numpy as np

from .distances import TILE, tile_corner
from .intrinsics import empty, maximum, minimum
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .missing import CHUNK
from .soft import compute_tile


@kernel
def fill_tiles(X, w, sums, correction, masked, batches, within, t0, t1, first, D):
    """Store the distances of tiles t0 … t1; ``masked`` is the distance of masked pairs."""
    n = X.shape[0]
    T = empty((TILE, TILE), np.float64)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n), minimum(j0 + TILE, n)
        compute_tile(X, w, sums, correction, masked, batches, within, i0, i1, j0, j1, T, D[t - first])


@summing_kernel
def _add_moments(row, sample_weight, own_weight, center, centers, squared, limit, totals):
    """Return the sum of d − center, or its square, over a row; add the sums around ``centers`` by column."""
    wide_vectors()
    total = 0.0
    for u in range(row.shape[0]):
        d = np.float64(row[u])
        a = d - center if d < limit else 0.0
        b = d - centers[u] if d < limit else 0.0
        total += sample_weight[u] * (a * a if squared else a)
        totals[u] += own_weight * (b * b if squared else b)
    return total


@kernel
def tile_moments(D, first, t0, t1, sample_weight, centers, squared, limit, totals):
    """Add Σ_i s_i·(d_ni − centers[n]), or the squares, over tiles t0 … t1 to totals[n]."""
    n = sample_weight.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        j1 = minimum(j0 + TILE, n)
        for p in range(minimum(TILE, n - i0)):
            i = i0 + p
            # In a tile on the diagonal, every pair occurs twice.
            own_weight = 0.0 if i0 == j0 else sample_weight[i]
            totals[i] += _add_moments(
                D[t - first, p, : j1 - j0],
                sample_weight[j0:j1],
                own_weight,
                centers[i],
                centers[j0:j1],
                squared,
                limit,
                totals[j0:j1],
            )


@summing_kernel
def _add_counts(
    row,
    sample_weight,
    own_weight,
    near_bound,
    far_bound,
    near_bounds,
    far_bounds,
    limit,
    near_counts,
    far_counts,
):
    """Return the weights of the near and far rows of one class in a row; add them by column."""
    wide_vectors()
    n_near = 0.0
    n_far = 0.0
    for u in range(row.shape[0]):
        d = np.float64(row[u])
        n_near += sample_weight[u] if d < near_bound else 0.0
        n_far += sample_weight[u] if far_bound < d < limit else 0.0
        near_counts[u] += own_weight if d < near_bounds[u] else 0.0
        far_counts[u] += own_weight if far_bounds[u] < d < limit else 0.0
    return n_near, n_far


@kernel
def tile_counts(D, first, t0, t1, codes, sample_weight, near_bounds, far_bounds, limit, counts):
    """Add the weights of the near and far rows of each class, over tiles t0 … t1, to counts[2, class, n]."""
    n = sample_weight.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        j1 = minimum(j0 + TILE, n)
        q = j0
        while q < j1:
            end = q
            while end < j1 and codes[end] == codes[q]:
                end += 1
            for p in range(minimum(TILE, n - i0)):
                i = i0 + p
                own_weight = 0.0 if i0 == j0 else sample_weight[i]
                n_near, n_far = _add_counts(
                    D[t - first, p, q - j0 : end - j0],
                    sample_weight[q:end],
                    own_weight,
                    near_bounds[i],
                    far_bounds[i],
                    near_bounds[q:end],
                    far_bounds[q:end],
                    limit,
                    counts[0, codes[i], q:end],
                    counts[1, codes[i], q:end],
                )
                counts[0, codes[q], i] += n_near
                counts[1, codes[q], i] += n_far
            q = end


@summing_kernel
def _to_coefficients(
    row,
    sample_weight,
    own_weight,
    near_bound,
    far_bound,
    near_factor,
    far_factor,
    near_bounds,
    far_bounds,
    near_factors,
    far_factors,
    limit,
    totals,
):
    """Replace distances by the coefficients of both directions; return their sum, and add them by column."""
    wide_vectors()
    total = 0.0
    for u in range(row.shape[0]):
        d = np.float64(row[u])
        c = near_factor if d < near_bound else 0.0
        c += far_factor if far_bound < d < limit else 0.0
        e = near_factors[u] if d < near_bounds[u] else 0.0
        e += far_factors[u] if far_bounds[u] < d < limit else 0.0
        f = sample_weight[u] * c + own_weight * e
        row[u] = f
        # The sums of minima use the rounded coefficient.
        f = np.float64(row[u])
        total += f
        totals[u] += f
    return total


@kernel
def tile_coefficients(
    D, first, t0, t1, codes, sample_weight, near_bounds, far_bounds, factors, limit, totals
):
    """Replace tiles t0 … t1 by the coefficients of pairs, each pair once; add them to ``totals`` by row.

    The coefficient of row i for anchor n is s_i·factors[near or far, class of i, n].
    """
    n = sample_weight.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        j1 = minimum(j0 + TILE, n)
        q = j0
        while q < j1:
            end = q
            while end < j1 and codes[end] == codes[q]:
                end += 1
            for p in range(minimum(TILE, n - i0)):
                i = i0 + p
                start = q
                if i0 == j0:
                    start = maximum(q, i + 1)
                    for u in range(q, minimum(end, i + 1)):
                        D[t - first, p, u - j0] = 0
                    if start >= end:
                        continue
                totals[i] += _to_coefficients(
                    D[t - first, p, start - j0 : end - j0],
                    sample_weight[start:end],
                    sample_weight[i],
                    near_bounds[i],
                    far_bounds[i],
                    factors[0, codes[q], i],
                    factors[1, codes[q], i],
                    near_bounds[start:end],
                    far_bounds[start:end],
                    factors[0, codes[i], start:end],
                    factors[1, codes[i], start:end],
                    limit,
                    totals[start:end],
                )
            q = end


# Corrections of these tiles, and of sums over their pairs, for missing values; see :mod:`.missing`.
#
# A row with a sample weight above 1 is its own neighbor. If it has missing values, its expected distance to
# itself is not 0 (:func:`own_distances`, :func:`sum_own`).


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
def _fill_corrections(r0, r1, c0, start, which, set_of, excess, F):
    """Fill F[a − r0, b − c0] with c(a, b) for rows a from r0 to r1 and a tile of rows b from c0 on."""
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
def add_corrections(D, first, t0, t1, n_rows, start, which, set_of, excess):
    """Add c(a, b) + c(b, a) to the distances of tiles t0 … t1."""
    F = empty((TILE, TILE), excess.dtype)
    G = empty((TILE, TILE), excess.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n_rows), minimum(j0 + TILE, n_rows)
        _fill_corrections(i0, i1, j0, start, which, set_of, excess, F)
        _fill_corrections(j0, j1, i0, start, which, set_of, excess, G)
        for p in range(i1 - i0):
            for q in range(j1 - j0):
                # Rounding can leave −ε for rows that are nearly equal.
                d = D[t - first, p, q] + (F[p, q] + G[q, p])
                D[t - first, p, q] = d if d > 0 else 0


@summing_kernel
def _add_row_products(values, which, t0, t1, coefficients, sums):
    """Add Σ coefficients·row to the sums of the rows which[t0 … t1] of ``values``."""
    wide_vectors()
    for t in range(t0, t1):
        k = which[t]
        total = 0.0
        for q in range(CHUNK):
            total += coefficients[q] * np.float64(values[k, q])
        sums[k] += total


@kernel
def _sum_side_corrections(F, r0, r1, c0, start, which, set_of, excess, sums):
    """Add Σ_b F[a − r0, b − c0]·excess to the sums of the features missing in rows a from r0 to r1."""
    for a in range(r0, r1):
        if start[a] == start[a + 1]:
            continue
        for q in range(0, TILE, CHUNK):
            if (c0 + q) // CHUNK < excess.shape[1]:
                values = excess[set_of[a], (c0 + q) // CHUNK]
                _add_row_products(values, which, start[a], start[a + 1], F[a - r0, q : q + CHUNK], sums)


@kernel
def sum_corrections(S, first, t0, t1, n_rows, start, which, set_of, excess, sums):
    """Add Σ coefficient·excess over the pairs of tiles t0 … t1, each pair once, to the sums of features."""
    F = empty((TILE, TILE), np.float64)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n_rows), minimum(j0 + TILE, n_rows)
        for p in range(TILE):
            for q in range(TILE):
                F[p, q] = S[t - first, p, q] if p < i1 - i0 and q < j1 - j0 else 0
        _sum_side_corrections(F, i0, i1, j0, start, which, set_of, excess, sums)
        for p in range(TILE):
            for q in range(TILE):
                F[q, p] = S[t - first, p, q] if p < i1 - i0 and q < j1 - j0 else 0
        _sum_side_corrections(F, j0, j1, i0, start, which, set_of, excess, sums)


@kernel
def own_distances(start, which, set_of, excess, out):
    """Write the expected distance of every row to a duplicate of itself."""
    for a in range(out.shape[0]):
        total = 0.0
        for t in range(start[a], start[a + 1]):
            total += 2.0 * np.float64(excess[set_of[a], a // CHUNK, which[t], a % CHUNK])
        out[a] = total


@kernel
def sum_own(coefficients, start, which, set_of, excess, sums):
    """Add coefficients[a]·(expected difference of row a to its duplicate) to the sums of features."""
    for a in range(coefficients.shape[0]):
        if coefficients[a] != 0.0:
            for t in range(start[a], start[a + 1]):
                e = 2.0 * np.float64(excess[set_of[a], a // CHUNK, which[t], a % CHUNK])
                sums[which[t]] += coefficients[a] * e
