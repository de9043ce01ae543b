"""The engine of a Dask-backed table: estimators call it as they call :class:`.engine.LocalRows`."""

from __future__ import annotations

from .._engine.engine import LocalRows
from .column_engine import ColumnRows
from .row_engine import RowEngine
from .table import DaskPacked


def dask_engine(table: DaskPacked, memory: float) -> LocalRows:
    """Return the engine for the partition of a table: by columns or by rows."""
    return (ColumnRows if table.source.partition == "columns" else RowEngine)(table, memory)
