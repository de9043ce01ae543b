"""Neighbors: which count, the reduction of distances to the k nearest, and the lists that result.

Distances are uint32 keys that may be a little off (:class:`ErrorBound`). :class:`NearestK` keeps
every row that may be among the k nearest, ties included; where that is not certain, exact distances decide,
and :class:`TieSharing` distributes the weight of the k places over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import candidates, soft
from .arrays import entries_of, list_starts
from .cached_property import cached_property
from .layout import Layout
from .limits import limits
from .memory import check_room
from .metrics import METRICS
from .threads import even_ranges, run_all

#: Slots of a neighborhood whose misses are one set.
HITS, MISSES = 0, 1


@dataclass(frozen=True)
class Neighborhood:
    """Which neighbors count, and with which weights.

    ``pooled``: the misses of all classes are one set; otherwise k come from each class, weighted by
    P(c)/(1 − P(y)). ``rank_decay``: a neighbor has the weight exp(−(rank/rank_decay)²); None: all have 1.
    """

    n_neighbors: int
    metric: str = "manhattan"
    pooled: bool = False
    rank_decay: float | None = None

    def n_ranks(self, total_sample_weight: float) -> int:
        """Return the number k of ranks, at most the number of samples."""
        return min(self.n_neighbors, math.ceil(total_sample_weight))

    def rank_weights(self, total_sample_weight: float) -> NDArray[np.float64]:
        """Return the weights of the ranks 1 … k."""
        n_ranks = self.n_ranks(total_sample_weight)
        check_room(
            16.0 * n_ranks,
            f"The weights of the ranks of {n_ranks:g} neighbors",
            "Use fewer n_neighbors.",
        )
        ranks = np.arange(1.0, n_ranks + 1.0)
        if self.rank_decay is None:
            return np.ones(ranks.size)
        # Relative to the first rank: the same shares, and no 0/0 for a short decay.
        return np.exp((1.0 - ranks**2) / self.rank_decay**2)


@dataclass
class Neighbors:
    """Neighbors of some anchors in flat arrays.

    A slot is a set of possible neighbors: hits and misses, or one class. The neighbors of anchor a in slot s
    are ``rows[start[a, s] : start[a, s] + count[a, s]]``. The first ``n_certain[a, s]`` of them are certain
    to be among the k nearest.
    """

    anchors: NDArray[np.int64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    n_certain: NDArray[np.int64]
    rows: NDArray[np.int64]
    #: Share of each neighbor in the mean over its slot.
    shares: NDArray[np.float64]

    @classmethod
    def empty(cls, anchors: NDArray[np.int64], n_slots: int, n_places: int) -> Neighbors:
        """Return lists with this many unused places."""
        shape = (anchors.size, n_slots)
        start, count, n_certain = (np.zeros(shape, np.int64) for _ in range(3))
        return cls(anchors, start, count, n_certain, np.empty(n_places, np.int64), np.zeros(n_places))

    @classmethod
    def of_lists(
        cls,
        anchors: NDArray[np.int64],
        count: NDArray[np.int64],
        rows: NDArray[np.int64],
        shares: NDArray[np.float64] | None = None,
    ) -> Neighbors:
        """Return lists that follow each other, of which nothing is certain; without shares these are 0."""
        shares = np.zeros(rows.size) if shares is None else shares
        return cls(anchors, list_starts(count), count, np.zeros_like(count), rows, shares)

    def without(self, slot: int) -> Neighbors:
        """Return the neighbors in all slots but one."""
        count = self.count.copy()
        count[:, slot] = 0
        return replace(self, count=count)

    def listed(self, slot: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the anchors and the places in the lists of all neighbors in a slot that have a share."""
        return self._sharing(self.start[:, slot], self.count[:, slot])

    def all_listed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return lists, numbered by anchor and slot, and places of all neighbors that have a share."""
        return self._sharing(self.start.ravel(), self.count.ravel())

    def _sharing(
        self, first: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        owner, place = entries_of(first, count)
        shares = self.shares[place] > 0.0
        return owner[shares], place[shares]

    def uncertain(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the anchors and the places in the lists of all candidates that are not certain."""
        n_slots = self.start.shape[1]
        first, count = (self.start + self.n_certain).ravel(), (self.count - self.n_certain).ravel()
        owner, place = entries_of(first, count)
        return owner // n_slots, place

    def reordered(self, order: NDArray[np.int64]) -> Neighbors:
        """Return the neighbors with the anchors in another order."""
        return replace(
            self,
            anchors=self.anchors[order],
            start=self.start[order],
            count=self.count[order],
            n_certain=self.n_certain[order],
        )


class TieSharing(NamedTuple):
    """How the weight of a slot is distributed over its candidates (:func:`.._kernels.candidates.share`)."""

    sample_weight: NDArray[np.float64]
    k: float
    rank_weights: NDArray[np.float64]
    uniform: bool
    exact: bool
    rooted: bool
    tolerance: float

    def share(
        self,
        found: Neighbors,
        exact: NDArray[np.float64],
        ranges: list[tuple[int, int]] | None = None,
        n_threads: int = 1,
    ) -> None:
        """Write the shares of the candidates from their exact distances."""
        lists = found.rows, exact, found.shares
        ties = self.rooted, self.tolerance, found.start, found.count

        def of_anchors(a: int, b: int) -> None:
            of_rows = a, b, found.anchors, self.sample_weight
            if self.uniform:
                candidates.share(*of_rows, self.k, self.exact, *ties, found.n_certain, *lists)
            else:
                candidates.share_by_rank(*of_rows, self.rank_weights, *ties, *lists)

        run_all(of_anchors, [(0, found.anchors.size)] if ranges is None else ranges, n_threads)


class ErrorBound(NamedTuple):
    """Format and error bound of the keys of distances."""

    #: Whether a key has the bits of a float32; otherwise it is a number of steps.
    as_float: bool
    #: Whether distances are exact: tied distances have equal keys, others have not.
    exact: bool
    #: (n_rows,) absolute error bound of the distances of each row.
    absolute: NDArray[np.float64]
    #: Relative error bound, in addition.
    relative: float

    def with_ties(self, tolerance: float) -> tuple[NDArray[np.float64], float, float]:
        """Return absolute and relative error bound, and the relative difference of the keys of ties."""
        return (self.absolute, 0.0, 0.0) if self.exact else (self.absolute, self.relative, tolerance)


class CandidateLists(NamedTuple):
    """For every row and slot the keys of the nearest rows so far, and how many there are."""

    keys: NDArray[np.uint64]
    filled: NDArray[np.int64]


class NearestK:
    """Reduction of distances to the k nearest neighbors in every slot, with all ties.

    Parameters
    ----------
    layout : Layout
        The rows.
    neighborhood : Neighborhood
        Which neighbors count.
    tolerance : float
        Distances that differ by less, relatively, are tied.
    exact : bool
        Whether distances are exact (:class:`ErrorBound`).
    """

    def __init__(self, layout: Layout, neighborhood: Neighborhood, tolerance: float, exact: bool) -> None:
        self._layout, self._tolerance, self._exact = layout, tolerance, exact
        self.pooled, self._metric = neighborhood.pooled, METRICS[neighborhood.metric]
        self.n_slots = 2 if neighborhood.pooled else layout.n_classes
        self.uniform = neighborhood.rank_decay is None
        self.n_ranks = neighborhood.n_ranks(layout.total_sample_weight)
        # Without a decay the ranks are not listed: with sample weights there may be too many.
        self.rank_weights = (
            np.empty(0) if self.uniform else neighborhood.rank_weights(layout.total_sample_weight)
        )
        self._capacity = (
            2 * self.n_ranks if layout.has_sample_weight else self.n_ranks
        ) + candidates.SPARE_KEYS

    @property
    def needs_exact(self) -> bool:
        """Whether exact distances of uncertain candidates are needed."""
        return not self._exact or not self.uniform

    @property
    def tie_sharing(self) -> TieSharing:
        """How the weight of a slot is distributed over its candidates."""
        ranks = (float(self.n_ranks), self.rank_weights, self.uniform)
        of_metric = self._metric.rooted, self._tolerance
        return TieSharing(self._layout.sample_weight, *ranks, self._exact, *of_metric)

    @property
    def list_bytes(self) -> float:
        """Bytes of the candidate lists of all rows."""
        return 8.0 * self._layout.n_rows * self.n_slots * self._capacity

    def _bounds(self, bound: ErrorBound) -> tuple[NDArray[np.float64], float, float]:
        return bound.with_ties(self._metric.tolerance_of_sums(self._tolerance))

    def from_all_distances(
        self, D: NDArray[np.uint32], anchors: NDArray[np.int64], bound: ErrorBound
    ) -> Iterator[Neighbors]:
        """Yield the candidates of some anchors at a time from the masked distances of all pairs."""
        most = max(64, int(limits.portion_bytes / (24.0 * self._layout.n_rows)))
        for start, end in even_ranges(anchors.size, -(-anchors.size // most)):
            chosen = anchors[start:end]
            # Rows of D in the order of the anchors, copied unless they are consecutive.
            whole = chosen.size and chosen[-1] - chosen[0] + 1 == chosen.size
            rows = D[chosen[0] : chosen[-1] + 1] if whole else copied_rows(D, chosen)
            yield self.candidates(rows, chosen, bound)

    def candidates(self, D: NDArray[np.uint32], anchors: NDArray[np.int64], bound: ErrorBound) -> Neighbors:
        """Return the candidates of the anchors from their masked distances to all rows."""
        layout = self._layout
        found = Neighbors.empty(anchors, self.n_slots, 0)
        bounds = self._bounds(bound)

        def work(a: int, b: int) -> NDArray[np.int64]:
            return candidates.find_candidates(
                D,
                a,
                b,
                anchors,
                layout.codes,
                layout.class_starts,
                layout.sample_weight,
                layout.has_sample_weight,
                self.pooled,
                float(self.n_ranks),
                self.uniform,
                bound.as_float,
                *bounds,
                found.start,
                found.count,
                found.n_certain,
            )

        ranges = work_ranges(anchors.size, layout.n_threads)
        parts = run_all(work, ranges, layout.n_threads)
        free = 0
        for (a, b), part in zip(ranges, parts, strict=True):
            found.start[a:b] += free
            free += part.size
        found.rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
        found.shares = np.zeros(free)
        return found

    def empty_lists(self) -> CandidateLists:
        """Return candidate lists for all rows."""
        shape = (self._layout.n_rows, self.n_slots)
        return CandidateLists(
            np.full((*shape, self._capacity), candidates.EMPTY_KEY), np.zeros(shape, np.int64)
        )

    def offer(
        self,
        D: NDArray[np.uint32],
        rows: tuple[int, int],
        others: tuple[int, int],
        chosen: NDArray[np.bool_],
        lists: CandidateLists,
    ) -> None:
        """Update the lists of the chosen ones of a range of rows with their distances to other rows."""
        layout = self._layout

        def work(a: int, b: int) -> None:
            candidates.update_lists(
                D,
                rows[0],
                a,
                b,
                others[0],
                others[1] - others[0],
                chosen,
                layout.codes,
                layout.class_starts,
                self.pooled,
                self._capacity,
                *lists,
            )

        run_all(work, work_ranges(rows[1] - rows[0], layout.n_threads), layout.n_threads)

    def portions(self, n_anchors: int) -> list[tuple[int, int]]:
        """Return ranges of the anchors whose lists are turned into neighbors at a time."""
        # Candidates take three times the memory of the lists.
        most = max(64, min(limits.list_rows, int(limits.list_bytes / (24.0 * self.n_slots * self._capacity))))
        return [(start, min(start + most, n_anchors)) for start in range(0, n_anchors, most)]

    @cached_property
    def _available(self) -> NDArray[np.int64]:
        return n_available(self._layout, self.pooled)

    def from_lists(
        self, lists: CandidateLists, anchors: NDArray[np.int64], bound: ErrorBound
    ) -> tuple[Neighbors, NDArray[np.int64]]:
        """Return the candidates of the anchors, and the anchors whose lists are too short for their ties."""
        layout = self._layout
        found = Neighbors.empty(anchors, self.n_slots, anchors.size * self.n_slots * self._capacity)
        short = np.zeros(anchors.size, dtype=bool)
        bounds = self._bounds(bound)
        available = self._available

        def work(a: int, b: int) -> None:
            candidates.candidates_from_lists(
                *lists,
                available,
                a,
                b,
                anchors,
                layout.sample_weight,
                layout.has_sample_weight,
                float(self.n_ranks),
                self.uniform,
                bound.as_float,
                *bounds,
                found.start,
                found.count,
                found.n_certain,
                found.rows,
                short,
            )

        run_all(work, work_ranges(anchors.size, layout.n_threads), layout.n_threads)
        # The candidates of short lists are not used.
        found.count[short] = 0
        found.n_certain[short] = 0
        return found, anchors[short]


def n_available(layout: Layout, pooled: bool) -> NDArray[np.int64]:
    """Return the number of rows that may be neighbors, by row and slot."""
    if layout.batch_constraint is not None:
        available = layout.n_available_rows
        hits = available[np.arange(layout.n_rows), layout.codes]
        return np.stack([hits, available.sum(axis=1) - hits], axis=1) if pooled else available
    # A row of weight above 1 is a neighbor of itself.
    hits = layout.class_sizes[layout.codes] - (layout.sample_weight <= 1.0)
    if pooled:
        return np.stack([hits, layout.n_samples - layout.class_sizes[layout.codes]], axis=1)
    by_class = np.tile(layout.class_sizes, (layout.n_rows, 1))
    by_class[np.arange(layout.n_rows), layout.codes] = hits
    return by_class


def mask_pairs(
    layout: Layout, D: NDArray[np.uint32], anchors: NDArray[np.int64], others: tuple[int, int]
) -> None:
    """Mask in D, distances of the anchors to a range of rows: padding, the anchors, excluded batches."""
    first, n_columns = others[0], others[1] - others[0]
    candidates.mask_pairs(D, anchors, first, n_columns, layout.padding, layout.sample_weight)
    if layout.batch_constraint is not None:
        soft.mask_batches(D, anchors, first, n_columns, layout.batches, layout.within)


def work_ranges(n: int, n_threads: int) -> list[tuple[int, int]]:
    """Return ranges of independent work for the threads."""
    return even_ranges(n, 4 * n_threads if n_threads > 1 else 1)


def padded_columns(n: int) -> int:
    """Return the number of columns of an array of distances to n rows."""
    return -(-n // 64) * 64


def distance_array(n_rows: int, n_columns: int) -> NDArray[np.uint32]:
    """Return an array for distances; the kernels read 64 columns at a time, and beyond the last."""
    width = padded_columns(n_columns)
    return np.empty(n_rows * width + 64, np.uint32)[: n_rows * width].reshape(n_rows, width)


def copied_rows(D: NDArray[np.uint32], rows: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return a copy of some rows of an array of distances."""
    copy = distance_array(rows.size, D.shape[1])
    np.take(D, rows, axis=0, out=copy)
    return copy
