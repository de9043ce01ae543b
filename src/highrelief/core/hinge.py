"""The hinge loss with a penalty. It has corners: its minimum is found by its dual.

With the L2 penalty, w = Aᵀa/2α for the a in 0 ≤ a ≤ c that maximises aᵀΔ − ‖Aᵀa‖²/4α. Smoothed hinges, of
less and less width, show which samples are at the corner, and linear equations then give a exactly. With the
L1 penalty it is a linear programme.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import linprog, lsq_linear

from .losses import HingeLoss
from .optimality import Minimum, Vector, shared_among_twins
from .ridge import minimize_in_span, minimize_smooth_l2

#: Relative duality gap at which a dual point is the answer, but for rounding.
_EXACT = 1e-13
#: Widths of the smoothed hinges, relative to the largest margin.
_WIDTHS = [10.0**-digits for digits in range(13)]
#: Relative width below which equations that gave no answer have many.
_NARROW = 1e-4
#: What HiGHS is asked for; the smallest that it takes.
_LP_TOLERANCE = 1e-10
#: Columns that join a programme at a time.
_NEWCOMERS = 64


def minimize_hinge_l2(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, *, positive: bool = False
) -> Minimum:
    """Minimise Σ c_i max(0, Δ_i − a_iᵀw) + α‖w‖₂²."""
    scale = loss.value(np.zeros(len(A)))
    if scale == 0.0:
        return Minimum(np.zeros(A.shape[1]), 0.0, 0)
    in_span = not positive and A.shape[1] > len(A)
    duals = _duals_in_span(loss, A @ A.T, alpha) if in_span else _duals(loss, A, alpha, positive)
    best, least, steps = np.zeros(len(A)), np.inf, 0
    for dual, gap, n_steps in duals:
        steps += n_steps
        if gap < least:
            best, least = dual, gap
        if least <= _EXACT * scale:
            break
    w = A.T @ best / (2.0 * alpha)
    return Minimum(np.maximum(w, 0.0) if positive else w, max(least, 0.0) / scale, steps)


def _widths(loss: HingeLoss) -> list[float]:
    largest = float(np.abs(loss.margins).max())
    return [largest * width for width in _WIDTHS]


def _duals(
    loss: HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool
) -> Iterator[tuple[Vector, float, int]]:
    """Dual points nearer and nearer to the maximum, their gaps, and the steps that each took."""

    def gap(a: Vector) -> float:
        w = A.T @ a / (2.0 * alpha)
        w = np.maximum(w, 0.0) if positive else w
        return loss.value(A @ w) + 2.0 * alpha * float(w @ w) - float(a @ loss.margins)

    w: Vector | None = None
    for width in _widths(loss):
        smooth = loss.smoothed(width)
        end = minimize_smooth_l2(smooth, A, alpha, positive=positive, start=w)
        w = end.weights
        a = -smooth.gradient(A @ w)
        yield a, gap(a), end.n_steps
        corner = (a > 0.0) & (a < loss.factors)
        used = A[:, w > 0.0] if positive else A
        rows = used[corner]
        at_corner = _Corner(loss, alpha, a, corner, rows @ (used.T @ np.where(corner, 0.0, a)))
        if 0 < len(rows) <= used.shape[1]:
            exact = at_corner.solved(rows @ rows.T)
            yield exact, gap(exact), 0
        if len(rows) > 0 and width < _NARROW * loss.margins.max():
            exact = at_corner.allowed(rows.T)
            yield exact, gap(exact), 0


def _duals_in_span(
    loss: HingeLoss, K: NDArray[np.float64], alpha: float
) -> Iterator[tuple[Vector, float, int]]:
    """The same by K = AAᵀ alone, where there are more features than samples."""

    def gap(a: Vector) -> float:
        u = K @ a / (2.0 * alpha)  # α‖w‖² = aᵀu/2
        return loss.value(u) + float(a @ u) - float(a @ loss.margins)

    b: Vector | None = None
    for width in _widths(loss):
        smooth = loss.smoothed(width)
        b, n_steps = minimize_in_span(smooth, K, alpha, start=b)
        a = -smooth.gradient(K @ b)
        yield a, gap(a), n_steps
        corner = (a > 0.0) & (a < loss.factors)
        if not corner.any():
            continue
        products = K[np.ix_(corner, corner)]
        at_corner = _Corner(loss, alpha, a, corner, K[corner] @ np.where(corner, 0.0, a))
        exact = at_corner.solved(products)
        yield exact, gap(exact), 0
        if width < _NARROW * loss.margins.max():
            squares, vectors = np.linalg.eigh(products)
            exact = at_corner.allowed(np.sqrt(np.maximum(squares, 0.0))[:, np.newaxis] * vectors.T)
            yield exact, gap(exact), 0


@dataclass(frozen=True)
class _Corner:
    """The samples with 0 < a_i < c_i, which are at the corner of the hinge: a_iᵀw = Δ_i for these."""

    loss: HingeLoss
    alpha: float
    a: Vector
    corner: NDArray[np.bool_]
    #: What the other samples add to the scores of these, times 2α.
    others: Vector

    @property
    def _wanted(self) -> Vector:
        return 2.0 * self.alpha * self.loss.margins[self.corner] - self.others

    def solved(self, products: NDArray[np.float64]) -> Vector:
        """The dual point that solves the equations, whose matrix holds the products of the rows."""
        _, solution, failed = lapack.dposv(products, self._wanted)
        exact = self.a.copy()
        if not failed:
            exact[self.corner] = np.clip(solution, 0.0, self.loss.factors[self.corner])
        return exact

    def allowed(self, columns: NDArray[np.float64]) -> Vector:
        """One of many such points, in 0 ≤ a ≤ c: samples may be copies of others, or more than dimensions.

        ``columns`` have the products that the rows of the samples have.
        """
        weights = np.linalg.lstsq(columns.T, self._wanted, rcond=None)[0]
        bounds = (np.zeros(self.others.size), self.loss.factors[self.corner])
        exact = self.a.copy()
        exact[self.corner] = lsq_linear(columns, weights, bounds=bounds, method="bvls", tol=1e-15).x
        return exact


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
