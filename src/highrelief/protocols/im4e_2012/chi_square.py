"""Features ranked by chi-square, as Weka does it: each is first cut into intervals by the classes.

Fayyad and Irani (1993): an interval is cut where the entropy of the classes falls most, if the gain pays for
describing the cut; and so on within both parts. A feature that is never cut has a chi-square of 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def best_features(X: NDArray[Any], y: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Places of the n features with the largest chi-square, in their order; of equals the first."""
    return np.sort(np.argsort(-chi_squares(X, y), kind="stable")[:n])


def chi_squares(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Chi-square of every feature's intervals against two classes, 0 and 1."""
    order = np.argsort(X, axis=0, kind="stable")
    values, ones = np.take_along_axis(X, order, axis=0), np.asarray(y, dtype=np.float64)[order]
    found = np.zeros(X.shape[1])
    places, pays = best_cuts(values, ones)
    for j in np.flatnonzero(pays):
        begin = _parts(values[:, j], ones[:, j], int(places[j]))
        found[j] = _chi_square(ones[:, j], begin)
    return found


def best_cuts(values: NDArray[Any], ones: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Number of samples below the best cut of each column, which is sorted, and whether the cut pays."""
    n = len(values)
    if n < 2:
        return np.zeros(values.shape[1], dtype=np.int64), np.zeros(values.shape[1], dtype=bool)
    below = np.arange(1.0, n)[:, np.newaxis]
    ones_below = np.cumsum(ones, axis=0)[:-1]
    total = ones.sum(axis=0)
    low, high = _entropy(ones_below, below), _entropy(total - ones_below, n - below)
    after = np.where(values[:-1] < values[1:], (below * low + (n - below) * high) / n, np.inf)
    cut = np.argmin(after, axis=0)
    here = (cut, np.arange(values.shape[1]))
    before = _entropy(total, np.asarray(float(n)))
    kinds = _kinds(total, np.asarray(float(n)))
    n_below = cut + 1.0
    described = np.log2(3.0**kinds - 2.0) - (
        kinds * before
        - _kinds(ones_below[here], n_below) * low[here]
        - _kinds(total - ones_below[here], n - n_below) * high[here]
    )
    return cut + 1, before - after[here] > (np.log2(n - 1.0) + described) / n


def _parts(values: NDArray[Any], ones: NDArray[np.float64], cut: int) -> list[int]:
    """Where the intervals of a sorted feature begin, the first cut given."""
    begin = [0, cut]
    for start, end in ((0, cut), (cut, len(values))):
        place, pays = best_cuts(values[start:end, np.newaxis], ones[start:end, np.newaxis])
        if pays[0]:
            begin += [start + each for each in _parts(values[start:end], ones[start:end], int(place[0]))]
    return sorted(set(begin))


def _chi_square(ones: NDArray[np.float64], begin: list[int]) -> float:
    sizes = np.diff([*begin, len(ones)])
    observed = np.add.reduceat(ones, begin)
    share = ones.mean()
    # Of two classes both deviate by the same.
    return float(np.sum((observed - sizes * share) ** 2 / (sizes * share * (1.0 - share))))


def _entropy(ones: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy of two classes, in bits."""
    share = ones / n
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -share * np.log2(share) - (1.0 - share) * np.log2(1.0 - share)
    return np.where((share > 0.0) & (share < 1.0), bits, 0.0)


def _kinds(ones: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Number of classes that are present."""
    return (ones > 0.0).astype(np.float64) + (ones < n)
