"""Smooth losses with an L2 penalty: Newton's method, in the weights or in the span of the samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .lasso import minimize_l1_quadratic
from .losses import SmoothLoss
from .optimality import Minimum, Vector, l2_violation, step_length
from .products import weighted_gram

#: Newton's method needs about ten steps.
_MOST_STEPS = 200
#: Residual at which nothing is left to win.
_ROUNDING = 1e-15
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
    """Minimise loss(Aw) + α‖w‖₂².

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
    for n_steps in range(_MOST_STEPS):
        now = residual(point)
        if now <= _ROUNDING or (now < _CLOSE and now > 0.5 * last):
            return point, n_steps
        last = now
        moved = step(point)
        if moved is None:
            return point, n_steps
        point = moved
    return point, _MOST_STEPS


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
    """Minimise every quadratic model over w ≥ 0 to the end, for where projected steps are cut short."""

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
    """Minimiser of the quadratic model at the scores u over the weights of these columns."""
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
    """Where w = Aᵀa minimises the quadratic model at the scores u, this a."""
    curvature = loss.curvature(u)
    system = curvature[:, np.newaxis] * K
    system[np.diag_indices(len(K))] += 2.0 * alpha
    return _solved(system, curvature * u - loss.gradient(u))
