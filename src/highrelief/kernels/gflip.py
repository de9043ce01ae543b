"""Flips of single features, by the squared distances of all pairs over the members.

Rows are sorted by class, so that hits and misses stand side by side; of the symmetric matrix there is the
part above the diagonal, row after row. To try a flip is one pass over it that changes nothing; to make one is
another.

What is added must go away again without a trace: a square root makes 1e-8 of the 1e-16 that a rounding may
leave. So values are whole multiples of a step (``core/feature_flips.py`` says of which), and a sum is kept in
two parts, ``high`` + ``low``, of 106 bits together: it is exact, and ``high`` is the sum rounded once. Which
flips led to a set cannot be seen from it.
"""

import math

import numpy as np

from .jit import kernel, never_nan, wide_vectors
from .simba import sigmoid

LINEAR, SIGMOID, ZERO_ONE = range(3)


@kernel
def _nearest_with(value, x, high, near):
    """Least squared distance of a row with a feature added; the other rows' least ones in ``near``."""
    wide_vectors()
    never_nan()
    least = np.inf
    for m in range(x.shape[0]):
        t = value - x[m]
        v = high[m] + t * t
        near[m] = v if v < near[m] else near[m]
        least = v if v < least else least
    return least


@kernel
def _nearest_without(value, x, high, low, near):
    """The same with a feature taken away."""
    wide_vectors()
    never_nan()
    least = np.inf
    for m in range(x.shape[0]):
        t = value - x[m]
        v = (high[m] - t * t) + low[m]
        near[m] = v if v < near[m] else near[m]
        least = v if v < least else least
    return least


@kernel
def _nearest_distances(x, add, high, low, ends, hits, misses):
    """Write the distances to the nearest hit and miss after a flip; infinity where there is none."""
    n = x.shape[0]
    for i in range(n):
        hits[i] = misses[i] = np.inf
    start = 0
    for i in range(n):
        middle, end = start + ends[i] - 1 - i, start + n - 1 - i
        a, b = x[i + 1 : ends[i]], x[ends[i] :]
        if add:
            hit = _nearest_with(x[i], a, high[start:middle], hits[i + 1 : ends[i]])
            miss = _nearest_with(x[i], b, high[middle:end], misses[ends[i] :])
        else:
            hit = _nearest_without(x[i], a, high[start:middle], low[start:middle], hits[i + 1 : ends[i]])
            miss = _nearest_without(x[i], b, high[middle:end], low[middle:end], misses[ends[i] :])
        hits[i] = math.sqrt(min(hits[i], hit))
        misses[i] = math.sqrt(min(misses[i], miss))
        start = end


@kernel
def _all_distances(x, add, high, low, out):
    """Write the distances of all pairs after a flip."""
    n = x.shape[0]
    place = 0
    for i in range(n):
        out[i, i] = 0.0
        for m in range(i + 1, n):
            t = x[i] - x[m]
            v = high[place] + t * t if add else (high[place] - t * t) + low[place]
            out[i, m] = out[m, i] = math.sqrt(v)
            place += 1


@kernel
def _mean_of_nearest(distances, copies, itself, start, end, inside, own):
    """Mean distance of the nearest samples that weigh 1 together, or of all if there are fewer.

    Among rows start … end, or those outside; of the sample itself there are ``own`` more, at distance 0.
    Infinity where there is nobody.
    """
    mass, total, reached = min(own, 1.0), 0.0, -1.0
    while mass < 1.0:
        nearest, weight = np.inf, 0.0
        for m in range(distances.shape[0]):
            if (start <= m < end) != inside or m == itself or distances[m] <= reached:
                continue
            if distances[m] < nearest:
                nearest, weight = distances[m], copies[m]
            elif distances[m] == nearest:
                weight += copies[m]
        if nearest == np.inf:
            break
        share = min(weight, 1.0 - mass)
        mass += share
        total += share * nearest
        reached = nearest
    return total / mass if mass > 0.0 else np.inf


@kernel
def _nearest_weight(x, add, high, low, starts, ends, copies, matrix, hits, misses):
    """What :func:`_nearest_distances` writes, where samples count in parts: means over a weight of 1."""
    _all_distances(x, add, high, low, matrix)
    for i in range(x.shape[0]):
        own = max(copies[i] - 1.0, 0.0)
        hits[i] = _mean_of_nearest(matrix[i], copies, i, starts[i], ends[i], True, own)
        misses[i] = _mean_of_nearest(matrix[i], copies, i, starts[i], ends[i], False, 0.0)


@kernel
def _among_copies(copies, hits):
    """Distances to the nearest hits where each sample counts once or more: its copies are at distance 0."""
    for i in range(hits.shape[0]):
        own = min(copies[i] - 1.0, 1.0)
        if own > 0.0:
            hits[i] = (1.0 - own) * hits[i] if own < 1.0 and hits[i] < np.inf else 0.0


@kernel
def score(hits, misses, copies, utility, beta, tied):
    """Sum of the utilities of the margins, and the sum whose rounding it has.

    A margin below ``tied`` times the mean of the two distances is 0.
    """
    total = rest = size = 0.0
    for i in range(hits.shape[0]):
        if hits[i] == np.inf or misses[i] == np.inf:
            continue
        m, mean = 0.5 * (misses[i] - hits[i]), 0.5 * (misses[i] + hits[i])
        if utility == LINEAR:
            u, rounding = m, mean
        elif utility == SIGMOID:
            u = sigmoid(m, beta)
            rounding = u + beta * u * (1.0 - u) * mean
        else:
            u = 1.0 if m > tied * mean else 0.0
            rounding = 1.0
        term = copies[i] * u
        after = total + term
        # Neumaier's sum: the order of the samples must not matter.
        rest += (total - after) + term if abs(total) >= abs(term) else (term - after) + total
        total = after
        size += copies[i] * rounding
    return total + rest, size


@kernel
def tried(x, add, high, low, starts, ends, copies, matrix, utility, beta, tied, hits, misses):
    """Score after a flip of the feature whose values are ``x``, and the sum whose rounding it has.

    ``matrix`` is (n, n) where samples count in parts, else empty.
    """
    if matrix.shape[0] > 0:
        _nearest_weight(x, add, high, low, starts, ends, copies, matrix, hits, misses)
    else:
        _nearest_distances(x, add, high, low, ends, hits, misses)
        _among_copies(copies, hits)
    return score(hits, misses, copies, utility, beta, tied)


@kernel
def _flip_row(value, x, add, high, low):
    """Add a feature's squared differences, or take them away: error-free sums (Knuth; Dekker)."""
    wide_vectors()
    for m in range(x.shape[0]):
        t = value - x[m]
        term = t * t if add else -(t * t)
        before = high[m]
        s = before + term
        back = s - before
        error = ((before - (s - back)) + (term - back)) + low[m]
        high[m] = s + error
        low[m] = error - (high[m] - s)


@kernel
def flip(x, add, high, low):
    """Bring the squared distances up to date."""
    n = x.shape[0]
    start = 0
    for i in range(n):
        end = start + n - 1 - i
        _flip_row(x[i], x[i + 1 :], add, high[start:end], low[start:end])
        start = end


@kernel
def sweep(columns, order, starts, ends, copies, matrix, utility, beta, tied, high, low, member, now, least):
    """Try each feature of ``order`` once, flip it if the score grows; return the number of flips.

    ``now`` holds the score; growth below ``tied`` times the sum of what it is made of is rounding. Without
    members the score is 0, whatever the utility. ``least`` is overwritten.
    """
    n_members = 0
    for j in range(member.shape[0]):
        n_members += member[j]
    n_flips = 0
    for v in range(order.shape[0]):
        j = order[v]
        add = not member[j]
        after, size = 0.0, 0.0
        if add or n_members > 1:
            after, size = tried(
                columns[j],
                add,
                high,
                low,
                starts,
                ends,
                copies,
                matrix,
                utility,
                beta,
                tied,
                least[0],
                least[1],
            )
        if after - now[0] > tied * size:
            flip(columns[j], add, high, low)
            member[j] = add
            n_members += 1 if add else -1
            now[0] = after
            n_flips += 1
    return n_flips


@kernel
def losses(columns, starts, ends, copies, matrix, utility, beta, tied, high, low, member, now, least, out):
    """Write what the score loses when a member leaves to ``out``; 0 for the others."""
    n_members = 0
    for j in range(member.shape[0]):
        n_members += member[j]
    for j in range(member.shape[0]):
        out[j] = 0.0
        if not member[j]:
            continue
        after = 0.0
        if n_members > 1:
            after, _ = tried(
                columns[j],
                False,
                high,
                low,
                starts,
                ends,
                copies,
                matrix,
                utility,
                beta,
                tied,
                least[0],
                least[1],
            )
        out[j] = now[0] - after
