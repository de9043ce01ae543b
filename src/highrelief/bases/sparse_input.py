"""Judge SciPy's sparse tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse as is_sparse

from ..core.ranges import ColumnRanges, precise_type
from ..core.scaling import finite
from ..core.sparse_columns import SparseTable, sparse_ranges
from .checks import assert_all_finite, check_classification_targets, validate_data

__all__ = [
    "PRECISIONS",
    "as_rows",
    "checked_sparse",
    "is_sparse",
    "precise",
    "spread_columns",
    "times_columns",
]

#: What is computed in its own precision; anything else becomes float64.
PRECISIONS = [np.float64, np.float32]


def checked_sparse(
    estimator: Any, X: Any, y: ArrayLike, *, reset: bool, min_samples: int
) -> tuple[SparseTable, NDArray[Any], ColumnRanges]:
    """A sparse table as CSR, sorted, each column once in a row; classes; and the ranges of the columns.

    What the caller gave is not changed.
    """
    samples, classes = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=PRECISIONS,
        ensure_min_samples=min_samples,
        ensure_all_finite=False,
        reset=reset,
    )
    samples = canonical(samples)
    ranges = sparse_ranges(samples)
    if not ranges.finite:
        if np.isnan(samples.data).any():
            raise ValueError(
                f"Input X contains NaN. {type(estimator).__name__} takes sparse tables only without missing"
                " values; X.toarray() may have some, if it fits into memory, where the method knows what to"
                " expect of them."
            )
        assert_all_finite(samples, estimator_name=type(estimator).__name__, input_name="X")
    check_classification_targets(classes)
    return samples, classes, ranges


def precise(X: Any) -> Any:
    """A table in memory, sparse or not, in a precision that is computed in; values are not judged."""
    return as_rows(X) if is_sparse(X) else X.astype(precise_type(X.dtype), copy=False)


def as_rows(X: Any) -> SparseTable:
    """A sparse table of any format and type as it is worked on; values are not judged."""
    precise = X.dtype in PRECISIONS
    return canonical(X.tocsr() if precise else X.tocsr().astype(np.float64))


def canonical(X: SparseTable) -> SparseTable:
    """The same table with sorted columns, none of them twice in a row; a copy if it was not so."""
    # Looked at anew: the note in X that its columns are sorted may be wrong.
    n_values = int(X.indptr[-1])
    X = type(X)((X.data[:n_values], X.indices[:n_values], X.indptr), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def times_columns(X: SparseTable, factors: NDArray[np.float64]) -> SparseTable:
    """A table in CSR format with its columns multiplied, in its own precision."""
    product = X.copy()
    with np.errstate(over="ignore"):
        product.data = finite(X.data * factors[X.indices], X.dtype).astype(X.dtype, copy=False)
    return product


def spread_columns(X: SparseTable, places: NDArray[np.int64], n_features: int) -> SparseTable:
    """A table in CSR format whose columns stand at some places among others, which are empty."""
    return type(X)((X.data, places[X.indices], X.indptr), shape=(X.shape[0], n_features))
