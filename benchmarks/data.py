"""The tables that the contenders are measured on."""

import numpy as np
from numpy.typing import DTypeLike, NDArray

N_INFORMATIVE = 20


def continuous_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Two classes of equal size, independent normal features; in 20 of them class 1 is shifted by 0.8.

    The values are those of float32 in either precision, so that everyone weighs the same table.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % 2)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :N_INFORMATIVE] += 0.8 * y[:, np.newaxis]
    return X.astype(np.float32).astype(dtype), y
