"""Simba and G-flip as one writes them in NumPy and SciPy.

Simba in two forms, both one sample at a time. "differences" takes those of a sample to all others, in one
array that is written again and again. "products" has ‖x − x'‖² = ‖x‖² + ‖x'‖² − 2xᵀx' under w², by two matrix
products: faster, and some digits are lost. G-flip recomputes the distances on every set that it tries, by
SciPy's compiled loop on its columns; rows are sorted by class so that minima are over blocks, and only these
have their square roots taken.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

NAME = "NumPy"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 4e9
# Of sequences of a few hundred steps by distances that were rounded elsewhere.
TOLERANCE = 1e-6
DIFFERS = ""

Vector = NDArray[np.float64]
Distances = Callable[[int, Vector], Vector]


def version() -> str:
    import scipy

    return f"{np.__version__} and {scipy.__version__}"


def differences(X: Vector, y: NDArray[np.integer]) -> Callable[[], Vector]:
    scaled = _scaled(X)
    room = np.empty_like(scaled)

    def squares(n: int, squared: Vector) -> Vector:
        np.subtract(scaled, scaled[n], out=room)
        return np.multiply(room, room, out=room) @ squared

    return lambda: _simba(scaled, y, squares)


def products(X: Vector, y: NDArray[np.integer]) -> Callable[[], Vector]:
    scaled = _scaled(X)
    of_rows = scaled * scaled

    def squares(n: int, squared: Vector) -> Vector:
        found = of_rows @ squared
        return found + found[n] - 2.0 * (scaled @ (squared * scaled[n]))

    return lambda: _simba(scaled, y, squares)


def _simba(X: Vector, y: NDArray[np.integer], squares: Distances) -> Vector:
    w = np.ones(X.shape[1])
    for n in range(len(X)):
        d = squares(n, w * w)
        d[n] = np.inf
        hit = np.where(y == y[n], d, np.inf).argmin()
        miss = np.where(y == y[n], np.inf, d).argmin()
        if d[hit] > 0.0 and d[miss] > 0.0:
            m, h = X[n] - X[miss], X[n] - X[hit]
            w += 0.5 * (m * m / np.sqrt(d[miss]) - h * h / np.sqrt(d[hit])) * w
    return w * w / np.max(w * w)


def gflip(X: Vector, y: NDArray[np.integer]) -> Callable[[], Vector]:
    order = np.argsort(y, kind="stable")
    rows, border = _scaled(X)[order], int(np.count_nonzero(y == y.min()))

    def score(members: NDArray[np.bool_]) -> float:
        if not members.any():
            return 0.0
        chosen = rows[:, members]
        D = cdist(chosen, chosen, "sqeuclidean")
        np.fill_diagonal(D, np.inf)
        between = D[:border, border:]
        hits = np.concatenate([D[:border, :border].min(axis=1), D[border:, border:].min(axis=1)])
        misses = np.concatenate([between.min(axis=1), between.min(axis=0)])
        return 0.5 * float((np.sqrt(misses) - np.sqrt(hits)).sum())

    def fit() -> Vector:
        members, best, moved = np.zeros(rows.shape[1], dtype=bool), 0.0, True
        while moved:
            moved = False
            for j in range(rows.shape[1]):
                members[j] = not members[j]
                after = score(members)
                if after > best + 1e-12 * abs(best):
                    best, moved = after, True
                else:
                    members[j] = not members[j]
        return members.astype(np.float64)

    return fit


def _scaled(X: Vector) -> Vector:
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)
