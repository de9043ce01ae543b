"""Corrections of differences for missing values.

A missing value is stored as the minimum of its column, and its differences are corrected by a known *excess*:
``excess[s, b, k]`` for a row a in which feature k is missing and another row b, where s is the set of a (all
rows, or its class). If the value is missing in both rows, each contributes half. With the correction
c(a, b) = Σ f_k·excess[s, b, k] over the features k that are missing in a,

    Σ_k f_k·E|a_k − b_k| = Σ_k f_k·|a_k − b_k| + c(a, b) + c(b, a).

Rows b are stored in chunks of :data:`CHUNK`: (n_sets, n_chunks, n_features, CHUNK). The missing features of
row a are ``which[start[a] : start[a + 1]]``, as indices among the features with missing values.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .candidates import heap_argsort
from .distances import MASKED, TILE, tile_corner
from .intrinsics import empty, intrinsic, maximum, minimum, zeros
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .simd import (
    SETTING,
    count_bits,
    element_type,
    fused,
    load,
    lowest_bit,
    nan_bits,
    prefetch,
    row_pointer,
    store,
    target_vector_bytes,
)
from .sorting import (
    GROUP,
    LANES,
    offset_columns,
    sort_columns,
    turn_into_excess,
    unsorted_columns,
    write_keys,
)
from .vectors import decay

# Sums of listed rows of an array, accumulated in registers.
#
# LLVM on its own writes the sum to memory after each row, which takes three times as long.

#: Length of the rows.
WIDTH = 64

_INDEX, _LANE = ir.IntType(64), ir.IntType(32)


def _vector(dtype):
    """Return LLVM's type of a machine-wide vector of ``dtype``, and its number of elements."""
    size = max(target_vector_bytes(), 16) // (4 if dtype == types.float32 else 8)
    return ir.VectorType(element_type(dtype), size), size


def _array(context, builder, signature, arguments, n):
    return context.make_array(signature.args[n])(context, builder, arguments[n])


def _sums(context, builder, signature, arguments):
    """Sum the rows that the first four arguments select; return the vectors of the sum."""
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
    """Reduce a vector to the sum of its lanes by halves."""
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


# Fallbacks for HIGHRELIEF_VECTORS=off, vectorized by LLVM


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
    total = zeros(WIDTH, source.dtype)
    for t in range(t0, t1):
        _add_row(source[which[t]], total)
    product = 0.0
    for q in range(WIDTH):
        product += np.float64(total[q]) * np.float64(other[row, q])
    return product


_plain = SETTING == "off"
#: sum_rows(source, which, t0, t1, out, row) writes Σ_t source[which[t]], t0 ≤ t < t1, to out[row].
sum_rows = _plain_sum_rows if _plain else _sum_rows
#: product_with_sum(source, which, t0, t1, other, row) returns Σ_q other[row, q]·(Σ_t source[which[t], q]),
#: the sums of rows in their own precision, everything else in float64.
product_with_sum = _plain_product_with_sum if _plain else _product_with_sum


#: Rows per chunk.
CHUNK = WIDTH
#: Average moves per value in an insertion sort above which heapsort is faster.
_MOVES = 16


@kernel
def _nan_bits(X, i, j):
    """Return up to 64 bits, set for the values of row i, from column j on, that are NaN."""
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
    """Replace NaN by ``low`` in rows r0 … r1, and list its columns; column j is listed as ``place[j]``."""
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
    """List the rows in which each feature is missing, set by set.

    ``first``, which comes filled with 0 and has one entry more than there are lists, receives where each
    list begins.
    """
    for a in range(set_of.shape[0]):
        for t in range(start[a], start[a + 1]):
            first[set_of[a] * n_features + which[t] + 1] += 1
    for g in range(first.shape[0] - 1):
        first[g + 1] += first[g]
    next_place = first.copy()
    for a in range(set_of.shape[0]):
        for t in range(start[a], start[a + 1]):
            group = set_of[a] * n_features + which[t]
            members[next_place[group]] = a
            next_place[group] += 1


@kernel
def _sort_values(values, places, x, sample):
    """Write values ≥ 0 in ascending order, and their samples; missing ones (−1) come last.

    A bucket sort with as many buckets as values, then insertion sort; heapsort if values crowd in few
    buckets. ``places`` is scratch space. Returns the number of observed values.
    """
    n = values.shape[0]
    n_observed, largest = 0, 0.0
    for i in range(n):
        places[i + 1] = 0
        if values[i] >= 0.0:
            n_observed += 1
            largest = maximum(largest, np.float64(values[i]))
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
            order = heap_argsort(x[:n_observed])
            values_before, samples_before = x[:n_observed].copy(), sample[:n_observed].copy()
            for t in range(n_observed):
                x[t], sample[t] = values_before[order[t]], samples_before[order[t]]
            break
    return n_observed


@kernel
def excess_in_order(X, columns, a, b, low, start, which, per_unit, sample_weight, row_of, excess):
    """Compute the excess E|x − V| − x of columns a … b, where V is drawn from the observed values.

    With S the sum of the n observed values and M(x) = Σ min(x, v) over them, Σ|x − v| = n·x + S − 2·M(x), and
    the excess is (S − 2·M(x))/n. M follows from the sorted values. Sorts one column at a time.

    Parameters
    ----------
    X : (n_samples, n_features)
        Samples.
    columns, low : (n_incomplete,), (n_features,)
        Columns with missing values; minima of all columns.
    start, which : (n_samples + 1,), (n_missing,)
        Missing features of each sample, as ascending indices into ``columns``.
    per_unit : (n_incomplete,)
        Factors of the differences.
    sample_weight : (n_samples,)
        Sample weights.
    row_of : (n_samples,)
        Row of each sample in the layout.
    excess : (n_chunks, n_incomplete, CHUNK)
        Output.
    """
    n = X.shape[0]
    block = empty((CHUNK, n), X.dtype)
    x, sample, places = empty(n, np.float64), empty(n, np.int64), empty(n + 1, np.int64)
    next_place = start.copy()
    for k0 in range(a, b, CHUNK):
        k1 = minimum(k0 + CHUNK, b)
        for i in range(n):
            row = X[i]
            for k in range(k0, k1):
                block[k - k0, i] = row[columns[k]] - low[columns[k]]
            t = next_place[i]
            while t < start[i + 1] and which[t] < k1:
                if which[t] >= k0:
                    block[which[t] - k0, i] = -1
                t += 1
            next_place[i] = t
        for k in range(k0, k1):
            n_observed = _sort_values(block[k - k0], places, x, sample)
            _write_excess(x, sample, n_observed, per_unit[k], sample_weight, row_of, k, excess)


@kernel
def _write_excess(x, sample, n_observed, per_unit, sample_weight, row_of, k, excess):
    """Write the excess of feature k from its sorted values."""
    total_weight, total = 0.0, 0.0
    for u in range(n_observed):
        total_weight += sample_weight[sample[u]]
        total += sample_weight[sample[u]] * x[u]
    per_weight = per_unit / total_weight if total_weight > 0.0 else 0.0
    below, above, mean = 0.0, total_weight, 0.0
    for u in range(n_observed):
        c, row = sample_weight[sample[u]], row_of[sample[u]]
        minima = below + x[u] * above
        below += c * x[u]
        above -= c
        value = (total - 2.0 * minima) * per_weight
        mean += c * (value + x[u] * per_unit)
        excess[row // CHUNK, k, row % CHUNK] = value
    half = 0.5 * mean / total_weight if total_weight > 0.0 else 0.0
    for u in range(n_observed, sample.shape[0]):
        row = row_of[sample[u]]
        excess[row // CHUNK, k, row % CHUNK] = half


@kernel
def fill_corrections(rows, chunk, start, which, set_of, excess, out):
    """Write c(rows[p], b), with all factors 1, to out[p, q] for the rows b = chunk·CHUNK + q."""
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
def _correction_tile(row_corrections, column_corrections, i0, i1, j0, j1, tile):
    """Write c(a, b) + c(b, a) for rows a from i0 on and b from j0 on, where chunks begin, to ``tile``."""
    forward, backward = row_corrections[j0 // CHUNK], column_corrections[i0 // CHUNK]
    for j in range(j0, j1):
        for i in range(i0, i1):
            tile[i - i0, j - j0] = forward[i, j - j0] + backward[j, i - i0]


@kernel
def _add_steps_row(corrections, per_unit, scale, D):
    """Replace distances by D·scale + corrections·per_unit, rounded to integers."""
    wide_vectors()
    most = np.float64(MASKED) - 1.0
    for q in range(corrections.shape[0]):
        value = np.float64(D[q]) * scale + np.float64(corrections[q]) * per_unit + 0.5
        value = value if value > 0.0 else 0.0
        D[q] = np.uint32(value if value < most else most)


@kernel
def add_to_steps(D, i0, i1, n_columns, row_corrections, column_corrections, per_unit, scale):
    """Replace rows i0 … i1 of D, distances in grid steps, by D·scale + (c(a, b) + c(b, a))·per_unit.

    ``row_corrections[b // CHUNK, a, b % CHUNK]`` is c(a, b) for row a and column b of D,
    ``column_corrections[a // CHUNK, b, a % CHUNK]`` is c(b, a). A chunk begins at i0.
    """
    tile = empty((CHUNK, CHUNK), row_corrections.dtype)
    for i in range(i0, i1, CHUNK):
        i_end = minimum(i + CHUNK, i1)
        for j in range(0, n_columns, CHUNK):
            j_end = minimum(j + CHUNK, n_columns)
            _correction_tile(row_corrections, column_corrections, i, i_end, j, j_end, tile)
            for a in range(i, i_end):
                _add_steps_row(tile[a - i, : j_end - j], per_unit, scale, D[a, j:j_end])


@kernel
def add_to_floats(D, i0, i1, n_columns, row_corrections, column_corrections, per_unit):
    """Add (c(a, b) + c(b, a))·per_unit to rows i0 … i1 of D, distances in float32.

    Arguments are as in :func:`add_to_steps`.
    """
    tile = empty((CHUNK, CHUNK), row_corrections.dtype)
    for i in range(i0, i1, CHUNK):
        i_end = minimum(i + CHUNK, i1)
        for j in range(0, n_columns, CHUNK):
            j_end = minimum(j + CHUNK, n_columns)
            _correction_tile(row_corrections, column_corrections, i, i_end, j, j_end, tile)
            for a in range(i, i_end):
                for b in range(j, j_end):
                    value = np.float64(D[a, b]) + np.float64(tile[a - i, b - j]) * per_unit
                    # Rounding can leave −ε; −0 would be the largest key.
                    D[a, b] = np.float32(maximum(value, 0.0)) + np.float32(0.0)


@kernel
def add_pair_corrections(rows, others, p0, p1, start, which, factors, set_of, excess, out):
    """Add c(a, b) + c(b, a) of pairs p0 … p1 to ``out``."""
    for p in range(p0, p1):
        total = 0.0
        for direction in range(2):
            a, b = (rows[p], others[p]) if direction == 0 else (others[p], rows[p])
            for t in range(start[a], start[a + 1]):
                k = which[t]
                total += factors[k] * excess[set_of[a], b // CHUNK, k, b % CHUNK]
        out[p] += total


@kernel
def sum_corrections(chunk, coefficients, first, members, excess, sums):
    """Add Σ_b coefficients[p, q]·excess, over b in a chunk, to the sums of the features missing in row p.

    The rows of set s with missing feature k are ``members`` from ``first[s·n_features + k]`` on.
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
def scatter_coefficients(rows, others, coefficients, order, t0, t1, out):
    """Add the coefficients of pairs order[t0 … t1] to out[row, other % CHUNK]."""
    for t in range(t0, t1):
        p = order[t]
        out[rows[p], others[p] % CHUNK] += coefficients[p]


@kernel
def clear_coefficients(rows, others, order, t0, t1, out):
    """Reset the entries that :func:`scatter_coefficients` has written to 0."""
    for t in range(t0, t1):
        p = order[t]
        out[rows[p], others[p] % CHUNK] = 0


@kernel
def add_pair_excess(owners, rows, others, coefficients, p0, p1, start, which, features, set_of, excess, out):
    """Add coefficients[p]·excess of pairs p0 … p1 to out[owners[p]], at features missing in either row."""
    for p in range(p0, p1):
        c = coefficients[p]
        for direction in range(2):
            a, b = (rows[p], others[p]) if direction == 0 else (others[p], rows[p])
            for t in range(start[a], start[a + 1]):
                k = which[t]
                out[owners[p], features[k]] += c * excess[set_of[a], b // CHUNK, k, b % CHUNK]


# The excess of LANES columns at a time.
#
# The columns are sorted by keys that contain the leading bits of a value in their upper bits, and its sample
# in the lower ones. Values with equal leading bits are then sorted by insertion.

#: LANES is 2 to this power.
_LANE_BITS = 4
#: Bytes of a cache line.
_LINE_BYTES = 64
#: Bits of a key.
_BITS = 32


@kernel
def _offset_block(X, columns, k0, k1, low, block, least, largest, total):
    """Write some columns, minus their minima, to ``block``, and their maxima and sums."""
    wide_vectors()
    n_columns, first = k1 - k0, columns[k0]
    for q in range(LANES):
        least[q] = low[columns[k0 + q]] if q < n_columns else 0
    if n_columns == LANES and columns[k1 - 1] - first == LANES - 1:
        offset_columns(X, first, least, block, largest, total)
        return
    for i in range(X.shape[0]):
        for q in range(LANES):
            block[i, q] = X[i, columns[k0 + q]] if q < n_columns else 0
    offset_columns(block, 0, least, block, largest, total)


@kernel
def _gather_values(block, keys, mask, ordered):
    """Write the values in the order of their keys."""
    for u in range(block.shape[0]):
        row, out = keys[u], ordered[u]
        for q in range(LANES):
            out[q] = block[row[q] & mask, q]


@kernel
def _insertion_sort(ordered, keys, q, n):
    """Sort the first n values of a column, which are nearly sorted, and their keys with them."""
    moves_left = _MOVES * n
    for u in range(1, n):
        value, key = ordered[u, q], keys[u, q]
        at = u
        while at > 0 and ordered[at - 1, q] > value:
            ordered[at, q], keys[at, q] = ordered[at - 1, q], keys[at - 1, q]
            at -= 1
        ordered[at, q], keys[at, q] = value, key
        moves_left -= u - at
        if moves_left < 0:
            values_before, keys_before = ordered[:n, q].copy(), keys[:n, q].copy()
            order = heap_argsort(values_before)
            for t in range(n):
                ordered[t, q], keys[t, q] = values_before[order[t]], keys_before[order[t]]
            break


@kernel
def _weighted_sums(block, sample_weight, total):
    """Compute Σ sample weight·value of every column."""
    for q in range(LANES):
        total[q] = 0.0
    for i in range(block.shape[0]):
        for q in range(LANES):
            total[q] += sample_weight[i] * np.float64(block[i, q])


@kernel
def _scatter(ordered, keys, mask, place, k0, k1, flat):
    """Write values from the order of the keys to the rows of the layout."""
    for u in range(ordered.shape[0]):
        row, values = keys[u], ordered[u]
        if k1 - k0 == LANES:
            for q in range(LANES):
                flat[place[row[q] & mask] + (k0 + q) * WIDTH] = values[q]
        else:
            for q in range(k1 - k0):
                flat[place[row[q] & mask] + (k0 + q) * WIDTH] = values[q]


@kernel
def excess_of_columns(X, columns, a, b, low, start, which, per_unit, sample_weight, row_of, excess):
    """Compute the excess E|x − V| − x of columns a … b, where V is drawn from the observed values.

    Sorts :data:`.sorting.LANES` columns at a time. Arguments are as in :func:`excess_in_order`, except that
    an empty ``sample_weight`` stands for ones. ``excess`` is 0 at padding rows.
    """
    wide_vectors()
    n, weighted = X.shape[0], sample_weight.shape[0] > 0
    shift = 0
    while 1 << shift < n:
        shift += 1
    mask = np.uint32((1 << shift) - 1)
    block, ordered = empty((n, LANES), X.dtype), empty((n, LANES), X.dtype)
    keys = empty((-(-n // GROUP) * GROUP, LANES), np.uint32)
    least, largest, per_cell = empty(LANES, X.dtype), empty(LANES, X.dtype), empty(LANES, X.dtype)
    n_observed, total_weight, per_weight = (
        empty(LANES, np.float64),
        zeros(LANES, np.float64),
        zeros(LANES, np.float64),
    )
    total, minima = empty(LANES, np.float64), empty(LANES, np.float64)
    weights = np.ones((n if weighted else 1, LANES))
    place = empty(n, np.int64)
    for i in range(n):
        place[i] = row_of[i] // WIDTH * excess.shape[1] * WIDTH + row_of[i] % WIDTH
    padding = _places_without_sample(row_of, excess)
    flat = excess.ravel()
    first, listed = _missing_by_block(start, which, a, b)
    for k0 in range(a, b, LANES):
        k1 = minimum(k0 + LANES, b)
        _prefetch_columns(excess, k0, k1)
        _offset_block(X, columns, k0, k1, low, block, least, largest, total)
        if weighted:
            _weighted_sums(block, sample_weight, total)
        _fill_key_scales(largest, shift, per_cell)
        write_keys(block, per_cell, shift, keys)
        for i in range(n, keys.shape[0]):
            for q in range(LANES):
                keys[i, q] = 0xFFFFFFFF
        t0, t1 = first[(k0 - a) // LANES], first[(k0 - a) // LANES + 1]
        _mark_missing(listed, t0, t1, largest, mask, block, keys, n_observed)
        sort_columns(keys)
        _gather_values(block, keys, mask, ordered)
        falls = unsorted_columns(ordered)
        for q in range(k1 - k0):
            observed = np.int64(n_observed[q])
            if falls >> np.uint64(q) & np.uint64(1):
                _insertion_sort(ordered, keys, q, observed)
            total_weight[q] = observed
            if weighted:
                total_weight[q] = _gather_weights(keys, mask, q, observed, sample_weight, weights)
            per_weight[q] = per_unit[k0 + q] / total_weight[q] if observed > 0 else 0.0
        turn_into_excess(ordered, weights, n_observed, per_weight, total_weight, total, minima)
        _scatter(ordered, keys, mask, place, k0, k1, flat)
        for q in range(k1 - k0):
            observed = np.int64(n_observed[q])
            half = (total[q] - minima[q] / total_weight[q]) * per_weight[q] if observed > 0 else 0.0
            for u in range(observed, n):
                flat[place[keys[u, q] & mask] + (k0 + q) * WIDTH] = half
        for k in range(k0, k1):
            for row in padding:
                flat[row + k * WIDTH] = 0


@kernel
def _places_without_sample(row_of, excess):
    """Return the places of padding rows in column 0."""
    is_padding = np.ones(excess.shape[0] * WIDTH, np.bool_)
    for row in row_of:
        is_padding[row] = False
    rows = np.flatnonzero(is_padding)
    return rows // WIDTH * excess.shape[1] * WIDTH + rows % WIDTH


@kernel
def _prefetch_columns(excess, k0, k1):
    """Prefetch columns of the excess before they are written."""
    flat = excess.ravel()
    for c in range(excess.shape[0]):
        first = (c * excess.shape[1] + k0) * WIDTH
        for at in range(first, first + (k1 - k0) * WIDTH, _LINE_BYTES // excess.itemsize):
            prefetch(flat, at)


@kernel
def _fill_key_scales(largest, shift, per_cell):
    """Write the factors that scale values to integers of the available number of bits."""
    # Below the largest integer, which marks missing values; the conversion is to signed integers.
    cells = minimum(2.0 ** (_BITS - shift) - 2.0, 2.0**30)
    for q in range(LANES):
        per_cell[q] = cells * (1.0 - 1e-6) / largest[q] if largest[q] > 0.0 else 0.0
        if not per_cell[q] < np.inf:
            per_cell[q] = 0.0


@kernel
def _first_from(which, t0, t1, k):
    """Return the place of the first entry ≥ ``k`` among the ascending entries t0 … t1, by bisection."""
    while t0 < t1:
        middle = (t0 + t1) // 2
        if which[middle] < k:
            t0 = middle + 1
        else:
            t1 = middle
    return t0


@kernel
def _missing_by_block(start, which, a, b):
    """List the missing values of columns a … b, LANES columns at a time, as sample·LANES + column.

    Returns where the list of each block begins, and the lists.
    """
    n = start.shape[0] - 1
    first = zeros((b - a + LANES - 1) // LANES + 1, np.int64)
    begin, end = empty(n, np.int64), empty(n, np.int64)
    for i in range(n):
        begin[i] = _first_from(which, start[i], start[i + 1], a)
        end[i] = _first_from(which, begin[i], start[i + 1], b)
        for t in range(begin[i], end[i]):
            first[((which[t] - a) >> _LANE_BITS) + 1] += 1
    for block in range(first.shape[0] - 1):
        first[block + 1] += first[block]
    next_place, listed = first.copy(), empty(first[-1], np.int64)
    for i in range(n):
        for t in range(begin[i], end[i]):
            k = which[t] - a
            listed[next_place[k >> _LANE_BITS]] = i * LANES + (k & (LANES - 1))
            next_place[k >> _LANE_BITS] += 1
    return first, listed


@kernel
def _mark_missing(listed, t0, t1, largest, mask, block, keys, n_observed):
    """Set the keys of missing values so that they are sorted last."""
    for q in range(LANES):
        n_observed[q] = block.shape[0]
    for t in range(t0, t1):
        i, q = listed[t] >> _LANE_BITS, listed[t] & (LANES - 1)
        block[i, q] = largest[q]
        keys[i, q] = ~mask | np.uint32(i)
        n_observed[q] -= 1


@kernel
def _gather_weights(keys, mask, q, n, sample_weight, weights):
    """Write the sample weights in the order of a column; return the sum of the first n."""
    total = 0.0
    for u in range(weights.shape[0]):
        weights[u, q] = sample_weight[keys[u, q] & mask]
        total += weights[u, q] if u < n else 0.0
    return total


# Corrections of distance tiles of all pairs, and of sums over them.
#
# ``correction`` is (start, which, place, factors, excess). A chunk has as many rows as a tile. The missing
# values of chunk c are listed from ``start[c]`` to ``start[c + 1]``, feature by feature: the index ``which``
# among the incomplete features, and the ``place`` of the row in the chunk. ``factors`` are the weights of the
# features, and ``excess[b // CHUNK, k, b % CHUNK]`` is the excess between a row with missing feature k and
# row b. If ``which`` is empty, no value is missing.


@fused_kernel
def _add_chunk_corrections(which, place, factors, excess, out):
    """Add Σ_k factors[k]·excess[k] to out[p], over the features k missing in the row at place p.

    The loop runs feature by feature, so that ``excess`` is read once and in order.
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
    """Add c(a, b) + c(b, a) to the distances F of rows a = i0 … i1 and b = j0 … j1."""
    start, which, place, factors, excess = correction
    if which.shape[0] == 0:
        return
    i, j = i0 // CHUNK, j0 // CHUNK
    i_entries, j_entries = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
    L = zeros((2, TILE, TILE), F.dtype)
    _add_chunk_corrections(which[i_entries], place[i_entries], factors, excess[j], L[0])
    other = L[0]
    if i != j:
        other = L[1]
        _add_chunk_corrections(which[j_entries], place[j_entries], factors, excess[i], other)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            F[p, q] += L[0, p, q] + other[q, p]


@kernel
def add_column_correction(correction, anchor_which, anchor_place, anchor_excess, out):
    """Add c(a, b) + c(b, a) to the distances of all rows to at most 64 anchors, bitwise as for tiles.

    The missing features of the anchors are listed as for a chunk; the excess between a row with missing
    feature k and anchor q is ``anchor_excess[k, q]``.
    """
    start, which, place, factors, excess = correction
    n, m = out.shape
    for i0 in range(0, n, CHUNK):
        i = i0 // CHUNK
        i_entries = slice(start[i], start[i + 1])
        L = zeros((2, CHUNK, CHUNK), out.dtype)
        _add_chunk_corrections(which[i_entries], place[i_entries], factors, anchor_excess, L[0])
        _add_chunk_corrections(anchor_which, anchor_place, factors, excess[i], L[1])
        for p in range(minimum(CHUNK, n - i0)):
            for q in range(m):
                out[i0 + p, q] += L[0, p, q] + L[1, q, p]


@summing_kernel
def _add_chunk_products(which, place, selected, coefficients, excess, sums):
    """Add Σ_q coefficients[p, q]·excess[k, q] to sums[k], for selected k missing in the row at p."""
    wide_vectors()
    for t in range(which.shape[0]):
        k, p = which[t], place[t]
        if selected[k]:
            total = coefficients.dtype.type(0)
            for q in range(CHUNK):
                total += coefficients[p, q] * excess[k, q]
            sums[k] += total


@kernel
def add_tile_correction_products(correction, selected, i0, i1, j0, j1, S, sums):
    """Add Σ S·excess over the pairs of a tile, each with its coefficient once, to ``sums``."""
    start, which, place, _, excess = correction
    if which.shape[0] == 0:
        return
    i, j = i0 // CHUNK, j0 // CHUNK
    i_entries, j_entries = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
    C = zeros((2, TILE, TILE), S.dtype)
    for p in range(i1 - i0):
        for q in range(j1 - j0):
            C[0, p, q] += S[p, q]
            # On the diagonal, a row occurs on both sides of pairs.
            C[1 if i != j else 0, q, p] += S[p, q]
    _add_chunk_products(which[i_entries], place[i_entries], selected, C[0], excess[j], sums)
    if i != j:
        _add_chunk_products(which[j_entries], place[j_entries], selected, C[1], excess[i], sums)


@kernel
def add_correction_products(correction, selected, S, n_rows, t0, t1, sums):
    """Add Σ S·excess over the pairs of the tiles t0 … t1 of S to ``sums``."""
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        add_tile_correction_products(
            correction, selected, i0, minimum(i0 + TILE, n_rows), j0, minimum(j0 + TILE, n_rows), S[t], sums
        )


@kernel
def add_margin_corrections(
    start, which, columns, excess, D, first, codes, weights, per_sigma, nearest, scales, out
):
    """Add the corrections that :func:`.soft.margins_from_distances` omits to the margins of single rows.

    The features ``which[start[n] : start[n + 1]]`` are missing in row n, and correspond to ``columns`` of
    ``out``.
    """
    n_rows = D.shape[0]
    shares = empty(n_rows, np.float64)
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
def _count_up_to(x, ordered, n):
    """Count how many of the first n of sorted values are ≤ x, by bisection."""
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
    """Fill out[k, q] with E|x − V| − |x| for x = points[k, q], or with E|V − V'|/2 if that is NaN.

    V has the sorted values ``ordered[k]`` with the probabilities ``shares[k]``; values without a share come
    last.
    """
    n = ordered.shape[1]
    share = zeros(n + 1, np.float64)
    total = zeros(n + 1, np.float64)
    for k in range(points.shape[0]):
        n_observed = 0
        for u in range(n):
            share[u + 1] = share[u] + shares[k, u]
            total[u + 1] = total[u] + shares[k, u] * ordered[k, u]
            if shares[k, u] > 0.0:
                n_observed = u + 1
        total_share, mean = share[n_observed], total[n_observed]
        between = 0.0
        for u in range(n_observed):
            between += shares[k, u] * (ordered[k, u] * (2.0 * share[u] - total_share) - 2.0 * total[u] + mean)
        for q in range(points.shape[1]):
            x = points[k, q]
            if np.isnan(x):
                out[k, q] = 0.5 * between
            else:
                u = _count_up_to(x, ordered[k], n_observed)
                out[k, q] = x * (2.0 * share[u] - total_share) - 2.0 * total[u] + mean - abs(x)
