"""Margins under soft neighbourhoods."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, packing, soft
from .packed import Packed, row_sums, sum_in_order
from .perplexity import width_for_entropy
from .threads import even_ranges, run_all

#: Anchors whose neighbourhoods are measured when a kernel width is looked for.
WIDTH_ANCHORS = 1024
#: Fewest columns of a distance matrix that are worth a sweep over its rows.
_COLUMNS = 256


class SoftMargin(NamedTuple):
    """Margin under soft neighbourhoods, and how much each sample belongs to its class."""

    #: ν of Sun 2007, eq. (11), (n_features,); or the rows m̄_n − h̄_n, (n_samples, n_features).
    margin: NDArray[np.float64]
    #: γ_n = 1 − probability of being an outlier (eq. 10), (n_samples,).
    inlier: NDArray[np.float64]


class _Weighted(NamedTuple):
    """Rows under weights w: the columns of positive weight times their weights, and their sums."""

    w: NDArray[np.float64]
    X: NDArray[np.floating]
    sums: NDArray[np.float64]


class SoftPasses:
    """Passes over all pairs of rows under weights that change from one to the next.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on keeping the distances; beyond, they are computed again.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self.table = table
        self.stored = float(table.n_rows) ** 2 * table.dtype.itemsize <= memory
        self._far = soft.out_of_reach(table.dtype)
        self._copies = table.copies.astype(table.dtype)
        self._matrix: NDArray[np.floating] = np.empty((0, 0), table.dtype)
        self._last: _Weighted | None = None
        self._filled = False

    def margin(self, w: NDArray[np.float64], sigma: float, *, pooled: bool, outliers: bool) -> SoftMargin:
        """ν and γ. ``pooled``: eq. (21), otherwise eq. (20); without ``outliers`` γ is 1 in ν."""
        under = self._under(w)
        D = self._distances(under)
        per_sigma = self._per_sigma(sigma)
        low, mass = self._statistics(under, D, per_sigma)
        scales, inlier = self._coefficient_scales(low, mass, float(per_sigma), pooled, outliers)
        nu = self._accumulated(under, D, per_sigma, low, scales)
        return SoftMargin(nu / self.table.n_copies, self.table.unpacked(inlier))

    def inlier(self, w: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
        """γ alone."""
        under = self._under(w)
        per_sigma = self._per_sigma(sigma)
        low, mass = self._statistics(under, self._distances(under), per_sigma)
        _, inlier = self._coefficient_scales(low, mass, float(per_sigma), True, True)
        return self.table.unpacked(inlier)

    def margin_rows(self, w: NDArray[np.float64], sigma: float, *, pooled: bool) -> SoftMargin:
        """Rows m̄_n − h̄_n, without γ, and γ apart."""
        table = self.table
        under = self._under(w)
        rows = np.zeros((table.n_rows, table.n_features))
        inlier = np.zeros(table.n_rows)
        per_sigma = float(self._per_sigma(sigma))

        def work(a: int, b: int) -> None:
            soft.margin_rows(
                table.X,
                under.X,
                under.sums,
                table.codes,
                table.copies,
                per_sigma,
                self._far,
                pooled,
                table.miss_factors,
                a,
                b,
                rows,
                inlier,
            )

        run_all(work, table.row_ranges(), table.n_threads)
        return SoftMargin(table.unpacked(rows), table.unpacked(inlier))

    def width_for_perplexity(
        self, w: NDArray[np.float64], share: float, n_anchors: int = WIDTH_ANCHORS
    ) -> float:
        """Kernel width at which the neighbourhoods have a wanted size.

        σ such that the mean over anchors of the entropy of softmax(−d/σ), over all other samples, is
        log(share·(N − 1)), at least log 2. Over ``n_anchors`` anchors if there are more, chosen by
        content (spread evenly over the rows in the order of their sums), not by place.
        """
        table = self.table
        under = self._under(w)
        anchors = self._width_anchors(n_anchors)
        if self.stored and anchors.size == table.n_rows:
            D = self._distances(under)
        else:
            D = self._distance_columns(under, anchors)
        own = table.copies[anchors]
        low = D.min(axis=0)
        low[own > 1.0] = 0.0
        columns = even_ranges(anchors.size, table.n_parts(1), multiple=_COLUMNS)

        def entropy_at(per_sigma: np.floating) -> tuple[float, float]:
            def of_columns(a: int, b: int) -> tuple[float, float]:
                entropy, slope = soft.neighborhood_entropy(D, self._copies, own, per_sigma, low, a, b)
                return entropy, slope

            parts = run_all(of_columns, columns, table.n_threads)
            return sum(p[0] for p in parts) / own.sum(), sum(p[1] for p in parts) / own.sum()

        # A kernel far wider than any distance gives all others the same share, and the slope is then the
        # variance of the distances over σ².
        widest = 1e3 * float(under.sums[table.real].mean())
        if not widest > 0.0:
            return 1.0
        spread = widest * math.sqrt(max(0.0, entropy_at(self._per_sigma(widest))[1]))
        if not spread > 1e-9 * widest:
            return widest
        return width_for_entropy(
            lambda sigma: entropy_at(self._per_sigma(sigma)),
            target=math.log(max(2.0, share * (table.n_copies - 1.0))),
            # What independent distances would need (the random-energy model).
            guess=spread / math.sqrt(2.0 * max(0.1, -math.log(share))),
        )

    def _per_sigma(self, sigma: float) -> np.floating:
        """1/σ in the precision of the data.

        Finite however small σ is, and never so small that what is out of reach comes near.
        """
        largest = 1e30 if self.table.dtype == np.float32 else 1e290
        return self.table.dtype.type(1.0 / min(max(sigma, 1.0 / largest), largest))

    def _under(self, w: NDArray[np.float64]) -> _Weighted:
        """Columns of positive weight times their weights, and the sums of their rows.

        A column of weight 0 adds nothing to any distance and stays out. Padding is out of reach. What was
        made for the same weights before is still there: a width is looked for before it is used.
        """
        if self._last is not None and np.array_equal(self._last.w, w):
            return self._last
        table = self.table
        columns = np.flatnonzero(w)
        width = packing.padded_width(columns.size, table.dtype.itemsize)
        X = packing.aligned_zeros((table.n_rows, width), table.dtype)
        packing.weigh_columns(table.X, columns, w[columns].astype(table.dtype), X)
        sums = row_sums(X)
        sums[~table.real] = self._far
        self._last, self._filled = _Weighted(w.copy(), X, sums), False
        return self._last

    def _distances(self, under: _Weighted) -> NDArray[np.floating]:
        """All distances, if there is room to keep them; otherwise an array without entries."""
        table = self.table
        if not self.stored:
            return self._matrix
        if self._matrix.size == 0:
            self._matrix = packing.aligned_zeros((table.n_rows, table.n_rows), table.dtype)

        def work(a: int, b: int) -> None:
            soft.fill_distances(under.X, under.sums, self._far, table.tiles[a:b], self._matrix)

        if not self._filled:
            run_all(work, even_ranges(len(table.tiles), table.n_parts(1)), table.n_threads)
            self._filled = True
        return self._matrix

    def _distance_columns(
        self,
        under: _Weighted,
        anchors: NDArray[np.int64],
    ) -> NDArray[np.floating]:
        table = self.table
        D = packing.aligned_zeros((table.n_rows, anchors.size), table.dtype)

        def work(a: int, b: int) -> None:
            soft.fill_distance_columns(under.X, under.sums, anchors, self._far, a, b, D)

        rows = even_ranges(table.n_rows, table.n_threads, multiple=distances.TILE)
        run_all(work, rows, table.n_threads)
        return D

    def _width_anchors(self, n_anchors: int) -> NDArray[np.int64]:
        table = self.table
        if table.n_samples <= n_anchors:
            return np.arange(table.n_rows)
        rows = np.flatnonzero(table.real)
        squares = np.einsum("ij,ij->i", table.X[rows], table.X[rows])
        by_content = rows[np.lexsort((squares, table.row_sums[rows]))]
        chosen = np.linspace(0, rows.size - 1, n_anchors).round().astype(np.int64)
        return np.sort(by_content[chosen])

    def _statistics(
        self,
        under: _Weighted,
        D: NDArray[np.floating],
        per_sigma: np.floating,
    ) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        """Smallest distance and mass of every class, seen from every row: (n_classes, n_rows) each."""
        table = self.table
        shape = (table.n_classes, table.n_rows)

        def from_columns(a: int, b: int) -> None:
            soft.neighborhood_statistics(D, table.codes, self._copies, per_sigma, self._far, a, b, low, mass)

        def from_tiles(a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
            part = np.full(shape, self._far, table.dtype), np.zeros(shape)
            soft.tile_statistics(
                under.X,
                under.sums,
                table.codes,
                self._copies,
                per_sigma,
                self._far,
                table.tiles[a:b],
                *part,
            )
            return part

        if self.stored:
            low, mass = np.full(shape, self._far, table.dtype), np.zeros(shape)
            columns = even_ranges(table.n_rows, table.n_parts(1), multiple=_COLUMNS)
            run_all(from_columns, columns, table.n_threads)
        else:
            cut = even_ranges(len(table.tiles), table.n_parts(2 * math.prod(shape)))
            (low, mass), *others = run_all(from_tiles, cut, table.n_threads)
            for more in others:
                low, mass = _merged(low, mass, *more, float(per_sigma))
        # A sample's own further copies are hits at distance 0.
        rows = np.flatnonzero(table.copies > 1.0)
        at = table.codes[rows], rows
        further = np.zeros(rows.size, table.dtype), table.copies[rows] - 1.0
        low[at], mass[at] = _merged(low[at], mass[at], *further, float(per_sigma))
        return low, mass

    def _coefficient_scales(
        self,
        low: NDArray[np.floating],
        mass: NDArray[np.float64],
        per_sigma: float,
        pooled: bool,
        outliers: bool,
    ) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        """Turn masses into the factors of f(d − low) in ν, (n_classes, n_rows), and γ.

        Hits weigh −γ/Σf; misses +γ/Σf over all of them (eq. 21), or over each class times P(c)/(1 − P(y))
        (eq. 20). A row without a hit or without a miss gets zeros.
        """
        table = self.table
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            hit_low = low[table.codes, rows].astype(np.float64)
            hit_mass = mass[table.codes, rows]
            of_misses = mass.copy()
            of_misses[table.codes, rows] = 0.0
            reach = np.where(of_misses > 0.0, low, np.inf)
            miss_low = reach.min(axis=0)
            relative = np.exp((miss_low - reach) * per_sigma)
            miss_mass = (of_misses * relative).sum(axis=0)
            valid = table.real & (hit_mass > 0.0) & (miss_mass > 0.0)
            closest = np.minimum(hit_low, miss_low)
            hits = hit_mass * np.exp((closest - hit_low) * per_sigma)
            misses = miss_mass * np.exp((closest - miss_low) * per_sigma)
            inlier = np.where(valid, hits / (hits + misses), 0.0)
            factor = table.copies * (inlier if outliers else 1.0)
            if pooled:
                scales = factor * relative / miss_mass
            else:
                scales = factor * table.miss_factors[table.codes].T / of_misses
            scales[of_misses <= 0.0] = 0.0
            scales[table.codes, rows] = -factor / hit_mass
        scales[:, ~valid] = 0.0
        return scales.astype(table.dtype), inlier

    def _accumulated(
        self,
        under: _Weighted,
        D: NDArray[np.floating],
        per_sigma: np.floating,
        low: NDArray[np.floating],
        scales: NDArray[np.floating],
    ) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, (n_features,)."""
        table = self.table

        def work(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(table.n_features + table.n_rows)
            soft.accumulate_margin(
                table.X,
                under.X,
                under.sums,
                D,
                self.stored,
                table.codes,
                self._copies,
                per_sigma,
                low,
                scales,
                table.tiles[a:b],
                out[: table.n_features],
                out[table.n_features :],
            )
            return out

        parts = table.n_parts(table.n_features + table.n_rows)
        total = sum_in_order(run_all(work, even_ranges(len(table.tiles), parts), table.n_threads))
        minima, row_totals = total[: table.n_features], total[table.n_features :]
        nu = -2.0 * minima
        packing.mix_rows(row_totals, table.X, nu)
        return nu


def _merged(
    low: NDArray[np.floating],
    mass: NDArray[np.float64],
    other_low: NDArray[np.floating],
    other_mass: NDArray[np.float64],
    per_sigma: float,
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Statistics over two disjoint sets of rows, from those of each."""
    joint = np.minimum(low, other_low)
    with np.errstate(over="ignore", under="ignore"):
        shrunk = mass * np.exp((joint.astype(np.float64) - low) * per_sigma)
        other_shrunk = other_mass * np.exp((joint.astype(np.float64) - other_low) * per_sigma)
    return joint, shrunk + other_shrunk
