"""Contenders as processes: started once, asked for one round at a time."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent

#: Read by the libraries when they are imported: how many threads they may use.
THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class WorkerError(RuntimeError):
    """A contender failed, or took too long."""


class MissingError(WorkerError):
    """A contender is not installed."""


def interpreter(venv: str | None) -> str:
    """Python of an environment; None is this one."""
    if venv is None:
        return sys.executable
    found = ROOT / f".venv-bench-{venv}" / "bin" / "python"
    if not found.exists():
        raise MissingError(f"no environment: make .venv-bench-{venv}/.installed")
    return str(found)


class Process:
    """A worker process (see ``worker.py``)."""

    def __init__(self, venv: str | None, environment: dict[str, str], threads: int) -> None:
        variables = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)) | environment
        command = [interpreter(venv), "-m", "benchmarks.worker"]
        self._child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        self._complaints: list[str] = []
        for stream, take in (
            (self._child.stdout, self._answers.put),
            (self._child.stderr, self._complaints.append),
        ):
            threading.Thread(target=_read, args=(stream, take), daemon=True).start()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise WorkerError(f"more than {seconds:.0f} s") from None
        except OSError:
            line = ""
        if not line:
            raise WorkerError(f"stopped: {''.join(self._complaints[-5:]).strip()}")
        answer = json.loads(line)
        if "missing" in answer:
            raise MissingError(answer["missing"])
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    @property
    def alive(self) -> bool:
        """Whether it still takes requests."""
        return self._child.poll() is None

    def close(self) -> None:
        """End the process."""
        self._child.kill()
        self._child.wait()


def _read(stream: IO[str], take: Any) -> None:
    for line in stream:
        take(line)
    take("")
