"""Why a run cannot go on, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from warnings import WarningMessage

from ...table import TableError

__all__ = ["RunError", "TableError", "UsageError", "in_one_line", "told_once"]


class RunError(RuntimeError):
    """The run failed: nothing was written."""


class UsageError(ValueError):
    """The command was called in a wrong way."""


def in_one_line(message: object) -> str:
    """What an error or a warning says, without line breaks."""
    return " ".join(str(message).split())


def told_once(caught: Iterable[WarningMessage]) -> list[str]:
    """What was warned of, each once, in its order."""
    return list(dict.fromkeys(in_one_line(each.message) for each in caught))
