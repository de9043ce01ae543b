"""Stochastic gradient ascent on the margin under a weighted Euclidean distance (Simba).

The margin of x is ½(‖x − NM‖_w − ‖x − NH‖_w) with its nearest miss NM and hit NH, ‖z‖_w² = Σ w_k²z_k². The
weights change with every sample, so that the distances of a sample to all others are recomputed: four rows at
a time, summed in float64 for any precision of the rows.
"""

import math

import numpy as np

from .intrinsics import empty, minimum
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors

#: Rows that are summed simultaneously.
_ROWS = 4


@summing_kernel
def _four_squares(x, R, i0, i1, i2, i3, squared):
    """Return Σ_k w_k²(x_k − r_k)² for four rows."""
    wide_vectors()
    a, b, c, d = R[i0], R[i1], R[i2], R[i3]
    s0 = s1 = s2 = s3 = 0.0
    for k in range(x.shape[0]):
        u, v = np.float64(x[k]), squared[k]
        t0, t1, t2, t3 = u - a[k], u - b[k], u - c[k], u - d[k]
        s0 += v * (t0 * t0)
        s1 += v * (t1 * t1)
        s2 += v * (t2 * t2)
        s3 += v * (t3 * t3)
    return s0, s1, s2, s3


@kernel
def _squares_to_all(X, n, squared, out):
    """Write the squared distances of sample n to all samples; infinity for itself."""
    last = X.shape[0] - 1
    for i in range(0, last + 1, _ROWS):
        # Beyond the last row, indices repeat it.
        j1, j2, j3 = minimum(i + 1, last), minimum(i + 2, last), minimum(i + 3, last)
        out[i], out[j1], out[j2], out[j3] = _four_squares(X[n], X, i, j1, j2, j3, squared)
    out[n] = np.inf


@kernel
def _nearest(squares, codes, own, tolerance):
    """Return the indices of the nearest hit and the nearest miss, −1 if there is none.

    Among those within a factor of 1 + ``tolerance``, the first in the table: otherwise rounding could select
    another when columns are reordered.
    """
    hit_low = miss_low = np.inf
    for i in range(squares.shape[0]):
        if codes[i] == own:
            hit_low = minimum(hit_low, squares[i])
        else:
            miss_low = minimum(miss_low, squares[i])
    hit_bound, miss_bound = hit_low * (1.0 + tolerance), miss_low * (1.0 + tolerance)
    hit = miss = -1
    for i in range(squares.shape[0] - 1, -1, -1):
        if codes[i] == own:
            if squares[i] <= hit_bound and squares[i] < np.inf:
                hit = i
        elif squares[i] <= miss_bound:
            miss = i
    return hit, miss


@fused_kernel
def _step(x, hit, miss, to_hit, to_miss, rate, w, squared):
    """Update w_i += rate·[(x_i − NM_i)²/‖x − NM‖ − (x_i − NH_i)²/‖x − NH‖]·w_i, and the squares of w."""
    wide_vectors()
    for k in range(w.shape[0]):
        u = np.float64(x[k])
        m, h = u - miss[k], u - hit[k]
        w[k] += rate * (m * m / to_miss - h * h / to_hit) * w[k]
        squared[k] = w[k] * w[k]


@kernel
def sigmoid(m, beta):
    """Return 1/(1 + exp(−βm)) without overflow."""
    small = math.exp(-abs(beta * m))
    return 1.0 / (1.0 + small) if m >= 0.0 else small / (1.0 + small)


@kernel
def climb(X, codes, visits, tolerance, smooth, beta, w):
    """Visit samples in the order of ``visits``, updating ``w``; return the number of steps.

    A sample without a hit or a miss, or at distance 0 from the nearest one, makes no step. ``smooth``: the
    utility is the sigmoid of the margin, otherwise the margin itself.
    """
    squared = w * w
    squares = empty(X.shape[0], np.float64)
    n_steps = 0
    for v in range(visits.shape[0]):
        n = visits[v]
        _squares_to_all(X, n, squared, squares)
        hit, miss = _nearest(squares, codes, codes[n], tolerance)
        if hit < 0 or miss < 0 or squares[hit] == 0.0 or squares[miss] == 0.0:
            continue
        to_hit, to_miss = math.sqrt(squares[hit]), math.sqrt(squares[miss])
        rate = 0.5
        if smooth:
            u = sigmoid(0.5 * (to_miss - to_hit), beta)
            rate *= beta * u * (1.0 - u)
        _step(X[n], X[hit], X[miss], to_hit, to_miss, rate, w, squared)
        n_steps += 1
    return n_steps


@kernel
def find_nearest(X, codes, squared, start, end, hits, misses):
    """Lower ``hits`` and ``misses`` to the least squared distances among the pairs of rows start … end.

    Each pair is processed once, at the first of its rows, and updates both.
    """
    for first in range(start, end, _ROWS):
        last = minimum(first + _ROWS, end) - 1
        i1, i2, i3 = minimum(first + 1, last), minimum(first + 2, last), minimum(first + 3, last)
        for m in range(first + 1, X.shape[0]):
            found = _four_squares(X[m], X, first, i1, i2, i3, squared)
            for i in range(first, minimum(last + 1, m)):
                square = found[i - first]
                if codes[i] == codes[m]:
                    hits[i], hits[m] = minimum(hits[i], square), minimum(hits[m], square)
                else:
                    misses[i], misses[m] = minimum(misses[i], square), minimum(misses[m], square)
