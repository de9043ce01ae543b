"""Where the rows of a table that Dask holds are worked on."""

from __future__ import annotations

from ..rows import LocalRows
from .column_rows import ColumnRows
from .packed import ClusterPacked
from .row_rows import RowRows


def cluster_rows(table: ClusterPacked, memory: float) -> LocalRows:
    """Rows by blocks of columns or by blocks of rows, as the table was cut."""
    return ColumnRows(table, memory) if table.raw.by == "columns" else RowRows(table, memory)
