"""Rows of a table that Dask holds: by blocks of columns, or by blocks of rows, wherever its workers are."""
