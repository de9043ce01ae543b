"""Margins under soft neighbourhoods."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, packing, soft
from .packed import Packed, row_sums, sum_in_order
from .perplexity import width_for_entropy
from .scaling import Scaling
from .threads import even_ranges, run_all

#: Anchors whose neighbourhoods are measured when a kernel width is looked for and distances are not stored.
WIDTH_ANCHORS = 1024
#: Fewest columns of a distance matrix that are worth a sweep over its rows.
_COLUMNS = 256


class MarginRows(NamedTuple):
    """Margins of single samples, and how much each belongs to its class."""

    #: m̄_n − h̄_n of Sun 2007, eq. (11), (n_samples, n_features).
    margins: NDArray[np.float64]
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
        self.far = soft.out_of_reach(table.dtype)
        self.copies = table.copies.astype(table.dtype)
        self._matrix: NDArray[np.floating] = np.empty((0, 0), table.dtype)
        self._last: _Weighted | None = None
        self._filled = False

    def margin_rows(self, w: NDArray[np.float64], sigma: float, *, pooled: bool) -> MarginRows:
        """Margins of the single samples, without γ, and γ apart. ``pooled``: eq. (21), else eq. (20)."""
        table = self.table
        under = self.under(w)
        rows = np.zeros((table.n_rows, table.n_features))
        inlier = np.zeros(table.n_rows)
        per_sigma = float(self.per_sigma(sigma))

        def work(a: int, b: int) -> None:
            soft.margin_rows(
                table.X,
                under.X,
                under.sums,
                table.codes,
                table.copies,
                per_sigma,
                self.far,
                pooled,
                table.miss_factors,
                a,
                b,
                rows,
                inlier,
            )

        run_all(work, table.row_ranges(), table.n_threads)
        return MarginRows(table.unpacked(rows), table.unpacked(inlier))

    def width_for_perplexity(self, w: NDArray[np.float64], share: float, n_anchors: int) -> float:
        """Kernel width at which the neighbourhoods have a wanted size.

        σ such that the mean over anchors of the entropy of softmax(−d/σ), over all other samples, is
        log(share·(N − 1)), at least log 2. Over all samples where their distances are stored, otherwise over
        ``n_anchors`` of them if there are more.
        """
        table = self.table
        under = self.under(w)
        if self.stored:
            anchors, weights = np.arange(table.n_rows), table.copies
            D = self.distances(under)
        else:
            anchors, weights = self._sampled_anchors(n_anchors)
            D = self._distance_columns(under, anchors)
        own = table.copies[anchors]
        low = D.min(axis=0)
        low[own > 1.0] = 0.0
        columns = even_ranges(anchors.size, table.n_parts(1), multiple=_COLUMNS)

        def entropy_at(per_sigma: np.floating) -> tuple[float, float]:
            def of_columns(a: int, b: int) -> tuple[float, float]:
                entropy, slope = soft.neighborhood_entropy(D, self.copies, own, weights, per_sigma, low, a, b)
                return entropy, slope

            parts = run_all(of_columns, columns, table.n_threads)
            total = weights.sum()
            return sum(p[0] for p in parts) / total, sum(p[1] for p in parts) / total

        # A kernel far wider than any distance gives all others the same share, and the slope is then the
        # variance of the distances over σ².
        widest = 1e3 * float(under.sums[table.real].mean())
        if not widest > 0.0:
            return 1.0
        spread = widest * math.sqrt(max(0.0, entropy_at(self.per_sigma(widest))[1]))
        if not spread > 1e-9 * widest:
            return widest
        return width_for_entropy(
            lambda sigma: entropy_at(self.per_sigma(sigma)),
            target=math.log(max(2.0, share * (table.n_copies - 1.0))),
            # What independent distances would need (the random-energy model).
            guess=spread / math.sqrt(2.0 * max(0.1, -math.log(share))),
        )

    def per_sigma(self, sigma: float) -> np.floating:
        """1/σ in the precision of the data.

        Finite however small σ is, and never so small that what is out of reach comes near.
        """
        largest = 1e30 if self.table.dtype == np.float32 else 1e290
        return self.table.dtype.type(1.0 / min(max(sigma, 1.0 / largest), largest))

    def under(self, w: NDArray[np.float64]) -> _Weighted:
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
        sums[~table.real] = self.far
        self._last, self._filled = _Weighted(w.copy(), X, sums), False
        return self._last

    def distances(self, under: _Weighted) -> NDArray[np.floating]:
        """All distances, if there is room to keep them; otherwise an array without entries."""
        table = self.table
        if not self.stored:
            return self._matrix
        if self._matrix.size == 0:
            self._matrix = packing.aligned_zeros((table.n_rows, table.n_rows), table.dtype)

        def work(a: int, b: int) -> None:
            soft.fill_distances(under.X, under.sums, self.far, a, b, self._matrix)

        if not self._filled:
            run_all(work, even_ranges(table.n_tiles, table.n_parts(1)), table.n_threads)
            self._filled = True
        return self._matrix

    def _distance_columns(self, under: _Weighted, anchors: NDArray[np.int64]) -> NDArray[np.floating]:
        table = self.table
        D = packing.aligned_zeros((table.n_rows, anchors.size), table.dtype)

        def work(a: int, b: int) -> None:
            soft.fill_distance_columns(under.X, under.sums, anchors, self.far, a, b, D)

        rows = even_ranges(table.n_rows, table.n_threads, multiple=distances.TILE)
        run_all(work, rows, table.n_threads)
        return D

    def _sampled_anchors(self, n_anchors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows spread evenly over all copies of all rows in an order that depends on their content alone.

        Neither the order of the rows nor the names of the classes matter, and a row of weight s is s rows.
        Returns packed rows, a multiple of the row block, and how often each was drawn.
        """
        table = self.table
        if table.n_samples <= n_anchors:
            return np.arange(table.n_rows), table.copies
        rows = np.flatnonzero(table.real)
        values = table.X[rows]
        squares = np.einsum("ij,ij->i", values, values, dtype=np.float64)
        # Tells apart rows that have the same sum and squares, unless they are equal.
        signature = values @ np.cos(np.arange(values.shape[1])).astype(table.dtype)
        by_content = rows[np.lexsort((signature, squares, table.row_sums[rows]))]
        ends = np.cumsum(table.copies[by_content])
        positions = (np.arange(n_anchors) + 0.5) / n_anchors * ends[-1]
        drawn = by_content[np.searchsorted(ends, positions)]
        anchors, weights = np.unique(drawn, return_counts=True)
        missing = -anchors.size % packing.ROW_BLOCK
        return (
            np.concatenate([anchors, np.repeat(anchors[-1:], missing)]),
            np.concatenate([weights, np.zeros(missing)]),
        )


class SoftNeighborhoods:
    """Who is near whom under weights w: P_m, P_h and P_o of Sun 2007, eqs. (8) to (10).

    For every row n and class c, the smallest distance ``low`` to a row i of c, and the mass
    Σ_i f(d_ni − low) with f(d) = exp(−d/σ). All probabilities follow from the two.

    Parameters
    ----------
    passes : SoftPasses
        The rows, and what is known of their distances.
    w : (n_features,)
        Weights.
    sigma : float
        Kernel width.
    """

    def __init__(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> None:
        self._passes = passes
        self._table = passes.table
        self._under = passes.under(w)
        self._distances = passes.distances(self._under)
        self._per_sigma = passes.per_sigma(sigma)
        self._low, self._mass = self._statistics()

    @property
    def inlier(self) -> NDArray[np.float64]:
        """γ_n = 1 − P_o (eq. 10), (n_samples,); 0 for a sample without a hit."""
        return self._table.unpacked(self._factors(pooled=True, outliers=True)[1])

    def mean_margin(self, *, pooled: bool, outliers: bool) -> NDArray[np.float64]:
        """ν = (1/N) Σ_n γ_n (Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i|) (eq. 11), (n_features,).

        ``pooled``: the misses of all classes are one set (eq. 21), otherwise each class counts by itself,
        times P(c)/(1 − P(y)) (eq. 20). Without ``outliers`` γ is 1.
        """
        table = self._table
        factors, inlier = self._factors(pooled, outliers)

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(table.n_features + table.n_rows)
            soft.accumulate_margin(
                table.X,
                self._under.X,
                self._under.sums,
                self._distances,
                self._passes.stored,
                table.codes,
                self._passes.copies,
                self._per_sigma,
                self._low,
                factors.astype(table.dtype),
                a,
                b,
                out[: table.n_features],
                out[table.n_features :],
            )
            return out

        n_parts = table.n_parts(table.n_features + table.n_rows)
        total = sum_in_order(run_all(part, even_ranges(table.n_tiles, n_parts), table.n_threads))
        nu = -2.0 * total[: table.n_features]
        packing.mix_rows(total[table.n_features :], table.X, nu)
        counted = table.copies @ (inlier if outliers else inlier > 0.0)
        nu[np.abs(nu) <= self._rounding() * counted * table.column_ranges] = 0.0
        return nu / table.n_copies

    def _rounding(self) -> float:
        """What rounding can make of a margin that is 0, relative to the sum of its terms.

        It must not become a weight: where hits and misses balance, ν is 0 and not 1e-17.
        """
        return float(8.0 * np.finfo(self._table.dtype).eps + self._table.n_rows * 2.0**-54)

    def _statistics(self) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        """Smallest distance and mass of every class, seen from every row: (n_classes, n_rows) each."""
        table, passes = self._table, self._passes
        shape = (table.n_classes, table.n_rows)

        def from_columns(a: int, b: int) -> None:
            soft.neighborhood_statistics(
                self._distances,
                table.codes,
                passes.copies,
                self._per_sigma,
                passes.far,
                a,
                b,
                low,
                mass,
            )

        def from_tiles(a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
            part = np.full(shape, passes.far, table.dtype), np.zeros(shape)
            soft.tile_statistics(
                self._under.X,
                self._under.sums,
                table.codes,
                passes.copies,
                self._per_sigma,
                passes.far,
                a,
                b,
                *part,
            )
            return part

        if passes.stored:
            low, mass = np.full(shape, passes.far, table.dtype), np.zeros(shape)
            columns = even_ranges(table.n_rows, table.n_parts(1), multiple=_COLUMNS)
            run_all(from_columns, columns, table.n_threads)
        else:
            cut = even_ranges(table.n_tiles, table.n_parts(2 * math.prod(shape)))
            (low, mass), *others = run_all(from_tiles, cut, table.n_threads)
            for more in others:
                low, mass = _merged(low, mass, *more, float(self._per_sigma))
        # A sample's own further copies are hits at distance 0.
        rows = np.flatnonzero(table.copies > 1.0)
        at = table.codes[rows], rows
        further = np.zeros(rows.size, table.dtype), table.copies[rows] - 1.0
        low[at], mass[at] = _merged(low[at], mass[at], *further, float(self._per_sigma))
        return low, mass

    def _factors(self, pooled: bool, outliers: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of f(d − low) in ν, (n_classes, n_rows), and γ, (n_rows,).

        Hits weigh −γ/Σf; misses +γ/Σf over all of them, or over each class times P(c)/(1 − P(y)). A row
        without a hit or without a miss gets zeros.
        """
        table, low, mass = self._table, self._low, self._mass
        per_sigma = float(self._per_sigma)
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
            weight = table.copies * (inlier if outliers else 1.0)
            if pooled:
                factors = weight * relative / miss_mass
            else:
                factors = weight * table.miss_factors[table.codes].T / of_misses
            factors[of_misses <= 0.0] = 0.0
            factors[table.codes, rows] = -weight / hit_mass
        factors[:, ~valid] = 0.0
        return factors, inlier


def width_among(
    X: NDArray[np.floating],
    w: NDArray[np.float64],
    share: float,
    *,
    n_anchors: int,
    n_threads: int,
) -> float:
    """Kernel width for samples whose classes do not matter, over ``n_anchors`` of them."""
    one_class = np.zeros(len(X), dtype=np.int64)
    scaling = Scaling.none(X.shape[1], X.dtype)
    table = Packed(X, one_class, 1, scaling=scaling, n_threads=n_threads)
    return SoftPasses(table, memory=0.0).width_for_perplexity(w, share, n_anchors)


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
