"""The weighters among scikit-learn's own tools."""

import functools
import importlib.util
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from callbacks import Recorder, needs_callbacks, recorded
from registry import (
    ALL_ENTRIES,
    CLASSIFIERS,
    ENTRIES,
    EXTRACTORS,
    FOR_NUMBERS,
    THOROUGH,
    continuous_table,
    in_turn,
    over_entries,
    over_registry,
)
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import highrelief
from highrelief import (
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    IRelief,
    OnlineIRelief,
    Relief,
    ReliefF,
)
from highrelief.datasets import make_xor

NAMES = ["height", "weight", "age", "pulse", "salt", "iron"]

takes_sample_weight = over_entries(lambda entry: entry.sample_weight)


#: Variants differ from the plain one in what they compute: each has one in so many of the checks, in turn.
ONE_IN = 1 if THOROUGH else 5


def checks_of(estimators, one_in=1):
    """scikit-learn's checks of estimators by their names: all, or of each estimator some, in turn."""
    return [
        pytest.param(*pair, id=f"{name}-{pair[1].func.__name__}")
        for turn, (name, estimator) in enumerate(estimators)
        for place, pair in enumerate(estimator_checks_generator(estimator))
        if (turn + place) % one_in == 0
    ]


def shared_checks_of(estimators):
    """All checks of every class: its instances, with other parameters, have some of them each."""
    alike = {}
    for name, estimator in estimators:
        alike.setdefault(type(estimator), []).append((name, estimator))
    return [check for each in alike.values() for check in checks_of(each, 1 if THOROUGH else len(each))]


over_checks = functools.partial(pytest.mark.parametrize, ("estimator", "check"))


def judge(estimator, check):
    if isinstance(estimator, ErrorControlledSelector) and "weight_equivalence" in check.func.__name__:
        pytest.skip("A sample of weight 2 is one sample, whose labels permutations move at once.")
    check(estimator)


@over_checks(shared_checks_of((str(entry), entry.make()) for entry in ENTRIES if entry.plain))
def test_checks_of_scikit_learn(estimator, check):
    judge(estimator, check)


@pytest.mark.slow
@over_checks(checks_of([(str(entry), entry.make()) for entry in ENTRIES if not entry.plain], ONE_IN))
def test_checks_of_scikit_learn_on_variants(estimator, check):
    judge(estimator, check)


@over_checks(
    shared_checks_of((type(each).__name__, each) for each in (*CLASSIFIERS, *FOR_NUMBERS, *EXTRACTORS))
)
def test_checks_of_scikit_learn_on_others(estimator, check):
    check(estimator)


def test_every_public_estimator_is_in_the_registry():
    public = {getattr(highrelief, name) for name in highrelief.__all__}
    estimators = {each for each in public if isinstance(each, type) and issubclass(each, BaseEstimator)}
    others = {type(each) for each in (*EXTRACTORS, *CLASSIFIERS, *FOR_NUMBERS)}
    assert estimators == {entry.family.estimator for entry in ENTRIES} | others


# Composition


@over_registry
def test_pipeline_before_nearest_neighbors(entry):
    X, y = continuous_table(n_classes=2)
    model = make_pipeline(entry.make(n_features_to_select=2, weighted="manhattan"), KNeighborsClassifier(3))
    model.fit(X[:40], y[:40])
    selector = entry.make(n_features_to_select=2, weighted="manhattan").fit(X[:40], y[:40])
    by_hand = KNeighborsClassifier(3).fit(selector.transform(X[:40]), y[:40])
    assert model[0].get_support().sum() == 2
    np.testing.assert_array_equal(model.predict(X[40:]), by_hand.predict(selector.transform(X[40:])))


@pytest.mark.parametrize(
    ("selector", "grid"),
    [
        (IRelief(), {"sigma": [0.2, "auto"], "margin": ["nearest", "prior"]}),
        (ReliefF(), {"n_neighbors": [1, 10], "n_features_to_select": [1, 2]}),
        (OnlineIRelief(random_state=0), {"sigma": [1.0, "auto"], "n_epochs": [1, 2]}),
        (Relief(), {"metric": ["manhattan", "sqeuclidean"], "weighted": [False, True]}),
        (FisherScore(), {"n_features_to_select": [1, 0.5, None]}),
        (
            EnsembleWeighting(ReliefF(), n_estimators=3, random_state=0),
            {"estimator__n_neighbors": [1, 10], "aggregate": ["weights", "ranks"]},
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else "",
)
def test_grid_search(selector, grid):
    X, y, _ = make_xor(60, n_irrelevant=4, random_state=0)
    if "n_features_to_select" not in grid:
        selector = clone(selector).set_params(n_features_to_select=2)
    model = make_pipeline(selector, KNeighborsClassifier(3))
    name = model.steps[0][0]
    search = GridSearchCV(
        model, {f"{name}__{key}": values for key, values in grid.items()}, cv=3, error_score="raise"
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == np.prod([len(values) for values in grid.values()])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = {key.split("__", 1)[1]: value for key, value in search.best_params_.items()}
    again = clone(selector).set_params(**best).fit(X, y)
    np.testing.assert_array_equal(
        search.best_estimator_[0].feature_weights_, again.feature_weights_, strict=True
    )


def test_grid_search_finds_the_number_of_features():
    X, y, _ = make_xor(200, n_irrelevant=4, random_state=0)
    model = make_pipeline(ReliefF(), KNeighborsClassifier(3))
    search = GridSearchCV(model, {"relieff__n_features_to_select": [1, 2, 6]}, cv=3, error_score="raise")
    search.fit(X, y)
    assert search.best_params_ == {"relieff__n_features_to_select": 2}
    np.testing.assert_array_equal(search.best_estimator_[0].get_support(indices=True), [0, 1])


# By hand: Relief's weights are −1/3, 1 and 1/8; the first is larger than the last in magnitude.
SIGNED = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.4], [2.0, 0.0, 0.1], [3.0, 1.0, 1.0]]), [0, 1, 0, 1]


@pytest.mark.parametrize("prefit", [False, True])
def test_select_from_model_does_not_take_a_strongly_negative_weight(prefit):
    X, y = SIGNED
    relief = Relief().fit(X, y)
    np.testing.assert_allclose(relief.feature_weights_, [-1 / 3, 1.0, 1 / 8])
    chosen = SelectFromModel(relief if prefit else Relief(), threshold=0.1, prefit=prefit).fit(X, y)
    np.testing.assert_array_equal(chosen.get_support(), [False, True, True])


def test_rfe_drops_a_strongly_negative_weight_first():
    X, y = SIGNED
    np.testing.assert_array_equal(RFE(Relief(), n_features_to_select=1).fit(X, y).ranking_, [3, 1, 2])


@over_registry
def test_select_from_model_and_rfe(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    positive = np.maximum(weighter.feature_weights_, 0.0)
    by_model = SelectFromModel(entry.make(), threshold="mean").fit(X, y)
    np.testing.assert_array_equal(by_model.get_support(), positive >= positive.mean())
    (dropped,) = np.flatnonzero(~RFE(entry.make(), n_features_to_select=5).fit(X, y).get_support())
    assert positive[dropped] == positive.min()  # of several, RFE takes any


def simple_parameters(estimator):
    """Parameters of an estimator and of what is inside, but not the one inside itself."""
    return {
        name: value for name, value in estimator.get_params().items() if not isinstance(value, BaseEstimator)
    }


@over_registry
def test_clone_has_the_parameters_and_no_weights(entry):
    X, y = continuous_table()
    fitted = entry.make(n_features_to_select=2).fit(X, y)
    copied = clone(fitted)
    assert type(copied) is type(fitted)
    assert simple_parameters(copied) == simple_parameters(fitted)
    with pytest.raises(NotFittedError):
        copied.transform(X)
    np.testing.assert_array_equal(copied.fit(X, y).feature_weights_, fitted.feature_weights_)


def test_clone_with_an_array_parameter():
    start = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])
    X, y = continuous_table()
    copied = clone(IRelief(sigma=1.0, init=start))
    np.testing.assert_array_equal(copied.init, start)
    original = IRelief(sigma=1.0, init=start).fit(X, y)
    np.testing.assert_array_equal(copied.fit(X, y).feature_weights_, original.feature_weights_)


@in_turn(over_registry, weighted=[False, "euclidean"])
def test_pickle(entry, weighted):
    X, y = continuous_table()
    fitted = entry.make(n_features_to_select=3, weighted=weighted).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(again.ranking_, fitted.ranking_)
    np.testing.assert_array_equal(again.feature_importances_, fitted.feature_importances_)


def test_a_pickled_stream_goes_on():
    X, y = continuous_table(90)
    stream = OnlineIRelief(buffer_size=20, random_state=0).partial_fit(X[:50], y[:50])
    again = pickle.loads(pickle.dumps(stream))
    for each in (stream, again):
        each.partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(again.feature_weights_, stream.feature_weights_)


# Names of features


@in_turn(over_registry, weighted=[False, True])
def test_pandas_in_and_out(entry, weighted):
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame = pandas.DataFrame(X, columns=NAMES, index=[f"patient {n}" for n in range(len(X))])
    weighter = entry.make(n_features_to_select=3, weighted=weighted).set_output(transform="pandas")
    result = weighter.fit(frame, pandas.Series(y, index=frame.index)).transform(frame)
    np.testing.assert_array_equal(weighter.feature_names_in_, NAMES)
    kept = np.array(NAMES)[weighter.get_support()]
    np.testing.assert_array_equal(weighter.get_feature_names_out(), kept)
    np.testing.assert_array_equal(result.columns, kept)
    np.testing.assert_array_equal(result.index, frame.index)
    plain = entry.make(n_features_to_select=3, weighted=weighted).fit(X, y)
    np.testing.assert_array_equal(weighter.feature_weights_, plain.feature_weights_)
    np.testing.assert_array_equal(result.to_numpy(), plain.transform(X))


@over_registry
def test_polars_in_and_out(entry):
    polars = pytest.importorskip("polars")
    X, y = continuous_table()
    frame = polars.DataFrame(X, schema=NAMES)
    if not hasattr(StandardScaler().fit(frame), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the column names of this polars")
    weighter = entry.make(n_features_to_select=3).set_output(transform="polars")
    result = weighter.fit(frame, polars.Series(y)).transform(frame)
    np.testing.assert_array_equal(weighter.feature_names_in_, NAMES)
    kept = list(np.array(NAMES)[weighter.get_support()])
    assert result.columns == kept
    plain = entry.make(n_features_to_select=3).fit(X, y)
    np.testing.assert_array_equal(weighter.feature_weights_, plain.feature_weights_)
    np.testing.assert_array_equal(result.to_numpy(), plain.transform(X))


@over_registry
def test_names_without_names(entry):
    X, y = continuous_table()
    weighter = entry.make(n_features_to_select=2).fit(X, y)
    assert not hasattr(weighter, "feature_names_in_")
    expected = [f"x{k}" for k in weighter.get_support(indices=True)]
    np.testing.assert_array_equal(weighter.get_feature_names_out(), expected)
    np.testing.assert_array_equal(
        weighter.get_feature_names_out(NAMES), np.array(NAMES)[weighter.get_support()]
    )


# Metadata routing


@takes_sample_weight
def test_sample_weight_is_routed_through_a_pipeline(entry):
    X, y = continuous_table()
    sample_weight = np.arange(len(X)) % 3
    weighted = entry.make().fit(X, y, sample_weight=sample_weight)
    ignored = entry.make().fit(X, y)
    assert not np.array_equal(weighted.feature_weights_, ignored.feature_weights_)
    with sklearn.config_context(enable_metadata_routing=True):
        for request, expected in [(True, weighted), (False, ignored)]:
            weighter = entry.make().set_fit_request(sample_weight=request)
            if entry.family.inside is not None:
                weighter.estimator.set_fit_request(sample_weight=request)
            model = make_pipeline(weighter, KNeighborsClassifier())
            if request:
                model.fit(X, y, sample_weight=sample_weight)
            else:
                model.fit(X, y)
            np.testing.assert_array_equal(model[0].feature_weights_, expected.feature_weights_)


@over_entries(lambda entry: entry.family not in [each.family for each in ALL_ENTRIES if each.sample_weight])
def test_no_sample_weight_can_be_requested(entry):
    with sklearn.config_context(enable_metadata_routing=True), pytest.raises((AttributeError, TypeError)):
        entry.make().set_fit_request(sample_weight=True)


# Processes


@pytest.mark.slow
def test_cross_validation_in_processes():
    X, y = continuous_table(90)
    model = make_pipeline(
        IRelief(n_features_to_select=3, weighted=True, n_jobs=2), KNeighborsClassifier(metric="manhattan")
    )
    here = cross_val_score(model, X, y, cv=4, n_jobs=1, error_score="raise")
    there = cross_val_score(model, X, y, cv=4, n_jobs=2, error_score="raise")
    np.testing.assert_array_equal(there, here)


# Callbacks (scikit-learn 1.9 and newer)


@needs_callbacks
@pytest.mark.parametrize("parameters", [{"sigma": 1.0}, {}], ids=["plain", "auto"])
def test_callbacks_see_every_iteration(parameters):
    X, y = continuous_table()
    recorder = Recorder()
    weighter = IRelief(**parameters).set_callbacks(recorder)
    weighter.fit(X, y)
    assert weighter.n_iter_ > 3
    assert recorder.events == recorded(weighter.n_iter_)
    weighter.fit(X, y)
    assert recorder.events == 2 * recorded(weighter.n_iter_)
    np.testing.assert_array_equal(weighter.feature_weights_, IRelief(**parameters).fit(X, y).feature_weights_)


@needs_callbacks
def test_callbacks_see_every_pass():
    recorder = Recorder()
    OnlineIRelief(n_epochs=4, random_state=0).set_callbacks(recorder).fit(*continuous_table())
    assert recorder.events == recorded(4)


@needs_callbacks
@pytest.mark.parametrize("parameters", [{"sigma": 1.0}, {}], ids=["plain", "auto"])
def test_a_callback_can_stop(parameters):
    X, y = continuous_table()
    recorder = Recorder(stop_after=2)
    weighter = IRelief(**parameters).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback after 2 iterations"):
        weighter.fit(X, y)
    assert (weighter.n_iter_, weighter.converged_, weighter.history_.shape) == (2, False, (2,))
    assert recorder.events == recorded(2)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        same = IRelief(**parameters, max_iter=2).fit(X, y)
    np.testing.assert_array_equal(weighter.feature_weights_, same.feature_weights_)


@needs_callbacks
@over_registry
def test_callbacks_are_taken_down_after_an_error(entry):
    X, y = continuous_table()
    recorder = Recorder()
    weighter = entry.make(scale="unknown").set_callbacks(recorder)
    with pytest.raises(ValueError, match="scale='unknown'"):
        weighter.fit(X, y)
    assert recorder.events.count("setup") == recorder.events.count("teardown")
    entry.family.change(weighter, scale="range").fit(X, y)
    assert recorder.events.count("setup") == recorder.events.count("teardown")


# Progress


def without_rich(monkeypatch, force):
    find_spec = importlib.util.find_spec

    def found(name, *args):
        return None if name == "rich" else find_spec(name, *args)

    monkeypatch.setattr(importlib.util, "find_spec", found)
    force(progress_delay=0.0)


def fits_like_silent(entry, X, y):
    """Fit with ``verbose=1``; weights and attributes, callbacks among them, must be as without."""
    silent = entry.make().fit(X, y)
    loud = entry.make(verbose=1)
    for _ in range(2):
        loud.fit(X, y)
        assert vars(loud).keys() == vars(silent).keys()
        np.testing.assert_array_equal(loud.feature_weights_, silent.feature_weights_)


@over_registry
def test_verbose_with_rich(entry, capsys):
    pytest.importorskip("rich")
    fits_like_silent(entry, *continuous_table())
    shown = capsys.readouterr()
    bars = importlib.util.find_spec("sklearn.callback") is not None
    if bars and not entry.family.one_step:
        assert entry.family.estimator.__name__ in shown.out


@over_registry
def test_verbose_without_rich(entry, monkeypatch, force, capsys):
    without_rich(monkeypatch, force)
    fits_like_silent(entry, *continuous_table())
    shown = capsys.readouterr()
    assert shown.out == ""
    if not entry.family.one_step:
        assert f"{entry.family.estimator.__name__}: 1 of at most" in shown.err


def test_silent_by_default(monkeypatch, force, capsys):
    without_rich(monkeypatch, force)
    for entry in ENTRIES:
        entry.make().fit(*continuous_table())
    assert capsys.readouterr() == ("", "")


@needs_callbacks
def test_verbose_leaves_the_callbacks_of_the_user():
    X, y = continuous_table()
    recorder = Recorder()
    weighter = IRelief(sigma=1.0, verbose=1).set_callbacks(recorder)
    for times in (1, 2):
        weighter.fit(X, y)
        assert recorder.events == times * recorded(weighter.n_iter_)


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "no rich"])
def test_verbose_inside_other_estimators(rich, monkeypatch, force, capsys):
    if rich:
        pytest.importorskip("rich")
    else:
        without_rich(monkeypatch, force)
    X, y = continuous_table()
    silent = make_pipeline(IRelief(sigma=1.0, n_features_to_select=2), KNeighborsClassifier()).fit(X, y)
    model = clone(silent).set_params(irelief__verbose=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        scores = cross_val_score(model, X, y, cv=2, error_score="raise")
        search = GridSearchCV(model, {"irelief__sigma": [1.0]}, cv=2, error_score="raise").fit(X, y)
    np.testing.assert_array_equal(model[0].feature_weights_, silent[0].feature_weights_)
    np.testing.assert_array_equal(scores, cross_val_score(silent, X, y, cv=2))
    np.testing.assert_array_equal(search.best_estimator_[0].feature_weights_, silent[0].feature_weights_)
    if not rich:
        assert "IRelief: 1 of at most" in capsys.readouterr().err


@needs_callbacks
def test_a_progress_bar_of_a_pipeline(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = continuous_table()
    model = make_pipeline(Relief(verbose=1), IRelief(sigma=1.0, verbose=1))
    model.set_callbacks(ProgressBar())
    model.fit(X, y)
    np.testing.assert_array_equal(model[0].feature_weights_, Relief().fit(X, y).feature_weights_)
    assert "IRelief" in capsys.readouterr().out
