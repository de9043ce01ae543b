"""Online I-RELIEF: one sample after another (Sun 2007, Fig. 3).

ν ← (1 − η)·ν + η·π with the margin π = γ·(m̄ − h̄) of a sample under the present weights, w = (ν)⁺/‖(ν)⁺‖₂.

The weights change with every sample, so that nothing can be cached between samples and every reference is
read for every sample. It is read from memory once: its distance is computed, and its share in the margin
added, while it is in the cache, relative to the smallest distance so far.

References are stored in rows or, if there are few of them and few features, in columns sorted by class: sums
over references then use whole vectors, and features of weight 0 are skipped in distances.
"""

import math

import numpy as np

from .intrinsics import empty, maximum, minimum
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .vectors import decay

#: Bytes of references per block, so that they stay in the cache between distances and shares.
_BYTES_AT_ONCE = 2**17
#: References (or features) that are summed simultaneously.
_ROWS = 4


@summing_kernel
def _four_distances(x, R, i0, i1, i2, i3, w):
    """Return Σ_k w_k|x_k − r_k| for four references."""
    wide_vectors()
    a, b, c, d = R[i0], R[i1], R[i2], R[i3]
    s0 = s1 = s2 = s3 = 0.0
    for k in range(x.shape[0]):
        u, v = x[k], w[k]
        s0 += v * np.float64(abs(u - a[k]))
        s1 += v * np.float64(abs(u - b[k]))
        s2 += v * np.float64(abs(u - c[k]))
        s3 += v * np.float64(abs(u - d[k]))
    return s0, s1, s2, s3


@fused_kernel
def _add_four_differences(x, R, i0, i1, i2, i3, c0, c1, c2, c3, out):
    """Add Σ c·|x − r| over four references to ``out``."""
    wide_vectors()
    a, b, c, d = R[i0], R[i1], R[i2], R[i3]
    for k in range(x.shape[0]):
        u = x[k]
        first = out[k] + c0 * np.float64(abs(u - a[k]))
        second = c1 * np.float64(abs(u - b[k]))
        first += c2 * np.float64(abs(u - c[k]))
        second += c3 * np.float64(abs(u - d[k]))
        out[k] = first + second


@kernel
def _scale(values, factor):
    wide_vectors()
    for k in range(values.shape[0]):
        values[k] *= factor


@kernel
def _decay_all(d, low, sigma):
    wide_vectors()
    for i in range(d.shape[0]):
        d[i] = decay((low - d[i]) / sigma)


@fused_kernel
def _add_four_features(x, R, k0, k1, k2, k3, w, start, d):
    """Add w_k·|x_k − r_k| over four features to the distances ``d`` of references from ``start`` on."""
    wide_vectors()
    end = start + d.shape[0]
    r0, r1, r2, r3 = R[k0, start:end], R[k1, start:end], R[k2, start:end], R[k3, start:end]
    x0, x1, x2, x3 = x[k0], x[k1], x[k2], x[k3]
    # Beyond the last feature, indices repeat it; repetitions have weight 0.
    w0 = w[k0]
    w1 = w[k1] if k1 != k0 else 0.0
    w2 = w[k2] if k2 != k1 else 0.0
    w3 = w[k3] if k3 != k2 else 0.0
    for i in range(d.shape[0]):
        first = d[i] + w0 * np.float64(abs(x0 - r0[i]))
        second = w1 * np.float64(abs(x1 - r1[i]))
        first += w2 * np.float64(abs(x2 - r2[i]))
        second += w3 * np.float64(abs(x3 - r3[i]))
        d[i] = first + second


@summing_kernel
def _four_sums(x, R, k0, k1, k2, k3, start, shares):
    """Return Σ_i share_i·|x_k − r_ik| for four features, over the references from ``start`` on."""
    wide_vectors()
    end = start + shares.shape[0]
    r0, r1, r2, r3 = R[k0, start:end], R[k1, start:end], R[k2, start:end], R[k3, start:end]
    x0, x1, x2, x3 = x[k0], x[k1], x[k2], x[k3]
    s0 = s1 = s2 = s3 = 0.0
    for i in range(shares.shape[0]):
        c = shares[i]
        s0 += c * np.float64(abs(x0 - r0[i]))
        s1 += c * np.float64(abs(x1 - r1[i]))
        s2 += c * np.float64(abs(x2 - r2[i]))
        s3 += c * np.float64(abs(x3 - r3[i]))
    return s0, s1, s2, s3


@summing_kernel
def _total(values):
    wide_vectors()
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@kernel
def _distances_in_rows(x, references, rows, w, block):
    """Write the distances of some references, stored as rows, to ``block``."""
    last = rows.shape[0] - 1
    for i in range(0, rows.shape[0], _ROWS):
        # Beyond the last row, indices repeat it.
        j1, j2, j3 = minimum(i + 1, last), minimum(i + 2, last), minimum(i + 3, last)
        block[i], block[j1], block[j2], block[j3] = _four_distances(
            x, references, rows[i], rows[j1], rows[j2], rows[j3], w
        )


@kernel
def _distances_in_columns(x, references, start, w, active, block):
    """Write the distances of references stored as columns from ``start`` on, over ``active`` features."""
    block[:] = 0.0
    last = active.shape[0] - 1
    for k in range(0, active.shape[0], _ROWS):
        k1, k2, k3 = minimum(k + 1, last), minimum(k + 2, last), minimum(k + 3, last)
        _add_four_features(x, references, active[k], active[k1], active[k2], active[k3], w, start, block)


@kernel
def _add_rows(x, references, rows, block, margin):
    """Add Σ_i share_i·|x − x_i| over references stored as rows to ``margin``; return the sum of shares."""
    total = 0.0
    last = rows.shape[0] - 1
    for i in range(0, rows.shape[0], _ROWS):
        j1, j2, j3 = minimum(i + 1, last), minimum(i + 2, last), minimum(i + 3, last)
        c0 = block[i]
        c1 = block[j1] if j1 > i else 0.0
        c2 = block[j2] if j2 > j1 else 0.0
        c3 = block[j3] if j3 > j2 else 0.0
        found = (c0 + c1) + (c2 + c3)
        total += found
        if found > 0.0:
            _add_four_differences(
                x, references, rows[i], rows[j1], rows[j2], rows[j3], c0, c1, c2, c3, margin
            )
    return total


@kernel
def _add_columns(x, references, start, block, margin):
    """Add Σ_i share_i·|x − x_i| over references stored as columns from ``start`` on to ``margin``.

    Returns the sum of shares.
    """
    last = margin.shape[0] - 1
    for k in range(0, margin.shape[0], _ROWS):
        k1, k2, k3 = minimum(k + 1, last), minimum(k + 2, last), minimum(k + 3, last)
        s0, s1, s2, s3 = _four_sums(x, references, k, k1, k2, k3, start, block)
        margin[k] += s0
        if k1 > k:
            margin[k1] += s1
        if k2 > k1:
            margin[k2] += s2
        if k3 > k2:
            margin[k3] += s3
    return _total(block)


@kernel
def _class_margin(x, itself, references, in_columns, members, begin, end, w, active, sigma, shares, margin):
    """Write Σ_i f(d_i − low)·|x − x_i| over the members begin … end to ``margin``.

    Returns low = min d_i and Σ_i f; infinity and 0 if there is no member other than the sample itself.
    """
    margin[:] = 0.0
    low, total = np.inf, 0.0
    for start in range(begin, end, shares.shape[0]):
        rows = members[start : minimum(start + shares.shape[0], end)]
        block = shares[: rows.shape[0]]
        if in_columns:
            _distances_in_columns(x, references, start, w, active, block)
        else:
            _distances_in_rows(x, references, rows, w, block)
        block_low = low
        for j in range(rows.shape[0]):
            if rows[j] == itself:
                block[j] = np.inf
            block_low = minimum(block_low, block[j])
        if block_low == np.inf:
            continue
        if block_low < low:
            if total > 0.0:
                shrink = math.exp((block_low - low) / sigma)
                total *= shrink
                _scale(margin, shrink)
            low = block_low
        _decay_all(block, low, sigma)
        if in_columns:
            total += _add_columns(x, references, start, block, margin)
        else:
            total += _add_rows(x, references, rows, block, margin)
    return low, total


@kernel
def _add_scaled(values, factor, out):
    wide_vectors()
    for k in range(out.shape[0]):
        out[k] += factor * values[k]


@kernel
def rows_at_once(n_features, itemsize):
    """Return the number of references per block, a multiple of the group size."""
    return maximum(1, _BYTES_AT_ONCE // (n_features * itemsize * _ROWS)) * _ROWS


@kernel
def sample_margin(
    x,
    own,
    itself,
    references,
    in_columns,
    members,
    bounds,
    priors,
    w,
    active,
    sigma,
    pooled,
    use_inlier,
    shares,
    class_margins,
    margin,
):
    """Write π = γ·(m̄ − h̄) of one sample (eq. 24) with respect to the references to ``margin``.

    The references of class c are ``members[bounds[c]:bounds[c + 1]]``; ``itself`` is the sample's index among
    the references, or −1. Without a hit, or without a miss, π = 0. ``shares`` and ``class_margins`` (one row
    per class) are overwritten.

    References are rows or, if ``in_columns``, columns in the order of ``members``. ``active`` are the
    features with nonzero weight.
    """
    n_classes = priors.shape[0]
    low = empty(n_classes, np.float64)
    total = empty(n_classes, np.float64)
    miss_low = np.inf
    for c in range(n_classes):
        low[c], total[c] = _class_margin(
            x,
            itself,
            references,
            in_columns,
            members,
            bounds[c],
            bounds[c + 1],
            w,
            active,
            sigma,
            shares,
            class_margins[c],
        )
        if c != own:
            miss_low = minimum(miss_low, low[c])
    margin[:] = 0.0
    if low[own] == np.inf or miss_low == np.inf:
        return
    closest = minimum(low[own], miss_low)
    hit_mass = total[own] * math.exp((closest - low[own]) / sigma)
    miss_mass = 0.0
    miss_total = 0.0
    for c in range(n_classes):
        if c != own and total[c] > 0.0:
            miss_mass += total[c] * math.exp((closest - low[c]) / sigma)
            miss_total += total[c] * math.exp((miss_low - low[c]) / sigma)
    inlier = hit_mass / (hit_mass + miss_mass) if use_inlier else 1.0
    for c in range(n_classes):
        if total[c] <= 0.0:
            continue
        if c == own:
            factor = -1.0 / total[c]
        elif pooled:
            factor = math.exp((miss_low - low[c]) / sigma) / miss_total
        else:
            factor = priors[c] / (1.0 - priors[own]) / total[c]
        _add_scaled(class_margins[c], inlier * factor, margin)


@kernel
def _update_mean(nu, margin, rate):
    wide_vectors()
    for k in range(nu.shape[0]):
        nu[k] = (1.0 - rate) * nu[k] + rate * margin[k]


@kernel
def learn_samples(
    X,
    own_codes,
    places,
    visits,
    references,
    in_columns,
    members,
    bounds,
    priors,
    sigma,
    pooled,
    use_inlier,
    step_decay,
    step,
    nu,
    w,
):
    """Run lines (3) to (8) of Fig. 3 over the rows ``visits`` of X, updating ``nu`` and ``w``.

    ``step`` is the number of samples seen before. While no component of ν is positive, w is unchanged.
    """
    margin = empty(w.shape[0], np.float64)
    class_margins = empty((priors.shape[0], w.shape[0]), np.float64)
    shares = empty(rows_at_once(w.shape[0], X.itemsize), np.float64)
    active = empty(w.shape[0], np.int64)
    for v in range(visits.shape[0]):
        n = visits[v]
        step += 1
        n_active = 0
        for k in range(w.shape[0]):
            if w[k] != 0.0:
                active[n_active] = k
                n_active += 1
        sample_margin(
            X[n],
            own_codes[n],
            places[n],
            references,
            in_columns,
            members,
            bounds,
            priors,
            w,
            active[:n_active],
            sigma,
            pooled,
            use_inlier,
            shares,
            class_margins,
            margin,
        )
        _update_mean(nu, margin, minimum(1.0, 1.0 / (step_decay * step)))
        largest = 0.0
        for k in range(w.shape[0]):
            largest = maximum(largest, nu[k])
        if largest > 0.0:
            squares = 0.0
            for k in range(w.shape[0]):
                # Relative to the largest: squares of tiny margins would underflow.
                w[k] = nu[k] / largest if nu[k] > 0.0 else 0.0
                squares += w[k] * w[k]
            norm = math.sqrt(squares)
            for k in range(w.shape[0]):
                w[k] /= norm
