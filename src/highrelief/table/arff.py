"""Weka's ARFF: names and types of the attributes, then rows with commas."""

from __future__ import annotations

import csv
import re

import numpy as np

from .cells import Cells, MissingTokens, masked, without
from .delimited import text_of
from .errors import TableError, shown
from .files import InputFile

_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", re.IGNORECASE)
_NUMERIC = {"numeric", "real", "integer"}


def read_arff(path: InputFile, encoding: str | None, tokens: MissingTokens) -> Cells:
    """The cells of an ARFF file; nominal and string attributes are words."""
    lines = text_of(path, encoding).decode().split("\n")
    names, numeric = [], []
    first_row = None
    for place, line in enumerate(lines):
        stripped = line.strip()
        if stripped.lower().startswith("@data"):
            first_row = place + 1
            break
        found = _ATTRIBUTE.match(stripped)
        if found:
            names.append(found[1].strip("'\""))
            numeric.append(found[2].strip().lower().split()[0] in _NUMERIC)
    if first_row is None:
        raise TableError(f"{path.name} has no @data line: it is not ARFF, or cut off.")
    if not names:
        raise TableError(f"{path.name} names no @attribute before @data.")
    rows, places = _rows(lines, first_row, len(names), path)
    of_labels, of_numbers = tokens.of_labels, tokens.of_numbers
    numbers = np.full((len(rows), len(names)), np.nan)
    words: dict[int, list[str | None]] = {}
    for column, name in enumerate(names):
        fields = [row[column] for row in rows]
        if not numeric[column]:
            words[column] = masked(fields, of_labels)
            continue
        for row, field in enumerate(masked(fields, of_numbers)):
            try:
                numbers[row, column] = np.nan if field is None else float(field)
            except ValueError as error:
                raise TableError(
                    f"{path.name}: {shown(field)} in line {places[row]} is no number, as {shown(name)} has."
                ) from error
    return Cells(
        names,
        without(numbers, tokens.declared),
        words,
        line_of_row=places,
        text_at=lambda columns: [[row[column] for row in rows] for column in columns],
        tokens=tokens,
    )


def _rows(lines: list[str], first: int, n_names: int, path: InputFile) -> tuple[list[list[str]], list[int]]:
    """The fields of the rows, and the lines they are in."""
    rows, places = [], []
    for place in range(first, len(lines)):
        line = lines[place].strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("{"):
            raise TableError(
                f"{path.name}: line {place + 1} is sparse ARFF, which is not read; dense ARFF is."
            )
        quote = "'" if "'" in line else '"'
        try:
            fields = next(csv.reader([line], quotechar=quote, skipinitialspace=True))
        except csv.Error as error:
            raise TableError(f"{path.name}: line {place + 1} cannot be read: {error}.") from error
        row = [field.strip() for field in fields]
        if len(row) != n_names:
            raise TableError(
                f"{path.name}: line {place + 1} has {len(row):,} fields for {n_names:,} attributes."
            )
        rows.append(row)
        places.append(place + 1)
    if not rows:
        raise TableError(f"{path.name} has attributes and no rows.")
    return rows, places
