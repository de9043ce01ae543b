"""The rules of the house, as far as a machine can see them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import highrelief

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "highrelief").rglob("*.py"))


def test_imports_go_one_way():
    pytest.importorskip("importlinter")
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_public_names_are_documented_with_an_example():
    for name in highrelief.__all__:
        documentation = getattr(highrelief, name).__doc__
        assert ">>>" in documentation, name
        assert "References" in documentation, name


def test_kernels_are_cached_and_release_the_lock():
    for path in (ROOT / "src" / "highrelief" / "_kernels").glob("*.py"):
        text = path.read_text()
        if path.stem != "jit":
            assert "njit" not in text, f"{path.name} compiles by itself instead of through jit.py"
        assert "fastmath=True" not in text
        assert "prange" not in text


def test_the_readme_begins_with_the_two_commands():
    commands = re.findall(r"^make \w+", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]


def test_version_is_the_same_everywhere():
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert declared.group(1) == highrelief.__version__
