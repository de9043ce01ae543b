"""Distances under weights, and sums over pairs, where only the values that are not 0 are stored.

Rows come as in :mod:`.sparse_rows`, listed by columns as well; distances, and what is made of them, in the
tiles of :mod:`.soft`.
"""

import numpy as np

from .distances import TILE
from .jit import kernel
from .sparse_rows import add_overlaps


@kernel
def fill_tiles(indptr, indices, scaled, position, sums, far, p0, p1, starts, members, values, D):
    """Store the distances of rows p0 … p1 to all later ones; those on the diagonal are ``far``.

    ``sums`` holds Σ|a| of every row, and ``far`` for padding.
    """
    n = position.shape[0]
    overlap = np.empty(n)
    for p in range(p0, p1):
        for q in range(p, n):
            overlap[q] = 0.0
        r = position[p]
        if r >= 0:
            add_overlaps(
                indices, scaled, indptr[r], indptr[r + 1], p + 1, False, starts, members, values, overlap
            )
        b, i = p // TILE, p % TILE
        D[b * (b + 1) // 2 + b, i, i] = far
        for q in range(p + 1, n):
            a = q // TILE
            apart = sums[p] + sums[q] - 2.0 * overlap[q]
            # Rounding can leave −ε.
            apart = apart if apart > 0.0 else 0.0
            D[a * (a + 1) // 2 + b, i, q % TILE] = apart
            if a == b:
                D[a * (a + 1) // 2 + b, q % TILE, i] = apart


@kernel
def add_common(indptr, indices, scaled, position, S, p0, p1, starts, members, values, out):
    """Add Σ S_pq·(|a| + |b| − |a − b|) over the pairs of rows p0 … p1 with all later ones, column by column.

    ``S`` holds the coefficients of pairs, each once, in tiles.
    """
    n = position.shape[0]
    row = np.empty(n)
    for p in range(p0, p1):
        r = position[p]
        if r < 0:
            continue
        b, i = p // TILE, p % TILE
        for q in range(p + 1, n):
            a = q // TILE
            row[q] = S[a * (a + 1) // 2 + b, i, q % TILE]
        for t in range(indptr[r], indptr[r + 1]):
            j = indices[t]
            own = np.float64(scaled[t])
            sign = 1.0 if own > 0.0 else -1.0
            total = 0.0
            for u in range(starts[j + 1] - 1, starts[j] - 1, -1):
                m = members[u]
                if m <= p:
                    break
                x, y = sign * own, sign * values[u]
                least = x if x < y else y
                total += row[m] * (least if least > 0.0 else 0.0)
            out[j] += 2.0 * total


@kernel
def mix_rows(indptr, indices, scaled, position, coefficients, out):
    """Add Σ_p coefficients[p]·|a_p| to ``out``, in the order of the rows."""
    for p in range(position.shape[0]):
        r = position[p]
        if r >= 0 and coefficients[p] != 0.0:
            for t in range(indptr[r], indptr[r + 1]):
                out[indices[t]] += coefficients[p] * abs(scaled[t])
