"""Who may be among the nearest, between two blocks of rows, and how such lists merge.

A list holds, of every anchor and slot, all candidates up to the k-th distance and those tied with it. The
candidates of several lists that are beyond the k-th of all of them leave; who is tied with it stays. Hence
lists merge in any order to the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import candidates, nearest, shares
from ..distances import Distances
from ..division import added_exact
from ..float_distances import ProductDistances, TileDistances
from ..neighbor_search import FEW_ANCHORS, distance_array
from ..neighborhood import Neighbors
from ..whole_numbers import Plan, WholeNumbers
from .row_blocks import RowBlock, Stack

#: How distances are found: as whole numbers by a plan, or in floats.
Kind = Plan | type[ProductDistances] | type[TileDistances]


@dataclass(frozen=True)
class Wanted:
    """Which neighbours are looked for, for all tasks of a search."""

    kind: Kind
    metric: int
    tolerance: float
    #: Weights of the ranks 1 … k, and whether they are all the same.
    rank_weights: NDArray[np.float64]
    uniform: bool
    #: Whether the misses of all classes are one set.
    pooled: bool
    n_slots: int
    #: (n_samples,) who is an anchor, and how often each counts.
    chosen: NDArray[np.bool_]
    copies: NDArray[np.float64]

    @property
    def k(self) -> int:
        """How many neighbours."""
        return self.rank_weights.size

    def distances(self, stack: Stack) -> Distances:
        """Distances between the rows of a stack."""
        if isinstance(self.kind, Plan):
            return WholeNumbers(stack.columns, stack.position, self.tolerance, 1, self.kind)
        return self.kind(stack.columns, stack.position, 1)

    def doubt(self, distances: Distances) -> tuple[NDArray[np.float64], float, float]:
        """What distances may be off by, in their units and relatively, and which of them count as equal."""
        if distances.exact:
            return distances.off, 0.0, 0.0
        # Squares differ, relatively, by twice as much as what they are squares of.
        twice = 2.0 if self.metric == nearest.EUCLIDEAN else 1.0
        return distances.off, distances.relative, twice * self.tolerance


class Candidates(NamedTuple):
    """Candidates of some anchors, anchor by anchor and slot by slot; all are places in the table."""

    anchors: NDArray[np.int64]
    #: (n_anchors, n_slots) how many there are.
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    #: Their distances.
    exact: NDArray[np.float64]

    @property
    def start(self) -> NDArray[np.int64]:
        """Where the candidates of every anchor and slot begin."""
        return (np.cumsum(self.counts) - self.counts.ravel()).reshape(self.counts.shape)

    @property
    def lists(self) -> NDArray[np.int64]:
        """The number of the list, of all anchors and slots, that every candidate is in."""
        return np.repeat(np.arange(self.counts.size), self.counts.ravel())

    def kept(self, which: NDArray[np.bool_]) -> Candidates:
        """Some of the candidates."""
        counts = np.bincount(self.lists[which], minlength=self.counts.size).reshape(self.counts.shape)
        return Candidates(self.anchors, counts, self.rows[which], self.exact[which])

    def shared(self, wanted: Wanted, rank_weights: NDArray[np.float64], uniform: bool) -> NDArray[np.float64]:
        """What each candidate gets of a weight of 1 that those of an anchor and slot share."""
        found = np.zeros(self.rows.size)
        shares.share(
            0,
            self.anchors.size,
            self.anchors,
            wanted.copies,
            rank_weights,
            uniform,
            False,
            False,
            wanted.tolerance,
            self.start,
            self.counts,
            np.zeros_like(self.counts),
            self.rows,
            self.exact,
            found,
        )
        return found


def merged(lists: list[Candidates | None], wanted: Wanted) -> Candidates | None:
    """The candidates of several lists of the same anchors that are still among the nearest.

    None where there are no anchors.
    """
    parts = [each for each in lists if each is not None]
    if not parts:
        return None
    counts = np.sum([part.counts for part in parts], axis=0)
    order = np.argsort(np.concatenate([part.lists for part in parts]), kind="stable")
    rows = np.concatenate([part.rows for part in parts])[order]
    exact = np.concatenate([part.exact for part in parts])[order]
    found = Candidates(parts[0].anchors, counts, rows, exact)
    # Who gets nothing of equal weights is beyond the k-th, and beyond that of any longer list.
    return found.kept(found.shared(wanted, np.ones(wanted.k), True) > 0.0)


def settled(found: Candidates | None, wanted: Wanted) -> Neighbors:
    """Neighbours of all anchors of a block with their shares, as places in the table."""
    if found is None:
        return Neighbors.room(np.empty(0, np.int64), wanted.n_slots, 0)
    of_weight = found.shared(wanted, wanted.rank_weights, wanted.uniform)
    used = of_weight > 0.0
    left = found.kept(used)
    return Neighbors(
        left.anchors, left.start, left.counts, np.zeros_like(left.counts), left.rows, of_weight[used]
    )


def candidates_between(
    block: RowBlock, other: RowBlock | None, wanted: Wanted
) -> tuple[Candidates | None, Candidates | None]:
    """Candidates among the rows of either block for the anchors of the other; among its own, if it is one."""
    anchors = wanted.chosen[block.place]
    of_other = np.empty(0, bool) if other is None else wanted.chosen[other.place]
    n_rows = anchors.size + of_other.size
    if np.count_nonzero(anchors) + np.count_nonzero(of_other) >= FEW_ANCHORS * n_rows:
        return _both_ways(block, other, wanted)
    if other is None:
        return _one_way(block, np.flatnonzero(anchors), block, wanted), None
    return (
        _one_way(block, np.flatnonzero(anchors), other, wanted),
        _one_way(other, np.flatnonzero(of_other), block, wanted),
    )


def _both_ways(
    block: RowBlock, other: RowBlock | None, wanted: Wanted
) -> tuple[Candidates | None, Candidates | None]:
    stack = Stack([block] if other is None else [block, other])
    rows, others = stack.parts[0], stack.parts[-1]
    D = distance_array(rows[1] - rows[0], others[1] - others[0])
    E = D if other is None else distance_array(others[1] - others[0], rows[1] - rows[0])
    distances = _filled(stack, D, E, wanted)
    if other is None:
        return _listed(stack, 0, D, distances, wanted), None
    return _listed(stack, 0, D, distances, wanted), _listed(stack, 1, E, distances, wanted)


def _one_way(
    block: RowBlock, anchors: NDArray[np.int64], other: RowBlock, wanted: Wanted
) -> Candidates | None:
    if not anchors.size:
        return None
    stack = Stack([block.of_rows(anchors), other])
    (a, b), (c, d) = stack.parts
    D, E = distance_array(b - a, d - c), distance_array(d - c, b - a)
    return _listed(stack, 0, D, _filled(stack, D, E, wanted), wanted)


def _filled(stack: Stack, D: NDArray[np.uint32], E: NDArray[np.uint32], wanted: Wanted) -> Distances:
    """Write the distances between the parts of a stack into D, mirrored into E."""
    distances = wanted.distances(stack)
    piece = distances.piece(0, 1)
    distances.add_tiles(piece, stack.parts[0], stack.parts[-1], D, E)
    return distances


def _listed(
    stack: Stack, side: int, D: NDArray[np.uint32], distances: Distances, wanted: Wanted
) -> Candidates | None:
    """Candidates for the anchors in one part of a stack among the rows of the other part; D: how far."""
    (first, last), (low, high) = stack.parts[side], stack.parts[-1 - side]
    samples = stack.samples[first:last]
    anchors = np.flatnonzero((samples >= 0) & wanted.chosen[samples])
    if not anchors.size:
        return None
    others = stack.samples[low:high]
    own = _place_among(samples[anchors], others)
    D[:, others < 0] = candidates.OUT_OF_REACH
    seen = own >= 0
    several = stack.copies[first + anchors[seen]] > 1.0
    D[anchors[seen], own[seen]] = np.where(several, np.uint32(0), candidates.OUT_OF_REACH)
    counts, rows = _found(stack, side, anchors, own, D, wanted.doubt(distances), distances, wanted)
    exact = _measured(stack, first + anchors, counts, low + rows, wanted)
    found = Candidates(samples[anchors], counts, others[rows], exact)
    return _by_slot(found, stack.codes[first + anchors]) if wanted.pooled else found


def _place_among(samples: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where samples are among others; −1 where they are not."""
    order = np.argsort(others, kind="stable")
    at = np.minimum(np.searchsorted(others, samples, sorter=order), others.size - 1)
    return np.where(others[order[at]] == samples, order[at], -1)


def _found(
    stack: Stack,
    side: int,
    anchors: NDArray[np.int64],
    own: NDArray[np.int64],
    D: NDArray[np.uint32],
    doubt: tuple[NDArray[np.float64], float, float],
    distances: Distances,
    wanted: Wanted,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many candidates every anchor has in every class, and who they are, as columns of D."""
    part, other = slice(*stack.parts[side]), slice(*stack.parts[-1 - side])
    # The kernel looks up anchors beside the columns: they stand behind these, unless they are among them.
    codes, copies, off = (
        np.concatenate([values[other], values[part]]) for values in (stack.codes, stack.copies, doubt[0])
    )
    places = np.where(own >= 0, own, other.stop - other.start + anchors)
    counts = np.empty((anchors.size, stack.n_classes), np.int64)
    found = []
    for rows, which in _runs(D, anchors, stack.n_classes):
        start, count, sure = (np.zeros((which.stop - which.start, stack.n_classes), np.int64) for _ in "123")
        found.append(
            candidates.find_candidates(
                rows,
                0,
                len(count),
                places[which],
                codes,
                stack.starts_in_part[-1 - side],
                copies,
                stack.counted,
                False,
                wanted.k,
                False,
                distances.as_float,
                off,
                doubt[1],
                doubt[2],
                start,
                count,
                sure,
            )
        )
        counts[which] = count
    return counts, np.concatenate(found)


def _runs(
    D: NDArray[np.uint32], anchors: NDArray[np.int64], n_classes: int
) -> list[tuple[NDArray[np.uint32], slice]]:
    """The rows of D at the anchors, as they are where that takes few arrays, and which anchors each holds."""
    borders = np.concatenate([[0], np.flatnonzero(np.diff(anchors) != 1) + 1, [anchors.size]])
    if borders.size - 1 > n_classes:
        rows = distance_array(anchors.size, D.shape[1])
        np.take(D, anchors, axis=0, out=rows)
        return [(rows, slice(0, anchors.size))]
    return [(D[anchors[a] : anchors[b - 1] + 1], slice(a, b)) for a, b in pairwise(borders)]


def _measured(
    stack: Stack,
    anchors: NDArray[np.int64],
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
    wanted: Wanted,
) -> NDArray[np.float64]:
    """Exact distances of all candidates; anchors and candidates are rows of the layout."""
    start = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)
    found = Neighbors(anchors, start, counts, np.zeros_like(counts), rows, np.empty(0))
    exact = added_exact(stack.columns, stack.position, found, wanted.metric)
    return np.sqrt(exact) if wanted.metric == nearest.EUCLIDEAN else exact


def _by_slot(found: Candidates, codes: NDArray[np.int64]) -> Candidates:
    """Candidates by class as hits, and misses of all classes."""
    n_classes = found.counts.shape[1]
    owner, code = np.divmod(found.lists, n_classes)
    lists = 2 * owner + (code != codes[owner])
    order = np.argsort(lists, kind="stable")
    counts = np.bincount(lists, minlength=2 * codes.size).reshape(-1, 2)
    return Candidates(found.anchors, counts, found.rows[order], found.exact[order])
