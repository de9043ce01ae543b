"""Text with separators: CSV, TSV and their relatives, also compressed.

Tables here are wide, and a reader that works a column at a time spends its time on columns. So the text is
cut at its separators, the fields are put below each other as one long column, and that is parsed as a whole.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .._engine.limits import limits
from .._engine.memory import check_room
from .cells import Cells, MissingTokens, TableError, counted, listed, masked, shown, without
from .files import InputFile
from .formulas import all_read_back
from .frames import polars_parsing

#: What is tried where nothing is said; of several that fit, the first that cuts most.
SEPARATORS = ("\t", ",", ";", "|", " ")
#: Stand for a separator, and for an end of line, inside quotes until the fields are apart.
_KEPT_SEPARATOR, _KEPT_NEWLINE = b"\x1f", b"\x1e"
#: The separator is found in so many lines; ``limits.sniffed_bytes`` are too few if they have fewer.
_LINES_LOOKED_AT, _FEWEST_LINES = 20, 3
#: A byte that no text has.
_NOWHERE = "\x1d"
#: Columns that are cut out of the rows one by one rather than read as text with all others.
_FEW_COLUMNS = 8
#: Bytes of a compressed text that are decompressed at once.
_BYTES_DECOMPRESSED = 2**26
_DECIMAL_COMMA = re.compile(rb"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(rb"[+-]?\d+\.\d+(?:[eE][+-]?\d+)?")
#: With a decimal comma a point is in no number; quotes protect the comma where it separates, too.
_COMMA_AS_POINT = bytes.maketrans(b".,\x1f", b"_..")
_COMMA_AS_POINT_TEXT = ((".", "_"), (",", "."), ("\x1f", "."))


#: Codecs of Python that decode bytes to text, and are no way to write a file.
_NO_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}


def is_charset(name: str) -> bool:
    """Whether text can be written in an encoding of this name."""
    try:
        "".encode(name)
        return codecs.lookup(name).name.replace("_", "-") not in _NO_CHARSETS
    except (LookupError, ValueError):
        return False


@dataclass(frozen=True)
class Dialect:
    """How a text is written; None: to be found out."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    #: Tokens for a missing value, beside the defaults.
    missing: tuple[str, ...] = ()
    #: Whether the default tokens count.
    default_missing: bool = True

    def of_tokens(self) -> Dialect:
        """A dialect of which only the tokens for a missing value are the same."""
        return Dialect(missing=self.missing, default_missing=self.default_missing)

    @property
    def tokens(self) -> MissingTokens:
        """The text that stands for a missing value."""
        return MissingTokens(self.missing, self.default_missing)


def read_delimited(path: InputFile, dialect: Dialect) -> Cells:
    """The cells of a text with separators; its first line has the names of the columns."""
    text = text_of(path, dialect.encoding)
    for mark in (_KEPT_SEPARATOR, _KEPT_NEWLINE, _NOWHERE.encode()):
        if mark in text:
            line = _line_of(text, text.index(mark))
            raise TableError(f"{path.name} has a control byte, 0x{mark.hex()}, in line {line}.")
    separator = (dialect.separator or _likely_separator(text)).encode()
    lines = _without_quotes(text, separator, path).split(b"\n")
    # A blank line holds no values.
    places = [place for place, line in enumerate(lines) if line.strip()]
    if not places:
        raise TableError(f"{path.name} is empty.")
    header, *rows = [lines[place] for place in places]
    if not rows:
        raise TableError(f"{path.name} has a header and no rows.")
    names = [_restored(name, separator) for name in header.split(separator)]
    if rows[0].count(separator) == len(names):
        if all(row.endswith(separator) for row in rows):
            # A separator at the end of every row, and none at the end of the header.
            rows = [row[: -len(separator)] for row in rows]
        else:
            # R's write.table gives the column of row names no name.
            names = ["", *names]
    _check_lengths(rows, places[1:], separator, len(names), path, cut=not text.endswith(b"\n"))
    decimal = dialect.decimal or _likely_decimal(rows[:_LINES_LOOKED_AT], separator)
    numbers, words = _parsed(rows, len(names), separator, decimal, dialect.tokens)
    formulas: dict[str, str] = {}
    if b"'" in text:
        formulas = all_read_back({*names}.union(*(filter(None, column) for column in words.values())))
    notes = []
    if formulas:
        names = [formulas.get(name, name) for name in names]
        words = {
            place: [word and formulas.get(word, word) for word in column] for place, column in words.items()
        }
        notes.append(
            "Without the apostrophe that keeps a spreadsheet from running a formula:"
            f" {listed(sorted(formulas.values()))}."
        )
    return Cells(
        names,
        numbers,
        words,
        notes=notes,
        line_of_row=[place + 1 for place in places[1:]],
        text_at=partial(_text, rows, separator, len(names), formulas),
        tokens=dialect.tokens,
    )


def text_of(path: InputFile, encoding: str | None) -> bytes:
    """What is in a file, as UTF-8 with line feeds."""
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
    """What gzip compressed; raises before it fills the memory."""
    parts: list[bytes] = []
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while part := stream.read(_BYTES_DECOMPRESSED):
            parts.append(part)
            # As many again to join them.
            size = float(_BYTES_DECOMPRESSED) * len(parts)
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
            f" {_line_of(data, error.start)}; --encoding says how it is written, latin-1 for example."
        ) from error
    except (LookupError, ValueError) as error:
        raise TableError(f"Cannot read {path.name} with encoding={encoding!r}: {error}.") from error
    return data.removeprefix(b"\xef\xbb\xbf")


def _line_of(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def _likely_separator(text: bytes) -> str:
    """What cuts the first lines into the same number of fields, and into most."""
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
    """The first lines, without what is quoted: some, whatever their length."""
    n_bytes = limits.sniffed_bytes
    while True:
        outside_quotes = b"".join(text[:n_bytes].split(b'"')[::2])
        lines = [line for line in outside_quotes.split(b"\n") if line.strip()]
        if n_bytes >= len(text):
            return lines[:_LINES_LOOKED_AT]
        if len(lines) > _FEWEST_LINES:
            return lines[:-1][:_LINES_LOOKED_AT]  # the last may have been cut
        n_bytes *= 4


def _without_quotes(text: bytes, separator: bytes, path: InputFile) -> bytes:
    """The text without its quotes, what they protect being marked."""
    if b'"' not in text:
        return text
    parts = text.split(b'"')
    if len(parts) % 2 == 0:
        line = _line_of(text, text.rindex(b'"'))
        raise TableError(f'{path.name} has a quote (") that is never closed; the last is in line {line}.')
    for i in range(1, len(parts), 2):
        if separator in parts[i] or b"\n" in parts[i]:
            parts[i] = parts[i].replace(separator, _KEPT_SEPARATOR).replace(b"\n", _KEPT_NEWLINE)
    for i in range(2, len(parts) - 1, 2):
        if not parts[i]:  # two quotes in a row inside quotes stand for one
            parts[i] = b'"'
    return b"".join(parts)


def _restored(field: bytes, separator: bytes) -> str:
    return field.replace(_KEPT_SEPARATOR, separator).replace(_KEPT_NEWLINE, b"\n").decode().strip()


def _check_lengths(
    rows: Sequence[bytes],
    places: Sequence[int],
    separator: bytes,
    n_names: int,
    path: InputFile,
    *,
    cut: bool,
) -> None:
    """Raise if a row has more or fewer fields than there are names."""
    for row, place in zip(rows, places, strict=True):
        n_fields = row.count(separator) + 1
        if n_fields != n_names:
            ends = " and has no end: the file is cut off" if cut and place == places[-1] else ""
            raise TableError(
                f"{path.name}: line {place + 1} has {counted(n_fields, 'field')}, the header has"
                f" {n_names:,}{ends}; {separator.decode()!r} was taken for the separator, --sep says another."
            )


def _likely_decimal(rows: Sequence[bytes], separator: bytes) -> str:
    """A comma where more fields are numbers with a comma than with a point."""
    if separator == b",":
        return "."
    fields = [field.strip() for row in rows for field in row.split(separator)[:1000]]
    commas = sum(_DECIMAL_COMMA.fullmatch(field) is not None for field in fields)
    return "," if commas > sum(_DECIMAL_POINT.fullmatch(field) is not None for field in fields) else "."


def _parsed(
    rows: Sequence[bytes], n_columns: int, separator: bytes, decimal: str, tokens: MissingTokens
) -> tuple[NDArray[np.float64], dict[int, list[str | None]]]:
    """Numbers of the fields, and the columns that hold words."""
    missing = tokens.of_numbers
    fields = b"\n".join(rows).replace(separator, b"\n") + b"\n"
    with_points = fields.translate(_COMMA_AS_POINT) if decimal == "," else fields
    numbers = without(_column(with_points, pl.Float64).to_numpy(), missing)
    unread = np.flatnonzero(np.isnan(numbers))
    if not unread.size:
        return numbers.reshape(len(rows), n_columns), {}
    suspects = np.unique(unread % n_columns).tolist()
    if len(suspects) <= _FEW_COLUMNS:
        columns = {
            place: pl.Series([field.decode() for field in _fields_of(rows, separator, place, n_columns)])
            for place in suspects
        }
        unread = np.concatenate([np.arange(place, numbers.size, n_columns) for place in suspects])
        texts = pl.concat(list(columns.values()))
    else:
        columns = {}
        everything = _column(fields, pl.String)
        texts = everything.gather(unread)
    values, read = _numbers_of(texts, decimal, missing)
    numbers = numbers if numbers.flags.writeable else numbers.copy()
    numbers[unread] = values
    numbers = numbers.reshape(len(rows), n_columns)
    places = np.unique(unread[~read] % n_columns)
    if not places.size:
        return numbers, {}
    if columns:
        texts = pl.concat([columns[place] for place in places.tolist()])
    else:
        texts = everything.gather((places[:, np.newaxis] + np.arange(0, numbers.size, n_columns)).ravel())
    words = _words(texts, separator, tokens)
    return numbers, {
        place: words[i * len(rows) : (i + 1) * len(rows)] for i, place in enumerate(places.tolist())
    }


def _column(fields: bytes, dtype: type[pl.DataType]) -> pl.Series:
    """Fields that stand below each other; a field that is not of the type becomes null."""
    # Twice, in chunks and joined: a number has 8 bytes, the view of a text 16.
    needed = len(fields) + fields.count(b"\n") * (16.0 if dtype == pl.Float64 else 32.0)
    with polars_parsing("its fields", "numbers", needed):
        return pl.read_csv(
            io.BytesIO(fields),
            has_header=False,
            schema={"field": dtype},
            ignore_errors=True,
            separator=_NOWHERE,
            quote_char=None,
        )["field"]


def _fields_of(rows: Sequence[bytes], separator: bytes, place: int, n_columns: int) -> list[bytes]:
    """One column of the fields, counted from the nearer end of the rows."""
    if place < n_columns // 2:
        return [row.split(separator, place + 1)[place] for row in rows]
    return [row.rsplit(separator, n_columns - place)[place - n_columns] for row in rows]


def _text(
    rows: Sequence[bytes],
    separator: bytes,
    n_columns: int,
    formulas: Mapping[str, str],
    places: Sequence[int],
) -> list[list[str | None]]:
    """Some columns as they are written, but for texts that ``formulas`` has the originals of."""
    if len(places) <= _FEW_COLUMNS:
        columns = [_fields_of(rows, separator, place, n_columns) for place in places]
    else:
        split = (row.split(separator) for row in rows)
        chosen = [[fields[place] for place in places] for fields in split]
        columns = [list(column) for column in zip(*chosen, strict=True)]
    restored = (map(partial(_restored, separator=separator), column) for column in columns)
    return [[formulas.get(text, text) for text in texts] for texts in restored]


def _numbers_of(
    texts: pl.Series, decimal: str, missing: frozenset[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers among fields, NaN elsewhere, and which fields are a number or missing."""
    fields = texts.fill_null("").str.strip_chars()
    gone = fields.is_in(sorted(missing)).to_numpy()
    if decimal == ",":
        for mark, point in _COMMA_AS_POINT_TEXT:
            fields = fields.str.replace_all(mark, point, literal=True)
    values = fields.cast(pl.Float64, strict=False)
    read = gone | values.is_not_null().to_numpy()
    return without(np.where(gone, np.nan, values.fill_null(np.nan).to_numpy()), missing), read


def _words(texts: pl.Series, separator: bytes, tokens: MissingTokens) -> list[str | None]:
    """Fields as they are written, None where one is missing."""
    fields = texts.fill_null("")
    for mark, stands_for in ((_KEPT_SEPARATOR, separator), (_KEPT_NEWLINE, b"\n")):
        fields = fields.str.replace_all(mark.decode(), stands_for.decode(), literal=True)
    fields = fields.str.strip_chars()
    return fields.set(fields.is_in(sorted(tokens.of_labels)), None).to_list()


# Weka's ARFF: names and types of the attributes, then rows with commas.


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
                f"{path.name}: line {place + 1} has {counted(len(row), 'field')} for"
                f" {counted(n_names, 'attribute')}."
            )
        rows.append(row)
        places.append(place + 1)
    if not rows:
        raise TableError(f"{path.name} has attributes and no rows.")
    return rows, places
