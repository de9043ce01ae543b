"""The site: every public name and command has its reference, decisions cite evidence, pages fit a phone."""

import re
import runpy
from pathlib import Path

import browser as browsers
import pytest
from registry import THOROUGH

import highrelief

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def reference():
    return runpy.run_path(str(DOCS / "api_pages.py"))


def test_every_public_name_has_a_page_in_the_reference(reference, tmp_path):
    reference["write_pages"](tmp_path)
    written = {path.stem for path in tmp_path.glob("*.rst")}
    named = {*highrelief.__all__, *highrelief._FUNCTIONS}
    assert {f"highrelief.{name}" for name in named} <= written
    for module in highrelief._MODULES:
        public = getattr(highrelief, module).__all__
        assert {f"highrelief.{module}.{name}" for name in public} <= written
    contents = (tmp_path / "index.rst").read_text(encoding="utf-8")
    assert all(f"<{page}>" in contents for page in written - {"index"})


def test_pages_of_names_that_are_gone_are_taken_away(reference, tmp_path):
    (tmp_path / "highrelief.Gone.rst").write_text("Gone\n")
    reference["write_pages"](tmp_path)
    assert not (tmp_path / "highrelief.Gone.rst").exists()


def test_pages_list_what_is_ours_and_name_what_is_not(reference):
    listed = list(reference["members"](highrelief.IRelief))
    assert {"fit", "margins", "transform"} <= set(listed)
    assert "get_params" not in listed
    assert "get_params" in list(reference["borrowed"](highrelief.IRelief))


def test_names_stand_under_the_right_headings(reference):
    groups = {entry.name: entry.group for entry in reference["entries"]()}
    assert groups["ReliefF"] == "Feature weighters"
    assert groups["KernelWidthCV"] == "Around any weighter"
    assert groups["EnsembleWeighting"] == "Around any weighter"
    assert groups["LFE"] == "Feature extraction"
    assert groups["HKNNClassifier"] == "Classification"
    assert groups["report"] == "Functions"


def test_the_command_reference_has_every_option(reference):
    typer = pytest.importorskip("typer")
    from highrelief.cli.commands import app

    text = reference["command_reference"]()
    for name, command in typer.main.get_command(app).commands.items():
        section = text.split(f"\nhighrelief {name}\n---")[1].split("\n---")[0]
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                assert all(option in section for option in parameter.opts)
    assert not re.search(r"(?<![`:])`[^`\n]+`(?!`)", text), "a role without a name"


def test_terms_of_the_glossary_are_in_order():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8").split("```")[1]
    terms = re.findall(r"^(\w.*)$", text, flags=re.MULTILINE)
    assert len(terms) > 20
    assert terms == sorted(terms, key=str.lower)


SITE = DOCS / "_build" / "html"
#: Generated pages of the reference and the gallery look alike: one of eight, unless all are to be tested.
PAGES = sorted(SITE.rglob("*.html"))
PAGES = [
    path
    for place, path in enumerate(PAGES)
    if THOROUGH or place % 8 == 0 or path.relative_to(SITE).parts[0] not in {"api", "gallery"}
]
#: Wider than the window, though not inside an element that scrolls by itself.
CUT_OFF = """() => [...document.querySelectorAll('.bd-article *')].filter((each) => {
    if (!each.checkVisibility() || each.getBoundingClientRect().right <= innerWidth + 1) return false;
    for (let at = each; at && !at.matches('.bd-article'); at = at.parentElement)
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(at).overflowX)) return false;
    return true;
  }).map((each) => `${each.tagName} ${each.className}`).slice(0, 5)"""
#: Displayed formulas that are wider than their column.
WIDE_FORMULAS = """() => [...document.querySelectorAll('mjx-container[display] > svg')]
  .filter((each) => each.getBoundingClientRect().width > each.closest('.math').clientWidth + 1)
  .map((each) => `${each.getBoundingClientRect().width} > ${each.closest('.math').clientWidth}`)"""


@pytest.fixture(scope="module")
def window():
    if not SITE.exists():
        pytest.skip("no site: make docs")
    with browsers.launched() as browser:
        context = browser.new_context(reduced_motion="reduce")
        context.set_offline(True)
        yield context.new_page()
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE).with_suffix("")))
def test_a_page_fits_a_phone_and_its_formulas_fit_their_column(path, window):
    window.set_viewport_size({"width": 390, "height": 844})
    window.goto(path.as_uri())
    window.evaluate("window.MathJax?.startup?.promise")
    assert window.evaluate("document.documentElement.scrollWidth") <= 390, window.evaluate(CUT_OFF)
    assert window.evaluate(CUT_OFF) == []
    window.set_viewport_size({"width": 1280, "height": 900})
    assert window.evaluate(WIDE_FORMULAS) == []


def evidence():
    """Text of the table behind the decisions."""
    text = (DOCS / "choosing.md").read_text(encoding="utf-8")
    return text.split("\n## Evidence\n")[1].split("\n## ")[0]


def decisions():
    """Rows of the table of evidence: what was measured, and the page that it is from."""
    text = evidence()
    return re.findall(r"^\|[^|]+\|[^|]+\| ([^|]+) \| \[[^]]+\]\(([^)]+)\) \|$", text, flags=re.MULTILINE)


def numbers(text):
    return set(re.findall(r"\d[\d,]*(?:\.\d+)?", re.sub(r"`[^`]*`|5-NN|XOR of \d|2350 x 230000", "", text)))


def test_every_decision_names_its_source():
    rows = [line for line in evidence().splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(decisions()) >= 20


def test_the_decision_path_comes_first_and_is_short():
    text = (DOCS / "choosing.md").read_text(encoding="utf-8").split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert 8 <= len(rows) <= 12
    for name in re.findall(r"`(\w+)\(", "\n".join(rows)):
        assert hasattr(highrelief, name) or name == "fit"


@pytest.mark.parametrize(("measured", "page"), decisions(), ids=lambda each: each[:30])
def test_the_numbers_of_a_decision_stand_on_its_page(measured, page):
    source = numbers((DOCS / page).read_text(encoding="utf-8"))
    wanted = {number.rstrip(",") for number in numbers(measured)}
    assert wanted
    assert wanted <= {number.rstrip(",") for number in source}


@pytest.mark.parametrize("page", sorted((DOCS / "papers").glob("*-20*.md")), ids=lambda page: page.stem)
def test_a_paper_has_what_the_others_have(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings == ["The problem", "The formulas", "What it costs", "When it fails", "How it is read"]
    assert "$$" in text
    assert ">>>" in text
    assert re.search(r"\(\.\./reproduced/\w+\.md\)", text)


def test_there_is_a_page_for_each_paper():
    # Benchmarks have results, and no method to explain.
    benchmarks = {"urbanowicz_2018", "passemiers_2024"}
    results = {page.stem for page in (DOCS / "reproduced").glob("*.md")}
    assert benchmarks <= results
    assert len(list((DOCS / "papers").glob("*-20*.md"))) == len(results - benchmarks) == 5
