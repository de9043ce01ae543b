"""Radius neighborhoods: margins at all rows within an inner radius and beyond an outer one (SURF).

A reduction of the Manhattan distances of all pairs. Each margin is the mean of E|x − miss| − E|x − hit| among
near rows, minus that among far rows.
"""

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
from .pair_sums import WeightedRows, sums_of_products, weighted_rows
from .threads import even_ranges, run_all

#: Largest number of tiles in one part of a sum.
_TILES_OF_PART = 256

#: Function of distances, the index of their first tile, and a range of tiles; returns a partial sum.
Part = Callable[[NDArray[np.floating], int, int, int], NDArray[np.float64]]


class RadiusNeighborhoods:
    """Margins at all rows within a radius, and beyond one.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes for stored distances; without room for them they are recomputed in every pass. Results are
        bitwise identical.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self._table = table
        self._masked = soft.masked_distance(table.dtype)
        self._limit = self._masked / 2.0
        size = table.pair_bytes(table.dtype.itemsize)
        self.stored = size <= memory
        self._at_once = max(_TILES_OF_PART, int(memory / (size / table.n_tiles)))
        # Missing values are corrected here: expectations may differ by class.
        uncorrected = MissingCorrection.of(table, ignored=True)
        self._rows = (
            weighted_rows(table, memory, uncorrected) if self.stored else WeightedRows(table, uncorrected)
        )
        self._distances: NDArray[np.floating] | None = None
        #: Weight of a sample's other duplicates, and of all its possible neighbors.
        self._own = np.where(table.is_sample, np.maximum(table.own_weight - 1.0, 0.0), 0.0)
        available = table.available_weight
        self._others = (
            table.total_sample_weight - table.sample_weight + self._own if available is None else available
        )
        #: Distance between duplicates: the same values are missing from both.
        self._own_distances = np.zeros(table.n_rows)
        for missing_lists, _ in self._missing_lists:
            of_part = np.empty(table.n_rows)
            radius.own_distances(*missing_lists, of_part)
            self._own_distances += of_part

    # Distances

    def mean(self) -> float:
        """Return the mean distance of all ordered pairs that are not masked, a sample and itself included."""
        sums = self._moments(np.zeros(self._table.n_rows))
        return float(self._table.sample_weight @ sums / self._table.n_pairs)

    def means_and_deviations(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and standard deviation of every row's unmasked distances, (n_rows,) each."""
        others = np.where(self._others > 0.0, self._others, 1.0)
        means = self._moments(np.zeros(self._table.n_rows)) / others
        return means, np.sqrt(self._moments(means, squared=True) / others)

    def _moments(self, centers: NDArray[np.float64], *, squared: bool = False) -> NDArray[np.float64]:
        """Return Σ_i d_ni − centers[n], or of the squares, over every row's possible neighbors, (n_rows,)."""
        table = self._table
        of_own = self._own_distances - centers

        def part(D: NDArray[np.floating], first: int, a: int, b: int) -> NDArray[np.float64]:
            sums = np.zeros(table.n_rows)
            radius.tile_moments(D, first, a, b, table.sample_weight, centers, squared, self._limit, sums)
            return sums

        return self._sum(part, table.n_rows) + self._own * (of_own**2 if squared else of_own)

    # Margins

    def margins(
        self,
        inner: float | NDArray[np.float64],
        outer: float | NDArray[np.float64],
        *,
        extended: bool = False,
    ) -> RadiusMargins:
        """Return the margins at all rows nearer than ``inner`` or farther than ``outer``.

        Each radius is a number, or one for every row. A distance tied with a radius counts as neither.
        ``extended``: the inner radius of a row without near hits, or without near misses, is that of the
        nearest hit and the nearest miss, these included.
        """
        table = self._table
        tolerance, ones = table.tie_tolerance, np.ones(table.n_rows)
        inner, outer = ones * (inner * (1.0 - tolerance)), ones * (outer * (1.0 + tolerance))
        counts = self._counts(inner, outer)
        if extended:
            hits, misses = self._hits_and_misses(counts[0])
            inner = np.where(hits & misses, inner, np.maximum(inner, self._reach_of_both()))
            counts = self._counts(inner, outer)
        factors = self._factors(counts)
        sums = self._sum_differences(inner, outer, factors)
        self._add_own_duplicates(inner, outer, factors, sums)
        mean, spans, encoding = sums / table.total_weight, table.spans, table.encoding
        mean[np.abs(mean) <= table.rounding_of_sums * self._joined(spans)] = 0.0
        spans = spans if encoding is None else encoding.spans(spans)
        return RadiusMargins(mean, *self._unpaired(counts[1]), spans)

    def _joined(self, of_columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return differences of features from those of their columns."""
        encoding = self._table.encoding
        return of_columns if encoding is None else encoding.joined(of_columns)

    def _counts(self, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of near and far rows by class, for every row, (2, n_classes, n_rows)."""
        table = self._table
        shape = (2, table.n_classes, table.n_rows)

        def part(D: NDArray[np.floating], first: int, a: int, b: int) -> NDArray[np.float64]:
            counts = np.zeros(shape)
            radius.tile_counts(
                D, first, a, b, table.codes, table.sample_weight, inner, outer, self._limit, counts
            )
            return counts

        counts = self._sum(part, math.prod(shape))
        # Duplicates of a sample are hits, at distance 0 unless values are missing.
        counts[:, table.codes, np.arange(table.n_rows)] += self._own_sides(inner, outer)
        return counts

    def _own_sides(self, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of near and of far duplicates of every row, (2, n_rows)."""
        apart = self._own_distances
        return np.where(np.stack([apart < inner, apart > outer]), self._own, 0.0)

    def _add_own_duplicates(
        self,
        inner: NDArray[np.float64],
        outer: NDArray[np.float64],
        factors: NDArray[np.float64],
        sums: NDArray[np.float64],
    ) -> None:
        """Add the differences between duplicates, which are those of missing values."""
        table = self._table
        as_hits = factors[:, table.codes, np.arange(table.n_rows)]
        coefficients = (as_hits * self._own_sides(inner, outer)).sum(axis=0)
        for missing_lists, features in self._missing_lists:
            found = np.zeros(features.size)
            radius.sum_own(coefficients, *missing_lists, found)
            sums[features] += found

    def _factors(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficient of a near, or far, row of a class for every row, (2, n_classes, n_rows)."""
        table = self._table
        factors = table.miss_factors[table.strata].T.copy()
        factors[table.codes, np.arange(table.n_rows)] = -1.0
        factors *= np.where(table.has_hit, table.row_weights, 0.0)
        shares = np.zeros_like(counts)
        np.divide(factors, counts, out=shares, where=counts > 0.0)
        shares[1] *= -1.0
        return shares

    def _hits_and_misses(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows have hits, and misses, given the weights by class, (n_classes, n_rows)."""
        is_own = np.arange(self._table.n_classes)[:, np.newaxis] == self._table.codes
        return ((counts > 0.0) & is_own).any(axis=0), ((counts > 0.0) & ~is_own).any(axis=0)

    def _reach_of_both(self) -> NDArray[np.float64]:
        """Return a bound for each row, just above its nearest hit and nearest miss; 0 if it lacks one."""
        table, size = self._table, distances.TILE
        nearest = np.full((2, table.n_rows), np.inf)
        # Duplicates of a sample are hits.
        nearest[0] = np.where(self._own > 0.0, self._own_distances, np.inf)
        counted = table.sample_weight > 0.0
        for start, end in even_ranges(table.n_tiles, -(-table.n_tiles // min(self._at_once, _TILES_OF_PART))):
            D, first = self._tiles(start, end)
            for t in range(start, end):
                column = (math.isqrt(8 * t + 1) - 1) // 2
                row = t - column * (column + 1) // 2
                i, j = (
                    np.arange(each * size, min((each + 1) * size, table.n_rows)) for each in (row, column)
                )
                tile = D[t - first, : i.size, : j.size].astype(np.float64)
                tile[(tile >= self._limit) | ~counted[i, np.newaxis] | ~counted[j]] = np.inf
                if i[0] == j[0]:
                    np.fill_diagonal(tile, np.inf)
                same = table.codes[i, np.newaxis] == table.codes[j]
                for which, chosen in enumerate((same, ~same)):
                    values = np.where(chosen, tile, np.inf)
                    nearest[which, i] = np.minimum(nearest[which, i], values.min(axis=1))
                    nearest[which, j] = np.minimum(nearest[which, j], values.min(axis=0))
        both = nearest.max(axis=0)
        # Above a distance of 0, too.
        bound = both * (1.0 + table.tie_tolerance) + np.finfo(np.float64).tiny
        return np.where(np.isfinite(both), bound, 0.0)

    def _unpaired(self, far: NDArray[np.float64]) -> tuple[float, float]:
        """Return the shares of samples with far misses but no far hit, and with far hits but no far miss."""
        table = self._table
        hits, misses = self._hits_and_misses(far)
        counted = np.where(table.has_hit, table.row_weights, 0.0) / table.total_weight
        return float(counted[misses & ~hits].sum()), float(counted[hits & ~misses].sum())

    def _sum_differences(
        self, inner: NDArray[np.float64], outer: NDArray[np.float64], factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature; overwrites the distances."""
        table, X = self._table, self._rows.X
        width, missing_lists = X.shape[1], self._missing_lists
        of_rows = width + table.n_rows
        borders = np.cumsum([of_rows, *(features.size for _, features in missing_lists)]).tolist()

        def part(D: NDArray[np.floating], first: int, a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(borders[-1])
            radius.tile_coefficients(
                D,
                first,
                a,
                b,
                table.codes,
                table.sample_weight,
                inner,
                outer,
                factors,
                self._limit,
                out[width:of_rows],
            )
            for (lists, _), start, end in zip(missing_lists, borders, borders[1:], strict=False):
                radius.sum_corrections(D, first, a, b, table.n_rows, *lists, out[start:end])
            if width > 0:
                pair_sums.add_products(X, D, first, a, b, out[:width])
            return out

        total = self._sum(part, packing.padded_width(table.n_features, table.dtype.itemsize) + table.n_rows)
        known, self._distances = self._distances, None
        if self._rows.must_store:
            assert known is not None
            sums = sums_of_products(table, np.arange(table.n_features), known, total[width:of_rows])
        else:
            sums = -2.0 * total[: table.n_features]
            packing.mix_rows(total[width:of_rows], X, sums)
        sums = self._joined(sums)
        for (_, features), start, end in zip(missing_lists, borders, borders[1:], strict=False):
            sums[features] += total[start:end]
        return sums

    # Tiles

    def _sum(self, part: Part, width: int) -> NDArray[np.float64]:
        """Return the sum over all tiles of the results of ``part``, arrays of ``width`` numbers.

        The order of the sums depends on the shape of the table, neither on memory nor on threads.
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
        """Return the distances of at least the pairs of tiles a … b, and the index of their first tile."""
        table, w = self._table, np.ones(self._table.n_features)
        if self.stored:
            if self._distances is None:
                self._distances = table.pair_tiles(table.dtype)
                self._rows.read(w, self._distances, filled=True)
                self._add_corrections(self._distances, 0, table.n_tiles)
            return self._distances, 0
        D = packing.aligned_zeros((b - a, distances.TILE, distances.TILE), table.dtype)
        source, _ = self._rows.read(w, D, filled=False)

        def fill(first: int, end: int) -> None:
            constraint = (table.batches, table.within)
            radius.fill_tiles(*source, self._masked, *constraint, a + first, a + end, a, D)

        run_all(fill, even_ranges(b - a, table.n_parts(1)), table.n_threads)
        self._add_corrections(D, a, b)
        return D, a

    def _add_corrections(self, D: NDArray[np.floating], a: int, b: int) -> None:
        """Add the corrections for missing values to the distances of tiles a … b."""
        table = self._table
        for lists, _ in self._missing_lists:

            def add(first: int, end: int, lists: tuple[NDArray[Any], ...] = lists) -> None:
                radius.add_corrections(D, a, a + first, a + end, table.n_rows, *lists)

            run_all(add, even_ranges(b - a, table.n_parts(1)), table.n_threads)

    @cached_property
    def _missing_lists(self) -> list[tuple[tuple[NDArray[Any], ...], NDArray[np.int64]]]:
        """Missing values by kind of feature, as the kernels read them, and the features."""
        missing = self._table.missing
        parts = [] if missing is None else missing.parts
        return [((part.start, part.which, part.set_of, part.excess), part.features) for part in parts]


class RadiusMargins(NamedTuple):
    """Margins of the samples at near and at far rows."""

    #: Mean over the samples of E|x − miss| − E|x − hit| among near rows, minus that among far rows. Each
    #: expectation is over the samples of one class, those of misses weighted by P(c)/(1 − P(y)), and is
    #: omitted if there are none. Samples without any possible hit, or without any possible miss, contribute
    #: nothing.
    mean: NDArray[np.float64]
    #: Share of the samples that have far misses but no far hit,
    only_misses: float
    #: and of those with far hits but no far miss.
    only_hits: float
    #: Ranges of the scaled features.
    spans: NDArray[np.float64]
