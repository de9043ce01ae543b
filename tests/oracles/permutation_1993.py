"""Permuted labels as Westfall and Young (1993) write it, and the pooled null, loop by loop."""

import numpy as np


def standardized(observed, null):
    """Weights less the mean, in standard deviations, of the observed one and the permuted ones together."""
    z, Z = np.zeros(len(observed)), np.zeros(np.shape(null))
    for j in range(len(observed)):
        values = np.array([observed[j], *(row[j] for row in null)])
        if np.ptp(values) > 0.0:
            z[j] = (observed[j] - values.mean()) / values.std()
            Z[:, j] = (values[1:] - values.mean()) / values.std()
    return z, Z


def pooled_pvalues(z, Z, among):
    """(1 + how many of the pool are at least as large)/(1 + the pool)."""
    pool = [Z[b][j] for b in range(len(Z)) for j in range(len(z)) if among[j]]
    return np.array([(1 + sum(value >= each - 1e-4 for value in pool)) / (1 + len(pool)) for each in z])


def step_down_maxt(z, Z):
    """Algorithm 2.8: successive maxima, counts, and monotone p-values."""
    n_features, n_permutations = len(z), len(Z)
    order = sorted(range(n_features), key=lambda j: -z[j])
    adjusted, largest = np.empty(n_features), 0.0
    for place, j in enumerate(order):
        count = sum(max(Z[b][i] for i in order[place:]) >= z[j] - 1e-4 for b in range(n_permutations))
        largest = max(largest, (1 + count) / (1 + n_permutations))
        adjusted[j] = largest
    return adjusted


def global_pvalue(z, Z):
    """How many of all labelings have a rate by Benjamini and Hochberg, each among the others, as low as z."""
    rows = [z, *Z]
    lowest = []
    for b, row in enumerate(rows):
        pvalues = sorted(pooled_pvalues(row, np.delete(rows, b, axis=0), np.ones(len(row), bool)))
        lowest.append(min(1.0, *(p * len(row) / (k + 1) for k, p in enumerate(pvalues))))
    return sum(each <= lowest[0] * (1 + 1e-12) for each in lowest) / len(rows)
