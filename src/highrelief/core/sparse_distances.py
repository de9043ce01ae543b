"""Distances between rows of which only the values that are not 0 are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import sparse_rows as kernels
from .distances import Range
from .float_distances import ProductDistances, TileDistances
from .sparse_columns import SparseColumns
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
        kernels.scale_values(self._indices, values, columns.origin, factors, self._scaled)
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
        kernels.row_sums(self._indptr, self._scaled, self.position, squared, sums)
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
            kernels.index_columns(*self.arrays, self.position, *rows, *index.arrays)
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
            kernels.mirror(out, a, b, others[1] - others[0], same, mirrored)

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
            kernels.fill_distances(
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
