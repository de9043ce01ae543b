"""Weights where nothing is chosen: learned ones, joined with the margins that they began with."""

import inspect
import warnings

import numpy as np
import oracles
import pytest
from registry import in_turn
from sklearn.exceptions import ConvergenceWarning

from highrelief import IM4E, LOGO, IRelief
from highrelief.base.soft import joined
from highrelief.datasets import make_twonorm, make_waveform, make_xor


@pytest.fixture(scope="module")
def waves():
    X, y, _ = make_waveform(60, n_irrelevant=5, random_state=0)
    return X, y


class TestJoined:
    def test_equal_the_oracle(self):
        random = np.random.default_rng(0)
        for size in (1, 2, 7, 50):
            w, nu = random.uniform(size=size), random.normal(size=size)
            np.testing.assert_allclose(joined(w, nu), oracles.joined_weights(w, nu), rtol=1e-12, atol=1e-15)

    def test_scales_do_not_matter(self):
        random = np.random.default_rng(1)
        w, nu = random.uniform(size=9), random.normal(size=9)
        np.testing.assert_allclose(joined(1e-200 * w, 1e9 * nu), joined(w, nu), rtol=1e-12)

    def test_learned_features_that_the_first_look_did_not_show_outweigh_it(self):
        w, nu = np.zeros(1002), np.ones(1002)
        w[:2] = 1.0
        ours = joined(w, nu)
        # cos² is 2/1002.
        np.testing.assert_allclose(ours[2:] / ours[0], 2 / 1002 / np.sqrt(1002) * np.sqrt(2), rtol=2e-3)
        np.testing.assert_allclose(joined(w, 1.0 - w), np.maximum(w, 0.0) / np.sqrt(2.0), atol=1e-15)

    def test_both_count_the_same_where_they_agree(self):
        w = np.array([3.0, 0.0, 4.0])
        np.testing.assert_allclose(joined(w, 7.0 * w), w / 5.0, rtol=1e-15)
        # A hair apart, the middle of both.
        near = joined(np.array([1.0, 1e-6]), np.array([1.0, 0.0]))
        np.testing.assert_allclose(near, [1.0, 5e-7], rtol=1e-9)

    def test_no_first_margin_leaves_the_learned(self):
        w = np.array([3.0, 0.0, 4.0])
        np.testing.assert_allclose(joined(w, np.zeros(3)), w / 5.0, rtol=1e-15)
        np.testing.assert_allclose(joined(w, -np.ones(3)), w / 5.0, rtol=1e-15)
        np.testing.assert_array_equal(joined(np.zeros(3), w), np.zeros(3))


class TestAgainstTheOracle:
    @pytest.mark.slow
    @in_turn(pytest.mark.parametrize("margin", [None, "nearest"]), outliers=[None, True])
    def test_irelief(self, waves, margin, outliers):
        X, y = waves
        ours = IRelief(margin=margin, outliers=outliers, tol=0.0).fit(X, y)
        expected = oracles.irelief_parameter_free(
            oracles.scale_range(X), y, margin or "prior", bool(outliers)
        )
        np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-8)

    @pytest.mark.slow
    def test_copies(self, waves):
        X, y = waves
        s = np.random.default_rng(0).integers(1, 4, len(y))
        expected = oracles.irelief_parameter_free(oracles.scale_range(X), y, s=s)
        np.testing.assert_allclose(IRelief(tol=0.0).fit(X, y, s).feature_weights_, expected, atol=1e-8)

    @pytest.mark.slow
    def test_im4e(self, waves):
        X, y = waves
        expected = oracles.irelief_parameter_free(oracles.scale_range(X), y, "nearest")
        np.testing.assert_allclose(
            IM4E(tol=0.0).fit(X, y).feature_weights_, expected / expected.sum(), atol=1e-8
        )


class TestWhatIsChosen:
    def test_a_width_is_the_iteration_of_the_paper(self, waves):
        X, y = waves
        with pytest.warns(ConvergenceWarning):
            ours = IRelief(sigma=0.4, max_iter=5, tol=0.0).fit(X, y)
        expected = oracles.irelief(oracles.scale_range(X), y, 0.4, "nearest", True, n_iter=5)[-1]
        np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-11)

    @pytest.mark.slow
    def test_a_perplexity_is_the_average_alone(self, waves):
        X, y = waves
        expected = oracles.irelief_auto(oracles.scale_range(X), y, 0.5, 10, "nearest", True)
        ours = IRelief(perplexity=0.5, tol=0.0).fit(X, y)
        np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-8)

    def test_logo_stays_sparse(self):
        X, y, _ = make_twonorm(100, n_irrelevant=100, random_state=0)
        assert np.count_nonzero(LOGO().fit(X, y).feature_weights_) < 60
        np.testing.assert_array_equal(
            LOGO().fit(X, y).feature_weights_, LOGO(perplexity=0.5).fit(X, y).feature_weights_
        )

    @pytest.mark.parametrize("fewer", [{"w_step": "exact"}, {"sparsity": 0.3}])
    def test_who_asks_for_fewer_features_gets_them(self, waves, fewer):
        X, y = waves
        np.testing.assert_array_equal(
            IM4E(**fewer).fit(X, y).feature_weights_, IM4E(perplexity=0.5, **fewer).fit(X, y).feature_weights_
        )

    @pytest.mark.parametrize(("method", "perplexity"), [(IRelief, None), (IM4E, None), (LOGO, 0.5)])
    def test_nothing_has_to_be(self, method, perplexity):
        defaults = inspect.signature(method).parameters
        assert defaults["sigma"].default == "auto"
        assert defaults["perplexity"].default == perplexity


def test_no_cycle_is_the_answer():
    for seed in range(10):
        X, y, _ = make_xor(24, n_irrelevant=2, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            for method in (IRelief(), IM4E(), LOGO()):
                assert method.fit(X, y).cycle_length_ == 0
                assert method.converged_


def test_rows_classes_and_units_do_not_matter(waves):
    X, y = waves
    w = IRelief().fit(X, y).feature_weights_
    order = np.random.default_rng(0).permutation(len(y))
    moved = IRelief().fit(1e3 * X[order] - 5, np.array(["c", "a", "b"])[y][order])
    np.testing.assert_allclose(moved.feature_weights_, w, atol=1e-9)


def test_many_features_that_tell_the_same_are_all_found():
    """Where the average alone prefers some of them by chance."""
    lost = []
    for perplexity in (None, 0.5):
        weights = [
            (IRelief(perplexity=perplexity).fit(X, y).feature_weights_, relevant)
            for X, y, relevant in (make_twonorm(60, n_irrelevant=500, random_state=seed) for seed in range(5))
        ]
        lost.append(np.mean([np.mean(w[relevant] <= np.quantile(w, 0.9)) for w, relevant in weights]))
    assert lost[0] < lost[1]


def test_no_positive_margin_is_still_said():
    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8) % 2
    with pytest.warns(ConvergenceWarning, match="no feature"):
        np.testing.assert_array_equal(IRelief().fit(X, y).feature_weights_, 0.0)
