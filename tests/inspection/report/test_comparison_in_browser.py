"""The page of a comparison, in a real browser."""

from dataclasses import replace

import pytest
from browser import broken_rules
from comparison_contents import NAMES, evil_comparison, evil_origin, small_comparison, small_origin
from page_checks import (
    DESK,
    PHONE,
    assert_charts_are_drawn,
    assert_colors_follow,
    assert_fits,
    assert_inert,
    assert_keyboard_reaches,
    assert_outline,
    background,
    point_at_everything,
    scroll_through,
    without_breaks,
)
from report_contents import EVIL

import highrelief
from highrelief.inspection.comparison import Comparison, compare
from highrelief.inspection.report.comparison import comparison_contents
from highrelief.inspection.report.page import comparison_page

pytestmark = pytest.mark.slow

N_CHARTS = 5


def small_contents():
    return comparison_contents(
        small_comparison(),
        small_origin(),
        feature_names=NAMES,
        notes=["The column 'id' names the samples."],
        warnings=["One class is small."],
    )


def evil_contents():
    return comparison_contents(
        evil_comparison(EVIL),
        evil_origin(EVIL),
        feature_names=EVIL[:4],
        classifier_descriptions=dict.fromkeys(EVIL, EVIL[0]),
        title=" ".join(EVIL),
        notes=EVIL,
        warnings=EVIL,
    )


def many_contents():
    """All that the command offers, under long names, with one fold: little can be told."""
    small = small_comparison()
    one = [
        replace(
            each,
            name=f"{each.name} " + "long " * number,
            accuracy={
                name: replace(
                    found, folds=found.folds[:1], n_fitted=found.n_fitted[:1], n_left_out=found.n_left_out[:1]
                )
                for name, found in each.accuracy.items()
            },
            weights=each.weights[:1],
            selections=each.selections[:1],
            seconds=each.seconds[:1],
        )
        for number in range(12)
        for each in small.methods[:1]
    ]
    baseline = replace(
        small.methods[-1], selections=small.methods[-1].selections[:1], seconds=small.methods[-1].seconds[:1]
    )
    baseline = replace(baseline, accuracy=one[0].accuracy)
    return comparison_contents(Comparison([*one, baseline], small.folds[:1]), small_origin())


CONTENTS = {"small": small_contents, "evil": evil_contents, "many": many_contents}


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparisons")

    def path(kind):
        made = folder / f"{kind}.html"
        if not made.exists():
            made.write_text(comparison_page(CONTENTS[kind]()), encoding="utf-8")
        return made

    return path


@pytest.fixture
def reader(visit, page_file):
    return lambda kind="small", **options: visit(page_file(kind), **{**DESK, **options})


@pytest.mark.parametrize(("kind", "n_charts"), [("small", N_CHARTS), ("many", N_CHARTS - 1)])
def test_every_chart_is_drawn(reader, kind, n_charts):
    assert_charts_are_drawn(reader(kind), n_charts)


@pytest.mark.parametrize("kind", ["small", "evil", "many"])
def test_a_phone_does_not_scroll_sideways(reader, kind):
    assert_fits(reader(kind, **PHONE))


def test_colors_follow_the_reader_and_the_button(reader):
    assert_colors_follow(reader())


@pytest.mark.parametrize(("kind", "window"), [("small", DESK), ("evil", PHONE)])
def test_accessible(reader, kind, window):
    page = reader(kind, **window)
    scroll_through(page)
    assert broken_rules(page) == []
    assert_outline(page)


def test_everything_is_reached_by_the_keyboard(reader):
    stops = assert_keyboard_reaches(
        reader(), ["a.skip", "#theme", "[data-save]", "[data-copy]", "nav a", "summary", ".scrolled"]
    )
    assert stops[0]["classes"] == "skip"


def cells(page, table):
    rows = page.locator(f"{table} tbody tr")
    return [rows.nth(row).locator("th, td").all_inner_texts() for row in range(rows.count())]


def minus(text):
    return text.replace("-", "\N{MINUS SIGN}")


def test_the_tables_hold_the_figures(reader):
    page = reader()
    judged = cells(page, "#accuracy-table")
    assert [row[:2] for row in judged[:2]] == [["irelief", "knn"], ["irelief", "linear-svm"]]
    assert len(judged) == 8
    # 0.4, 0.4, 0.4, 0.5 above all features: see the test of the contents.
    assert judged[0][3] == "+42.5 (+30.3 to +54.7)"
    assert judged[0][4] == "–"  # noqa: RUF001
    assert judged[2][4] == minus("+5.0 (-19.3 to +29.3)")
    methods = cells(page, "#methods-table")
    assert [row[0] for row in methods] == ["irelief", "fisher", "other", "all features"]
    assert methods[0][1:3] == ["2 (1 to 2)", "1.00"]
    assert methods[1][2] == minus("-0.33")
    assert methods[3][1:5] == ["4", "–", "–", "–"]  # noqa: RUF001
    assert cells(page, "#chosen-table")[0] == ["alpha", "4 rank 1", "2 rank 2.5", "4 rank 1"]


def test_without_scripts_words_and_tables_stand(reader):
    page = reader(scripts=False)
    for sentence in small_contents().summary:
        assert page.get_by_text(sentence).is_visible()
    assert page.locator("#accuracy-table").is_visible()
    assert page.locator("noscript p").is_visible()


def test_paper(reader):
    page = reader(color_scheme="dark")
    page.emulate_media(media="print")
    assert background(page) > 0.9
    assert len(page.pdf()) > 30_000


def test_names_are_text(reader):
    expected = reader().evaluate("['script', 'style'].map((each) => document.querySelectorAll(each).length)")
    page = reader("evil")
    assert_inert(page, *expected)
    point_at_everything(page)
    assert_inert(page, *expected)

    def texts(selector):
        return [without_breaks(each) for each in page.locator(selector).all_text_contents()]

    assert texts("#methods-table tbody th") == [*EVIL[:3], "all features"]
    assert texts("#chosen-table tbody th") == list(EVIL[:4])
    assert texts("h1") == [without_breaks(" ".join(EVIL))]
    assert texts(".note.warning li") == [without_breaks(each) for each in EVIL]
    assert page.locator(".references a").count() == 0


def test_a_real_comparison_becomes_a_page(visit, tmp_path):
    X, y, _ = highrelief.datasets.make_xor(120, n_irrelevant=10, random_state=0)
    methods = {"relieff": highrelief.ReliefF(), "fisher": highrelief.FisherScore()}
    found = compare(methods, X, y, cv=3, inner_cv=2, random_state=0)
    report = highrelief.comparison_report(found, methods=methods, path=tmp_path / "comparison.html")
    assert [each.text.split(",")[0] for each in report.contents.origin.references] == [
        "Kononenko",
        "Robnik-Šikonja",
        "Duda",
    ]
    page = visit(tmp_path / "comparison.html", **DESK)
    assert_charts_are_drawn(page, N_CHARTS)
    assert page.get_by_text("ReliefF()").is_visible()
    assert 'title="Comparison of methods"' in report._repr_html_()
