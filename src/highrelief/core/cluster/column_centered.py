"""A table in blocks of columns, scaled and measured from its mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..centered_columns import CenteredColumns
from .column_blocks import ColumnBlock, ColumnBlocks
from .matrix import ColumnMatrix
from .once import once


class CenteredBlocks:
    """What :class:`.centered_columns.CenteredColumns` offers, of columns that lie with workers."""

    def __init__(self, blocks: ColumnBlocks) -> None:
        self._blocks = blocks
        self.n_samples, self.n_features = blocks.source.shape

    @once
    def _held(self) -> ColumnMatrix:
        return self._blocks.matrix(_whole, n_rows=self.n_samples)

    def matrix(self) -> ColumnMatrix:
        """Something to multiply vectors with; it lies with the workers."""
        return self._held

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        (squares,) = self._blocks.total(_squares)
        return squares

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """XᵀLX, (n_features, n_features), from all pairs of blocks."""
        return self._held.scatter(L)

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_samples, n_samples)."""
        (gram,) = self._blocks.total(_gram)
        return gram

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""
        return self._blocks.joined(_combined, shared=weights)


def _centered(block: ColumnBlock) -> CenteredColumns:
    return CenteredColumns(block.X, block.scaling, 1)


def _whole(block: ColumnBlock, shared: Any) -> NDArray[np.float64]:
    return _centered(block).whole()


def _squares(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (_centered(block).squares(),)


def _gram(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (_centered(block).gram(),)


def _combined(block: ColumnBlock, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return _centered(block).combined(weights)
