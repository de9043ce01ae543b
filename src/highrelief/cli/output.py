"""Files written whole or not at all, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import errno
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..io.files import atomic_write, sync, temporary_path
from ..io.text import escape_formulas
from .endings import RunError

#: What the page of a run is called.
REPORT = "report.html"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]], *, separator: str = ",") -> str:
    """Rows as CSV; words are made inert, numbers are written so that they are read back bit for bit."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow([escape_formulas(name) for name in header])
    for row in rows:
        writer.writerow([escape_formulas(each) if isinstance(each, str) else each for each in row])
    return text.getvalue()


def check_free(path: Path, *, force: bool) -> None:
    """Raise, before anything is computed, if a file or folder cannot be written where it is to be."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # such as a name that is too long, or has a NUL
        raise RunError(f"{path} cannot be written: {_reason(error)}.") from error
    else:
        if not path.exists():
            raise RunError(f"{path} cannot be written: it is a link to what is not there.")
        if not force:
            raise RunError(f"{path} exists already; --force writes over what an earlier run left there.")
    there = path.absolute()
    while not there.exists():
        there = there.parent
    if there != path.absolute() and not there.is_dir():
        raise RunError(f"{path} cannot be written: {there} is a file.")
    if not os.access(there, os.W_OK):
        raise RunError(f"{path} cannot be written: {there} may not be written to.")


def write_file(path: Path, write: Callable[[Path], None], *, force: bool) -> None:
    """Have a file written under another name, and give it its own when it is whole."""
    check_free(path, force=force)
    with _failures_told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            write(part)


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a text into a file, whole or not at all."""
    write_file(path, lambda part: put(text, part), force=force)


def put(text: str, path: Path) -> None:
    """Write a text into a file that nobody knows of yet."""
    # Lone surrogates, as in names of files that are not UTF-8, become escapes: JSON's own, in a record.
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


def write_folder(folder: Path, texts: Mapping[str, str], *, force: bool, without: Sequence[str] = ()) -> None:
    """Write files into a folder: into another one first, which gets its name when all are whole.

    ``without``: files of an earlier run that would not belong to the new ones.
    """
    check_free(folder, force=force)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file, and a folder is needed.")
    with _failures_told(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        # A folder that is there may be a disk of its own, to which nothing can be renamed from beside it.
        beside = folder if folder.exists() else folder.parent
        part = temporary_path(beside)
        part.mkdir()
        try:
            for name, text in texts.items():
                put(text, part / name)
                sync(part / name)
            sync(part)
            if folder.exists():
                for name in without:
                    (folder / name).unlink(missing_ok=True)
                for name in texts:
                    (part / name).replace(folder / name)
                sync(folder)
            else:
                part.rename(folder)
                sync(folder.parent)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _failures_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise RunError(f"The disk is full: {path} was not written.") from error
        raise RunError(f"{path} cannot be written: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
