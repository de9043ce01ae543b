"""Softmax neighborhoods (Sun 2007, eqs. 8 to 11), their entropies, expected distances and margins.

For an anchor n and a class c, ``nearest[c, n]`` is the smallest distance to another row of c and
``mass[c, n]`` = Σ_i s_i·f(d_ni − nearest[c, n]) with f(d) = exp(−d/σ) and the sample weights s_i. Both can be
merged over disjoint sets of rows, and are accumulated tile by tile.

Distances are stored as tiles of the upper triangle, ``D[t]``, or, if D is empty, recomputed in each pass from
the first len(w) columns of X under the weights w. Results are bitwise identical. ``correction`` contains the
corrections for missing values; see :func:`.missing.add_tile_correction`.
"""

import math

import numpy as np

from .distances import MASKED, TILE, finish_tile, tile_corner, weighted_block, weighted_tile
from .intrinsics import empty, maximum, minimum, zeros
from .jit import fused_kernel, kernel, wide_vectors
from .missing import add_tile_correction
from .nearest import add_margin
from .vectors import decay

# Batch constraints: neighbors only within the batch of a sample, or only outside of it.


@kernel
def mask_batches(D, anchors, j, n_columns, batches, within):
    """Mask the pairs in D, distances of ``anchors`` to rows from j on, that violate the batch constraint."""
    for r in range(anchors.shape[0]):
        own = batches[anchors[r]]
        for u in range(n_columns):
            if (batches[j + u] == own) != within:
                D[r, u] = np.uint32(MASKED)


@kernel
def mask_tile(F, masked, i0, i1, j0, j1, batches, within):
    """Mask the pairs of a tile, rows i0 … i1 and j0 … j1, that violate the batch constraint.

    Without ``batches`` nothing is masked.
    """
    if batches.shape[0] == 0:
        return
    for p in range(i1 - i0):
        own = batches[i0 + p]
        for q in range(j1 - j0):
            if (batches[j0 + q] == own) != within:
                F[p, q] = masked


def masked_distance(dtype):
    """Return the distance of masked pairs (padding, a row and itself): their share is exactly 0."""
    return float(np.finfo(dtype).max) / 8


@kernel
def copy_row(row, out):
    """Copy a row. A slice assignment would take seconds to compile, because of its error message."""
    wide_vectors()
    for q in range(out.shape[0]):
        out[q] = row[q]


@kernel
def _store_tile(T, correction, masked, batches, within, i0, i1, j0, j1, F):
    """Write distances to F in the precision of the data; the diagonal is ``masked``.

    So are pairs that violate the batch constraint, if there are ``batches`` (:func:`mask_tile`).
    """
    for p in range(i1 - i0):
        copy_row(T[p], F[p, : j1 - j0])
    add_tile_correction(correction, i0, i1, j0, j1, F)
    if i0 == j0:
        for p in range(i1 - i0):
            F[p, p] = masked
    mask_tile(F, masked, i0, i1, j0, j1, batches, within)


@kernel
def compute_tile(X, w, sums, correction, masked, batches, within, i0, i1, j0, j1, T, F):
    """Fill F with the distances of a tile; T is float64 scratch space."""
    weighted_tile(X, w, sums, i0, i1, j0, j1, T)
    _store_tile(T, correction, masked, batches, within, i0, i1, j0, j1, F)


@kernel
def fill_distances(X, w, sums, correction, masked, batches, within, t0, t1, D):
    """Compute and store tiles t0 … t1."""
    n = X.shape[0]
    T = empty((TILE, TILE), np.float64)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n), minimum(j0 + TILE, n)
        compute_tile(X, w, sums, correction, masked, batches, within, i0, i1, j0, j1, T, D[t])


@kernel
def distances_from_minima(M, sums, correction, masked, batches, within, t0, t1, D):
    """Store tiles t0 … t1 from their sums of minima M, which are overwritten."""
    n = sums.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n), minimum(j0 + TILE, n)
        finish_tile(sums, i0, i1, j0, j1, M[t])
        _store_tile(M[t], correction, masked, batches, within, i0, i1, j0, j1, D[t])


@kernel
def stored_columns(D, anchors, out):
    """Read the distances of all rows to the rows ``anchors`` from stored tiles."""
    for q in range(anchors.shape[0]):
        a, place = anchors[q] // TILE, anchors[q] % TILE
        for i in range(out.shape[0]):
            b = i // TILE
            if b <= a:
                out[i, q] = D[a * (a + 1) // 2 + b, i % TILE, place]
            else:
                out[i, q] = D[b * (b + 1) // 2 + a, place, i % TILE]


@kernel
def computed_columns(X, w, sums, A, anchor_sums, out):
    """Compute the distances of all rows of X to the rows of A, whole blocks of rows and at most 64.

    Without corrections for missing values; see :func:`.missing.add_column_correction`.
    """
    T = empty((TILE, TILE), np.float64)
    for i0 in range(0, X.shape[0], TILE):
        i1 = minimum(i0 + TILE, X.shape[0])
        weighted_block(X, sums, i0, i1, A, anchor_sums, w, T)
        for p in range(i1 - i0):
            copy_row(T[p], out[i0 + p])


@kernel
def _lower_to_row(row, low):
    wide_vectors()
    for q in range(low.shape[0]):
        low[q] = row[q] if row[q] < low[q] else low[q]


@fused_kernel
def _add_decayed_row(row, low, per_sigma, sample_weight, partial):
    wide_vectors()
    for q in range(low.shape[0]):
        partial[q] += sample_weight * decay((low[q] - row[q]) * per_sigma)


@fused_kernel
def _add_mass(low, before, per_sigma, masked, partial, total):
    """Add the mass ``partial`` around ``low`` to the mass ``total`` around ``before``."""
    wide_vectors()
    for q in range(low.shape[0]):
        shrunk = total[q] * decay((np.float64(low[q]) - np.float64(before[q])) * per_sigma)
        total[q] = shrunk + partial[q] if low[q] < masked else 0.0


@kernel
def merge_rows(F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, masked, scratch, nearest, mass):
    """Merge a tile's rows into the statistics of the anchors in its columns."""
    before, partial = scratch[0, :n_columns], scratch[1, :n_columns]
    p = 0
    while p < n_rows:
        code = codes[i0 + p]
        end = p
        while end < n_rows and codes[i0 + end] == code:
            end += 1
        low = nearest[code, j0 : j0 + n_columns]
        copy_row(low, before)
        partial[:] = 0
        for r in range(p, end):
            if weights[i0 + r] > 0:
                _lower_to_row(F[r], low)
        for r in range(p, end):
            if weights[i0 + r] > 0:
                _add_decayed_row(F[r], low, per_sigma, weights[i0 + r], partial)
        _add_mass(low, before, per_sigma, masked, partial, mass[code, j0 : j0 + n_columns])
        p = end


@kernel
def tile_statistics(
    X,
    w,
    sums,
    correction,
    D,
    stored,
    codes,
    weights,
    per_sigma,
    masked,
    batches,
    within,
    t0,
    t1,
    nearest,
    mass,
):
    """Accumulate ``nearest`` (initially ``masked``) and ``mass`` (initially 0) over tiles t0 … t1.

    Tiles are read from D if ``stored``; otherwise they are computed, and stored unless D is empty.
    """
    n = codes.shape[0]
    T = empty((TILE, TILE), np.float64)
    own = empty((1, TILE, TILE), X.dtype)
    G = empty((TILE, TILE), X.dtype)
    scratch = empty((2, TILE), X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n), minimum(j0 + TILE, n)
        F = D[t] if D.shape[0] > 0 else own[0]
        if not stored:
            compute_tile(X, w, sums, correction, masked, batches, within, i0, i1, j0, j1, T, F)
        merge_rows(F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, masked, scratch, nearest, mass)
        if i0 != j0:
            for p in range(i1 - i0):
                row = F[p]
                for q in range(j1 - j0):
                    G[q, p] = row[q]
            merge_rows(G, j0, j1 - j0, i0, i1 - i0, codes, weights, per_sigma, masked, scratch, nearest, mass)


@kernel
def merge_statistics(nearest, mass, other_nearest, other_mass, per_sigma):
    """Merge the statistics over other rows into ``nearest`` and ``mass``."""
    wide_vectors()
    for q in range(nearest.shape[0]):
        low, other = np.float64(nearest[q]), np.float64(other_nearest[q])
        joint = low if low < other else other
        mass[q] = mass[q] * decay((joint - low) * per_sigma) + other_mass[q] * decay(
            (joint - other) * per_sigma
        )
        nearest[q] = joint


@fused_kernel
def _add_entropy_terms(row, low, per_sigma, sample_weight, mass, first, second):
    wide_vectors()
    most = row.dtype.type(1000)  # beyond, the share is 0; a finite e keeps the product 0
    for q in range(row.shape[0]):
        e = (row[q] - low[q]) * per_sigma
        e = e if e < most else most
        f = sample_weight * decay(-e)
        mass[q] += f
        first[q] += f * e
        second[q] += f * e * e


@kernel
def add_entropy_moments(D, weights, per_sigma, low, moments):
    """Add Σ f, Σ f·e and Σ f·e² over the rows of D, with e = (d − low)/σ and f = s·exp(−e).

    ``moments`` has one row for each sum, and one column for each anchor, as D.
    """
    m = D.shape[1]
    parts = zeros((3, m), D.dtype)
    for start in range(0, D.shape[0], TILE):
        parts[:] = 0
        for i in range(start, minimum(start + TILE, D.shape[0])):
            if weights[i] > 0:
                _add_entropy_terms(D[i], low, per_sigma, weights[i], parts[0], parts[1], parts[2])
        for q in range(m):
            moments[0, q] += parts[0, q]
            moments[1, q] += parts[1, q]
            moments[2, q] += parts[2, q]


@kernel
def own_entropy_moments(anchor_weight, own, per_sigma, low, moments):
    """Write the entropy moments of the anchors' own duplicates, at the distances ``own``.

    An anchor of sample weight s has s − 1 duplicates.
    """
    for q in range(moments.shape[1]):
        mass, first, second = maximum(anchor_weight[q] - 1.0, 0.0), 0.0, 0.0
        if own[q] > 0.0 and mass > 0.0:
            e = minimum((own[q] - low[q]) * per_sigma, 1000.0)
            mass *= math.exp(-e)
            first = mass * e
            second = first * e
        moments[0, q], moments[1, q], moments[2, q] = mass, first, second


@kernel
def entropy_of_moments(moments, anchor_weights):
    """Return the weighted sum of the entropies H_n of the anchors, and its derivative by log σ.

    H_n is the entropy of the softmax of −d/σ over all other samples: with e = (d − d_min)/σ and
    Z = Σ exp(−e), H = log Z + E[e] and dH/dlog σ = Var[e].
    """
    entropy, slope = 0.0, 0.0
    for q in range(moments.shape[1]):
        mass = moments[0, q]
        if mass > 0.0 and anchor_weights[q] > 0.0:
            mean = moments[1, q] / mass
            entropy += anchor_weights[q] * (math.log(mass) + mean)
            slope += anchor_weights[q] * (moments[2, q] / mass - mean * mean)
    return entropy, slope


# Expected distances in softmax neighborhoods (Bei and Hong 2015, eqs. 5, 6 and 10).
#
# In addition to ``nearest`` and ``mass``, expected distances and entropies need the first moment of
# e = (d − nearest)/σ: ``moment[c, n]`` = Σ_i s_i·exp(−e)·e over the rows i of class c. Then
# E[d] = nearest + σ·moment/mass, and the entropy of the softmax is log(mass) + moment/mass.


@fused_kernel
def _add_moment_row(row, low, per_sigma, sample_weight, partial):
    wide_vectors()
    most = row.dtype.type(1000)  # beyond, the share is 0; a finite e keeps the product 0
    for q in range(low.shape[0]):
        e = (row[q] - low[q]) * per_sigma
        e = e if e < most else most
        partial[q] += sample_weight * decay(-e) * e


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
    X,
    w,
    sums,
    correction,
    D,
    stored,
    codes,
    weights,
    per_sigma,
    masked,
    batches,
    within,
    nearest,
    t0,
    t1,
    moment,
):
    """Accumulate ``moment`` (initially 0) over tiles t0 … t1, around ``nearest``, the minimum over all tiles.

    Tiles are read from D if ``stored``; otherwise they are computed, and stored unless D is empty.
    """
    n = codes.shape[0]
    T = empty((TILE, TILE), np.float64)
    own = empty((1, TILE, TILE), X.dtype)
    G = empty((TILE, TILE), X.dtype)
    partial = empty(TILE, X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = minimum(i0 + TILE, n), minimum(j0 + TILE, n)
        F = D[t] if D.shape[0] > 0 else own[0]
        if not stored:
            compute_tile(X, w, sums, correction, masked, batches, within, i0, i1, j0, j1, T, F)
        _add_moments(F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, partial, nearest, moment)
        if i0 != j0:
            for p in range(i1 - i0):
                row = F[p]
                for q in range(j1 - j0):
                    G[q, p] = row[q]
            _add_moments(G, j0, j1 - j0, i0, i1 - i0, codes, weights, per_sigma, partial, nearest, moment)


@kernel
def expected_distances(X, w, sums, codes, weights, Q, query_sums, correction, per_sigma, masked, out):
    """Fill out[c, q] with E[d] between row q of Q, at most 64 rows, and the rows of class c of X.

    ``correction`` contains the corrections of the distances for missing values, or is empty.
    """
    n, m = X.shape[0], Q.shape[0]
    D = empty((n, m), X.dtype)
    computed_columns(X, w, sums, Q, query_sums, D)
    for i in range(correction.shape[0]):
        for q in range(m):
            D[i, q] += correction[i, q]
    nearest = np.full(out.shape, masked, X.dtype)
    mass = zeros(out.shape, np.float64)
    moment = zeros(out.shape, np.float64)
    scratch = empty((2, m), X.dtype)
    for i0 in range(0, n, TILE):
        n_rows = minimum(TILE, n - i0)
        merge_rows(D[i0:], i0, n_rows, 0, m, codes, weights, per_sigma, masked, scratch, nearest, mass)
    for i0 in range(0, n, TILE):
        n_rows = minimum(TILE, n - i0)
        _add_moments(D[i0:], i0, n_rows, 0, m, codes, weights, per_sigma, scratch[0], nearest, moment)
    for c in range(out.shape[0]):
        for q in range(m):
            out[c, q] = nearest[c, q] + moment[c, q] / mass[c, q] / per_sigma


# Margins of single rows under softmax neighborhoods (Sun 2007, eq. 11, row by row).


@kernel
def margins_from_distances(X, D, start, first, codes, weights, per_sigma, nearest, scales, out):
    """Add the margins, over the columns of X, of the rows from ``first`` on, one for each column of D.

    The coefficient of row i in the margin of row n is s_i·scales[class of i, n]·f(d_ni − nearest[class of i,
    n]). The rows of D are the rows i from ``start`` on.
    """
    n_rows = D.shape[0]
    rows = empty(n_rows, np.int64)
    shares = empty(n_rows, np.float64)
    for q in range(D.shape[1]):
        n = first + q
        count = 0
        for p in range(n_rows):
            i = start + p
            c = codes[i]
            share = weights[i] * scales[c, n] * decay((nearest[c, n] - D[p, q]) * per_sigma)
            if share != 0:
                rows[count] = i
                shares[count] = share
                count += 1
        add_margin(X, n, rows[:count], shares[:count], out[n])
