"""From a new process to the first weights: with compiled kernels on disk, and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from ..race import Arena
from ..results import Figure, Part
from ..workers import ROOT, THREAD_VARIABLES

TITLE = "Start-up: a new process"
ROUNDS = 5
_BEFORE = "import json, time; start = time.perf_counter()"
_AFTER = "print(json.dumps([time.process_time(), time.perf_counter() - start]))"
_LIBRARIES = "import numba, sklearn"
_FIT = """
import numpy as np
from highrelief import {name}
rng = np.random.default_rng(0)
X = rng.random((200, 100)).astype(np.{dtype})
y = np.arange(200) % 2
{name}({settings}).fit(X, y)
"""
RELIEFF = "n_neighbors=10, n_jobs=1"
WORK = {
    "import numba, sklearn": _LIBRARIES,
    "import numba, sklearn.feature_selection": "import numba, sklearn.feature_selection",
    "import highrelief": "import highrelief",
    "first ReliefF float32": _FIT.format(name="ReliefF", dtype="float32", settings=RELIEFF),
    "first ReliefF float64": _FIT.format(name="ReliefF", dtype="float64", settings=RELIEFF),
    "first IRelief float32": _FIT.format(name="IRelief", dtype="float32", settings="n_jobs=1"),
}
BASE, BOTH = "import numba, sklearn", ("first ReliefF float32", "first ReliefF float64")


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = BASE
    part.notes.append(
        "CPU time of the whole process, interpreter included; on 200 x 100, which itself takes 2 ms."
    )
    work = {name: WORK[name] for name in (BASE, BOTH[0])} if quick else WORK
    for name in work:
        if name.startswith("first"):
            with empty_cache() as variables:
                _write(part, "nothing compiled", name, [_timed(WORK[name], variables)])
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    with empty_cache() as variables:
        for turn in range(1 + (2 if quick else ROUNDS)):
            for name, code in work.items():
                measured = _timed(code, variables)
                if turn > 0:  # the first round compiles
                    times[name].append(measured)
    for name, rounds in times.items():
        _write(part, "kernels on disk", name, rounds)
    _hold_against_targets(part)


@contextmanager
def empty_cache() -> Iterator[dict[str, str]]:
    """Variables under which nothing that was compiled before is found, wherever caches are kept."""
    with tempfile.TemporaryDirectory() as folder:
        yield dict.fromkeys(THREAD_VARIABLES, "1") | {
            "NUMBA_CACHE_DIR": f"{folder}/numba",
            "XDG_CACHE_HOME": f"{folder}/cache",
            "HIGHRELIEF_CACHE_DIR": f"{folder}/highrelief",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])),
        }


def _timed(code: str, variables: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of the work in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", f"{_BEFORE}\n{code}\n{_AFTER}"]
    answer = subprocess.run(
        command, env=os.environ | variables, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    cpu, wall = json.loads(answer.stdout.splitlines()[-1])
    return cpu, wall


def _write(part: Part, case: str, name: str, rounds: list[tuple[float, float]]) -> None:
    for quantity, values in zip(("CPU time", "wall time"), zip(*rounds, strict=True), strict=True):
        part.figures.append(Figure(case, name, quantity, "s", min(values), list(values)))


def _hold_against_targets(part: Part) -> None:
    base = part.value("kernels on disk", BASE)
    for name in BOTH:
        warm, cold = part.value("kernels on disk", name), part.value("nothing compiled", name)
        if base is not None and warm is not None and cold is not None:
            above = f"{name}, kernels on disk: above importing scikit-learn and Numba"
            part.aim(above, "at most", 0.5, warm - base, unit="s")
            part.aim(f"{name}, nothing compiled: compilation", "at most", 15.0, cold - warm, unit="s")
