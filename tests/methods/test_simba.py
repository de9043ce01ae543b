"""Simba: the steps, the gradient, the runs."""

import numpy as np
import pytest
from contract import same_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import (
    default_beta,
    hypothesis_margins,
    margin_gradient,
    nearest_hit_and_miss,
    scale_range,
    simba,
    simba_path,
    utility_of,
)
from registry import THOROUGH, continuous_table, discrete_table
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from highrelief import Simba
from highrelief._kernels.simba import climb
from highrelief.datasets import make_xor


def one_run(X, y, **parameters):
    return Simba(shuffle=False, scale=None, **parameters).fit(X, y)


def scaled_table(n_classes=2, n_samples=40, seed=0):
    X, y = continuous_table(n_samples, n_classes=n_classes, seed=seed)
    return scale_range(X), y


# The oracle


@pytest.mark.slow
@pytest.mark.parametrize("utility", ["linear", "sigmoid"])
def test_the_step_is_the_gradient_by_finite_differences(utility):
    """With the neighbors that are nearest at w: they stay the same nearby."""
    X, y = scaled_table(n_classes=3)
    rng = np.random.default_rng(1)
    beta = 3.0
    for n in range(0, len(X), 1 if THOROUGH else 4):
        w = rng.uniform(0.2, 2.0, size=X.shape[1])
        hit, miss = nearest_hit_and_miss(X, y, n, w)

        def value(v, n=n):
            return utility_of(utility, hypothesis_margins(X, y, v)[n], beta)

        slope = 1.0
        if utility == "sigmoid":
            slope = beta * value(w) * (1.0 - value(w))
        expected = approx_fprime(w, value, 1e-7)
        np.testing.assert_allclose(slope * margin_gradient(X, n, hit, miss, w), expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("utility", ["linear", "sigmoid"])
def test_one_visit_is_a_step_up_the_gradient(utility):
    """What the compiled loop adds to w = 1, against finite differences of the utility."""
    X, y = scaled_table()
    for n in range(10):
        order = np.r_[n, np.delete(np.arange(len(X)), n)]

        def value(v, n=n):
            return utility_of(utility, hypothesis_margins(X, y, v)[n], 2.5)

        w = np.ones(X.shape[1])
        assert climb(X, y, order[:1], 2e-12, utility == "sigmoid", 2.5, w) == 1
        np.testing.assert_allclose(w - 1.0, approx_fprime(np.ones(X.shape[1]), value, 1e-7), atol=1e-6)


# Against the oracle


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_epochs", [1, 3])
def test_linear(n_classes, n_epochs):
    X, y = scaled_table(n_classes)
    model = one_run(X, y, n_epochs=n_epochs)
    expected = simba(X, y, list(range(len(X))) * n_epochs)
    np.testing.assert_allclose(model.feature_weights_, expected, rtol=1e-10)
    assert model.feature_weights_.max() == 1.0
    assert model.n_steps_ == n_epochs * len(X)
    assert np.isnan(model.beta_)


@pytest.mark.parametrize("beta", [None, 0.5, 20.0])
def test_sigmoid(beta):
    X, y = scaled_table(3)
    model = one_run(X, y, utility="sigmoid", beta=beta)
    expected_beta = default_beta(X, y) if beta is None else beta
    assert model.beta_ == pytest.approx(expected_beta, rel=1e-12)
    expected = simba(X, y, range(len(X)), "sigmoid", expected_beta)
    np.testing.assert_allclose(model.feature_weights_, expected, rtol=1e-10)


@pytest.mark.parametrize("n_features", [1, 2, 15, 16, 17, 130])
@pytest.mark.parametrize("n_samples", [4, 5, 6, 7, 33])
def test_every_length_of_rows_and_columns(n_features, n_samples):
    rng = np.random.default_rng(n_features)
    X, y = rng.uniform(size=(n_samples, n_features)), np.arange(n_samples) % 2
    np.testing.assert_allclose(one_run(X, y).feature_weights_, simba(X, y, range(n_samples)), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:Simba made no step")
@given(st.integers(0, 10**6), st.integers(4, 14), st.integers(1, 4), st.integers(2, 3), st.integers(2, 9))
@settings(max_examples=80 if THOROUGH else 30, deadline=None)
def test_tables_of_whole_numbers(seed, n_samples, n_features, n_classes, n_levels):
    """Ties, duplicates, classes of one sample."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_levels, size=(n_samples, n_features)).astype(float)
    X[0], X[1] = 0.0, n_levels - 1.0
    y = rng.integers(0, n_classes, size=n_samples)
    y[:3] = [0, 1, 0]
    order = range(n_samples)
    # Steps that lead back to w = 0 leave rounding alone, which w²/max(w²) would make a weight of 1.
    assume(np.abs(simba_path(scale_range(X), y, order)[-1]).max() > 1e-6)
    weights = Simba(shuffle=False).fit(X, y).feature_weights_
    np.testing.assert_allclose(weights, simba(scale_range(X), y, order), rtol=1e-7, atol=1e-12)


def test_the_first_of_the_nearest():
    """Sample 0 has two hits and two misses at the same distance: the first of each is taken."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
    y = np.array([0, 0, 0, 1, 1])
    w = np.ones(2)
    climb(X, y, np.array([0]), 2e-12, False, np.nan, w)
    np.testing.assert_allclose(w, [1.0 + 0.5 * (4.0 / 2.0 - 1.0 / 1.0), 1.0])
    v = np.ones(2)
    climb(X[[0, 2, 1, 4, 3]], y, np.array([0]), 2e-12, False, np.nan, v)
    np.testing.assert_allclose(v, w[::-1])


# What makes no step


def test_a_sample_at_distance_0_makes_no_step():
    X, y = scaled_table()
    X, y = np.vstack([X, X[:1], X[5:6]]), np.r_[y, y[0], 1 - y[5]]  # a twin, and one in the other class
    model = one_run(X, y)
    np.testing.assert_allclose(model.feature_weights_, simba(X, y, range(len(X))), rtol=1e-10)
    assert model.n_steps_ == len(X) - 4


def test_a_sample_alone_in_its_class_makes_no_step_but_is_a_miss():
    X, y = scaled_table()
    y = y.copy()
    y[7] = 5
    model = one_run(X, y)
    np.testing.assert_allclose(model.feature_weights_, simba(X, y, range(len(X))), rtol=1e-10)
    assert model.n_steps_ == len(X) - 1


def test_no_step_at_all():
    X, y = np.repeat([[0.0, 3.0], [1.0, 2.0]], 3, axis=0), np.repeat([0, 1], 3)
    with pytest.warns(ConvergenceWarning, match="made no step"):
        model = Simba(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.feature_weights_, [1.0, 1.0])
    assert model.n_steps_ == 0


def test_steps_that_lead_to_0():
    """Each of the sixteen first is of 1/16, exactly; then all distances are 0."""
    X, y = np.arange(9.0).reshape(-1, 1) / 8.0, np.arange(9) % 2
    with pytest.warns(ConvergenceWarning, match="led to w = 0"):
        model = one_run(X, y, n_epochs=2)
    np.testing.assert_array_equal(model.feature_weights_, [0.0])
    assert model.n_steps_ == 16
    assert model.margin_sum_ == 0.0


def test_a_constant_column_is_not_the_largest():
    """Its w stays 1 while all others shrink."""
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2
    model = one_run(np.column_stack([X / 11.0, np.ones(12)]), y)
    np.testing.assert_array_equal(model.feature_weights_, [1.0, 0.0])


# Runs


def test_the_run_with_the_largest_sum_of_margins_is_kept():
    X, y = continuous_table(50, n_classes=2)
    scaled = scale_range(X)
    model = Simba(n_restarts=6, random_state=3).fit(X, y)
    generator = np.random.RandomState(3)
    orders = [generator.permutation(len(X)) for _ in range(6)]
    found = [simba(scaled, y, order) for order in orders]
    sums = [hypothesis_margins(scaled, y, np.sqrt(w)).sum() for w in found]
    np.testing.assert_allclose(model.margin_sums_, sums, rtol=1e-9)
    assert np.ptp(sums) > 1e-3
    np.testing.assert_allclose(model.feature_weights_, found[int(np.argmax(sums))], rtol=1e-9)
    assert model.margin_sum_ == model.margin_sums_.max()


def test_each_epoch_has_an_order_of_its_own():
    X, y = scaled_table()
    model = Simba(n_restarts=1, n_epochs=2, scale=None, random_state=0).fit(X, y)
    generator = np.random.RandomState(0)
    order = np.r_[generator.permutation(len(X)), generator.permutation(len(X))]
    np.testing.assert_allclose(model.feature_weights_, simba(X, y, order), rtol=1e-9)


def test_in_the_given_order_there_is_one_run():
    X, y = scaled_table()
    assert one_run(X, y, n_restarts=7).margin_sums_.shape == (1,)
    assert same_bits(one_run(X, y, n_restarts=7).feature_weights_, one_run(X, y).feature_weights_)


def test_seeds():
    X, y = continuous_table()
    a, b, c = (Simba(random_state=seed, n_restarts=1).fit(X, y).feature_weights_ for seed in (0, 0, 1))
    assert same_bits(a, b)
    assert not np.allclose(a, c)


# Margins, metric, precision


def test_margins_are_those_of_the_learned_metric():
    X, y = continuous_table(n_classes=3)
    model = Simba(random_state=0).fit(X, y)
    expected = hypothesis_margins(scale_range(X), y, np.sqrt(model.feature_weights_))
    np.testing.assert_allclose(model.margins(X, y), expected, rtol=1e-9, atol=1e-12)
    assert model.margins(X, y).sum() == pytest.approx(model.margin_sum_, rel=1e-12)


def test_nearest_neighbors_after_transform_are_those_of_the_learned_metric():
    X, y = continuous_table(n_classes=2)
    model = Simba(weighted=True, random_state=0).fit(X, y)
    right = KNeighborsClassifier(1).fit(model.transform(X), y)
    _, places = right.kneighbors(n_neighbors=1)
    margins = model.margins(X, y)
    np.testing.assert_array_equal(y[places[:, 0]] == y, margins > 0.0)


def test_single_precision_is_near():
    X, y = continuous_table(300)
    double = Simba(random_state=0).fit(X.astype(np.float32).astype(np.float64), y).feature_weights_
    single = Simba(random_state=0).fit(X.astype(np.float32), y).feature_weights_
    assert not same_bits(single, double)
    np.testing.assert_allclose(single, double, atol=1e-4)


def test_squares_beyond_float64_are_refused_without_a_scaling():
    X, y = continuous_table()
    for factor in (1e160, 1e-165):
        with pytest.raises(ValueError, match=r'scale=None .* use scale="range"'):
            Simba(scale=None).fit(X * factor, y)
        assert Simba(random_state=0).fit(X * factor, y).feature_weights_.max() == 1.0


def test_features_that_act_only_together():
    X, y, relevant = make_xor(300, n_irrelevant=10, random_state=0)
    model = Simba(n_features_to_select=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.get_support(), relevant)


def test_ties_by_rounding_do_not_move_the_weights():
    X, y = discrete_table(50, n_classes=2)
    shifted = X + np.array([0.1, 0.3, 0.7, 1.1, 3.3])
    np.testing.assert_allclose(
        one_run(X, y).feature_weights_, one_run(shifted, y).feature_weights_, rtol=1e-6
    )
