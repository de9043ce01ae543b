"""A table in blocks of rows, scaled and measured from its mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .matrix import RowMatrix
from .once import once
from .row_blocks import RowBlock, RowBlocks


class CenteredRows:
    """What :class:`.centered_columns.CenteredColumns` offers, of rows that lie with workers."""

    def __init__(self, blocks: RowBlocks) -> None:
        self._blocks = blocks
        self.n_samples, self.n_features = blocks.source.shape

    @once
    def _held(self) -> RowMatrix:
        blocks = self._blocks
        n_columns = blocks.source.shape[1]
        sums = blocks.total(_sums, shared=np.zeros(n_columns))
        mean = sums / self.n_samples
        # What rounding has left of the mean, once more: the rows are then as near to it as those of an array.
        mean = mean + blocks.total(_sums, shared=mean) / self.n_samples
        work = blocks.work
        tasks = blocks.of_blocks(_centered, work.shared(mean))
        return RowMatrix(work.kept(tasks), [b - a for a, b in blocks.cuts], n_columns, work)

    def matrix(self) -> RowMatrix:
        """Something to multiply vectors with; it lies with the workers."""
        return self._held

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        return self._held.squares()

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """XᵀLX, (n_features, n_features), from the pairs of blocks that L links."""
        return self._held.scatter(L)

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_samples, n_samples), which are brought here."""
        return self._held.gram()

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""
        return weights.T @ self._held


def _scaled(block: RowBlock) -> NDArray[np.float64]:
    return block.common.scaling.apply(block.X).astype(np.float64, copy=False)


def _sums(block: RowBlock, center: NDArray[np.float64]) -> NDArray[np.float64]:
    return (_scaled(block) - center).sum(axis=0)


def _centered(block: RowBlock, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    return _scaled(block) - mean
