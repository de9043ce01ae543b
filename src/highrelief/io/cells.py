"""Tables as they come from a file: names, numbers, and the columns that hold words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What is wrong with a table, in one sentence.


class TableError(ValueError):
    """The data cannot be used. The message is one sentence that says where, and what would help."""


class MeasurementError(TableError):
    """The target is a number, and classes are needed."""


class WordsError(TableError):
    """There are words only, and numbers are needed."""


def shown(value: object, longest: int = 60) -> str:
    """A name or value from the data for a message: printable, on one line, cut if it is long."""
    text = repr(str(value))
    return text if len(text) <= longest else f"{text[: longest - 2]}…{text[-1]}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Some names for a message, and how many more there are."""
    some = ", ".join(shown(name, 40) for name in names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most:,} more"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number and what it counts, "1 sample" or "7,129 samples"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def unknown_column(name: str, names: Sequence[str], what: str) -> TableError:
    """There is no such column; names the ones that are spelled like it."""
    close = get_close_matches(name, names[:50_000], n=3)
    hint = (
        f"did you mean {' or '.join(shown(each) for each in close)}?" if close else f"it has {listed(names)}."
    )
    return TableError(f"The table has no column {shown(name)} ({what}); {hint}")


@contextmanager
def parsing(name: str, kind: str) -> Iterator[None]:
    """Raise a TableError for whatever a library raises over the bytes of a file."""
    try:
        yield
    except (TableError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # Polars' PanicException is not an Exception
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise TableError(f"Cannot read {shown(name)} as {kind}: {reason}.") from error


#: Missing in every column.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")
#: Missing in columns of numbers. Elsewhere they are labels: "-" beside "+", "None" beside "Mild".
MISSING_NUMBERS = ("None", "none", "-", ".")


@dataclass(frozen=True)
class MissingTokens:
    """The text that stands for a missing value; an empty field always does."""

    #: What the user declares, in every column.
    declared: tuple[str, ...] = ()
    #: Whether the default tokens count as well.
    defaults: bool = True

    @property
    def of_labels(self) -> frozenset[str]:
        """Tokens in columns that are read as text."""
        declared = (token.strip() for token in self.declared)
        return frozenset(("", *declared, *(MISSING if self.defaults else ())))

    @property
    def of_numbers(self) -> frozenset[str]:
        """Tokens in columns that are read as numbers."""
        return self.of_labels.union(MISSING_NUMBERS if self.defaults else ())


@dataclass
class Cells:
    """The cells of a table, before anybody asked which column is which."""

    #: One per column, as they were written; not always different.
    names: list[str]
    #: (n_rows, n_columns); NaN where a number is missing. What stands in a column with words is in ``words``.
    numbers: NDArray[Any]
    #: Columns with at least one word, by their place; None where a value is missing.
    words: dict[int, list[str | None]] = field(default_factory=dict)
    #: Columns beside the table that are no features by the way the file is made, by their names: text as
    #: written, also where it stands for a missing value.
    aside: dict[str, list[str | None]] = field(default_factory=dict)
    #: Those of them that are numbers, with all their digits.
    aside_numbers: dict[str, NDArray[Any]] = field(default_factory=dict)
    #: Names of the rows, where the file has a place for them.
    row_names: list[str] | None = None
    #: What was left out on the way here.
    notes: list[str] = field(default_factory=list)
    #: Where the rows are in the file, for messages; None: they count from 1.
    line_of_row: Sequence[int] | None = None
    #: The text of some columns; None: that of ``numbers``.
    text_at: Callable[[Sequence[int]], list[list[str | None]]] | None = None
    tokens: MissingTokens = field(default_factory=MissingTokens)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.numbers.shape[0])

    def place_of_row(self, row: int) -> str:
        """A row as a message names it."""
        return f"row {row + 1}" if self.line_of_row is None else f"line {self.line_of_row[row]}"

    def text(self, places: Sequence[int]) -> list[list[str | None]]:
        """Columns as they are written, without surrounding blanks; None where a file has a null."""
        if self.text_at is not None:
            return self.text_at(places)
        return [written(self.numbers[:, place]) for place in places]

    def in_words(self, place: int) -> list[str | None]:
        """A column as it is written, None where a value is missing."""
        return masked(self.text([place])[0], self.tokens.of_labels)

    def counts_rows(self, place: int) -> bool:
        """Whether a column of numbers has whole ones that are all written differently."""
        values = self.numbers[:, place]
        return bool(np.all(values == np.round(values))) and len(set(self.text([place])[0])) == values.size

    def in_numbers(self, place: int) -> NDArray[Any] | None:
        """A column as numbers, NaN where one is missing; None if it holds words."""
        return None if place in self.words else self.numbers[:, place]


def masked(text: Iterable[str | None], tokens: Collection[str]) -> list[str | None]:
    """Text with None in place of the tokens for a missing value."""
    return [None if each in tokens else each for each in text]


def counted_tokens(text: Iterable[str | None], most: int = 5) -> str:
    """What stands where a value is missing, and how often, for a message."""
    counts = Counter(each or None for each in text).most_common()
    told = [f"{'no value' if each is None else shown(each, 40)} {count:,}" for each, count in counts[:most]]
    return ", ".join([*told, *(["…"] if len(counts) > most else [])])


def written(values: NDArray[Any], null: NDArray[np.bool_] | None = None) -> list[str | None]:
    """The text of values of one type; None for a null, of which ``null`` gives those that are objects.

    Different values have different text: integers have all digits, floats as many as tell them apart, and no
    ".0". Strings lose surrounding blanks.
    """
    kind = values.dtype.kind
    if null is None:
        null = np.isnan(values) if kind in "fcmM" else np.zeros(len(values), dtype=bool)
    if kind == "f":
        texts = [str(value).removesuffix(".0") for value in values + values.dtype.type(0)]  # 0 for -0
    else:
        texts = [decoded(value).strip() for value in values]
    return [None if gone else text for text, gone in zip(texts, null.tolist(), strict=True)]


def decoded(value: object) -> str:
    """Return the text of a value, bytes as UTF-8."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


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
