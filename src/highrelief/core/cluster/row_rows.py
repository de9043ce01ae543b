"""Rows of a table that is worked on by blocks of rows.

Two blocks at a time are compared, each pair by one task, which serves both directions: it takes memory for
the two blocks and for the distances between them. What they find of their rows merges, in an order that is
fixed by the blocks. Here are kept numbers by sample, by class and by feature, never those of all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..neighborhood import Neighborhood
from ..rows import LocalRows
from .packed import ClusterPacked
from .row_blocks import RowBlocks
from .row_nearest import RowNearestPass


class RowRows(LocalRows):
    """Rows of a table that lie with workers."""

    _table: ClusterPacked

    def __init__(self, table: ClusterPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = RowBlocks(table.raw, table)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | self._table.raw.execution()

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> RowNearestPass:
        return RowNearestPass(self._table, among, anchors, self._blocks)
