"""Which solver for LOGO's inner problem, and FREL's: non-negative logistic regression with an L1 penalty.

``python -m benchmarks.solvers`` measures, on one thread, how long each takes to a relative residual of 1e-10
(largest violation of the conditions of a minimum over the larger of λ and the largest slope at w = 0), or
how far it comes in ``--limit`` seconds. All minimize Σ log(1 + exp(−wᵀz_i)) + λ‖w‖₁ over w ≥ 0.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from highrelief._solvers.losses import LogLoss
from highrelief._solvers.minimizers import minimize_l1

Vector = NDArray[np.float64]
TOLERANCE = 1e-10


def margin_rows(n: int, d: int, seed: int = 0) -> NDArray[np.float64]:
    """Margins at the nearest neighbors of a two-class table, ten features of which count."""
    from highrelief import Relief
    from highrelief._engine.neighbors import Neighborhood

    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, :10] += y[:, np.newaxis]
    relief = Relief()
    return relief._choose_engine(relief._check_fit(X, y)).nearest(Neighborhood(1, pooled=True)).margins()


def residual(Z: NDArray[np.float64], w: Vector, alpha: float) -> float:
    slope = -expit(-(Z @ w)) @ Z + alpha
    violation = np.where(w > 0.0, np.abs(slope), np.maximum(-slope, 0.0)).max()
    return float(violation / max(alpha, 0.5 * np.abs(Z.sum(axis=0)).max()))


def ours(Z: NDArray[np.float64], alpha: float, over: Callable[[], bool]) -> Vector:
    return minimize_l1(LogLoss(np.ones(len(Z))), Z, alpha, positive=True, tol=TOLERANCE).weights


def accelerated_gradient(Z: NDArray[np.float64], alpha: float, over: Callable[[], bool]) -> Vector:
    """FISTA with restart (O'Donoghue and Candès 2015), its step the inverse of the largest curvature."""
    step = 4.0 / np.linalg.eigvalsh(Z @ Z.T)[-1]
    w = v = np.zeros(Z.shape[1])
    u = u_v = np.zeros(len(Z))
    momentum = 1.0
    for t in range(10**7):
        new = np.maximum(v - step * (-expit(-u_v) @ Z + alpha), 0.0)
        u_new = Z @ new
        if (v - new) @ (new - w) > 0.0:
            momentum = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        push = (momentum - 1.0) / following
        v, u_v = new + push * (new - w), u_new + push * (u_new - u)
        w, u, momentum = new, u_new, following
        if t % 25 == 0 and (residual(Z, w, alpha) <= TOLERANCE or over()):
            break
    return w


@numba.njit(cache=True, error_model="numpy")
def _sweep(columns, features, w, u, p, alpha):
    """One Newton step in each of some weights; the largest change of a weight.

    p = 1/(1 + exp(u)) is computed where u changes, not where it is read: most looks change nothing.
    """
    largest = 0.0
    for f in range(features.size):
        j = features[f]
        a = columns[j]
        slope, bend = alpha, 0.0
        for i in range(u.size):
            slope -= a[i] * p[i]
        if w[j] == 0.0 and slope >= 0.0:
            continue
        for i in range(u.size):
            bend += a[i] * a[i] * p[i] * (1.0 - p[i])
        if bend <= 0.0:
            continue
        change = max(w[j] - slope / bend, 0.0) - w[j]
        if change == 0.0:
            continue
        for i in range(u.size):
            u[i] += change * a[i]
            p[i] = 1.0 / (1.0 + np.exp(u[i]))
        w[j] += change
        largest = max(largest, abs(change))
    return largest


def coordinate_descent(Z: NDArray[np.float64], alpha: float, over: Callable[[], bool]) -> Vector:
    """Newton steps in one weight at a time, in the weights that are not 0 until they settle, then in all."""
    columns = np.ascontiguousarray(Z.T)
    w, u, p = np.zeros(Z.shape[1]), np.zeros(len(Z)), np.full(len(Z), 0.5)
    everything = np.arange(Z.shape[1])
    while not over():
        change = _sweep(columns, everything, w, u, p, alpha)
        active = np.flatnonzero(w)
        first = change
        while change > 1e-3 * first and change > 1e-14 and not over():
            change = _sweep(columns, active, w, u, p, alpha)
        if residual(Z, w, alpha) <= TOLERANCE:
            break
    return w


def quasi_newton(Z: NDArray[np.float64], alpha: float, over: Callable[[], bool]) -> Vector:
    """SciPy's L-BFGS-B; on w ≥ 0 the penalty is linear, and the problem smooth."""

    def both(w: Vector) -> tuple[float, Vector]:
        u = Z @ w
        return float(np.logaddexp(0.0, -u).sum() + alpha * w.sum()), -expit(-u) @ Z + alpha

    class Over(Exception):  # noqa: N818
        pass

    last = [np.zeros(Z.shape[1])]

    def look(w: Vector) -> None:
        last[0] = w.copy()
        if over():
            raise Over

    options = {"maxiter": 10**6, "maxfun": 10**6, "ftol": 0.0, "gtol": 1e-13, "maxcor": 20}
    try:
        bounds = [(0.0, None)] * Z.shape[1]
        return minimize(
            both, last[0], jac=True, method="L-BFGS-B", bounds=bounds, callback=look, options=options
        ).x
    except Over:
        return last[0]


SOLVERS = {
    "Newton on the active features (ours)": ours,
    "accelerated proximal gradient": accelerated_gradient,
    "coordinate descent (Numba)": coordinate_descent,
    "L-BFGS-B (SciPy)": quasi_newton,
}


def race(n: int, d: int, alpha: float, limit: float) -> list[tuple[str, float, float, int, float]]:
    Z = margin_rows(n, d)
    found = []
    for name, solve in SOLVERS.items():
        best = np.inf
        for _ in range(3):
            begin = time.process_time()
            w = solve(Z, alpha, lambda begin=begin: time.process_time() - begin > limit)
            best = min(best, time.process_time() - begin)
            if best > 1.0:
                break
        value = float(np.logaddexp(0.0, -(Z @ w)).sum() + alpha * w.sum())
        found.append((name, best, residual(Z, w, alpha), np.count_nonzero(w), value))
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.solvers", description=__doc__)
    parser.add_argument("--limit", type=float, default=20.0, help="CPU seconds after which one is stopped")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--features", type=int, nargs="+", default=[200, 2000, 10_000])
    parser.add_argument("--alpha", type=float, nargs="+", default=[1.0, 0.1], help="λ")
    options = parser.parse_args()
    _sweep(
        np.zeros((1, 1)), np.arange(1), np.zeros(1), np.zeros(1), np.zeros(1), 1.0
    )  # compiled outside the clock
    print("| samples | features | λ | solver | CPU ms | times ours | residual | features | objective |")
    print("|---" * 9 + "|")
    with threadpool_limits(1):
        for d in options.features:
            for alpha in options.alpha:
                rows = race(options.samples, d, alpha, options.limit)
                for name, seconds, reached, n_features, value in rows:
                    print(
                        f"| {options.samples} | {d:,} | {alpha:g} | {name} | {1e3 * seconds:,.1f} |"
                        f" {seconds / rows[0][1]:,.1f} | {reached:.0e} | {n_features} | {value:.10f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
