"""Exact distances of candidates, and the margins that neighbours give.

Candidates (:mod:`.candidates`) that are not sure to be among the k nearest are decided by exact distances
(:func:`add_exact`), difference by difference, in float64. By their shares (:mod:`.shares`) they enter the
margins (:func:`margins`).
"""

import numpy as np

from .differences import ROWS_PER_SUM, add_group, add_groups
from .jit import kernel, summing_kernel, wide_vectors

_FEATURES_AT_ONCE = 1024
#: Kinds of distances by which neighbours are found.
MANHATTAN, SQUARED_EUCLIDEAN, EUCLIDEAN = 0, 1, 2


@summing_kernel
def _manhattan(a, b, factors):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        total += abs(np.float64(a[k]) - np.float64(b[k])) * factors[k]
    return total


@summing_kernel
def _squared_euclidean(a, b, factors):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        t = (np.float64(a[k]) - np.float64(b[k])) * factors[k]
        total += t * t
    return total


@kernel
def add_exact(X, first, factors, metric, position, anchors, a0, a1, start, count, sure, rows, exact):
    """Add to ``exact`` what len(factors) columns from ``first`` on add to the distances that are not sure.

    Differences are multiplied by ``factors``. For both Euclidean metrics the squares are added.
    """
    end = first + factors.shape[0]
    for a in range(a0, a1):
        x = X[position[anchors[a]], first:end]
        for slot in range(start.shape[1]):
            for t in range(start[a, slot] + sure[a, slot], start[a, slot] + count[a, slot]):
                other = X[position[rows[t]], first:end]
                if metric == MANHATTAN:
                    exact[t] += _manhattan(x, other, factors)
                else:
                    exact[t] += _squared_euclidean(x, other, factors)


@kernel
def _add_shared_margin(X, i, first, n_columns, others, coefficients, n_others, squared, group, unit, out):
    """Add Σ_t coefficients[t]·|x_i − x_others[t]|, or squares, of columns from ``first`` on to ``out``.

    ``coefficients`` are used up; ``group`` is scratch space.
    """
    for done in range(n_others):
        coefficient = coefficients[done]
        if coefficient == 0.0:
            continue
        n = 0
        for t in range(done, n_others):
            if coefficients[t] == coefficient:
                group[n] = others[t]
                n += 1
                coefficients[t] = 0.0
        add_group(X, i, first, n_columns, group, n, coefficient, squared, unit, out)


@kernel
def _add_moments(z, copies, total, weighted, squares):
    wide_vectors()
    for k in range(z.shape[0]):
        t = copies * z[k]
        total[k] += t
        weighted[k] += copies * t
        squares[k] += t * t


@kernel
def few_rows_margin(
    X, first, width, position, anchors, a0, a1, codes, copies, slot_factors, start, count, rows, shares, out
):
    """What :func:`margins` adds to ``out[0]``, by the same additions, for tables of few rows."""
    n_slots = start.shape[1]
    most = 0
    for a in range(a0, a1):
        for slot in range(n_slots):
            most += count[a, slot]
    owners = np.empty(most, np.int64)
    members = np.empty(most, np.int64)
    coefficients = np.empty(most)
    bounds = np.empty(most + 1, np.int64)
    others = np.empty(most, np.int64)
    weights = np.empty(most)
    unit = np.ones(1, X.dtype)
    n_groups, free = 0, 0
    for a in range(a0, a1):
        n = anchors[a]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, weights
        )
        for done in range(n_others):
            weight = weights[done] * copies[n]
            if weight == 0.0:
                continue
            kept = weights[done]
            held = ROWS_PER_SUM
            for t in range(done, n_others):
                if weights[t] != kept:
                    continue
                if held == ROWS_PER_SUM:
                    owners[n_groups], coefficients[n_groups] = position[n], weight
                    bounds[n_groups] = free
                    n_groups += 1
                    held = 0
                members[free] = others[t]
                free += 1
                held += 1
                weights[t] = 0.0
    bounds[n_groups] = free
    add_groups(X, first, width, owners, bounds, members, coefficients, n_groups, unit, out)


@kernel
def list_others(a, n, position, codes, slot_factors, start, count, rows, shares, others, weights):
    """List the rows that share in the margin of anchor n, and by how much; returns how many there are."""
    n_slots = start.shape[1]
    hits = 0
    while hits < n_slots - 1 and slot_factors[codes[n], hits] >= 0.0:
        hits += 1
    n_others = 0
    for turn in range(n_slots):
        # Hits first: with two classes the sums are then the same whatever their order.
        slot = (hits + turn) % n_slots
        factor = slot_factors[codes[n], slot]
        for t in range(start[a, slot], start[a, slot] + count[a, slot]):
            if shares[t] > 0.0:
                others[n_others] = position[rows[t]]
                weights[n_others] = factor * shares[t]
                n_others += 1
    return n_others


@kernel
def margins(
    X,
    first,
    width,
    squared,
    position,
    anchors,
    a0,
    a1,
    codes,
    copies,
    slot_factors,
    start,
    count,
    rows,
    shares,
    by_row,
    with_squares,
    out,
):
    """Margins E|x − miss| − E|x − hit| of anchors a0 … a1 in ``width`` columns of X from ``first`` on.

    ``slot_factors[class of the anchor, slot]`` is −1 for hits and the weight of the slot for misses. With
    ``by_row`` the margin of anchor a is added to ``out[a]``; otherwise margins, times the copies of their
    anchors, are added to ``out[0]`` and, ``with_squares``, Σ s²z and Σ s²z² to ``out[1]`` and ``out[2]``.
    """
    n_slots = start.shape[1]
    most = 0
    for a in range(a0, a1):
        n_others = 0
        for slot in range(n_slots):
            n_others += count[a, slot]
        most = max(most, n_others)
    others = np.empty(most, np.int64)
    group = np.empty(most, np.int64)
    coefficients = np.empty(most)
    z = np.empty(_FEATURES_AT_ONCE)
    unit = np.ones(1, X.dtype)
    # Block by block of features: the rows of a block stay in the cache from anchor to anchor.
    for k0 in range(0, width, _FEATURES_AT_ONCE):
        k1 = min(k0 + _FEATURES_AT_ONCE, width)
        for a in range(a0, a1):
            n = anchors[a]
            n_others = list_others(
                a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
            )
            if by_row:
                target = out[a, k0:k1]
            elif with_squares:
                target = z[: k1 - k0]
                for k in range(k1 - k0):
                    z[k] = 0.0
            else:
                target = out[0, k0:k1]
                for t in range(n_others):
                    coefficients[t] *= copies[n]
            _add_shared_margin(
                X,
                position[n],
                first + k0,
                k1 - k0,
                others,
                coefficients,
                n_others,
                squared,
                group,
                unit,
                target,
            )
            if with_squares and not by_row:
                _add_moments(target, copies[n], out[0, k0:k1], out[1, k0:k1], out[2, k0:k1])
