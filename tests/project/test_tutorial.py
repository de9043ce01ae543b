"""The tutorial, run line by line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT
from registry import long

pytestmark = [pytest.mark.slow, long]

for needed in ("typer", "rich", "polars"):
    pytest.importorskip(needed, reason="the command needs the extra 'report'")

PAGE = ROOT / "docs" / "tutorial.md"


def steps():
    """Commands of the page with what it says they print."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        command, expected = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command is not None:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line)
        yield command, expected


def matches(expected, printed):
    """Whether the printed text is the expected one, ``...`` standing for anything."""
    pattern = ".*?".join(re.escape(part) for part in "\n".join(expected).split("..."))
    return re.fullmatch(pattern, printed.strip("\n"), flags=re.DOTALL) is not None


@pytest.fixture
def shell(tmp_path):
    """Runs commands one after another; each knows the exit code of the one before."""
    path = tmp_path / "bin"
    path.mkdir()
    command = path / "highrelief"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m highrelief "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    last = 0

    def run(line):
        nonlocal last
        result = subprocess.run(
            ["sh", "-c", f"(exit {last}); {line}"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        last = result.returncode
        return result.stdout

    return run


@pytest.mark.skipif(os.name != "posix", reason="the page is written for a POSIX shell")
def test_the_tutorial_does_what_it_says(shell):
    ran = 0
    for command, expected in steps():
        printed = shell(command)
        assert matches(expected, printed), f"{command}\n{printed}"
        ran += 1
    assert ran >= 10


def test_what_the_page_says_can_differ():
    assert matches(["a", "...", "c"], "a\nb\nc\n")
    assert not matches(["a", "c"], "a\nb\n")


def test_the_page_is_linked():
    assert "docs/tutorial.md" in (Path(ROOT) / "README.md").read_text(encoding="utf-8")
