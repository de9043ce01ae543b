"""The excess of expected differences, for many columns side by side; see :mod:`.missing` for what it is.

With S the sum of the n observed values and M(x) = Σ min(x, v) over them: Σ|x − v| = n·x + S − 2·M(x), and the
excess E|x − V| − x is (S − 2·M(x))/n. M follows from the values in their order.

The columns are sorted by keys: in the upper bits a value, as far as there is room, in the lower ones its
sample. What the keys cannot tell apart is then put in order value by value.
"""

import numpy as np

from .jit import kernel, wide_vectors
from .networks import GROUP, LANES, sort_columns
from .row_sums import WIDTH
from .shares import order_of

#: Keys have this many bits.
_BITS = 32
#: Places that values may move by, on average, before a heap is faster.
_MOVES = 16


@kernel
def _load_columns(X, columns, k0, k1, low, block):
    """Write some columns, measured from their smallest values, to ``block``."""
    first = columns[k0]
    if columns[k1 - 1] - first == k1 - 1 - k0:
        for i in range(X.shape[0]):
            _subtract(X[i, first : first + k1 - k0], low[first : first + k1 - k0], block[i])
        return
    for i in range(X.shape[0]):
        row, out = X[i], block[i]
        for k in range(k0, k1):
            out[k - k0] = row[columns[k]] - low[columns[k]]


@kernel
def _subtract(row, low, out):
    wide_vectors()
    if row.shape[0] == LANES:
        for q in range(LANES):
            out[q] = row[q] - low[q]
    else:
        for q in range(row.shape[0]):
            out[q] = row[q] - low[q]


@kernel
def _largest(block, out):
    wide_vectors()
    for q in range(LANES):
        out[q] = 0
    for i in range(block.shape[0]):
        row = block[i]
        for q in range(LANES):
            out[q] = row[q] if row[q] > out[q] else out[q]


@kernel
def _fill_keys(block, per_cell, shift, keys):
    """Write key·2^shift + sample for every value."""
    wide_vectors()
    for i in range(block.shape[0]):
        row, out = block[i], keys[i]
        for q in range(LANES):
            out[q] = np.uint32(np.int32(row[q] * per_cell[q])) << np.uint32(shift) | np.uint32(i)


@kernel
def _look_up(block, keys, mask, found):
    """Write the values in the order of their keys."""
    for u in range(block.shape[0]):
        row, out = keys[u], found[u]
        for q in range(LANES):
            out[q] = block[row[q] & mask, q]


@kernel
def _mark_falls(found, falls):
    """Mark the columns that are not in order."""
    wide_vectors()
    for q in range(LANES):
        falls[q] = 0
    for u in range(1, found.shape[0]):
        row, before = found[u], found[u - 1]
        for q in range(LANES):
            falls[q] = falls[q] if row[q] >= before[q] else 1


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
def _sum_columns(block, copies, total):
    """Σ copies·value of every column."""
    wide_vectors()
    for q in range(LANES):
        total[q] = 0.0
    for i in range(block.shape[0]):
        row, c = block[i], copies[i] if copies.shape[0] > 0 else 1.0
        for q in range(LANES):
            total[q] += c * np.float64(row[q])


@kernel
def _turn_into_excess(found, counts, n_observed, per_whole, sums):
    """Write the excess of the values, which are in order, in their place.

    ``counts``: copies of each value, or (1, LANES) ones. ``sums``: Σ c·x and Σ c·M so far, both 0, the copies
    that are left, S.
    """
    wide_vectors()
    step = 1 if counts.shape[0] > 1 else 0
    below, minima, above, total = sums[0], sums[1], sums[2], sums[3]
    for u in range(found.shape[0]):
        row, copies = found[u], counts[u * step]
        for q in range(LANES):
            c = copies[q] if u < n_observed[q] else 0.0
            value = np.float64(row[q])
            least = below[q] + value * above[q]
            below[q] += c * value
            minima[q] += c * least
            above[q] -= c
            row[q] = (total[q] - 2.0 * least) * per_whole[q]


@kernel
def _scatter(found, keys, mask, place, k0, k1, flat):
    """Write row by row of the layout what stands in the order of the keys."""
    for u in range(found.shape[0]):
        row, values = keys[u], found[u]
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
        Written to.
    """
    n = X.shape[0]
    shift = 0
    while 1 << shift < n:
        shift += 1
    mask = np.uint32((1 << shift) - 1)
    block, found = np.zeros((n, LANES), X.dtype), np.empty((n, LANES), X.dtype)
    keys = np.empty((-(-n // GROUP) * GROUP, LANES), np.uint32)
    largest, per_cell = np.empty(LANES, X.dtype), np.empty(LANES, X.dtype)
    falls, n_observed = np.empty(LANES, X.dtype), np.empty(LANES, np.int64)
    sums, per_whole = np.zeros((4, LANES)), np.zeros(LANES)
    counts = np.ones((n if copies.shape[0] > 0 else 1, LANES))
    place = np.empty(n, np.int64)
    for i in range(n):
        place[i] = row_of[i] // WIDTH * excess.shape[1] * WIDTH + row_of[i] % WIDTH
    flat = excess.ravel()
    following = start.copy()
    for k0 in range(a, b, LANES):
        k1 = min(k0 + LANES, b)
        _load_columns(X, columns, k0, k1, low, block)
        _largest(block, largest)
        _sum_columns(block, copies, sums[3])
        _fill_cells(largest, shift, per_cell)
        _fill_keys(block, per_cell, shift, keys)
        for i in range(n, keys.shape[0]):
            for q in range(LANES):
                keys[i, q] = 0xFFFFFFFF
        _mark_missing(start, which, k0, k1, following, largest, mask, block, keys, n_observed)
        sort_columns(keys)
        _look_up(block, keys, mask, found)
        _mark_falls(found, falls)
        for q in range(k1 - k0):
            if falls[q] > 0:
                _settle(found, keys, q, n_observed[q])
            whole = _count(keys, mask, q, n_observed[q], copies)
            sums[0, q] = sums[1, q] = 0.0
            sums[2, q] = whole
            per_whole[q] = per_unit[k0 + q] / whole if n_observed[q] > 0 else 0.0
        if copies.shape[0] > 0:
            for u in range(n):
                for q in range(LANES):
                    counts[u, q] = copies[keys[u, q] & mask]
        _turn_into_excess(found, counts, n_observed, per_whole, sums)
        _scatter(found, keys, mask, place, k0, k1, flat)
        for q in range(k1 - k0):
            k = k0 + q
            half = 0.0
            if n_observed[q] > 0:
                half = (sums[3, q] - sums[1, q] * per_whole[q] / per_unit[k]) * per_whole[q]
            for u in range(n_observed[q], n):
                flat[place[keys[u, q] & mask] + k * WIDTH] = half


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
def _mark_missing(start, which, k0, k1, following, largest, mask, block, keys, n_observed):
    """Let what is missing come last."""
    n = block.shape[0]
    for q in range(LANES):
        n_observed[q] = n
    for i in range(n):
        t, end = following[i], start[i + 1]
        while t < end and which[t] < k1:
            q = which[t] - k0
            if q >= 0:
                block[i, q] = largest[q]
                keys[i, q] = ~mask | np.uint32(i)
                n_observed[q] -= 1
            t += 1
        following[i] = t


@kernel
def _count(keys, mask, q, n, copies):
    """Copies of the first n samples in the order of a column."""
    if copies.shape[0] == 0:
        return np.float64(n)
    total = 0.0
    for u in range(n):
        total += copies[keys[u, q] & mask]
    return total
