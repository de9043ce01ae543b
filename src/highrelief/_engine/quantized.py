"""Manhattan distances of quantized rows, as exact integer sums.

Columns of two or three equally spaced levels become bit planes, all others points of an integer grid of
2¹⁶ points. A pair source for :mod:`.search`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing
from .columns import Columns, ColumnStatistics
from .distances import DenseDistances
from .limits import limits
from .neighbors import ErrorBound
from .threads import even_ranges, run_all

#: Largest number of steps of the grid; even, so that half of the largest range is a grid point.
_STEPS = 65534
#: A grid is too coarse if the mean range is less than this part of the largest.
_COARSE = 1 / 64
#: Error terms are rounded up to this fraction of a step: their sums are then exact.
_ERROR_PARTS = 2.0**16
#: Relative difference of steps that bit planes treat as equal: four times the largest tolerance.
LEVEL_TOLERANCE = 4e-6


@dataclass
class BitPlanes:
    """Columns of few levels whose bits have the same weight, and the thresholds between their levels."""

    #: (columns, thresholds): one bit plane per row of the thresholds.
    groups: list[tuple[NDArray[np.intp], NDArray[np.floating]]] = field(default_factory=list)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return sum(which.size for which, _ in self.groups)

    @property
    def n_words(self) -> int:
        """Number of 64-bit words of a row, padded to whole vectors."""
        words = sum(len(bounds) * -(-which.size // 64) for which, bounds in self.groups)
        return -(-words // distances.WORD_PAD) * distances.WORD_PAD

    def of_columns(self, start: int, end: int) -> BitPlanes:
        """Return the planes of adjacent columns, numbered from the first of them."""
        groups = []
        for which, bounds in self.groups:
            a, b = np.searchsorted(which, (start, end))
            if b > a:
                groups.append((which[a:b] - start, bounds[:, a:b]))
        return BitPlanes(groups)

    def part(self, part: int, n_parts: int) -> BitPlanes:
        """Return one of several parts of the columns."""
        groups = []
        for which, bounds in self.groups:
            a, b = _borders(which.size, part, n_parts)
            if b > a:
                groups.append((which[a:b], bounds[:, a:b]))
        return BitPlanes(groups)


@dataclass(frozen=True)
class Plan:
    """How columns are quantized: bit planes or grid, and the width of a step."""

    #: Columns of few levels whose bits count one unit, and two units.
    single: BitPlanes
    double: BitPlanes
    #: All other non-constant columns.
    grid: NDArray[np.intp]
    #: Scaled units per step, and steps per unit of a bit.
    step: float
    unit: int

    @property
    def exact(self) -> bool:
        """Whether distances are exact, so that ties are equal integers: there are bit planes only."""
        return self.grid.size == 0

    def too_coarse(self, spans: NDArray[np.float64]) -> bool:
        """Return whether the grid is too coarse for most columns, because others have much wider ranges."""
        on_grid = spans[self.grid]
        return not self.exact and bool(on_grid.mean() < _COARSE * on_grid.max())

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        on_planes = self.single.n_columns + self.double.n_columns
        parts = [name for name, n in (("grid", self.grid.size), ("bit planes", on_planes)) if n]
        return {"distances": " and ".join(parts), "n_bit_plane_features": on_planes}

    def of_columns(self, start: int, end: int) -> Plan:
        """Return the plan for adjacent columns, numbered from the first of them."""
        a, b = np.searchsorted(self.grid, (start, end))
        grid = self.grid[a:b] - start
        planes = self.single.of_columns(start, end), self.double.of_columns(start, end)
        return Plan(*planes, grid, self.step, self.unit)


@dataclass(frozen=True)
class Piece:
    """Some columns of all rows of the layout, in the format of the kernels."""

    grid: NDArray[np.int16]
    sums: NDArray[np.uint32]
    planes: NDArray[np.uint64]
    n_single: int


class QuantizedDistances(DenseDistances):
    """Manhattan distances between rows of a table, as integer numbers of steps.

    Parameters
    ----------
    columns, sample_of_row, n_threads
        As in :class:`.distances.DenseDistances`.
    plan : Plan
        How columns are quantized.
    """

    as_float = False
    squares = False

    def __init__(
        self, columns: Columns, sample_of_row: NDArray[np.int64], n_threads: int, plan: Plan
    ) -> None:
        super().__init__(columns, sample_of_row, n_threads)
        self.plan = plan
        self._rounding_errors = np.zeros(sample_of_row.size)

    @property
    def exact(self) -> bool:
        """Whether distances are exact, so that ties are equal integers."""
        return self.plan.exact

    @property
    def error_terms(self) -> NDArray[np.float64]:
        """Terms of :meth:`bound_of` over the pieces so far.

        They add up over columns, to the same bits in any order.
        """
        errors = np.ceil(self._rounding_errors * _ERROR_PARTS) / _ERROR_PARTS
        return np.append(errors, (self.plan.grid.size, self.plan.single.n_columns))

    def error_bound(self) -> ErrorBound:
        """Return the error bound of the keys, after all columns were added."""
        return _bound(
            self._rounding_errors, self.plan.grid.size, self.plan.single.n_columns, self._columns.dtype
        )

    @classmethod
    def bound_of(cls, error_terms: NDArray[np.float64], dtype: np.dtype[Any]) -> ErrorBound:
        """Return the error bound of distances over all columns, from the sum of their error terms."""
        return _bound(error_terms[:-2], int(error_terms[-2]), int(error_terms[-1]), dtype)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return self.plan.describe()

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Return parts of the columns, (index, number of parts), of about this many bytes each."""
        row = 2.0 * self.plan.grid.size + 8.0 * (self.plan.single.n_words + self.plan.double.n_words)
        n = max(1, int(np.ceil(row * self._sample_of_row.size / most_bytes)))
        return [(i, n) for i in range(n)]

    def piece(self, part: int, n_parts: int) -> Piece:
        """Return the columns of one part, quantized."""
        grid = self.plan.grid[slice(*_borders(self.plan.grid.size, part, n_parts))]
        single, double = self.plan.single.part(part, n_parts), self.plan.double.part(part, n_parts)
        n_rows = self._sample_of_row.size
        width = -(-grid.size // distances.GRID_PAD) * distances.GRID_PAD
        # Padding rows may contain anything: their pairs are masked.
        G = packing.aligned_empty((n_rows, width), np.int16)
        G[:, grid.size :] = 0
        P = packing.aligned_zeros((n_rows, single.n_words + double.n_words), np.uint64)
        sums = self._round(grid, G)
        self._write_planes(single, P, 0)
        self._write_planes(double, P, single.n_words)
        return Piece(G, sums, P, single.n_words)

    def add_tiles(
        self,
        piece: Piece,
        rows: tuple[int, int],
        others: tuple[int, int],
        D: NDArray[np.uint32],
        D_transposed: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others to D, and transposed; D is both for equal ranges."""
        (i, i_end), (j, j_end) = rows, others
        n_rows, n_columns = i_end - i, j_end - j
        n_tiles = -(-n_rows // distances.TILE) * -(-n_columns // distances.TILE)

        def work(a: int, b: int) -> None:
            distances.fill_tiles(
                piece.grid,
                piece.sums,
                piece.planes,
                piece.n_single,
                self.plan.unit,
                i,
                j,
                n_rows,
                n_columns,
                a,
                b,
                add,
                D,
                D_transposed,
            )

        # More ranges than threads: those below the diagonal are empty.
        n_parts = 16 * self._n_threads if self._n_threads > 1 else 1
        run_all(work, even_ranges(n_tiles, n_parts), self._n_threads)

    def fill_rows(
        self, piece: Piece, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all rows."""

        def work(a: int, b: int) -> None:
            for start in range(0, rows.size, distances.TILE):
                chunk = slice(start, start + distances.TILE)
                which = rows[chunk]
                distances.fill_rows(
                    piece.grid[which],
                    piece.sums[which],
                    piece.planes[which],
                    piece.grid,
                    piece.sums,
                    piece.planes,
                    piece.n_single,
                    self.plan.unit,
                    a,
                    b,
                    add,
                    D[chunk],
                )

        parts = even_ranges(self._sample_of_row.size, self._n_threads, multiple=distances.TILE)
        run_all(work, parts, self._n_threads)

    # Quantization

    def _round(self, which: NDArray[np.intp], G: NDArray[np.int16]) -> NDArray[np.uint32]:
        """Round columns to the grid, add up the rounding errors and return the sums of the rows."""
        columns, sample_of_row = self._columns, self._sample_of_row
        side_by_side = which.size > 0 and which[-1] - which[0] == which.size - 1
        of = slice(which[0], which[-1] + 1) if side_by_side else which
        low = columns.low[of]
        per_step = (columns.factors[of] / self.plan.step).astype(columns.dtype)
        # If columns are copied first, a chunk of them is not split further.
        n_cuts = 4 * self._n_threads if columns.in_place and self._n_threads > 1 else 1
        rows = even_ranges(sample_of_row.size, n_cuts, multiple=4)

        def work(a: int, b: int, r: int, s: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
            sums, errors = np.zeros(sample_of_row.size, np.uint32), np.zeros(sample_of_row.size)
            array, first = columns.select(which[a:b])
            packing.round_rows(array, first, sample_of_row, r, s, low[a:b], per_step[a:b], G, a, sums, errors)
            return sums, errors

        total = np.zeros(sample_of_row.size, np.uint32)
        tasks = [(*chunk, *part) for chunk in _chunks(self._columns, which.size) for part in rows]
        for sums, errors in run_all(work, tasks, self._n_threads):
            total += sums
            self._rounding_errors += errors
        return total

    def _write_planes(self, planes: BitPlanes, P: NDArray[np.uint64], word: int) -> None:
        columns = self._columns

        def work(
            which: NDArray[np.intp], bounds: NDArray[np.floating], words: list[int], a: int, b: int
        ) -> None:
            array, first = columns.select(which[a:b])
            for plane, start in zip(bounds, words, strict=True):
                packing.plane_rows(
                    array,
                    first,
                    self._sample_of_row,
                    0,
                    self._sample_of_row.size,
                    plane[a:b],
                    P,
                    start + a // 64,
                )

        tasks: list[tuple[Any, ...]] = []
        for which, bounds in planes.groups:
            n_words = -(-which.size // 64)
            words = [word + i * n_words for i in range(len(bounds))]
            word += len(bounds) * n_words
            tasks += [(which, bounds, words, a, b) for a, b in _chunks(self._columns, which.size)]
        run_all(work, tasks, self._n_threads)


def _bound(
    rounding_errors: NDArray[np.float64], n_grid: int, n_single: int, dtype: np.dtype[Any]
) -> ErrorBound:
    """Return the error bound in steps, from the rounding errors of the rows and the numbers of columns."""
    if n_grid == 0:
        return ErrorBound(False, True, np.zeros(rounding_errors.size), 0.0)
    # Bound on the errors before rounding to the grid.
    slack = _STEPS * 4.0 * float(np.finfo(dtype).eps) * n_grid
    absolute = 1.001 * (rounding_errors + rounding_errors.max()) + 2.0 * slack
    # Levels are equally spaced up to the tolerance only.
    return ErrorBound(False, False, absolute, 0.0 if n_single == 0 else LEVEL_TOLERANCE)


def _borders(n: int, part: int, n_parts: int) -> tuple[int, int]:
    blocks = -(-n // 64)
    return min(n, blocks * part // n_parts * 64), min(n, blocks * (part + 1) // n_parts * 64)


def _chunks(columns: Columns, n: int, multiple: int = 64) -> list[tuple[int, int]]:
    """Return ranges of n columns whose copies are small."""
    most = max(multiple, int(limits.quantized_bytes / (columns.dtype.itemsize * columns.n_samples)))
    return even_ranges(n, -(-n // most), multiple)


def find_levels(columns: Columns, n_threads: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which columns have values besides minimum, midrange and maximum, and which the midrange."""
    low, middle, high = columns.low, _middle(columns), columns.high
    is_other = ~(columns.spans > 0.0)
    is_middle = np.zeros(columns.n_features, dtype=bool)
    first_rows = min(limits.first_scanned_rows, columns.n_samples)

    def mark(a: int, b: int) -> None:
        array, first = columns.block(a, b)
        of = slice(a, b)
        seen = low[of], middle[of], high[of], is_other[of], is_middle[of]
        packing.mark_levels(array, 0, first_rows, first, *seen)
        if not is_other[of].all():
            packing.mark_levels(array, first_rows, columns.n_samples, first, *seen)

    run_all(mark, _chunks(columns, columns.n_features), n_threads)
    return is_other, is_middle


def plan_columns(
    columns: ColumnStatistics, is_other: NDArray[np.bool_], is_middle: NDArray[np.bool_], tolerance: float
) -> Plan:
    """Return how the columns are quantized, from the result of :func:`find_levels`."""
    single, double, grid, unit = _levels(columns, is_other, is_middle, tolerance)
    if not grid.size:
        # Any unit fits constant columns.
        return Plan(single, double, grid, unit if unit > 0.0 else 1.0, 1)
    spans = columns.spans
    # The largest possible distance must stay below 2³², also if bits count slightly more than their
    # columns.
    most = (2.0**32 - 4.0 - grid.size) / (1.0 + LEVEL_TOLERANCE)
    step = max(float(spans[grid].max()) / _STEPS, float(spans.sum()) / most)
    if single.n_columns == 0:
        return Plan(single, double, grid, step, 0)
    if unit < step:
        return Plan(BitPlanes(), BitPlanes(), np.flatnonzero(spans > 0.0), step, 0)
    n_steps = int(unit / step * (1.0 + 1e-12))
    return Plan(single, double, grid, unit / n_steps, n_steps)


def _middle(columns: ColumnStatistics) -> NDArray[np.floating]:
    half = columns.dtype.type(0.5)
    return columns.low * half + columns.high * half


def _levels(
    columns: ColumnStatistics, is_other: NDArray[np.bool_], is_middle: NDArray[np.bool_], tolerance: float
) -> tuple[BitPlanes, BitPlanes, NDArray[np.intp], float]:
    """Return planes of unit weight and of double weight, the remaining columns, and the unit."""
    low, middle, high, spans = columns.low, _middle(columns), columns.high, columns.spans
    varies = spans > 0.0
    everything = np.flatnonzero(varies)
    if is_other.all():
        return BitPlanes(), BitPlanes(), everything, 0.0
    # Two levels are always equally spaced; three are if the midrange is exact.
    has_levels = ~(is_other | (is_middle & (middle - low != high - middle)))
    if np.count_nonzero(has_levels) < max(1, min(limits.min_level_columns, everything.size)):
        return BitPlanes(), BitPlanes(), everything, 0.0
    units = np.where(is_middle, 0.5, 1.0) * spans
    unit = float(units[has_levels].min())
    by_weight = []
    for weight in (1.0, 2.0):
        of_weight = has_levels & (np.abs(units - weight * unit) <= tolerance * weight * unit)
        two, three = np.flatnonzero(of_weight & ~is_middle), np.flatnonzero(of_weight & is_middle)
        groups = [(two, low[two][np.newaxis]), (three, np.stack([low[three], middle[three]]))]
        by_weight.append(BitPlanes([group for group in groups if group[0].size]))
        has_levels &= ~of_weight
        varies &= ~of_weight
    if sum(planes.n_columns for planes in by_weight) < min(limits.min_level_columns, everything.size):
        return BitPlanes(), BitPlanes(), everything, 0.0
    return by_weight[0], by_weight[1], np.flatnonzero(varies), unit
