"""Weka: Java, float64, https://www.cs.waikato.ac.nz/ml/weka; Debian's package ``weka``.

``WekaRelief.java`` runs its ReliefF in one Java process that stays warm. What counts is the CPU time of the
thread that computes, without Java's compiler and its collector of garbage.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

NAME = "Weka"
INSTALL = "apt-get install weka default-jdk-headless (or set WEKA_JAR to weka.jar)"
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 4e9
TOLERANCE = 1e-9
DIFFERS = ""
MEMORY = False

_JAR = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))
_RUNNER = Path(__file__).with_name("WekaRelief.java")
_java: subprocess.Popen[str] | None = None


def version() -> str:
    if not _JAR.exists():
        raise ImportError("Weka is not installed")
    if shutil.which("javac") is None:
        raise ImportError("Weka is installed, but no Java development kit")
    with ZipFile(_JAR) as jar:
        return jar.read("weka/core/version.txt").decode().strip()


def relieff(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    global _java  # noqa: PLW0603  one Java process at a time
    if _java is not None:
        _java.kill()
        _java.wait()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.arff"
        _write_arff(table, X, y)
        # The serial collector: everyone here has one thread.
        command = ["java", "-XX:+UseSerialGC", "-Xmx4g", "-cp", str(_JAR), str(_RUNNER)]
        _java = subprocess.Popen(
            [*command, str(table), str(n_neighbors)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        _ask("clock")

    def fit() -> NDArray[np.floating]:
        return np.array([float(weight) for weight in _ask("fit").split()])

    return fit


def clock() -> float:
    """CPU seconds of Java's main thread."""
    return float(_ask("clock")) * 1e-9


def _ask(request: str) -> str:
    assert _java is not None
    assert _java.stdin is not None
    assert _java.stdout is not None
    _java.stdin.write(request + "\n")
    _java.stdin.flush()
    answer = _java.stdout.readline()
    if not answer:
        raise RuntimeError("Weka stopped")
    return answer


def _write_arff(path: Path, X: NDArray[np.floating], y: NDArray[np.integer]) -> None:
    with path.open("w", encoding="ascii") as file:
        file.write("@relation table\n")
        file.writelines(f"@attribute x{j} numeric\n" for j in range(X.shape[1]))
        names = ",".join(f"c{c}" for c in np.unique(y))
        file.write(f"@attribute y {{{names}}}\n@data\n")
        for row, label in zip(X, y, strict=True):
            file.write(",".join(map(repr, row.tolist())) + f",c{label}\n")
