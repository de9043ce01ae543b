"""How the weight of a neighbourhood is divided among its candidates, by their exact distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import nearest, shares
from .columns import Columns
from .neighborhood import Neighbors
from .threads import run_all


class Division(NamedTuple):
    """How the weight of a slot is divided among its candidates; see :func:`.kernels.shares.share`."""

    copies: NDArray[np.float64]
    k: float
    rank_weights: NDArray[np.float64]
    uniform: bool
    exact: bool
    euclidean: bool
    tolerance: float

    def divide(
        self,
        found: Neighbors,
        exact: NDArray[np.float64],
        ranges: list[tuple[int, int]] | None = None,
        n_threads: int = 1,
    ) -> None:
        """Write the shares of the candidates, whose exact distances are given."""
        lists = found.start, found.count, found.sure, found.rows, exact, found.shares

        def divide(a: int, b: int) -> None:
            shares.share(a, b, found.anchors, *self, *lists)

        run_all(divide, [(0, found.anchors.size)] if ranges is None else ranges, n_threads)


def added_exact(
    columns: Columns,
    position: NDArray[np.int64],
    found: Neighbors,
    metric: int,
    ranges: list[tuple[int, int]] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Exact distances of the candidates that are not sure, over the columns; squares for Euclidean ones."""
    exact = np.zeros(found.rows.size)
    lists = found.start, found.count, found.sure, found.rows, exact
    for array, first, which in columns.blocks():
        block = (array, first, columns.distance_factors[which], metric, position, found.anchors)

        def measure(a: int, b: int, block: tuple[Any, ...] = block) -> None:
            nearest.add_exact(*block, a, b, *lists)

        run_all(measure, [(0, found.anchors.size)] if ranges is None else ranges, n_threads)
        del array, block, measure  # before the next block is copied
    return exact
