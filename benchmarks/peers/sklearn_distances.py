"""scikit-learn's ``pairwise_distances``: only the distances, without any weights."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "sklearn pairwise_distances"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = 4e9
TOLERANCE = 1e-5
DIFFERS = ""


def version() -> str:
    import sklearn

    return sklearn.__version__


def distances(X: NDArray[np.floating], y: NDArray[np.integer]) -> Callable[[], NDArray[np.floating]]:
    from sklearn.metrics import pairwise_distances

    return lambda: pairwise_distances(X, metric="manhattan", n_jobs=1)
