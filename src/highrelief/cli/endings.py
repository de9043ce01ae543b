"""How a command ends: with its results, or with one sentence and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from warnings import WarningMessage

import typer
from typer.core import TyperGroup

#: What Typer raises for arguments that it refuses; it has no public name.
_REFUSAL: Any = typer.BadParameter.__base__
#: Errors of writing to the standard output, which have no file name.
_OUTPUT_ERRORS = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}


@contextmanager
def unread() -> Iterator[None]:
    """Go on where who reads the results has seen enough, as `head` does."""
    try:
        yield
        if sys.stdout is not None:  # as where it was closed before the start
            sys.stdout.flush()
    except BrokenPipeError:
        _show_no_more()


def _show_no_more() -> None:
    """Have what is left to show go nowhere, so that the end of the process does not fail over it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(TyperGroup):
    """The commands; what Typer shows of arguments that it refuses is escaped, as all else is."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments before the command's name."""
        with _escaped_refusals():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of a command, and run it."""
        with _escaped_refusals():
            return super().invoke(ctx)


@contextmanager
def _escaped_refusals() -> Iterator[None]:
    try:
        yield
    except _REFUSAL as error:
        from .terminal import escaped  # noqa: PLC0415

        error.message = escaped(error.message)
        raise


@contextmanager
def told(debug: bool) -> Iterator[None]:
    """Errors in one sentence; 1 for data that cannot be used, 2 for wrong usage, 130 for an interruption."""
    from ..io.cells import TableError  # noqa: PLC0415

    try:
        with unread(), _escaped_warnings():
            yield
    except (RunError, TableError, UsageError) as error:
        _end(error, 2 if isinstance(error, UsageError) else 1, f"{error}", debug)
    except typer.Exit:
        raise
    except KeyboardInterrupt as error:
        _end(error, 130, "stopped; no file is half-written.")
    except Exception as error:
        where = _place_of_failure(error)
        if where is not None:
            reason = getattr(error, "strerror", None) or error
            _end(error, 1, f"{where} cannot be written or read: {reason}.", debug)
        sentence = in_one_line(f"{type(error).__name__}: {error}")
        _end(error, 1, f"this should not have happened ({sentence}); --debug shows where it did.", debug)


def _place_of_failure(error: Exception) -> str | None:
    """Return which file failed, or that the output did; None for other errors, also of libraries."""
    if not isinstance(error, OSError):
        return None
    if error.filename is not None:
        return str(error.filename)
    return "what is shown" if error.errno in _OUTPUT_ERRORS else None


def _end(error: BaseException, code: int, sentence: str, debug: bool = False) -> NoReturn:
    """Show why a run ends, or with ``debug`` where; and end it."""
    from .terminal import escaped  # noqa: PLC0415

    lines = "".join(traceback.format_exception(error)).splitlines() if debug else [f"highrelief: {sentence}"]
    for line in lines:
        typer.echo(escaped(line), err=True)
    if isinstance(error, OSError):
        _show_no_more()
    raise typer.Exit(code) from error


@contextmanager
def _escaped_warnings() -> Iterator[None]:
    """Have warnings that nobody records shown with their names and values escaped."""

    def shown(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        from .terminal import escaped  # noqa: PLC0415

        typer.echo(escaped(f"{filename}:{lineno}: {category.__name__}: {message}"), err=True)

    before, warnings.showwarning = warnings.showwarning, shown
    try:
        yield
    finally:
        warnings.showwarning = before


# Why a run cannot go on, in one sentence.


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
