"""Validation of the input of ``fit``, which :class:`ValidationMixin` turns into :class:`TrainingData`.

The checks are scikit-learn's, extended to damaged sparse matrices and Dask collections.

Sums and casts inside scikit-learn's checks may overflow; NumPy's warnings of that are turned off. SciPy's
compiled code does not check the indices of sparse matrices, so they are checked first. So are duplicate
column names and structured arrays, which scikit-learn misinterprets.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse as is_sparse
from sklearn.utils import assert_all_finite as _assert_all_finite
from sklearn.utils import check_array as _check_array
from sklearn.utils import check_X_y as _check_X_y
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets as _check_classification_targets
from sklearn.utils.multiclass import type_of_target as _type_of_target
from sklearn.utils.validation import _check_feature_names, _check_n_features
from sklearn.utils.validation import validate_data as _validate_data

from .._dask.collections import gathered, is_dask, is_dask_table
from .._engine.batches import BATCH_NEIGHBORS, BatchConstraint, scaled_by_batch
from .._engine.categories import Encoding, is_missing
from .._engine.columns import SparseTable, sparse_ranges
from .._engine.engine import Engine
from .._engine.limits import limits
from .._engine.memory import check_room, memory_budget
from .._engine.parameters import check_declared, checked_thread_count, constraints, one_of
from .._engine.scaling import (
    SCALES,
    ColumnRanges,
    MissingMask,
    Scaling,
    c_ordered,
    finite,
    precise_type,
)
from .notebook import FittedViewMixin
from .training_data import Samples, TrainingData, choose_engine, column_scaling, working_memory

if TYPE_CHECKING:
    from .._dask.table import DaskTable


#: Types of X that are computed in their own precision; all others become float64.
FLOAT_TYPES = [np.float64, np.float32]
#: Largest sample weight of which products are finite, for float64 and for float32.
LARGEST_WEIGHT = (1e50, 1e15)
#: Why most estimators do not support Dask collections.
IN_MEMORY = "it works on tables in memory."
#: Blocks of rows that a thread that compares two of them needs: both, their integer grids, distances.
_BLOCKS_PER_THREAD = 20
#: Packages whose frames are skipped when a warning is attributed to a line of the user.
_WRAPPERS = ("highrelief.", "sklearn.", "joblib.")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def ignore_overflow(check: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function without NumPy's warnings of overflow."""

    @wraps(check)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with np.errstate(over="ignore", invalid="ignore"):
            return check(*args, **kwargs)

    return checked


def check_structure(X: Any) -> None:
    """Raise ValueError for a structured array, duplicate column names, or a damaged sparse matrix.

    A sparse matrix is damaged if its indices are outside its shape or its values.
    """
    if isinstance(X, np.ndarray):
        if X.dtype.names is not None:
            raise ValueError(
                f"A structured array (fields: {', '.join(X.dtype.names)}) is not supported as X or y. Use a"
                f" plain array, or one of the fields, such as y[{X.dtype.names[-1]!r}]."
            )
        return
    if not is_sparse(X):
        _check_names(getattr(X, "columns", None))
        return
    if len(X.shape) != 2:
        problem: str | None = f"it has {len(X.shape)} dimensions instead of 2"
    else:
        problem = _FORMAT_CHECKS.get(X.format, lambda _: None)(X)
    if problem:
        raise ValueError(
            f"Input X is not a valid sparse table: {problem}. Rebuild it from its rows, columns and values."
        )


def _check_names(columns: Any) -> None:
    """Raise ValueError if column names are not unique; ``columns`` may be None."""
    if getattr(columns, "is_unique", True):
        return
    twice = columns[columns.duplicated()][0]
    raise ValueError(
        f"X has the column name {twice!r} more than once, but names of features must be unique. Rename the"
        " columns, or use X.to_numpy()."
    )


def _compressed_error(X: Any) -> str | None:
    """Describe what is wrong with a CSR, CSC or BSR matrix; None: nothing."""
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
    return _index_error(indices[: start[-1]], size)


def _coo_error(X: Any) -> str | None:
    """Describe what is wrong with a COO matrix; None: nothing."""
    if any(each.shape != X.data.shape or each.dtype.kind != "i" for each in (X.row, X.col)):
        return f"there are {X.row.size} rows and {X.col.size} columns for {X.data.size} values"
    return _index_error(X.row, X.shape[0]) or _index_error(X.col, X.shape[1])


def _lil_error(X: Any) -> str | None:
    """Describe what is wrong with a LIL matrix; None: nothing."""
    if X.rows.shape != (X.shape[0],) or X.data.shape != X.rows.shape:
        return f"there are {X.rows.size} and {X.data.size} lists for {X.shape[0]} rows"
    if any(len(columns) != len(values) for columns, values in zip(X.rows, X.data, strict=True)):
        return "there are not as many values as columns in every row"
    return _index_error(np.array([j for columns in X.rows for j in columns], np.int64), X.shape[1])


def _dok_error(X: Any) -> str | None:
    """Describe what is wrong with a DOK matrix; None: nothing."""
    places = np.array(list(X.keys()), np.int64).reshape(-1, 2)
    return _index_error(places[:, 0], X.shape[0]) or _index_error(places[:, 1], X.shape[1])


def _dia_error(X: Any) -> str | None:
    """Describe what is wrong with a DIA matrix; None: nothing."""
    if X.data.ndim == 2 and X.offsets.shape == X.data.shape[:1] and X.offsets.dtype.kind == "i":
        return None
    return f"there are {X.offsets.size} offsets for diagonals of shape {X.data.shape}"


def _index_error(indices: Any, size: int) -> str | None:
    if indices.size == 0 or (indices.min() >= 0 and indices.max() < size):
        return None
    wrong = indices.min() if indices.min() < 0 else indices.max()
    return f"it has the index {wrong}, which is not from 0 to {size - 1}"


_FORMAT_CHECKS: dict[str, Callable[[Any], str | None]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), _compressed_error),
    "coo": _coo_error,
    "lil": _lil_error,
    "dok": _dok_error,
    "dia": _dia_error,
}


def _after_structure_check(check: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a check of X and y that begins with :func:`check_structure`."""

    @wraps(check)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        for each in (*args, kwargs.get("X"), kwargs.get("array"), kwargs.get("y")):
            check_structure(each)
        return check(*args, **kwargs)

    return checked


def _with_type_advice(check: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a check of y whose TypeError names the types of labels that cannot be sorted together."""

    @wraps(check)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return check(*args, **kwargs)
        except TypeError as error:
            kinds = sorted({type(each).__name__ for each in np.asarray(args[0], dtype=object).ravel()})
            if len(kinds) < 2:
                raise
            raise TypeError(
                f"y mixes labels of the types {', '.join(kinds)}, which have no common order; make them all"
                " words, by y.astype(str) for example."
            ) from error

    return checked


assert_all_finite = ignore_overflow(_assert_all_finite)
check_array = ignore_overflow(_after_structure_check(_check_array))
check_X_y = ignore_overflow(_after_structure_check(_check_X_y))  # noqa: N816  as scikit-learn calls it
validate_data = ignore_overflow(_after_structure_check(_validate_data))
check_classification_targets = ignore_overflow(_with_type_advice(_check_classification_targets))
type_of_target = ignore_overflow(_with_type_advice(_type_of_target))


# Class weights, groups and batches


def checked_class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """Return the weight of each class in sums over samples; None if all are 1.

    "balanced": N/(C·n_c), n_c being the sum of the sample weights of class c, so that all classes contribute
    equally.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        weights = np.array([_weight_of_class(each, class_weight) for each in classes.tolist()])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights=sample_weight, minlength=classes.size)
        weights = counts.sum() / (classes.size * counts)
    else:
        raise ValueError(
            f"class_weight={class_weight!r} is not known; it must be None, 'balanced', or a dict with a"
            " weight > 0 for each class."
        )
    return None if np.all(weights == 1.0) else weights


def _weight_of_class(name: Any, class_weight: Mapping[Any, Any]) -> float:
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


def label_codes(name: str, levels: ArrayLike | None, included: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Return codes 0, 1, … of the groups or batches of the included samples; ``name`` is for messages."""
    if levels is None:
        return None
    levels = gathered(levels)
    checked = check_array(levels, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name=name)
    if checked.shape != included.shape:
        raise ValueError(
            f"{name} must name the {_SINGULAR[name]} of each of the {included.size} samples; got an array of"
            f" shape {checked.shape}."
        )
    missing = np.flatnonzero(included & is_missing(checked))
    if missing.size:
        raise ValueError(
            f"{name} has a missing value, at sample {missing[0]}; each sample needs a {_SINGULAR[name]}."
        )
    try:
        return np.unique(checked[included], return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"{name} must hold names or numbers, all of one kind: {error}.") from error


_SINGULAR = {"groups": "group", "batches": "batch"}


# Sparse matrices


def validate_sparse(estimator: Any, X: Any, y: ArrayLike, *, reset: bool, min_samples: int) -> Samples:
    """Return samples with a copy of X in canonical CSR format."""
    samples, classes = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=FLOAT_TYPES,
        ensure_min_samples=min_samples,
        ensure_all_finite=False,
        reset=reset,
    )
    samples = canonical_csr(samples)
    ranges = sparse_ranges(samples)
    if not ranges.finite:
        if np.isnan(samples.data).any():
            remedy = "use X.toarray()" if get_tags(estimator).input_tags.allow_nan else "impute it"
            raise ValueError(f"Sparse X must not contain NaN; {remedy}.")
        assert_all_finite(samples, estimator_name=type(estimator).__name__, input_name="X")
    check_classification_targets(classes)
    return Samples(X=samples, y=classes, known_ranges=ranges)


def as_float(X: Any) -> Any:
    """Return X, dense or sparse, in a float type; values are not checked."""
    return as_csr(X) if is_sparse(X) else X.astype(precise_type(X.dtype), copy=False)


def as_csr(X: Any) -> SparseTable:
    """Return a sparse matrix of any format and type in canonical CSR format; values are not checked."""
    return canonical_csr(X.tocsr() if X.dtype in FLOAT_TYPES else X.tocsr().astype(np.float64))


def canonical_csr(X: SparseTable) -> SparseTable:
    """Return a CSR matrix with sorted, unique indices; a copy if they were not."""
    # Made anew: its flag that indices are sorted may be wrong.
    n_values = int(X.indptr[-1])
    X = type(X)((X.data[:n_values], X.indices[:n_values], X.indptr), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def multiply_columns(X: SparseTable, factors: NDArray[np.float64]) -> SparseTable:
    """Return a CSR matrix with its columns multiplied, in its own precision."""
    product = X.copy()
    with np.errstate(over="ignore"):
        product.data = finite(X.data * factors[X.indices], X.dtype).astype(X.dtype, copy=False)
    return product


def place_columns(X: SparseTable, features: NDArray[np.int64], n_features: int) -> SparseTable:
    """Return a CSR matrix with the columns of X at some indices, and empty columns elsewhere."""
    return type(X)((X.data, features[X.indices], X.indptr), shape=(X.shape[0], n_features))


# Dask arrays and data frames


def is_dask_backed(X: Any) -> bool:
    """Return whether X is a Dask collection, or a validated Dask table."""
    return is_dask(X) or is_dask_table(X)


def refuse_dask(X: Any, name: str, reason: str | None = IN_MEMORY) -> None:
    """Raise TypeError if X is Dask-backed and there is a reason not to support it."""
    if reason is not None and is_dask_backed(X):
        raise_for_dask(name, reason)


def raise_for_dask(name: str, reason: str) -> None:
    """Raise TypeError: an estimator does not support Dask collections."""
    raise TypeError(
        f"{name} does not take Dask arrays or data frames: {reason} Where X fits into memory, X.compute()"
        " makes an array of it."
    )


def read_in_blocks(X: Any, bytes_per_value: int) -> Any:
    """Return a tall memory map that is too large to copy as a Dask table, read by threads block by block.

    Any other X is returned as is: all methods read wide memory maps in blocks of columns.
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

    # Not on a cluster: all of X would be sent there, as other machines may not see the file.
    executor = Executor(local=True)
    height = max(1, int(room / (_BLOCKS_PER_THREAD * executor.n_threads * X.shape[1] * X.itemsize)))
    return DaskTable(from_array(_MemmapBlocks(X), chunks=(height, -1), name=False), executor)


class _MemmapBlocks:
    """A memory map that Dask reads in blocks; it would copy an array as a whole."""

    ndim = 2

    def __init__(self, X: NDArray[Any]) -> None:
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, part: Any) -> NDArray[Any]:
        return np.array(self._X[part])


def validate_dask(
    estimator: Any, X: Any, y: ArrayLike, *, reset: bool, min_samples: int, types: Any
) -> Samples:
    """Return samples with X as a Dask table, and y gathered to the client.

    Dask's workers check the values, in one pass. X may be a validated Dask table, such as some rows of one,
    which stays on the same workers.
    """
    _check_feature_names(estimator, getattr(X, "_meta", X) if hasattr(X, "columns") else X, reset=reset)
    array = X if is_dask_table(X) else _dask_array(X)
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
    target = _gathered_target(y)
    if target.shape[0] != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_samples, target.shape[0]]}"
        )
    table = _dask_table(array)
    ranges = table.ranges()
    if not ranges.finite:
        raise ValueError("Dask-backed X must not contain NaN or infinity; impute it, or use X.compute().")
    return Samples(X=table, y=target, known_ranges=ranges)


def _dask_array(X: Any) -> Any:
    """Return X as a Dask array whose chunks have known sizes."""
    if hasattr(X, "to_dask_array"):
        frame = _numeric_frame(X)
        return frame.to_dask_array(lengths=tuple(gathered(frame.map_partitions(len))))
    if is_sparse(getattr(X, "_meta", None)):
        raise TypeError("The chunks of X are sparse. Dask arrays are taken with dense chunks only.")
    if np.isnan(X.shape).any():
        return X.copy().compute_chunk_sizes()
    return X


def _numeric_frame(X: Any) -> Any:
    """Return a data frame whose columns have one numeric type; a series as is."""
    if not hasattr(X, "columns"):
        return X
    dtypes = list(X.dtypes)
    # The nullable types of pandas (Float64, boolean) wrap a NumPy type.
    plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes]
    words = [
        str(name)
        for name, dtype in zip(X.columns, plain, strict=True)
        if not (isinstance(dtype, np.dtype) and dtype.kind in "fiub")
    ]
    if words:
        raise ValueError(
            f"Columns of X do not hold numbers: {', '.join(words[:5])}. Leave them out, or make numbers of"
            " them."
        )
    return X if len(set(dtypes)) == 1 and plain == dtypes else X.astype(np.float64)


def _dask_table(array: Any) -> DaskTable:
    from .._dask.scheduler import Executor  # noqa: PLC0415
    from .._dask.table import DaskTable  # noqa: PLC0415

    return array if is_dask_table(array) else DaskTable(array, Executor())


def _gathered_target(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("y is None, but the samples' classes are needed to weigh features.")
    return column_or_1d(gathered(y), warn=True)


# Classes, sample weights, ranges


def refuse_single_class(name: str, classes: NDArray[Any]) -> None:
    """Raise ValueError if there is only one class; ``name`` is that of the estimator."""
    if classes.size < 2:
        raise ValueError(
            f"{name} compares samples of different classes, but y has only one class"
            f" ({plain(classes[0])!r}); it needs at least two."
        )


def known_codes(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices of the classes of new samples; raise if a class was not in ``fit``."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if unknown.size:
        raise ValueError(
            f"y has the class {plain(y[unknown[0]])!r}, which was not in fit; known are {classes}."
        )
    return codes


def plain(value: Any) -> Any:
    """Return a value as a Python object, for messages."""
    return value.item() if isinstance(value, np.generic) else value


def needs_no_conversion(X: Any, y: Any, types: Sequence[type], min_samples: int) -> bool:
    """Return whether scikit-learn's checks would return X and y as is, apart from their values."""
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
    sample_weight: ArrayLike | None, X: NDArray[Any], bounds: tuple[float, float] = LARGEST_WEIGHT
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return the positive weights, or None if all are 1, and the mask of the samples that have them.

    ``bounds``: the largest weight for float64 and for float32; its inverse is the smallest.
    """
    if sample_weight is None:
        return None, np.ones(X.shape[0], dtype=bool)
    largest = bounds[X.dtype == np.float32]
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
    included = weights > 0.0
    least, most = weights[included].min(initial=1.0), weights.max()
    if least < 1.0 / largest or most > largest:
        extreme = least if most <= largest else most
        raise ValueError(
            f"sample_weight has the value {extreme:g}, and products of such numbers leave the range of"
            f" floating point; use weights from {1.0 / largest:g} to {largest:g}."
        )
    if np.count_nonzero(included) < 2:
        raise ValueError(
            f"sample_weight is zero for all samples but {np.count_nonzero(included)}; at least two samples"
            " need a weight above zero."
        )
    weights = weights[included]
    return (None if np.all(weights == 1.0) else weights), included


def check_spans(ranges: ColumnRanges, widest: float, narrowest: float = 0.0) -> None:
    """Raise ValueError if ranges of unscaled features are too large, or all too small, to be squared."""
    # Halves, because the difference of two large numbers may overflow.
    half = float((ranges.high.astype(np.float64) / 2.0 - ranges.low.astype(np.float64) / 2.0).max())
    if not narrowest / 2.0 <= half < widest / 2.0:
        span = f"{2.0 * half:g}" if half < 1e307 else f"2 times {half:g}"
        raise ValueError(
            f"With scale=None the features of X span {span} at most, and sums of squares of such"
            ' numbers leave the range of floating point; use scale="range".'
        )


def check_scaled_spans(ranges: ColumnRanges, scaling: Scaling, widest: float) -> None:
    """Raise ValueError if ranges of features of new samples, scaled as in ``fit``, cannot be squared."""
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
    """Issue a warning that points to the user's line, not to a wrapper inside a package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_WRAPPERS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# The mixin of estimators


class ValidationMixin(FittedViewMixin):
    """Validates and scales the input of ``fit``: for weighters, extractors and classifiers.

    A subclass calls :meth:`_check_fit` at the start of ``fit`` and :meth:`_choose_engine` for neighbors. It
    defines :meth:`_reset`, which deletes the results of an earlier fit.
    """

    # Types of X that are used as is; all others become float64.
    _types: Sequence[type] = FLOAT_TYPES
    # Valid values of the parameters.
    _constraints = constraints(
        scale=one_of(*SCALES),
        batch_neighbors=one_of(*BATCH_NEIGHBORS),
    )
    # Whether NaN is allowed: a difference to a missing value is replaced by its expectation.
    _allows_missing: bool = False
    # Largest sample weight for float64 and for float32; its inverse is the smallest.
    _largest_weight: tuple[float, float] = LARGEST_WEIGHT
    # Whether sparse matrices are supported.
    _takes_sparse: bool = False
    # Why Dask collections are not supported; None: they are. See :meth:`_dask_refusal`.
    _refuses_dask: str | None = IN_MEMORY
    # Bytes per value of the copy that a fit makes of a tall X.
    _bytes_per_value: int = 8

    scale: str | None
    n_jobs: int | None
    n_features_in_: int
    # Parameters that not every subclass has.
    class_weight: Any = None
    batch_neighbors: str = "within"
    _class_weights: NDArray[np.float64] | None = None
    _scaling: Scaling

    if TYPE_CHECKING:

        def _reset(self) -> None:
            """Delete the results of an earlier fit, so that a fit that fails leaves none."""

    def _check_parameters(self, n_samples: int) -> None:
        """Raise if a parameter is invalid; subclasses add rules between several of them."""
        check_declared(self)

    def _check_data(self, data: TrainingData) -> None:
        """Raise or warn if the method cannot be fitted to valid data, such as constant features."""

    def _dask_refusal(self) -> str | None:
        """Return why Dask collections are not supported with the present parameters; None: they are."""
        return self._refuses_dask

    @property
    def _n_threads(self) -> int:
        return checked_thread_count(self.n_jobs)

    @property
    def _memory(self) -> float:
        """Bytes for lists of neighbors, or for distances, between two passes."""
        return working_memory()

    def _check_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> TrainingData:
        """Validate the input of ``fit`` and the parameters; set ``classes_`` and the scaling."""
        from .selector import suggest_alternatives  # noqa: PLC0415  it imports this module

        self._reset()
        with suggest_alternatives(self, X):
            samples = self._validate_samples(X, y, reset=True)
        sample_weight, included = checked_sample_weight(sample_weight, samples.X, self._largest_weight)
        self._check_parameters(int(included.sum()))
        if not included.all():
            samples = samples.select(included, self._n_threads)
        codes = self._set_target(samples.y)
        self._class_weights = None
        if self.class_weight is not None:
            self._class_weights = checked_class_weights(
                self.class_weight, self.classes_, codes, sample_weight
            )
        data = TrainingData(
            **vars(samples),
            codes=codes,
            sample_weight=sample_weight,
            included=included,
            class_weights=self._class_weights,
            batch_constraint=self._batch_constraint(batches, included, samples.X),
        )
        self._set_scaling(data)
        self._check_data(data)
        return data

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        """Validate X and y; ``reset`` sets ``n_features_in_`` and ``feature_names_in_``."""
        if self._dask_refusal() is None:
            X = read_in_blocks(X, self._bytes_per_value)
        if is_dask_backed(X):
            refuse_dask(X, type(self).__name__, self._dask_refusal())
            samples = validate_dask(self, X, y, reset=reset, min_samples=min_samples, types=self._types)
            return replace(samples, y=self._validate_target(samples.y))
        y = gathered(y)
        if self._takes_sparse and is_sparse(X):
            return validate_sparse(self, X, y, reset=reset, min_samples=min_samples)
        X, y = validate_data(
            self,
            X,
            y,
            dtype=list(self._types),
            ensure_min_samples=min_samples,
            # The ranges show it.
            ensure_all_finite=False,
            # On a small X the checks of scikit-learn take a tenth of the time of a fit.
            skip_check_array=needs_no_conversion(X, y, self._types, min_samples),
            reset=reset,
        )
        return self._dense_samples(c_ordered(X), y)

    def _dense_samples(self, X: NDArray[Any], y: NDArray[Any], encoding: Encoding | None = None) -> Samples:
        """Return samples of a dense X, missing values extracted; raise if a value is not allowed."""
        ranges, missing_mask = ColumnRanges.of(X, self._n_threads), None
        if not ranges.finite:
            if not self._allows_missing or ranges.infinite:
                name = type(self).__name__
                assert_all_finite(X, allow_nan=self._allows_missing, estimator_name=name, input_name="X")
            missing_mask, X = MissingMask.extract(X, self._n_threads, ranges)
            ranges = ColumnRanges.of(X, self._n_threads)
        return Samples(
            X=X,
            y=self._validate_target(y),
            known_ranges=ranges,
            missing_mask=missing_mask,
            encoding=encoding,
        )

    def _validate_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return y; raise if it does not hold class labels."""
        # Integers are class labels; to check others takes longer than to fit a small X.
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        return y

    def _set_target(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """Set ``classes_`` and return the index of each sample's class."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        refuse_single_class(type(self).__name__, self.classes_)
        return codes

    def _batch_constraint(
        self, batches: ArrayLike | None, included: NDArray[np.bool_], X: Any
    ) -> BatchConstraint | None:
        """Return which pairs of samples can be neighbors, by the batches passed to ``fit``."""
        codes = label_codes("batches", batches, included)
        if codes is not None and is_sparse(X):
            raise TypeError("batches need a dense table, but X is sparse. Use X.toarray().")
        if codes is not None and is_dask_table(X):
            raise TypeError("batches need a table in memory, but X is Dask-backed. Use X.compute().")
        return None if codes is None else BatchConstraint(codes, self.batch_neighbors == "within")

    def _set_scaling(self, data: TrainingData) -> None:
        """Set ``_scaling``, and ``_constant``, the mask of features without variation."""
        self._scaling = column_scaling(data.X, self.scale, data.sample_weight, data.ranges, data.missing_mask)
        self._constant = data.ranges.low == data.ranges.high
        batch_constraint = data.batch_constraint
        if self.scale is None and batch_constraint is not None and not batch_constraint.within:
            batch_constraint = None
        if batch_constraint is not None:
            self._constant = batch_constraint.constant(data.observed)
        if data.encoding is not None:
            self._scaling, self._constant = data.encoding.of_features(self._scaling, self._constant)
            if batch_constraint is not None:
                # A missing category is not a level of its own.
                self._constant[data.encoding.features] = batch_constraint.constant(data.encoding.observed)

    def _choose_engine(self, data: TrainingData) -> Engine:
        """Return the engine that computes on the scaled samples."""
        if data.batch_constraint is None:
            scaling = self._scaling
        else:
            data = self._scaled_by_batch(data, data.batch_constraint)
            n_features = data.X.shape[1] if data.encoding is None else data.encoding.n_features
            scaling = Scaling.none(n_features, precise_type(data.X.dtype))
        return choose_engine(data, scaling, self._n_threads, self._memory)

    def _scaled_by_batch(self, data: TrainingData, batch_constraint: BatchConstraint) -> TrainingData:
        """Scale the numeric columns within each batch; columns of categories stay as they are."""
        X, missing_mask, encoding = data.observed, data.missing_mask, data.encoding
        scaled = scaled_by_batch(X, self.scale, data.sample_weight, batch_constraint)
        if encoding is not None:
            scaled = np.where(encoding.is_categorical[encoding.owner], X, scaled)
        if missing_mask is not None:
            missing_mask, scaled = MissingMask.extract(scaled, self._n_threads)
        ranges = ColumnRanges.of(scaled, self._n_threads)
        return replace(data, X=scaled, known_ranges=ranges, missing_mask=missing_mask)
