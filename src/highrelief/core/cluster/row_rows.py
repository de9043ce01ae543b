"""Rows of a table that is worked on by blocks of rows.

Two blocks at a time are compared, each pair by one task, which serves both directions: it takes memory for
the two blocks and for the distances between them. What they find of their rows merges, in an order that is
fixed by the blocks. Here are kept numbers by sample, by class and by feature, never those of all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cached_property import cached_property
from ..neighborhood import Neighborhood
from ..rows import LocalRows
from .packed import ClusterPacked
from .row_blocks import RowBlocks
from .row_centered import CenteredRows
from .row_margins import RowMargins
from .row_nearest import RowNearestPass
from .row_soft import RowNeighborhoods, RowPasses


class RowRows(LocalRows):
    """Rows of a table that lie with workers."""

    _table: ClusterPacked

    def __init__(self, table: ClusterPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = RowBlocks(table.raw, table)

    @cached_property
    def _soft(self) -> RowPasses:
        return RowPasses(self._table, self._memory, self._blocks)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> RowNeighborhoods:
        """Who is near whom under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return RowNeighborhoods(self._soft, w, sigma)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | self._table.raw.execution()

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> RowNearestPass:
        return RowNearestPass(self._table, among, anchors, self._blocks)

    def sparse_margins(self) -> RowMargins:
        """Margins of single samples for few features, under weights that are mostly 0."""
        return RowMargins(self._table, self._memory, self._blocks)

    def centered(self) -> CenteredRows:  # type: ignore[override]
        """The rows, scaled, measured from their mean."""
        return CenteredRows(self._blocks)
