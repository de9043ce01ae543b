"""Distances between rows in floats.

:class:`Distances` is the interface of every pair source. Here are the float ones: Euclidean distances by
matrix products, |a|² + |b|² − 2a·b, and Manhattan distances of columns with very different ranges,
a + b − 2·min(a, b).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances as distances_kernels
from .._kernels import nearest, packing
from .columns import Columns
from .limits import limits
from .neighbors import ErrorBound, Neighbors
from .threads import even_ranges, one_blas_thread, run_all

#: First row, and the row after the last.
Range = tuple[int, int]


class Distances(ABC):
    """A pair source: distances between rows of the layout, as uint32 keys of the same order.

    Columns are processed in pieces, whose distances are summed.
    """

    #: Whether a key has the bits of a float32; otherwise it is a number of steps.
    as_float: bool
    #: Whether the keys are sums of squared differences (:attr:`.metrics.Metric.squares`).
    squares: bool

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether distances are exact: tied distances have equal keys, others have not."""

    @abstractmethod
    def error_bound(self) -> ErrorBound:
        """Return the error bound of the keys, after all columns were added."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""

    @abstractmethod
    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Return parts of the columns, (index, number of parts), of about this many bytes each."""

    @abstractmethod
    def piece(self, part: int, n_parts: int) -> Any:
        """Return the columns of one part in the form that the distances need."""

    @abstractmethod
    def add_tiles(
        self,
        piece: Any,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        D_transposed: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others to D, and transposed; D is both for equal ranges."""

    @abstractmethod
    def fill_rows(
        self, piece: Any, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all rows."""

    @abstractmethod
    def measure(self, found: Neighbors, ranges: list[Range]) -> NDArray[np.float64]:
        """Return exact distances of uncertain candidates, Euclidean ones squared; ``ranges``: of anchors."""

    def duplicate_keys(self, rows: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the keys of the distances between duplicates of each row: 0, unless values are missing."""
        return np.zeros(rows.size, np.uint32)


def exact_distances(
    columns: Columns,
    sample_of_row: NDArray[np.int64],
    found: Neighbors,
    squares: bool,
    ranges: list[Range] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return exact distances of the uncertain candidates over the columns; Euclidean ones squared."""
    exact = np.zeros(found.rows.size)
    lists = found.start, found.count, found.n_certain, found.rows, exact
    metric = nearest.SQUARED_EUCLIDEAN if squares else nearest.MANHATTAN
    for array, first, which in columns.blocks():
        block = (array, first, columns.distance_factors[which], metric, sample_of_row, found.anchors)

        def measure(a: int, b: int, block: tuple[Any, ...] = block) -> None:
            nearest.add_exact(*block, a, b, *lists)

        run_all(measure, [(0, found.anchors.size)] if ranges is None else ranges, n_threads)
        del array, block, measure  # free the block before the next is copied
    return exact


class DenseDistances(Distances):
    """Distances between dense rows in this process.

    Parameters
    ----------
    columns : Columns
        The table.
    sample_of_row : (n_rows,) int64
        The row of the table at each row of the layout, or −1.
    n_threads : int
        Number of threads.
    """

    def __init__(self, columns: Columns, sample_of_row: NDArray[np.int64], n_threads: int) -> None:
        self._columns, self._sample_of_row, self._n_threads = columns, sample_of_row, n_threads

    def measure(self, found: Neighbors, ranges: list[Range]) -> NDArray[np.float64]:
        """Return exact distances of uncertain candidates, Euclidean ones squared; ``ranges``: of anchors."""
        return exact_distances(
            self._columns, self._sample_of_row, found, self.squares, ranges, self._n_threads
        )


# Float distances: Euclidean ones, and columns of very different ranges.


@dataclass
class ScaledRows:
    """Some columns of the rows in the layout: scaled floats, or one-byte numbers scaled on access."""

    #: (n_rows, width).
    values: NDArray[Any]
    #: (n_rows,) sums of the scaled rows (Manhattan), or of their squares (Euclidean).
    sums: NDArray[np.float64]
    #: (width,) origin and factor of one-byte numbers.
    origin: NDArray[np.floating] | None = None
    factors: NDArray[np.floating] | None = None

    def block(self, rows: Any, columns: slice) -> NDArray[np.floating]:
        """Return scaled values."""
        values = self.values[rows, columns]
        if self.origin is None or self.factors is None:
            return values
        return (values - self.origin[columns]) * self.factors[columns]

    def product(self, rows: Any, others: Any) -> NDArray[np.floating]:
        """Return the scalar products of rows and others, summed over blocks of columns."""
        total: Any = 0.0
        for start in range(0, self.values.shape[1], limits.product_width):
            which = slice(start, start + limits.product_width)
            A = self.block(rows, which)
            # NumPy recognizes the same array and computes one half.
            B = A if rows is others else self.block(others, which)
            with one_blas_thread():
                part = A @ B.T
            total = total + part
        return total


class FloatDistances(DenseDistances):
    """Distances in floats: keys are the bits of a float32; parameters as in :class:`DenseDistances`."""

    as_float = True
    exact = False
    _center: bool

    def __init__(self, columns: Columns, sample_of_row: NDArray[np.int64], n_threads: int) -> None:
        super().__init__(columns, sample_of_row, n_threads)
        self._of_rows = np.zeros(sample_of_row.size)
        self._n_pieces = 0

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._columns.n_features

    @property
    def error_terms(self) -> NDArray[np.float64]:
        """Terms of :meth:`bound_of` over the pieces so far; they add up over columns."""
        return np.append(self._of_rows, (self._n_pieces, self._columns.n_features))

    def error_bound(self) -> ErrorBound:
        """Return the error bound of the keys, after all columns were added."""
        return self.bound_of(self.error_terms, self._columns.dtype)

    @classmethod
    def bound_of(cls, error_terms: NDArray[np.float64], dtype: np.dtype[Any]) -> ErrorBound:
        """Return the error bound of distances over all columns, from the sum of their error terms."""
        of_rows, n_pieces, n_features = error_terms[:-2], int(error_terms[-2]), int(error_terms[-1])
        absolute = cls._absolute_error(of_rows, n_pieces, n_features, dtype)
        # Each piece is added to a float32.
        return ErrorBound(cls.as_float, cls.exact, absolute, 2.0**-23 * max(1, n_pieces))

    @classmethod
    @abstractmethod
    def _absolute_error(
        cls, of_rows: NDArray[np.float64], n_pieces: int, n_features: int, dtype: np.dtype[Any]
    ) -> NDArray[np.float64]:
        """Return the absolute error bound from the sums of the rows and the number of pieces."""

    @classmethod
    @abstractmethod
    def describe(cls) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""

    def _scaled(self, a: int, b: int, width: int) -> NDArray[np.floating]:
        """Return columns a … b of the rows in the layout, scaled and shifted; padding is 0."""
        columns, sample_of_row = self._columns, self._sample_of_row
        values = packing.aligned_zeros((sample_of_row.size, width), columns.dtype)
        sample_rows = np.flatnonzero(sample_of_row != packing.PADDING)
        array, first = columns.block(a, b)
        source = array[:, first : first + b - a]
        origin = columns.low[a:b]
        if self._center:
            # The sum of equal large values may overflow.
            with np.errstate(over="ignore"):
                mean = source.mean(axis=0, dtype=np.float64)
            origin = np.where(origin == columns.high[a:b], origin, mean)
        factors = columns.distance_factors[a:b]
        for start, end in even_ranges(sample_rows.size, -(-sample_rows.size // 256)):
            rows = source[sample_of_row[sample_rows[start:end]]] - origin
            values[sample_rows[start:end], : b - a] = rows * factors
        return values


class ProductDistances(FloatDistances):
    """Squared Euclidean distances by matrix products: |a|² + |b|² − 2a·b.

    Columns are centered, which keeps the sums, and hence their errors, small.
    """

    squares = True
    _center = True

    @classmethod
    def _absolute_error(
        cls, of_rows: NDArray[np.float64], n_pieces: int, n_features: int, dtype: np.dtype[Any]
    ) -> NDArray[np.float64]:
        eps = float(np.finfo(dtype).eps) / 2.0
        # 2·Σ|a·b| ≤ |a|² + |b|²; n_additions bounds the additions of each sum.
        n_additions = min(limits.product_width, n_features) + n_features // limits.product_width + n_pieces
        return (n_additions + 16.0) * eps * 2.0 * (of_rows + of_rows.max()) + _vanished(n_features)

    @classmethod
    def describe(cls) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return {"distances": "matrix products"}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Return parts of the columns, (index, number of parts), of about this many bytes each."""
        columns = self._columns
        n = int(np.ceil(self._sample_of_row.size * columns.n_features * columns.dtype.itemsize / most_bytes))
        n = max(1, min(n, -(-columns.n_features // limits.min_piece_columns)))
        return [(i, n) for i in range(n)]

    def piece(self, part: int, n_parts: int) -> ScaledRows:
        """Return the columns of one part."""
        n = self._columns.n_features
        a, b = n * part // n_parts, n * (part + 1) // n_parts
        sums = np.empty(self._sample_of_row.size)
        if self._columns.X.dtype.itemsize == 1:
            found = ScaledRows(*self._bytes(a, b, sums))
        else:
            found = ScaledRows(self._scaled(a, b, b - a), sums)
        for start, end in _product_ranges(sums.size):
            rows = found.block(slice(start, end), slice(None))
            sums[start:end] = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        self._of_rows += sums
        self._n_pieces += 1
        return found

    def _bytes(self, a: int, b: int, sums: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        """Return columns a … b of one-byte rows in the layout, their sums, means and factors."""
        columns, sample_of_row = self._columns, self._sample_of_row
        origin = columns.X[:, a:b].mean(axis=0, dtype=np.float64).astype(columns.dtype)
        # Pairs with padding are masked, whatever its values.
        values = columns.X[np.maximum(sample_of_row, 0), a:b]
        return values, sums, origin, columns.distance_factors[a:b].astype(columns.dtype)

    def add_tiles(
        self,
        piece: ScaledRows,
        rows: tuple[int, int],
        others: tuple[int, int],
        D: NDArray[np.uint32],
        D_transposed: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others to D, and transposed; D is both for equal ranges."""
        sums = piece.sums.astype(self._columns.dtype)
        out, mirror = D.view(np.float32), D_transposed.view(np.float32)
        tall, wide = _product_ranges(rows[1] - rows[0]), _product_ranges(others[1] - others[0])

        def work(a: int, b: int, c: int, d: int) -> None:
            i = slice(rows[0] + a, rows[0] + b)
            j = i if rows == others and a == c else slice(others[0] + c, others[0] + d)
            product = piece.product(i, j)
            product *= -2.0
            product += sums[i, np.newaxis]
            product += sums[j]
            if add:
                product += out[a:b, c:d]
            # Rounding can leave −ε; −0 would be the largest key of all.
            out[a:b, c:d] = np.maximum(product, 0.0) + 0.0
            if rows != others or a != c:
                mirror[c:d, a:b] = out[a:b, c:d].T

        same = rows == others
        tasks = [(a, b, c, d) for a, b in tall for c, d in wide if not same or c >= a]
        run_all(work, tasks, self._n_threads)

    def fill_rows(
        self, piece: ScaledRows, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows to all rows."""
        sums = piece.sums.astype(self._columns.dtype)
        out = D.view(np.float32)

        def work(a: int, b: int) -> None:
            product = piece.product(rows, slice(a, b))
            product *= -2.0
            product += sums[rows, np.newaxis]
            product += sums[a:b]
            if add:
                product += out[: rows.size, a:b]
            out[: rows.size, a:b] = np.maximum(product, 0.0) + 0.0

        # Split by the shape alone: the rounding of a product may depend on its size.
        run_all(work, _product_ranges(sums.size), self._n_threads)


def _vanished(n_features: int) -> float:
    """Return a bound on what is lost to underflow in float32; the largest terms are near 1."""
    return 2.0**-120 * n_features


def _product_ranges(n: int) -> list[tuple[int, int]]:
    return even_ranges(n, -(-n // limits.rows_per_product), multiple=packing.ROW_BLOCK)


class TileDistances(FloatDistances):
    """Manhattan distances in floats, for columns of very different ranges."""

    squares = False
    _center = False

    @classmethod
    def _absolute_error(
        cls, of_rows: NDArray[np.float64], n_pieces: int, n_features: int, dtype: np.dtype[Any]
    ) -> NDArray[np.float64]:
        # Each of the sums in a + b − 2·min(a, b) has this error.
        relative = 4.0 * distances_kernels.relative_error(dtype)
        return relative * (of_rows + of_rows.max()) + _vanished(n_features)

    @classmethod
    def describe(cls) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return {"distances": "floats"}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Return one part: sums are in float32."""
        return [(0, 1)]

    def piece(self, part: int, n_parts: int) -> ScaledRows:
        """Return all columns."""
        n = self._columns.n_features
        values = self._scaled(0, n, packing.padded_width(n, self._columns.dtype.itemsize))
        sums = np.empty(self._sample_of_row.size)
        distances_kernels.row_sums(values, sums)
        self._of_rows += sums
        self._n_pieces += 1
        return ScaledRows(values, sums)

    def add_tiles(
        self,
        piece: ScaledRows,
        rows: tuple[int, int],
        others: tuple[int, int],
        D: NDArray[np.uint32],
        D_transposed: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write distances of rows to others to D, and transposed; D is both for equal ranges."""
        out, mirror = D.view(np.float32), D_transposed.view(np.float32)
        tile = distances_kernels.TILE

        def work(i: int, j: int) -> None:
            T = np.empty((tile, tile))
            i1, j1 = min(i + tile, rows[1]), min(j + tile, others[1])
            distances_kernels.distance_tile(piece.values, piece.sums, i, i1, j, j1, T)
            a, c = i - rows[0], j - others[0]
            out[a : a + i1 - i, c : c + j1 - j] = T[: i1 - i, : j1 - j]
            mirror[c : c + j1 - j, a : a + i1 - i] = T[: i1 - i, : j1 - j].T

        same = rows == others
        tasks = [
            (i, j)
            for i in range(rows[0], rows[1], tile)
            for j in range(i if same else others[0], others[1], tile)
        ]
        run_all(work, tasks, self._n_threads)

    def fill_rows(
        self, piece: ScaledRows, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write the distances of some rows, a multiple of 4, to all rows."""
        out = D.view(np.float32)
        tile = distances_kernels.TILE
        n_rows = self._sample_of_row.size

        def work(start: int, j: int) -> None:
            T = np.empty((tile, tile))
            chosen = rows[start : start + tile]
            own, own_sums = piece.values[chosen], piece.sums[chosen]
            j1 = min(j + tile, n_rows)
            distances_kernels.distance_block(
                own, own_sums, 0, chosen.size, piece.values, piece.sums, j, j1, False, T
            )
            out[start : start + chosen.size, j:j1] = T[: chosen.size, : j1 - j]

        tasks = [(start, j) for start in range(0, rows.size, tile) for j in range(0, n_rows, tile)]
        run_all(work, tasks, self._n_threads)
