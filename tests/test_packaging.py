"""What the files around the package say of it: the same in all of them."""

import re
import tomllib
from pathlib import Path

import pytest

import highrelief

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
#: Where conda-forge has another name.
CONDA_NAMES = {"matplotlib": "matplotlib-base", "dask[array,dataframe]": "dask"}


def bounds(requirements):
    """Names and lower bounds of requirements; an error if one has any other bound but of Python."""
    found = {}
    for each in requirements:
        name, version = re.fullmatch(
            r"([\w-]+(?:\[[\w,]+\])?) ?>= ?([\d.]+)(?:; python_version < '3\.\d+')?", each
        ).groups()
        found[name] = version
    return found


def in_conda(requirements):
    return {CONDA_NAMES.get(name, name): version for name, version in bounds(requirements).items()}


def test_one_version_everywhere():
    version = highrelief.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+|\.dev\d+)?", version)
    assert PROJECT["version"] == version
    assert str(CITATION["version"]) == version
    assert RECIPE["context"]["version"] == version
    releases = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert version in releases[:2]


def test_dependencies_are_few_and_bounded_from_below_only():
    assert set(bounds(PROJECT["dependencies"])) == {
        "numpy",
        "scipy",
        "scikit-learn",
        "numba",
        "joblib",
        "threadpoolctl",
    }
    for name in EXTRAS.keys() - {"all"}:
        # Extras may hold others of ours.
        bounds(each for each in EXTRAS[name] if not each.startswith("highrelief["))
    assert re.fullmatch(r">=3\.\d+", PROJECT["requires-python"])


def test_the_extras_are_those_that_users_are_told_of():
    assert set(EXTRAS) == {"report", "dask", "anndata", "save", "knockoffs", "test", "docs", "all"}
    inside = re.fullmatch(r"highrelief\[(.+)\]", *EXTRAS["all"])[1].split(",")
    assert set(inside) == set(EXTRAS) - {"test", "docs", "all"}
    named = set()
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"):
        for names in re.findall(r"highrelief\[([\w,]+)\]", path.read_text()):
            named |= set(names.split(","))
    assert named <= set(EXTRAS)


def test_what_the_tests_need_is_not_older_than_what_users_need():
    used = bounds(PROJECT["dependencies"])
    for name in ("report", "dask", "save"):
        used |= bounds(EXTRAS[name])
    tested = bounds(EXTRAS["test"])
    assert {name: tested[name] for name in tested.keys() & used.keys()} == {
        name: used[name] for name in tested.keys() & used.keys()
    }
    assert used.keys() - tested.keys() == set(bounds(PROJECT["dependencies"]))


def test_the_lower_bounds_are_what_is_tested():
    pinned = {}
    for line in (ROOT / "tests" / "oldest-requirements.txt").read_text().splitlines():
        if match := re.fullmatch(r"([\w-]+(?:\[[\w,]+\])?)==([\d.]+?)(?:\.\*)?", line):
            pinned[match[1]] = match[2]
    for name in (
        PROJECT["dependencies"],
        EXTRAS["report"],
        EXTRAS["dask"],
        EXTRAS["save"],
        EXTRAS["anndata"],
    ):
        for package, version in bounds(name).items():
            assert pinned[package] == version or pinned[package] == f"{version}.0", package


def test_the_supported_pythons_are_the_tested_ones():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    named = [match[1] for each in PROJECT["classifiers"] if (match := pattern.fullmatch(each))]
    assert named[0] == oldest == RECIPE["context"]["python_min"]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    first = jobs["everything"]["steps"][1]["with"]["python-version"]
    assert [first, *jobs["tests"]["strategy"]["matrix"]["python"]] == named


def test_the_recipe_for_conda_asks_for_the_same():
    needs = RECIPE["requirements"]
    host = [each for each in needs["host"] if each.startswith("hatchling")]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert bounds(host) == bounds(build)
    run = [each for each in needs["run"] if not each.startswith("python ")]
    assert bounds(run) == in_conda([*PROJECT["dependencies"], *EXTRAS["report"]])
    others = [*EXTRAS["dask"], *EXTRAS["anndata"], *EXTRAS["save"], *EXTRAS["knockoffs"]]
    assert bounds(needs["run_constraints"]) == in_conda(others)
    assert RECIPE["build"]["python"]["entry_points"] == [f"highrelief = {PROJECT['scripts']['highrelief']}"]
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["license_file"] == PROJECT["license-files"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_the_citation_says_what_the_package_says():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license"} <= CITATION.keys()
    assert CITATION["title"] == PROJECT["name"]
    assert CITATION["authors"] == PROJECT["authors"]
    assert CITATION["license"] == PROJECT["license"].split(" AND ")
    assert CITATION["abstract"] == PROJECT["description"]
    assert CITATION["keywords"] == PROJECT["keywords"]


def test_the_changelog_is_one():
    """As keepachangelog.com has it: newest first, and what changed by kinds."""
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    for heading in headings:
        assert re.fullmatch(
            r"\[(Unreleased|\d+\.\d+\.\d+)\]( - (\d{4}-\d{2}-\d{2}|not released yet))?", heading
        )
    kinds = set(re.findall(r"^### (.+)$", text, flags=re.MULTILINE))
    assert kinds
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_six_steps_lead_to_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = text.split("## Add an algorithm in six steps\n")[1].split("\n## ")[0]
    assert re.findall(r"^(\d)\. \*\*", steps, flags=re.MULTILINE) == list("123456")
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|toml))`", steps))
    places = (ROOT, ROOT / "src" / "highrelief")
    new = {path for path in named if re.search(r"(^|[/_])name[._]", path)}
    assert len(new) == 4
    assert [path for path in named - new if not any((place / path).exists() for place in places)] == []
    assert "BAD_PARAMETERS = {" in (ROOT / "tests" / "test_errors.py").read_text(encoding="utf-8")
    # What the steps tell a newcomer to call.
    bases = ROOT / "src" / "highrelief" / "bases"
    base = (bases / "weighter.py").read_text() + (bases / "input.py").read_text()
    for name in ("_check_fit", "_rows", "_set_weights", "_check_parameters"):
        assert f"def {name}(" in base, name


def test_the_package_is_typed():
    assert (ROOT / "src" / "highrelief" / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["classifiers"]
