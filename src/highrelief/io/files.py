"""Files that are there whole or not at all, on the disk and not only in memory."""

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
from .cells import TableError, shown


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give another name, in the same folder, to write to; the file gets its own when it is whole."""
    part = free_name(path.parent)
    # Made by the kernel with the permissions of any new file here, and never over one that is there.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield part
        flush(part)
        part.replace(path)
        flush(path.parent)
    finally:
        part.unlink(missing_ok=True)


def free_name(folder: Path) -> Path:
    """Return a name in a folder that nothing has."""
    return folder / f".highrelief-{uuid.uuid4().hex}"


def flush(path: Path) -> None:
    """Have what was written to a file, or the names in a folder, reach the disk."""
    is_folder = path.is_dir()
    if is_folder and not hasattr(os, "O_DIRECTORY"):  # Windows does not open folders
        return
    try:
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    except PermissionError:
        if is_folder:  # names can be written to a folder that may not be read
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems do not know it of folders.
        if not is_folder or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


# A file is opened and read once, so that its SHA-256 is of the bytes that were parsed.


# A pipe that takes the place of the file after it was checked must not block.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class InputFile:
    """A file whose bytes are read once; raises a TableError if it is no regular file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        #: SHA-256 of the bytes that ``read_bytes`` returned.
        self.digest = ""
        try:
            if path.is_dir():
                raise TableError(f"{shown(path)} is a folder; a file is needed.")
            if not path.exists():
                raise TableError(f"There is no file {shown(path)}.")
            if not path.is_file():
                raise _special(path)
        except OSError as error:  # such as a name that is too long
            raise TableError(f"There can be no file {shown(path)}: {error.strerror}.") from error

    def read_bytes(self) -> bytes:
        """What is in the file, as ``Path.read_bytes``; raises a TableError if it cannot be read."""
        try:
            with open(os.open(self.path, _FLAGS), "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise _special(self.path)
                check_room(status.st_size, f"The file {self.name!r}", "Use a smaller one.")
                data = stream.read()
        except PermissionError as error:
            raise TableError(f"{shown(self.path)} may not be read: {error.strerror}.") from error
        except OSError as error:
            raise TableError(f"Cannot read {shown(self.path)}: {error.strerror or error}.") from error
        self.digest = hashlib.sha256(data).hexdigest()
        return data


def _special(path: Path) -> TableError:
    return TableError(f"{shown(path)} is a pipe or a device; what it gives must be in a file first.")
