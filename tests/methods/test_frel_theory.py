"""The theorems of Li et al. (2015), under the conditions under which they hold, and where they do not."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from oracles import hits_and_misses, relief_rows, scale_range
from registry import continuous_table
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from highrelief import FREL, LOGO
from highrelief._solvers.losses import HingeLoss, LogLoss, SquareLoss
from highrelief._solvers.minimizers import minimize_l1, minimize_l2, sparse_logistic
from highrelief.stability import stability_score

# What the papers prove: the tests of the estimators themselves are quick.
pytestmark = pytest.mark.slow


def fixed_rows(n=30, d=8, seed=0):
    """z_i = |x − NM| − |x − NH| and Δ_i of a table; they stay as they are when a sample leaves."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.uniform(size=(n, d)) + 0.3 * y[:, np.newaxis] * (np.arange(d) < 3)
    H, M, gaps, _ = hits_and_misses(scale_range(X), y)
    return H, M, gaps


def without(n, left):
    """1/n for every sample, 0 for those that left: eq. (14) keeps the factor."""
    factors = np.full(n, 1.0 / n)
    factors[list(left)] = 0.0
    return factors


def lipschitz_loss(name, factors, gaps):
    return LogLoss(factors) if name == "log" else HingeLoss(factors, gaps)


# Theorem 1: L2, Lipschitz losses (δ = 1 for log and hinge), ‖z_i‖₂ ≤ φ


@pytest.mark.parametrize("alpha", [1e-3, 0.03, 1.0])
@pytest.mark.parametrize("name", ["log", "hinge"])
def test_theorem_1(name, alpha):
    H, M, gaps = fixed_rows()
    Z = M - H
    n, phi = len(Z), np.linalg.norm(Z, axis=1).max()
    bound = phi / (n * alpha)
    whole = minimize_l2(lipschitz_loss(name, without(n, []), gaps), Z, alpha).weights
    moved = []
    for i in range(n):
        fewer = minimize_l2(lipschitz_loss(name, without(n, [i]), gaps), Z, alpha).weights
        moved.append(np.linalg.norm(whole - fewer))
    assert max(moved) <= bound
    # λ‖w‖₂² is strongly convex with 2λ: half the bound holds too.
    assert max(moved) <= bound / 2 * (1 + 1e-9)
    assert max(moved) > 0.0


def test_theorem_1_is_attained_up_to_its_factor_of_two():
    """Hinges far from their corners: every sample moves the weights by exactly φ/(2nλ) in its direction."""
    Z = np.eye(6)
    full, fewer = (
        minimize_l2(HingeLoss(without(6, left), np.full(6, 100.0)), Z, 1.0).weights for left in ([], [2])
    )
    assert np.linalg.norm(full - fewer) == pytest.approx(1.0 / (2 * 6 * 1.0), rel=1e-12)


@pytest.mark.parametrize("name", ["log", "hinge"])
@pytest.mark.parametrize("q", [2, 5, 10])
def test_remark_4_for_q_samples(name, q):
    H, M, gaps = fixed_rows()
    Z = M - H
    n, alpha = len(Z), 0.05
    bound = q * np.linalg.norm(Z, axis=1).max() / (n * alpha)
    whole = minimize_l2(lipschitz_loss(name, without(n, []), gaps), Z, alpha).weights
    rng = np.random.default_rng(0)
    for _ in range(10):
        left = rng.choice(n, q, replace=False)
        fewer = minimize_l2(lipschitz_loss(name, without(n, left), gaps), Z, alpha).weights
        assert np.linalg.norm(whole - fewer) <= bound


@pytest.mark.parametrize("name", ["log", "hinge"])
def test_eq_12_for_a_changed_sample(name):
    H, M, gaps = fixed_rows()
    Z = M - H
    n, alpha = len(Z), 0.05
    whole = minimize_l2(lipschitz_loss(name, without(n, []), gaps), Z, alpha).weights
    rng = np.random.default_rng(0)
    for i in range(n):
        changed = Z.copy()
        changed[i] = rng.uniform(-1.0, 1.0, size=Z.shape[1])
        phi = max(np.linalg.norm(Z, axis=1).max(), np.linalg.norm(changed[i]))
        other = minimize_l2(lipschitz_loss(name, without(n, []), gaps), changed, alpha).weights
        assert np.linalg.norm(whole - other) <= 2 * phi / (n * alpha)


def test_theorem_1_needs_a_lipschitz_loss():
    """The slope of the square loss grows with Δ; with δ = 1 the bound is broken."""
    H, M, gaps = fixed_rows()
    A = np.concatenate([H, M])
    n, alpha = len(H), 0.5
    bound = np.linalg.norm(A, axis=1).max() / (n * alpha)
    whole = minimize_l2(SquareLoss(without(n, []), 10 * gaps), A, alpha).weights
    moved = [
        np.linalg.norm(whole - minimize_l2(SquareLoss(without(n, [i]), 10 * gaps), A, alpha).weights)
        for i in range(n)
    ]
    assert max(moved) > bound


def hub_table(m):
    """m samples of class 0 far from each other; the first sample, of class 1, is the nearest miss of all."""
    X = np.zeros((2 * m + 1, 2 * m + 1))
    X[1 : m + 1] = np.eye(2 * m + 1)[:m]
    X[m + 1 :] = np.eye(2 * m + 1)[m : 2 * m] * 3.0
    X[m + 1 :, 2 * m] = 10.0
    return X, np.r_[1, np.zeros(m), np.ones(m)].astype(int)


@pytest.mark.parametrize(("m", "factor"), [(20, 1.8), (40, 3.4), (80, 6.5)])
def test_a_hub_breaks_theorem_1_where_neighbors_are_found_again(m, factor):
    """The more samples it is the nearest miss of, the more: by any factor."""
    X, y = hub_table(m)
    n, alpha = len(X), 10.0
    z, z_later = relief_rows(X, y), relief_rows(X[1:], y[1:])
    phi = max(np.linalg.norm(z, axis=1).max(), np.linalg.norm(z_later, axis=1).max())
    whole = FREL(solver="exact", alpha=alpha, scale=None).fit(X, y).feature_weights_
    # The factor 1/n is kept: (1/n)ΣL + λR has the minimizer of (1/(n−1))ΣL + λn/(n−1)R.
    later = FREL(solver="exact", alpha=alpha * n / (n - 1), scale=None).fit(X[1:], y[1:]).feature_weights_
    bound = phi / (n * alpha)
    assert np.linalg.norm(whole - later) > factor * bound
    # With the rows as they were, it holds.
    fixed = minimize_l2(LogLoss(without(n, [0])), z, alpha).weights
    assert np.linalg.norm(whole - fixed) <= bound


# Theorem 2: L1, strong convexity (n > d), a known sparse w*


def losses_at(factors, H, M, gaps, name):
    loss = SquareLoss(factors, gaps) if name == "square" else LogLoss(factors)
    return loss, np.concatenate([H, M]) if name == "square" else M - H


def least_curvature(name, kept, H, M, gaps, truth, radius):
    """κ of definition 4 in a ball around w*: half the least eigenvalue of a lower bound of its Hessians."""
    n = len(H)
    assert len(kept) > H.shape[1]
    H, M, gaps = H[kept], M[kept], gaps[kept]
    if name == "log":
        Z = M - H
        # The curvature of the log loss falls with the size of the score.
        farthest = np.abs(Z @ truth) + radius * np.linalg.norm(Z, axis=1)
        hessian = (Z.T * (expit(farthest) * expit(-farthest))) @ Z / n
    else:
        within = gaps - M @ truth > radius * np.linalg.norm(M, axis=1)  # Δ − Ē > 0 all over the ball
        hessian = 2.0 * (H.T @ H + M[within].T @ M[within]) / n
    return 0.5 * np.linalg.eigvalsh(hessian)[0]


@pytest.mark.parametrize("left", [[0], [5], [1, 4, 9], list(range(20))], ids=["1", "2", "q = 3", "q = 20"])
@pytest.mark.parametrize("name", ["log", "square"])
def test_theorem_2_and_remark_9(name, left):
    H, M, gaps = fixed_rows(n=80, d=5)
    truth = np.array([1.0, 0.5, 0.0, 0.0, 0.0])  # exactly sparse
    radius = 2.0
    everything, kept = np.arange(80), np.setdiff1d(np.arange(80), left)
    kappa, kappa_fewer = (
        least_curvature(name, rows, H, M, gaps, truth, radius) for rows in (everything, kept)
    )
    assert min(kappa, kappa_fewer) > 0.0
    whole, A = losses_at(without(80, []), H, M, gaps, name)
    fewer, _ = losses_at(without(80, left), H, M, gaps, name)
    alpha = max(np.abs(A.T @ loss.gradient(A @ truth)).max() for loss in (whole, fewer))
    w, w_fewer = (minimize_l1(loss, A, alpha).weights for loss in (whole, fewer))
    # Both lie in the ball in which κ holds.
    assert max(np.linalg.norm(w - truth), np.linalg.norm(w_fewer - truth)) <= radius
    bound = 2 * np.sqrt(5) * alpha * (1 / kappa + 1 / kappa_fewer)
    assert 0.0 < np.linalg.norm(w - w_fewer) <= bound
    # Each of the two is near the truth (eqs. 51 and 53).
    assert np.linalg.norm(w - truth) <= 2 * np.sqrt(5) * alpha / kappa
    assert np.linalg.norm(w_fewer - truth) <= 2 * np.sqrt(5) * alpha / kappa_fewer


@pytest.mark.parametrize("q", [1, 10, 18])
def test_theorem_2_is_attained_up_to_a_factor_of_two(q):
    """The square loss of 20 samples per feature, of which q leave, Δ as far from 2w* as the penalty allows.

    H = M = I: the loss of a sample is w² + (Δ − w)². Then w = w* − α/κ, half of what eqs. 51 and 53 allow,
    with κ = 2·20/n or 2·(20 − q)/n.
    """
    d, n = 5, 100
    H = M = np.repeat(np.eye(d), 20, axis=0)
    leaves = np.arange(n) % 20 < q
    left = np.flatnonzero(leaves)
    assert n - left.size > d
    truth, alpha = np.ones(d), 0.01
    gaps = np.where(leaves, 2.0, 2.0 - alpha / 2 * n / (20 - q))
    kappa, kappa_fewer = 2 * 20 / n, 2 * (20 - q) / n
    moved = []
    for factors, bend in ((without(n, []), kappa), (without(n, left), kappa_fewer)):
        loss, A = losses_at(factors, H, M, gaps, "square")
        assert np.abs(A.T @ loss.gradient(A @ truth)).max() == pytest.approx(alpha, rel=1e-12)
        w = minimize_l1(loss, A, alpha).weights
        np.testing.assert_allclose(truth - w, alpha / bend, rtol=1e-8)
        moved.append(w)
    bound = 2 * np.sqrt(d) * alpha * (1 / kappa + 1 / kappa_fewer)
    share = 0.5 * (kappa - kappa_fewer) / (kappa + kappa_fewer)  # 0.41 of the bound for q = 9
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(share * bound, rel=1e-7)


def test_there_is_no_strong_convexity_with_more_features_than_samples():
    """What theorem 2 asks for: two minimizers of the log loss that differ, and a κ of 0 between them."""
    H, M, _ = fixed_rows(n=6, d=8)
    Z = M - H
    loss = LogLoss(without(6, []))
    truth = minimize_l1(loss, Z, 0.02).weights
    flat = np.linalg.svd(Z)[2][-1]
    slope = Z.T @ loss.gradient(Z @ truth)
    grown = loss.value(Z @ (truth + flat)) - loss.value(Z @ truth) - slope @ flat
    assert abs(grown / (flat @ flat)) < 1e-12


# Theorem 3: the mean over all subsets of round(an) samples, β the bound at that size


@pytest.mark.parametrize("left", [[0], [3], [2, 5]], ids=["first", "fourth", "q = 2"])
@pytest.mark.parametrize("share", [0.5, 0.75])
def test_theorem_3_and_remark_11(share, left):
    H, M, _ = fixed_rows(n=8, d=4)
    Z = M - H
    n, alpha = 8, 0.05
    size = round(share * n)
    subsets = list(combinations(range(n), size))

    def mean_weights(gone):
        total = np.zeros(Z.shape[1])
        for subset in subsets:
            factors = np.zeros(n)
            factors[[i for i in subset if i not in gone]] = 1.0 / size
            total += minimize_l2(LogLoss(factors), Z, alpha).weights
        return total / len(subsets)

    base_bound = np.linalg.norm(Z, axis=1).max() / (size * alpha)
    moved = np.linalg.norm(mean_weights([]) - mean_weights(left))
    assert 0.0 < moved <= len(left) * size / n * base_bound


@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_theorem_3_is_attained_up_to_the_factor_of_two_of_theorem_1(size):
    """Hinges far from their corners: a sample moves the mean by aβ/2, in the share a of subsets it is in."""
    n, alpha = 6, 1.0
    subsets = list(combinations(range(n), size))

    def mean_weights(gone):
        total = np.zeros(n)
        for subset in subsets:
            factors = np.zeros(n)
            factors[[i for i in subset if i not in gone]] = 1.0 / size
            total += minimize_l2(HingeLoss(factors, np.full(n, 100.0)), np.eye(n), alpha).weights
        return total / len(subsets)

    beta = 1.0 / (size * alpha)
    moved = np.linalg.norm(mean_weights([]) - mean_weights([2]))
    assert moved == pytest.approx(size / n * beta / 2, rel=1e-12)


# Stability and λ (Fig. 2; READINGS F2 and F3)


def few_samples_of_many_features():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 300))
    X[:, :20] += 0.8 * y[:, np.newaxis]
    return X, y


def stabilities(alphas, **parameters):
    X, y = few_samples_of_many_features()
    return [
        stability_score(FREL(alpha=alpha, **parameters), X, y, n_subsets=10, random_state=0)
        for alpha in alphas
    ]


def test_the_stability_of_the_minimizer_grows_with_the_penalty():
    found = stabilities([1e-4, 1e-2, 1.0, 100.0], solver="exact")
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.01


def test_the_stability_of_algorithm_1_does_not():
    """Steps of length 1 shrink the weights whatever λ, as soon as its part of the slope is the larger one."""
    found = stabilities([0.01, 0.1, 1.0, 100.0], solver="sgd")
    assert found[0] > found[1] > found[2]
    assert found[2] == pytest.approx(found[3], abs=0.01)


# LOGO


@pytest.mark.parametrize("alpha", [0.05, 0.5, 2.0])
def test_the_first_step_of_logo_is_frel(alpha):
    """With σ → 0 LOGO looks at the nearest neighbors, at first unweighted; it sums where FREL has a mean."""
    X, y = continuous_table(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one step is all that is asked for
        logo = LOGO(sigma=1e-9, alpha=alpha, max_iter=1).fit(X, y).feature_weights_
    frel = FREL(penalty="l1", alpha=alpha / 50, positive=True, solver="exact").fit(X, y).feature_weights_
    assert logo.any()
    # Both to a residual of 1e-10.
    np.testing.assert_allclose(frel, logo, atol=1e-10 * logo.max())


class GivenMargins:
    """Margins of all features, as ``sparse_logistic`` asks for them."""

    rounding = 1e-12

    def __init__(self, Z, copies):
        self.Z, self.sample_weight = Z, copies

    def columns(self, features):
        return self.Z[:, features]

    def features_above(self, slopes, threshold):
        return np.flatnonzero(slopes @ self.Z > threshold)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
def test_feature_after_feature_is_all_features_at_once(alpha):
    H, M, _ = fixed_rows(n=40, d=120)
    Z, copies = M - H, np.random.default_rng(0).integers(1, 4, size=40).astype(float)
    grown = sparse_logistic(GivenMargins(Z, copies), alpha, np.zeros(120)).weights
    at_once = minimize_l1(LogLoss(copies), Z, alpha, positive=True).weights
    assert 0 < np.count_nonzero(at_once) < 40
    np.testing.assert_allclose(grown, at_once, atol=1e-8 * at_once.max())
    # The conditions of a minimum, of all features.
    rest = (copies * expit(-(Z @ grown))) @ Z - alpha
    assert rest.max() <= 1e-9 * (copies @ np.abs(Z)).max()
    np.testing.assert_allclose(rest[grown > 0.0], 0.0, atol=1e-9 * (copies @ np.abs(Z)).max())
