"""The page of a ranking, as a document: what a browser makes of it is tested in a browser."""

import importlib
import sys
from dataclasses import asdict, replace

import pytest
from documents import Document, data_of

pytest.importorskip("jinja2")

from report_contents import bare_contents, evil_contents, feature_table, full_contents, mixed_contents

from highrelief._engine.limits import limits
from highrelief.inspection.report.contents import Member, SimilarFeatures, TwoFeatures
from highrelief.inspection.report.page import (
    N_PLAIN,
    count,
    figure,
    label,
    ranking_page,
    shortly,
    signed,
    two_digits,
    unbroken,
    web_address,
)


@pytest.mark.parametrize("make", [full_contents, bare_contents, evil_contents, mixed_contents])
def test_is_a_well_formed_document(make):
    contents = make()
    document = Document(ranking_page(contents))
    assert document.all("html")[0][0]["lang"] == "en"
    assert document.all("title") == [({}, contents.title.replace("\0", ""))]
    assert len(document.all("h1")) == len(document.all("main")) == 1
    ids = [found["id"] for _, found, _ in document.elements if "id" in found]
    assert len(ids) == len(set(ids))
    # Every link inside the page leads somewhere.
    targets = [found["href"][1:] for found, _ in document.all("a") if found["href"].startswith("#")]
    assert len(targets) > 10
    assert set(targets) <= set(ids)


def test_every_word_of_the_contents_stands_in_the_page():
    contents = full_contents()
    text = "\n".join(each[2] for each in Document(ranking_page(contents)).elements if each[0] != "script")
    parts = (
        contents.features,
        contents.convergence,
        contents.stability,
        contents.samples,
        contents.correlations,
        contents.interactions,
    )
    words = [*contents.summary, *contents.notes, *contents.warnings, *contents.samples.reasons]
    words += [each for part in parts for each in part.words]
    words += [each for pair in contents.facts for each in pair]
    words += [contents.method, contents.method_class, contents.method_words, contents.origin.again]
    for pairs in (
        contents.origin.parameters,
        contents.origin.data,
        contents.origin.versions,
        contents.origin.time,
    ):
        words += [*pairs, *pairs.values()]
    words += [each for paper in contents.origin.references for each in (paper.text, paper.bibtex)]
    assert [each for each in words if unbroken(each) not in text] == []


def test_what_is_missing_has_a_column_for_readers_without_scripts():
    mixed, full = (Document(ranking_page(make())) for make in (mixed_contents, full_contents))
    assert "Missing" in [text for _, text in mixed.all("th", scope="col")]
    assert {"<1 %", "40 %"} <= {text for _, text in mixed.all("td")}
    assert "Missing" not in [text for _, text in full.all("th", scope="col")]


def test_absent_parts_say_why():
    contents = bare_contents()
    document = Document(ranking_page(contents))
    assert [text for _, text in document.all("p", **{"class": "absent"})] == list(contents.absent.values())
    assert [found["id"] for found, _ in document.all("div", role="img")] == ["weights-chart"]


def test_charts_are_described():
    charts = Document(ranking_page(full_contents())).all("div", role="img")
    # The finding, two pairs and the map; eight sections; six distributions.
    assert len(charts) == 4 + 8 + 6
    assert all(len(found["aria-label"]) > 30 for found, _ in charts)
    assert any("gene 00001" in found["aria-label"] for found, _ in charts[:4])


def test_the_best_features_stand_in_the_page_itself():
    contents = full_contents()
    page = ranking_page(contents)
    document = Document(page)
    rows = [text for found, text in document.all("span", **{"class": "clamped"})]
    assert rows[:N_PLAIN] == contents.features.names[:N_PLAIN]
    groups, pairs = contents.correlations.similar, contents.interactions.pairs
    n_rows = [N_PLAIN, len(contents.samples.suspects), len(groups), len(pairs)]
    # In the table of answers, the recommended row has a class.
    n_rows.append(len(contents.finding.answers) - 1)
    assert page.count("<tr>") == sum(1 + each for each in n_rows)


def test_scripts_get_the_numbers_as_they_are():
    contents = full_contents()
    found = data_of(ranking_page(contents))
    whole = asdict(contents)
    assert found["features"] == {**whole["features"], "words": []}
    assert (found["n_features"], found["n_kept"]) == (120, 10)
    for part in (
        "classes",
        "class_sizes",
        "convergence",
        "stability",
        "samples",
        "distributions",
        "correlations",
        "interactions",
    ):
        assert found[part] == whole[part]


def test_what_is_no_number_is_refused():
    contents = full_contents(3, 4)
    features = replace(contents.features, weights=[float("nan"), 0.0, 0.0])
    with pytest.raises(ValueError, match="JSON"):
        ranking_page(replace(contents, features=features))


def test_20_000_features_take_little_room():
    contents = full_contents(20_000, 200)
    names = [f"ENSG{place:011d}.{place % 20} (symbol {place})" for place in range(20_000)]
    contents = replace(contents, features=feature_table(names))
    assert len(ranking_page(contents).encode()) < 5_000_000


def test_a_page_carries_as_many_features_as_can_be_opened(force):
    """A million features would make a page of 100 MB: it holds the best, and says so."""
    force(page_features=60)
    contents = full_contents(1_000)
    page = ranking_page(contents)
    found = data_of(page)
    for name, values in found["features"].items():
        if name not in ("words", "alone", "missing"):
            assert values == getattr(contents.features, name)[:60], name
    assert found["features"]["missing"] is None
    assert (found["n_features"], found["n_kept"]) == (1_000, 10)
    text = " ".join(each[2] for each in Document(page).elements)
    assert "hold the best 60 of 1,000 features" in text
    assert "Best 60" in text
    assert "Full ranking" not in text
    assert "Bar chart of the weights of the best 60 features" in page


@pytest.mark.slow
def test_a_page_of_very_many_features_stays_of_a_size_that_opens():
    names = [f"cg{place:08d}_TC21" for place in range(limits.page_features + 20_000)]
    page = ranking_page(full_contents(names=names))
    assert len(page.encode()) < 12_000_000
    assert len(data_of(page)["features"]["names"]) == limits.page_features


def test_groups_are_listed_by_the_best_of_each():
    contents = full_contents()
    members = [Member(name, rank, 0.9 - 0.01 * rank) for rank, name in enumerate("cdef", start=5)]
    some = replace(contents.correlations, similar=[SimilarFeatures("b", 4, members)])
    page = Document(ranking_page(replace(contents, correlations=some)))
    assert [text for _, text in page.all("bdi")][-4:] == list("cdef")
    assert "4 features, |r| 0.82 to 0.85" in [text for _, text in page.all("summary")]
    none = Document(ranking_page(replace(contents, correlations=replace(some, similar=[]))))
    assert not list(none.all("table", id="groups"))


def test_losses_within_noise_are_in_brackets():
    page = ranking_page(full_contents())
    assert "<strong>97 %</strong>" in page
    assert "<strong>\N{MINUS SIGN}60 %</strong>" in page
    pair = TwoFeatures("a", "b", 0.4, -0.123, False, True)
    contents = full_contents()
    page = ranking_page(replace(contents, interactions=replace(contents.interactions, pairs=[pair])))
    assert "(40 %)" in page
    assert "<strong>\N{MINUS SIGN}12 %</strong>" in page


def heading_of_suspects(contents):
    ((_, text),) = Document(ranking_page(contents)).all("h3", id="suspects-title")
    return text


def test_samples_are_called_mislabeled_only_by_a_method_that_tells():
    contents = full_contents()
    assert heading_of_suspects(contents) == "Samples that may be mislabeled, the likeliest first"
    hard = replace(contents.samples, outlier_probability=None, n_suspects=75)
    told = replace(contents, samples=hard)
    assert heading_of_suspects(told) == "Hard samples, the hardest first (2 of 75)"
    page = ranking_page(told)
    samples = page[page.index('<h2 id="samples">') : page.index('<h2 id="distributions">')]
    assert "mislabeled" not in samples.replace(hard.words[0], "")
    assert "Diamonds mark them: the first 2 of 75." in samples
    assert "75 below zero." in samples


@pytest.mark.parametrize(
    ("number", "classes"),
    [(3, "wide-3 narrow-3"), (4, "wide-4 narrow-2"), (5, "wide-5 narrow-3"), (6, "wide-6 narrow-3")],
)
def test_figures_stand_in_even_rows(number, classes):
    contents = replace(full_contents(), facts=[("Samples", "72")] * number)
    assert len(Document(ranking_page(contents)).all("dl", **{"class": f"facts {classes}"})) == 1


def test_halves_are_called_halves():
    page = ranking_page(full_contents())
    shown = page[page.index("<body>") : page.index('<h2 id="origin">')]
    assert "halves" in shown
    assert "resampl" not in shown.lower()


def test_a_schedule_is_not_called_a_failure_to_converge():
    contents = full_contents()
    convergence = replace(contents.convergence, converged=False, scheduled=True)
    page = ranking_page(replace(contents, convergence=convergence))
    assert "did not converge" not in page
    assert "All of its steps were made." in page


def test_names_of_any_length_are_spoken_shortly():
    contents = full_contents(names=["n" * 100_000, "short"])
    charts = Document(ranking_page(contents)).all("div", role="img")
    assert max(len(found["aria-label"]) for found, _ in charts) < 1_000


def test_names_that_are_no_unicode_can_be_written():
    contents = full_contents(names=["half \udcff", "whole"])
    page = ranking_page(contents)
    assert data_of(page)["features"]["names"] == ["half ?", "whole"]
    assert page.encode("utf-8").decode("utf-8") == page


def test_numbers_and_names_as_the_page_writes_them():
    assert [figure(each) for each in (None, 0.0, -0.12345, 12345.6, 1e-7)] == [
        "\N{EN DASH}",
        "0",
        "\N{MINUS SIGN}0.1235",
        "12,346",
        "1e\N{MINUS SIGN}7",
    ]
    assert [count(20_000), count(1.45)] == ["20,000", "1"]
    assert [label(each) for each in ("a", "", " ")] == ["a", "(no name)", "(no name)"]
    assert [signed(each) for each in (-0.04, 0.04, -1.25, 2.0)] == ["0.0", "0.0", "\N{MINUS SIGN}1.2", "+2.0"]
    assert [two_digits(each) for each in (None, -0.001, -0.5)] == [
        "\N{EN DASH}",
        "0.00",
        "\N{MINUS SIGN}0.50",
    ]
    assert unbroken("by 95 % of 3 %") == "by 95\N{NO-BREAK SPACE}% of 3\N{NO-BREAK SPACE}%"
    assert [shortly("abc", 3), shortly("abcd", 3), shortly(" ")] == ["abc", "ab…", "(no name)"]
    assert web_address("https://doi.org/1") == "https://doi.org/1"
    assert web_address("javascript:alert(1)") is web_address(None) is None


def test_without_jinja_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "highrelief.inspection.report.page")
    with pytest.raises(ImportError) as error:
        importlib.import_module("highrelief.inspection.report.page")
    assert str(error.value) == (
        "A report needs jinja2, which is not installed: pip install 'highrelief[report]' installs it."
    )


def test_ranges_of_features_without_weight_are_not_drawn_where_others_have_one():
    contents = full_contents()
    n_features = len(contents.features.names)
    for n_weighing, n_drawn in ((0, 10), (12, 12), (n_features, 25)):
        weights = [1.0] * n_weighing + [0.0] * (n_features - n_weighing)
        some = replace(contents, features=replace(contents.features, weights=weights))
        assert f"for the best {min(n_drawn, n_features)}." in ranking_page(some)
