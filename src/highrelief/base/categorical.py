"""Tables in which some features are categorical: which they are, and how they become numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._dask.collections import gathered
from .._engine.categories import MISSING, Encoding, level_codes
from .._engine.scaling import ColumnRanges, MissingMask
from .validation import ClassTableMixin, check_array, check_X_y, is_dask_backed, refuse_dask, validate_data

#: Why categories cannot be weighed where Dask holds them.
CATEGORIES_IN_MEMORY = "categorical_features are for tables in memory."
#: Kinds of columns, as pandas and polars name them, that hold what are not numbers.
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


class MixedTableMixin(ClassTableMixin):
    """Judges tables with categorical features, which ``categorical_features`` names; never guesses them.

    To be named before the base of a weighter. ``_squares_differences`` says whether distances are sums of
    squares. Where features are categorical, :meth:`_checked` returns an :class:`Encoding` too, and the
    columns of the table are those of the encoding.
    """

    categorical_features: Any
    _takes_categories = True
    # Which features are, by what ``fit`` was given.
    _is_categorical: NDArray[np.bool_] | None = None

    @property
    def _squares_differences(self) -> bool:
        return getattr(self, "metric", "manhattan") != "manhattan"

    def _checked(self, X: Any, y: ArrayLike, *, reset: bool, min_samples: int) -> Any:
        if self.categorical_features is None:
            if reset:
                self._is_categorical = None
            if is_dask_backed(X):
                # To look for text in it would bring it here.
                return super()._checked(X, y, reset=reset, min_samples=min_samples)
            try:
                return super()._checked(X, y, reset=reset, min_samples=min_samples)
            except (TypeError, ValueError) as error:
                refuse_text(X, [], error)
                raise
        refuse_dask(X, type(self).__name__, CATEGORIES_IN_MEMORY)
        y, X = gathered(y), as_columns(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset or self._is_categorical is None:
            self._is_categorical = self._chosen(X)
        return self._encoded(X, y, self._is_categorical, min_samples)

    def _chosen(self, X: Any) -> NDArray[np.bool_]:
        """Which features are categorical, by ``categorical_features``."""
        names = getattr(self, "feature_names_in_", None)
        return chosen_features(self.categorical_features, X, names)

    def _encoded(self, X: Any, y: ArrayLike, mask: NDArray[np.bool_], min_samples: int) -> tuple[Any, ...]:
        features = np.flatnonzero(mask)
        numbers = _numbers(X, ~mask, self._types)
        codes = _codes(X, features)
        encoding = Encoding.of(mask.size, features, codes, squared=self._squares_differences)
        table, classes = check_X_y(
            encoding.table(numbers, numbers.dtype),
            y,
            dtype=None,
            ensure_all_finite=False,
            ensure_min_samples=min_samples,
            estimator=type(self).__name__,
        )
        ranges, missing_mask = ColumnRanges.of(table, self._n_threads), None
        if not ranges.finite:
            self._refuse_infinite(table)
            missing_mask, table = MissingMask.extract(table, self._n_threads)
            ranges = ColumnRanges.of(table, self._n_threads)
        return table, self._checked_target(classes), ranges, missing_mask, encoding

    def _factors(self) -> NDArray[np.float64]:
        refuse_to_multiply(self, self._is_categorical)
        return super()._factors()  # type: ignore[misc]


def refuse_to_multiply(fitted: Any, is_categorical: NDArray[np.bool_] | None) -> None:
    """Raise if one of the features that are kept, to be multiplied by their weights, is categorical."""
    kept = 0 if is_categorical is None else int(is_categorical[fitted.get_support()].sum())
    if kept:
        raise ValueError(
            f"weighted={fitted.weighted!r} multiplies the kept columns, and {kept} of them are categorical."
            " Use weighted=False."
        )


def numbered(X: Any, mask: NDArray[np.bool_], types: Sequence[type]) -> NDArray[Any]:
    """A table, as :func:`as_columns` has it, with numbers in the place of categories, or NaN."""
    numbers = _numbers(X, ~mask, types)
    # Whole numbers stay as precise as they are.
    table = np.empty(X.shape, numbers.dtype if numbers.dtype.kind == "f" else np.float64)
    table[:, ~mask] = numbers
    codes = _codes(X, np.flatnonzero(mask)).T
    table[:, mask] = np.where(codes == MISSING, np.nan, codes)
    return table


def chosen_features(chosen: Any, X: Any, names: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Which features are categorical, as a mask.

    Parameters
    ----------
    chosen : "from_dtype", mask, indices or names
        As the user says it.
    X : array or DataFrame
        The table.
    names : (n_features,) or None
        Names of the features, if they have any.

    Returns
    -------
    mask : (n_features,) bool
        Which are.
    """
    n_features = X.shape[1]
    mask = np.zeros(n_features, dtype=bool)
    if isinstance(chosen, str):
        if chosen != "from_dtype":
            raise ValueError(
                f"categorical_features={chosen!r} must be None, 'from_dtype', or a mask, indices or names of"
                " features."
            )
        if not hasattr(X, "dtypes"):
            raise ValueError("categorical_features='from_dtype' needs a DataFrame, whose columns have types.")
        return np.array([_is_of_categories(dtype) for dtype in X.dtypes])
    given = np.asarray(chosen)
    if given.size == 0 and given.ndim == 1:
        return mask
    if given.ndim != 1 or given.dtype.kind not in "biuUO":
        raise ValueError(
            f"categorical_features={chosen!r} must be None, 'from_dtype', or a mask, indices or names of"
            " features."
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


def refuse_text(X: Any, declared: Any, error: Exception) -> None:
    """Raise what is to be done where a column that is not declared categorical holds text."""
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
                f"Column {name} of X holds text, and is not said to be categorical:"
                " categorical_features='from_dtype' takes all such columns of a DataFrame as categorical, or"
                f" name them there. ({error})"
            ) from error


def _is_of_categories(dtype: Any) -> bool:
    """Whether a type of columns is one of categories, or of text."""
    name = str(dtype).split("(", 1)[0]
    return name in _CATEGORICAL_TYPES or name.startswith("string")


def as_columns(X: Any) -> Any:
    """A DataFrame as it is; anything else as an array of two dimensions."""
    if sparse.issparse(X):
        raise TypeError("categorical_features needs a dense table, but X is sparse. Use X.toarray().")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return X
    kind = None if isinstance(X, np.ndarray) else object
    return check_array(X, dtype=kind, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=1)


def _numbers(X: Any, mask: NDArray[np.bool_], types: Sequence[type]) -> NDArray[Any]:
    """The features that are numbers, as an array of one of the types."""
    if not mask.any():
        smallest = np.int8 if np.int8 in types else types[0]
        return np.empty((X.shape[0], 0), smallest)
    some = _some_columns(X, np.flatnonzero(mask))
    try:
        return np.asarray(check_array(some, dtype=list(types), ensure_all_finite=False, ensure_min_samples=0))
    except (TypeError, ValueError) as error:
        refuse_text(X, np.flatnonzero(~mask), error)
        raise


def _codes(X: Any, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """Levels of the categorical features, (n_categorical, n_samples)."""
    codes = np.empty((features.size, X.shape[0]), np.int64)
    for place, j in enumerate(features):
        codes[place] = level_codes(_column(X, int(j)))
    return codes


def _column(X: Any, j: int) -> NDArray[Any]:
    """Values of one column; text and what is missing as objects."""
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


def _some_columns(X: Any, which: NDArray[np.int64]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, which]
    return X[:, which.tolist()] if hasattr(X, "to_series") else X[:, which]
