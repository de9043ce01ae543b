"""SURF and SURF* (Greene et al. 2009, 2010), MultiSURF* and MultiSURF (Granizo-Mackenzie and Moore 2013,
Urbanowicz et al. 2018)."""

import numpy as np

from .missing_1994 import expected_differences
from .shared import class_priors, copies_seen_from, remembered, weights_of

TOL = 1e-12


def mean_distance(D, s, reach=None):
    """Mean over all ordered pairs of copies, those of a copy with itself included.

    With `reach`, (n, n) bool, over the pairs in it, which are those of a copy with itself only if it
    reaches itself.
    """
    reach = np.ones(D.shape, dtype=bool) if reach is None else reach
    total = n_pairs = 0.0
    for n in range(len(D)):
        copies = copies_seen_from(n, s, reach)
        for i in range(len(D)):
            total += s[n] * copies[i] * D[n, i]
            n_pairs += s[n] * s[i] * reach[n, i]
    return total / n_pairs


def mean_and_deviation(d, copies):
    """Of the distances of one sample to all others, its own further copies included."""
    if copies.sum() == 0:
        return 0.0, 0.0
    mean = np.sum(copies * d) / copies.sum()
    return mean, np.sqrt(np.sum(copies * (d - mean) ** 2) / copies.sum())


def margin_among(differences, y, n, copies, chosen, priors):
    """sum_{c != y_n} P(c) / (1 - P(y_n)) mean_c |x_n - x_i| - mean_hits |x_n - x_i| over chosen rows.

    A mean over no row is left out. Also whether there are hits and misses among the chosen ones.
    """
    margin = np.zeros(differences.shape[1])
    has = {"hits": False, "misses": False}
    for c in priors:
        counted = np.where((y == c) & chosen, copies, 0.0)
        if counted.sum() == 0:
            continue
        mean = counted @ differences / counted.sum()
        if c == y[n]:
            margin -= mean
            has["hits"] = True
        else:
            margin += priors[c] / (1 - priors.get(y[n], 0.0)) * mean
            has["misses"] = True
    return margin, has


@remembered
def surf_family(X, y, method, s=None, tol=TOL, categorical=(), reach=None, factors=1.0, extended=False):
    """Weights by "surf", "surf*", "multisurf" or "multisurf*"; NaN in X is a missing value.

    A copy of a row lacks what the row lacks: the two are not at distance 0. Features in `categorical` hold
    codes. With `reach`, (n, n) bool, only pairs in it are compared, and radii and P are of these; a sample
    without hits, or without misses, in reach contributes nothing. `factors`: of the samples, by their
    class, in the mean and in P. `extended`: the radius of a sample without near hits, or without near
    misses, is extended to the nearest of both.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    factors = (factors * np.ones(len(s)))[s > 0]
    reach = None if reach is None else reach[np.ix_(s > 0, s > 0)]
    X, y, s = X[s > 0], y[s > 0], s[s > 0]
    differences = expected_differences(X, s, categorical=categorical, classes=y, reach=reach)
    D = differences.sum(axis=2)
    ranges = np.nan_to_num(np.nanmax(X, axis=0) - np.nanmin(X, axis=0))
    ranges[list(categorical)] = ranges[list(categorical)] > 0
    total = np.zeros(X.shape[1])
    for n in range(len(X)):
        priors = class_priors(y, factors * s * (1.0 if reach is None else reach[n]))
        copies = copies_seen_from(n, s, reach)
        if copies[y == y[n]].sum() == 0 or copies[y != y[n]].sum() == 0:
            continue
        if method.startswith("multi"):
            mean, deviation = mean_and_deviation(D[n], copies)
            near, far = mean - deviation / 2, mean + deviation / 2
        else:
            near = far = mean_distance(D, s, reach)
        chosen = D[n] < near * (1 - tol)
        own, others = (copies > 0) & (y == y[n]), (copies > 0) & (y != y[n])
        if extended and not ((chosen & own).any() and (chosen & others).any()):
            chosen |= D[n] <= max(D[n, own].min(), D[n, others].min()) * (1 + tol)
        margin, _ = margin_among(differences[n], y, n, copies, chosen, priors)
        if method.endswith("*"):
            of_far, has = margin_among(differences[n], y, n, copies, D[n] > far * (1 + tol), priors)
            margin -= of_far
            if method == "multisurf*" and len(np.unique(y)) == 2 and has["hits"] != has["misses"]:
                # Far samples count by 1 - |x - x'|: without a counterpart the ones remain.
                margin += ranges if has["misses"] else -ranges
        total += s[n] * factors[n] * margin
    return total / (s * factors).sum()
