"""Lists of who may be among the nearest, and how they merge.

A list holds, of every anchor and slot, all candidates up to the k-th distance and those tied with it, if
these are few. Otherwise it is cut: it holds as many as are needed to tell the k-th distance, and who is tied
with it is looked for once more (:mod:`.row_ties`). The candidates of several lists that are beyond the k-th
of all of them leave. Hence lists merge in any order to the same, and none is long, whatever the ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine.cached_property import cached_property
from .._engine.distances import Distances, ProductDistances, TileDistances
from .._engine.neighbors import Neighbors, distance_array
from .._engine.quantized import Plan, QuantizedDistances
from .._engine.search import FEW_ANCHORS, exact_distances
from .._engine.threads import even_ranges
from .._kernels import candidates, nearest
from .._kernels import candidates as candidates_kernels
from .._kernels import nearest as nearest_kernels
from .row_blocks import RowBlock, Stack, Unread, both

#: How distances are found: as whole numbers by a plan, or in floats.
Kind = Plan | type[ProductDistances] | type[TileDistances]
#: Candidates tied with the k-th that a list holds beside those that tell its distance.
ROOM = 64
#: Candidates of lists that are looked through at a time, were all as long as the longest.
_SIDE_BY_SIDE = 2**19


@dataclass(frozen=True)
class Wanted:
    """Which neighbors are looked for, for all tasks of a search."""

    kind: Kind
    metric: int
    tolerance: float
    #: How many neighbors.
    k: float
    #: Weights of the ranks 1 … k, or none where they are all the same; and whether they are.
    rank_weights: NDArray[np.float64]
    uniform: bool
    #: Whether the misses of all classes are one set.
    pooled: bool
    n_slots: int
    #: (n_samples,) who is an anchor, and how often each counts.
    chosen: NDArray[np.bool_]
    sample_weight: NDArray[np.float64]

    @property
    def exact(self) -> bool:
        """Whether whole numbers say all there is to say of distances."""
        return isinstance(self.kind, Plan) and not self.kind.grid.size

    @property
    def tied_within(self) -> float:
        """Distances that differ by less, relatively, are tied."""
        return 0.0 if self.exact and self.uniform else self.tolerance

    def weight_among(self, anchors: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How often neighbors count: who stands for several copies has all others beside itself."""
        return self.sample_weight[rows] - (rows == anchors)

    def distances(self, stack: Stack) -> Distances:
        """Distances between the rows of a stack."""
        if isinstance(self.kind, Plan):
            return QuantizedDistances(stack.columns, stack.position, self.tolerance, 1, self.kind)
        return self.kind(stack.columns, stack.position, 1)

    def error_bound(self, distances: Distances) -> tuple[NDArray[np.float64], float, float]:
        """What distances may be off by, in their units and relatively, and which of them count as equal."""
        if distances.exact:
            return distances.off, 0.0, 0.0
        # Squares differ, relatively, by twice as much as what they are squares of.
        twice = 2.0 if self.metric == nearest_kernels.EUCLIDEAN else 1.0
        return distances.off, distances.relative, twice * self.tolerance


class Candidates(NamedTuple):
    """Candidates of some anchors, anchor by anchor and slot by slot; all are places in the table."""

    anchors: NDArray[np.int64]
    #: (n_anchors, n_slots) how many there are.
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    #: Their distances.
    exact: NDArray[np.float64]
    #: (n_anchors, n_slots) the distance from which on candidates were left out; infinite: none was.
    cut_at: NDArray[np.float64]

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
        return Candidates(self.anchors, counts, self.rows[which], self.exact[which], self.cut_at)

    def shared(self, wanted: Wanted) -> NDArray[np.float64]:
        """What each candidate gets of a weight of 1 that those of an anchor and slot share."""
        found = np.zeros(self.rows.size)
        candidates.share(
            0,
            self.anchors.size,
            self.anchors,
            wanted.sample_weight,
            wanted.k,
            wanted.rank_weights,
            wanted.uniform,
            False,
            False,
            wanted.tied_within,
            self.start,
            self.counts,
            np.zeros_like(self.counts),
            self.rows,
            self.exact,
            found,
        )
        return found

    def nearest(self, wanted: Wanted) -> Candidates:
        """Those up to the k-th and who is tied with it; where these are many, none of those needed least."""
        kept, cut_at = np.zeros(self.rows.size, dtype=bool), np.full(self.counts.size, np.inf)
        counts, start = self.counts.ravel(), self.start.ravel()
        for lists in _groups(counts):
            owner = np.repeat(np.arange(lists.size), counts[lists])
            place = np.arange(owner.size) - np.repeat(np.cumsum(counts[lists]) - counts[lists], counts[lists])
            entries = start[lists][owner] + place
            anchors = self.anchors[lists // self.counts.shape[1]]
            shape = lists.size, int(counts[lists].max())
            distances, sample_weight = np.full(shape, np.inf), np.zeros(shape)
            distances[owner, place] = self.exact[entries]
            sample_weight[owner, place] = wanted.weight_among(anchors[owner], self.rows[entries])
            near, cut_at[lists] = _near(distances, sample_weight, self.cut_at.ravel()[lists], wanted)
            kept[entries] = near[owner, place]
        return self.kept(kept)._replace(cut_at=cut_at.reshape(self.cut_at.shape))


def _groups(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Numbers of lists of about the same length, so many that side by side they take little room."""
    order = np.argsort(counts, kind="stable")
    order = order[np.searchsorted(counts[order], 1) :]
    while order.size:
        room = counts[order] * np.arange(1, order.size + 1)
        n = max(1, int(np.searchsorted(room, _SIDE_BY_SIDE, side="right")))
        yield order[:n]
        order = order[n:]


def _near(
    distances: NDArray[np.float64],
    sample_weight: NDArray[np.float64],
    cut_at: NDArray[np.float64],
    wanted: Wanted,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Who stays in lists that are rows, and where these are cut then."""
    order, last = _up_to_kth(distances, sample_weight, wanted)
    tolerance = wanted.tied_within * last
    needed = np.zeros(distances.shape, dtype=bool)
    which = np.nonzero(order >= 0)
    needed[which[0], order[which]] = True
    near = distances - last[:, np.newaxis] <= tolerance[:, np.newaxis]
    many = np.count_nonzero(near, axis=1) > np.count_nonzero(needed, axis=1) + ROOM
    cut = many | (cut_at - last <= tolerance)
    near[cut] = needed[cut]
    return near, np.where(cut, last, np.inf)


def _up_to_kth(
    distances: NDArray[np.float64], sample_weight: NDArray[np.float64], wanted: Wanted
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places of the nearest in every row until there are k copies, then −1; and the distance of the last."""
    n_lists, width = distances.shape
    some = sample_weight[sample_weight > 0.0]
    most = min(width, int(np.ceil(wanted.k / min(some.min(initial=1.0), 1.0))))
    order = np.argpartition(distances, most - 1, axis=1)[:, :most] if most < width else None
    if order is None:
        order = np.argsort(distances, axis=1, kind="stable")
    else:
        nearest_first = np.argsort(np.take_along_axis(distances, order, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(order, nearest_first, axis=1)
    covered = np.cumsum(np.take_along_axis(sample_weight, order, axis=1), axis=1)
    # As in the kernel that shares: what is left of a copy by rounding is none.
    enough = np.minimum(wanted.k, sample_weight.sum(axis=1)) * (1.0 - 1e-9)
    held = np.count_nonzero(distances < np.inf, axis=1)
    end = np.minimum(np.count_nonzero(covered < enough[:, np.newaxis], axis=1), np.minimum(held, most) - 1)
    last = distances[np.arange(n_lists), order[np.arange(n_lists), end]]
    return np.where(np.arange(most) > end[:, np.newaxis], -1, order), last


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
    cut_at = np.min([part.cut_at for part in parts], axis=0)
    return Candidates(parts[0].anchors, counts, rows, exact, cut_at).nearest(wanted)


class Ties(NamedTuple):
    """Lists that are cut: what is known of those tied with the last neighbor, of whom there are many."""

    #: Numbers of the lists, of all anchors and slots.
    lists: NDArray[np.int64]
    #: The distance of the last neighbor, and the weight that all who are tied with it share.
    last: NDArray[np.float64]
    weight: NDArray[np.float64]
    #: How many copies they are, all together, once they are counted.
    sample_weight: NDArray[np.float64]


@dataclass
class BlockNeighbors(Neighbors):
    """Neighbors of the anchors of a block with their shares, as places in the table.

    Those who are tied with the last one are not among them where they are many.
    """

    ties: Ties


def settled(found: Candidates | None, wanted: Wanted) -> BlockNeighbors:
    """Neighbors of all anchors of a block."""
    if found is None:
        nobody, nothing = np.empty(0, np.int64), np.empty(0)
        room = Neighbors.empty(nobody, wanted.n_slots, 0)
        return BlockNeighbors(**vars(room), ties=Ties(nobody, nothing, nothing, nothing))
    candidates = found.shared(wanted)
    lists, cut_at = found.lists, found.cut_at.ravel()
    cut = np.flatnonzero(cut_at < np.inf)
    # Those who are tied and in a list are found again with the others.
    tied = cut_at[lists] < np.inf
    last = cut_at[lists[tied]]
    tied[tied] = last - found.exact[tied] <= wanted.tied_within * last
    weight = np.bincount(lists[tied], weights=candidates[tied], minlength=cut_at.size).astype(np.float64)
    used = (candidates > 0.0) & ~tied
    left = found.kept(used)
    return BlockNeighbors(
        left.anchors,
        left.start,
        left.counts,
        np.zeros_like(left.counts),
        left.rows,
        candidates[used],
        Ties(cut, cut_at[cut], weight[cut], np.zeros(cut.size)),
    )


# Two blocks of rows against each other: who may be, and who is, a neighbor of the anchors of either.


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
        Which neighbors are looked for.
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
        D[:, self._others < 0] = candidates_kernels.MASKED
        seen = self._own >= 0
        several = stack.sample_weight[self._part.start + self.anchors[seen]] > 1.0
        D[self.anchors[seen], self._own[seen]] = np.where(several, np.uint32(0), candidates_kernels.MASKED)

    @cached_property
    def _samples(self) -> NDArray[np.int64]:
        """The anchors, as places in the table."""
        return self._stack.samples[self._part][self.anchors]

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return self._stack.codes[self._part][self.anchors]

    @property
    def _batches(self) -> list[tuple[int, int]]:
        """Anchors whose neighbors are listed at a time."""
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
        stack, off = self._stack, self._error_bound[0]
        codes, sample_weight, off = (
            np.concatenate([values[self._other], values[self._part]])
            for values in (stack.codes, stack.sample_weight, off)
        )
        return codes, sample_weight, off

    @cached_property
    def _error_bound(self) -> tuple[NDArray[np.float64], float, float]:
        return self._wanted.error_bound(self._distances)

    def _found(self, which: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many candidates some anchors have in every class, and who they are, as columns of D."""
        n_classes, anchors, own = self._stack.n_classes, self.anchors[which], self._own[which]
        codes, sample_weight, off = self._beside
        # The kernel looks up anchors beside the columns: they stand behind these, unless they are among them.
        places = np.where(own >= 0, own, self._others.size + anchors)
        counts = np.empty((anchors.size, n_classes), np.int64)
        found = []
        for rows, of_run in _runs(self._D, anchors, n_classes):
            start, count, sure = (np.zeros((of_run.stop - of_run.start, n_classes), np.int64) for _ in "123")
            found.append(
                candidates_kernels.find_candidates(
                    rows,
                    0,
                    len(count),
                    places[of_run],
                    codes,
                    self._stack.starts_in_part[-1 - self._side],
                    sample_weight,
                    self._stack.has_sample_weight,
                    False,
                    self._wanted.k,
                    False,
                    self._distances.as_float,
                    off,
                    self._error_bound[1],
                    self._error_bound[2],
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
        exact = exact_distances(self._stack.columns, self._stack.position, found, metric)
        return np.sqrt(exact) if metric == nearest.EUCLIDEAN else exact

    # Ties that no list holds

    def tied(self, ties: Ties) -> Iterator[Tied]:
        """All who are tied with the last neighbor in lists that are cut, some anchors at a time."""
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
        """Those among some columns of D that are tied with the last neighbors of some anchors."""
        last = ties.last[tie]
        lower, upper = self._key_bounds(which, last)
        D = self._D[self.anchors[which], slice(*among)]
        keys = D.view(np.float32) if self._distances.as_float else D
        owner, column = np.nonzero((keys >= lower[:, np.newaxis]) & (keys <= upper[:, np.newaxis]))
        column += among[0]
        counts = np.bincount(owner, minlength=which.size)[:, np.newaxis]
        exact = self._measured(self.anchors[which], counts, which[owner], column)
        tolerance = self._wanted.tied_within * last[owner]
        inside = (last[owner] - exact <= tolerance) & (exact - last[owner] <= tolerance)
        owner, rows = owner[inside], self._others[column[inside]]
        return Tied(tie[owner], rows, self._wanted.weight_among(self._samples[which[owner]], rows))

    def _key_bounds(
        self, which: NDArray[np.int64], last: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What keys of distances that may be tied with the last neighbors of some anchors are between."""
        wanted = self._wanted
        if wanted.exact:
            # Tied within a tolerance, where that is asked for, or the same whole number.
            slack = wanted.tied_within * last + 0.5
            return last - slack, last + slack
        key = last**2 if wanted.metric == nearest.EUCLIDEAN else last
        if not self._distances.as_float:
            key = key / (self._stack.columns.distance_unit * self._distances.step)  # type: ignore[attr-defined]
        off, relative, tolerance = self._error_bound
        zone = 2.0 * (off[self._part][self.anchors[which]] + relative * key) + 2.1 * tolerance * key
        # Keys are rounded to a float32, or to whole numbers.
        zone += 2.0**-20 * key if self._distances.as_float else 1.0
        return key - zone, np.minimum(key + zone, candidates_kernels.MASKED - 1.0)


class Tied(NamedTuple):
    """Some who are tied with the last neighbor of lists that are cut, list by list."""

    #: Which of the ties.
    tie: NDArray[np.int64]
    #: Who, as places in the table, and how often they count.
    rows: NDArray[np.int64]
    sample_weight: NDArray[np.float64]


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


# Neighbors that no list holds: where many are tied with the last one, their distances are found again.
#
# One pass over the pairs of blocks counts them, so that it is known what each gets of the weight that they
# share; whoever goes on with the neighbors of a pair of blocks finds them once more.


def n_cut(found: BlockNeighbors) -> int:
    """How many lists do not hold all neighbors."""
    return found.ties.lists.size


def tied_weight(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> list[NDArray[np.float64]]:
    """Copies of rows of the other block that are tied with the last neighbors of the anchors of each."""
    totals = [np.zeros(n_cut(each)) for each in (found, of_other) if each is not None]
    for side, tied in _tied_between(block, other, wanted, found, of_other):
        totals[side] += np.bincount(tied.tie, weights=tied.sample_weight, minlength=totals[side].size)
    return totals


def counted(found: BlockNeighbors, sample_weight: NDArray[np.float64] | None) -> BlockNeighbors:
    """The same neighbors, of whom those that are tied are counted."""
    return (
        found
        if sample_weight is None
        else replace(found, ties=found.ties._replace(sample_weight=sample_weight))
    )


def tied_neighbors(
    block: RowBlock,
    other: RowBlock | None,
    wanted: Wanted,
    found: BlockNeighbors,
    of_other: BlockNeighbors | None,
) -> Iterator[tuple[int, NDArray[np.int64], Neighbors]]:
    """Neighbors in the other block that no list holds, some at a time.

    Yields which of the two blocks the anchors are in, which of its anchors they are, and their neighbors as
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
    """The same for the anchors of the first block alone, whose neighbors are in another, or in itself."""
    for tied in _tied_in(block, other, wanted, found):
        yield _of_their_anchors(tied, found)


def _of_their_anchors(tied: Tied, found: BlockNeighbors) -> tuple[NDArray[np.int64], Neighbors]:
    """Which of the anchors have neighbors that no list holds, and these."""
    n_slots = found.count.shape[1]
    numbers = found.ties.lists[tied.tie]
    which, owner = np.unique(numbers // n_slots, return_inverse=True)
    numbers += (owner - which[owner]) * n_slots
    return which, _listed(found.anchors[which], n_slots, numbers, tied.rows, _shares(tied, found))


def neighbors_in(block: RowBlock, other: RowBlock, wanted: Wanted, found: BlockNeighbors) -> Neighbors:
    """All neighbors of the anchors of a block in another, or in itself, as places in the table."""
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
    """Those of the neighbors that are in a block."""
    here = (found.rows >= block.first) & (found.rows < block.first + len(block))
    n_slots = found.count.shape[1]
    return _listed(found.anchors, n_slots, _numbers(found)[here], found.rows[here], found.shares[here])


def _numbers(found: Neighbors) -> NDArray[np.int64]:
    """The number of the list, of all anchors and slots, that every neighbor is in."""
    return np.repeat(np.arange(found.count.size), found.count.ravel())


def _listed(
    anchors: NDArray[np.int64],
    n_slots: int,
    numbers: NDArray[np.int64],
    rows: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> Neighbors:
    """Neighbors of anchors, given list by list."""
    count = np.bincount(numbers, minlength=anchors.size * n_slots)
    start = (np.cumsum(count) - count).reshape(-1, n_slots)
    count = count.reshape(-1, n_slots)
    return Neighbors(anchors, start, count, np.zeros_like(count), rows, shares)


def _shares(tied: Tied, found: BlockNeighbors) -> NDArray[np.float64]:
    """What each who is tied gets of the weight that they share."""
    ties = found.ties
    return ties.weight[tied.tie] * tied.sample_weight / ties.sample_weight[tied.tie]


def _tied_in(block: RowBlock, other: RowBlock, wanted: Wanted, found: BlockNeighbors) -> Iterator[Tied]:
    """Rows of another block, or of the same, that are tied with the last neighbors of the anchors of one."""
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
    """Rows of the other block that are tied with the last neighbors of the anchors of each."""
    lists = [each for each in (found, of_other) if each is not None]
    if not any(n_cut(each) for each in lists):
        return
    for side, direction in enumerate(directions(block, other, wanted)):
        if direction is not None:
            for tied in direction.tied(lists[side].ties):
                yield side, tied
