"""Where CrossValidatedSelector cuts, by what samples, and how the classifier in it counts."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from callbacks import Recorder, needs_callbacks, recorded
from contract import GivenWeights
from hypothesis import given as over
from hypothesis import settings
from hypothesis import strategies as st
from registry import continuous_table, discrete_table
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from two_loops import Spy, slow_scores

from highrelief import (
    CrossValidatedSelector,
    EnsembleWeighting,
    FisherScore,
    IRelief,
    OnlineIRelief,
    ReliefF,
    VarianceReduction,
)
from highrelief.datasets import make_xor
from highrelief.selection.cross_validation import automatic_cuts, checked_cuts, chosen_cut
from highrelief.selection.knn import NestedKNN

SCALERS = {"range": MinMaxScaler(), "standard": StandardScaler(), None: FunctionTransformer()}


class SpyClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that writes down what it is given, and tells the class of the first sample."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        SpyClassifier.seen.append(X)
        self.classes_, self.first_ = np.unique(y), y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.first_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# The protocol


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize(
    "estimator", [ReliefF(n_neighbors=3), FisherScore(), IRelief(perplexity=0.5)], ids=str
)
def test_one_ranking_per_fold_and_every_cut_scored(estimator, scale):
    X, y = continuous_table(90)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(90, 30))])
    estimator = clone(estimator).set_params(scale=scale)
    selector = CrossValidatedSelector(estimator, cv=5).fit(X, y)
    classifier = make_pipeline(SCALERS[scale], KNeighborsClassifier(3))
    folds = list(StratifiedKFold(5).split(X, y))
    expected = slow_scores(estimator, classifier, X, y, folds, selector.cuts_)
    np.testing.assert_allclose(selector.cv_scores_, expected, rtol=0.0, atol=1e-15)
    assert np.ptp(expected.mean(axis=0)) > 0.1
    assert selector.n_features_ == selector.cuts_[np.argmax(np.round(expected.mean(axis=0), 9))]
    weights = clone(estimator).fit(X, y).feature_weights_
    np.testing.assert_array_equal(selector.feature_weights_, weights)
    np.testing.assert_array_equal(selector.estimator_.feature_weights_, weights)
    best = np.argsort(-weights, kind="stable")[: selector.n_features_]
    np.testing.assert_array_equal(selector.get_support(indices=True), np.sort(best))
    assert selector.cuts_[-1] == np.count_nonzero(weights > 0.0)
    assert selector.refit_time_ > 0.0


@pytest.mark.slow
def test_a_given_classifier_is_scored_on_every_cut():
    X, y = continuous_table(90)
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    selector = CrossValidatedSelector(ReliefF(), classifier=classifier, cv=KFold(4), cuts=[1, 2, 1.0]).fit(
        X, y
    )
    np.testing.assert_array_equal(selector.cuts_, [1, 2, 6])
    folds = list(KFold(4).split(X))
    np.testing.assert_array_equal(
        selector.cv_scores_, slow_scores(ReliefF(), classifier, X, y, folds, [1, 2, 6])
    )


#: A table as it may be given.
GIVEN = {
    "numbers": np.asarray,
    "int8": np.int8,
    "uint8": lambda X: np.abs(X).astype(np.uint8),
    "bool": lambda X: np.median(X, axis=0) < X,
    "holes": lambda X: np.where(np.arange(X.size).reshape(X.shape) % 11 == 0, np.nan, X),
}


@pytest.mark.parametrize("weighted", [False, "manhattan", "euclidean", True])
@pytest.mark.parametrize("given", GIVEN)
def test_a_given_classifier_gets_what_transform_returns(given, weighted):
    X, y = continuous_table(60)
    X = GIVEN[given](X)
    SpyClassifier.seen.clear()
    CrossValidatedSelector(
        ReliefF(scale="standard"), classifier=SpyClassifier(), cv=3, cuts=[2, 4], weighted=weighted
    ).fit(X, y)
    expected = [
        ReliefF(scale="standard", n_features_to_select=cut, weighted=weighted).fit_transform(X[rows], y[rows])
        for rows, _ in StratifiedKFold(3).split(X, y)
        for cut in (2, 4)
    ]
    assert len(SpyClassifier.seen) == len(expected)
    for seen, each in zip(SpyClassifier.seen, expected, strict=True):
        # What is at the mean is 0 but for a rounding.
        np.testing.assert_allclose(seen, each, rtol=1e-12, atol=1e-15)


def test_names_of_classes_reach_the_classifier():
    X, y = continuous_table(60, n_classes=2)
    named = np.array(["sick", "well"])[y]
    heavy = LogisticRegression(class_weight={"sick": 1000.0, "well": 1e-3}, max_iter=1000)
    selector = CrossValidatedSelector(
        ReliefF(), classifier=make_pipeline(StandardScaler(), heavy), cv=3, cuts=[1]
    ).fit(X, named)
    sick = [np.mean(named[rows] == "sick") for _, rows in StratifiedKFold(3).split(X, y)]
    np.testing.assert_allclose(selector.cv_scores_[:, 0], sick)


def test_a_number_of_features_can_be_set_after_the_scores_are_seen():
    X, y = continuous_table(60)
    selector = CrossValidatedSelector(ReliefF(), cv=3).fit(X, y)
    assert selector.get_support().sum() == selector.n_features_ == selector.transform(X).shape[1]
    assert selector.set_params(n_features_to_select=5).transform(X).shape[1] == 5
    assert CrossValidatedSelector(ReliefF(), cv=3, n_features_to_select=5).fit(X, y).get_support().sum() == 5


def test_it_finds_two_features_that_act_together():
    X, y, _ = make_xor(300, n_irrelevant=100, random_state=0)
    selector = CrossValidatedSelector(IRelief(), cv=5).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])


# Nothing is seen that must not be


@pytest.mark.parametrize("cv", [4, StratifiedKFold(4, shuffle=True, random_state=3), LeaveOneOut()], ids=str)
def test_no_fold_is_ranked_by_its_own_samples(cv):
    X, y = continuous_table(24, n_classes=2)
    X[:, 0] = np.arange(24)
    Spy.seen.clear()
    CrossValidatedSelector(Spy(), cv=cv).fit(X, y)
    whole, *parts = Spy.seen
    splitter = StratifiedKFold(4) if cv == 4 else cv
    assert whole == set(range(24))
    assert parts == [set(fitted.tolist()) for fitted, _ in splitter.split(X, y)]


def test_nested_the_outer_fold_is_never_seen():
    """The two-loop protocol: no weighing, in no fold, knows a sample that the pipeline is scored on."""
    X, y = continuous_table(60, n_classes=2)
    X[:, 0] = np.arange(60)
    outer = StratifiedKFold(5, shuffle=True, random_state=1)
    model = make_pipeline(CrossValidatedSelector(Spy(), cv=3), KNeighborsClassifier())
    Spy.seen.clear()
    cross_val_score(model, X, y, cv=outer, error_score="raise")
    n_fits = 1 + 3
    assert len(Spy.seen) == 5 * n_fits
    for number, (fitted, left_out) in enumerate(outer.split(X, y)):
        rows = Spy.seen[number * n_fits : (number + 1) * n_fits]
        assert set.union(*rows) == set(fitted.tolist())
        assert not set.union(*rows) & set(left_out.tolist())


# Folds and groups


def test_groups_are_kept_together():
    X, y = continuous_table(60, n_classes=2)
    X[:, 0] = np.arange(60)
    groups = np.repeat(np.arange(12), 5)
    Spy.seen.clear()
    CrossValidatedSelector(Spy(), cv=4).fit(X, y, groups=groups)
    expected = [set(fitted.tolist()) for fitted, _ in StratifiedGroupKFold(4).split(X, y, groups)]
    assert Spy.seen[1:] == expected
    for rows in Spy.seen[1:]:
        inside = set(groups[sorted(rows)])
        assert len(rows) == 5 * len(inside) < 60


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()], ids=str)
def test_groups_go_to_the_splitter(cv):
    X, y = continuous_table(60)
    groups = np.array(list("abcdef"))[np.arange(60) % 6]
    selector = CrossValidatedSelector(ReliefF(n_neighbors=3), cv=cv).fit(X, y, groups=groups)
    assert len(selector.cv_scores_) == cv.get_n_splits(X, y, groups)
    with pytest.raises(ValueError, match="groups"):
        CrossValidatedSelector(ReliefF(n_neighbors=3), cv=cv).fit(X, y)


def test_bad_groups():
    X, y = continuous_table(60)
    with pytest.raises(ValueError, match="groups must name the group of each of the 60 samples"):
        CrossValidatedSelector(ReliefF()).fit(X, y, groups=np.arange(59))


def test_fewer_groups_than_folds():
    X, y = continuous_table(60, n_classes=2)
    with pytest.warns(UserWarning, match="cv=10 folds are not possible here: 3 are used"):
        selector = CrossValidatedSelector(ReliefF()).fit(X, y, groups=np.arange(60) % 3)
    assert len(selector.cv_scores_) == 3


def test_folds_as_a_list_of_pairs_and_samples_of_weight_0():
    X, y = continuous_table(60)
    folds = list(StratifiedKFold(3).split(X, y))
    listed = CrossValidatedSelector(ReliefF(), cv=folds).fit(X, y)
    np.testing.assert_array_equal(
        listed.cv_scores_, CrossValidatedSelector(ReliefF(), cv=3).fit(X, y).cv_scores_
    )
    s = np.arange(60) % 5 > 0
    left = [(np.intersect1d(a, np.flatnonzero(s)), np.intersect1d(b, np.flatnonzero(s))) for a, b in folds]
    cuts = {"cuts": [1, 3, 6]}
    np.testing.assert_array_equal(
        CrossValidatedSelector(ReliefF(), cv=folds, **cuts).fit(X, y, sample_weight=s).cv_scores_,
        CrossValidatedSelector(ReliefF(), cv=left, **cuts).fit(X, y).cv_scores_,
    )


def test_a_class_smaller_than_the_number_of_folds():
    X, y = continuous_table(60, n_classes=2)
    y[:4] = 2
    with pytest.warns(UserWarning, match=r"fewer samples \(4\) than there are folds \(cv=5\)"):
        selector = CrossValidatedSelector(ReliefF(), cv=5).fit(X, y)
    assert len(selector.cv_scores_) == 5


def test_two_samples_leave_no_fold():
    with pytest.warns(UserWarning, match="gives no fold"):
        selector = CrossValidatedSelector(FisherScore()).fit([[0.0, 3.0], [1.0, 3.0]], ["a", "b"])
    assert selector.cv_scores_.shape == (0, 1)
    np.testing.assert_array_equal(selector.get_support(), [True, False])


# The choice


def test_of_equal_scores_the_fewest_features():
    scores = np.array([[0.5, 0.9, 0.8, 0.9], [0.5, 0.7, 0.8, 0.7]])
    assert chosen_cut(scores, "best") == 1
    # The same scores in another order differ in the last bit of their sum.
    assert chosen_cut(np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]]), "best") == 0
    assert chosen_cut(np.array([[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]]), "best") == 0


def test_one_standard_error():
    # Means 0.6, 0.72, 0.8, 0.7; the standard error of the third is 0.1.
    scores = np.array([[0.6, 0.72, 0.9, 0.7], [0.6, 0.72, 0.7, 0.7]])
    assert chosen_cut(scores, "best") == 2
    assert chosen_cut(scores, "one-se") == 1
    assert chosen_cut(scores[:, [0, 2, 3]], "one-se") == 1
    assert chosen_cut(scores[:1], "one-se") == 2


def test_automatic_cuts():
    np.testing.assert_array_equal(automatic_cuts(1), [1])
    np.testing.assert_array_equal(automatic_cuts(4), [1, 2, 3, 4])
    np.testing.assert_array_equal(automatic_cuts(7), [1, 2, 3, 5, 7])
    np.testing.assert_array_equal(automatic_cuts(128), [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 128])
    for most in (9, 70, 1000, 1001, 10**5):
        cuts = automatic_cuts(most)
        assert cuts[-1] == most
        assert (np.diff(cuts) > 0).all()
        assert (cuts[1:] <= 2 * cuts[:-1]).all()
        assert len(cuts) <= 30


def test_cuts_end_with_the_features_of_positive_weight():
    X, y = continuous_table(40)
    for weights, last in [([3.0, 2.0, 1.0, 0.0, -1.0, 4.0], 4), ([0.0, -1.0, 0.0, 0.0, 0.0, 0.0], 1)]:
        assert CrossValidatedSelector(GivenWeights(weights), cv=2).fit(X, y).cuts_[-1] == last


def test_given_cuts():
    np.testing.assert_array_equal(checked_cuts([5, 0.5, 2, 10, 1.0], 10), [2, 5, 10])
    np.testing.assert_array_equal(checked_cuts(np.array([3, 1]), 10), [1, 3])
    np.testing.assert_array_equal(checked_cuts(range(1, 4), 10), [1, 2, 3])
    np.testing.assert_array_equal(checked_cuts((0.01,), 10), [1])
    with pytest.raises(ValueError, match="from 1 to 10"):
        checked_cuts(np.array([1.0, 2.0]), 10)


# The classifier


def slow_neighbors(X, codes, new, k, copies):
    """Whole numbers, exactly: votes of the nearest, those as far as the last sharing what is left."""
    told = []
    for x in new:
        left, votes = Fraction(k), {code: Fraction(0) for code in sorted(set(codes))}
        distances = [sum((int(a) - int(b)) ** 2 for a, b in zip(x, row, strict=True)) for row in X]
        for distance in sorted(set(distances)):
            shell = [n for n, each in enumerate(distances) if each == distance]
            size = sum(copies[n] for n in shell)
            for n in shell:
                votes[codes[n]] += copies[n] * min(Fraction(1), left / size)
            left -= min(left, size)
        told.append(max(votes, key=votes.get))  # the first of several
    return told


@settings(max_examples=80, deadline=None)
@over(seed=st.integers(0, 10**6), n_fitted=st.integers(2, 12), k=st.integers(1, 4), copied=st.booleans())
def test_neighbors_are_counted_exactly_where_there_are_ties(seed, n_fitted, k, copied):
    rng = np.random.default_rng(seed)
    X, new = rng.integers(0, 3, size=(n_fitted, 5)), rng.integers(-1, 4, size=(6, 5))
    codes = rng.integers(0, 3, size=n_fitted)
    copies = rng.integers(1, 4, size=n_fitted) if copied else np.ones(n_fitted, dtype=int)
    order, cuts = rng.permutation(5), [1, 2, 5]
    neighbors = NestedKNN(
        X, codes, 3, n_neighbors=k, scale=None, sample_weight=copies.astype(float) if copied else None
    )
    k = min(k, int(copies.sum()))
    for cut, told in zip(cuts, neighbors.predict(new, order, cuts), strict=True):
        kept = order[:cut]
        varies = np.ptp(X[:, kept], axis=0) > 0
        expected = slow_neighbors(
            X[:, kept][:, varies], codes.tolist(), new[:, kept][:, varies], k, copies.tolist()
        )
        assert told.tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_neighbors", [1, 3, 4, 50])
def test_the_same_as_scikit_learn_without_ties(n_neighbors, dtype):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(50, 3000)).astype(dtype), rng.normal(size=(30, 3000)).astype(dtype)
    new[3] *= 1e3
    codes = rng.integers(0, 3, size=50)
    order, cuts = rng.permutation(3000), [1, 2, 10, 1500, 3000]
    neighbors = NestedKNN(X, codes, 3, n_neighbors=n_neighbors, scale="range")
    for cut, told in zip(cuts, neighbors.predict(new, order, cuts), strict=True):
        model = make_pipeline(MinMaxScaler(), KNeighborsClassifier(n_neighbors))
        model.fit(X[:, order[:cut]].astype(np.float64), codes)
        np.testing.assert_array_equal(told, model.predict(new[:, order[:cut]].astype(np.float64)))


@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("factor", [1e-250, 1e250])
def test_extreme_units_of_the_neighbors(scale, factor):
    X, codes = continuous_table(60)
    X = X - X.mean(axis=0)
    told = [
        list(
            NestedKNN(each[:40], codes[:40], 3, n_neighbors=3, scale=scale).predict(
                each[40:], np.arange(6), [2, 6]
            )
        )
        for each in (X, X * factor)
    ]
    np.testing.assert_array_equal(told[1], told[0])


def test_a_sample_far_outside_of_what_was_fitted():
    X = np.array([[0.0, 5.0], [1e-300, 5.0], [1.0, 5.0]])
    new = np.array([[1e308, -1e308], [0.9, 1e308]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (told,) = NestedKNN(X, np.array([0, 0, 1]), 2, n_neighbors=1, scale="range").predict(
            new, np.arange(2), [2]
        )
    assert told[1] == 1


def test_rows_in_another_order_give_the_same_scores():
    """Folds given, since those of a number go by place; ties everywhere."""
    X, y = discrete_table(60)
    folds = [(np.setdiff1d(np.arange(60), rows), rows) for rows in np.arange(60).reshape(4, 15)]
    order = np.random.default_rng(0).permutation(60)
    place = np.argsort(order)
    moved = [(place[fitted], place[left_out]) for fitted, left_out in folds]
    first = CrossValidatedSelector(ReliefF(), cv=folds).fit(X, y)
    second = CrossValidatedSelector(ReliefF(), cv=moved).fit(X[order], y[order])
    np.testing.assert_array_equal(second.cv_scores_, first.cv_scores_)


def test_copies_count_in_the_ranking_the_neighbors_and_the_score():
    X, y = continuous_table(60)
    s = np.random.default_rng(4).integers(1, 4, size=60)
    folds = list(StratifiedKFold(3).split(X, y))
    place = np.repeat(np.arange(60), s)
    copied = [(np.flatnonzero(np.isin(place, a)), np.flatnonzero(np.isin(place, b))) for a, b in folds]
    weighted = CrossValidatedSelector(ReliefF(), cv=folds, cuts=[1, 2, 4]).fit(X, y, sample_weight=s)
    repeated = CrossValidatedSelector(ReliefF(), cv=copied, cuts=[1, 2, 4]).fit(X[place], y[place])
    np.testing.assert_allclose(weighted.cv_scores_, repeated.cv_scores_, rtol=1e-12)
    plain = CrossValidatedSelector(ReliefF(), cv=folds, cuts=[1, 2, 4]).fit(X, y)
    assert not np.allclose(weighted.cv_scores_, plain.cv_scores_)


def test_copies_reach_a_classifier_that_takes_them():
    X, y = continuous_table(60, n_classes=2)
    s = np.where(y == 0, 1e6, 1.0)
    cuts = {"cv": 3, "cuts": [1]}
    takes = CrossValidatedSelector(FisherScore(), classifier=LogisticRegression(), **cuts)
    # All are told to be of the class that counts, which is nearly all that is scored.
    assert takes.fit(X, y, sample_weight=s).cv_scores_.min() > 1.0 - 1e-4
    takes_not = CrossValidatedSelector(FisherScore(), classifier=KNeighborsClassifier(), **cuts)
    assert takes_not.fit(X, y, sample_weight=s).cv_scores_.min() < 1.0 - 1e-4


# What is inside


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestClassifier(10),
        make_pipeline(StandardScaler(), LogisticRegression()),
        EnsembleWeighting(ReliefF(), n_estimators=3),
        OnlineIRelief(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_any_estimator_that_weighs_features(estimator):
    X, y = continuous_table(60)
    X = StandardScaler().fit_transform(X)
    fits = [
        CrossValidatedSelector(estimator, cv=3, random_state=0, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (None, 2, 1)
    ]
    for each in fits[1:]:
        np.testing.assert_array_equal(each.cv_scores_, fits[0].cv_scores_)
        np.testing.assert_array_equal(each.feature_weights_, fits[0].feature_weights_)
    assert fits[0].cv_scores_.shape == (3, len(fits[0].cuts_))


def test_random_numbers_follow_from_the_seed():
    X, y = continuous_table(60)
    forest = RandomForestClassifier(5)
    found = [
        CrossValidatedSelector(forest, classifier=forest, cv=2, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(found[0].cv_scores_, found[1].cv_scores_)
    np.testing.assert_array_equal(found[0].feature_weights_, found[1].feature_weights_)
    assert not np.array_equal(found[0].feature_weights_, found[2].feature_weights_)
    other_folds = CrossValidatedSelector(forest, cv=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(other_folds.feature_weights_, found[0].feature_weights_)


def test_sparse_tables_and_missing_values_where_all_inside_take_them():
    X, y = continuous_table(60)
    X = StandardScaler().fit_transform(X)
    table = scipy.sparse.csr_array(X)
    model, knn = LogisticRegression(), KNeighborsClassifier()
    dense = CrossValidatedSelector(model, classifier=knn, cv=3).fit(X, y)
    taken = CrossValidatedSelector(model, classifier=knn, cv=3).fit(table, y)
    np.testing.assert_allclose(taken.cv_scores_, dense.cv_scores_, rtol=1e-12)
    with pytest.raises(TypeError, match="does not support sparse X: it scores by k-NN on dense rows"):
        CrossValidatedSelector(model, cv=3).fit(table, y)
    holes = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)
    forest = RandomForestClassifier(5, random_state=0)
    assert CrossValidatedSelector(forest, classifier=forest, cv=3).fit(holes, y).cv_scores_.mean() > 0.4
    with pytest.raises(ValueError, match="X contains NaN"):
        CrossValidatedSelector(forest, cv=3).fit(holes, y)


@pytest.mark.parametrize("meta", [CrossValidatedSelector, VarianceReduction])
def test_a_regressor_is_refused(meta):
    with pytest.raises(TypeError, match=r"different classes; estimator=Ridge\(\) does not receive them"):
        meta(Ridge()).fit(*continuous_table())


def test_a_selector_without_weights_is_refused():
    with pytest.raises(ValueError, match="SelectKBest weighs no features"):
        CrossValidatedSelector(SelectKBest(k=2), cv=3).fit(*continuous_table())


def test_wholly_in_a_pipeline_with_frames_and_words():
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table(60)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = make_pipeline(CrossValidatedSelector(ReliefF(), cv=3), KNeighborsClassifier())
    model[0].set_output(transform="pandas")
    named = np.array(["x", "y", "z"])[y]
    assert set(model.fit(frame, named).predict(frame)) <= {"x", "y", "z"}
    assert list(model[0].get_feature_names_out()) == list(frame.columns[model[0].get_support()])


# Callbacks


@needs_callbacks
def test_a_callback_can_stop():
    X, y = continuous_table(60)
    recorder = Recorder()
    CrossValidatedSelector(ReliefF(), cv=4).set_callbacks(recorder).fit(X, y)
    assert recorder.events == recorded(5)
    recorder = Recorder(stop_after=3)
    selector = CrossValidatedSelector(ReliefF(), cv=4).set_callbacks(recorder)
    with pytest.warns(UserWarning, match="stopped by a callback after 2 of 4 folds"):
        selector.fit(X, y)
    whole = CrossValidatedSelector(ReliefF(), cv=4).fit(X, y)
    np.testing.assert_array_equal(selector.cv_scores_, whole.cv_scores_[:2])
