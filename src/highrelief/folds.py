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
    elif not (hasattr(cv, "split") and hasattr(cv, "get_n_splits")):
        raise TypeError(
            f"{name}={cv!r} must be a whole number of folds, or an object with a method split, such as"
            " sklearn.model_selection.StratifiedKFold."
        )


def usable_folds(
    cv: Any, X: NDArray[Any], codes: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Samples to fit and samples left out, fold by fold.

    A number means stratified folds, at most as many as the largest class has samples. Folds that leave one
    class only, or only constant features, are left out: there is nothing to fit.
    """
    if isinstance(cv, Integral):
        n_splits = min(int(cv), int(np.bincount(codes).max()))
        if n_splits < 2:
            return
        cv = StratifiedKFold(n_splits)
    with warnings.catch_warnings():
        # A class with fewer samples than folds is in some of them only.
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(cv.split(X, codes))
    for fitted, left_out in folds:
        if np.unique(codes[fitted]).size > 1 and np.any(X[fitted] != X[fitted[0]]):
            yield fitted, left_out
