"""Sparse tables: pair source, margins and rows in this process.

Distances of rows of which only nonzero values are stored follow from the columns that two rows share:
d(a, b) = Σ|a| + Σ|b| − Σ over shared columns of (|a| + |b| − |a − b|). Nothing is densified but columns with
few zeros. The counterpart of :mod:`.engine` for CSR input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import nearest, sparse
from .._kernels import soft as soft_kernels
from .cached_property import cached_property
from .columns import SparseColumns
from .distances import Distances, ProductDistances, Range, TileDistances
from .engine import Engine
from .layout import SparsePacked, sum_in_order
from .limits import limits
from .metrics import METRICS
from .missing_pairs import MissingCorrection
from .nearest import NearestPass, sum_over_anchors
from .neighbors import ErrorBound, Neighborhood, Neighbors
from .pair_sums import Coefficients, RowsUnderWeights, parts_of_tiles, stored_rows, to_coefficients
from .search import LocalSearch, Report, no_report
from .soft import LocalPairwiseDistances
from .threads import even_ranges, run_all


@dataclass
class ColumnIndex:
    """Some rows of the layout, indexed by column."""

    starts: NDArray[np.int64]
    #: Rows, numbered from the first of them, and their scaled values.
    members: NDArray[np.int32]
    values: NDArray[np.floating]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Arrays in the order of the kernels' arguments."""
        return self.starts, self.members, self.values


class ScaledTable:
    """The rows of a sparse table in the layout, with scaled values.

    Parameters
    ----------
    columns : SparseColumns
        The table.
    sample_of_row : (n_rows,) int
        The row of the table at each row of the layout.
    factors : (n_features,)
        Factors of differences of values.
    dtype : type
        Type of the scaled values.
    """

    def __init__(
        self,
        columns: SparseColumns,
        sample_of_row: NDArray[np.int64],
        factors: NDArray[np.float64],
        dtype: type[np.floating],
    ) -> None:
        self.sample_of_row = sample_of_row
        self._n_features = columns.n_features
        self._indptr, self._indices, values = columns.rows
        self._scaled = np.empty(values.size, dtype)
        sparse.scale_values(self._indices, values, columns.origin, factors, self._scaled)
        self._indexed: tuple[Range, ColumnIndex] | None = None

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Arrays in the order of the kernels' arguments."""
        return self._indptr, self._indices, self._scaled

    @property
    def most_values(self) -> int:
        """Largest number of stored values of a row."""
        return int(np.diff(self._indptr).max(initial=0))

    def sums(self, *, squared: bool = False) -> NDArray[np.float64]:
        """Return Σ|a| of every row, or Σa²."""
        sums = np.empty(self.sample_of_row.size)
        sparse.row_sums(self._indptr, self._scaled, self.sample_of_row, squared, sums)
        return sums

    def index(self, rows: Range) -> ColumnIndex:
        """Return some rows indexed by column; the last index is cached."""
        if self._indexed is None or self._indexed[0] != rows:
            self._indexed = None
            of_rows = self.sample_of_row[rows[0] : rows[1]]
            of_rows = of_rows[of_rows >= 0]
            n = int((self._indptr[of_rows + 1] - self._indptr[of_rows]).sum())
            starts = np.zeros(self._n_features + 1, np.int64)
            index = ColumnIndex(starts, np.empty(n, np.int32), np.empty(n, self._scaled.dtype))
            sparse.index_columns(*self.arrays, self.sample_of_row, *rows, *index.arrays)
            self._indexed = rows, index
        return self._indexed[1]


@dataclass
class Piece:
    """All columns: the sparse ones, and the densified ones, if any."""

    table: ScaledTable
    dense: Any


class OverlapDistances(Distances):
    """Distances from the columns that two rows share; keys are the bits of a float32.

    Columns with few zeros are densified, which takes a few times the memory of their stored values, and
    compared value by value.

    Parameters
    ----------
    columns : SparseColumns
        The table.
    sample_of_row : (n_rows,) int
        The row of the table at each row of the layout.
    squares : bool
        Squared Euclidean distances, instead of Manhattan distances.
    n_threads : int
        Number of threads.
    """

    as_float = True
    exact = False

    def __init__(
        self, columns: SparseColumns, sample_of_row: NDArray[np.int64], squares: bool, n_threads: int
    ) -> None:
        factors = columns.distance_factors
        dense = np.flatnonzero(columns.counts > limits.dense_share * columns.n_samples)
        self._dense: TileDistances | ProductDistances | None = None
        if dense.size >= limits.min_dense_columns:
            kind = ProductDistances if squares else TileDistances
            self._dense = kind(columns.densified(dense), sample_of_row, n_threads)
            factors = factors.copy()
            factors[dense] = 0.0
        self._columns, self._table = columns, ScaledTable(columns, sample_of_row, factors, np.float32)
        self.squares, self._n_threads = squares, n_threads
        self._sums = self._table.sums(squared=squares)

    def error_bound(self) -> ErrorBound:
        """Return the error bound of the keys."""
        # Values are rounded to float32. ``most_values`` bounds the terms of each of the three sums, in
        # float64, and none exceeds the sum of the first two.
        relative = 4.0 * (2.0**-24 + (self._table.most_values + 16.0) * 2.0**-53)
        # Bound on underflow in float32.
        vanished = 2.0**-120 * (1.0 + self._table.most_values)
        own = relative * (self._sums + self._sums.max()) + vanished
        # Sums are rounded to float32.
        if self._dense is None:
            return ErrorBound(self.as_float, self.exact, own, 2.0**-23)
        dense = self._dense.error_bound()
        return ErrorBound(self.as_float, self.exact, own + dense.absolute, 2.0**-23 + dense.relative)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        n_dense = 0 if self._dense is None else self._dense.n_features
        return {"distances": "sparse", "n_dense_features": n_dense}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Return one part: all columns."""
        return [(0, 1)]

    def piece(self, part: int, n_parts: int) -> Piece:
        """Return all columns."""
        return Piece(self._table, None if self._dense is None else self._dense.piece(0, 1))

    def add_tiles(
        self,
        piece: Piece,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        D_transposed: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write distances of rows to others to D, and transposed; D is both for equal ranges."""
        same = rows == others
        if self._dense is not None:
            self._dense.add_tiles(piece.dense, rows, others, D, D_transposed)
        self._fill(piece.table, np.arange(*rows), others, D, only_later=same)
        out, mirrored = D.view(np.float32), D_transposed.view(np.float32)

        def reflect(a: int, b: int) -> None:
            sparse.mirror(out, a, b, others[1] - others[0], same, mirrored)

        run_all(reflect, self._parts(rows[1] - rows[0]), self._n_threads)

    def fill_rows(
        self, piece: Piece, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write the distances of some rows to all rows."""
        if self._dense is not None:
            self._dense.fill_rows(piece.dense, rows, D)
        self._fill(piece.table, rows, (0, self._sums.size), D, only_later=False)

    def measure(self, found: Neighbors, ranges: list[Range]) -> NDArray[np.float64]:
        """Return exact distances of uncertain candidates, Euclidean ones squared; ``ranges``: of anchors."""
        exact = np.zeros(found.rows.size)
        lists = found.start, found.count, found.n_certain, found.rows, exact
        metric = nearest.SQUARED_EUCLIDEAN if self.squares else nearest.MANHATTAN
        rows = *self._columns.rows, self._columns.distance_factors, metric, self._table.sample_of_row

        def of_anchors(a: int, b: int) -> None:
            sparse.add_exact(*rows, found.anchors, a, b, *lists)

        run_all(of_anchors, ranges, self._n_threads)
        return exact

    def _fill(
        self,
        table: ScaledTable,
        rows: NDArray[np.int64],
        others: Range,
        D: NDArray[np.uint32],
        *,
        only_later: bool,
    ) -> None:
        """Write the distances of rows to others, or add them to those of the densified columns."""
        index = table.index(others).arrays
        out = D.view(np.float32)
        n_columns = others[1] - others[0]

        def work(a: int, b: int) -> None:
            sparse.fill_distances(
                *table.arrays,
                table.sample_of_row,
                self._sums,
                self.squares,
                rows,
                a,
                b,
                *index,
                others[0],
                n_columns,
                only_later,
                self._dense is not None,
                out,
            )

        run_all(work, self._parts(rows.size), self._n_threads)

    def _parts(self, n: int) -> list[tuple[int, int]]:
        return even_ranges(n, -(-n // limits.sparse_rows), multiple=16)


# Soft neighborhoods of sparse rows


def sparse_distances(table: SparsePacked, memory: float) -> LocalPairwiseDistances:
    """Return the distances of all pairs of sparse rows, which must be stored."""
    size = table.pair_bytes(table.dtype.itemsize)
    if size > memory:
        raise MemoryError(
            f"A sparse X of {table.n_samples} samples needs {size / 1e6:.3g} MB for the distances of all"
            f" pairs, but memory_budget allows {memory / 1e6:.3g} MB: raise it, or fit to fewer samples."
        )
    return LocalPairwiseDistances(table, memory, SparseWeightedRows(table))


class SparseWeightedRows:
    """Sparse rows; a :class:`.pair_sums.PairSource`.

    Parameters
    ----------
    table : SparsePacked
        The rows.
    """

    must_store = True

    def __init__(self, table: SparsePacked) -> None:
        self._table = table
        self._masked = soft_kernels.masked_distance(table.dtype)
        self._plain = self._scaled(table.columns.factors)
        #: Empty: a sparse table has no missing values.
        self.correction = MissingCorrection.of(table)

    def read(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], *, filled: bool = True
    ) -> tuple[RowsUnderWeights, bool]:
        """Write the distances of all pairs to the tiles; return the sums of the rows under weights w."""
        table = self._table
        scaled = self._scaled(table.columns.factors * w)
        index = scaled.index((0, table.n_rows)).arrays
        sums = scaled.sums()
        sums[~table.is_sample] = self._masked

        def of_rows(a: int, b: int) -> None:
            sparse.fill_tiles(*scaled.arrays, table.sample_of_row, sums, self._masked, a, b, *index, tiles)

        run_all(of_rows, even_ranges(table.n_rows, table.n_parts(1)), table.n_threads)
        return stored_rows(sums, self.correction.under(w), table.dtype), True

    def positive_margins(self) -> None:
        """Return None: sums are computed for all features."""

    def sum_differences(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], by: Coefficients
    ) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature; overwrites the distances."""
        table, plain = self._table, self._plain
        row_totals = to_coefficients(table, tiles, by, parts_of_tiles(table))
        index = plain.index((0, table.n_rows)).arrays

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(table.n_features)
            sparse.add_overlap_products(*plain.arrays, table.sample_of_row, tiles, a, b, *index, out)
            return out

        common = sum_in_order(run_all(part, table.row_ranges(table.n_features), table.n_threads))
        sums = np.zeros(table.n_features)
        sparse.mix_rows(*plain.arrays, table.sample_of_row, row_totals, sums)
        return sums - common

    def fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between unequal rows, whatever the weights, (n_rows, 3).

        Equal to those of the same table stored densely, so that the same samples are drawn.
        """
        table = self._table
        stored, zero = table.distances_from_ends()
        indptr, indices, _ = table.columns.rows
        owner = np.repeat(np.arange(table.n_samples), np.diff(indptr))
        frequency = np.cos(np.arange(table.n_features))
        fingerprints = np.zeros((table.n_rows, 3))
        for k, (of_stored, of_zero) in enumerate(
            (
                (stored, zero),
                (stored**2, zero**2),
                (stored * frequency[indices], zero * frequency),
            )
        ):
            extra = np.bincount(owner, weights=of_stored - of_zero[indices], minlength=table.n_samples)
            fingerprints[:, k] = table.laid_out(of_zero.sum() + extra)
        return fingerprints

    def _scaled(self, factors: NDArray[np.float64]) -> ScaledTable:
        return ScaledTable(self._table.columns, self._table.sample_of_row, factors, np.float64)


# Nearest neighbors of sparse rows


class SparseNearestPass(NearestPass):
    """A pass over the nearest neighbors of sparse rows, whose margins follow from the stored values.

    Parameters
    ----------
    table, neighborhood, anchors
        As in :class:`.nearest.NearestPass`.
    """

    def __init__(self, table: SparsePacked, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        metric = METRICS[neighborhood.metric]
        distances = OverlapDistances(table.columns, table.sample_of_row, metric.squares, table.n_threads)
        super().__init__(table, neighborhood, anchors, LocalSearch(table, neighborhood, anchors, distances))
        self._columns, self._metric = table.columns, metric
        self._n_neighbors = min(neighborhood.n_neighbors, table.n_samples)
        # Integer coefficients if all neighbors have the same share: sums of counts are then exact.
        self._unit = float(self._n_neighbors)
        self._coefficients = self._slot_factors * self._unit

    def sums(self, report: Report = no_report, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Return Σ s·z over the anchors, s their weights; ``with_squares`` also Σ s²z and Σ s²z²."""
        table = self._table
        shape = (3 if with_squares else 1, table.n_features)
        n_listed, total = self._n_neighbors * self._coefficients.shape[1], np.zeros(shape)
        for neighbors in self._search.neighbors(report):

            def add(a: int, b: int, out: NDArray[np.float64], found: Neighbors = neighbors) -> None:
                of_anchors = self._of_anchors(found, a, b, table.codes, table.row_weights)
                sparse.margins(*of_anchors, out)

            total += sum_over_anchors(table, neighbors.anchors.size, n_listed, shape, add, table.n_threads)
        factors = self._metric.margin_factors(self._columns.factors)
        total[:2] *= factors
        total[2:] *= factors**2
        total[:2] /= self._unit
        total[2:] /= self._unit**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j w_j·z_j of every sample; 0 if it is no anchor."""
        table = self._table
        out = np.zeros(table.n_samples)
        weights = w * self._metric.margin_factors(self._columns.factors) / self._unit
        for neighbors in self._search.neighbors():

            def add(a: int, b: int, found: Neighbors = neighbors) -> None:
                sparse.margins_under(*self._of_anchors(found, a, b, table.codes), weights, out)

            run_all(add, even_ranges(neighbors.anchors.size, table.n_threads), table.n_threads)
        return out

    def _of_anchors(self, found: Neighbors, a: int, b: int, *of_rows: NDArray[Any]) -> tuple[Any, ...]:
        """Return the arguments of the kernels for anchors a … b; ``of_rows``: classes, perhaps weights."""
        return (
            *self._columns.rows_from_origin,
            self._metric.squares_margins,
            self._table.sample_of_row,
            found.anchors,
            a,
            b,
            *of_rows,
            self._coefficients,
            found.start,
            found.count,
            found.rows,
            found.shares,
        )


class SparseEngine(Engine):
    """Rows of a sparse table, processed by the threads of this process; parameters as in :class:`.Engine`."""

    _table: SparsePacked

    def nearest(self, neighborhood: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """Return a pass over the nearest neighbors of the anchors (None: all samples)."""
        return SparseNearestPass(self._table, neighborhood, self._anchor_rows(anchors))

    @cached_property
    def _pairs(self) -> LocalPairwiseDistances:
        return sparse_distances(self._table, self._memory)

    def _backend_execution(self) -> dict[str, Any]:
        return {"table": "sparse"}
