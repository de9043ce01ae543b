"""The cells of a table as read from a file, and the errors and messages about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Errors and messages


class TableError(ValueError):
    """The data cannot be used; the message states where and why in one sentence, with a remedy."""


class ContinuousTargetError(TableError):
    """The target is continuous, and classes are needed."""


class NoNumbersError(TableError):
    """All columns are text, and numbers are needed."""


def quoted(value: object, longest: int = 60) -> str:
    """Return a name or value from the data in quotes: printable, on one line, truncated if long."""
    text = repr(str(value))
    return text if len(text) <= longest else f"{text[: longest - 2]}…{text[-1]}"


def quoted_list(names: Sequence[str], most: int = 5) -> str:
    """Return the first names in quotes, and the number of the others."""
    some = ", ".join(quoted(name, 40) for name in names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most:,} more"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Format a count, as "1 sample" or "7,129 samples"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def unknown_column(name: str, names: Sequence[str], what: str) -> TableError:
    """Return the error for a missing column, with the names that are spelled alike."""
    close = get_close_matches(name, names[:50_000], n=3)
    hint = (
        f"did you mean {' or '.join(quoted(each) for each in close)}?"
        if close
        else f"it has {quoted_list(names)}."
    )
    return TableError(f"The table has no column {quoted(name)} ({what}); {hint}")


@contextmanager
def parsing(name: str, kind: str) -> Iterator[None]:
    """Turn any exception of a library that parses a file into a TableError."""
    try:
        yield
    except (TableError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # Polars' PanicException is not an Exception
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise TableError(f"Cannot read {quoted(name)} as {kind}: {reason}.") from error


# Missing values

#: Tokens for a missing value in every column.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")
#: Tokens for a missing value in numeric columns; labels in others, as "-" beside "+", "None" beside "Mild".
MISSING_NUMBERS = ("None", "none", "-", ".")


@dataclass(frozen=True)
class MissingTokens:
    """The tokens for a missing value; an empty field is always one."""

    #: Tokens that the user declares, for every column.
    declared: tuple[str, ...] = ()
    #: Whether the default tokens count as well.
    defaults: bool = True

    @property
    def for_text(self) -> frozenset[str]:
        """Tokens in text columns."""
        declared = (token.strip() for token in self.declared)
        return frozenset(("", *declared, *(MISSING if self.defaults else ())))

    @property
    def for_numbers(self) -> frozenset[str]:
        """Tokens in numeric columns."""
        return self.for_text.union(MISSING_NUMBERS if self.defaults else ())


@dataclass
class Cells:
    """The cells of a table, before columns have roles."""

    #: Column names as written; not necessarily unique.
    names: list[str]
    #: (n_rows, n_columns); NaN where a number is missing, and for text.
    numbers: NDArray[Any]
    #: Columns with at least one text value, by index; None where a value is missing.
    text_columns: dict[int, list[str | None]] = field(default_factory=dict)
    #: Columns that the format stores outside of the table (such as AnnData's obs), by name: the raw text,
    #: including tokens for missing values.
    annotations: dict[str, list[str | None]] = field(default_factory=dict)
    #: The values of the numeric ones in full precision.
    annotation_numbers: dict[str, NDArray[Any]] = field(default_factory=dict)
    #: Row names, if the format has any.
    row_names: list[str] | None = None
    #: Notes for the user on what was changed or left out.
    notes: list[str] = field(default_factory=list)
    #: Line number of each row in the file, for messages; None: rows are numbered from 1.
    line_numbers: Sequence[int] | None = None
    #: Returns the raw text of columns; None: the text of ``numbers``.
    read_text: Callable[[Sequence[int]], list[list[str | None]]] | None = None
    tokens: MissingTokens = field(default_factory=MissingTokens)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def row_name(self, row: int) -> str:
        """Return the name of a row for messages."""
        return f"row {row + 1}" if self.line_numbers is None else f"line {self.line_numbers[row]}"

    def text(self, indices: Sequence[int]) -> list[list[str | None]]:
        """Return the raw text of columns, stripped; None where a file has a null."""
        if self.read_text is not None:
            return self.read_text(indices)
        return [as_text(self.numbers[:, index]) for index in indices]

    def labels(self, index: int) -> list[str | None]:
        """Return the text of a column, None where a value is missing."""
        return mask_missing(self.text([index])[0], self.tokens.for_text)

    def is_numbering(self, index: int) -> bool:
        """Return whether a numeric column has integers that are all written differently."""
        values = self.numbers[:, index]
        return bool(np.all(values == np.round(values))) and len(set(self.text([index])[0])) == values.size

    def numeric_column(self, index: int) -> NDArray[Any] | None:
        """Return the numbers of a column, NaN where one is missing; None for a text column."""
        return None if index in self.text_columns else self.numbers[:, index]


def mask_missing(text: Iterable[str | None], tokens: Collection[str]) -> list[str | None]:
    """Return the texts with None in place of tokens for a missing value."""
    return [None if each in tokens else each for each in text]


def count_tokens(text: Iterable[str | None], most: int = 5) -> str:
    """Return the tokens for missing values and their counts, for a message."""
    counts = Counter(each or None for each in text).most_common()
    parts = [f"{'no value' if each is None else quoted(each, 40)} {count:,}" for each, count in counts[:most]]
    return ", ".join([*parts, *(["…"] if len(counts) > most else [])])


def as_text(values: NDArray[Any]) -> list[str | None]:
    """Return the text of values of one type; None for NaN.

    Different values have different text: integers have all digits, floats the shortest unique ones, without
    ".0". Strings are stripped.
    """
    kind = values.dtype.kind
    null = np.isnan(values) if kind in "fcmM" else np.zeros(len(values), dtype=bool)
    if kind == "f":
        texts = [str(value).removesuffix(".0") for value in values + values.dtype.type(0)]  # 0 for -0
    else:
        texts = [decode(value).strip() for value in values]
    return [None if gone else text for text, gone in zip(texts, null.tolist(), strict=True)]


def decode(value: object) -> str:
    """Return the text of a value; bytes are decoded as UTF-8."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def mask_codes(numbers: NDArray[Any], missing: Collection[str]) -> NDArray[Any]:
    """Return numbers with NaN in place of numeric codes for a missing value, such as -9999."""
    for code in missing:
        try:
            value = float(code)
        except ValueError:
            continue
        if not np.isnan(value):
            numbers = np.where(numbers == value, np.nan, numbers)
    return numbers
