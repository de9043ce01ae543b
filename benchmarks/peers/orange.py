"""Orange3: C++, float64, https://orangedatamining.com.

It draws its anchors with replacement; as many draws as samples are as much work as all of them once, but not
the same sum. By default it draws 50.
"""

from collections.abc import Callable
from importlib.metadata import version as installed

import numpy as np
from numpy.typing import NDArray

NAME = "Orange3"
INSTALL = "make .venv-bench-orange/.installed"
VENV = "orange"
DTYPES = ("float64",)
MOST_ELEMENTS = 4e9
TOLERANCE = None
DIFFERS = "draws its anchors at random"


def version() -> str:
    import Orange.preprocess.score  # noqa: F401

    return installed("Orange3")


def relieff(
    X: NDArray[np.floating], y: NDArray[np.integer], n_neighbors: int
) -> Callable[[], NDArray[np.floating]]:
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    from Orange.preprocess.score import ReliefF

    features = [ContinuousVariable(f"x{j}") for j in range(X.shape[1])]
    domain = Domain(features, DiscreteVariable("y", values=[str(c) for c in np.unique(y)]))
    table = Table.from_numpy(domain, X, y.astype(float))
    # `score_data` is the scorer without Orange's search for columns to drop.
    scorer = ReliefF(n_iterations=len(y), k_nearest=n_neighbors, random_state=0)
    return lambda: np.asarray(scorer.score_data(table, None))
