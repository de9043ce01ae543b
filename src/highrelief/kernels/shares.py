"""How the k nearest share a weight of 1, and those tied with the k-th what is left of it."""

import numpy as np

from .jit import kernel


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
def share_among(distances, copies, rank_weights, tolerance, shares):
    """Divide a weight of 1 among candidate neighbours.

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
        total += copies[c]
        shares[c] = 0.0
    if total <= 0.0:
        return
    used = min(k, total)
    whole = _cumulative_rank_weight(used, k, rank_weights)
    # What is left of a copy by rounding is none.
    enough = used * (1.0 - 1e-9)
    start, last = _boundary(distances, copies, order, enough, tolerance)
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
            group += copies[order[u]]
        if group > 0.0:
            carried = _cumulative_rank_weight(min(covered + group, used), k, rank_weights)
            carried -= _cumulative_rank_weight(covered, k, rank_weights)
            for u in range(first, end):
                shares[order[u]] = carried / whole * copies[order[u]] / group
        covered += group
        first = end


@kernel
def _boundary(distances, copies, order, enough, tolerance):
    """Where, in order, the candidates begin that are tied with the last copy needed, and its distance."""
    m = order.shape[0]
    covered = 0.0
    boundary = 0
    while boundary < m - 1 and covered + copies[order[boundary]] < enough:
        covered += copies[order[boundary]]
        boundary += 1
    last = distances[order[boundary]]
    start = boundary
    while start > 0 and last - distances[order[start - 1]] <= tolerance * last:
        start -= 1
    return start, last


@kernel
def share_equally(distances, copies, room, tolerance, shares):
    """Let candidates in by distance while there is room for their copies; those tied at the end share it."""
    m = distances.shape[0]
    total = 0.0
    for c in range(m):
        total += copies[c]
    if m == 0 or total <= room * (1.0 + 1e-9):
        for c in range(m):
            shares[c] = copies[c]
        return
    order = order_of(distances)
    start, last = _boundary(distances, copies, order, room * (1.0 - 1e-9), tolerance)
    for u in range(start):
        shares[order[u]] = copies[order[u]]
        room -= copies[order[u]]
    end = start
    group = 0.0
    while end < m and distances[order[end]] - last <= tolerance * last:
        group += copies[order[end]]
        end += 1
    for u in range(start, m):
        shares[order[u]] = room * copies[order[u]] / group if u < end else 0.0


@kernel
def share(
    a0,
    a1,
    anchors,
    copies,
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
                of[t] = copies[rows[first + t]] - (1.0 if rows[first + t] == n else 0.0)
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
