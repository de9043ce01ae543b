"""What users of LOGO rely on beyond the contract: the inner problem, the iteration, and their speed."""

import warnings

import numpy as np
import oracles
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from small_tables import packed_table

from highrelief import FREL, LOGO
from highrelief._engine import active_set
from highrelief._engine.engine import LocalEngine
from highrelief._solvers.minimizers import sparse_logistic
from highrelief.datasets import add_irrelevant_features, make_waveform, make_xor


@pytest.fixture(scope="module")
def waves():
    X, y, _ = make_waveform(60, n_irrelevant=4, random_state=0)
    return oracles.scale_range(X), y


@pytest.fixture(scope="module")
def noisy():
    """Ten features with a main effect among 600."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 600))
    X[:, :10] += 1.2 * y[:, np.newaxis]
    return oracles.scale_range(X), y


def fitted(X, y, sample_weight=None, **parameters):
    """A fit that may be cut short on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LOGO(**parameters).fit(X, y, sample_weight)


def violation(Z, w, alpha, copies=1.0):
    """Largest violation of the conditions of a minimum over all features, relative as the page defines it."""
    pull = (copies * expit(-(Z @ w))) @ Z
    at_zero = (0.5 * copies * np.ones(len(Z))) @ Z
    each = np.where(w > 0.0, np.abs(pull - alpha), np.maximum(pull - alpha, 0.0))
    return each.max() / max(alpha, np.abs(at_zero).max())


class TestInnerProblem:
    @pytest.mark.parametrize("alpha", [0.01, 0.3, 2.0])
    def test_conditions_of_a_minimum_over_all_features(self, noisy, alpha):
        X, y = noisy
        ours = fitted(X, y, sigma=2.0, alpha=alpha, max_iter=1, scale=None)
        Z, _ = oracles.soft_margin_rows(X, y, np.ones(X.shape[1]), 2.0)
        assert ours.kkt_residual_ <= 1e-10
        assert violation(Z, ours.feature_weights_, alpha) <= 1e-10
        assert 0 < np.count_nonzero(ours.feature_weights_) < len(X)

    @pytest.mark.slow
    def test_does_not_depend_on_the_solver(self, noisy):
        X, y = noisy
        alpha = 0.3
        ours = fitted(X, y, sigma=2.0, alpha=alpha, max_iter=1, scale=None).feature_weights_
        Z, _ = oracles.soft_margin_rows(X, y, np.ones(X.shape[1]), 2.0)

        def objective(w):
            return np.logaddexp(0.0, -(Z @ w)).sum() + alpha * w.sum(), alpha - expit(-(Z @ w)) @ Z

        quasi_newton = minimize(
            objective,
            np.zeros(X.shape[1]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * X.shape[1],
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-10, "maxcor": 50},
        ).x
        by_coordinates = oracles.logistic_l1(Z, alpha, tol=1e-11)
        by_gradients = oracles.fista(
            lambda w: np.logaddexp(0.0, -(Z @ w)).sum(),
            lambda w: -expit(-(Z @ w)) @ Z,
            len(ours),
            alpha,
            "l1",
            True,
        )
        np.testing.assert_allclose(ours, quasi_newton, atol=1e-6)
        np.testing.assert_allclose(ours, by_coordinates, atol=1e-7)
        np.testing.assert_allclose(ours, by_gradients, atol=1e-7)
        assert objective(ours)[0] <= objective(quasi_newton)[0] + 1e-12

    def test_copies_count(self, waves):
        X, y = waves
        s = 1.0 + np.arange(len(y)) % 3
        ours = fitted(X, y, s, sigma=1.0, alpha=0.5, max_iter=1, scale=None)
        Z, _ = oracles.soft_margin_rows(X, y, np.ones(X.shape[1]), 1.0, s=s)
        assert violation(Z, ours.feature_weights_, 0.5, s) <= 1e-10

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_starting_anywhere_ends_in_the_same_place(self, noisy, dtype):
        X, y = noisy
        rng = np.random.default_rng(1)
        w = rng.uniform(size=X.shape[1])
        ends = []
        for start in (np.zeros(X.shape[1]), np.ones(X.shape[1]), rng.uniform(size=X.shape[1]) < 0.1):
            table = packed_table(X.astype(dtype), y)
            near = LocalEngine(table, memory=2.0**30).active_set_margins.at(w, 3.0)
            ends.append(sparse_logistic(near, 0.4, start.astype(np.float64)).weights)
        for other in ends[1:]:
            np.testing.assert_allclose(other, ends[0], atol=1e-8)

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_is_that_of_frel_where_neighborhoods_are_a_single_sample(self, order):
        """The same Z: nearest hit and miss. FREL has a mean of losses where LOGO has a sum."""
        rng = np.random.default_rng(0)
        for n_features in (3, 5, 8, 12, 20, 50):
            for _ in range(6):
                y = np.arange(50) % 2
                X = rng.normal(size=(50, n_features))
                X[:, :6] += 0.8 * y[:, np.newaxis]
                X = np.asarray(X, order=order)
                ours = fitted(X, y, sigma=1e-9, alpha=0.3, max_iter=1)
                frel = FREL(penalty="l1", positive=True, solver="exact", alpha=0.3 / 50).fit(X, y)
                np.testing.assert_allclose(ours.feature_weights_, frel.feature_weights_, atol=1e-8)

    def test_small_penalties(self):
        """Where classes are separated, a penalty of 1e-8 still decides how far the weights go."""
        rng = np.random.default_rng(0)
        y = np.arange(20) % 2
        X = rng.normal(size=(20, 3)) + 3.0 * y[:, np.newaxis]
        for alpha in (1e-4, 1e-6, 1e-8):
            w = fitted(X, y, sigma=1.0, alpha=alpha, max_iter=1).feature_weights_
            Z, _ = oracles.soft_margin_rows(oracles.scale_range(X), y, np.ones(3), 1.0)
            pull = expit(-(Z @ w)) @ Z
            np.testing.assert_allclose(pull[w > 0.0], alpha, rtol=1e-6)
            assert np.all(pull <= alpha * (1.0 + 1e-6))


class TestMargins:
    @pytest.mark.parametrize("magnitude", [1e-30, 1e30])
    def test_what_single_precision_cannot_hold_is_not_lost(self, waves, magnitude):
        X, y = waves
        expected = LOGO(scale=None).fit(X, y).feature_weights_
        ours = LOGO(scale=None).fit(magnitude * X, y).feature_weights_
        np.testing.assert_allclose(ours, expected, atol=1e-9)

    def test_of_samples_equal_the_oracle(self, waves):
        X, y = waves
        ours = LOGO(sigma=5.0, alpha=0.5, scale=None).fit(X, y)
        Z, _ = oracles.soft_margin_rows(X, y, ours.feature_weights_, 5.0)
        np.testing.assert_allclose(ours.margins(X, y), Z @ ours.feature_weights_, atol=1e-10)


class TestIterates:
    @pytest.mark.parametrize("weights", [None, "copies"])
    def test_equal_the_oracle(self, waves, weights):
        X, y = waves
        s = None if weights is None else 1.0 + np.arange(len(y)) % 2
        for t, expected in enumerate(oracles.logo(X, y, 1.0, 0.5, n_iter=4, s=s), start=1):
            ours = fitted(X, y, s, sigma=1.0, alpha=0.5, max_iter=t, tol=0.0, scale=None)
            np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-8)
            assert ours.n_iter_ == t

    def test_start_where_the_user_says(self, waves):
        X, y = waves
        start = np.full(X.shape[1], X.shape[1] ** -0.5)
        (expected,) = oracles.logo(X, y, 1.0, 0.5, w0=start)
        ours = fitted(X, y, sigma=1.0, alpha=0.5, max_iter=1, init=start, scale=None)
        np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-8)

    @pytest.mark.slow
    def test_automatic_equal_the_oracle(self, waves):
        X, y = waves
        ours = LOGO(tol=0.0, scale=None).fit(X, y)
        np.testing.assert_allclose(ours.feature_weights_, oracles.logo_auto(X, y), atol=1e-6)
        assert np.linalg.norm(ours.feature_weights_) == pytest.approx(1.0)
        assert ours.converged_

    def test_end_is_a_fixed_point(self, noisy):
        X, y = noisy
        ours = LOGO(sigma=10.0, alpha=1.0, tol=1e-8, scale=None).fit(X, y)
        assert ours.converged_
        w = ours.feature_weights_
        Z, _ = oracles.soft_margin_rows(X, y, w, 10.0)
        assert violation(Z, w, 1.0) <= 1e-8

    def test_a_cycle_is_reported_and_averaging_ends_it(self):
        X, y, _ = make_xor(24, n_irrelevant=2, random_state=0)
        with pytest.warns(ConvergenceWarning, match="cycle of length 2"):
            plain = LOGO(sigma=0.2, alpha=0.1).fit(X, y)
        assert plain.cycle_length_ == 2
        assert not plain.converged_
        averaged = fitted(X, y, sigma=0.2, alpha=0.1, averaging=True, max_iter=200)
        assert averaged.cycle_length_ == 0
        assert averaged.history_[-1] < 0.02 * plain.history_[-1]


class TestPenalty:
    def test_a_huge_one_leaves_nothing_and_says_so(self, waves):
        X, y = waves
        with pytest.warns(UserWarning, match=r"alpha=1000000.0 leaves no feature"):
            ours = LOGO(sigma=1.0, alpha=1e6).fit(X, y)
        np.testing.assert_array_equal(ours.feature_weights_, 0.0)

    def test_the_warning_names_the_border(self, waves):
        X, y = waves
        Z, _ = oracles.soft_margin_rows(X, y, np.ones(X.shape[1]), 1.0)
        border = Z.sum(axis=0).max() / 2
        with pytest.warns(UserWarning, match=f"below {border:.3g} "):
            fitted(X, y, sigma=1.0, alpha=border * (1 + 1e-6), max_iter=1, scale=None)
        below = fitted(X, y, sigma=1.0, alpha=border * (1 - 1e-6), max_iter=1, scale=None)
        assert np.count_nonzero(below.feature_weights_) == 1

    def test_fewer_features_the_larger_it_is(self, noisy):
        X, y = noisy
        kept = [
            np.count_nonzero(LOGO(sigma=10.0, alpha=alpha).fit(X, y).feature_weights_)
            for alpha in (0.5, 1.5, 3.0)
        ]
        assert kept[0] > kept[1] > kept[2] > 0

    def test_automatic_is_a_fifth_of_the_border(self, waves):
        X, y = waves
        ours = fitted(X, y, sigma=1.0, max_iter=1, scale=None)
        Z, _ = oracles.soft_margin_rows(X, y, np.ones(X.shape[1]), 1.0)
        assert ours.alpha_ == pytest.approx(0.2 * Z.sum(axis=0).max() / 2, rel=1e-9)


class TestWork:
    """What is left out changes nothing, and what is done follows the features that are not 0."""

    @pytest.mark.parametrize("parameters", [{"sigma": 2.0, "alpha": 1.0}, {"sigma": 10.0}, {}], ids=str)
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_screening_changes_nothing(self, noisy, parameters, dtype, monkeypatch):
        X, y = noisy
        ours = fitted(X.astype(dtype), y, **parameters)
        # Nothing is kept to bound later sums by.
        monkeypatch.setattr(active_set.Reference, "bounds", lambda self, tiles, own, spans: np.inf * spans)
        all_summed = fitted(X.astype(dtype), y, **parameters)
        assert all_summed.execution_["features_summed"][-1] == X.shape[1]
        assert ours.execution_["features_summed"][-1] < 0.2 * X.shape[1]
        np.testing.assert_array_equal(ours.feature_weights_, all_summed.feature_weights_)

    @pytest.mark.parametrize("parameters", [{"sigma": 2.0, "alpha": 1.0}, {}], ids=str)
    def test_little_memory_changes_nothing(self, noisy, parameters):
        X, y = noisy
        ours = fitted(X, y, **parameters)
        again = fitted(X, y, memory_budget=0, **parameters)
        assert ours.execution_["distances"] == "stored"
        assert again.execution_["distances"] == "recomputed"
        np.testing.assert_allclose(again.feature_weights_, ours.feature_weights_, rtol=1e-9, atol=1e-12)

    def test_anchors_of_the_width_do_not_depend_on_memory(self):
        X, y, _ = make_waveform(1100, n_classes=2, n_irrelevant=3, random_state=0)
        ours, again = LOGO(max_iter=2), LOGO(max_iter=2, memory_budget=0)
        np.testing.assert_allclose(
            again.fit(X, y).feature_weights_, ours.fit(X, y).feature_weights_, rtol=1e-9, atol=1e-12
        )
        assert again.execution_["distances"] != ours.execution_["distances"]

    def test_later_iterations_look_at_few_features(self):
        rng = np.random.default_rng(0)
        y = np.arange(100) % 2
        X = rng.normal(size=(100, 5000))
        X[:, :10] += 1.2 * y[:, np.newaxis]
        ours = LOGO(sigma=10.0, alpha=2.0, tol=1e-8).fit(X, y)
        active = np.count_nonzero(ours.feature_weights_)
        assert max(ours.execution_["features_summed"][-3:]) <= 5 * active


def test_noise_features_hardly_change_what_is_found():
    """The non-zero set with 1,000 more noise features (Sun, Todorovic and Goodison 2010, section 5)."""
    X, y, _ = make_waveform(400, n_classes=2, random_state=0)
    clean = LOGO(sigma=2.0, alpha=2.0).fit(X, y)
    more, _ = add_irrelevant_features(X, 1000, random_state=0)
    noisy = LOGO(sigma=2.0, alpha=2.0).fit(more, y)
    found, again = (set(each.get_support(indices=True)) for each in (clean, noisy))
    assert len(found & again) / len(found | again) >= 0.8


def test_no_answer_leaves_nothing_of_an_earlier_fit(waves):
    logo = LOGO().fit(*waves)
    with pytest.warns(ConvergenceWarning, match="positive mean margin"):
        logo.fit([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])
    assert np.isnan(logo.alpha_)
    assert np.isnan(logo.kkt_residual_)
    np.testing.assert_array_equal(logo.feature_weights_, 0.0)
