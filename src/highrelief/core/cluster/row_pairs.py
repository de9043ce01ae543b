"""Two blocks of rows against each other: who may be, and who is, a neighbour of the anchors of either."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import candidates, nearest
from ..cached_property import cached_property
from ..distances import Distances
from ..division import added_exact
from ..neighbor_search import FEW_ANCHORS, distance_array
from ..neighborhood import Neighbors
from ..threads import even_ranges
from .row_blocks import RowBlock, Stack, both
from .row_candidates import ROOM, Candidates, Ties, Wanted

#: Pairs of an anchor and another row that are listed at a time: all may be tied.
_LISTED_AT_ONCE = 2**18


def candidates_between(block: RowBlock, other: RowBlock | None, wanted: Wanted) -> list[Candidates | None]:
    """Candidates among the rows of either block for the anchors of the other; among its own, if it is one."""
    return [None if each is None else each.candidates() for each in directions(block, other, wanted)]


def directions(block: RowBlock, other: RowBlock | None, wanted: Wanted) -> Iterator[Direction | None]:
    """The distances of the anchors of the first block, then those of the second, if there are two.

    They are the same, bit for bit, whenever they are asked for. None for a block without anchors.
    """
    blocks = both(block, other)
    chosen = [wanted.chosen[each.place] for each in blocks]
    if sum(map(np.count_nonzero, chosen)) >= FEW_ANCHORS * sum(map(len, blocks)):
        stack = Stack(blocks)
        D, E, distances = _filled(stack, wanted)
        for side, (which, of_side) in enumerate(zip(chosen, (D, E), strict=False)):
            yield Direction(stack, side, of_side, distances, wanted) if which.any() else None
        return
    for own, which, facing in zip(blocks, chosen, blocks[::-1], strict=True):
        if not which.any():
            yield None
            continue
        stack = Stack([own.of_rows(np.flatnonzero(which)), facing])
        D, _, distances = _filled(stack, wanted)
        yield Direction(stack, 0, D, distances, wanted)


def _filled(stack: Stack, wanted: Wanted) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Distances]:
    """Distances of the first part of a stack to the last, the same mirrored, and what is known of them."""
    (a, b), (c, d) = stack.parts[0], stack.parts[-1]
    D = distance_array(b - a, d - c)
    E = D if len(stack.parts) == 1 else distance_array(d - c, b - a)
    distances = wanted.distances(stack)
    distances.add_tiles(distances.piece(0, 1), (a, b), (c, d), D, E)
    return D, E, distances


class Direction:
    """The anchors of one part of a stack, and their distances to the rows of the other.

    Parameters
    ----------
    stack : Stack
        One block or two.
    side : {0, 1}
        The part that the anchors are in.
    D : (height, width) uint32
        Distances of the rows of that part to those of the other; who is out of reach is marked.
    distances : Distances
        What is known of them.
    wanted : Wanted
        Which neighbours are looked for.
    """

    def __init__(
        self, stack: Stack, side: int, D: NDArray[np.uint32], distances: Distances, wanted: Wanted
    ) -> None:
        self._stack, self._side, self._wanted = stack, side, wanted
        self._D, self._distances = D, distances
        self._part, self._other = slice(*stack.parts[side]), slice(*stack.parts[-1 - side])
        samples = stack.samples[self._part]
        #: The anchors, as rows of D, and the others, as places in the table.
        self.anchors = np.flatnonzero((samples >= 0) & wanted.chosen[samples])
        self._others = stack.samples[self._other]
        self._own = _place_among(samples[self.anchors], self._others)
        D[:, self._others < 0] = candidates.OUT_OF_REACH
        seen = self._own >= 0
        several = stack.copies[self._part.start + self.anchors[seen]] > 1.0
        D[self.anchors[seen], self._own[seen]] = np.where(several, np.uint32(0), candidates.OUT_OF_REACH)

    @cached_property
    def _samples(self) -> NDArray[np.int64]:
        """The anchors, as places in the table."""
        return self._stack.samples[self._part][self.anchors]

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return self._stack.codes[self._part][self.anchors]

    @property
    def _batches(self) -> list[tuple[int, int]]:
        """Anchors whose neighbours are listed at a time."""
        most = max(1, _LISTED_AT_ONCE // max(1, self._others.size))
        return even_ranges(self.anchors.size, -(-self.anchors.size // most))

    # Candidates

    def candidates(self) -> Candidates:
        """Candidates of all anchors."""
        parts: list[Candidates] = []
        counts: list[NDArray[np.int64]] = []
        rows: list[NDArray[np.int64]] = []
        begin = 0
        for a, b in self._batches:
            of_batch, found = self._found(slice(a, b))
            counts.append(of_batch)
            rows.append(found)
            # Few are measured together with those of the next anchors.
            if b == self.anchors.size or sum(each.size for each in rows) >= _LISTED_AT_ONCE:
                parts.append(self._listed(slice(begin, b), np.concatenate(counts), np.concatenate(rows)))
                counts, rows, begin = [], [], b
        return Candidates(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _listed(self, which: slice, counts: NDArray[np.int64], rows: NDArray[np.int64]) -> Candidates:
        """Candidates of some anchors, of whom it is known who they are: columns of D."""
        owner = np.repeat(np.arange(which.start, which.stop), counts.sum(axis=1))
        exact = self._measured(self.anchors[which], counts, owner, rows)
        never = np.full(counts.shape, np.inf)
        found = Candidates(self._samples[which], counts, self._others[rows], exact, never)
        if self._wanted.pooled:
            found = _by_slot(found, self._codes[which])
        many = found.counts.max(initial=0) > self._wanted.k + ROOM
        return found.nearest(self._wanted) if many else found

    @cached_property
    def _beside(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Classes, copies and what distances may be off by, of the columns of D and of all rows behind."""
        stack, off = self._stack, self._doubt[0]
        codes, copies, off = (
            np.concatenate([values[self._other], values[self._part]])
            for values in (stack.codes, stack.copies, off)
        )
        return codes, copies, off

    @cached_property
    def _doubt(self) -> tuple[NDArray[np.float64], float, float]:
        return self._wanted.doubt(self._distances)

    def _found(self, which: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many candidates some anchors have in every class, and who they are, as columns of D."""
        n_classes, anchors, own = self._stack.n_classes, self.anchors[which], self._own[which]
        codes, copies, off = self._beside
        # The kernel looks up anchors beside the columns: they stand behind these, unless they are among them.
        places = np.where(own >= 0, own, self._others.size + anchors)
        counts = np.empty((anchors.size, n_classes), np.int64)
        found = []
        for rows, of_run in _runs(self._D, anchors, n_classes):
            start, count, sure = (np.zeros((of_run.stop - of_run.start, n_classes), np.int64) for _ in "123")
            found.append(
                candidates.find_candidates(
                    rows,
                    0,
                    len(count),
                    places[of_run],
                    codes,
                    self._stack.starts_in_part[-1 - self._side],
                    copies,
                    self._stack.counted,
                    False,
                    self._wanted.k,
                    False,
                    self._distances.as_float,
                    off,
                    self._doubt[1],
                    self._doubt[2],
                    start,
                    count,
                    sure,
                )
            )
            counts[of_run] = count
        return counts, np.concatenate(found)

    def _measured(
        self,
        anchors: NDArray[np.int64],
        counts: NDArray[np.int64],
        owner: NDArray[np.int64],
        columns: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Exact distances of anchors to those in their lists, which are columns of D."""
        if self._wanted.exact:
            return self._D[self.anchors[owner], columns].astype(np.float64)
        start = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)
        rows = self._other.start + columns
        found = Neighbors(self._part.start + anchors, start, counts, np.zeros_like(counts), rows, np.empty(0))
        metric = self._wanted.metric
        exact = added_exact(self._stack.columns, self._stack.position, found, metric)
        return np.sqrt(exact) if metric == nearest.EUCLIDEAN else exact

    # Ties that no list holds

    def tied(self, ties: Ties) -> Iterator[Tied]:
        """All who are tied with the last neighbour in lists that are cut, some anchors at a time."""
        wanted, n_slots = self._wanted, self._wanted.n_slots
        of_list = np.full(self.anchors.size * n_slots, -1)
        of_list[ties.lists] = np.arange(ties.lists.size)
        starts = self._stack.starts_in_part[-1 - self._side]
        for a, b in self._batches:
            for code, (low, high) in enumerate(pairwise(starts.tolist())):
                slots = (self._codes[a:b] != code).astype(np.int64) if wanted.pooled else code
                tie = of_list[n_slots * np.arange(a, b) + slots]
                which = np.flatnonzero(tie >= 0)
                if which.size and high > low:
                    yield self._tied_in(a + which, tie[which], (low, high), ties)

    def _tied_in(
        self, which: NDArray[np.int64], tie: NDArray[np.int64], among: tuple[int, int], ties: Ties
    ) -> Tied:
        """Those among some columns of D that are tied with the last neighbours of some anchors."""
        last = ties.last[tie]
        lower, upper = self._key_bounds(which, last)
        D = self._D[self.anchors[which], slice(*among)]
        keys = D.view(np.float32) if self._distances.as_float else D
        owner, column = np.nonzero((keys >= lower[:, np.newaxis]) & (keys <= upper[:, np.newaxis]))
        column += among[0]
        counts = np.bincount(owner, minlength=which.size)[:, np.newaxis]
        exact = self._measured(self.anchors[which], counts, which[owner], column)
        reach = self._wanted.tied_within * last[owner]
        inside = (last[owner] - exact <= reach) & (exact - last[owner] <= reach)
        owner, rows = owner[inside], self._others[column[inside]]
        return Tied(tie[owner], rows, self._wanted.copies_among(self._samples[which[owner]], rows))

    def _key_bounds(
        self, which: NDArray[np.int64], last: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What keys of distances that may be tied with the last neighbours of some anchors are between."""
        wanted = self._wanted
        if wanted.exact:
            # Tied within a tolerance, where that is asked for, or the same whole number.
            slack = wanted.tied_within * last + 0.5
            return last - slack, last + slack
        key = last**2 if wanted.metric == nearest.EUCLIDEAN else last
        if not self._distances.as_float:
            key = key / (self._stack.columns.distance_unit * self._distances.step)  # type: ignore[attr-defined]
        off, relative, tolerance = self._doubt
        zone = 2.0 * (off[self._part][self.anchors[which]] + relative * key) + 2.1 * tolerance * key
        # Keys are rounded to a float32, or to whole numbers.
        zone += 2.0**-20 * key if self._distances.as_float else 1.0
        return key - zone, np.minimum(key + zone, candidates.OUT_OF_REACH - 1.0)


class Tied(NamedTuple):
    """Some who are tied with the last neighbour of lists that are cut, list by list."""

    #: Which of the ties.
    tie: NDArray[np.int64]
    #: Who, as places in the table, and how often they count.
    rows: NDArray[np.int64]
    copies: NDArray[np.float64]


def _place_among(samples: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where samples are among others; −1 where they are not."""
    order = np.argsort(others, kind="stable")
    at = np.minimum(np.searchsorted(others, samples, sorter=order), others.size - 1)
    return np.where(others[order[at]] == samples, order[at], -1)


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


def _by_slot(found: Candidates, codes: NDArray[np.int64]) -> Candidates:
    """Candidates by class as hits, and misses of all classes."""
    n_classes = found.counts.shape[1]
    owner, code = np.divmod(found.lists, n_classes)
    lists = 2 * owner + (code != codes[owner])
    order = np.argsort(lists, kind="stable")
    counts = np.bincount(lists, minlength=2 * codes.size).reshape(-1, 2)
    cut_at = np.full(counts.shape, np.inf)
    return Candidates(found.anchors, counts, found.rows[order], found.exact[order], cut_at)
