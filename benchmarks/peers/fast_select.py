"""fast-select: Numba, float32, https://github.com/GavinLynch04/FastSelect.

Its CPU kernel takes one pass per sample and keeps no distance matrix.
"""

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "fast-select"
INSTALL = "pip install --requirement benchmarks/requirements/bench.txt"
VENV = None
DTYPES = ("float32",)
MOST_ELEMENTS = None
# Its distances are sums in float32: where two differ by less than they are off, the other one is taken, which
# moves a weight by at most 1/(k n), 1e-3 for n = 100 and k = 10, where the largest weight is 0.05.
TOLERANCE = 2e-2
DIFFERS = ""


def version() -> str:
    import fast_select  # noqa: F401

    return installed("fast-select")


def relieff(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    """All features as numbers: ``discrete_limit=0`` spares it the search for discrete columns."""
    return _relieff(X, y, n_neighbors, discrete_limit=0)


def relieff_discrete(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    """As it comes: columns of at most 10 values are discrete, two values differ or do not.

    For genotypes that is another distance: 0 and 2 are as far apart as 0 and 1.
    """
    return _relieff(X, y, n_neighbors, discrete_limit=10)


def surf(X: NDArray[np.floating], y: NDArray[np.integer], method: str) -> Callable[[], NDArray[np.floating]]:
    """All features as numbers. Its mean distance leaves out that of a sample to itself, here 0 is counted."""
    import fast_select

    settings = {"use_star": method.endswith("Star"), "backend": "cpu", "n_jobs": 1, "discrete_limit": 0}
    kind = getattr(fast_select, method.removesuffix("Star"))
    return lambda: kind(**settings).fit(X, y).feature_importances_


def _relieff(X: NDArray[Any], y: NDArray[Any], n_neighbors: int, discrete_limit: int) -> Any:
    from fast_select import ReliefF

    settings = {"n_neighbors": n_neighbors, "backend": "cpu", "n_jobs": 1, "discrete_limit": discrete_limit}
    return lambda: ReliefF(**settings).fit(X, y).feature_importances_
