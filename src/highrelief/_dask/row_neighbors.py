"""Nearest neighbors from pairs of row blocks: candidate lists that merge, and ties beyond them.

A task compares two blocks (:class:`AnchorDistances`) and returns, for every anchor and slot (hits, misses,
or one slot per class), a list of all candidates up to the k-th distance, together with those tied with it
if these are few. Otherwise the list is truncated: it has just enough candidates to determine the k-th
distance. Lists merge in any order to the same result (:func:`merge_candidates`), and none is long, however
many ties there are.

Ties missing from truncated lists are found again by recomputing distances. One pass over the pairs of blocks
sums their sample weights (:func:`tied_weight`), which gives the share of each; later passes recompute the
tied pairs of the blocks they compare (:func:`tied_neighbors`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine.arrays import entries_of, list_starts, within_lists
from .._engine.cached_property import cached_property
from .._engine.distances import Distances, exact_distances
from .._engine.limits import limits
from .._engine.metrics import Metric
from .._engine.neighbors import Neighbors, TieSharing, copied_rows, distance_array
from .._engine.quantized import Plan
from .._engine.search import DistanceKind, distances_of_kind
from .._engine.threads import even_ranges
from .._kernels import candidates as candidates_kernels
from .row_blocks import LazyBlock, RowBlock, StackedBlocks, blocks_of_pair


@dataclass(frozen=True)
class SearchSpec:
    """Parameters of a neighbor search, for all its tasks."""

    kind: DistanceKind
    metric: Metric
    #: Relative difference below which distances are equal.
    tolerance: float
    #: Number of neighbors.
    k: float
    #: Weights of the ranks 1 … k, or empty if they are uniform; and whether they are.
    rank_weights: NDArray[np.float64]
    uniform: bool
    #: Whether the misses of all classes are one set.
    pooled: bool
    n_slots: int
    #: (n_samples,) which samples are anchors.
    is_anchor: NDArray[np.bool_]
    #: (n_samples,).
    sample_weight: NDArray[np.float64]

    @property
    def exact(self) -> bool:
        """Whether quantized distances are exact: all columns are bit planes."""
        return self.kind.exact

    @property
    def tie_tolerance(self) -> float:
        """Relative difference below which distances are tied."""
        return 0.0 if self.exact and self.uniform else self.tolerance

    def neighbor_weight(self, anchors: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of neighbors; a sample of weight s is its own neighbor with weight s − 1."""
        return self.sample_weight[rows] - (rows == anchors)

    def distances(self, stack: StackedBlocks) -> Distances:
        """Return the distances between the rows of stacked blocks."""
        return distances_of_kind(self.kind, stack.columns, stack.sample_of_row, 1)

    def key_unit(self, stack: StackedBlocks) -> float:
        """Return what an integer key of a distance is multiplied by to give the distance; 1 for floats."""
        return stack.columns.distance_unit * self.kind.step if isinstance(self.kind, Plan) else 1.0


# Candidate lists


class Candidates(NamedTuple):
    """Candidate lists of some anchors, by anchor and slot; anchors and rows are indices in the table."""

    anchors: NDArray[np.int64]
    #: (n_anchors, n_slots) lengths of the lists.
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    #: (n_anchors, n_slots) the distance from which on a list is truncated; infinite if it is not.
    cutoff: NDArray[np.float64]

    @property
    def start(self) -> NDArray[np.int64]:
        """First entry of every list, (n_anchors, n_slots)."""
        return list_starts(self.counts)

    @property
    def list_index(self) -> NDArray[np.int64]:
        """Index of the list of every candidate, over all anchors and slots."""
        return np.repeat(np.arange(self.counts.size), self.counts.ravel())

    def select(self, mask: NDArray[np.bool_]) -> Candidates:
        """Return the lists with some of the candidates."""
        counts = np.bincount(self.list_index[mask], minlength=self.counts.size).reshape(self.counts.shape)
        return Candidates(self.anchors, counts, self.rows[mask], self.distances[mask], self.cutoff)

    def shares(self, spec: SearchSpec) -> NDArray[np.float64]:
        """Return the share of each candidate in the total weight 1 of its list."""
        ranks = spec.sample_weight, spec.k, spec.rank_weights, spec.uniform
        sharing = TieSharing(*ranks, exact=False, rooted=False, tolerance=spec.tie_tolerance)
        found = Neighbors.of_lists(self.anchors, self.counts, self.rows)
        sharing.share(found, self.distances)
        return found.shares

    def pruned(self, spec: SearchSpec) -> Candidates:
        """Return the candidates up to the k-th and those tied with it, truncated where these are many."""
        keep, cutoff = np.zeros(self.rows.size, dtype=bool), np.full(self.counts.size, np.inf)
        counts, start = self.counts.ravel(), self.start.ravel()
        for lists in _groups_by_length(counts):
            row, entries = entries_of(start[lists], counts[lists])
            column = within_lists(counts[lists])
            anchors = self.anchors[lists // self.counts.shape[1]]
            shape = lists.size, int(counts[lists].max())
            distances, weight = np.full(shape, np.inf), np.zeros(shape)
            distances[row, column] = self.distances[entries]
            weight[row, column] = spec.neighbor_weight(anchors[row], self.rows[entries])
            needed, cutoff[lists] = _prune(distances, weight, self.cutoff.ravel()[lists], spec)
            keep[entries] = needed[row, column]
        return self.select(keep)._replace(cutoff=cutoff.reshape(self.cutoff.shape))


def merge_candidates(lists: list[Candidates | None], spec: SearchSpec) -> Candidates | None:
    """Merge several lists of the same anchors, and prune them; None if there are no anchors."""
    parts = [each for each in lists if each is not None]
    if not parts:
        return None
    counts = np.sum([part.counts for part in parts], axis=0)
    order = np.argsort(np.concatenate([part.list_index for part in parts]), kind="stable")
    rows = np.concatenate([part.rows for part in parts])[order]
    distances = np.concatenate([part.distances for part in parts])[order]
    cutoff = np.min([part.cutoff for part in parts], axis=0)
    return Candidates(parts[0].anchors, counts, rows, distances, cutoff).pruned(spec)


def _groups_by_length(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield indices of lists of about the same length, so that padding them takes little memory."""
    order = np.argsort(counts, kind="stable")
    order = order[np.searchsorted(counts[order], 1) :]
    while order.size:
        padded = counts[order] * np.arange(1, order.size + 1)
        n = max(1, int(np.searchsorted(padded, limits.max_padded_candidates, side="right")))
        yield order[:n]
        order = order[n:]


def _prune(
    distances: NDArray[np.float64],
    weight: NDArray[np.float64],
    cutoff: NDArray[np.float64],
    spec: SearchSpec,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which candidates stay in lists that are rows, and the new cutoffs."""
    order, kth = _up_to_kth(distances, weight, spec)
    tolerance = spec.tie_tolerance * kth
    needed = np.zeros(distances.shape, dtype=bool)
    which = np.nonzero(order >= 0)
    needed[which[0], order[which]] = True
    keep = distances - kth[:, np.newaxis] <= tolerance[:, np.newaxis]
    many_ties = np.count_nonzero(keep, axis=1) > np.count_nonzero(needed, axis=1) + limits.max_extra_ties
    truncated = many_ties | (cutoff - kth <= tolerance)
    keep[truncated] = needed[truncated]
    return keep, np.where(truncated, kth, np.inf)


def _up_to_kth(
    distances: NDArray[np.float64], weight: NDArray[np.float64], spec: SearchSpec
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest columns in every row up to a total weight of k, then −1; and the k-th distances."""
    n_lists, width = distances.shape
    positive = weight[weight > 0.0]
    most = min(width, int(np.ceil(spec.k / min(positive.min(initial=1.0), 1.0))))
    order = np.argpartition(distances, most - 1, axis=1)[:, :most] if most < width else None
    if order is None:
        order = np.argsort(distances, axis=1, kind="stable")
    else:
        nearest_first = np.argsort(np.take_along_axis(distances, order, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(order, nearest_first, axis=1)
    covered = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    # As in the kernel that computes shares: rounding must not call for another neighbor.
    enough = np.minimum(spec.k, weight.sum(axis=1)) * (1.0 - 1e-9)
    n_candidates = np.count_nonzero(distances < np.inf, axis=1)
    end = np.minimum(
        np.count_nonzero(covered < enough[:, np.newaxis], axis=1), np.minimum(n_candidates, most) - 1
    )
    kth = distances[np.arange(n_lists), order[np.arange(n_lists), end]]
    return np.where(np.arange(most) > end[:, np.newaxis], -1, order), kth


# Neighbors of a block


class Ties(NamedTuple):
    """Truncated lists, and their neighbors tied with the k-th."""

    #: Indices of the lists, over all anchors and slots.
    lists: NDArray[np.int64]
    #: The k-th distance, and the total share of all neighbors tied with it.
    distance: NDArray[np.float64]
    share: NDArray[np.float64]
    #: Total sample weight of these neighbors; 0 before it is summed.
    sample_weight: NDArray[np.float64]


@dataclass
class BlockNeighbors(Neighbors):
    """Neighbors of the anchors of a block with their shares, as indices in the table.

    Truncated lists do not include neighbors tied with the k-th: ``ties`` describes these.
    """

    ties: Ties


def finalize_neighbors(candidates: Candidates | None, spec: SearchSpec) -> BlockNeighbors:
    """Return the neighbors of all anchors of a block, from lists merged over all blocks."""
    if candidates is None:
        no_index, no_value = np.empty(0, np.int64), np.empty(0)
        empty = Neighbors.empty(no_index, spec.n_slots, 0)
        return BlockNeighbors(**vars(empty), ties=Ties(no_index, no_value, no_value, no_value))
    shares = candidates.shares(spec)
    lists, cutoff = candidates.list_index, candidates.cutoff.ravel()
    truncated = np.flatnonzero(cutoff < np.inf)
    # Tied candidates of truncated lists are found again with the others.
    tied = cutoff[lists] < np.inf
    kth = cutoff[lists[tied]]
    tied[tied] = kth - candidates.distances[tied] <= spec.tie_tolerance * kth
    tied_share = np.bincount(lists[tied], weights=shares[tied], minlength=cutoff.size).astype(np.float64)
    used = (shares > 0.0) & ~tied
    selected = candidates.select(used)
    return BlockNeighbors(
        selected.anchors,
        selected.start,
        selected.counts,
        np.zeros_like(selected.counts),
        selected.rows,
        shares[used],
        Ties(truncated, cutoff[truncated], tied_share[truncated], np.zeros(truncated.size)),
    )


def n_truncated(neighbors: BlockNeighbors) -> int:
    """Return the number of truncated lists."""
    return neighbors.ties.lists.size


def with_tied_weight(neighbors: BlockNeighbors, sample_weight: NDArray[np.float64] | None) -> BlockNeighbors:
    """Return the neighbors with the total sample weights of their ties, as :func:`tied_weight` sums them."""
    if sample_weight is None:
        return neighbors
    return replace(neighbors, ties=neighbors.ties._replace(sample_weight=sample_weight))


def neighbors_within(neighbors: Neighbors, block: RowBlock | LazyBlock) -> Neighbors:
    """Return the neighbors in the lists that are rows of a block."""
    inside = (neighbors.rows >= block.first) & (neighbors.rows < block.first + len(block))
    lists = _list_index(neighbors)[inside]
    n_slots = neighbors.count.shape[1]
    return _from_lists(neighbors.anchors, n_slots, lists, neighbors.rows[inside], neighbors.shares[inside])


def _list_index(neighbors: Neighbors) -> NDArray[np.int64]:
    """Return the index of the list of every neighbor, over all anchors and slots."""
    return np.repeat(np.arange(neighbors.count.size), neighbors.count.ravel())


def _from_lists(
    anchors: NDArray[np.int64],
    n_slots: int,
    lists: NDArray[np.int64],
    rows: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> Neighbors:
    """Return neighbors of anchors from entries sorted by list."""
    count = np.bincount(lists, minlength=anchors.size * n_slots).reshape(-1, n_slots)
    return Neighbors.of_lists(anchors, count, rows, shares)


# Distances between two blocks


def candidates_between(block: RowBlock, other: RowBlock | None, spec: SearchSpec) -> list[Candidates | None]:
    """Return candidates for the anchors of each block among the rows of the other, or of itself."""
    return [None if each is None else each.candidates() for each in anchor_distances(block, other, spec)]


def anchor_distances(
    block: RowBlock, other: RowBlock | None, spec: SearchSpec
) -> Iterator[AnchorDistances | None]:
    """Yield the distances of the anchors of the first block, then of the second if there are two.

    They are bitwise identical in every call. None for a block without anchors.
    """
    blocks = blocks_of_pair(block, other)
    is_anchor = [spec.is_anchor[each.table_rows] for each in blocks]
    if sum(map(np.count_nonzero, is_anchor)) >= limits.few_anchors * sum(map(len, blocks)):
        stack = StackedBlocks(blocks)
        D, D_transposed, distances = _between_parts(stack, spec)
        for side, (mask, keys) in enumerate(zip(is_anchor, (D, D_transposed), strict=False)):
            yield AnchorDistances(stack, side, keys, distances, spec) if mask.any() else None
        return
    for own, mask, facing in zip(blocks, is_anchor, blocks[::-1], strict=True):
        if not mask.any():
            yield None
            continue
        stack = StackedBlocks([own.take(np.flatnonzero(mask)), facing])
        D, _, distances = _between_parts(stack, spec)
        yield AnchorDistances(stack, 0, D, distances, spec)


def _between_parts(
    stack: StackedBlocks, spec: SearchSpec
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Distances]:
    """Return distances of the first part of a stack to the last, their transpose, and error bounds."""
    (a, b), (c, d) = stack.parts[0], stack.parts[-1]
    D = distance_array(b - a, d - c)
    D_transposed = D if len(stack.parts) == 1 else distance_array(d - c, b - a)
    distances = spec.distances(stack)
    distances.add_tiles(distances.piece(0, 1), (a, b), (c, d), D, D_transposed)
    return D, D_transposed, distances


class TiedPairs(NamedTuple):
    """Some neighbors tied with the k-th and missing from truncated lists, sorted by list."""

    #: Index of the list in :class:`Ties`.
    tie: NDArray[np.int64]
    #: The neighbor, as an index in the table, and its weight.
    rows: NDArray[np.int64]
    sample_weight: NDArray[np.float64]


class AnchorDistances:
    """The anchors of one part of stacked blocks, and their distances to the rows of the other part.

    Parameters
    ----------
    stack : StackedBlocks
        One block or two.
    side : {0, 1}
        The part of the anchors.
    D : (height, width) uint32
        Distances of the rows of that part to those of the other, as keys that order as they do. Padding and
        the anchors themselves are masked here.
    distances : Distances
        Their type and error bounds.
    spec : SearchSpec
        Parameters of the search.
    """

    def __init__(
        self,
        stack: StackedBlocks,
        side: int,
        D: NDArray[np.uint32],
        distances: Distances,
        spec: SearchSpec,
    ) -> None:
        self._stack, self._side, self._spec = stack, side, spec
        self._D, self._distances = D, distances
        self._part, self._other = slice(*stack.parts[side]), slice(*stack.parts[-1 - side])
        samples = stack.samples[self._part]
        #: The anchors, as rows of D, and all columns of D, as indices in the table.
        self.anchors = np.flatnonzero((samples >= 0) & spec.is_anchor[samples])
        self._others = stack.samples[self._other]
        self._own = _positions_in(self._others, samples[self.anchors])
        D[:, self._others < 0] = candidates_kernels.MASKED
        inside = self._own >= 0
        # A sample of weight above 1 is its own neighbor at distance 0.
        several = stack.sample_weight[self._part.start + self.anchors[inside]] > 1.0
        own_keys = np.where(several, np.uint32(0), candidates_kernels.MASKED)
        D[self.anchors[inside], self._own[inside]] = own_keys

    @cached_property
    def _samples(self) -> NDArray[np.int64]:
        """The anchors, as indices in the table."""
        return self._stack.samples[self._part][self.anchors]

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Class codes of the anchors."""
        return self._stack.codes[self._part][self.anchors]

    @property
    def _batches(self) -> list[tuple[int, int]]:
        """Ranges of anchors whose neighbors are listed at a time."""
        most = max(1, limits.max_listed_pairs // max(1, self._others.size))
        return even_ranges(self.anchors.size, -(-self.anchors.size // most))

    @cached_property
    def _error_bound(self) -> tuple[NDArray[np.float64], float, float]:
        tolerance = self._spec.metric.tolerance_of_sums(self._spec.tolerance)
        return self._distances.error_bound().with_ties(tolerance)

    def candidates(self) -> Candidates:
        """Return the candidates of all anchors."""
        parts: list[Candidates] = []
        counts: list[NDArray[np.int64]] = []
        columns: list[NDArray[np.int64]] = []
        begin = 0
        for a, b in self._batches:
            batch_counts, batch_columns = self._find_candidates(slice(a, b))
            counts.append(batch_counts)
            columns.append(batch_columns)
            # Few candidates are measured together with those of the next anchors.
            if b == self.anchors.size or sum(each.size for each in columns) >= limits.max_listed_pairs:
                lists = np.concatenate(counts), np.concatenate(columns)
                parts.append(self._measured_candidates(slice(begin, b), *lists))
                counts, columns, begin = [], [], b
        return Candidates(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _find_candidates(self, which: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers of candidates of some anchors by class, and the candidates as columns of D."""
        n_classes, anchors, own = self._stack.n_classes, self.anchors[which], self._own[which]
        codes, sample_weight, absolute_error = self._kernel_rows
        # An anchor that is no column of D is among the rows behind the columns.
        places = np.where(own >= 0, own, self._others.size + anchors)
        counts = np.empty((anchors.size, n_classes), np.int64)
        columns = []
        for rows, run in _runs(self._D, anchors, n_classes):
            start, count, n_certain = (np.zeros((run.stop - run.start, n_classes), np.int64) for _ in "123")
            columns.append(
                candidates_kernels.find_candidates(
                    rows,
                    0,
                    len(count),
                    places[run],
                    codes,
                    self._stack.class_starts_in_part[-1 - self._side],
                    sample_weight,
                    self._stack.has_sample_weight,
                    False,
                    self._spec.k,
                    False,
                    self._distances.as_float,
                    absolute_error,
                    self._error_bound[1],
                    self._error_bound[2],
                    start,
                    count,
                    n_certain,
                )
            )
            counts[run] = count
        return counts, np.concatenate(columns)

    @cached_property
    def _kernel_rows(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Codes, sample weights and error bounds of the columns of D, followed by those of its rows."""
        stack, absolute_error = self._stack, self._error_bound[0]
        codes, sample_weight, absolute_error = (
            np.concatenate([values[self._other], values[self._part]])
            for values in (stack.codes, stack.sample_weight, absolute_error)
        )
        return codes, sample_weight, absolute_error

    def _measured_candidates(
        self, which: slice, counts: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> Candidates:
        """Return candidates of some anchors with exact distances, from columns of D."""
        owner = np.repeat(np.arange(which.start, which.stop), counts.sum(axis=1))
        distances = self._exact_distances(self.anchors[which], counts, owner, columns)
        cutoff = np.full(counts.shape, np.inf)
        candidates = Candidates(self._samples[which], counts, self._others[columns], distances, cutoff)
        if self._spec.pooled:
            candidates = _pooled(candidates, self._codes[which])
        long = candidates.counts.max(initial=0) > self._spec.k + limits.max_extra_ties
        return candidates.pruned(self._spec) if long else candidates

    def _exact_distances(
        self,
        anchors: NDArray[np.int64],
        counts: NDArray[np.int64],
        owner: NDArray[np.int64],
        columns: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return exact distances of anchors to the columns of D in their lists."""
        if self._spec.exact:
            return self._D[self.anchors[owner], columns].astype(np.float64)
        lists = Neighbors.of_lists(self._part.start + anchors, counts, self._other.start + columns)
        of_stack = self._stack.columns, self._stack.sample_of_row
        return self._spec.metric.from_sums(exact_distances(*of_stack, lists, self._spec.metric.squares))

    def tied_pairs(self, ties: Ties) -> Iterator[TiedPairs]:
        """Yield all neighbors tied with the k-th of truncated lists, some anchors at a time."""
        spec, n_slots = self._spec, self._spec.n_slots
        tie_of_list = np.full(self.anchors.size * n_slots, -1)
        tie_of_list[ties.lists] = np.arange(ties.lists.size)
        class_starts = self._stack.class_starts_in_part[-1 - self._side]
        for a, b in self._batches:
            for code, (low, high) in enumerate(pairwise(class_starts.tolist())):
                slots = (self._codes[a:b] != code).astype(np.int64) if spec.pooled else code
                tie = tie_of_list[n_slots * np.arange(a, b) + slots]
                which = np.flatnonzero(tie >= 0)
                if which.size and high > low:
                    yield self._tied_among(a + which, tie[which], (low, high), ties)

    def _tied_among(
        self, which: NDArray[np.int64], tie: NDArray[np.int64], columns: tuple[int, int], ties: Ties
    ) -> TiedPairs:
        """Return the neighbors in a range of columns of D that are tied with the k-th of some anchors."""
        kth = ties.distance[tie]
        lower, upper = self._key_bounds(which, kth)
        D = self._D[self.anchors[which], slice(*columns)]
        keys = D.view(np.float32) if self._distances.as_float else D
        owner, column = np.nonzero((keys >= lower[:, np.newaxis]) & (keys <= upper[:, np.newaxis]))
        column += columns[0]
        counts = np.bincount(owner, minlength=which.size)[:, np.newaxis]
        exact = self._exact_distances(self.anchors[which], counts, which[owner], column)
        tolerance = self._spec.tie_tolerance * kth[owner]
        tied = (kth[owner] - exact <= tolerance) & (exact - kth[owner] <= tolerance)
        owner, rows = owner[tied], self._others[column[tied]]
        return TiedPairs(tie[owner], rows, self._spec.neighbor_weight(self._samples[which[owner]], rows))

    def _key_bounds(
        self, which: NDArray[np.int64], kth: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds on the keys of distances that may be tied with the k-th of some anchors."""
        spec = self._spec
        if spec.exact:
            # The same integer, or one within the tolerance of ties.
            slack = spec.tie_tolerance * kth + 0.5
            return kth - slack, kth + slack
        key = spec.metric.to_sums(kth)
        if not self._distances.as_float:
            key = key / spec.key_unit(self._stack)
        absolute_error, relative, tolerance = self._error_bound
        slack = (
            2.0 * (absolute_error[self._part][self.anchors[which]] + relative * key) + 2.1 * tolerance * key
        )
        # Keys are rounded to float32, or to integers.
        slack += 2.0**-20 * key if self._distances.as_float else 1.0
        return key - slack, np.minimum(key + slack, candidates_kernels.MASKED - 1.0)


def _positions_in(values: NDArray[np.int64], samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index in ``values`` of each sample; −1 if it is not there."""
    order = np.argsort(values, kind="stable")
    at = np.minimum(np.searchsorted(values, samples, sorter=order), values.size - 1)
    return np.where(values[order[at]] == samples, order[at], -1)


def _runs(
    D: NDArray[np.uint32], anchors: NDArray[np.int64], n_classes: int
) -> list[tuple[NDArray[np.uint32], slice]]:
    """Return the rows of D at the anchors, as views if these are few runs, and the anchors of each run."""
    borders = np.concatenate([[0], np.flatnonzero(np.diff(anchors) != 1) + 1, [anchors.size]])
    if borders.size - 1 > n_classes:
        return [(copied_rows(D, anchors), slice(0, anchors.size))]
    return [(D[anchors[a] : anchors[b - 1] + 1], slice(a, b)) for a, b in pairwise(borders)]


def _pooled(candidates: Candidates, codes: NDArray[np.int64]) -> Candidates:
    """Return candidates by class as lists of hits, and of the misses of all classes."""
    n_classes = candidates.counts.shape[1]
    owner, code = np.divmod(candidates.list_index, n_classes)
    lists = 2 * owner + (code != codes[owner])
    order = np.argsort(lists, kind="stable")
    counts = np.bincount(lists, minlength=2 * codes.size).reshape(-1, 2)
    cutoff = np.full(counts.shape, np.inf)
    distances = candidates.distances[order]
    return Candidates(candidates.anchors, counts, candidates.rows[order], distances, cutoff)


# Ties that truncated lists lack


def tied_weight(
    block: RowBlock,
    other: RowBlock | None,
    spec: SearchSpec,
    neighbors: BlockNeighbors,
    other_neighbors: BlockNeighbors | None,
) -> list[NDArray[np.float64]]:
    """Return the sample weights of rows of the other block tied with the k-th of each block's lists."""
    totals = [np.zeros(n_truncated(each)) for each in (neighbors, other_neighbors) if each is not None]
    for side, tied in _tied_pairs_between(block, other, spec, neighbors, other_neighbors):
        totals[side] += np.bincount(tied.tie, weights=tied.sample_weight, minlength=totals[side].size)
    return totals


def tied_neighbors(
    block: RowBlock,
    other: RowBlock | None,
    spec: SearchSpec,
    neighbors: BlockNeighbors,
    other_neighbors: BlockNeighbors | None,
) -> Iterator[tuple[int, NDArray[np.int64], Neighbors]]:
    """Yield neighbors in the other block missing from truncated lists, some at a time.

    Yields the block of the anchors (0 or 1), which of its anchors they are, and their neighbors as indices in
    the table.
    """
    lists = [neighbors, other_neighbors]
    for side, tied in _tied_pairs_between(block, other, spec, neighbors, other_neighbors):
        own_lists = lists[side]
        assert own_lists is not None
        yield side, *_by_anchor(tied, own_lists)


def tied_neighbors_in(
    block: RowBlock, other: RowBlock, spec: SearchSpec, neighbors: BlockNeighbors
) -> Iterator[tuple[NDArray[np.int64], Neighbors]]:
    """Yield neighbors in another block, or in itself, missing from truncated lists of a block.

    Yields which of its anchors they are, and their neighbors as indices in the table.
    """
    for tied in _tied_pairs_in(block, other, spec, neighbors):
        yield _by_anchor(tied, neighbors)


def neighbors_in(block: RowBlock, other: RowBlock, spec: SearchSpec, neighbors: BlockNeighbors) -> Neighbors:
    """Return all neighbors of the anchors of a block in another, or in itself, as indices in the table."""
    listed = neighbors_within(neighbors, other)
    parts = [(_list_index(listed), listed.rows, listed.shares)]
    parts += [
        (neighbors.ties.lists[tied.tie], tied.rows, _tied_shares(tied, neighbors))
        for tied in _tied_pairs_in(block, other, spec, neighbors)
    ]
    lists, rows, shares = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(lists, kind="stable")
    return _from_lists(neighbors.anchors, neighbors.count.shape[1], lists[order], rows[order], shares[order])


def _by_anchor(tied: TiedPairs, neighbors: BlockNeighbors) -> tuple[NDArray[np.int64], Neighbors]:
    """Return which of the anchors have tied neighbors, and these neighbors."""
    n_slots = neighbors.count.shape[1]
    lists = neighbors.ties.lists[tied.tie]
    which, owner = np.unique(lists // n_slots, return_inverse=True)
    lists += (owner - which[owner]) * n_slots
    shares = _tied_shares(tied, neighbors)
    return which, _from_lists(neighbors.anchors[which], n_slots, lists, tied.rows, shares)


def _tied_shares(tied: TiedPairs, neighbors: BlockNeighbors) -> NDArray[np.float64]:
    """Return the shares of tied neighbors, in proportion to their sample weights."""
    ties = neighbors.ties
    return ties.share[tied.tie] * tied.sample_weight / ties.sample_weight[tied.tie]


def _tied_pairs_in(
    block: RowBlock, other: RowBlock, spec: SearchSpec, neighbors: BlockNeighbors
) -> Iterator[TiedPairs]:
    """Yield rows of another block, or of itself, tied with the k-th of the lists of a block."""
    if not n_truncated(neighbors):
        return
    # In the order of all pairs of blocks, so that distances have the same bits.
    swapped = other.first < block.first
    pair = (other, block) if swapped else (block, None if other.first == block.first else other)
    distances = next(islice(anchor_distances(*pair, spec), int(swapped), None))
    if distances is not None:
        yield from distances.tied_pairs(neighbors.ties)


def _tied_pairs_between(
    block: RowBlock,
    other: RowBlock | None,
    spec: SearchSpec,
    neighbors: BlockNeighbors,
    other_neighbors: BlockNeighbors | None,
) -> Iterator[tuple[int, TiedPairs]]:
    """Yield rows of the other block tied with the k-th of each block's lists, and which block's."""
    lists = [each for each in (neighbors, other_neighbors) if each is not None]
    if not any(n_truncated(each) for each in lists):
        return
    for side, distances in enumerate(anchor_distances(block, other, spec)):
        if distances is not None:
            for tied in distances.tied_pairs(lists[side].ties):
                yield side, tied
