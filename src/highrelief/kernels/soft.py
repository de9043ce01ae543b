"""Softmax neighbourhoods (Sun 2007, eqs. 8 to 11) and the margins they give.

For an anchor n and a class c, ``nearest[c, n]`` is the smallest distance to another row of c and
``mass[c, n]`` = Σ_i s_i·f(d_ni − nearest[c, n]) with f(d) = exp(−d/σ) and s_i copies of row i. Both merge
over disjoint sets of rows, so that they can be gathered tile by tile.

The margin of eq. (11) is a sum over pairs, Σ_n Σ_i ±a·f(d_ni)·|x_n − x_i|, in which each unordered pair
occurs twice. Its two coefficients are added first, and |x − x'| = x + x' − 2·min(x, x') leaves one minimum
and one multiply-add per pair and feature.

Distances are either kept between the two passes (``distances``) or computed in each of them.
"""

import math

import numpy as np

from .differences import add_margin
from .distances import MANHATTAN, TILE, distance_block, distance_tile, tile_corner
from .exponential import decay
from .jit import fused_kernel, kernel, wide_vectors

#: Rows of coefficients × differences added in the precision of the data before they go to float64.
ROWS_PER_SUM = 16
_FEATURES_PER_BLOCK = 1024


def out_of_reach(dtype):
    """Distance of a padding row, and of a row to itself: its share in any sum is exactly 0."""
    return float(np.finfo(dtype).max) / 8


@kernel
def fill_distances(X, sums, far, t0, t1, D):
    """Store the distances of tiles t0 … t1 in both halves of D; the diagonal is ``far``."""
    n = X.shape[0]
    T = np.empty((TILE, TILE))
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        distance_tile(X, sums, i0, i1, j0, j1, MANHATTAN, T)
        if i0 == j0:
            for p in range(i1 - i0):
                T[p, p] = far
        for p in range(i1 - i0):
            out = D[i0 + p, j0:j1]
            for q in range(j1 - j0):
                out[q] = T[p, q]
        for q in range(j1 - j0):
            out = D[j0 + q, i0:i1]
            for p in range(i1 - i0):
                out[p] = T[p, q]


@kernel
def fill_distance_columns(X, sums, anchors, far, n0, n1, D):
    """Store the distances of rows n0 … n1 to the rows ``anchors`` in the columns of D.

    The number of anchors is a multiple of the row block; the distance of an anchor to itself is ``far``.
    """
    A = X[anchors]
    anchor_sums = sums[anchors]
    T = np.empty((TILE, TILE))
    for i0 in range(n0, n1, TILE):
        i1 = min(i0 + TILE, n1)
        for j0 in range(0, anchors.shape[0], TILE):
            j1 = min(j0 + TILE, anchors.shape[0])
            distance_block(X, sums, i0, i1, A, anchor_sums, j0, j1, MANHATTAN, False, T)
            for p in range(i1 - i0):
                for q in range(j1 - j0):
                    D[i0 + p, j0 + q] = far if i0 + p == anchors[j0 + q] else T[p, q]


@kernel
def _lower_to_row(row, low):
    wide_vectors()
    for q in range(low.shape[0]):
        low[q] = row[q] if row[q] < low[q] else low[q]


@fused_kernel
def _add_decayed_row(row, low, per_sigma, copies, partial):
    wide_vectors()
    for q in range(low.shape[0]):
        partial[q] += copies * decay((low[q] - row[q]) * per_sigma)


@kernel
def neighborhood_statistics(D, codes, weights, per_sigma, far, j0, j1, nearest, mass):
    """Gather ``nearest`` and ``mass`` of the anchors in columns j0 … j1 of D over all its rows."""
    n = D.shape[0]
    partial = np.zeros(j1 - j0, D.dtype)
    i = 0
    while i < n:
        code = codes[i]
        end = i
        while end < n and codes[end] == code:
            end += 1
        low = nearest[code, j0:j1]
        total = mass[code, j0:j1]
        low[:] = far
        for r in range(i, end):
            if weights[r] > 0:
                _lower_to_row(D[r, j0:j1], low)
        for start in range(i, end, TILE):
            partial[:] = 0
            for r in range(start, min(start + TILE, end)):
                if weights[r] > 0:
                    _add_decayed_row(D[r, j0:j1], low, per_sigma, weights[r], partial)
            for q in range(j1 - j0):
                total[q] += partial[q]
        for q in range(j1 - j0):
            if low[q] >= far:
                total[q] = 0.0
        i = end


@kernel
def _merge_tile(F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, far, nearest, mass):
    """Merge a tile's rows into the statistics of the anchors in its columns."""
    before = np.empty(n_columns, F.dtype)
    partial = np.empty(n_columns, F.dtype)
    p = 0
    while p < n_rows:
        code = codes[i0 + p]
        end = p
        while end < n_rows and codes[i0 + end] == code:
            end += 1
        low = nearest[code, j0 : j0 + n_columns]
        total = mass[code, j0 : j0 + n_columns]
        before[:] = low
        partial[:] = 0
        for r in range(p, end):
            if weights[i0 + r] > 0:
                _lower_to_row(F[r, :n_columns], low)
        for r in range(p, end):
            if weights[i0 + r] > 0:
                _add_decayed_row(F[r, :n_columns], low, per_sigma, weights[i0 + r], partial)
        for q in range(n_columns):
            if low[q] < far:
                total[q] = total[q] * math.exp((low[q] - before[q]) * per_sigma) + partial[q]
        p = end


@kernel
def tile_statistics(X, sums, codes, weights, per_sigma, far, t0, t1, nearest, mass):
    """Gather ``nearest`` (from ``far`` on) and ``mass`` (from 0) over tiles t0 … t1, storing no distance."""
    n = X.shape[0]
    T = np.empty((TILE, TILE))
    F = np.empty((TILE, TILE), X.dtype)
    G = np.empty((TILE, TILE), X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        distance_tile(X, sums, i0, i1, j0, j1, MANHATTAN, T)
        for p in range(i1 - i0):
            for q in range(j1 - j0):
                F[p, q] = T[p, q]
                G[q, p] = F[p, q]
        if i0 == j0:
            for p in range(i1 - i0):
                F[p, p] = far
        _merge_tile(F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, far, nearest, mass)
        if i0 != j0:
            _merge_tile(G, j0, j1 - j0, i0, i1 - i0, codes, weights, per_sigma, far, nearest, mass)


@fused_kernel
def _pair_coefficients(row, copies, scale, low, own, scales, lows, per_sigma, totals):
    """Turn distances into the coefficients of both directions; add them up by column and in all."""
    wide_vectors()
    total = row.dtype.type(0)
    for u in range(row.shape[0]):
        d = row[u]
        c = copies[u] * scale * decay((low - d) * per_sigma)
        c += own * scales[u] * decay((lows[u] - d) * per_sigma)
        row[u] = c
        totals[u] += c
        total += c
    return total


@kernel
def _tile_coefficients(F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, nearest, scales, row_totals):
    """Turn a tile of distances into the coefficients of its pairs, each pair once."""
    column_totals = np.zeros(n_columns, F.dtype)
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
                start = max(q, p + 1)
                for u in range(q, min(end, p + 1)):
                    F[p, u] = 0
                if start >= end:
                    continue
            row_totals[n] += _pair_coefficients(
                F[p, start:end],
                weights[j0 + start : j0 + end],
                scales[code, n],
                nearest[code, n],
                weights[n],
                scales[codes[n], j0 + start : j0 + end],
                nearest[codes[n], j0 + start : j0 + end],
                per_sigma,
                column_totals[start:end],
            )
        q = end
    for u in range(n_columns):
        row_totals[j0 + u] += column_totals[u]


@fused_kernel
def _add_minimum_products(X, i, j, k0, k1, S, p, q, out):
    """Add Σ S[p+a, q+b]·min(x_{i+a}, x_{j+b}) over 2 × 4 pairs of rows to ``out``, feature by feature."""
    wide_vectors()
    a0, a1 = X[i, k0:k1], X[i + 1, k0:k1]
    b0, b1 = X[j, k0:k1], X[j + 1, k0:k1]
    b2, b3 = X[j + 2, k0:k1], X[j + 3, k0:k1]
    c00, c01, c02, c03 = S[p, q], S[p, q + 1], S[p, q + 2], S[p, q + 3]
    c10, c11, c12, c13 = S[p + 1, q], S[p + 1, q + 1], S[p + 1, q + 2], S[p + 1, q + 3]
    for k in range(a0.shape[0]):
        u, v = a0[k], a1[k]
        w0, w1, w2, w3 = b0[k], b1[k], b2[k], b3[k]
        # Two chains of additions, so that one need not wait for the other.
        first = out[k] + c00 * (u if u < w0 else w0)
        second = c10 * (v if v < w0 else w0)
        first += c01 * (u if u < w1 else w1)
        second += c11 * (v if v < w1 else w1)
        first += c02 * (u if u < w2 else w2)
        second += c12 * (v if v < w2 else w2)
        first += c03 * (u if u < w3 else w3)
        second += c13 * (v if v < w3 else w3)
        out[k] = first + second


@kernel
def accumulate_margin(
    X, Xw, sums, D, stored, codes, weights, per_sigma, nearest, scales, t0, t1, minima, row_totals
):
    """Second pass: Σ over pairs of coefficient·min(x, x') and, by row, of the coefficients.

    The coefficient of row i for anchor n is s_i·scales[class of i, n]·f(d_ni − nearest[class of i, n]).
    Distances come from D if ``stored``, otherwise from the weighted columns ``Xw`` again.
    """
    n = X.shape[0]
    T = np.empty((TILE, TILE))
    F = np.empty((TILE, TILE), X.dtype)
    partial = np.empty(_FEATURES_PER_BLOCK, X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        if stored:
            F[: i1 - i0, : j1 - j0] = D[i0:i1, j0:j1]
        else:
            distance_tile(Xw, sums, i0, i1, j0, j1, MANHATTAN, T)
            for p in range(i1 - i0):
                for q in range(j1 - j0):
                    F[p, q] = T[p, q]
        _tile_coefficients(
            F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, nearest, scales, row_totals
        )
        for k0 in range(0, minima.shape[0], _FEATURES_PER_BLOCK):
            k1 = min(k0 + _FEATURES_PER_BLOCK, minima.shape[0])
            for first in range(i0, i1, ROWS_PER_SUM):
                partial[:] = 0
                for i in range(first, min(first + ROWS_PER_SUM, i1), 2):
                    # On the diagonal, blocks below it hold zeros only.
                    start = j0 + (i - i0) // 4 * 4 if i0 == j0 else j0
                    for j in range(start, j1, 4):
                        _add_minimum_products(X, i, j, k0, k1, F, i - i0, j - j0, partial[: k1 - k0])
                for u in range(k1 - k0):
                    minima[k0 + u] += partial[u]


@kernel
def margin_rows(X, Xw, sums, codes, weights, per_sigma, far, pooled, factors, n0, n1, out, inlier):
    """Margin vectors of rows n0 … n1, one by one, and γ of eq. (10); both are 0 for padding.

    ``factors[class of the anchor, class]`` weighs the classes of the misses; with ``pooled`` misses of
    all classes form one neighbourhood. A row without a hit, or without a miss, gets zeros.
    """
    n_rows, n_classes = X.shape[0], factors.shape[0]
    T = np.empty((TILE, TILE))
    distances = np.empty((TILE, n_rows))
    rows = np.empty(n_rows, np.int64)
    coefficients = np.empty(n_rows)
    low = np.empty(n_classes)
    total = np.empty(n_classes)
    for i0 in range(n0, n1, TILE):
        i1 = min(i0 + TILE, n1)
        for j0 in range(0, n_rows, TILE):
            j1 = min(j0 + TILE, n_rows)
            distance_tile(Xw, sums, i0, i1, j0, j1, MANHATTAN, T)
            distances[: i1 - i0, j0:j1] = T[: i1 - i0, : j1 - j0]
        for n in range(i0, i1):
            if weights[n] <= 0:
                continue
            row = distances[n - i0]
            own = codes[n]
            _class_statistics(row, n, codes, weights, per_sigma, far, low, total)
            miss_low, miss_total = far, 0.0
            for c in range(n_classes):
                if c != own and total[c] > 0:
                    miss_low = min(miss_low, low[c])
            for c in range(n_classes):
                if c != own and total[c] > 0:
                    miss_total += total[c] * math.exp((miss_low - low[c]) * per_sigma)
            if total[own] <= 0.0 or miss_total <= 0.0:
                continue
            closest = min(low[own], miss_low)
            hit_mass = total[own] * math.exp((closest - low[own]) * per_sigma)
            miss_mass = miss_total * math.exp((closest - miss_low) * per_sigma)
            inlier[n] = hit_mass / (hit_mass + miss_mass)
            count = 0
            for i in range(n_rows):
                if weights[i] <= 0 or i == n:
                    continue
                c = codes[i]
                if c == own:
                    share = -math.exp((low[c] - row[i]) * per_sigma) / total[c]
                elif pooled:
                    share = math.exp((miss_low - row[i]) * per_sigma) / miss_total
                else:
                    share = factors[own, c] * math.exp((low[c] - row[i]) * per_sigma) / total[c]
                rows[count] = i
                coefficients[count] = share * weights[i]
                count += 1
            add_margin(X, n, rows[:count], coefficients[:count], False, out[n])


@kernel
def _class_statistics(row, n, codes, weights, per_sigma, far, low, total):
    """Gather the smallest distance and the mass of every class, seen from row n."""
    low[:] = far
    total[:] = 0.0
    if weights[n] > 1.0:
        low[codes[n]] = 0.0
        total[codes[n]] = weights[n] - 1.0
    for i in range(row.shape[0]):
        if weights[i] > 0 and i != n and row[i] < low[codes[i]]:
            total[codes[i]] *= math.exp((row[i] - low[codes[i]]) * per_sigma)
            low[codes[i]] = row[i]
        if weights[i] > 0 and i != n:
            total[codes[i]] += weights[i] * math.exp((low[codes[i]] - row[i]) * per_sigma)


@fused_kernel
def _add_entropy_terms(row, low, per_sigma, copies, mass, first, second):
    wide_vectors()
    most = row.dtype.type(1000)  # beyond, the share is 0, and stays 0 times a finite number
    for q in range(row.shape[0]):
        e = (row[q] - low[q]) * per_sigma
        e = e if e < most else most
        f = copies * decay(-e)
        mass[q] += f
        first[q] += f * e
        second[q] += f * e * e


@kernel
def neighborhood_entropy(D, weights, anchor_copies, anchor_weights, per_sigma, low, j0, j1):
    """Weighted sum of H_n, and its derivative by log σ, over the anchors n in columns j0 … j1 of D.

    H_n is the entropy of the softmax of −d/σ over all other samples: with e = (d − d_min)/σ and
    Z = Σ exp(−e), H = log Z + E[e] and dH/dlog σ = Var[e].
    """
    m = j1 - j0
    mass = np.zeros(m)
    first = np.zeros(m)
    second = np.zeros(m)
    parts = np.zeros((3, m), D.dtype)
    for q in range(m):
        # The anchor's own copies, at distance 0, which is then also the smallest.
        mass[q] = max(anchor_copies[j0 + q] - 1.0, 0.0)
    for start in range(0, D.shape[0], TILE):
        parts[:] = 0
        for i in range(start, min(start + TILE, D.shape[0])):
            if weights[i] > 0:
                _add_entropy_terms(
                    D[i, j0:j1], low[j0:j1], per_sigma, weights[i], parts[0], parts[1], parts[2]
                )
        for q in range(m):
            mass[q] += parts[0, q]
            first[q] += parts[1, q]
            second[q] += parts[2, q]
    entropy, slope = 0.0, 0.0
    for q in range(m):
        if mass[q] > 0.0 and anchor_weights[j0 + q] > 0.0:
            mean = first[q] / mass[q]
            entropy += anchor_weights[j0 + q] * (math.log(mass[q]) + mean)
            slope += anchor_weights[j0 + q] * (second[q] / mass[q] - mean * mean)
    return entropy, slope
