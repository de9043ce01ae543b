"""A file is opened and read once, so that its SHA-256 is of the bytes that were parsed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from ..core.memory import check_room
from .errors import TableError, shown

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
