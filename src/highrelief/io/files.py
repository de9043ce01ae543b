"""Files: atomic writes, and inputs that are read once."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
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


class InputFile:
    """A file that is read once, so that its digest is of the bytes parsed; must be a regular file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        #: SHA-256 of the bytes that ``read_bytes`` returned.
        self.digest = ""
        try:
            if path.is_dir():
                raise TableError(f"{quoted(path)} is a folder; a file is needed.")
            if not path.exists():
                raise TableError(f"There is no file {quoted(path)}.")
            if not path.is_file():
                raise _special(path)
        except OSError as error:  # such as a name that is too long
            raise TableError(f"There can be no file {quoted(path)}: {error.strerror}.") from error

    def read_bytes(self) -> bytes:
        """Return the content of the file; raise a TableError if it cannot be read."""
        try:
            with open(os.open(self.path, _FLAGS), "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise _special(self.path)
                check_room(status.st_size, f"The file {self.name!r}", "Use a smaller one.")
                data = stream.read()
        except PermissionError as error:
            raise TableError(f"Cannot read {quoted(self.path)}: permission denied.") from error
        except OSError as error:
            raise TableError(f"Cannot read {quoted(self.path)}: {error.strerror or error}.") from error
        self.digest = hashlib.sha256(data).hexdigest()
        return data


def _special(path: Path) -> TableError:
    return TableError(f"{quoted(path)} is a pipe or a device; what it gives must be in a file first.")
