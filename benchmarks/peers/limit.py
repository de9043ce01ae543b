"""The limit kernel of ``benchmarks/limit``: C++, compiled for this machine, nothing but the passes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import limit

NAME = "limit kernel"
INSTALL = "apt-get install g++"
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = None
TOLERANCE = 1e-5
DIFFERS = ""
# It works in place, on arrays that are there.
MEMORY = False


def version() -> str:
    try:
        command = [limit.compiler(), "-dumpfullversion"]
    except limit.NoCompilerError as error:
        raise ImportError(str(error)) from error
    return "g++ " + subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def detail(method: str, dtype: str, target: str = "native", **_: Any) -> str:
    """Which of its variants is the fastest here."""
    passes = ("distances", "weighted_minima") if method == "irelief" else ("distances",)
    return "; ".join(f"{name} by {_kernel(target).choice(name, dtype)}" for name in passes)


@cache
def _kernel(target: str) -> limit.Limit:
    return limit.Limit(target)


def distances(
    X: NDArray[np.floating], y: NDArray[np.integer], target: str = "native"
) -> Callable[[], NDArray[Any]]:
    return _kernel(target).distance_pass(limit.Layout(X))


def irelief(
    X: NDArray[np.floating], y: NDArray[np.integer], max_iter: int, target: str = "native"
) -> Callable[[], NDArray[Any]]:
    """Both passes over all features, ``max_iter`` times: what I-RELIEF costs without its exponentials."""
    table = limit.Layout(X)
    first = _kernel(target).distance_pass(table)
    second = _kernel(target).second_pass(table, np.full((table.n_rows, table.n_rows), 1e-6, X.dtype))

    def run() -> NDArray[Any]:
        for _ in range(max_iter):
            first()
            sums = second()
        return sums

    return run
