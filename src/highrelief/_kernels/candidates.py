"""Who may be among the k nearest: candidates by class, from distances that may be a little off.

Distances come as uint32 that order as the distances do: whole numbers (:mod:`.integer_tiles`), or the bits of
a float32. How far they may be off is known. A neighbor's *slot* is its class, or (misses pooled) 0 for hits
and 1 for misses.

Candidates are looked for in complete rows of distances (:func:`find_candidates`), or, where those come in
parts, in lists of the nearest so far (:func:`offer`, :func:`settle_lists`). Those that are *sure* to be
among the k nearest come first. Candidates of anchor a and slot s are ``start[a, s]`` … ``start[a, s] +
count[a, s]`` of flat arrays.
"""

import numpy as np

from .distances import MASKED
from .jit import bits_from_float32, float32_from_bits, kernel
from .simd import at_most_bits, count_bits, lowest_bit

#: Keys kept in a list beyond the k wanted, for ties and what distances may be off by.
SPARE_KEYS = 16
#: Most rows that are looked at one by one when the nearest are looked for.
_FEW = 40
#: Keys that take longer to sort by insertion than by a heap.
_MANY = 160
#: An empty place in a list: out of reach, no row.
EMPTY_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def slot_of(anchor_code, neighbor_code, pooled):
    """List that a neighbor belongs to: its class, or (misses pooled) 0 for hits and 1 for misses."""
    if pooled:
        return 0 if anchor_code == neighbor_code else 1
    return neighbor_code


@kernel
def _value(key, as_float):
    """Distance that a uint32 stands for."""
    return np.float64(float32_from_bits(np.int32(key))) if as_float else np.float64(key)


@kernel
def _last_key(value, as_float):
    """Some uint32 that no smaller distance than ``value`` exceeds."""
    if as_float:
        # The next float32 but one is certainly above.
        bits = np.int64(bits_from_float32(np.float32(value))) + 2
        return np.uint32(min(bits, np.int64(0x7F800000)))
    return np.uint32(min(np.ceil(value), np.float64(MASKED) - 1.0))


@kernel
def mask_pairs(D, anchors, j, n_columns, padding, sample_weight):
    """Put padding, and the anchors themselves, out of reach in D, distances of ``anchors`` to rows from j on.

    A row that stands for several copies of a sample is a neighbor of itself.
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
    """Number of entries of D[row, a:b] up to ``key``."""
    count = 0
    for u in range(a, b, 64):
        bits = at_most_bits(D, row, u, np.uint32(key))
        if b - u < 64:
            bits &= (np.uint64(1) << np.uint64(b - u)) - np.uint64(1)
        count += count_bits(bits)
    return count


@kernel
def _sum_sample_weight(D, row, a, b, key, column0, n, sample_weight):
    """Copies of samples, other than anchor n itself, among the entries of D[row, a:b] up to ``key``."""
    total = 0.0
    for u in range(a, b):
        if D[row, u] <= key:
            total += sample_weight[column0 + u]
            if column0 + u == n:
                total -= 1.0
    return total


@kernel
def _key_that_holds(D, row, a0, b0, a1, b1, least, most, guess):
    """Some key up to which D[row] holds between ``least`` and ``most`` entries in a0 … b0 and a1 … b1.

    Where ties leave no such key, the smallest that holds ``least``.
    """
    low, high = np.int64(-1), np.int64(MASKED) - 1
    key = min(max(np.int64(guess), np.int64(0)), high)
    step = max(key >> 7, np.int64(1))
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
            key = min(key + step, high)
            if key == high:
                at_end = True
            step *= 2
        elif low < 0:
            key = max(key - step, np.int64(0))
            step *= 2
        else:
            key = (low + high) // 2


@kernel
def _sift_keys(keys, root, end):
    """Let the key at ``root`` of a heap sink to its place among the first ``end``."""
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
    """Sort the first n keys in place: few by insertion, many by a heap."""
    if n > _MANY:
        for root in range(n // 2 - 1, -1, -1):
            _sift_keys(keys, root, n)
        for end in range(n - 1, 0, -1):
            keys[0], keys[end] = keys[end], keys[0]
            _sift_keys(keys, 0, end)
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
    """Append D[row, a:b] up to ``key`` to ``keys``, with their columns, while there is room."""
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
    """The k-th smallest entry of D[row] in a0 … b0 and a1 … b1, which has at least k in reach."""
    most = k + _FEW
    key = _key_that_holds(D, row, a0, b0, a1, b1, k, most, guess)
    n = _gather(D, row, a0, b0, key, 0, keys, 0)
    n = _gather(D, row, a1, b1, key, 0, keys, n)
    if n > most:
        return key
    _sort(keys, n)
    return np.int64(keys[k - 1] >> np.uint64(32))


@kernel
def _kth_copy(D, row, a0, b0, a1, b1, k, column0, n, sample_weight):
    """The smallest entry of D[row] up to which there are k copies of samples, of which there are enough."""
    enough = k * (1.0 - 1e-9)
    low, high = np.int64(-1), np.int64(MASKED) - 1
    while high - low > 1:
        key = (low + high) // 2
        found = _sum_sample_weight(D, row, a0, b0, key, column0, n, sample_weight)
        found += _sum_sample_weight(D, row, a1, b1, key, column0, n, sample_weight)
        if found < enough:
            low = key
        else:
            high = key
    return high


@kernel
def _zone(kth, off, relative, tolerance):
    """How far from the k-th distance another may be and still change places with it, or be tied."""
    return 2.0 * (off + relative * kth) + 2.1 * tolerance * kth


@kernel
def find_candidates(
    D,
    r0,
    r1,
    anchors,
    codes,
    class_starts,
    sample_weight,
    counted,
    pooled,
    k,
    uniform,
    as_float,
    off,
    relative,
    tolerance,
    start,
    count,
    sure,
):
    """Candidates of anchors r0 … r1 from their complete rows of distances, D[r] for ``anchors[r]``.

    ``off[n]``, in units of the keys, and ``relative`` say what the distances of anchor n may be off by. With
    ``off`` = ``relative`` = ``tolerance`` = 0 they are exact, and ties are equal keys. Returns the
    candidates, to which ``start`` refers.
    """
    n_rows = codes.shape[0]
    n_slots = start.shape[1]
    # Copies that are counted may be more than there are rows.
    most = np.int64(min(k, np.float64(n_rows)))
    rows = np.empty(2 * n_rows + (r1 - r0) * min(n_slots * (most + 8), n_rows), np.int64)
    free = 0
    keys = np.empty(most + _FEW + 1, np.uint64)
    guess = np.zeros(n_slots, np.int64)
    for r in range(r0, r1):
        n = anchors[r]
        own = codes[n]
        if rows.shape[0] - free < n_rows:
            longer = np.empty(2 * rows.shape[0], np.int64)
            for t in range(free):
                longer[t] = rows[t]
            rows = longer
        for slot in range(n_slots):
            # The rows of a slot are one range of rows, or two around the own class.
            a1, b1 = 0, 0
            if pooled and slot == 1:
                a0, b0, a1, b1 = 0, class_starts[own], class_starts[own + 1], n_rows
            else:
                c = own if pooled else slot
                a0, b0 = class_starts[c], class_starts[c + 1]
            start[r, slot] = free
            unmasked = np.int64(MASKED) - 1
            if counted:
                available = _sum_sample_weight(D, r, a0, b0, unmasked, 0, n, sample_weight)
                available += _sum_sample_weight(D, r, a1, b1, unmasked, 0, n, sample_weight)
            else:
                available = np.float64(_count(D, r, a0, b0, unmasked) + _count(D, r, a1, b1, unmasked))
            lower, upper = np.float64(-1.0), np.uint32(unmasked)
            if available > k * (1.0 + 1e-9):
                if counted:
                    kth_key = _kth_copy(D, r, a0, b0, a1, b1, k, 0, n, sample_weight)
                else:
                    kth_key = _kth_key(D, r, a0, b0, a1, b1, most, guess[slot], keys)
                guess[slot] = kth_key
                kth = _value(np.uint32(kth_key), as_float)
                zone = _zone(kth, off[n], relative, tolerance)
                lower = kth - zone
                upper = np.uint32(kth_key) if zone == 0.0 else _last_key(kth + zone, as_float)
            elif uniform:
                lower = np.inf
            n_sure, n_found = _list_candidates(
                D, r, a0, b0, a1, b1, upper, lower, uniform, as_float, rows, free
            )
            if uniform and not counted and n_found <= k:
                n_sure = n_found
            count[r, slot], sure[r, slot] = n_found, n_sure
            free += n_found
    return rows[:free]


@kernel
def _list_candidates(D, row, a0, b0, a1, b1, upper, lower, uniform, as_float, rows, free):
    """Write the rows up to ``upper``, those below ``lower`` (sure, if all weigh the same) first."""
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
def offer(D, i, r0, r1, j, n_columns, chosen, codes, class_starts, pooled, capacity, lists, filled):
    """Offer the rows j … of D's columns to the lists of the anchors i + r0 … i + r1 in its rows."""
    n_classes = class_starts.shape[0] - 1
    keys = np.empty(2 * capacity + _FEW, np.uint64)
    guess = np.zeros(n_classes, np.int64)
    for r in range(r0, r1):
        n = i + r
        if not chosen[n]:
            continue
        for c in range(n_classes):
            a, b = max(class_starts[c] - j, 0), min(class_starts[c + 1] - j, n_columns)
            if a >= b:
                continue
            slot = slot_of(codes[n], c, pooled)
            list_ = lists[n, slot]
            held = filled[n, slot]
            key = np.int64(MASKED) - 1
            if held == capacity:
                key = np.int64(list_[capacity - 1] >> np.uint64(32))
            found = _count(D, r, a, b, key)
            if found == 0:
                continue
            if found > capacity + _FEW:
                key = _key_that_holds(D, r, a, b, 0, 0, capacity, capacity + _FEW, min(guess[c], key))
                guess[c] = key
            for t in range(held):
                keys[t] = list_[t]
            # Of ties beyond what there is room for, some are kept: the list is then too short, and is seen
            # to be.
            total = _gather(D, r, a, b, max(key - 1, 0), j, keys[: held + capacity + _FEW], held)
            if total < held + capacity + _FEW:
                total = _gather_equal(D, r, a, b, key, j, keys[: held + capacity + _FEW], total)
            _sort(keys, total)
            filled[n, slot] = min(total, capacity)
            for t in range(filled[n, slot]):
                list_[t] = keys[t]


@kernel
def _gather_equal(D, row, a, b, key, column0, keys, n):
    """Append D[row, a:b] that equal ``key``, with their columns, while there is room."""
    if key == 0:
        return n  # they were up to max(key − 1, 0) already
    for column in range(a, b):
        if D[row, column] == key:
            if n == keys.shape[0]:
                return n
            keys[n] = (np.uint64(key) << np.uint64(32)) | np.uint64(column0 + column)
            n += 1
    return n


@kernel
def settle_lists(
    lists,
    filled,
    available,
    a0,
    a1,
    anchors,
    sample_weight,
    counted,
    k,
    uniform,
    as_float,
    off,
    relative,
    tolerance,
    start,
    count,
    sure,
    rows,
    short,
):
    """Candidates of anchors a0 … a1 from their lists; ``short[a]`` if a list may miss one.

    ``available[n, slot]`` counts the rows that could be neighbors. The rest is as in
    :func:`find_candidates`.
    """
    capacity, n_slots = lists.shape[2], lists.shape[1]
    for a in range(a0, a1):
        n = anchors[a]
        short[a] = False
        for slot in range(n_slots):
            held = filled[n, slot]
            whole = held == available[n, slot]
            start[a, slot] = (a * n_slots + slot) * capacity
            at = start[a, slot]
            for t in range(held):
                rows[at + t] = np.int64(lists[n, slot, t] & np.uint64(0xFFFFFFFF))
            covered, last = 0.0, 0
            while last < held:
                i = rows[at + last]
                covered += sample_weight[i] - (1.0 if i == n else 0.0)
                if covered >= k * (1.0 - 1e-9):
                    break
                last += 1
            if last == held:  # fewer than k
                short[a] |= not whole
                count[a, slot] = held
                sure[a, slot] = held if uniform else 0
                continue
            kth = _value(np.uint32(lists[n, slot, last] >> np.uint64(32)), as_float)
            zone = _zone(kth, off[n], relative, tolerance)
            if not whole:
                end = _value(np.uint32(lists[n, slot, held - 1] >> np.uint64(32)), as_float)
                short[a] |= not end > kth + zone
            n_found = last + 1
            while n_found < held and not (
                _value(np.uint32(lists[n, slot, n_found] >> np.uint64(32)), as_float) > kth + zone
            ):
                n_found += 1
            n_sure = 0
            if uniform:
                while n_sure <= last and (
                    _value(np.uint32(lists[n, slot, n_sure] >> np.uint64(32)), as_float) < kth - zone
                ):
                    n_sure += 1
                if not counted and n_found <= k:
                    n_sure = n_found
            count[a, slot], sure[a, slot] = n_found, n_sure


# How the k nearest share a weight of 1, and those tied with the k-th what is left of it.


@kernel
def _cumulative_rank_weight(ranks, k, rank_weights):
    """Integrate the step function of rank weights from 0 to ``ranks`` (weights count as ranks)."""
    ranks = min(k, ranks)
    whole = int(np.floor(ranks))
    total = 0.0
    for r in range(whole):
        total += rank_weights[r]
    if ranks > whole:
        total += (ranks - whole) * rank_weights[whole]
    return total


@kernel
def _sift(values, order, root, end):
    """Let the entry at ``root`` of a heap sink to its place among the first ``end``."""
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
def order_of(values):
    """Places of the values from the smallest to the largest, by a heap.

    NumPy's argsort would take longer to compile than everything else here.
    """
    n = values.shape[0]
    order = np.empty(n, np.int64)
    for t in range(n):
        order[t] = t
    for root in range(n // 2 - 1, -1, -1):
        _sift(values, order, root, n)
    for end in range(n - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift(values, order, 0, end)
    return order


@kernel
def share_among(distances, sample_weight, rank_weights, tolerance, shares):
    """Divide a weight of 1 among candidate neighbors.

    Copies are ranked by distance; rank r of the first k = ``rank_weights.size`` carries
    ``rank_weights[r − 1]``. Tied candidates share what their ranks carry, per copy, so that the order
    of the rows does not matter; those tied with the k-th are in while their ranks last. Fewer than k
    copies: those there are, divided by what their ranks carry.
    """
    k = float(rank_weights.shape[0])
    order = order_of(distances)
    m = order.shape[0]
    total = 0.0
    for c in range(m):
        total += sample_weight[c]
        shares[c] = 0.0
    if total <= 0.0:
        return
    used = min(k, total)
    whole = _cumulative_rank_weight(used, k, rank_weights)
    # What is left of a copy by rounding is none.
    enough = used * (1.0 - 1e-9)
    start, last = _boundary(distances, sample_weight, order, enough, tolerance)
    first = 0
    covered = 0.0
    while first < m and covered < enough:
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
            carried = _cumulative_rank_weight(min(covered + group, used), k, rank_weights)
            carried -= _cumulative_rank_weight(covered, k, rank_weights)
            for u in range(first, end):
                shares[order[u]] = carried / whole * sample_weight[order[u]] / group
        covered += group
        first = end


@kernel
def _boundary(distances, sample_weight, order, enough, tolerance):
    """Where, in order, the candidates begin that are tied with the last copy needed, and its distance."""
    m = order.shape[0]
    covered = 0.0
    boundary = 0
    while boundary < m - 1 and covered + sample_weight[order[boundary]] < enough:
        covered += sample_weight[order[boundary]]
        boundary += 1
    last = distances[order[boundary]]
    start = boundary
    while start > 0 and last - distances[order[start - 1]] <= tolerance * last:
        start -= 1
    return start, last


@kernel
def share_equally(distances, sample_weight, room, tolerance, shares):
    """Let candidates in by distance while there is room for their copies; those tied at the end share it."""
    m = distances.shape[0]
    total = 0.0
    for c in range(m):
        total += sample_weight[c]
    if m == 0 or total <= room * (1.0 + 1e-9):
        for c in range(m):
            shares[c] = sample_weight[c]
        return
    order = order_of(distances)
    start, last = _boundary(distances, sample_weight, order, room * (1.0 - 1e-9), tolerance)
    for u in range(start):
        shares[order[u]] = sample_weight[order[u]]
        room -= sample_weight[order[u]]
    end = start
    group = 0.0
    while end < m and distances[order[end]] - last <= tolerance * last:
        group += sample_weight[order[end]]
        end += 1
    for u in range(start, m):
        shares[order[u]] = room * sample_weight[order[u]] / group if u < end else 0.0


@kernel
def share(
    a0,
    a1,
    anchors,
    sample_weight,
    k,
    rank_weights,
    uniform,
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
    """Divide a weight of 1 among the candidates of every slot of anchors a0 … a1.

    ``uniform``: all of the ``k`` ranks weigh the same, and ``rank_weights`` is not looked at. ``exact_keys``:
    those that are not sure are all tied. ``square_root``: ``exact`` holds squares.
    """
    for a in range(a0, a1):
        n = anchors[a]
        for slot in range(start.shape[1]):
            first, m = start[a, slot], count[a, slot]
            if m == 0:
                continue
            of = np.empty(m)
            total = 0.0
            for t in range(m):
                of[t] = sample_weight[rows[first + t]] - (1.0 if rows[first + t] == n else 0.0)
                total += of[t]
            distances = exact[first : first + m]
            if square_root:
                for t in range(m):
                    distances[t] = np.sqrt(distances[t])
            out = shares[first : first + m]
            if not uniform:
                share_among(distances, of, rank_weights, tolerance, out)
                continue
            used = min(k, total)
            n_sure = sure[a, slot]
            room = used
            for t in range(n_sure):
                out[t] = of[t]
                room -= of[t]
            if n_sure < m:
                if exact_keys:
                    left = total - (used - room)
                    for t in range(n_sure, m):
                        out[t] = of[t] * (min(room, left) / left)
                else:
                    share_equally(distances[n_sure:], of[n_sure:], room, tolerance, out[n_sure:])
            for t in range(m):
                out[t] /= used
