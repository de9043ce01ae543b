"""G-flip: flips, scores, sets."""

import itertools
import math
import warnings

import numpy as np
import pytest
from contract import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import default_beta, gflip, gflip_score, scale_range
from registry import THOROUGH, continuous_table
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from highrelief import EnsembleWeighting, GFlip, ReliefF
from highrelief._kernels import gflip as gflip_kernels
from highrelief.methods.gflip import ClassedColumns, FeatureSet

UTILITIES = ["linear", "sigmoid", "zero-one"]

utilities = pytest.mark.parametrize("utility", UTILITIES)


def noisy_table(n_samples=40, n_features=12, n_classes=2, seed=0):
    """Many features that say a little: sets of some size, with flips out of them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.uniform(size=(n_samples, n_features))
    X[:, : n_features // 2] += 0.6 * y[:, np.newaxis]
    return scale_range(X), y


def in_order(X, y, **parameters):
    return GFlip(shuffle=False, scale=None, **parameters).fit(X, y)


def every_index(X):
    return itertools.repeat(range(X.shape[1]))


# Against the oracle


@utilities
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_and_scores(utility, n_classes):
    X, y = noisy_table(n_classes=n_classes)
    beta = default_beta(X, y)
    model = in_order(X, y, utility=utility)
    members, scores = gflip(X, y, every_index(X), utility, beta)
    assert members.sum() > 1
    np.testing.assert_array_equal(model.feature_weights_, members)
    np.testing.assert_allclose(model.scores_, scores, rtol=1e-12)
    assert model.converged_
    assert model.history_[-1] == 0
    assert model.n_iter_ == len(model.history_) == len(model.scores_) > 1
    assert model.score_ == model.scores_[-1]
    assert np.isnan(model.beta_) if utility != "sigmoid" else model.beta_ == pytest.approx(beta, rel=1e-12)


def test_a_slope_of_ones_own():
    X, y = noisy_table()
    model = in_order(X, y, utility="sigmoid", beta=50.0)
    np.testing.assert_array_equal(model.feature_weights_, gflip(X, y, every_index(X), "sigmoid", 50.0)[0])
    assert model.beta_ == 50.0


@utilities
def test_no_flip_of_the_end_raises_the_score(utility):
    X, y = noisy_table(seed=3)
    model = in_order(X, y, utility=utility, beta=4.0)
    for j in range(X.shape[1]):
        flipped = model.feature_weights_.copy()
        flipped[j] = 1.0 - flipped[j]
        assert gflip_score(X, y, flipped, utility, 4.0) <= model.score_ * (1.0 + 1e-12)


@utilities
def test_random_orders(utility):
    X, y = noisy_table()
    model = GFlip(utility=utility, beta=3.0, scale=None, random_state=5).fit(X, y)
    seed = np.random.RandomState(5).randint(2**31 - 1, size=1)[0]
    generator = np.random.RandomState(seed)
    orders = (generator.permutation(X.shape[1]) for _ in itertools.count())
    np.testing.assert_array_equal(model.feature_weights_, gflip(X, y, orders, utility, 3.0)[0])


# Distances by one feature at a time


def tables_of(seed, n_samples, n_features, n_levels):
    """Few levels or many, twins among rows and columns, a tiny class, values that scaling rounds."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, n_features))
    if n_levels:
        X = np.floor(X * n_levels)
        X[0], X[1] = 0.0, n_levels - 1.0
    X[:, -1] = X[:, 0]
    X[-1] = X[0]
    y = rng.integers(0, 3, size=n_samples)
    y[:4] = [0, 1, 0, 1]
    return scale_range(X), y


cases = given(st.integers(0, 10**6), st.integers(5, 20), st.integers(2, 6), st.sampled_from([0, 0, 2, 4, 8]))


@cases
@settings(max_examples=80 if THOROUGH else 30, deadline=None)
def test_scores_after_every_sweep_are_those_of_a_full_recomputation(seed, n_samples, n_features, n_levels):
    X, y = tables_of(seed, n_samples, n_features, n_levels)
    for utility in UTILITIES:
        features = FeatureSet(ClassedColumns(X, y, None), utility, 2.0)
        generator = np.random.default_rng(seed)
        for _ in range(4):
            features.sweep(generator.permutation(n_features))
            expected = gflip_score(X, y, features.members, utility, 2.0)
            assert features.score == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.slow
@cases
@settings(max_examples=40 if THOROUGH else 20, deadline=None)
def test_sets_are_those_of_the_oracle(seed, n_samples, n_features, n_levels):
    """Where ties abound too: a growth by rounding is none."""
    X, y = tables_of(seed, n_samples, n_features, n_levels)
    for utility in UTILITIES:
        features = FeatureSet(ClassedColumns(X, y, None), utility, 2.0)
        while features.sweep(np.arange(n_features)):
            pass
        members, _ = gflip(X, y, every_index(X), utility, 2.0)
        np.testing.assert_array_equal(features.members, members)


@given(st.integers(0, 10**6))
@settings(max_examples=30 if THOROUGH else 15, deadline=None)
def test_what_comes_and_goes_leaves_no_trace(seed):
    """Features of very different sizes go in and out: squared distances are the exact sum, rounded once."""
    rng = np.random.default_rng(seed)
    n, d = 9, 6
    X = rng.uniform(size=(n, d)) * 10.0 ** rng.integers(-9, 3, size=d)
    X[:, 0] = rng.integers(0, 2, size=n)
    columns = ClassedColumns(X, np.arange(n) % 2, None)
    features = FeatureSet(columns, "linear", np.nan)
    i, m = (places.ravel() for places in np.indices((columns.n_rows, columns.n_rows)))
    stored = m >= i - i % 4  # blocks of four rows, from the diagonal on
    i, m = i[stored], m[stored]
    pairs = columns.real[i] & columns.real[m] & (i != m)
    squares = (columns.values[:, i] - columns.values[:, m])[:, pairs] ** 2
    inside = np.zeros(d, dtype=bool)
    for _ in range(100):
        j = rng.integers(d)
        gflip_kernels.flip(columns.values[j], not inside[j], features._high, features._low)
        inside[j] = not inside[j]
        np.testing.assert_array_equal(features._high[pairs], [math.fsum(pair) for pair in squares[inside].T])
        assert features._high[~pairs].min() > 1e300


def test_values_are_rounded_as_little_as_exact_sums_ask_for():
    X, y = noisy_table(30, 100)
    columns = ClassedColumns(X + 7.0, y, None)
    found = np.sort(columns.values[:, columns.real], axis=1)
    np.testing.assert_allclose(found, np.sort(X.T - X.min(axis=0)[:, np.newaxis], axis=1), atol=2.0**-48)
    np.testing.assert_array_equal(columns.values * 2.0**48 % 1.0, 0.0)


def test_a_twin_of_a_member_and_a_mirrored_twin():
    """All distances grow by the same factor, whichever is taken."""
    X, y = noisy_table(n_features=4)
    model = in_order(np.column_stack([X, X, 1.0 - X]), y)
    members = model.feature_weights_.reshape(3, 4)
    expected = gflip(np.column_stack([X, X, 1.0 - X]), y, itertools.repeat(range(12)))[0].reshape(3, 4)
    np.testing.assert_array_equal(members, expected)
    twins = np.flatnonzero(members[0] * members[1])
    losses = model.score_losses_.reshape(3, 4)
    np.testing.assert_array_equal(losses[0, twins], losses[1, twins])
    assert twins.size


# Copies


@utilities
@pytest.mark.parametrize("kind", ["whole", "above 1", "parts"])
def test_copies(utility, kind):
    X, y = noisy_table(24, 6, n_classes=3)
    rng = np.random.default_rng(2)
    s = {
        "whole": rng.integers(1, 4, size=len(X)).astype(float),
        "above 1": rng.uniform(1.0, 2.5, size=len(X)),
        "parts": rng.uniform(0.2, 2.5, size=len(X)),
    }[kind]
    model = GFlip(utility=utility, shuffle=False, scale=None).fit(X, y, sample_weight=s)
    beta = default_beta(X, y, s)
    members, scores = gflip(X, y, every_index(X), utility, beta, s)
    np.testing.assert_array_equal(model.feature_weights_, members)
    assert model.score_ == pytest.approx(scores[-1], rel=1e-11)
    if kind == "whole":
        s = s.astype(int)
        copied = GFlip(utility=utility, shuffle=False, scale=None).fit(
            np.repeat(X, s, axis=0), np.repeat(y, s)
        )
        np.testing.assert_array_equal(copied.feature_weights_, members)
        assert copied.score_ == pytest.approx(model.score_, rel=1e-12)
        np.testing.assert_allclose(copied.score_losses_, model.score_losses_, rtol=1e-9, atol=1e-12)


def test_copies_of_a_sample_alone_in_its_class_in_parts():
    X, y = noisy_table(20, 4)
    y = np.r_[y[:-1], 7]
    for s in (np.where(y == 7, 1.5, 1.0), np.where(y == 7, 1.5, 0.5)):
        model = GFlip(shuffle=False, scale=None).fit(X, y, sample_weight=s)
        members, scores = gflip(X, y, every_index(X), s=s)
        np.testing.assert_array_equal(model.feature_weights_, members)
        assert model.score_ == pytest.approx(scores[-1], rel=1e-11)


# Ranking


def test_members_are_ranked_by_what_is_lost_without_them():
    X, y = noisy_table(n_features=10, seed=1)
    model = in_order(X, y)
    members = np.flatnonzero(model.feature_weights_)
    assert 2 < members.size < 10
    for j in range(10):
        without = model.feature_weights_.copy()
        without[j] = 0.0
        expected = model.score_ - gflip_score(X, y, without) if j in members else 0.0
        assert model.score_losses_[j] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    best = members[np.argsort(-model.score_losses_[members])]
    np.testing.assert_array_equal(model.ranking_[best], np.arange(1, members.size + 1))
    others = model.feature_weights_ == 0.0
    np.testing.assert_array_equal(model.ranking_[others], members.size + 1)
    np.testing.assert_array_equal(
        model.set_params(n_features_to_select=2).get_support(indices=True), np.sort(best[:2])
    )
    model.set_params(n_features_to_select=members.size + 1)
    first_other = np.flatnonzero(others)[0]
    np.testing.assert_array_equal(model.get_support(indices=True), np.sort(np.r_[members, first_other]))


@utilities
def test_the_only_member_loses_all(utility):
    X, y = np.arange(8.0).reshape(-1, 1) / 7.0, np.repeat([0, 1], 4)
    model = in_order(X, y, utility=utility, beta=2.0)
    np.testing.assert_array_equal(model.feature_weights_, [1.0])
    assert model.score_losses_[0] == model.score_ > 0.0


# Runs


def test_the_run_with_the_largest_score_is_kept():
    X, y = noisy_table(60, 40, seed=4)
    alone = []
    for seed in np.random.RandomState(0).randint(2**31 - 1, size=5):
        generator = np.random.RandomState(seed)
        features = FeatureSet(ClassedColumns(X, y, None), "linear", np.nan)
        while features.sweep(generator.permutation(40)):
            pass
        alone.append((features.score, features.members))
    scores = [score for score, _ in alone]
    assert np.ptp(scores) > 1e-3
    for n_jobs in (1, 2, 3):
        model = GFlip(n_restarts=5, scale=None, random_state=0, n_jobs=n_jobs).fit(X, y)
        assert model.score_ == max(scores)
        np.testing.assert_array_equal(model.feature_weights_, alone[int(np.argmax(scores))][1])


def test_sweeps_in_pieces(monkeypatch):
    X, y = noisy_table(60, 40, seed=4)
    expected = GFlip(random_state=0).fit(X, y)
    monkeypatch.setattr("highrelief.methods.gflip.n_pieces", lambda elements: 7)
    cut = GFlip(random_state=0).fit(X, y)
    assert same_bits(cut.scores_, expected.scores_)
    assert same_bits(cut.history_, expected.history_)
    assert same_bits(cut.feature_weights_, expected.feature_weights_)
    assert same_bits(cut.score_losses_, expected.score_losses_)


def test_a_sweep_that_was_cut_short_has_not_settled(monkeypatch):
    """Nothing was flipped so far, and features that would be have not been tried."""
    y = np.arange(12) % 2
    X = np.column_stack([np.arange(12.0), y])
    monkeypatch.setattr("highrelief.methods.gflip.n_pieces", lambda elements: 2)
    monkeypatch.setattr("highrelief.base.progress.Progress.advance", lambda self: True)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback after 1 sweeps"):
        model = GFlip(shuffle=False).fit(X, y)
    np.testing.assert_array_equal(model.history_, [0])
    assert not model.converged_


def test_the_order_of_the_samples_does_not_matter():
    X, y = noisy_table(60, 40, n_classes=3, seed=4)
    expected = GFlip(random_state=0).fit(X, y)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        model = GFlip(random_state=0).fit(X[order], y[order])
        np.testing.assert_array_equal(model.feature_weights_, expected.feature_weights_)
        np.testing.assert_allclose(model.scores_, expected.scores_, rtol=1e-13)


@utilities
@pytest.mark.parametrize("seed", range(4))
def test_what_changes_nothing_changes_nothing_where_ties_abound(utility, seed):
    """On the discrete tables of the contract no feature is good by itself; here some are."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = rng.integers(0, 4, size=(60, 8)).astype(float)
    X[:, :5] += rng.integers(1, 4, size=5) * y[:, np.newaxis]
    s, order = rng.integers(1, 4, size=60), rng.permutation(60)

    def members(X, y, s=None):
        return GFlip(utility=utility, random_state=0).fit(X, y, s).feature_weights_

    expected = members(X, y)
    assert expected.any()
    np.testing.assert_array_equal(members(X[order], y[order]), expected)
    np.testing.assert_array_equal(members(7.1 - X, y), expected)
    np.testing.assert_array_equal(members(X.astype(np.float32), y), expected)
    np.testing.assert_array_equal(members(X, 2 - y), expected)
    np.testing.assert_array_equal(members(np.repeat(X, s, axis=0), np.repeat(y, s)), members(X, y, s))


def test_precision_of_the_table_does_not_matter():
    X, y = continuous_table(100)
    X = X.astype(np.float32)
    single, double = GFlip(random_state=0).fit(X, y), GFlip(random_state=0).fit(X.astype(np.float64), y)
    assert same_bits(single.scores_, double.scores_)
    assert same_bits(single.feature_weights_, double.feature_weights_)
    assert single.transform(X).dtype == np.float32


# Ends


def test_too_few_sweeps():
    X, y = noisy_table()
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 sweeps: the last made \d+ flips"):
        model = GFlip(max_iter=1, random_state=0).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == len(model.history_) == len(model.scores_) == 1


@pytest.mark.parametrize("utility", ["linear", "zero-one"])
def test_nothing_is_found(utility):
    """Classes alternate on a line: the nearest miss is always nearer than the nearest hit."""
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2
    with pytest.warns(ConvergenceWarning, match="no feature that makes the score grow by itself"):
        model = GFlip(utility=utility).fit(X, y)
    np.testing.assert_array_equal(model.feature_weights_, [0.0])
    np.testing.assert_array_equal(model.margins(X, y), 0.0)
    assert model.score_ == 0.0
    assert model.converged_
    assert model.transform(X).shape == (12, 1)


def test_without_hits_nothing_is_said_of_features_that_act_together():
    with pytest.warns(UserWarning, match="No class in y has two samples") as said:
        model = GFlip().fit([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0]], [0, 1, 2])
    assert len(said) == 1
    assert not model.feature_weights_.any()


def test_a_range_that_rounding_leaves_few_digits_of():
    X, y = noisy_table(n_features=2)
    X[:, 1] = np.arange(len(X)) / (len(X) - 1.0)  # classes alternate: no good by itself
    wide = X * [1.0, 1e17]
    with pytest.warns(UserWarning, match="scale=None the ranges .* Use scale='range'"):
        GFlip(shuffle=False, scale=None, utility="sigmoid").fit(wide, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(GFlip(shuffle=False).fit(wide, y).feature_weights_, [1.0, 0.0])
        GFlip(shuffle=False, scale=None).fit(X * [1.0, 1e6], y)


def test_features_that_act_only_together_are_not_found():
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 5, axis=0)
    y = (X[:, 0] != X[:, 1]).astype(int)
    with pytest.warns(ConvergenceWarning, match="act only together"):
        model = GFlip(random_state=0).fit(X, y)
    assert not model.feature_weights_.any()
    assert gflip_score(X, y, [1, 1]) == 10.0


def test_what_is_wrapped_around_it_says_that_the_order_of_features_matters():
    assert get_tags(EnsembleWeighting(GFlip())).feature_order_dependent
    assert not get_tags(EnsembleWeighting(ReliefF())).feature_order_dependent


def test_a_table_too_long_for_the_memory(monkeypatch, force):
    X, y = noisy_table()
    monkeypatch.setattr("highrelief._engine.memory.free_memory", lambda: 1e4)
    force(unchecked_bytes=0.0)
    with pytest.raises(MemoryError, match=r"distances of all pairs of 40 samples.* free\. Use fewer samples"):
        GFlip().fit(X, y)
