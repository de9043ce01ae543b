"""The margins that neighbours give where only the values that are not 0 are stored.

By the same additions, in the same order, as :mod:`.nearest` makes them of float64: what is left out there adds 0.
Rows are given as in :mod:`.sparse_rows`.
"""

import numpy as np

from .differences import ROWS_PER_SUM
from .jit import kernel
from .nearest import list_others


@kernel
def _add_group(
    indptr, indices, values, r, own, others, n_others, coefficient, squared, seen, stamp, sums, target
):
    """Add coefficient·Σ_t |x_r − x_others[t]|, or squares, to ``target``; returns the last stamp.

    ``own`` holds row r, ``sums`` zeros; ``seen`` says at which stamp a column last had a value.
    """
    for t0 in range(0, n_others, ROWS_PER_SUM):
        t1 = min(t0 + ROWS_PER_SUM, n_others)
        for t in range(t0, t1):
            stamp += 1
            for u in range(indptr[others[t]], indptr[others[t] + 1]):
                j = indices[u]
                apart = own[j] - values[u]
                sums[j] += apart * apart if squared else abs(apart)
                seen[j] = stamp
            for u in range(indptr[r], indptr[r + 1]):
                j = indices[u]
                if seen[j] != stamp:
                    sums[j] += values[u] * values[u] if squared else abs(values[u])
        for t in range(t0, t1):
            _add_sums(indices[indptr[others[t]] : indptr[others[t] + 1]], coefficient, sums, target)
        _add_sums(indices[indptr[r] : indptr[r + 1]], coefficient, sums, target)
    return stamp


@kernel
def _add_sums(columns, coefficient, sums, target):
    """Add coefficient·sums to ``target``, in some columns, where the sums become 0."""
    for u in range(columns.shape[0]):
        j = columns[u]
        if sums[j] != 0.0:
            target[j] += coefficient * sums[j]
            sums[j] = 0.0


@kernel
def _add_margin(
    indptr, indices, values, r, own, others, coefficients, n_others, squared, group, seen, stamp, sums, target
):
    """Add Σ_t coefficients[t]·|x_r − x_others[t]|, or squares, to ``target``; returns the last stamp.

    ``coefficients`` are used up; ``own`` and ``sums`` come, and are left, filled with 0.
    """
    for u in range(indptr[r], indptr[r + 1]):
        own[indices[u]] = values[u]
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
        stamp = _add_group(
            indptr, indices, values, r, own, group, n, coefficient, squared, seen, stamp, sums, target
        )
    for u in range(indptr[r], indptr[r + 1]):
        own[indices[u]] = 0.0
    return stamp


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
def _take_moments(columns, copies, z, out):
    """Add the moments of a margin in some columns to ``out``; it becomes 0 there."""
    for u in range(columns.shape[0]):
        j = columns[u]
        if z[j] != 0.0:
            t = copies * z[j]
            out[0, j] += t
            out[1, j] += copies * t
            out[2, j] += t * t
            z[j] = 0.0


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
    n_features = out.shape[1]
    most = _most_others(a0, a1, count)
    others, group, coefficients = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    own, sums, z = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    seen = np.zeros(n_features, np.int64)
    stamp = 0
    for a in range(a0, a1):
        n = anchors[a]
        r = position[n]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
        )
        target = z
        if out.shape[0] == 1:
            target = out[0]
            for t in range(n_others):
                coefficients[t] *= copies[n]
        stamp = _add_margin(
            indptr,
            indices,
            values,
            r,
            own,
            others,
            coefficients,
            n_others,
            squared,
            group,
            seen,
            stamp,
            sums,
            target,
        )
        if out.shape[0] > 1:
            _take_moments(indices[indptr[r] : indptr[r + 1]], copies[n], z, out)
            for t in range(n_others):
                i = others[t]
                _take_moments(indices[indptr[i] : indptr[i + 1]], copies[n], z, out)


@kernel
def _take_weighted(columns, w, z):
    """Σ w·z over some columns, where z becomes 0."""
    total = 0.0
    for u in range(columns.shape[0]):
        j = columns[u]
        total += w[j] * z[j]
        z[j] = 0.0
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
    n_features = w.shape[0]
    most = _most_others(a0, a1, count)
    others, group, coefficients = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    own, sums, z = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    seen = np.zeros(n_features, np.int64)
    stamp = 0
    for a in range(a0, a1):
        n = anchors[a]
        r = position[n]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
        )
        stamp = _add_margin(
            indptr,
            indices,
            values,
            r,
            own,
            others,
            coefficients,
            n_others,
            squared,
            group,
            seen,
            stamp,
            sums,
            z,
        )
        total = _take_weighted(indices[indptr[r] : indptr[r + 1]], w, z)
        for t in range(n_others):
            i = others[t]
            total += _take_weighted(indices[indptr[i] : indptr[i + 1]], w, z)
        out[r] = total
