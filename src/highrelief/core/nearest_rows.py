"""Margins at the nearest neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, nearest
from .packed import Packed, sum_in_order
from .threads import even_ranges, run_all

METRICS = {
    "manhattan": distances.MANHATTAN,
    "euclidean": distances.EUCLIDEAN,
    "sqeuclidean": distances.SQUARED_EUCLIDEAN,
}
#: Distances that differ by less, relatively, are equal: range scaling splits true ties by rounding.
TIE_TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
#: Below this share of the samples, anchors are cheaper one by one than by symmetric tiles.
FEW_ANCHORS = 1 / 8
#: Lists of neighbours may always be as large as this.
LISTS_BYTES = 2.0**26


@dataclass(frozen=True)
class Neighborhood:
    """Which neighbours count, and how much.

    ``pooled``: the misses of all classes are one set; otherwise k come from each class, weighted by
    P(c)/(1 − P(y)). ``rank_decay``: a neighbour weighs exp(−(rank/rank_decay)²); None: all the same.
    """

    n_neighbors: int
    metric: str = "manhattan"
    pooled: bool = False
    rank_decay: float | None = None

    def rank_weights(self, n_copies: float) -> NDArray[np.float64]:
        """Weights of the ranks 1 … k, as far as there are samples."""
        ranks = np.arange(1.0, min(self.n_neighbors, math.ceil(n_copies)) + 1.0)
        if self.rank_decay is None:
            return np.ones(ranks.size)
        # Relative to the first rank: the same shares, and no 0/0 for a short decay.
        return np.exp((1.0 - ranks**2) / self.rank_decay**2)


class NearestPass:
    """One pass over the nearest neighbours of the anchors.

    Anchors are settled from lists of their nearest where that is possible, and from the exact distances to
    all rows where it is not (ties beyond the list, sample weights) or not worth it (few anchors).

    Parameters
    ----------
    table : Packed
        The rows.
    among : Neighborhood
        Which neighbours count.
    anchors : (n_rows,) bool
        Whose neighbours.
    memory : float
        Bytes that may be spent on lists.
    report : callable
        Called after every piece of a long search.
    """

    def __init__(
        self,
        table: Packed,
        among: Neighborhood,
        anchors: NDArray[np.bool_],
        memory: float,
        report: Callable[[], object] = lambda: None,
    ) -> None:
        self._table = table
        self._report = report
        self._pooled = among.pooled
        self._metric = METRICS[among.metric]
        self._uniform = among.rank_decay is None
        self._rank_weights = among.rank_weights(table.n_copies)
        self._tolerance = TIE_TOLERANCE[table.dtype]
        self._factors = _slot_factors(table, among.pooled)
        self._anchors = anchors
        self._neighbors: NDArray[np.int64] = np.empty((0, 0, 0), np.int64)
        self._shares: NDArray[np.float64] = np.empty((0, 0, 0))
        chosen = anchors & table.has_hit
        few = np.count_nonzero(anchors) < FEW_ANCHORS * table.n_samples
        available = _available(table, among.pooled)
        capacity = min(self._rank_weights.size + nearest.SPARE_KEYS, int(available.max()))
        # Keys, neighbours and shares; never more than all distances would take. Further threads have sets of
        # keys of their own as far as there is room, so that their number decides nothing.
        budget = min(memory, max(LISTS_BYTES, 4.0 * table.n_rows**2))
        room_for_sets = int(budget / (8.0 * available.size * capacity)) - 2
        self._with_lists = not (table.counted or few or room_for_sets < 1)
        short = chosen
        if self._with_lists:
            n_sets = min(room_for_sets, table.n_threads, table.n_tiles)
            short = self._find_lists(chosen, available, capacity, n_sets)
        self._by_list, self._by_scan = chosen & ~short, chosen & short

    def mean(self) -> NDArray[np.float64]:
        """Mean over the anchors of E|x − miss| − E|x − hit|, (n_features,)."""
        table = self._table

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros((1, table.n_features))
            self._add(a, b, False, out)
            return out[0]

        ranges = table.row_ranges(table.n_features)
        # With lists, the search for them was the long part, and has been reported.
        pieces = 1 if self._with_lists else table.n_pieces
        parts = []
        for start, end in even_ranges(len(ranges), pieces):
            parts += run_all(part, ranges[start:end], table.n_threads)
            if not self._with_lists:
                self._report()
        return sum_in_order(parts) / table.copies[self._anchors].sum()

    def rows(self) -> NDArray[np.float64]:
        """E|x − miss| − E|x − hit| of every sample, (n_samples, n_features); 0 if it is no anchor."""
        table = self._table
        out = np.zeros((table.n_rows, table.n_features))
        run_all(lambda a, b: self._add(a, b, True, out), table.row_ranges(), table.n_threads)
        return table.unpacked(out)

    def _add(self, a: int, b: int, by_row: bool, out: NDArray[np.float64]) -> None:
        """Add the margins of the anchors among rows a … b to ``out``."""
        table = self._table
        if self._by_list[a:b].any():
            nearest.margin_from_lists(
                table.X,
                table.codes,
                self._metric,
                self._neighbors,
                self._shares,
                self._factors,
                self._by_list,
                a,
                b,
                by_row,
                out,
            )
        if self._by_scan[a:b].any():
            nearest.margin_from_all_rows(
                table.X,
                table.codes,
                table.copies,
                self._metric,
                self._pooled,
                self._rank_weights,
                self._tolerance,
                self._factors,
                self._by_scan,
                a,
                b,
                by_row,
                out,
            )

    def _find_lists(
        self, chosen: NDArray[np.bool_], available: NDArray[np.int64], capacity: int, n_sets: int
    ) -> NDArray[np.bool_]:
        """Make the lists of neighbours and shares; returns the anchors whose list is too short."""
        table = self._table

        def first_look(keys: NDArray[np.uint64], a: int, b: int) -> None:
            nearest.nearest_keys(
                table.X,
                table.row_sums,
                table.codes,
                table.real,
                chosen,
                self._metric,
                self._pooled,
                a,
                b,
                keys,
            )

        # The smallest keys are the same however the tiles are dealt out to the sets.
        sets = [np.full((*available.shape, capacity), nearest.EMPTY_KEY) for _ in range(n_sets)]
        for start, end in even_ranges(table.n_tiles, table.n_pieces):
            dealt = even_ranges(end - start, n_sets)
            work = [(keys, start + a, start + b) for keys, (a, b) in zip(sets, dealt, strict=False)]
            run_all(first_look, work, table.n_threads)
            self._report()
        keys = sets[0]
        for more in sets[1:]:
            nearest.merge_keys(keys, more)

        self._neighbors = np.full(keys.shape, -1, dtype=np.int64)
        self._shares = np.zeros(keys.shape)
        short = np.zeros(table.n_rows, dtype=bool)

        def second_look(a: int, b: int) -> None:
            nearest.settle_lists(
                table.X,
                table.row_sums,
                self._metric,
                keys,
                self._rank_weights,
                self._uniform,
                distances.relative_error(table.dtype),
                self._tolerance,
                a,
                b,
                chosen,
                available,
                self._neighbors,
                self._shares,
                short,
            )

        run_all(second_look, table.row_ranges(), table.n_threads)
        return short


def _available(table: Packed, pooled: bool) -> NDArray[np.int64]:
    """Number of rows that could be neighbours, by row and slot."""
    rows = np.arange(table.n_rows)
    by_class = np.tile(table.class_sizes, (table.n_rows, 1))
    by_class[rows, table.codes] -= 1
    if not pooled:
        return by_class
    hits = by_class[rows, table.codes]
    return np.stack([hits, by_class.sum(axis=1) - hits], axis=1)


def _slot_factors(table: Packed, pooled: bool) -> NDArray[np.float64]:
    """Sign and weight of hits and misses, by class of the anchor and slot."""
    if pooled:
        return np.tile([-1.0, 1.0], (table.n_classes, 1))
    factors = table.miss_factors.copy()
    np.fill_diagonal(factors, -1.0)
    return factors
