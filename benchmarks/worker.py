"""One contender in a process of its own: takes requests and gives answers, one line of JSON each.

``python -m benchmarks.worker`` with the interpreter that has the contender's library. NumPy is all it needs
besides.

======== ==================================================== =========================================
request  with                                                 answer
======== ==================================================== =========================================
prepare  peer, method, settings, shape, dtype, folder or null version
round    memory: whether the peak is measured                 cpu, wall, main (CPU of the main thread) in
                                                              seconds, memory: MiB above what was held
answer                                                        weights
======== ==================================================== =========================================

Anything that goes wrong is answered by ``error``; ``missing`` says what to install.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import data, memory, peers


class Worker:
    """What is prepared, and the last answer."""

    def __init__(self) -> None:
        self.module: Any = None
        self.call: Any = None
        self.result: Any = None

    def prepare(
        self, peer: str, method: str, settings: dict[str, Any], shape: list[Any], dtype: str, folder: str | None
    ) -> dict[str, Any]:
        """Load the table, and compile or load whatever the contender needs, on a small one."""
        self.call = self.result = None  # the table before
        self.module = peers.load(peer)
        try:
            version = self.module.version()
        except ImportError as error:
            return {"missing": f"{error}; {self.module.INSTALL}"}
        wanted = data.Shape(*shape)
        make_call = getattr(self.module, method)
        make_call(*data.make(wanted.smaller(), dtype), **settings)()
        X, y = data.make(wanted, dtype) if folder is None else _stored(Path(folder))
        self.call = make_call(X, y, **settings)
        return {"version": version}

    def round(self, memory: bool) -> dict[str, Any]:
        """One fit."""
        self.result = None
        clock = getattr(self.module, "clock", time.process_time)
        before = _settled() if memory else 0.0
        wall, main, cpu = time.perf_counter(), time.thread_time(), clock()
        self.result = self.call()
        cpu, main, wall = clock() - cpu, time.thread_time() - main, time.perf_counter() - wall
        answer = {"cpu": cpu, "main": main, "wall": wall}
        if memory and getattr(self.module, "IN_PROCESS", True):
            answer["memory"] = _peak() - before
        return answer

    def answer(self) -> dict[str, Any]:
        """The weights; of a matrix of distances, the sums of its rows without the diagonal."""
        weights = np.array(self.result, dtype=np.float64)
        if weights.ndim == 2:
            np.fill_diagonal(weights, 0.0)
            weights = weights.sum(axis=1)
        return {"weights": weights.tolist()}


_settled, _peak = memory.settle, memory.peak


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
