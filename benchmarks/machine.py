"""Where a run was made."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .workers import ROOT

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite")
#: What an Intel processor of 2013 has, as LLVM names it: AVX2 and multiply-adds, no AVX-512.
_HASWELL = (
    "64bit avx avx2 bmi bmi2 cmov crc32 cx16 cx8 ermsb f16c fma fsgsbase fxsr invpcid lzcnt mmx movbe pclmul"
    " popcnt rdrnd sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 x87 xsave xsaveopt"
)


def environment() -> dict[str, Any]:
    """Machine, processor, versions."""
    from llvmlite.binding import get_host_cpu_name

    return {
        "processor": _from_proc("/proc/cpuinfo", "model name") or platform.processor(),
        "llvm_cpu": get_host_cpu_name(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "commit": _commit(),
        **{name: version(name) for name in LIBRARIES},
    }


def haswell_variables() -> dict[str, str]:
    """What makes Numba compile for Haswell on this machine; raises LookupError where it could not run.

    The name alone leaves the features of the host switched on: all it does not have must be switched off.
    """
    from llvmlite.binding import get_host_cpu_features

    host, haswell = dict(get_host_cpu_features()), set(_HASWELL.split())
    if not all(host.get(name) for name in ("avx2", "fma")):
        raise LookupError("this machine has no AVX2")
    features = ",".join(("+" if on and name in haswell else "-") + name for name, on in sorted(host.items()))
    return {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": features}


def _memory() -> str:
    total = _from_proc("/proc/meminfo", "MemTotal").split()
    return f"{int(total[0]) / 2**20:.0f} GiB" if total else ""


def _from_proc(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def _commit() -> str:
    """State of the sources; "+" marks changes that are not committed."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
