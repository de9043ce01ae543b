"""Flips of single features, by the squared distances of all pairs over the members.

Rows are sorted by class, every class padded to whole blocks of rows, so that hits and misses stand side by
side. Of the symmetric matrix there are the blocks from the diagonal on: the :data:`ROW_BLOCK` rows of a block
one after the other, from the block's own columns to the last. A row is :data:`FAR` from itself, and padding
from all. To try a flip is one pass over it that changes nothing; to make one is another.

What is added must go away again without a trace: a square root makes 1e-8 of the 1e-16 that a rounding may
leave. So values are whole multiples of a step (``methods/gflip.py`` says of which), and a sum is kept in
two parts, ``high`` + ``low``, of 106 bits together: it is exact, and ``high`` is the sum rounded once. Which
flips led to a set cannot be seen from it.
"""

import math

import numpy as np

from .jit import kernel, never_nan, summing_kernel, wide_vectors
from .packing import ROW_BLOCK
from .simba import sigmoid

LINEAR, SIGMOID, ZERO_ONE = range(3)
#: Squared distance where there is none.
FAR = 2.0**1023


@kernel
def pairs_of(n_rows):
    """Numbers that the blocks of so many rows have."""
    n_blocks = n_rows // ROW_BLOCK
    return ROW_BLOCK * ROW_BLOCK * (n_blocks * (n_blocks + 1)) // 2


@kernel
def begin(real, high, low):
    """Write the squared distances on no feature."""
    n = real.shape[0]
    place = 0
    for i in range(n):
        first = i - i % ROW_BLOCK
        for m in range(first, n):
            high[place] = 0.0 if real[i] and real[m] and i != m else FAR
            low[place] = 0.0
            place += 1


@kernel
def _nearest_with(x, r, first, last, high, start, stride, near):
    """Least squared distances of the rows of a block to columns first … last, with a feature added.

    Those columns' least distances to the rows go to ``near``.
    """
    wide_vectors()
    never_nan()
    n = last - first
    columns, nearest = x[first:last], near[first:last]
    a, b = high[start : start + n], high[start + stride : start + stride + n]
    c = high[start + 2 * stride : start + 2 * stride + n]
    d = high[start + 3 * stride : start + 3 * stride + n]
    x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
    low0 = low1 = low2 = low3 = np.inf
    for m in range(n):
        u = columns[m]
        t0, t1, t2, t3 = x0 - u, x1 - u, x2 - u, x3 - u
        v0, v1, v2, v3 = a[m] + t0 * t0, b[m] + t1 * t1, c[m] + t2 * t2, d[m] + t3 * t3
        low0 = v0 if v0 < low0 else low0
        low1 = v1 if v1 < low1 else low1
        low2 = v2 if v2 < low2 else low2
        low3 = v3 if v3 < low3 else low3
        v0 = v0 if v0 < v1 else v1
        v2 = v2 if v2 < v3 else v3
        v0 = v0 if v0 < v2 else v2
        nearest[m] = v0 if v0 < nearest[m] else nearest[m]
    return low0, low1, low2, low3


@kernel
def _nearest_without(x, r, first, last, high, low, start, stride, near):
    """The same with a feature taken away."""
    wide_vectors()
    never_nan()
    n = last - first
    columns, nearest = x[first:last], near[first:last]
    second, third, fourth = start + stride, start + 2 * stride, start + 3 * stride
    a, b = high[start : start + n], high[second : second + n]
    c, d = high[third : third + n], high[fourth : fourth + n]
    e, f = low[start : start + n], low[second : second + n]
    g, h = low[third : third + n], low[fourth : fourth + n]
    x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
    low0 = low1 = low2 = low3 = np.inf
    for m in range(n):
        u = columns[m]
        t0, t1, t2, t3 = x0 - u, x1 - u, x2 - u, x3 - u
        v0, v1 = (a[m] - t0 * t0) + e[m], (b[m] - t1 * t1) + f[m]
        v2, v3 = (c[m] - t2 * t2) + g[m], (d[m] - t3 * t3) + h[m]
        low0 = v0 if v0 < low0 else low0
        low1 = v1 if v1 < low1 else low1
        low2 = v2 if v2 < low2 else low2
        low3 = v3 if v3 < low3 else low3
        v0 = v0 if v0 < v1 else v1
        v2 = v2 if v2 < v3 else v3
        v0 = v0 if v0 < v2 else v2
        nearest[m] = v0 if v0 < nearest[m] else nearest[m]
    return low0, low1, low2, low3


@kernel
def _nearest_of_block(x, add, r, first, last, high, low, start, stride, near):
    """Bring the least squared distances of a block's rows, and of the columns', up to date."""
    if add:
        least = _nearest_with(x, r, first, last, high, start, stride, near)
    else:
        least = _nearest_without(x, r, first, last, high, low, start, stride, near)
    for i in range(ROW_BLOCK):
        near[r + i] = min(near[r + i], least[i])


@kernel
def _roots(squares):
    """Distances from squared ones; infinity for those that are far."""
    wide_vectors()
    for i in range(squares.shape[0]):
        squares[i] = math.sqrt(squares[i]) if squares[i] < FAR else np.inf


@kernel
def _nearest_distances(x, add, high, low, ends, hits, misses):
    """Write the distances to the nearest hit and miss after a flip; infinity where there is none."""
    n = x.shape[0]
    for i in range(n):
        hits[i] = misses[i] = FAR
    start = 0
    for r in range(0, n, ROW_BLOCK):
        stride, end = n - r, ends[r]
        _nearest_of_block(x, add, r, r, end, high, low, start, stride, hits)
        if end < n:
            _nearest_of_block(x, add, r, end, n, high, low, start + end - r, stride, misses)
        start += ROW_BLOCK * stride
    _roots(hits)
    _roots(misses)


@kernel
def _all_squares(x, add, high, low, out):
    """Write the squared distances of all pairs after a flip."""
    n = x.shape[0]
    start = 0
    for r in range(0, n, ROW_BLOCK):
        stride = n - r
        for i in range(ROW_BLOCK):
            place = start + i * stride
            for m in range(stride):
                t = x[r + i] - x[r + m]
                square = high[place + m]
                out[r + i, r + m] = square + t * t if add else (square - t * t) + low[place + m]
        # The other half, by the rows of a block side by side.
        for m in range(r + ROW_BLOCK, n):
            for i in range(ROW_BLOCK):
                out[m, r + i] = out[r + i, m]
        start += ROW_BLOCK * stride


@kernel
def _least_beyond(squares, reached):
    """Least of the numbers that are larger than ``reached``; :data:`FAR` where there is none."""
    wide_vectors()
    never_nan()
    least = FAR
    for m in range(squares.shape[0]):
        square = squares[m] if squares[m] > reached else FAR
        least = square if square < least else least
    return least


@summing_kernel
def _weight_at(squares, sample_weight, place):
    """Weight of those at one squared distance."""
    wide_vectors()
    weight = 0.0
    for m in range(squares.shape[0]):
        weight += sample_weight[m] if squares[m] == place else 0.0
    return weight


@kernel
def _mean_of_nearest(squares, others, sample_weight, other_weight, own):
    """Mean distance of the nearest samples that weigh 1 together, or of all if there are fewer.

    Among those of two stretches of a row; of the sample itself there are ``own`` more, at distance 0.
    Infinity where there is nobody.
    """
    mass, total, reached = min(own, 1.0), 0.0, -1.0
    while mass < 1.0:
        nearest = min(_least_beyond(squares, reached), _least_beyond(others, reached))
        if nearest == FAR:
            break
        weight = _weight_at(squares, sample_weight, nearest) + _weight_at(others, other_weight, nearest)
        share = min(weight, 1.0 - mass)
        mass += share
        total += share * math.sqrt(nearest)
        reached = nearest
    return total / mass if mass > 0.0 else np.inf


@kernel
def _nearest_weight(x, add, high, low, starts, ends, sample_weight, matrix, hits, misses):
    """What :func:`_nearest_distances` writes, where samples count in parts: means over a weight of 1."""
    _all_squares(x, add, high, low, matrix)
    for i in range(x.shape[0]):
        row, start, end = matrix[i], starts[i], ends[i]
        own = max(sample_weight[i] - 1.0, 0.0)
        hits[i] = _mean_of_nearest(row[start:end], row[:0], sample_weight[start:end], sample_weight[:0], own)
        misses[i] = _mean_of_nearest(row[:start], row[end:], sample_weight[:start], sample_weight[end:], 0.0)


@kernel
def _among_duplicates(sample_weight, hits):
    """Distances to the nearest hits where each sample counts once or more: its copies are at distance 0."""
    for i in range(hits.shape[0]):
        own = min(sample_weight[i] - 1.0, 1.0)
        if own > 0.0:
            hits[i] = (1.0 - own) * hits[i] if own < 1.0 and hits[i] < np.inf else 0.0


@kernel
def score(hits, misses, sample_weight, utility, beta, tied):
    """Sum of the utilities of the margins, and the sum whose rounding it has.

    A margin below ``tied`` times the mean of the two distances is 0.
    """
    total = rest = size = 0.0
    for i in range(hits.shape[0]):
        if hits[i] == np.inf or misses[i] == np.inf:
            continue
        u, rounding = 0.5 * (misses[i] - hits[i]), 0.5 * (misses[i] + hits[i])
        if utility == SIGMOID:
            u = sigmoid(u, beta)
            rounding = u + beta * u * (1.0 - u) * rounding
        elif utility == ZERO_ONE:
            u = 1.0 if u > tied * rounding else 0.0
            rounding = 1.0
        # Error-free sums (Knuth): the order of the samples must not matter.
        term = sample_weight[i] * u
        after = total + term
        back = after - total
        rest += (total - (after - back)) + (term - back)
        total = after
        size += sample_weight[i] * rounding
    return total + rest, size


@kernel
def tried(x, add, high, low, starts, ends, sample_weight, matrix, utility, beta, tied, hits, misses):
    """Score after a flip of the feature whose values are ``x``, and the sum whose rounding it has.

    ``matrix`` is (n, n) where samples count in parts, else empty.
    """
    if matrix.shape[0] > 0:
        _nearest_weight(x, add, high, low, starts, ends, sample_weight, matrix, hits, misses)
    else:
        _nearest_distances(x, add, high, low, ends, hits, misses)
        _among_duplicates(sample_weight, hits)
    return score(hits, misses, sample_weight, utility, beta, tied)


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
        first = i - i % ROW_BLOCK
        end = start + n - first
        _flip_row(x[i], x[first:], add, high[start:end], low[start:end])
        start = end


@kernel
def sweep(
    columns, order, starts, ends, sample_weight, matrix, utility, beta, tied, high, low, member, now, least
):
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
                sample_weight,
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
def losses(
    columns,
    some,
    starts,
    ends,
    sample_weight,
    matrix,
    utility,
    beta,
    tied,
    high,
    low,
    member,
    now,
    least,
    out,
):
    """Write what the score loses when one of some members leaves to ``out``."""
    n_members = 0
    for j in range(member.shape[0]):
        n_members += member[j]
    for v in range(some.shape[0]):
        j = some[v]
        after = 0.0
        if n_members > 1:
            after, _ = tried(
                columns[j],
                False,
                high,
                low,
                starts,
                ends,
                sample_weight,
                matrix,
                utility,
                beta,
                tied,
                least[0],
                least[1],
            )
        out[j] = now[0] - after
