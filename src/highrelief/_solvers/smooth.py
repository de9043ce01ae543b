"""Smooth losses with an L1 or L2 penalty, minimized by Newton's method.

With the L2 penalty, Newton's method runs in the weights or in the span of the samples. With the L1 penalty,
it runs on a working set of features: a pass over all columns finds the features at 0 that violate the
optimality conditions; quadratic models of the working set are minimized exactly, sign pattern by sign
pattern; then the next pass. With n samples, the working set has about n features at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .losses import (
    Minimum,
    SmoothLoss,
    Vector,
    equalize_duplicates,
    l1_violations,
    l2_violation,
    step_length,
    weighted_gram,
)

#: Rounding error of violations, relative to the largest derivative.
_ROUNDING = 1e-15
_MAX_ROUNDS = 500
_MAX_L1_STEPS = 100
#: Rounds without progress after which the rest is rounding.
_PATIENCE = 30
#: Penalty of a round relative to the largest derivative, until it has decreased to α.
_PENALTY_STEP = 0.3
#: Features that may enter in a round, at least.
_MIN_NEW_FEATURES = 32
#: Ridge on the diagonal of a model, relative to its largest entry: columns may be duplicates.
_RIDGE = 1e-13


def minimize_smooth_l1(
    loss: SmoothLoss,
    A: NDArray[np.float64],
    alpha: float,
    *,
    positive: bool = False,
    start: Vector | None = None,
    tol: float = 1e-10,
) -> Minimum:
    """Minimize loss(Aw) + α‖w‖₁, with violations up to ``tol``·α or rounding."""
    at_zero = loss.gradient(np.zeros(len(A))) @ A
    scale = max(alpha, float(np.abs(at_zero).max(initial=0.0)))
    # Violations must be small relative to the penalty, as far as rounding permits.
    tolerance = max(tol * alpha, _ROUNDING * scale)
    w = _initial_weights(loss, A, alpha, positive, start)
    n_steps = 0
    residuals, penalty = [np.inf], np.inf
    for _ in range(_MAX_ROUNDS):
        active = np.flatnonzero(w)
        derivative = loss.gradient(A[:, active] @ w[active]) @ A if active.size else at_zero
        violations = l1_violations(derivative, w, alpha, positive)
        residuals.append(float(violations.max(initial=0.0)) / scale)
        if residuals[-1] * scale <= tolerance or min(residuals[:-_PATIENCE], default=np.inf) <= min(
            residuals[-_PATIENCE:]
        ):
            break
        # The penalty decreases in steps, so that fewer features enter that would have to leave again.
        steepest = float((-derivative if positive else np.abs(derivative)).max())
        penalty = max(alpha, min(penalty, _PENALTY_STEP * steepest))
        violations = l1_violations(derivative, w, penalty, positive)
        working = _working_set(active, violations, tolerance)
        round_tolerance = max(0.5 * tolerance, 0.05 * float(violations.max()))
        w[working], round_steps = _minimize_restricted(
            loss, A[:, working], penalty, positive, w[working], round_tolerance
        )
        n_steps += round_steps
    w = equalize_duplicates(A, w, derivative, alpha, tol * scale)
    return Minimum(w, residuals[-1], n_steps)


def _initial_weights(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, positive: bool, start: Vector | None
) -> Vector:
    """Return the start, or 0 if it has a smaller objective, which bounds the distance to the minimum."""
    zero = np.zeros(A.shape[1])
    if start is None or not start.any():
        return zero
    w = np.maximum(start, 0.0) if positive else start.astype(np.float64)
    active = np.flatnonzero(w)
    value = loss.value(A[:, active] @ w[active]) + alpha * float(np.abs(w).sum())
    return w if value < loss.value(np.zeros(len(A))) else zero


def _working_set(active: NDArray[np.int64], violations: Vector, tolerance: float) -> NDArray[np.int64]:
    """Return the nonzero features, and the features at 0 with the largest violations."""
    violating = np.flatnonzero(violations > tolerance)
    max_size = active.size + max(_MIN_NEW_FEATURES, active.size)
    if violating.size > max_size:
        violating = violating[np.argpartition(-violations[violating], max_size)[:max_size]]
    return np.union1d(active, violating)


def _minimize_restricted(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, positive: bool, w: Vector, tolerance: float
) -> tuple[Vector, int]:
    """Minimize over the weights of these columns, to a violation of ``tolerance``; return w and the steps."""
    last = np.inf
    for n_steps in range(_MAX_L1_STEPS):
        u = A @ w
        derivative = A.T @ loss.gradient(u)
        violation = float(l1_violations(derivative, w, alpha, positive).max())
        if violation <= tolerance or (n_steps > 20 and violation > 0.9 * last):
            return w, n_steps
        last = violation
        hessian = weighted_gram(A, loss.curvature(u))
        v = minimize_l1_quadratic(hessian, derivative, w, alpha, positive, 0.1 * tolerance)
        t = _line_search(v, loss, A, alpha, w, derivative)
        if t == 0.0:
            return w, n_steps
        # Without arithmetic, so that zeros of v stay exact.
        w = v if t == 1.0 else w + t * (v - w)
    return w, _MAX_L1_STEPS


def _line_search(
    v: Vector, loss: SmoothLoss, A: NDArray[np.float64], alpha: float, w: Vector, derivative: Vector
) -> float:
    """Return the step length from w towards v."""
    move = v - w
    u, along = A @ w, A @ move

    def objective(t: float) -> float:
        return loss.value(u + t * along) + alpha * float(np.abs(w + t * move).sum())

    slope = float(derivative @ move) + alpha * float(np.abs(v).sum() - np.abs(w).sum())
    return step_length(objective, min(slope, 0.0))


def minimize_l1_quadratic(
    Q: NDArray[np.float64], derivative: Vector, w: Vector, alpha: float, positive: bool, tolerance: float
) -> Vector:
    """Minimize derivative·(v − w) + ½(v − w)ᵀQ(v − w) + α‖v‖₁ over v, starting at w.

    Stops at violations of the optimality conditions up to ``tolerance``. For fixed signs, the minimum solves
    linear equations. On the way there, the first weight that becomes 0 stays at 0; at the minimum, the weight
    at 0 with the largest violation enters with the sign of descent. Every step decreases the objective, so no
    sign pattern repeats.
    """
    v, slope = w.copy(), derivative.copy()
    signs = np.sign(v)
    diagonal = np.diagonal(Q)
    ridge = _RIDGE * float(diagonal.max())
    if ridge == 0.0:
        return v
    for _ in range(10 * v.size + 10):
        members = np.flatnonzero(signs)
        if members.size:
            move = _newton_direction(
                Q[np.ix_(members, members)], slope[members] + alpha * signs[members], ridge
            )
            end = v[members] + move
            crossing = np.flatnonzero(end * signs[members] <= 0.0)
            length = 1.0
            if crossing.size:
                lengths = -v[members[crossing]] / move[crossing]
                first = int(np.argmin(lengths))
                length = float(lengths[first])
                end = v[members] + length * move
                end[crossing[first]] = 0.0
                signs[members[crossing[first]]] = 0.0
            v[members] = end
            slope += Q[:, members] @ (length * move)
            if crossing.size:
                continue
        violation = np.where(signs == 0.0, (-slope if positive else np.abs(slope)) - alpha, -np.inf)
        entering = int(np.argmax(violation))
        if violation[entering] <= tolerance:
            break
        signs[entering] = -np.sign(slope[entering])
    return v


def _newton_direction(Q: NDArray[np.float64], derivative: Vector, ridge: float) -> Vector:
    """Return the step to the zero of the derivative; the ridge grows until Q is positive definite."""
    while True:
        system = Q.copy()
        system[np.diag_indices(len(Q))] += ridge
        _, step, failed = lapack.dposv(system, -derivative)
        if not failed:
            return step
        ridge *= 10.0


#: Most Newton steps; about ten are usual.
_MAX_L2_STEPS = 200
#: Residual below which a step that does not halve it is rounding.
_CLOSE = 1e-10


def minimize_smooth_l2(
    loss: SmoothLoss,
    A: NDArray[np.float64],
    alpha: float,
    *,
    positive: bool = False,
    start: Vector | None = None,
) -> Minimum:
    """Minimize loss(Aw) + α‖w‖₂² over w, or over w ≥ 0.

    ``start``: weights near the minimum; ignored if there are more columns than rows, unless ``positive``.
    """
    first = loss.gradient(np.zeros(len(A)))
    scale = float(np.abs(A.T @ first).max(initial=0.0))
    if _is_rounding(scale, A, first):
        return Minimum(np.zeros(A.shape[1]), 0.0, 0)
    if positive:
        w, n_steps = _projected_newton(loss, A, alpha, scale, start)
        if _violation(loss, A, alpha, w) > _CLOSE * scale:
            w, more_steps = _exact_model_newton(loss, A, alpha, scale, w)
            n_steps += more_steps
    elif A.shape[1] <= len(A):
        w, n_steps = _newton_in_weights(loss, A, alpha, scale, start)
    else:
        a, n_steps = _newton_in_span(loss, A @ A.T, alpha)
        w = A.T @ a
    return Minimum(w, _violation(loss, A, alpha, w, positive=positive) / scale, n_steps)


def _is_rounding(scale: float, A: NDArray[np.float64], gradient: Vector) -> bool:
    """Whether the largest component of Aᵀ·gradient is 0 up to the rounding of its terms."""
    sizes = np.abs(gradient)
    # The cheap bound avoids a pass over A in most cases.
    return scale <= 1e-12 * float(sizes.sum()) and scale <= 1e-15 * float((sizes @ abs(A)).max(initial=0.0))


def _violation(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, w: Vector, *, positive: bool = True
) -> float:
    return l2_violation(_derivative(loss, A, alpha, w), w, positive)


def _derivative(loss: SmoothLoss, A: NDArray[np.float64], alpha: float, w: Vector) -> Vector:
    """Return the gradient of loss(Aw) + α‖w‖₂²."""
    return A.T @ loss.gradient(A @ w) + 2.0 * alpha * w


def _newton(
    start: Vector, residual: Callable[[Vector], float], step: Callable[[Vector], Vector | None]
) -> tuple[Vector, int]:
    """Repeat a step until the residual is rounding; return the last point and the number of steps."""
    point, last = start, np.inf
    for n_steps in range(_MAX_L2_STEPS):
        now = residual(point)
        if now <= _ROUNDING or (now < _CLOSE and now > 0.5 * last):
            return point, n_steps
        last = now
        moved = step(point)
        if moved is None:
            return point, n_steps
        point = moved
    return point, _MAX_L2_STEPS


def _newton_in_weights(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, scale: float, start: Vector | None
) -> tuple[Vector, int]:
    derivative = partial(_derivative, loss, A, alpha)

    def step(w: Vector) -> Vector | None:
        move = _model_minimizer(loss, A, alpha, A @ w) - w

        def objective(t: float) -> float:
            moved = w + t * move
            return loss.value(A @ moved) + alpha * float(moved @ moved)

        t = step_length(objective, float(derivative(w) @ move))
        return w + t * move if t > 0.0 else None

    first = np.zeros(A.shape[1]) if start is None else start
    return _newton(first, lambda w: float(np.abs(derivative(w)).max()) / scale, step)


def _newton_in_span(loss: SmoothLoss, K: NDArray[np.float64], alpha: float) -> tuple[Vector, int]:
    """Solve ∇loss(Ka) + 2αa = 0 for a, so that w = Aᵀa is the minimum; K = AAᵀ.

    There are as many unknowns as samples. Returns a and the number of steps.
    """
    zero = np.zeros(len(K))

    def residual(a: Vector) -> Vector:
        return loss.gradient(K @ a) + 2.0 * alpha * a

    def span_norm(b: Vector) -> float:
        return math.sqrt(max(float(b @ K @ b), 0.0))  # ‖Aᵀb‖₂

    def step(a: Vector) -> Vector | None:
        u = K @ a
        move = _span_model_minimizer(loss, K, alpha, u) - a
        along = K @ move

        def objective(t: float) -> float:
            moved = u + t * along
            return loss.value(moved) + alpha * float((a + t * move) @ moved)

        t = step_length(objective, float(residual(a) @ along))
        return a + t * move if t > 0.0 else None

    scale = span_norm(residual(zero))
    if scale == 0.0:
        return zero, 0
    return _newton(zero, lambda a: span_norm(residual(a)) / scale, step)


def _projected_newton(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, scale: float, start: Vector | None
) -> tuple[Vector, int]:
    """Minimize over w ≥ 0 by projected Newton steps in the free weights (Bertsekas 1982)."""
    derivative = partial(_derivative, loss, A, alpha)

    def step(w: Vector) -> Vector | None:
        slopes = derivative(w)
        # Weights near 0 with a positive slope are fixed too; otherwise they would cut the step short.
        threshold = min(l2_violation(slopes, w, positive=True) / (2.0 * alpha), 1e-3 * float(w.max()))
        free = (slopes < 0.0) | (w > threshold)
        target = np.zeros_like(w)
        target[free] = _model_minimizer(loss, A[:, free], alpha, A @ w)

        def moved(t: float) -> Vector:
            return np.maximum(w + t * (target - w), 0.0)

        def objective(t: float) -> float:
            to = moved(t)
            return loss.value(A @ to) + alpha * float(to @ to)

        t = step_length(objective, min(float(slopes @ (moved(1.0) - w)), 0.0))
        return moved(t) if t > 0.0 else None

    first = np.zeros(A.shape[1]) if start is None else np.maximum(start, 0.0)
    return _newton(first, lambda w: l2_violation(derivative(w), w, positive=True) / scale, step)


def _exact_model_newton(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, scale: float, start: Vector
) -> tuple[Vector, int]:
    """Minimize each quadratic model exactly over w ≥ 0, if projected steps stall."""

    def step(w: Vector) -> Vector | None:
        u = A @ w
        slopes = A.T @ loss.gradient(u) + 2.0 * alpha * w
        working = np.flatnonzero((w > 0.0) | (slopes < 0.0))
        hessian = weighted_gram(A[:, working], loss.curvature(u))
        hessian[np.diag_indices(working.size)] += 2.0 * alpha
        move = np.zeros_like(w)
        end = minimize_l1_quadratic(hessian, slopes[working], w[working], 0.0, True, _ROUNDING * scale)
        move[working] = end - w[working]

        def objective(t: float) -> float:
            moved = w + t * move
            return loss.value(A @ moved) + alpha * float(moved @ moved)

        t = step_length(objective, min(float(slopes @ move), 0.0))
        return np.maximum(w + t * move, 0.0) if t > 0.0 else None

    return _newton(start, lambda w: _violation(loss, A, alpha, w) / scale, step)


def _model_minimizer(loss: SmoothLoss, A: NDArray[np.float64], alpha: float, u: Vector) -> Vector:
    """Return the minimizer of the quadratic model at the scores u over the weights of these columns."""
    n_rows, n_columns = A.shape
    curvature = loss.curvature(u)
    target_scores = curvature * u - loss.gradient(u)
    if n_columns > n_rows:
        system = curvature[:, np.newaxis] * (A @ A.T)
        system[np.diag_indices(n_rows)] += 2.0 * alpha
        return A.T @ _solve(system, target_scores)
    hessian = weighted_gram(A, curvature)
    hessian[np.diag_indices(n_columns)] += 2.0 * alpha
    return _solve(hessian, A.T @ target_scores)


def _solve(system: NDArray[np.float64], right: Vector) -> Vector:
    try:
        solution = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:  # the penalty is below rounding
        solution = np.linalg.lstsq(system, right, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)


def _span_model_minimizer(loss: SmoothLoss, K: NDArray[np.float64], alpha: float, u: Vector) -> Vector:
    """Return a such that w = Aᵀa minimizes the quadratic model at the scores u."""
    curvature = loss.curvature(u)
    system = curvature[:, np.newaxis] * K
    system[np.diag_indices(len(K))] += 2.0 * alpha
    return _solve(system, curvature * u - loss.gradient(u))
