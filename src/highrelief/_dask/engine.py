"""Where the rows of a table that Dask holds are worked on."""

from __future__ import annotations

from .._engine.engine import LocalRows
from .column_engine import ColumnRows
from .row_engine import RowRows
from .table import ClusterPacked


def cluster_rows(table: ClusterPacked, memory: float) -> LocalRows:
    """Rows by blocks of columns or by blocks of rows, as the table was cut."""
    return ColumnRows(table, memory) if table.raw.by == "columns" else RowRows(table, memory)
