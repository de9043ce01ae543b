"""Search for the nearest neighbors: pair source and order of the work.

A search computes distances that may be a little off (:mod:`.quantized`, :mod:`.distances`, :mod:`.sparse`),
corrects them for missing values (:class:`.missing_pairs.ExpectedDistances`) and reduces them to the k nearest
(:class:`.neighbors.NearestK`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances as distances_kernels
from .._kernels import packing
from .columns import Columns, ColumnStatistics
from .distances import Distances, FloatDistances, ProductDistances, Range, TileDistances
from .layout import LabeledTable, Packed
from .limits import limits
from .metrics import METRICS, Metric
from .missing_pairs import ExpectedDistances
from .neighbors import (
    CandidateLists,
    NearestK,
    Neighborhood,
    Neighbors,
    distance_array,
    mask_pairs,
    padded_columns,
    work_ranges,
)
from .quantized import Plan, QuantizedDistances, find_levels, plan_columns
from .threads import even_ranges

Report = Callable[[], object]


def no_report() -> None:
    """Report nothing."""


#: How the distances that select neighbors of dense rows are computed: quantized by a plan, or in floats.
DistanceKind = Plan | type[ProductDistances] | type[TileDistances]


def choose_kind(columns: ColumnStatistics, metric: Metric, plan: Callable[[], Plan]) -> DistanceKind:
    """Return the kind of distances that select neighbors: integers if they are precise enough, else floats.

    ``plan``: returns how the columns are quantized.
    """
    if metric.squares:
        return ProductDistances
    quantized = plan()
    return TileDistances if quantized.too_coarse(columns.spans) else quantized


def distances_of_kind(
    kind: DistanceKind, columns: Columns, sample_of_row: NDArray[np.int64], n_threads: int
) -> QuantizedDistances | FloatDistances:
    """Return the distances between dense rows."""
    if isinstance(kind, Plan):
        return QuantizedDistances(columns, sample_of_row, n_threads, kind)
    return kind(columns, sample_of_row, n_threads)


class NeighborSearch(ABC):
    """A search for the nearest neighbors of the anchors: what a backend offers for a :class:`.NearestPass`.

    Distances with an error bound (:class:`.distances.Distances`) select candidates; exact distances decide if
    these are not certain.

    Parameters
    ----------
    table : LabeledTable
        The rows.
    neighborhood : Neighborhood
        Which neighbors count.
    anchors : (n_rows,) bool
        Rows whose neighbors are searched for.
    exact : bool
        Whether the distances that select candidates are exact.
    """

    def __init__(
        self, table: LabeledTable, neighborhood: Neighborhood, anchors: NDArray[np.bool_], *, exact: bool
    ) -> None:
        self._table, self._neighborhood, self._anchors = table, neighborhood, anchors
        self._tolerance = table.tie_tolerance
        self._searched = anchors & table.has_hit
        self._nearest = NearestK(table, neighborhood, self._tolerance, exact)
        self._order = _search_order(table, anchors, self._nearest)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""

    @property
    @abstractmethod
    def n_reports(self) -> int:
        """Number of times that a search reports progress."""

    @abstractmethod
    def neighbors(self, report: Report = no_report) -> Iterator[Neighbors]:
        """Yield the neighbors of all anchors that have a hit, some anchors at a time."""


class LocalSearch(NeighborSearch):
    """A search by the threads of this process.

    The shape of the data alone determines the order of the work:

    * many more features than samples: all distances, summed over blocks of columns;
    * few anchors: their distances to all rows;
    * otherwise distances between bands of rows, from which every anchor has a list of its nearest rows. An
      anchor whose list is too short for its ties is then searched for by its distances to all rows.

    Parameters
    ----------
    table, neighborhood, anchors
        As in :class:`NeighborSearch`.
    distances : Distances
        Distances that select candidates.
    """

    def __init__(
        self,
        table: LabeledTable,
        neighborhood: Neighborhood,
        anchors: NDArray[np.bool_],
        distances: Distances,
    ) -> None:
        super().__init__(table, neighborhood, anchors, exact=distances.exact)
        self._distances = distances

    @classmethod
    def of(cls, table: Packed, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> Self:
        """Return a search among dense rows; by expected distances if values are missing."""
        columns, n_threads = table.columns, table.n_threads

        def plan() -> Plan:
            return plan_columns(columns, *find_levels(columns, n_threads), table.tie_tolerance)

        kind = choose_kind(columns, METRICS[neighborhood.metric], plan)
        distances: Distances = distances_of_kind(kind, columns, table.sample_of_row, n_threads)
        if table.missing is not None:
            distances = ExpectedDistances(distances, table.missing, columns)
        return cls(table, neighborhood, anchors, distances)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return self._distances.describe()

    @property
    def n_reports(self) -> int:
        """Number of times that a search reports progress."""
        if self._order == "all":
            return len(self._pieces)
        if self._order == "rows":
            return 1 if len(self._pieces) > 1 else -(-int(self._searched.sum()) // limits.anchors_at_once)
        n_bands = len(self._bands)
        return n_bands * (n_bands + 1) // 2

    def neighbors(self, report: Report = no_report) -> Iterator[Neighbors]:
        """Yield the neighbors of all anchors that have a hit, some anchors at a time."""
        anchors = np.flatnonzero(self._searched)
        if self._order == "all":
            D = self._all_distances(report)
            self._mask_pairs(D, np.arange(self._table.n_rows), (0, self._table.n_rows))
            for found in self._nearest.from_all_distances(D, anchors, self._distances.error_bound()):
                self._assign_shares(found)
                yield found
        elif self._order == "bands":
            yield from self._from_lists(anchors, report)
        else:
            yield from self._from_rows(anchors, report)

    def _all_distances(self, report: Report) -> NDArray[np.uint32]:
        """Return the distances of all pairs, summed over blocks of columns."""
        distances, all_rows = self._distances, (0, self._table.n_rows)
        D = distance_array(self._table.n_rows, self._table.n_rows)
        for part, n_parts in self._pieces:
            piece = distances.piece(part, n_parts)
            distances.add_tiles(piece, all_rows, all_rows, D, D, add=part > 0)
            report()
        return D

    def _from_rows(
        self, anchors: NDArray[np.int64], report: Report, whole: Any = None
    ) -> Iterator[Neighbors]:
        """Yield the neighbors of some anchors at a time, from their distances to all rows.

        ``whole``: all columns in one piece, if they exist already.
        """
        table, distances = self._table, self._distances
        pieces = [(0, 1)] if whole is not None else self._pieces
        # Several pieces are each created only once.
        at_once = limits.anchors_at_once if len(pieces) == 1 else anchors.size
        if len(pieces) == 1 and whole is None:
            whole = distances.piece(0, 1)
        for start in range(0, anchors.size, at_once):
            chosen = anchors[start : start + at_once]
            rows = padded_rows(chosen)
            D = distance_array(rows.size, padded_columns(table.n_rows))
            for part, n_parts in pieces:
                piece = distances.piece(part, n_parts) if whole is None else whole
                distances.fill_rows(piece, rows, D, add=part > 0)
                del piece
            self._mask_pairs(D, chosen, (0, table.n_rows))
            found = self._nearest.candidates(D, chosen, distances.error_bound())
            self._assign_shares(found)
            yield found
            report()

    @property
    def _pieces(self) -> list[tuple[int, int]]:
        """Parts of the columns processed at a time: all, unless the table is wide or has few rows."""
        table = self._table
        whole = not (_is_wide(table) or table.n_rows <= limits.band)
        return self._distances.pieces(np.inf if whole else limits.piece_bytes)

    @property
    def _bands(self) -> list[tuple[int, int]]:
        n_rows = self._table.n_rows
        return even_ranges(n_rows, -(-n_rows // limits.band), multiple=distances_kernels.TILE)

    def _from_lists(self, anchors: NDArray[np.int64], report: Report) -> Iterator[Neighbors]:
        distances = self._distances
        lists = self._nearest.empty_lists()
        piece = distances.piece(0, 1)
        bands = self._bands
        widest = max(b - a for a, b in bands)
        D, D_transposed = distance_array(widest, widest), distance_array(widest, widest)
        for i, rows in enumerate(bands):
            for others in bands[i:]:
                mirror = D if rows == others else D_transposed
                distances.add_tiles(piece, rows, others, D, mirror)
                self._offer(D, rows, others, lists)
                if rows != others:
                    self._offer(mirror, others, rows, lists)
                report()
        del D, D_transposed
        bound = distances.error_bound()
        for start, end in self._nearest.portions(anchors.size):
            found, short = self._nearest.from_lists(lists, anchors[start:end], bound)
            self._assign_shares(found)
            yield found
            if short.size:
                yield from self._from_rows(short, no_report, piece)

    def _offer(self, D: NDArray[np.uint32], rows: Range, others: Range, lists: CandidateLists) -> None:
        self._mask_pairs(D, np.arange(*rows), others)
        self._nearest.offer(D, rows, others, self._searched, lists)

    def _mask_pairs(self, D: NDArray[np.uint32], anchors: NDArray[np.int64], others: tuple[int, int]) -> None:
        table = self._table
        mask_pairs(table, D, anchors, others)
        available = table.batch_constraint is None or table.within
        if table.has_sample_weight and available:
            inside = (anchors >= others[0]) & (anchors < others[1])
            own = np.flatnonzero(inside & (table.sample_weight[anchors] > 1.0))
            D[own, anchors[own] - others[0]] = self._distances.duplicate_keys(anchors[own])

    def _assign_shares(self, found: Neighbors) -> None:
        """Distribute the weight of each slot over its candidates, by exact distances if they matter."""
        exact = np.zeros(found.rows.size)
        ranges = work_ranges(found.anchors.size, self._table.n_threads)
        if self._nearest.needs_exact:
            exact = self._distances.measure(found, ranges)
        self._nearest.tie_sharing.share(found, exact, ranges, self._table.n_threads)


def padded_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows with the last one repeated up to a whole block of the kernels."""
    return np.concatenate([rows, np.repeat(rows[-1:], -rows.size % packing.ROW_BLOCK)])


def _is_wide(table: LabeledTable) -> bool:
    return table.row_bytes >= limits.wide_search_ratio * table.n_samples


def _search_order(table: LabeledTable, anchors: NDArray[np.bool_], nearest: NearestK) -> str:
    """Return the order of the work, which depends on the shape of the data alone."""
    if np.count_nonzero(anchors) < limits.few_anchors * table.n_samples:
        return "rows"
    if _is_wide(table) or table.n_rows <= limits.band:
        return "all"
    return "rows" if nearest.list_bytes > limits.list_bytes else "bands"
