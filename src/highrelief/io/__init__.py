"""The only reader of files: a table on disk becomes samples, classes and names."""

from .cells import TableError
from .reading import Source, read_table
from .roles import LabelledTable, Roles

__all__ = ["LabelledTable", "Roles", "Source", "TableError", "read_table"]
