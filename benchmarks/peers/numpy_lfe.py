"""LFE as one writes it in NumPy from section 3.2 of the paper: decompose, solve in the samples, map back.

Distances by one matrix product, the sums over neighbors by matrix products as well.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "NumPy, section 3.2"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = None
TOLERANCE = 1e-8
DIFFERS = ""


def version() -> str:
    return np.__version__


def lfe(
    X: NDArray[np.float64], y: NDArray[np.integer], n_components: int, n_neighbors: int
) -> Callable[[], NDArray[np.float64]]:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1.0)

    def fit() -> NDArray[np.float64]:
        centered = scaled - scaled.mean(axis=0)
        U, lengths, V = np.linalg.svd(centered, full_matrices=False)
        # Without the null direction that centering makes.
        Z, V = (U * lengths)[:, : len(X) - 1], V[: len(X) - 1]
        values, vectors = np.linalg.eigh(_scatter(Z, y, _distances(centered), n_neighbors))
        positive = values[values > 0.0]
        first = slice(None, -n_components - 1, -1)
        shares = values[first] / np.linalg.norm(positive)
        components = (vectors[:, first] * np.sqrt(shares)).T @ V
        return (components**2).sum(axis=0)

    return fit


def _distances(X: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = np.einsum("ij,ij->i", X, X)
    D = squares[:, np.newaxis] + squares - 2.0 * X @ X.T
    np.fill_diagonal(D, np.inf)  # nobody is his own neighbor
    return D


def _scatter(
    Z: NDArray[np.float64], y: NDArray[np.integer], D: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    total = np.zeros((Z.shape[1], Z.shape[1]))
    same = y[:, np.newaxis] == y
    for sign, allowed in ((1.0, ~same), (-1.0, same)):
        nearest = np.argpartition(np.where(allowed, D, np.inf), k, axis=1)[:, :k]
        differences = (Z[:, np.newaxis] - Z[nearest]).reshape(-1, Z.shape[1])
        total += sign / k * differences.T @ differences
    return total
