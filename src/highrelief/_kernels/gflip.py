"""Greedy flips of single features (G-flip), by the squared distances of all pairs on the selected features.

Rows are sorted by class, with every class padded to whole blocks of rows, so that hits and misses are
contiguous. Of the symmetric matrix only the blocks from the diagonal on are stored: the :data:`ROW_BLOCK`
rows of a block one after the other, from the block's own columns to the last. A row is masked (:data:`FAR`)
against itself, and padding against all rows. Scoring a flip is one pass that changes nothing; applying it is
another.

Adding and later removing a feature must leave no trace: the square root turns a rounding error of 1e-16 into
1e-8. Values are therefore multiples of a step (see ``methods/gflip.py``), and a sum is stored in two parts,
``high`` + ``low``, with 106 bits together: it is exact, and ``high`` is the sum rounded once. The state
depends on the selected set alone, not on the flips that led to it.
"""

import math

import numpy as np

from .intrinsics import maximum, minimum
from .jit import kernel, never_nan, summing_kernel, wide_vectors
from .packing import ROW_BLOCK
from .simba import sigmoid

#: Codes of the utilities.
LINEAR, SIGMOID, ZERO_ONE = range(3)
#: Squared distance of a masked pair.
FAR = 2.0**1023


@kernel
def n_stored_pairs(n_rows):
    """Return the number of entries in the stored blocks of ``n_rows`` rows."""
    n_blocks = n_rows // ROW_BLOCK
    return ROW_BLOCK * ROW_BLOCK * (n_blocks * (n_blocks + 1)) // 2


@kernel
def initialize(real, high, low):
    """Write the squared distances over no feature: 0, or :data:`FAR` for masked pairs."""
    n = real.shape[0]
    place = 0
    for i in range(n):
        first = i - i % ROW_BLOCK
        for m in range(first, n):
            high[place] = 0.0 if real[i] and real[m] and i != m else FAR
            low[place] = 0.0
            place += 1


@kernel
def _nearest_with(x, r, first, last, high, start, stride, minima):
    """Return the least squared distances of a block's rows to columns first … last, with a feature added.

    The least distances of these columns to the rows are merged into ``minima``.
    """
    wide_vectors()
    never_nan()
    n = last - first
    columns, nearest = x[first:last], minima[first:last]
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
def _nearest_without(x, r, first, last, high, low, start, stride, minima):
    """Return the least squared distances of a block's rows to columns first … last, with a feature removed.

    The least distances of these columns to the rows are merged into ``minima``.
    """
    wide_vectors()
    never_nan()
    n = last - first
    columns, nearest = x[first:last], minima[first:last]
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
def _nearest_of_block(x, add, r, first, last, high, low, start, stride, minima):
    """Merge the least squared distances of a block's rows, and of the columns, into ``minima``."""
    if add:
        row_minima = _nearest_with(x, r, first, last, high, start, stride, minima)
    else:
        row_minima = _nearest_without(x, r, first, last, high, low, start, stride, minima)
    for i in range(ROW_BLOCK):
        minima[r + i] = minimum(minima[r + i], row_minima[i])


@kernel
def _roots(squares):
    """Replace squared distances by distances; infinity for masked pairs."""
    wide_vectors()
    for i in range(squares.shape[0]):
        squares[i] = math.sqrt(squares[i]) if squares[i] < FAR else np.inf


@kernel
def _nearest_distances(x, add, high, low, ends, hits, misses):
    """Write the distances to the nearest hit and miss after a flip; infinity if there is none."""
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
        # The lower half: the rows of a block become adjacent columns.
        for m in range(r + ROW_BLOCK, n):
            for i in range(ROW_BLOCK):
                out[m, r + i] = out[r + i, m]
        start += ROW_BLOCK * stride


@kernel
def _next_larger(squares, bound):
    """Return the smallest of the numbers above ``bound``; :data:`FAR` if there is none."""
    wide_vectors()
    never_nan()
    least = FAR
    for m in range(squares.shape[0]):
        square = squares[m] if squares[m] > bound else FAR
        least = square if square < least else least
    return least


@summing_kernel
def _weight_at_square(squares, sample_weight, square):
    """Return the total weight of the samples at one squared distance."""
    wide_vectors()
    weight = 0.0
    for m in range(squares.shape[0]):
        weight += sample_weight[m] if squares[m] == square else 0.0
    return weight


@kernel
def _mean_of_nearest(squares, others, sample_weight, other_weight, own_weight):
    """Return the mean distance of the nearest samples with a total weight of 1, or of all if they weigh less.

    The samples are two ranges of a row; the sample itself adds ``own_weight`` at distance 0. Infinity if
    there is no sample.
    """
    mass, total, previous = minimum(own_weight, 1.0), 0.0, -1.0
    while mass < 1.0:
        nearest = minimum(_next_larger(squares, previous), _next_larger(others, previous))
        if nearest == FAR:
            break
        weight = _weight_at_square(squares, sample_weight, nearest) + _weight_at_square(
            others, other_weight, nearest
        )
        share = minimum(weight, 1.0 - mass)
        mass += share
        total += share * math.sqrt(nearest)
        previous = nearest
    return total / mass if mass > 0.0 else np.inf


@kernel
def _nearest_weight(x, add, high, low, starts, ends, sample_weight, matrix, hits, misses):
    """Write mean distances to the nearest hits and misses of total weight 1 (fractional sample weights)."""
    _all_squares(x, add, high, low, matrix)
    for i in range(x.shape[0]):
        row, start, end = matrix[i], starts[i], ends[i]
        own_weight = maximum(sample_weight[i] - 1.0, 0.0)
        hits[i] = _mean_of_nearest(
            row[start:end], row[:0], sample_weight[start:end], sample_weight[:0], own_weight
        )
        misses[i] = _mean_of_nearest(row[:start], row[end:], sample_weight[:start], sample_weight[end:], 0.0)


@kernel
def _include_duplicates(sample_weight, hits):
    """Update the distances to the nearest hits for sample weights ≥ 1: duplicates are at distance 0."""
    for i in range(hits.shape[0]):
        own_weight = minimum(sample_weight[i] - 1.0, 1.0)
        if own_weight > 0.0:
            hits[i] = (1.0 - own_weight) * hits[i] if own_weight < 1.0 and hits[i] < np.inf else 0.0


@kernel
def score(hits, misses, sample_weight, utility, beta, tolerance):
    """Return the sum of the utilities of the margins, and the scale of its rounding error.

    A margin below ``tolerance`` times the mean of the two distances is 0.
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
            u = 1.0 if u > tolerance * rounding else 0.0
            rounding = 1.0
        # Error-free sum (Knuth): the order of the samples must not matter.
        term = sample_weight[i] * u
        after = total + term
        back = after - total
        rest += (total - (after - back)) + (term - back)
        total = after
        size += sample_weight[i] * rounding
    return total + rest, size


@kernel
def score_after_flip(
    x, add, high, low, starts, ends, sample_weight, matrix, utility, beta, tolerance, hits, misses
):
    """Return the score after a flip of the feature with values ``x``, and the scale of its rounding error.

    ``matrix`` is (n, n) scratch space for fractional sample weights, otherwise empty.
    """
    if matrix.shape[0] > 0:
        _nearest_weight(x, add, high, low, starts, ends, sample_weight, matrix, hits, misses)
    else:
        _nearest_distances(x, add, high, low, ends, hits, misses)
        _include_duplicates(sample_weight, hits)
    return score(hits, misses, sample_weight, utility, beta, tolerance)


@kernel
def _flip_row(value, x, add, high, low):
    """Add or subtract a feature's squared differences with error-free sums (Knuth; Dekker)."""
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
    """Update the squared distances for a flip of the feature with values ``x``."""
    n = x.shape[0]
    start = 0
    for i in range(n):
        first = i - i % ROW_BLOCK
        end = start + n - first
        _flip_row(x[i], x[first:], add, high[start:end], low[start:end])
        start = end


@kernel
def sweep(
    columns,
    order,
    starts,
    ends,
    sample_weight,
    matrix,
    utility,
    beta,
    tolerance,
    high,
    low,
    selected,
    current_score,
    scratch,
):
    """Try each feature of ``order`` once and flip it if the score increases; return the number of flips.

    ``current_score`` has one entry. An increase below ``tolerance`` times the scale of the rounding error is
    ignored. The score of the empty set is 0 for every utility. ``scratch`` is overwritten.
    """
    n_selected = 0
    for j in range(selected.shape[0]):
        n_selected += selected[j]
    n_flips = 0
    for v in range(order.shape[0]):
        j = order[v]
        add = not selected[j]
        after, size = 0.0, 0.0
        if add or n_selected > 1:
            after, size = score_after_flip(
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
                tolerance,
                scratch[0],
                scratch[1],
            )
        if after - current_score[0] > tolerance * size:
            flip(columns[j], add, high, low)
            selected[j] = add
            n_selected += 1 if add else -1
            current_score[0] = after
            n_flips += 1
    return n_flips


@kernel
def score_losses(
    columns,
    features,
    starts,
    ends,
    sample_weight,
    matrix,
    utility,
    beta,
    tolerance,
    high,
    low,
    selected,
    current_score,
    scratch,
    out,
):
    """Write to ``out`` the decrease of the score when one of the selected ``features`` is removed."""
    n_selected = 0
    for j in range(selected.shape[0]):
        n_selected += selected[j]
    for v in range(features.shape[0]):
        j = features[v]
        after = 0.0
        if n_selected > 1:
            after, _ = score_after_flip(
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
                tolerance,
                scratch[0],
                scratch[1],
            )
        out[j] = current_score[0] - after
