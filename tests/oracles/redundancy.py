"""Groups of features that say the same (the second stage of Sun 2007), by hand."""

import itertools

import numpy as np


def correlation(a, b):
    """|r| by the samples that have both, by its definition; 0 where it is not defined."""
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if a.size == 0 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    return abs(float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())))


def groups_by_hand(X, order, threshold, linkage):
    """Begin with single features; join the two nearest groups while they are near enough."""
    between = {(i, j): 1.0 - correlation(X[:, i], X[:, j]) for i in order for j in order}
    measure = {"complete": max, "single": min, "average": lambda values: float(np.mean(values))}[linkage]
    groups = [[j] for j in order]
    while len(groups) > 1:
        apart = {
            (a, b): measure([between[i, j] for i in groups[a] for j in groups[b]])
            for a, b in itertools.combinations(range(len(groups)), 2)
        }
        a, b = min(apart, key=apart.get)
        if apart[a, b] > 1.0 - threshold + 1e-11:
            break
        groups[a] += groups.pop(b)
    rank = {j: place for place, j in enumerate(order)}
    groups = [sorted(group, key=rank.get) for group in groups]
    return sorted(groups, key=lambda group: rank[group[0]])
