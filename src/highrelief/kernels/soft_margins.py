"""Margins of single rows under softmax neighbourhoods (Sun 2007, eq. 11, row by row)."""

import numpy as np

from .differences import add_margin
from .exponential import decay
from .jit import kernel


@kernel
def margins_from_distances(X, D, start, first, codes, weights, per_sigma, nearest, scales, out):
    """Margin vectors, over the columns of X, of as many rows from ``first`` on as D has columns of distances.

    The share of row i in that of row n is s_i·scales[class of i, n]·f(d_ni − nearest[class of i, n]). D holds
    the distances of as many rows i as it has, from ``start`` on.
    """
    n_rows = D.shape[0]
    rows = np.empty(n_rows, np.int64)
    shares = np.empty(n_rows)
    for q in range(D.shape[1]):
        n = first + q
        count = 0
        for p in range(n_rows):
            i = start + p
            c = codes[i]
            share = weights[i] * scales[c, n] * decay((nearest[c, n] - D[p, q]) * per_sigma)
            if share != 0:
                rows[count] = i
                shares[count] = share
                count += 1
        add_margin(X, n, rows[:count], shares[:count], out[n])
