"""What users of IRelief rely on beyond the contract."""

import warnings

import numpy as np
import oracles
import pytest
from sklearn.exceptions import ConvergenceWarning

from highrelief import IRelief
from highrelief.datasets import make_epistasis, make_waveform, make_xor


@pytest.fixture(scope="module")
def waves():
    X, y, _ = make_waveform(45, n_irrelevant=5, random_state=0)
    return X, y


@pytest.mark.parametrize("margin", ["nearest", "prior"])
@pytest.mark.parametrize("outliers", [True, False])
class TestIterates:
    def test_equal_the_oracle(self, waves, margin, outliers):
        X, y = waves
        path = oracles.irelief(oracles.scale_range(X), y, 0.4, margin, outliers, n_iter=5)
        for t, expected in enumerate(path, start=1):
            with pytest.warns(ConvergenceWarning):
                ours = IRelief(sigma=0.4, margin=margin, outliers=outliers, max_iter=t, tol=0.0).fit(X, y)
            np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-11)
            assert ours.n_iter_ == t

    @pytest.mark.slow
    def test_automatic_equal_the_oracle(self, waves, margin, outliers):
        X, y = waves
        expected = oracles.irelief_auto(oracles.scale_range(X), y, 0.5, 10, margin, outliers)
        ours = IRelief(perplexity=0.5, margin=margin, outliers=outliers, tol=0.0).fit(X, y)
        np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-8)
        width = oracles.sigma_for_perplexity(oracles.scale_range(X), ours.feature_weights_, 0.5)
        assert ours.sigma_ == pytest.approx(width, rel=1e-7)


class TestAutomatic:
    def test_runs_ten_averaged_steps_and_does_not_complain(self, waves):
        X, y = waves
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            fitted = IRelief().fit(X, y)
        assert fitted.n_iter_ == 10
        assert fitted.converged_
        assert len(fitted.history_) == 10

    def test_fewer_steps_by_request_are_reported(self, waves):
        X, y = waves
        with pytest.warns(ConvergenceWarning, match="max_iter=3"):
            assert not IRelief(max_iter=3).fit(X, y).converged_

    def test_does_not_depend_on_the_units(self, waves):
        X, y = waves
        a = IRelief(scale=None).fit(X, y)
        b = IRelief(scale=None).fit(1e4 * X, y)
        np.testing.assert_allclose(b.feature_weights_, a.feature_weights_, atol=1e-9)
        assert b.sigma_ == pytest.approx(1e4 * a.sigma_, rel=1e-7)

    def test_perplexity_moves_the_width(self, waves):
        X, y = waves
        widths = [IRelief(perplexity=p).fit(X, y).sigma_ for p in (0.1, 0.3, 0.5, 0.9)]
        assert widths == sorted(widths)

    def test_finds_what_acts_only_together(self):
        for seed in range(5):
            X, y, relevant = make_xor(300, n_irrelevant=100, random_state=seed)
            assert np.all(IRelief().fit(X, y).ranking_[relevant] <= 2)

    def test_discrete_data(self):
        X, y, relevant = make_epistasis(500, n_irrelevant=30, heritability=0.3, random_state=0)
        assert np.all(IRelief().fit(X, y).ranking_[relevant] <= 2)

    def test_few_samples(self):
        for n in (2, 3, 4):
            X = np.random.default_rng(n).random((n, 3))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = IRelief().fit(X, np.arange(n) % 2)
            assert np.all(np.isfinite(fitted.feature_weights_))
            assert np.isfinite(fitted.sigma_)


def test_no_positive_margin_gives_zeros_and_says_so():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])  # every nearest miss is at 0, every hit at 1
    y = np.array([0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="no feature has a positive mean margin"):
        fitted = IRelief(sigma=0.1).fit(X, y)
    np.testing.assert_array_equal(fitted.feature_weights_, [0.0])
    assert not fitted.converged_
    assert fitted.transform(X).shape == (4, 1)


def test_outlier_probability_at_the_final_weights(waves):
    X, y = waves
    fitted = IRelief(sigma=0.3).fit(X, y)
    _, gamma = oracles.soft_margin_rows(oracles.scale_range(X), y, fitted.feature_weights_, 0.3)
    np.testing.assert_allclose(fitted.outlier_proba_, 1.0 - gamma, atol=1e-10)


def test_outlier_probability_has_a_place_for_every_sample(waves):
    X, y = waves
    s = np.ones(len(X))
    s[::3] = 0.0
    fitted = IRelief(sigma=0.5).fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(np.isnan(fitted.outlier_proba_), s == 0.0)


def test_margins_are_those_of_the_formula(waves):
    X, y = waves
    fitted = IRelief(sigma=0.5).fit(X, y)
    Z, _ = oracles.soft_margin_rows(oracles.scale_range(X), y, fitted.feature_weights_, 0.5)
    np.testing.assert_allclose(fitted.margins(X, y), Z @ fitted.feature_weights_, atol=1e-10)


@pytest.mark.parametrize("sigma", [0.5, "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_memory_budget_changes_no_bit(waves, sigma, dtype):
    X, y = waves
    X = X.astype(dtype)
    stored = IRelief(sigma=sigma, max_iter=5, tol=0.0)
    again = IRelief(sigma=sigma, max_iter=5, tol=0.0, memory_budget=0)
    for weighter in (stored, again):
        with pytest.warns(ConvergenceWarning):
            weighter.fit(X, y)
    assert stored.execution_["distances"] == "stored"
    assert again.execution_["distances"] == "recomputed"
    for name in ("feature_weights_", "outlier_proba_", "history_", "sigma_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(stored, name))
    np.testing.assert_array_equal(again.margins(X, y), stored.margins(X, y))


def test_the_memory_budget_is_in_bytes(waves):
    X, y = waves
    kept = {}
    for budget in (1e4, 1e7, np.inf):
        kept[budget] = IRelief(sigma=0.5, memory_budget=budget).fit(X, y).execution_["distances"]
    assert kept == {1e4: "recomputed", 1e7: "stored", np.inf: "stored"}


def test_warnings_point_to_the_caller(waves):
    X, y = waves
    for call in (IRelief(sigma=0.5, max_iter=1).fit, IRelief(sigma=0.5, max_iter=1).fit_transform):
        with pytest.warns(ConvergenceWarning) as caught:
            call(X, y)
        assert caught[0].filename == __file__
