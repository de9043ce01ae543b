"""What compilation takes: first fits beside fast-select's, a warm-up, and each kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from ..race import Arena
from ..results import Figure, Part
from ..workers import ROOT
from .startup import empty_cache

TITLE = "Compilation: first fits of a new process with an empty cache"
ROUNDS = 3
RIVAL = "fast-select ReliefF"
RELIEFF, FIVE, WARM_UP = "ReliefF", "five in turn", "warm-up"
WORK = {
    RELIEFF: ["ReliefF"],
    "IRelief": ["IRelief"],
    FIVE: ["ReliefF", "IRelief", "LOGO", "MultiSURF", "FREL"],
    WARM_UP: ["warmup"],
}
CASE = "nothing compiled"
_FAST_SELECT = """
import json, resource
import numpy as np
from fast_select import ReliefF
X, y = np.random.default_rng(0).random((200, 100)), np.arange(200) % 2
ReliefF(n_neighbors=10, backend="cpu", n_jobs=1, discrete_limit=0).fit(X.astype(np.float32), y)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024, "kernels": {}}))
"""


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = RIVAL
    part.notes.append("CPU time of the whole process, imports included; fits on 200 x 100, which take 2 ms.")
    part.notes.append(f"{FIVE}: {', '.join(WORK[FIVE])}. Compiled: machine code; linked: for callers only.")
    commands = {RIVAL: ["-c", _FAST_SELECT]}
    commands |= {name: ["-m", "benchmarks.compilation", *names] for name, names in WORK.items()}
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for turn in range(1 if quick else ROUNDS):
        for name, command in commands.items():
            if name != WARM_UP or (turn == 0 and not quick):
                answers[name] += _answers(command)
    for name, rounds in answers.items():
        if rounds:
            _write(part, name, rounds)
    for name in (RELIEFF, WARM_UP):
        if answers[name]:
            _write_kernels(part, name, answers[name][0]["kernels"])
    _hold_against_targets(part)


def _answers(command: list[str]) -> list[dict[str, Any]]:
    """What a process with an empty cache prints; nothing if a library is missing."""
    with empty_cache() as variables:
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", *command],
            env=os.environ | variables,
            check=False,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
    if "ModuleNotFoundError" in ended.stderr:
        return []
    ended.check_returncode()
    return [json.loads(ended.stdout.splitlines()[-1])]


def _write(part: Part, name: str, rounds: list[dict[str, Any]]) -> None:
    for key, quantity, unit in (("cpu", "CPU time", "s"), ("memory", "largest memory", "MiB")):
        values = [each[key] for each in rounds]
        part.figures.append(Figure(CASE, name, quantity, unit, min(values), values))
    kernels = rounds[0]["kernels"].values()
    if kernels:
        compiling = [sum(each["seconds"] for each in answer["kernels"].values()) for answer in rounds]
        part.figures.append(Figure(CASE, name, "compilation", "s", min(compiling), compiling))
        for kind in ("compiled", "linked"):
            count = sum(len(each[kind]) for each in kernels)
            part.figures.append(Figure(CASE, name, f"signatures {kind}", "", count))


def _write_kernels(part: Part, name: str, kernels: dict[str, Any]) -> None:
    quantity = f"kernels of {name}"
    for kernel, each in sorted(kernels.items(), key=lambda item: -item[1]["seconds"]):
        figures = {
            "CPU s": each["seconds"],
            "share of LLVM": each["llvm"] / each["seconds"],
            "compiled": len(each["compiled"]),
            "linked": len(each["linked"]),
        }
        part.figures += [Figure(case, kernel, quantity, "", value) for case, value in figures.items()]


def _hold_against_targets(part: Part) -> None:
    fits = "CPU time of the process, times that of fast-select's first fit"
    part.aim(f"first ReliefF: {fits}", "at most", 1.0, part.ratio(CASE, RELIEFF, RIVAL))
    part.aim(f"{FIVE}: {fits}", "at most", 2.5, part.ratio(CASE, FIVE, RIVAL))
    part.aim("first ReliefF: compilation", "at most", 6.0, part.value(CASE, RELIEFF, "compilation"), "s")
    part.aim("warm-up: CPU time", "at most", 57.0, part.value(CASE, WARM_UP), "s")
    part.aim("warm-up: memory", "at most", 500.0, part.value(CASE, WARM_UP, "largest memory"), "MiB")
