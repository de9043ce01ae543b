"""The one place where the benchmarks reach behind the public names: a pass of the engine by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Matrix:
    """Distances as a pass leaves them; laid out as a matrix, in the order of the rows, only if asked for."""

    def __init__(self, lay_out: Callable[[], NDArray[Any]]) -> None:
        self._lay_out = lay_out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        matrix = self._lay_out()
        return matrix if dtype is None else matrix.astype(dtype)


def distance_pass(X: NDArray[np.floating]) -> Callable[[], Matrix]:
    """All Manhattan distances as I-RELIEF takes them: in floats, by tiles on and above the diagonal.

    X has columns from 0 to 1, and is laid out beforehand; what is on the diagonal does not matter.
    """
    from highrelief._engine.layout import Packed
    from highrelief._engine.missing_pairs import MissingCorrection
    from highrelief._engine.scaling import Scaling
    from highrelief._kernels import distances, packing, soft

    n_samples, n_features = X.shape
    one_class = np.zeros(n_samples, dtype=np.int64)
    table = Packed(X, one_class, 1, scaling=Scaling.none(n_features, X.dtype))
    # A column is laid out from whichever end is nearer to its values; the distances are the same.
    values, sums, far = table.X, table.row_sums, soft.masked_distance(X.dtype)
    weights = np.ones(values.shape[1], X.dtype)
    correction = MissingCorrection.of(table).under(np.ones(n_features))  # nothing is missing
    tile = distances.TILE
    tiles = packing.aligned_zeros((table.n_tiles, tile, tile), X.dtype)

    def lay_out() -> NDArray[np.floating]:
        width = -(-table.n_rows // tile) * tile
        D = np.empty((width, width), X.dtype)
        for t in range(table.n_tiles):
            i, j = distances.tile_corner(t)
            D[i : i + tile, j : j + tile] = tiles[t]
            D[j : j + tile, i : i + tile] = tiles[t].T
        return D[:n_samples, :n_samples]

    def run() -> Matrix:
        batches = (table.batches, table.within)
        soft.fill_distances(values, weights, sums, correction, far, *batches, 0, table.n_tiles, tiles)
        return Matrix(lay_out)

    return run


def grid_pass(X: NDArray[np.floating]) -> Callable[[], Matrix]:
    """The same as ReliefF takes them: in whole numbers, rounded beforehand to a grid of 16 bits."""
    from highrelief._engine.columns import Columns
    from highrelief._engine.quantized import QuantizedDistances, find_levels, plan_columns
    from highrelief._engine.scaling import Scaling

    n_samples, n_features = X.shape
    n_rows = -(-n_samples // 4) * 4
    position = np.concatenate([np.arange(n_samples), np.full(n_rows - n_samples, -1)])
    columns = Columns(X, Scaling.none(n_features, X.dtype))
    numbers = QuantizedDistances(columns, position, 1, plan_columns(columns, *find_levels(columns, 1), 1e-6))
    piece = numbers.piece(0, 1)
    D = np.zeros((n_rows, -(-n_rows // 64) * 64), np.uint32)

    def run() -> Matrix:
        numbers.add_tiles(piece, (0, n_rows), (0, n_rows), D, D)
        return Matrix(lambda: D[:n_samples, :n_samples] * numbers.plan.step)

    return run
