"""scikit-rebate: NumPy and SciPy, float64, https://github.com/EpistasisLab/scikit-rebate.

``categorical_features=[]`` spares it the search for discrete columns; numbers are what everyone is given.
"""

from collections.abc import Callable
from importlib.metadata import version as installed

import numpy as np
from numpy.typing import NDArray

NAME = "skrebate"
INSTALL = "pip install --requirement benchmarks/requirements/bench.txt"
VENV = None
DTYPES = ("float64",)
# 40 s for 2,000 × 1,000, minutes beyond.
MOST_ELEMENTS = 4e9
TOLERANCE = 1e-9
DIFFERS = ""


def version() -> str:
    import skrebate  # noqa: F401

    return installed("skrebate")


def relieff(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    from skrebate import ReliefF

    settings = {"n_neighbors": n_neighbors, "categorical_features": [], "n_jobs": 1}
    return lambda: ReliefF(**settings).fit(X, y).feature_importances_


def surf(X: NDArray[np.floating], y: NDArray[np.integer], method: str) -> Callable[[], NDArray[np.floating]]:
    import skrebate

    kind = getattr(skrebate, method.replace("Star", "star"))
    return lambda: kind(categorical_features=[], n_jobs=1).fit(X, y).feature_importances_
