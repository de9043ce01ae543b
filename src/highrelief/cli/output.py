"""Output files: written atomically, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..io.files import atomic_write, sync, temporary_path
from ..io.text import escape_formulas
from .errors import RunError

#: Name of the report page of a run.
REPORT = "report.html"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]], *, separator: str = ",") -> str:
    """Return rows as CSV: formulas in text are escaped, numbers have all digits."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow([escape_formulas(name) for name in header])
    for row in rows:
        writer.writerow([escape_formulas(each) if isinstance(each, str) else each for each in row])
    return text.getvalue()


def json_text(record: Mapping[str, Any]) -> str:
    """Return a record as JSON, as in ``run.json``."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def check_report() -> None:
    """Raise if reports cannot be made; call before a long computation."""
    if find_spec("jinja2") is None:
        raise RunError("The report needs jinja2: pip install 'highrelief[cli]', or --no-report.")


def check_free(path: Path, *, force: bool) -> None:
    """Raise if a file or folder cannot be written; call before a long computation."""
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
            raise RunError(f"{path} exists already; --force overwrites the results of an earlier run.")
    there = path.absolute()
    while not there.exists():
        there = there.parent
    if there != path.absolute() and not there.is_dir():
        raise RunError(f"{path} cannot be written: {there} is a file.")
    if not os.access(there, os.W_OK):
        raise RunError(f"{path} cannot be written: {there} may not be written to.")


def write_file(path: Path, write: Callable[[Path], None], *, force: bool) -> None:
    """Write a file atomically; ``write`` receives a temporary path."""
    check_free(path, force=force)
    with _write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            write(part)


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a text file atomically."""
    write_file(path, lambda part: write_utf8(text, part), force=force)


def write_utf8(text: str, path: Path) -> None:
    """Write a text in UTF-8."""
    # Lone surrogates, as in file names that are not UTF-8, become escapes, which JSON can read.
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


def write_folder(folder: Path, texts: Mapping[str, str], *, force: bool, without: Sequence[str] = ()) -> None:
    """Write text files into a folder, all or none; delete those of an earlier run in ``without``."""
    check_free(folder, force=force)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file, and a folder is needed.")
    with _write_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        # An existing folder may be a mount point, into which nothing outside can be renamed.
        part = temporary_path(folder if folder.exists() else folder.parent)
        part.mkdir()
        try:
            for name, text in texts.items():
                write_utf8(text, part / name)
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
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise RunError(f"The disk is full: {path} was not written.") from error
        raise RunError(f"{path} cannot be written: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
