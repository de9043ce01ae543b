"""Ensembles and stability: Li et al., "FREL: a stable feature selection algorithm", 2015."""

import numpy as np


def ensemble_weights(weigh, X, y, subsets):
    """Algorithm 2, eq. (10), given the subsets: w_E = (1/m) sum_t w_D(r_t)."""
    total = np.zeros(np.shape(X)[1])
    for rows in subsets:
        total = total + weigh(X[rows], y[rows]) / len(subsets)
    return total


def falling_ranks(w):
    """Rank 1 = largest weight; equal weights share the mean of their places."""
    ranks = np.zeros(len(w))
    for i in range(len(w)):
        larger = sum(w[j] > w[i] for j in range(len(w)))
        equal = sum(w[j] == w[i] for j in range(len(w)))
        ranks[i] = larger + (equal + 1) / 2
    return ranks


def rank_similarity(a, b):
    """Eq. (22), literally: 1 - 6 sum_p (a_p - b_p)^2 / (d (d^2 - 1))."""
    d = len(a)
    return 1.0 - 6.0 * sum((a[p] - b[p]) ** 2 for p in range(d)) / (d * (d**2 - 1))


def mean_over_pairs(similarity, rows):
    """Eq. (21): 2 / (c (c - 1)) sum_{l < l'} similarity."""
    c = len(rows)
    total = sum(similarity(rows[a], rows[b]) for a in range(c) for b in range(a + 1, c))
    return 2.0 * total / (c * (c - 1))


def jaccard_similarity(a, b):
    """|A and B| / |A or B| of two selections; 1 if both are empty."""
    a, b = set(np.flatnonzero(a)), set(np.flatnonzero(b))
    return len(a & b) / len(a | b) if a | b else 1.0


def kuncheva_similarity(a, b):
    """Kuncheva 2007: (r d - k^2) / (k (d - k)) of two selections of k features out of d, r in both."""
    d, k = len(a), int(np.sum(a))
    r = len(set(np.flatnonzero(a)) & set(np.flatnonzero(b)))
    return (r * d - k**2) / (k * (d - k))


def nogueira_stability(Z):
    """Nogueira, Sechidis and Brown 2018: the estimate (definition 4) and its variance, feature by feature."""
    Z = np.asarray(Z, dtype=float)
    M, d = Z.shape
    p = [sum(Z[i, f] for i in range(M)) / M for f in range(d)]
    k = [sum(Z[i, f] for f in range(d)) for i in range(M)]
    k_mean = sum(k) / M
    at_random = k_mean / d * (1 - k_mean / d)
    variances = [M / (M - 1) * p[f] * (1 - p[f]) for f in range(d)]
    estimate = 1 - sum(variances) / d / at_random
    phi = []
    for i in range(M):
        seen = sum(Z[i, f] * p[f] for f in range(d)) / d - k[i] * k_mean / d**2
        size = 2 * k_mean * k[i] / d**2 - k[i] / d - k_mean / d + 1
        phi.append((seen + estimate / 2 * size) / at_random)
    variance = 4 / M**2 * sum((each - sum(phi) / M) ** 2 for each in phi)
    return estimate, variance
