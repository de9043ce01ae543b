"""How features are made comparable before distances are taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: What ``scale`` may be.
SCALES = ("range", "standard", None)


def feature_scaling(
    X: NDArray[np.floating], scale: str | None, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Offset and divisor of every feature, in the precision of X.

    ``"range"``: (x − min)/(max − min), to [0, 1]. ``"standard"``: (x − mean)/standard deviation, where
    ``weights`` counts copies of the samples. None: as it is. A constant feature is divided by 1, so that
    it becomes constant in the new scale too and differs nowhere.
    """
    n_features = X.shape[1]
    offset = np.zeros(n_features, dtype=X.dtype)
    divisor = np.ones(n_features, dtype=X.dtype)
    if scale is None:
        return offset, divisor
    low, high = X.min(axis=0), X.max(axis=0)
    if scale == "range":
        return low, np.where(high > low, high - low, divisor)
    mean = np.average(X, axis=0, weights=weights).astype(np.float64)
    variance = np.average((X - mean) ** 2, axis=0, weights=weights)
    spread = np.sqrt(variance).astype(X.dtype)
    constant = (high <= low) | (spread == 0)
    return np.where(constant, low, mean).astype(X.dtype), np.where(constant, divisor, spread)
