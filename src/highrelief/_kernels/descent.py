"""Steps of unit length down a margin loss, sample after sample (Li et al. 2015, Algorithm 1)."""

import math

import numpy as np

from .jit import fused_kernel, kernel, summing_kernel, wide_vectors

#: Losses, by their number.
LOG, SQUARE, HINGE, SQUARE_EXP = 0, 1, 2, 3


@summing_kernel
def _score(row, w):
    wide_vectors()
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] * w[k]
    return total


@fused_kernel
def _penalty_slope(w, alpha, l1, out):
    """Write λ∂R/∂w to ``out``."""
    wide_vectors()
    for k in range(w.shape[0]):
        if not l1:
            out[k] = 2.0 * alpha * w[k]
        elif w[k] > 0.0:
            out[k] = alpha
        elif w[k] < 0.0:
            out[k] = -alpha
        else:
            out[k] = 0.0


@fused_kernel
def _add_row(row, factor, out):
    wide_vectors()
    for k in range(row.shape[0]):
        out[k] += factor * row[k]


@summing_kernel
def _sum_of_squares(v):
    wide_vectors()
    total = 0.0
    for k in range(v.shape[0]):
        total += v[k] * v[k]
    return total


@kernel
def _step(slope, length, w):
    """Go ``length`` down the slope; nowhere where it is flat."""
    norm = math.sqrt(_sum_of_squares(slope))
    if norm > 0.0:
        _add_row(slope, -length / norm, w)


@kernel
def _slope_of_log(u):
    """Derivative of log(1 + exp(−u)), without overflow."""
    if u > 0.0:
        shrunk = math.exp(-u)
        return -shrunk / (1.0 + shrunk)
    return -1.0 / (1.0 + math.exp(u))


@kernel
def _slope_of_other_energy(loss, E, margin, gamma):
    """∂L/∂Ē of the losses that see the energies apart."""
    if loss == SQUARE:
        return -2.0 * max(0.0, margin - E)
    # Beyond this only the direction matters, and the square must not overflow.
    return -gamma * math.exp(min(-E, 300.0))


@kernel
def descend(A, n_samples, loss, gamma, margins, counts, alpha, l1, n_epochs, w):
    """Change ``w`` by one step per sample that counts, ``n_epochs`` times through all of them.

    ``A`` holds the rows m_i − h_i for the losses of the margin, otherwise the rows h_i and then the rows m_i.
    """
    slope = np.empty(w.shape[0])
    apart = A.shape[0] > n_samples
    for _ in range(n_epochs):
        for i in range(n_samples):
            if not counts[i]:
                continue
            _penalty_slope(w, alpha, l1, slope)
            u = _score(A[i], w)
            if apart:
                other = _score(A[n_samples + i], w)
                _add_row(A[i], 2.0 * u / n_samples, slope)
                push = _slope_of_other_energy(loss, other, margins[i], gamma)
                _add_row(A[n_samples + i], push / n_samples, slope)
            elif loss == LOG:
                _add_row(A[i], _slope_of_log(u) / n_samples, slope)
            elif u < margins[i]:
                _add_row(A[i], -1.0 / n_samples, slope)
            _step(slope, 1.0, w)


@summing_kernel
def _energy(a, b, factors, w):
    wide_vectors()
    total = 0.0
    for k in range(w.shape[0]):
        total += abs(np.float64(a[k]) - np.float64(b[k])) * factors[k] * w[k]
    return total


@fused_kernel
def _add_difference(a, b, factors, factor, out):
    wide_vectors()
    for k in range(out.shape[0]):
        out[k] += factor * (abs(np.float64(a[k]) - np.float64(b[k])) * factors[k])


@kernel
def descend_pairs(X, factors, hits, misses, n_pairs, margins, lengths, n_epochs, w):
    """Change ``w`` by steps down E² + max(0, Δ − Ē)², averaged over the pairs of each sample.

    Pair j of sample i are the rows hits[i, j] and misses[i, j] of X, with Δ = margins[i, j]; there are
    n_pairs[i]. Differences are multiplied by ``factors``; the step of sample i has the length lengths[i].
    """
    slope = np.empty(w.shape[0])
    for _ in range(n_epochs):
        for i in range(X.shape[0]):
            if n_pairs[i] == 0:
                continue
            for k in range(slope.shape[0]):
                slope[k] = 0.0
            for j in range(n_pairs[i]):
                hit, miss = X[hits[i, j]], X[misses[i, j]]
                E = _energy(X[i], hit, factors, w)
                short = max(0.0, margins[i, j] - _energy(X[i], miss, factors, w))
                _add_difference(X[i], hit, factors, 2.0 * E / n_pairs[i], slope)
                _add_difference(X[i], miss, factors, -2.0 * short / n_pairs[i], slope)
            _step(slope, lengths[i], w)
