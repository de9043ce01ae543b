"""Python in a process of its own: for what happens at import, at exit, after a fork, or beside others."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def start(code: str, *, path: Path = ROOT / "src", **environment: Any) -> subprocess.Popen:
    """Begin to run code that prints one JSON value, with ``path`` first among the places of modules."""
    return subprocess.Popen(
        [sys.executable, "-B", "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (path, ROOT / "tests", ROOT / "tests" / "helpers"))),
            **{name: str(value) for name, value in environment.items()},
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen, timeout: float = 600.0) -> Any:
    """What the process printed, when it has ended well."""
    try:
        printed, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, errors
    return json.loads(printed.splitlines()[-1])


def run(code: str, *, path: Path = ROOT / "src", timeout: float = 600.0, **environment: Any) -> Any:
    """Run code that prints one JSON value in its last line, and return the value."""
    return answer(start(code, path=path, **environment), timeout)
