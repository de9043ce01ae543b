"""The pages: every class has one with an example, and links lead to files. The examples run as doctests."""

import re
import runpy
from pathlib import Path

import pytest

import highrelief

ROOT = Path(__file__).resolve().parents[2]
METHODS = ROOT / "docs" / "methods"
CONTENTS = METHODS / "README.md"
PAGES = sorted(path for path in METHODS.glob("*.md") if path != CONTENTS)
LINKED = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def prose(path):
    """Text without what is shown as it is: blocks and spans of code."""
    without_blocks = re.sub(
        r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    return re.sub(r"`[^`\n]*`", "", without_blocks)


def relative_links(path):
    """Targets of links and pictures that are files."""
    targets = re.findall(r"\]\(\s*<?([^)>\s]+)", prose(path))
    return [target for target in targets if not re.match(r"[a-z][a-z0-9+.-]*:|#", target)]


def examples(path):
    """Lines of the examples that doctest runs."""
    return "\n".join(
        re.findall(r"^(?:>>>|\.\.\.) (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )


def test_the_tree_in_contributing_names_every_package():
    tree = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## The tree")[1].split("```")[1]
    package = ROOT / "src" / "highrelief"
    names = [each.name for each in package.glob("*.py") if not each.name.startswith("__")]
    names += [f"{each.parent.name}/" for each in package.glob("*/__init__.py")]
    assert [name for name in names if name not in tree] == []


def test_the_walk_through_a_fit_names_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = text.split("## How a fit runs")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+/[\w/]+\.py)`", walk)
    assert named
    assert [name for name in named if not (ROOT / "src" / "highrelief" / name).exists()] == []


def test_links_are_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[a](x.md) ![b](y.svg#z) [c](https://example.org) [d](#here) `[e](e.md)`\n```\n[f](f.md)\n```\n"
        "[g](../g)\n"
    )
    assert relative_links(page) == ["x.md", "y.svg#z", "../g"]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    lost = [target for target in relative_links(page) if not (page.parent / target.split("#")[0]).exists()]
    assert not lost


@pytest.mark.parametrize("name", highrelief.__all__)
def test_every_public_name_has_a_page_with_an_example(name):
    assert any(re.search(rf"\b{name}\b", examples(page)) for page in PAGES), "no page of a method uses it"


@pytest.mark.parametrize("name", highrelief.__all__)
def test_every_public_name_is_in_the_table_of_contents(name):
    """With a link: a name of a file alone stands for a page that is still to come."""
    rows = re.findall(
        rf"^\| `{name}` \|.*\]\(([\w-]+\.md)\) \|$", CONTENTS.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert rows, "its row in docs/methods/README.md is missing"
    assert all(METHODS / row in PAGES for row in rows)


def test_the_readme_is_read_in_a_minute():
    """What it is, installation, an example, a command, two pictures, a short table; no more."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first_screen = text.split("\n## ")[0]
    for word in (
        "feature selection",
        "ReliefF",
        "scikit-learn",
        "pip install highrelief",
        "make demo",
        "make test",
    ):
        assert word in first_screen
    assert len(text.splitlines()) <= 110
    assert len(re.findall(r"^\| ", text, flags=re.MULTILINE)) <= 12
    assert max(len(re.findall(r"\]\(", part)) for part in text.split("\n\n")[2:]) <= 5
    assert len(re.findall(r"^!\[", text, flags=re.MULTILINE)) == 2


@pytest.mark.parametrize(
    "name", re.findall(r"^\|[^|]+\| (`.+`) \|$", (ROOT / "README.md").read_text("utf-8"), re.M)
)
def test_the_readme_names_public_classes(name):
    assert set(re.findall(r"`(\w+)`", name)) <= set(highrelief.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_says_what_it_must(page):
    text = page.read_text(encoding="utf-8")
    assert ">>>" in text
    assert "$$" in text
    headings = "\n".join(re.findall(r"^## (.+)$", text, flags=re.MULTILINE)).lower()
    for wanted in ("cost", "when to use", "when it fails", "references"):
        assert wanted in headings


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_table_of_contents_leads_to_every_page(page):
    assert page.name in relative_links(CONTENTS)


def test_every_published_table_and_figure_is_on_the_pages_of_results():
    from highrelief.papers.runner import PAPERS, papers

    overview = (ROOT / "docs" / "reproduced.md").read_text(encoding="utf-8")
    for module, paper in zip(PAPERS, papers(), strict=True):
        page = (ROOT / "docs" / "reproduced" / f"{module}.md").read_text(encoding="utf-8")
        for each in paper.experiments:
            assert f"\n## {each.name}\n" in page
            assert f"highrelief reproduce {each.name} --data DATA" in page
            assert f"(reproduced/{module}.md#{each.name})" in overview
        for name, reason in paper.not_run.items():
            assert f"`{name}`: {reason}" in overview


def test_words_to_avoid_are_found_in_prose_only(tmp_path):
    words = runpy.run_path(str(ROOT / ".ci" / "words.py"))
    page = tmp_path / "page.md"
    page.write_text(
        "It says so.\n\n`says` and\n```\nprint('says')\n```\nGroups act together, and act together.\n"
        "The classes are told\napart; a colour.\n"
    )
    assert [(line, found) for line, found, _ in words["found_in"](page)] == [
        (1, "says"),
        (9, "colour"),
        (7, "act together"),
    ]
    module = tmp_path / "module.py"
    module.write_text('"""Say what is found."""\nx = "a whole number"  # nobody\nsays = "says"\n')
    assert [(line, found) for line, found, _ in words["found_in"](module)] == [
        (1, "Say"),
        (2, "whole number"),
    ]
