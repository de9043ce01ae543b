"""scikit-learn's principal component analysis by a full decomposition: what extraction may cost.

Another model, without classes or neighbors: only the time is compared.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "sklearn PCA"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = None
TOLERANCE = None
DIFFERS = "another model: no classes"


def version() -> str:
    import sklearn

    return sklearn.__version__


def lfe(
    X: NDArray[np.floating], y: NDArray[np.integer], n_components: int, n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    from sklearn.decomposition import PCA

    def fit() -> NDArray[np.floating]:
        return (PCA(n_components, svd_solver="full").fit(X).components_ ** 2).sum(axis=0)

    return fit
