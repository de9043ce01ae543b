"""Margins at all rows within a radius, and beyond one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing, pair_sums, radius, soft
from .cached_property import cached_property
from .layout import Packed, sum_in_order
from .missing_pairs import MissingCorrection
from .pair_sums import PairSums, WeightedBlocks, WeightedRows, weighted_rows
from .threads import even_ranges, run_all

#: Most tiles in one part of a sum.
_TILES_OF_PART = 256

#: Given distances, which tile is their first, and the tiles to work on: what these add to a sum.
Part = Callable[[NDArray[np.floating], int, int, int], NDArray[np.float64]]


class RadiusPasses:
    """Passes over the Manhattan distances of all pairs of rows.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on keeping distances; what does not fit is computed again in every pass. The
        answers are the same, bit for bit.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self._table = table
        self._far = soft.masked_distance(table.dtype)
        self._batch_constraint = self._far / 2.0
        of_tile = distances.TILE**2 * table.dtype.itemsize
        self.stored = float(table.n_tiles) * of_tile <= memory
        self._at_once = max(_TILES_OF_PART, int(memory / of_tile))
        # What is missing is added here: expectations may differ by class.
        complete = table.as_if_complete()
        self._rows = weighted_rows(complete, memory) if self.stored else WeightedRows(complete)
        self._rows.put_under(np.ones(table.n_features))
        self._known: NDArray[np.floating] | None = None
        #: A sample's own further copies, and all that it can have as neighbors, copies counted.
        self._own = np.where(table.real, np.maximum(table.own_weight - 1.0, 0.0), 0.0)
        available = table.available_weight
        self._others = (
            table.total_sample_weight - table.sample_weight + self._own if available is None else available
        )
        #: How far these copies are: what is missing, both lack.
        self._own_distances = np.zeros(table.n_rows)
        for lacking, _ in self._lacking:
            of_part = np.empty(table.n_rows)
            radius.own_distances(*lacking, of_part)
            self._own_distances += of_part

    # Distances

    def mean(self) -> float:
        """Mean distance of all ordered pairs of samples in reach, each with itself if it reaches itself."""
        sums = self._moments(np.zeros(self._table.n_rows))
        return float(self._table.sample_weight @ sums / self._table.n_pairs)

    def means_and_deviations(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the distances of every row to all in reach, (n_rows,) each."""
        others = np.where(self._others > 0.0, self._others, 1.0)
        means = self._moments(np.zeros(self._table.n_rows)) / others
        return means, np.sqrt(self._moments(means, squared=True) / others)

    def _moments(self, centers: NDArray[np.float64], *, squared: bool = False) -> NDArray[np.float64]:
        """Σ_i d_ni − centers[n], or the squares, over all that a row can have as neighbors, (n_rows,)."""
        table = self._table
        of_own = self._own_distances - centers

        def part(D: NDArray[np.floating], first: int, a: int, b: int) -> NDArray[np.float64]:
            sums = np.zeros(table.n_rows)
            radius.tile_moments(
                D, first, a, b, table.sample_weight, centers, squared, self._batch_constraint, sums
            )
            return sums

        return self._sum(part, table.n_rows) + self._own * (of_own**2 if squared else of_own)

    # Margins

    def margins(self, near: float | NDArray[np.float64], far: float | NDArray[np.float64]) -> RadiusMargins:
        """Compare every row with all that are nearer than ``near`` or farther than ``far``.

        Each is a number, or one for every row. A distance that is tied with a radius is neither.
        """
        table = self._table
        tolerance, everyone = table.tie_tolerance, np.ones(table.n_rows)
        near, far = everyone * (near * (1.0 - tolerance)), everyone * (far * (1.0 + tolerance))
        counts = self._counts(near, far)
        factors = self._factors(counts)
        sums = self._sum_differences(near, far, factors)
        self._add_own_duplicates(near, far, factors, sums)
        mean, spans, encoding = sums / table.total_weight, table.scaled.spans, table.encoding
        mean[np.abs(mean) <= table.rounding_of_sums * self._joined(spans)] = 0.0
        spans = spans if encoding is None else encoding.spans(spans)
        return RadiusMargins(mean, *self._unpaired(counts[1]), spans)

    def _joined(self, of_columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differences of features from those of their columns."""
        encoding = self._table.encoding
        return of_columns if encoding is None else encoding.joined(of_columns)

    def _counts(self, near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        """Copies that are near and far, by class, seen from every row, (2, n_classes, n_rows)."""
        table = self._table
        shape = (2, table.n_classes, table.n_rows)

        def part(D: NDArray[np.floating], first: int, a: int, b: int) -> NDArray[np.float64]:
            counts = np.zeros(shape)
            radius.tile_counts(
                D, first, a, b, table.codes, table.sample_weight, near, far, self._batch_constraint, counts
            )
            return counts

        counts = self._sum(part, math.prod(shape))
        # A sample's own further copies are hits, at distance 0 unless something is missing.
        counts[:, table.codes, np.arange(table.n_rows)] += self._own_sides(near, far)
        return counts

    def _own_sides(self, near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        """Own further copies that are near, and that are far, (2, n_rows)."""
        apart = self._own_distances
        return np.where(np.stack([apart < near, apart > far]), self._own, 0.0)

    def _add_own_duplicates(
        self,
        near: NDArray[np.float64],
        far: NDArray[np.float64],
        factors: NDArray[np.float64],
        sums: NDArray[np.float64],
    ) -> None:
        """Add the differences of rows to their own further copies, which are those of missing values."""
        table = self._table
        as_hits = factors[:, table.codes, np.arange(table.n_rows)]
        coefficients = (as_hits * self._own_sides(near, far)).sum(axis=0)
        for lacking, features in self._lacking:
            found = np.zeros(features.size)
            radius.sum_own(coefficients, *lacking, found)
            sums[features] += found

    def _factors(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a copy of a near, or far, row of a class counts for every row, (2, n_classes, n_rows)."""
        table = self._table
        factors = table.miss_factors[table.kinds].T.copy()
        factors[table.codes, np.arange(table.n_rows)] = -1.0
        factors *= np.where(table.has_hit, table.row_weights, 0.0)
        shares = np.zeros_like(counts)
        np.divide(factors, counts, out=shares, where=counts > 0.0)
        shares[1] *= -1.0
        return shares

    def _unpaired(self, far: NDArray[np.float64]) -> tuple[float, float]:
        """Shares of the samples that have far misses but no far hit, and the other way round."""
        table, rows = self._table, np.arange(self._table.n_rows)
        hits = far[table.codes, rows] > 0.0
        of_misses = far.copy()
        of_misses[table.codes, rows] = 0.0
        misses = of_misses.any(axis=0)
        counted = np.where(table.has_hit, table.row_weights, 0.0) / table.total_weight
        return float(counted[misses & ~hits].sum()), float(counted[hits & ~misses].sum())

    def _sum_differences(
        self, near: NDArray[np.float64], far: NDArray[np.float64], factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature. Distances become coefficients."""
        table, X = self._table, self._rows.X
        width, lacking = X.shape[1], self._lacking
        of_rows = width + table.n_rows
        borders = np.cumsum([of_rows, *(features.size for _, features in lacking)]).tolist()

        def part(D: NDArray[np.floating], first: int, a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(borders[-1])
            radius.tile_coefficients(
                D,
                first,
                a,
                b,
                table.codes,
                table.sample_weight,
                near,
                far,
                factors,
                self._batch_constraint,
                out[width:of_rows],
            )
            for (lists, _), start, end in zip(lacking, borders, borders[1:], strict=False):
                radius.sum_corrections(D, first, a, b, table.n_rows, *lists, out[start:end])
            if width > 0:
                pair_sums.add_products(X, D, first, a, b, out[:width])
            return out

        total = self._sum(part, packing.padded_width(table.n_features, table.dtype.itemsize) + table.n_rows)
        known, self._known = self._known, None
        if isinstance(self._rows, WeightedBlocks):
            assert known is not None
            sums = _GivenPairSums(table, known, total[width:of_rows]).of(np.arange(table.n_features))
        else:
            sums = -2.0 * total[: table.n_features]
            packing.mix_rows(total[width:of_rows], X, sums)
        sums = self._joined(sums)
        for (_, features), start, end in zip(lacking, borders, borders[1:], strict=False):
            sums[features] += total[start:end]
        return sums

    # Tiles

    def _sum(self, part: Part, width: int) -> NDArray[np.float64]:
        """Sum over all tiles what ``part`` makes of some of them, an array of ``width`` numbers.

        The shape of the table decides on the order of the sums, neither the memory nor the threads.
        """
        table = self._table
        at_once = table.n_parts(width)
        cut = even_ranges(table.n_tiles, max(at_once, -(-table.n_tiles // _TILES_OF_PART)))
        total: NDArray[np.float64] | None = None
        while cut:
            n_parts = sum(b - cut[0][0] <= self._at_once for _, b in cut[:at_once])
            group, cut = cut[: max(n_parts, 1)], cut[max(n_parts, 1) :]
            D, first = self._tiles(group[0][0], group[-1][1])
            found = run_all(part, [(D, first, a, b) for a, b in group], table.n_threads)
            total = sum_in_order(found if total is None else [total, *found])
        assert total is not None
        return total

    def _tiles(self, a: int, b: int) -> tuple[NDArray[np.floating], int]:
        """Distances of the pairs of tiles a … b at least, and which tile is their first."""
        table = self._table
        shape = (distances.TILE, distances.TILE)
        if self.stored:
            if self._known is None:
                self._known = packing.aligned_zeros((table.n_tiles, *shape), table.dtype)
                self._rows.fill(self._known)
                self._expect(self._known, 0, table.n_tiles)
            return self._known, 0
        rows, D = self._rows, packing.aligned_zeros((b - a, *shape), table.dtype)
        given = (rows.X, rows.w, rows.sums, rows.correction.arrays, self._far, table.batches, table.within)

        def fill(first: int, end: int) -> None:
            radius.fill_tiles(*given, a + first, a + end, a, D)

        run_all(fill, even_ranges(b - a, table.n_parts(1)), table.n_threads)
        self._expect(D, a, b)
        return D, a

    def _expect(self, D: NDArray[np.floating], a: int, b: int) -> None:
        """Turn the distances of tiles a … b into what they are expected to be where values are missing."""
        table = self._table
        for lists, _ in self._lacking:

            def add(first: int, end: int, lists: tuple[NDArray[Any], ...] = lists) -> None:
                radius.add_corrections(D, a, a + first, a + end, table.n_rows, *lists)

            run_all(add, even_ranges(b - a, table.n_parts(1)), table.n_threads)

    @cached_property
    def _lacking(self) -> list[tuple[tuple[NDArray[Any], ...], NDArray[np.int64]]]:
        """What rows lack of numeric and of categorical features, as the kernels need it, and the features."""
        missing = self._table.missing
        parts = [] if missing is None else missing.parts
        return [((part.start, part.which, part.set_of, part.excess), part.features) for part in parts]


class RadiusMargins(NamedTuple):
    """Samples compared with all that are near, and all that are far."""

    #: Mean over the samples of E|x − miss| − E|x − hit| among near ones, minus the same among far ones. Each
    #: expectation is over the samples of one class, those of misses weighted by P(c)/(1 − P(y)), and is left
    #: out where there are none. Samples without any hit, and those without any miss, in reach contribute
    #: nothing.
    mean: NDArray[np.float64]
    #: Share of the samples that have far misses but no far hit,
    only_misses: float
    #: and of those that have far hits but no far miss.
    only_hits: float
    #: Ranges of the features, scaled.
    spans: NDArray[np.float64]


class _GivenPairSums(PairSums):
    """Sums over pairs whose coefficients are given, and add up by row to ``row_totals``."""

    def __init__(self, table: Packed, tiles: NDArray[np.floating], row_totals: NDArray[np.float64]) -> None:
        self._table, self.tiles, self.row_totals = table, tiles, row_totals
        self._correction, self._own = MissingCorrection(table.as_if_complete()), None
