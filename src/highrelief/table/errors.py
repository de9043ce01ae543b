"""What is wrong with a table, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches


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


def unknown_column(name: str, names: Sequence[str], what: str) -> TableError:
    """There is no such column; names the ones that are spelt like it."""
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
