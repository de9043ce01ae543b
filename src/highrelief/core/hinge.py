"""The hinge loss with a penalty. It has corners: its minimum is found by its dual.

With the L2 penalty, w = Aᵀa/2α for the a in 0 ≤ a ≤ c that maximises aᵀΔ − ‖Aᵀa‖²/4α. Smoothed hinges, of
less and less width, show which samples are at the corner, and linear equations then give a exactly. With the
L1 penalty it is a linear programme.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from .losses import HingeLoss
from .optimality import Minimum, Vector, shared_among_twins
from .ridge import minimize_smooth_l2

#: Relative duality gap at which a dual point is the answer, but for rounding.
_EXACT = 1e-13
#: Widths of the smoothed hinges, relative to the largest margin.
_WIDTHS = 10.0 ** np.arange(0, -13, -1)
#: What HiGHS is asked for; the smallest that it takes.
_LP_TOLERANCE = 1e-10
#: Columns that join a programme at a time.
_NEWCOMERS = 64


def minimize_hinge_l2(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, *, positive: bool = False
) -> Minimum:
    """Minimise Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₂²."""
    scale = loss.value(np.zeros(len(A)))
    best = Minimum(np.zeros(A.shape[1]), 0.0, 0)
    if scale == 0.0:
        return best
    gram = None if positive or A.shape[1] <= len(A) else A @ A.T
    largest = float(np.abs(loss.margins).max())
    w: Vector | None = None
    n_steps = 0
    best = Minimum(best.weights, np.inf, 0)
    for width in largest * _WIDTHS:
        smooth = loss.smoothed(width)
        end = minimize_smooth_l2(smooth, A, alpha, positive=positive, gram=gram, start=w)
        w, n_steps = end.weights, n_steps + end.n_steps
        a = -smooth.gradient(A @ w)
        for dual in (a, _at_corners(loss, A, alpha, a, w, positive)):
            weights, gap = _primal_of(loss, A, alpha, dual, positive)
            if gap / scale < best.residual:
                best = Minimum(weights, max(gap / scale, 0.0), n_steps)
        if best.residual <= _EXACT:
            break
    return best


def _primal_of(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, a: Vector, positive: bool
) -> tuple[Vector, float]:
    """Weights that belong to a dual point, and by how much their objectives differ."""
    w = A.T @ a / (2.0 * alpha)
    if positive:
        w = np.maximum(w, 0.0)
    length = alpha * float(w @ w)
    return w, loss.value(A @ w) + length - (float(a @ loss.margins) - length)


def _at_corners(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, a: Vector, w: Vector, positive: bool
) -> Vector:
    """The dual point whose samples with 0 < a_i < c_i are at the corner exactly."""
    corner = (a > 0.0) & (a < loss.factors)
    if not corner.any():
        return a
    used = A[:, w > 0.0] if positive else A
    at_corner = used[corner]
    outside = used.T @ np.where(corner, 0.0, a)
    wanted = 2.0 * alpha * loss.margins[corner] - at_corner @ outside
    exact = a.copy()
    # Least squares: samples may be copies of others.
    exact[corner] = np.linalg.lstsq(at_corner @ at_corner.T, wanted, rcond=None)[0]
    return np.clip(exact, 0.0, loss.factors)


def minimize_hinge_l1(
    loss: HingeLoss,
    A: NDArray[np.float64],
    alpha: float,
    *,
    positive: bool = False,
    start: Vector | None = None,
) -> Minimum:
    """Minimise Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₁."""
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
        order = np.argsort(-excess[wanted], kind="stable")[: max(_NEWCOMERS, columns.size)]
        columns = np.union1d(columns, wanted[order])
        if columns.size == 0:
            break
        part, a = _programme(loss, A[:, columns], alpha, positive)
        w = np.zeros(A.shape[1])
        w[columns] = part
    w = shared_among_twins(A, w, -reward, alpha, _LP_TOLERANCE * max(alpha, float(np.abs(reward).max())))
    value = loss.value(A @ w) + alpha * float(np.abs(w).sum())
    return Minimum(w, abs(value - float(a @ loss.margins)) / scale, n_steps)


def _programme(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool
) -> tuple[Vector, Vector]:
    """Solve min cᵀξ + α·1ᵀ(p + q), ξ ≥ Δ − A(p − q), all ≥ 0; return w = p − q and the dual point."""
    n_rows, n_columns = A.shape
    parts = [A] if positive else [A, -A]
    costs = np.concatenate([np.full(len(parts) * n_columns, alpha), loss.factors])
    left = -np.hstack([*parts, np.eye(n_rows)])
    options = {"primal_feasibility_tolerance": _LP_TOLERANCE, "dual_feasibility_tolerance": _LP_TOLERANCE}
    found = linprog(costs, left, -loss.margins, method="highs-ds", options=options)
    if found.x is None:
        raise RuntimeError(f"The linear programme of the hinge loss was not solved: {found.message}")
    w = found.x[:n_columns] - (0.0 if positive else found.x[n_columns : 2 * n_columns])
    return w, np.clip(-found.ineqlin.marginals, 0.0, loss.factors)
