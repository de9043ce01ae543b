"""A copy of the compiling part of the package, with two kernels that compile quickly."""

import shutil
from pathlib import Path

from processes import ROOT

INNER = """
import os
from .jit import kernel

FACTOR = int(os.environ.get("PROBE_FACTOR", "2"))

@kernel
def inner(x):
    return x * FACTOR
"""


OUTER = """
from .inner import inner
from .jit import kernel

@kernel
def outer(x):
    return inner(x) + 1
"""


def install(folder: Path) -> Path:
    """Put the compiling part of the package into a folder, with two kernels that compile quickly."""
    kernels = folder / "highrelief" / "_kernels"
    kernels.mkdir(parents=True)
    source = ROOT / "src" / "highrelief"
    for name in ("__init__", "catalog"):
        shutil.copyfile(source / f"{name}.py", folder / "highrelief" / f"{name}.py")
    for name in ("__init__", "jit", "cache", "intrinsics", "simd"):
        shutil.copyfile(source / "_kernels" / f"{name}.py", kernels / f"{name}.py")
    (kernels / "inner.py").write_text(INNER)
    (kernels / "outer.py").write_text(OUTER)
    return folder
