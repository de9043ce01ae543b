"""Folds of an inner cross-validation, for any table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from .core.parameters import check_count


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
    cv: Any, X: NDArray[Any], codes: NDArray[np.int64], kept: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Samples to fit and samples left out, fold by fold, as rows of X.

    A number means stratified folds, at most as many as the largest class has samples. Folds that leave one
    class only, or only constant features, or leave nothing out are skipped. ``kept`` says which of the
    samples that the user counts are in X.
    """
    for fitted, left_out in _folds(cv, X, codes, kept):
        if left_out.size and np.unique(codes[fitted]).size > 1 and np.any(X[fitted] != X[fitted[0]]):
            yield fitted, left_out


def _folds(
    cv: Any, X: NDArray[Any], codes: NDArray[np.int64], kept: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    if not isinstance(cv, Integral) and not hasattr(cv, "get_n_splits"):
        return [(_places(fitted, kept), _places(left_out, kept)) for fitted, left_out in cv]
    if isinstance(cv, Integral):
        n_splits = min(int(cv), int(np.bincount(codes).max()))
        if n_splits < 2:
            return []
        cv = StratifiedKFold(n_splits)
    with warnings.catch_warnings():
        # A class with fewer samples than folds is in some of them only.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(cv.split(X, codes))


def _places(samples: Any, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows of X at which the samples that the user names stand, as far as they are there."""
    try:
        chosen = np.arange(kept.size)[np.asarray(samples, dtype=None if len(samples) else np.int64)]
    except IndexError as error:
        raise ValueError(f"cv names samples that are not among the {kept.size} of X: {error}.") from error
    return (np.cumsum(kept) - 1)[chosen[kept[chosen]]]
