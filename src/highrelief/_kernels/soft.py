"""Softmax neighborhoods (Sun 2007, eqs. 8 to 11) and the margins they give.

For an anchor n and a class c, ``nearest[c, n]`` is the smallest distance to another row of c and
``mass[c, n]`` = Σ_i s_i·f(d_ni − nearest[c, n]) with f(d) = exp(−d/σ) and s_i copies of row i. Both merge
over disjoint sets of rows, so that they can be gathered tile by tile.

Distances are kept from one pass to the next as tiles of the upper triangle, ``D[t]``, or computed in each
pass, where D is empty, from the first len(w) columns of X under the weights w. What is made of them is the
same, bit for bit. Where values are missing, ``correction`` says what that adds; see :mod:`.incomplete`.
"""

import math

import numpy as np

from .distances import MASKED, TILE, finish_tile, tile_corner, weighted_block, weighted_tile
from .jit import fused_kernel, kernel, wide_vectors
from .missing import add_tile_correction
from .nearest import add_margin
from .vectors import decay

# Neighbors only within the batch of a sample, or only in the others.


@kernel
def mask_batches(D, anchors, j, n_columns, batches, within):
    """Put out of reach in D, distances of ``anchors`` to rows from j on, who cannot be a neighbor."""
    for r in range(anchors.shape[0]):
        own = batches[anchors[r]]
        for u in range(n_columns):
            if (batches[j + u] == own) != within:
                D[r, u] = np.uint32(MASKED)


@kernel
def mask_tile(F, far, i0, i1, j0, j1, batches, within):
    """The same for a tile of distances between rows i0 … i1 and j0 … j1; no batches, nothing to do."""
    if batches.shape[0] == 0:
        return
    for p in range(i1 - i0):
        own = batches[i0 + p]
        for q in range(j1 - j0):
            if (batches[j0 + q] == own) != within:
                F[p, q] = far


def masked_distance(dtype):
    """Distance of a padding row, and of a row to itself: its share in any sum is exactly 0."""
    return float(np.finfo(dtype).max) / 8


@kernel
def copy_row(row, out):
    """Copy a row. An assignment of slices would compile the message for shapes that differ: seconds."""
    wide_vectors()
    for q in range(out.shape[0]):
        out[q] = row[q]


@kernel
def _keep_tile(T, correction, far, batches, within, i0, i1, j0, j1, F):
    """Bring distances into F, in the precision of the data; the diagonal is ``far``.

    So are, where there are ``batches``, rows that cannot be neighbors (:mod:`.batch_constraint`).
    """
    for p in range(i1 - i0):
        copy_row(T[p], F[p, : j1 - j0])
    add_tile_correction(correction, i0, i1, j0, j1, F)
    if i0 == j0:
        for p in range(i1 - i0):
            F[p, p] = far
    mask_tile(F, far, i0, i1, j0, j1, batches, within)


@kernel
def compute_tile(X, w, sums, correction, far, batches, within, i0, i1, j0, j1, T, F):
    """Fill F with the distances of a tile; T is scratch space for them in float64."""
    weighted_tile(X, w, sums, i0, i1, j0, j1, T)
    _keep_tile(T, correction, far, batches, within, i0, i1, j0, j1, F)


@kernel
def fill_distances(X, w, sums, correction, far, batches, within, t0, t1, D):
    """Store tiles t0 … t1."""
    n = X.shape[0]
    T = np.empty((TILE, TILE))
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        compute_tile(X, w, sums, correction, far, batches, within, i0, i1, j0, j1, T, D[t])


@kernel
def distances_from_minima(M, sums, correction, far, batches, within, t0, t1, D):
    """Store tiles t0 … t1, whose sums of minima are in M; M is not the same afterwards."""
    n = sums.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        finish_tile(sums, i0, i1, j0, j1, M[t])
        _keep_tile(M[t], correction, far, batches, within, i0, i1, j0, j1, D[t])


@kernel
def stored_columns(D, anchors, out):
    """Read the distances of all rows to the rows ``anchors`` from the tiles."""
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
    """Compute the distances of all rows of X to the rows of A, whole blocks of them but at most 64.

    As if nothing were missing; see :func:`.incomplete.add_column_correction`.
    """
    T = np.empty((TILE, TILE))
    for i0 in range(0, X.shape[0], TILE):
        i1 = min(i0 + TILE, X.shape[0])
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
def _add_mass(low, before, per_sigma, far, partial, total):
    """Add what was found by ``partial`` around ``low`` to what was known around ``before``."""
    wide_vectors()
    for q in range(low.shape[0]):
        shrunk = total[q] * decay((np.float64(low[q]) - np.float64(before[q])) * per_sigma)
        total[q] = shrunk + partial[q] if low[q] < far else 0.0


@kernel
def merge_rows(F, i0, n_rows, j0, n_columns, codes, weights, per_sigma, far, scratch, nearest, mass):
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
        _add_mass(low, before, per_sigma, far, partial, mass[code, j0 : j0 + n_columns])
        p = end


@kernel
def tile_statistics(
    X, w, sums, correction, D, known, codes, weights, per_sigma, far, batches, within, t0, t1, nearest, mass
):
    """Gather ``nearest`` (from ``far`` on) and ``mass`` (from 0) over tiles t0 … t1.

    Tiles are read from D if they are ``known``, otherwise computed, and stored if D has room for them.
    """
    n = codes.shape[0]
    T = np.empty((TILE, TILE))
    own = np.empty((1, TILE, TILE), X.dtype)
    G = np.empty((TILE, TILE), X.dtype)
    scratch = np.empty((2, TILE), X.dtype)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        F = D[t] if D.shape[0] > 0 else own[0]
        if not known:
            compute_tile(X, w, sums, correction, far, batches, within, i0, i1, j0, j1, T, F)
        merge_rows(F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, far, scratch, nearest, mass)
        if i0 != j0:
            for p in range(i1 - i0):
                row = F[p]
                for q in range(j1 - j0):
                    G[q, p] = row[q]
            merge_rows(G, j0, j1 - j0, i0, i1 - i0, codes, weights, per_sigma, far, scratch, nearest, mass)


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
    most = row.dtype.type(1000)  # beyond, the share is 0, and stays 0 times a finite number
    for q in range(row.shape[0]):
        e = (row[q] - low[q]) * per_sigma
        e = e if e < most else most
        f = sample_weight * decay(-e)
        mass[q] += f
        first[q] += f * e
        second[q] += f * e * e


@kernel
def add_entropy_moments(D, weights, per_sigma, low, moments):
    """Add Σ f, Σ f·e and Σ f·e² over the rows of D, with e = (d − low)/σ and f = exp(−e) of each copy.

    One row of ``moments`` each, for the anchors in the columns of D.
    """
    m = D.shape[1]
    parts = np.zeros((3, m), D.dtype)
    for start in range(0, D.shape[0], TILE):
        parts[:] = 0
        for i in range(start, min(start + TILE, D.shape[0])):
            if weights[i] > 0:
                _add_entropy_terms(D[i], low, per_sigma, weights[i], parts[0], parts[1], parts[2])
        for q in range(m):
            moments[0, q] += parts[0, q]
            moments[1, q] += parts[1, q]
            moments[2, q] += parts[2, q]


@kernel
def own_entropy_moments(anchor_weight, own, per_sigma, low, moments):
    """The same of the further copies of the anchors alone, which are ``own`` from them."""
    for q in range(moments.shape[1]):
        mass, first, second = max(anchor_weight[q] - 1.0, 0.0), 0.0, 0.0
        if own[q] > 0.0 and mass > 0.0:
            e = min((own[q] - low[q]) * per_sigma, 1000.0)
            mass *= math.exp(-e)
            first = mass * e
            second = first * e
        moments[0, q], moments[1, q], moments[2, q] = mass, first, second


@kernel
def entropy_of_moments(moments, anchor_weights):
    """Weighted sum over the anchors of H_n, and its derivative by log σ.

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
# With ``nearest`` and ``mass`` of :mod:`.soft`, what is missing of an expected distance, and of an entropy,
# is the first moment of e = (d − nearest)/σ: ``moment[c, n]`` = Σ_i s_i·exp(−e)·e over the rows i of class
# c. Then E[d] = nearest + σ·moment/mass, and the entropy of the softmax is log(mass) + moment/mass.


@fused_kernel
def _add_moment_row(row, low, per_sigma, sample_weight, partial):
    wide_vectors()
    most = row.dtype.type(1000)  # beyond, the share is 0, and stays 0 times a finite number
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
    X, w, sums, correction, D, known, codes, weights, per_sigma, far, batches, within, nearest, t0, t1, moment
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
            compute_tile(X, w, sums, correction, far, batches, within, i0, i1, j0, j1, T, F)
        _add_moments(F, i0, i1 - i0, j0, j1 - j0, codes, weights, per_sigma, partial, nearest, moment)
        if i0 != j0:
            for p in range(i1 - i0):
                row = F[p]
                for q in range(j1 - j0):
                    G[q, p] = row[q]
            _add_moments(G, j0, j1 - j0, i0, i1 - i0, codes, weights, per_sigma, partial, nearest, moment)


@kernel
def expected_distances(X, w, sums, codes, weights, Q, query_sums, correction, per_sigma, far, out):
    """Fill out[c, q] with E[d] between row q of Q, at most 64, and the rows of X that are of class c.

    ``correction`` is what missing values add to distances, or has no entries.
    """
    n, m = X.shape[0], Q.shape[0]
    D = np.empty((n, m), X.dtype)
    computed_columns(X, w, sums, Q, query_sums, D)
    for i in range(correction.shape[0]):
        for q in range(m):
            D[i, q] += correction[i, q]
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


# Margins of single rows under softmax neighborhoods (Sun 2007, eq. 11, row by row).


@kernel
def margins_from_distances(X, D, start, first, codes, weights, per_sigma, nearest, scales, out):
    """Margin vectors, over the columns of X, of as many rows from ``first`` on as D has columns of distances.

    The share of row i in that of row n is s_i·scales[class of i, n]·f(d_ni − nearest[class of i, n]). D holds
    the distances of as many rows i as it has, from ``start`` on.
    """
    n_rows = D.shape[0]
    rows = np.empty(n_rows, np.int64)
    shares = np.empty(n_rows)
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
