"""The only reader of files: a table on disk becomes samples, classes and names."""

from .cells import TableError
from .reading import Source, read_table
from .roles import LabeledTable, Roles

__all__ = ["LabeledTable", "Roles", "Source", "TableError", "read_table"]
