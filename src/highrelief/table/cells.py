"""Tables as they come from a file: names, numbers, and the columns that hold words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What stands for a value that is missing.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "none", "-", ".")


@dataclass
class Cells:
    """The cells of a table, before anybody asked which column is which."""

    #: One per column, as they were written; not always different.
    names: list[str]
    #: (n_rows, n_columns); NaN where a number is missing. What stands in a column with words is in ``words``.
    numbers: NDArray[Any]
    #: Columns with at least one word, by their place; None where a value is missing.
    words: dict[int, list[str | None]] = field(default_factory=dict)
    #: Columns beside the table that are no features by the way the file is made, by their names.
    aside: dict[str, list[str | None]] = field(default_factory=dict)
    #: Those of them that are numbers, with all their digits.
    aside_numbers: dict[str, NDArray[Any]] = field(default_factory=dict)
    #: Names of the rows, where the file has a place for them.
    row_names: list[str] | None = None
    #: What was left out on the way here.
    notes: list[str] = field(default_factory=list)
    #: Where the rows are in the file, for messages; None: they count from 1.
    line_of_row: Sequence[int] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.numbers.shape[0])

    def place_of_row(self, row: int) -> str:
        """A row as a message names it."""
        return f"row {row + 1}" if self.line_of_row is None else f"line {self.line_of_row[row]}"

    def in_words(self, place: int) -> list[str | None]:
        """A column as it is written, None where a value is missing."""
        if place in self.words:
            return self.words[place]
        return written(self.numbers[:, place])

    def in_numbers(self, place: int) -> NDArray[Any] | None:
        """A column as numbers, NaN where one is missing; None if it holds words."""
        return None if place in self.words else self.numbers[:, place]


def written(values: NDArray[Any]) -> list[str | None]:
    """Numbers or words as text, whole numbers without a point; None where one is missing."""
    if values.dtype.kind == "f":
        return [None if np.isnan(value) else f"{value:.15g}" for value in values.tolist()]
    return [None if str(value) in MISSING else str(value) for value in values.tolist()]


def without(numbers: NDArray[Any], missing: Collection[str]) -> NDArray[Any]:
    """Numbers with NaN where one is written that stands for a missing value, such as -9999."""
    for code in missing:
        try:
            value = float(code)
        except ValueError:
            continue
        if not np.isnan(value):
            numbers = np.where(numbers == value, np.nan, numbers)
    return numbers
