"""The margins that neighbours give where only the values that are not 0 are stored.

Σ_t c_t·|x − x_t| = (Σ_t c_t)·|x| + Σ_t c_t·(|x − x_t| − |x|), and the last sum has a term where x_t is
stored, none where it is 0: one pass over the values of the neighbours. Rows are given as in
:mod:`.sparse_rows`.
"""

import numpy as np

from .jit import kernel
from .nearest import list_others


@kernel
def _add_margin(indptr, indices, values, r, others, coefficients, n_others, squared, beside):
    """Add Σ_t coefficients[t]·|x_r − x_others[t]|, or squares, to ``beside[:, 1]``.

    ``beside[:, 0]``, next to it in the memory, comes, and is left, filled with 0.
    """
    for u in range(indptr[r], indptr[r + 1]):
        beside[indices[u], 0] = values[u]
    total = 0.0
    for t in range(n_others):
        coefficient = coefficients[t]
        total += coefficient
        for u in range(indptr[others[t]], indptr[others[t] + 1]):
            j = np.uintp(indices[u])
            own, other = beside[j, 0], values[u]
            apart = other * (other - 2.0 * own) if squared else abs(own - other) - abs(own)
            beside[j, 1] += coefficient * apart
    for u in range(indptr[r], indptr[r + 1]):
        j, own = np.uintp(indices[u]), values[u]
        beside[j, 1] += total * (own * own if squared else abs(own))
        beside[j, 0] = 0.0


@kernel
def _most_others(a0, a1, count):
    most = 0
    for a in range(a0, a1):
        n_others = 0
        for slot in range(count.shape[1]):
            n_others += count[a, slot]
        most = max(most, n_others)
    return most


@kernel
def _take_moments(indices, u0, u1, copies, beside, out):
    """Add the moments of a margin in some columns to ``out``; it becomes 0 there."""
    for u in range(u0, u1):
        j = indices[u]
        t = copies * beside[j, 1]
        out[0, j] += t
        out[1, j] += copies * t
        out[2, j] += t * t
        beside[j, 1] = 0.0


@kernel
def margins(
    indptr,
    indices,
    values,
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
    out,
):
    """Add the margins of anchors a0 … a1, times their copies, to ``out[0]``.

    If ``out`` has three rows, Σ s²z and Σ s²z² to the others. See :func:`.nearest.margins`.
    """
    most = _most_others(a0, a1, count)
    others, coefficients = np.empty(most, np.int64), np.empty(most)
    beside = np.zeros((out.shape[1], 2))
    for a in range(a0, a1):
        n = anchors[a]
        r = position[n]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
        )
        if out.shape[0] == 1:
            for t in range(n_others):
                coefficients[t] *= copies[n]
        _add_margin(indptr, indices, values, r, others, coefficients, n_others, squared, beside)
        if out.shape[0] > 1:
            _take_moments(indices, indptr[r], indptr[r + 1], copies[n], beside, out)
            for t in range(n_others):
                i = others[t]
                _take_moments(indices, indptr[i], indptr[i + 1], copies[n], beside, out)
    for j in range(out.shape[1]):
        out[0, j] += beside[j, 1]


@kernel
def _take_weighted(indices, u0, u1, w, beside):
    """Σ w·z over some columns of a margin z, which becomes 0 there."""
    total = 0.0
    for u in range(u0, u1):
        j = indices[u]
        total += w[j] * beside[j, 1]
        beside[j, 1] = 0.0
    return total


@kernel
def margins_under(
    indptr,
    indices,
    values,
    squared,
    position,
    anchors,
    a0,
    a1,
    codes,
    slot_factors,
    start,
    count,
    rows,
    shares,
    w,
    out,
):
    """Write Σ_j w_j·z_j of the margins z of anchors a0 … a1 to ``out``, by sample."""
    most = _most_others(a0, a1, count)
    others, coefficients = np.empty(most, np.int64), np.empty(most)
    beside = np.zeros((w.shape[0], 2))
    for a in range(a0, a1):
        n = anchors[a]
        r = position[n]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
        )
        _add_margin(indptr, indices, values, r, others, coefficients, n_others, squared, beside)
        total = _take_weighted(indices, indptr[r], indptr[r + 1], w, beside)
        for t in range(n_others):
            total += _take_weighted(indices, indptr[others[t]], indptr[others[t] + 1], w, beside)
        out[r] = total
