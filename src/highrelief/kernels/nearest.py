"""Nearest neighbours per class, with shared ties, and the margins they give.

Neighbours are found in two looks. The first sweeps tiles of distances and keeps, for every anchor and
every *slot* (a class, or all misses pooled), the few smallest as packed keys: the distance rounded to
float32 above, the row below. Lists merge by taking the smallest keys, so that the result does not
depend on how the tiles were dealt out. The second look settles the boundary: where the k-th distance
is too close to another to trust the rounded sums, the exact distances are computed, and neighbours
tied with the k-th share what is left. An anchor whose list was too short for all its ties is worked
out from the exact distances to every row.

No n × n matrix, whatever n.
"""

import numpy as np

from .distances import MANHATTAN, SQUARED_EUCLIDEAN, TILE, distance_tile, exact_distance, tile_corner
from .jit import bits_from_float32, float32_from_bits, fused_kernel, kernel, wide_vectors

#: Keys kept beyond the k wanted, for ties and rounding at the boundary.
SPARE_KEYS = 8
_FEATURES_PER_BLOCK = 1024
_NO_ROW = np.uint64(0xFFFFFFFF)
#: An empty place in a list: infinitely far, no row.
EMPTY_KEY = np.uint64((0x7F800000 << 32) | 0xFFFFFFFF)


@kernel
def _key(distance, row):
    return (np.uint64(bits_from_float32(distance)) << np.uint64(32)) | np.uint64(row)


@kernel
def _key_distance(key):
    return float32_from_bits(np.int32(key >> np.uint64(32)))


@kernel
def _key_row(key):
    return np.int64(key & _NO_ROW)


@kernel
def _insert(keys, key):
    """Put a key into an ascending list, without a branch; the largest falls out."""
    for t in range(keys.shape[0] - 1, 0, -1):
        above = keys[t - 1] if keys[t - 1] > key else key
        keys[t] = above if above < keys[t] else keys[t]
    keys[0] = key if key < keys[0] else keys[0]


@kernel
def slot_of(anchor_code, neighbor_code, pooled):
    """List that a neighbour belongs to: its class, or (misses pooled) 0 for hits and 1 for misses."""
    if pooled:
        return 0 if anchor_code == neighbor_code else 1
    return neighbor_code


@kernel
def _count_below(values, threshold):
    wide_vectors()
    count = 0
    for u in range(values.shape[0]):
        count += 1 if values[u] <= threshold else 0
    return count


@kernel
def _offer_rows(F, i0, n_rows, j0, n_columns, codes, is_anchor, is_row, pooled, keys):
    """Offer a tile's columns to the anchors among its rows, one run of equal classes at a time."""
    last = keys.shape[2] - 1
    q = 0
    while q < n_columns:
        code = codes[j0 + q]
        end = q
        while end < n_columns and codes[j0 + end] == code:
            end += 1
        for p in range(n_rows):
            if not is_anchor[i0 + p]:
                continue
            list_ = keys[i0 + p, slot_of(codes[i0 + p], code, pooled)]
            threshold = _key_distance(list_[last])
            if _count_below(F[p, q:end], threshold) == 0:
                continue
            for u in range(q, end):
                if F[p, u] <= threshold and is_row[j0 + u] and i0 + p != j0 + u:
                    _insert(list_, _key(F[p, u], j0 + u))
                    threshold = _key_distance(list_[last])
        q = end


@kernel
def _transpose(F, n_rows, n_columns, out):
    for p in range(n_rows):
        for q in range(n_columns):
            out[q, p] = F[p, q]


@kernel
def nearest_keys(X, sums, codes, is_row, is_anchor, metric, pooled, t0, t1, keys):
    """First look: merge the keys of tiles t0 … t1 into the lists of every anchor and slot."""
    n = X.shape[0]
    T = np.empty((TILE, TILE))
    F = np.empty((TILE, TILE), np.float32)
    G = np.empty((TILE, TILE), np.float32)
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        i1, j1 = min(i0 + TILE, n), min(j0 + TILE, n)
        distance_tile(X, sums, i0, i1, j0, j1, metric, T)
        for p in range(i1 - i0):
            for q in range(j1 - j0):
                F[p, q] = np.float32(T[p, q])
        _offer_rows(F, i0, i1 - i0, j0, j1 - j0, codes, is_anchor, is_row, pooled, keys)
        if i0 != j0:
            _transpose(F, i1 - i0, j1 - j0, G)
            _offer_rows(G, j0, j1 - j0, i0, i1 - i0, codes, is_anchor, is_row, pooled, keys)


@kernel
def merge_keys(keys, others):
    """Keep the smallest keys of two sets of lists in the first."""
    for n in range(keys.shape[0]):
        for slot in range(keys.shape[1]):
            for t in range(keys.shape[2]):
                if others[n, slot, t] >= keys[n, slot, keys.shape[2] - 1]:
                    break
                _insert(keys[n, slot], others[n, slot, t])


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
def share_among(distances, weights, rank_weights, tolerance, shares):
    """Divide a weight of 1 among candidate neighbours.

    Copies are ranked by distance; rank r of the first k = ``rank_weights.size`` carries
    ``rank_weights[r − 1]``. Tied candidates share what their ranks carry, per copy, so that the order
    of the rows does not matter; those tied with the k-th are in while their ranks last. Fewer than k
    copies: those there are, divided by what their ranks carry.
    """
    k = float(rank_weights.shape[0])
    order = np.argsort(distances)
    m = order.shape[0]
    total = 0.0
    for c in range(m):
        total += weights[c]
        shares[c] = 0.0
    if total <= 0.0:
        return
    used = min(k, total)
    whole = _cumulative_rank_weight(used, k, rank_weights)
    # The distance of the last copy that is in; what is left of a copy by rounding is none.
    enough = used * (1.0 - 1e-9)
    covered = 0.0
    boundary = 0
    while boundary < m - 1 and covered + weights[order[boundary]] < enough:
        covered += weights[order[boundary]]
        boundary += 1
    last = distances[order[boundary]]
    start = boundary
    while start > 0 and last - distances[order[start - 1]] <= tolerance * last:
        start -= 1
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
            group += weights[order[u]]
        if group > 0.0:
            carried = _cumulative_rank_weight(min(covered + group, used), k, rank_weights)
            carried -= _cumulative_rank_weight(covered, k, rank_weights)
            for u in range(first, end):
                shares[order[u]] = carried / whole * weights[order[u]] / group
        covered += group
        first = end


@kernel
def settle_lists(
    X,
    sums,
    metric,
    keys,
    rank_weights,
    uniform,
    relative_error,
    tolerance,
    n0,
    n1,
    is_anchor,
    available,
    neighbors,
    shares,
    short,
):
    """Second look: neighbours and their shares from the lists; mark anchors whose list was too short.

    ``relative_error`` is that of a tile's sums; ``available[n, slot]`` counts the rows that could be
    neighbours.
    """
    capacity = keys.shape[2]
    k = rank_weights.shape[0]
    exact = np.empty(capacity)
    ones = np.ones(capacity)
    for n in range(n0, n1):
        if not is_anchor[n]:
            continue
        for slot in range(keys.shape[1]):
            list_ = keys[n, slot]
            found = min(capacity, available[n, slot])
            for t in range(capacity):
                neighbors[n, slot, t] = -1
                shares[n, slot, t] = 0.0
            in_reach = found
            certain = uniform and found <= k
            if found > k:
                kth = np.float64(_key_distance(list_[k - 1]))
                # Of a + b − 2·min(a, b) every sum has its error, and a row at distance d of another has a
                # sum larger by d at most.
                erring = 4.0 * (sums[n] + kth) if metric == MANHATTAN else kth
                doubt = relative_error * erring + 2.0**-23 * kth
                doubt = 2.0 * doubt + 2.1 * tolerance * kth
                # Written so that an infinite or undefined distance counts as too short.
                if available[n, slot] > capacity and not (
                    np.float64(_key_distance(list_[capacity - 1])) > kth + doubt
                ):
                    short[n] = True
                    continue
                in_reach = k
                while in_reach < found and not (np.float64(_key_distance(list_[in_reach])) > kth + doubt):
                    in_reach += 1
                certain = uniform and in_reach == k
            for t in range(in_reach):
                neighbors[n, slot, t] = _key_row(list_[t])
            if certain:
                for t in range(in_reach):
                    shares[n, slot, t] = 1.0 / in_reach
            else:
                for t in range(in_reach):
                    exact[t] = exact_distance(X[n], X[neighbors[n, slot, t]], metric)
                share_among(
                    exact[:in_reach],
                    ones[:in_reach],
                    rank_weights,
                    tolerance,
                    shares[n, slot, :in_reach],
                )


@fused_kernel
def _add_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, out):
    wide_vectors()
    for k in range(a.shape[0]):
        x = np.float64(a[k])
        t0, t1 = abs(x - np.float64(b0[k])), abs(x - np.float64(b1[k]))
        t2, t3 = abs(x - np.float64(b2[k])), abs(x - np.float64(b3[k]))
        out[k] += (c0 * t0 + c1 * t1) + (c2 * t2 + c3 * t3)


@fused_kernel
def _add_squared_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, out):
    wide_vectors()
    for k in range(a.shape[0]):
        x = np.float64(a[k])
        t0, t1 = x - np.float64(b0[k]), x - np.float64(b1[k])
        t2, t3 = x - np.float64(b2[k]), x - np.float64(b3[k])
        out[k] += (c0 * (t0 * t0) + c1 * (t1 * t1)) + (c2 * (t2 * t2) + c3 * (t3 * t3))


@kernel
def add_margin(X, n, rows, coefficients, squared, out):
    """Add Σ_t coefficients[t]·|x_n − x_rows[t]| (or its square) to ``out``.

    In float64: hits and misses nearly cancel, and a sample far out would leave nothing else.
    """
    count = rows.shape[0]
    for k0 in range(0, out.shape[0], _FEATURES_PER_BLOCK):
        k1 = min(k0 + _FEATURES_PER_BLOCK, out.shape[0])
        a, target = X[n, k0:k1], out[k0:k1]
        for t in range(0, count, 4):
            t1, t2, t3 = t + 1 < count, t + 2 < count, t + 3 < count
            # What is missing to a block of four is the row itself, at no weight.
            b0 = X[rows[t], k0:k1]
            b1 = X[rows[t + 1] if t1 else n, k0:k1]
            b2 = X[rows[t + 2] if t2 else n, k0:k1]
            b3 = X[rows[t + 3] if t3 else n, k0:k1]
            c0 = coefficients[t]
            c1 = coefficients[t + 1] if t1 else 0.0
            c2 = coefficients[t + 2] if t2 else 0.0
            c3 = coefficients[t + 3] if t3 else 0.0
            if squared:
                _add_squared_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, target)
            else:
                _add_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, target)


@kernel
def margin_from_lists(X, codes, metric, neighbors, shares, factors, chosen, n0, n1, by_row, out):
    """Margins of the chosen anchors among rows n0 … n1, from their lists.

    ``factors[class of the anchor, slot]`` is −1 for hits and the weight of the slot for misses. Adds each
    anchor's margin vector to ``out[n]`` if ``by_row``, else to ``out[0]``.
    """
    n_slots, capacity = neighbors.shape[1], neighbors.shape[2]
    rows = np.zeros(n_slots * capacity, np.int64)
    coefficients = np.zeros(n_slots * capacity)
    for n in range(n0, n1):
        if not chosen[n]:
            continue
        count = 0
        for slot in range(n_slots):
            for t in range(capacity):
                if neighbors[n, slot, t] < 0:
                    break
                if shares[n, slot, t] > 0.0:
                    rows[count] = neighbors[n, slot, t]
                    coefficients[count] = factors[codes[n], slot] * shares[n, slot, t]
                    count += 1
        add_margin(
            X,
            n,
            rows[:count],
            coefficients[:count],
            metric == SQUARED_EUCLIDEAN,
            out[n] if by_row else out[0],
        )


@kernel
def margin_from_all_rows(
    X, codes, weights, metric, pooled, rank_weights, tolerance, factors, chosen, n0, n1, by_row, out
):
    """Margins as in :func:`margin_from_lists`, from the exact distances to every row.

    ``weights`` counts copies of the rows (0 for padding): an anchor's other copies are hits at
    distance 0, and it enters the sum over anchors once per copy.
    """
    n_rows, n_slots = X.shape[0], factors.shape[1]
    candidates = np.empty(n_rows, np.int64)
    distances = np.empty(n_rows)
    copies = np.empty(n_rows)
    shares = np.empty(n_rows)
    rows = np.zeros(n_rows, np.int64)
    coefficients = np.zeros(n_rows)
    for n in range(n0, n1):
        if not chosen[n]:
            continue
        count = 0
        anchor_copies = 1.0 if by_row else weights[n]
        for slot in range(n_slots):
            m = 0
            for i in range(n_rows):
                copies_of_i = weights[i] - 1.0 if i == n else weights[i]
                if copies_of_i <= 0.0 or slot_of(codes[n], codes[i], pooled) != slot:
                    continue
                candidates[m] = i
                distances[m] = exact_distance(X[n], X[i], metric)
                copies[m] = copies_of_i
                m += 1
            if m == 0:
                continue
            share_among(distances[:m], copies[:m], rank_weights, tolerance, shares[:m])
            for u in range(m):
                if shares[u] > 0.0:
                    rows[count] = candidates[u]
                    coefficients[count] = anchor_copies * factors[codes[n], slot] * shares[u]
                    count += 1
        add_margin(
            X,
            n,
            rows[:count],
            coefficients[:count],
            metric == SQUARED_EUCLIDEAN,
            out[n] if by_row else out[0],
        )
