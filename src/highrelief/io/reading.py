"""From a path to a table: which reader, genes as rows, labels in a second file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .cells import Cells, TableError, counted, listed, masked, shown, unknown_column
from .files import InputFile
from .roles import LabeledTable, Roles, labeled, names_rows
from .text import Dialect, read_delimited

_TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
#: What can be read, for messages.
KINDS = "CSV and TSV (also .gz), Parquet, Feather, ARFF, NPZ and h5ad"


@dataclass(frozen=True)
class Source:
    """Where a table is and how it is written."""

    path: Path
    dialect: Dialect = field(default_factory=Dialect)
    #: Rows are features, columns are samples.
    transpose: bool = False
    #: File with the classes, if they are not in the table.
    labels: Path | None = None


def read_table(source: Source, roles: Roles) -> LabeledTable:
    """Samples with their classes.

    Raises
    ------
    TableError
        The data cannot be used; the message says why in one sentence.
    """
    file = InputFile(source.path)
    cells = _cells(file, source.dialect)
    digest = {file.name: file.digest}
    if source.transpose:
        cells = _transposed(cells, source)
    if source.labels is not None:
        file = InputFile(source.labels)
        labels = _cells(file, source.dialect.of_tokens())
        digest[f"{file.name} (labels)" if file.name in digest else file.name] = file.digest
        cells = _joined(cells, labels, roles, source)
    return replace(labeled(cells, roles), digest=digest)


def _cells(file: InputFile, dialect: Dialect) -> Cells:
    suffixes = [suffix.lower() for suffix in file.path.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    try:
        return _reader(kind, file, dialect)
    except MemoryError as error:
        reason = f": {error}" if str(error) else "."
        raise TableError(f"{shown(file.path)} does not fit into memory{reason}") from error


def _reader(kind: str, file: InputFile, dialect: Dialect) -> Cells:
    if kind in (".parquet", ".pq"):
        from .frames import read_parquet  # noqa: PLC0415

        return read_parquet(file, dialect.tokens)
    if kind in (".feather", ".arrow", ".ipc"):
        from .frames import read_feather  # noqa: PLC0415

        return read_feather(file, dialect.tokens)
    if kind == ".npz":
        from .arrays import read_npz  # noqa: PLC0415

        return read_npz(file, dialect.tokens)
    if kind == ".h5ad":
        from .h5ad import read_h5ad  # noqa: PLC0415

        return read_h5ad(file, dialect.tokens)
    if kind == ".arff":
        from .text import read_arff  # noqa: PLC0415

        return read_arff(file, dialect.encoding, dialect.tokens)
    if kind in _TEXT or dialect.separator is not None:
        return read_delimited(file, dialect)
    raise TableError(f"{shown(file.name)} is of no known kind; {KINDS} are read, and any text with --sep.")


def _transposed(cells: Cells, source: Source) -> Cells:
    """Columns made rows: the first column has the names of the features, the header those of the samples."""
    # Without words, names are numbers, such as those of Entrez.
    naming = min(cells.words, default=0)
    samples = [place for place in range(len(cells.names)) if place not in cells.words and place != naming]
    if not samples:
        raise TableError(f"{source.path.name} has no column of numbers (--transpose).")
    names = [word or "" for word in cells.in_words(naming)]
    if naming not in cells.words and not cells.counts_rows(naming):
        raise TableError(
            f"{source.path.name} has no column with the names of the features (--transpose): the first,"
            f" {shown(cells.names[naming])}, has neither words nor whole numbers that are all different."
        )
    beside = [cells.names[place] for place in cells.words if place != naming]
    if beside:
        slips = [place for place in cells.words if place != naming and _mostly_numbers(cells, place)]
        if slips:
            raise TableError(
                f"{source.path.name}: column {shown(cells.names[slips[0]])} mixes numbers and words."
            )
    numbers = np.ascontiguousarray(cells.numbers[:, samples].T)

    def text_at(places: Sequence[int]) -> list[list[str | None]]:
        columns = cells.text(samples)
        return [[column[place] for column in columns] for place in places]

    return Cells(
        names,
        numbers,
        row_names=[cells.names[place] for place in samples],
        notes=[*cells.notes, *_left_out(beside)],
        text_at=text_at,
        tokens=cells.tokens,
    )


def _mostly_numbers(cells: Cells, place: int) -> bool:
    return bool(2 * np.count_nonzero(~np.isnan(cells.numbers[:, place])) > cells.n_rows)


def _left_out(beside: Sequence[str]) -> list[str]:
    return [f"Left out, words beside the names of the features: {listed(beside)}."] if beside else []


def _joined(cells: Cells, labels: Cells, roles: Roles, source: Source) -> Cells:
    """The table with what a second file says of its samples, found by their names."""
    assert source.labels is not None
    samples = _sample_names(cells, roles, source)
    if roles.target not in labels.names:
        raise unknown_column(roles.target, labels.names, f"the target, in {source.labels.name}")
    columns = dict(zip(labels.names, labels.text(range(len(labels.names))), strict=True))
    keys = {name: masked(text, labels.tokens.of_labels) for name, text in columns.items()}
    wanted = set(samples)
    overlap = {name: len(wanted.intersection(words)) for name, words in keys.items() if name != roles.target}
    key = max(overlap, key=lambda name: overlap[name], default=None)
    if key is None or overlap[key] == 0:
        raise TableError(
            f"{source.labels.name} names no sample of {source.path.name}, which are {listed(samples)}."
        )
    row_of = {name: row for row, name in enumerate(keys[key]) if name is not None}
    if len(row_of) < sum(name is not None for name in keys[key]):
        raise TableError(f"{source.labels.name}: a sample occurs twice in column {shown(key)}.")
    places = [row_of.get(name) for name in samples]
    aside = {
        name: [None if place is None else words[place] for place in places]
        for name, words in columns.items()
        if name != key
    }
    numbers = {
        name: np.array([np.nan if place is None else values[place] for place in places])
        for name, values in zip(labels.names, map(labels.in_numbers, range(len(labels.names))), strict=True)
        if values is not None and name in aside
    }
    told = {name for name in (roles.target, roles.groups, roles.batches) if name is not None}
    for column, count in Counter(labels.names).items():
        if count > 1 and column in (*told, key):
            raise TableError(
                f"{source.labels.name} has {count} columns {shown(column)}, which must be one: rename or"
                " remove the others."
            )
    for name in told.intersection(aside, cells.aside):
        raise TableError(
            f"{shown(name)} is beside the table in {source.path.name} and a column of {source.labels.name}:"
            " rename one of them, or leave out --labels."
        )
    for name in told.intersection(aside, cells.names) - {*roles.drop}:
        raise TableError(
            f"{shown(name)} is a column of both {source.path.name} and {source.labels.name}: --drop"
            f" {shown(name)} uses that of {source.labels.name}."
        )
    unused = len(row_of) - len(wanted.intersection(row_of))
    missing = f"of {source.labels.name} {'is' if unused == 1 else 'are'} not in {source.path.name}."
    notes = [f"{counted(unused, 'sample')} {missing}"] if unused else []
    return replace(
        cells,
        aside={**cells.aside, **aside},
        aside_numbers={**cells.aside_numbers, **numbers},
        notes=[*cells.notes, *labels.notes, *notes],
    )


def _sample_names(cells: Cells, roles: Roles, source: Source) -> list[str]:
    """Names of the rows: the file's own, those of --id, or of the first column that names them."""
    if cells.row_names is not None and not roles.identifiers:
        return cells.row_names
    for place, name in enumerate(cells.names):
        if name == roles.identifiers[0] if roles.identifiers else names_rows(cells.words.get(place, ())):
            return [word or "" for word in cells.in_words(place)]
    raise TableError(
        f"{source.path.name} has no column that names its samples, to find their labels by; --id says one."
    )
