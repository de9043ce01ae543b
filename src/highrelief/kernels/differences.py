"""Sums of differences between a row and others, each with a weight of its own."""

import numpy as np

from .jit import fused_kernel, kernel, wide_vectors

_FEATURES_PER_BLOCK = 1024


@fused_kernel
def _add_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, out):
    wide_vectors()
    for k in range(a.shape[0]):
        x = np.float64(a[k])
        t0, t1 = abs(x - np.float64(b0[k])), abs(x - np.float64(b1[k]))
        t2, t3 = abs(x - np.float64(b2[k])), abs(x - np.float64(b3[k]))
        out[k] += (c0 * t0 + c1 * t1) + (c2 * t2 + c3 * t3)


@fused_kernel
def _add_squared_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, out):
    wide_vectors()
    for k in range(a.shape[0]):
        x = np.float64(a[k])
        t0, t1 = x - np.float64(b0[k]), x - np.float64(b1[k])
        t2, t3 = x - np.float64(b2[k]), x - np.float64(b3[k])
        out[k] += (c0 * (t0 * t0) + c1 * (t1 * t1)) + (c2 * (t2 * t2) + c3 * (t3 * t3))


@kernel
def add_margin(X, n, rows, coefficients, squared, out):
    """Add Σ_t coefficients[t]·|x_n − x_rows[t]| (or its square) to ``out``.

    In float64: hits and misses nearly cancel, and a sample far out would leave nothing else.
    """
    count = rows.shape[0]
    for k0 in range(0, out.shape[0], _FEATURES_PER_BLOCK):
        k1 = min(k0 + _FEATURES_PER_BLOCK, out.shape[0])
        a, target = X[n, k0:k1], out[k0:k1]
        for t in range(0, count, 4):
            t1, t2, t3 = t + 1 < count, t + 2 < count, t + 3 < count
            # What is missing to a block of four is the row itself, at no weight.
            b0 = X[rows[t], k0:k1]
            b1 = X[rows[t + 1] if t1 else n, k0:k1]
            b2 = X[rows[t + 2] if t2 else n, k0:k1]
            b3 = X[rows[t + 3] if t3 else n, k0:k1]
            c0 = coefficients[t]
            c1 = coefficients[t + 1] if t1 else 0.0
            c2 = coefficients[t + 2] if t2 else 0.0
            c3 = coefficients[t + 3] if t3 else 0.0
            if squared:
                _add_squared_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, target)
            else:
                _add_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, target)
