"""How a command ends: with its results, or with one sentence and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


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


@contextmanager
def told(debug: bool) -> Iterator[None]:
    """Errors in one sentence; 1 for data that cannot be used, 2 for wrong usage, 130 for an interruption."""
    from .runs.errors import RunError, TableError, UsageError, in_one_line  # noqa: PLC0415

    try:
        with unread():
            yield
    except (RunError, TableError, UsageError) as error:
        if debug:
            raise
        typer.echo(f"highrelief: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, UsageError) else 1) from error
    except typer.Exit:
        raise
    except KeyboardInterrupt as error:
        typer.echo("highrelief: stopped; no file is half-written.", err=True)
        raise typer.Exit(130) from error
    except OSError as error:
        if debug:
            raise
        where = "what is shown" if error.filename is None else error.filename
        typer.echo(f"highrelief: {where} cannot be written or read: {error.strerror or error}.", err=True)
        _show_no_more()
        raise typer.Exit(1) from error
    except Exception as error:
        if debug:
            raise
        sentence = in_one_line(f"{type(error).__name__}: {error}")
        typer.echo(
            f"highrelief: this should not have happened ({sentence}); --debug shows where it did.", err=True
        )
        raise typer.Exit(1) from error
