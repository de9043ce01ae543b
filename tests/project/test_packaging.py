"""What the files around the package say of it: the same in all of them."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import highrelief

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
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
    assert set(EXTRAS) == {"cli", "report", "dask", "anndata", "save", "test", "docs", "all"}
    inside = re.fullmatch(r"highrelief\[(.+)\]", *EXTRAS["all"])[1].split(",")
    assert EXTRAS["report"] == ["highrelief[cli]"]  # the former name
    assert set(inside) == set(EXTRAS) - {"report", "test", "docs", "all"}
    named = set()
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"):
        for names in re.findall(r"highrelief\[([\w,]+)\]", path.read_text()):
            named |= set(names.split(","))
    assert named <= set(EXTRAS)


def test_what_the_tests_need_is_not_older_than_what_users_need():
    used = bounds(PROJECT["dependencies"])
    for name in ("cli", "dask", "save"):
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
        EXTRAS["cli"],
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


WORKFLOWS = {path.name: path.read_text() for path in sorted((ROOT / ".github" / "workflows").iterdir())}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit(name):
    """With the version beside it, which Dependabot raises with the commit."""
    used = re.findall(r"^ *(?:- )?uses: *(.+)$", WORKFLOWS[name], flags=re.MULTILINE)
    assert used
    for each in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each
    parsed = [
        step["uses"]
        for job in yaml.safe_load(WORKFLOWS[name])["jobs"].values()
        for step in job["steps"]
        if "uses" in step
    ]
    assert parsed == [each.partition(" #")[0] for each in used]


def test_one_commit_of_each_action():
    used = re.findall(r"uses: *([\w/-]+)@(\w+) # (\S+)", "\n".join(WORKFLOWS.values()))
    assert len({action for action, *_ in used}) == len(set(used))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_have_no_more_rights_than_they_need(name):
    workflow = yaml.safe_load(WORKFLOWS[name])
    assert workflow["permissions"] == {}
    for key, job in workflow["jobs"].items():
        allowed = {"contents": "read", "id-token": "write", "attestations": "write"}
        if (name, key) == ("release.yml", "attach"):
            allowed = {"contents": "write"}
        assert job["permissions"].items() <= allowed.items()
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
        # Who may sign runs nothing of the repository's.
        assert "id-token" not in job["permissions"] or not any("run" in step for step in job["steps"])
    assert "secrets." not in WORKFLOWS[name]


def test_a_release_is_built_once_checked_and_attested():
    release = yaml.safe_load(WORKFLOWS["release.yml"])
    # YAML takes the word "on" for true.
    assert release[True] == {"push": {"tags": ["v*"]}}
    build, publish = release["jobs"]["build"], release["jobs"]["publish"]
    runs = "\n".join(step.get("run", "") for step in build["steps"])
    for step in ("make audit", "make package-check DIST=dist"):
        assert step in runs
    assert set(publish["needs"]) == {"build", "attest"}
    assert publish["environment"] == "pypi"
    assert publish["permissions"] == {"id-token": "write"}


def test_an_sbom_accompanies_a_release_and_cannot_change_it():
    jobs = yaml.safe_load(WORKFLOWS["release.yml"])["jobs"]
    runs = {key: "\n".join(step.get("run", "") for step in job["steps"]) for key, job in jobs.items()}
    # Files are uploaded before anything is installed beside them to be listed, which is in another job.
    assert jobs["build"]["steps"][-1]["with"]["name"] == "dist"
    assert "pip install" not in runs["build"]
    assert "cyclonedx-py environment" in runs["sbom"]
    assert jobs["sbom"]["steps"][-1]["with"]["name"] == "sbom"
    assert set(jobs["attest"]["needs"]) == {"build", "sbom"}
    # Who may write runs nothing of the repository's.
    assert jobs["attach"]["permissions"] == {"contents": "write"}
    assert "gh release upload" in runs["attach"]
    assert not any("checkout" in step.get("uses", "") for step in jobs["attach"]["steps"])


@pytest.mark.skipif(shutil.which("bash") is None, reason="the step is written for bash")
@pytest.mark.parametrize("tag", [f"v{highrelief.__version__}", "v9.9.9", highrelief.__version__])
def test_a_release_has_the_version_of_its_tag(tag):
    steps = yaml.safe_load(WORKFLOWS["release.yml"])["jobs"]["build"]["steps"]
    (compare,) = [each["run"] for each in steps if each.get("name") == "Compare the tag with the version"]
    folder = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": folder, "GITHUB_REF_NAME": tag}
    ended = subprocess.run(
        ["bash", "-e", "-c", compare], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == int(tag != f"v{highrelief.__version__}")
    assert ended.returncode == 0 or f"The tag is {tag}," in ended.stderr


def test_public_checks_need_advisories():
    """Where there are none, the audit says so and passes; the public runs fail."""
    for name, job in (("ci.yml", "everything"), ("release.yml", "build")):
        assert yaml.safe_load(WORKFLOWS[name])["jobs"][job]["env"] == {"HIGHRELIEF_AUDIT_REQUIRED": "1"}
    assert "HIGHRELIEF_AUDIT_REQUIRED" not in (ROOT / ".ci" / "run").read_text()


KNOWN = {"name": "harmless", "version": "1.0", "vulns": []}
HOLE = {"name": "holey", "version": "1.0", "vulns": [{"id": "CVE-2000-1", "fix_versions": ["1.1"]}]}
UNKNOWN = {"name": "local", "skip_reason": "no advisory data"}


@pytest.mark.parametrize(
    ("dependencies", "required", "code", "printed"),
    [
        ([KNOWN, UNKNOWN], True, 0, "No hole is known in 1 packages; 1 others"),
        ([KNOWN, HOLE], False, 1, "holey 1.0: CVE-2000-1"),
        ([UNKNOWN], False, 0, "NOT AUDITED"),
        ([UNKNOWN], True, 1, "NOT AUDITED"),
        (None, False, 0, "NOT AUDITED"),
        (None, True, 1, "NOT AUDITED"),
    ],
)
def test_the_audit(dependencies, required, code, printed, monkeypatch, capsys):
    """With what pip-audit would print; it prints nothing where it fails."""
    audit = runpy.run_path(str(ROOT / ".ci" / "audit.py"))
    output = "" if dependencies is None else json.dumps({"dependencies": dependencies})
    ended = subprocess.CompletedProcess([], 1, stdout=output, stderr="ConnectionError: no network")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    monkeypatch.setattr(sys, "argv", ["audit.py", "site-packages"])
    monkeypatch.setenv("HIGHRELIEF_AUDIT_REQUIRED", "1" if required else "")
    assert audit["main"]() == code
    assert printed in capsys.readouterr().out


def test_dependabot_looks_at_all_that_is_installed():
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())
    updates = {each["package-ecosystem"]: each for each in config["updates"]}
    assert set(updates) == {"pip", "github-actions"}
    assert all(each["schedule"] == {"interval": "weekly"} and each["groups"] for each in updates.values())
    for folder in updates["pip"]["directories"]:
        assert (ROOT / folder.removeprefix("/")).is_dir()


def test_the_recipe_for_conda_asks_for_the_same():
    needs = RECIPE["requirements"]
    host = [each for each in needs["host"] if each.startswith("hatch")]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert bounds(host) == bounds(build)
    run = [each for each in needs["run"] if not each.startswith("python ")]
    assert bounds(run) == in_conda([*PROJECT["dependencies"], *EXTRAS["cli"]])
    others = [*EXTRAS["dask"], *EXTRAS["anndata"], *EXTRAS["save"]]
    assert bounds(needs["run_constraints"]) == in_conda(others)
    assert RECIPE["build"]["python"]["entry_points"] == [f"highrelief = {PROJECT['scripts']['highrelief']}"]
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["license_file"] == PROJECT["license-files"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]
    assert RECIPE["about"]["homepage"] == PROJECT["urls"]["Documentation"]
    assert RECIPE["about"]["repository"] == PROJECT["urls"]["Source"]


def test_the_citation_says_what_the_package_says():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license"} <= CITATION.keys()
    assert CITATION["title"] == PROJECT["name"]
    assert CITATION["authors"] == PROJECT["authors"]
    assert CITATION["license"] == PROJECT["license"].split(" AND ")
    assert CITATION["abstract"] == PROJECT["description"]
    assert CITATION["keywords"] == PROJECT["keywords"]
    assert CITATION["url"] == PROJECT["urls"]["Documentation"]
    assert CITATION["repository-code"] == PROJECT["urls"]["Source"]


def test_links_of_the_readme_work_on_pypi():
    """Relative links become absolute and lead to files; all name the repository as project.urls does."""
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for each in hook["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []
    source = PROJECT["urls"]["Source"]
    raw = source.replace("github.com", "raw.githubusercontent.com") + "/main/"
    files = [
        link.removeprefix(place)
        for link in links
        for place in (raw, f"{source}/blob/main/")
        if link.startswith(place)
    ]
    assert len(files) >= 10
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert any(link.startswith(PROJECT["urls"]["Documentation"]) for link in links)
    assert {link.split("/")[3] for link in links if "github" in link} == {source.split("/")[3]}


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


def test_the_steps_to_add_a_method_lead_to_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = text.split("## Add a method\n")[1].split("\n## ")[0]
    assert re.findall(r"^(\d)\. \*\*", steps, flags=re.MULTILINE) == list("12345")
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|toml))`", steps))
    places = (ROOT, ROOT / "src" / "highrelief")
    new = {path for path in named if re.search(r"(^|[/_])name[._]", path)}
    assert len(new) == 4
    assert [path for path in named - new if not any((place / path).exists() for place in places)] == []
    assert "BAD_PARAMETERS = {" in (ROOT / "tests" / "contract" / "test_errors.py").read_text(
        encoding="utf-8"
    )
    # What the steps tell a newcomer to call.
    folder = ROOT / "src" / "highrelief" / "base"
    base = (folder / "weighter.py").read_text() + (folder / "validation.py").read_text()
    for name in ("_check_fit", "_choose_engine", "_set_weights", "_check_parameters"):
        assert f"def {name}(" in base, name


def test_the_package_is_typed():
    assert (ROOT / "src" / "highrelief" / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["classifiers"]
