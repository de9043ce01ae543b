"""Why a run cannot go on, in one sentence."""

from __future__ import annotations

from ...table import TableError

__all__ = ["RunError", "TableError", "UsageError"]


class RunError(RuntimeError):
    """The run failed: nothing was written."""


class UsageError(ValueError):
    """The command was called in a wrong way."""
