"""fast-select: Numba, float32, https://github.com/GavinLynch04/FastSelect.

Its CPU kernel takes one pass per sample and keeps no distance matrix. ``discrete_limit=0`` spares it the
search for discrete columns, which there are none of here.
"""

from importlib.metadata import version

import numpy as np
from fast_select import ReliefF
from numpy.typing import NDArray

NAME = "fast-select"
VERSION = version("fast-select")
DTYPE = np.float32
TOLERANCE = 1e-5
MOST_SAMPLES = None


def relieff(X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int) -> NDArray[np.floating]:
    selector = ReliefF(n_neighbors=n_neighbors, backend="cpu", discrete_limit=0, n_jobs=1)
    return selector.fit(X, y).feature_importances_
