"""What missing values add to differences.

Where a value is missing, the table holds the smallest of its column instead, and differences are wrong by an
*excess* that is known: between a row a that lacks feature k and a row b it is ``excess[s, b, k]``, with s the
set that a belongs to (all rows, or its class). Where both lack it each adds its half. Hence

    Σ_k f_k·E|a_k − b_k| = Σ_k f_k·|a_k − b_k| + lack(a, b) + lack(b, a),   lack(a, b) = Σ_{k missing in a} …

The rows b stand in chunks of :data:`CHUNK`, one after another: (n_sets, n_chunks, n_features, CHUNK). What
``a`` lacks is listed in ``which[start[a] : start[a + 1]]``, as places among the features with missing values.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .candidates import order_of
from .distances import MASKED, TILE, tile_corner
from .intrinsics import intrinsic
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .simd import (
    SETTING,
    count_bits,
    element_type,
    fetch,
    fused,
    load,
    lowest_bit,
    nan_bits,
    row_pointer,
    store,
    target_vector_bytes,
)
from .sorting import GROUP, LANES, falling, measure, sort_columns, turn_into_excess, write_keys
from .vectors import decay

# Sums of listed rows of an array, kept in registers from the first row to the last.
#
# Left to itself, LLVM writes the sum to memory after each row, which takes three times as long.


#: Length of the rows.
WIDTH = 64


_INDEX, _LANE = ir.IntType(64), ir.IntType(32)


def _vector(dtype):
    """LLVM's type of a vector of numbers, as wide as the machine has it, and how many it holds."""
    size = max(target_vector_bytes(), 16) // (4 if dtype == types.float32 else 8)
    return ir.VectorType(element_type(dtype), size), size


def _array(context, builder, signature, arguments, n):
    return context.make_array(signature.args[n])(context, builder, arguments[n])


def _sums(context, builder, signature, arguments):
    """The vectors of the sum of rows, of those that the first four arguments name."""
    source, which = (_array(context, builder, signature, arguments, n) for n in (0, 1))
    vector, size = _vector(signature.args[0].dtype)
    totals = [cgutils.alloca_once(builder, vector) for _ in range(WIDTH // size)]
    for total in totals:
        builder.store(ir.Constant(vector, None), total)
    with cgutils.for_range_slice(builder, *arguments[2:4], _INDEX(1), intp=_INDEX) as (t, _):
        place = builder.load(builder.gep(which.data, [t]))
        first = row_pointer(builder, source, place, _INDEX(0))
        for n, total in enumerate(totals):
            values = load(builder, first, vector, _INDEX(n * size))
            builder.store(builder.fadd(builder.load(total), values), total)
    return [builder.load(total) for total in totals]


def _emit_sum(context, builder, signature, arguments):
    out = _array(context, builder, signature, arguments, 4)
    target = row_pointer(builder, out, arguments[5], _INDEX(0))
    for n, total in enumerate(_sums(context, builder, signature, arguments)):
        store(builder, total, builder.gep(target, [_INDEX(n * total.type.count)]))
    return context.get_dummy_value()


def _emit_product(context, builder, signature, arguments):
    totals = _sums(context, builder, signature, arguments)
    other = _array(context, builder, signature, arguments, 4)
    first = row_pointer(builder, other, arguments[5], _INDEX(0))
    vector = totals[0].type
    doubles = ir.VectorType(ir.DoubleType(), vector.count)
    added = ir.Constant(doubles, None)
    for n, total in enumerate(totals):
        pair = total, load(builder, first, vector, _INDEX(n * vector.count))
        if vector != doubles:
            pair = tuple(builder.fpext(values, doubles) for values in pair)
        added = fused(builder, *pair, added)
    return _sum_of_lanes(builder, added)


def _sum_of_lanes(builder, values):
    """Add one half of a vector to the other until one number is left."""
    while values.type.count > 1:
        half = values.type.count // 2
        low, high = (
            builder.shuffle_vector(values, values, ir.Constant(ir.VectorType(_LANE, half), list(lanes)))
            for lanes in (range(half), range(half, 2 * half))
        )
        values = builder.fadd(low, high)
    return builder.extract_element(values, _LANE(0))


@intrinsic
def _sum_rows(typing_context, source, which, t0, t1, out, row):
    def emit(context, builder, signature, arguments):
        return _emit_sum(context, builder, signature, arguments)

    place = types.intp
    return types.void(source, which, place, place, out, place), emit


@intrinsic
def _product_with_sum(typing_context, source, which, t0, t1, other, row):
    def emit(context, builder, signature, arguments):
        return _emit_product(context, builder, signature, arguments)

    place = types.intp
    return types.float64(source, which, place, place, other, place), emit


# The same for LLVM to vectorize


@kernel
def _add_row(values, out):
    wide_vectors()
    for q in range(WIDTH):
        out[q] += values[q]


@kernel
def _plain_sum_rows(source, which, t0, t1, out, row):
    for q in range(WIDTH):
        out[row, q] = 0
    for t in range(t0, t1):
        _add_row(source[which[t]], out[row])


@kernel
def _plain_product_with_sum(source, which, t0, t1, other, row):
    total = np.zeros(WIDTH, source.dtype)
    for t in range(t0, t1):
        _add_row(source[which[t]], total)
    product = 0.0
    for q in range(WIDTH):
        product += np.float64(total[q]) * np.float64(other[row, q])
    return product


_plain = SETTING == "off"
#: sum_rows(source, which, t0, t1, out, row) writes Σ_t source[which[t]], t0 ≤ t < t1, to out[row].
sum_rows = _plain_sum_rows if _plain else _sum_rows
#: product_with_sum(source, which, t0, t1, other, row): Σ_q other[row, q]·(Σ_t source[which[t], q]), the sums
#: of rows in their type, all else in float64.
product_with_sum = _plain_product_with_sum if _plain else _product_with_sum


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
def excess_in_order(X, columns, a, b, low, start, which, per_unit, sample_weight, row_of, excess):
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
    sample_weight : (n_samples,)
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
            _write_excess(x, sample, n_observed, per_unit[k], sample_weight, row_of, k, excess)


@kernel
def _write_excess(x, sample, n_observed, per_unit, sample_weight, row_of, k, excess):
    """Write the excess of feature k, given its values in their order."""
    whole, total = 0.0, 0.0
    for u in range(n_observed):
        whole += sample_weight[sample[u]]
        total += sample_weight[sample[u]] * x[u]
    per_whole = per_unit / whole if whole > 0.0 else 0.0
    below, above, mean = 0.0, whole, 0.0
    for u in range(n_observed):
        c, row = sample_weight[sample[u]], row_of[sample[u]]
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
def fill_corrections(rows, chunk, start, which, set_of, excess, out):
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
    most = np.float64(MASKED) - 1.0
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
def add_pair_corrections(rows, others, p0, p1, start, which, factors, set_of, excess, out):
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
def sum_corrections(chunk, coefficients, first, members, excess, sums):
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


# The excess of expected differences, for many columns side by side; see :mod:`.missing` for what it is.
#
# With S the sum of the n observed values and M(x) = Σ min(x, v) over them: Σ|x − v| = n·x + S − 2·M(x), and
# the excess E|x − V| − x is (S − 2·M(x))/n. M follows from the values in their order.
#
# The columns are sorted by keys: in the upper bits a value, as far as there is room, in the lower ones its
# sample. What the keys cannot tell apart is then put in order value by value.


#: LANES is two to this.
_LANE_BITS = 4
#: Bytes that come into the caches together.
_LINE_BYTES = 64
#: Keys have this many bits.
_BITS = 32


@kernel
def _measure_columns(X, columns, k0, k1, low, block, least, largest, total):
    """Write some columns, measured from their smallest values, to ``block``; their largest, and sums."""
    wide_vectors()
    n_columns, first = k1 - k0, columns[k0]
    for q in range(LANES):
        least[q] = low[columns[k0 + q]] if q < n_columns else 0
    if n_columns == LANES and columns[k1 - 1] - first == LANES - 1:
        measure(X, first, least, block, largest, total)
        return
    for i in range(X.shape[0]):
        for q in range(LANES):
            block[i, q] = X[i, columns[k0 + q]] if q < n_columns else 0
    measure(block, 0, least, block, largest, total)


@kernel
def _look_up(block, keys, mask, found):
    """Write the values in the order of their keys."""
    for u in range(block.shape[0]):
        row, out = keys[u], found[u]
        for q in range(LANES):
            out[q] = block[row[q] & mask, q]


@kernel
def _settle(found, keys, q, n):
    """Put the first n values of a column, which nearly are, in order; their keys come along."""
    moves_left = _MOVES * n
    for u in range(1, n):
        value, key = found[u, q], keys[u, q]
        at = u
        while at > 0 and found[at - 1, q] > value:
            found[at, q], keys[at, q] = found[at - 1, q], keys[at - 1, q]
            at -= 1
        found[at, q], keys[at, q] = value, key
        moves_left -= u - at
        if moves_left < 0:
            values, of = found[:n, q].copy(), keys[:n, q].copy()
            order = order_of(values)
            for t in range(n):
                found[t, q], keys[t, q] = values[order[t]], of[order[t]]
            break


@kernel
def _sum_duplicates(block, sample_weight, total):
    """Σ copies·value of every column."""
    for q in range(LANES):
        total[q] = 0.0
    for i in range(block.shape[0]):
        for q in range(LANES):
            total[q] += sample_weight[i] * np.float64(block[i, q])


@kernel
def _scatter(found, keys, mask, place, k0, k1, flat):
    """Write row by row of the layout what stands in the order of the keys."""
    for u in range(found.shape[0]):
        row, values = keys[u], found[u]
        if k1 - k0 == LANES:
            for q in range(LANES):
                flat[place[row[q] & mask] + (k0 + q) * WIDTH] = values[q]
        else:
            for q in range(k1 - k0):
                flat[place[row[q] & mask] + (k0 + q) * WIDTH] = values[q]


@kernel
def excess_of_columns(X, columns, a, b, low, start, which, per_unit, sample_weight, row_of, excess):
    """Excess E|x − V| − x of columns a … b, V as likely to be any of the observed values as it is common.

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
    sample_weight : (n_samples,)
        How often each sample counts; without entries: once.
    row_of : (n_samples,)
        Its row in the layout.
    excess : (n_chunks, n_incomplete, CHUNK)
        Written to; 0 at rows of no sample.
    """
    wide_vectors()
    n, counted = X.shape[0], sample_weight.shape[0] > 0
    shift = 0
    while 1 << shift < n:
        shift += 1
    mask = np.uint32((1 << shift) - 1)
    block, found = np.empty((n, LANES), X.dtype), np.empty((n, LANES), X.dtype)
    keys = np.empty((-(-n // GROUP) * GROUP, LANES), np.uint32)
    least, largest, per_cell = np.empty(LANES, X.dtype), np.empty(LANES, X.dtype), np.empty(LANES, X.dtype)
    n_observed, whole, per_whole = np.empty(LANES), np.zeros(LANES), np.zeros(LANES)
    total, minima = np.empty(LANES), np.empty(LANES)
    counts = np.ones((n if counted else 1, LANES))
    place = np.empty(n, np.int64)
    for i in range(n):
        place[i] = row_of[i] // WIDTH * excess.shape[1] * WIDTH + row_of[i] % WIDTH
    padding = _places_without_sample(row_of, excess)
    flat = excess.ravel()
    first, listed = _missing_by_block(start, which, a, b)
    for k0 in range(a, b, LANES):
        k1 = min(k0 + LANES, b)
        _fetch_columns(excess, k0, k1)
        _measure_columns(X, columns, k0, k1, low, block, least, largest, total)
        if counted:
            _sum_duplicates(block, sample_weight, total)
        _fill_cells(largest, shift, per_cell)
        write_keys(block, per_cell, shift, keys)
        for i in range(n, keys.shape[0]):
            for q in range(LANES):
                keys[i, q] = 0xFFFFFFFF
        t0, t1 = first[(k0 - a) // LANES], first[(k0 - a) // LANES + 1]
        _mark_missing(listed, t0, t1, largest, mask, block, keys, n_observed)
        sort_columns(keys)
        _look_up(block, keys, mask, found)
        falls = falling(found)
        for q in range(k1 - k0):
            observed = np.int64(n_observed[q])
            if falls >> np.uint64(q) & np.uint64(1):
                _settle(found, keys, q, observed)
            whole[q] = observed
            if counted:
                whole[q] = _count(keys, mask, q, observed, sample_weight, counts)
            per_whole[q] = per_unit[k0 + q] / whole[q] if observed > 0 else 0.0
        turn_into_excess(found, counts, n_observed, per_whole, whole, total, minima)
        _scatter(found, keys, mask, place, k0, k1, flat)
        for q in range(k1 - k0):
            observed = np.int64(n_observed[q])
            half = (total[q] - minima[q] / whole[q]) * per_whole[q] if observed > 0 else 0.0
            for u in range(observed, n):
                flat[place[keys[u, q] & mask] + (k0 + q) * WIDTH] = half
        for k in range(k0, k1):
            for row in padding:
                flat[row + k * WIDTH] = 0


@kernel
def _places_without_sample(row_of, excess):
    """Where, in column 0, the rows are that hold no sample."""
    is_padding = np.ones(excess.shape[0] * WIDTH, np.bool_)
    for row in row_of:
        is_padding[row] = False
    rows = np.flatnonzero(is_padding)
    return rows // WIDTH * excess.shape[1] * WIDTH + rows % WIDTH


@kernel
def _fetch_columns(excess, k0, k1):
    """Have columns of the excess come into the caches, to be there when they are written to."""
    flat = excess.ravel()
    for c in range(excess.shape[0]):
        first = (c * excess.shape[1] + k0) * WIDTH
        for at in range(first, first + (k1 - k0) * WIDTH, _LINE_BYTES // excess.itemsize):
            fetch(flat, at)


@kernel
def _fill_cells(largest, shift, per_cell):
    """Write what makes whole numbers, of as many bits as there is room for, of values."""
    # Not quite to the last, which stands for what is missing; a signed number has room for it.
    cells = min(2.0 ** (_BITS - shift) - 2.0, 2.0**30)
    for q in range(LANES):
        per_cell[q] = cells * (1.0 - 1e-6) / largest[q] if largest[q] > 0.0 else 0.0
        if not per_cell[q] < np.inf:
            per_cell[q] = 0.0


@kernel
def _first_from(which, t0, t1, k):
    """Place of the first entry from ``k`` on, among entries t0 … t1, which rise."""
    while t0 < t1:
        middle = (t0 + t1) // 2
        if which[middle] < k:
            t0 = middle + 1
        else:
            t1 = middle
    return t0


@kernel
def _missing_by_block(start, which, a, b):
    """List what is missing from columns a … b, LANES columns at a time: sample·LANES + column.

    Returns where the list of each block begins, and the lists.
    """
    n = start.shape[0] - 1
    first = np.zeros((b - a + LANES - 1) // LANES + 1, np.int64)
    begin, end = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        begin[i] = _first_from(which, start[i], start[i + 1], a)
        end[i] = _first_from(which, begin[i], start[i + 1], b)
        for t in range(begin[i], end[i]):
            first[((which[t] - a) >> _LANE_BITS) + 1] += 1
    for block in range(first.shape[0] - 1):
        first[block + 1] += first[block]
    following, listed = first.copy(), np.empty(first[-1], np.int64)
    for i in range(n):
        for t in range(begin[i], end[i]):
            k = which[t] - a
            listed[following[k >> _LANE_BITS]] = i * LANES + (k & (LANES - 1))
            following[k >> _LANE_BITS] += 1
    return first, listed


@kernel
def _mark_missing(listed, t0, t1, largest, mask, block, keys, n_observed):
    """Let what is missing come last."""
    for q in range(LANES):
        n_observed[q] = block.shape[0]
    for t in range(t0, t1):
        i, q = listed[t] >> _LANE_BITS, listed[t] & (LANES - 1)
        block[i, q] = largest[q]
        keys[i, q] = ~mask | np.uint32(i)
        n_observed[q] -= 1


@kernel
def _count(keys, mask, q, n, sample_weight, counts):
    """Write the copies of the samples in the order of a column; returns those of the first n."""
    total = 0.0
    for u in range(counts.shape[0]):
        counts[u, q] = sample_weight[keys[u, q] & mask]
        total += counts[u, q] if u < n else 0.0
    return total


# What missing values add to distances of all pairs, tile by tile, and to sums over them.
#
# ``correction`` is (start, which, place, factors, excess). Rows stand in chunks as long as a tile. Missing
# values of chunk c are listed from ``start[c]`` to ``start[c + 1]``, feature by feature: ``which`` of
# the incomplete features, and the ``place`` of the row in the chunk. The features have the weights
# ``factors``, and what |x − x'| is too small by, where one row lacks feature k and the other is b, is
# ``excess[b // CHUNK, k, b % CHUNK]``, as :mod:`.missing` says. Where ``which`` is empty nothing is
# missing.


@fused_kernel
def _add_corrections(which, place, factors, excess, out):
    """Add Σ_k factors[k]·excess[k] to out[p], over the features k that the row at place p lacks.

    Feature by feature, so that ``excess`` is read once and in order; each row adds in the order of features.
    """
    wide_vectors()
    for t in range(which.shape[0]):
        k, p = which[t], place[t]
        factor = factors[k]
        if factor != 0:
            for q in range(CHUNK):
                out[p, q] += factor * excess[k, q]


@kernel
def add_tile_correction(correction, i0, i1, j0, j1, F):
    """Add lack(a, b) + lack(b, a) to the distances F of rows a = i0 … i1 and b = j0 … j1."""
    start, which, place, factors, excess = correction
    if which.shape[0] == 0:
        return
    i, j = i0 // CHUNK, j0 // CHUNK
    ours, theirs = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
    L = np.zeros((2, TILE, TILE), F.dtype)
    _add_corrections(which[ours], place[ours], factors, excess[j], L[0])
    other = L[0]
    if i != j:
        other = L[1]
        _add_corrections(which[theirs], place[theirs], factors, excess[i], other)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            F[p, q] += L[0, p, q] + other[q, p]


@kernel
def add_column_correction(correction, anchor_which, anchor_place, anchor_excess, out):
    """Add the same to the distances of all rows to at most 64 others, the anchors, with the same bits.

    What the anchors lack is listed as for a chunk; the excess between a row that lacks feature k and anchor q
    is ``anchor_excess[k, q]``.
    """
    start, which, place, factors, excess = correction
    n, m = out.shape
    for i0 in range(0, n, CHUNK):
        i = i0 // CHUNK
        ours = slice(start[i], start[i + 1])
        L = np.zeros((2, CHUNK, CHUNK), out.dtype)
        _add_corrections(which[ours], place[ours], factors, anchor_excess, L[0])
        _add_corrections(anchor_which, anchor_place, factors, excess[i], L[1])
        for p in range(min(CHUNK, n - i0)):
            for q in range(m):
                out[i0 + p, q] += L[0, p, q] + L[1, q, p]


@summing_kernel
def _add_products(which, place, wanted, coefficients, excess, sums):
    """Add Σ_q coefficients[p, q]·excess[k, q] to sums[k], for wanted features k that the row at p lacks."""
    wide_vectors()
    for t in range(which.shape[0]):
        k, p = which[t], place[t]
        if wanted[k]:
            total = coefficients.dtype.type(0)
            for q in range(CHUNK):
                total += coefficients[p, q] * excess[k, q]
            sums[k] += total


@kernel
def add_correction_products(correction, wanted, i0, i1, j0, j1, S, sums):
    """Add Σ S·excess over the pairs of a tile, each of which has its coefficient once, to ``sums``."""
    start, which, place, _, excess = correction
    if which.shape[0] == 0:
        return
    i, j = i0 // CHUNK, j0 // CHUNK
    ours, theirs = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
    C = np.zeros((2, TILE, TILE), S.dtype)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            C[0, p, q] += S[p, q]
            # On the diagonal one row may be either of a pair.
            C[1 if i != j else 0, q, p] += S[p, q]
    _add_products(which[ours], place[ours], wanted, C[0], excess[j], sums)
    if i != j:
        _add_products(which[theirs], place[theirs], wanted, C[1], excess[i], sums)


@kernel
def add_products(correction, wanted, S, n_rows, t0, t1, sums):
    """Add the same for the tiles t0 … t1 of S."""
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        add_correction_products(
            correction, wanted, i0, min(i0 + TILE, n_rows), j0, min(j0 + TILE, n_rows), S[t], sums
        )


@kernel
def add_margin_corrections(
    start, which, columns, excess, D, first, codes, weights, per_sigma, nearest, scales, out
):
    """Add to margins of single rows what :func:`.soft_margins.margins_from_distances` leaves out.

    Row n lacks ``which[start[n] : start[n + 1]]``, which all have a column of ``out``, in ``columns``.
    """
    n_rows = D.shape[0]
    shares = np.empty(n_rows)
    for q in range(D.shape[1]):
        n = first + q
        for i in range(n_rows):
            c = codes[i]
            shares[i] = weights[i] * scales[c, n] * decay((nearest[c, n] - D[i, q]) * per_sigma)
            if shares[i] != 0:
                for t in range(start[i], start[i + 1]):
                    k = which[t]
                    out[n, columns[k]] += shares[i] * excess[n // CHUNK, k, n % CHUNK]
        for t in range(start[n], start[n + 1]):
            k = which[t]
            total = 0.0
            for i in range(n_rows):
                total += shares[i] * excess[i // CHUNK, k, i % CHUNK]
            out[n, columns[k]] += total


@kernel
def _n_up_to(x, ordered, n):
    """How many of the first n of ordered values are not above x, by halving."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def excess_at(points, ordered, shares, out):
    """Fill out[k, q] with E|x − V| − |x| for x = points[k, q], or E|V − V'|/2 where that is NaN.

    V has the values ``ordered[k]``, from the smallest on, each as likely as ``shares[k]`` says; what has no
    share comes last.
    """
    n = ordered.shape[1]
    share = np.zeros(n + 1)
    total = np.zeros(n + 1)
    for k in range(points.shape[0]):
        n_observed = 0
        for u in range(n):
            share[u + 1] = share[u] + shares[k, u]
            total[u + 1] = total[u] + shares[k, u] * ordered[k, u]
            if shares[k, u] > 0.0:
                n_observed = u + 1
        whole, mean = share[n_observed], total[n_observed]
        between = 0.0
        for u in range(n_observed):
            between += shares[k, u] * (ordered[k, u] * (2.0 * share[u] - whole) - 2.0 * total[u] + mean)
        for q in range(points.shape[1]):
            x = points[k, q]
            if np.isnan(x):
                out[k, q] = 0.5 * between
            else:
                u = _n_up_to(x, ordered[k], n_observed)
                out[k, q] = x * (2.0 * share[u] - whole) - 2.0 * total[u] + mean - abs(x)
