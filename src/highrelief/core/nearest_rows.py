"""Margins at the nearest neighbours."""

from __future__ import annotations

import math
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


def nearest_margin(table: Packed, among: Neighborhood, anchors: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean over the anchors of E|x − miss| − E|x − hit|, (n_features,)."""
    ranges = even_ranges(table.n_rows, table.n_parts(table.n_features), multiple=nearest.ANCHORS_PER_SUM)
    by_list, by_scan, lists = _ways(table, among, anchors)
    parts = []

    def from_lists(a: int, b: int) -> NDArray[np.float64]:
        out = np.zeros((1, table.n_features))
        _from_lists(table, among, lists, by_list, a, b, False, out)
        return out[0]

    def from_scan(a: int, b: int) -> NDArray[np.float64]:
        out = np.zeros((1, table.n_features))
        _from_scan(table, among, by_scan, a, b, False, out)
        return out[0]

    if by_list.any():
        parts += run_all(from_lists, ranges, table.n_threads)
    if by_scan.any():
        parts += run_all(from_scan, ranges, table.n_threads)
    total = sum_in_order(parts) if parts else np.zeros(table.n_features)
    return total / table.copies[anchors].sum()


def nearest_margin_rows(table: Packed, among: Neighborhood) -> NDArray[np.float64]:
    """Margin vectors E|x − miss| − E|x − hit| of the single samples, (n_samples, n_features)."""
    by_list, by_scan, lists = _ways(table, among, table.real)
    out = np.zeros((table.n_rows, table.n_features))

    def work(a: int, b: int) -> None:
        _from_lists(table, among, lists, by_list, a, b, True, out)
        _from_scan(table, among, by_scan, a, b, True, out)

    run_all(work, even_ranges(table.n_rows, table.n_parts(1)), table.n_threads)
    return table.unpacked(out)


@dataclass(frozen=True)
class _Lists:
    neighbors: NDArray[np.int64]
    shares: NDArray[np.float64]
    short: NDArray[np.bool_]


def _ways(
    table: Packed, among: Neighborhood, anchors: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], _Lists]:
    """Divide the anchors: those settled from lists, and those that need every exact distance."""
    chosen = anchors & table.has_hit
    if table.counted or np.count_nonzero(anchors) < FEW_ANCHORS * table.n_samples:
        empty = np.empty((0, 0, 0))
        lists = _Lists(empty.astype(np.int64), empty, np.ones(table.n_rows, dtype=bool))
    else:
        lists = _neighbor_lists(table, among, chosen)
    return chosen & ~lists.short, chosen & lists.short, lists


def _neighbor_lists(table: Packed, among: Neighborhood, anchors: NDArray[np.bool_]) -> _Lists:
    metric = METRICS[among.metric]
    rank_weights = among.rank_weights(table.n_copies)
    available = _available(table, among.pooled)
    capacity = min(rank_weights.size + nearest.SPARE_KEYS, int(available.max()))

    def first_look(a: int, b: int) -> NDArray[np.uint64]:
        keys = np.full((*available.shape, capacity), nearest.EMPTY_KEY)
        nearest.nearest_keys(
            table.X,
            table.row_sums,
            table.codes,
            table.real,
            anchors,
            metric,
            among.pooled,
            table.tiles[a:b],
            keys,
        )
        return keys

    # The smallest keys are the same however the tiles are dealt out: one part per thread will do.
    first, *others = run_all(first_look, even_ranges(len(table.tiles), table.n_threads), table.n_threads)
    for more in others:
        nearest.merge_keys(first, more)

    error = distances.relative_error(table.dtype)
    if metric == distances.MANHATTAN:
        # a + b − 2·min(a, b): the sums of two rows, and twice that of their minima.
        error *= 4.0 * table.row_sums.max()
    lists = _Lists(
        np.full(first.shape, -1, dtype=np.int64),
        np.zeros(first.shape),
        np.zeros(table.n_rows, dtype=bool),
    )

    def second_look(a: int, b: int) -> None:
        nearest.settle_lists(
            table.X,
            metric,
            first,
            rank_weights,
            among.rank_decay is None,
            error,
            TIE_TOLERANCE[table.dtype],
            a,
            b,
            anchors,
            available,
            lists.neighbors,
            lists.shares,
            lists.short,
        )

    run_all(second_look, even_ranges(table.n_rows, table.n_parts(1)), table.n_threads)
    return lists


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


def _from_lists(
    table: Packed,
    among: Neighborhood,
    lists: _Lists,
    chosen: NDArray[np.bool_],
    a: int,
    b: int,
    by_row: bool,
    out: NDArray[np.float64],
) -> None:
    nearest.margin_from_lists(
        table.X,
        table.codes,
        METRICS[among.metric],
        lists.neighbors,
        lists.shares,
        _slot_factors(table, among.pooled),
        chosen,
        a,
        b,
        by_row,
        out,
    )


def _from_scan(
    table: Packed,
    among: Neighborhood,
    chosen: NDArray[np.bool_],
    a: int,
    b: int,
    by_row: bool,
    out: NDArray[np.float64],
) -> None:
    nearest.margin_from_all_rows(
        table.X,
        table.codes,
        table.copies,
        METRICS[among.metric],
        among.pooled,
        among.rank_weights(table.n_copies),
        TIE_TOLERANCE[table.dtype],
        _slot_factors(table, among.pooled),
        chosen,
        a,
        b,
        by_row,
        out,
    )
