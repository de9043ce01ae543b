"""Stochastic descent on margin losses with steps of unit length (Li et al. 2015, Algorithm 1).

Sample after sample, w ← w − ∇/‖∇‖ with the gradient ∇ of the sample's loss/n + λR(w), where R is the L1 norm
or the squared L2 norm.
"""

import math

import numpy as np

from .intrinsics import empty, maximum, minimum
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .vectors import dot

#: Codes of the losses.
LOG, SQUARE, HINGE, SQUARE_EXP = 0, 1, 2, 3


@fused_kernel
def _penalty_slope(w, alpha, l1, out):
    """Write the gradient λ∂R/∂w of the penalty to ``out``."""
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
def _add_scaled_row(row, factor, out):
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
def _normalized_step(slope, length, w):
    """Move w by ``length`` against the gradient; do nothing if the gradient is 0."""
    norm = math.sqrt(_sum_of_squares(slope))
    if norm > 0.0:
        _add_scaled_row(slope, -length / norm, w)


@kernel
def _log_loss_slope(u):
    """Return the derivative of log(1 + exp(−u)) without overflow."""
    if u > 0.0:
        shrunk = math.exp(-u)
        return -shrunk / (1.0 + shrunk)
    return -1.0 / (1.0 + math.exp(u))


@kernel
def _miss_energy_slope(loss, E, margin, gamma):
    """Return ∂L/∂Ē for the losses that depend on the energies separately."""
    if loss == SQUARE:
        return -2.0 * maximum(0.0, margin - E)
    # Clipped so that squares do not overflow; beyond, only the direction matters.
    return -gamma * math.exp(minimum(-E, 300.0))


@kernel
def descend(A, n_samples, loss, gamma, margins, active, alpha, l1, n_epochs, w):
    """Update ``w`` by one step per active sample, in ``n_epochs`` passes over all samples.

    The rows of ``A`` are m_i − h_i for losses of the margin; otherwise the rows h_i, followed by the rows
    m_i. A sample without a hit or a miss is not active.
    """
    slope = empty(w.shape[0], np.float64)
    separate_energies = A.shape[0] > n_samples
    for _ in range(n_epochs):
        for i in range(n_samples):
            if not active[i]:
                continue
            _penalty_slope(w, alpha, l1, slope)
            u = dot(A[i], w)
            if separate_energies:
                miss_energy = dot(A[n_samples + i], w)
                _add_scaled_row(A[i], 2.0 * u / n_samples, slope)
                miss_slope = _miss_energy_slope(loss, miss_energy, margins[i], gamma)
                _add_scaled_row(A[n_samples + i], miss_slope / n_samples, slope)
            elif loss == LOG:
                _add_scaled_row(A[i], _log_loss_slope(u) / n_samples, slope)
            elif u < margins[i]:
                _add_scaled_row(A[i], -1.0 / n_samples, slope)
            _normalized_step(slope, 1.0, w)


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
    """Update ``w`` by steps down E² + max(0, Δ − Ē)², averaged over the pairs of each sample.

    Pair j of sample i consists of rows hits[i, j] and misses[i, j] of X, with Δ = margins[i, j]; a sample
    has n_pairs[i] of them. Differences are multiplied by ``factors``; the step of sample i has length
    lengths[i].
    """
    slope = empty(w.shape[0], np.float64)
    for _ in range(n_epochs):
        for i in range(X.shape[0]):
            if n_pairs[i] == 0:
                continue
            for k in range(slope.shape[0]):
                slope[k] = 0.0
            for j in range(n_pairs[i]):
                hit, miss = X[hits[i, j]], X[misses[i, j]]
                E = _energy(X[i], hit, factors, w)
                shortfall = maximum(0.0, margins[i, j] - _energy(X[i], miss, factors, w))
                _add_difference(X[i], hit, factors, 2.0 * E / n_pairs[i], slope)
                _add_difference(X[i], miss, factors, -2.0 * shortfall / n_pairs[i], slope)
            _normalized_step(slope, lengths[i], w)
