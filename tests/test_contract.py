"""What every feature weighter promises, whatever its method."""

import contextlib
import random
import re
import warnings

import numpy as np
import pytest
import sklearn
from oracles import relief_rows
from registry import (
    ENTRIES,
    FAMILIES,
    continuous_table,
    discrete_table,
    over_entries,
    over_families,
    over_registry,
    rounded_table,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from highrelief import FisherScore, IRelief, OnlineIRelief, Relief, ReliefF
from highrelief.base import FeatureWeighter
from highrelief.datasets import make_xor

takes_sample_weight = over_entries(lambda entry: entry.sample_weight)
copies_count = over_entries(
    lambda entry: entry.sample_weight and not entry.draws_samples and not entry.cuts_folds
)
has_margins = over_entries(lambda entry: entry.family.margins)
iterative = over_entries(lambda entry: entry.family.iterative)
rows_in_any_order = over_entries(
    lambda entry: not entry.order_dependent and not entry.draws_samples and not entry.cuts_folds
)
tables = pytest.mark.parametrize("table", [continuous_table, discrete_table])
tables_and_rounding = pytest.mark.parametrize("table", [continuous_table, discrete_table, rounded_table])

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def weights_of(weighter, X, y, **more):
    return weighter.fit(X, y, **more).feature_weights_


def assert_same(actual, expected, tolerance=1e-9):
    """Compare weights relative to their norm, which must not be 0."""
    assert np.linalg.norm(expected) > 0.0
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * np.linalg.norm(expected))


def same_bits(first, second):
    return np.asarray(first).tobytes() == np.asarray(second).tobytes()


class GivenWeights(FeatureWeighter):
    """The contract alone: weights are what the user says."""

    def __init__(self, weights=(), *, n_features_to_select=None, weighted=False, scale="range"):
        super().__init__(n_features_to_select=n_features_to_select, weighted=weighted, scale=scale)
        self.weights = weights

    def fit(self, X, y):
        self._check_fit(X, y)
        return self._set_weights(np.array(self.weights, dtype=np.float64))


def given(weights, **parameters):
    """Weigh random features as given."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, len(weights)))
    return GivenWeights(weights, **parameters).fit(X, np.arange(10) % 2)


# The registry


def test_names_of_entries_are_unique():
    assert len({str(entry) for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_flags_of_the_registry(family):
    weighter = family.default()
    assert has_fit_parameter(weighter, "sample_weight") == family.sample_weight
    # The order-dependent methods take no sample_weight.
    assert family.sample_weight == (not get_tags(weighter).order_dependent)
    assert hasattr(weighter, "margins") == family.margins
    shared = {"n_features_to_select": None, "weighted": False, "n_jobs": None, "verbose": 0}
    shared["scale" if family.inside is None else "estimator__scale"] = "range"
    parameters = weighter.get_params()
    assert {name: parameters[name] for name in shared} == shared


@over_registry
def test_the_order_dependent_take_no_sample_weight(entry):
    assert entry.sample_weight == (not entry.order_dependent)


# Weights


@over_registry
@tables
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shape_sign_and_norm(entry, table, dtype):
    X, y = table()
    weighter = entry.make().fit(X.astype(dtype), y)
    w = weighter.feature_weights_
    assert w.shape == (X.shape[1],)
    assert w.dtype == np.float64
    assert np.isfinite(w).all()
    assert w.max() > 0.0
    if entry.family.nonnegative:
        assert w.min() >= 0.0
    if entry.family.unit_norm:
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)
    if entry.family.unit_sum:
        assert w.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(weighter.classes_, [0, 1, 2])
    assert weighter.n_features_in_ == X.shape[1]


# Classes alternate on a line: the nearest miss is always nearer than the nearest hit.
ALTERNATING = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2


@over_entries(lambda entry: entry.signed)
def test_weights_can_be_negative(entry):
    weighter = entry.make().fit(*ALTERNATING)
    assert weighter.feature_weights_[0] < 0.0
    assert weighter.feature_importances_[0] == 0.0


@over_registry
@tables_and_rounding
def test_permuted_columns_permute_the_weights(entry, table):
    X, y = table()
    order = np.random.default_rng(1).permutation(X.shape[1])
    expected = weights_of(entry.make(), X, y)[order]
    assert not np.allclose(expected, expected[np.argsort(order)])
    assert_same(weights_of(entry.make(), X[:, order], y), expected)


@rows_in_any_order
@tables_and_rounding
@pytest.mark.parametrize("n_classes", [2, 3])
def test_permuted_rows_change_nothing(entry, table, n_classes):
    X, y = table(n_classes=n_classes)
    expected = weights_of(entry.make(), X, y)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        assert_same(weights_of(entry.make(), X[order], y[order]), expected)
    assert_same(weights_of(entry.make(), X[::-1], y[::-1]), expected)


@over_entries(lambda entry: entry.order_dependent or entry.draws_samples)
def test_exempt_methods_do_depend_on_the_order(entry):
    X, y = continuous_table()
    assert not np.allclose(
        weights_of(entry.make(), X[::-1], y[::-1]), weights_of(entry.make(), X, y), atol=1e-6
    )


@over_registry
@tables_and_rounding
@pytest.mark.parametrize("scale", ["range", "standard"])
def test_mirrored_columns_change_nothing(entry, table, scale):
    X, y = table()
    expected = weights_of(entry.make(scale=scale), X, y)
    mirrored = np.where(np.arange(X.shape[1]) % 2 == 0, 5.0 - X, X)
    assert_same(weights_of(entry.make(scale=scale), mirrored, y), expected)


@over_registry
@tables
@pytest.mark.parametrize(
    "names",
    [[2, 1, 0], ["sick", "healthy", "cured"], ["a", "b", "c"], [-7, 10**12, 3], [1.0, 3.0, 2.0]],
    ids=["reversed", "unsorted words", "letters", "integers", "whole floats"],
)
def test_renamed_classes_change_nothing(entry, table, names):
    X, y = table()
    renamed = entry.make().fit(X, np.array(names)[y])
    assert_same(renamed.feature_weights_, weights_of(entry.make(), X, y))
    np.testing.assert_array_equal(renamed.classes_, np.sort(names))


@over_registry
@pytest.mark.parametrize("names", [[True, False], ["no", "yes"]], ids=["flags", "words"])
def test_renamed_classes_of_two(entry, names):
    X, y = continuous_table(n_classes=2)
    assert_same(weights_of(entry.make(), X, np.array(names)[y]), weights_of(entry.make(), X, y))


@over_registry
@pytest.mark.parametrize("scale", ["range", "standard", None])
def test_a_constant_column_weighs_nothing(entry, scale):
    X, y = continuous_table()
    # The mean of many 0.1 is not 0.1.
    X = np.column_stack([np.full(len(X), 0.1), X, np.full(len(X), -1e6), np.zeros(len(X))])
    weighter = entry.make(scale=scale, n_features_to_select=X.shape[1], weighted=True).fit(X, y)
    w = weighter.feature_weights_
    np.testing.assert_array_equal(w[[0, -2, -1]], 0.0)
    assert w.max() > 0.0
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


@over_registry
@tables
def test_duplicated_columns_get_the_weights_of_their_twins(entry, table):
    X, y = table()
    w = weights_of(entry.make(), np.column_stack([X, X]), y)
    assert w.any()
    np.testing.assert_allclose(w[X.shape[1] :], w[: X.shape[1]], rtol=1e-12)


@over_registry
@pytest.mark.parametrize("scale", ["range", "standard"])
def test_units_of_measurement_change_nothing(entry, scale):
    X, y = continuous_table()
    expected = weights_of(entry.make(scale=scale), X, y)
    for factor in (1e-30, 1e30):
        assert_same(weights_of(entry.make(scale=scale), X * factor, y), expected)
    single = weights_of(entry.make(scale=scale), X.astype(np.float32), y)
    for factor in (2.0**-90, 2.0**90):
        scaled = (X.astype(np.float32) * np.float32(factor)).astype(np.float32)
        assert_same(weights_of(entry.make(scale=scale), scaled, y), single, tolerance=1e-5)


@over_registry
@pytest.mark.parametrize("scale", ["range", "standard"])
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


# Input

NUMBERS = np.random.default_rng(3).integers(0, 100, size=(40, 5)) + 20 * (np.arange(40) % 2)[:, np.newaxis]
NUMBER_CLASSES = np.arange(40) % 2


def read_only(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


def every_other(values):
    """Return a view with holes between its elements."""
    wide = np.full([2 * size for size in values.shape], np.nan)
    view = wide[tuple(slice(None, None, 2) for _ in values.shape)]
    view[...] = values
    return view


def pandas_frame(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    return frame.astype({"a": np.float32, "b": np.int8, "c": np.float64})


def polars_frame(X):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(X, schema=list("abcde")).with_columns(polars.col("a").cast(polars.Float32))


INPUTS = {
    "read-only": lambda X: read_only(X.astype(np.float64)),
    "Fortran": lambda X: np.asfortranarray(X, dtype=np.float64),
    "read-only Fortran": lambda X: read_only(np.asfortranarray(X, dtype=np.float64)),
    "not contiguous": every_other,
    "backwards": lambda X: X[::-1, ::-1].astype(np.float64)[::-1, ::-1],
    "other byte order": lambda X: X.astype(np.dtype(np.float64).newbyteorder()),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "pandas": pandas_frame,
    "polars": polars_frame,
}


@over_families
@pytest.mark.parametrize("kind", INPUTS)
def test_kinds_of_input(entry, kind):
    expected = weights_of(entry.make(), NUMBERS.astype(np.float64), NUMBER_CLASSES)
    given_as = INPUTS[kind](NUMBERS)
    assert_same(weights_of(entry.make(), given_as, NUMBER_CLASSES), expected, tolerance=1e-12)


@over_families
def test_flags_as_input(entry):
    X = NUMBERS > 50
    expected = weights_of(entry.make(), X.astype(np.float64), NUMBER_CLASSES)
    assert_same(weights_of(entry.make(), X, NUMBER_CLASSES), expected, tolerance=1e-12)
    assert_same(weights_of(entry.make(), X.astype(np.int8), NUMBER_CLASSES), expected, tolerance=1e-12)


@over_registry
@tables
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, read_only])
def test_single_precision(entry, table, layout):
    X, y = table()
    X = X.astype(np.float32)
    expected = weights_of(entry.make(), X.astype(np.float64), y)
    assert_same(weights_of(entry.make(), layout(X), y), expected, tolerance=1e-5)


def pandas_series(dtype):
    return lambda y: pytest.importorskip("pandas").Series(np.array(["no", "yes"])[y], dtype=dtype)


TARGETS = {
    "list": lambda y: y.tolist(),
    "read-only": read_only,
    "not contiguous": lambda y: np.repeat(y, 2)[::2],
    "int8": lambda y: y.astype(np.int8),
    "unsigned": lambda y: y.astype(np.uint64),
    "float": lambda y: y.astype(np.float64),
    "bool": lambda y: y.astype(bool),
    "objects": lambda y: np.array(["no", "yes"], dtype=object)[y],
    "list of words": lambda y: np.array(["no", "yes"])[y].tolist(),
    "Series": lambda y: pytest.importorskip("pandas").Series(y, index=np.arange(100, 100 + len(y))),
    "Series of words": pandas_series("object"),
    "Series of strings": pandas_series("string"),
    "categories": pandas_series("category"),
    "polars": lambda y: pytest.importorskip("polars").Series(y),
    "polars words": lambda y: pytest.importorskip("polars").Series(np.array(["no", "yes"])[y].tolist()),
}


@over_families
@pytest.mark.parametrize("kind", TARGETS)
def test_kinds_of_classes(entry, kind):
    X = NUMBERS.astype(np.float64)
    expected = weights_of(entry.make(), X, NUMBER_CLASSES)
    assert_same(weights_of(entry.make(), X, TARGETS[kind](NUMBER_CLASSES)), expected, tolerance=1e-12)


@takes_sample_weight
def test_kinds_of_sample_weight(entry):
    X, y = continuous_table()
    s = np.arange(len(X)) % 3
    expected = weights_of(entry.make(), X, y, sample_weight=s.astype(np.float64))
    kinds = [s, s.tolist(), read_only(s), s.astype(np.float32), np.repeat(s, 2)[::2]]
    kinds.append(pytest.importorskip("pandas").Series(s, index=np.arange(100, 100 + len(s))))
    for each in kinds:
        assert_same(weights_of(entry.make(), X, y, sample_weight=each), expected, tolerance=1e-12)


# What fit leaves alone


def random_states():
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  it is the state that must not move
    return kind, keys.tobytes(), rest, random.getstate()


@over_registry
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_changes_nothing_of_the_callers(entry, order, dtype):
    X, y = continuous_table()
    X, y = np.array(X, dtype=dtype, order=order), np.array(["c", "a", "b"])[y]
    s = np.arange(len(X)) % 3.0
    X_before, y_before, s_before = X.copy(), y.copy(), s.copy()
    weighter = entry.unseeded().set_params(weighted=True, n_features_to_select=0.5)
    parameters = weighter.get_params()
    states = random_states()
    weighter.fit(X, y)
    if entry.sample_weight:
        weighter.fit(X, y, sample_weight=s)
    weighter.inverse_transform(weighter.transform(X))
    if entry.family.margins:
        weighter.margins(X, y)
    assert random_states() == states
    after = weighter.get_params()
    assert parameters.keys() == after.keys()
    assert all(after[name] is value for name, value in parameters.items())
    for now, before in [(X, X_before), (y, y_before), (s, s_before)]:
        assert same_bits(now, before)


@over_families
def test_fit_changes_no_data_frame(entry):
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame, series = pandas.DataFrame(X, columns=list("abcdef")), pandas.Series(y)
    entry.make(weighted=True).fit(frame, series).transform(frame)
    pandas.testing.assert_frame_equal(frame, pandas.DataFrame(X, columns=list("abcdef")))
    pandas.testing.assert_series_equal(series, pandas.Series(y))


def test_fit_changes_no_array_parameter():
    X, y = continuous_table()
    start = np.array([0.5, 0.0, 2.0, 1.0, 1.0, 1.0])
    weighter = IRelief(sigma=1.0, init=start)
    weighter.fit(X, y)
    assert weighter.init is start
    np.testing.assert_array_equal(start, [0.5, 0.0, 2.0, 1.0, 1.0, 1.0])


def test_random_start_leaves_the_global_state_alone():
    X, y = continuous_table()
    states = random_states()
    IRelief(sigma=1.0, init="random", max_iter=1).fit(X, y)
    assert random_states() == states


def test_a_stream_changes_nothing_of_the_callers():
    X, y = continuous_table(n_classes=2)
    X_before, y_before = X.copy(), y.copy()
    states = random_states()
    stream = OnlineIRelief(buffer_size=10)
    for start in range(0, 60, 20):
        stream.partial_fit(X[start : start + 20], y[start : start + 20])
    assert random_states() == states
    assert same_bits(X, X_before)
    assert same_bits(y, y_before)


# Bits


def outcome(weighter, X, y, **more):
    """Everything numeric that a fit computes, as bytes."""
    weighter.fit(X, y, **more)
    found = [weighter.feature_weights_]
    found += [getattr(weighter, name) for name in ("sigma_", "outlier_proba_") if hasattr(weighter, name)]
    if hasattr(weighter, "margins"):
        found.append(weighter.margins(X, y))
    return [np.asarray(each).tobytes() for each in found]


@over_registry
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("megabytes", [1024, 0], ids=["stored", "recomputed"])
def test_threads_change_no_bit(entry, dtype, megabytes):
    X, y = continuous_table(600)
    X = X.astype(dtype)
    changes = {"n_anchors": 300} if "n_anchors" in entry.parameters else {}
    if entry.family.estimator is IRelief:
        changes["memory_budget"] = 2.0**20 * megabytes
    with sklearn.config_context(working_memory=megabytes):
        expected = outcome(entry.make(n_jobs=1, **changes), X, y)
        for n_jobs in (2, 3):
            assert outcome(entry.make(n_jobs=n_jobs, **changes), X, y) == expected


@over_registry
def test_threads_change_no_bit_where_there_are_ties(entry):
    X, y = discrete_table(300)
    expected = outcome(entry.make(n_jobs=1), X, y)
    for n_jobs in (2, 3, -1):
        assert outcome(entry.make(n_jobs=n_jobs), X, y) == expected


@takes_sample_weight
def test_threads_change_no_bit_where_samples_are_weighted(entry):
    X, y = continuous_table(300)
    s = np.random.default_rng(0).uniform(0.5, 3.0, size=len(X))
    expected = outcome(entry.make(n_jobs=1), X, y, sample_weight=s)
    for n_jobs in (2, 3):
        assert outcome(entry.make(n_jobs=n_jobs), X, y, sample_weight=s) == expected


@over_registry
def test_fitting_again_gives_the_same_bits(entry):
    X, y = continuous_table(90)
    weighter = entry.make()
    expected = outcome(weighter, X, y)
    assert outcome(weighter, X, y) == expected
    other, classes = discrete_table(30, n_classes=2)
    weighter.fit(other, classes)
    assert weighter.feature_weights_.shape == (5,)
    assert outcome(weighter, X, y) == expected
    assert outcome(clone(weighter), X, y) == expected


def test_a_fit_forgets_the_stream_before_it():
    X, y = continuous_table()
    weighter = OnlineIRelief(random_state=0)
    expected = weights_of(clone(weighter), X, y)
    weighter.partial_fit(X[:20] + 5.0, y[:20])
    assert same_bits(weights_of(weighter, X, y), expected)


@pytest.mark.parametrize("parameters", [{}, {"margin": "prior"}, {"scale": "standard"}])
def test_a_stream_of_one_batch_is_a_pass_in_order(parameters):
    X, y = continuous_table()
    stream = OnlineIRelief(sigma=0.5, **parameters).partial_fit(X, y)
    assert_same(
        stream.feature_weights_, weights_of(OnlineIRelief(sigma=0.5, shuffle=False, **parameters), X, y)
    )


# Copies of samples


@copies_count
@tables
@pytest.mark.parametrize("scale", ["range", "standard"])
def test_a_weight_is_a_number_of_copies(entry, table, scale):
    X, y = table()
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
    assert_same(weights_of(entry.make(), X, y, sample_weight=s), expected)


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


# Ranking and selection


@over_registry
@tables
def test_ranking_and_importances(entry, table):
    X, y = table()
    X = np.column_stack([X, np.zeros((len(X), 2))])
    weighter = entry.make().fit(X, y)
    w = weighter.feature_weights_
    expected = [1 + sum(other > own for other in w) for own in w]
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
    np.testing.assert_array_equal(weighter.get_support(), w > 0.0)
    best = np.argsort(-w, kind="stable")
    for wanted, n_kept in [(1, 1), (4, 4), (0.5, 3), (1.0, 6)]:
        weighter.set_params(n_features_to_select=wanted)
        np.testing.assert_array_equal(weighter.get_support(indices=True), np.sort(best[:n_kept]))
        np.testing.assert_array_equal(weighter.transform(X), X[:, np.sort(best[:n_kept])])


@over_registry
def test_one_feature_is_kept_where_none_is_good(entry):
    weighter = entry.make().fit(*ALTERNATING)
    if entry.family.method is not FisherScore and (entry.family.nonnegative or entry.signed):
        assert weighter.feature_weights_[0] <= 0.0
    assert weighter.transform(ALTERNATING[0]).shape == (12, 1)


# Transform

BY_HAND = {
    "range": lambda X: (X.min(axis=0), X.max(axis=0) - X.min(axis=0)),
    "standard": lambda X: (X.mean(axis=0), X.std(axis=0)),
    None: lambda X: (0.0, 1.0),
}


@over_families
@pytest.mark.parametrize("scale", BY_HAND)
@pytest.mark.parametrize("weighted", [False, "manhattan", "euclidean", True])
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


@over_families
@pytest.mark.parametrize("scale", BY_HAND)
@pytest.mark.parametrize("weighted", [False, "manhattan", "euclidean", True])
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


@over_entries(lambda entry: not entry.resamples)
@pytest.mark.parametrize("scale", ["range", "standard"])
def test_no_scaling_of_scaled_data_is_scaling(entry, scale):
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


# Convergence


@iterative
def test_a_warning_where_it_did_not_converge(entry):
    X, y = continuous_table()
    weighter = entry.make(max_iter=1)
    with pytest.warns(ConvergenceWarning, match=re.escape("max_iter=1")) as record:
        weighter.fit(X, y)
    assert len(record) == 1
    assert weighter.converged_ is False
    assert weighter.n_iter_ == 1
    assert weighter.history_.shape == (1,)
    assert weighter.history_[0] > weighter.tol


@iterative
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_warning_where_it_converged(entry, dtype):
    X, y = continuous_table(90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weighter = entry.make().fit(X.astype(dtype), y)
    assert weighter.converged_ is True
    assert weighter.n_iter_ == len(weighter.history_) > 1
    assert np.isfinite(weighter.history_).all()
    if entry.variant not in ("auto", "averaged"):
        changes, least = weighter.history_, weighter.tol
        if hasattr(weighter, "cost_"):  # which is to settle, as far as N roundings of its terms allow
            entropies = weighter.hit_entropy_[-1] + weighter.miss_entropy_[-1]
            rounding = np.finfo(dtype).eps * weighter.sigma_ * entropies / np.sqrt(len(X))
            changes, least = np.abs(np.diff(weighter.cost_)), max(least, rounding)
        assert changes[-1] < least <= changes[:-1].min()


@over_registry
def test_no_warning_on_well_behaved_data(entry):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        entry.make().fit(*continuous_table(90))
        entry.family.default().fit(*continuous_table(90))
    assert [str(each.message) for each in record] == []


def test_a_cycle_is_reported():
    X, y, _ = make_xor(24, n_irrelevant=2, random_state=0)
    weighter = IRelief(sigma=0.2)
    with pytest.warns(ConvergenceWarning, match="cycle of length 2"):
        weighter.fit(X, y)
    assert weighter.cycle_length_ == 2
    assert weighter.n_iter_ == len(weighter.history_) < 100  # the paper's plain iteration ends there
    assert weighter.converged_ is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert IRelief().fit(X, y).cycle_length_ == 0


@over_entries(lambda entry: entry.family.unit_norm or entry.family.iterative)
def test_weights_are_0_with_a_warning_where_no_margin_is_positive(entry):
    weighter = entry.make()
    with pytest.warns(ConvergenceWarning, match="no feature .*positive mean margin"):
        weighter.fit(*ALTERNATING)
    np.testing.assert_array_equal(weighter.feature_weights_, 0.0)
    np.testing.assert_array_equal(weighter.get_support(), [True])
    if entry.family.iterative:
        assert weighter.converged_ is False


# Margins


def separated_table():
    """Two clouds far apart in the first feature, noise in the second."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    return np.column_stack([rng.uniform(size=30) + 9.0 * y, rng.uniform(size=30)]), y


@has_margins
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_margins_of_separated_classes(entry, dtype):
    X, y = separated_table()
    weighter = entry.make().fit(X.astype(dtype), np.array(["left", "right"])[y])
    margins = weighter.margins(X[:20], np.array(["left", "right"])[y[:20]])
    assert margins.shape == (20,)
    assert margins.dtype == np.float64
    # The gap is 0.8 of the range, the clouds 0.1 wide.
    assert margins.min() > 0.5
    wrong = y.copy()
    wrong[3] = 1 - wrong[3]
    flipped = weighter.margins(X, np.array(["left", "right"])[wrong])
    assert flipped[3] < -0.5
    assert np.delete(flipped, 3).min() > -0.2


@has_margins
def test_margins_follow_their_rows(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    order = np.random.default_rng(5).permutation(len(X))
    assert_same(weighter.margins(X[order], y[order]), weighter.margins(X, y)[order])


@has_margins
def test_a_margin_of_a_sample_alone_in_its_class_is_0(entry):
    X, y = separated_table()
    weighter = entry.make().fit(X, y)
    lonely = np.r_[0, np.flatnonzero(y == 1)]
    margins = weighter.margins(X[lonely], y[lonely])
    assert margins[0] == 0.0
    assert margins[1:].min() > 0.0


def test_margins_are_scaled_as_in_fit():
    X, y = continuous_table(n_classes=2)
    few = np.arange(0, 60, 4)
    for metric in ("manhattan", "euclidean"):
        weighter = Relief(metric=metric).fit(X, y)
        scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        assert np.ptp(scaled[few], axis=0).min() < 0.9
        w = np.maximum(weighter.feature_weights_, 0.0)
        expected = relief_rows(scaled[few], y[few], metric=metric) @ (w / np.linalg.norm(w))
        np.testing.assert_allclose(weighter.margins(X[few], y[few]), expected, atol=1e-12)


# Small and degenerate tables


@over_registry
@pytest.mark.filterwarnings("ignore:No class in y has two samples")
def test_two_samples_of_one_feature(entry):
    changes = {"n_anchors": 2} if "n_anchors" in entry.parameters else {}
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    weighter = entry.make(**changes).fit(X, y)
    assert weighter.feature_weights_.shape == (1,)
    assert np.isfinite(weighter.feature_weights_).all()
    np.testing.assert_array_equal(weighter.ranking_, [1])
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
    if not entry.draws_samples:
        assert weighter.feature_weights_[0] > 0.0


@over_registry
def test_a_class_of_one_sample(entry):
    X, y = continuous_table(n_classes=2)
    y[7] = 2
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    assert w.max() > 0.0
    if entry.family.unit_norm:
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)


@over_registry
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
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
    assert w[0] > 0.0
    assert w[1] == 0.0


@over_registry
def test_all_samples_but_one_are_the_same(entry):
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    X[0] = 1.0, -1.0
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    assert w[0] == pytest.approx(w[1], abs=1e-12)


@over_registry
def test_more_features_than_samples(entry):
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 700))
    X[:, 5] += 20.0 * y
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    if not entry.draws_samples:
        assert w.argmax() == 5


@over_registry
def test_many_classes(entry):
    X, y = continuous_table(60, n_classes=20)
    w = weights_of(entry.make(), X, y)
    assert np.isfinite(w).all()
    assert w.max() > 0.0


# How it was computed


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights", [None, "copies"])
@over_entries(lambda entry: entry.family.estimator is IRelief)
def test_distances_stored_or_computed_again(entry, dtype, weights):
    X, y = continuous_table(300)
    X = X.astype(dtype)
    more = {} if weights is None else {"sample_weight": 1.0 + np.arange(len(X)) % 3}
    stored = entry.make(n_jobs=1).fit(X, y, **more)
    assert stored.execution_["distances"] == "stored"
    again = entry.make(n_jobs=2, memory_budget=0).fit(X, y, **more)
    assert again.execution_["distances"] == "recomputed"
    assert (stored.execution_["n_threads"], again.execution_["n_threads"]) == (1, 2)
    assert stored.execution_["dtype"] == again.execution_["dtype"] == np.dtype(dtype).name
    assert same_bits(again.feature_weights_, stored.feature_weights_)
    assert same_bits(again.outlier_proba_, stored.outlier_proba_)


def test_as_many_anchors_as_samples_are_all_samples():
    """They are drawn without replacement."""
    X, y = continuous_table()
    for weighter in (Relief(), ReliefF(n_neighbors=3)):
        expected = weights_of(weighter, X, y)
        drawn = clone(weighter).set_params(n_anchors=len(X), random_state=0)
        assert_same(weights_of(drawn, X, y), expected, tolerance=1e-12)


def test_anchors_are_drawn_by_the_seed():
    X, y = continuous_table()
    found = {n: weights_of(Relief(n_anchors=n, random_state=0), X, y) for n in (5, 50)}
    for n, expected in found.items():
        assert same_bits(weights_of(Relief(n_anchors=n, random_state=0), X, y), expected)
        assert not np.allclose(weights_of(Relief(n_anchors=n, random_state=1), X, y), expected)
