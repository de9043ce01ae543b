"""Candidates for the k nearest neighbors of each class, and the shares of neighbors.

Distances come as uint32 keys in the order of the distances: integers (quantized rows, :mod:`.distances`) or
the bits of a float32. Keys may deviate from the exact distances by known error bounds. The *slot* of a
neighbor is its class or, with pooled misses, 0 for hits and 1 for misses.

Candidates are found in complete rows of distances (:func:`find_candidates`) or, if these arrive in parts, in
lists of the nearest so far (:func:`update_lists`, :func:`candidates_from_lists`). Candidates that are *sure*
to be among the k nearest come first. Those of anchor a and slot s are ``start[a, s]`` … ``start[a, s] +
count[a, s]`` of flat arrays.

The k nearest share a weight of 1. Neighbors at equal distance have equal shares per unit of sample weight,
so that the order of the rows does not matter (:func:`share`).
"""

import numpy as np

from .distances import MASKED
from .intrinsics import empty, maximum, minimum, zeros
from .jit import bits_from_float32, float32_from_bits, kernel
from .simd import at_most_bits, count_bits, lowest_bit

#: Keys in a list beyond k, for ties and for the error bounds of the distances.
SPARE_KEYS = 16
#: Keys beyond k that a selection may return before they are sorted.
_SELECTION_SLACK = 40
#: From this number of keys on, heapsort is faster than insertion sort.
_HEAPSORT_FROM = 160
#: Empty entry of a list: masked distance, no row.
EMPTY_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def slot_of(anchor_code, neighbor_code, pooled):
    """Return the slot of a neighbor: its class or, with pooled misses, 0 for hits and 1 for misses."""
    if pooled:
        return 0 if anchor_code == neighbor_code else 1
    return neighbor_code


@kernel
def _value(key, as_float):
    """Return the distance that a key stands for."""
    return np.float64(float32_from_bits(np.int32(key))) if as_float else np.float64(key)


@kernel
def _last_key(value, as_float):
    """Return a key that is not exceeded by the key of any distance below ``value``."""
    if as_float:
        # Two float32 further on: certainly above after rounding.
        bits = np.int64(bits_from_float32(np.float32(value))) + 2
        return np.uint32(minimum(bits, np.int64(0x7F800000)))
    return np.uint32(minimum(np.ceil(value), np.float64(MASKED) - 1.0))


@kernel
def mask_pairs(D, anchors, j, n_columns, padding, sample_weight):
    """Mask padding, and the anchors themselves, in D, the distances of ``anchors`` to rows from j on.

    A row with a sample weight above 1 is a neighbor of itself, at distance 0.
    """
    for r in range(anchors.shape[0]):
        n = anchors[r]
        for u in range(padding.shape[0]):
            if 0 <= padding[u] - j < n_columns:
                D[r, padding[u] - j] = MASKED
        if 0 <= n - j < n_columns:
            D[r, n - j] = 0 if sample_weight[n] > 1.0 else MASKED


@kernel
def _count(D, row, a, b, key):
    """Count the entries of D[row, a:b] up to ``key``."""
    count = 0
    for u in range(a, b, 64):
        bits = at_most_bits(D, row, u, np.uint32(key))
        if b - u < 64:
            bits &= (np.uint64(1) << np.uint64(b - u)) - np.uint64(1)
        count += count_bits(bits)
    return count


@kernel
def _sum_sample_weight(D, row, a, b, key, column0, n, sample_weight):
    """Sum the sample weights of the entries of D[row, a:b] up to ``key``; anchor n counts 1 less."""
    total = 0.0
    for u in range(a, b):
        if D[row, u] <= key:
            total += sample_weight[column0 + u]
            if column0 + u == n:
                total -= 1.0
    return total


@kernel
def _key_with_count(D, row, a0, b0, a1, b1, least, most, guess):
    """Return a key up to which D[row] has ``least`` to ``most`` entries in a0 … b0 and a1 … b1.

    If ties rule out such a key, the smallest one with at least ``least`` entries.
    """
    low, high = np.int64(-1), np.int64(MASKED) - 1
    key = minimum(maximum(np.int64(guess), np.int64(0)), high)
    step = maximum(key >> 7, np.int64(1))
    at_end = False
    while True:
        count = _count(D, row, a0, b0, key) + _count(D, row, a1, b1, key)
        if count < least:
            low = key
        elif count > most:
            high = key
            at_end = True
        else:
            return key
        if high - low <= 1:
            return high
        if not at_end:
            key = minimum(key + step, high)
            if key == high:
                at_end = True
            step *= 2
        elif low < 0:
            key = maximum(key - step, np.int64(0))
            step *= 2
        else:
            key = (low + high) // 2


@kernel
def _sift_keys_down(keys, root, end):
    """Sift the key at ``root`` of a max-heap down, among the first ``end`` keys."""
    key = keys[root]
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[root] = keys[child]
        root = child
    keys[root] = key


@kernel
def _sort(keys, n):
    """Sort the first n keys in place: few by insertion sort, many by heapsort."""
    if n > _HEAPSORT_FROM:
        for root in range(n // 2 - 1, -1, -1):
            _sift_keys_down(keys, root, n)
        for end in range(n - 1, 0, -1):
            keys[0], keys[end] = keys[end], keys[0]
            _sift_keys_down(keys, 0, end)
        return
    for t in range(1, n):
        key = keys[t]
        u = t
        while u > 0 and keys[u - 1] > key:
            keys[u] = keys[u - 1]
            u -= 1
        keys[u] = key


@kernel
def _gather(D, row, a, b, key, column0, keys, n):
    """Append the entries of D[row, a:b] up to ``key``, with their columns, until ``keys`` is full."""
    for u in range(a, b, 64):
        bits = at_most_bits(D, row, u, np.uint32(key))
        if b - u < 64:
            bits &= (np.uint64(1) << np.uint64(b - u)) - np.uint64(1)
        while bits != np.uint64(0):
            if n == keys.shape[0]:
                return n
            column = u + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            keys[n] = (np.uint64(D[row, column]) << np.uint64(32)) | np.uint64(column0 + column)
            n += 1
    return n


@kernel
def _kth_key(D, row, a0, b0, a1, b1, k, guess, keys):
    """Return the k-th smallest entry of D[row] in a0 … b0 and a1 … b1; at least k must be unmasked."""
    most = k + _SELECTION_SLACK
    key = _key_with_count(D, row, a0, b0, a1, b1, k, most, guess)
    n = _gather(D, row, a0, b0, key, 0, keys, 0)
    n = _gather(D, row, a1, b1, key, 0, keys, n)
    if n > most:
        return key
    _sort(keys, n)
    return np.int64(keys[k - 1] >> np.uint64(32))


@kernel
def _kth_weighted_key(D, row, a0, b0, a1, b1, k, column0, n, sample_weight):
    """Return the smallest entry of D[row] up to which the sample weights sum to k; they must suffice."""
    required = k * (1.0 - 1e-9)
    low, high = np.int64(-1), np.int64(MASKED) - 1
    while high - low > 1:
        key = (low + high) // 2
        found = _sum_sample_weight(D, row, a0, b0, key, column0, n, sample_weight)
        found += _sum_sample_weight(D, row, a1, b1, key, column0, n, sample_weight)
        if found < required:
            low = key
        else:
            high = key
    return high


@kernel
def _zone(kth, error_bound, relative_bound, tolerance):
    """Return how far from the k-th distance another one may be and still be tied or swapped with it."""
    return 2.0 * (error_bound + relative_bound * kth) + 2.1 * tolerance * kth


@kernel
def find_candidates(
    D,
    r0,
    r1,
    anchors,
    codes,
    class_starts,
    sample_weight,
    weighted,
    pooled,
    k,
    uniform,
    as_float,
    error_bound,
    relative_bound,
    tolerance,
    start,
    count,
    sure,
):
    """Find the candidates of anchors r0 … r1 in complete rows of distances, D[r] for ``anchors[r]``.

    ``error_bound[n]``, in units of the keys, plus ``relative_bound`` times the distance bound the error of
    the distances of anchor n. With both and ``tolerance`` 0 they are exact, and ties are equal keys.
    ``weighted``: sample weights differ from 1. ``uniform``: all k ranks have the same weight. Returns the
    rows of the candidates, to which ``start`` refers.
    """
    n_rows = codes.shape[0]
    n_slots = start.shape[1]
    # With sample weights, k may exceed the number of rows.
    most = np.int64(minimum(k, np.float64(n_rows)))
    rows = empty(2 * n_rows + (r1 - r0) * minimum(n_slots * (most + 8), n_rows), np.int64)
    free = 0
    keys = empty(most + _SELECTION_SLACK + 1, np.uint64)
    guess = zeros(n_slots, np.int64)
    for r in range(r0, r1):
        n = anchors[r]
        own = codes[n]
        if rows.shape[0] - free < n_rows:
            longer = empty(2 * rows.shape[0], np.int64)
            for t in range(free):
                longer[t] = rows[t]
            rows = longer
        for slot in range(n_slots):
            # The rows of a slot are one range, or the two ranges around the anchor's class.
            a1, b1 = 0, 0
            if pooled and slot == 1:
                a0, b0, a1, b1 = 0, class_starts[own], class_starts[own + 1], n_rows
            else:
                c = own if pooled else slot
                a0, b0 = class_starts[c], class_starts[c + 1]
            start[r, slot] = free
            unmasked = np.int64(MASKED) - 1
            if weighted:
                available = _sum_sample_weight(D, r, a0, b0, unmasked, 0, n, sample_weight)
                available += _sum_sample_weight(D, r, a1, b1, unmasked, 0, n, sample_weight)
            else:
                available = np.float64(_count(D, r, a0, b0, unmasked) + _count(D, r, a1, b1, unmasked))
            lower, upper = np.float64(-1.0), np.uint32(unmasked)
            if available > k * (1.0 + 1e-9):
                if weighted:
                    kth_key = _kth_weighted_key(D, r, a0, b0, a1, b1, k, 0, n, sample_weight)
                else:
                    kth_key = _kth_key(D, r, a0, b0, a1, b1, most, guess[slot], keys)
                guess[slot] = kth_key
                kth = _value(np.uint32(kth_key), as_float)
                zone = _zone(kth, error_bound[n], relative_bound, tolerance)
                lower = kth - zone
                upper = np.uint32(kth_key) if zone == 0.0 else _last_key(kth + zone, as_float)
            elif uniform:
                lower = np.inf
            n_sure, n_found = _list_candidates(
                D, r, a0, b0, a1, b1, upper, lower, uniform, as_float, rows, free
            )
            if uniform and not weighted and n_found <= k:
                n_sure = n_found
            count[r, slot], sure[r, slot] = n_found, n_sure
            free += n_found
    return rows[:free]


@kernel
def _list_candidates(D, row, a0, b0, a1, b1, upper, lower, uniform, as_float, rows, free):
    """Write the rows with keys up to ``upper``; with ``uniform``, those below ``lower`` (sure) come first."""
    n_sure, n_found = 0, 0
    for part in range(2):
        a, b = (a0, b0) if part == 0 else (a1, b1)
        for u in range(a, b, 64):
            bits = at_most_bits(D, row, u, upper)
            if b - u < 64:
                bits &= (np.uint64(1) << np.uint64(b - u)) - np.uint64(1)
            while bits != np.uint64(0):
                column = u + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                at = free + n_found
                if uniform and _value(D[row, column], as_float) < lower:
                    rows[at] = rows[free + n_sure]
                    at = free + n_sure
                    n_sure += 1
                rows[at] = column
                n_found += 1
    return n_sure, n_found


@kernel
def update_lists(D, i, r0, r1, j, n_columns, chosen, codes, class_starts, pooled, capacity, lists, filled):
    """Merge rows j … j + n_columns, the columns of D, into the lists of anchors i + r0 … i + r1, its rows."""
    n_classes = class_starts.shape[0] - 1
    keys = empty(2 * capacity + _SELECTION_SLACK, np.uint64)
    guess = zeros(n_classes, np.int64)
    for r in range(r0, r1):
        n = i + r
        if not chosen[n]:
            continue
        for c in range(n_classes):
            a, b = maximum(class_starts[c] - j, 0), minimum(class_starts[c + 1] - j, n_columns)
            if a >= b:
                continue
            slot = slot_of(codes[n], c, pooled)
            nearest_keys = lists[n, slot]
            n_listed = filled[n, slot]
            key = np.int64(MASKED) - 1
            if n_listed == capacity:
                key = np.int64(nearest_keys[capacity - 1] >> np.uint64(32))
            found = _count(D, r, a, b, key)
            if found == 0:
                continue
            if found > capacity + _SELECTION_SLACK:
                key = _key_with_count(
                    D, r, a, b, 0, 0, capacity, capacity + _SELECTION_SLACK, minimum(guess[c], key)
                )
                guess[c] = key
            for t in range(n_listed):
                keys[t] = nearest_keys[t]
            # Ties beyond the capacity are dropped; candidates_from_lists detects that the list is too short.
            total = _gather(
                D, r, a, b, maximum(key - 1, 0), j, keys[: n_listed + capacity + _SELECTION_SLACK], n_listed
            )
            if total < n_listed + capacity + _SELECTION_SLACK:
                total = _gather_equal(
                    D, r, a, b, key, j, keys[: n_listed + capacity + _SELECTION_SLACK], total
                )
            _sort(keys, total)
            filled[n, slot] = minimum(total, capacity)
            for t in range(filled[n, slot]):
                nearest_keys[t] = keys[t]


@kernel
def _gather_equal(D, row, a, b, key, column0, keys, n):
    """Append the entries of D[row, a:b] equal to ``key``, with their columns, until ``keys`` is full."""
    if key == 0:
        return n  # already gathered: max(key − 1, 0) = key
    for column in range(a, b):
        if D[row, column] == key:
            if n == keys.shape[0]:
                return n
            keys[n] = (np.uint64(key) << np.uint64(32)) | np.uint64(column0 + column)
            n += 1
    return n


@kernel
def candidates_from_lists(
    lists,
    filled,
    available,
    a0,
    a1,
    anchors,
    sample_weight,
    weighted,
    k,
    uniform,
    as_float,
    error_bound,
    relative_bound,
    tolerance,
    start,
    count,
    sure,
    rows,
    short,
):
    """Find the candidates of anchors a0 … a1 in their lists; set ``short[a]`` if a list may miss one.

    ``available[n, slot]`` counts the rows that could be neighbors. All other arguments are as in
    :func:`find_candidates`.
    """
    capacity, n_slots = lists.shape[2], lists.shape[1]
    for a in range(a0, a1):
        n = anchors[a]
        short[a] = False
        for slot in range(n_slots):
            n_listed = filled[n, slot]
            complete = n_listed == available[n, slot]
            start[a, slot] = (a * n_slots + slot) * capacity
            at = start[a, slot]
            for t in range(n_listed):
                rows[at + t] = np.int64(lists[n, slot, t] & np.uint64(0xFFFFFFFF))
            covered, last = 0.0, 0
            while last < n_listed:
                i = rows[at + last]
                covered += sample_weight[i] - (1.0 if i == n else 0.0)
                if covered >= k * (1.0 - 1e-9):
                    break
                last += 1
            if last == n_listed:  # fewer than k
                short[a] |= not complete
                count[a, slot] = n_listed
                sure[a, slot] = n_listed if uniform else 0
                continue
            kth = _value(np.uint32(lists[n, slot, last] >> np.uint64(32)), as_float)
            zone = _zone(kth, error_bound[n], relative_bound, tolerance)
            if not complete:
                end = _value(np.uint32(lists[n, slot, n_listed - 1] >> np.uint64(32)), as_float)
                short[a] |= not end > kth + zone
            n_found = last + 1
            while n_found < n_listed and not (
                _value(np.uint32(lists[n, slot, n_found] >> np.uint64(32)), as_float) > kth + zone
            ):
                n_found += 1
            n_sure = 0
            if uniform:
                while n_sure <= last and (
                    _value(np.uint32(lists[n, slot, n_sure] >> np.uint64(32)), as_float) < kth - zone
                ):
                    n_sure += 1
                if not weighted and n_found <= k:
                    n_sure = n_found
            count[a, slot], sure[a, slot] = n_found, n_sure


# Tie sharing: how the k nearest, and those tied with the k-th, share a weight of 1.


@kernel
def _cumulative_rank_weight(ranks, k, rank_weights):
    """Integrate the step function of rank weights from 0 to ``ranks``, which may be fractional."""
    ranks = minimum(k, ranks)
    n_full = int(np.floor(ranks))
    total = 0.0
    for r in range(n_full):
        total += rank_weights[r]
    if ranks > n_full:
        total += (ranks - n_full) * rank_weights[n_full]
    return total


@kernel
def _sift_down(values, order, root, end):
    """Sift the entry at ``root`` of a max-heap down, among the first ``end`` entries."""
    entry = order[root]
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and values[order[child + 1]] > values[order[child]]:
            child += 1
        if values[order[child]] <= values[entry]:
            break
        order[root] = order[child]
        root = child
    order[root] = entry


@kernel
def heap_argsort(values):
    """Return the indices that sort the values, by heapsort.

    NumPy's argsort takes longer to compile than everything else here.
    """
    n = values.shape[0]
    order = empty(n, np.int64)
    for t in range(n):
        order[t] = t
    for root in range(n // 2 - 1, -1, -1):
        _sift_down(values, order, root, n)
    for end in range(n - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift_down(values, order, 0, end)
    return order


@kernel
def share_among(distances, sample_weight, rank_weights, tolerance, shares):
    """Share a weight of 1 among candidate neighbors.

    Each unit of sample weight is one rank, by distance; rank r of the first k = ``rank_weights.size`` has the
    weight ``rank_weights[r − 1]``. Tied candidates share the weights of their ranks in proportion to their
    sample weights, so that the order of the rows does not matter; those tied with the k-th share the ranks
    that are left. With a total sample weight below k, shares are normalized by the ranks that exist.
    """
    k = float(rank_weights.shape[0])
    order = heap_argsort(distances)
    m = order.shape[0]
    total = 0.0
    for c in range(m):
        total += sample_weight[c]
        shares[c] = 0.0
    if total <= 0.0:
        return
    total_rank = minimum(k, total)
    rank_total = _cumulative_rank_weight(total_rank, k, rank_weights)
    # A remainder below this is rounding.
    required = total_rank * (1.0 - 1e-9)
    start, last = _boundary(distances, sample_weight, order, required, tolerance)
    first = 0
    covered = 0.0
    while first < m and covered < required:
        end = first + 1
        if first < start:
            d = distances[order[first]]
            while end < start and distances[order[end]] - d <= tolerance * d:
                end += 1
        else:
            while end < m and distances[order[end]] - last <= tolerance * last:
                end += 1
        group = 0.0
        for u in range(first, end):
            group += sample_weight[order[u]]
        if group > 0.0:
            carried = _cumulative_rank_weight(minimum(covered + group, total_rank), k, rank_weights)
            carried -= _cumulative_rank_weight(covered, k, rank_weights)
            for u in range(first, end):
                shares[order[u]] = carried / rank_total * sample_weight[order[u]] / group
        covered += group
        first = end


@kernel
def _boundary(distances, sample_weight, order, required, tolerance):
    """Return the first place, in order, that is tied with the last neighbor needed, and its distance."""
    m = order.shape[0]
    covered = 0.0
    boundary = 0
    while boundary < m - 1 and covered + sample_weight[order[boundary]] < required:
        covered += sample_weight[order[boundary]]
        boundary += 1
    last = distances[order[boundary]]
    start = boundary
    while start > 0 and last - distances[order[start - 1]] <= tolerance * last:
        start -= 1
    return start, last


@kernel
def share_equally(distances, sample_weight, capacity, tolerance, shares):
    """Share ``capacity`` among candidates by distance.

    The nearest receive their sample weights in full; those tied at the end share the rest.
    """
    m = distances.shape[0]
    total = 0.0
    for c in range(m):
        total += sample_weight[c]
    if m == 0 or total <= capacity * (1.0 + 1e-9):
        for c in range(m):
            shares[c] = sample_weight[c]
        return
    order = heap_argsort(distances)
    start, last = _boundary(distances, sample_weight, order, capacity * (1.0 - 1e-9), tolerance)
    for u in range(start):
        shares[order[u]] = sample_weight[order[u]]
        capacity -= sample_weight[order[u]]
    end = start
    group = 0.0
    while end < m and distances[order[end]] - last <= tolerance * last:
        group += sample_weight[order[end]]
        end += 1
    for u in range(start, m):
        shares[order[u]] = capacity * sample_weight[order[u]] / group if u < end else 0.0


@kernel
def _weigh(n, rows, sample_weight, square_root, weights, distances):
    """Write the sample weights of candidates of anchor n, root their distances; return the total weight."""
    total = 0.0
    for t in range(rows.shape[0]):
        weights[t] = sample_weight[rows[t]] - (1.0 if rows[t] == n else 0.0)
        total += weights[t]
    if square_root:
        for t in range(rows.shape[0]):
            distances[t] = np.sqrt(distances[t])
    return total


@kernel
def share(
    a0,
    a1,
    anchors,
    sample_weight,
    k,
    exact_keys,
    square_root,
    tolerance,
    start,
    count,
    sure,
    rows,
    exact,
    shares,
):
    """Share a weight of 1 among the candidates of every slot of anchors a0 … a1; all k ranks weigh the same.

    ``exact_keys``: candidates that are not sure are all tied. ``square_root``: ``exact`` contains squared
    distances.
    """
    for a in range(a0, a1):
        n = anchors[a]
        for slot in range(start.shape[1]):
            first, m = start[a, slot], count[a, slot]
            if m == 0:
                continue
            weights = empty(m, np.float64)
            distances = exact[first : first + m]
            total = _weigh(n, rows[first : first + m], sample_weight, square_root, weights, distances)
            out = shares[first : first + m]
            total_rank = minimum(k, total)
            n_sure = sure[a, slot]
            capacity = total_rank
            for t in range(n_sure):
                out[t] = weights[t]
                capacity -= weights[t]
            if n_sure < m:
                if exact_keys:
                    tied_weight = total - (total_rank - capacity)
                    for t in range(n_sure, m):
                        out[t] = weights[t] * (minimum(capacity, tied_weight) / tied_weight)
                else:
                    share_equally(distances[n_sure:], weights[n_sure:], capacity, tolerance, out[n_sure:])
            for t in range(m):
                out[t] /= total_rank


@kernel
def share_by_rank(
    a0,
    a1,
    anchors,
    sample_weight,
    rank_weights,
    square_root,
    tolerance,
    start,
    count,
    rows,
    exact,
    shares,
):
    """Share a weight of 1 among the candidates of every slot of anchors a0 … a1 by ``rank_weights``.

    ``square_root``: ``exact`` contains squared distances.
    """
    for a in range(a0, a1):
        n = anchors[a]
        for slot in range(start.shape[1]):
            first, m = start[a, slot], count[a, slot]
            if m == 0:
                continue
            weights = empty(m, np.float64)
            distances = exact[first : first + m]
            _weigh(n, rows[first : first + m], sample_weight, square_root, weights, distances)
            share_among(distances, weights, rank_weights, tolerance, shares[first : first + m])
