"""What Sun (2007) proves or claims, as tests of the estimators."""

import warnings

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from highrelief import IRelief, OnlineIRelief, Relief, ReliefF
from highrelief._solvers.fixed_point import unit_positive_part
from highrelief.datasets import add_irrelevant_features, flip_labels, make_ringnorm, make_waveform

# What the papers prove: the tests of the estimators themselves are quick.
pytestmark = pytest.mark.slow

margins = arrays(np.float64, st.integers(2, 8), elements=st.floats(-1.0, 1.0)).filter(
    lambda z: z.max() > 1e-3
)


@pytest.fixture(scope="module")
def waveform():
    """The setting of Figs. 10 and 11: 400 samples, 21 features, 50 irrelevant ones."""
    X, y, _ = make_waveform(400, n_classes=2, n_irrelevant=50, random_state=1)
    return X, y


def weights_after(estimator, X, y):
    """Weights of an iteration that is cut short on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y).feature_weights_


class TestClosedForm:
    """Eq. (6): the maximizer of wᵀz over ‖w‖₂ = 1, w ≥ 0."""

    @given(margins)
    @settings(max_examples=50, deadline=None)
    def test_equals_a_numerical_optimum(self, z):
        found = minimize(
            lambda w: -w @ z,
            np.full(z.size, z.size**-0.5),
            jac=lambda w: -z,
            bounds=[(0.0, None)] * z.size,
            constraints={"type": "eq", "fun": lambda w: w @ w - 1.0, "jac": lambda w: 2.0 * w},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        w = unit_positive_part(z)
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-14)
        assert w.min() >= 0.0
        # The optimizer may leave the sphere a little; its point is judged where it belongs.
        feasible = np.maximum(found.x, 0.0) / np.linalg.norm(np.maximum(found.x, 0.0))
        assert w @ z >= feasible @ z - 1e-12
        if found.success:
            np.testing.assert_allclose(w, feasible, atol=1e-4)

    @given(margins, st.integers(0, 10**6))
    @settings(max_examples=50, deadline=None)
    def test_no_other_feasible_point_is_better(self, z, seed):
        others = np.abs(np.random.default_rng(seed).normal(size=(200, z.size)))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        assert unit_positive_part(z) @ z >= (others @ z).max() - 1e-12

    def test_undefined_without_a_positive_margin(self):
        assert unit_positive_part(np.array([-1.0, 0.0])) is None

    def test_tiny_margins_do_not_underflow(self):
        w = unit_positive_part(np.array([3e-200, 4e-200]))
        np.testing.assert_allclose(w, [0.6, 0.8])


class TestConvergence:
    """Theorem 2, and the limits before it."""

    @pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0])
    def test_one_limit_from_any_start(self, waveform, sigma):
        X, y = waveform
        limit = IRelief(sigma=sigma, tol=1e-10).fit(X, y).feature_weights_
        for seed in range(5):
            start = IRelief(sigma=sigma, tol=1e-10, init="random", random_state=seed).fit(X, y)
            np.testing.assert_allclose(start.feature_weights_, limit, atol=1e-8)
        corner = np.zeros(71)
        corner[70] = 1.0
        from_corner = IRelief(sigma=sigma, tol=1e-10, init=corner).fit(X, y)
        np.testing.assert_allclose(from_corner.feature_weights_, limit, atol=1e-8)

    def test_the_limit_is_a_fixed_point_of_the_oracle(self, waveform):
        X, y = waveform
        w = IRelief(sigma=0.5, tol=1e-12).fit(X, y).feature_weights_
        again = oracles.irelief_step(oracles.scale_range(X), y, w, 0.5, "nearest", True, None)
        np.testing.assert_allclose(again, w, atol=1e-10)

    def test_a_wider_kernel_converges_faster(self, waveform):
        X, y = waveform
        steps = [IRelief(sigma=sigma).fit(X, y).n_iter_ for sigma in (0.2, 0.3, 0.5, 1.0, 2.0, 5.0)]
        assert steps == sorted(steps, reverse=True)
        assert steps[0] > steps[-1]

    @pytest.mark.parametrize("margin", ["nearest", "prior"])
    def test_an_infinite_width_needs_one_step(self, margin):
        X, y, _ = make_waveform(150, n_irrelevant=5, random_state=0)
        fitted = IRelief(sigma=1e10, margin=margin).fit(X, y)
        assert fitted.n_iter_ == 2  # the second finds that nothing moves
        assert fitted.history_[1] < 1e-8
        # eq. (13): every miss and every hit counts the same.
        Z, gamma = oracles.soft_margin_rows(oracles.scale_range(X), y, np.ones(26), 1e10, margin)
        np.testing.assert_allclose(
            fitted.feature_weights_, unit_positive_part((Z * gamma[:, None]).mean(axis=0)), atol=1e-7
        )

    def test_divergence_is_reported_at_a_small_width(self, waveform):
        X, y = waveform
        with pytest.warns(ConvergenceWarning, match="cycle of length 2"):
            fitted = IRelief(sigma=0.05).fit(X, y)
        assert not fitted.converged_
        assert fitted.cycle_length_ == 2
        assert fitted.history_[-1] > 0.1
        assert len(fitted.history_) == fitted.n_iter_

    @pytest.mark.parametrize("split", [0, 1, 2])
    def test_divergence_on_the_paper_s_data(self, data_folder, split):
        data = np.load(data_folder / "ida" / "waveform.npz")
        rows = data["train_idx"][split]
        X, _ = add_irrelevant_features(data["X"][rows].astype(float), 50, random_state=split)
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            assert not IRelief(sigma=0.05).fit(X, data["y"][rows]).converged_
        assert IRelief(sigma=0.2).fit(X, data["y"][rows]).converged_

    def test_averaging_ends_the_cycle_at_no_other_limit(self, waveform):
        X, y = waveform
        plain = IRelief(sigma=0.5, tol=1e-10).fit(X, y).feature_weights_
        averaged = weights_after(IRelief(sigma=0.5, averaging=True, max_iter=300, tol=0.0), X, y)
        np.testing.assert_allclose(averaged, plain, atol=1e-3)
        with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=30"):
            damped = IRelief(sigma=0.05, averaging=True, max_iter=30).fit(X, y)
        assert damped.cycle_length_ == 0
        assert damped.history_[-1] < 0.05


class TestSpecialCases:
    """Section 3.3, and the limits of the family."""

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_relieff_is_irelief_with_equal_shares(self, n_classes):
        """All neighbors, P_o = 0, one iteration from equal weights."""
        X, y, _ = make_waveform(90, n_classes=n_classes, n_irrelevant=4, random_state=3)
        relieff = ReliefF(n_neighbors=90).fit(X, y).feature_weights_
        irelief = IRelief(sigma=1e12, outliers=False, margin="prior", max_iter=1)
        np.testing.assert_allclose(weights_after(irelief, X, y), unit_positive_part(relieff), atol=1e-9)

    def test_relieff_weights_are_the_margin_of_one_over_k(self):
        """P_m and P_h are 1/K at the K nearest, under equal weights, and 0 elsewhere."""
        X, y, _ = make_ringnorm(80, n_features=6, random_state=0)
        S = oracles.scale_range(X)
        D = oracles.distances(S)
        nu = np.zeros(6)
        for n in range(80):
            others = np.delete(np.arange(80), n)
            by_distance = others[np.argsort(D[n, others])]
            hits = by_distance[y[by_distance] == y[n]][:7]
            misses = by_distance[y[by_distance] != y[n]][:7]
            nu += np.abs(S[misses] - S[n]).mean(axis=0) - np.abs(S[hits] - S[n]).mean(axis=0)
        np.testing.assert_allclose(ReliefF(n_neighbors=7).fit(X, y).feature_weights_, nu / 80, atol=1e-14)

    @pytest.mark.parametrize("metric", ["manhattan", "euclidean", "sqeuclidean"])
    def test_relieff_with_one_neighbor_and_two_classes_is_relief(self, metric):
        X, y, _ = make_ringnorm(120, random_state=0)
        one = ReliefF(n_neighbors=1, metric=metric).fit(X, y).feature_weights_
        np.testing.assert_array_equal(one, Relief(metric=metric).fit(X, y).feature_weights_)

    def test_a_vanishing_width_is_relief(self):
        """Eq. (14)."""
        X, y, _ = make_ringnorm(120, random_state=0)
        relief = unit_positive_part(Relief().fit(X, y).feature_weights_)
        narrow = weights_after(IRelief(sigma=1e-12, outliers=False, max_iter=1), X, y)
        np.testing.assert_allclose(narrow, relief, atol=1e-12)

    def test_two_classes_have_one_margin(self):
        X, y, _ = make_ringnorm(100, random_state=0)
        a = IRelief(sigma=0.5).fit(X, y).feature_weights_
        b = IRelief(sigma=0.5, margin="prior").fit(X, y).feature_weights_
        np.testing.assert_allclose(a, b, atol=1e-12)

    def test_squared_differences_are_the_diagonal_of_the_scatter(self):
        """RELIEF with squared differences is the diagonal of mean(mmᵀ − hhᵀ) at the same neighbors."""
        X, y, _ = make_ringnorm(60, n_features=5, random_state=1)
        S = oracles.scale_range(X)
        D = oracles.distances(S, metric="sqeuclidean")
        scatter = np.zeros((5, 5))
        for n in range(60):
            hits = np.flatnonzero((y == y[n]) & (np.arange(60) != n))
            misses = np.flatnonzero(y != y[n])
            h = S[n] - S[hits[np.argmin(D[n, hits])]]
            m = S[n] - S[misses[np.argmin(D[n, misses])]]
            scatter += np.outer(m, m) - np.outer(h, h)
        ours = Relief(metric="sqeuclidean").fit(X, y).feature_weights_
        np.testing.assert_allclose(ours, np.diag(scatter) / 60, atol=1e-14)


class TestOnline:
    """Theorem 4: the same limit as the batch algorithm, for any a."""

    @pytest.mark.parametrize("step_decay", [0.25, 0.5, 1.0])
    @pytest.mark.parametrize("shuffle", [False, True])
    def test_converges_to_the_batch(self, waveform, step_decay, shuffle):
        X, y = waveform
        batch = IRelief(sigma=0.5, tol=1e-10).fit(X, y).feature_weights_
        distance = [
            np.linalg.norm(
                OnlineIRelief(
                    sigma=0.5, step_decay=step_decay, n_epochs=n_epochs, shuffle=shuffle, random_state=0
                )
                .fit(X, y)
                .feature_weights_
                - batch
            )
            for n_epochs in (1, 6, 36)
        ]
        # Six times as many steps: the error falls at least like 1/√t.
        assert distance[1] < distance[0] / np.sqrt(6)
        assert distance[2] < distance[1] / np.sqrt(6)
        assert distance[2] < 2e-3

    def test_one_pass_is_near(self, waveform):
        """Section 6: a solution of similar quality after one pass."""
        X, y = waveform
        batch = IRelief(sigma=0.5).fit(X, y).feature_weights_
        one = OnlineIRelief(sigma=0.5, random_state=0).fit(X, y).feature_weights_
        assert one @ batch > 0.999

    def test_three_classes(self):
        X, y, _ = make_waveform(150, n_irrelevant=10, random_state=0)
        for margin in ("nearest", "prior"):
            batch = IRelief(sigma=1.0, margin=margin, tol=1e-10).fit(X, y).feature_weights_
            online = OnlineIRelief(sigma=1.0, margin=margin, n_epochs=40, random_state=0).fit(X, y)
            np.testing.assert_allclose(online.feature_weights_, batch, atol=1e-3)


class TestOutliers:
    def test_mislabeled_samples_are_suspected(self):
        """Section 3.1: γ finds samples whose label does not fit their neighbors."""
        X, y, _ = make_ringnorm(300, n_irrelevant=10, random_state=0)
        noisy, flipped = flip_labels(y, 0.1, random_state=0)
        fitted = IRelief(sigma=0.5).fit(X, noisy)
        suspicion = fitted.outlier_proba_
        clean = oracles.soft_margin_rows(oracles.scale_range(X), noisy, fitted.feature_weights_, 0.5)[1]
        np.testing.assert_allclose(suspicion, 1.0 - clean, atol=1e-9)
        assert np.median(suspicion[flipped]) > 0.5 > np.median(suspicion[~flipped])
