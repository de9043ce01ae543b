"""What a notebook shows: scikit-learn's view, and the best features beside it; names are inert."""

from html.parser import HTMLParser

import numpy as np
import pytest
from registry import continuous_table, over_families
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from highrelief import LFE, EnsembleWeighting, FisherScore, GFlip, HKNNClassifier, IRelief, ReliefF
from highrelief.base.notebook import best_features_table
from highrelief.base.selector import best_first

EVIL = '<img src=x onerror="alert(1)">\'&"</td><script>alert(2)</script>'
#: All that the table is made of.
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "span"}
ATTRIBUTES = {"class", "scope", "title", "style", "aria-hidden"}


class Outline(HTMLParser):
    """Tags with their attributes, the text of the cells, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.cells, self.unbalanced = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "img", "input"):
            self.open.append(tag)
        if tag in ("td", "th", "caption"):
            self.cells.append("")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if self.open and any(tag in ("td", "th", "caption") for tag in self.open):
            self.cells[-1] += data


def own_part(html):
    """The table, without scikit-learn's view."""
    assert html.count('<table class="highrelief-best">') == 1
    return html[html.index('<table class="highrelief-best">') :].removesuffix("</div>")


def rows(html):
    """Names and numbers of the table."""
    cells = Outline(own_part(html)).cells[4:]
    return list(zip(cells[::3], cells[1::3], strict=True))


def widths(html):
    styles = [
        attrs["style"] for tag, attrs in Outline(own_part(html)).tags if tag == "span" and "style" in attrs
    ]
    return np.array([float(style.removeprefix("width: ").removesuffix("em")) for style in styles])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@over_families
def test_every_fitted_weighter_shows_its_best_features(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    html = weighter._repr_html_()
    order = best_first(weighter._ranked_by)
    shown = [name.removesuffix(", not kept") for name, _ in rows(html)]
    assert shown == [f"x{place}" for place in order]
    numbers = [float(number.replace(",", "")) for _, number in rows(html)]
    np.testing.assert_allclose(numbers, weighter.feature_weights_[order], rtol=5e-3, atol=1e-300)
    kept = [not name.endswith(", not kept") for name, _ in rows(html)]
    assert kept == weighter.get_support()[order].tolist()
    outline = Outline(own_part(html))
    assert not outline.unbalanced
    assert not outline.open
    assert {tag for tag, _ in outline.tags} == TAGS
    assert weighter._repr_mimebundle_()["text/html"].count("highrelief-best") == html.count("highrelief-best")


@over_families
def test_an_unfitted_weighter_is_shown_as_by_scikit_learn(entry):
    weighter = entry.make()
    assert "highrelief" not in weighter._repr_html_().replace("highrelief.", "")
    assert weighter._repr_mimebundle_()["text/plain"] == repr(weighter)


def test_the_view_of_scikit_learn_is_there_unchanged():
    X, y = continuous_table()
    weighter = ReliefF(n_neighbors=7).fit(X, y)
    # Numbers of containers differ.
    plain = estimator_html_repr(weighter)
    beginning = plain[: plain.index("sk-container-id-")]
    assert beginning in weighter._repr_html_()
    assert "n_neighbors" in weighter._repr_html_()


def test_bars_are_as_long_as_the_weights():
    html = best_features_table(
        ["a", "b", "c"], [0.5, 0.25, -0.125], [True, True, False], n_features=9, n_kept=2
    )
    np.testing.assert_allclose(widths(html), [8.0, 4.0, 0.0])
    assert rows(html) == [("a", "0.500"), ("b", "0.250"), ("c, not kept", "-0.125")]
    assert Outline(html).cells[0] == "Best 3 of 9 features, 2 kept"


def test_names_are_inert():
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    names = [EVIL, "a\nb", "$x$", "{{7*7}}", "\u202eevil", "x" * 500]
    html = own_part(ReliefF().fit(pandas.DataFrame(X, columns=names), y)._repr_html_())
    outline = Outline(html)
    assert not outline.unbalanced
    assert {tag for tag, _ in outline.tags} == TAGS
    assert {key for _, attrs in outline.tags for key in attrs} <= ATTRIBUTES
    titles = {attrs["title"] for tag, attrs in outline.tags if tag == "th" and "title" in attrs}
    assert titles == set(names)
    assert "://" not in html
    assert max(len(cell) for cell in outline.cells) < 60


def test_text_stays_text():
    X, y = continuous_table()
    weighter = ReliefF().fit(X, y)
    with config_context(display="text"):
        assert not hasattr(weighter, "_repr_html_")
        assert weighter._repr_mimebundle_() == {"text/plain": repr(weighter)}


def test_pipelines_show_their_steps():
    X, y = continuous_table()
    pipeline = make_pipeline(EnsembleWeighting(ReliefF(), n_estimators=2), KNeighborsClassifier()).fit(X, y)
    html = pipeline._repr_html_()
    assert "EnsembleWeighting" in html
    assert "highrelief-best" not in html


def test_no_more_than_ten_and_the_kept_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 1500)), rng.integers(0, 2, 40)
    html = ReliefF(n_features_to_select=3).fit(X, y)._repr_html_()
    assert len(rows(html)) == 10
    assert Outline(own_part(html)).cells[0] == "Best 10 of 1,500 features, 3 kept"
    assert sum(name.endswith(", not kept") for name, _ in rows(html)) == 7


def test_a_single_feature_and_weights_that_are_all_0():
    X = np.random.default_rng(0).normal(size=(20, 1))
    html = ReliefF().fit(X, [0, 1] * 10)._repr_html_()
    assert Outline(own_part(html)).cells[0] == "1 feature, 1 kept"
    table = best_features_table(["a"], [0.0], None, n_features=1, n_kept=None)
    assert widths(table).tolist() == [0.0]
    assert Outline(table).cells[0] == "1 feature"


def test_ranks_of_thousands_are_written_out():
    table = best_features_table(["a", "b"], [20000.0, 19999.5], None, n_features=20000, n_kept=None)
    assert [number for _, number in rows(table)] == ["20,000.0", "19,999.5"]


def test_a_parameter_that_became_useless_after_the_fit_does_not_break_the_view():
    X, y = continuous_table()
    for weighter in (FisherScore(), ReliefF(), EnsembleWeighting(FisherScore(), n_estimators=2)):
        html = weighter.fit(X, y).set_params(n_features_to_select="many")._repr_html_()
        assert "not kept" not in own_part(html)
        assert len(rows(html)) == 6


def public_names(estimator):
    """What completion offers. Python 3.14 adds names of its own to classes whose annotations are read."""
    return [name for name in dir(estimator) if not name.startswith("__")]


@pytest.mark.parametrize("method", [IRelief, LFE, HKNNClassifier])
def test_nor_does_one_that_a_property_checks(method):
    X, y = continuous_table()
    estimator = method().fit(X, y)
    names = public_names(estimator)
    estimator.set_params(n_jobs="many")
    assert "many" in estimator._repr_html_()
    assert public_names(estimator) == names


def test_names_are_those_of_what_is_there():
    X, y = continuous_table()
    found = {"ranking_", "feature_importances_", "feature_weights_"}
    weighter = ReliefF()
    assert not found & set(dir(weighter))
    assert found | {"transform"} <= set(dir(weighter.fit(X, y)))
    assert found <= set(dir(weighter.set_params(n_features_to_select="many")))


def test_members_of_g_flip_come_in_the_order_of_its_ranking():
    X, y = continuous_table()
    weighter = GFlip(random_state=0).fit(X, y)
    shown = [int(name.removesuffix(", not kept")[1:]) for name, _ in rows(weighter._repr_html_())]
    assert np.all(np.diff(weighter.ranking_[shown]) >= 0)


def test_the_first_of_many_are_those_of_the_whole_order():
    rng = np.random.default_rng(0)
    for n_levels in (2, 5, 10_000):
        weights = rng.integers(0, n_levels, 300).astype(np.float64)
        weights[::50] = -np.inf
        for n in (1, 10, 299, 300, 301):
            np.testing.assert_array_equal(best_first(weights, n), best_first(weights)[:n])


@pytest.mark.skipif(
    not hasattr(BaseEstimator, "_get_fitted_attr_html"), reason="this scikit-learn lists no fitted attributes"
)
def test_to_look_at_lfe_does_not_make_its_matrix(monkeypatch):
    X, y = continuous_table()
    lfe = LFE().fit(X, y)

    def made(self):
        raise AssertionError("W was made")

    monkeypatch.setattr(LFE, "metric_", property(made))
    assert "metric_" in dir(lfe)
    html = lfe._repr_html_()
    assert "discriminant_power_" in html
    assert "metric_<" not in html.replace("\n", "").replace(" ", "")
