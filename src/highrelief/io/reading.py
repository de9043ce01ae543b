"""Read a table from a path: choice of the reader, transposed tables, labels in a second file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .binary import read_frame, read_npz
from .cells import Cells, TableError, counted, mask_missing, quoted, quoted_list, unknown_column
from .files import STANDARD_INPUT, InputFile
from .genotypes import are_genotypes
from .h5ad import read_h5ad
from .roles import InputTable, Roles, input_table, is_unique_key
from .text import Dialect, read_arff, read_delimited

_FRAMES = {".parquet": "Parquet", ".pq": "Parquet"} | dict.fromkeys((".feather", ".arrow", ".ipc"), "Feather")
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
#: First bytes of binary formats, and the endings of their files.
_SIGNATURES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"\x89HDF\r\n\x1a\n": ".h5ad",
    b"PK\x03\x04": ".npz",
}
#: Endings of archives that are no NPZ files.
_SHEETS = (".xlsx", ".xlsm", ".ods", ".zip")
#: Rows per column of a table that may have features as rows.
_TALL = 5
#: Supported formats, for messages.
KINDS = "CSV and TSV (also .gz), Parquet, Feather, ARFF, NPZ and h5ad"


@dataclass(frozen=True)
class Source:
    """Path and format of a table."""

    path: Path
    dialect: Dialect = field(default_factory=Dialect)
    #: Rows are features, columns are samples.
    transpose: bool = False
    #: File with the labels, if they are not in the table.
    labels: Path | None = None


def read_table(source: Source, roles: Roles) -> InputTable:
    """Read the samples with their labels.

    Raises
    ------
    TableError
        The data cannot be used; the message gives the reason.
    """
    file = InputFile(source.path)
    cells = _read_cells(file, source.dialect)
    digest = {file.name: file.digest}
    if source.transpose:
        cells = _transpose(cells, source)
    elif source.labels is None and roles.target not in (*cells.names, *cells.annotations):
        _check_orientation(cells, roles, source)
    if source.labels is not None:
        file = InputFile(source.labels)
        labels = _read_cells(file, source.dialect.tokens_only())
        digest[f"{file.name} (labels)" if file.name in digest else file.name] = file.digest
        cells = _join_labels(cells, labels, roles, source)
    return replace(input_table(cells, roles), digest=digest)


def _read_cells(file: InputFile, dialect: Dialect) -> Cells:
    suffixes = [suffix.lower() for suffix in file.path.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    try:
        written = _kind_by_content(file)
        if written is None or kind in _SHEETS:
            return _reader(".csv" if file.path == STANDARD_INPUT else kind, file, dialect)
        cells = _reader(written, file, dialect)
        if _FRAMES.get(kind, kind) != _FRAMES.get(written, written) and file.path != STANDARD_INPUT:
            name = _FRAMES.get(written, written[1:])
            cells.notes.append(f"Read as {name}, which {file.name} is by its content.")
        return cells
    except MemoryError as error:
        reason = f": {error}" if str(error) else "."
        raise TableError(f"{quoted(file.path)} does not fit into memory{reason}") from error


def _kind_by_content(file: InputFile) -> str | None:
    """Return the ending of files of the format that the first bytes identify; None for text and others."""
    start = file.read_start(max(map(len, _SIGNATURES)))
    return next((kind for signature, kind in _SIGNATURES.items() if start.startswith(signature)), None)


def _reader(kind: str, file: InputFile, dialect: Dialect) -> Cells:
    if kind in _FRAMES:
        return read_frame(file, _FRAMES[kind], dialect.tokens)
    if kind == ".npz":
        return read_npz(file, dialect.tokens)
    if kind == ".h5ad":
        return read_h5ad(file, dialect.tokens)
    if kind == ".arff":
        return read_arff(file, dialect.encoding, dialect.tokens)
    if kind in _TEXT or dialect.separator is not None:
        return read_delimited(file, dialect)
    raise TableError(
        f"Unknown file format of {quoted(file.name)}; supported: {KINDS}, and any text with --sep."
    )


def _check_orientation(cells: Cells, roles: Roles, source: Source) -> None:
    """Raise if the target is missing because the rows are features: --transpose was forgotten."""
    naming = min(cells.text_columns, default=None)
    if naming is None:
        return
    names = cells.labels(naming)
    if roles.target in names:
        raise TableError(
            f"{quoted(roles.target)} is a row of {source.path.name}, not a column: use --transpose, with the"
            " labels in a second file (--labels FILE)."
        )
    tall = cells.n_rows > _TALL * len(cells.names) and len(cells.text_columns) <= 2
    if tall and is_unique_key(names):
        raise TableError(
            f"The table has no column {quoted(roles.target)} (the target). It has {cells.n_rows:,} rows named"
            f" {quoted_list([name or '' for name in names], 2)}: if these are features, use --transpose and"
            " --labels FILE."
        )


def _transpose(cells: Cells, source: Source) -> Cells:
    """Swap rows and columns: the first text column has the feature names, the header the sample names.

    Samples are columns of numbers, or of genotypes written as text if there are more of these.
    """
    # Without text columns, feature names are numbers, such as those of Entrez.
    naming = min(cells.text_columns, default=0)
    others = [index for index in cells.text_columns if index != naming]
    samples = [index for index in range(len(cells.names)) if index not in (naming, *others)]
    no_calls = cells.tokens.for_numbers
    genotypes = [index for index in others if are_genotypes(cells.text_columns[index], no_calls)]
    if len(genotypes) > len(samples):
        others = [index for index in range(len(cells.names)) if index not in (naming, *genotypes)]
        samples = genotypes
    if not samples:
        raise TableError(
            f"{source.path.name} has no column of numbers or genotypes (--transpose); other text can be read"
            " from a table with samples as rows."
        )
    names = [word or "" for word in cells.labels(naming)]
    if naming not in cells.text_columns and not cells.is_numbering(naming):
        raise TableError(
            f"{source.path.name} has no column with the names of the features (--transpose): the first,"
            f" {quoted(cells.names[naming])}, has neither text nor integers that are all different."
        )
    for index in others if samples is not genotypes else ():
        if 2 * np.count_nonzero(~np.isnan(cells.numbers[:, index])) > cells.n_rows:
            raise TableError(
                f"{source.path.name}: column {quoted(cells.names[index])} mixes numbers and words."
            )
    notes = list(cells.notes)
    if others:
        left_out = quoted_list([cells.names[index] for index in others])
        what = "words" if samples is not genotypes else "columns without genotypes"
        notes.append(f"Left out, {what} beside the names of the features: {left_out}.")

    def read_text(indices: Sequence[int]) -> list[list[str | None]]:
        columns = cells.text(samples)
        return [[column[index] for column in columns] for index in indices]

    text_columns: dict[int, list[str | None]] = {}
    if samples is genotypes:
        columns = [cells.text_columns[index] for index in samples]
        text_columns = {row: [column[row] for column in columns] for row in range(cells.n_rows)}
    return Cells(
        names,
        np.ascontiguousarray(cells.numbers[:, samples].T),
        text_columns,
        row_names=[cells.names[index] for index in samples],
        notes=notes,
        read_text=read_text,
        tokens=cells.tokens,
    )


def _join_labels(cells: Cells, labels: Cells, roles: Roles, source: Source) -> Cells:
    """Join the columns of a second file to the table, by the sample names."""
    assert source.labels is not None
    if not source.transpose and _has_samples_as_columns(cells, labels):
        raise TableError(
            f"The samples of {source.labels.name} are columns of {source.path.name}, not rows: use"
            " --transpose."
        )
    samples = _sample_names(cells, roles, source)
    if roles.target not in labels.names:
        raise unknown_column(roles.target, labels.names, f"the target, in {source.labels.name}")
    n_columns = len(labels.names)
    columns = dict(zip(labels.names, labels.text(range(n_columns)), strict=True))
    keys = {name: mask_missing(text, labels.tokens.for_text) for name, text in columns.items()}
    wanted = set(samples)
    overlap = {name: len(wanted.intersection(words)) for name, words in keys.items() if name != roles.target}
    key = max(overlap, key=lambda name: overlap[name], default=None)
    if key is None or overlap[key] == 0:
        raise TableError(
            f"{source.labels.name} names no sample of {source.path.name}, which are {quoted_list(samples)}."
        )
    row_of = {name: row for row, name in enumerate(keys[key]) if name is not None}
    if len(row_of) < sum(name is not None for name in keys[key]):
        raise TableError(f"{source.labels.name}: a sample occurs twice in column {quoted(key)}.")
    rows = [row_of.get(name) for name in samples]
    annotations = {
        name: [None if row is None else words[row] for row in rows]
        for name, words in columns.items()
        if name != key
    }
    numbers = {
        name: np.array([np.nan if row is None else values[row] for row in rows])
        for name, values in zip(labels.names, map(labels.numeric_column, range(n_columns)), strict=True)
        if values is not None and name in annotations
    }
    role_columns = {name for name in (roles.target, roles.groups, roles.batches) if name is not None}
    for column, count in Counter(labels.names).items():
        if count > 1 and column in (*role_columns, key):
            raise TableError(
                f"{source.labels.name} has {count} columns {quoted(column)}, which must be one: rename or"
                " remove the others."
            )
    for name in role_columns.intersection(annotations, cells.annotations):
        raise TableError(
            f"{quoted(name)} is beside the table in {source.path.name} and a column of {source.labels.name}:"
            " rename one of them, or leave out --labels."
        )
    for name in role_columns.intersection(annotations, cells.names) - {*roles.drop}:
        raise TableError(
            f"{quoted(name)} is a column of both {source.path.name} and {source.labels.name}: --drop"
            f" {quoted(name)} uses that of {source.labels.name}."
        )
    unused = len(row_of) - len(wanted.intersection(row_of))
    missing = f"of {source.labels.name} {'is' if unused == 1 else 'are'} not in {source.path.name}."
    notes = [f"{counted(unused, 'sample')} {missing}"] if unused else []
    return replace(
        cells,
        annotations={**cells.annotations, **annotations},
        annotation_numbers={**cells.annotation_numbers, **numbers},
        notes=[*cells.notes, *labels.notes, *notes],
    )


def _has_samples_as_columns(cells: Cells, labels: Cells) -> bool:
    """Return whether the column names of a table, and not its rows, are the samples of the labels."""
    header, of_rows = set(cells.names), {*(cells.row_names or ())}
    for words in cells.text_columns.values():
        of_rows.update(filter(None, words))
    for words in labels.text_columns.values():
        keys = set(filter(None, words))
        if 2 * len(keys & header) > len(header) and not keys & of_rows:
            return True
    return False


def _sample_names(cells: Cells, roles: Roles, source: Source) -> list[str]:
    """Return the row names: those of the file, of --id, or of the first text column with unique values."""
    if cells.row_names is not None and not roles.identifiers:
        return cells.row_names
    for index, name in enumerate(cells.names):
        words = cells.text_columns.get(index, ())
        if (name == roles.identifiers[0]) if roles.identifiers else is_unique_key(words):
            return [word or "" for word in cells.labels(index)]
    if roles.identifiers:
        raise unknown_column(roles.identifiers[0], cells.names, f"named by --id, in {source.path.name}")
    raise TableError(
        f"{source.path.name} has no column of unique names to match its samples with --labels; use --id."
    )
