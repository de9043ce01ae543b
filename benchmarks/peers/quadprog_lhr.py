"""LHR as one writes it in NumPy and SciPy, with ``quadprog`` for the quadratic problem of every sample.

The iteration of ``LHRelief(tol=0)`` (Cai et al. 2014, eqs. 4 and 5), in float64, which is what quadprog works
in. Two forms, which differ in the distances, over the features of positive weight. "per sample" takes the
differences of one sample to all others, in one array that is written again and again. "pdist" has SciPy's
compiled loop find each distance once, of rows that were multiplied by the weights: that is faster than
pdist's own weights.

The nearest come by ``argpartition``. The differences of a sample to its neighbors are taken once, for the
Gram matrix (one product by BLAS) and for the margin; they stay in the cache in between, which a stack of all
samples' differences would not.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

NAME = "NumPy and quadprog"
INSTALL = "pip install --requirement benchmarks/requirements/bench.txt"
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 4e9
TOLERANCE = 1e-6
DIFFERS = ""

Array = NDArray[np.float64]


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return f"{np.__version__} and {version_of('quadprog')}"
    except PackageNotFoundError as error:
        raise ImportError("quadprog is not installed") from error


def per_anchor(
    X: Array, y: NDArray[np.integer], n_neighbors: int, alpha: float, max_iter: int
) -> Callable[[], Array]:
    return _lhr(X, y, n_neighbors, alpha, max_iter, _distances_per_sample)


def with_pdist(
    X: Array, y: NDArray[np.integer], n_neighbors: int, alpha: float, max_iter: int
) -> Callable[[], Array]:
    return _lhr(X, y, n_neighbors, alpha, max_iter, _distances_by_pdist)


def _distances_per_sample(X: Array, w: Array) -> Array:
    D = np.empty((len(X), len(X)))
    differences = np.empty_like(X)
    for n in range(len(X)):
        np.abs(np.subtract(X, X[n], out=differences), out=differences)
        D[n] = differences @ w
    return D


def _distances_by_pdist(X: Array, w: Array) -> Array:
    return squareform(pdist(X * w, "cityblock"))


def _lhr(
    X: Array,
    y: NDArray[np.integer],
    k: int,
    alpha: float,
    max_iter: int,
    distances: Callable[[Array, Array], Array],
) -> Callable[[], Array]:
    import quadprog

    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1.0)
    hits = y[:, np.newaxis] == y
    ridge = 2.0 * alpha * np.eye(k)
    no_linear_term = np.zeros(k)
    # Σα = 1, which is an equation, and α ≥ 0.
    constraints = np.hstack([np.ones((k, 1)), np.eye(k)])
    bounds = np.concatenate([[1.0], np.zeros(k)])

    def distance_to_hyperplane(x: Array, neighbors: Array, w: Array) -> Array:
        differences = neighbors - x
        gram = (differences * w) @ differences.T + ridge
        mixture = quadprog.solve_qp(gram, no_linear_term, constraints, bounds, 1)[0]
        return np.abs(mixture @ differences)

    def fit() -> Array:
        w = np.full(X.shape[1], X.shape[1] ** -0.5)
        for _ in range(max_iter):
            active = np.flatnonzero(w)
            # By `take`, which keeps the rows together: pdist takes four times as long if they are not.
            D = distances(np.take(scaled, active, axis=1), w[active])
            np.fill_diagonal(D, np.inf)
            nearest_hits = np.argpartition(np.where(hits, D, np.inf), k, axis=1)[:, :k]
            nearest_misses = np.argpartition(np.where(hits, np.inf, D), k, axis=1)[:, :k]
            z = np.zeros_like(w)
            for n, x in enumerate(scaled):
                z += distance_to_hyperplane(x, scaled[nearest_misses[n]], w)
                z -= distance_to_hyperplane(x, scaled[nearest_hits[n]], w)
            positive = np.maximum(z, 0.0)
            w = positive / np.sqrt(positive @ positive)
        return w

    return fit
