"""The displays: what is drawn is what was computed, names are shown as they are, errors say what to do."""

import os
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from registry import ENTRIES, continuous_table, over_families
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import highrelief
from highrelief import (
    DANN,
    IM4E,
    LFE,
    CrossValidatedSelector,
    EnsembleWeighting,
    FisherScore,
    GFlip,
    IRelief,
    OnlineIRelief,
    ReliefF,
    VarianceReduction,
)
from highrelief.base.selector import best_features, best_first
from highrelief.datasets import flip_labels, make_xor
from highrelief.plots.drawing import ALARM, COLORS, shown
from highrelief.selection.halves import agreement_by_size, fits_to_halves, halves
from highrelief.stability import nogueira, stability_by_size

matplotlib = pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from highrelief.plots import (  # noqa: E402
    ConvergenceDisplay,
    FeatureWeightsDisplay,
    InteractionDisplay,
    MarginDisplay,
    MetricDisplay,
    StabilityDisplay,
)

pytestmark = pytest.mark.slow

DISPLAYS = (
    ConvergenceDisplay,
    FeatureWeightsDisplay,
    MarginDisplay,
    MetricDisplay,
    StabilityDisplay,
    InteractionDisplay,
)
X, y = continuous_table()
XOR, XOR_CLASSES, _ = make_xor(120, n_irrelevant=8, random_state=0)


@pytest.fixture(autouse=True)
def _drawn_without_warnings():
    """Everything is drawn for good, so that what only fails then is seen; matplotlib finds nothing to say."""
    plt.close("all")  # what examples of the docs have left open
    before = matplotlib.rcParams.copy()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning, module=r"highrelief\.plots")
        warnings.filterwarnings("error", category=matplotlib.MatplotlibDeprecationWarning)
        yield
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
    plt.close("all")
    assert matplotlib.rcParams == before


#: One of each.
DRAW = [
    lambda ax=None: FeatureWeightsDisplay.from_estimator(ReliefF().fit(X, y), ax=ax),
    lambda ax=None: ConvergenceDisplay.from_estimator(IRelief().fit(X, y), ax=ax),
    lambda ax=None: StabilityDisplay.from_estimator(ReliefF(), X, y, n_resamples=4, random_state=0, ax=ax),
    lambda ax=None: MarginDisplay.from_estimator(IRelief().fit(X, y), X, y, ax=ax),
    lambda ax=None: MetricDisplay.from_estimator(LFE().fit(X, y), ax=ax),
    lambda ax=None: InteractionDisplay.from_estimator(ReliefF(), X, y, n_resamples=4, random_state=0, ax=ax),
]
over_displays = pytest.mark.parametrize(
    "draw", DRAW, ids=["weights", "convergence", "stability", "margins", "metric", "interactions"]
)


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def same_color(artist_color, wanted):
    np.testing.assert_allclose(
        matplotlib.colors.to_rgba(artist_color), matplotlib.colors.to_rgba(wanted), atol=1e-6
    )


# What all of them do


@over_displays
def test_a_new_figure_and_nothing_is_shown(draw, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("it was shown"))
    display = draw()
    assert [plt.figure(number) for number in plt.get_fignums()] == [display.figure_]
    assert display.ax_ in display.figure_.axes


@over_displays
def test_given_axes_are_drawn_on(draw):
    figure, (left, right) = plt.subplots(1, 2)
    display = draw(right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1
    assert not left.has_data()


@over_displays
def test_plot_draws_the_same_again_and_returns_itself(draw):
    display = draw()
    first, (_, ax) = display.ax_, plt.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert ax.get_title() == first.get_title()
    assert labels(ax.yaxis) == labels(first.yaxis)


def test_without_matplotlib_one_sentence_says_what_to_install():
    program = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import highrelief\n"
        "from highrelief import IRelief, LFE\n"
        "X, y = [[0., 1.], [1., 0.], [0.1, 0.9], [0.9, 0.2]], [0, 1, 0, 1]\n"
        "i, l, p = IRelief().fit(X, y), LFE().fit(X, y), highrelief.plots\n"
        "calls = [lambda: p.FeatureWeightsDisplay.from_estimator(i),\n"
        "         lambda: p.ConvergenceDisplay.from_estimator(i),\n"
        "         lambda: p.StabilityDisplay.from_estimator(i, X, y),\n"
        "         lambda: p.MarginDisplay.from_estimator(i, X, y),\n"
        "         lambda: p.MetricDisplay.from_estimator(l),\n"
        "         lambda: p.FeatureWeightsDisplay([1.0]).plot(),\n"
        "         lambda: p.ConvergenceDisplay([1.0]).plot(),\n"
        "         lambda: p.StabilityDisplay([1], [0.5], [0.4], [0.6]).plot(),\n"
        "         lambda: p.MarginDisplay([1.0], [0]).plot(), lambda: p.MetricDisplay([[1.0]]).plot()]\n"
        "for call in calls:\n"
        "    try:\n"
        "        call()\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    names = [display.__name__ for display in (FeatureWeightsDisplay, ConvergenceDisplay, StabilityDisplay)]
    names += ["MarginDisplay", "MetricDisplay"]
    sentence = "{} needs matplotlib, which is not installed: pip install 'highrelief[report]' installs it."
    assert done.stdout.splitlines() == [sentence.format(name) for name in names + names]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\x00more", "two lines and more"),
        ("\u202eevil", "evil"),
        ("a" * 28, "a" * 28),
        ("a" * 20 + "b" * 20, "a" * 18 + "…" + "b" * 9),
        (7, "7"),
        ("", ""),
    ],
)
def test_names_are_shown_in_one_short_line(name, text):
    assert shown(name) == text


def test_names_are_neither_mathematics_nor_tex():
    names = [r"$\frac{1}$", "$", "a$b$c", r"\alpha", "_x", "x\ny"]
    displays = [
        FeatureWeightsDisplay.from_estimator(ReliefF().fit(X, y), feature_names=names),
        MetricDisplay.from_estimator(LFE().fit(X, y), feature_names=names),
        MarginDisplay(
            -np.arange(1.0, 7.0), np.repeat([r"$\frac{1}$", "_x$"], 3), sample_names=[r"$\bad{$"] * 6
        ).plot(),
    ]
    for display in displays:
        display.figure_.canvas.draw()
        texts = [
            *display.ax_.get_yticklabels(),
            *display.ax_.get_xticklabels(),
            *getattr(display, "texts_", []),
        ]
        of_data = [text for text in texts if set(text.get_text()) & set("$\\_")]
        assert len(of_data) >= 5
        assert not any(text.get_parse_math() for text in of_data)


def test_names_are_checked():
    with pytest.raises(ValueError, match=r"^feature_names holds 2 names; one for each of the 6 features"):
        FeatureWeightsDisplay.from_estimator(ReliefF().fit(X, y), feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names holds 2 names"):
        MetricDisplay.from_estimator(LFE().fit(X, y), feature_names=["a", "b"])
    with pytest.raises(ValueError, match="sample_names holds 2 names; one for each of the 60 samples"):
        MarginDisplay.from_estimator(ReliefF().fit(X, y), X, y, sample_names=["a", "b"])


@pytest.mark.parametrize("display", [FeatureWeightsDisplay, ConvergenceDisplay, MetricDisplay])
def test_an_estimator_must_be_fitted(display):
    unfitted = LFE() if display is MetricDisplay else IRelief()
    with pytest.raises(NotFittedError):
        display.from_estimator(unfitted)


# Weights


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@over_families
def test_bars_are_the_weights_in_the_order_of_the_ranking(entry):
    weighter = entry.make().fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(weighter)
    assert np.all(np.diff(weighter.ranking_[display.features_]) >= 0)
    np.testing.assert_array_equal(
        [bar.get_width() for bar in display.bars_], weighter.feature_weights_[display.features_]
    )
    assert labels(display.ax_.yaxis) == [f"x{place}" for place in display.features_]
    kept = weighter.get_support()[display.features_]
    assert [bar.get_facecolor()[3] > 0.0 for bar in display.bars_] == kept.tolist()
    assert (display.ax_.get_legend() is not None) == (not kept.all())
    # The best is on top.
    assert display.ax_.yaxis_inverted()
    assert [bar.get_y() for bar in display.bars_] == sorted(bar.get_y() for bar in display.bars_)


def test_no_more_bars_than_asked_for():
    weighter = ReliefF().fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(weighter, n_features=2)
    np.testing.assert_array_equal(display.features_, best_first(weighter.feature_weights_)[:2])
    assert display.ax_.get_title() == "ReliefF: best 2 of 6 features"
    assert FeatureWeightsDisplay.from_estimator(weighter).ax_.get_title() == "ReliefF: 6 features"
    with pytest.raises(ValueError, match="n_features=0"):
        display.plot(n_features=0)


def test_names_come_from_the_table():
    pandas = pytest.importorskip("pandas")
    weighter = ReliefF().fit(pandas.DataFrame(X, columns=list("abcdef")), y)
    display = FeatureWeightsDisplay.from_estimator(weighter)
    assert labels(display.ax_.yaxis) == ["abcdef"[place] for place in display.features_]
    given = FeatureWeightsDisplay.from_estimator(weighter, feature_names=list("uvwxyz"))
    assert labels(given.ax_.yaxis) == ["uvwxyz"[place] for place in display.features_]


def test_the_spread_of_an_ensemble_of_weights():
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=5, random_state=0).fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(ensemble)
    (bars,) = display.errorbar_.lines[2]
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    spread = np.std(ensemble.member_weights_, axis=0, ddof=1)[display.features_]
    mean = ensemble.feature_weights_[display.features_]
    np.testing.assert_allclose(ends, np.column_stack([mean - spread, mean + spread]))
    assert "5 members" in display.ax_.get_xlabel()


def test_an_ensemble_of_ranks_shows_mean_ranks():
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=5, aggregate="ranks", random_state=0).fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(ensemble)
    ranks = np.array([(-each).argsort().argsort() + 1 for each in ensemble.member_weights_])
    shown_ranks = ranks[:, display.features_]
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], shown_ranks.mean(axis=0))
    (bars,) = display.errorbar_.lines[2]
    halves = [0.5 * np.ptp(segment[:, 0]) for segment in bars.get_segments()]
    np.testing.assert_allclose(halves, shown_ranks.std(axis=0, ddof=1))
    np.testing.assert_array_equal(display.features_, best_first(ensemble.feature_weights_))


def test_an_ensemble_of_one_has_no_spread():
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=1, random_state=0).fit(X, y)
    assert FeatureWeightsDisplay.from_estimator(ensemble).errorbar_ is None


@pytest.mark.parametrize("estimator", [RandomForestClassifier(5, random_state=0), LogisticRegression()])
def test_other_estimators_with_weights_are_drawn_too(estimator):
    fitted = make_pipeline(StandardScaler(), estimator).fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(fitted)
    inside = fitted[-1]
    weights = np.abs(inside.coef_).sum(axis=0) if hasattr(inside, "coef_") else inside.feature_importances_
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], np.sort(weights)[::-1])
    assert display.ax_.get_legend() is None


def test_an_estimator_without_weights_is_refused():
    with pytest.raises(ValueError, match="StandardScaler weighs no features"):
        FeatureWeightsDisplay.from_estimator(StandardScaler().fit(X))


def test_arguments_for_the_bars():
    display = FeatureWeightsDisplay([1.0, 3.0], spread=[0.1, 0.2]).plot(
        bar_kw={"fc": "red", "height": 0.5}, errorbar_kw={"ecolor": "green"}
    )
    same_color(display.bars_[0].get_facecolor(), "red")
    assert display.bars_[0].get_height() == pytest.approx(0.5)
    same_color(display.errorbar_.lines[2][0].get_color()[0], "green")


@pytest.mark.parametrize("bad", [{"kept": [True]}, {"spread": [0.1]}, {"ranked_by": [1, 2, 3]}])
def test_one_value_for_each_weight(bad):
    with pytest.raises(ValueError, match=rf"^{next(iter(bad))} has the shape .* each of the 2 features"):
        FeatureWeightsDisplay([1.0, 2.0], **bad).plot()
    with pytest.raises(ValueError, match=r"^weights has the shape \(1, 1\)"):
        FeatureWeightsDisplay([[1.0]]).plot()


# Convergence


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.plain], ids=str)
def test_every_weighter_that_iterates_shows_its_steps(entry):
    weighter = entry.make().fit(X, y)
    inside = getattr(weighter, "estimator_", weighter)
    if not hasattr(inside, "history_"):
        with pytest.raises(ValueError, match=r"does not iterate|fits several members"):
            ConvergenceDisplay.from_estimator(weighter)
        return
    display = ConvergenceDisplay.from_estimator(weighter)
    steps, values = display.line_.get_data()
    np.testing.assert_array_equal(steps, np.arange(1, len(inside.history_) + 1))
    positive = inside.history_ > 0.0
    np.testing.assert_array_equal(values[positive], inside.history_[positive])
    counts = isinstance(inside, GFlip)
    assert display.ax_.get_yscale() == ("linear" if counts else "log")
    if isinstance(inside, (GFlip, IM4E, OnlineIRelief)):
        # None of these ends by a change of its weights.
        assert display.tolerance_line_ is None
    else:
        assert set(display.tolerance_line_.get_ydata()) == {inside.tol}


def test_a_cycle_is_named():
    with pytest.warns(ConvergenceWarning, match="cycle of length 2"):
        weighter = IRelief(sigma=0.1).fit(XOR, XOR_CLASSES)
    display = ConvergenceDisplay.from_estimator(weighter)
    n = len(weighter.history_)
    assert display.ax_.get_title() == f"IRelief: runs in a cycle of length 2, {n} iterations"
    left, right = display.cycle_.get_extents().transformed(display.ax_.transData.inverted()).intervalx
    np.testing.assert_allclose([left, right], [n - 1.5, n + 0.5])
    assert any("length 2" in text.get_text() for text in display.ax_.get_legend().get_texts())


def test_how_it_ended_is_said():
    settled = IRelief(sigma=5.0).fit(X, y)
    assert settled.converged_
    title = ConvergenceDisplay.from_estimator(settled).ax_.get_title()
    assert title == f"IRelief: converged after {settled.n_iter_} iterations"
    with pytest.warns(ConvergenceWarning):
        hasty = IRelief(sigma=5.0, max_iter=1).fit(X, y)
    assert (
        ConvergenceDisplay.from_estimator(hasty).ax_.get_title() == "IRelief: did not converge in 1 iteration"
    )
    # Averaged steps are all the method has, at rest or not.
    assert (
        ConvergenceDisplay.from_estimator(IRelief().fit(X, y)).ax_.get_title()
        == "IRelief: all 10 iterations run"
    )
    assert ConvergenceDisplay([3.0, 1.0]).plot().ax_.get_title() == "2 iterations"


def test_the_flips_of_g_flip_are_counts():
    weighter = GFlip(random_state=0).fit(X, y)
    display = ConvergenceDisplay.from_estimator(weighter)
    np.testing.assert_array_equal(display.line_.get_ydata(), weighter.history_)
    assert display.ax_.get_ylabel() == "flips"
    assert display.ax_.get_title() == f"GFlip: converged after {weighter.n_iter_} sweeps"


def test_steps_without_change_are_seen_on_a_logarithmic_axis():
    display = ConvergenceDisplay([1.0, 0.01, 0.0], tolerance=1e-3).plot()
    np.testing.assert_array_equal(display.line_.get_ydata(), [1.0, 0.01, np.nan])
    np.testing.assert_array_equal(display.zeros_.get_xdata(), [3])
    np.testing.assert_allclose(display.zeros_.get_ydata(), [1e-4])
    still = ConvergenceDisplay([0.0, 0.0]).plot()
    assert still.ax_.get_yscale() == "linear"
    assert ConvergenceDisplay([1.0], tolerance=0.0).plot().tolerance_line_ is None


def test_what_does_not_iterate_says_so():
    with pytest.raises(ValueError, match=r"^ReliefF has no history_: it does not iterate"):
        ConvergenceDisplay.from_estimator(ReliefF().fit(X, y))
    ensemble = EnsembleWeighting(IRelief(), n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="hand one of its estimators_"):
        ConvergenceDisplay.from_estimator(ensemble)
    ConvergenceDisplay.from_estimator(ensemble.estimators_[0])
    with pytest.raises(ValueError, match=r"^IRelief stopped in its first step"):
        ConvergenceDisplay([], name="IRelief").plot()


def test_what_is_inside_a_wrapper_is_drawn():
    selector = CrossValidatedSelector(IRelief(), random_state=0).fit(X, y)
    display = ConvergenceDisplay.from_estimator(make_pipeline(selector))
    np.testing.assert_array_equal(display.line_.get_ydata(), selector.estimator_.history_)


# Stability


def test_the_curve_is_nogueiras_stability_of_the_best():
    weights = np.random.default_rng(0).normal(size=(7, 30)) + np.linspace(3.0, 0.0, 30)
    display = StabilityDisplay.from_weights(weights, sizes=[1, 5, 29])
    by_hand = [nogueira([best_features(each, k) for each in weights]) for k in (1, 5, 29)]
    sizes, curve = display.line_.get_data()
    np.testing.assert_array_equal(sizes, [1, 5, 29])
    np.testing.assert_allclose(curve, [each.stability for each in by_hand], rtol=1e-12)
    corners = display.fill_between_.get_paths()[0].vertices
    for size, each in zip((1, 5, 29), by_hand, strict=True):
        at_size = corners[corners[:, 0] == size, 1]
        np.testing.assert_allclose([at_size.min(), at_size.max()], [each.lower, each.upper], rtol=1e-12)
    assert display.n_resamples == 7
    assert set(display.chance_.get_ydata()) == {0.0}


def test_the_curve_is_that_of_the_report():
    """Who looks at both sees one number for the stability of the best."""
    sizes = [1, 2, 4]
    display = StabilityDisplay.from_estimator(ReliefF(), X, y, n_resamples=6, sizes=sizes, random_state=3)
    weighter = ReliefF().fit(X, y)
    found = highrelief.report(weighter, X, y, resamples=6, random_state=3).contents.stability
    for place, size in enumerate(sizes):
        told = found.by_size[found.sizes.index(size)]
        drawn = (display.stability[place], display.lower[place], display.upper[place])
        assert drawn == (told.value, told.lower, told.upper)
    assert display.ax_.get_title() == "ReliefF: 6 fits to halves of the samples"


def test_halves_of_samples_in_groups_share_no_group():
    groups = np.repeat(np.arange(20), 3)
    fits = fits_to_halves(ReliefF(), X, y, resamples=4, random_state=0, groups=groups)
    first, second = halves(np.random.RandomState(0), np.zeros(60, dtype=int), groups)
    assert len(first) == len(second) == 30
    assert not set(groups[first]) & set(groups[second])
    display = StabilityDisplay.from_estimator(ReliefF(), X, y, n_resamples=4, groups=groups, random_state=0)
    by_hand = agreement_by_size(fits, display.sizes.tolist())
    np.testing.assert_array_equal(display.stability, [each.value for each in by_hand])
    with pytest.raises(ValueError, match="All samples are of one group"):
        StabilityDisplay.from_estimator(ReliefF(), X, y, groups=np.zeros(60), random_state=0)


def test_stability_of_other_estimators_is_that_of_their_weights():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    display = StabilityDisplay.from_estimator(model, X, y, n_resamples=4, sizes=[2], random_state=0)
    assert -1.0 <= display.lower[0] <= display.stability[0] <= display.upper[0] <= 1.0
    assert display.ax_.get_title().startswith("LogisticRegression")


def test_the_estimator_is_left_alone():
    weighter = ReliefF()
    StabilityDisplay.from_estimator(weighter, X, y, n_resamples=4, random_state=0)
    assert not hasattr(weighter, "feature_weights_")


def test_members_of_an_ensemble_are_not_fitted_again():
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=4, random_state=0).fit(X, y)
    display = StabilityDisplay.from_estimator(ensemble)
    np.testing.assert_array_equal(display.stability, stability_by_size(ensemble.member_weights_).stability)
    again = StabilityDisplay.from_estimator(clone(ensemble), X, y, n_resamples=4, sizes=[1], random_state=0)
    assert again.n_resamples == 4


def test_sizes_at_which_a_fit_does_not_tell_are_left_out():
    """Two features have a weight, the others none: the best three are anybody's guess, not stable."""
    weights = np.zeros((5, 10))
    weights[:, :2] = [2.0, 1.0]
    curve = stability_by_size(weights, [1, 2, 3, 9])
    np.testing.assert_array_equal(curve.stability, [1.0, 1.0, np.nan, np.nan])
    display = StabilityDisplay.from_weights(weights, sizes=[1, 2, 3, 9])
    np.testing.assert_array_equal(display.line_.get_xdata(), [1, 2])
    with pytest.raises(ValueError, match="There is no stability to draw"):
        StabilityDisplay.from_weights(weights, sizes=[3])


@pytest.mark.parametrize(
    ("n_features", "sizes"),
    [
        (2, [1]),
        (6, [1, 2, 3, 4, 5]),
        (21, [1, 2, 5, 10, 20]),
        (100, [1, 2, 5, 10, 20, 50]),
        (1001, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
    ],
)
def test_usual_sizes(n_features, sizes):
    weights = np.random.default_rng(0).normal(size=(2, n_features))
    assert stability_by_size(weights).sizes.tolist() == sizes


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n_resamples": 0}, "n_resamples=0 must be an even number of at least 4"),
        ({"n_resamples": 5}, "n_resamples=5 must be an even number of at least 4"),
        ({"sizes": [6]}, "sizes=6"),
        ({"sizes": [0]}, "sizes=0"),
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": [1.5]}, "sizes=1.5"),
    ],
)
def test_bad_parameters_of_resampling(given, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        StabilityDisplay.from_estimator(ReliefF(), X, y, random_state=0, **given)


def test_a_single_feature_leaves_no_choice():
    with pytest.raises(ValueError, match="There is a single feature"):
        StabilityDisplay.from_estimator(ReliefF(), X[:, :1], y, random_state=0)


def test_without_samples_there_must_be_members():
    with pytest.raises(ValueError, match="Without X and y there is nothing to fit ReliefF to"):
        StabilityDisplay.from_estimator(ReliefF().fit(X, y))
    with pytest.raises(NotFittedError):
        StabilityDisplay.from_estimator(EnsembleWeighting(ReliefF()))


# Margins


def test_points_are_the_margins_sorted_within_classes():
    weighter = ReliefF().fit(X, y)
    display = MarginDisplay.from_estimator(weighter, X, y)
    margins = weighter.margins(X, y)
    for code, points in zip(display.classes_, display.points_, strict=True):
        across, heights = points.get_offsets().T
        np.testing.assert_allclose(heights, np.sort(margins[y == code]))
        assert np.all(np.diff(across) > 0.0)
        assert abs(across - code).max() <= 0.4
        assert across.mean() == pytest.approx(code)
    below = int(np.sum(margins < 0.0))
    assert display.ax_.get_title() == f"ReliefF: {below} of 60 samples nearer to another class"
    assert display.suspect_points_ is None


def test_classes_differ_in_color_and_in_shape():
    display = MarginDisplay.from_estimator(ReliefF().fit(X, y), X, y)
    shapes = {points.get_paths()[0].vertices.tobytes() for points in display.points_}
    colors = {tuple(points.get_facecolor()[0]) for points in display.points_}
    assert len(shapes) == len(colors) == 3


def test_suspects_are_marked():
    wrong, flipped = flip_labels(XOR_CLASSES, 0.05, random_state=0)
    weighter = IRelief().fit(XOR, wrong)
    display = MarginDisplay.from_estimator(weighter, XOR, wrong)
    np.testing.assert_allclose(display.outlier_proba, weighter.outlier_proba_, rtol=1e-9)
    margins = weighter.margins(XOR, wrong)
    by_hand = (weighter.outlier_proba_ > 0.5) & (margins < 0.0)
    assert set(display.suspects_) == set(np.flatnonzero(by_hand))
    assert set(np.flatnonzero(flipped)) <= set(display.suspects_)
    assert np.all(np.diff(weighter.outlier_proba_[display.suspects_]) <= 0.0)
    np.testing.assert_allclose(display.suspect_points_.get_offsets()[:, 1], margins[display.suspects_])
    same_color(display.suspect_points_.get_edgecolor()[0], ALARM)
    assert ALARM not in COLORS
    assert len(display.suspect_points_.get_facecolor()) == 0


def test_suspects_are_those_of_the_samples_given():
    """As many other samples as in fit do not inherit its probabilities."""
    wrong, flipped = flip_labels(XOR_CLASSES, 0.1, random_state=0)
    half = np.arange(60)
    weighter = IRelief().fit(XOR[:60], XOR_CLASSES[:60])
    display = MarginDisplay.from_estimator(weighter, XOR[60:], wrong[60:])
    assert flipped[60:].any()
    assert set(np.flatnonzero(flipped[60:])) <= set(display.suspects_)
    assert set(display.suspects_) != set(half[weighter.outlier_proba_ > 0.5])


def test_where_classes_are_many_a_probability_alone_raises_no_suspicion():
    """Most neighbors of any sample are of other classes."""
    digits = load_digits(n_class=10)
    X, y = digits.data[:300], digits.target[:300]
    weighter = IRelief().fit(X, y)
    display = MarginDisplay.from_estimator(weighter, X, y)
    assert np.mean(weighter.outlier_proba_ > 0.5) > 0.5
    assert display.suspects_.size < 10


def test_suspects_are_those_of_the_report():
    """Also where classes differ in size. Where they overlap more, the report names none."""
    random = np.random.default_rng(0)
    classes = np.repeat([0, 1], [100, 20])
    samples = random.normal(size=(120, 6))
    samples[:, :2] += 2.5 * classes[:, np.newaxis]
    weighter = IRelief().fit(samples, classes)
    display = MarginDisplay.from_estimator(weighter, samples, classes)
    told = highrelief.report(weighter, samples, classes, resamples=0).contents.samples
    assert display.suspects_.tolist() == told.suspects
    beyond = (weighter.outlier_proba_ > 0.5) & (weighter.margins(samples, classes) < 0.0)
    assert 0 < len(told.suspects) < np.sum(beyond)
    around = VarianceReduction(IRelief()).fit(samples, classes)
    assert MarginDisplay.from_estimator(around, samples, classes).suspects_.size > 0


def test_the_worst_are_named_suspects_first():
    margins = np.array([-1.0, -3.0, 2.0, -2.0, 1.0, -0.5])
    proba = [0.9, 0.1, 0.8, 0.1, 0.1, 0.2]
    display = MarginDisplay(margins, list("aabbaa"), outlier_proba=proba, sample_names=list("uvwxyz"))
    # w is an outlier, but on the right side.
    assert [text.get_text() for text in display.plot().texts_] == ["u", "v", "x", "z"]
    assert [text.get_text() for text in display.plot(n_named=2).texts_] == ["u", "v"]
    assert display.plot(n_named=0).texts_ == []
    display.sample_names = None
    assert [text.get_text() for text in display.plot(n_named=2).texts_] == ["0", "1"]
    with pytest.raises(ValueError, match="n_named=-1"):
        display.plot(n_named=-1)


def test_names_of_the_worst_do_not_cover_each_other():
    margins = np.append(np.full(5, -1.0) - 1e-6 * np.arange(5), np.arange(20.0))
    display = MarginDisplay(margins, np.zeros(25), sample_names=[f"sample {n}" for n in range(25)]).plot()
    display.figure_.canvas.draw()
    # Without the lines to the samples.
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in display.texts_]
    boxes.sort(key=lambda box: box.y0)
    assert len(boxes) == 5
    assert all(low.y1 <= high.y0 + 1.0 for low, high in pairwise(boxes))
    assert min(box.x0 for box in boxes) > display.ax_.get_window_extent().x0


def test_sample_names_come_from_a_frame():
    pandas = pytest.importorskip("pandas")
    wrong, _ = flip_labels(XOR_CLASSES, 0.1, random_state=0)
    frame = pandas.DataFrame(XOR, index=[f"patient {n}" for n in range(120)])
    weighter = IRelief().fit(frame.to_numpy(), wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        display = MarginDisplay.from_estimator(weighter, frame, wrong)
    assert all(text.get_text().startswith("patient ") for text in display.texts_)
    assert display.texts_


def test_labels_that_are_words_and_margins_that_are_unknown():
    words = np.array(["no", "yes", "maybe"])[y]
    display = MarginDisplay.from_estimator(ReliefF().fit(X, words), X, words)
    ticks = [label.split("\n")[0] for label in labels(display.ax_.xaxis)]
    assert ticks == ["maybe", "no", "yes"]
    proba = [0.9, np.nan, 0.9, 0.1]
    unknown = MarginDisplay([np.nan, 1.0, -1.0, 1.0], [0, 0, 1, 1], outlier_proba=proba).plot()
    assert [len(points.get_offsets()) for points in unknown.points_] == [1, 2]
    assert unknown.suspects_.tolist() == [2]


def test_many_classes_go_round_the_colors():
    display = MarginDisplay(np.arange(30.0), np.arange(30) % 10).plot()
    assert len(display.points_) == 10


def test_without_margins_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match=r"^FisherScore has no margins"):
        MarginDisplay.from_estimator(FisherScore().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"^Pipeline has no margins"):
        MarginDisplay.from_estimator(make_pipeline(ReliefF()).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"^y has 1 values for 2 margins"):
        MarginDisplay([1.0, 2.0], [0]).plot()


# Metrics


def test_the_picture_is_the_matrix_on_a_scale_around_0():
    lfe = LFE(n_neighbors=3).fit(X, y)
    display = MetricDisplay.from_estimator(lfe)
    np.testing.assert_allclose(display.image_.get_array(), lfe.metric_, rtol=1e-9, atol=1e-15)
    low, high = display.image_.get_clim()
    assert low == -high
    assert high == pytest.approx(np.abs(lfe.metric_).max())
    assert display.colorbar_ is not None
    assert labels(display.ax_.xaxis) == labels(display.ax_.yaxis) == [f"x{place}" for place in range(6)]


def test_of_many_features_those_with_the_largest_diagonal_in_the_order_of_the_table():
    lfe = LFE().fit(XOR, XOR_CLASSES)
    W = lfe.metric_
    some = np.sort(np.argsort(-np.diag(W))[:4])
    display = MetricDisplay.from_estimator(lfe, n_features=4)
    np.testing.assert_array_equal(display.features, some)
    np.testing.assert_allclose(display.image_.get_array(), W[np.ix_(some, some)], rtol=1e-9, atol=1e-15)
    assert labels(display.ax_.yaxis) == [f"x{place}" for place in some]
    assert display.ax_.get_title() == "LFE: metric W, 4 of 10 features"


def test_too_many_names_are_left_out():
    W = np.eye(60)
    assert labels(MetricDisplay(W, n_features_in=100).plot().ax_.xaxis) == []
    assert MetricDisplay(W).plot().ax_.get_title() == "metric W, 60 features"


def test_other_projections_are_metrics_too():
    for projection in (DANN(n_components=2).fit(X, y), PCA(2).fit(X)):
        display = MetricDisplay.from_estimator(projection)
        components = projection.components_
        np.testing.assert_allclose(display.image_.get_array(), components.T @ components, atol=1e-12)


def test_weights_are_no_matrix():
    with pytest.raises(ValueError, match=r"^IRelief weighs every feature by itself.*FeatureWeightsDisplay"):
        MetricDisplay.from_estimator(IRelief().fit(X, y))
    with pytest.raises(ValueError, match=r"^StandardScaler has no components_"):
        MetricDisplay.from_estimator(StandardScaler().fit(X))
    with pytest.raises(ValueError, match=r"^metric has the shape \(2, 3\)"):
        MetricDisplay(np.ones((2, 3))).plot()


def test_arguments_for_the_image():
    display = MetricDisplay(np.eye(3)).plot(
        image_kw={"cmap": "PuOr", "vmax": 2.0, "vmin": -2.0}, colorbar=False
    )
    assert display.image_.get_cmap().name == "PuOr"
    assert display.image_.get_clim() == (-2.0, 2.0)
    assert display.colorbar_ is None
    norm = matplotlib.colors.SymLogNorm(0.1, vmin=-1.0, vmax=1.0)
    assert MetricDisplay(np.eye(3)).plot(image_kw={"norm": norm}).image_.norm is norm
    assert MetricDisplay(np.zeros((2, 2))).plot().image_.get_clim() == (-1.0, 1.0)


# Interactions


def test_losses_are_drawn_and_noise_is_faint():
    display = InteractionDisplay.from_estimator(
        ReliefF().fit(XOR, XOR_CLASSES), XOR, XOR_CLASSES, random_state=0
    )
    losses, clear = display.table.losses, display.table.clear
    losses[~display.table.weighs] = np.nan
    np.testing.assert_allclose(display.image_.get_array().filled(np.nan), losses)
    assert clear.any()
    alpha = display.image_.get_alpha()
    assert np.all((alpha == 1.0) == clear)
    off_diagonal = ~np.eye(len(losses), dtype=bool)
    dashes = [text for text in display.texts_ if text.get_text() == "\N{EN DASH}"]
    assert len(dashes) == np.isnan(losses[off_diagonal]).sum()
    bold = [text for text in display.texts_ if text.get_weight() == "bold"]
    assert {text.get_position() for text in bold} == {(j, i) for i, j in zip(*np.nonzero(clear), strict=True)}
    assert labels(display.ax_.yaxis) == display.table.names
    assert display.ax_.get_title() == "ReliefF: weights without one of 10 features"


def test_names_of_all_features_are_those_of_the_table():
    names = [f"gene {place}" for place in range(10)]
    display = InteractionDisplay.from_estimator(
        ReliefF(), XOR, XOR_CLASSES, n_features=3, n_resamples=0, feature_names=names
    )
    assert labels(display.ax_.xaxis) == [names[j] for j in display.table.features]
    assert np.all(display.image_.get_alpha() == 1.0)
    with pytest.raises(ValueError, match="feature_names holds 2 names"):
        InteractionDisplay.from_estimator(ReliefF(), XOR, XOR_CLASSES, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names holds 10 names"):
        InteractionDisplay(display.table, feature_names=names).plot()
    plain = InteractionDisplay(display.table).plot(colorbar=False, image_kw={"cmap": "PuOr"})
    assert plain.colorbar_ is None
    assert plain.image_.get_cmap().name == "PuOr"
