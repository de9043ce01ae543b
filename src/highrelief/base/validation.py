"""scikit-learn's checks of tables and targets, without NumPy's warnings of what they compute.

Whether all values are finite is first seen by their sum, which large ones make infinite, or not a number;
whether targets are whole numbers by a conversion, which large ones do not survive.

SciPy's compiled code, which scikit-learn's checks call, follows the indices of sparse tables without a check:
these are checked first. So are names that occur twice, and structured arrays, which scikit-learn takes for
something else.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.sparse import issparse as is_sparse
from sklearn import get_config
from sklearn.utils import assert_all_finite as _assert_all_finite
from sklearn.utils import check_array as _check_array
from sklearn.utils import check_X_y as _check_X_y
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets as _check_classification_targets
from sklearn.utils.multiclass import type_of_target as _type_of_target
from sklearn.utils.validation import _check_feature_names, _check_n_features
from sklearn.utils.validation import validate_data as _validate_data

from .._dask.collections import gathered, is_dask, is_dask_table
from .._engine.batches import BATCH_NEIGHBORS, BatchConstraint, scaled_by_batch
from .._engine.categories import Encoding, is_missing
from .._engine.columns import SparseTable, sparse_ranges, sparse_scaling
from .._engine.engine import Engine, LocalEngine
from .._engine.layout import Packed, SparsePacked
from .._engine.limits import limits
from .._engine.memory import check_room, memory_budget
from .._engine.parameters import check_declared, checked_thread_count, constraints, one_of
from .._engine.scaling import (
    SCALES,
    ColumnRanges,
    MissingMask,
    Scaling,
    c_ordered,
    feature_scaling,
    finite,
    precise_type,
)
from .._engine.sparse import SparseEngine
from .notebook import FittedViewMixin

if TYPE_CHECKING:
    from .._dask.table import DaskTable


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


# What evens out a table: weights of the classes, and the levels of a column that samples belong to.


def class_weights_of(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """How much the samples of each class count in sums over samples; None if all count the same, 1.

    "balanced": N/(C·n_c) with n_c the copies of class c, so that every class counts the same in all.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        weights = np.array([_weight_of(each, class_weight) for each in classes.tolist()])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights=sample_weight, minlength=classes.size)
        weights = counts.sum() / (classes.size * counts)
    else:
        raise ValueError(
            f"class_weight={class_weight!r} is not known; it must be None, 'balanced', or a dict with a"
            " weight > 0 for each class."
        )
    return None if np.all(weights == 1.0) else weights


def _weight_of(name: Any, class_weight: Mapping[Any, Any]) -> float:
    if name not in class_weight:
        raise ValueError(
            f"class_weight={class_weight!r} has no weight for the class {name!r}, which is in y; it needs one"
            " for each."
        )
    weight = class_weight[name]
    if isinstance(weight, (bool, np.bool_)) or not isinstance(weight, Real):
        raise TypeError(f"class_weight={class_weight!r}: {weight!r} must be a number > 0.")
    if not 0.0 < float(weight) < np.inf:
        raise ValueError(f"class_weight={class_weight!r}: {weight!r} must be > 0, and finite.")
    return float(weight)


def label_codes(name: str, levels: ArrayLike | None, kept: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Numbers from 0 on for the groups, or batches, of the samples that count; ``name`` is for messages."""
    if levels is None:
        return None
    levels = gathered(levels)
    checked = check_array(levels, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name=name)
    if checked.shape != kept.shape:
        raise ValueError(
            f"{name} must name the {_SINGULAR[name]} of each of the {kept.size} samples; got an array of"
            f" shape {checked.shape}."
        )
    nowhere = np.flatnonzero(kept & is_missing(checked))
    if nowhere.size:
        raise ValueError(
            f"{name} has a missing value, at sample {nowhere[0]}; each sample needs a {_SINGULAR[name]}."
        )
    try:
        return np.unique(checked[kept], return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"{name} must hold names or numbers, all of one kind: {error}.") from error


_SINGULAR = {"groups": "group", "batches": "batch"}


# Judge SciPy's sparse tables.


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


# Judge Dask arrays and data frames, which stay where they are.


#: Why most of what does not work on a cluster does not.
IN_MEMORY = "it works on tables in memory."
#: What a thread that compares two blocks of rows holds, in blocks: themselves, whole numbers, distances.
_BLOCKS_PER_THREAD = 20


def is_dask_backed(X: Any) -> bool:
    """Whether Dask holds a table, as it was given or judged already."""
    return is_dask(X) or is_dask_table(X)


def refuse_dask(X: Any, name: str, reason: str | None = IN_MEMORY) -> None:
    """Raise if Dask holds a table and there is a reason not to work on it where it is."""
    if reason is not None and is_dask_backed(X):
        raise_for_dask(name, reason)


def raise_for_dask(name: str, reason: str) -> None:
    """Raise: an estimator does not work on what Dask holds."""
    raise TypeError(
        f"{name} does not take Dask arrays or data frames: {reason} Where X fits into memory, X.compute()"
        " makes an array of it."
    )


def read_in_blocks(X: Any, bytes_per_value: int) -> Any:
    """A tall table on disk that there is no room to copy, as a table whose blocks Dask's threads read.

    Anything else as it is: wide tables on disk are read in blocks of columns by all methods.
    """
    if not (isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"):
        return X
    copied, room = float(bytes_per_value) * X.size, memory_budget(None)
    if X.shape[1] >= limits.view_ratio * X.shape[0] or copied <= room:
        return X
    try:
        from dask.array import from_array  # noqa: PLC0415
    except ImportError:
        check_room(copied, "A copy of X", "pip install 'highrelief[dask]' has it read block by block.")
        return X
    from .._dask.scheduler import Executor  # noqa: PLC0415
    from .._dask.table import DaskTable  # noqa: PLC0415

    # Not on a cluster, to which all of the table would be sent: others may not see the file.
    executor = Executor(local=True)
    height = max(1, int(room / (_BLOCKS_PER_THREAD * executor.n_threads * X.shape[1] * X.itemsize)))
    return DaskTable(from_array(_OnDisk(X), chunks=(height, -1), name=False), executor)


class _OnDisk:
    """A table on disk of which parts are read; an array Dask would copy as a whole."""

    ndim = 2

    def __init__(self, X: NDArray[Any]) -> None:
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, part: Any) -> NDArray[Any]:
        return np.array(self._X[part])


def checked_dask(
    estimator: Any, X: Any, y: ArrayLike, *, reset: bool, min_samples: int, types: Any
) -> tuple[DaskTable, NDArray[Any], ColumnRanges]:
    """A table that Dask holds, its classes, brought here, and the ranges of its columns.

    The values are looked at by Dask's workers, once: X may be a table that was judged already, such as some
    of the rows of one, which stays with the same workers.
    """
    _check_feature_names(estimator, getattr(X, "_meta", X) if hasattr(X, "columns") else X, reset=reset)
    array = X if is_dask_table(X) else _as_array(X)
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got {array.ndim}.")
    _check_n_features(estimator, array, reset=reset)
    n_samples, n_features = array.shape
    if n_samples < min_samples or n_features < 1:
        raise ValueError(
            f"X has {n_samples} sample(s) and {n_features} feature(s) (shape={array.shape}), but"
            f" {type(estimator).__name__} needs at least {min_samples} and 1."
        )
    if array.dtype not in types:
        if array.dtype.kind not in "fiub":
            raise ValueError(f"X holds values of type {array.dtype}, which are not numbers.")
        array = array.astype(np.float64)
    target = _target(y)
    if target.shape[0] != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_samples, target.shape[0]]}"
        )
    table = _as_table(array)
    ranges = table.ranges()
    if not ranges.finite:
        raise ValueError(
            "Input X contains NaN or infinity. Tables that Dask holds must be complete: fill what is missing"
            " (dask.array.where), or fit to X.compute(), where missing values are taken for what they may be."
        )
    return table, target, ranges


def _as_array(X: Any) -> Any:
    """A Dask array whose chunks have known sizes."""
    if hasattr(X, "to_dask_array"):
        frame = _of_numbers(X)
        return frame.to_dask_array(lengths=tuple(gathered(frame.map_partitions(len))))
    if is_sparse(getattr(X, "_meta", None)):
        raise TypeError("The chunks of X are sparse. Dask arrays are taken with dense chunks only.")
    if np.isnan(X.shape).any():
        return X.copy().compute_chunk_sizes()
    return X


def _of_numbers(X: Any) -> Any:
    """A data frame whose columns have one type of numbers; a series as it is."""
    if not hasattr(X, "columns"):
        return X
    dtypes = list(X.dtypes)
    # What pandas calls Float64 or boolean has a NumPy type behind it, and may have gaps.
    plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes]
    words = [str(name) for name, dtype in zip(X.columns, plain, strict=True) if not _is_number(dtype)]
    if words:
        raise ValueError(
            f"Columns of X do not hold numbers: {', '.join(words[:5])}. Leave them out, or make numbers of"
            " them."
        )
    return X if len(set(dtypes)) == 1 and plain == dtypes else X.astype(np.float64)


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def _as_table(array: Any) -> DaskTable:
    from .._dask.scheduler import Executor  # noqa: PLC0415
    from .._dask.table import DaskTable  # noqa: PLC0415

    return array if is_dask_table(array) else DaskTable(array, Executor())


def _target(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("y is None, but the samples' classes are needed to weigh features.")
    return column_or_1d(gathered(y), warn=True)


# What everything that is fitted to samples of known classes does first: check, count copies, scale.


_WRAPPERS = ("highrelief.", "sklearn.", "joblib.")
#: Weights of samples from which on products of some of them are no numbers, in float64 and in float32.
LARGEST_WEIGHT = (1e50, 1e15)


@dataclass(frozen=True)
class Table:
    """Checked input of a fit, samples of weight 0 left out."""

    #: (n_samples, n_features), as it was given, not scaled.
    X: NDArray[Any]
    #: (n_samples,) positions in ``classes_``.
    codes: NDArray[np.int64]
    #: (n_samples,) how often each sample counts, or None: once.
    sample_weight: NDArray[np.float64] | None
    #: (number of samples given,) which of them are here.
    kept: NDArray[np.bool_]
    #: Of the columns.
    ranges: ColumnRanges
    #: What is missing from X, where the smallest value of the column stands for it; None: nothing.
    missing_mask: MissingMask | None = None
    #: (n_classes,) how much the classes count, or None: all the same.
    class_weights: NDArray[np.float64] | None = None
    #: Who may be whose neighbor, or None: everyone.
    batch_constraint: BatchConstraint | None = None
    #: The features that the columns of X belong to, where some are categorical; None: each is a feature.
    encoding: Encoding | None = None

    @property
    def observed(self) -> NDArray[Any]:
        """X with NaN where a value is missing."""
        return self.X if self.missing_mask is None else self.missing_mask.restore_nan(self.X)


def scaled_rows(table: Table, scaling: Scaling, n_threads: int, memory: float) -> Engine:
    """Where the rows of a table, scaled, are worked on; ``memory`` as :func:`working_memory` says."""
    # New samples may come in another precision than those of the fit.
    dtype = table.X.dtype if table.X.dtype.itemsize == 1 else scaling.offset.dtype
    if table.encoding is not None:
        scaling = table.encoding.of_columns(scaling)
    X = table.X.astype(dtype, copy=False)
    ranges = table.ranges if table.X.dtype == dtype else None
    laid_out, rows = _room_for(X)
    packed = laid_out(
        X,
        table.codes,
        int(table.codes.max()) + 1,
        scaling=scaling,
        sample_weight=table.sample_weight,
        n_threads=n_threads,
        ranges=ranges_of(X) if ranges is None else ranges,
        missing_mask=table.missing_mask,
        class_weights=table.class_weights,
        batch_constraint=table.batch_constraint,
        encoding=table.encoding,
    )
    return rows(packed, memory)


def _room_for(X: Any) -> tuple[Callable[..., Packed], Callable[[Any, float], Engine]]:
    """How a table is laid out, and where its rows are worked on: by what the table is."""
    if is_sparse(X):
        return SparsePacked, SparseEngine
    if is_dask_table(X):
        from .._dask.column_engine import ColumnEngine  # noqa: PLC0415
        from .._dask.row_engine import RowEngine  # noqa: PLC0415
        from .._dask.table import DaskPacked  # noqa: PLC0415

        return DaskPacked, ColumnEngine if X.partition == "columns" else RowEngine
    return Packed, LocalEngine


def ranges_of(X: Any, n_threads: int = 1) -> ColumnRanges:
    """Ranges of the columns of a table of any kind."""
    if is_sparse(X):
        return sparse_ranges(X)
    return X.ranges() if is_dask_table(X) else ColumnRanges.of(X, n_threads)


def scaling_of(
    X: Any,
    scale: str | None,
    sample_weight: NDArray[np.float64] | None,
    ranges: ColumnRanges,
    missing_mask: MissingMask | None = None,
) -> Scaling:
    """Scaling of the features of a table of any kind."""
    if is_sparse(X):
        return sparse_scaling(X, scale, sample_weight, ranges)
    if is_dask_table(X):
        return X.scaling(scale, sample_weight, ranges)
    return feature_scaling(X, scale, sample_weight, ranges, missing_mask)


def working_memory() -> float:
    """Bytes that may be spent on lists of neighbors, or on distances, between two passes."""
    return float(get_config()["working_memory"] * 2.0**20)


class ClassTableMixin(FittedViewMixin):
    """Judges samples and their classes, and scales them: for weighters, extractors and classifiers alike.

    A subclass says in :meth:`_check_parameters` what its parameters may be and in :meth:`_forget` how it
    becomes unfitted, and asks :meth:`_check_fit` for the checked table.
    """

    # What is worked on as it is; anything else becomes float64.
    _types: Sequence[type] = PRECISIONS
    # What each parameter may be.
    _constraints = constraints(
        scale=one_of(*SCALES),
        batch_neighbors=one_of(*BATCH_NEIGHBORS),
    )
    # Whether values may be missing: differences are then what they are expected to be.
    _allows_missing: bool = False
    # Weights of samples may be so large, in float64 and in float32, or the inverse of it.
    _largest_weight: tuple[float, float] = LARGEST_WEIGHT
    # SciPy's sparse tables are worked on without storing their zeros.
    _takes_sparse: bool = False
    # Why tables that Dask holds are not worked on where they are; None: they are.
    _refuses_dask: str | None = IN_MEMORY
    # What a value takes in the copy that a fit makes of a tall table.
    _bytes_per_value: int = 8

    scale: str | None
    n_jobs: int | None
    n_features_in_: int
    # Parameters of those that have them; see :mod:`.balance`.
    class_weight: Any = None
    batch_neighbors: str = "within"
    _class_weights: NDArray[np.float64] | None = None

    if TYPE_CHECKING:

        def _forget(self) -> None:
            """Be unfitted, so that a fit that fails does not leave the results of an earlier one behind."""

    def _check_parameters(self, n_samples: int) -> None:
        """Raise if a constructor parameter cannot be used; subclasses add rules between several of them."""
        check_declared(self)

    def _judge(self, table: Table) -> None:
        """Raise or warn if a table of at least two classes is not one to be fitted to."""

    @property
    def _n_threads(self) -> int:
        return checked_thread_count(self.n_jobs)

    def _check_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Table:
        """Judge the input of ``fit``: set ``classes_`` and the scaling, return what is to be fitted to."""
        self._forget()
        X, y, ranges, missing_mask, *encoded = self._checked(X, y, reset=True, min_samples=2)
        sample_weight, kept = checked_sample_weight(sample_weight, X, self._largest_weight)
        self._check_parameters(int(kept.sum()))
        if not kept.all():
            X, y = X[kept], y[kept]
            if missing_mask is not None:
                # The smallest value of a column may have left.
                missing_mask, X = MissingMask.extract(missing_mask.restore_nan(X, kept), self._n_threads)
            ranges = ranges_of(X)
            encoded = [encoding.of_samples(kept) for encoding in encoded]
        codes = self._set_target(y)
        self._class_weights = None
        if self.class_weight is not None:
            self._class_weights = class_weights_of(self.class_weight, self.classes_, codes, sample_weight)
        batch_constraint = self._batch_constraint(batches, kept, X)
        table = Table(
            X,
            codes,
            sample_weight,
            kept,
            ranges,
            missing_mask,
            self._class_weights,
            batch_constraint,
            *encoded,
        )
        self._set_scaling(table)
        self._judge(table)
        return table

    def _set_target(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """Store the classes, and return each sample's place among them."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        refuse_single_class(type(self).__name__, self.classes_)
        return codes

    def _set_scaling(self, table: Table) -> None:
        self._scaling = scaling_of(table.X, self.scale, table.sample_weight, table.ranges, table.missing_mask)
        self._constant = table.ranges.low == table.ranges.high
        batch_constraint = table.batch_constraint
        if self.scale is None and batch_constraint is not None and not batch_constraint.within:
            batch_constraint = None
        if batch_constraint is not None:
            self._constant = batch_constraint.constant(table.observed)
        if table.encoding is not None:
            self._scaling, self._constant = table.encoding.of_features(self._scaling, self._constant)
            if batch_constraint is not None:
                # What is missing of a category is not a value of its own.
                self._constant[table.encoding.features] = batch_constraint.constant(table.encoding.observed)

    def _check_batch(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool, min_samples: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Judge samples and their classes, without setting anything but what ``reset`` asks for."""
        return self._checked(X, y, reset=reset, min_samples=min_samples)[:2]

    def _checked(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool, min_samples: int
    ) -> tuple[NDArray[Any], NDArray[Any], ColumnRanges, MissingMask | None, *tuple[Encoding, ...]]:
        """Samples and classes as :meth:`_check_batch` judges them, ranges of the columns, what is missing.

        And an :class:`Encoding`, where features are categorical.
        """
        if self._refuses_dask is None:
            X = read_in_blocks(X, self._bytes_per_value)
        if is_dask_backed(X):
            refuse_dask(X, type(self).__name__, self._refuses_dask)
            held, target, ranges = checked_dask(
                self, X, y, reset=reset, min_samples=min_samples, types=self._types
            )
            # It has what is asked of an array here: a shape, a type, some of its rows.
            return cast("NDArray[Any]", held), self._checked_target(target), ranges, None
        y = gathered(y)
        if self._takes_sparse and is_sparse(X):
            return *checked_sparse(self, X, y, reset=reset, min_samples=min_samples), None
        samples, classes = validate_data(
            self,
            X,
            y,
            dtype=list(self._types),
            ensure_min_samples=min_samples,
            # Seen on the way to the ranges.
            ensure_all_finite=False,
            # To find that nothing is to be done takes a tenth of the time to weigh a small table.
            skip_check_array=_needs_no_conversion(X, y, self._types, min_samples),
            reset=reset,
        )
        samples = c_ordered(samples)
        ranges = ColumnRanges.of(samples, self._n_threads)
        missing_mask = None
        if not ranges.finite:
            if not self._allows_missing or ranges.infinite:
                self._refuse_infinite(samples)
            missing_mask, samples = MissingMask.extract(samples, self._n_threads, ranges)
            ranges = ColumnRanges.of(samples, self._n_threads)
        return samples, self._checked_target(classes), ranges, missing_mask

    def _refuse_infinite(self, samples: NDArray[Any]) -> None:
        """Raise if a value is infinite, or missing where none may be."""
        name = type(self).__name__
        assert_all_finite(samples, allow_nan=self._allows_missing, estimator_name=name, input_name="X")

    def _checked_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Judge what samples are labeled with."""
        # Whole numbers are classes; to see what others are takes longer than to weigh a small table.
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        return y

    def _batch_constraint(
        self, batches: ArrayLike | None, kept: NDArray[np.bool_], X: NDArray[Any]
    ) -> BatchConstraint | None:
        """Who may be whose neighbor, by the batches of the samples given."""
        codes = label_codes("batches", batches, kept)
        if codes is not None and is_sparse(X):
            raise TypeError("batches need a dense table, but X is sparse. Use X.toarray().")
        if codes is not None and is_dask_table(X):
            raise TypeError("batches need a table in memory, but X is held by Dask. Use X.compute().")
        return None if codes is None else BatchConstraint(codes, self.batch_neighbors == "within")

    def _rows(self, table: Table) -> Engine:
        """Where the rows of the table, scaled, are worked on."""
        if table.batch_constraint is not None:
            table = self._scaled_by_batch(table, table.batch_constraint)
            n_features = table.X.shape[1] if table.encoding is None else table.encoding.n_features
            unscaled = Scaling.none(n_features, precise_type(table.X.dtype))
            return scaled_rows(table, unscaled, self._n_threads, self._memory)
        return scaled_rows(table, self._scaling, self._n_threads, self._memory)

    def _scaled_by_batch(self, table: Table, batch_constraint: BatchConstraint) -> Table:
        """The table with its numbers scaled in each batch by itself; categories stay as they are."""
        X, missing_mask, encoding = table.observed, table.missing_mask, table.encoding
        scaled = scaled_by_batch(X, self.scale, table.sample_weight, batch_constraint)
        if encoding is not None:
            levels = encoding.is_categorical[encoding.owner]
            scaled = np.where(levels, X, scaled)
        if missing_mask is not None:
            missing_mask, scaled = MissingMask.extract(scaled, self._n_threads)
        return replace(
            table, X=scaled, ranges=ColumnRanges.of(scaled, self._n_threads), missing_mask=missing_mask
        )

    @property
    def _memory(self) -> float:
        return working_memory()


def refuse_single_class(name: str, classes: NDArray[Any]) -> None:
    """Raise if there are not two classes to compare; ``name`` is that of the estimator."""
    if classes.size < 2:
        raise ValueError(
            f"{name} compares samples of different classes, but y has only one class"
            f" ({plain(classes[0])!r}); it needs at least two."
        )


def known_codes(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of new samples' classes among the fitted ones."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if unknown.size:
        raise ValueError(
            f"y has the class {plain(y[unknown[0]])!r}, which was not in fit; known are {classes}."
        )
    return codes


def plain(value: Any) -> Any:
    """A value as Python would show it, for messages."""
    return value.item() if isinstance(value, np.generic) else value


def _needs_no_conversion(X: Any, y: Any, types: Sequence[type], min_samples: int) -> bool:
    """Whether scikit-learn's checks would return samples and classes as they are; values apart."""
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.ndim == 2
        and X.shape[0] >= min_samples
        and X.shape[1] > 0
        and X.dtype in types
        and y.shape == X.shape[:1]
        and y.dtype.kind in "iub"
    )


def checked_sample_weight(
    sample_weight: ArrayLike | None, X: NDArray[Any], limits: tuple[float, float] = LARGEST_WEIGHT
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Weights of the samples that count, and which those are; None if all count once.

    Those beyond the limit of the table's precision, float64 or float32, or below its inverse, are refused.
    """
    if sample_weight is None:
        return None, np.ones(X.shape[0], dtype=bool)
    largest = limits[X.dtype == np.float32]
    sample_weight = gathered(sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension, one weight per sample; got {weights.ndim}.")
    if weights.size != X.shape[0]:
        raise ValueError(
            f"sample_weight must hold one weight for each of the {X.shape[0]} samples; got {weights.size}."
        )
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight has a negative value ({weights.min():g}).")
    kept = weights > 0.0
    least, most = weights[kept].min(initial=1.0), weights.max()
    if least < 1.0 / largest or most > largest:
        odd = least if most <= largest else most
        raise ValueError(
            f"sample_weight has the value {odd:g}, and products of such numbers leave the range of floating"
            f" point; use weights from {1.0 / largest:g} to {largest:g}."
        )
    if np.count_nonzero(kept) < 2:
        raise ValueError(
            f"sample_weight is zero for all samples but {np.count_nonzero(kept)}; at least two samples"
            " need a weight above zero."
        )
    weights = weights[kept]
    return (None if np.all(weights == 1.0) else weights), kept


def check_spans(ranges: ColumnRanges, widest: float, narrowest: float = 0.0) -> None:
    """Raise if features that are not scaled span too much, or all of them too little, to be squared."""
    # Halves: the difference of two large numbers may be beyond the largest.
    half = float((ranges.high.astype(np.float64) / 2.0 - ranges.low.astype(np.float64) / 2.0).max())
    if not narrowest / 2.0 <= half < widest / 2.0:
        span = f"{2.0 * half:g}" if half < 1e307 else f"2 times {half:g}"
        raise ValueError(
            f"With scale=None the features of X span {span} at most, and sums of squares of such"
            ' numbers leave the range of floating point; use scale="range".'
        )


def check_scaled_spans(ranges: ColumnRanges, scaling: Scaling, widest: float) -> None:
    """Raise if features, scaled as others were, span too much, or all of them too little, to be squared."""
    unit, slopes = scaling.slopes()
    low, high = ranges.low, ranges.high
    with np.errstate(over="ignore", invalid="ignore"):
        spans = np.where(np.isfinite(high - low), (high - low) * unit, high * unit - low * unit)
        most = float((spans * slopes).max())
        ends = np.abs(np.stack([low, high]) * unit - scaling.offset) * slopes
    if most > 0.0 and not 1.0 / widest <= most < widest:
        raise ValueError(
            f"Scaled as in fit, the features of X span {most:g} at most, and sums of squares of such"
            " numbers leave the range of floating point."
        )
    if not ends.max() <= np.finfo(scaling.offset.dtype).max:
        raise ValueError(
            f"Scaled as in fit, feature {ends.max(axis=0).argmax()} of X leaves the range of floating point:"
            " it is too far from the samples of the fit."
        )


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into the package, not at a wrapper around its method."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_WRAPPERS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
