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
from .jit import kernel, wide_vectors
from .row_sums import WIDTH, product_with_sum, sum_rows
from .shares import order_of
from .simd import count_bits, lowest_bit, nan_bits

#: Rows that stand side by side.
CHUNK = WIDTH
#: Places that values may move by, on average, before a heap is faster.
_MOVES = 16


@kernel
def _nan_bits(X, i, j):
    """Which of up to 64 values of row i, from column j on, are NaN."""
    wide_vectors()
    if j + 64 <= X.shape[1]:
        return nan_bits(X, i, j)
    bits = np.uint64(0)
    for u in range(X.shape[1] - j):
        if X[i, j + u] != X[i, j + u]:
            bits |= np.uint64(1) << np.uint64(u)
    return bits


@kernel
def count_missing(X, r0, r1, by_row):
    """Count NaN in rows r0 … r1."""
    for i in range(r0, r1):
        by_row[i] = 0
        for j in range(0, X.shape[1], 64):
            by_row[i] += count_bits(_nan_bits(X, i, j))


@kernel
def fill_missing(X, place, low, r0, r1, start, which):
    """Put ``low`` in the place of NaN in rows r0 … r1, and list where; column j is listed as ``place[j]``."""
    for i in range(r0, r1):
        t = start[i]
        for j in range(0, X.shape[1] if t < start[i + 1] else 0, 64):
            bits = _nan_bits(X, i, j)
            while bits:
                at = j + lowest_bit(bits)
                X[i, at] = low[at]
                which[t] = place[at]
                t += 1
                bits &= bits - np.uint64(1)


@kernel
def list_members(start, which, set_of, n_features, first, members):
    """List which rows lack each feature, set by set, and where each list begins.

    ``first`` holds 0 and has an entry more than there are lists.
    """
    for a in range(set_of.shape[0]):
        for t in range(start[a], start[a + 1]):
            first[set_of[a] * n_features + which[t] + 1] += 1
    for g in range(first.shape[0] - 1):
        first[g + 1] += first[g]
    following = first.copy()
    for a in range(set_of.shape[0]):
        for t in range(start[a], start[a + 1]):
            group = set_of[a] * n_features + which[t]
            members[following[group]] = a
            following[group] += 1


@kernel
def _put_in_order(values, places, x, sample):
    """Write values ≥ 0 in their order, and their samples; those without a value (−1) come last.

    By as many buckets as there are values, then one by one; by a heap where they crowd in few buckets.
    ``places`` is scratch space. Returns how many values there are.
    """
    n = values.shape[0]
    n_observed, largest = 0, 0.0
    for i in range(n):
        places[i + 1] = 0
        if values[i] >= 0.0:
            n_observed += 1
            largest = max(largest, np.float64(values[i]))
    per_bucket = (n_observed - 1) / largest if largest > 0.0 else 0.0
    if not per_bucket < np.inf:
        per_bucket = 0.0
    for i in range(n):
        if values[i] >= 0.0:
            places[np.int64(np.float64(values[i]) * per_bucket) + 1] += 1
    places[0] = 0
    for u in range(n_observed):
        places[u + 1] += places[u]
    last = n_observed
    for i in range(n):
        if values[i] >= 0.0:
            bucket = np.int64(np.float64(values[i]) * per_bucket)
            at = places[bucket]
            places[bucket] += 1
            x[at], sample[at] = values[i], i
        else:
            sample[last] = i
            last += 1
    moves_left = _MOVES * n_observed
    for u in range(1, n_observed):
        value, i = x[u], sample[u]
        at = u
        while at > 0 and x[at - 1] > value:
            x[at], sample[at] = x[at - 1], sample[at - 1]
            at -= 1
        x[at], sample[at] = value, i
        moves_left -= u - at
        if moves_left < 0:
            order = order_of(x[:n_observed])
            found, of = x[:n_observed].copy(), sample[:n_observed].copy()
            for t in range(n_observed):
                x[t], sample[t] = found[order[t]], of[order[t]]
            break
    return n_observed


@kernel
def excess_in_order(X, columns, a, b, low, start, which, per_unit, copies, row_of, excess):
    """Excess E|x − V| − x of columns a … b, V as likely to be any of the observed values as it is common.

    With S the sum of the n observed values and M(x) = Σ min(x, v) over them: Σ|x − v| = n·x + S − 2·M(x),
    and the excess is (S − 2·M(x))/n. M follows from the values in their order.

    Parameters
    ----------
    X : (n_samples, n_features)
        The table.
    columns, low : (n_incomplete,), (n_features,)
        Which columns have missing values; the smallest values of all.
    start, which : (n_samples + 1,), (n_missing,)
        What each sample lacks, as places in ``columns``, rising.
    per_unit : (n_incomplete,)
        What differences are multiplied by.
    copies : (n_samples,)
        How often each sample counts.
    row_of : (n_samples,)
        Its row in the layout.
    excess : (n_chunks, n_incomplete, CHUNK)
        Written to.
    """
    n = X.shape[0]
    block = np.empty((CHUNK, n), X.dtype)
    x, sample, places = np.empty(n), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    following = start.copy()
    for k0 in range(a, b, CHUNK):
        k1 = min(k0 + CHUNK, b)
        for i in range(n):
            row = X[i]
            for k in range(k0, k1):
                block[k - k0, i] = row[columns[k]] - low[columns[k]]
            t = following[i]
            while t < start[i + 1] and which[t] < k1:
                if which[t] >= k0:
                    block[which[t] - k0, i] = -1
                t += 1
            following[i] = t
        for k in range(k0, k1):
            n_observed = _put_in_order(block[k - k0], places, x, sample)
            _write_excess(x, sample, n_observed, per_unit[k], copies, row_of, k, excess)


@kernel
def _write_excess(x, sample, n_observed, per_unit, copies, row_of, k, excess):
    """Write the excess of feature k, given its values in their order."""
    whole, total = 0.0, 0.0
    for u in range(n_observed):
        whole += copies[sample[u]]
        total += copies[sample[u]] * x[u]
    per_whole = per_unit / whole if whole > 0.0 else 0.0
    below, above, mean = 0.0, whole, 0.0
    for u in range(n_observed):
        c, row = copies[sample[u]], row_of[sample[u]]
        minima = below + x[u] * above
        below += c * x[u]
        above -= c
        value = (total - 2.0 * minima) * per_whole
        mean += c * (value + x[u] * per_unit)
        excess[row // CHUNK, k, row % CHUNK] = value
    half = 0.5 * mean / whole if whole > 0.0 else 0.0
    for u in range(n_observed, sample.shape[0]):
        row = row_of[sample[u]]
        excess[row // CHUNK, k, row % CHUNK] = half


@kernel
def fill_lacks(rows, chunk, start, which, set_of, excess, out):
    """Write lack(rows[p], b), all factors 1, to out[p, q] for the rows b = chunk·CHUNK + q."""
    wide_vectors()
    for p in range(rows.shape[0]):
        a = rows[p]
        sum_rows(excess[set_of[a], chunk], which, start[a], start[a + 1], out, p)


@kernel
def sum_listed(start, which, values, out):
    """Write Σ values[which[t]], start[i] ≤ t < start[i + 1], to out[i]."""
    for i in range(out.shape[0]):
        total = 0.0
        for t in range(start[i], start[i + 1]):
            total += values[which[t]]
        out[i] = total


@kernel
def _lack_tile(own, others, i0, i1, j0, j1, tile):
    """lack(a, b) + lack(b, a) for rows a from i0 on and b from j0 on, where chunks begin."""
    mine, theirs = own[j0 // CHUNK], others[i0 // CHUNK]
    for j in range(j0, j1):
        for i in range(i0, i1):
            tile[i - i0, j - j0] = mine[i, j - j0] + theirs[j, i - i0]


@kernel
def _to_steps(lack, per_unit, times, D):
    wide_vectors()
    most = np.float64(OUT_OF_REACH) - 1.0
    for q in range(lack.shape[0]):
        value = np.float64(D[q]) * times + np.float64(lack[q]) * per_unit + 0.5
        value = value if value > 0.0 else 0.0
        D[q] = np.uint32(value if value < most else most)


@kernel
def add_to_steps(D, i0, i1, n_columns, own, others, per_unit, times):
    """Turn rows i0 … i1 of D, distances in steps, into expected ones: D·times + (lack + lack)·per_unit.

    ``own[b // CHUNK, a, b % CHUNK]`` is the lack of row a of D to its column b, ``others[a // CHUNK, b,
    a % CHUNK]`` that of column b to row a. A chunk begins at i0.
    """
    tile = np.empty((CHUNK, CHUNK), own.dtype)
    for i in range(i0, i1, CHUNK):
        i_end = min(i + CHUNK, i1)
        for j in range(0, n_columns, CHUNK):
            j_end = min(j + CHUNK, n_columns)
            _lack_tile(own, others, i, i_end, j, j_end, tile)
            for a in range(i, i_end):
                _to_steps(tile[a - i, : j_end - j], per_unit, times, D[a, j:j_end])


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


@kernel
def sum_lacks(chunk, coefficients, first, members, excess, sums):
    """Add Σ_b coefficients[p, q]·excess, b in a chunk, to the sums of the features that row p lacks.

    Those of set s that lack feature k are ``members`` from ``first[s·n_features + k]`` on.
    """
    wide_vectors()
    n_features = sums.shape[0]
    for s in range(excess.shape[0]):
        values = excess[s, chunk]
        for k in range(n_features):
            group = s * n_features + k
            if first[group] < first[group + 1]:
                sums[k] += product_with_sum(coefficients, members, first[group], first[group + 1], values, k)


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
