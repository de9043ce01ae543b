"""Metadata of a fit: what wrapped estimators are told, with scikit-learn's routing and without."""

import warnings

import numpy as np
import pytest
from contract import assert_same, same_bits, weights_of
from registry import continuous_table, in_turn, over_entries
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

from highrelief import (
    FREL,
    IM4E,
    CrossValidatedSelector,
    EnsembleWeighting,
    FisherScore,
    IRelief,
    Lmba,
    Relief,
    ReliefF,
    VarianceReduction,
)
from highrelief.base.folds import usable_folds
from highrelief.selection.halves import fits_to_halves
from highrelief.stability import stability_score

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(params=[False, True], ids=["plain call", "routed"])
def maybe_routed(request):
    with config_context(enable_metadata_routing=request.param):
        yield request.param


def table(n_samples=60):
    X, y = continuous_table(n_samples, n_classes=2)
    rng = np.random.default_rng(2)
    return X, y, {"sample_weight": rng.integers(0, 3, n_samples), "batches": rng.integers(0, 2, n_samples)}


def wanting(estimator, *names):
    """A clone that requests metadata, where that matters."""
    return clone(estimator).set_fit_request(**dict.fromkeys(names, True))


@over_entries(lambda entry: entry.family.inside is None and entry.plain)
def test_every_sum_over_samples_takes_weights(entry):
    """Methods that visit samples in turn, or count them, take none; FREL does where it minimizes a sum."""
    without = entry.order_dependent or entry.family.by_counts
    weighter = FREL(solver="exact") if entry.family.estimator is FREL else entry.make()
    assert has_fit_parameter(weighter, "sample_weight") == (not without or entry.family.estimator is FREL)


@over_entries(lambda entry: entry.sample_weight and entry.family.inside is None)
def test_weights_reach_a_weighter_in_a_pipeline(entry, routing):
    X, y, told = table()
    s = told["sample_weight"]
    direct = weights_of(entry.make(), X, y, sample_weight=s)
    weighter = entry.make().set_fit_request(sample_weight=True)
    model = make_pipeline(weighter, KNeighborsClassifier(3)).fit(X, y, sample_weight=s)
    assert same_bits(model[0].feature_weights_, direct)
    assert not np.allclose(direct, weights_of(entry.make(), X, y))
    with pytest.raises(UnsetMetadataPassedError):
        make_pipeline(entry.make(), KNeighborsClassifier(3)).fit(X, y, sample_weight=s)


@pytest.mark.parametrize("weighter", [ReliefF(), IRelief(), FREL(solver="exact")], ids=str)
def test_weights_and_batches_by_name_of_the_step(weighter):
    """Without routing, as ever."""
    X, y, told = table()
    model = Pipeline([("weigh", clone(weighter)), ("classify", KNeighborsClassifier(3))])
    model.fit(X, y, **{f"weigh__{name}": value for name, value in told.items()})
    assert same_bits(model[0].feature_weights_, weights_of(clone(weighter), X, y, **told))


@pytest.mark.parametrize("weighter", [ReliefF(), IRelief(sigma=1.0), FREL(solver="exact")], ids=str)
def test_grid_search_cuts_what_it_is_told_with_the_samples(weighter, routing):
    X, y, told = table()
    model = make_pipeline(wanting(weighter, *told), KNeighborsClassifier(3))
    scoring = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    name = model.steps[0][0]
    search = GridSearchCV(
        model, {f"{name}__n_features_to_select": [1, 2, 6]}, cv=3, scoring=scoring, error_score="raise"
    ).fit(X, y, **told)
    assert same_bits(search.best_estimator_[0].feature_weights_, weights_of(clone(weighter), X, y, **told))
    folds = cross_validate(
        model,
        X,
        y,
        params=told,
        cv=StratifiedKFold(3),
        scoring=scoring,
        return_estimator=True,
        error_score="raise",
    )
    for fitted, (rows, _) in zip(folds["estimator"], StratifiedKFold(3).split(X, y), strict=True):
        part = {each: value[rows] for each, value in told.items()}
        assert same_bits(fitted[0].feature_weights_, weights_of(clone(weighter), X[rows], y[rows], **part))


def test_select_from_model_and_rfe(maybe_routed):
    X, y, told = table()
    positive = np.maximum(weights_of(ReliefF(), X, y, **told), 0.0)
    weighter = wanting(ReliefF(), *told) if maybe_routed else ReliefF()
    chosen = SelectFromModel(weighter, threshold="mean").fit(X, y, **told)
    np.testing.assert_array_equal(chosen.get_support(), positive >= positive.mean())
    dropped = np.flatnonzero(~RFE(weighter, n_features_to_select=5).fit(X, y, **told).get_support())
    assert positive[dropped] == positive.min()


# Our own


def metas(weighter):
    return [
        EnsembleWeighting(weighter, n_estimators=3, random_state=0),
        EnsembleWeighting(weighter, n_estimators=1, max_samples=1.0),
        CrossValidatedSelector(weighter, cv=3, cuts=[1, 3]),
        CrossValidatedSelector(weighter, cv=StratifiedKFold(3), classifier=LogisticRegression()),
    ]


def in_the_middle(meta, weighter, X, y, told):
    """What a meta-estimator should weigh by, from fits by hand."""
    if isinstance(meta, EnsembleWeighting):
        rows = [np.sort(each) for each in meta.estimators_samples_]
        fits = [
            weights_of(clone(weighter), X[some], y[some], **{k: v[some] for k, v in told.items()})
            for some in rows
        ]
        return np.mean(fits, axis=0)
    return weights_of(clone(weighter), X, y, **told)


@in_turn(
    pytest.mark.parametrize("place", range(4)),
    weighter=[ReliefF(n_neighbors=3), IRelief(sigma=1.0)],
    names=[["sample_weight"], ["batches"], ["sample_weight", "batches"]],
)
def test_meta_estimators_hand_on_what_they_are_told(weighter, place, names, maybe_routed):
    X, y, told = table()
    told = {name: told[name] for name in names}
    inside = wanting(weighter, *names) if maybe_routed else weighter
    meta = metas(inside)[place]
    if maybe_routed and getattr(meta, "classifier", None) is not None:
        meta.set_params(classifier=LogisticRegression().set_fit_request(sample_weight=True))
    meta.fit(X, y, **told)
    expected = in_the_middle(meta, weighter, X, y, told)
    assert_same(meta.feature_weights_, expected, 1e-12)
    plain = metas(weighter)[place].fit(X, y)
    assert not np.allclose(meta.feature_weights_, plain.feature_weights_)


def test_routed_is_what_a_plain_call_is():
    X, y, told = table()
    for place in range(3):
        plain = metas(ReliefF())[place].fit(X, y, **told)
        with config_context(enable_metadata_routing=True):
            routed = metas(wanting(ReliefF(), *told))[place].fit(X, y, **told)
            model = make_pipeline(
                metas(wanting(ReliefF(), *told))[place].set_fit_request(sample_weight=True, batches=True),
                KNeighborsClassifier(3),
            ).fit(X, y, **told)
        assert same_bits(routed.feature_weights_, plain.feature_weights_)
        assert same_bits(model[0].feature_weights_, plain.feature_weights_)
        if hasattr(plain, "cv_scores_"):
            assert same_bits(routed.cv_scores_, plain.cv_scores_)


def test_what_nobody_requested_is_refused(routing):
    X, y, told = table()
    for meta in metas(ReliefF())[:3]:
        with pytest.raises(UnsetMetadataPassedError, match="ReliefF"):
            meta.fit(X, y, sample_weight=told["sample_weight"])
    # Weights that count for the subsets alone.
    inside = ReliefF().set_fit_request(sample_weight=False)
    meta = EnsembleWeighting(inside, n_estimators=3, random_state=0).fit(X, y, **told_without_batches(told))
    assert all((told["sample_weight"][rows] > 0).all() for rows in meta.estimators_samples_)


def told_without_batches(told):
    return {"sample_weight": told["sample_weight"]}


def test_what_is_inside_does_not_take_is_refused():
    X, y, told = table()
    with pytest.raises(TypeError, match=r"FisherScore, which is inside EnsembleWeighting, .* take batches"):
        EnsembleWeighting(FisherScore()).fit(X, y, batches=told["batches"])
    with pytest.raises(TypeError, match=r"Lmba, which is inside VarianceReduction, .* take batches"):
        VarianceReduction(Lmba()).fit(X, y, batches=told["batches"])
    with pytest.raises(ValueError, match="batches must have an entry for each of the 60 samples"):
        EnsembleWeighting(ReliefF()).fit(X, y, batches=told["batches"][:7])


def test_variance_reduction_with_batches(maybe_routed):
    """Its weights of samples, and the fit with them, know the batches."""
    X, y, told = table()
    batches = told["batches"]
    inside = wanting(ReliefF(n_neighbors=3), "batches") if maybe_routed else ReliefF(n_neighbors=3)
    meta = VarianceReduction(inside).fit(X, y, batches=batches)
    weights = len(X) * meta.sample_weights_
    expected = weights_of(ReliefF(n_neighbors=3), X, y, sample_weight=weights, batches=batches)
    assert same_bits(meta.feature_weights_, expected)
    assert not np.allclose(meta.sample_weights_, VarianceReduction(inside).fit(X, y).sample_weights_)
    one = VarianceReduction(inside).fit(X, y, batches=np.zeros(len(X)))
    np.testing.assert_allclose(one.sample_weights_, VarianceReduction(inside).fit(X, y).sample_weights_)


def test_metas_in_metas(maybe_routed):
    X, y, told = table()
    inside = wanting(ReliefF(), *told) if maybe_routed else ReliefF()
    middle = EnsembleWeighting(inside, n_estimators=1, max_samples=1.0)
    if maybe_routed:
        middle.set_fit_request(**dict.fromkeys(told, True))
    outer = CrossValidatedSelector(middle, cv=3, cuts=[1, 2]).fit(X, y, **told)
    assert same_bits(outer.feature_weights_, weights_of(ReliefF(), X, y, **told))


def test_a_pipeline_inside(routing):
    """Only routing can tell one step of it from another."""
    X, y, told = table()
    inside = make_pipeline(wanting(ReliefF(), "sample_weight"))
    meta = EnsembleWeighting(inside, n_estimators=1, max_samples=1.0)
    meta.fit(X, y, sample_weight=told["sample_weight"])
    expected = weights_of(ReliefF(), X, y, sample_weight=told["sample_weight"])
    assert same_bits(meta.feature_weights_, expected)


def test_margins_of_metas_with_batches():
    X, y, told = table()
    batches = told["batches"]
    direct = ReliefF().fit(X, y, batches=batches)
    for meta in metas(ReliefF())[1:3]:
        meta.fit(X, y, batches=batches)
        np.testing.assert_allclose(meta.margins(X, y, batches), direct.margins(X, y, batches), rtol=1e-12)
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=5, random_state=0).fit(X, y, batches=batches)
    known = ensemble.left_out_margins(X, y, batches)
    assert not np.allclose(known, ensemble.left_out_margins(X, y), equal_nan=True)


# Groups


GROUPS = np.repeat(np.arange(20), 3)


def grouped():
    """Nothing but three nearly equal samples of every patient: who sees one knows the others."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 6)), np.arange(20) % 2
    return X[GROUPS] + 1e-3 * rng.normal(size=(60, 6)), y[GROUPS]


@pytest.mark.slow
def test_folds_of_the_path_keep_groups_together(maybe_routed):
    X, y = grouped()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IM4E(sigma="path", cv=4, tol=1e-3).fit(X, y, groups=GROUPS)
        folds = list(usable_folds(4, X, y, np.ones(60, dtype=bool), GROUPS))
        for fitted, left_out in folds:
            assert not np.isin(GROUPS[fitted], GROUPS[left_out]).any()
        by_hand = IM4E(sigma="path", cv=folds, tol=1e-3).fit(X, y)
        apart = IM4E(sigma="path", cv=4, tol=1e-3).fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, by_hand.cv_scores_)
    # Left-out samples whose twins are known are told by these.
    assert apart.cv_scores_.max() > model.cv_scores_.max()


def test_groups_reach_the_path_inside_of_an_ensemble(maybe_routed):
    X, y = grouped()
    inside = IM4E(sigma="path", cv=2, tol=1e-3)
    if maybe_routed:
        inside.set_fit_request(groups=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = EnsembleWeighting(inside, n_estimators=1, max_samples=1.0).fit(X, y, groups=GROUPS)
        expected = IM4E(sigma="path", cv=2, tol=1e-3).fit(X, y, groups=GROUPS)
    np.testing.assert_array_equal(whole.estimators_[0].cv_scores_, expected.cv_scores_)


@pytest.mark.parametrize("cv", [4, GroupKFold(4)], ids=["number", "splitter"])
def test_groups_in_a_pipeline(cv, maybe_routed):
    X, y = grouped()
    direct = CrossValidatedSelector(ReliefF(), cv=cv, cuts=[1, 2]).fit(X, y, groups=GROUPS)
    step = CrossValidatedSelector(ReliefF(), cv=cv, cuts=[1, 2])
    model = Pipeline([("select", step), ("classify", KNeighborsClassifier(1))])
    if maybe_routed:
        step.set_fit_request(groups=True)
        model.fit(X, y, groups=GROUPS)
    else:
        model.fit(X, y, select__groups=GROUPS)
    np.testing.assert_array_equal(model[0].cv_scores_, direct.cv_scores_)
    apart = CrossValidatedSelector(ReliefF(), cv=4, cuts=[1, 2]).fit(X, y)
    assert apart.cv_scores_.mean() > direct.cv_scores_.mean()


def test_ensembles_of_groups_in_a_pipeline(maybe_routed):
    X, y = grouped()
    direct = EnsembleWeighting(ReliefF(), n_estimators=4, random_state=0).fit(X, y, groups=GROUPS)
    step = EnsembleWeighting(ReliefF(), n_estimators=4, random_state=0)
    model = Pipeline([("weigh", step), ("classify", KNeighborsClassifier(1))])
    if maybe_routed:
        step.set_fit_request(groups=True)
    model.fit(X, y, **{"groups" if maybe_routed else "weigh__groups": GROUPS})
    assert same_bits(model[0].feature_weights_, direct.feature_weights_)
    for rows in model[0].estimators_samples_:
        assert np.isin(np.flatnonzero(np.isin(GROUPS, GROUPS[rows])), rows).all()


def test_stability_with_groups_and_weights(maybe_routed):
    X, y = grouped()
    inside = ReliefF().set_fit_request(sample_weight=True) if maybe_routed else ReliefF()
    s = 1 + np.arange(60) % 2
    with config_context(enable_metadata_routing=False):
        expected = stability_score(ReliefF(), X, y, groups=GROUPS, sample_weight=s, random_state=0)
    assert stability_score(inside, X, y, groups=GROUPS, sample_weight=s, random_state=0) == expected


def test_the_names_that_can_be_requested():
    for weighter in (Relief(), ReliefF(), IRelief(), FREL(), IM4E()):
        request = weighter.get_metadata_routing().fit.requests
        assert {"sample_weight", "batches"} <= set(request)
    assert "groups" in IM4E().get_metadata_routing().fit.requests


@pytest.mark.slow
def test_a_report_of_batches_and_groups():
    """Halves keep patients together and are fitted by the same method; margins are those within batches."""
    from highrelief import report

    X, y = grouped()
    batches = np.arange(60) // 3 // 2 % 2
    fitted = ReliefF(n_neighbors=3).fit(X, y, batches=batches)
    told = report(fitted, X, y, batches=batches, groups=GROUPS, resamples=10, progress=False).contents
    apart = report(fitted, X, y, batches=batches, resamples=10, progress=False).contents
    # Twins in both halves agree on noise.
    assert told.stability.ranking.value < apart.stability.ranking.value
    np.testing.assert_allclose(told.samples.margins, fitted.margins(X, y, batches))
    # What is not so is not said.
    assert "each group in one half as a whole" in told.stability.words[0]
    assert "class by class" not in told.stability.words[0]
    assert "class by class" in apart.stability.words[0]
    assert any("in 2 batches: a sample has neighbors of its own batch only" in each for each in told.summary)
    across = clone(fitted).set_params(batch_neighbors="across")
    members = EnsembleWeighting(across, n_estimators=2, random_state=0).fit(X, y, batches=batches)
    of_members = report(members, X, y, batches=batches, resamples=0, progress=False).contents
    assert any("a sample has neighbors of the other batches only" in each for each in of_members.summary)
    assert "fit(X, y, batches=batches), X, y, batches=batches, groups=groups" in told.origin.again
    direct = fits_to_halves(fitted, X, y, resamples=10, random_state=0, batches=batches, groups=GROUPS)
    plain = fits_to_halves(fitted, X, y, resamples=10, random_state=0, groups=GROUPS)
    assert not np.allclose(direct.scores, plain.scores)
