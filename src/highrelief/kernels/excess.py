"""The excess of expected differences, for many columns side by side; see :mod:`.missing` for what it is.

With S the sum of the n observed values and M(x) = Σ min(x, v) over them: Σ|x − v| = n·x + S − 2·M(x), and the
excess E|x − V| − x is (S − 2·M(x))/n. M follows from the values in their order.

The columns are sorted by keys: in the upper bits a value, as far as there is room, in the lower ones its
sample. What the keys cannot tell apart is then put in order value by value.
"""

import numpy as np

from .jit import kernel, wide_vectors
from .lanes import falling, measure, turn_into_excess, write_keys
from .networks import GROUP, LANES, sort_columns
from .row_sums import WIDTH
from .shares import order_of
from .simd import fetch

#: LANES is two to this.
_LANE_BITS = 4
#: Bytes that come into the caches together.
_LINE_BYTES = 64
#: Keys have this many bits.
_BITS = 32
#: Places that values may move by, on average, before a heap is faster.
_MOVES = 16


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
def _sum_copies(block, copies, total):
    """Σ copies·value of every column."""
    for q in range(LANES):
        total[q] = 0.0
    for i in range(block.shape[0]):
        for q in range(LANES):
            total[q] += copies[i] * np.float64(block[i, q])


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
def excess_of_columns(X, columns, a, b, low, start, which, per_unit, copies, row_of, excess):
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
    copies : (n_samples,)
        How often each sample counts; without entries: once.
    row_of : (n_samples,)
        Its row in the layout.
    excess : (n_chunks, n_incomplete, CHUNK)
        Written to; 0 at rows of no sample.
    """
    wide_vectors()
    n, counted = X.shape[0], copies.shape[0] > 0
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
            _sum_copies(block, copies, total)
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
                whole[q] = _count(keys, mask, q, observed, copies, counts)
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
def _count(keys, mask, q, n, copies, counts):
    """Write the copies of the samples in the order of a column; returns those of the first n."""
    total = 0.0
    for u in range(counts.shape[0]):
        counts[u, q] = copies[keys[u, q] & mask]
        total += counts[u, q] if u < n else 0.0
    return total
