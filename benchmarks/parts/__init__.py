"""One part of the benchmarks, one file: each has a ``TITLE`` and ``run(arena, part, quick)``.

``run`` lets contenders race and holds what came out against the targets. ``quick`` is for a look, not for
figures.
"""

from importlib import import_module
from types import ModuleType

#: In the order in which they run. Memory first: before the machine's memory has been in other hands.
NAMES = (
    "memory",
    "startup",
    "compile",
    "relieff",
    "surf",
    "missing",
    "irelief",
    "logo",
    "im4e",
    "frel",
    "hknn",
    "lfe",
    "simba",
    "lhr",
    "limit",
    "avx2",
    "threads",
    "scaling",
    "algorithms",
    "ensembles",
    "cross_validation",
    "permutation",
    "sparse",
    "dask",
    "big",
)


def load(name: str) -> ModuleType:
    """The module of a part."""
    return import_module(f"{__name__}.{name}")
