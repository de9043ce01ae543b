"""IterativeElimination (TuRF)."""

import numpy as np
import pytest
from contract import GivenWeights
from registry import continuous_table
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from highrelief import (
    IM4E,
    EnsembleWeighting,
    GFlip,
    IRelief,
    IterativeElimination,
    MultiSURF,
    OnlineIRelief,
    ReliefF,
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
