"""The command, run as a process or, since that takes seconds to start, as a function."""

import contextlib
import csv
import io
import os
import pty
import subprocess
import sys
import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
from processes import ROOT

SETTINGS = {"COLUMNS": "80", "NO_COLOR": "1"}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **SETTINGS}


def highrelief(*arguments, cwd=None):
    """Run the command in this process, and return what it showed and its exit code as a process would."""
    from highrelief.cli.commands import app

    shown, errors = io.StringIO(), io.StringIO()
    command = ["highrelief", *map(str, arguments)]
    with (
        mock.patch.dict(os.environ, SETTINGS),
        contextlib.chdir(cwd or "."),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(errors),
        _warnings_on_standard_error(),
    ):
        try:
            app(command[1:], prog_name=command[0])
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(command, code, shown.getvalue(), errors.getvalue())


@contextmanager
def _warnings_on_standard_error():
    """Have warnings shown, as where nobody records them."""

    def shown(message, category, filename, lineno, file=None, line=None):
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.showwarning = shown
        yield


def as_a_process(*arguments, cwd=None, **options):
    """Run the command as a stranger does."""
    return subprocess.run(
        [sys.executable, "-m", "highrelief", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=cwd,
        env=ENVIRONMENT,
        **options,
    )


@contextmanager
def started(*arguments, **options):
    """A run that goes on; whatever becomes of it, it is ended with the test."""
    with subprocess.Popen(
        [sys.executable, "-m", "highrelief", *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT} | options,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def on_a_terminal(stream, width, *arguments, patience=1e6):
    """What a run shows where its standard output, or its errors, go to a terminal of some width.

    What takes longer than ``patience``, in seconds, shows how long it will take.
    """
    code = (
        "from highrelief._engine.limits import limits\nfrom highrelief.cli import main\n"
        "with limits(progress_delay=%r): main()"
    )
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code % patience, *map(str, arguments)],
        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: slave},
        env={**ENVIRONMENT, "COLUMNS": str(width), "TERM": "xterm"},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux says so at the end
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


def refused(result, code, *says):
    """The command ended with one sentence and the exit code that it should."""
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("highrelief: ")
    assert "Traceback" not in result.stderr
    for each in says:
        assert each in lines[0]


def table_text(n_samples=40, n_features=6, seed=0, names=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    names = names or [f"g{j}" for j in range(n_features)]
    lines = [",".join(["sample", "class", *names])]
    lines += [",".join([f"s{i}", y[i], *(repr(float(v)) for v in X[i])]) for i in range(n_samples)]
    return "\n".join(lines) + "\n"


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
