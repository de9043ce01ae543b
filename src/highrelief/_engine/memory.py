"""Free memory, and checks before large allocations.

The smallest of what the machine, its control groups (containers) and the address space have left.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from .limits import limits

# Control groups of version 1 without a limit report a huge number.
_NO_LIMIT = 2.0**60


def memory_budget(requested: float | None) -> float:
    """Return the memory budget in bytes: as requested, or a share of the free memory."""
    return limits.memory_share * free_memory() if requested is None else float(requested)


def check_room(needed: float, what: str, instead: str, *, addresses: float = 0.0) -> None:
    """Raise MemoryError if an allocation would exceed the free memory.

    Parameters
    ----------
    needed : float
        Bytes of the allocation.
    what : str
        What is allocated, as the beginning of a sentence.
    instead : str
        Remedy, as a sentence.
    addresses : float, default=0.0
        Bytes of address space reserved besides and not filled: stacks and arenas of threads. Passed for
        libraries that abort the process if an allocation fails; then allocations of any size are checked.
    """
    if needed <= limits.unchecked_bytes and not addresses:
        return
    free = free_memory()
    for left in _left_in_addresses() if addresses else ():
        if needed + addresses > left:
            raise MemoryError(
                f"{what} would take about {(needed + addresses) / 2**30:.3g} GiB of address space, and"
                f" the limit (ulimit -v) leaves {left / 2**30:.3g} GiB. Raise the limit."
                + (f" {instead}" if needed > limits.unchecked_bytes else "")
            )
    if needed > free:
        raise MemoryError(
            f"{what} would take about {needed / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB are free."
            f" {instead}"
        )


def free_memory() -> float:
    """Return the bytes that this process can allocate without swapping."""
    found = _of_windows() if sys.platform == "win32" else _of_machine()
    return min([limits.assumed_memory if found is None else found, *_left_in_groups(), *_left_in_addresses()])


def _of_machine(meminfo: Path = Path("/proc/meminfo")) -> float | None:
    """Return the available memory that Linux reports, or the free pages of other systems."""
    text = _text(meminfo)
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            count, size = os.sysconf(pages), os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            continue
        if count > 0 and size > 0:
            # Half of all pages are assumed to be free.
            return float(count) * size * (1.0 if pages == "SC_AVPHYS_PAGES" else 0.5)
    return None


def _of_windows() -> float | None:
    class Status(ctypes.Structure):
        """MEMORYSTATUSEX; the second of its seven 64-bit numbers is the available memory."""

        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            ("bytes", ctypes.c_ulonglong * 7),
        )

    status = Status(length=ctypes.sizeof(Status))
    windll = getattr(ctypes, "windll", None)
    if windll is None or not windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return float(status.bytes[1])


def _left_in_groups(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> list[float]:
    """Return what is left under the limits of this process's control groups (containers, batch jobs)."""
    left = []
    for line in _text(groups).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names, root = ("memory.max", "memory.current"), mounted
        elif "memory" in controllers.split(","):
            names, root = ("memory.limit_in_bytes", "memory.usage_in_bytes"), mounted / "memory"
        else:
            continue
        for folder in _upwards(root, path):
            limit, used = (_number(folder / name) for name in names)
            if limit is not None and limit < _NO_LIMIT:
                left.append(max(0.0, limit - (used or 0.0)))
    return left


def _left_in_addresses(statm: Path = Path("/proc/self/statm")) -> list[float]:
    """Return what is left of the address space, which batch systems limit (``ulimit -v``)."""
    try:
        import resource  # noqa: PLC0415  not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError):
        return []
    used = _text(statm).split()
    if limit == resource.RLIM_INFINITY or not used:
        return []
    return [max(0.0, limit - float(used[0]) * resource.getpagesize())]


def _upwards(root: Path, path: str) -> Iterable[Path]:
    """Yield a group's folder and those above it: each may set a limit.

    Inside a container the path is that of the host, and only the root exists.
    """
    folder = root / path.strip("/")
    yield folder
    while folder not in (root, folder.parent):
        folder = folder.parent
        yield folder


def _number(file: Path) -> float | None:
    text = _text(file).strip()
    return float(text) if text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
