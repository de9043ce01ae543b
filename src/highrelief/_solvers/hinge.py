"""The hinge loss with an L1 or L2 penalty, minimized through its dual.

With the L2 penalty, w = Aᵀa/2α for the a in 0 ≤ a ≤ c that maximizes aᵀΔ − ‖Aᵀa‖²/4α; for w ≥ 0, with (Aᵀa)₊
in place of Aᵀa. Smoothed hinge losses identify roughly which samples are at the kink; Newton's method on the
dual then finds a exactly. With the L1 penalty, the dual is a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import linprog

from .losses import HingeLoss, Minimum, Vector, equalize_duplicates, step_length
from .smooth import minimize_smooth_l2

# Box-constrained quadratic programs, the form of the dual.

#: Most projected Newton steps before the active-set method.
_MAX_BOX_STEPS = 50
#: Rounding error of slopes, relative to the largest slope at 0.
_ROUNDING = 1e-15


def minimize_in_box(Q: NDArray[np.float64], b: Vector, start: Vector, top: Vector) -> Vector:
    """Minimize ½xᵀQx − bᵀx over 0 ≤ x ≤ top, starting in the box; Q is positive definite."""
    return _active_set(Q, b, _projected_newton(Q, b, start, top), top)


def _projected_newton(Q: NDArray[np.float64], b: Vector, x: Vector, top: Vector) -> Vector:
    """Take Newton steps clipped to the box, which activate many bounds at once."""
    tolerance = _ROUNDING * float(np.abs(b).max())
    for _ in range(_MAX_BOX_STEPS):
        slope = Q @ x - b
        free = ~(((x <= 0.0) & (slope >= 0.0)) | ((x >= top) & (slope <= 0.0)))
        if not np.abs(slope[free]).max(initial=0.0) > tolerance:
            return x
        target = np.clip(_free_minimum(Q, b, x, free), 0.0, top)
        move = target - x
        change = float(slope @ move)
        if not change < 0.0:
            return x
        # Exact line search towards the clipped target.
        t = min(1.0, -change / float(move @ Q @ move))
        x = target if t == 1.0 else x + t * move
    return x


def _active_set(Q: NDArray[np.float64], b: Vector, x: Vector, top: Vector) -> Vector:
    """Minimize over the free variables, then release the bound with the largest violation; repeat."""
    x = x.copy()
    tolerance = _ROUNDING * float(np.abs(b).max())
    free = (x > 0.0) & (x < top)
    for _ in range(10 * x.size + 10):
        target = _free_minimum(Q, b, x, free)
        bound = np.where(target < x, 0.0, top)
        outside = free & ((target < 0.0) | (target > top))
        if outside.any():
            lengths = (bound[outside] - x[outside]) / (target[outside] - x[outside])
            t = float(lengths.min())
            x[free] += t * (target[free] - x[free])
            blocking = np.flatnonzero(outside)[lengths == t]
            x[blocking] = bound[blocking]
            free[blocking] = False
            continue
        x = target
        slope = Q @ x - b
        violations = np.where(x <= 0.0, -slope, slope)
        violations[free | (top == 0.0)] = 0.0
        worst = int(violations.argmax())
        if violations[worst] <= tolerance:
            return x
        free[worst] = True
    return x


def _free_minimum(Q: NDArray[np.float64], b: Vector, x: Vector, free: NDArray[np.bool_]) -> Vector:
    """Return the unconstrained minimum over the free variables."""
    target = x.copy()
    if free.any():
        rest = b[free] - Q[np.ix_(free, ~free)] @ x[~free]
        system = Q[np.ix_(free, free)]
        _, solution, failed = lapack.dposv(system, rest)
        target[free] = np.linalg.lstsq(system, rest, rcond=None)[0] if failed else solution
    return target


#: Relative duality gap at which a dual point is exact up to rounding.
_EXACT = 1e-13
#: Widths of the smoothed hinge losses, relative to the largest margin.
_WIDTHS = [1.0, 0.1, 0.01, 1e-3]
#: Most Newton steps on the dual; about five are usual.
_MAX_STEPS = 200
#: Steps without halving the gap after which the rest is rounding.
_PATIENCE = 10
#: Ridge on the diagonal of a model, relative to its largest entry: samples may be duplicates.
_RIDGE = 1e-12
#: Tolerance of HiGHS, the smallest that it accepts.
_LP_TOLERANCE = 1e-10
#: Programs whose largest entry is above this, or below its inverse, are rescaled.
_LARGEST_ENTRY = 1e6
#: Columns that may enter a program at a time, at least.
_MIN_NEW_COLUMNS = 64


def minimize_hinge_l2(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, *, positive: bool = False
) -> Minimum:
    """Minimize Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₂² over w, or over w ≥ 0."""
    scale = loss.value(np.zeros(len(A)))
    if scale == 0.0:
        return Minimum(np.zeros(A.shape[1]), 0.0, 0)
    K = A @ A.T if A.shape[1] > len(A) and not positive else None
    dual = _Dual(loss, A, alpha, positive, K)
    a, n_steps = _initial_dual_point(dual)
    best, least, n_stalled = a, np.inf, 0
    for _ in range(_MAX_STEPS):
        gap = dual.gap(a)
        n_stalled = 0 if gap < 0.5 * least else n_stalled + 1
        if gap < least:
            best, least = a, gap
        if least <= _EXACT * scale or n_stalled == _PATIENCE:
            break
        moved = dual.newton_step(a)
        n_steps += 1
        if moved is None:
            break
        a = moved
    return Minimum(dual.weights(best), max(least, 0.0) / scale, n_steps)


@dataclass(frozen=True)
class _Dual:
    """The dual objective ‖Aᵀa‖²/4α − aᵀΔ, minimized over 0 ≤ a ≤ c; with (Aᵀa)₊ for w ≥ 0."""

    loss: HingeLoss
    A: NDArray[np.float64]
    alpha: float
    positive: bool
    #: AAᵀ, if it is smaller than A and uses all columns.
    K: NDArray[np.float64] | None

    def weights(self, a: Vector) -> Vector:
        """Return the weights w of a dual point."""
        w = self.A.T @ a / (2.0 * self.alpha)
        return np.maximum(w, 0.0) if self.positive else w

    def value(self, a: Vector) -> float:
        w = self.weights(a)
        return self.alpha * float(w @ w) - float(a @ self.loss.margins)

    def gap(self, a: Vector) -> float:
        """Return the duality gap: the objective at w(a) minus its lower bound, the dual value at a."""
        w = self.weights(a)
        return self.loss.value(self.A @ w) + self.alpha * float(w @ w) + self.value(a)

    def newton_step(self, a: Vector) -> Vector | None:
        """Minimize the quadratic model over samples at the kink or violating their bound; None if stalled."""
        w, top = self.weights(a), self.loss.factors
        slope = self.A @ w - self.loss.margins
        rows = np.flatnonzero(((a > 0.0) | (slope < 0.0)) & ((a < top) | (slope > 0.0)))
        if rows.size == 0:
            return None
        model = self._products(rows, w) / (2.0 * self.alpha)
        # Without active columns, the model of a sample is linear.
        steepest = float(np.abs(slope[rows]).max() / top[rows].max())
        model[np.diag_indices(rows.size)] += _RIDGE * max(float(np.diagonal(model).max()), steepest)
        move = np.zeros_like(a)
        end = minimize_in_box(model, model @ a[rows] - slope[rows], a[rows], top[rows])
        move[rows] = end - a[rows]
        t = step_length(lambda t: self.value(a + t * move), min(float(slope @ move), 0.0))
        if t == 0.0 or not move.any():
            return None
        moved = a + t * move
        if t == 1.0:
            moved[rows] = end  # exactly at the bounds
        return moved

    def _products(self, rows: NDArray[np.int64], w: Vector) -> NDArray[np.float64]:
        if self.K is not None:
            return self.K[np.ix_(rows, rows)]
        used = self.A[np.ix_(rows, np.flatnonzero(w))] if self.positive else self.A[rows]
        return used @ used.T


def _initial_dual_point(dual: _Dual) -> tuple[Vector, int]:
    """Return the dual point of smoothed hinge losses of decreasing width, and the number of steps."""
    loss, A, n_steps = dual.loss, dual.A, 0
    if A.shape[1] > len(A):
        return 0.5 * loss.factors, 0  # a sufficient start for Newton's method on the dual
    w = np.zeros(A.shape[1])
    for width in float(np.abs(loss.margins).max()) * np.array(_WIDTHS):
        smooth = loss.smoothed(width)
        end = minimize_smooth_l2(smooth, A, dual.alpha, positive=dual.positive, start=w)
        w = end.weights
        n_steps += end.n_steps
    return -smooth.gradient(A @ w), n_steps


def minimize_hinge_l1(
    loss: HingeLoss,
    A: NDArray[np.float64],
    alpha: float,
    *,
    positive: bool = False,
    start: Vector | None = None,
) -> Minimum:
    """Minimize Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₁ over w, or over w ≥ 0."""
    w = np.zeros(A.shape[1])
    scale = loss.value(np.zeros(len(A)))
    if scale == 0.0:
        return Minimum(w, 0.0, 0)
    a = np.where(loss.margins > 0.0, loss.factors, 0.0)  # the dual point of w = 0
    columns = np.flatnonzero(w if start is None else start)
    for n_steps in range(A.shape[1] + 2):
        reward = a @ A
        excess = (reward if positive else np.abs(reward)) - alpha
        violating = np.flatnonzero(excess > _LP_TOLERANCE * max(alpha, np.abs(reward).max()))
        violating = np.setdiff1d(violating, columns)
        if violating.size == 0 and n_steps > 0:
            break
        if violating.size > 0 and A.shape[1] <= len(A):
            columns = np.arange(A.shape[1])  # one program of all columns is faster than several of some
        else:
            order = np.argsort(-excess[violating], kind="stable")[: max(_MIN_NEW_COLUMNS, columns.size)]
            columns = np.union1d(columns, violating[order])
        if columns.size == 0:
            break
        part, a = _solve_dual_program(loss, A[:, columns], alpha, positive)
        w = np.zeros(A.shape[1])
        w[columns] = part
    w = equalize_duplicates(A, w, -reward, alpha, _LP_TOLERANCE * max(alpha, float(np.abs(reward).max())))
    value = loss.value(A @ w) + alpha * float(np.abs(w).sum())
    return Minimum(w, abs(value - float(a @ loss.margins)) / scale, n_steps)


def _solve_dual_program(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool
) -> tuple[Vector, Vector]:
    """Solve max aᵀΔ, 0 ≤ a ≤ c, |Aᵀa| ≤ α (or Aᵀa ≤ α); return its multipliers w, and a.

    The dual has one variable per sample; the primal min cᵀξ + α‖w‖₁ has one per sample plus two per column.
    """
    A = np.asarray(A)
    # HiGHS treats very small entries as 0, and very large limits as infinite.
    rows, margins = _scale_exponent(A), _scale_exponent(loss.margins)
    if rows or margins:
        rescaled = HingeLoss(loss.factors, np.ldexp(loss.margins, -margins))
        w, a = _solve_dual_program(rescaled, np.ldexp(A, -rows), float(np.ldexp(alpha, -rows)), positive)
        return np.ldexp(w, margins - rows), a
    unit = float(loss.factors.max())  # bounds of about 1, to which tolerances refer
    left = A.T if positive else np.vstack([A.T, -A.T])
    bounds = np.column_stack([np.zeros(len(A)), loss.factors / unit])
    limits = np.full(len(left), alpha / unit)
    options = {"primal_feasibility_tolerance": _LP_TOLERANCE, "dual_feasibility_tolerance": _LP_TOLERANCE}
    # Presolve may declare limits near its tolerance infeasible, although a = 0 is always feasible.
    for presolve in (True, False):
        options["presolve"] = presolve
        found = linprog(-loss.margins, left, limits, bounds=bounds, method="highs-ds", options=options)
        if found.x is not None and found.ineqlin.marginals is not None:
            break
    else:
        raise RuntimeError(
            f"The linear program of the hinge loss with the L1 penalty was not solved at alpha={alpha:g};"
            f" a larger alpha may help. HiGHS: {found.message}"
        )
    costs = -found.ineqlin.marginals
    w = costs if positive else costs[: A.shape[1]] - costs[A.shape[1] :]
    return w, unit * np.clip(found.x, 0.0, bounds[:, 1])


def _scale_exponent(values: NDArray[np.float64]) -> int:
    """Return the binary exponent of the largest entry; 0 if no rescaling is needed."""
    largest = float(np.abs(values).max(initial=0.0))
    in_range = largest == 0.0 or 1.0 / _LARGEST_ENTRY < largest < _LARGEST_ENTRY
    return 0 if in_range else int(np.frexp(largest)[1])
