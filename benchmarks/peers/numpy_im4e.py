"""I-M4E as one writes it in NumPy and SciPy, cost and entropies included.

The formulas are those of ``IM4E(sigma=…, tol=0)`` (Bei and Hong 2015, eqs. 3, 5, 6 and 9), in the precision
of the table. Two forms. "per anchor" takes the differences of one sample to all others, in one array that is
written again and again, for its distances and, after the softmax, for its margin. "pdist" has SciPy's
compiled loop find each distance once, and then takes every difference once: the coefficients of both
directions of a pair are added first.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

NAME = "NumPy"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = 4e9
# Of sums over all pairs in float32.
TOLERANCE = 1e-4
DIFFERS = ""

Array = NDArray[np.floating]
Sums = tuple[NDArray[np.float64], float]
Step = Callable[[Array, NDArray[np.bool_], Array, float], Sums]


def version() -> str:
    return np.__version__


def per_anchor(X: Array, y: NDArray[np.integer], sigma: float, max_iter: int) -> Callable[[], Array]:
    return _im4e(X, y, sigma, max_iter, _per_anchor)


def with_pdist(X: Array, y: NDArray[np.integer], sigma: float, max_iter: int) -> Callable[[], Array]:
    return _im4e(X, y, sigma, max_iter, _with_pdist)


def _im4e(X: Array, y: NDArray[np.integer], sigma: float, max_iter: int, step: Step) -> Callable[[], Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1).astype(X.dtype)
    hits = y[:, np.newaxis] == y
    np.fill_diagonal(hits, False)

    def fit() -> Array:
        w = np.full(X.shape[1], 1.0 / X.shape[1], X.dtype)
        costs = []
        for _ in range(max_iter):
            margin, quality = step(scaled, hits, w, sigma)
            positive = np.maximum(margin, 0.0)
            w = (positive / positive.sum()).astype(X.dtype)  # eq. (9)
            costs.append(-w @ margin + sigma * quality + len(X) * w @ w)  # eq. (3)
        return w

    return fit


def _per_anchor(
    X: Array, hits: NDArray[np.bool_], w: Array, sigma: float
) -> tuple[NDArray[np.float64], float]:
    margin, quality = np.zeros(X.shape[1]), 0.0
    differences = np.empty_like(X)
    for n in range(len(X)):
        np.abs(np.subtract(X, X[n], out=differences), out=differences)
        signed, entropies = _softmax(differences @ w, hits[n], n, sigma)
        margin += signed @ differences
        quality += entropies
    return margin, quality


def _with_pdist(
    X: Array, hits: NDArray[np.bool_], w: Array, sigma: float
) -> tuple[NDArray[np.float64], float]:
    # A feature of weight 0 adds nothing; a product of rows and weights is faster than pdist's own weights.
    active = w > 0.0
    D = squareform(pdist(X[:, active] * w[active], "cityblock"))
    coefficients, quality = np.empty(D.shape, X.dtype), 0.0
    for n in range(len(X)):
        coefficients[n], entropies = _softmax(D[n], hits[n], n, sigma)
        quality += entropies
    coefficients += coefficients.T.copy()
    margin = np.zeros(X.shape[1])
    kept = np.empty_like(X)
    for n in range(len(X) - 1):
        differences = np.subtract(X[n + 1 :], X[n], out=kept[n + 1 :])
        margin += coefficients[n, n + 1 :] @ np.abs(differences, out=differences)
    return margin, quality


def _softmax(d: Array, hits: NDArray[np.bool_], n: int, sigma: float) -> tuple[Array, float]:
    """Probabilities of the misses less those of the hits, and the entropy of the former less the latter's."""
    misses = ~hits
    misses[n] = False
    signed, quality = np.zeros_like(d), 0.0
    for which, sign in ((misses, 1.0), (hits, -1.0)):
        e = (d[which] - d[which].min()) / sigma
        f = np.exp(-e)
        mass = f.sum()
        signed[which] = sign * f / mass
        quality += sign * (np.log(mass) + f @ e / mass)
    return signed, quality
