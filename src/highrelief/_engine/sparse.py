"""Distances between rows of which only the values that are not 0 are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, nearest, sparse
from .._kernels import soft as soft_kernels
from .cached_property import cached_property
from .columns import SparseColumns
from .distances import ProductDistances, Range, TileDistances
from .engine import LocalRows
from .layout import SparsePacked, sum_in_order
from .missing_pairs import MissingCorrection
from .nearest import NearestPass
from .neighbors import Neighborhood, Neighbors
from .pair_sums import Coefficients, PairSums
from .search import NeighborSearch, Report, nothing
from .soft import SoftPasses
from .threads import even_ranges, run_all

#: Rows that a thread takes at a time: whole lines of what is mirrored.
_ROWS_AT_ONCE = 64
#: Columns of which more than this share is stored are faster to compare with their zeros,
_DENSE = 0.2
#: if there are some of them.
_FEWEST_DENSE = 32


@dataclass
class ColumnIndex:
    """Some rows of the layout listed by columns."""

    starts: NDArray[np.int64]
    #: Rows, counted from the first of them, and their scaled values.
    members: NDArray[np.int32]
    values: NDArray[np.floating]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """As the kernels take them."""
        return self.starts, self.members, self.values


class ScaledTable:
    """The rows of a table in the layout, with their values scaled.

    Parameters
    ----------
    columns : SparseColumns
        The table.
    position : (n_rows,) int
        The row of the table at each row of the layout.
    factors : (n_features,)
        What differences of values are multiplied by.
    dtype : type
        Of the scaled values.
    """

    def __init__(
        self,
        columns: SparseColumns,
        position: NDArray[np.int64],
        factors: NDArray[np.float64],
        dtype: type[np.floating],
    ) -> None:
        self.position = position
        self._n_features = columns.n_features
        self._indptr, self._indices, values = columns.rows
        self._scaled = np.empty(values.size, dtype)
        sparse.scale_values(self._indices, values, columns.origin, factors, self._scaled)
        self._indexed: tuple[Range, ColumnIndex] | None = None

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """As the kernels take them."""
        return self._indptr, self._indices, self._scaled

    @property
    def most_values(self) -> int:
        """Stored values of the row that has most."""
        return int(np.diff(self._indptr).max(initial=0))

    def sums(self, *, squared: bool = False) -> NDArray[np.float64]:
        """Σ|a| of every row, or Σa²."""
        sums = np.empty(self.position.size)
        sparse.row_sums(self._indptr, self._scaled, self.position, squared, sums)
        return sums

    def index(self, rows: Range) -> ColumnIndex:
        """List some rows by columns; the last list is kept."""
        if self._indexed is None or self._indexed[0] != rows:
            self._indexed = None
            of_rows = self.position[rows[0] : rows[1]]
            of_rows = of_rows[of_rows >= 0]
            n = int((self._indptr[of_rows + 1] - self._indptr[of_rows]).sum())
            starts = np.zeros(self._n_features + 1, np.int64)
            index = ColumnIndex(starts, np.empty(n, np.int32), np.empty(n, self._scaled.dtype))
            sparse.index_columns(*self.arrays, self.position, *rows, *index.arrays)
            self._indexed = rows, index
        return self._indexed[1]


@dataclass
class Piece:
    """All columns: those without their zeros, and those with them, if there are any."""

    table: ScaledTable
    dense: Any


class OverlapDistances:
    """Distances from what two rows have in common; keys are the bits of a float32.

    Columns with few zeros are filled up, which takes a few times the memory of what they store, and compared
    value by value.

    Parameters
    ----------
    columns : SparseColumns
        The table.
    position : (n_rows,) int
        The row of the table at each row of the layout.
    squared : bool
        Squared Euclidean distances, instead of Manhattan distances.
    n_threads : int
        Threads to use.
    """

    as_float = True
    exact = False

    def __init__(
        self, columns: SparseColumns, position: NDArray[np.int64], squared: bool, n_threads: int
    ) -> None:
        factors = columns.distance_factors
        dense = np.flatnonzero(columns.counts > _DENSE * columns.n_samples)
        self._dense: TileDistances | ProductDistances | None = None
        if dense.size >= _FEWEST_DENSE:
            kind = ProductDistances if squared else TileDistances
            self._dense = kind(columns.filled(dense), position, n_threads)
            factors = factors.copy()
            factors[dense] = 0.0
        self._table = ScaledTable(columns, position, factors, np.float32)
        self._squared = squared
        self._n_threads = n_threads
        self._sums = self._table.sums(squared=squared)

    @property
    def off(self) -> NDArray[np.float64]:
        """By how much the distances of each row may be off."""
        # Values are rounded to float32. Each of the three sums, in float64, has at most so many terms, and
        # none is above the sum of the first two.
        relative = 4.0 * (2.0**-24 + (self._table.most_values + 16.0) * 2.0**-53)
        # What a float32 is too small for.
        vanished = 2.0**-120 * (1.0 + self._table.most_values)
        own = relative * (self._sums + self._sums.max()) + vanished
        return own if self._dense is None else own + self._dense.off

    @property
    def relative(self) -> float:
        """What distances may be off by, relatively: sums are rounded to float32."""
        return 2.0**-23 if self._dense is None else 2.0**-23 + self._dense.relative

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        n_dense = 0 if self._dense is None else self._dense.n_features
        return {"distances": "sparse", "n_dense_features": n_dense}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """All columns at once."""
        return [(0, 1)]

    def piece(self, part: int, n_parts: int) -> Piece:
        """All columns."""
        return Piece(self._table, None if self._dense is None else self._dense.piece(0, 1))

    def add_tiles(
        self,
        piece: Piece,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write distances of rows to others into D, mirrored into E: D itself for the same rows."""
        same = rows == others
        if self._dense is not None:
            self._dense.add_tiles(piece.dense, rows, others, D, E)
        self._fill(piece.table, np.arange(*rows), others, D, only_later=same)
        out, mirrored = D.view(np.float32), E.view(np.float32)

        def reflect(a: int, b: int) -> None:
            sparse.mirror(out, a, b, others[1] - others[0], same, mirrored)

        run_all(reflect, self._parts(rows[1] - rows[0]), self._n_threads)

    def fill_rows(
        self, piece: Piece, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write the distances of some rows to all."""
        if self._dense is not None:
            self._dense.fill_rows(piece.dense, rows, D)
        self._fill(piece.table, rows, (0, self._sums.size), D, only_later=False)

    def _fill(
        self,
        table: ScaledTable,
        rows: NDArray[np.int64],
        others: Range,
        D: NDArray[np.uint32],
        *,
        only_later: bool,
    ) -> None:
        """Write the distances of rows to others, or add them to those in the columns that are filled up."""
        index = table.index(others).arrays
        out = D.view(np.float32)
        n_columns = others[1] - others[0]

        def work(a: int, b: int) -> None:
            sparse.fill_distances(
                *table.arrays,
                table.position,
                self._sums,
                self._squared,
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
        return even_ranges(n, -(-n // _ROWS_AT_ONCE), multiple=16)


# Soft neighborhoods of rows of which only the values that are not 0 are stored.


class SparsePasses(SoftPasses):
    """Passes over all pairs of rows, whose distances must be stored."""

    table: SparsePacked

    def __init__(self, table: SparsePacked, memory: float) -> None:
        super().__init__(table, memory)
        if not self.stored:
            size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
            raise MemoryError(
                f"A sparse X of {table.n_samples} samples needs {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB: raise it, or fit to fewer samples."
            )

    @cached_property
    def rows(self) -> SparseWeightedRows:  # type: ignore[override]
        """The rows under the last weights."""
        return SparseWeightedRows(self.table)

    @property
    def _positive(self) -> None:
        """All sums are made: they take the time of the pairs of stored values alone."""
        return None


class SparseWeightedRows:
    """Rows under weights that change, listed by columns.

    Offers what :class:`.weighted_rows.WeightedBlocks` does.

    Parameters
    ----------
    table : SparsePacked
        The rows.
    """

    by_blocks = True

    def __init__(self, table: SparsePacked) -> None:
        self._table = table
        self._far = soft_kernels.masked_distance(table.dtype)
        #: No row, for kernels that find all distances stored.
        self.X = np.empty((0, 0), table.dtype)
        self.w = np.empty(0, table.dtype)
        self.sums = np.zeros(table.n_rows)
        self._given = np.empty(0)
        self._plain = self._scaled(table.columns.factors)
        #: Nothing: a sparse table has no missing values.
        self.correction = MissingCorrection(table)

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self._given = w

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Store the distances of all pairs, and sum the rows."""
        table = self._table
        scaled = self._scaled(table.columns.factors * self._given)
        index = scaled.index((0, table.n_rows)).arrays
        self.sums = scaled.sums()
        self.sums[~table.real] = self._far

        def of_rows(a: int, b: int) -> None:
            sparse.fill_tiles(*scaled.arrays, table.position, self.sums, self._far, a, b, *index, tiles)

        run_all(of_rows, even_ranges(table.n_rows, table.n_parts(1)), table.n_threads)

    def sum_differences(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature. Distances become coefficients."""
        table, plain = self._table, self._plain
        pairs = PairSums(table, tiles, by, self.correction)
        index = plain.index((0, table.n_rows)).arrays

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(table.n_features)
            sparse.add_overlap_products(*plain.arrays, table.position, pairs.tiles, a, b, *index, out)
            return out

        common = sum_in_order(run_all(part, table.row_ranges(table.n_features), table.n_threads))
        sums = np.zeros(table.n_features)
        sparse.mix_rows(*plain.arrays, table.position, pairs.row_totals, sums)
        return sums - common

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter.

        As for a table whose zeros are stored: the same samples are drawn.
        """
        table = self._table
        stored, missing_mask = table.distances_from_ends()
        indptr, indices, _ = table.columns.rows
        owner = np.repeat(np.arange(table.n_samples), np.diff(indptr))
        frequency = np.cos(np.arange(table.n_features))
        content = np.zeros((table.n_rows, 3))
        for k, (of_stored, of_missing) in enumerate(
            (
                (stored, missing_mask),
                (stored**2, missing_mask**2),
                (stored * frequency[indices], missing_mask * frequency),
            )
        ):
            extra = np.bincount(owner, weights=of_stored - of_missing[indices], minlength=table.n_samples)
            content[table.real, k] = (of_missing.sum() + extra)[table.position[table.real]]
        return content

    def _scaled(self, factors: NDArray[np.float64]) -> ScaledTable:
        return ScaledTable(self._table.columns, self._table.position, factors, np.float64)


# Rows of which only the values that are not 0 are stored: the same passes, and none is filled up.


class SparseSearch(NeighborSearch):
    """A search for the nearest neighbors of the anchors by :class:`.sparse_distances.OverlapDistances`."""

    _table: SparsePacked
    columns: SparseColumns

    def _make_columns(self) -> SparseColumns:
        return self._table.columns

    def _choose_distances(self) -> OverlapDistances:
        table = self._table
        squared = self._metric != nearest.MANHATTAN
        return OverlapDistances(self.columns, table.position, squared, table.n_threads)

    def _measure(self, found: Neighbors, exact: NDArray[np.float64], ranges: list[tuple[int, int]]) -> None:
        columns = self.columns

        def measure(a: int, b: int) -> None:
            sparse.add_exact(
                *columns.rows,
                columns.distance_factors,
                self._metric,
                self._table.position,
                found.anchors,
                a,
                b,
                found.start,
                found.count,
                found.sure,
                found.rows,
                exact,
            )

        run_all(measure, ranges, self._table.n_threads)


class SparseNearestPass(NearestPass):
    """One pass over the nearest neighbors of the anchors."""

    _table: SparsePacked
    _search: SparseSearch
    _search_type = SparseSearch

    def __init__(self, table: SparsePacked, among: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        super().__init__(table, among, anchors)
        # Whole numbers as coefficients, where all neighbors weigh the same: sums of counts are then exact.
        self._unit = float(self._n_neighbors)
        self._factors = self._factors * self._unit

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z²."""
        total = super().sums(report, with_squares=with_squares)
        total[:2] /= self._unit
        total[2:] /= self._unit**2
        return total

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        table, columns = self._table, self._search.columns
        out = np.zeros(table.n_samples)
        weights = w * self._margin_factors() / self._unit
        for neighbors in self._search.neighbors():

            def of_anchors(a: int, b: int, found: Neighbors = neighbors) -> None:
                sparse.margins_under(
                    *columns.rows_from_origin,
                    self._metric == nearest.SQUARED_EUCLIDEAN,
                    table.position,
                    found.anchors,
                    a,
                    b,
                    table.codes,
                    self._factors,
                    found.start,
                    found.count,
                    found.rows,
                    found.shares,
                    weights,
                    out,
                )

            run_all(of_anchors, even_ranges(neighbors.anchors.size, table.n_threads), table.n_threads)
        return out

    def _add_margins(
        self,
        neighbors: Neighbors,
        array: NDArray[np.floating],
        first: int,
        a: int,
        b: int,
        out: NDArray[np.float64],
        *,
        by_row: bool = False,
    ) -> None:
        table = self._table
        sparse.margins(
            *self._search.columns.rows_from_origin,
            self._metric == nearest.SQUARED_EUCLIDEAN,
            table.position,
            neighbors.anchors,
            a,
            b,
            table.codes,
            table.row_weights,
            self._factors,
            neighbors.start,
            neighbors.count,
            neighbors.rows,
            neighbors.shares,
            out,
        )


class SparseRows(LocalRows):
    """Rows of such a table in this process, worked on by its threads."""

    _table: SparsePacked

    @cached_property
    def _soft(self) -> SparsePasses:
        return SparsePasses(self._table, self._memory)

    def spans_and_rarity(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ranges of the scaled features, and the share of samples away from the common end of each."""
        columns = self._table.columns
        return columns.spans, np.clip(np.nan_to_num(columns.rarity, nan=0.5), 0.0, 0.5)

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> NearestPass:
        return SparseNearestPass(self._table, among, anchors)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        return super().execution(soft=soft) | {"table": "sparse"}
