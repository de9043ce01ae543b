"""Sums over pairs of rows whose coefficients are stored: Σ c·|x − x'|, feature by feature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import packing, weighted
from ..kernels import pair_sums as kernels
from .cached_property import cached_property
from .lacks import Lacks
from .packed import Packed, sum_in_order
from .threads import even_ranges, run_all

#: Bytes of the columns that are worked on at a time: two such blocks, where two are worked on side by side,
#: stay in the last cache.
_AT_ONCE = 2**23
_SINGLE = float(np.finfo(np.float32).eps)
#: Decimal digits of ranges and coefficients, either way, that single precision is trusted with.
_MOST_DIGITS = 15


class Coefficients(NamedTuple):
    """What makes of distances the coefficients of pairs; see :func:`.kernels.pair_sums.accumulate_margin`."""

    per_sigma: np.floating
    low: NDArray[np.floating]
    scales: NDArray[np.floating]
    #: (n_rows,) the coefficient of each row and its further copies; None: these are equal.
    own: NDArray[np.float64] | None = None


class PairSums:
    """Sums over pairs of the rows of a table, by blocks of its columns, each scaled when it is needed.

    Parameters
    ----------
    table : Packed
        The rows.
    tiles : (n_tiles, TILE, TILE)
        Distances of all pairs, which become their coefficients.
    by : Coefficients
        How.
    lacks : Lacks
        What is missing from the table.
    """

    def __init__(self, table: Packed, tiles: NDArray[np.floating], by: Coefficients, lacks: Lacks) -> None:
        self._table, self.tiles = table, tiles
        self._lacks, self._own = lacks, by.own
        copies = table.copies.astype(table.dtype)

        def of_tiles(a: int, b: int) -> NDArray[np.float64]:
            totals = np.zeros(table.n_rows)
            kernels.coefficients_from_distances(
                tiles, table.codes, copies, by.per_sigma, by.low, by.scales, a, b, totals
            )
            return totals

        #: Sums of the coefficients of every row.
        self.row_totals = sum_in_order(run_all(of_tiles, parts_of_tiles(table), table.n_threads))

    def of(
        self, features: NDArray[np.int64], block: NDArray[np.floating] | None = None
    ) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'| for some features, with ``block`` as room for columns."""
        sums = sums_of_products(self._table, features, self.tiles, self.row_totals, block)
        return sums + self._lacked[features]

    def rough(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Numbers between which the sums of all features lie, found in single precision."""
        table = self._table
        spans, total = table.scaled.spans, np.abs(self.tiles).sum(dtype=np.float64)
        block = block_of_columns(table, table.n_features, np.dtype(np.float32))
        with np.errstate(over="ignore", invalid="ignore"):
            tiles = self.tiles.astype(np.float32)
            sums = sums_of_products(table, np.arange(table.n_features), tiles, self.row_totals, block)
        # The sum over pairs, and two values and a coefficient that were rounded before.
        roundings = kernels.relative_error(np.dtype(np.float32), table.n_rows) + 4.0 * _SINGLE
        error = 2.0 * roundings * total * spans
        # What missing values add is at most as large.
        error[self._lacks.features] *= 2.0
        sums += self._lacked
        # What is too large or too small for single precision may be anything.
        known = (np.abs(np.log10(np.maximum(spans, 1e-300))) < _MOST_DIGITS) & (total > 10.0**-_MOST_DIGITS)
        known &= np.isfinite(sums)
        return np.where(known, sums - error, -np.inf), np.where(known, sums + error, np.inf)

    @cached_property
    def _lacked(self) -> NDArray[np.float64]:
        """What missing values add, for all features."""
        sums, all_features = np.zeros(self._table.n_features), np.arange(self._table.n_features)
        lacked = self._lacks.sums(self.tiles, parts_of_tiles(self._table), all_features)
        return self._lacks.added_to(sums, lacked, self._own)


def sums_of_products(
    table: Packed,
    features: NDArray[np.int64],
    tiles: NDArray[np.floating],
    row_totals: NDArray[np.float64],
    block: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Σ over pairs of coefficient·|x − x'| for some features of a table from which nothing is missing.

    ``tiles``: the coefficients, whose sums over every row are ``row_totals``; ``block``: room for columns.
    """
    room = block_of_columns(table, features.size, table.dtype) if block is None else block

    sums = np.empty(features.size)
    for start in range(0, features.size, room.shape[1]):
        which = features[start : start + room.shape[1]]
        table.scaled.write(which, room)
        # Not of the whole room, which the last columns may leave empty.
        width = -(-which.size // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK

        def products(a: int, b: int, width: int = width) -> NDArray[np.float64]:
            out = np.zeros(width)
            kernels.add_products(room, tiles, a, b, out)
            return out

        minima = sum_in_order(run_all(products, parts_of_tiles(table), table.n_threads))
        of_block = -2.0 * minima[: which.size]
        packing.mix_rows(row_totals, room, of_block)
        sums[start : start + which.size] = of_block
    return sums


def columns_at_once(table: Packed) -> int:
    """How many columns are scaled and worked on at a time, in whole sums of the distance kernels."""
    together = weighted.columns_per_sum(table.dtype.itemsize)
    return together * max(1, _AT_ONCE // (table.n_rows * together * table.dtype.itemsize))


def block_of_columns(table: Packed, n_columns: int, dtype: np.dtype[Any]) -> NDArray[np.floating]:
    """Room for so many columns of a table, or for as many as are worked on at a time."""
    width = packing.padded_width(min(columns_at_once(table), n_columns), dtype.itemsize)
    return packing.aligned_zeros((table.n_rows, width), dtype)


def parts_of_tiles(table: Packed) -> list[tuple[int, int]]:
    """Into which partial sums over pairs a margin is cut."""
    width = packing.padded_width(table.n_features, table.dtype.itemsize)
    return even_ranges(table.n_tiles, table.n_parts(width + table.n_rows))
