"""highrelief: this package."""

import numpy as np
from numpy.typing import NDArray

import highrelief

NAME = "highrelief"
VERSION = highrelief.__version__
# It works in the precision of the data: float32 here, float64 is measured next to it.
DTYPE = np.float32
# In float32, distances that differ by less than a millionth count as ties and share their weight. Each
# such pair at the k-th place moves a weight by at most 1/(2 k n): 1e-3 for n = 100, 1e-4 for n = 1,000.
TOLERANCE = 1e-3
MOST_SAMPLES = None


def relieff(X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int) -> NDArray[np.floating]:
    return highrelief.ReliefF(n_neighbors=n_neighbors, n_jobs=1).fit(X, y).feature_weights_
