"""What every feature weighter computes to the last bit, and how."""

import numpy as np
import pytest
import sklearn
from contract import (
    PRECISIONS,
    assert_same,
    outcome,
    same_bits,
    takes_sample_weight,
    weights_of,
)
from registry import (
    THOROUGH,
    continuous_table,
    discrete_table,
    in_turn,
    over_entries,
    over_registry,
)
from sklearn.base import clone

from highrelief import IRelief, OnlineIRelief, Relief, ReliefF

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# Bits


@in_turn(over_registry, dtype=PRECISIONS, megabytes={"stored": 1024, "recomputed": 0})
def test_threads_change_no_bit(entry, dtype, megabytes):
    X, y = continuous_table(600)
    X = X.astype(dtype)
    changes = {"n_anchors": 300} if "n_anchors" in entry.parameters else {}
    if entry.family.estimator is IRelief:
        changes["memory_budget"] = 2.0**20 * megabytes
    with sklearn.config_context(working_memory=megabytes):
        expected = outcome(entry.make(n_jobs=1, **changes), X, y)
        for n_jobs in (2, 3) if THOROUGH else (3,):
            assert outcome(entry.make(n_jobs=n_jobs, **changes), X, y) == expected


@over_registry
def test_threads_change_no_bit_where_there_are_ties(entry):
    X, y = discrete_table(300)
    expected = outcome(entry.make(n_jobs=1), X, y)
    for n_jobs in (3, -1) if THOROUGH else (-1,):
        assert outcome(entry.make(n_jobs=n_jobs), X, y) == expected


@takes_sample_weight
def test_threads_change_no_bit_where_samples_are_weighted(entry):
    X, y = continuous_table(300)
    s = np.random.default_rng(0).uniform(0.5, 3.0, size=len(X))
    expected = outcome(entry.make(n_jobs=1), X, y, sample_weight=s)
    assert outcome(entry.make(n_jobs=3), X, y, sample_weight=s) == expected


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
