"""IterativeElimination (TuRF)."""

import numpy as np
import pandas as pd
import pytest
from contract import GivenWeights
from registry import continuous_table
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from highrelief import (
    IM4E,
    SURF,
    EnsembleWeighting,
    GFlip,
    IRelief,
    IterativeElimination,
    MultiSURF,
    OnlineIRelief,
    ReliefF,
    RReliefF,
)
from highrelief.datasets import make_xor


def by_hand(estimator, X, y, step, n_wanted, **more):
    """Rounds one after another: which features left in which, and the weights that each had last."""
    left, rounds = list(range(X.shape[1])), []
    while True:
        weights = clone(estimator).fit(X[:, left], y, **more).feature_weights_
        if len(left) == n_wanted:
            rounds.append(dict(zip(left, weights, strict=True)))
            return rounds
        n_leaving = min(max(1, int(step * len(left) + 1e-9)), len(left) - n_wanted)
        worst = sorted(range(len(left)), key=lambda i: weights[i])[:n_leaving]
        rounds.append({left[i]: weights[i] for i in worst})
        left = [feature for i, feature in enumerate(left) if i not in worst]


@pytest.mark.parametrize("step", [0.1, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("n_wanted", [1, 4, 17])
def test_rounds_by_hand(step, n_wanted):
    X, y, _ = make_xor(100, n_irrelevant=20, random_state=0)
    rounds = by_hand(MultiSURF(), X, y, step, n_wanted)
    fitted = IterativeElimination(MultiSURF(), step=step, n_features_to_select=n_wanted).fit(X, y)
    assert fitted.n_iter_ == len(rounds)
    ranked = [f for each in reversed(rounds) for f in sorted(each, key=lambda f, each=each: -each[f])]
    np.testing.assert_array_equal(fitted.ranking_[ranked], np.arange(1, X.shape[1] + 1))
    lowest = np.inf
    for t, each in reversed(list(enumerate(rounds))):
        for feature, weight in each.items():
            assert fitted.eliminated_in_[feature] == (t + 1 if t < len(rounds) - 1 else 0)
            assert fitted.feature_weights_[feature] == pytest.approx(min(weight, lowest), abs=1e-15)
        lowest = min(lowest, *each.values())
    np.testing.assert_array_equal(fitted.get_support(), fitted.eliminated_in_ == 0)
    assert fitted.estimator_.n_features_in_ == n_wanted


def test_a_number_of_features_leaves_in_each_round():
    X, y, _ = make_xor(100, n_irrelevant=20, random_state=0)
    fitted = IterativeElimination(ReliefF(), step=4, n_features_to_select=3).fit(X, y)
    np.testing.assert_array_equal(np.bincount(fitted.eliminated_in_), [3, 4, 4, 4, 4, 3])


def test_by_default_features_of_positive_weight_stay():
    X, y, relevant = make_xor(200, n_irrelevant=40, random_state=0)
    fitted = IterativeElimination(ReliefF()).fit(X, y)
    stay = fitted.eliminated_in_ == 0
    np.testing.assert_array_equal(fitted.get_support(), stay)
    np.testing.assert_array_equal(fitted.feature_weights_ > 0.0, stay)
    assert stay[relevant].all()
    weights = ReliefF().fit(X[:, stay], y).feature_weights_
    np.testing.assert_array_equal(fitted.feature_weights_[stay], weights)
    assert weights.min() > 0.0
    # One stays where none is good.
    noise = np.random.default_rng(0).normal(size=(30, 5))
    one = IterativeElimination(GivenWeights([-1.0]), step=0.5)
    assert one.set_params(estimator=ReliefF(n_neighbors=29)).fit(noise, np.arange(30) % 2).n_iter_ >= 1
    assert one.get_support().sum() >= 1


class ColumnMeans(GivenWeights):
    """Weighs a feature by its mean, whatever the others are."""

    def fit(self, X, y):
        table = self._check_fit(X, y)
        return self._set_weights(np.round(table.X.mean(axis=0), 6))


def test_features_of_equal_weights_leave_together():
    X = np.arange(40.0)[:, np.newaxis] % 7 + np.array([1.0, 5.0, 1.0, 3.0, 1.0, 9.0, 5.0])
    y = np.arange(40) % 2
    fitted = IterativeElimination(ColumnMeans(), step=1, n_features_to_select=3).fit(X, y)
    np.testing.assert_array_equal(fitted.eliminated_in_, [1, 0, 1, 2, 1, 0, 0])
    np.testing.assert_array_equal(fitted.ranking_, [5, 2, 5, 4, 5, 1, 2])
    # Unless too few would stay: then those in the lower columns do.
    fitted = IterativeElimination(ColumnMeans(), step=1, n_features_to_select=6).fit(X, y)
    np.testing.assert_array_equal(fitted.eliminated_in_, [0, 0, 0, 0, 1, 0, 0])


def test_constant_features_leave_first_and_weigh_nothing():
    X, y = continuous_table()
    X = np.column_stack([np.zeros(len(X)), X, np.ones(len(X))])
    fitted = IterativeElimination(ReliefF(), step=1, n_features_to_select=1).fit(X, y)
    np.testing.assert_array_equal(fitted.eliminated_in_[[0, -1]], [1, 1])
    np.testing.assert_array_equal(fitted.feature_weights_[[0, -1]], 0.0)
    assert fitted.ranking_[0] == fitted.ranking_[-1] == 7


def test_samples_count_as_often_as_they_are_said_to():
    X, y = continuous_table()
    s = np.random.default_rng(0).integers(0, 3, size=y.size)
    fitted = IterativeElimination(ReliefF(), n_features_to_select=2).fit(X, y, sample_weight=s)
    copied = IterativeElimination(ReliefF(), n_features_to_select=2).fit(
        np.repeat(X, s, axis=0), np.repeat(y, s)
    )
    np.testing.assert_allclose(fitted.feature_weights_, copied.feature_weights_, atol=1e-12)
    with pytest.raises(TypeError, match="does not take sample_weight"):
        IterativeElimination(OnlineIRelief()).fit(X, y, sample_weight=s)


@pytest.mark.parametrize(
    "estimator",
    [
        GFlip(random_state=0),
        IM4E(sigma=0.25),
        IRelief(),
        EnsembleWeighting(ReliefF(n_neighbors=3), n_estimators=3, random_state=0),
        RandomForestClassifier(10, random_state=0),
        LogisticRegression(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_around_anything_that_weighs(estimator):
    X, y = continuous_table(n_classes=2)
    fitted = IterativeElimination(estimator, step=0.3, n_features_to_select=2).fit(X, y)
    assert fitted.get_support().sum() == 2
    assert fitted.get_support()[0]
    assert sorted(set(fitted.eliminated_in_)) == list(range(fitted.n_iter_))


def test_missing_values_and_sparse_tables_go_where_they_are_taken():
    X, y = continuous_table(n_classes=2)
    X[::9, 3] = np.nan
    assert get_tags(IterativeElimination(MultiSURF())).input_tags.allow_nan
    assert IterativeElimination(MultiSURF(), n_features_to_select=2).fit(X, y).get_support().sum() == 2
    with pytest.raises(ValueError, match="NaN"):
        IterativeElimination(GFlip()).fit(X, y)
    table = sparse.csr_array(np.nan_to_num(X))
    fitted = IterativeElimination(LogisticRegression(), n_features_to_select=2).fit(table, y)
    assert fitted.get_support().sum() == 2


def test_margins_are_those_of_the_features_that_stayed():
    X, y = continuous_table()
    fitted = IterativeElimination(ReliefF(), n_features_to_select=3).fit(X, y)
    expected = fitted.estimator_.margins(X[:, fitted.get_support()], y)
    np.testing.assert_array_equal(fitted.margins(X, y), expected)
    assert not hasattr(IterativeElimination(MultiSURF()), "margins")


def test_it_finds_what_one_round_does_not():
    X, y, relevant = make_xor(300, n_irrelevant=400, random_state=2)
    once = ReliefF().fit(X, y).ranking_[relevant].max()
    rounds = IterativeElimination(ReliefF(), n_features_to_select=2).fit(X, y).ranking_[relevant].max()
    assert once > 2
    assert rounds == 2


# Categories, and what the fit is told


def with_categories():
    """Numbers beside a feature of words and two of codes; the last but one has nothing to do with y."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 8))
    X[:, 2] = np.where(rng.random(120) < 0.8, y, 2) + 3.0
    X[:, 5] = rng.integers(0, 4, 120)
    X[:, 7] = np.where(rng.random(120) < 0.7, 2 * y, rng.integers(0, 3, 120))
    X[rng.random(X.shape) < 0.05] = np.nan
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    words = np.array(["", "", "", "red", "green", "blue"], dtype=object)[np.nan_to_num(X[:, 2]).astype(int)]
    frame["c"] = np.where(np.isnan(X[:, 2]), None, words)
    return X, y, frame


@pytest.mark.parametrize("estimator", [ReliefF(n_neighbors=5), MultiSURF(), SURF()], ids=repr)
@pytest.mark.parametrize("step", [1, 0.4])
def test_categories_are_cut_as_features_leave(estimator, step):
    X, y, frame = with_categories()
    categorical = [2, 5, 7]
    left, expected = np.arange(8), {}
    while True:
        mask = np.isin(left, categorical)
        weights = clone(estimator).set_params(categorical_features=mask).fit(X[:, left], y).feature_weights_
        expected |= dict(zip(left, weights, strict=True))
        n_leaving = min(step if step == 1 else max(1, int(step * left.size)), left.size - 3)
        if n_leaving == 0:
            break
        left = np.sort(left[np.argsort(-weights, kind="stable")[: left.size - n_leaving]])
    for table, chosen in (
        (X, categorical),
        (X, np.isin(np.arange(8), categorical)),
        (frame, ["c", "f", "h"]),
        (frame.astype({"c": "category", "f": "category", "h": "category"}), "from_dtype"),
    ):
        model = IterativeElimination(
            clone(estimator).set_params(categorical_features=chosen), step=step, n_features_to_select=3
        ).fit(table, y)
        np.testing.assert_array_equal(model.get_support(indices=True), left)
        kept = [expected[j] for j in left]
        np.testing.assert_allclose(model.feature_weights_[left], kept, atol=1e-13)
        np.testing.assert_array_equal(model.estimator_.categorical_features, np.isin(left, categorical))
        assert model.transform(table).shape == (120, 3)
        if hasattr(model, "margins"):
            # Words are in another order than codes: sums are rounded otherwise.
            margins = model.estimator_.margins(X[:, left], y)
            np.testing.assert_allclose(model.margins(table, y), margins, atol=1e-13)
        if hasattr(table, "columns"):
            assert list(model.feature_names_in_) == list("abcdefgh")


def test_categories_that_cannot_be_cut():
    X, y, frame = with_categories()
    for chosen in (None, ["f"]):
        with pytest.raises(ValueError, match="Column 'c' of X holds text"):
            IterativeElimination(MultiSURF(categorical_features=chosen)).fit(frame, y)
    with pytest.raises(ValueError, match="the features 0 to 7"):
        IterativeElimination(MultiSURF(categorical_features=[8])).fit(X, y)
    inside = make_pipeline(SimpleImputer(), ReliefF(categorical_features=[2]))
    with pytest.raises(ValueError, match="Put the pipeline around it"):
        IterativeElimination(inside).fit(X, y)
    model = IterativeElimination(
        ReliefF(categorical_features=["c"]), weighted=True, n_features_to_select=8
    ).fit(frame, y)
    with pytest.raises(ValueError, match="1 of them are categorical"):
        model.transform(frame)


def test_categories_inside_what_is_wrapped_twice():
    X, y, _ = with_categories()
    ensemble = EnsembleWeighting(ReliefF(categorical_features=[2, 5, 7]), n_estimators=3, random_state=0)
    model = IterativeElimination(ensemble, step=2, n_features_to_select=2).fit(X, y)
    cut = model.estimator_.estimator.categorical_features
    np.testing.assert_array_equal(cut, np.isin(np.flatnonzero(model.get_support()), [2, 5, 7]))


def test_a_target_that_is_a_number_beside_categories():
    X, y, frame = with_categories()
    target = y + 0.1 * np.arange(120)
    model = IterativeElimination(RReliefF(categorical_features="from_dtype"), n_features_to_select=2)
    by_place = IterativeElimination(RReliefF(categorical_features=[2]), n_features_to_select=2)
    np.testing.assert_array_equal(model.fit(frame, target).ranking_, by_place.fit(X, target).ranking_)


@pytest.mark.parametrize("estimator", [ReliefF(n_neighbors=3), MultiSURF()], ids=repr)
def test_batches_go_inside(estimator):
    X, y = continuous_table(80)
    batches = np.arange(80) // 27
    X *= np.array([1.0, 9.0, 0.3])[batches, np.newaxis]
    s = np.random.default_rng(0).integers(0, 3, size=y.size)
    model = IterativeElimination(estimator, n_features_to_select=2).fit(X, y, s, batches=batches)
    alone = clone(estimator).fit(X[:, model.get_support()], y, s, batches)
    np.testing.assert_array_equal(model.feature_weights_[model.get_support()], alone.feature_weights_)
    plain = IterativeElimination(estimator, n_features_to_select=2).fit(X, y, s)
    assert not np.array_equal(plain.feature_weights_, model.feature_weights_)
    if hasattr(model, "margins"):
        expected = alone.margins(X[:, model.get_support()], y, batches)
        np.testing.assert_array_equal(model.margins(X, y, batches), expected)
    with pytest.raises(TypeError, match="does not take batches"):
        IterativeElimination(GFlip()).fit(X, y, batches=batches)


def test_groups_and_routes_go_inside():
    X, y = continuous_table(80)
    groups, batches = np.arange(80) // 2, np.arange(80) % 3
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=3, random_state=0)
    model = IterativeElimination(ensemble, n_features_to_select=2).fit(X, y, groups=groups)
    for drawn in model.estimator_.estimators_samples_:
        assert np.all(np.bincount(groups[drawn])[groups[drawn]] == 2)
    expected = IterativeElimination(MultiSURF()).fit(X, y, batches=batches).feature_weights_
    with config_context(enable_metadata_routing=True):
        asking = IterativeElimination(MultiSURF().set_fit_request(batches=True))
        routed = asking.fit(X, y, batches=batches).feature_weights_
        with pytest.raises(UnsetMetadataPassedError):
            IterativeElimination(MultiSURF()).fit(X, y, batches=batches)
    np.testing.assert_array_equal(routed, expected)
