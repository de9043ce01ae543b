"""Rows of a table that is worked on by blocks of columns.

Distances add up over columns. Each worker finds the share of its columns in the distances of all pairs; the
shares are added up, neighbourhoods are formed once, by one of the workers, and sent to the others, and each
weighs its own columns. The table itself is never moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cached_property import cached_property
from ..neighborhood import Neighborhood
from ..rows import LocalRows
from .column_blocks import ColumnBlocks
from .column_centered import CenteredBlocks
from .column_margins import ColumnMargins
from .column_nearest import ColumnNearestPass
from .column_relabeled import ColumnRelabeledRows
from .column_soft import ColumnNeighborhoods, ColumnPasses
from .packed import ClusterPacked


class ColumnRows(LocalRows):
    """Rows of a table whose columns lie with workers."""

    _table: ClusterPacked

    def __init__(self, table: ClusterPacked, memory: float) -> None:
        super().__init__(table, memory)
        self._blocks = ColumnBlocks(table.raw, table)

    @cached_property
    def _soft(self) -> ColumnPasses:
        return ColumnPasses(self._table, self._memory, self._blocks)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> ColumnNeighborhoods:
        """Who is near whom under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return ColumnNeighborhoods(self._soft, w, sigma)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | self._table.raw.execution()

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> ColumnNearestPass:
        return ColumnNearestPass(self._table, among, anchors, self._blocks)

    def relabeled(
        self, among: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> ColumnRelabeledRows:
        """The nearest neighbours of all samples under many labelings; every sample once, and complete."""
        return ColumnRelabeledRows(self._table, among, class_weights, self._blocks)

    def sparse_margins(self) -> ColumnMargins:
        """Margins of single samples for few features, under weights that are mostly 0."""
        return ColumnMargins(self._table, self._memory, self._blocks)

    def centered(self) -> CenteredBlocks:  # type: ignore[override]
        """The rows, scaled, measured from their mean."""
        return CenteredBlocks(self._blocks)
