"""The hinge loss with a penalty. It has corners: its minimum is found by its dual.

With the L2 penalty, w = Aᵀa/2α for the a in 0 ≤ a ≤ c that maximizes aᵀΔ − ‖Aᵀa‖²/4α; if w ≥ 0 is asked for,
with (Aᵀa)₊ for Aᵀa. Smoothed hinges show roughly which samples are at the corner, Newton's method on the dual
then gives a exactly. With the L1 penalty it is a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import linprog

from .losses import HingeLoss, Minimum, Vector, shared_among_twins, step_length
from .smooth import minimize_smooth_l2

# Quadratic functions in a box: the dual of the hinge loss has the form.


#: Projected steps, before bounds come and go one at a time.
_MOST_BOX_STEPS = 50
#: Relative to the largest slope at 0, a slope that is rounding.
_ROUNDING = 1e-15


def minimize_in_box(Q: NDArray[np.float64], b: Vector, start: Vector, top: Vector) -> Vector:
    """Minimize ½xᵀQx − bᵀx over 0 ≤ x ≤ top, from ``start`` in the box on; Q is positive definite."""
    return _bound_by_bound(Q, b, _projected(Q, b, start, top), top)


def _projected(Q: NDArray[np.float64], b: Vector, x: Vector, top: Vector) -> Vector:
    """Newton steps cut to the box, which put many variables at their bounds at once."""
    enough = _ROUNDING * float(np.abs(b).max())
    for _ in range(_MOST_BOX_STEPS):
        slope = Q @ x - b
        free = ~(((x <= 0.0) & (slope >= 0.0)) | ((x >= top) & (slope <= 0.0)))
        if not np.abs(slope[free]).max(initial=0.0) > enough:
            return x
        target = np.clip(_target(Q, b, x, free), 0.0, top)
        move = target - x
        change = float(slope @ move)
        if not change < 0.0:
            return x
        # The minimum on the way to the cut target.
        t = min(1.0, -change / float(move @ Q @ move))
        x = target if t == 1.0 else x + t * move
    return x


def _bound_by_bound(Q: NDArray[np.float64], b: Vector, x: Vector, top: Vector) -> Vector:
    """Go to the minimum of the variables off their bounds; then the one that asks most leaves its bound."""
    x = x.copy()
    enough = _ROUNDING * float(np.abs(b).max())
    free = (x > 0.0) & (x < top)
    for _ in range(10 * x.size + 10):
        target = _target(Q, b, x, free)
        bound = np.where(target < x, 0.0, top)
        beyond = free & ((target < 0.0) | (target > top))
        if beyond.any():
            ways = (bound[beyond] - x[beyond]) / (target[beyond] - x[beyond])
            t = float(ways.min())
            x[free] += t * (target[free] - x[free])
            reached = np.flatnonzero(beyond)[ways == t]
            x[reached] = bound[reached]
            free[reached] = False
            continue
        x = target
        slope = Q @ x - b
        asks = np.where(x <= 0.0, -slope, slope)
        asks[free | (top == 0.0)] = 0.0
        most = int(asks.argmax())
        if asks[most] <= enough:
            return x
        free[most] = True
    return x


def _target(Q: NDArray[np.float64], b: Vector, x: Vector, free: NDArray[np.bool_]) -> Vector:
    """The minimum over the free variables, wherever it is."""
    target = x.copy()
    if free.any():
        rest = b[free] - Q[np.ix_(free, ~free)] @ x[~free]
        system = Q[np.ix_(free, free)]
        _, solution, failed = lapack.dposv(system, rest)
        target[free] = np.linalg.lstsq(system, rest, rcond=None)[0] if failed else solution
    return target


#: Relative duality gap at which a dual point is the answer, but for rounding.
_EXACT = 1e-13
#: Widths of the smoothed hinges, relative to the largest margin.
_WIDTHS = [1.0, 0.1, 0.01, 1e-3]
#: Newton's method on the dual needs about five steps.
_MOST_STEPS = 200
#: Steps that do not halve the gap, after which rounding is all that is left.
_PATIENCE = 10
#: What is added to the diagonal of a model, relative to its largest entry: samples may be copies of others.
_RIDGE = 1e-12
#: What HiGHS is asked for; the smallest that it takes.
_LP_TOLERANCE = 1e-10
#: The largest numbers of a program are below this, and above its inverse; others are brought near 1.
_USUAL_SIZE = 1e6
#: Columns that join a program at a time.
_NEWCOMERS = 64


def minimize_hinge_l2(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, *, positive: bool = False
) -> Minimum:
    """Minimize Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₂²."""
    scale = loss.value(np.zeros(len(A)))
    if scale == 0.0:
        return Minimum(np.zeros(A.shape[1]), 0.0, 0)
    K = A @ A.T if A.shape[1] > len(A) and not positive else None
    dual = _Dual(loss, A, alpha, positive, K)
    a, n_steps = _rough_dual_point(dual)
    best, least, late = a, np.inf, 0
    for _ in range(_MOST_STEPS):
        gap = dual.gap(a)
        late = 0 if gap < 0.5 * least else late + 1
        if gap < least:
            best, least = a, gap
        if least <= _EXACT * scale or late == _PATIENCE:
            break
        moved = dual.newton_step(a)
        n_steps += 1
        if moved is None:
            break
        a = moved
    return Minimum(dual.weights(best), max(least, 0.0) / scale, n_steps)


@dataclass(frozen=True)
class _Dual:
    """‖Aᵀa‖²/4α − aᵀΔ, to be minimized over 0 ≤ a ≤ c; with (Aᵀa)₊ for w ≥ 0."""

    loss: HingeLoss
    A: NDArray[np.float64]
    alpha: float
    positive: bool
    #: AAᵀ, where it is smaller than A and no column is left out.
    K: NDArray[np.float64] | None

    def weights(self, a: Vector) -> Vector:
        """The w that belongs to a."""
        w = self.A.T @ a / (2.0 * self.alpha)
        return np.maximum(w, 0.0) if self.positive else w

    def value(self, a: Vector) -> float:
        w = self.weights(a)
        return self.alpha * float(w @ w) - float(a @ self.loss.margins)

    def gap(self, a: Vector) -> float:
        """How far the objective at w is above the dual's value at a, its lower bound."""
        w = self.weights(a)
        return self.loss.value(self.A @ w) + self.alpha * float(w @ w) + self.value(a)

    def newton_step(self, a: Vector) -> Vector | None:
        """Minimize the model of the present columns over the samples at the corner, or off their side."""
        w, top = self.weights(a), self.loss.factors
        slope = self.A @ w - self.loss.margins
        rows = np.flatnonzero(((a > 0.0) | (slope < 0.0)) & ((a < top) | (slope > 0.0)))
        if rows.size == 0:
            return None
        model = self._products(rows, w) / (2.0 * self.alpha)
        # Where no column is left, a sample has a line for its model.
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
            moved[rows] = end  # at the bounds, not next to them
        return moved

    def _products(self, rows: NDArray[np.int64], w: Vector) -> NDArray[np.float64]:
        if self.K is not None:
            return self.K[np.ix_(rows, rows)]
        used = self.A[np.ix_(rows, np.flatnonzero(w))] if self.positive else self.A[rows]
        return used @ used.T


def _rough_dual_point(dual: _Dual) -> tuple[Vector, int]:
    """The dual point of a smoothed hinge, from wide to narrow, and the steps that it took."""
    loss, A, n_steps = dual.loss, dual.A, 0
    if A.shape[1] > len(A):
        return 0.5 * loss.factors, 0  # Newton's method on the dual needs no better start
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
    """Minimize Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₁."""
    w = np.zeros(A.shape[1])
    scale = loss.value(np.zeros(len(A)))
    if scale == 0.0:
        return Minimum(w, 0.0, 0)
    a = np.where(loss.margins > 0.0, loss.factors, 0.0)  # the dual point of w = 0
    columns = np.flatnonzero(w if start is None else start)
    for n_steps in range(A.shape[1] + 2):
        reward = a @ A
        excess = (reward if positive else np.abs(reward)) - alpha
        wanted = np.flatnonzero(excess > _LP_TOLERANCE * max(alpha, np.abs(reward).max()))
        wanted = np.setdiff1d(wanted, columns)
        if wanted.size == 0 and n_steps > 0:
            break
        if wanted.size > 0 and A.shape[1] <= len(A):
            columns = np.arange(A.shape[1])  # one program of all takes less than several of some
        else:
            order = np.argsort(-excess[wanted], kind="stable")[: max(_NEWCOMERS, columns.size)]
            columns = np.union1d(columns, wanted[order])
        if columns.size == 0:
            break
        part, a = _program(loss, A[:, columns], alpha, positive)
        w = np.zeros(A.shape[1])
        w[columns] = part
    w = shared_among_twins(A, w, -reward, alpha, _LP_TOLERANCE * max(alpha, float(np.abs(reward).max())))
    value = loss.value(A @ w) + alpha * float(np.abs(w).sum())
    return Minimum(w, abs(value - float(a @ loss.margins)) / scale, n_steps)


def _program(loss: HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool) -> tuple[Vector, Vector]:
    """Solve max aᵀΔ, 0 ≤ a ≤ c, |Aᵀa| ≤ α (or Aᵀa ≤ α); return w, which its constraints cost, and a.

    The dual has as many variables as samples; min cᵀξ + α‖w‖₁ has one more of each sign for each column.
    """
    A = np.asarray(A)
    # HiGHS takes entries, and limits, of other sizes for 0 or for none.
    rows, margins = _unusual_power(A), _unusual_power(loss.margins)
    if rows or margins:
        usual = HingeLoss(loss.factors, np.ldexp(loss.margins, -margins))
        w, a = _program(usual, np.ldexp(A, -rows), float(np.ldexp(alpha, -rows)), positive)
        return np.ldexp(w, margins - rows), a
    unit = float(loss.factors.max())  # so that bounds are about 1, and tolerances mean something
    left = A.T if positive else np.vstack([A.T, -A.T])
    bounds = np.column_stack([np.zeros(len(A)), loss.factors / unit])
    limits = np.full(len(left), alpha / unit)
    options = {"primal_feasibility_tolerance": _LP_TOLERANCE, "dual_feasibility_tolerance": _LP_TOLERANCE}
    # Presolving may take limits near its tolerance for a contradiction, though a = 0 is always allowed.
    for presolve in (True, False):
        options["presolve"] = presolve
        found = linprog(-loss.margins, left, limits, bounds=bounds, method="highs-ds", options=options)
        if found.x is not None and found.ineqlin.marginals is not None:
            break
    else:
        raise RuntimeError(
            f"The linear program of the hinge loss with the L1 penalty was not solved at alpha={alpha:g};"
            f" a larger alpha may help. HiGHS says: {found.message}"
        )
    costs = -found.ineqlin.marginals
    w = costs if positive else costs[: A.shape[1]] - costs[A.shape[1] :]
    return w, unit * np.clip(found.x, 0.0, bounds[:, 1])


def _unusual_power(values: NDArray[np.float64]) -> int:
    """The power of 2 of the largest number; 0 if that has a usual size."""
    largest = float(np.abs(values).max(initial=0.0))
    usual = largest == 0.0 or 1.0 / _USUAL_SIZE < largest < _USUAL_SIZE
    return 0 if usual else int(np.frexp(largest)[1])
