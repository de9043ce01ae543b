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

#: Most anchors whose neighbourhoods are measured when a kernel width is looked for.
WIDTH_ANCHORS = 1024


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
        Bytes that may be spent on keeping distances; what does not fit is computed again. The answers are the
        same, bit for bit.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self.table = table
        self.far = soft.out_of_reach(table.dtype)
        self.copies = table.copies.astype(table.dtype)
        size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
        self.stored = size <= memory
        self._left = memory - size if self.stored else memory
        self._tiles: NDArray[np.floating] = np.empty((0, distances.TILE, distances.TILE), table.dtype)
        self._last: _Weighted | None = None
        self._known = False

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
        log(share·(N − 1)), at least log 2. Over all samples if these, with their copies, are at most
        ``n_anchors``, otherwise over that many of them.
        """
        table = self.table
        under = self.under(w)
        columns = AnchorColumns(self, under, *self._anchors(n_anchors), memory=self._left)
        # A kernel far wider than any distance gives all others the same share, and the slope is then the
        # variance of the distances over σ².
        widest = 1e3 * float(under.sums[table.real].mean())
        if not widest > 0.0:
            return 1.0
        spread = widest * math.sqrt(max(0.0, columns.entropy(self.per_sigma(widest))[1]))
        if not spread > 1e-9 * widest:
            return widest
        return width_for_entropy(
            lambda sigma: columns.entropy(self.per_sigma(sigma)),
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
        self._last = None  # or its copy of the columns would live beside the next
        columns = np.flatnonzero(w)
        width = packing.padded_width(columns.size, table.dtype.itemsize)
        X = packing.aligned_zeros((table.n_rows, width), table.dtype)
        packing.weigh_columns(table.X, columns, w[columns].astype(table.dtype), X)
        sums = row_sums(X)
        sums[~table.real] = self.far
        self._last, self._known = _Weighted(w.copy(), X, sums), False
        return self._last

    def tiles(self, under: _Weighted, *, filled: bool = False) -> tuple[NDArray[np.floating], bool]:
        """Where distances are kept, an array without entries if they are not; and whether they are there.

        They are there on return if they are wanted ``filled`` and are kept at all. Those under earlier
        weights are not kept.
        """
        if under is not self._last:
            return self._tiles[:0], False
        if self.stored and self._tiles.size == 0:
            shape = (self.table.n_tiles, distances.TILE, distances.TILE)
            self._tiles = packing.aligned_zeros(shape, self.table.dtype)

        def work(a: int, b: int) -> None:
            soft.fill_distances(under.X, under.sums, self.far, a, b, self._tiles)

        if filled and self.stored and not self._known:
            run_all(work, even_ranges(self.table.n_tiles, self.table.n_parts(1)), self.table.n_threads)
            self._known = True
        return self._tiles, self._known

    def note_filled(self, under: _Weighted) -> None:
        """All tiles have been filled by a pass under these weights."""
        self._known = self.stored and under is self._last

    def _anchors(self, n_anchors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All rows, or so many spread evenly over their copies in an order that depends on content alone.

        Neither the order of the rows nor the names of the classes matter, and a row of weight s is s rows.
        Returns packed rows, a multiple of the row block, and how often each was drawn.
        """
        table = self.table
        if max(table.n_samples, table.n_copies) <= n_anchors:
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


class AnchorColumns:
    """Distances of all rows to some of them, the anchors, in chunks of columns.

    Kept if they fit into ``memory``, otherwise found again whenever they are needed.
    """

    def __init__(
        self,
        passes: SoftPasses,
        under: _Weighted,
        anchors: NDArray[np.int64],
        weights: NDArray[np.float64],
        *,
        memory: float,
    ) -> None:
        self._passes, self._under = passes, under
        self._anchors, self._weights = anchors, weights
        self._tiles, self._known = passes.tiles(under, filled=True)
        size = float(passes.table.n_rows) * anchors.size * passes.table.dtype.itemsize
        self._chunks = even_ranges(anchors.size, anchors.size, multiple=distances.TILE)
        self._kept: dict[int, tuple[NDArray[np.floating], NDArray[np.floating]]] | None = (
            {} if size <= memory else None
        )

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Mean entropy of the anchors' neighbourhoods, and its derivative by log σ."""
        table = self._passes.table

        def of_columns(a: int, b: int) -> tuple[float, float]:
            D, low = self._columns(a, b)
            own = table.copies[self._anchors[a:b]]
            weights = self._weights[a:b]
            entropy, slope = soft.neighborhood_entropy(D, self._passes.copies, own, weights, per_sigma, low)
            return entropy, slope

        parts = run_all(of_columns, self._chunks, table.n_threads)
        total = self._weights.sum()
        return sum(part[0] for part in parts) / total, sum(part[1] for part in parts) / total

    def _columns(self, a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Distances to anchors a … b, and the smallest to each."""
        if self._kept is not None and a in self._kept:
            return self._kept[a]
        passes, table, anchors = self._passes, self._passes.table, self._anchors[a:b]
        D = packing.aligned_zeros((table.n_rows, b - a), table.dtype)
        if self._known:
            soft.stored_columns(self._tiles, anchors, D)
        else:
            X, sums = self._under.X, self._under.sums
            soft.computed_columns(X, sums, X[anchors], sums[anchors], D)
            D[anchors, np.arange(b - a)] = passes.far
        low = D.min(axis=0)
        low[table.copies[anchors] > 1.0] = 0.0
        if self._kept is not None:
            self._kept[a] = D, low
        return D, low


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
        scales = factors.astype(table.dtype)
        width = table.X.shape[1]
        tiles, _ = self._passes.tiles(self._under)

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(width + table.n_rows)
            soft.accumulate_margin(
                table.X,
                self._under.X,
                self._under.sums,
                tiles,
                table.codes,
                self._passes.copies,
                self._per_sigma,
                self._passes.far,
                self._low,
                scales,
                a,
                b,
                out[:width],
                out[width:],
            )
            return out

        n_parts = table.n_parts(width + table.n_rows)
        total = sum_in_order(run_all(part, even_ranges(table.n_tiles, n_parts), table.n_threads))
        nu = -2.0 * total[: table.n_features]
        packing.mix_rows(total[width:], table.X, nu)
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

        tiles, known = passes.tiles(self._under)

        def part(a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
            found = np.full(shape, passes.far, table.dtype), np.zeros(shape)
            soft.tile_statistics(
                self._under.X,
                self._under.sums,
                tiles,
                known,
                table.codes,
                passes.copies,
                self._per_sigma,
                passes.far,
                a,
                b,
                *found,
            )
            return found

        cut = even_ranges(table.n_tiles, table.n_parts(2 * math.prod(shape)))
        (low, mass), *others = run_all(part, cut, table.n_threads)
        passes.note_filled(self._under)
        for more in others:
            self._merge(low, mass, *more)
        # A sample's own further copies are hits at distance 0.
        rows = np.flatnonzero(table.copies > 1.0)
        at = table.codes[rows], rows
        own_low, own_mass = low[at], mass[at]
        self._merge(own_low, own_mass, np.zeros(rows.size, table.dtype), table.copies[rows] - 1.0)
        low[at], mass[at] = own_low, own_mass
        return low, mass

    def _merge(
        self,
        low: NDArray[np.floating],
        mass: NDArray[np.float64],
        other_low: NDArray[np.floating],
        other_mass: NDArray[np.float64],
    ) -> None:
        """Merge the statistics over other rows into ``low`` and ``mass``."""
        soft.merge_statistics(
            low.reshape(-1),
            mass.reshape(-1),
            other_low.reshape(-1),
            other_mass.reshape(-1),
            float(self._per_sigma),
        )

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
