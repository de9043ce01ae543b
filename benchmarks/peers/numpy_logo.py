"""LOGO as one writes it in NumPy and SciPy: margins one anchor after the other, then L-BFGS-B.

The formulas are those of ``LOGO(sigma=…, alpha=…, tol=0)``. Differences are written into one array again and
again, which is faster than a new one for every anchor; each problem starts from the solution of the last.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

NAME = "NumPy and SciPy"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 4e9
# L-BFGS-B stops at a gradient of 1e-6, far from the last digit.
TOLERANCE = 1e-3
DIFFERS = ""


def version() -> str:
    return np.__version__


def logo(
    X: NDArray[np.float64], y: NDArray[np.integer], sigma: float, alpha: float, max_iter: int
) -> Callable[[], NDArray[np.float64]]:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1.0)

    def fit() -> NDArray[np.float64]:
        w, solution = np.ones(X.shape[1]), np.zeros(X.shape[1])
        for _ in range(max_iter):
            solution = _minimum(_margins(scaled, y, w, sigma), alpha, solution)
            w = solution
        return w

    return fit


def _margins(
    X: NDArray[np.float64], y: NDArray[np.integer], w: NDArray[np.float64], sigma: float
) -> NDArray[np.float64]:
    Z = np.empty_like(X)
    differences = np.empty_like(X)
    for n in range(len(X)):
        np.abs(np.subtract(X, X[n], out=differences), out=differences)
        exponents = differences @ w / -sigma
        exponents[n] = -np.inf  # nobody is his own neighbor
        hits = y == y[n]
        of_hits = np.where(hits, np.exp(exponents - exponents[hits].max()), 0.0)
        of_misses = np.where(hits, 0.0, np.exp(exponents - exponents[~hits].max()))
        Z[n] = (of_misses / of_misses.sum() - of_hits / of_hits.sum()) @ differences
    return Z


def _minimum(Z: NDArray[np.float64], alpha: float, start: NDArray[np.float64]) -> NDArray[np.float64]:
    def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        u = Z @ w
        return np.logaddexp(0.0, -u).sum() + alpha * w.sum(), alpha - expit(-u) @ Z

    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 0.0, "gtol": 1e-6, "maxcor": 20}
    bounds = [(0.0, None)] * Z.shape[1]
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
