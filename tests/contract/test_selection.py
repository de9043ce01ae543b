"""What every feature weighter makes of its weights: ranking, selection, transform."""

import contextlib

import numpy as np
import pytest
from contract import (
    ALTERNATING,
    TABLES,
    GivenWeights,
    assert_same,
    given,
    ranked_by,
    weights_of,
)
from registry import (
    continuous_table,
    in_turn,
    over_entries,
    over_families,
    over_registry,
)
from sklearn.base import clone

from highrelief import IRelief

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# Ranking and selection


@in_turn(over_registry, table=TABLES)
def test_ranking_and_importances(entry, table):
    X, y = table()
    X = np.column_stack([X, np.zeros((len(X), 2))])
    weighter = entry.make().fit(X, y)
    w = weighter.feature_weights_
    by = ranked_by(weighter)
    expected = [1 + sum(other > own for other in by) for own in by]
    np.testing.assert_array_equal(weighter.ranking_, expected)
    assert np.issubdtype(weighter.ranking_.dtype, np.integer)
    assert weighter.ranking_[-1] == weighter.ranking_[-2]
    np.testing.assert_array_equal(weighter.feature_importances_, np.maximum(w, 0.0))


@over_families
def test_importances_are_read_only(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    before = weighter.feature_importances_.copy()
    with pytest.raises(AttributeError):
        weighter.feature_importances_ = np.ones(6)
    with contextlib.suppress(ValueError):  # a view that cannot be written to is as good as a copy
        weighter.feature_importances_[:] = 7.0
    np.testing.assert_array_equal(weighter.feature_importances_, before)
    assert weighter.feature_weights_.max() != 7.0


def test_equal_weights_share_the_lowest_rank():
    weighter = given([0.5, 2.0, -1.0, 2.0, 0.0, -1.0, 0.5])
    np.testing.assert_array_equal(weighter.ranking_, [3, 1, 6, 1, 5, 6, 3])
    np.testing.assert_array_equal(weighter.feature_importances_, [0.5, 2.0, 0.0, 2.0, 0.0, 0.0, 0.5])


@pytest.mark.parametrize(
    ("weights", "wanted", "kept"),
    [
        ([0.5, 2.0, -1.0, 0.0], None, [0, 1]),
        ([-3.0, -0.5, -1.0, -0.5], None, [1]),
        ([0.0, 0.0, 0.0], None, [0]),
        ([-1.0, 0.0, 0.0], None, [1]),
        ([0.5, 2.0, -1.0, 0.0], 1, [1]),
        ([0.5, 2.0, -1.0, 0.0], 3, [0, 1, 3]),
        ([0.5, 2.0, -1.0, 0.0], np.int32(4), [0, 1, 2, 3]),
        ([1.0, 2.0, 1.0, 1.0], 2, [0, 1]),
        ([1.0, 2.0, 1.0, 1.0], 3, [0, 1, 2]),
        ([1.0, 1.0, 1.0, 1.0], 1, [0]),
        (np.tile([1.0, 3.0], 20), 23, [0, 1, 2, 3, 4, *range(5, 40, 2)]),
        ([0.5, 2.0, -1.0, 0.0], 0.5, [0, 1]),
        ([0.5, 2.0, -1.0, 0.0], 0.25, [1]),
        ([0.5, 2.0, -1.0, 0.0], 1e-9, [1]),
        ([0.5, 2.0, -1.0, 0.0], 1.0, [0, 1, 2, 3]),
    ],
)
def test_what_is_kept(weights, wanted, kept):
    weighter = given(weights, n_features_to_select=wanted)
    np.testing.assert_array_equal(weighter.get_support(indices=True), kept)
    X = np.random.default_rng(1).normal(size=(3, len(weights)))
    np.testing.assert_array_equal(weighter.transform(X), X[:, kept])


@over_registry
def test_selection_of_the_fitted(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    w = weighter.feature_weights_
    best = np.argsort(-ranked_by(weighter), kind="stable")
    by_default = weighter.n_features_ if entry.family.chooses_number else max(1, np.count_nonzero(w > 0.0))
    for wanted, n_kept in [(None, by_default), (1, 1), (4, 4), (0.5, 3), (1.0, 6)]:
        weighter.set_params(n_features_to_select=wanted)
        if entry.family.groups_features:
            weighter.fit(X, y)
        np.testing.assert_array_equal(weighter.get_support(indices=True), np.sort(best[:n_kept]))
        np.testing.assert_array_equal(weighter.transform(X), X[:, np.sort(best[:n_kept])])


@over_registry
def test_one_feature_is_kept_where_none_is_good(entry):
    weighter = entry.make().fit(*ALTERNATING)
    says_so = entry.family.nonnegative or entry.signed
    if entry.family.one_by_one or entry.family.relative or entry.any_is_better_than_none:
        says_so = False
    if says_so:
        assert weighter.feature_weights_[0] <= 0.0
    if entry.family.may_keep_none:
        assert not weighter.get_support().any()
        return
    assert weighter.transform(ALTERNATING[0]).shape == (12, 1)


# Transform

BY_HAND = {
    "range": lambda X: (X.min(axis=0), X.max(axis=0) - X.min(axis=0)),
    "standard": lambda X: (X.mean(axis=0), X.std(axis=0)),
    None: lambda X: (0.0, 1.0),
}


@in_turn(over_families, scale=list(BY_HAND), weighted=[False, "manhattan", "euclidean", True])
def test_transform_by_hand(entry, scale, weighted):
    X, y = continuous_table()
    new, _ = continuous_table(15, seed=1)
    new = 3.0 * new - 1.0  # outside the fitted range
    weighter = entry.make(scale=scale, weighted=weighted, n_features_to_select=4).fit(X, y)
    kept = weighter.get_support(indices=True)
    assert kept.size == 4
    positive = np.maximum(weighter.feature_weights_, 0.0)
    offset, divisor = BY_HAND[scale](X)
    metric = entry.family.own_metric if weighted is True else weighted
    if metric is False:
        expected = new[:, kept]
    else:
        factors = positive if metric == "manhattan" else np.sqrt(positive)
        expected = ((new - offset) / divisor * factors)[:, kept]
    result = weighter.transform(new)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert weighter.transform(new.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(clone(weighter).fit_transform(X, y), weighter.transform(X))


def test_distances_after_transform_are_those_of_the_learned_metric():
    X, y = continuous_table()
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    difference = np.abs(scaled[0] - scaled[1:])
    for weighted, power in [("manhattan", 1), ("euclidean", 2)]:
        weighter = IRelief(sigma=1.0, weighted=weighted).fit(X, y)
        result = weighter.transform(X)
        distance = (np.abs(result[0] - result[1:]) ** power).sum(axis=1)
        np.testing.assert_allclose(distance, difference**power @ weighter.feature_weights_)


@in_turn(
    over_entries(lambda entry: entry.plain and not entry.family.far_counts),
    scale=list(BY_HAND),
    weighted=[False, "manhattan", "euclidean", True],
)
def test_inverse_transform(entry, scale, weighted):
    X, y = continuous_table()
    weighter = entry.make(scale=scale, weighted=weighted, n_features_to_select=2).fit(X, y)
    kept = weighter.get_support()
    assert weighter.feature_weights_[kept].min() > 0.0
    back = weighter.inverse_transform(weighter.transform(X))
    assert back.shape == X.shape
    np.testing.assert_allclose(back[:, kept], X[:, kept], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(back[:, ~kept], 0.0)


def test_inverse_transform_of_a_column_of_weight_0():
    X, y = continuous_table()
    weighter = GivenWeights([1.0, -2.0, 0.0, 0.5, 0.0, 0.0], n_features_to_select=6, weighted=True).fit(X, y)
    back = weighter.inverse_transform(weighter.transform(X))
    expected = np.where(weighter.feature_weights_ > 0.0, X, X.min(axis=0))
    np.testing.assert_allclose(back, expected)


# Scaling


# Folds are scaled by their own samples, and may then choose otherwise.
@in_turn(
    over_entries(lambda entry: not entry.resamples and not entry.cuts_folds), scale=["range", "standard"]
)
def test_no_scaling_of_scaled_data_is_scaling(entry, scale):
    if scale == "standard" and entry.family.weighs_samples:
        pytest.skip("the wrapped weighter scales by the deviation of the weighted samples")
    X, y = continuous_table()
    offset, divisor = BY_HAND[scale](X)
    expected = weights_of(entry.make(scale=scale), X, y)
    assert_same(weights_of(entry.make(scale=None), (X - offset) / divisor, y), expected)


@over_entries(lambda entry: entry.family.margins)
def test_scaling_matters(entry):
    X, y = continuous_table()
    found = [weights_of(entry.make(scale=scale), X, y) for scale in BY_HAND]
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert not np.allclose(found[a], found[b])
