"""Column ranges, distances and margins of sparse rows.

Rows are in SciPy's CSR format, in the order of the table: ``values[indptr[r] : indptr[r + 1]]`` are the
values of row r in the columns ``indices[…]``, each column at most once. ``position`` maps rows of the layout
(:mod:`.packing`) to rows of the table; a padding row is empty.

The Manhattan distance of two scaled rows is Σ|a| + Σ|b| − 2·Σ min(|a|, |b|), where the last sum runs over the
columns in which both are nonzero and have the same sign. It is accumulated from a column index of the rows:
for every value of a row, the values in the same column. Squared Euclidean distances follow from products in
the same way.
"""

import numpy as np

from .distances import TILE
from .intrinsics import empty, maximum, minimum, zeros
from .jit import kernel
from .nearest import MANHATTAN, list_others, most_others
from .simd import prefetch

#: Distance, in values of a row, between the present column and the one that is prefetched.
_AHEAD = 6
#: Entries of an index per cache line.
_LINE = 16
#: Rows of distances that are transposed together: a cache line of float32.
_MIRRORED = 16


@kernel
def column_ranges(indices, values, low, high, total, count):
    """Extend the column ranges by the stored values; add these to ``total``, and count them."""
    for t in range(indices.shape[0]):
        j, x = indices[t], values[t]
        low[j] = minimum(low[j], x)
        high[j] = maximum(high[j], x)
        total[j] += x
        count[j] += 1


@kernel
def scale_values(indices, values, origin, factors, scaled):
    """Write (x − origin)·factor of the stored values to ``scaled``."""
    for t in range(indices.shape[0]):
        scaled[t] = (values[t] - origin[indices[t]]) * factors[indices[t]]


@kernel
def row_sums(indptr, scaled, position, squared, sums):
    """Write Σ|a|, or Σa², of every row of the layout to ``sums``."""
    for p in range(position.shape[0]):
        r = position[p]
        total = 0.0
        if r >= 0:
            for t in range(indptr[r], indptr[r + 1]):
                a = np.float64(scaled[t])
                total += a * a if squared else abs(a)
        sums[p] = total


@kernel
def index_columns(indptr, indices, scaled, position, p0, p1, starts, members, values):
    """Index the rows p0 … p1 of the layout by columns, in their order: row − p0, and value.

    Column j has the entries ``starts[j]`` … ``starts[j + 1]``; ``starts`` comes filled with 0.
    """
    n_features = starts.shape[0] - 1
    for p in range(p0, p1):
        r = position[p]
        if r >= 0:
            for t in range(indptr[r], indptr[r + 1]):
                starts[indices[t] + 1] += 1
    free = empty(n_features, np.int64)
    for j in range(n_features):
        starts[j + 1] += starts[j]
        free[j] = starts[j]
    for p in range(p0, p1):
        r = position[p]
        if r >= 0:
            for t in range(indptr[r], indptr[r + 1]):
                j = indices[t]
                members[free[j]] = p - p0
                values[free[j]] = scaled[t]
                free[j] += 1


@kernel
def _add_minima(a, first, u0, u1, members, values, overlap):
    """Add min(|a|, |b|) for the values b of the sign of a in a column, from its last member to ``first``."""
    if a > 0.0:
        for u in range(u1 - 1, u0 - 1, -1):
            m = members[u]
            if m < first:
                break
            b = np.float64(values[u])
            least = a if a < b else b
            overlap[m] += least if least > 0.0 else 0.0
    elif a < 0.0:
        for u in range(u1 - 1, u0 - 1, -1):
            m = members[u]
            if m < first:
                break
            b = np.float64(values[u])
            least = a if a > b else b
            overlap[m] -= least if least < 0.0 else 0.0


@kernel
def _add_value_products(a, first, u0, u1, members, values, overlap):
    """Add a·b for the values b of a column, from its last member to ``first``."""
    for u in range(u1 - 1, u0 - 1, -1):
        m = members[u]
        if m < first:
            break
        overlap[m] += a * np.float64(values[u])


@kernel
def add_overlaps(indices, scaled, t0, t1, first, squared, starts, members, values, overlap):
    """Add Σ min(|a|, |b|), or Σ ab, of a row stored at t0 … t1 with members from ``first`` on of an index."""
    for t in range(t0, t1):
        # Columns are scattered in memory.
        end = starts[indices[minimum(t + _AHEAD, t1 - 1)] + 1]
        prefetch(members, end - _LINE)
        prefetch(values, end - _LINE)
        prefetch(members, end - 2 * _LINE)
        prefetch(values, end - 2 * _LINE)
        j = indices[t]
        a = np.float64(scaled[t])
        if a == 0.0:
            continue
        if squared:
            _add_value_products(a, first, starts[j], starts[j + 1], members, values, overlap)
        else:
            _add_minima(a, first, starts[j], starts[j + 1], members, values, overlap)


@kernel
def fill_distances(
    indptr,
    indices,
    scaled,
    position,
    sums,
    squared,
    rows,
    k0,
    k1,
    starts,
    members,
    values,
    q0,
    n_columns,
    upper_only,
    add,
    D,
):
    """Write (or add) the distances of ``rows[k0:k1]`` of the layout to rows of an index, from q0 on, to D.

    ``upper_only``: only distances to later rows; :func:`mirror` copies the others.
    """
    overlap = empty(n_columns, np.float64)
    for k in range(k0, k1):
        p = rows[k]
        first = p - q0 + 1 if upper_only else 0
        for q in range(first, n_columns):
            overlap[q] = 0.0
        r = position[p]
        if r >= 0:
            add_overlaps(
                indices, scaled, indptr[r], indptr[r + 1], first, squared, starts, members, values, overlap
            )
        own = sums[p]
        for q in range(first, n_columns):
            distance = own + sums[q0 + q] - 2.0 * overlap[q]
            # Rounding can leave −ε for rows that are nearly equal.
            distance = distance if distance > 0.0 else 0.0
            D[k, q] = distance + np.float64(D[k, q]) if add else distance


@kernel
def mirror(D, k0, k1, n_columns, upper_only, E):
    """Write the columns of ``D[k0:k1]`` to rows of E; all of them, or only those beyond the diagonal."""
    for block in range(k0, k1, _MIRRORED):
        end = minimum(block + _MIRRORED, k1)
        for q in range(block + 1 if upper_only else 0, n_columns):
            last = minimum(end, q) if upper_only else end
            for k in range(block, last):
                E[q, k] = D[k, q]


@kernel
def add_exact(
    indptr, indices, values, factors, metric, position, anchors, a0, a1, start, count, sure, rows, exact
):
    """Add the distances of unsure candidates to ``exact``, difference by difference.

    As :func:`.nearest.add_exact` for dense rows.
    """
    own = zeros(factors.shape[0], np.float64)
    seen = np.full(factors.shape[0], -1, np.int64)
    for a in range(a0, a1):
        r = position[anchors[a]]
        for t in range(indptr[r], indptr[r + 1]):
            own[indices[t]] = values[t]
        for slot in range(start.shape[1]):
            for place in range(start[a, slot] + sure[a, slot], start[a, slot] + count[a, slot]):
                other = position[rows[place]]
                total = 0.0
                for t in range(indptr[other], indptr[other + 1]):
                    j = indices[t]
                    difference = (own[j] - values[t]) * factors[j]
                    total += abs(difference) if metric == MANHATTAN else difference * difference
                    seen[j] = place
                for t in range(indptr[r], indptr[r + 1]):
                    j = indices[t]
                    if seen[j] != place:
                        difference = values[t] * factors[j]
                        total += abs(difference) if metric == MANHATTAN else difference * difference
                exact[place] += total
        for t in range(indptr[r], indptr[r + 1]):
            own[indices[t]] = 0.0


# Margins of k-nearest neighborhoods.
#
# Σ_t c_t·|x − x_t| = (Σ_t c_t)·|x| + Σ_t c_t·(|x − x_t| − |x|), and the terms of the last sum are 0 where x_t
# is 0: one pass over the stored values of the neighbors.


@kernel
def _add_margin(indptr, indices, values, r, others, coefficients, n_others, squared, work):
    """Add Σ_t coefficients[t]·|x_r − x_others[t]|, or squares, to ``work[:, 1]``.

    ``work[:, 0]``, adjacent in memory, is scratch space that is 0 before and after.
    """
    for u in range(indptr[r], indptr[r + 1]):
        work[indices[u], 0] = values[u]
    total = 0.0
    for t in range(n_others):
        coefficient = coefficients[t]
        total += coefficient
        for u in range(indptr[others[t]], indptr[others[t] + 1]):
            j = np.uintp(indices[u])
            own, other = work[j, 0], values[u]
            difference = other * (other - 2.0 * own) if squared else abs(own - other) - abs(own)
            work[j, 1] += coefficient * difference
    for u in range(indptr[r], indptr[r + 1]):
        j, own = np.uintp(indices[u]), values[u]
        work[j, 1] += total * (own * own if squared else abs(own))
        work[j, 0] = 0.0


@kernel
def _flush_moments(indices, u0, u1, sample_weight, work, out):
    """Add the moments of a margin in some columns to ``out``, and reset it to 0 there."""
    for u in range(u0, u1):
        j = indices[u]
        t = sample_weight * work[j, 1]
        out[0, j] += t
        out[1, j] += sample_weight * t
        out[2, j] += t * t
        work[j, 1] = 0.0


@kernel
def margins(
    indptr,
    indices,
    values,
    squared,
    position,
    anchors,
    a0,
    a1,
    codes,
    sample_weight,
    slot_factors,
    start,
    count,
    rows,
    shares,
    out,
):
    """Add the margins of anchors a0 … a1, times their sample weights s, to ``out[0]``.

    If ``out`` has three rows, Σ s²z and Σ s²z² are added to the others; see :func:`.nearest.margins`.
    """
    most = most_others(a0, a1, count)
    others, coefficients = empty(most, np.int64), empty(most, np.float64)
    work = zeros((out.shape[1], 2), np.float64)
    for a in range(a0, a1):
        n = anchors[a]
        r = position[n]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
        )
        if out.shape[0] == 1:
            for t in range(n_others):
                coefficients[t] *= sample_weight[n]
        _add_margin(indptr, indices, values, r, others, coefficients, n_others, squared, work)
        if out.shape[0] > 1:
            _flush_moments(indices, indptr[r], indptr[r + 1], sample_weight[n], work, out)
            for t in range(n_others):
                i = others[t]
                _flush_moments(indices, indptr[i], indptr[i + 1], sample_weight[n], work, out)
    for j in range(out.shape[1]):
        out[0, j] += work[j, 1]


@kernel
def _flush_weighted(indices, u0, u1, w, work):
    """Return Σ w·z over some columns of a margin z, and reset it to 0 there."""
    total = 0.0
    for u in range(u0, u1):
        j = indices[u]
        total += w[j] * work[j, 1]
        work[j, 1] = 0.0
    return total


@kernel
def margins_under(
    indptr,
    indices,
    values,
    squared,
    position,
    anchors,
    a0,
    a1,
    codes,
    slot_factors,
    start,
    count,
    rows,
    shares,
    w,
    out,
):
    """Write Σ_j w_j·z_j of the margins z of anchors a0 … a1 to ``out``, by sample."""
    most = most_others(a0, a1, count)
    others, coefficients = empty(most, np.int64), empty(most, np.float64)
    work = zeros((w.shape[0], 2), np.float64)
    for a in range(a0, a1):
        n = anchors[a]
        r = position[n]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
        )
        _add_margin(indptr, indices, values, r, others, coefficients, n_others, squared, work)
        total = _flush_weighted(indices, indptr[r], indptr[r + 1], w, work)
        for t in range(n_others):
            total += _flush_weighted(indices, indptr[others[t]], indptr[others[t] + 1], w, work)
        out[r] = total


# Weighted distances and sums over all pairs, in the tiles of :mod:`.soft`.


@kernel
def fill_tiles(indptr, indices, scaled, position, sums, masked, p0, p1, starts, members, values, D):
    """Store the distances of rows p0 … p1 to all later ones; those on the diagonal are ``masked``.

    ``sums`` contains Σ|a| of every row, and ``masked`` for padding.
    """
    n = position.shape[0]
    overlap = empty(n, np.float64)
    for p in range(p0, p1):
        for q in range(p, n):
            overlap[q] = 0.0
        r = position[p]
        if r >= 0:
            add_overlaps(
                indices, scaled, indptr[r], indptr[r + 1], p + 1, False, starts, members, values, overlap
            )
        b, i = p // TILE, p % TILE
        D[b * (b + 1) // 2 + b, i, i] = masked
        for q in range(p + 1, n):
            a = q // TILE
            distance = sums[p] + sums[q] - 2.0 * overlap[q]
            # Rounding can leave −ε for rows that are nearly equal.
            distance = distance if distance > 0.0 else 0.0
            D[a * (a + 1) // 2 + b, i, q % TILE] = distance
            if a == b:
                D[a * (a + 1) // 2 + b, q % TILE, i] = distance


@kernel
def add_overlap_products(indptr, indices, scaled, position, S, p0, p1, starts, members, values, out):
    """Add Σ S_pq·(|a| + |b| − |a − b|) over the pairs of rows p0 … p1 with all later ones, column by column.

    ``S`` contains the coefficients of pairs, each once, in tiles.
    """
    n = position.shape[0]
    row = empty(n, np.float64)
    for p in range(p0, p1):
        r = position[p]
        if r < 0:
            continue
        b, i = p // TILE, p % TILE
        for q in range(p + 1, n):
            a = q // TILE
            row[q] = S[a * (a + 1) // 2 + b, i, q % TILE]
        for t in range(indptr[r], indptr[r + 1]):
            j = indices[t]
            own = np.float64(scaled[t])
            sign = 1.0 if own > 0.0 else -1.0
            total = 0.0
            for u in range(starts[j + 1] - 1, starts[j] - 1, -1):
                m = members[u]
                if m <= p:
                    break
                x, y = sign * own, sign * values[u]
                least = x if x < y else y
                total += row[m] * (least if least > 0.0 else 0.0)
            out[j] += 2.0 * total


@kernel
def mix_rows(indptr, indices, scaled, position, coefficients, out):
    """Add Σ_p coefficients[p]·|a_p| to ``out``, in the order of the rows."""
    for p in range(position.shape[0]):
        r = position[p]
        if r >= 0 and coefficients[p] != 0.0:
            for t in range(indptr[r], indptr[r + 1]):
                out[indices[t]] += coefficients[p] * abs(scaled[t])
