"""Which features are real, and how that was decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: What is bounded: the expected share of false features among those kept, or the probability of any.
CONTROLS = ("fdr", "fwer")


@dataclass(frozen=True)
class Decision:
    """Which features are kept, and the evidence."""

    #: (n_features,) kept or not.
    support: NDArray[np.bool_]
    #: (n_features,) what was compared: weights, selection probabilities, or weights minus those of knockoffs.
    statistic: NDArray[np.float64]
    pvalues: NDArray[np.float64] | None = None
    qvalues: NDArray[np.float64] | None = None
    selection_probability: NDArray[np.float64] | None = None
    #: The least value of the statistic that is kept; inf: none is.
    threshold: float = np.inf
