"""Margins of anchors at their neighbours: of two blocks of rows, or of one with all others in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import nearest
from ..columns import Columns
from ..neighborhood import Neighbors
from .row_blocks import RowBlock, Unread, below_each_other, both, with_each
from .row_candidates import BlockNeighbors, Wanted
from .row_ties import tied_neighbors, tied_neighbors_in, within

#: What tasks make of the margins of the anchors of a block.
OfRows = Callable[[RowBlock, NDArray[np.float64], Neighbors, NDArray[np.float64]], NDArray[np.float64]]


class Margins(NamedTuple):
    """What makes margins of neighbours, for all tasks of a pass."""

    #: Sign and weight of hits and misses, by class of the anchor and slot.
    slot_factors: NDArray[np.float64]
    #: (n_classes,) how much a class counts.
    class_weights: NDArray[np.float64]
    squared: bool
    n_features: int


class Given(NamedTuple):
    """What tasks are given that make margins of pairs of blocks."""

    margins: Margins
    #: Which slots count; None: all.
    used: NDArray[np.bool_] | None
    #: What was looked for, if lists are cut.
    cut: Wanted | None


class _Side(NamedTuple):
    """Anchors of one block, and some of their neighbours in another; as rows of both."""

    #: Which of the blocks the anchors are in, and which of its anchors they are.
    of: int
    which: NDArray[np.int64] | slice
    found: Neighbors


class _Pair:
    """Two blocks one below the other, or one, to be compared."""

    def __init__(self, block: RowBlock, other: RowBlock | None, given: Given) -> None:
        self._block, self._other, self._given = block, other, given
        self._blocks = both(block, other)
        self._columns = Columns(below_each_other(self._blocks), block.common.scaling, block.common.ranges)
        self._codes = np.concatenate([each.codes for each in self._blocks]).astype(np.int64)
        copies = [np.ones(len(each)) if each.copies is None else each.copies for each in self._blocks]
        self._weights = np.concatenate(copies) * given.margins.class_weights[self._codes]
        # The rows of the second stand behind those of the first.
        self._first = [block.first] if other is None else [block.first, other.first - len(block)]

    def sides(self, found: BlockNeighbors, of_other: BlockNeighbors | None) -> Iterator[_Side]:
        """Both directions, or the one that a single block has: neighbours in lists, and those in none."""
        for of, lists in enumerate([found] if of_other is None else [found, of_other]):
            yield self._side(of, slice(None), within(lists, self._blocks[-1 - of]))
        if self._given.cut is not None:
            pair = self._block, self._other, self._given.cut, found, of_other
            for of, which, neighbors in tied_neighbors(*pair):
                yield self._side(of, which, neighbors)

    def sides_of_first(self, found: BlockNeighbors) -> Iterator[_Side]:
        """The anchors of the first block with their neighbours in the second, which may be itself."""
        assert self._other is not None
        yield self._side(0, slice(None), within(found, self._other))
        if self._given.cut is not None:
            for which, neighbors in tied_neighbors_in(self._block, self._other, self._given.cut, found):
                yield self._side(0, which, neighbors)

    def _side(self, of: int, which: NDArray[np.int64] | slice, found: Neighbors) -> _Side:
        anchors, rows = found.anchors - self._first[of], found.rows - self._first[-1 - of]
        used = self._given.used
        count = found.count if used is None else found.count * used
        return _Side(of, which, replace(found, anchors=anchors, rows=rows, count=count))

    def add_margins(self, side: _Side, out: NDArray[np.float64], *, by_row: bool) -> None:
        """Add the margins at the neighbours to ``out``, in the units of the blocks of columns."""
        found, columns, given = side.found, self._columns, self._given.margins
        position = np.arange(columns.n_samples)
        for a, b in columns.cuts():
            array, first = columns.precise_block(a, b)
            margins = np.zeros((found.anchors.size if by_row else 1, b - a))
            nearest.margins(
                array,
                first,
                b - a,
                given.squared,
                position,
                found.anchors,
                0,
                found.anchors.size,
                self._codes,
                self._weights,
                given.slot_factors,
                found.start,
                found.count,
                found.rows,
                found.shares,
                by_row,
                False,
                margins,
            )
            out[side.which if by_row else slice(None), a:b] += margins


def sums_between(
    block: RowBlock,
    other: RowBlock | None,
    given: Given,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> NDArray[np.float64]:
    """Σ s·z of the anchors of both blocks, as far as their neighbours are in the other."""
    total = np.zeros((1, block.X.shape[1]))
    pair = _Pair(block, other, given)
    for side in pair.sides(found, of_other):
        pair.add_margins(side, total, by_row=False)
    return total


def rows_between(
    block: RowBlock,
    other: RowBlock | None,
    given: Given,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> list[NDArray[np.float64]]:
    """Margins of the anchors of each block, as far as their neighbours are in the other and in some slots."""
    lists = [each for each in (found, of_other) if each is not None]
    rows = [np.zeros((each.anchors.size, block.X.shape[1])) for each in lists]
    pair = _Pair(block, other, given)
    for side in pair.sides(found, of_other):
        pair.add_margins(side, rows[side.of], by_row=True)
    return rows


def on_rows(
    block: Unread,
    blocks: list[Unread],
    given: Given,
    found: BlockNeighbors,
    function: OfRows,
    argument: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What a function makes of the margins of the anchors of a block: other blocks are read in turn."""
    rows = np.zeros((found.anchors.size, given.margins.n_features))
    # Where lists are cut, there may be neighbours in every block.
    cut = given.cut is not None and found.anchors.size > 0
    own = None
    for own, other in with_each(block, [each for each in blocks if cut or within(found, each).rows.size]):
        pair = _Pair(own, other, given)
        for side in pair.sides_of_first(found):
            pair.add_margins(side, rows, by_row=True)
        del pair  # before the next block is read
    return function(own or block.read(), argument, found, rows)


# What is made of margins, by block


def in_rows(
    block: RowBlock, factors: NDArray[np.float64], found: Neighbors, margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Margins of all rows of a block, scaled; 0 for who is no anchor."""
    rows = np.zeros(block.X.shape)
    rows[found.anchors - block.first] = margins * factors
    return rows


def under_weights(
    block: RowBlock, scaled: NDArray[np.float64], found: Neighbors, margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ_j of scaled weights times margins, of all rows of a block; 0 for who is no anchor."""
    under = np.zeros(len(block))
    under[found.anchors - block.first] = margins @ scaled
    return under


def moments(
    block: RowBlock, class_weights: NDArray[np.float64], found: Neighbors, z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ s·z, Σ s²z and Σ s²z² over the anchors of a block."""
    anchors = found.anchors - block.first
    s = class_weights[block.codes[anchors]]
    if block.copies is not None:
        s = s * block.copies[anchors]
    return np.stack([s @ z, s**2 @ z, s**2 @ z**2])
