"""Hits and misses of a sample side by side, and the distances between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..kernels import nearest
from .columns import Columns
from .lists import within_lists
from .neighborhood import HITS, MISSES, Neighbors
from .packed import Packed
from .threads import even_ranges, run_all

#: Pairs whose distances are held at a time; all samples may be tied.
_PAIRS_AT_ONCE = 2**21

Indices = NDArray[np.int64]


def mean_gaps(table: Packed, columns: Columns, neighbors: Neighbors) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of every anchor, over the hits and misses that share its weight, (n_anchors,)."""
    hit_owner, hit = neighbors.listed(HITS)
    miss_owner, miss = neighbors.listed(MISSES)
    n_misses = np.bincount(miss_owner, minlength=neighbors.anchors.size)
    first_miss = np.cumsum(n_misses) - n_misses
    gaps = np.zeros(neighbors.anchors.size)
    # Each hit meets all misses of its anchor.
    meetings = n_misses[hit_owner]
    for start, end in _portions(meetings):
        here = meetings[start:end]
        pair_hit = np.repeat(hit[start:end], here)
        owner = np.repeat(hit_owner[start:end], here)
        pair_miss = miss[first_miss[owner] + within_lists(here)]
        apart = distances_between(table, columns, neighbors.rows[pair_hit], neighbors.rows[pair_miss])
        shares = neighbors.shares[pair_hit] * neighbors.shares[pair_miss]
        gaps += np.bincount(owner, weights=shares * apart, minlength=gaps.size)
    return gaps


@dataclass(frozen=True)
class NeighborPairs:
    """The j-th nearest hit and the j-th nearest miss of every sample, as far as there are both.

    Ties go to the sample that comes first in the table.
    """

    #: (n_samples, n_pairs) places in the table.
    hits: Indices
    misses: Indices
    #: (n_samples,) how many pairs there are.
    n_pairs: Indices
    #: (n_samples, n_pairs) ‖miss − hit‖₁.
    gaps: NDArray[np.float64]

    @classmethod
    def room(cls, n_samples: int, n_neighbors: int) -> Self:
        """Places for the pairs of all samples."""
        shape = (n_samples, n_neighbors)
        hits, misses = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        return cls(hits, misses, np.zeros(n_samples, np.int64), np.zeros(shape))

    def fill(self, table: Packed, columns: Columns, neighbors: Neighbors) -> None:
        """Put the pairs of some anchors in their places."""
        samples = table.position[neighbors.anchors]
        n_found = []
        for slot, places in ((HITS, self.hits), (MISSES, self.misses)):
            owner, rank, row = _in_order(table, columns, neighbors, slot)
            used = rank < places.shape[1]
            places[samples[owner[used]], rank[used]] = table.position[row[used]]
            n_found.append(np.bincount(owner[used], minlength=samples.size))
        self.n_pairs[samples] = np.minimum(*n_found)
        each, pair = np.nonzero(np.arange(self.hits.shape[1]) < self.n_pairs[samples][:, np.newaxis])
        row_of = np.empty(table.n_samples, np.int64)
        row_of[table.position[table.real]] = np.flatnonzero(table.real)
        sample = samples[each]
        self.gaps[sample, pair] = distances_between(
            table, columns, row_of[self.hits[sample, pair]], row_of[self.misses[sample, pair]]
        )


def distances_between(table: Packed, columns: Columns, rows: Indices, others: Indices) -> NDArray[np.float64]:
    """Manhattan distances of pairs of rows of the layout, scaled."""
    exact = np.zeros(rows.size)
    start = np.arange(rows.size).reshape(-1, 1)
    one, none = np.ones_like(start), np.zeros_like(start)
    ranges = even_ranges(rows.size, table.n_threads)
    for array, first, which in columns.blocks():
        block = (array, first, columns.factors[which], nearest.MANHATTAN, table.position, rows)

        def measure(a: int, b: int, block: tuple[Any, ...] = block) -> None:
            nearest.add_exact(*block, a, b, start, one, none, others, exact)

        run_all(measure, ranges, table.n_threads)
        del array, block, measure  # before the next block is copied
    if table.missing is not None:
        table.missing.add_to_pairs(rows, others, np.ones(table.missing.features.size), exact)
        np.maximum(exact, 0.0, out=exact)
    return exact


def _in_order(
    table: Packed, columns: Columns, neighbors: Neighbors, slot: int
) -> tuple[Indices, Indices, Indices]:
    """Neighbours in a slot from the nearest on: whose they are, their ranks from 0 on, and their rows."""
    owner, place = neighbors.listed(slot)
    rows = neighbors.rows[place]
    distance = distances_between(table, columns, neighbors.anchors[owner], rows)
    order = np.lexsort((distance, owner))
    owner, rows, distance = owner[order], rows[order], distance[order]
    # What differs by rounding is tied.
    farther = np.diff(distance, prepend=0.0) > table.tie_tolerance * distance
    order = np.lexsort((table.position[rows], np.cumsum(farther), owner))
    rank = within_lists(np.bincount(owner, minlength=neighbors.anchors.size))
    return owner, rank, rows[order]


def _portions(counts: Indices) -> list[tuple[int, int]]:
    """Cut a list so that the counts of a portion add up to little."""
    portion = np.cumsum(counts) // _PAIRS_AT_ONCE
    borders = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [counts.size]])
    return [(int(a), int(b)) for a, b in pairwise(borders) if b > a]
