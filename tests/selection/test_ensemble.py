"""Ensembles around any weighter."""

import inspect
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from oracles import ensemble_weights, falling_ranks, fisher, relieff, scale_range
from processes import run
from registry import continuous_table
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import Lasso, Perceptron, Ridge, RidgeClassifier
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from highrelief import (
    LOGO,
    EnsembleWeighting,
    FisherScore,
    IRelief,
    OnlineIRelief,
    Relief,
    ReliefF,
    VarianceReduction,
)
from highrelief.base.meta import weights_of
from highrelief.base.resampling import draw_subset
from highrelief.datasets import flip_labels, make_xor
from highrelief.stability import nogueira, spearman


def ensemble_of(estimator, **parameters):
    return EnsembleWeighting(estimator, **{"n_estimators": 5, "random_state": 0, **parameters})


# Algorithm 2


@pytest.mark.parametrize(
    ("weighter", "weigh"),
    [
        (FisherScore(), lambda X, y: fisher(scale_range(X), y)),
        (ReliefF(n_neighbors=3), lambda X, y: relieff(scale_range(X), y, k=3)),
    ],
    ids=["FisherScore", "ReliefF"],
)
def test_algorithm_2(weighter, weigh):
    X, y = continuous_table(40)
    ensemble = ensemble_of(weighter).fit(X, y)
    subsets = ensemble.estimators_samples_
    np.testing.assert_allclose(
        ensemble.feature_weights_, ensemble_weights(weigh, X, y, subsets), rtol=1e-10, atol=1e-12
    )
    ranks = ensemble_of(weighter, aggregate="ranks").fit(X, y)
    mean_rank = ensemble_weights(lambda X, y: falling_ranks(weigh(X, y)), X, y, subsets)
    np.testing.assert_allclose(ranks.feature_weights_, 7 - mean_rank, atol=1e-12)
    np.testing.assert_array_equal(np.argsort(ranks.ranking_), np.argsort(mean_rank, kind="stable"))


@pytest.mark.parametrize(
    ("n_samples", "max_samples", "size"),
    [(40, 0.9, 36), (72, 0.9, 65), (33, 0.5, 16), (35, 0.5, 18), (40, 1.0, 40), (40, 7, 7), (40, 40, 40)],
)
def test_subsets(n_samples, max_samples, size):
    X, y = continuous_table(n_samples, n_classes=2)
    ensemble = ensemble_of(FisherScore(), max_samples=max_samples).fit(X, y)
    for rows in ensemble.estimators_samples_:
        assert rows.size == size
        assert np.all(np.diff(rows) > 0)
        assert 0 <= rows[0] <= rows[-1] < n_samples
    if size < n_samples:
        assert len({rows.tobytes() for rows in ensemble.estimators_samples_}) == 5


def test_subsets_are_drawn_evenly_and_not_by_class():
    X, y = continuous_table(60, n_classes=2)
    ensemble = ensemble_of(FisherScore(), n_estimators=300, max_samples=0.5).fit(X, y)
    times = 300 - ensemble.left_out_counts_
    # Standard deviation √(300/4) = 8.7.
    assert times.sum() == 300 * 30
    assert 150 - 40 < times.min() < times.max() < 150 + 40
    of_one_class = [np.sum(y[rows] == 1) for rows in ensemble.estimators_samples_]
    assert np.std(of_one_class) > 1.0


@pytest.mark.parametrize(
    "estimator",
    [
        ReliefF(n_neighbors=3),
        FisherScore(),
        IRelief(sigma=1.0),
        OnlineIRelief(sigma=1.0, random_state=3),
        RidgeClassifier(),
        RandomForestClassifier(5, random_state=2),
        Ridge(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_ensemble_of_one_without_resampling_is_its_member(estimator):
    X, y = continuous_table()
    ensemble = EnsembleWeighting(estimator, n_estimators=1, max_samples=1.0).fit(X, y)
    expected = weights_of(clone(estimator).fit(X, y), 6)
    np.testing.assert_array_equal(ensemble.feature_weights_, expected)
    assert np.isnan(ensemble.stability_)
    if hasattr(estimator, "margins"):
        alone = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(ensemble.margins(X, y), alone.margins(X, y))


def test_more_members_leave_the_first_as_they_are():
    X, y = continuous_table()
    few, many = ensemble_of(FisherScore()).fit(X, y), ensemble_of(FisherScore(), n_estimators=9).fit(X, y)
    np.testing.assert_array_equal(many.member_weights_[:5], few.member_weights_)


def test_the_seed_decides():
    X, y = continuous_table()
    first = ensemble_of(OnlineIRelief()).fit(X, y)
    again = ensemble_of(OnlineIRelief(), n_jobs=3).fit(X, y)
    other = ensemble_of(OnlineIRelief(), random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.member_weights_, first.member_weights_)
    assert not np.allclose(other.feature_weights_, first.feature_weights_)


def test_members_without_a_seed_get_one_and_those_with_one_keep_it():
    X, y = continuous_table()
    seeds = [each.random_state for each in ensemble_of(OnlineIRelief()).fit(X, y).estimators_]
    assert len(set(seeds)) == 5
    kept = ensemble_of(OnlineIRelief(random_state=7)).fit(X, y).estimators_
    assert [each.random_state for each in kept] == [7] * 5
    nested = ensemble_of(make_pipeline(StandardScaler(), RandomForestClassifier(3))).fit(X, y).estimators_
    assert len({each[-1].random_state for each in nested}) == 5


def test_a_feature_that_is_constant_weighs_nothing_by_ranks():
    X, y = continuous_table()
    X[:, 2] = 0.1
    ensemble = ensemble_of(ReliefF(n_neighbors=3), aggregate="ranks").fit(X, y)
    assert ensemble.feature_weights_[2] == 0.0
    assert ensemble.ranking_[2] == 6
    np.testing.assert_array_equal(ensemble.get_support(indices=True), [0, 1, 3, 4, 5])


@pytest.mark.parametrize(
    "layout", [np.asarray, np.asfortranarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix]
)
@pytest.mark.parametrize("constant", [0.0, 0.1, -3.0])
def test_a_constant_feature_weighs_nothing_by_ranks_around_other_estimators(layout, constant):
    X, y = continuous_table()
    X[:, 2] = constant
    X[7, 4] = X[11, 5] = 0.0
    without_intercept = RidgeClassifier(fit_intercept=False, solver="sparse_cg")
    ensemble = ensemble_of(without_intercept, aggregate="ranks").fit(layout(X), y)
    assert ensemble.feature_weights_[2] == 0.0
    assert np.delete(ensemble.feature_weights_, 2).min() >= 1.0
    np.testing.assert_array_equal(ensemble.get_support(indices=True), [0, 1, 3, 4, 5])
    by_weights = ensemble_of(without_intercept).fit(layout(X), y)
    assert (by_weights.feature_weights_[2] > 0.0) == (constant != 0.0)


def test_what_may_be_constant():
    X, y = continuous_table()
    X[:, 2] = np.nan
    X[1:, 3] = 1.0
    assert ensemble_of(RandomForestClassifier(3), aggregate="ranks").fit(X, y).feature_weights_.min() >= 1.0
    numbers = np.where(np.arange(6) == 2, 5, np.arange(360).reshape(60, 6) % 7)
    whole = ensemble_of(RandomForestClassifier(3), aggregate="ranks").fit(numbers, y)
    np.testing.assert_array_equal(whole.feature_weights_ == 0.0, np.arange(6) == 2)
    words = np.array([["a", "b"], ["a", "c"]] * 30, dtype=object)
    encoded = make_pipeline(OrdinalEncoder(), RandomForestClassifier(3))
    assert ensemble_of(encoded, aggregate="ranks").fit(words, y).feature_weights_.min() >= 1.0


# Around other estimators


def test_coefficients_are_summed_over_classes():
    X, y = continuous_table()
    member = RidgeClassifier().fit(X, y)
    assert member.coef_.shape == (3, 6)
    np.testing.assert_allclose(weights_of(member, 6), np.abs(member.coef_).sum(axis=0))
    by_model = SelectFromModel(member, prefit=True, threshold=0.05).fit(X, y)
    np.testing.assert_array_equal(weights_of(member, 6) >= 0.05, by_model.get_support())
    ensemble = ensemble_of(RidgeClassifier()).fit(X, y)
    by_hand = [np.abs(each.coef_).sum(axis=0) for each in ensemble.estimators_]
    np.testing.assert_allclose(ensemble.feature_weights_, np.mean(by_hand, axis=0))
    for rows, each in zip(ensemble.estimators_samples_, ensemble.estimators_, strict=True):
        np.testing.assert_array_equal(each.coef_, RidgeClassifier().fit(X[rows], y[rows]).coef_)


def test_other_estimators():
    X, y = continuous_table()
    trees = ensemble_of(RandomForestClassifier(5)).fit(X, y)
    np.testing.assert_array_equal(
        trees.feature_weights_, np.mean([each.feature_importances_ for each in trees.estimators_], axis=0)
    )
    line = ensemble_of(make_pipeline(StandardScaler(), RidgeClassifier())).fit(X, y)
    np.testing.assert_array_equal(
        line.feature_weights_, np.mean([np.abs(e[-1].coef_).sum(axis=0) for e in line.estimators_], axis=0)
    )
    search = ensemble_of(GridSearchCV(RidgeClassifier(), {"alpha": [1.0, 10.0]}, cv=2)).fit(X, y)
    assert search.feature_weights_.shape == (6,)
    inner = ensemble_of(ensemble_of(FisherScore(), weighted=True), weighted=True).fit(X, y)
    assert inner.transform(X).shape == (60, 6)


def test_around_a_regressor():
    X, _ = continuous_table()
    target = X[:, 0] + 0.01 * X[:, 4]
    ensemble = ensemble_of(make_pipeline(StandardScaler(), Lasso(alpha=0.01)), n_features_to_select=2)
    ensemble.fit(X, target)
    np.testing.assert_array_equal(ensemble.get_support(indices=True), [0, 4])
    assert not hasattr(ensemble, "classes_")
    assert ensemble.left_out_score(X, target) > 0.99


def test_after_a_classifier_a_regressor_knows_no_classes():
    X, y = continuous_table()
    ensemble = ensemble_of(RidgeClassifier()).fit(X, y)
    np.testing.assert_array_equal(ensemble.classes_, [0, 1, 2])
    assert not hasattr(ensemble.set_params(estimator=Ridge()).fit(X, y), "classes_")


def test_sparse_tables_and_missing_values_as_far_as_the_wrapped_takes_them():
    X, y = continuous_table()
    dense = ensemble_of(RidgeClassifier(solver="sparse_cg")).fit(X, y)
    for layout in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        sparse = ensemble_of(RidgeClassifier(solver="sparse_cg")).fit(layout(X), y)
        np.testing.assert_allclose(sparse.feature_weights_, dense.feature_weights_, rtol=0.2)
        assert sparse.transform(layout(X)).shape == X.shape
    assert get_tags(ensemble_of(Lasso())).input_tags == get_tags(Lasso()).input_tags
    assert get_tags(ensemble_of(ReliefF())).input_tags.sparse
    assert not get_tags(ensemble_of(LOGO())).input_tags.sparse
    forest = ensemble_of(RandomForestClassifier(3))
    assert get_tags(forest).input_tags.allow_nan
    X[3, 2] = np.nan
    assert np.isfinite(forest.fit(X, y).feature_weights_).all()
    with pytest.raises(ValueError, match="NaN"):
        ensemble_of(RidgeClassifier()).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_workers_of_joblib(n_jobs):
    X, y = continuous_table()
    expected = ensemble_of(RandomForestClassifier(3)).fit(X, y).member_weights_
    with parallel_config(backend="threading"):
        threads = ensemble_of(RandomForestClassifier(3), n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(threads.member_weights_, expected)
    workers = ensemble_of(RandomForestClassifier(3), n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(workers.member_weights_, expected)


def test_what_weighs_no_features():
    X, y = continuous_table()
    with pytest.raises(ValueError, match="GaussianNB weighs no features"):
        ensemble_of(GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(1,\).* 6 features"):
        ensemble_of(make_pipeline(FisherScore(n_features_to_select=1), RidgeClassifier())).fit(X, y % 2)
    with pytest.raises(ValueError, match=r"weighted=True needs a weighter of highrelief.*RidgeClassifier"):
        ensemble_of(RidgeClassifier(), weighted=True).fit(X, y)


def test_the_wrapped_estimator_is_left_alone():
    X, y = continuous_table()
    inside = ReliefF(n_neighbors=3)
    ensemble = ensemble_of(inside).fit(X, y)
    assert ensemble.estimator is inside
    assert not hasattr(inside, "feature_weights_")
    assert all(each is not inside for each in ensemble.estimators_)
    seeded = inside.get_params() | {"random_state": ensemble.estimators_[0].random_state}
    assert ensemble.estimators_[0].get_params() == seeded


def test_selectors_around_an_ensemble():
    X, y = continuous_table()
    assert RFE(ensemble_of(FisherScore()), n_features_to_select=1).fit(X, y).get_support()[0]
    assert SelectFromModel(ensemble_of(FisherScore()), max_features=1).fit(X, y).get_support()[0]


# Classes that may vanish


def test_a_class_that_some_members_do_not_see():
    X, y = continuous_table(60, n_classes=2)
    y[7] = 2
    ensemble = ensemble_of(ReliefF(n_neighbors=3), max_samples=0.5, n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(ensemble.classes_, [0, 1, 2])
    sizes = {each.classes_.size for each in ensemble.estimators_}
    assert sizes == {2, 3}
    margins = ensemble.margins(X, y)
    assert np.isfinite(margins).all()
    # The sample itself is left out by the very members that do not know its class.
    left_out = ensemble.left_out_margins(X, y)
    assert np.isnan(left_out[7])
    assert np.isfinite(np.delete(left_out, 7)).all()


def test_subsets_of_one_class_are_drawn_again():
    X, y = continuous_table(60, n_classes=2)
    y[:] = 0
    y[:2] = 1
    ensemble = ensemble_of(FisherScore(), n_estimators=20, max_samples=10).fit(X, y)
    assert all(np.any(rows < 2) for rows in ensemble.estimators_samples_)


def test_subsets_of_equal_samples_are_drawn_again():
    X, y = np.zeros((12, 2)), np.arange(12) % 2
    X[0] = 1.0, -1.0
    ensemble = ensemble_of(ReliefF(n_neighbors=3), max_samples=4).fit(X, y)
    assert all(rows[0] == 0 for rows in ensemble.estimators_samples_)


def test_no_subset_holds_two_classes():
    X, y = continuous_table(40, n_classes=2)
    with pytest.raises(ValueError, match=r"two classes.*max_samples"):
        ensemble_of(FisherScore(), max_samples=0.5).fit(X, y, groups=y)


# Groups


def test_groups_are_kept_together():
    X, y = continuous_table(60)
    groups = np.array(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])[np.arange(60) % 10]
    ensemble = ensemble_of(FisherScore(), n_estimators=30).fit(X, y, groups=groups)
    for rows in ensemble.estimators_samples_:
        assert rows.size == 54
        inside = np.isin(groups, groups[rows])
        np.testing.assert_array_equal(np.flatnonzero(inside), rows)
    assert ensemble.left_out_counts_.sum() == 30 * 6
    assert np.count_nonzero(ensemble.left_out_counts_) > 30


class InOrder:
    """Stands for a source of random numbers."""

    def __init__(self, *order):
        self.order = np.array(order)

    def permutation(self, n):
        assert n == self.order.size
        return self.order


@pytest.mark.parametrize(
    ("order", "size", "drawn"),
    [
        ((3, 2, 1, 0), 6, [2, 3]),  # 4, 7, 9, 10
        ((3, 2, 1, 0), 5, [3]),  # 4 is as near as 6 would be, but 7 is not
        ((0, 1, 2, 3), 5, [0, 1, 2]),  # 1, 3, 6, 10
        ((0, 1, 2, 3), 4, [0, 1]),
        ((0, 1, 2, 3), 9, [0, 1, 2]),  # not all
        ((3, 0, 1, 2), 1, [3]),  # at least one
        ((3, 0, 1, 2), 10, [0, 1, 2, 3]),
    ],
)
def test_as_many_groups_as_come_nearest(order, size, drawn):
    groups = np.array([3, 1, 2, 3, 0, 3, 2, 1, 2, 3])  # of sizes 1, 2, 3 and 4
    rows = draw_subset(InOrder(*order), 10, size, groups)
    np.testing.assert_array_equal(rows, np.flatnonzero(np.isin(groups, drawn)))


def test_never_all_groups_unless_all_samples_are_wanted():
    X, y = continuous_table(60)
    groups = np.arange(60) % 3
    for rows in ensemble_of(FisherScore()).fit(X, y, groups=groups).estimators_samples_:
        assert rows.size == 40
    for rows in ensemble_of(FisherScore(), max_samples=1.0).fit(X, y, groups=groups).estimators_samples_:
        assert rows.size == 60


def test_a_subset_far_smaller_than_asked_for_is_worth_one_warning():
    X, y = continuous_table(30)
    groups = np.r_[np.zeros(27, dtype=int), 1, 2, 3]
    ensemble = ensemble_of(FisherScore(), n_estimators=20, random_state=0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ensemble.fit(X, y, groups=groups)
    sizes = np.array([rows.size for rows in ensemble.estimators_samples_])
    assert {3, 27} <= set(sizes) <= {3, 27, 28, 29}
    [warning] = [each for each in heard if "Groups" in str(each.message)]
    assert warning.category is UserWarning
    assert warning.filename == __file__
    assert str(warning.message).endswith(
        f"that {np.sum(sizes == 3)} of 20 subsets have far fewer than the 27 samples of max_samples=0.9:"
        " the smallest has 3."
    )


def test_no_warning_where_subsets_are_about_as_large_as_asked_for():
    X, y = continuous_table(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensemble_of(FisherScore()).fit(X, y, groups=np.arange(60) % 3)  # 40 of 54
        ensemble_of(FisherScore(), max_samples=0.5).fit(X, y, groups=np.arange(60) // 14)
        few = ensemble_of(FisherScore(), max_samples=4).fit(X, y)
    assert {len(rows) for rows in few.estimators_samples_} == {4}


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (np.zeros(60), "one group.*max_samples=0.9"),
        (np.zeros(59), r"groups.*60 samples.*\(59,\)"),
        (np.zeros((60, 1)), r"groups.*60 samples.*\(60, 1\)"),
        (np.full(60, np.nan), "groups has a missing value, at sample 0"),
        ([None] * 59 + ["a"], "groups has a missing value, at sample 0"),
    ],
)
def test_bad_groups(groups, words):
    X, y = continuous_table(60)
    with pytest.raises(ValueError, match=words):
        ensemble_of(FisherScore()).fit(X, y, groups=groups)


def test_groups_are_routed_through_a_pipeline():
    X, y = continuous_table()
    groups = np.arange(60) % 6
    expected = ensemble_of(FisherScore()).fit(X, y, groups=groups)
    assert not np.array_equal(
        expected.feature_weights_, ensemble_of(FisherScore()).fit(X, y).feature_weights_
    )
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            ensemble_of(FisherScore()).set_fit_request(groups=True), KNeighborsClassifier()
        ).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model[0].feature_weights_, expected.feature_weights_)


# Weights of samples


def test_weights_of_samples_go_to_the_members():
    X, y = continuous_table()
    s = np.arange(60) % 3
    ensemble = ensemble_of(ReliefF(n_neighbors=3)).fit(X, y, sample_weight=s)
    for rows, member in zip(ensemble.estimators_samples_, ensemble.estimators_, strict=True):
        assert rows.size == 36
        assert (s[rows] > 0).all()
        alone = ReliefF(n_neighbors=3).fit(X[rows], y[rows], sample_weight=s[rows])
        np.testing.assert_array_equal(member.feature_weights_, alone.feature_weights_)
    assert (ensemble.left_out_counts_[s == 0] == 0).all()
    assert ensemble.left_out_counts_.sum() == 5 * 4
    assert np.isnan(ensemble.left_out_margins(X, y)[s == 0]).all()


@pytest.mark.parametrize(
    ("estimator", "inside"),
    [
        (OnlineIRelief(), "OnlineIRelief, which is inside EnsembleWeighting,"),
        (LinearDiscriminantAnalysis(), "LinearDiscriminantAnalysis, which is inside EnsembleWeighting,"),
        (make_pipeline(StandardScaler(), Ridge()), "Pipeline, which is inside EnsembleWeighting,"),
        (ensemble_of(OnlineIRelief()), "OnlineIRelief, which is inside EnsembleWeighting,"),
        (VarianceReduction(FisherScore()), "VarianceReduction, which is inside EnsembleWeighting,"),
    ],
    ids=["OnlineIRelief", "LinearDiscriminantAnalysis", "Pipeline", "ensemble", "VarianceReduction"],
)
def test_weights_of_samples_that_the_wrapped_estimator_does_not_take(estimator, inside):
    X, y = continuous_table()
    expected = ensemble_of(estimator, n_estimators=2).fit(X, y).feature_weights_
    same = ensemble_of(estimator, n_estimators=2).fit(X, y, sample_weight=None)
    np.testing.assert_array_equal(same.feature_weights_, expected)
    with pytest.raises(TypeError, match=f"The fit of {inside} does not take sample_weight"):
        ensemble_of(estimator).fit(X, y, sample_weight=np.arange(60) % 3)


# Agreement of the members


def test_stability_of_the_members():
    X, y = continuous_table()
    ensemble = ensemble_of(ReliefF(n_neighbors=3), n_features_to_select=2, max_samples=0.5).fit(X, y)
    assert ensemble.stability_ == spearman(ensemble.member_weights_)
    assert ensemble.selections_.dtype == bool
    np.testing.assert_array_equal(ensemble.selections_.sum(axis=1), 2)
    for kept, member in zip(ensemble.selections_, ensemble.estimators_, strict=True):
        np.testing.assert_array_equal(kept, member.set_params(n_features_to_select=2).get_support())
    assert 0.0 < nogueira(ensemble.selections_).stability <= 1.0
    ensemble.set_params(n_features_to_select=6)
    assert ensemble.selections_.all()


def test_ensembles_of_noise_are_not_more_stable_than_they_are():
    """Tables of noise that have no sample in common, each ranked by an ensemble of mean ranks."""
    rankings = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 300)), np.arange(60) % 2
        ensemble = ensemble_of(FisherScore(), n_estimators=20, aggregate="ranks", max_samples=0.5)
        rankings.append(ensemble.fit(X, y).feature_weights_)
    # 15 pairs of standard deviation 1/√299.
    assert abs(spearman(rankings)) < 4 / np.sqrt(299 * 15)


# Samples left out


def test_left_out_margins_by_hand():
    X, y = continuous_table()
    ensemble = ensemble_of(IRelief(sigma=1.0), n_estimators=4, max_samples=0.7).fit(X, y)
    seen = np.stack([np.isin(np.arange(60), rows) for rows in ensemble.estimators_samples_])
    margins = np.stack([each.margins(X, y) for each in ensemble.estimators_])
    np.testing.assert_array_equal(ensemble.left_out_counts_, (~seen).sum(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.nanmean(np.where(seen, np.nan, margins), axis=0)
    found = ensemble.left_out_margins(X, y)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isnan(found).sum() == seen.all(axis=0).sum() > 0
    threads = clone(ensemble).set_params(n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(threads.left_out_margins(X, y), found)


def test_left_out_samples_do_not_see_their_own_group():
    X, y = continuous_table(60)
    X[1::2], y[1::2] = X[::2] + 1e-6, y[::2]  # every sample was measured twice
    groups = np.arange(60) // 2
    ensemble = ensemble_of(Relief(), n_estimators=3, max_samples=0.8).fit(X, y, groups=groups)
    found = np.full((3, 60), np.nan)
    for t, (rows, member) in enumerate(zip(ensemble.estimators_samples_, ensemble.estimators_, strict=True)):
        out = np.setdiff1d(np.arange(60), rows)
        for first in (0, 1):
            judged = out[out % 2 == first]
            among = np.sort(np.r_[rows, judged])
            found[t, judged] = member.margins(X[among], y[among])[np.searchsorted(among, judged)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.nanmean(found, axis=0)
    np.testing.assert_allclose(ensemble.left_out_margins(X, y), expected, atol=1e-12)
    # The twin at distance 0 would be the nearest hit.
    blind = np.nanmean([each.margins(X, y) for each in ensemble.estimators_], axis=0)
    known = ~np.isnan(expected)
    assert expected[known].mean() < blind[known].mean() - 0.01


def test_mislabeled_samples_are_found_among_those_left_out():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 2
    X = rng.normal(size=(150, 30))
    X[:, :3] += 2.0 * y[:, np.newaxis]
    noisy, flipped = flip_labels(y, 0.1, random_state=0)
    ensemble = ensemble_of(ReliefF(), n_estimators=40, max_samples=0.8).fit(X, noisy)
    margins = ensemble.left_out_margins(X, noisy)
    assert np.isfinite(margins).all()
    assert roc_auc_score(flipped, -margins) > 0.95


def test_left_out_score_by_hand():
    X, y = continuous_table(n_classes=2)
    words = np.array(["no", "yes"])[y]
    for estimator, votes in [
        (RandomForestClassifier(3, random_state=0), lambda each, X: each.predict_proba(X)),
        (Perceptron(random_state=0), lambda each, X: each.predict(X)[:, np.newaxis] == each.classes_),
    ]:
        ensemble = ensemble_of(estimator, max_samples=0.6).fit(X, words)
        sums = np.zeros((60, 2))
        for rows, each in zip(ensemble.estimators_samples_, ensemble.estimators_, strict=True):
            out = np.setdiff1d(np.arange(60), rows)
            sums[out] += votes(each, X[out])
        judged = sums.sum(axis=1) > 0
        assert 40 < judged.sum() < 60
        expected = accuracy_score(words[judged], np.array(["no", "yes"])[sums[judged].argmax(axis=1)])
        assert ensemble.left_out_score(X, words) == expected


def test_left_out_score_of_a_regressor_by_hand():
    X, _ = continuous_table()
    target = np.sin(X[:, 0])
    ensemble = ensemble_of(Ridge(), max_samples=0.5, n_estimators=10).fit(X, target)
    sums, times = np.zeros(60), np.zeros(60)
    for rows, each in zip(ensemble.estimators_samples_, ensemble.estimators_, strict=True):
        out = np.setdiff1d(np.arange(60), rows)
        sums[out] += each.predict(X[out])
        times[out] += 1
    judged = times > 0
    expected = r2_score(target[judged], sums[judged] / times[judged])
    assert ensemble.left_out_score(X, target) == pytest.approx(expected, rel=1e-12)
    two = np.column_stack([target, X[:, 4]])
    trees = RandomForestRegressor(3, random_state=0)
    both = ensemble_of(trees, n_estimators=10).fit(X, two).left_out_score(X, two)
    assert 0.0 < both < 1.0


def test_what_cannot_be_asked_of_the_samples_left_out():
    X, y = continuous_table()
    assert not hasattr(ensemble_of(FisherScore()), "left_out_margins")
    assert not hasattr(ensemble_of(ReliefF()), "left_out_score")
    assert not hasattr(ensemble_of(RidgeClassifier()), "margins")
    ensemble = ensemble_of(ReliefF(n_neighbors=3)).fit(X, y)
    with pytest.raises(ValueError, match=r"60 samples of fit.*got 50"):
        ensemble.left_out_margins(X[:50], y[:50])
    with pytest.raises(ValueError, match="class 7"):
        ensemble.left_out_margins(X, np.r_[7, y[1:]])
    whole = ensemble_of(RidgeClassifier(), max_samples=1.0).fit(X, y)
    with pytest.raises(ValueError, match="Every member saw every sample"):
        whole.left_out_score(X, y)
    assert np.isnan(ensemble_of(ReliefF(), max_samples=1.0).fit(X, y).left_out_margins(X, y)).all()


# Threads and progress


class Watchful(FisherScore):
    """Notes the threads it is fitted in, and the configuration it sees there."""

    def fit(self, X, y):
        super().fit(X, y)
        self.thread_ = threading.get_ident()
        self.memory_ = sklearn.get_config()["working_memory"]
        return self


def test_members_see_the_configuration_of_the_caller():
    X, y = continuous_table()
    with sklearn.config_context(working_memory=17):
        ensemble = ensemble_of(Watchful(), n_estimators=20, n_jobs=3).fit(X, y)
    assert {each.memory_ for each in ensemble.estimators_} == {17}
    assert sklearn.get_config()["working_memory"] != 17


@pytest.mark.slow
def test_there_are_never_more_threads_than_were_asked_for():
    code = """
import json, threading
import numpy as np
from highrelief import EnsembleWeighting, ReliefF
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 50)), np.arange(300) % 2
before = threading.active_count()
EnsembleWeighting(ReliefF(n_jobs=3), n_estimators=6, n_jobs=3, random_state=0).fit(X, y)
print(json.dumps(threading.active_count() - before))
"""
    assert run(code) <= 2


def test_a_member_that_fails_is_heard():
    class Fails(FisherScore):
        def fit(self, X, y):
            raise RuntimeError("no such luck")

    X, y = continuous_table()
    for n_jobs in (1, 3):
        ensemble = ensemble_of(Fails(), n_jobs=n_jobs)
        with pytest.raises(RuntimeError, match="no such luck"):
            ensemble.fit(X, y)
        assert not hasattr(ensemble, "feature_weights_")


class Stops(BaseEstimator):
    """Callback that asks for an end after some members."""

    def __init__(self, after):
        self.after = after

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        return context.task_name == "iteration" and context.task_id + 1 == self.after

    def teardown(self, estimator, context): ...


def test_a_callback_can_stop():
    pytest.importorskip("sklearn.callback")
    X, y = continuous_table()
    ensemble = ensemble_of(FisherScore(), n_estimators=9).set_callbacks(Stops(4))
    with pytest.warns(UserWarning, match="stopped by a callback after 4 of 9 members"):
        ensemble.fit(X, y)
    np.testing.assert_array_equal(
        ensemble.feature_weights_, ensemble_of(FisherScore(), n_estimators=4).fit(X, y).feature_weights_
    )
    assert len(ensemble.estimators_) == len(ensemble.estimators_samples_) == 4


class Counts(Stops):
    """Callback that counts the fits that are done when a member is reported."""

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "iteration":
            self.done.append(len(list(estimator.estimator.folder.iterdir())))
        return super().on_fit_task_end(estimator, context)


class Slow(RidgeClassifier):
    """Takes its time, and leaves a file that says so."""

    def __init__(self, folder=None):
        super().__init__()
        self.folder = folder

    def fit(self, X, y):
        time.sleep(0.1)
        (self.folder / f"{X.sum()}").touch()
        return super().fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_a_callback_sees_workers_of_joblib_as_they_go_and_can_stop_them(backend, tmp_path):
    pytest.importorskip("sklearn.callback")
    X, y = continuous_table()
    watcher = Counts(4)
    watcher.done = []
    ensemble = ensemble_of(Slow(tmp_path), n_estimators=30, n_jobs=2).set_callbacks(watcher)
    with (
        parallel_config(backend=backend),
        warnings.catch_warnings(record=True) as heard,
    ):
        warnings.simplefilter("always")
        ensemble.fit(X, y)
    assert [str(each.message) for each in heard] == [
        "EnsembleWeighting was stopped by a callback after 4 of 30 members."
    ]
    alone = ensemble_of(RidgeClassifier(), n_estimators=4).fit(X, y)
    np.testing.assert_array_equal(ensemble.member_weights_, alone.member_weights_)
    assert len(ensemble.estimators_samples_) == len(watcher.done) == 4
    assert max(watcher.done) < 30  # others were still at work
    assert len(list(tmp_path.iterdir())) < 30


def test_a_backend_of_joblib_that_only_knows_lists(monkeypatch):
    X, y = continuous_table()
    monkeypatch.setattr(ThreadingBackend, "supports_return_generator", False)
    with parallel_config(backend="threading"):
        ensemble = ensemble_of(RidgeClassifier(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        ensemble.member_weights_, ensemble_of(RidgeClassifier()).fit(X, y).member_weights_
    )


def test_nested_parameters():
    ensemble = ensemble_of(ReliefF()).set_params(estimator__n_neighbors=4, n_estimators=2)
    assert ensemble.estimator.n_neighbors == 4
    assert "estimator__scale" in ensemble.get_params()
    assert next(iter(inspect.signature(EnsembleWeighting).parameters)) == "estimator"


def test_grid_search_over_the_wrapped_estimator():
    X, y, _ = make_xor(200, n_irrelevant=8, random_state=0)
    model = make_pipeline(ensemble_of(ReliefF(), n_features_to_select=2), KNeighborsClassifier(3))
    search = GridSearchCV(
        model,
        {"ensembleweighting__estimator": [FisherScore(), ReliefF()]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    # XOR has no main effects.
    assert isinstance(search.best_params_["ensembleweighting__estimator"], ReliefF)
