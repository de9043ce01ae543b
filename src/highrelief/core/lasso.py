"""Smooth losses with an L1 penalty: Newton's method on the few features that are not 0.

A pass over all columns says which features at 0 should leave it. Newton's method works on those and on the
ones that are not 0; its quadratic models are minimised exactly, sign pattern by sign pattern. Then the next
pass. With n samples at most n features or so are ever worked on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .losses import SmoothLoss
from .optimality import Minimum, Vector, l1_violations, shared_among_twins, step_length
from .products import weighted_gram

#: Violations, relative to the largest derivative, that are rounding.
_ROUNDING = 1e-15
_MOST_ROUNDS = 500
_MOST_STEPS = 100
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
    """Minimise loss(Aw) + α‖w‖₁ to violations of ``tol``·α, or of rounding."""
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
    """Minimise over the weights of these columns, to a violation of ``aim``."""
    last = np.inf
    for n_steps in range(_MOST_STEPS):
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
    return w, _MOST_STEPS


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
    """Minimise derivative·(v − w) + ½(v − w)ᵀQ(v − w) + α‖v‖₁ over v, from w on.

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
