"""How much memory this process holds, and held at most."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

MIB = 2.0**20
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def held() -> float:
    """MiB held now; where the system does not tell, the most that was ever held."""
    return _from_status("VmRSS")


def peak() -> float:
    """Most MiB held since :func:`settle`, or ever where the system cannot forget."""
    return _from_status("VmHWM")


def settle() -> float:
    """Give back what is free, forget the peak, and tell what is held: a fit is measured above it."""
    gc.collect()
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    # Where it fails the peak stays; a worker that loads its table without a second copy had no higher one.
    with suppress(OSError):
        _CLEAR.write_text("5")
    return held()


def _from_status(name: str) -> float:
    # Not `ru_maxrss`, which a child inherits from its parent.
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return _from_resource()
    return next(float(line.split()[1]) for line in lines if line.startswith(name + ":")) / 1024.0


def _from_resource() -> float:
    try:
        import resource
    except ImportError:
        return float("nan")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB if sys.platform == "darwin" else most / 1024.0
