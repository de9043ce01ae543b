"""Nearest hits and misses of the same rows under many labelings.

Distances do not depend on labels: every row has one list of all others sorted by distance, and a labeling
scans it until each class has k neighbors, plus ties.
"""

import numpy as np

from .candidates import share_among
from .intrinsics import empty, minimum
from .jit import fused_kernel, kernel, wide_vectors
from .vectors import squared_distance


@kernel
def add_squared_distances(X, a, b, D):
    """Add the squared distances of rows to D[i, j] and D[j, i], for a ≤ i < b and j > i."""
    for i in range(a, b):
        for j in range(i + 1, X.shape[0]):
            d = squared_distance(X[i], X[j])
            D[i, j] += d
            D[j, i] += d


@kernel
def _share_weight(distances, m, k, rank_weights, uniform, tolerance, shares):
    """Share a weight of 1 among the first ``m`` neighbors of a class; see :func:`.candidates.share_among`."""
    if not uniform:
        share_among(distances[:m], np.ones(m), rank_weights, tolerance, shares[:m])
        return
    for t in range(m):
        shares[t] = 1.0 / minimum(k, m)
    if m <= k:
        return
    last = distances[k - 1]
    start = k - 1
    while start > 0 and last - distances[start - 1] <= tolerance * last:
        start -= 1
    for t in range(start, m):
        shares[t] = (k - start) / ((m - start) * 1.0) / k


@kernel
def has_ties(distances, tolerance, out):
    """Write whether a row's list contains distances that count as equal."""
    for i in range(distances.shape[0]):
        tied = False
        for r in range(1, distances.shape[1]):
            before = distances[i, r - 1]
            tied |= distances[i, r] - before <= tolerance * before
        out[i] = tied


@kernel
def _neighbors(
    ranked, distances, labels, i, pooled, k, tolerance, found, kth_distances, members, member_distances
):
    """Scan the list of a row until every class has k neighbors, and those tied with the k-th.

    ``members`` are places in the list, ``member_distances`` their distances, ``found`` their number, by
    slot.
    """
    n_slots = found.shape[0]
    for c in range(n_slots):
        found[c] = 0
        kth_distances[c] = np.inf
    n_open = n_slots
    farthest = 0.0
    for r in range(ranked.shape[0]):
        d = distances[r]
        if n_open == 0 and d - farthest > tolerance * farthest:
            break
        label = labels[ranked[r]]
        c = (0 if label == labels[i] else 1) if pooled else label
        if found[c] >= k and d - kth_distances[c] > tolerance * kth_distances[c]:
            continue
        members[c, found[c]] = r
        member_distances[c, found[c]] = d
        found[c] += 1
        if found[c] == k:
            kth_distances[c] = d
            farthest = d
            n_open -= 1


@kernel
def count_uses(ranked, distances, tied, labels, n_slots, pooled, k, tolerance, uses):
    """Count, for every row and place in its list, the labelings under which it is a neighbor."""
    n_others = ranked.shape[1]
    members = empty((n_slots, n_others), np.int64)
    member_distances = empty((n_slots, n_others), np.float64)
    found = empty(n_slots, np.int64)
    kth_distances = empty(n_slots, np.float64)
    for i in range(labels.shape[1]):
        row_ranked = ranked[i]
        for b in range(labels.shape[0]):
            if tied[i]:
                _neighbors(
                    row_ranked,
                    distances[i],
                    labels[b],
                    i,
                    pooled,
                    k,
                    tolerance,
                    found,
                    kth_distances,
                    members,
                    member_distances,
                )
                for c in range(n_slots):
                    for t in range(found[c]):
                        uses[i, members[c, t]] += 1
                continue
            for c in range(n_slots):
                found[c] = 0
            n_open = n_slots
            own = labels[b, i]
            for r in range(n_others):
                label = labels[b, row_ranked[r]]
                c = np.int64(label != own) if pooled else np.int64(label)
                # Branch-free: with random labels, a branch would be mispredicted.
                uses[i, r] += found[c] < k
                found[c] += 1
                n_open -= found[c] == k
                if n_open == 0:
                    break


@kernel
def fill_coefficients(
    ranked,
    distances,
    tied,
    labels,
    weights,
    factors,
    n_slots,
    pooled,
    rank_weights,
    uniform,
    tolerance,
    column,
    dense,
    start,
    first,
    second,
    coefficients,
):
    """Write the coefficient of every pair's difference for each labeling.

    ``weights`` (n_labelings, n) are those of the rows, 0 for a row without hits; ``factors`` (n_labelings,
    n_classes, n_slots) those of the slots, by the class of the row. ``column`` maps a row and a place in its
    list to a column of ``dense`` (n_labelings, n_pairs). Pairs with −1 are listed in ``first``, ``second``
    and ``coefficients``, those of labeling b from ``start[b]`` to ``start[b + 1]``.
    """
    k = rank_weights.shape[0]
    n_others = ranked.shape[1]
    members = empty((n_slots, n_others), np.int64)
    member_distances = empty((n_slots, n_others), np.float64)
    shares = empty(n_others, np.float64)
    found = empty(n_slots, np.int64)
    kth_distances = empty(n_slots, np.float64)
    counts = empty(n_slots, np.int64)
    place = 0
    for b in range(labels.shape[0]):
        start[b] = place
        for i in range(labels.shape[1]):
            own = labels[b, i]
            if uniform and not tied[i]:
                place = _fill_row(
                    ranked[i],
                    labels[b],
                    i,
                    weights[b, i],
                    factors[b, own],
                    pooled,
                    k,
                    column[i],
                    dense[b],
                    counts,
                    kth_distances,
                    place,
                    first,
                    second,
                    coefficients,
                )
                continue
            _neighbors(
                ranked[i],
                distances[i],
                labels[b],
                i,
                pooled,
                k,
                tolerance,
                found,
                kth_distances,
                members,
                member_distances,
            )
            for c in range(n_slots):
                m = found[c]
                if m == 0:
                    continue
                _share_weight(member_distances[c], m, k, rank_weights, uniform, tolerance, shares)
                for t in range(m):
                    r = members[c, t]
                    coefficient = weights[b, i] * factors[b, own, c] * shares[t]
                    if column[i, r] >= 0:
                        dense[b, column[i, r]] += coefficient
                    else:
                        first[place], second[place], coefficients[place] = i, ranked[i, r], coefficient
                        place += 1
    start[labels.shape[0]] = place


@kernel
def _fill_row(
    ranked,
    labels,
    i,
    weight,
    factors,
    pooled,
    k,
    column,
    dense,
    counts,
    unit,
    place,
    first,
    second,
    coefficients,
):
    """Write the coefficients of one row without ties and with uniform ranks; return the next free place."""
    n_slots = counts.shape[0]
    own = labels[i]
    for c in range(n_slots):
        counts[c] = 0
        unit[c] = weight * factors[c] / k
    n_open = n_slots
    end = ranked.shape[0]
    for r in range(ranked.shape[0]):
        label = labels[ranked[r]]
        c = np.int64(label != own) if pooled else np.int64(label)
        counts[c] += 1
        n_open -= counts[c] == k
        if n_open == 0:
            end = r + 1
            break
    if n_open > 0:
        # With fewer than k neighbors, a slot shares its weight among them.
        for c in range(n_slots):
            if 0 < counts[c] < k:
                unit[c] = weight * factors[c] / counts[c]
    for c in range(n_slots):
        counts[c] = 0
    for r in range(end):
        label = labels[ranked[r]]
        c = np.int64(label != own) if pooled else np.int64(label)
        coefficient = unit[c] if counts[c] < k else 0.0
        counts[c] += 1
        if column[r] >= 0:
            dense[column[r]] += coefficient
        elif coefficient != 0.0:
            first[place], second[place], coefficients[place] = i, ranked[r], coefficient
            place += 1
    return place


@fused_kernel
def _add_difference(x, other, coefficient, squared, out):
    wide_vectors()
    if squared:
        for f in range(out.shape[0]):
            t = x[f] - other[f]
            out[f] += coefficient * (t * t)
    else:
        for f in range(out.shape[0]):
            out[f] += coefficient * abs(x[f] - other[f])


@kernel
def add_differences(X, start, first, second, coefficients, squared, out):
    """Add Σ coefficient·|x − x'|, or of squares, over the pairs of each labeling to its row of ``out``."""
    for b in range(start.shape[0] - 1):
        for t in range(start[b], start[b + 1]):
            _add_difference(X[first[t]], X[second[t]], coefficients[t], squared, out[b])


@fused_kernel
def differences(X, first, second, squared, out):
    """Write |x − x'|, or its square, of every pair of rows to ``out`` (n_pairs, n_features)."""
    wide_vectors()
    for t in range(first.shape[0]):
        i, j = first[t], second[t]
        if squared:
            for f in range(X.shape[1]):
                d = X[i, f] - X[j, f]
                out[t, f] = d * d
        else:
            for f in range(X.shape[1]):
                out[t, f] = abs(X[i, f] - X[j, f])
