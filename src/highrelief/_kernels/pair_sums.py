"""The mean margin of softmax neighborhoods (Sun 2007, eq. 11), summed over unordered pairs of rows.

In Σ_n Σ_i ±a·f(d_ni)·|x_n − x_i| each unordered pair occurs twice. Its two coefficients are added first, and
|x − x'| = x + x' − 2·min(x, x') leaves one minimum and one multiply-add per pair and feature. Distances are
stored or computed as in :mod:`.soft`.
"""

import numpy as np

from .distances import TILE, n_tiles, tile_corner
from .intrinsics import empty, maximum, minimum
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .missing import add_tile_correction_products
from .packing import ROW_BLOCK
from .soft import compute_tile, copy_row
from .vectors import add_minimum_products, decay, prefetch_rows

#: Rows of products that are summed in the precision of the data before the sum is added in float64.
ROWS_PER_SUM = 16
#: Features of one block of the sums.
FEATURES_PER_BLOCK = 1024


def relative_error(dtype, n_rows):
    """Bound the error of a sum over all pairs, relative to the sum of the magnitudes of its terms.

    Roundings per term × unit roundoff: in its block, then one for every two rows of the blocks that are
    summed in the precision of the data; the coefficients of a tile are also summed by row and column. A few
    additions per tile, part and row follow in float64.
    """
    blocks = (ROWS_PER_SUM // ROW_BLOCK) * (TILE // ROW_BLOCK)
    roundings = ROW_BLOCK + 1 + 2 * blocks + TILE
    in_float64 = 8 * n_tiles(n_rows) + 2 * n_rows + 128
    return roundings * np.finfo(dtype).eps / 2 + in_float64 * 2.0**-53


@fused_kernel
def _pair_coefficients(row, sample_weight, scale, low, own, scales, lows, per_sigma, totals):
    """Replace distances by the coefficients of both directions; add them to ``totals`` by column."""
    wide_vectors()
    for u in range(row.shape[0]):
        d = row[u]
        c = sample_weight[u] * scale * decay((low - d) * per_sigma)
        c += own * scales[u] * decay((lows[u] - d) * per_sigma)
        row[u] = c
        totals[u] += c


@summing_kernel
def _row_total(row):
    wide_vectors()
    total = row.dtype.type(0)
    for u in range(row.shape[0]):
        total += row[u]
    return total


@kernel
def _tile_coefficients(
    F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, nearest, scales, totals, row_totals
):
    """Replace a tile of distances by the coefficients of its pairs, each pair once."""
    totals[:] = 0
    q = 0
    while q < n_columns:
        code = codes[j0 + q]
        end = q
        while end < n_columns and codes[j0 + end] == code:
            end += 1
        for p in range(n_rows):
            n = i0 + p
            start = q
            if i0 == j0:
                start = maximum(q, p + 1)
                for u in range(q, minimum(end, p + 1)):
                    F[p, u] = 0
                if start >= end:
                    continue
            _pair_coefficients(
                F[p, start:end],
                weights[j0 + start : j0 + end],
                scales[code, n],
                nearest[code, n],
                weights[n],
                scales[codes[n], j0 + start : j0 + end],
                nearest[codes[n], j0 + start : j0 + end],
                per_sigma,
                totals[start:end],
            )
        q = end
    for p in range(n_rows):
        row_totals[i0 + p] += _row_total(F[p, :n_columns])
    for u in range(n_columns):
        row_totals[j0 + u] += totals[u]


@kernel
def _add_block_products(X, i0, i1, j0, j1, k0, k1, unit, F, partial, minima):
    """Add Σ F[i − i0, j − j0]·min(x_i, x_j) to minima[k0:k1], feature by feature.

    ``unit`` contains a 1 that the compiler cannot fold; see :mod:`.vectors`.
    """
    wide_vectors()
    one = unit[0]
    out = minima[k0:k1]
    for first in range(i0, i1, ROWS_PER_SUM):
        partial[:] = 0
        for i in range(first, minimum(first + ROWS_PER_SUM, i1), ROW_BLOCK):
            # In a tile on the diagonal, blocks below it contain only zeros.
            start = i if i0 == j0 else j0
            for j in range(start, j1, ROW_BLOCK):
                if i + 2 * ROW_BLOCK <= X.shape[0]:
                    prefetch_rows(X, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
                add_minimum_products(X, i, j, k0, k1, one, F, i - i0, j - j0, partial)
        for u in range(out.shape[0]):
            out[u] += partial[u]


@kernel
def accumulate_margin(
    X,
    w,
    sums,
    correction,
    D,
    codes,
    weights,
    per_sigma,
    masked,
    batches,
    within,
    nearest,
    scales,
    t0,
    t1,
    minima,
    row_totals,
    correction_sums,
):
    """Add Σ over pairs of coefficient·min(x, x') to ``minima``, and coefficients by row to ``row_totals``.

    The coefficient of row i for anchor n is s_i·scales[class of i, n]·f(d_ni − nearest[class of i, n]).
    Distances are read from D, or computed from X if D is empty. ``minima`` has the length of a row of X;
    corrections for missing values are added to ``correction_sums``.
    """
    n = X.shape[0]
    T = empty((TILE, TILE), np.float64)
    F = empty((TILE, TILE), X.dtype)
    totals = empty(TILE, X.dtype)
    partial = empty(FEATURES_PER_BLOCK, X.dtype)
    selected = np.ones(correction_sums.shape[0], np.bool_)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n), minimum(j0 + TILE, n)
        if D.shape[0] > 0:
            for p in range(i1 - i0):
                copy_row(D[t, p], F[p])
        else:
            compute_tile(X, w, sums, correction, masked, batches, within, i0, i1, j0, j1, T, F)
        _tile_coefficients(
            F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, nearest, scales, totals, row_totals
        )
        add_tile_products(X, i0, i1, j0, j1, F, partial, minima)
        add_tile_correction_products(correction, selected, i0, i1, j0, j1, F, correction_sums)


@kernel
def add_tile_products(X, i0, i1, j0, j1, F, partial, minima):
    """Add Σ F[i − i0, j − j0]·min(x_i, x_j) to ``minima``; ``partial`` is scratch space for a block."""
    unit = np.ones(1, X.dtype)
    for k0 in range(0, minima.shape[0], FEATURES_PER_BLOCK):
        k1 = minimum(k0 + FEATURES_PER_BLOCK, minima.shape[0])
        _add_block_products(X, i0, i1, j0, j1, k0, k1, unit, F, partial, minima)


@kernel
def coefficients_from_distances(D, codes, weights, per_sigma, nearest, scales, t0, t1, row_totals):
    """Replace the tiles t0 … t1 of D by coefficients, the first half of :func:`accumulate_margin`."""
    n = codes.shape[0]
    totals = empty(TILE, D.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        n_rows, n_columns = minimum(i0 + TILE, n) - i0, minimum(j0 + TILE, n) - j0
        _tile_coefficients(
            D[t], i0, n_rows, j0, n_columns, codes, weights, per_sigma, nearest, scales, totals, row_totals
        )


@summing_kernel
def _replace_row(new, old, sizes):
    """Replace old coefficients by new ones; return Σ|change|, Σ change and Σ|new|.

    Adds |new| to ``sizes`` by column.
    """
    wide_vectors()
    total_change = net_change = size = new.dtype.type(0)
    for u in range(new.shape[0]):
        change = new[u] - old[u]
        total_change += abs(change)
        net_change += change
        size += abs(new[u])
        sizes[u] += abs(new[u])
        old[u] = new[u]
    return total_change, net_change, size


@kernel
def replace_coefficients(D, S, codes, weights, per_sigma, nearest, scales, t0, t1, row_totals, row_sizes):
    """Replace the coefficients S of tiles t0 … t1 by those that follow from the distances D.

    Adds their sums, and the sums of their magnitudes, by row. Returns Σ|change| and Σ change.
    """
    n = codes.shape[0]
    F = empty((TILE, TILE), D.dtype)
    totals = empty(TILE, D.dtype)
    sizes = empty(TILE, D.dtype)
    total_change, net_change = 0.0, 0.0
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        n_rows, n_columns = minimum(i0 + TILE, n) - i0, minimum(j0 + TILE, n) - j0
        for p in range(n_rows):
            copy_row(D[t, p], F[p])
        _tile_coefficients(
            F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, nearest, scales, totals, row_totals
        )
        sizes[:] = 0
        for p in range(n_rows):
            row_changes = _replace_row(F[p, :n_columns], S[t, p, :n_columns], sizes[:n_columns])
            total_change += row_changes[0]
            net_change += row_changes[1]
            row_sizes[i0 + p] += row_changes[2]
        for u in range(n_columns):
            row_sizes[j0 + u] += sizes[u]
    return total_change, net_change


@kernel
def add_products(X, S, first, t0, t1, minima):
    """Add Σ S·min(x, x') over the pairs of tiles t0 … t1 to ``minima``, feature by feature.

    The coefficients of tile t are ``S[t − first]``; X may have any columns.
    """
    n = X.shape[0]
    partial = empty(FEATURES_PER_BLOCK, X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        add_tile_products(
            X, i0, minimum(i0 + TILE, n), j0, minimum(j0 + TILE, n), S[t - first], partial, minima
        )
