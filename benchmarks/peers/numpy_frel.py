"""FREL's minimizer as one writes it in NumPy and SciPy.

``pdist`` for the distances, each pair once, then L-BFGS-B, to the same objective as ours to nine
digits. Each loss in the form that suits the solver best: with the L1 penalty w = p − q, p and q ≥ 0, as the
penalty is then linear; the hinge, which has corners, by its dual, of as many variables as there are samples.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform
from scipy.special import expit

NAME = "NumPy and SciPy"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 4e9
# Of L-BFGS-B, which looks at the objective: its square root.
TOLERANCE = 1e-2
DIFFERS = ""

Vector = NDArray[np.float64]
_OPTIONS = {"maxiter": 10_000, "maxfun": 20_000, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-9}


def version() -> str:
    import scipy

    return f"{np.__version__} and {scipy.__version__}"


def frel(
    X: NDArray[np.float64], y: NDArray[np.integer], loss: str, penalty: str, alpha: float
) -> Callable[[], Vector]:
    def fit() -> Vector:
        low, high = X.min(axis=0), X.max(axis=0)
        scaled = (X - low) / np.where(high > low, high - low, 1.0)
        D = squareform(pdist(scaled, "cityblock"))
        same = y[:, np.newaxis] == y
        hits, misses = np.where(same, D, np.inf), np.where(same, np.inf, D)
        np.fill_diagonal(hits, np.inf)
        hit, miss = hits.argmin(axis=1), misses.argmin(axis=1)
        H, M = np.abs(scaled - scaled[hit]), np.abs(scaled - scaled[miss])
        gaps = D[hit, miss]
        if loss == "hinge":
            return _dual_hinge(M - H, gaps, alpha)
        return _minimum(*_SMOOTH[loss](H, M, gaps), X.shape[1], penalty, alpha)

    return fit


def _log(H: Vector, M: Vector, gaps: Vector) -> tuple[Vector, Callable]:
    n = len(H)

    def value_and_slope(u: Vector) -> tuple[float, Vector]:
        return np.logaddexp(0.0, -u).sum() / n, -expit(-u) / n

    return M - H, value_and_slope


def _square(H: Vector, M: Vector, gaps: Vector) -> tuple[Vector, Callable]:
    n = len(H)

    def value_and_slope(u: Vector) -> tuple[float, Vector]:
        short = np.maximum(gaps - u[n:], 0.0)
        return (u[:n] @ u[:n] + short @ short) / n, np.concatenate([2.0 * u[:n], -2.0 * short]) / n

    return np.vstack([H, M]), value_and_slope


_SMOOTH = {"log": _log, "square": _square}


def _minimum(A: Vector, value_and_slope: Callable, d: int, penalty: str, alpha: float) -> Vector:
    def with_l2(w: Vector) -> tuple[float, Vector]:
        value, slope = value_and_slope(A @ w)
        return value + alpha * (w @ w), slope @ A + 2.0 * alpha * w

    def with_l1(parts: Vector) -> tuple[float, Vector]:
        value, slope = value_and_slope(A @ (parts[:d] - parts[d:]))
        down = slope @ A
        return value + alpha * parts.sum(), np.concatenate([down + alpha, alpha - down])

    if penalty == "l2":
        return minimize(with_l2, np.zeros(d), jac=True, method="L-BFGS-B", options=_OPTIONS).x
    bounds = [(0.0, None)] * (2 * d)
    found = minimize(with_l1, np.zeros(2 * d), jac=True, method="L-BFGS-B", bounds=bounds, options=_OPTIONS).x
    return found[:d] - found[d:]


def _dual_hinge(Z: Vector, gaps: Vector, alpha: float) -> Vector:
    n = len(Z)
    K = Z @ Z.T / (2.0 * alpha)

    def negative_dual(a: Vector) -> tuple[float, Vector]:
        product = K @ a
        return 0.5 * a @ product - a @ gaps, product - gaps

    bounds = [(0.0, 1.0 / n)] * n
    a = minimize(
        negative_dual, np.full(n, 0.5 / n), jac=True, method="L-BFGS-B", bounds=bounds, options=_OPTIONS
    ).x
    return Z.T @ a / (2.0 * alpha)
