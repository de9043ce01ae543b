"""How the papers judge features: by nearest neighbours, their number chosen on the training samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from ..core.nested_neighbors import NestedNeighbors

#: Numbers of neighbours to choose from, which the papers do not name. That they end at 15 is from early runs,
#: in which the errors of plain k-NN were then nearer to the published ones.
NEIGHBORS = tuple(range(1, 16, 2))


def folds_of(y: NDArray[Any], n_folds: int = 10) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Stratified folds; a class with fewer samples than folds is missing in some."""
    n_folds = max(2, min(n_folds, int(np.bincount(y).max())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(folds.split(np.zeros(len(y)), y))


def curve(
    known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int, length: int
) -> list[float]:
    """Errors of k-NN on the first 1, 2, … columns; where there are no more, that on all of them."""
    cuts = range(1, min(length, known.shape[1]) + 1)
    found = errors_at(known, y, new, y_new, k, list(cuts))
    return found + [found[-1]] * (length - len(found))


def error(known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int) -> float:
    """Share of the new samples that k-NN gets wrong."""
    return errors_at(known, y, new, y_new, k, [known.shape[1]])[0]


def errors_at(
    known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int, cuts: Sequence[int]
) -> list[float]:
    """Errors of k-NN on the first columns, for some rising numbers of them."""
    n_classes = int(max(y.max(), y_new.max())) + 1
    neighbors = NestedNeighbors(known, y, n_classes, n_neighbors=k, scale=None)
    predicted = neighbors.predict(new, np.arange(known.shape[1]), cuts)
    return [float(np.mean(each != y_new)) for each in predicted]


def best_count(X: NDArray[Any], y: NDArray[Any], counts: Sequence[int] = NEIGHBORS) -> int:
    """The number of neighbours of the least error in 10-fold cross-validation; of equals the smallest."""
    wrong = np.zeros(len(counts))
    for train, test in folds_of(y):
        wrong += [error(X[train], y[train], X[test], y[test], k) * len(test) for k in counts]
    # Errors are whole numbers of samples; without rounding, equals would differ in the last digit.
    return counts[int(np.argmin(np.round(wrong)))]


def in_range(known: NDArray[Any], new: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both scaled so that every feature of the known samples spans [0, 1]."""
    low, high = known.min(axis=0), known.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return (known - low) / width, (new - low) / width
