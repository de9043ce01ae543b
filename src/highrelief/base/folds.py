"""Folds of an inner cross-validation, for any table."""

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

#: Which of several values is taken by its scores in the folds: the best, or one within a standard error.
RULES = ("best", "one-se")
#: Mean scores that differ by less are the same.
SAME_SCORE = 1e-12


def check_folds(name: str, cv: Any) -> None:
    """Raise unless ``cv`` is a number of folds, or can split a table."""
    if isinstance(cv, Integral):
        check_count(name, cv, at_least=2)
    elif not hasattr(cv, "get_n_splits") and not _are_pairs(cv):
        raise TypeError(
            f"{name}={cv!r} must be a whole number of folds, an object with a method split, such as"
            " sklearn.model_selection.StratifiedKFold, or a list of pairs (samples to fit, samples to leave"
            " out)."
        )


def _are_pairs(cv: Any) -> bool:
    return isinstance(cv, list) and all(isinstance(each, tuple) and len(each) == 2 for each in cv)


def usable_folds(
    cv: Any,
    X: Any,
    codes: NDArray[np.int64],
    kept: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
    random_state: Any = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Samples to fit and samples left out, fold by fold, as rows of X.

    A number means stratified folds, see :func:`stratified`. Folds that leave one class only, or only constant
    features, or leave nothing out are skipped. ``kept`` says which of the samples that the user counts are in
    X.
    """
    for fitted, left_out in _folds(cv, X, codes, kept, groups, random_state):
        if left_out.size and np.unique(codes[fitted]).size > 1 and _varies(X, fitted):
            yield fitted, left_out


def _varies(X: Any, rows: NDArray[np.int64]) -> bool:
    return sparse.issparse(X) or bool(np.any(X[rows] != X[rows[0]]))


def _folds(
    cv: Any,
    X: Any,
    codes: NDArray[np.int64],
    kept: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    random_state: Any,
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    if not isinstance(cv, Integral) and not hasattr(cv, "get_n_splits"):
        return [(_places(fitted, kept), _places(left_out, kept)) for fitted, left_out in cv]
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
    """A splitter of at most so many folds, groups kept together; None where two are not possible.

    There are no more folds than samples in the largest class, nor than groups. In the order of the samples,
    unless ``random_state`` says how to shuffle them.
    """
    n_splits = min(n_splits, int(np.bincount(codes).max()))
    if groups is not None:
        n_splits = min(n_splits, np.unique(groups).size)
    if n_splits < 2:
        return None
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_splits, shuffle=random_state is not None, random_state=random_state)


def _places(samples: Any, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows of X at which the samples that the user names stand, as far as they are there."""
    try:
        chosen = np.arange(kept.size)[np.asarray(samples, dtype=None if len(samples) else np.int64)]
    except IndexError as error:
        raise ValueError(f"cv names samples that are not among the {kept.size} of X: {error}.") from error
    return (np.cumsum(kept) - 1)[chosen[kept[chosen]]]


def warn_of_fewer_folds(cv: Any, n_folds: int) -> None:
    """Warn if there are fewer folds than the number ``cv``."""
    if isinstance(cv, Integral) and n_folds < int(cv):
        warn_user(f"cv={int(cv)} folds are not possible here: {n_folds} are used.", UserWarning)


def lowest_accepted(best_mean: float, scores_of_best: NDArray[np.float64], rule: str | None) -> float:
    """Return the lowest mean score that a rule accepts, given the scores of the best value in the folds."""
    if rule == "one-se" and scores_of_best.size > 1:
        return best_mean - float(scores_of_best.std(ddof=1) / np.sqrt(scores_of_best.size))
    return best_mean


def has_misses(data: TrainingData, which: NDArray[np.int64]) -> bool:
    """Whether some of the samples have misses in reach among each other."""
    if data.batch_constraint is None:
        return True
    part = BatchConstraint(
        np.unique(data.batch_constraint.batches[which], return_inverse=True)[1],
        data.batch_constraint.within,
    )
    return bool(part.has_misses(data.codes[which]).any())
