"""One sample after another (Sun 2007, Fig. 3)."""

import math

import numpy as np

from .jit import kernel, summing_kernel, wide_vectors


@summing_kernel
def _weighted_manhattan(a, b, w):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        total += w[k] * abs(np.float64(a[k]) - np.float64(b[k]))
    return total


@kernel
def _add_difference(a, b, c, out):
    wide_vectors()
    for k in range(a.shape[0]):
        out[k] += c * abs(np.float64(a[k]) - np.float64(b[k]))


@kernel
def sample_margin(x, own, itself, references, codes, priors, w, sigma, pooled, use_inlier, shares, margin):
    """Write π = γ·(m̄ − h̄) of one sample (eq. 24) to ``margin``, over the given references.

    ``itself`` is the sample's place among the references, or −1. Without a hit, or without a miss, π = 0.
    """
    n_classes = priors.shape[0]
    low = np.full(n_classes, np.inf)
    total = np.zeros(n_classes)
    for i in range(references.shape[0]):
        shares[i] = _weighted_manhattan(x, references[i], w)
        if i != itself:
            low[codes[i]] = min(low[codes[i]], shares[i])
    miss_low = np.inf
    for c in range(n_classes):
        if c != own:
            miss_low = min(miss_low, low[c])
    margin[:] = 0.0
    if low[own] == np.inf or miss_low == np.inf:
        return
    for i in range(references.shape[0]):
        c = codes[i]
        start = miss_low if pooled and c != own else low[c]
        shares[i] = 0.0 if i == itself else math.exp((start - shares[i]) / sigma)
        total[c] += shares[i]
    closest = min(low[own], miss_low)
    hit_mass = total[own] * math.exp((closest - low[own]) / sigma)
    miss_mass = 0.0
    miss_total = 0.0
    for c in range(n_classes):
        if c != own and total[c] > 0.0:
            start = miss_low if pooled else low[c]
            miss_mass += total[c] * math.exp((closest - start) / sigma)
            miss_total += total[c]
    inlier = hit_mass / (hit_mass + miss_mass) if use_inlier else 1.0
    for i in range(references.shape[0]):
        c = codes[i]
        if shares[i] == 0.0:
            continue
        if c == own:
            share = -shares[i] / total[c]
        elif pooled:
            share = shares[i] / miss_total
        else:
            share = priors[c] / (1.0 - priors[own]) * shares[i] / total[c]
        _add_difference(x, references[i], inlier * share, margin)


@kernel
def learn_samples(
    X,
    own_codes,
    places,
    visits,
    references,
    codes,
    priors,
    sigma,
    pooled,
    use_inlier,
    step_decay,
    step,
    nu,
    w,
):
    """Run lines (3) to (8) of Fig. 3 over the rows ``visits`` of X, changing ``nu`` and ``w``.

    ``step`` counts the samples seen before. While no component of ν is positive, w stays as it is.
    """
    margin = np.empty(w.shape[0])
    shares = np.empty(references.shape[0])
    for v in range(visits.shape[0]):
        n = visits[v]
        step += 1
        sample_margin(
            X[n],
            own_codes[n],
            places[n],
            references,
            codes,
            priors,
            w,
            sigma,
            pooled,
            use_inlier,
            shares,
            margin,
        )
        rate = min(1.0, 1.0 / (step_decay * step))
        largest = 0.0
        for k in range(w.shape[0]):
            nu[k] = (1.0 - rate) * nu[k] + rate * margin[k]
            largest = max(largest, nu[k])
        if largest > 0.0:
            squares = 0.0
            for k in range(w.shape[0]):
                # Relative to the largest: the squares of tiny margins would underflow.
                w[k] = nu[k] / largest if nu[k] > 0.0 else 0.0
                squares += w[k] * w[k]
            norm = math.sqrt(squares)
            for k in range(w.shape[0]):
                w[k] /= norm
