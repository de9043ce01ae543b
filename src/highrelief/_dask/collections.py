"""Recognize Dask collections and Dask-backed tables without importing Dask.

Estimators call these functions on every input, so that a fit to an array in memory never loads Dask.
"""

from __future__ import annotations

from typing import Any


def is_dask(values: Any) -> bool:
    """Return whether a value is a Dask collection."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        values, "__dask_graph__"
    )


def is_dask_table(X: Any) -> bool:
    """Return whether a validated table is Dask-backed."""
    return bool(getattr(type(X), "is_dask_table", False))


def pairs_fit_on_client(X: Any) -> bool:
    """Return whether one value per pair of samples of a validated table may be stored in one memory."""
    return X.pairs_fit_on_client if is_dask_table(X) else True


def gathered(values: Any) -> Any:
    """Return labels, weights or groups of the samples in memory; other than Dask collections, as is."""
    if not is_dask(values):
        return values
    from .scheduler import Executor  # noqa: PLC0415

    return Executor().compute(lambda: [values])[0]
