"""Smooth losses with an L2 penalty: Newton's method, in the weights or in the span of the samples."""

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
    l1_violations,
    l2_violation,
    shared_among_twins,
    step_length,
    weighted_gram,
)

# Smooth losses with an L1 penalty: Newton's method on the few features that are not 0.
#
# A pass over all columns says which features at 0 should leave it. Newton's method works on those and on
# the ones that are not 0; its quadratic models are minimized exactly, sign pattern by sign pattern. Then
# the next pass. With n samples at most n features or so are ever worked on.


#: Violations, relative to the largest derivative, that are rounding.
_ROUNDING = 1e-15
_MOST_ROUNDS = 500
_MOST_L1_STEPS = 100
#: Rounds without progress after which rounding is all that is left.
_PATIENCE = 30
#: Share of the largest derivative that the penalty of a round is, until it is the one that was asked for.
_PENALTY_STEP = 0.3
#: Features that may join in a round, at least.
_NEWCOMERS = 32
#: What is added to the diagonal of a model, relative to its largest entry: columns may be copies of others.
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
    """Minimize loss(Aw) + α‖w‖₁ to violations of ``tol``·α, or of rounding."""
    at_zero = loss.gradient(np.zeros(len(A))) @ A
    scale = max(alpha, float(np.abs(at_zero).max(initial=0.0)))
    # A small penalty decides only where violations are smaller still, as far as rounding lets them.
    enough = max(tol * alpha, _ROUNDING * scale)
    w = _first_weights(loss, A, alpha, positive, start)
    n_steps = 0
    residuals, stage = [np.inf], np.inf
    for _ in range(_MOST_ROUNDS):
        active = np.flatnonzero(w)
        derivative = loss.gradient(A[:, active] @ w[active]) @ A if active.size else at_zero
        violations = l1_violations(derivative, w, alpha, positive)
        residuals.append(float(violations.max(initial=0.0)) / scale)
        if residuals[-1] * scale <= enough or min(residuals[:-_PATIENCE], default=np.inf) <= min(
            residuals[-_PATIENCE:]
        ):
            break
        # The penalty falls step by step: fewer features join that would have to leave again.
        pull = float((-derivative if positive else np.abs(derivative)).max())
        stage = max(alpha, min(stage, _PENALTY_STEP * pull))
        violations = l1_violations(derivative, w, stage, positive)
        working = _working_set(active, violations, enough)
        aim = max(0.5 * enough, 0.05 * float(violations.max()))
        w[working], more = _restricted(loss, A[:, working], stage, positive, w[working], aim)
        n_steps += more
    w = shared_among_twins(A, w, derivative, alpha, tol * scale)
    return Minimum(w, residuals[-1], n_steps)


def _first_weights(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, positive: bool, start: Vector | None
) -> Vector:
    """The start, unless 0 is better: then no minimum is farther away than the penalty allows."""
    zero = np.zeros(A.shape[1])
    if start is None or not start.any():
        return zero
    w = np.maximum(start, 0.0) if positive else start.astype(np.float64)
    active = np.flatnonzero(w)
    value = loss.value(A[:, active] @ w[active]) + alpha * float(np.abs(w).sum())
    return w if value < loss.value(np.zeros(len(A))) else zero


def _working_set(active: NDArray[np.int64], violations: Vector, tolerance: float) -> NDArray[np.int64]:
    """Features that are not 0, and those at 0 that ask most to leave it."""
    wanted = np.flatnonzero(violations > tolerance)
    most = active.size + max(_NEWCOMERS, active.size)
    if wanted.size > most:
        wanted = wanted[np.argpartition(-violations[wanted], most)[:most]]
    return np.union1d(active, wanted)


def _restricted(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, positive: bool, w: Vector, aim: float
) -> tuple[Vector, int]:
    """Minimize over the weights of these columns, to a violation of ``aim``."""
    last = np.inf
    for n_steps in range(_MOST_L1_STEPS):
        u = A @ w
        derivative = A.T @ loss.gradient(u)
        violation = float(l1_violations(derivative, w, alpha, positive).max())
        if violation <= aim or (n_steps > 20 and violation > 0.9 * last):
            return w, n_steps
        last = violation
        hessian = weighted_gram(A, loss.curvature(u))
        v = minimize_l1_quadratic(hessian, derivative, w, alpha, positive, 0.1 * aim)
        t = _length_towards(v, loss, A, alpha, w, derivative)
        if t == 0.0:
            return w, n_steps
        # The end itself, so that what is 0 there is 0 here.
        w = v if t == 1.0 else w + t * (v - w)
    return w, _MOST_L1_STEPS


def _length_towards(
    v: Vector, loss: SmoothLoss, A: NDArray[np.float64], alpha: float, w: Vector, derivative: Vector
) -> float:
    """How far to go from w towards v."""
    move = v - w
    u, along = A @ w, A @ move

    def objective(t: float) -> float:
        return loss.value(u + t * along) + alpha * float(np.abs(w + t * move).sum())

    slope = float(derivative @ move) + alpha * float(np.abs(v).sum() - np.abs(w).sum())
    return step_length(objective, min(slope, 0.0))


def minimize_l1_quadratic(
    Q: NDArray[np.float64], derivative: Vector, w: Vector, alpha: float, positive: bool, enough: float
) -> Vector:
    """Minimize derivative·(v − w) + ½(v − w)ᵀQ(v − w) + α‖v‖₁ over v, from w on.

    A violation of the conditions of a minimum by ``enough`` does.
    For given signs the minimum solves linear equations. On the way there the first weight to reach 0 stays
    there; at the minimum the weight at 0 whose derivative asks most to leave it takes the sign that it asks
    for. Every such step lowers the value, so that no pattern of signs comes twice.
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
            move = _solution(Q[np.ix_(members, members)], slope[members] + alpha * signs[members], ridge)
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
        pull = np.where(signs == 0.0, (-slope if positive else np.abs(slope)) - alpha, -np.inf)
        newcomer = int(np.argmax(pull))
        if pull[newcomer] <= enough:
            break
        signs[newcomer] = -np.sign(slope[newcomer])
    return v


def _solution(Q: NDArray[np.float64], derivative: Vector, ridge: float) -> Vector:
    """Step to where the derivative is 0; a long one where Q is singular."""
    while True:
        system = Q.copy()
        system[np.diag_indices(len(Q))] += ridge
        _, step, failed = lapack.dposv(system, -derivative)
        if not failed:
            return step
        ridge *= 10.0


#: Newton's method needs about ten steps.
_MOST_L2_STEPS = 200
#: Residual from which on a step that does not halve it is rounding.
_CLOSE = 1e-10


def minimize_smooth_l2(
    loss: SmoothLoss,
    A: NDArray[np.float64],
    alpha: float,
    *,
    positive: bool = False,
    start: Vector | None = None,
) -> Minimum:
    """Minimize loss(Aw) + α‖w‖₂².

    ``start``: weights near the minimum; where there are more columns than rows they are left aside, unless
    w ≥ 0 is asked for.
    """
    first = loss.gradient(np.zeros(len(A)))
    scale = float(np.abs(A.T @ first).max(initial=0.0))
    if _is_rounding(scale, A, first):
        return Minimum(np.zeros(A.shape[1]), 0.0, 0)
    if positive:
        w, n_steps = _projected(loss, A, alpha, scale, start)
        if _violation(loss, A, alpha, w) > _CLOSE * scale:
            w, more = _by_exact_models(loss, A, alpha, scale, w)
            n_steps += more
    elif A.shape[1] <= len(A):
        w, n_steps = _in_weights(loss, A, alpha, scale, start)
    else:
        a, n_steps = _in_span(loss, A @ A.T, alpha)
        w = A.T @ a
    return Minimum(w, _violation(loss, A, alpha, w, positive=positive) / scale, n_steps)


def _is_rounding(scale: float, A: NDArray[np.float64], gradient: Vector) -> bool:
    """Whether the largest component of Aᵀ·gradient is 0 but for the rounding of its terms."""
    sizes = np.abs(gradient)
    # A look at all of A only where there is reason for it.
    return scale <= 1e-12 * float(sizes.sum()) and scale <= 1e-15 * float((sizes @ abs(A)).max(initial=0.0))


def _violation(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, w: Vector, *, positive: bool = True
) -> float:
    return l2_violation(_derivative(loss, A, alpha, w), w, positive)


def _derivative(loss: SmoothLoss, A: NDArray[np.float64], alpha: float, w: Vector) -> Vector:
    """Of loss(Aw) + α‖w‖₂² by every weight."""
    return A.T @ loss.gradient(A @ w) + 2.0 * alpha * w


def _newton(
    start: Vector, residual: Callable[[Vector], float], step: Callable[[Vector], Vector | None]
) -> tuple[Vector, int]:
    """Repeat a step until the residual is rounding; the last point, and the number of steps."""
    point, last = start, np.inf
    for n_steps in range(_MOST_L2_STEPS):
        now = residual(point)
        if now <= _ROUNDING or (now < _CLOSE and now > 0.5 * last):
            return point, n_steps
        last = now
        moved = step(point)
        if moved is None:
            return point, n_steps
        point = moved
    return point, _MOST_L2_STEPS


def _in_weights(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, scale: float, start: Vector | None
) -> tuple[Vector, int]:
    derivative = partial(_derivative, loss, A, alpha)

    def step(w: Vector) -> Vector | None:
        move = _target(loss, A, alpha, A @ w) - w

        def objective(t: float) -> float:
            moved = w + t * move
            return loss.value(A @ moved) + alpha * float(moved @ moved)

        t = step_length(objective, float(derivative(w) @ move))
        return w + t * move if t > 0.0 else None

    first = np.zeros(A.shape[1]) if start is None else start
    return _newton(first, lambda w: float(np.abs(derivative(w)).max()) / scale, step)


def _in_span(loss: SmoothLoss, K: NDArray[np.float64], alpha: float) -> tuple[Vector, int]:
    """Find the a, ∇loss(Ka) + 2αa = 0, for which w = Aᵀa is the minimum; K = AAᵀ.

    There are as many unknowns as samples, however many features. Returns a and the number of steps.
    """
    zero = np.zeros(len(K))

    def rest(a: Vector) -> Vector:
        return loss.gradient(K @ a) + 2.0 * alpha * a

    def length(b: Vector) -> float:
        return math.sqrt(max(float(b @ K @ b), 0.0))  # ‖Aᵀb‖₂

    def step(a: Vector) -> Vector | None:
        u = K @ a
        move = _span_target(loss, K, alpha, u) - a
        along = K @ move

        def objective(t: float) -> float:
            moved = u + t * along
            return loss.value(moved) + alpha * float((a + t * move) @ moved)

        t = step_length(objective, float(rest(a) @ along))
        return a + t * move if t > 0.0 else None

    scale = length(rest(zero))
    if scale == 0.0:
        return zero, 0
    return _newton(zero, lambda a: length(rest(a)) / scale, step)


def _projected(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, scale: float, start: Vector | None
) -> tuple[Vector, int]:
    """Hold weights at 0 that would be negative; Newton's method in the others (Bertsekas 1982)."""
    derivative = partial(_derivative, loss, A, alpha)

    def step(w: Vector) -> Vector | None:
        slopes = derivative(w)
        # What is about to reach 0 is held too: the step would be cut short by it.
        near = min(l2_violation(slopes, w, positive=True) / (2.0 * alpha), 1e-3 * float(w.max()))
        free = (slopes < 0.0) | (w > near)
        target = np.zeros_like(w)
        target[free] = _target(loss, A[:, free], alpha, A @ w)

        def moved(t: float) -> Vector:
            return np.maximum(w + t * (target - w), 0.0)

        def objective(t: float) -> float:
            to = moved(t)
            return loss.value(A @ to) + alpha * float(to @ to)

        t = step_length(objective, min(float(slopes @ (moved(1.0) - w)), 0.0))
        return moved(t) if t > 0.0 else None

    first = np.zeros(A.shape[1]) if start is None else np.maximum(start, 0.0)
    return _newton(first, lambda w: l2_violation(derivative(w), w, positive=True) / scale, step)


def _by_exact_models(
    loss: SmoothLoss, A: NDArray[np.float64], alpha: float, scale: float, start: Vector
) -> tuple[Vector, int]:
    """Minimize every quadratic model over w ≥ 0 to the end, for where projected steps are cut short."""

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


def _target(loss: SmoothLoss, A: NDArray[np.float64], alpha: float, u: Vector) -> Vector:
    """Minimizer of the quadratic model at the scores u over the weights of these columns."""
    n_rows, n_columns = A.shape
    curvature = loss.curvature(u)
    pull = curvature * u - loss.gradient(u)
    if n_columns > n_rows:
        system = curvature[:, np.newaxis] * (A @ A.T)
        system[np.diag_indices(n_rows)] += 2.0 * alpha
        return A.T @ _solved(system, pull)
    hessian = weighted_gram(A, curvature)
    hessian[np.diag_indices(n_columns)] += 2.0 * alpha
    return _solved(hessian, A.T @ pull)


def _solved(system: NDArray[np.float64], right: Vector) -> Vector:
    try:
        solution = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:  # a penalty below the rounding of the rest
        solution = np.linalg.lstsq(system, right, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)


def _span_target(loss: SmoothLoss, K: NDArray[np.float64], alpha: float, u: Vector) -> Vector:
    """Where w = Aᵀa minimizes the quadratic model at the scores u, this a."""
    curvature = loss.curvature(u)
    system = curvature[:, np.newaxis] * K
    system[np.diag_indices(len(K))] += 2.0 * alpha
    return _solved(system, curvature * u - loss.gradient(u))
