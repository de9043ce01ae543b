"""What missing values add to differences.

Where a value is missing, the table holds the smallest of its column instead, and differences are wrong by an
*excess* that is known: between a row a that lacks feature k and a row b it is ``excess[s, b, k]``, with s the
set that a belongs to (all rows, or its class). Where both lack it each adds its half. Hence

    Σ_k f_k·E|a_k − b_k| = Σ_k f_k·|a_k − b_k| + lack(a, b) + lack(b, a),   lack(a, b) = Σ_{k missing in a} …

The rows b stand in chunks of :data:`CHUNK`, one after another: (n_sets, n_chunks, n_features, CHUNK). What
``a`` lacks is listed in ``which[start[a] : start[a + 1]]``, as places among the features with missing values.
"""

import numpy as np

from .integer_tiles import OUT_OF_REACH
from .jit import kernel, summing_kernel, wide_vectors
from .row_sums import WIDTH, sum_rows, sum_weighted_rows

#: Rows that stand side by side.
CHUNK = WIDTH


@kernel
def count_missing(X, r0, r1, by_row, by_column):
    """Count NaN in rows r0 … r1, by row and by column."""
    for i in range(r0, r1):
        n = 0
        for j in range(X.shape[1]):
            if X[i, j] != X[i, j]:
                n += 1
                by_column[j] += 1
        by_row[i] = n


@kernel
def fill_missing(X, place, low, r0, r1, start, which):
    """Put ``low`` in the place of NaN in rows r0 … r1, and list where; column j is listed as ``place[j]``."""
    for i in range(r0, r1):
        if start[i] == start[i + 1]:
            continue
        t = start[i]
        for j in range(X.shape[1]):
            if X[i, j] != X[i, j]:
                X[i, j] = low[j]
                which[t] = place[j]
                t += 1


@kernel
def _n_not_above(ordered, n, x):
    """How many of the first n of ordered values are not above x, by halving."""
    first = 0
    while n > 0:
        half = (n + 1) // 2
        if ordered[first + half - 1] <= x:
            first += half
            n -= half
        else:
            n = half - 1
    return first


@kernel
def expected_excess(values, ordered, copies_in_order, copies, row_of, k0, excess):
    """Excess E|x − V| − x of numeric features, V as likely to be any of the observed values as it is common.

    Parameters
    ----------
    values : (n_features, n_samples)
        Scaled, at least 0; infinity where they are missing.
    ordered : (n_features, n_samples)
        The same from the smallest on.
    copies_in_order : (n_features, n_samples)
        How often each of these counts; without entries: once.
    copies : (n_samples,)
        How often each sample counts, or without entries.
    row_of : (n_samples,)
        Its row in the layout.
    k0 : int
        Place of the first of the features in ``excess``.
    excess : (n_chunks, n_features, CHUNK)
        Written to.
    """
    n = values.shape[1]
    counted = copies.shape[0] > 0
    weight = np.empty(n + 1)
    total = np.empty(n + 1)
    for k in range(values.shape[0]):
        weight[0] = total[0] = 0.0
        n_observed = 0
        while n_observed < n and ordered[k, n_observed] < np.inf:
            c = copies_in_order[k, n_observed] if counted else 1.0
            weight[n_observed + 1] = weight[n_observed] + c
            total[n_observed + 1] = total[n_observed] + c * ordered[k, n_observed]
            n_observed += 1
        whole, sum_of_all = weight[n_observed], total[n_observed]
        per_whole = 1.0 / whole if whole > 0.0 else 0.0
        # In order, so that the order of the samples does not matter.
        mean = 0.0
        for u in range(n_observed):
            x = float(ordered[k, u])
            apart = (x * (2.0 * weight[u] - whole) - 2.0 * total[u] + sum_of_all) * per_whole
            mean += (copies_in_order[k, u] if counted else 1.0) * apart
        for i in range(n):
            row = row_of[i]
            x = float(values[k, i])
            if x == np.inf:
                excess[row // CHUNK, k0 + k, row % CHUNK] = 0.5 * mean * per_whole
                continue
            below = _n_not_above(ordered[k], n_observed, x)
            apart = (x * (2.0 * weight[below] - whole) - 2.0 * total[below] + sum_of_all) * per_whole
            excess[row // CHUNK, k0 + k, row % CHUNK] = apart - x


@kernel
def fill_lacks(rows, chunk, start, which, factors, set_of, excess, out):
    """Write lack(rows[p], b) to out[p, q] for the rows b = chunk·CHUNK + q.

    ``factors`` are those of the features, or without entries: all are 1.
    """
    wide_vectors()
    weighted = factors.shape[0] > 0
    for p in range(rows.shape[0]):
        a = rows[p]
        values = excess[set_of[a], chunk]
        if weighted:
            sum_weighted_rows(values, which, start[a], start[a + 1], factors, out, p)
        else:
            sum_rows(values, which, start[a], start[a + 1], factors, out, p)


@kernel
def _lack_tile(own, others, i0, i1, j0, j1, tile):
    """lack(a, b) + lack(b, a) for rows a from i0 on and b from j0 on, where chunks begin."""
    mine, theirs = own[j0 // CHUNK], others[i0 // CHUNK]
    for j in range(j0, j1):
        for i in range(i0, i1):
            tile[i - i0, j - j0] = mine[i, j - j0] + theirs[j, i - i0]


@kernel
def add_to_steps(D, i0, i1, n_columns, own, others, per_unit, times):
    """Turn rows i0 … i1 of D, distances in steps, into expected ones: D·times + (lack + lack)·per_unit.

    ``own[b // CHUNK, a, b % CHUNK]`` is the lack of row a of D to its column b, ``others[a // CHUNK, b,
    a % CHUNK]`` that of column b to row a. A chunk begins at i0.
    """
    most = np.float64(OUT_OF_REACH) - 1.0
    tile = np.empty((CHUNK, CHUNK), own.dtype)
    for i in range(i0, i1, CHUNK):
        i_end = min(i + CHUNK, i1)
        for j in range(0, n_columns, CHUNK):
            j_end = min(j + CHUNK, n_columns)
            _lack_tile(own, others, i, i_end, j, j_end, tile)
            for a in range(i, i_end):
                for b in range(j, j_end):
                    value = np.rint(np.float64(D[a, b]) * times + np.float64(tile[a - i, b - j]) * per_unit)
                    D[a, b] = np.uint32(min(max(value, 0.0), most))


@kernel
def add_to_floats(D, i0, i1, n_columns, own, others, per_unit):
    """The same for distances in float32."""
    tile = np.empty((CHUNK, CHUNK), own.dtype)
    for i in range(i0, i1, CHUNK):
        i_end = min(i + CHUNK, i1)
        for j in range(0, n_columns, CHUNK):
            j_end = min(j + CHUNK, n_columns)
            _lack_tile(own, others, i, i_end, j, j_end, tile)
            for a in range(i, i_end):
                for b in range(j, j_end):
                    value = np.float64(D[a, b]) + np.float64(tile[a - i, b - j]) * per_unit
                    # Rounding can leave −ε; −0 would be the largest key of all.
                    D[a, b] = np.float32(max(value, 0.0)) + np.float32(0.0)


@kernel
def add_pair_lacks(rows, others, p0, p1, start, which, factors, set_of, excess, out):
    """Add lack(a, b) + lack(b, a) of pairs p0 … p1 to ``out``."""
    for p in range(p0, p1):
        total = 0.0
        for way in range(2):
            a, b = (rows[p], others[p]) if way == 0 else (others[p], rows[p])
            for t in range(start[a], start[a + 1]):
                k = which[t]
                total += factors[k] * excess[set_of[a], b // CHUNK, k, b % CHUNK]
        out[p] += total


@summing_kernel
def _product(coefficients, row):
    wide_vectors()
    total = 0.0
    for q in range(CHUNK):
        total += np.float64(coefficients[q]) * np.float64(row[q])
    return total


@kernel
def sum_lacks(chunk, coefficients, first, members, excess, sums):
    """Add Σ_b coefficients[p, q]·excess, b in a chunk, to the sums of the features that row p lacks.

    Those of set s that lack feature k are ``members`` from ``first[s·n_features + k]`` on.
    """
    wide_vectors()
    n_features = sums.shape[0]
    total = np.empty((1, CHUNK), excess.dtype)
    nothing = np.empty(0, excess.dtype)
    for s in range(excess.shape[0]):
        for k in range(n_features):
            group = s * n_features + k
            if first[group] < first[group + 1]:
                sum_rows(coefficients, members, first[group], first[group + 1], nothing, total, 0)
                sums[k] += _product(total[0], excess[s, chunk, k])


@kernel
def put_coefficients(rows, others, coefficients, order, t0, t1, out):
    """Add the coefficients of pairs order[t0 … t1] to out[row, other % CHUNK]."""
    for t in range(t0, t1):
        p = order[t]
        out[rows[p], others[p] % CHUNK] += coefficients[p]


@kernel
def take_coefficients(rows, others, order, t0, t1, out):
    """Put 0 where :func:`put_coefficients` has put something."""
    for t in range(t0, t1):
        p = order[t]
        out[rows[p], others[p] % CHUNK] = 0


@kernel
def add_pair_excess(owners, rows, others, coefficients, p0, p1, start, which, features, set_of, excess, out):
    """Add coefficients[p]·excess of pairs p0 … p1 to out[owners[p]], at the ``features`` either lacks."""
    for p in range(p0, p1):
        c = coefficients[p]
        for way in range(2):
            a, b = (rows[p], others[p]) if way == 0 else (others[p], rows[p])
            for t in range(start[a], start[a + 1]):
                k = which[t]
                out[owners[p], features[k]] += c * excess[set_of[a], b // CHUNK, k, b % CHUNK]
