"""scikit-learn's checks of tables and targets, without NumPy's warnings of what they compute.

Whether all values are finite is first seen by their sum, which large ones make infinite, or not a number;
whether targets are whole numbers by a conversion, which large ones do not survive.

SciPy's compiled code, which scikit-learn's checks call, follows the indices of sparse tables without a check:
these are checked first. So are names that occur twice, and structured arrays, which scikit-learn takes for
something else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite as _assert_all_finite
from sklearn.utils import check_array as _check_array
from sklearn.utils import check_X_y as _check_X_y
from sklearn.utils.multiclass import check_classification_targets as _check_classification_targets
from sklearn.utils.multiclass import type_of_target as _type_of_target
from sklearn.utils.validation import validate_data as _validate_data

__all__ = [
    "assert_all_finite",
    "check_X_y",
    "check_array",
    "check_classification_targets",
    "check_structure",
    "type_of_target",
    "unwarned",
    "validate_data",
]

Check = TypeVar("Check", bound=Callable[..., Any])


def unwarned(check: Check) -> Check:
    """The same function, in which numbers may overflow."""

    @wraps(check)
    def checked(*given: Any, **more: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return check(*given, **more)

    return checked  # type: ignore[return-value]


def check_structure(X: Any) -> None:
    """Raise ValueError for an array with fields, a frame whose names are not unique, a damaged sparse table.

    A sparse table is damaged if its indices are outside its shape or its values. Anything else passes.
    """
    if isinstance(X, np.ndarray):
        if X.dtype.names is not None:
            raise ValueError(
                f"A structured array (fields: {', '.join(X.dtype.names)}) is not supported as X or y. Use a"
                f" plain array, or one of the fields, such as y[{X.dtype.names[-1]!r}]."
            )
        return
    if not issparse(X):
        _check_names(getattr(X, "columns", None))
        return
    problem = _wrong_dimensions(X) or _STRUCTURES.get(X.format, lambda _: None)(X)
    if problem:
        raise ValueError(
            f"Input X is not a valid sparse table: {problem}. Rebuild it from its rows, columns and values."
        )


def _check_names(columns: Any) -> None:
    """Raise ValueError if names of columns are not unique; None, or what cannot be looked at, passes."""
    if getattr(columns, "is_unique", True):
        return
    twice = columns[columns.duplicated()][0]
    raise ValueError(
        f"X has the column name {twice!r} more than once, but names of features must be unique. Rename the"
        " columns, or use X.to_numpy()."
    )


def _wrong_dimensions(X: Any) -> str | None:
    return None if len(X.shape) == 2 else f"it has {len(X.shape)} dimensions instead of 2"


def _wrong_compression(X: Any) -> str | None:
    """What is wrong with CSR, CSC or BSR, whose rows or columns are lists of indices."""
    height, width = X.data.shape[1:] if X.format == "bsr" else (1, 1)
    n_rows, n_columns = -(-X.shape[0] // max(height, 1)), -(-X.shape[1] // max(width, 1))
    n_lists, size = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
    start, indices = X.indptr, X.indices
    if height * n_rows != X.shape[0] or width * n_columns != X.shape[1]:
        return f"blocks of shape {height, width} do not fill the shape {X.shape}"
    if start.shape != (n_lists + 1,) or indices.ndim != 1 or {start.dtype.kind, indices.dtype.kind} != {"i"}:
        return f"indptr and indices are not lists of integers for {n_lists} {X.format.upper()} entries"
    if X.data.ndim != (3 if X.format == "bsr" else 1) or len(X.data) != indices.size:
        return f"there are {indices.size} indices for data of shape {X.data.shape}"
    if start[0] != 0 or start[-1] > indices.size or np.any(start[1:] < start[:-1]):
        return f"indptr does not rise from 0 to the number of its {indices.size} entries at most"
    return _wrong_indices(indices[: start[-1]], size)


def _wrong_coordinates(X: Any) -> str | None:
    """What is wrong with COO: rows and columns of the values, one by one."""
    if any(each.shape != X.data.shape or each.dtype.kind != "i" for each in (X.row, X.col)):
        return f"there are {X.row.size} rows and {X.col.size} columns for {X.data.size} values"
    return _wrong_indices(X.row, X.shape[0]) or _wrong_indices(X.col, X.shape[1])


def _wrong_lists(X: Any) -> str | None:
    """What is wrong with LIL: a list of columns and one of values for each row."""
    if X.rows.shape != (X.shape[0],) or X.data.shape != X.rows.shape:
        return f"there are {X.rows.size} and {X.data.size} lists for {X.shape[0]} rows"
    if any(len(columns) != len(values) for columns, values in zip(X.rows, X.data, strict=True)):
        return "there are not as many values as columns in every row"
    return _wrong_indices(np.array([j for columns in X.rows for j in columns], np.int64), X.shape[1])


def _wrong_keys(X: Any) -> str | None:
    """What is wrong with DOK: a dictionary of (row, column)."""
    places = np.array(list(X.keys()), np.int64).reshape(-1, 2)
    return _wrong_indices(places[:, 0], X.shape[0]) or _wrong_indices(places[:, 1], X.shape[1])


def _wrong_diagonals(X: Any) -> str | None:
    """What is wrong with DIA: diagonals, and where they are."""
    if X.data.ndim == 2 and X.offsets.shape == X.data.shape[:1] and X.offsets.dtype.kind == "i":
        return None
    return f"there are {X.offsets.size} offsets for diagonals of shape {X.data.shape}"


def _wrong_indices(indices: Any, size: int) -> str | None:
    if indices.size == 0 or (indices.min() >= 0 and indices.max() < size):
        return None
    wrong = indices.min() if indices.min() < 0 else indices.max()
    return f"it has the index {wrong}, which is not from 0 to {size - 1}"


_STRUCTURES: dict[str, Callable[[Any], str | None]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), _wrong_compression),
    "coo": _wrong_coordinates,
    "lil": _wrong_lists,
    "dok": _wrong_keys,
    "dia": _wrong_diagonals,
}


def _of_valid_structure(check: Check) -> Check:
    """Return a check of tables and targets that begins with :func:`check_structure`."""

    @wraps(check)
    def checked(*given: Any, **more: Any) -> Any:
        for each in (*given, more.get("X"), more.get("array"), more.get("y")):
            check_structure(each)
        return check(*given, **more)

    return checked  # type: ignore[return-value]


def _in_order(check: Check) -> Check:
    """The same function of targets, with a sentence about those that cannot be sorted."""

    @wraps(check)
    def checked(y: Any, *more: Any) -> Any:
        try:
            return check(y, *more)
        except TypeError as error:
            kinds = sorted({type(each).__name__ for each in np.asarray(y, dtype=object).ravel()})
            if len(kinds) < 2:
                raise
            raise TypeError(
                f"y mixes labels of the types {', '.join(kinds)}, which have no common order; make them all"
                " words, by y.astype(str) for example."
            ) from error

    return checked  # type: ignore[return-value]


assert_all_finite = unwarned(_assert_all_finite)
check_array = unwarned(_of_valid_structure(_check_array))
check_X_y = unwarned(_of_valid_structure(_check_X_y))  # noqa: N816  as scikit-learn calls it
validate_data = unwarned(_of_valid_structure(_validate_data))
check_classification_targets = unwarned(_in_order(_check_classification_targets))
type_of_target = unwarned(_in_order(_type_of_target))
