"""Differences where values are missing (Kononenko 1994; Robnik-Sikonja and Kononenko 2003)."""

import numpy as np


def expected_differences(X, copies=None, power=1):
    """E|x_a - x_b|^power of numeric features, (n, n, n_features); NaN is a missing value.

    What is missing may be any of the observed values of the feature, each as often as it occurs. A feature
    without observed values has no differences.
    """
    X = np.asarray(X, dtype=float)
    n, n_features = X.shape
    copies = np.ones(n) if copies is None else np.asarray(copies, dtype=float)
    E = np.zeros((n, n, n_features))
    for j in range(n_features):
        observed = ~np.isnan(X[:, j])
        if not observed.any():
            continue
        values, shares = X[observed, j], copies[observed] / copies[observed].sum()
        both = sum(
            p * q * abs(u - v) ** power
            for u, p in zip(values, shares, strict=True)
            for v, q in zip(values, shares, strict=True)
        )
        for a in range(n):
            for b in range(n):
                if observed[a] and observed[b]:
                    E[a, b, j] = abs(X[a, j] - X[b, j]) ** power
                elif not observed[a] and not observed[b]:
                    E[a, b, j] = both
                else:
                    x = X[a, j] if observed[a] else X[b, j]
                    E[a, b, j] = sum(p * abs(x - v) ** power for v, p in zip(values, shares, strict=True))
    return E
