"""Errors of the command: one sentence on standard error, and an exit code."""

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

#: What Typer raises for invalid arguments; it has no public name.
_ARGUMENT_ERROR: Any = typer.BadParameter.__base__
#: Errors of writing to the standard output, which have no file name.
_OUTPUT_ERRORS = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}


class RunError(RuntimeError):
    """The run failed; nothing was written."""


class UsageError(ValueError):
    """The command was called with invalid options."""


def escaped(text: object) -> str:
    """Return a text on one line, with escapes for characters that are not printable.

    These are control characters, line ends, direction overrides, characters of no width, lone surrogates.
    """
    line = str(text)
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


def on_one_line(message: object) -> str:
    """Return the message of an error or a warning without line breaks."""
    return " ".join(str(message).split())


def distinct_messages(caught: Iterable[WarningMessage]) -> list[str]:
    """Return the messages of warnings in their order, without repetition."""
    return list(dict.fromkeys(on_one_line(each.message) for each in caught))


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """Continue if the reader of the standard output closes it, as `head` does."""
    try:
        yield
        if sys.stdout is not None:  # closed before the start
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()


def _discard_output() -> None:
    """Redirect the standard output to nowhere, so that flushing it at exit does not fail."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(TyperGroup):
    """The group of commands; escapes what Typer shows of invalid arguments."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments before the name of the command."""
        with _escape_argument_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of a command, and run it."""
        with _escape_argument_errors():
            return super().invoke(ctx)


@contextmanager
def _escape_argument_errors() -> Iterator[None]:
    try:
        yield
    except _ARGUMENT_ERROR as error:
        error.message = escaped(error.message)
        raise


@contextmanager
def exit_on_error(debug: bool) -> Iterator[None]:
    """Exit with one sentence for an error; code 1: unusable data, 2: wrong usage, 130: interrupted."""
    from ..io.cells import TableError  # noqa: PLC0415

    try:
        with ignore_closed_pipe(), _escape_warnings():
            yield
    except (RunError, TableError, UsageError) as error:
        _exit(error, 2 if isinstance(error, UsageError) else 1, f"{error}", debug)
    except typer.Exit:
        raise
    except KeyboardInterrupt as error:
        _exit(error, 130, "stopped; no file is half-written.")
    except Exception as error:
        where = _failed_file(error)
        if where is not None:
            reason = getattr(error, "strerror", None) or error
            _exit(error, 1, f"{where} cannot be written or read: {reason}.", debug)
        sentence = on_one_line(f"{type(error).__name__}: {error}")
        _exit(error, 1, f"this should not have happened ({sentence}); --debug shows where it did.", debug)


def _failed_file(error: Exception) -> str | None:
    """Return the file that could not be accessed, or the output; None for other errors, also of libraries."""
    if not isinstance(error, OSError):
        return None
    if error.filename is not None:
        return str(error.filename)
    return "what is shown" if error.errno in _OUTPUT_ERRORS else None


def _exit(error: BaseException, code: int, sentence: str, debug: bool = False) -> NoReturn:
    """Show the sentence, or with ``debug`` a traceback, and exit."""
    lines = "".join(traceback.format_exception(error)).splitlines() if debug else [f"highrelief: {sentence}"]
    for line in lines:
        typer.echo(escaped(line), err=True)
    if isinstance(error, OSError):
        _discard_output()
    raise typer.Exit(code) from error


@contextmanager
def _escape_warnings() -> Iterator[None]:
    """Escape names and values in warnings that are shown."""

    def show(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        typer.echo(escaped(f"{filename}:{lineno}: {category.__name__}: {message}"), err=True)

    before, warnings.showwarning = warnings.showwarning, show
    try:
        yield
    finally:
        warnings.showwarning = before
