"""Sums over pairs of rows whose coefficients are stored: Σ c·|x − x'|, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing, pair_sums, soft
from .cached_property import cached_property
from .layout import Packed, sum_in_order
from .missing_pairs import MissingCorrection
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
    correction : Lacks
        What is missing from the table.
    """

    def __init__(
        self, table: Packed, tiles: NDArray[np.floating], by: Coefficients, correction: MissingCorrection
    ) -> None:
        self._table, self.tiles = table, tiles
        self._correction, self._own = correction, by.own
        sample_weight = table.sample_weight.astype(table.dtype)

        def of_tiles(a: int, b: int) -> NDArray[np.float64]:
            totals = np.zeros(table.n_rows)
            pair_sums.coefficients_from_distances(
                tiles, table.codes, sample_weight, by.per_sigma, by.low, by.scales, a, b, totals
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
        roundings = pair_sums.relative_error(np.dtype(np.float32), table.n_rows) + 4.0 * _SINGLE
        error = 2.0 * roundings * total * spans
        # What missing values add is at most as large.
        error[self._correction.features] *= 2.0
        sums += self._lacked
        # What is too large or too small for single precision may be anything.
        known = (np.abs(np.log10(np.maximum(spans, 1e-300))) < _MOST_DIGITS) & (total > 10.0**-_MOST_DIGITS)
        known &= np.isfinite(sums)
        return np.where(known, sums - error, -np.inf), np.where(known, sums + error, np.inf)

    @cached_property
    def _lacked(self) -> NDArray[np.float64]:
        """What missing values add, for all features."""
        sums, all_features = np.zeros(self._table.n_features), np.arange(self._table.n_features)
        correction_sums = self._correction.sums(self.tiles, parts_of_tiles(self._table), all_features)
        return self._correction.added_to(sums, correction_sums, self._own)


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
            pair_sums.add_products(room, tiles, 0, a, b, out)
            return out

        minima = sum_in_order(run_all(products, parts_of_tiles(table), table.n_threads))
        of_block = -2.0 * minima[: which.size]
        packing.mix_rows(row_totals, room, of_block)
        sums[start : start + which.size] = of_block
    return sums


def columns_at_once(table: Packed) -> int:
    """How many columns are scaled and worked on at a time, in whole sums of the distance kernels."""
    together = distances.columns_per_sum(table.dtype.itemsize)
    return together * max(1, _AT_ONCE // (table.n_rows * together * table.dtype.itemsize))


def block_of_columns(table: Packed, n_columns: int, dtype: np.dtype[Any]) -> NDArray[np.floating]:
    """Room for so many columns of a table, or for as many as are worked on at a time."""
    width = packing.padded_width(min(columns_at_once(table), n_columns), dtype.itemsize)
    return packing.aligned_zeros((table.n_rows, width), dtype)


def parts_of_tiles(table: Packed) -> list[tuple[int, int]]:
    """Into which partial sums over pairs a margin is cut."""
    width = packing.padded_width(table.n_features, table.dtype.itemsize)
    return even_ranges(table.n_tiles, table.n_parts(width + table.n_rows))


# Rows under weights that change: one scaled copy of them, or none.
#
# Both classes offer the same. What they make has the same bits: sums over features are cut at the same
# places.


#: A table with so many times more columns than rows is not copied,
WIDE = 10
#: unless the copy has no more bytes than this: it is faster, and smaller than what else is needed.
SMALL = 2**24


class WeightedRows:
    """Rows in one scaled copy, whose columns of positive weight stand first.

    A column of weight 0 adds nothing to any distance. Padding rows are out of reach.

    Parameters
    ----------
    table : Packed
        The rows.
    """

    #: Whether distances must be stored before anything is made of them.
    by_blocks = False

    def __init__(self, table: Packed) -> None:
        self._table = table
        self._sample_weight = table.sample_weight.astype(table.dtype)
        self._far = soft.masked_distance(table.dtype)
        self._order = np.arange(table.n_features)
        self._n_active = 0
        self.correction = MissingCorrection(table)
        self.X = table.scaled.whole()
        self.w = np.empty(0, table.dtype)
        self.sums = np.zeros(table.n_rows)

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Bring the columns into the order of these weights, and sum the rows."""
        self.correction.put_under(w)
        active = np.flatnonzero(w)
        # The others stay in the order that they have: it is only changed for columns to be left out.
        self._reorder(np.concatenate([active, self._order[w[self._order] == 0.0]]))
        self._n_active = active.size
        self.w = _whole_vectors(w[active], self._table.dtype)
        self.sums = np.zeros(self._table.n_rows)

        def of_rows(a: int, b: int) -> None:
            distances.add_row_sums(self.X, self.w, a, b, self.sums)

        run_all(of_rows, self._table.row_ranges(), self._table.n_threads)
        self.sums[~self._table.real] = self._far

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Store the distances of all pairs."""

        def of_tiles(a: int, b: int) -> None:
            soft.fill_distances(
                self.X,
                self.w,
                self.sums,
                self.correction.arrays,
                self._far,
                self._table.batches,
                self._table.within,
                a,
                b,
                tiles,
            )

        run_all(of_tiles, even_ranges(self._table.n_tiles, self._table.n_parts(1)), self._table.n_threads)

    def sum_differences(
        self,
        tiles: NDArray[np.floating],
        by: Coefficients,
        ranges: list[tuple[int, int]] | None = None,
    ) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature. Distances are not changed.

        ``ranges``: of the tiles whose pairs count, for one thread; None: all.
        """
        table = self._table
        parts = [(each,) for each in parts_of_tiles(table)] if ranges is None else [tuple(ranges)]
        width, n_incomplete = self.X.shape[1], self.correction.features.size
        end = width + table.n_rows

        def part(*ranges: tuple[int, int]) -> NDArray[np.float64]:
            out = np.zeros(end + n_incomplete)
            for a, b in ranges:
                pair_sums.accumulate_margin(
                    self.X,
                    self.w,
                    self.sums,
                    self.correction.arrays,
                    tiles,
                    table.codes,
                    self._sample_weight,
                    by.per_sigma,
                    self._far,
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

    def sum_products(
        self,
        S: NDArray[np.floating],
        row_totals: NDArray[np.float64],
        which: NDArray[np.int64],
        own: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """What :meth:`sum_differences` finds for some features, from the coefficients S and their totals.

        ``own``: those of each row with its further copies.
        """
        width = self._bring_forward(which)

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
        """Σ_n of_rows[n]·x_n, for some features."""
        places = self._places()[which]
        return self._mixed(of_rows, np.zeros(places.max(initial=-1) + 1))[places]

    def _mixed(self, of_rows: NDArray[np.float64], mixture: NDArray[np.float64]) -> NDArray[np.float64]:
        packing.mix_rows(of_rows, self.X, mixture)
        return mixture

    def _bring_forward(self, which: NDArray[np.int64]) -> int:
        """Have the given columns among the first; returns among how many, in whole vectors."""
        wanted = np.zeros(self._order.size, dtype=bool)
        wanted[which] = True
        n_active, others = self._n_active, self._order[self._n_active :]
        is_wanted = wanted[others]
        end = n_active + int(np.count_nonzero(is_wanted))
        last = n_active + int(np.flatnonzero(is_wanted).max(initial=-1)) + 1
        # To move all columns takes as long as to sum so many of them, about.
        if last - end > 64 * self._order.size / self._table.n_rows:
            self._reorder(np.concatenate([self._order[:n_active], others[is_wanted], others[~is_wanted]]))
            last = end
        return -(-last // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        content = np.zeros((self._table.n_rows, 3))
        packing.add_content(self.X, self._places(), _frequencies(0, self._order.size), content)
        return content

    def _places(self) -> NDArray[np.int64]:
        """Where each feature stands; a sort would take as long as a pass over few rows."""
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
    """Rows of a wide table by blocks of columns, each scaled when it is needed.

    Distances are added up block by block; they must be stored.

    Parameters
    ----------
    table : Packed
        The rows.
    first : int
        The place of its first column, where these are some of the columns of a wider table.
    """

    by_blocks = True

    def __init__(self, table: Packed, first: int = 0) -> None:
        self._table = table
        self._first = first
        self._far = soft.masked_distance(table.dtype)
        #: No row, for kernels that find all distances stored.
        self.X = np.empty((0, 0), table.dtype)
        self.w = np.empty(0, table.dtype)
        self.sums = np.zeros(table.n_rows)
        self.correction = MissingCorrection(table)
        self._given = np.empty(0)
        self._n_columns = columns_at_once(table)
        self._block = block_of_columns(table, table.n_features, table.dtype)

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self._given = w
        self.correction.put_under(w)

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Store the distances of all pairs, and sum the rows."""
        minima, self.sums = self.minima()
        fill_from_minima(self._table, minima, self.sums, self.correction, tiles)

    def minima(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ_j w_j·min(x_j, x'_j) of all pairs, in tiles, and Σ_j w_j·x_j of all rows."""
        table = self._table
        shape = (table.n_tiles, distances.TILE, distances.TILE)
        minima, self.sums = packing.aligned_zeros(shape, np.float64), np.zeros(table.n_rows)
        for which in self._blocks(np.flatnonzero(self._given)):
            w = _whole_vectors(self._given[which], table.dtype)
            self._add_block(w, minima)
        return minima, self.sums

    def sum_differences(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature. Distances become coefficients."""
        pairs = PairSums(self._table, tiles, by, self.correction)
        return pairs.of(np.arange(self._table.n_features), self._block)

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        content = np.zeros((self._table.n_rows, 3))
        for which in self._blocks(np.arange(self._table.n_features)):
            frequencies = _frequencies(self._first + which[0], self._first + which[-1] + 1)
            packing.add_content(self._block, np.arange(which.size), frequencies, content)
        return content

    def _blocks(self, columns: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Which columns stand in the block, each time that others do."""
        for start in range(0, columns.size, self._n_columns):
            which = columns[start : start + self._n_columns]
            self._table.scaled.write(which, self._block)
            yield which

    def _add_block(self, w: NDArray[np.floating], minima: NDArray[np.float64]) -> None:
        """Add the columns in the block, under weights w, to the sums of minima and of rows."""
        table = self._table

        def of_tiles(a: int, b: int) -> None:
            distances.add_tile_minima(self._block, w, a, b, minima)

        distances.add_row_sums(self._block, w, 0, table.n_rows, self.sums)
        run_all(of_tiles, even_ranges(table.n_tiles, table.n_parts(1)), table.n_threads)


def fill_from_minima(
    table: Packed,
    minima: NDArray[np.float64],
    sums: NDArray[np.float64],
    correction: MissingCorrection,
    tiles: NDArray[np.floating],
) -> None:
    """Store the distances of all pairs, d = a + b − 2·min(a, b), and put padding out of reach in the sums."""
    far = soft.masked_distance(table.dtype)
    sums[~table.real] = far

    def finish(a: int, b: int) -> None:
        batch_constraint = (table.batches, table.within)
        soft.distances_from_minima(minima, sums, correction.arrays, far, *batch_constraint, a, b, tiles)

    run_all(finish, even_ranges(table.n_tiles, table.n_parts(1)), table.n_threads)


def weighted_rows(table: Packed, memory: float) -> WeightedRows | WeightedBlocks:
    """Rows of a table, in no copy where it is wide and its distances fit into the memory.

    The shape and the user decide, never the threads.
    """
    accumulators = float(table.n_tiles) * distances.TILE**2 * (table.dtype.itemsize + 8)
    wide = table.n_features >= WIDE * table.n_samples and table.raw.nbytes > SMALL
    return WeightedBlocks(table) if wide and accumulators <= memory else WeightedRows(table)


def _whole_vectors(w: NDArray[np.float64], dtype: np.dtype) -> NDArray[np.floating]:
    """Weights, and zeros for what is left of the last vector."""
    padded = np.zeros(-(-w.size // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK, dtype)
    padded[: w.size] = w
    return padded


def _frequencies(start: int, end: int) -> NDArray[np.float64]:
    """Factors of the features in the third sum of the content."""
    return np.cos(np.arange(start, end))


# Sums over pairs for the features whose sum may be positive: nothing else becomes a weight.


#: Bounds are made larger by this, relatively: more than their own sums can be off by.
_MORE = 1e-3


class PositiveMargins:
    """Margins Σ_ni S_ni |x_nj − x_ij| of the features j for which they may be positive.

    Since 0 ≤ |x_nj − x_ij| ≤ span_j, which expected differences keep to as well, the margin of a feature
    changes from one set of coefficients to the next by at most

        span_j/2 · (Σ|S' − S| + |Σ(S' − S)|).

    Where it was farther below 0, and all roundings cannot make up for it, it is still; as an iteration comes
    to rest this is soon known of every feature without a weight, and they are left out. Those that are summed
    get the same bits as if all were.

    Parameters
    ----------
    table : Packed
        The rows.
    rows : WeightedRows
        The same, as they are summed.
    """

    def __init__(self, table: Packed, rows: WeightedRows) -> None:
        self._table = table
        self._rows = rows
        self._sample_weight = table.sample_weight.astype(table.dtype)
        shape = (table.n_tiles, distances.TILE, distances.TILE)
        self._coefficients = packing.aligned_zeros(shape, table.dtype)
        #: Of rows and their further copies.
        self._own = np.zeros(table.n_rows)
        #: No margin is above this.
        self._bounds = np.full(table.n_features, np.inf)

    def sums(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'| from stored distances; 0 where it is certain to be ≤ 0."""
        table, rows = self._table, self._rows
        (totals, sizes), change = self._renew(tiles, by)
        self._bounds += (0.5 + _MORE) * table.scaled.spans * change
        # What overflowed is not known to be below.
        which = np.flatnonzero(~(self._bounds <= 0.0))
        found = rows.sum_products(self._coefficients, totals, which, by.own)
        # Roundings of this sum, and of the one that will not be made.
        rounding = 2.0 * (1.0 + _MORE) * pair_sums.relative_error(table.dtype, table.n_rows)
        terms = rows.weighted_totals(sizes, which)
        if rows.correction.any:
            correction_sums = np.isin(which, rows.correction.features)
            # What missing values add to a difference is no larger than the span.
            terms[correction_sums] += sizes.sum() * table.scaled.spans[which[correction_sums]]
        self._bounds[which] = found + rounding * terms
        sums = np.zeros(table.n_features)
        sums[which] = found
        return sums

    def _renew(self, tiles: NDArray[np.floating], by: Coefficients) -> tuple[NDArray[np.float64], float]:
        """Find the coefficients: their sums and those of their sizes by row, and Σ|change| + |Σ change|."""
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
