"""Delimited text (CSV, TSV and the like, also compressed) and ARFF.

Tables may have many thousands of columns, for which parsers that work column by column are slow. Here, all
fields are parsed as one long column.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .._engine.limits import limits
from .._engine.memory import check_room
from .cells import (
    Cells,
    MissingTokens,
    TableError,
    counted,
    mask_codes,
    mask_missing,
    parsing,
    quoted,
    quoted_list,
)
from .files import InputFile

#: Separators to detect; of several that fit, the first that gives the most fields.
SEPARATORS = ("\t", ",", ";", "|", " ")
#: Placeholders of separators and line ends inside quotes, until the fields are split.
_QUOTED_SEPARATOR, _QUOTED_NEWLINE = b"\x1f", b"\x1e"
#: The separator is detected from so many lines; from more bytes if ``limits.sniffed_bytes`` have too few.
_LINES_SCANNED, _MIN_LINES = 20, 3
#: A byte that is in no text.
_UNUSED_SEPARATOR = "\x1d"
#: Up to so many columns are cut out of the rows one by one; more are read as text with all others.
_FEW_COLUMNS = 8
#: Bytes that are decompressed at once.
_GZIP_CHUNK = 2**26
_DECIMAL_COMMA = re.compile(rb"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(rb"[+-]?\d+\.\d+(?:[eE][+-]?\d+)?")
#: With a decimal comma, 1.5 is not a number; quoted commas are decimal, even if the comma is the separator.
_COMMA_AS_POINT = bytes.maketrans(b".,\x1f", b"_..")
_COMMA_AS_POINT_TEXT = ((".", "_"), (",", "."), ("\x1f", "."))


#: Python's text codecs that are not encodings of files.
_NOT_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}


def is_charset(name: str) -> bool:
    """Return whether a name is that of a text encoding."""
    try:
        "".encode(name)
        return codecs.lookup(name).name.replace("_", "-") not in _NOT_CHARSETS
    except (LookupError, ValueError):
        return False


@dataclass(frozen=True)
class Dialect:
    """Format of a text file; None: detected."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    #: Tokens for a missing value, in addition to the defaults.
    missing: tuple[str, ...] = ()
    #: Whether the default tokens apply.
    default_missing: bool = True

    def tokens_only(self) -> Dialect:
        """Return a dialect with only the tokens for a missing value."""
        return Dialect(missing=self.missing, default_missing=self.default_missing)

    @property
    def tokens(self) -> MissingTokens:
        """The tokens for a missing value."""
        return MissingTokens(self.missing, self.default_missing)


def read_delimited(path: InputFile, dialect: Dialect) -> Cells:
    """Return the cells of a delimited text; its first line has the column names."""
    text = read_as_utf8(path, dialect.encoding)
    for mark in (_QUOTED_SEPARATOR, _QUOTED_NEWLINE, _UNUSED_SEPARATOR.encode()):
        if mark in text:
            line = _line_of(text, text.index(mark))
            raise TableError(f"{path.name} has a control byte, 0x{mark.hex()}, in line {line}.")
    separator = (dialect.separator or _detect_separator(text)).encode()
    lines = _unquote(text, separator, path).split(b"\n")
    # Blank lines are skipped.
    indices = [index for index, line in enumerate(lines) if line.strip()]
    if not indices:
        raise TableError(f"{path.name} is empty.")
    header, *rows = [lines[index] for index in indices]
    if not rows:
        raise TableError(f"{path.name} has a header and no rows.")
    names = [_restore(name, separator) for name in header.split(separator)]
    if rows[0].count(separator) == len(names):
        if all(row.endswith(separator) for row in rows):
            # A separator at the end of every row, and none at the end of the header.
            rows = [row[: -len(separator)] for row in rows]
        else:
            # R's write.table gives the column of row names no name.
            names = ["", *names]
    _check_lengths(rows, indices[1:], separator, len(names), path, cut=not text.endswith(b"\n"))
    decimal = dialect.decimal or _detect_decimal(rows[:_LINES_SCANNED], separator)
    numbers, words = _parse_fields(rows, len(names), separator, decimal, dialect.tokens)
    formulas: dict[str, str] = {}
    if b"'" in text:
        formulas = escaped_texts({*names}.union(*(filter(None, column) for column in words.values())))
    notes = []
    if formulas:
        names = [formulas.get(name, name) for name in names]
        words = {
            index: [word and formulas.get(word, word) for word in column] for index, column in words.items()
        }
        notes.append(
            "Without the apostrophe that keeps a spreadsheet from running a formula:"
            f" {quoted_list(sorted(formulas.values()))}."
        )
    return Cells(
        names,
        numbers,
        words,
        notes=notes,
        line_numbers=[index + 1 for index in indices[1:]],
        read_text=partial(_text, rows, separator, len(names), formulas),
        tokens=dialect.tokens,
    )


def read_as_utf8(path: InputFile, encoding: str | None) -> bytes:
    """Return the content of a text file as UTF-8 with line feeds."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = _decompressed(data, path.name)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(f"{path.name} is compressed, and damaged or cut off ({error}).") from error
    data = _as_utf8(data, path, encoding)
    if b"\0" in data:
        raise TableError(
            f"{path.name} has a NUL byte in line {_line_of(data, data.index(0))}: it is damaged, or no text."
        )
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def _decompressed(data: bytes, name: str) -> bytes:
    """Decompress gzip data; raise a MemoryError before it fills the memory."""
    parts: list[bytes] = []
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while part := stream.read(_GZIP_CHUNK):
            parts.append(part)
            # Joining the parts takes as much again.
            size = float(_GZIP_CHUNK) * len(parts)
            check_room(size, f"{name!r} decompressed", "Use a smaller file.")
    return b"".join(parts)


def _as_utf8(data: bytes, path: InputFile, encoding: str | None) -> bytes:
    if encoding is None and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        if encoding is not None:
            data = data.decode(encoding).encode()
        elif not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path.name} is not {encoding or 'UTF-8'} throughout: byte 0x{data[error.start]:02x} in line"
            f" {_line_of(data, error.start)}; use --encoding, for example latin-1."
        ) from error
    except (LookupError, ValueError) as error:
        raise TableError(f"Cannot read {path.name} with encoding={encoding!r}: {error}.") from error
    return data.removeprefix(b"\xef\xbb\xbf")


def _line_of(data: bytes, index: int) -> int:
    return data.count(b"\n", 0, index) + 1


def _detect_separator(text: bytes) -> str:
    """Return the separator that splits the first lines into equally many fields, and into most."""
    lines = _first_lines(text)
    best, most = ",", 0
    for separator in SEPARATORS:
        counts = [line.count(separator.encode()) for line in lines]
        # The header may lack the name of the column of row names.
        even = len(set(counts[1:])) <= 1 and (len(counts) < 2 or counts[1] - counts[0] in (0, 1))
        if even and counts and counts[-1] > most:
            best, most = separator, counts[-1]
    return best


def _first_lines(text: bytes) -> list[bytes]:
    """Return the first lines without quoted parts, at least a few however long they are."""
    n_bytes = limits.sniffed_bytes
    while True:
        outside_quotes = b"".join(text[:n_bytes].split(b'"')[::2])
        lines = [line for line in outside_quotes.split(b"\n") if line.strip()]
        if n_bytes >= len(text):
            return lines[:_LINES_SCANNED]
        if len(lines) > _MIN_LINES:
            return lines[:-1][:_LINES_SCANNED]  # the last may be cut off
        n_bytes *= 4


def _unquote(text: bytes, separator: bytes, path: InputFile) -> bytes:
    """Return the text without quotes, with placeholders of quoted separators and line ends."""
    if b'"' not in text:
        return text
    parts = text.split(b'"')
    if len(parts) % 2 == 0:
        line = _line_of(text, text.rindex(b'"'))
        raise TableError(f'{path.name} has a quote (") that is never closed; the last is in line {line}.')
    for i in range(1, len(parts), 2):
        if separator in parts[i] or b"\n" in parts[i]:
            parts[i] = parts[i].replace(separator, _QUOTED_SEPARATOR).replace(b"\n", _QUOTED_NEWLINE)
    for i in range(2, len(parts) - 1, 2):
        if not parts[i]:  # two quotes inside quotes are one quote
            parts[i] = b'"'
    return b"".join(parts)


def _restore(field: bytes, separator: bytes) -> str:
    return field.replace(_QUOTED_SEPARATOR, separator).replace(_QUOTED_NEWLINE, b"\n").decode().strip()


def _check_lengths(
    rows: Sequence[bytes],
    indices: Sequence[int],
    separator: bytes,
    n_names: int,
    path: InputFile,
    *,
    cut: bool,
) -> None:
    """Raise if a row has more or fewer fields than the header."""
    for row, index in zip(rows, indices, strict=True):
        n_fields = row.count(separator) + 1
        if n_fields != n_names:
            ends = " and has no end: the file is cut off" if cut and index == indices[-1] else ""
            raise TableError(
                f"{path.name}: line {index + 1} has {counted(n_fields, 'field')}, the header has"
                f" {n_names:,}{ends}; {separator.decode()!r} was taken as separator; use --sep to change it."
            )


def _detect_decimal(rows: Sequence[bytes], separator: bytes) -> str:
    """Return a comma if more fields are numbers with a comma than with a point."""
    if separator == b",":
        return "."
    fields = [field.strip() for row in rows for field in row.split(separator)[:1000]]
    commas = sum(_DECIMAL_COMMA.fullmatch(field) is not None for field in fields)
    return "," if commas > sum(_DECIMAL_POINT.fullmatch(field) is not None for field in fields) else "."


def _parse_fields(
    rows: Sequence[bytes], n_columns: int, separator: bytes, decimal: str, tokens: MissingTokens
) -> tuple[NDArray[np.float64], dict[int, list[str | None]]]:
    """Return the numbers of all fields, and the text columns."""
    missing = tokens.for_numbers
    fields = b"\n".join(rows).replace(separator, b"\n") + b"\n"
    with_points = fields.translate(_COMMA_AS_POINT) if decimal == "," else fields
    numbers = mask_codes(_column(with_points, pl.Float64).to_numpy(), missing)
    unread = np.flatnonzero(np.isnan(numbers))
    if not unread.size:
        return numbers.reshape(len(rows), n_columns), {}
    suspects = np.unique(unread % n_columns).tolist()
    if len(suspects) <= _FEW_COLUMNS:
        columns = {
            index: pl.Series([field.decode() for field in _fields_of(rows, separator, index, n_columns)])
            for index in suspects
        }
        unread = np.concatenate([np.arange(index, numbers.size, n_columns) for index in suspects])
        texts = pl.concat(list(columns.values()))
    else:
        columns = {}
        everything = _column(fields, pl.String)
        texts = everything.gather(unread)
    values, read = _numbers_of(texts, decimal, missing)
    numbers = numbers if numbers.flags.writeable else numbers.copy()
    numbers[unread] = values
    numbers = numbers.reshape(len(rows), n_columns)
    indices = np.unique(unread[~read] % n_columns)
    if not indices.size:
        return numbers, {}
    if columns:
        texts = pl.concat([columns[index] for index in indices.tolist()])
    else:
        texts = everything.gather((indices[:, np.newaxis] + np.arange(0, numbers.size, n_columns)).ravel())
    words = _words(texts, separator, tokens)
    return numbers, {
        index: words[i * len(rows) : (i + 1) * len(rows)] for i, index in enumerate(indices.tolist())
    }


def _column(fields: bytes, dtype: type[pl.DataType]) -> pl.Series:
    """Parse one field per line; a field that is not of the type becomes null."""
    # In chunks and joined, hence twice: a number takes 8 bytes, the view of a text 16.
    needed = len(fields) + fields.count(b"\n") * (16.0 if dtype == pl.Float64 else 32.0)
    with polars_parsing("its fields", "numbers", needed):
        return pl.read_csv(
            io.BytesIO(fields),
            has_header=False,
            schema={"field": dtype},
            ignore_errors=True,
            separator=_UNUSED_SEPARATOR,
            quote_char=None,
        )["field"]


def _fields_of(rows: Sequence[bytes], separator: bytes, index: int, n_columns: int) -> list[bytes]:
    """Return the fields of a column, counted from the nearer end of the rows."""
    if index < n_columns // 2:
        return [row.split(separator, index + 1)[index] for row in rows]
    return [row.rsplit(separator, n_columns - index)[index - n_columns] for row in rows]


def _text(
    rows: Sequence[bytes],
    separator: bytes,
    n_columns: int,
    formulas: Mapping[str, str],
    indices: Sequence[int],
) -> list[list[str | None]]:
    """Return the raw text of columns, with escaped formulas restored."""
    if len(indices) <= _FEW_COLUMNS:
        columns = [_fields_of(rows, separator, index, n_columns) for index in indices]
    else:
        split = (row.split(separator) for row in rows)
        chosen = [[fields[index] for index in indices] for fields in split]
        columns = [list(column) for column in zip(*chosen, strict=True)]
    restored = (map(partial(_restore, separator=separator), column) for column in columns)
    return [[formulas.get(text, text) for text in texts] for texts in restored]


def _numbers_of(
    texts: pl.Series, decimal: str, missing: frozenset[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers of fields, NaN elsewhere, and which fields are numbers or missing."""
    fields = texts.fill_null("").str.strip_chars()
    gone = fields.is_in(sorted(missing)).to_numpy()
    if decimal == ",":
        for mark, point in _COMMA_AS_POINT_TEXT:
            fields = fields.str.replace_all(mark, point, literal=True)
    values = fields.cast(pl.Float64, strict=False)
    read = gone | values.is_not_null().to_numpy()
    return mask_codes(np.where(gone, np.nan, values.fill_null(np.nan).to_numpy()), missing), read


def _words(texts: pl.Series, separator: bytes, tokens: MissingTokens) -> list[str | None]:
    """Return the text of fields, None where a value is missing."""
    fields = texts.fill_null("")
    for mark, stands_for in ((_QUOTED_SEPARATOR, separator), (_QUOTED_NEWLINE, b"\n")):
        fields = fields.str.replace_all(mark.decode(), stands_for.decode(), literal=True)
    fields = fields.str.strip_chars()
    return fields.set(fields.is_in(sorted(tokens.for_text)), None).to_list()


# Parsing with Polars

#: Bytes of addresses that a thread of Polars reserves, measured with 1 to 32 threads; few of them are filled.
POLARS_ARENA = 2.0**27


@contextmanager
def polars_parsing(name: str, kind: str, needed: float) -> Iterator[None]:
    """Parse a file with Polars, which panics on some bytes and aborts without memory.

    Raises
    ------
    MemoryError
        ``needed`` bytes are not free.
    TableError
        Polars cannot read the file.
    """
    check_parsing_room(needed, name, POLARS_ARENA * (3 + min(pl.thread_pool_size(), 5)))
    with _silent_panics(), parsing(name, kind):
        yield


def check_parsing_room(needed: float, name: str, addresses: float) -> None:
    """Raise a MemoryError if parsing a file would not fit into the free memory."""
    check_room(needed, f"Parsing {name}", "Use fewer rows or columns.", addresses=addresses)


@contextmanager
def _silent_panics() -> Iterator[None]:
    """Discard the backtrace that Rust writes to standard error; the exception has the message."""
    try:
        kept = os.dup(2)
    except OSError:  # closed before the start
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


# Formula injection: text that a spreadsheet would run is escaped in CSV files, and read back

_SEPARATORS = r",;\t\r\n"
#: Where a spreadsheet may see the start of a formula: at the start of a text, or after what some spreadsheets
#: take for the end of a field; with preceding apostrophes. The last four signs are full-width.
_START = re.compile(
    rf"(?<![^{_SEPARATORS}])'*[=+\-@\uff1d\uff0b\uff0d\uff20][^{_SEPARATORS}]*|\A'*(?=[\t\r\n])"
)
#: Every match of it has one of these.
_SIGN = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escape_formulas(text: str) -> str:
    """Return a text with an apostrophe before what a spreadsheet would run as a formula.

    Numbers and lone signs are no formulas: the classes -1, + and - stay as is. Different texts stay
    different: ``'=1`` becomes ``''=1``.
    """
    if text in ("+", "-"):
        return text
    return _START.sub(lambda start: start[0] if _NUMBER.fullmatch(start[0]) else f"'{start[0]}", text)


def unescape_formulas(text: str) -> str | None:
    """Return the text from which :func:`escape_formulas` makes this one; None if there is none."""
    before = _START.sub(lambda start: start[0].removeprefix("'"), text)
    return before if escape_formulas(before) == text else None


def escaped_texts(texts: Iterable[str]) -> dict[str, str]:
    """Return the originals of escaped texts, by the escaped ones.

    Empty if a text is not escaped and would have been: then :func:`escape_formulas` did not write the table.
    """
    found = {}
    for text in filter(_SIGN.search, texts):
        before = unescape_formulas(text)
        if before is None:
            return {}
        if before != text:
            found[text] = before
    return found


# Weka's ARFF


_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", re.IGNORECASE)
_NUMERIC = {"numeric", "real", "integer"}


def read_arff(path: InputFile, encoding: str | None, tokens: MissingTokens) -> Cells:
    """Return the cells of an ARFF file; nominal and string attributes are text."""
    lines = read_as_utf8(path, encoding).decode().split("\n")
    names, numeric = [], []
    first_row = None
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped.lower().startswith("@data"):
            first_row = index + 1
            break
        found = _ATTRIBUTE.match(stripped)
        if found:
            names.append(found[1].strip("'\""))
            numeric.append(found[2].strip().lower().split()[0] in _NUMERIC)
    if first_row is None:
        raise TableError(f"{path.name} has no @data line: it is not ARFF, or cut off.")
    if not names:
        raise TableError(f"{path.name} names no @attribute before @data.")
    rows, indices = _rows(lines, first_row, len(names), path)
    for_text, for_numbers = tokens.for_text, tokens.for_numbers
    numbers = np.full((len(rows), len(names)), np.nan)
    words: dict[int, list[str | None]] = {}
    for column, name in enumerate(names):
        fields = [row[column] for row in rows]
        if not numeric[column]:
            words[column] = mask_missing(fields, for_text)
            continue
        for row, field in enumerate(mask_missing(fields, for_numbers)):
            try:
                numbers[row, column] = np.nan if field is None else float(field)
            except ValueError as error:
                raise TableError(
                    f"{path.name}: {quoted(field)} in line {indices[row]} is no number, as {quoted(name)}"
                    " has."
                ) from error
    return Cells(
        names,
        mask_codes(numbers, tokens.declared),
        words,
        line_numbers=indices,
        read_text=lambda columns: [[row[column] for row in rows] for column in columns],
        tokens=tokens,
    )


def _rows(lines: list[str], first: int, n_names: int, path: InputFile) -> tuple[list[list[str]], list[int]]:
    """Return the fields of the rows, and their line numbers."""
    rows, indices = [], []
    for index in range(first, len(lines)):
        line = lines[index].strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("{"):
            raise TableError(
                f"{path.name}: line {index + 1} is sparse ARFF, which is not read; dense ARFF is."
            )
        quote = "'" if "'" in line else '"'
        try:
            fields = next(csv.reader([line], quotechar=quote, skipinitialspace=True))
        except csv.Error as error:
            raise TableError(f"{path.name}: line {index + 1} cannot be read: {error}.") from error
        row = [field.strip() for field in fields]
        if len(row) != n_names:
            raise TableError(
                f"{path.name}: line {index + 1} has {counted(len(row), 'field')} for"
                f" {counted(n_names, 'attribute')}."
            )
        rows.append(row)
        indices.append(index + 1)
    if not rows:
        raise TableError(f"{path.name} has attributes and no rows.")
    return rows, indices
