"""Judge Dask arrays and data frames, which stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse as is_sparse
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_feature_names, _check_n_features

from ..core.held import brought_here, is_dask, on_cluster
from ..core.memory import check_room, memory_budget
from ..core.ranges import ColumnRanges
from ..core.weighted_rows import WIDE

if TYPE_CHECKING:
    from ..core.cluster.table import ClusterTable


#: Why most of what does not work on a cluster does not.
IN_MEMORY = "it works on tables in memory."
#: What a thread that compares two blocks of rows holds, in blocks: themselves, whole numbers, distances.
_BLOCKS_PER_THREAD = 20


def is_held(X: Any) -> bool:
    """Whether Dask holds a table, as it was given or judged already."""
    return is_dask(X) or on_cluster(X)


def refuse_held(X: Any, name: str, reason: str | None = IN_MEMORY) -> None:
    """Raise if Dask holds a table and there is a reason not to work on it where it is."""
    if reason is not None and is_held(X):
        refuse_dask(name, reason)


def refuse_dask(name: str, reason: str) -> None:
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
    if X.shape[1] >= WIDE * X.shape[0] or copied <= room:
        return X
    try:
        from dask.array import from_array  # noqa: PLC0415
    except ImportError:
        check_room(copied, "A copy of X", "pip install 'highrelief[dask]' has it read block by block.")
        return X
    from ..core.cluster.table import ClusterTable  # noqa: PLC0415
    from ..core.cluster.work import Work  # noqa: PLC0415

    # Not on a cluster, to which all of the table would be sent: others may not see the file.
    work = Work(here=True)
    height = max(1, int(room / (_BLOCKS_PER_THREAD * work.n_threads * X.shape[1] * X.itemsize)))
    return ClusterTable(from_array(_OnDisk(X), chunks=(height, -1), name=False), work)


class _OnDisk:
    """A table on disk of which parts are read; an array Dask would copy as a whole."""

    ndim = 2

    def __init__(self, X: NDArray[Any]) -> None:
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, part: Any) -> NDArray[Any]:
        return np.array(self._X[part])


def checked_dask(
    estimator: Any, X: Any, y: ArrayLike, *, reset: bool, min_samples: int, types: Any
) -> tuple[ClusterTable, NDArray[Any], ColumnRanges]:
    """A table that Dask holds, its classes, brought here, and the ranges of its columns.

    The values are looked at by Dask's workers, once: X may be a table that was judged already, such as some
    of the rows of one, which stays with the same workers.
    """
    _check_feature_names(estimator, getattr(X, "_meta", X) if hasattr(X, "columns") else X, reset=reset)
    array = X if on_cluster(X) else _as_array(X)
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
        return frame.to_dask_array(lengths=tuple(brought_here(frame.map_partitions(len))))
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


def _as_table(array: Any) -> ClusterTable:
    from ..core.cluster.table import ClusterTable  # noqa: PLC0415
    from ..core.cluster.work import Work  # noqa: PLC0415

    return array if on_cluster(array) else ClusterTable(array, Work())


def _target(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("y is None, but the samples' classes are needed to weigh features.")
    return column_or_1d(brought_here(y), warn=True)
