"""Categorical features: which columns are categorical, and how they are encoded as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._dask.collections import gathered
from .._engine.categories import (
    MISSING,
    MOST_LEVELS,
    Encoding,
    is_missing,
    level_codes,
    level_codes_of_columns,
    level_counts,
)
from .._engine.metrics import METRICS
from .training_data import Samples
from .validation import (
    ValidationMixin,
    check_array,
    check_X_y,
    is_dask_backed,
    refuse_dask,
    validate_data,
    warn_user,
)

#: Why categorical features are not supported in Dask collections.
CATEGORIES_IN_MEMORY = "categorical_features are for tables in memory."
#: Types of columns of pandas and polars that hold categories or text.
_CATEGORICAL_TYPES = (
    "category",
    "object",
    "str",
    "string",
    "Categorical",
    "Enum",
    "String",
    "Utf8",
    "Object",
)
#: Samples, columns and rows by which a table is recognized as one of levels only.
_LEAST_SAMPLES = 30
_COLUMNS_LOOKED_AT = 256
_ROWS_LOOKED_AT = 5000


class IntegerLevelsWarning(UserWarning):
    """All features are integers of few values, such as genotypes, and are taken as numbers."""


class CategoricalFeaturesMixin(ValidationMixin):
    """Validates X with categorical features, which the parameter ``categorical_features`` names.

    List it before the base class of a weighter. The columns of the validated X are those of an
    :class:`Encoding`.
    """

    categorical_features: Any
    _takes_categories = True
    # Mask of the categorical features of ``fit``; None: all features are numeric.
    _is_categorical: NDArray[np.bool_] | None = None
    # Whether integers of few values are levels even if they are not declared.
    _finds_levels: bool = False

    @property
    def _squares_differences(self) -> bool:
        metric = getattr(self, "metric", None)  # not validated yet
        return isinstance(metric, str) and metric in METRICS and METRICS[metric].squares

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        if self.categorical_features is None:
            if reset:
                self._is_categorical = None
            if is_dask_backed(X):
                # To look for text would gather X to the client.
                return super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
            try:
                samples = super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
            except (TypeError, ValueError) as error:
                refuse_text(X, [], error)
                raise
            if reset and not self._finds_levels:
                _warn_of_levels(samples.X, type(self).__name__)
            return samples
        refuse_dask(X, type(self).__name__, CATEGORIES_IN_MEMORY)
        y, X = gathered(y), as_columns(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset or self._is_categorical is None:
            names = getattr(self, "feature_names_in_", None)
            self._is_categorical = categorical_mask(self.categorical_features, X, names)
        if not self._is_categorical.any() and type(X) is np.ndarray and X.dtype != object:
            return super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
        return self._encoded_samples(X, y, self._is_categorical, min_samples)

    def _encoded_samples(
        self, X: Any, y: Any, is_categorical: NDArray[np.bool_], min_samples: int
    ) -> Samples:
        features = np.flatnonzero(is_categorical)
        numbers = _numbers(X, ~is_categorical, self._types)
        codes = _codes(X, features)
        encoding = Encoding.of(is_categorical.size, features, codes, squared=self._squares_differences)
        encoded, y = check_X_y(
            encoding.table(numbers, numbers.dtype),
            y,
            dtype=None,
            ensure_all_finite=False,
            ensure_min_samples=min_samples,
            estimator=type(self).__name__,
        )
        return self._dense_samples(encoded, y, encoding)


def ordinal_encoded(X: Any, mask: NDArray[np.bool_], types: Sequence[type]) -> NDArray[Any]:
    """Return X, as :func:`as_columns` returns it, with codes instead of categories, NaN where missing."""
    numbers = _numbers(X, ~mask, types)
    # Integers may be too large for float32.
    table = np.empty(X.shape, numbers.dtype if numbers.dtype.kind == "f" else np.float64)
    table[:, ~mask] = numbers
    codes = _codes(X, np.flatnonzero(mask)).T
    table[:, mask] = np.where(codes == MISSING, np.nan, codes)
    return table


def categorical_mask(chosen: Any, X: Any, names: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Return the mask of the categorical features.

    Parameters
    ----------
    chosen : "auto", "from_dtype", mask, indices or names
        The parameter ``categorical_features``.
    X : array or DataFrame
        The samples.
    names : (n_features,) or None
        Names of the features.

    Returns
    -------
    mask : (n_features,) bool
        True for categorical features.
    """
    n_features = X.shape[1]
    mask = np.zeros(n_features, dtype=bool)
    if isinstance(chosen, str):
        if chosen == "auto":
            return _level_mask(X)
        if chosen != "from_dtype":
            raise ValueError(
                f"categorical_features={chosen!r} must be None, 'auto', 'from_dtype', or a mask, indices or"
                " names of features."
            )
        if not hasattr(X, "dtypes"):
            raise ValueError("categorical_features='from_dtype' needs a DataFrame, whose columns have types.")
        return np.array([_is_categorical_type(dtype) for dtype in X.dtypes])
    given = np.asarray(chosen)
    if given.size == 0 and given.ndim == 1:
        return mask
    if given.ndim != 1 or given.dtype.kind not in "biuUO":
        raise ValueError(
            f"categorical_features={chosen!r} must be None, 'auto', 'from_dtype', or a mask, indices or names"
            " of features."
        )
    if given.dtype == bool:
        if given.size != n_features:
            raise ValueError(
                f"categorical_features has {given.size} entries, but X has {n_features} features; a mask"
                " needs one for each."
            )
        return given
    if given.dtype.kind in "iu":
        beyond = given[(given < 0) | (given >= n_features)]
        if beyond.size:
            raise ValueError(
                f"categorical_features has {beyond[:1].tolist()} among its indices, but X has the features 0"
                f" to {n_features - 1}."
            )
        mask[given] = True
        return mask
    if names is None:
        raise ValueError(
            f"categorical_features={chosen!r} are names, but the columns of X have none; use a DataFrame, or"
            " indices."
        )
    unknown = [name for name in given.tolist() if name not in names]
    if unknown:
        raise ValueError(f"categorical_features names the feature {unknown[0]!r}, which X does not have.")
    return np.isin(names, given)


def _level_mask(X: Any) -> NDArray[np.bool_]:
    """Return which columns hold categories, text, at most two values, or at most ten integers."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        return level_counts(X) <= MOST_LEVELS
    return np.array([_has_levels(_column(X, j)) for j in range(X.shape[1])])


def _has_levels(values: NDArray[Any]) -> bool:
    """Return whether the values of one column, of any type, are levels."""
    if values.dtype.kind not in "fiub":
        try:
            values = values[~is_missing(values)].astype(np.float64)
        except (TypeError, ValueError):
            return True
    return values.size == 0 or bool(level_counts(values[:, np.newaxis])[0] <= MOST_LEVELS)


def _warn_of_levels(X: Any, name: str) -> None:
    """Warn if all features of X, an array, are levels, and not all of these two numbers."""
    if not isinstance(X, np.ndarray) or len(X) < _LEAST_SAMPLES:
        return
    height, width = -(-len(X) // _ROWS_LOOKED_AT), -(-X.shape[1] // _COLUMNS_LOOKED_AT)
    # Most tables are known by their first column.
    if level_counts(X[::height, :1])[0] > MOST_LEVELS:
        return
    counts = level_counts(X[::height, ::width])
    if 2 < counts.max() <= MOST_LEVELS:
        warn_user(
            f"All features of X are integers of at most {MOST_LEVELS} values, and {name} takes them as"
            " numbers: 0 and 2 differ twice as much as 0 and 1. For genotypes and other categories use"
            " categorical_features='auto'; categorical_features=[] takes numbers without this warning.",
            IntegerLevelsWarning,
        )


def refuse_text(X: Any, declared: Any, error: Exception) -> None:
    """Raise ValueError if a column that is not declared categorical contains text."""
    names = getattr(X, "columns", None)
    if sparse.issparse(X) or not hasattr(X, "shape") or len(X.shape) != 2:
        return
    for j in range(X.shape[1]):
        if j in declared:
            continue
        values = _column(X, j)
        if values.dtype.kind in "US" or (
            values.dtype == object and any(isinstance(value, str) for value in values)
        ):
            name = j if names is None else repr(str(names[j]))
            raise ValueError(
                f"Column {name} of X holds text, and is not declared as categorical:"
                " categorical_features='from_dtype' takes all such columns of a DataFrame as categorical, or"
                f" name them there. ({error})"
            ) from error


def _is_categorical_type(dtype: Any) -> bool:
    """Return whether a column of this type holds categories or text."""
    name = str(dtype).split("(", 1)[0]
    return name in _CATEGORICAL_TYPES or name.startswith("string")


def as_columns(X: Any) -> Any:
    """Return a DataFrame as is, and anything else as a two-dimensional array."""
    if sparse.issparse(X):
        raise TypeError("categorical_features needs a dense table, but X is sparse. Use X.toarray().")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return X
    kind = None if isinstance(X, np.ndarray) else object
    return check_array(X, dtype=kind, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=1)


def _numbers(X: Any, mask: NDArray[np.bool_], types: Sequence[type]) -> NDArray[Any]:
    """Return the numeric columns as an array of one of the types."""
    if not mask.any():
        smallest = np.int8 if np.int8 in types else types[0]
        return np.empty((X.shape[0], 0), smallest)
    columns = _columns(X, np.flatnonzero(mask))
    try:
        return np.asarray(
            check_array(columns, dtype=list(types), ensure_all_finite=False, ensure_min_samples=0)
        )
    except (TypeError, ValueError) as error:
        refuse_text(X, np.flatnonzero(~mask), error)
        raise


def _codes(X: Any, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes of the categorical features, (n_categorical, n_samples)."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        return level_codes_of_columns(X, features)
    codes = np.empty((features.size, X.shape[0]), np.int64)
    for i, j in enumerate(features):
        codes[i] = level_codes(_column(X, int(j)))
    return codes


def _column(X: Any, j: int) -> NDArray[Any]:
    """Return the values of one column; text and missing values as objects."""
    if hasattr(X, "iloc"):
        column = X.iloc[:, j]
        dtype = str(column.dtype)
        plain = column.dtype if isinstance(column.dtype, np.dtype) else object
        return np.asarray(column.astype(object) if dtype == "category" else column, dtype=plain)
    if hasattr(X, "to_series"):
        values = np.empty(X.shape[0], dtype=object)
        values[:] = X.to_series(j).to_list()
        return values
    return np.asarray(X[:, j])


def _columns(X: Any, which: NDArray[np.int64]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, which]
    return X[:, which.tolist()] if hasattr(X, "to_series") else X[:, which]
