"""scikit-rebate: NumPy and SciPy, float64, https://github.com/EpistasisLab/scikit-rebate.

``categorical_features=[]`` spares it the search for discrete columns, which there are none of here.
"""

from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray
from skrebate import ReliefF

NAME = "skrebate"
VERSION = version("skrebate")
DTYPE = np.float64
TOLERANCE = 1e-9
# Twenty seconds per fit at 1,000 × 1,000.
MOST_SAMPLES = 1000


def relieff(X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int) -> NDArray[np.floating]:
    selector = ReliefF(n_neighbors=n_neighbors, categorical_features=[], n_jobs=1)
    return selector.fit(X, y).feature_importances_
