"""scikit-learn's ``KNeighborsClassifier``: the neighbors alone, without hyperplanes.

Another rule with another answer: what HKNN costs beyond the search for neighbors.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "sklearn k-NN"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = None
TOLERANCE = None
DIFFERS = "another rule: votes of the neighbors"


def version() -> str:
    import sklearn

    return sklearn.__version__


def hknn(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int, alpha: float
) -> Callable[[], NDArray[np.floating]]:
    from sklearn.neighbors import KNeighborsClassifier

    half = len(X) // 2
    # In so many dimensions trees are of no use, as its documentation says.
    model = KNeighborsClassifier(n_neighbors, algorithm="brute").fit(X[:half], y[:half])
    return lambda: model.predict_proba(X[half:])
