"""Margins of single rows under softmax neighbourhoods (Sun 2007, eq. 11, row by row)."""

import math

import numpy as np

from .differences import add_margin
from .distances import TILE
from .exponential import decay
from .jit import kernel
from .soft import copy_row
from .weighted import weighted_tile


@kernel
def margin_rows(X, w, sums, codes, weights, per_sigma, far, pooled, factors, n0, n1, out, inlier):
    """Margin vectors of rows n0 … n1, one by one, and γ of eq. (10); both are 0 for padding.

    ``factors[class of the anchor, class]`` weighs the classes of the misses; with ``pooled`` misses of
    all classes form one neighbourhood. A row without a hit, or without a miss, gets zeros.
    """
    n_rows, n_classes = X.shape[0], factors.shape[0]
    T = np.empty((TILE, TILE))
    distances = np.empty((TILE, n_rows))
    rows = np.empty(n_rows, np.int64)
    coefficients = np.empty(n_rows)
    low = np.empty(n_classes)
    total = np.empty(n_classes)
    for i0 in range(n0, n1, TILE):
        i1 = min(i0 + TILE, n1)
        for j0 in range(0, n_rows, TILE):
            j1 = min(j0 + TILE, n_rows)
            weighted_tile(X, w, sums, i0, i1, j0, j1, T)
            for p in range(i1 - i0):
                copy_row(T[p], distances[p, j0:j1])
        for n in range(i0, i1):
            if weights[n] <= 0:
                continue
            row = distances[n - i0]
            own = codes[n]
            _class_statistics(row, n, codes, weights, per_sigma, far, low, total)
            miss_low, miss_total = far, 0.0
            for c in range(n_classes):
                if c != own and total[c] > 0:
                    miss_low = min(miss_low, low[c])
            for c in range(n_classes):
                if c != own and total[c] > 0:
                    miss_total += total[c] * math.exp((miss_low - low[c]) * per_sigma)
            if total[own] <= 0.0 or miss_total <= 0.0:
                continue
            closest = min(low[own], miss_low)
            hit_mass = total[own] * math.exp((closest - low[own]) * per_sigma)
            miss_mass = miss_total * math.exp((closest - miss_low) * per_sigma)
            inlier[n] = hit_mass / (hit_mass + miss_mass)
            count = 0
            for i in range(n_rows):
                if weights[i] <= 0 or i == n:
                    continue
                c = codes[i]
                if c == own:
                    share = -math.exp((low[c] - row[i]) * per_sigma) / total[c]
                elif pooled:
                    share = math.exp((miss_low - row[i]) * per_sigma) / miss_total
                else:
                    share = factors[own, c] * math.exp((low[c] - row[i]) * per_sigma) / total[c]
                rows[count] = i
                coefficients[count] = share * weights[i]
                count += 1
            add_margin(X, n, rows[:count], coefficients[:count], False, out[n])


@kernel
def margins_from_distances(X, D, first, codes, weights, per_sigma, nearest, scales, out):
    """Margin vectors, over the columns of X, of as many rows from ``first`` on as D has columns of distances.

    The share of row i in that of row n is s_i·scales[class of i, n]·f(d_ni − nearest[class of i, n]).
    """
    n_rows = X.shape[0]
    rows = np.empty(n_rows, np.int64)
    shares = np.empty(n_rows)
    for q in range(D.shape[1]):
        n = first + q
        count = 0
        for i in range(n_rows):
            c = codes[i]
            share = weights[i] * scales[c, n] * decay((nearest[c, n] - D[i, q]) * per_sigma)
            if share != 0:
                rows[count] = i
                shares[count] = share
                count += 1
        add_margin(X, n, rows[:count], shares[:count], False, out[n])


@kernel
def _class_statistics(row, n, codes, weights, per_sigma, far, low, total):
    """Gather the smallest distance and the mass of every class, seen from row n."""
    low[:] = far
    total[:] = 0.0
    if weights[n] > 1.0:
        low[codes[n]] = 0.0
        total[codes[n]] = weights[n] - 1.0
    for i in range(row.shape[0]):
        if weights[i] > 0 and i != n and row[i] < low[codes[i]]:
            total[codes[i]] *= math.exp((row[i] - low[codes[i]]) * per_sigma)
            low[codes[i]] = row[i]
        if weights[i] > 0 and i != n:
            total[codes[i]] += weights[i] * math.exp((low[codes[i]] - row[i]) * per_sigma)
