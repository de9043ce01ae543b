"""The exact minimizers of penalized margin losses."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import coordinate_descent, fista, frel_objective
from registry import THOROUGH
from scipy.optimize import check_grad, linprog

from highrelief._solvers.hinge import minimize_in_box
from highrelief._solvers.losses import (
    HingeLoss,
    LogLoss,
    SmoothedHinge,
    SquareExpLoss,
    SquareLoss,
    l1_violations,
    l2_violation,
)
from highrelief._solvers.minimizers import minimize_l1, minimize_l2

SMOOTH = ["log", "square", "square-exp"]
LOSSES = [*SMOOTH, "hinge"]
MINIMIZERS = {"l1": minimize_l1, "l2": minimize_l2}


def differences(n=30, d=8, seed=0, levels=None):
    """|x − hit|, |x − miss| of a made-up table, hits a little nearer in the first features, and margins."""
    rng = np.random.default_rng(seed)
    H = rng.uniform(size=(n, d)) * np.where(np.arange(d) < 3, 0.5, 1.0)
    M = rng.uniform(size=(n, d))
    if levels:
        H, M = np.round(levels * H) / levels, np.round(levels * M) / levels
    return H, M, 0.7 * (H + M).sum(axis=1)


def problem(name, H, M, delta, copies=None):
    """A loss and the array that makes its scores."""
    copies = np.ones(len(H)) if copies is None else copies
    factors = copies / copies.sum()
    if name == "log":
        return LogLoss(factors), M - H
    if name == "hinge":
        return HingeLoss(factors, delta), M - H
    pairs = np.concatenate([H, M])
    return (SquareLoss(factors, delta) if name == "square" else SquareExpLoss(factors)), pairs


def objective(loss, A, w, alpha, penalty):
    return loss.value(A @ w) + alpha * (np.sum(w**2) if penalty == "l2" else np.sum(np.abs(w)))


# Losses


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_the_paper(name):
    H, M, delta = differences()
    copies = np.random.default_rng(1).uniform(0.5, 3.0, size=len(H))
    loss, A = problem(name, H, M, delta, copies)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=8) * 3.0
        expected = frel_objective(w, H, M, delta, name, "l2", 0.0, copies)
        np.testing.assert_allclose(loss.value(A @ w), expected, rtol=1e-13)


@pytest.mark.parametrize("loss", ["log", "square", "square-exp", "smoothed"])
def test_gradients_and_curvatures(loss):
    H, M, delta = differences(n=12)
    if loss == "smoothed":
        loss, A = SmoothedHinge(np.full(12, 1 / 12), delta, 0.7), M - H
    else:
        loss, A = problem(loss, H, M, delta)
    rng = np.random.default_rng(0)
    for _ in range(5):
        u = rng.normal(size=len(A)) * 2.0
        assert check_grad(loss.value, loss.gradient, u) < 1e-6 * np.linalg.norm(loss.gradient(u))
        step = 1e-6
        slopes = (loss.gradient(u + step) - loss.gradient(u - step)) / (2 * step)
        np.testing.assert_allclose(loss.curvature(u), slopes, rtol=1e-6, atol=1e-9)


def test_the_gradient_of_the_hinge_away_from_its_corner():
    H, M, delta = differences(n=12)
    loss, _ = problem("hinge", H, M, delta)
    u = np.random.default_rng(0).normal(size=12)
    assert check_grad(loss.value, loss.gradient, u) < 1e-6


def test_the_log_loss_does_not_overflow():
    loss = LogLoss(np.ones(4))
    u = np.array([-1e4, -800.0, 800.0, 1e300])
    with np.errstate(over="raise", invalid="raise"):
        assert loss.value(u) == 10800.0
        np.testing.assert_array_equal(loss.gradient(u), [-1.0, -1.0, 0.0, 0.0])
        np.testing.assert_array_equal(loss.curvature(u), 0.0)


@pytest.mark.parametrize("width", [1.0, 1e-3, 1e-9])
def test_a_smoothed_hinge_is_a_little_below_the_hinge(width):
    loss = HingeLoss(np.array([0.5, 2.0]), np.array([1.0, 3.0]))
    for u in np.random.default_rng(0).normal(1.0, 3.0, size=(20, 2)):
        below = loss.value(u) - loss.smoothed(width).value(u)
        assert -1e-12 <= below <= 2.5 * width / 2 + 1e-12


# Minima


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.3])
@pytest.mark.parametrize("shape", [(40, 6), (12, 30), (20, 20)])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", LOSSES)
def test_residuals(name, penalty, shape, alpha, positive):
    H, M, delta = differences(*shape)
    loss, A = problem(name, H, M, delta)
    end = MINIMIZERS[penalty](loss, A, alpha, positive)
    assert end.residual <= 1e-10
    assert not positive or end.weights.min() >= 0.0
    if name == "hinge":
        return
    # The residual is what it says.
    slopes = A.T @ loss.gradient(A @ end.weights)
    at_zero = np.abs(A.T @ loss.gradient(np.zeros(len(A)))).max()
    if penalty == "l1":
        violation = l1_violations(slopes, end.weights, alpha, positive).max() / max(alpha, at_zero)
    else:
        violation = l2_violation(slopes + 2 * alpha * end.weights, end.weights, positive) / at_zero
    assert violation <= 1.01e-10


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", SMOOTH)
def test_the_solver_does_not_matter(name, penalty, positive):
    H, M, delta = differences(n=40, d=6)
    loss, A = problem(name, H, M, delta)
    alpha = 0.02
    w = MINIMIZERS[penalty](loss, A, alpha, positive).weights
    by_gradient = fista(
        lambda v: loss.value(A @ v), lambda v: A.T @ loss.gradient(A @ v), 6, alpha, penalty, positive
    )
    by_coordinate = coordinate_descent(loss, A, alpha, penalty, positive)
    np.testing.assert_allclose(w, by_gradient, atol=1e-7 * np.abs(w).max())
    np.testing.assert_allclose(w, by_coordinate, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", LOSSES)
def test_no_step_away_from_the_minimum_goes_down(name, penalty, positive):
    H, M, delta = differences(n=25, d=10)
    loss, A = problem(name, H, M, delta)
    w = MINIMIZERS[penalty](loss, A, 0.01, positive).weights
    least = objective(loss, A, w, 0.01, penalty)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3, 1e-5):
        for _ in range(50):
            move = rng.normal(size=10) * (rng.uniform(size=10) < 0.4) * size * np.abs(w).max()
            away = np.maximum(w + move, 0.0) if positive else w + move
            assert objective(loss, A, away, 0.01, penalty) >= least - 1e-14 * least


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_large_penalty_gives_0_or_next_to_0(name, penalty):
    H, M, delta = differences()
    loss, A = problem(name, H, M, delta)
    w = MINIMIZERS[penalty](loss, A, 1e6).weights
    if penalty == "l1":
        np.testing.assert_array_equal(w, 0.0)
    else:
        # Closed form: −∇loss(0)/2α.
        np.testing.assert_allclose(w, -A.T @ loss.gradient(np.zeros(len(A))) / 2e6, rtol=1e-4)


def test_closed_forms_of_one_sample():
    z = np.array([[3.0, 4.0]])
    # Hinge: the corner is reached, w = Δz/‖z‖², as long as the penalty is small.
    w = minimize_l2(HingeLoss(np.ones(1), np.full(1, 2.0)), z, 0.01).weights
    np.testing.assert_allclose(w, 2.0 * z[0] / 25.0, rtol=1e-14)
    w = minimize_l1(HingeLoss(np.ones(1), np.full(1, 2.0)), z, 0.01).weights
    np.testing.assert_allclose(w, [0.0, 0.5], rtol=1e-12)
    # Log, L1: only the larger component, c·4·expit(−4w) = α.
    w = minimize_l1(LogLoss(np.ones(1)), z, 0.5).weights
    np.testing.assert_allclose(w, [0.0, np.log(7.0) / 4.0], rtol=1e-9)


def test_square_loss_within_the_margin_is_ridge_regression():
    H, M, delta = differences(n=50, d=5)
    loss, A = problem("square", H, M, 100.0 + delta)
    w = minimize_l2(loss, A, 1.0).weights
    assert np.all(M @ w < 100.0 + delta)
    system = (H.T @ H + M.T @ M) / 50 + np.eye(5)
    np.testing.assert_allclose(w, np.linalg.solve(system, M.T @ (100.0 + delta) / 50), rtol=1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_more_features_than_samples_or_fewer_is_the_same(name):
    """Columns of zeros change the method, not the answer."""
    H, M, delta = differences(n=10, d=6)
    wide = [np.hstack([part, np.zeros((10, 30))]) for part in (H, M)]
    few = minimize_l2(*problem(name, H, M, delta), 0.05).weights
    many = minimize_l2(*problem(name, *wide, delta), 0.05).weights
    np.testing.assert_allclose(many[:6], few, rtol=1e-11)
    np.testing.assert_array_equal(many[6:], 0.0)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_warm_starts_change_nothing(name, positive):
    H, M, delta = differences(n=30, d=60)
    loss, A = problem(name, H, M, delta)
    cold = minimize_l1(loss, A, 0.01, positive)
    rng = np.random.default_rng(0)
    for start in (cold.weights, rng.normal(size=60), 1e6 * rng.normal(size=60), np.zeros(60)):
        before = start.copy()
        warm = minimize_l1(loss, A, 0.01, positive, start=start)
        np.testing.assert_array_equal(start, before)
        np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-7 * np.abs(cold.weights).max())
    if name != "hinge":
        assert minimize_l1(loss, A, 0.01, positive, start=cold.weights).n_steps <= 1


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_twin_gets_the_same_weight(name, penalty, positive):
    H, M, delta = differences(n=30, d=12)
    H, M = np.hstack([H, H[:, :4]]), np.hstack([M, M[:, :4]])
    loss, A = problem(name, H, M, delta)
    w = MINIMIZERS[penalty](loss, A, 0.01, positive).weights
    np.testing.assert_allclose(w[12:], w[:4], atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("name", LOSSES)
def test_separable_data_keep_the_weights_bounded(name):
    H, M, delta = differences(n=15, d=100)
    M += 2.0
    for penalty, minimize in MINIMIZERS.items():
        loss, A = problem(name, H, M, delta)
        end = minimize(loss, A, 1e-6)
        assert end.residual <= 1e-10
        bound = loss.value(np.zeros(len(A))) / 1e-6
        assert (np.abs(end.weights).sum() if penalty == "l1" else np.sum(end.weights**2)) <= bound


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", LOSSES)
def test_copies_are_copies(name, penalty):
    H, M, delta = differences(n=12, d=5)
    copies = np.random.default_rng(0).integers(1, 4, size=12)
    weighted = MINIMIZERS[penalty](*problem(name, H, M, delta, copies.astype(float)), 0.05).weights
    many = [np.repeat(part, copies, axis=0) for part in (H, M, delta)]
    copied = MINIMIZERS[penalty](*problem(name, *many), 0.05).weights
    np.testing.assert_allclose(weighted, copied, atol=1e-8 * np.abs(copied).max())


@example("square-exp", "l2", True, 1e-5, 2, 19, 2, 0, 151)  # where projected steps are cut short
@settings(max_examples=150 if THOROUGH else 60, deadline=None)
@given(
    name=st.sampled_from(LOSSES),
    penalty=st.sampled_from(["l1", "l2"]),
    positive=st.booleans(),
    alpha=st.sampled_from([1e-5, 1e-3, 0.1, 10.0]),
    n=st.integers(1, 12),
    d=st.integers(1, 20),
    levels=st.sampled_from([None, 1, 2]),
    copied=st.integers(0, 3),
    seed=st.integers(0, 10**6),
)
def test_tables_with_duplicates_and_ties(name, penalty, positive, alpha, n, d, levels, copied, seed):
    H, M, delta = differences(n, d, seed, levels)
    H, M, delta = (np.concatenate([part, part[:copied]]) for part in (H, M, delta))
    H, M = np.hstack([H, H[:, :copied]]), np.hstack([M, M[:, :copied]])
    loss, A = problem(name, H, M, delta)
    end = MINIMIZERS[penalty](loss, A, alpha, positive)
    assert np.all(np.isfinite(end.weights))
    assert end.residual <= 1e-9


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(8, 3), (6, 20), (30, 5)])
def test_the_hinge_where_many_samples_meet_at_the_corner(shape, positive):
    """Whole numbers, each row four times: more equations than unknowns, all of them fulfilled."""
    rng = np.random.default_rng(0)
    Z = np.repeat(rng.integers(-2, 3, size=shape), 4, axis=0).astype(float)
    margins = np.repeat(rng.integers(1, 4, size=shape[0]), 4).astype(float)
    for alpha in (1e-4, 1e-2, 1.0):
        end = minimize_l2(HingeLoss(np.full(len(Z), 1 / len(Z)), margins), Z, alpha, positive)
        assert end.residual <= 1e-11


@pytest.mark.parametrize("alpha", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("positive", [False, True])
def test_the_hinge_with_many_features(alpha, positive):
    """As of a microarray: thousands of weights, half of which are 0 where w ≥ 0 is asked for."""
    loss, A = problem("hinge", *differences(n=70, d=7000))
    end = minimize_l2(loss, A, alpha, positive)
    assert end.residual <= 1e-12
    assert end.n_steps <= 20


@pytest.mark.parametrize("n", [1, 5, 40])
def test_quadratic_functions_in_a_box(n):
    rng = np.random.default_rng(n)
    for _ in range(30):
        root = rng.normal(size=(n + 3, n))
        Q, b, top = root.T @ root, 3.0 * rng.normal(size=n), rng.uniform(0.01, 0.3, size=n)
        top[rng.uniform(size=n) < 0.1] = 0.0
        x = minimize_in_box(Q, b, rng.uniform(size=n) * top, top)
        assert np.all((x >= 0.0) & (x <= top))
        slope = Q @ x - b
        violation = np.where(x >= top, np.maximum(slope, 0.0), np.abs(slope))
        violation[x <= 0.0] = np.maximum(-slope[x <= 0.0], 0.0)
        violation[top == 0.0] = 0.0
        assert violation.max() <= 1e-12 * max(np.abs(b).max(), 1.0)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(60, 20), (25, 70)])
def test_the_linear_program_of_the_hinge(shape, positive):
    """Its textbook form: min cᵀξ + α·1ᵀ(p + q), ξ ≥ Δ − A(p − q), all ≥ 0."""
    loss, A = problem("hinge", *differences(*shape))
    n, d = shape
    parts = [A] if positive else [A, -A]
    for alpha in (1e-5, 1e-3, 0.05):
        costs = np.concatenate([np.full(len(parts) * d, alpha), loss.factors])
        expected = linprog(costs, -np.hstack([*parts, np.eye(n)]), -loss.margins).fun
        end = minimize_l1(loss, A, alpha, positive)
        assert objective(loss, A, end.weights, alpha, "l1") == pytest.approx(expected, rel=1e-10)
        assert end.residual <= 1e-12


@pytest.mark.parametrize("positive", [False, True])
def test_the_hinge_with_next_to_no_l1_penalty(positive):
    """The best there is, and a residual that says how good it is."""
    loss, A = problem("hinge", *differences(n=60, d=30))
    end = minimize_l1(loss, A, 1e-12, positive)
    assert np.all(np.isfinite(end.weights))
    assert loss.value(A @ end.weights) <= loss.value(np.zeros(60))
    assert np.isfinite(end.residual)


def test_a_program_that_is_not_solved(monkeypatch):
    message = "The model has gone."
    result = SimpleNamespace(x=None, message=message)
    monkeypatch.setattr("highrelief._solvers.hinge.linprog", lambda *_, **__: result)
    loss, A = problem("hinge", *differences())
    with pytest.raises(RuntimeError, match=rf"alpha=0\.01; a larger alpha may help\. HiGHS: {message}"):
        minimize_l1(loss, A, 0.01)
