"""What every feature weighter does on small and degenerate tables."""

import warnings

import numpy as np
import pytest
from contract import (
    PRECISIONS,
    skip_where_nothing_is_found,
    weights_of,
)
from registry import (
    continuous_table,
    discrete_table,
    in_turn,
    over_registry,
)

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@over_registry
@pytest.mark.filterwarnings("ignore:No class in y has two samples")
def test_two_samples_of_one_feature(entry):
    changes = {"n_anchors": 2} if "n_anchors" in entry.parameters else {}
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    weighter = entry.make(**changes).fit(X, y)
    assert weighter.feature_weights_.shape == (1,)
    assert np.isfinite(weighter.feature_weights_).all()
    np.testing.assert_array_equal(weighter.ranking_, [1])
    if entry.family.may_keep_none:
        assert not weighter.get_support().any()
    else:
        np.testing.assert_array_equal(weighter.transform(X), X)
    if entry.family.margins:
        np.testing.assert_array_equal(weighter.feature_weights_, 0.0)
        np.testing.assert_array_equal(weighter.margins(X, y), 0.0)


@over_registry
def test_what_is_said_of_classes_without_a_second_sample_is_true(entry):
    X, y = np.array([[0.0, 3.0], [1.0, 5.0], [2.0, 4.0], [5.0, 2.0]]), [0, 1, 2, 3]
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        w = weights_of(entry.make(), X, y)
    said = any("weight 0" in str(each.message) for each in record if each.category is UserWarning)
    assert said == (not w.any())


@over_registry
def test_three_samples(entry):
    weighter = entry.make().fit([[0.0], [1.0], [0.2]], ["a", "b", "a"])
    assert np.isfinite(weighter.feature_weights_).all()
    if not entry.draws_samples and not entry.family.within_radius:
        assert weighter.feature_weights_[0] > 0.0


@over_registry
def test_a_class_of_one_sample(entry):
    X, y = continuous_table(n_classes=2)
    y[7] = 2
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    assert w.max() > 0.0 or entry.family.far_counts
    if entry.family.unit_norm:
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)


@in_turn(over_registry, dtype=PRECISIONS)
def test_duplicates(entry, dtype):
    """All samples twice or more; some of them in both classes."""
    X, y = discrete_table(20, n_classes=2)
    X, y = np.tile(X, (3, 1)).astype(dtype), np.r_[y, y, 1 - y]
    weighter = entry.make().fit(X, y)
    assert np.isfinite(weighter.feature_weights_).all()
    if entry.family.margins:
        assert np.isfinite(weighter.margins(X, y)).all()


@over_registry
def test_all_samples_of_a_class_are_the_same(entry):
    X, y = np.repeat([[0.0, 3.0], [1.0, 3.0]], 5, axis=0), np.repeat([0, 1], 5)
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    assert w[0] > 0.0 or entry.family.within_radius
    assert w[1] == 0.0


@over_registry
def test_all_samples_but_one_are_the_same(entry):
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    X[0] = 1.0, -1.0
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    if not entry.feature_order_dependent:
        assert w[0] == pytest.approx(w[1], abs=1e-12)


@over_registry
def test_more_features_than_samples(entry):
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 700))
    X[:, 5] += 20.0 * y
    weighter = entry.make().fit(X, y)
    assert np.isfinite(weighter.feature_weights_).all()
    # By the number of samples that are right, many are as good among so few.
    # Within a radius there may be no one, or no miss.
    family = entry.family
    few_tell = entry.parameters.get("utility") == "zero-one" or family.within_radius or family.by_counts
    if not entry.draws_samples and not few_tell:
        np.testing.assert_array_equal(np.flatnonzero(weighter.ranking_ == 1), [5])


@over_registry
def test_many_classes(entry):
    X, y = continuous_table(60, n_classes=20)
    skip_where_nothing_is_found(entry, X, y)
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    assert w.max() > 0.0 or entry.family.far_counts
