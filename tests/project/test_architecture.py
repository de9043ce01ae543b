"""The rules of the house, as far as a machine can see them."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import highrelief

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, TESTS = ROOT / "src" / "highrelief", ROOT / "tests"
#: Folders of tests that mirror no package.
OTHER_FOLDERS = {"contract", "helpers", "long", "oracles", "project"}
#: Modules that are tested by the tests of those that use them; "contract": of every estimator.
TESTED_BY = {
    "contract": [
        "base/euclidean", "base/extraction", "base/folds", "base/progress",
        "base/resampling", "base/training_data", "base/validation", "base/weighter",
    ],
    "cli/test_commands.py": [
        "cli/compare", "cli/errors", "cli/options", "cli/output", "cli/rank", "cli/reproduce", "cli/screen",
    ],
    "inspection/report/test_report.py": [
        "catalog", "inspection/report/contents", "inspection/report/diagnostics",
        "inspection/report/features", "inspection/report/inputs", "inspection/report/wording",
        "selection/halves",
    ],
    "io/test_reading.py": ["io/binary", "io/cells", "io/files", "io/imputation"],
    "papers/test_runner.py": ["papers/experiment", "papers/results"],
    "plots/test_plots.py": [
        "plots/convergence", "plots/drawing", "plots/heat_maps", "plots/margins", "plots/stability",
        "plots/weights",
    ],
    "selection/test_cross_validation.py": ["selection/knn"],
    "selection/test_error_control.py": ["selection/permutation"],
}  # fmt: skip
#: Constants that tests may replace: they bound no size of ours.
MAY_BE_PATCHED = "|".join(
    [
        r"^(?:cache\.)?config\.[A-Z_]+$",  # Numba's
        r"^simd\.SETTING$",  # the value of HIGHRELIEF_VECTORS
        r"_\d{4}\.[A-Z_]+$",  # the design of a paper's experiment, cut to seconds
        r"^dask_scale\.PAGE$",  # where a benchmark writes
    ]
)


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


def public_modules():
    """Modules without an underscore in their path, by that path without its ending."""
    found = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
    return {each.as_posix() for each in found if not any(part.startswith("_") for part in each.parts)}


def test_tests_of_a_public_module_are_at_the_same_place():
    elsewhere = {module: place for place, modules in TESTED_BY.items() for module in modules}
    at_the_same_place = {
        path.relative_to(TESTS).with_name(path.stem.removeprefix("test_")).as_posix()
        for path in TESTS.rglob("test_*.py")
    }
    assert all((TESTS / place).exists() for place in TESTED_BY)
    assert public_modules() - at_the_same_place - set(elsewhere) == set()
    # No exception for what is gone, or has tests of its own by now.
    assert set(elsewhere) - (public_modules() - at_the_same_place) == set()


def test_folders_of_tests_are_those_of_the_package():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"__pycache__"}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == packages | OTHER_FOLDERS


def test_no_test_module_imports_another():
    for path in TESTS.rglob("*.py"):
        found = re.findall(r"^ *(?:from|import) (?:[\w.]+\.)?test_\w+", path.read_text(), flags=re.MULTILINE)
        assert found == [], path


def patched_constants(text):
    """Yield the upper-case names that a test replaces, with the modules as written there."""
    place, name = r"[\w.]+", r"_?[A-Z][A-Z0-9_]*"
    calls = rf"""(?:setattr|patch\.object)\(\s*({place}),\s*["']({name})["']"""
    strings = rf"""(?:setattr|patch)\(\s*["']({place})\.({name})["']"""
    assigned = rf"^ *({place})\.({name}) = "
    for pattern in (calls, strings, assigned):
        yield from (".".join(found) for found in re.findall(pattern, text, flags=re.MULTILINE))


def test_branches_are_forced_by_limits():
    """Constants are replaced by ``with limits(...)`` or ``force(...)``: a name that moves breaks no test."""
    for path in TESTS.rglob("*.py"):
        found = {each for each in patched_constants(path.read_text()) if not re.search(MAY_BE_PATCHED, each)}
        assert found == set(), path


def test_replaced_constants_are_found():
    # Without the name of a module, as this file is searched as well.
    for text in (
        'setattr(%s.X, "_BAND", 1)',
        'patch.object(%s.X, "BAND")',
        'patch("%s.X.BAND", 1)',
        "%s.X.BAND = 1",
    ):
        assert len(list(patched_constants(text % "highrelief"))) == 1, text


def test_limits_are_read_when_code_runs():
    """A value that is read by an import would be that of the default."""
    users = [path for path in PACKAGE.rglob("*.py") if "import limits" in path.read_text()]
    assert users
    for path in users:
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                node.body = []
        owners = [node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        assert "limits" not in [each.id for each in owners if isinstance(each, ast.Name)], path


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
