"""Formula injection: texts that a spreadsheet would run, made inert in CSV files, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEPARATORS = r",;\t\r\n"
#: Where a spreadsheet may see the start of a formula: at the start of a text, or after what some spreadsheet
#: takes for the end of a field; with the apostrophes before it. The last four are the full-width signs.
_START = re.compile(
    rf"(?<![^{_SEPARATORS}])'*[=+\-@\uff1d\uff0b\uff0d\uff20][^{_SEPARATORS}]*|\A'*(?=[\t\r\n])"
)
#: What every match of it has.
_SIGN = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def inert(text: str) -> str:
    """Return a text that no spreadsheet runs: an apostrophe is put before what would start a formula.

    Numbers and lone signs start none: the classes -1, + and - stay as they are. Different texts stay
    different: ``'=1`` becomes ``''=1``.
    """
    if text in ("+", "-"):
        return text
    return _START.sub(lambda start: start[0] if _NUMBER.fullmatch(start[0]) else f"'{start[0]}", text)


def read_back(text: str) -> str | None:
    """Return the text of which :func:`inert` makes this one; None if there is none."""
    before = _START.sub(lambda start: start[0].removeprefix("'"), text)
    return before if inert(before) == text else None


def all_read_back(texts: Iterable[str]) -> dict[str, str]:
    """Return what :func:`inert` changed in a table, by what it wrote; empty if the table cannot be ours.

    A table is not ours if one of its texts would have been made inert.
    """
    found = {}
    for text in filter(_SIGN.search, texts):  # all others stay as they are
        before = read_back(text)
        if before is None:
            return {}
        if before != text:
            found[text] = before
    return found
