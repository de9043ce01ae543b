"""Compilation is announced where it takes long, and is no part of measured times."""

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from command_line import ENVIRONMENT, highrelief, table_text
from registry import long

from highrelief import ReliefF
from highrelief._engine.limits import limits
from highrelief.base import compilation
from highrelief.base.compilation import clock, compilation_seconds, observing_compilation


def kernel(module="highrelief._kernels.nearest"):
    """An event of Numba about a kernel of a module."""
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def compilations(monkeypatch):
    """Compilations of a process that has compiled nothing yet."""
    fresh = compilation._Compilations()
    monkeypatch.setattr(compilation, "_compilations", fresh)
    return fresh


def test_is_announced_once_where_it_takes_long(compilations, capsys):
    compilations.on_start(kernel())
    compilations.on_end(kernel())
    assert capsys.readouterr().err == ""
    with limits(compilation_delay=0.0):
        for _ in range(2):
            compilations.on_start(kernel())
            compilations.on_end(kernel())
    shown = capsys.readouterr().err
    assert shown == f"highrelief: {compilation.MESSAGE}\n"


def test_is_announced_while_it_takes_long(compilations, capsys):
    with limits(compilation_delay=0.01):
        compilations.on_start(kernel())
        until = time.monotonic() + 10.0
        shown = ""
        while not shown and time.monotonic() < until:
            time.sleep(0.01)
            shown = capsys.readouterr().err
        compilations.on_end(kernel())
    assert compilation.MESSAGE in shown


def test_an_observer_replaces_the_message(compilations, capsys):
    told = []
    with limits(compilation_delay=0.0), observing_compilation(told.append):
        compilations.on_start(kernel())
        compilations.on_start(kernel())  # called by the first
        compilations.on_end(kernel())
        assert told == [True]
        compilations.on_end(kernel())
    assert told == [True, False]
    assert capsys.readouterr().err == ""


def test_kernels_of_others_are_theirs(compilations, capsys):
    with limits(compilation_delay=0.0):
        compilations.on_start(kernel("users.module"))
        compilations.on_end(kernel("users.module"))
    assert (compilations.seconds, capsys.readouterr().err) == (0.0, "")


def test_time_stands_still_meanwhile(compilations):
    before = clock()
    compilations.on_start(kernel())
    time.sleep(0.2)
    assert compilation_seconds() > 0.1
    compilations.on_end(kernel())
    assert clock() - before < compilation_seconds()


@pytest.mark.slow
def test_a_record_has_the_time_of_fitting_without_it(tmp_path, monkeypatch, compilations):
    pytest.importorskip("typer", reason="the command needs the extra 'cli'")
    fit, wall = ReliefF.fit, []

    def compiling(self, *arguments, **options):
        begin = time.perf_counter()
        compilations.on_start(kernel())
        time.sleep(1.0)
        compilations.on_end(kernel())
        fit(self, *arguments, **options)
        wall.append(time.perf_counter() - begin)

    monkeypatch.setattr(ReliefF, "fit", compiling)
    (tmp_path / "t.csv").write_text(table_text())
    options = ("-t", "class", "-m", "relieff", "--out", tmp_path / "out", "--no-report")
    with limits(compilation_delay=0.0):
        shown = highrelief("rank", tmp_path / "t.csv", *options).stderr
    assert shown.count(f"- {compilation.MESSAGE}\n") == 1
    times = json.loads((tmp_path / "out" / "run.json").read_text())["time"]
    assert times["compiling"] >= 1.0
    assert times["fitting"] < wall[0]


@long
@pytest.mark.slow
def test_a_cold_cache(tmp_path):
    """One line, of a process that compiles; none of the next, which loads the kernels."""
    code = "from highrelief import ReliefF; ReliefF().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])"
    for expected in (f"highrelief: {compilation.MESSAGE}\n", ""):
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**ENVIRONMENT, "HIGHRELIEF_CACHE_DIR": str(tmp_path)},
        )
        assert result.stderr == expected
