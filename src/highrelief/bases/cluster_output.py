"""Columns of Dask arrays and data frames that are to be kept, scaled or projected; nothing is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, _check_n_features

from ..core.held import on_cluster
from .cluster_input import refuse_dask
from .sparse_input import PRECISIONS


def transformable(estimator: Any, X: Any) -> Any:
    """X as it is, unless what ``transform`` is to return could only be made of values that are here."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if wanted != "default":
        refuse_dask(
            f"{type(estimator).__name__} with set_output(transform={wanted!r})",
            "all of the values would have to be brought here.",
        )
    return compared_columns(estimator, X)


def compared_columns(estimator: Any, X: Any) -> Any:
    """X as it is, once its columns are found to be those of ``fit``; its values are not looked at."""
    is_frame = hasattr(X, "columns")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got {X.ndim}.")
    _check_feature_names(estimator, X._meta if is_frame else X, reset=False)
    _check_n_features(estimator, X._meta if is_frame else X, reset=False)
    return X


def kept_columns(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Some of the columns: of a data frame as one, of an array as one."""
    places = np.flatnonzero(kept)
    return X.iloc[:, places.tolist()] if hasattr(X, "columns") else X[:, places]


def precise_array(X: Any) -> Any:
    """An array of what is computed in its own precision, or of float64."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    return array if array.dtype in PRECISIONS else array.astype(np.float64)


def mapped_columns(
    array: Any,
    function: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]],
    dtype: np.dtype[Any],
) -> Any:
    """What a function makes of each block, given the places of its columns; of the same shape."""
    import dask.array as da  # noqa: PLC0415

    widths = array.chunks[1]
    places = da.from_array(np.arange(sum(widths))[np.newaxis], chunks=((1,), widths))
    return da.map_blocks(
        _of_block, array, places, function=function, dtype=dtype, meta=np.empty((0, 0), dtype)
    )


def product(array: Any, matrix: NDArray[Any]) -> Any:
    """The product of an array that Dask holds and a matrix that is here."""
    import dask.array as da  # noqa: PLC0415

    return array @ da.from_array(matrix, chunks=(array.chunks[1], -1))


def by_rows(
    X: Any, kept: NDArray[np.bool_], function: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """What a function makes of the kept columns of some rows at a time, brought here.

    X may also be a judged table, which stays with its own workers.
    """
    from dask.delayed import delayed  # noqa: PLC0415

    from ..core.cluster.work import Work  # noqa: PLC0415

    judged = on_cluster(X)
    array = precise_array(kept_columns(X.array if judged else X, kept)).rechunk({1: -1})
    task = delayed(function, pure=False)
    parts = (X.work if judged else Work()).results(
        lambda: [task(each) for each in array.to_delayed().ravel()]
    )
    return np.concatenate(parts)


def _of_block(
    block: NDArray[Any],
    places: NDArray[np.int64],
    function: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]],
) -> NDArray[Any]:
    return function(block, places[0])
