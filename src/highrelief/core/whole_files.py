"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give another name, in the same folder, to write to; the file gets its own when it is whole."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(permissions(0o666))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def permissions(wished: int) -> int:
    """Those that a new file or folder gets here; temporary ones are for their owner alone."""
    denied = os.umask(0)
    os.umask(denied)
    return wished & ~denied
