"""Sums over pairs of rows under weights: Σ c·|x − x'| for every feature.

The coefficients c follow from the distances of all pairs (:class:`Coefficients`); soft neighborhoods
(:mod:`.soft`) and radius neighborhoods (:mod:`.radius`) reduce to such sums. Rows are one scaled copy
(:class:`WeightedRows`) or blocks of columns that are scaled on access (:class:`WeightedBlocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing, pair_sums, soft
from .cached_property import cached_property
from .layout import LabeledTable, Layout, Packed, sum_in_order
from .limits import limits
from .missing_pairs import CorrectionArrays, MissingCorrection
from .threads import even_ranges, run_all

_SINGLE = float(np.finfo(np.float32).eps)
#: Decimal exponents of ranges and coefficients up to which single precision is used.
_MOST_DIGITS = 15


class Coefficients(NamedTuple):
    """Map from distances to coefficients; see :func:`.._kernels.pair_sums.accumulate_margin`."""

    per_sigma: np.floating
    low: NDArray[np.floating]
    scales: NDArray[np.floating]
    #: (n_rows,) coefficient between duplicates of each row; None: these are equal.
    own: NDArray[np.float64] | None = None


class PairSums:
    """Sums over pairs of the rows of a table, by blocks of columns that are scaled on access.

    Parameters
    ----------
    table : Packed
        The rows.
    tiles : (n_tiles, TILE, TILE)
        Distances of all pairs; overwritten by their coefficients.
    by : Coefficients
        Map from distances to coefficients.
    correction : MissingCorrection
        Correction for missing values.
    """

    def __init__(
        self, table: Packed, tiles: NDArray[np.floating], by: Coefficients, correction: MissingCorrection
    ) -> None:
        self._table, self.tiles = table, tiles
        self._correction, self._own = correction, by.own
        #: Sum of the coefficients of every row.
        self.row_totals = to_coefficients(table, tiles, by, parts_of_tiles(table))

    def sums(
        self, features: NDArray[np.int64], block: NDArray[np.floating] | None = None
    ) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for some features; ``block``: buffer for columns."""
        sums = sums_of_products(self._table, features, self.tiles, self.row_totals, block)
        return sums + self._missing_sums[features]

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lower and upper bounds of the sums of all features, computed in single precision."""
        table = self._table
        spans, total = table.spans, np.abs(self.tiles).sum(dtype=np.float64)
        block = block_of_columns(table, table.n_features, np.dtype(np.float32))
        with np.errstate(over="ignore", invalid="ignore"):
            tiles = self.tiles.astype(np.float32)
            sums = sums_of_products(table, np.arange(table.n_features), tiles, self.row_totals, block)
        # Errors of the sum over pairs, and of two values and a coefficient that were rounded before.
        roundings = pair_sums.relative_error(np.dtype(np.float32), table.n_rows) + 4.0 * _SINGLE
        error = 2.0 * roundings * total * spans
        # The contribution of missing values is at most as large.
        error[self._correction.features] *= 2.0
        sums += self._missing_sums
        # Nothing is known of sums beyond the range of single precision.
        known = (np.abs(np.log10(np.maximum(spans, 1e-300))) < _MOST_DIGITS) & (total > 10.0**-_MOST_DIGITS)
        known &= np.isfinite(sums)
        return np.where(known, sums - error, -np.inf), np.where(known, sums + error, np.inf)

    @cached_property
    def _missing_sums(self) -> NDArray[np.float64]:
        """Contribution of missing values to the sums of all features."""
        sums, all_features = np.zeros(self._table.n_features), np.arange(self._table.n_features)
        correction_sums = self._correction.sums(self.tiles, parts_of_tiles(self._table), all_features)
        return self._correction.added_to(sums, correction_sums, self._own)


def to_coefficients(
    layout: Layout, tiles: NDArray[np.floating], by: Coefficients, parts: list[tuple[int, int]]
) -> NDArray[np.float64]:
    """Overwrite the distances of all pairs by their coefficients; return the sums of these by row."""
    sample_weight = layout.sample_weight.astype(tiles.dtype)

    def of_tiles(a: int, b: int) -> NDArray[np.float64]:
        totals = np.zeros(layout.n_rows)
        pair_sums.coefficients_from_distances(
            tiles, layout.codes, sample_weight, by.per_sigma, by.low, by.scales, a, b, totals
        )
        return totals

    return sum_in_order(run_all(of_tiles, parts, layout.n_threads))


def sums_of_products(
    table: Packed,
    features: NDArray[np.int64],
    tiles: NDArray[np.floating],
    row_totals: NDArray[np.float64],
    block: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Return Σ over pairs of coefficient·|x − x'| for some features without missing values.

    ``tiles``: coefficients with row sums ``row_totals``; ``block``: buffer for columns.
    """
    room = block_of_columns(table, features.size, table.dtype) if block is None else block

    sums = np.empty(features.size)
    for start in range(0, features.size, room.shape[1]):
        which = features[start : start + room.shape[1]]
        table.scaled.write(which, room)
        # The last columns may not fill the buffer.
        width = -(-which.size // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK

        def products(a: int, b: int, width: int = width) -> NDArray[np.float64]:
            out = np.zeros(width)
            pair_sums.add_products(room, tiles, 0, a, b, out)
            return out

        minima = sum_in_order(run_all(products, parts_of_tiles(table), table.n_threads))
        of_block = -2.0 * minima[: which.size]
        packing.mix_rows(row_totals, room, of_block)
        sums[start : start + which.size] = of_block
    return sums


def columns_at_once(table: Packed) -> int:
    """Return the number of columns scaled and processed at a time, a multiple of those per kernel sum."""
    together = distances.columns_per_sum(table.dtype.itemsize)
    return together * max(1, limits.weighted_bytes // (table.n_rows * together * table.dtype.itemsize))


def block_of_columns(table: Packed, n_columns: int, dtype: np.dtype[Any]) -> NDArray[np.floating]:
    """Return a buffer for ``n_columns`` columns of a table, or for those processed at a time if fewer."""
    width = packing.padded_width(min(columns_at_once(table), n_columns), dtype.itemsize)
    return packing.aligned_zeros((table.n_rows, width), dtype)


def parts_of_tiles(table: LabeledTable) -> list[tuple[int, int]]:
    """Return the ranges of tiles that have a partial sum each."""
    return tile_parts(table, table.n_features, table.dtype)


def tile_parts(layout: Layout, n_features: int, dtype: np.dtype[Any]) -> list[tuple[int, int]]:
    """Return the ranges of tiles that have a partial sum, of this many features, each."""
    width = packing.padded_width(n_features, dtype.itemsize)
    return even_ranges(layout.n_tiles, layout.n_parts(width + layout.n_rows))


# Rows in this process whose pairs are compared under any weights. Both classes compute the same bits: sums
# over features are split at the same columns.


class RowsUnderWeights(NamedTuple):
    """Rows under weights, as the kernels read them; X and w are empty if all distances are stored."""

    X: NDArray[np.floating]
    w: NDArray[np.floating]
    #: Weighted sum of every row.
    sums: NDArray[np.float64]
    #: Correction of the distances for missing values.
    correction: CorrectionArrays


def stored_rows(
    sums: NDArray[np.float64], correction: CorrectionArrays, dtype: np.dtype[Any]
) -> RowsUnderWeights:
    """Return no rows but their sums: the kernels read stored distances only."""
    return RowsUnderWeights(np.empty((0, 0), dtype), np.empty(0, dtype), sums, correction)


class PairSource(Protocol):
    """Rows in this process: distances of all pairs, and sums over them, under any weights."""

    @property
    def correction(self) -> MissingCorrection:
        """Correction for missing values."""

    @property
    def must_store(self) -> bool:
        """Whether distances must be stored before they are used; sums overwrite them."""

    def read(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], *, filled: bool
    ) -> tuple[RowsUnderWeights, bool]:
        """Return the rows under weights w, and whether the distances of all pairs were written to the tiles.

        They are written if ``filled``, or if they must be stored.
        """

    def sum_differences(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], by: Coefficients
    ) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature, from distances under weights w."""

    def positive_margins(self) -> PositiveMargins | None:
        """Return the sums of the features for which they may be positive; None if not offered."""

    def fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between unequal rows, whatever the weights, (n_rows, 3)."""


class WeightedRows:
    """Rows in one scaled copy, columns of positive weight first.

    A column of weight 0 adds nothing to any distance. Padding rows are masked.

    Parameters
    ----------
    table : Packed
        The rows.
    correction : MissingCorrection or None
        Correction for missing values; None: that of the table.
    """

    must_store = False

    def __init__(self, table: Packed, correction: MissingCorrection | None = None) -> None:
        self._table = table
        self._sample_weight = table.sample_weight.astype(table.dtype)
        self._masked = soft.masked_distance(table.dtype)
        self._order = np.arange(table.n_features)
        self._n_active = 0
        self.correction = MissingCorrection.of(table) if correction is None else correction
        self.X = table.scaled.whole()
        self._last: tuple[NDArray[np.float64], RowsUnderWeights] | None = None

    def under(self, w: NDArray[np.float64]) -> RowsUnderWeights:
        """Return the rows under weights w, as the kernels read them until other weights are requested."""
        if self._last is None or not np.array_equal(self._last[0], w):
            self._last = w.copy(), self._weighted(w)
        return self._last[1]

    def _weighted(self, w: NDArray[np.float64]) -> RowsUnderWeights:
        """Move columns of positive weight to the front and sum the rows."""
        active = np.flatnonzero(w)
        # The order of the others is kept: columns are moved only to leave some out.
        self._reorder(np.concatenate([active, self._order[w[self._order] == 0.0]]))
        self._n_active = active.size
        padded = _whole_vectors(w[active], self._table.dtype)
        sums = np.zeros(self._table.n_rows)

        def of_rows(a: int, b: int) -> None:
            distances.add_row_sums(self.X, padded, a, b, sums)

        run_all(of_rows, self._table.row_ranges(), self._table.n_threads)
        sums[~self._table.is_sample] = self._masked
        return RowsUnderWeights(self.X, padded, sums, self.correction.under(w))

    def read(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], *, filled: bool
    ) -> tuple[RowsUnderWeights, bool]:
        """Return the rows under weights w, and whether distances were written to the tiles."""
        source = self.under(w)

        def of_tiles(a: int, b: int) -> None:
            constraint = (self._table.batches, self._table.within)
            soft.fill_distances(*source, self._masked, *constraint, a, b, tiles)

        if filled:
            run_all(of_tiles, even_ranges(self._table.n_tiles, self._table.n_parts(1)), self._table.n_threads)
        return source, filled

    def sum_differences(
        self,
        w: NDArray[np.float64],
        tiles: NDArray[np.floating],
        by: Coefficients,
        ranges: list[tuple[int, int]] | None = None,
    ) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature; distances are not overwritten.

        ``ranges``: tiles to sum over, in one thread; None: all.
        """
        table, source = self._table, self.under(w)
        parts = [(each,) for each in parts_of_tiles(table)] if ranges is None else [tuple(ranges)]
        width, n_incomplete = self.X.shape[1], self.correction.features.size
        end = width + table.n_rows

        def part(*ranges: tuple[int, int]) -> NDArray[np.float64]:
            out = np.zeros(end + n_incomplete)
            for a, b in ranges:
                pair_sums.accumulate_margin(
                    *source,
                    tiles,
                    table.codes,
                    self._sample_weight,
                    by.per_sigma,
                    self._masked,
                    table.batches,
                    table.within,
                    by.low,
                    by.scales,
                    a,
                    b,
                    out[:width],
                    out[width:end],
                    out[end:],
                )
            return out

        total = sum_in_order(run_all(part, parts, table.n_threads))
        reordered = -2.0 * total[: table.n_features]
        packing.mix_rows(total[width:end], self.X, reordered)
        sums = np.empty_like(reordered)
        sums[self._order] = reordered
        return self.correction.added_to(sums, total[end:], by.own)

    def positive_margins(self) -> PositiveMargins:
        """Return the sums of the features for which they may be positive."""
        return PositiveMargins(self._table, self)

    def sum_products(
        self,
        S: NDArray[np.floating],
        row_totals: NDArray[np.float64],
        which: NDArray[np.int64],
        own: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Return :meth:`sum_differences` of some features, from the coefficients S and their row sums.

        ``own``: coefficients between duplicates of each row.
        """
        width = self._move_to_front(which)

        def part(a: int, b: int) -> NDArray[np.float64]:
            minima = np.zeros(width)
            pair_sums.add_products(self.X, S, 0, a, b, minima)
            return minima

        minima = sum_in_order(run_all(part, parts_of_tiles(self._table), self._table.n_threads))
        found = self._mixed(row_totals, -2.0 * minima)[self._places()[which]]
        if not self.correction.any:
            return found
        sums = np.zeros(self._order.size)
        sums[which] = found
        correction_sums = self.correction.sums(S, parts_of_tiles(self._table), which)
        return self.correction.added_to(sums, correction_sums, own)[which]

    def weighted_totals(self, of_rows: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return Σ_n of_rows[n]·x_n for some features."""
        places = self._places()[which]
        return self._mixed(of_rows, np.zeros(places.max(initial=-1) + 1))[places]

    def _mixed(self, of_rows: NDArray[np.float64], mixture: NDArray[np.float64]) -> NDArray[np.float64]:
        packing.mix_rows(of_rows, self.X, mixture)
        return mixture

    def _move_to_front(self, which: NDArray[np.int64]) -> int:
        """Move some columns among the first; return the number of these, in whole vectors."""
        requested = np.zeros(self._order.size, dtype=bool)
        requested[which] = True
        n_active, others = self._n_active, self._order[self._n_active :]
        is_requested = requested[others]
        end = n_active + int(np.count_nonzero(is_requested))
        last = n_active + int(np.flatnonzero(is_requested).max(initial=-1)) + 1
        # To move all columns takes about as long as to sum this many.
        if last - end > 64 * self._order.size / self._table.n_rows:
            self._reorder(
                np.concatenate([self._order[:n_active], others[is_requested], others[~is_requested]])
            )
            last = end
        return -(-last // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK

    def fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between unequal rows, whatever the weights, (n_rows, 3)."""
        fingerprints = np.zeros((self._table.n_rows, 3))
        packing.add_content(self.X, self._places(), _frequencies(0, self._order.size), fingerprints)
        return fingerprints

    def _places(self) -> NDArray[np.int64]:
        """Return the column of each feature, in linear time."""
        places = np.empty_like(self._order)
        places[self._order] = np.arange(self._order.size)
        return places

    def _reorder(self, order: NDArray[np.int64]) -> None:
        if np.array_equal(order, self._order):
            return
        places = self._places()[order]

        def of_rows(a: int, b: int) -> None:
            packing.reorder_columns(self.X, places, a, b)

        run_all(of_rows, self._table.row_ranges(), self._table.n_threads)
        self._order = order


class WeightedBlocks:
    """Rows of a wide table by blocks of columns that are scaled on access.

    Distances are summed block by block; they must be stored.

    Parameters
    ----------
    table : Packed
        The rows.
    first : int
        Index of the first column, if these are some of the columns of a wider table.
    correction : MissingCorrection or None
        Correction for missing values; None: that of the table.
    """

    must_store = True

    def __init__(self, table: Packed, first: int = 0, correction: MissingCorrection | None = None) -> None:
        self._table = table
        self._first = first
        self._masked = soft.masked_distance(table.dtype)
        #: No rows: sums are computed from blocks of columns.
        self.X = np.empty((0, 0), table.dtype)
        self.correction = MissingCorrection.of(table) if correction is None else correction
        self._n_columns = columns_at_once(table)
        self._block = block_of_columns(table, table.n_features, table.dtype)

    def read(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], *, filled: bool = True
    ) -> tuple[RowsUnderWeights, bool]:
        """Write the distances of all pairs to the tiles; return the sums of the rows under weights w."""
        minima, sums = self.minima(w)
        source = stored_rows(sums, self.correction.under(w), self._table.dtype)
        fill_from_minima(self._table, minima, source, tiles)
        return source, True

    def minima(self, w: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Σ_j w_j·min(x_j, x'_j) of all pairs, in tiles, and Σ_j w_j·x_j of all rows."""
        table = self._table
        minima, sums = table.pair_tiles(np.float64), np.zeros(table.n_rows)
        for which in self._blocks(np.flatnonzero(w)):
            self._add_block(_whole_vectors(w[which], table.dtype), minima, sums)
        return minima, sums

    def sum_differences(
        self, w: NDArray[np.float64], tiles: NDArray[np.floating], by: Coefficients
    ) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature; overwrites the distances."""
        pairs = PairSums(self._table, tiles, by, self.correction)
        return pairs.sums(np.arange(self._table.n_features), self._block)

    def positive_margins(self) -> None:
        """Return None: sums over blocks are computed for all features."""

    def fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between unequal rows, whatever the weights, (n_rows, 3)."""
        fingerprints = np.zeros((self._table.n_rows, 3))
        for which in self._blocks(np.arange(self._table.n_features)):
            frequencies = _frequencies(self._first + which[0], self._first + which[-1] + 1)
            packing.add_content(self._block, np.arange(which.size), frequencies, fingerprints)
        return fingerprints

    def _blocks(self, columns: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Write the columns to the block, some at a time, and yield which."""
        for start in range(0, columns.size, self._n_columns):
            which = columns[start : start + self._n_columns]
            self._table.scaled.write(which, self._block)
            yield which

    def _add_block(
        self, w: NDArray[np.floating], minima: NDArray[np.float64], sums: NDArray[np.float64]
    ) -> None:
        """Add the columns in the block, under weights w, to the sums of minima and of rows."""
        table = self._table

        def of_tiles(a: int, b: int) -> None:
            distances.add_tile_minima(self._block, w, a, b, minima)

        distances.add_row_sums(self._block, w, 0, table.n_rows, sums)
        run_all(of_tiles, even_ranges(table.n_tiles, table.n_parts(1)), table.n_threads)


def fill_from_minima(
    table: Layout,
    minima: NDArray[np.float64],
    source: RowsUnderWeights,
    tiles: NDArray[np.floating],
) -> None:
    """Write the distances of all pairs, d = a + b − 2·min(a, b), and mask padding in the sums of the rows."""
    masked = soft.masked_distance(tiles.dtype)
    source.sums[~table.is_sample] = masked

    def finish(a: int, b: int) -> None:
        constraint = (table.batches, table.within)
        soft.distances_from_minima(minima, source.sums, source.correction, masked, *constraint, a, b, tiles)

    run_all(finish, even_ranges(table.n_tiles, table.n_parts(1)), table.n_threads)


def weighted_rows(
    table: Packed, memory: float, correction: MissingCorrection | None = None
) -> WeightedRows | WeightedBlocks:
    """Return the rows of a table; without a copy if it is wide and its distances fit into memory.

    The choice depends on the shape and the memory budget, never on the number of threads.
    """
    accumulators = table.pair_bytes(table.dtype.itemsize + 8)
    wide = table.n_features >= limits.view_ratio * table.n_samples and table.raw.nbytes > limits.copy_bytes
    if wide and accumulators <= memory:
        return WeightedBlocks(table, correction=correction)
    return WeightedRows(table, correction)


def _whole_vectors(w: NDArray[np.float64], dtype: np.dtype) -> NDArray[np.floating]:
    """Return the weights padded with zeros to whole vectors."""
    padded = np.zeros(-(-w.size // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK, dtype)
    padded[: w.size] = w
    return padded


def _frequencies(start: int, end: int) -> NDArray[np.float64]:
    """Return the factors of the features in the third fingerprint."""
    return np.cos(np.arange(start, end))


# Sums over pairs for the features whose sum may be positive: only these can get a weight.


#: Relative safety margin of the bounds, larger than the errors of their sums.
_SAFETY = 1e-3


class PositiveMargins:
    """Margins Σ_ni S_ni |x_nj − x_ij| of the features j for which they may be positive.

    Since 0 ≤ |x_nj − x_ij| ≤ span_j, which also bounds expected differences, the margin of a feature changes
    from one set of coefficients to the next by at most

        span_j/2 · (Σ|S' − S| + |Σ(S' − S)|).

    A margin that was below 0 by more than this, plus all rounding errors, is still negative. As an iteration
    converges, this soon excludes every feature without a weight. Sums of the others are bitwise identical to
    those without this screening.

    Parameters
    ----------
    table : Packed
        The rows.
    rows : WeightedRows
        The rows as they are summed.
    """

    def __init__(self, table: Packed, rows: WeightedRows) -> None:
        self._table = table
        self._rows = rows
        self._sample_weight = table.sample_weight.astype(table.dtype)
        self._coefficients = table.pair_tiles(table.dtype)
        #: Coefficients between duplicates.
        self._own = np.zeros(table.n_rows)
        #: Upper bounds of the margins.
        self._bounds = np.full(table.n_features, np.inf)

    def sums(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| from stored distances; 0 if it is certain to be ≤ 0."""
        table, rows = self._table, self._rows
        (totals, sizes), change = self._update_coefficients(tiles, by)
        self._bounds += (0.5 + _SAFETY) * table.spans * change
        # NaN, after overflow, is not excluded.
        which = np.flatnonzero(~(self._bounds <= 0.0))
        found = rows.sum_products(self._coefficients, totals, which, by.own)
        # Rounding errors of this sum, and of the next one that is skipped.
        rounding = 2.0 * (1.0 + _SAFETY) * pair_sums.relative_error(table.dtype, table.n_rows)
        terms = rows.weighted_totals(sizes, which)
        if rows.correction.any:
            incomplete = np.isin(which, rows.correction.features)
            # The contribution of missing values to a difference is at most the span.
            terms[incomplete] += sizes.sum() * table.spans[which[incomplete]]
        self._bounds[which] = found + rounding * terms
        sums = np.zeros(table.n_features)
        sums[which] = found
        return sums

    def _update_coefficients(
        self, tiles: NDArray[np.floating], by: Coefficients
    ) -> tuple[NDArray[np.float64], float]:
        """Update the coefficients; return row sums of them and of their sizes, and Σ|change| + |Σ change|."""
        table = self._table

        def part(a: int, b: int) -> tuple[NDArray[np.float64], float, float]:
            of_rows = np.zeros((2, table.n_rows))
            moved, drift = pair_sums.replace_coefficients(
                tiles,
                self._coefficients,
                table.codes,
                self._sample_weight,
                by.per_sigma,
                by.low,
                by.scales,
                a,
                b,
                of_rows[0],
                of_rows[1],
            )
            return of_rows, moved, drift

        parts = run_all(part, parts_of_tiles(table), table.n_threads)
        of_rows, moved, drift = parts[0]
        for more in parts[1:]:
            of_rows += more[0]
            moved += more[1]
            drift += more[2]
        if by.own is not None:
            apart = by.own - self._own
            moved += np.abs(apart).sum()
            drift += apart.sum()
            self._own = by.own
        return of_rows, moved + abs(drift)
