"""The one place where the benchmarks reach behind the public names: a pass of the engine by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def distance_pass(X: NDArray[np.floating]) -> Callable[[], NDArray[np.floating]]:
    """A call that fills, and returns, the matrix of all Manhattan distances of the rows of X, in order.

    X has columns from 0 to 1, and is laid out beforehand; what is on the diagonal does not matter.
    """
    from highrelief.core.packed import Packed
    from highrelief.core.scaling import Scaling
    from highrelief.kernels import packing, soft

    n_samples, n_features = X.shape
    one_class = np.zeros(n_samples, dtype=np.int64)
    table = Packed(X, one_class, 1, scaling=Scaling.none(n_features, X.dtype))
    # A column is laid out from whichever end is nearer to its values; the distances are the same.
    D = packing.aligned_zeros((table.n_rows, table.n_rows), X.dtype)
    sums, far = table.row_sums, soft.out_of_reach(X.dtype)

    def run() -> NDArray[np.floating]:
        soft.fill_distances(table.X, sums, far, 0, table.n_tiles, D)
        return D[:n_samples, :n_samples]

    return run
