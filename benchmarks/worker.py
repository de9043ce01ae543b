"""One contender in a process of its own: takes requests and gives answers, one line of JSON each.

``python -m benchmarks.worker`` with the interpreter that has the contender's library. NumPy is all it needs
besides.

======== ========================================= ========================================================
request  with                                      answer
======== ========================================= ========================================================
prepare  slot, peer, method, settings, shape,      version; detail, if there is something to tell
         dtype, folder (null: make the table)
round    slot, memory: whether to measure the peak cpu, wall, main (CPU of the main thread): seconds;
                                                   memory: MiB above what was held
answer   slot                                      weights
clear                                              nothing; the slots are empty again
======== ========================================= ========================================================

A slot is one table, one method, one set of settings.

Anything that goes wrong is answered by ``error``; ``missing`` says what to install.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import data, peers
from .memory import peak, settle


@dataclass
class Slot:
    """What is prepared, and the last answer."""

    module: ModuleType
    call: Callable[[], Any]
    result: Any = None


class Worker:
    """The requests."""

    def __init__(self) -> None:
        self.slots: dict[str, Slot] = {}
        self.tables: dict[Any, tuple[Any, Any]] = {}

    def prepare(
        self,
        slot: str,
        peer: str,
        method: str,
        settings: dict[str, Any],
        shape: list[Any],
        dtype: str,
        folder: str | None,
    ) -> dict[str, Any]:
        """Load the table, and compile or load whatever the contender needs, on a small one."""
        module = peers.load(peer)
        try:
            version = module.version()
        except ImportError as error:
            return {"missing": f"{error}: {module.INSTALL}"}
        wanted = data.Shape(*shape)
        make_call = getattr(module, method)
        make_call(*data.make(wanted.smaller(), dtype), **settings)()
        key = wanted, dtype
        if key not in self.tables:
            self.tables[key] = data.make(wanted, dtype) if folder is None else _stored(Path(folder))
        self.slots[slot] = Slot(module, make_call(*self.tables[key], **settings))
        answer = {"version": version}
        if hasattr(module, "detail"):
            answer["detail"] = module.detail(method, dtype, **settings)
        return answer

    def round(self, slot: str, memory: bool) -> dict[str, Any]:
        """One fit."""
        prepared = self.slots[slot]
        prepared.result = None
        clock = getattr(prepared.module, "clock", time.process_time)
        before = settle() if memory else 0.0
        wall, main, cpu = time.perf_counter(), time.thread_time(), clock()
        prepared.result = prepared.call()
        cpu, main, wall = clock() - cpu, time.thread_time() - main, time.perf_counter() - wall
        answer = {"cpu": cpu, "main": main, "wall": wall}
        if memory and getattr(prepared.module, "MEMORY", True):
            answer["memory"] = peak() - before
        return answer

    def clear(self) -> dict[str, Any]:
        """Forget tables and calls."""
        self.slots.clear()
        self.tables.clear()
        return {}

    def answer(self, slot: str) -> dict[str, Any]:
        """The weights; of a matrix of distances, the sums of its rows without the diagonal."""
        weights = np.array(self.slots[slot].result, dtype=np.float64)
        if weights.ndim == 2:
            np.fill_diagonal(weights, 0.0)
            weights = weights.sum(axis=1)
        return {"weights": weights.tolist()}


def _stored(folder: Path) -> tuple[Any, Any]:
    return np.load(folder / "X.npy"), np.load(folder / "y.npy")


def main() -> None:
    # Libraries print; what they print must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
