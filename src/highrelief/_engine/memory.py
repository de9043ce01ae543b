"""How much memory is free."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

#: Share of the free memory that may be taken where the user does not say.
SHARE = 0.5
#: What is taken to be free where the system does not say.
UNKNOWN = 2.0**31
#: Bytes that are taken without a question, which would take longer than to fill them.
UNASKED = 2.0**27
# A limit of a control group that is none: version 1 has a number that no machine reaches.
_NO_LIMIT = 2.0**60


def memory_budget(asked: float | None) -> float:
    """Bytes that may be spent: what the user asked for, or a share of what is free."""
    return SHARE * free_memory() if asked is None else float(asked)


def check_room(needed: float, what: str, instead: str, *, addresses: float = 0.0) -> None:
    """Raise if something is about to be made that there is no room for.

    Parameters
    ----------
    needed : float
        Its bytes.
    what : str
        What it is, as the beginning of a sentence.
    instead : str
        A sentence: what would need less.
    addresses : float, default=0.0
        Bytes of address space that are reserved beside it and not filled: stacks and arenas of threads.
        Given for libraries that abort the process when an allocation fails, so that nothing is too small
        to be checked.
    """
    if needed <= UNASKED and not addresses:
        return
    free = free_memory()
    for left in _left_in_addresses() if addresses else ():
        if needed + addresses > left:
            raise MemoryError(
                f"{what} would take about {(needed + addresses) / 2**30:.3g} GiB of address space, and"
                f" the limit (ulimit -v) leaves {left / 2**30:.3g} GiB. Raise the limit."
                + (f" {instead}" if needed > UNASKED else "")
            )
    if needed > free:
        raise MemoryError(
            f"{what} would take about {needed / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB are free."
            f" {instead}"
        )


def free_memory() -> float:
    """Bytes that this process can still take without pushing anything out."""
    found = _of_windows() if sys.platform == "win32" else _of_machine()
    return min([UNKNOWN if found is None else found, *_left_in_groups(), *_left_in_addresses()])


def _of_machine(meminfo: Path = Path("/proc/meminfo")) -> float | None:
    """What Linux states as available, or the free pages that other systems count."""
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
            # Of all pages there are, half may be taken to be free.
            return float(count) * size * (1.0 if pages == "SC_AVPHYS_PAGES" else 0.5)
    return None


def _of_windows() -> float | None:
    class Status(ctypes.Structure):
        """MEMORYSTATUSEX; the third of the seven numbers after the first two is the free memory."""

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
    """What is left under the limits of the control groups that hold this process (containers, batch jobs)."""
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
    """What is left of the addresses that the process may use: ``ulimit -v``, as batch systems set it."""
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
    """A group's folder and those above it: each may set a limit.

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
