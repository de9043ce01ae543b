"""Folds of an inner cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from .._engine.batches import BatchConstraint
from .._engine.parameters import check_count
from .training_data import TrainingData
from .validation import warn_user

#: Rules that choose a value by its scores in the folds: the best, or one within a standard error.
RULES = ("best", "one-se")
#: Mean scores that differ by less are equal.
SAME_SCORE = 1e-12


def check_folds(name: str, cv: Any) -> None:
    """Raise unless ``cv`` is a number of folds, a splitter, or a list of pairs."""
    if isinstance(cv, Integral):
        check_count(name, cv, at_least=2)
        return
    pairs = isinstance(cv, list) and all(isinstance(each, tuple) and len(each) == 2 for each in cv)
    if not hasattr(cv, "get_n_splits") and not pairs:
        raise TypeError(
            f"{name}={cv!r} must be an integer number of folds, an object with a method split, such as"
            " sklearn.model_selection.StratifiedKFold, or a list of pairs (samples to fit, samples to leave"
            " out)."
        )


def usable_folds(
    cv: Any,
    X: Any,
    codes: NDArray[np.int64],
    included: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
    random_state: Any = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the training and the test samples of each fold, as rows of X.

    A number means stratified folds, see :func:`stratified`. Folds without test samples, or whose training
    samples have one class or constant features only, are skipped. ``included``: mask of the samples passed to
    ``fit`` that X holds; lists of pairs refer to the samples passed to ``fit``.
    """
    for training, test in _folds(cv, X, codes, included, groups, random_state):
        if test.size and np.unique(codes[training]).size > 1 and _varies(X, training):
            yield training, test


def _varies(X: Any, rows: NDArray[np.int64]) -> bool:
    return sparse.issparse(X) or bool(np.any(X[rows] != X[rows[0]]))


def _folds(
    cv: Any,
    X: Any,
    codes: NDArray[np.int64],
    included: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    random_state: Any,
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    if not isinstance(cv, Integral) and not hasattr(cv, "get_n_splits"):
        return [(_rows(training, included), _rows(test, included)) for training, test in cv]
    if isinstance(cv, Integral):
        cv = stratified(int(cv), codes, groups, random_state)
        if cv is None:
            return []
    with warnings.catch_warnings():
        # A class with fewer samples than folds is in some of them only.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(cv.split(X, codes, groups))


def stratified(
    n_splits: int, codes: NDArray[np.int64], groups: NDArray[np.int64] | None = None, random_state: Any = None
) -> StratifiedKFold | StratifiedGroupKFold | None:
    """Return a splitter that keeps groups together; None if two folds are not possible.

    It has at most ``n_splits`` folds, and no more than samples in the largest class, or than groups. Samples
    are shuffled only if ``random_state`` is given.
    """
    n_splits = min(n_splits, int(np.bincount(codes).max()))
    if groups is not None:
        n_splits = min(n_splits, np.unique(groups).size)
    if n_splits < 2:
        return None
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_splits, shuffle=random_state is not None, random_state=random_state)


def _rows(samples: Any, included: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows of X of some samples passed to ``fit``, without those that X does not hold."""
    try:
        chosen = np.arange(included.size)[np.asarray(samples, dtype=None if len(samples) else np.int64)]
    except IndexError as error:
        raise ValueError(f"cv names samples that are not among the {included.size} of X: {error}.") from error
    return (np.cumsum(included) - 1)[chosen[included[chosen]]]


def warn_of_fewer_folds(cv: Any, n_folds: int) -> None:
    """Warn if there are fewer folds than ``cv``, a number."""
    if isinstance(cv, Integral) and n_folds < int(cv):
        warn_user(f"cv={int(cv)} folds are not possible here: {n_folds} are used.", UserWarning)


def lowest_accepted(best_mean: float, scores_of_best: NDArray[np.float64], rule: str | None) -> float:
    """Return the lowest mean score that a rule accepts, given the scores of the best value in the folds."""
    if rule == "one-se" and scores_of_best.size > 1:
        return best_mean - float(scores_of_best.std(ddof=1) / np.sqrt(scores_of_best.size))
    return best_mean


def has_misses(data: TrainingData, rows: NDArray[np.int64]) -> bool:
    """Return whether any of some samples has a miss among them, under the batch constraint."""
    if data.batch_constraint is None:
        return True
    part = BatchConstraint(
        np.unique(data.batch_constraint.batches[rows], return_inverse=True)[1],
        data.batch_constraint.within,
    )
    return bool(part.has_misses(data.codes[rows]).any())
