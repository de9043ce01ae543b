"""HKNN as one writes it in NumPy: one sample and one class at a time (Vincent and Bengio 2002).

The fitted samples of each class are at hand; for each sample the differences to all of them, ``argpartition``
for the k nearest, and ``solve`` for the ridge. "with products" finds all distances of all samples by one
matrix product first, which is what a careful writer does.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "NumPy"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = 1e11
# Products in float32 may take another neighbor where two are nearly as far.
TOLERANCE = 1e-3
DIFFERS = ""

Array = NDArray[np.floating]
Call = Callable[[], Array]


def version() -> str:
    return np.__version__


def per_query(X: Array, y: NDArray[np.integer], n_neighbors: int, alpha: float) -> Call:
    half = len(X) // 2
    members = [X[:half][y[:half] == c] for c in np.unique(y)]

    def distances() -> Array:
        found = np.empty((len(X) - half, len(members)))
        for q, x in enumerate(X[half:]):
            for c, rows in enumerate(members):
                differences = rows - x
                squares = np.einsum("ij,ij->i", differences, differences)
                found[q, c] = _hyperplane(x, rows, squares, n_neighbors, alpha)
        return found

    return distances


def with_products(X: Array, y: NDArray[np.integer], n_neighbors: int, alpha: float) -> Call:
    half = len(X) // 2
    members = [X[:half][y[:half] == c] for c in np.unique(y)]

    def distances() -> Array:
        queries = X[half:]
        found = np.empty((len(queries), len(members)))
        for c, rows in enumerate(members):
            # The square of the query is the same for all.
            squares = (rows**2).sum(axis=1) - 2.0 * queries @ rows.T
            for q, x in enumerate(queries):
                found[q, c] = _hyperplane(x, rows, squares[q], n_neighbors, alpha)
        return found

    return distances


def _hyperplane(x: Array, rows: Array, squares: Array, n_neighbors: int, alpha: float) -> float:
    """Distance of x from the hyperplane through the nearest of the rows."""
    nearest = rows[np.argpartition(squares, n_neighbors)[:n_neighbors]]
    mean = nearest.mean(axis=0)
    V = nearest - mean
    r = x - mean
    coefficients = np.linalg.solve(V @ V.T + alpha * np.eye(n_neighbors, dtype=V.dtype), V @ r)
    return float(np.linalg.norm(r - coefficients @ V))
