"""What every feature weighter takes, and what it leaves alone."""

import random

import numpy as np
import pytest
from contract import (
    TABLES,
    assert_same,
    same_bits,
    skip_where_nothing_is_found,
    takes_sample_weight,
    weights_of,
)
from registry import (
    continuous_table,
    in_turn,
    over_families,
    over_registry,
)

from highrelief import IRelief, OnlineIRelief

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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


@in_turn(over_families, kind=list(INPUTS))
def test_kinds_of_input(entry, kind):
    expected = weights_of(entry.make(), NUMBERS.astype(np.float64), NUMBER_CLASSES)
    given_as = INPUTS[kind](NUMBERS)
    assert_same(weights_of(entry.make(), given_as, NUMBER_CLASSES), expected, tolerance=1e-12)


@over_families
def test_flags_as_input(entry):
    X = NUMBERS > 50
    skip_where_nothing_is_found(entry, X, NUMBER_CLASSES)
    expected = weights_of(entry.make(), X.astype(np.float64), NUMBER_CLASSES)
    assert_same(weights_of(entry.make(), X, NUMBER_CLASSES), expected, tolerance=1e-12)
    assert_same(weights_of(entry.make(), X.astype(np.int8), NUMBER_CLASSES), expected, tolerance=1e-12)


@in_turn(over_registry, table=TABLES, layout=[np.ascontiguousarray, np.asfortranarray, read_only])
def test_single_precision(entry, table, layout):
    X, y = table()
    skip_where_nothing_is_found(entry, X, y)
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


@in_turn(over_families, kind=list(TARGETS))
def test_kinds_of_classes(entry, kind):
    X = NUMBERS.astype(np.float64)
    expected = weights_of(entry.make(), X, NUMBER_CLASSES)
    assert_same(weights_of(entry.make(), X, TARGETS[kind](NUMBER_CLASSES)), expected, tolerance=1e-12)


SAMPLE_WEIGHTS = {
    "int64": lambda s: s,
    "list": lambda s: s.tolist(),
    "read-only": read_only,
    "float32": lambda s: s.astype(np.float32),
    "not contiguous": lambda s: np.repeat(s, 2)[::2],
    "Series": lambda s: pytest.importorskip("pandas").Series(s, index=np.arange(100, 100 + len(s))),
}


@in_turn(takes_sample_weight, kind=list(SAMPLE_WEIGHTS))
def test_kinds_of_sample_weight(entry, kind):
    X, y = continuous_table()
    s = np.arange(len(X)) % 3
    expected = weights_of(entry.make(), X, y, sample_weight=s.astype(np.float64))
    given_as = SAMPLE_WEIGHTS[kind](s)
    assert_same(weights_of(entry.make(), X, y, sample_weight=given_as), expected, tolerance=1e-12)


# What fit leaves alone


def random_states():
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  it is the state that must not move
    return kind, keys.tobytes(), rest, random.getstate()


@in_turn(over_registry, order=["C", "F"], dtype=[np.float64, np.float32])
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
