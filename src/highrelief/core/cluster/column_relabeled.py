"""Nearest neighbours under many labelings, by blocks of columns.

Distances are added up over all workers once; the lists of neighbours, and what each pair counts under each
labeling, are made here and sent to all workers, which weigh their own columns for all labelings at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels import nearest
from ..neighborhood import Neighborhood
from ..packed import Packed
from ..relabeled_rows import Pairs, RelabeledRows, added_distances, summed_pairs
from .column_blocks import ColumnBlock, ColumnBlocks
from .work import in_turn


class ColumnRelabeledRows(RelabeledRows):
    """Rows, whose columns lie with workers, under many labelings."""

    def __init__(
        self,
        table: Packed,
        among: Neighborhood,
        class_weights: NDArray[np.float64] | None,
        blocks: ColumnBlocks,
    ) -> None:
        self._blocks = blocks
        super().__init__(table, among, class_weights)

    def _distances(self) -> NDArray[np.float64]:
        (D,) = self._blocks.total(_distances, shared=self._metric)
        return np.sqrt(D) if self._metric == nearest.EUCLIDEAN else np.array(D)

    def _summed(self, pairs: Pairs) -> NDArray[np.floating]:
        return self._blocks.joined(_summed, shared=(pairs, self._metric == nearest.SQUARED_EUCLIDEAN))


# What workers do


@in_turn
def _distances(block: ColumnBlock, metric: int) -> tuple[NDArray[np.float64]]:
    return (added_distances(block.table, metric),)


@in_turn
def _summed(block: ColumnBlock, given: tuple[Pairs, bool]) -> NDArray[np.floating]:
    pairs, squared = given
    return summed_pairs(block.table, pairs, squared)
