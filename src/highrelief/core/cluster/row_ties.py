"""Neighbours that no list holds: where many are tied with the last one, their distances are found again.

One pass over the pairs of blocks counts them, so that it is known what each gets of the weight that they
share; whoever goes on with the neighbours of a pair of blocks finds them once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..neighborhood import Neighbors
from .row_blocks import RowBlock, Unread
from .row_candidates import BlockNeighbors, Wanted
from .row_pairs import Tied, directions


def n_cut(found: BlockNeighbors) -> int:
    """How many lists do not hold all neighbours."""
    return found.ties.lists.size


def tied_copies(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> list[NDArray[np.float64]]:
    """Copies of rows of the other block that are tied with the last neighbours of the anchors of each."""
    totals = [np.zeros(n_cut(each)) for each in (found, of_other) if each is not None]
    for side, tied in _tied_between(block, other, wanted, found, of_other):
        totals[side] += np.bincount(tied.tie, weights=tied.copies, minlength=totals[side].size)
    return totals


def counted(found: BlockNeighbors, copies: NDArray[np.float64] | None) -> BlockNeighbors:
    """The same neighbours, of whom those that are tied are counted."""
    return found if copies is None else replace(found, ties=found.ties._replace(copies=copies))


def tied_neighbors(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> Iterator[tuple[int, NDArray[np.int64], Neighbors]]:
    """Neighbours in the other block that no list holds, some at a time.

    Yields which of the two blocks the anchors are in, which of its anchors they are, and their neighbours as
    places in the table.
    """
    lists = [found, of_other]
    for side, tied in _tied_between(block, other, wanted, found, of_other):
        of_side = lists[side]
        assert of_side is not None
        yield side, *_of_their_anchors(tied, of_side)


def tied_neighbors_in(
    block: RowBlock, other: RowBlock, wanted: Wanted, found: BlockNeighbors
) -> Iterator[tuple[NDArray[np.int64], Neighbors]]:
    """The same for the anchors of the first block alone, whose neighbours are in another, or in itself."""
    for tied in _tied_in(block, other, wanted, found):
        yield _of_their_anchors(tied, found)


def _of_their_anchors(tied: Tied, found: BlockNeighbors) -> tuple[NDArray[np.int64], Neighbors]:
    """Which of the anchors have neighbours that no list holds, and these."""
    n_slots = found.count.shape[1]
    numbers = found.ties.lists[tied.tie]
    which, owner = np.unique(numbers // n_slots, return_inverse=True)
    numbers += (owner - which[owner]) * n_slots
    return which, _listed(found.anchors[which], n_slots, numbers, tied.rows, _shares(tied, found))


def neighbors_in(block: RowBlock, other: RowBlock, wanted: Wanted, found: BlockNeighbors) -> Neighbors:
    """All neighbours of the anchors of a block in another, or in itself, as places in the table."""
    held = within(found, other)
    parts = [(_numbers(held), held.rows, held.shares)]
    parts += [
        (found.ties.lists[tied.tie], tied.rows, _shares(tied, found))
        for tied in _tied_in(block, other, wanted, found)
    ]
    numbers, rows, shares = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(numbers, kind="stable")
    return _listed(found.anchors, found.count.shape[1], numbers[order], rows[order], shares[order])


def within(found: Neighbors, block: RowBlock | Unread) -> Neighbors:
    """Those of the neighbours that are in a block."""
    here = (found.rows >= block.first) & (found.rows < block.first + len(block))
    n_slots = found.count.shape[1]
    return _listed(found.anchors, n_slots, _numbers(found)[here], found.rows[here], found.shares[here])


def _numbers(found: Neighbors) -> NDArray[np.int64]:
    """The number of the list, of all anchors and slots, that every neighbour is in."""
    return np.repeat(np.arange(found.count.size), found.count.ravel())


def _listed(
    anchors: NDArray[np.int64],
    n_slots: int,
    numbers: NDArray[np.int64],
    rows: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> Neighbors:
    """Neighbours of anchors, given list by list."""
    count = np.bincount(numbers, minlength=anchors.size * n_slots)
    start = (np.cumsum(count) - count).reshape(-1, n_slots)
    count = count.reshape(-1, n_slots)
    return Neighbors(anchors, start, count, np.zeros_like(count), rows, shares)


def _shares(tied: Tied, found: BlockNeighbors) -> NDArray[np.float64]:
    """What each who is tied gets of the weight that they share."""
    ties = found.ties
    return ties.weight[tied.tie] * tied.copies / ties.copies[tied.tie]


def _tied_in(block: RowBlock, other: RowBlock, wanted: Wanted, found: BlockNeighbors) -> Iterator[Tied]:
    """Rows of another block, or of the same, that are tied with the last neighbours of the anchors of one."""
    if not n_cut(found):
        return
    # As pairs of blocks are always compared, the first not after the second.
    swapped = other.first < block.first
    pair = (other, block) if swapped else (block, None if other.first == block.first else other)
    direction = next(islice(directions(*pair, wanted), int(swapped), None))
    if direction is not None:
        yield from direction.tied(found.ties)


def _tied_between(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> Iterator[tuple[int, Tied]]:
    """Rows of the other block that are tied with the last neighbours of the anchors of each."""
    lists = [each for each in (found, of_other) if each is not None]
    if not any(n_cut(each) for each in lists):
        return
    for side, direction in enumerate(directions(block, other, wanted)):
        if direction is not None:
            for tied in direction.tied(lists[side].ties):
                yield side, tied
