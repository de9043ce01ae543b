"""Files that are there whole or not at all, on the disk and not only in memory."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems do not know it of folders.
        if not is_folder or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)
