"""How far the neighbours of a sample are from each other, by blocks of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Columns
from ..neighbor_pairs import mean_gaps
from ..neighborhood import HITS, MISSES, Neighbors
from ..packed import Packed
from .row_blocks import RowBlock, Unread, below_each_other, with_each
from .row_candidates import BlockNeighbors, Wanted
from .row_ties import neighbors_in, within


def picked(block: RowBlock, found: Neighbors) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The rows of a block that are neighbours, and their places in the table."""
    wanted = np.unique(within(found, block).rows)
    return wanted, block.X[wanted - block.first]


def gaps(
    block: RowBlock, found: Neighbors, picked: list[tuple[NDArray[np.int64], NDArray[Any]]]
) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of all rows of a block; 0 for who is no anchor."""
    gaps = np.zeros(len(block))
    if not found.anchors.size:
        return gaps
    samples = np.concatenate([places for places, _ in picked])
    X = np.concatenate([rows for _, rows in picked])
    among = replace(found, rows=np.searchsorted(samples, found.rows))
    gaps[found.anchors - block.first] = _mean_gaps(block, X, among)
    return gaps


def gaps_between(
    block: RowBlock, found: BlockNeighbors, of_hits: RowBlock, of_misses: RowBlock, wanted: Wanted
) -> NDArray[np.float64]:
    """What hits in one block and misses in another add to E‖miss − hit‖₁ of all rows of a block."""
    gaps = np.zeros(len(block))
    if not found.anchors.size:
        return gaps
    hits = neighbors_in(block, of_hits, wanted, found).without(MISSES)
    misses = neighbors_in(block, of_misses, wanted, found).without(HITS)
    # The misses, and the rows that they are in, stand behind the hits.
    among = Neighbors(
        found.anchors,
        np.stack([hits.start[:, HITS], hits.rows.size + misses.start[:, MISSES]], axis=1),
        hits.count + misses.count,
        hits.sure,
        np.concatenate([hits.rows - of_hits.first, misses.rows - of_misses.first + len(of_hits)]),
        np.concatenate([hits.shares, misses.shares]),
    )
    gaps[found.anchors - block.first] = _mean_gaps(block, below_each_other([of_hits, of_misses]), among)
    return gaps


def gaps_in_turn(
    block: Unread, blocks: list[Unread], cut: Wanted | None, found: BlockNeighbors
) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of all rows of a block: others are read in turn."""
    own = block.read()
    if cut is None:
        used = [each for each in blocks if within(found, each).rows.size]
        return gaps(own, found, [picked(each.read(), found) for each in used])
    return sum(
        (
            gaps_between(own, found, of_hits, of_misses, cut)
            for hits in blocks
            for of_hits, of_misses in with_each(hits, blocks)
        ),
        np.zeros(len(own)),
    )


def _mean_gaps(block: RowBlock, X: NDArray[Any], among: Neighbors) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of anchors whose neighbours are rows of X."""
    scaling, ranges = block.common.scaling, block.common.ranges
    # All of one class, so that they stand in the layout as they do here.
    table = Packed(X, np.zeros(len(X), np.int64), 1, scaling=scaling, ranges=ranges)
    return mean_gaps(table, Columns(X, scaling, ranges), among)
