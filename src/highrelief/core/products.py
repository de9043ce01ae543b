"""Products that arrays answer, and matrices that lie with workers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .threads import one_blas_thread


def weighted_gram(A: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """AᵀCA with the diagonal matrix C of weights ≥ 0."""
    if not isinstance(A, np.ndarray):
        return A.weighted_gram(weights)
    bent = np.sqrt(weights)[:, np.newaxis] * A
    with one_blas_thread():
        return bent.T @ bent  # BLAS computes half of a product with itself
