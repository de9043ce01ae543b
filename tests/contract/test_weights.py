"""What every feature weighter promises of its weights."""

import numpy as np
import pytest
from contract import (
    ALTERNATING,
    PRECISIONS,
    TABLES,
    TABLES_AND_ROUNDING,
    GivenWeights,
    assert_same,
    copies_count,
    outcome,
    rows_in_any_order,
    same_bits,
    skip_where_nothing_is_found,
    takes_sample_weight,
    weights_of,
)
from registry import (
    ENTRIES,
    FAMILIES,
    continuous_table,
    in_turn,
    over_entries,
    over_registry,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# The registry


def test_names_of_entries_are_unique():
    assert len({str(entry) for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_flags_of_the_registry(family):
    weighter = family.default()
    assert has_fit_parameter(weighter, "sample_weight") == family.sample_weight
    # The order-dependent methods take no sample_weight, nor do those that make one or count samples.
    without = get_tags(weighter).order_dependent or family.weighs_samples or family.by_counts
    assert family.sample_weight == (not without)
    assert hasattr(weighter, "margins") == family.margins
    shared = {"n_features_to_select": None, "weighted": False, "n_jobs": None, "verbose": 0}
    shared["scale" if family.inside is None else "estimator__scale"] = "range"
    parameters = weighter.get_params()
    assert {name: parameters[name] for name in shared} == shared


@over_registry
def test_the_order_dependent_take_no_sample_weight(entry):
    without = entry.order_dependent or entry.family.weighs_samples or entry.family.by_counts
    assert entry.sample_weight == (not without)


# Weights


@in_turn(over_registry, table=TABLES, dtype=PRECISIONS)
def test_shape_sign_and_norm(entry, table, dtype):
    X, y = table()
    skip_where_nothing_is_found(entry, X, y)
    weighter = entry.make().fit(X.astype(dtype), y)
    w = weighter.feature_weights_
    assert w.shape == (X.shape[1],)
    assert w.dtype == np.float64
    assert np.isfinite(w).all()
    assert w.max() > 0.0 or entry.family.far_counts
    if entry.family.nonnegative:
        assert w.min() >= 0.0
    if entry.family.unit_norm:
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)
    if entry.family.unit_sum:
        assert w.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(weighter.classes_, [0, 1, 2])
    assert weighter.n_features_in_ == X.shape[1]


@over_entries(lambda entry: entry.signed)
def test_weights_can_be_negative(entry):
    weighter = entry.make().fit(*ALTERNATING)
    assert weighter.feature_weights_[0] < 0.0
    assert weighter.feature_importances_[0] == 0.0


@in_turn(over_entries(lambda entry: not entry.feature_order_dependent), table=TABLES_AND_ROUNDING)
def test_permuted_columns_permute_the_weights(entry, table):
    X, y = table()
    order = np.random.default_rng(1).permutation(X.shape[1])
    expected = weights_of(entry.make(), X, y)[order]
    assert not np.allclose(expected, expected[np.argsort(order)])
    assert_same(weights_of(entry.make(), X[:, order], y), expected)


@over_entries(lambda entry: entry.feature_order_dependent)
def test_exempt_methods_do_depend_on_the_order_of_the_columns(entry):
    y = np.arange(30) % 2
    X = np.random.default_rng(0).normal(size=(30, 20)) + 0.5 * y[:, np.newaxis]
    w = weights_of(entry.make(), X, y)
    assert not np.array_equal(weights_of(entry.make(), X[:, ::-1], y)[::-1], w)


@in_turn(rows_in_any_order, table=TABLES_AND_ROUNDING, n_classes=[2, 3])
def test_permuted_rows_change_nothing(entry, table, n_classes):
    X, y = table(n_classes=n_classes)
    skip_where_nothing_is_found(entry, X, y)
    expected = weights_of(entry.make(), X, y)
    for order in (np.random.default_rng(0).permutation(len(X)), np.arange(len(X))[::-1]):
        assert_same(weights_of(entry.make(), X[order], y[order]), expected)


@over_entries(lambda entry: entry.order_dependent or entry.draws_samples)
def test_exempt_methods_do_depend_on_the_order(entry):
    X, y = continuous_table()
    assert not np.allclose(
        weights_of(entry.make(), X[::-1], y[::-1]), weights_of(entry.make(), X, y), atol=1e-6
    )


@in_turn(over_registry, table=TABLES_AND_ROUNDING, scale=["range", "standard"])
def test_mirrored_columns_change_nothing(entry, table, scale):
    X, y = table()
    skip_where_nothing_is_found(entry, X, y)
    if entry.family.by_counts and table is continuous_table:
        pytest.skip("a value on the border of two bins is in the upper one, and mirrored in the lower one")
    expected = weights_of(entry.make(scale=scale), X, y)
    mirrored = np.where(np.arange(X.shape[1]) % 2 == 0, 5.0 - X, X)
    assert_same(weights_of(entry.make(scale=scale), mirrored, y), expected)


NAMES = {
    "reversed": [2, 1, 0],
    "unsorted words": ["sick", "healthy", "cured"],
    "letters": ["a", "b", "c"],
    "integers": [-7, 10**12, 3],
    "whole floats": [1.0, 3.0, 2.0],
}


@in_turn(over_registry, table=TABLES, names=NAMES)
def test_renamed_classes_change_nothing(entry, table, names):
    X, y = table()
    skip_where_nothing_is_found(entry, X, y)
    renamed = entry.make().fit(X, np.array(names)[y])
    assert_same(renamed.feature_weights_, weights_of(entry.make(), X, y))
    np.testing.assert_array_equal(renamed.classes_, np.sort(names))


@in_turn(over_registry, names={"flags": [True, False], "words": ["no", "yes"]})
def test_renamed_classes_of_two(entry, names):
    X, y = continuous_table(n_classes=2)
    assert_same(weights_of(entry.make(), X, np.array(names)[y]), weights_of(entry.make(), X, y))


@in_turn(over_registry, scale=["range", "standard", None])
def test_a_constant_column_weighs_nothing(entry, scale):
    X, y = continuous_table()
    # The mean of many 0.1 is not 0.1.
    X = np.column_stack([np.full(len(X), 0.1), X, np.full(len(X), -1e6), np.zeros(len(X))])
    weighter = entry.make(scale=scale, n_features_to_select=X.shape[1], weighted=True).fit(X, y)
    w = weighter.feature_weights_
    np.testing.assert_array_equal(w[[0, -2, -1]], 0.0)
    assert w.max() > 0.0 or entry.family.far_counts
    X[:, 0] += 1.0  # new data may differ where the fitted did not
    np.testing.assert_array_equal(weighter.transform(X)[:, [0, -2, -1]], 0.0)


def test_a_constant_column_weighs_nothing_whatever_the_method_says():
    X, y = continuous_table()
    X[:, 2] = 0.1
    np.testing.assert_array_equal(
        weights_of(GivenWeights(np.full(6, 0.5)), X, y), [0.5, 0.5, 0, 0.5, 0.5, 0.5]
    )


@takes_sample_weight
def test_a_column_that_varies_in_rows_of_weight_0_only_weighs_nothing(entry):
    X, y = continuous_table()
    X = np.column_stack([X, np.zeros(len(X))])
    X[:4, -1] = [1.0, 2.0, 3.0, 4.0]
    assert weights_of(entry.make(), X, y, sample_weight=np.arange(len(X)) >= 4)[-1] == 0.0


@in_turn(over_entries(lambda entry: not entry.feature_order_dependent), table=TABLES)
def test_duplicated_columns_get_the_weights_of_their_twins(entry, table):
    X, y = table()
    w = weights_of(entry.make(), np.column_stack([X, X]), y)
    assert w.any()
    np.testing.assert_allclose(w[X.shape[1] :], w[: X.shape[1]], rtol=1e-12)


@in_turn(over_registry, scale=["range", "standard"])
def test_units_of_measurement_change_nothing(entry, scale):
    X, y = continuous_table()
    expected = weights_of(entry.make(scale=scale), X, y)
    for factor in (1e-30, 1e30):
        assert_same(weights_of(entry.make(scale=scale), X * factor, y), expected)
    single = weights_of(entry.make(scale=scale), X.astype(np.float32), y)
    for factor in (2.0**-90, 2.0**90):
        scaled = (X.astype(np.float32) * np.float32(factor)).astype(np.float32)
        assert_same(weights_of(entry.make(scale=scale), scaled, y), single, tolerance=1e-5)


@in_turn(over_registry, scale=["range", "standard"])
def test_extreme_units_change_nothing(entry, scale):
    """The squares of these values are beyond float64."""
    X, y = continuous_table()
    expected = weights_of(entry.make(scale=scale), X, y)
    for factor in (1e-200, 1e200):
        assert_same(weights_of(entry.make(scale=scale), X * factor, y), expected)


@over_registry
def test_values_as_far_apart_as_the_precision_allows(entry):
    """Each value of the last column is finite in its precision, the range of the column is not."""
    X, y = continuous_table(n_classes=2)
    far = np.zeros(len(X))
    far[[5, 20]] = -1.0, 1.0
    for dtype in (np.float64, np.float32):
        expected = weights_of(entry.make(), np.column_stack([X, far]).astype(dtype), y)
        extreme = np.column_stack([X, far * (0.9 * float(np.finfo(dtype).max))])
        assert_same(weights_of(entry.make(), extreme.astype(dtype), y), expected, tolerance=1e-5)


# Copies of samples


@in_turn(copies_count, table=TABLES, scale=["range", "standard"])
def test_a_weight_is_a_number_of_copies(entry, table, scale):
    X, y = table()
    skip_where_nothing_is_found(entry, X, y)
    s = np.random.default_rng(4).integers(0, 4, size=len(X))
    weighted = entry.make(scale=scale).fit(X, y, sample_weight=s)
    copied = entry.make(scale=scale).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert not np.allclose(weighted.feature_weights_, weights_of(entry.make(scale=scale), X, y))
    assert_same(weighted.feature_weights_, copied.feature_weights_)
    if hasattr(weighted, "outlier_proba_"):
        assert np.isnan(weighted.outlier_proba_[s == 0]).all()
        np.testing.assert_allclose(np.repeat(weighted.outlier_proba_, s), copied.outlier_proba_, atol=1e-9)
        assert weighted.sigma_ == pytest.approx(copied.sigma_, rel=1e-9)


@copies_count
def test_copies_of_a_sample_alone_in_its_class(entry):
    """They are hits of each other, at distance 0."""
    X, y = continuous_table(n_classes=2)
    y[7] = 2
    s = np.where(y == 2, 5, 1)
    expected = weights_of(entry.make(), np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_same(weights_of(entry.make(), X, y, sample_weight=s), expected)
    # All classes have one row only.
    X, y, s = X[:3], [0, 1, 2], [3, 2, 4]
    expected = weights_of(entry.make(), np.repeat(X, s, axis=0), np.repeat(y, s))
    found = weights_of(entry.make(), X, y, sample_weight=s)
    if entry.family.within_radius and not expected.any():  # only copies are near
        np.testing.assert_array_equal(found, expected)
    else:
        assert_same(found, expected)


@copies_count
def test_the_same_weight_for_all_is_a_number_of_copies(entry):
    X, y = continuous_table()
    expected = weights_of(entry.make(), np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert_same(weights_of(entry.make(), X, y, sample_weight=np.full(len(X), 2)), expected)


@takes_sample_weight
def test_samples_of_weight_0_are_not_there(entry):
    X, y = continuous_table()
    s = np.ones(len(X))
    s[[3, 17, 40]] = 0.0
    expected = outcome(entry.make(), X[s > 0], y[s > 0])
    X[3], y[3] = 1e9, 8
    weighter = entry.make().fit(X, y, sample_weight=s)
    assert same_bits(weighter.feature_weights_, np.frombuffer(expected[0]))
    np.testing.assert_array_equal(weighter.classes_, [0, 1, 2])


@takes_sample_weight
def test_weight_1_is_no_weight(entry):
    X, y = continuous_table()
    expected = outcome(entry.make(), X, y)
    assert outcome(entry.make(), X, y, sample_weight=np.ones(len(X))) == expected
    assert outcome(entry.make(), X, y, sample_weight=None) == expected


@copies_count
def test_parts_of_copies(entry):
    X, y = continuous_table()
    s = np.random.default_rng(4).uniform(0.1, 2.0, size=len(X))
    w = weights_of(entry.make(), X, y, sample_weight=s)
    assert np.isfinite(w).all()
    # Weights are continuous in the copies.
    assert_same(weights_of(entry.make(), X, y, sample_weight=s + 1e-7), w, tolerance=1e-4)
