"""skfeature-chappers, the maintained fork of scikit-feature: NumPy, https://github.com/jundongl/scikit-feature.

It neither scales nor divides by the number of samples: it is given the scaled table, and its sums are
divided. For more than two classes it divides by the prior where the formula multiplies; two are used here.
"""

from collections.abc import Callable
from importlib.metadata import version as installed

import numpy as np
from numpy.typing import NDArray

NAME = "skfeature"
INSTALL = "pip install --requirement benchmarks/requirements/bench.txt"
VENV = None
DTYPES = ("float64",)
MOST_ELEMENTS = 2e10
TOLERANCE = 1e-9
DIFFERS = ""


def version() -> str:
    import skfeature  # noqa: F401

    return installed("skfeature-chappers")


def relieff(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    from skfeature.function.similarity_based.reliefF import reliefF

    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1.0)
    return lambda: reliefF(scaled, y, mode="raw", k=n_neighbors) / len(y)
