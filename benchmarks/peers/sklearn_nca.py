"""scikit-learn's neighborhood components analysis: learns a metric, as I-RELIEF does, by gradient steps.

Another model with another answer (a matrix, not a weight per feature): the time is for orientation.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "sklearn NCA"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 1e8
TOLERANCE = None
DIFFERS = "another model: learns a matrix"


def version() -> str:
    import sklearn

    return sklearn.__version__


def lfe(
    X: NDArray[np.floating], y: NDArray[np.integer], n_components: int, n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis
    from sklearn.preprocessing import minmax_scale

    scaled = minmax_scale(X)

    def fit() -> NDArray[np.floating]:
        components = NeighborhoodComponentsAnalysis(n_components, random_state=0).fit(scaled, y).components_
        return (components**2).sum(axis=0)

    return fit


def irelief(
    X: NDArray[np.floating], y: NDArray[np.integer], sigma: float, max_iter: int
) -> Callable[[], NDArray[np.floating]]:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis
    from sklearn.preprocessing import minmax_scale

    scaled = minmax_scale(X)
    # init="identity" begins as I-RELIEF does, with all features alike, and spares it a decomposition.
    settings = {"max_iter": max_iter, "tol": 0.0, "init": "identity", "random_state": 0}

    def fit() -> NDArray[np.floating]:
        components = NeighborhoodComponentsAnalysis(**settings).fit(scaled, y).components_
        return np.sqrt((components**2).sum(axis=0))

    return fit
