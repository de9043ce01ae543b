"""RedundancyFilter: groups as by hand, one of each is kept, whatever the units and the selector."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from oracles.redundancy import correlation, groups_by_hand
from scipy import stats
from scipy.cluster import hierarchy
from scipy.cluster.hierarchy import fcluster
from scipy.spatial.distance import squareform
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from highrelief import (
    CrossValidatedSelector,
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    IRelief,
    IterativeElimination,
    MultiSURF,
    RedundancyFilter,
    ReliefF,
    RReliefF,
)
from highrelief.datasets import make_xor
from highrelief.selection.redundancy import (
    cramers_v,
    group_features,
    linked_columns,
    midranks,
    pairwise_pearson,
    pearson,
    similarities,
)

LINKAGES = ["complete", "average", "single"]


def related(n_samples=80, n_features=14, *, seed=0, missing=0.0):
    """Features in overlapping families, half of which tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_samples)
    base = rng.normal(size=(n_samples, 4)) + y[:, np.newaxis] * [1.0, 0.5, 0.0, 0.0]
    mix = rng.normal(size=(4, n_features)) * (rng.uniform(size=(4, n_features)) < 0.5)
    X = base @ mix + 0.4 * rng.normal(size=(n_samples, n_features))
    X[rng.uniform(size=X.shape) < missing] = np.nan
    return X, y


# Similarities


def test_correlations_are_those_of_numpy_and_scipy():
    X, _ = related()
    np.testing.assert_allclose(pearson(X), np.corrcoef(X, rowvar=False), atol=1e-13)
    np.testing.assert_allclose(pairwise_pearson(X), np.corrcoef(X, rowvar=False), atol=1e-13)
    rounded = X.round(0)
    expected = np.abs(stats.spearmanr(rounded).statistic)
    np.testing.assert_allclose(similarities(rounded, "spearman"), expected, atol=1e-12)
    np.testing.assert_allclose(midranks(rounded), stats.rankdata(rounded, axis=0) - 0.5)


def test_missing_values_are_left_out_pair_by_pair():
    X, _ = related(40, 6, missing=0.3)
    X[:, 4] = np.where(np.arange(40) < 20, 1.0, np.nan)
    X[:, 5] = np.where(np.arange(40) < 20, np.nan, X[:, 0])
    found = similarities(X)
    for i in range(6):
        for j in range(6):
            expected = 1.0 if i == j else correlation(X[:, i], X[:, j])
            assert found[i, j] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_copies_count_as_samples(kind):
    X, _ = related(30, 5, missing=0.1)
    copies = np.random.default_rng(0).integers(1, 4, 30)
    expected = similarities(np.repeat(X, copies, axis=0), kind)
    np.testing.assert_allclose(
        similarities(X, kind, sample_weight=copies.astype(float)), expected, atol=1e-11
    )


def test_extreme_values_have_correlations():
    X, _ = related(30, 3)
    expected = np.corrcoef(X, rowvar=False)
    for factor in (1e307, 1e-300):
        np.testing.assert_allclose(pearson(X * factor / np.abs(X).max()), expected, atol=1e-9)


def test_cramers_v_is_that_of_scipy():
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 3, 5, 4], size=(90, 4)).astype(np.float64)
    X[:, 3] = (X[:, 2] + 3.0) % 5.0  # the same but for names
    found = cramers_v(X)
    for i in range(4):
        for j in range(i):
            table = stats.contingency.crosstab(X[:, i], X[:, j])[1]
            assert found[i, j] == pytest.approx(stats.contingency.association(table, "cramer"), abs=1e-12)
    assert found[2, 3] == pytest.approx(1.0)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    both = ~np.isnan(X[:, :2]).any(axis=1)
    table = stats.contingency.crosstab(X[both, 0], X[both, 1])[1]
    assert cramers_v(X)[0, 1] == pytest.approx(stats.contingency.association(table, "cramer"), abs=1e-12)


def test_a_number_and_a_category_say_nothing_the_same():
    X, _ = related(50, 3)
    X[:, 2] = X[:, 0] > 0.0
    found = similarities(X, categorical=np.array([False, False, True]))
    np.testing.assert_array_equal(found[2], [0.0, 0.0, 1.0])
    assert found[0, 1] == pytest.approx(correlation(X[:, 0], X[:, 1]))


# Groups


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("seed", range(6))
def test_groups_as_by_hand(linkage, seed):
    X, _ = related(60, 12, seed=seed, missing=0.05 * (seed % 2))
    order = np.random.default_rng(seed).permutation(12)[:10]
    for threshold in (0.3, 0.6, 0.8, 0.95):
        found = group_features(X, order, threshold=threshold, linkage=linkage)
        expected = groups_by_hand(X, order.tolist(), threshold, linkage)
        assert [group.tolist() for group in found.members] == expected
        np.testing.assert_array_equal(found.representatives, [group[0] for group in expected])
        for number, group in enumerate(expected):
            np.testing.assert_array_equal(found.labels[group], number)
            for j in group:
                similar = 1.0 if j == group[0] else correlation(X[:, j], X[:, group[0]])
                assert found.similarity[j] == pytest.approx(similar, abs=1e-10)
        left = np.setdiff1d(np.arange(12), order)
        np.testing.assert_array_equal(found.labels[left], -1)
        assert np.isnan(found.similarity[left]).all()


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_groups_are_those_of_one_clustering_of_all_features(linkage, kind):
    """Linked parts are clustered one by one; their links are found in several blocks of columns."""
    X = np.hstack([related(40, 60, seed=seed)[0] for seed in range(6)])
    order = np.random.default_rng(0).permutation(X.shape[1])
    apart = squareform(1.0 - similarities(X[:, order], kind), checks=False)
    for threshold in (0.5, 0.7, 0.9):
        cut = fcluster(hierarchy.linkage(apart, method=linkage), 1.0 - threshold, criterion="distance")
        found = group_features(X, order, threshold=threshold, linkage=linkage, similarity=kind)
        # The same partition: each pair of labels belongs together.
        n_pairs = np.unique(np.column_stack([cut, found.labels[order]]), axis=0).shape[0]
        assert n_pairs == cut.max() == found.representatives.size > 1


def test_linked_columns_miss_no_correlation_at_the_threshold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40))
    X[:, 7] = -3.0 * X[:, 31] + 2.0
    X[:, 12] = 0.0
    assert [part.tolist() for part in linked_columns(X, 1.0)] == [[7, 31]]
    assert linked_columns(X[:, :0], 0.5) == []
    similar = similarities(X)
    np.fill_diagonal(similar, 0.0)
    together = next(part for part in linked_columns(X, float(similar[3].max())) if 3 in part)
    assert int(np.argmax(similar[3])) in together


@pytest.mark.parametrize("linkage", LINKAGES)
def test_groups_grow_as_the_threshold_falls(linkage):
    X, y = related(80, 20)
    finer = None
    for threshold in (1.0, 0.9, 0.8, 0.6, 0.4, 0.2):
        labels = RedundancyFilter(FisherScore(), threshold=threshold, linkage=linkage).fit(X, y).labels_
        if finer is not None:
            assert labels.max() <= finer.max()
            # Each finer group lies in one of the coarser ones.
            assert all(len(set(labels[finer == group])) == 1 for group in set(finer))
        finer = labels


def test_every_two_of_a_complete_group_reach_the_threshold_and_no_two_of_single_groups_do():
    X, y = related(80, 20)
    similar = similarities(X)
    for group in RedundancyFilter(FisherScore(), threshold=0.7).fit(X, y).groups_:
        assert similar[np.ix_(group, group)].min() >= 0.7
    labels = RedundancyFilter(FisherScore(), threshold=0.7, linkage="single").fit(X, y).labels_
    assert similar[labels[:, np.newaxis] != labels].max() < 0.7


# What is kept


@pytest.mark.parametrize("n_features_to_select", [None, 3, 5])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_copies_of_all_columns_change_nothing(linkage, n_features_to_select):
    X, y = related(80, 12)
    make = {"threshold": 0.8, "linkage": linkage, "n_features_to_select": n_features_to_select}
    once = RedundancyFilter(FisherScore(), **make).fit(X, y).get_support(indices=True)
    twice = RedundancyFilter(FisherScore(), **make).fit(np.hstack([X, X]), y).get_support(indices=True)
    np.testing.assert_array_equal(twice, once)


def test_units_and_signs_of_the_columns_do_not_matter():
    X, y = related(80, 12)
    rng = np.random.default_rng(1)
    other = X * rng.choice([-1.0, 1.0], 12) * 10.0 ** rng.integers(-6, 6, 12) + rng.normal(size=12)
    for similarity in ("pearson", "spearman"):
        first, second = (
            RedundancyFilter(ReliefF(), threshold=0.6, similarity=similarity).fit(each, y)
            for each in (X, other)
        )
        np.testing.assert_array_equal(first.labels_, second.labels_)
        np.testing.assert_array_equal(first.get_support(), second.get_support())


def test_a_threshold_of_1_drops_copies_only():
    X, y = related(80, 8)
    X = np.column_stack([X, -3.0 * X[:, 0] + 7.0, X[:, 1] + 1e-4 * np.arange(80)])
    found = RedundancyFilter(FisherScore(n_features_to_select=1.0), threshold=1.0).fit(X, y)
    assert sorted(len(group) for group in found.groups_) == [1] * 8 + [2]
    assert found.labels_[0] == found.labels_[8]
    np.testing.assert_array_equal(found.get_support(indices=True), np.delete(np.arange(10), 8))


def test_the_best_of_a_group_speaks_for_it_and_of_equals_the_lower_column():
    X, y = related(80, 6)
    X = np.column_stack([X[:, 0] + 0.05 * np.random.default_rng(2).normal(size=80), X, X[:, 3]])
    found = RedundancyFilter(FisherScore(), threshold=0.95).fit(X, y)
    weights = found.feature_weights_
    for representative, group in zip(found.representatives_, found.groups_, strict=True):
        assert representative == min(group, key=lambda j: (-weights[j], j))
    # Equal but for rounding of the weights: the same numbers have the same bits.
    assert found.get_support()[4]
    assert not found.get_support()[7]
    np.testing.assert_array_equal(
        found.representatives_, sorted(found.representatives_, key=lambda j: -weights[j])
    )


def test_so_many_representatives_are_found_further_down():
    X, y = related(80, 6)
    X = np.hstack([X[:, :1]] * 10 + [X])
    found = RedundancyFilter(FisherScore(), n_features_to_select=4, threshold=0.99).fit(X, y)
    assert found.get_support().sum() == 4
    assert sorted(found.labels_[found.get_support()]) == [0, 1, 2, 3]
    with pytest.warns(UserWarning, match="16 features are of 6 groups .* and not 9"):
        found = RedundancyFilter(FisherScore(), n_features_to_select=9, threshold=0.99).fit(X, y)
    assert found.get_support().sum() == 6
    found.set_params(n_features_to_select=2)
    np.testing.assert_array_equal(np.sort(found.representatives_[:2]), found.get_support(indices=True))


def test_more_than_was_looked_at_needs_another_fit():
    X, y = related(80, 12)
    found = RedundancyFilter(FisherScore(n_features_to_select=3)).fit(X, y)
    found.set_params(n_features_to_select=8)
    with pytest.raises(ValueError, match=r"n_features_to_select=8 .* fit again"):
        found.get_support()


def test_too_many_features_are_refused(force):
    force(max_grouped_features=5)
    X, y = related(80, 12)
    with pytest.raises(ValueError, match=r"12 features would be grouped.*at most 5"):
        RedundancyFilter(FisherScore(n_features_to_select=1.0), threshold=0.01).fit(X, y)
    # No five are linked.
    few = RedundancyFilter(FisherScore(n_features_to_select=1.0), threshold=0.99).fit(X, y)
    assert few.labels_.min() == 0


SELECTORS = [
    ReliefF(n_features_to_select=6),
    IRelief(),
    MultiSURF(),
    CrossValidatedSelector(ReliefF(), cv=3),
    EnsembleWeighting(FisherScore(), n_estimators=3, n_features_to_select=5, random_state=0),
    IterativeElimination(ReliefF(), n_features_to_select=4),
    RedundancyFilter(ReliefF(n_features_to_select=9), threshold=0.95),
    make_pipeline(FisherScore(n_features_to_select=1.0), ReliefF(n_features_to_select=5)),
    RandomForestClassifier(10, random_state=0),
    LogisticRegression(),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda each: type(each).__name__)
def test_around_any_selector(selector):
    X, y = related(80, 12)
    found = RedundancyFilter(selector, threshold=0.7).fit(X, y)
    inside = found.estimator_
    inside = inside[-1] if hasattr(inside, "steps") else inside
    kept = inside.get_support() if hasattr(inside, "get_support") else found.feature_weights_ > 0.0
    np.testing.assert_array_equal(found.labels_ >= 0, kept)
    assert found.get_support().sum() == len(found.groups_)
    assert np.all(kept[found.get_support()])
    if not isinstance(inside, (RedundancyFilter, IterativeElimination)):
        order = np.argsort(-found.feature_weights_, kind="stable")
        expected = groups_by_hand(X, [j for j in order if kept[j]], 0.7, "complete")
        assert [group.tolist() for group in found.groups_] == expected


def test_where_nothing_is_found_to_be_real_nothing_is_kept():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2
    inside = ErrorControlledSelector(ReliefF(), level=0.01, n_permutations=50, random_state=0)
    found = RedundancyFilter(inside).fit(X, y)
    assert not found.estimator_.get_support().any()
    assert not found.get_support().any()
    assert found.groups_ == []
    np.testing.assert_array_equal(found.labels_, -1)
    further = RedundancyFilter(inside, n_features_to_select=2).fit(X, y)
    assert further.get_support().sum() == 2
    assert not further.set_params(n_features_to_select=None).get_support().any()


def test_a_selector_without_weights_is_refused():
    X, y = related(80, 12)
    with pytest.raises(ValueError, match="SelectKBest weighs no features"):
        RedundancyFilter(SelectKBest(k=3)).fit(X, y)


@pytest.mark.slow
def test_a_grid_search_over_the_threshold():
    X, y = related(80, 12)
    search = GridSearchCV(
        make_pipeline(RedundancyFilter(FisherScore()), LogisticRegression()),
        {
            "redundancyfilter__threshold": [0.5, 0.9],
            "redundancyfilter__estimator__n_features_to_select": [4, 8],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_estimator_[0].groups_


# Kinds of tables


def test_words_and_categories_of_a_frame():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    city = np.where(y == 1, rng.integers(0, 3, 90), rng.integers(1, 4, 90))
    frame = pd.DataFrame(
        {
            "city": pd.Categorical(np.array(["Bern", "Graz", "Ulm", "Wien"])[city]),
            "age": rng.normal(size=90) + y,
            "code": pd.Categorical(np.array(["a", "b", "c", "d"])[city]),
            "years": 0.0,
        }
    )
    frame["years"] = 365.0 * frame["age"]
    found = RedundancyFilter(ReliefF(categorical_features="from_dtype", n_features_to_select=1.0)).fit(
        frame, y
    )
    assert found.labels_[0] == found.labels_[2] != found.labels_[1] == found.labels_[3]
    assert list(found.transform(frame).shape) == [90, 2]
    assert sorted(found.get_feature_names_out()) == ["age", "city"]


def test_sparse_and_missing_and_numbers():
    X, y = related(80, 12)
    X[np.abs(X) < 0.5] = 0.0
    dense = RedundancyFilter(ReliefF(), threshold=0.6).fit(X, y)
    sparse = RedundancyFilter(ReliefF(), threshold=0.6).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    X, y = related(80, 12, missing=0.1)
    assert RedundancyFilter(ReliefF(), threshold=0.6).fit(X, y).get_support().any()
    X, _ = related(80, 5)
    assert RedundancyFilter(RReliefF(), threshold=0.6).fit(X, X[:, 0] + X[:, 1]).get_support().any()


def test_one_feature_constants_and_an_exclusive_or():
    X, y, _ = make_xor(120, n_irrelevant=4, random_state=0)
    assert RedundancyFilter(ReliefF()).fit(X[:, :1], y).get_support().tolist() == [True]
    wide = np.column_stack([X, np.zeros((120, 2)), -X[:, 0]])
    found = RedundancyFilter(ReliefF(n_features_to_select=1.0)).fit(wide, y)
    assert found.labels_[6] != found.labels_[7]
    np.testing.assert_array_equal(np.flatnonzero(found.labels_ == found.labels_[0]), [0, 8])


def test_copies_of_samples_are_samples():
    X, y = related(50, 10)
    copies = np.random.default_rng(0).integers(1, 4, 50)
    weighed = RedundancyFilter(FisherScore(), threshold=0.6).fit(X, y, sample_weight=copies)
    again = RedundancyFilter(FisherScore(), threshold=0.6).fit(
        np.repeat(X, copies, axis=0), np.repeat(y, copies)
    )
    np.testing.assert_array_equal(weighed.labels_, again.labels_)
    np.testing.assert_allclose(weighed.similarity_, again.similarity_, atol=1e-11)
