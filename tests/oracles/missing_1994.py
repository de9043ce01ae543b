"""Differences where values are missing (Kononenko 1994; Robnik-Sikonja and Kononenko 2003)."""

import numpy as np

from .relief_1994 import average_rows, neighbor_shares
from .shared import class_priors, copies_seen_from, remembered, weights_of


def scale_observed(X):
    """Scale each feature to [0, 1] by its observed minimum and range; a constant feature becomes 0."""
    X = np.asarray(X, dtype=float).copy()
    for j in range(X.shape[1]):
        observed = ~np.isnan(X[:, j])
        if observed.any():
            low, high = X[observed, j].min(), X[observed, j].max()
            X[observed, j] = (X[observed, j] - low) / (high - low) if high > low else 0.0
    return X


@remembered
def expected_differences(X, copies=None, power=1, categorical=(), classes=None, reach=None):
    """E|x_a - x_b|^power of all pairs and features, (n, n, n_features); NaN is a missing value.

    Numeric: what is missing may be any of the observed values of the feature, each as often as it occurs. A
    feature without observed values has no differences. The features in `categorical` hold codes:
    `level_differences`. Where `reach`, (n, n) bool, is within batches, values are those of the own batch, as
    if there were no others.
    """
    if reach is not None and reach.diagonal().all():
        return differences_within(reach, X, copies, power, categorical, classes)
    X = np.asarray(X, dtype=float)
    n, n_features = X.shape
    copies = np.ones(n) if copies is None else np.asarray(copies, dtype=float)
    E = np.zeros((n, n, n_features))
    for j in range(n_features):
        observed = ~np.isnan(X[:, j])
        if not observed.any():
            continue
        if j in categorical:
            E[:, :, j] = level_differences(X[:, j], classes, copies)
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


def differences_within(reach, X, copies, power, categorical, classes):
    """`expected_differences` of every batch alone; 0 for samples of different batches, who do not meet."""
    E = np.zeros((len(X), len(X), X.shape[1]))
    for own in np.unique(reach, axis=0):
        s, c = (None if each is None else np.asarray(each)[own] for each in (copies, classes))
        E[np.ix_(own, own)] = expected_differences(X[own], s, power, categorical, c)
    return E


def level_differences(x, classes, copies):
    """diff() of a categorical feature, (n, n): 0 or 1, or how likely two values are to differ.

    One is missing: 1 - P(value of the other | class of the one that lacks it). Both: 1 minus the sum over
    the values of P(v | class 1) P(v | class 2). A class without observed values has the shares of all
    samples; classes None: so has everyone.
    """
    n = len(x)
    classes = np.zeros(n) if classes is None else np.asarray(classes)
    observed = ~np.isnan(x)
    levels = np.unique(x[observed])

    def shares(of):
        of = of & observed
        if not of.any():
            of = observed
        return {v: copies[of & (x == v)].sum() / copies[of].sum() for v in levels}

    P = {c: shares(classes == c) for c in np.unique(classes)}
    diff = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            if observed[a] and observed[b]:
                diff[a, b] = float(x[a] != x[b])
            elif observed[b]:
                diff[a, b] = 1 - P[classes[a]][x[b]]
            elif observed[a]:
                diff[a, b] = 1 - P[classes[b]][x[a]]
            else:
                diff[a, b] = 1 - sum(P[classes[a]][v] * P[classes[b]][v] for v in levels)
    return diff


def expected_distances(X, metric, copies=None, categorical=(), classes=None, reach=None):
    """Distances, (n, n), and the differences of features that belong to the metric, (n, n, n_features)."""
    if metric == "manhattan":
        E = expected_differences(X, copies, 1, categorical, classes, reach)
        return E.sum(axis=2), E
    squares = expected_differences(X, copies, 2, categorical, classes, reach)
    if metric == "sqeuclidean":
        return squares.sum(axis=2), squares
    return np.sqrt(squares.sum(axis=2)), expected_differences(X, copies, 1, categorical, classes, reach)


@remembered
def relieff_rows(D, E, y, k, rank_decay=None, s=None, pooled=False, tol=1e-12):
    """z_n of ReliefF (or, pooled and with k = 1, of Relief) from distances and differences, (n, d)."""
    y = np.asarray(y)
    s = weights_of(y, s)
    priors = class_priors(y, s)
    rows = np.zeros((len(y), E.shape[2]))
    for n in range(len(y)):
        copies = copies_seen_from(n, s)
        hits = np.where(y == y[n], copies, 0.0)
        if hits.sum() == 0:
            continue
        if pooled:
            misses = [(1.0, np.where(y != y[n], copies, 0.0))]
        else:
            others = [c for c in priors if c != y[n]]
            misses = [(priors[c] / (1 - priors[y[n]]), np.where(y == c, copies, 0.0)) for c in others]
        for factor, candidates in misses:
            rows[n] += factor * (neighbor_shares(D[n], candidates, k, rank_decay, tol) @ E[n])
        rows[n] -= neighbor_shares(D[n], hits, k, rank_decay, tol) @ E[n]
    return rows


@remembered
def relieff(X, y, k, metric="manhattan", rank_decay=None, s=None, categorical=(), pooled=False, tol=1e-12):
    """ReliefF of a table with missing values: the mean of `relieff_rows`. Numeric features are scaled."""
    numeric = [j for j in range(X.shape[1]) if j not in categorical]
    X = np.asarray(X, dtype=float).copy()
    X[:, numeric] = scale_observed(X[:, numeric])
    D, E = expected_distances(X, metric, s, categorical, y)
    return average_rows(relieff_rows(D, E, y, k, rank_decay, s, pooled, tol), weights_of(y, s), None)
