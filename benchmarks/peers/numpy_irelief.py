"""I-RELIEF as one writes it in NumPy: all samples at once, one anchor after the other.

The formulas are those of ``IRelief(sigma=…, tol=0)`` (Sun 2007, eqs. 8 to 12), in the precision of the table.
Two forms: the differences in a new array for every anchor, as ``np.abs(X - X[n])`` reads, and in one array
that is written again and again, which spares the system most of the work of finding memory.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "NumPy per anchor"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = 4e9
# Of sums over all pairs in float32.
TOLERANCE = 1e-4
DIFFERS = ""


def version() -> str:
    return np.__version__


def irelief(
    X: NDArray[np.floating], y: NDArray[np.integer], sigma: float, max_iter: int
) -> Callable[[], NDArray[np.floating]]:
    return _irelief(X, y, sigma, max_iter, in_place=False)


def irelief_in_place(
    X: NDArray[np.floating], y: NDArray[np.integer], sigma: float, max_iter: int
) -> Callable[[], NDArray[np.floating]]:
    return _irelief(X, y, sigma, max_iter, in_place=True)


def _irelief(
    X: NDArray[np.floating], y: NDArray[np.integer], sigma: float, max_iter: int, in_place: bool
) -> Callable[[], NDArray[np.floating]]:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1).astype(X.dtype)

    def fit() -> NDArray[np.floating]:
        w = np.full(X.shape[1], 1.0 / X.shape[1], X.dtype)
        for _ in range(max_iter):
            positive = np.maximum(_mean_margin(scaled, y, w, sigma, in_place), 0.0)
            w = (positive / np.linalg.norm(positive)).astype(X.dtype)
        return w

    return fit


def _mean_margin(
    X: NDArray[np.floating], y: NDArray[np.integer], w: NDArray[np.floating], sigma: float, in_place: bool
) -> NDArray[np.float64]:
    nu = np.zeros(X.shape[1])
    kept = np.empty_like(X)
    for n in range(len(X)):
        differences = np.abs(np.subtract(X, X[n], out=kept), out=kept) if in_place else np.abs(X - X[n])
        exponents = differences @ w
        exponents /= -sigma
        exponents[n] = -np.inf  # nobody is his own neighbor
        hits = y == y[n]
        nearest = exponents.max()
        f = np.exp(exponents - nearest)
        of_hits, of_misses = np.where(hits, f, 0), np.where(hits, 0, f)
        hit_mass, miss_mass = of_hits.sum(), of_misses.sum()
        inlier = hit_mass / (hit_mass + miss_mass)
        if hit_mass > 0 and miss_mass > 0:
            nu += inlier * ((of_misses / miss_mass - of_hits / hit_mass) @ differences)
    return nu / len(X)
