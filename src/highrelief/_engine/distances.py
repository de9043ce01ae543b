"""What a search for neighbors asks of distances, wherever they come from, and which of them are tied."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances as distances_kernels
from .._kernels import packing
from .columns import Columns
from .threads import even_ranges, one_blas_thread, run_all

#: Rows from the first to before the last.
Range = tuple[int, int]


def tie_tolerance(dtype: np.dtype[Any]) -> float:
    """Distances that differ by less, relatively, are equal: scaling splits true ties by rounding."""
    return 1e-6 if dtype == np.float32 else 1e-12


def merge_ties(distances: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Distances, row by row, with the smallest in the place of all that are tied with it.

    Which of two equal ones is smaller must not be decided by their last digit.
    """
    nearest = distances.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        tied = distances <= nearest * (1.0 + tolerance)
    return np.where(tied, nearest, distances)


class ErrorBound(NamedTuple):
    """What a search has to know of distances that are there: the first four things that are said below."""

    as_float: bool
    exact: bool
    off: NDArray[np.float64]
    relative: float


class Distances(Protocol):
    """Distances between rows of the layout, as uint32 that order as they do, and possibly a little off.

    Columns are taken in pieces, whose distances are added up.
    """

    @property
    def as_float(self) -> bool:
        """Whether a uint32 holds the bits of a float32; otherwise it is a whole number of steps."""

    @property
    def exact(self) -> bool:
        """Whether equal distances are equal numbers, and others are not."""

    @property
    def off(self) -> NDArray[np.float64]:
        """By how much the distances of each row may be off, once all columns have been seen."""

    @property
    def relative(self) -> float:
        """What distances may be off by, relatively, beside that."""

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Cut the columns so that a piece takes about this many bytes: which part, out of how many."""

    def piece(self, part: int, n_parts: int) -> Any:
        """Columns of one part, as the distances need them."""

    def add_tiles(
        self,
        piece: Any,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others into D, mirrored into E: D itself for the same rows."""

    def fill_rows(
        self, piece: Any, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all."""


# Distances in floats, where whole numbers do not serve: Euclidean ones, and very different ranges.


#: Columns of a matrix product; bounds the error of its sums.
_COLUMNS_PER_PRODUCT = 2048
#: Columns of a piece, unless there are fewer.
_FEWEST_COLUMNS = 64
#: Rows of a matrix product.
_ROWS_PER_PRODUCT = 512


@dataclass
class ScaledRows:
    """Rows in the layout, some columns of them: scaled, or one-byte numbers that are scaled when needed."""

    #: (n_rows, width).
    values: NDArray[Any]
    #: (n_rows,) sums of the scaled rows (Manhattan), or of their squares.
    sums: NDArray[np.float64]
    #: (width,) what one-byte numbers are measured from, and multiplied by.
    origin: NDArray[np.floating] | None = None
    factors: NDArray[np.floating] | None = None

    def block(self, rows: Any, columns: slice) -> NDArray[np.floating]:
        """Scaled values."""
        values = self.values[rows, columns]
        if self.origin is None or self.factors is None:
            return values
        return (values - self.origin[columns]) * self.factors[columns]

    def product(self, rows: Any, others: Any) -> NDArray[np.floating]:
        """Scalar products of rows and others, as sums of products of few columns."""
        total: Any = 0.0
        for start in range(0, self.values.shape[1], _COLUMNS_PER_PRODUCT):
            which = slice(start, start + _COLUMNS_PER_PRODUCT)
            A = self.block(rows, which)
            # NumPy sees that it is the same array, and works out one half.
            B = A if rows is others else self.block(others, which)
            with one_blas_thread():
                part = A @ B.T
            total = total + part
        return total


class _FloatDistances:
    """What the two kinds of distances in floats share: keys are the bits of a float32."""

    as_float = True
    exact = False
    too_coarse = False
    _center: bool

    def __init__(self, columns: Columns, position: NDArray[np.int64], n_threads: int) -> None:
        self._columns = columns
        self._position = position
        self._n_threads = n_threads
        self._of_rows = np.zeros(position.size)
        self._n_pieces = 0

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._columns.n_features

    @property
    def relative(self) -> float:
        """What distances may be off by, relatively: each piece is added to a float32."""
        return _relative(self._n_pieces)

    @property
    def off(self) -> NDArray[np.float64]:
        """By how much the distances of each row may be off, once all columns have been seen."""
        return self._off(self._of_rows, self._n_pieces, self._columns.n_features, self._columns.dtype)

    @property
    def error_terms(self) -> NDArray[np.float64]:
        """What :meth:`error_bound` follows from, of the pieces that were made; it adds up over columns."""
        return np.append(self._of_rows, (self._n_pieces, self._columns.n_features))

    @classmethod
    def error_bound(cls, error_terms: NDArray[np.float64], dtype: np.dtype[Any]) -> ErrorBound:
        """How far off distances over all columns may be, by what was error_terms of them and their type."""
        of_rows, n_pieces, n_features = error_terms[:-2], int(error_terms[-2]), int(error_terms[-1])
        off = cls._off(of_rows, n_pieces, n_features, dtype)
        return ErrorBound(cls.as_float, cls.exact, off, _relative(n_pieces))

    @classmethod
    @abstractmethod
    def _off(
        cls, of_rows: NDArray[np.float64], n_pieces: int, n_features: int, dtype: np.dtype[Any]
    ) -> NDArray[np.float64]:
        """:attr:`off`, by the sums of the rows and the pieces that were made."""

    def _scaled(self, a: int, b: int, width: int) -> NDArray[np.floating]:
        """Columns a … b of the rows in the layout, scaled and shifted; padding is 0."""
        columns, position = self._columns, self._position
        values = packing.aligned_zeros((position.size, width), columns.dtype)
        real = np.flatnonzero(position != packing.PADDING)
        array, first = columns.block(a, b)
        source = array[:, first : first + b - a]
        origin = columns.low[a:b]
        if self._center:
            # The sum of values that are all the same may be beyond the largest number.
            with np.errstate(over="ignore"):
                mean = source.mean(axis=0, dtype=np.float64)
            origin = np.where(origin == columns.high[a:b], origin, mean)
        factors = columns.distance_factors[a:b]
        for start, end in even_ranges(real.size, -(-real.size // 256)):
            rows = source[position[real[start:end]]] - origin
            values[real[start:end], : b - a] = rows * factors
        return values


class ProductDistances(_FloatDistances):
    """Squared Euclidean distances by matrix products: |a|² + |b|² − 2 a·b.

    Columns are measured from their means, which keeps the sums, and hence their errors, small.
    """

    _center = True

    @classmethod
    def _off(
        cls, of_rows: NDArray[np.float64], n_pieces: int, n_features: int, dtype: np.dtype[Any]
    ) -> NDArray[np.float64]:
        eps = float(np.finfo(dtype).eps) / 2.0
        # 2·Σ|a·b| ≤ |a|² + |b|²; each of the sums has at most so many additions.
        n_additions = min(_COLUMNS_PER_PRODUCT, n_features) + n_features // _COLUMNS_PER_PRODUCT + n_pieces
        return (n_additions + 16.0) * eps * 2.0 * (of_rows + of_rows.max()) + _vanished(n_features)

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return {"distances": "matrix products"}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Cut the columns so that a piece takes about this many bytes: which part, out of how many."""
        columns = self._columns
        n = int(np.ceil(self._position.size * columns.n_features * columns.dtype.itemsize / most_bytes))
        n = max(1, min(n, -(-columns.n_features // _FEWEST_COLUMNS)))
        return [(i, n) for i in range(n)]

    def piece(self, part: int, n_parts: int) -> ScaledRows:
        """Columns of one part."""
        n = self._columns.n_features
        a, b = n * part // n_parts, n * (part + 1) // n_parts
        sums = np.empty(self._position.size)
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
        """Columns a … b of one-byte rows in the layout, their sums, means and factors."""
        columns, position = self._columns, self._position
        origin = columns.X[:, a:b].mean(axis=0, dtype=np.float64).astype(columns.dtype)
        # Padding is out of reach, whatever it holds.
        values = columns.X[np.maximum(position, 0), a:b]
        return values, sums, origin, columns.distance_factors[a:b].astype(columns.dtype)

    def add_tiles(
        self,
        piece: ScaledRows,
        rows: tuple[int, int],
        others: tuple[int, int],
        D: NDArray[np.uint32],
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others into D, mirrored into E: D itself for the same rows."""
        sums = piece.sums.astype(self._columns.dtype)
        out, mirror = D.view(np.float32), E.view(np.float32)
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
        """Write (or add) the distances of some rows to all."""
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

        # Cut by the shape alone: the rounding of a product may depend on its size.
        run_all(work, _product_ranges(sums.size), self._n_threads)


def _relative(n_pieces: int) -> float:
    return 2.0**-23 * max(1, n_pieces)


def _vanished(n_features: int) -> float:
    """What may be lost where single terms are too small for a float32; the largest are near 1."""
    return 2.0**-120 * n_features


def _product_ranges(n: int) -> list[tuple[int, int]]:
    return even_ranges(n, -(-n // _ROWS_PER_PRODUCT), multiple=packing.ROW_BLOCK)


class TileDistances(_FloatDistances):
    """Manhattan distances in floats, for columns of very different ranges."""

    _center = False

    @classmethod
    def _off(
        cls, of_rows: NDArray[np.float64], n_pieces: int, n_features: int, dtype: np.dtype[Any]
    ) -> NDArray[np.float64]:
        # Of a + b − 2·min(a, b) every sum has its error.
        relative = 4.0 * distances_kernels.relative_error(dtype)
        return relative * (of_rows + of_rows.max()) + _vanished(n_features)

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return {"distances": "floats"}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """All columns at once: sums are in float32."""
        return [(0, 1)]

    def piece(self, part: int, n_parts: int) -> ScaledRows:
        """All columns."""
        n = self._columns.n_features
        values = self._scaled(0, n, packing.padded_width(n, self._columns.dtype.itemsize))
        sums = np.empty(self._position.size)
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
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write distances of rows to others into D, mirrored into E; E is D if both are the same rows."""
        out, mirror = D.view(np.float32), E.view(np.float32)
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
        """Write the distances of some rows, a multiple of 4, to all."""
        out = D.view(np.float32)
        tile = distances_kernels.TILE
        n_rows = self._position.size

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
