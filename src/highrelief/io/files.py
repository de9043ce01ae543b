"""Files: atomic writes, and inputs that are read once."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._engine.memory import check_room
from .cells import TableError, quoted


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; rename it to ``path`` when it is complete and synced."""
    part = temporary_path(path.parent)
    # Created with the permissions of any new file, and never over an existing one.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield part
        sync(part)
        part.replace(path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def temporary_path(folder: Path) -> Path:
    """Return an unused path in a folder."""
    return folder / f".highrelief-{uuid.uuid4().hex}"


def sync(path: Path) -> None:
    """Force the content of a file, or the entries of a folder, to the disk."""
    is_folder = path.is_dir()
    if is_folder and not hasattr(os, "O_DIRECTORY"):  # Windows does not open folders
        return
    try:
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    except PermissionError:
        if is_folder:  # a folder may be writable and not readable
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems do not sync folders.
        if not is_folder or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


# O_NONBLOCK: a pipe that replaces the file after the check must not block.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


#: Bytes that are read from the standard input at once.
_CHUNK = 2**26
#: The path that stands for the standard input.
STANDARD_INPUT = Path("-")


class InputFile:
    """A file that is read once, so that its digest is of the bytes parsed.

    It must be a regular file, or ``-`` for the standard input.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        #: SHA-256 of the bytes that ``read_bytes`` returned.
        self.digest = ""
        self._piped: bytes | None = None
        if path == STANDARD_INPUT:
            self.name = "standard input"
            self._piped = _standard_input()
            return
        try:
            if path.is_dir():
                raise TableError(f"{quoted(path)} is a folder; a file is needed.")
            if not path.exists():
                raise TableError(f"There is no file {quoted(path)}.")
            if not path.is_file():
                raise _special(path)
        except OSError as error:  # such as a name that is too long
            raise TableError(f"There can be no file {quoted(path)}: {error.strerror}.") from error

    def read_start(self, n_bytes: int) -> bytes:
        """Return the first bytes of the file; raise a TableError if it cannot be read."""
        return self._read(n_bytes)

    def read_bytes(self) -> bytes:
        """Return the content of the file; raise a TableError if it cannot be read."""
        data = self._read(-1)
        self._piped = None
        self.digest = hashlib.sha256(data).hexdigest()
        return data

    def _read(self, n_bytes: int) -> bytes:
        if self._piped is not None:
            return self._piped if n_bytes < 0 else self._piped[:n_bytes]
        try:
            with open(os.open(self.path, _FLAGS), "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise _special(self.path)
                if n_bytes < 0:
                    check_room(status.st_size, f"The file {self.name!r}", "Use a smaller one.")
                return stream.read(n_bytes)
        except PermissionError as error:
            raise TableError(f"Cannot read {quoted(self.path)}: permission denied.") from error
        except OSError as error:
            raise TableError(f"Cannot read {quoted(self.path)}: {error.strerror or error}.") from error


def _standard_input() -> bytes:
    """Return all bytes of the standard input."""
    stream = None if sys.stdin is None else sys.stdin.buffer
    if stream is None or stream.isatty():
        raise TableError("The standard input (-) is a terminal; use a pipe, or the name of a file.")
    parts: list[bytes] = []
    while part := stream.read(_CHUNK):
        parts.append(part)
        # Joining the parts takes as much again.
        check_room(float(_CHUNK) * len(parts), "The standard input", "Use a smaller table.")
    return b"".join(parts)


def _special(path: Path) -> TableError:
    return TableError(
        f"{quoted(path)} is a pipe or a device; write it to a file first, or use - for the standard input."
    )
