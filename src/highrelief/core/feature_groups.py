"""Groups of features that say the same, and the one of each that speaks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

#: How far apart two groups are, by how far apart their features are.
LINKAGES = ("complete", "average", "single")
#: Most features that are grouped: about 12 bytes for each two of them, 5 GB.
MOST_GROUPED = 20_000
#: Similarities are rounded to 12 digits.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class FeatureGroups:
    """Features in groups, the group of the best feature first."""

    #: (n_features,) number of its group; -1 for a feature that was not looked at.
    labels: NDArray[np.int64]
    #: (n_groups,) the best feature of each group.
    representatives: NDArray[np.int64]
    #: (n_features,) similarity to the representative, 1 for itself; nan for what was not looked at.
    similarity: NDArray[np.float64]
    #: The features of each group, from the best on.
    members: list[NDArray[np.int64]]


def grouped(
    similar: NDArray[np.float64], best: NDArray[np.int64], n_features: int, threshold: float, method: str
) -> FeatureGroups:
    """Groups of some features: hierarchical clustering of 1 − similarity, cut at 1 − threshold.

    Parameters
    ----------
    similar : (n_best, n_best) float64
        Similarities from 0 to 1.
    best : (n_best,)
        Places of the features in the table, from the best on.
    n_features : int
        Features of the table.
    threshold : float
        Similarity from which on features say the same.
    method : {"complete", "average", "single"}
        Whether all pairs of a group, or their mean, or a chain of them reach the threshold.

    Returns
    -------
    groups : FeatureGroups
        The groups.
    """
    found = np.ones(best.size, dtype=np.int64)
    if best.size > 1:
        apart = squareform(1.0 - similar, checks=False)
        found = fcluster(linkage(apart, method=method), 1.0 - threshold + _ROUNDING, criterion="distance")
    # Numbered as their first, and so best, features come.
    _, firsts, places = np.unique(found, return_index=True, return_inverse=True)
    number = np.empty(firsts.size, dtype=np.int64)
    number[np.argsort(firsts)] = np.arange(firsts.size)
    of_best, leaders = number[places], np.sort(firsts)
    labels = np.full(n_features, -1, dtype=np.int64)
    labels[best] = of_best
    similarity = np.full(n_features, np.nan)
    similarity[best] = similar[np.arange(best.size), leaders[of_best]]
    order = np.argsort(of_best, kind="stable")
    members = np.split(best[order], np.cumsum(np.bincount(of_best))[:-1]) if best.size else []
    return FeatureGroups(labels, best[leaders], similarity, members)


def grouped_until(
    wanted: int, order: NDArray[np.int64], group: Callable[[NDArray[np.int64]], FeatureGroups]
) -> FeatureGroups:
    """Groups of the best ``wanted`` features, of twice as many, and so on, until there are enough groups."""
    n_looked_at = wanted
    while True:
        found = group(order[:n_looked_at])
        if found.representatives.size >= wanted or n_looked_at >= order.size:
            return found
        n_looked_at *= 2
