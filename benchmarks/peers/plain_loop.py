"""An ensemble as one writes it: draw, fit, add; in a loop, or by joblib.

The members are weighters of this package, the subsets those of ``EnsembleWeighting``, so that the answer is
the same: what is compared is all that an ensemble does besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "plain loop"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = None
# Sums in another order.
TOLERANCE = 1e-9
DIFFERS = ""


def version() -> str:
    import joblib

    return f"joblib {joblib.__version__}"


def ensemble(
    X: NDArray[Any], y: NDArray[np.integer], member: str, n_estimators: int, n_jobs: int = 1
) -> Callable[[], NDArray[np.float64]]:
    from joblib import Parallel, delayed

    import highrelief

    weighter = getattr(highrelief, member)
    subsets = highrelief.EnsembleWeighting(
        highrelief.FisherScore(), n_estimators=n_estimators, random_state=0
    )
    samples = subsets.fit(X, y).estimators_samples_

    def weigh(rows: NDArray[np.integer]) -> NDArray[np.float64]:
        return weighter().fit(X[rows], y[rows]).feature_weights_

    def fit() -> NDArray[np.float64]:
        if n_jobs == 1:
            return sum(weigh(rows) for rows in samples) / n_estimators
        # Threads suit it better than joblib's processes, to which the table would have to go.
        weights = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(weigh)(rows) for rows in samples)
        return sum(weights) / n_estimators

    return fit
