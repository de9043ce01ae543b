"""Soft neighbourhoods, and the mean margin under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, expectations, incomplete, soft, soft_margins
from .cached_property import cached_property
from .lacks import Lacks
from .memory import check_room
from .packed import Packed, sum_in_order
from .pair_sums import Coefficients
from .soft_rows import SoftPasses
from .threads import even_ranges, run_all

#: Parts of a pass over all pairs, each of some ranges of tiles.
Parts = Sequence[tuple[tuple[int, int], ...]]
#: Smallest distance and mass of every class, seen from every row: (n_classes, n_rows) each.
Statistics = tuple[NDArray[np.floating], NDArray[np.float64]]


class RowsOfPass(Protocol):
    """What a pass over all pairs asks of rows under weights; no row is asked where distances are stored."""

    X: NDArray[np.floating]
    w: NDArray[np.floating]
    sums: NDArray[np.float64]

    @property
    def lacks(self) -> Lacks:
        """What they lack."""
        ...


class _Misses(NamedTuple):
    """The misses of all classes as one set, seen from every row."""

    #: (n_classes, n_rows) the masses of the classes, 0 for the row's own.
    mass_by_class: NDArray[np.float64]
    #: (n_classes, n_rows) what such a mass counts around the nearest miss of all.
    relative: NDArray[np.float64]
    #: (n_rows,) the nearest miss, and the mass around it.
    low: NDArray[np.float64]
    mass: NDArray[np.float64]


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
        self._w = w.copy()
        self._per_sigma = passes.per_sigma(sigma)
        passes.put_under(self._w)
        #: (n_rows,) how far further copies of a row are from it.
        self._between_copies = passes.rows.lacks.between_copies
        self._low, self._mass = self._statistics()

    @property
    def inlier(self) -> NDArray[np.float64]:
        """γ_n = 1 − P_o (eq. 10), (n_samples,); 0 for a sample without a hit."""
        return self._table.unpacked(self._inlier_and_outlier()[0])

    @property
    def log_inlier(self) -> NDArray[np.float64]:
        """The logarithm of γ_n, (n_samples,), however small γ_n is; 0 for a sample without a hit."""
        table, misses = self._table, self._misses
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            of_hits = np.log(self._mass[table.codes, rows])
            farther = (self._low[table.codes, rows] - misses.low) * float(self._per_sigma)
            # γ = 1/(1 + exp(excess)): how much more the misses weigh.
            excess = np.log(misses.mass) - of_hits + farther
            log_inlier = -np.logaddexp(0.0, excess)
        return table.unpacked(np.where(self._valid, log_inlier, 0.0))

    def entropies(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Entropy of P_h and of P_m over the misses of all classes (Bei and Hong 2015), (n_samples,) each.

        In nats; both are 0 for a sample without a hit. Copies of a sample count one by one.
        """
        table, misses, moment = self._table, self._misses, self._moments()
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            hit_mass = self._mass[table.codes, rows]
            hit = np.log(hit_mass) + moment[table.codes, rows] / hit_mass
            # Around the nearest miss of all, instead of the nearest of each class.
            shift = np.where(misses.relative > 0.0, (self._low - misses.low) * float(self._per_sigma), 0.0)
            moment[table.codes, rows] = 0.0
            of_misses = (misses.relative * (moment + misses.mass_by_class * shift)).sum(axis=0)
            miss = np.log(misses.mass) + of_misses / misses.mass
        valid = self._valid
        return table.unpacked(np.where(valid, hit, 0.0)), table.unpacked(np.where(valid, miss, 0.0))

    def mean_margin(
        self, *, pooled: bool, outliers: bool, hard: bool = False, only_positive: bool = False
    ) -> NDArray[np.float64]:
        """ν = (1/N) Σ_n γ_n (Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i|) (eq. 11), (n_features,).

        ``pooled``: the misses of all classes are one set (eq. 21), otherwise each class counts by itself,
        times P(c)/(1 − P(y)) (eq. 20). Without ``outliers`` γ is 1; with ``hard`` it is 1 − γ: samples
        among misses count most. With ``only_positive`` what is not positive may come as any number ≤ 0:
        eq. (12) asks for no more, and it takes less time.
        """
        table = self._table
        shares, inlier = self.shares(pooled)
        weight = table.row_weights * inlier if outliers else table.row_weights
        if hard:
            weight = table.row_weights * self._inlier_and_outlier()[1]
        self._passes.put_under(self._w)
        summed = self._passes.positive_sums if only_positive else self._passes.sum_differences
        nu = summed(self.coefficients(shares * weight))
        terms = weight.sum() * table.scaled.spans
        terms[self._passes.rows.lacks.features] *= 2.0
        nu[np.abs(nu) <= table.rounding_of_sums * terms] = 0.0
        return nu / table.total_weight

    def margins(self, *, pooled: bool) -> NDArray[np.float64]:
        """ρ_n = Σ_i P_m d_ni − Σ_i P_h d_ni, without γ, (n_samples,); 0 for a sample without a hit."""
        shares, _ = self.shares(pooled)
        # E[d] = low + σ·moment/mass of every class, times the mass that the shares divide by.
        with np.errstate(invalid="ignore"):
            sums = self._low * self._mass + self._moments() / float(self._per_sigma)
        return self._table.unpacked(np.where(shares != 0.0, shares * sums, 0.0).sum(axis=0))

    def margin_columns(
        self, X: NDArray[np.floating], features: NDArray[np.int64], lacks: Lacks, *, pooled: bool
    ) -> NDArray[np.float64]:
        """Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i| of every row, over columns in the layout.

        These are the ``features`` of the table that ``lacks`` belongs to.
        """
        table, passes = self._table, self._passes
        passes.put_under(self._w)
        passes.tiles()
        by = self.coefficients(self.shares(pooled)[0])
        check_room(
            8.0 * X.size,
            f"The margins of {len(X)} samples in each of {X.shape[1]} features",
            "Fewer features would do, or a larger alpha, by which fewer are looked at.",
        )
        Z = np.zeros(X.shape)
        lacked = lacks.of_features(features)

        def of_rows(a: int, b: int) -> None:
            for start in range(a, b, distances.TILE):
                D = passes.distances_to(np.arange(start, min(start + distances.TILE, b)))
                soft_margins.margins_from_distances(
                    X, D, 0, start, table.codes, passes.copies, by.per_sigma, by.low, by.scales, Z
                )
                if lacks.any:
                    incomplete.add_margin_lacks(
                        *lacked,
                        D,
                        start,
                        table.codes,
                        passes.copies,
                        by.per_sigma,
                        by.low,
                        by.scales,
                        Z,
                    )

        run_all(of_rows, table.row_ranges(), table.n_threads)
        if by.own is not None:
            lacks.add_between_copies(by.own, features, Z)
        return Z

    def margin_sum(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_n Σ_i factors[class of i, n]·f(d_ni − low)·|x_n − x_i|, feature by feature."""
        self._passes.put_under(self._w)
        return self._passes.sum_differences(self.coefficients(factors))

    def coefficients(self, factors: NDArray[np.float64]) -> Coefficients:
        """What makes of the distances the coefficients of such a sum."""
        scales = factors.astype(self._table.dtype)
        return Coefficients(self._per_sigma, self._low, scales, self._own_coefficients(factors))

    def _own_coefficients(self, factors: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Those of rows and their further copies, where these are not equal; None if all are.

        Copies may differ in features of weight 0, which are as far from each other as if they were equal.
        """
        if not self._passes.rows.lacks.any or not self._table.counted:
            return None
        own = factors[self._table.codes, np.arange(self._table.n_rows)]
        return own * self._own_mass()[0]

    def _own_mass(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(s − 1)·f(d − low) of the s − 1 further copies in reach of every row, and (d − low)/σ."""
        table = self._table
        copies = table.own_copies
        low = self._low[table.codes, np.arange(table.n_rows)].astype(np.float64)
        several = copies > 1.0
        # Beyond, the share is 0, and stays 0 times a finite number.
        with np.errstate(over="ignore"):
            e = np.minimum(np.where(several, self._between_copies - low, 0.0) * float(self._per_sigma), 1e3)
        return np.where(several, copies - 1.0, 0.0) * np.exp(-e), e

    def _statistics(self) -> Statistics:
        """Smallest distance and mass of every class, seen from every row."""
        table = self._table
        low, mass = self._statistics_of_pairs()
        # A sample's own further copies are hits, at distance 0 if nothing is missing.
        several = np.flatnonzero(table.own_copies > 1.0)
        at = table.codes[several], several
        own_low, own_mass = low[at], mass[at]
        own = self._between_copies[several].astype(table.dtype)
        merge_statistics(own_low, own_mass, own, table.own_copies[several] - 1.0, self._per_sigma)
        low[at], mass[at] = own_low, own_mass
        return low, mass

    def _statistics_of_pairs(self) -> Statistics:
        """The same without further copies of the rows themselves."""
        table, passes = self._table, self._passes
        passes.put_under(self._w)
        tiles, known = passes.tiles(filled=False)
        found = tile_statistics(table, passes.rows, tiles, known, self._per_sigma, parts_of_pass(table))
        passes.note_filled()
        return found

    @cached_property
    def _misses(self) -> _Misses:
        table, low, mass = self._table, self._low, self._mass
        of_misses = mass.copy()
        of_misses[table.codes, np.arange(table.n_rows)] = 0.0
        reach = np.where(of_misses > 0.0, low, np.inf)
        miss_low = reach.min(axis=0)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            relative = np.exp((miss_low - reach) * float(self._per_sigma))
            return _Misses(of_misses, relative, miss_low, (of_misses * relative).sum(axis=0))

    @cached_property
    def _valid(self) -> NDArray[np.bool_]:
        """Rows that have a hit and a miss."""
        hit_mass = self._mass[self._table.codes, np.arange(self._table.n_rows)]
        return self._table.real & (hit_mass > 0.0) & (self._misses.mass > 0.0)

    def shares(self, pooled: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of f(d − low) in the margin of every row, (n_classes, n_rows), and γ, (n_rows,).

        −1/Σf for hits; 1/Σf for misses, over all of them or over each class times P(c)/(1 − P(y)). A row
        without a hit or without a miss gets zeros.
        """
        table, misses = self._table, self._misses
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if pooled:
                shares = misses.relative / misses.mass
            else:
                shares = table.miss_factors[table.kinds].T / misses.mass_by_class
            shares[misses.mass_by_class <= 0.0] = 0.0
            rows = np.arange(table.n_rows)
            shares[table.codes, rows] = -1.0 / self._mass[table.codes, rows]
        shares[:, ~self._valid] = 0.0
        return shares, self._inlier_and_outlier()[0]

    def _inlier_and_outlier(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """γ and 1 − γ of every row, (n_rows,) each; both are 0 without a hit or without a miss."""
        table, misses = self._table, self._misses
        per_sigma = float(self._per_sigma)
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            hit_low = self._low[table.codes, rows].astype(np.float64)
            closest = np.minimum(hit_low, misses.low)
            of_hits = self._mass[table.codes, rows] * np.exp((closest - hit_low) * per_sigma)
            of_misses = misses.mass * np.exp((closest - misses.low) * per_sigma)
            inlier, outlier = of_hits / (of_hits + of_misses), of_misses / (of_hits + of_misses)
        return np.where(self._valid, inlier, 0.0), np.where(self._valid, outlier, 0.0)

    def _moments(self) -> NDArray[np.float64]:
        """Σ f·(d − low)/σ over the rows of every class, seen from every row, (n_classes, n_rows)."""
        table = self._table
        moments = self._moments_of_pairs()
        if table.counted and self._between_copies.any():
            mass, e = self._own_mass()
            moments[table.codes, np.arange(table.n_rows)] += mass * e
        return moments

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        """The same without further copies of the rows themselves."""
        table, passes = self._table, self._passes
        passes.put_under(self._w)
        tiles, known = passes.tiles(filled=False)
        parts = parts_of_pass(table)
        moments = tile_moments(table, passes.rows, tiles, known, self._per_sigma, self._low, parts)
        passes.note_filled()
        return moments


def parts_of_pass(table: Packed) -> Parts:
    """Into which parts a pass over all pairs is cut that gathers something of every row."""
    cut = even_ranges(table.n_tiles, table.n_parts(2 * table.n_classes * table.n_rows))
    return [(each,) for each in cut]


def tile_statistics(
    table: Packed,
    rows: RowsOfPass,
    tiles: NDArray[np.floating],
    known: bool,
    per_sigma: np.floating,
    parts: Parts,
) -> Statistics:
    """Smallest distance and mass of every class, seen from every row, over the pairs of some tiles.

    ``known``: whether the distances are in the tiles; otherwise they are computed, and stored if there is
    room. ``parts``: ranges of the tiles, those of a part one after the other.
    """
    shape = (table.n_classes, table.n_rows)
    copies, far = table.copies.astype(table.dtype), soft.out_of_reach(table.dtype)

    def part(*ranges: tuple[int, int]) -> Statistics:
        found = np.full(shape, far, table.dtype), np.zeros(shape)
        for a, b in ranges:
            soft.tile_statistics(
                rows.X,
                rows.w,
                rows.sums,
                rows.lacks.arrays,
                tiles,
                known,
                table.codes,
                copies,
                per_sigma,
                far,
                table.batches,
                table.within,
                a,
                b,
                *found,
            )
        return found

    (low, mass), *others = run_all(part, parts, table.n_threads)
    for more in others:
        merge_statistics(low, mass, *more, per_sigma)
    return low, mass


def merge_statistics(
    low: NDArray[np.floating],
    mass: NDArray[np.float64],
    other_low: NDArray[np.floating],
    other_mass: NDArray[np.float64],
    per_sigma: np.floating,
) -> None:
    """Merge the statistics over other rows into ``low`` and ``mass``."""
    soft.merge_statistics(
        low.reshape(-1), mass.reshape(-1), other_low.reshape(-1), other_mass.reshape(-1), float(per_sigma)
    )


def tile_moments(
    table: Packed,
    rows: RowsOfPass,
    tiles: NDArray[np.floating],
    known: bool,
    per_sigma: np.floating,
    low: NDArray[np.floating],
    parts: Parts,
) -> NDArray[np.float64]:
    """Σ f·(d − low)/σ over the rows of every class, seen from every row; as :func:`tile_statistics`."""
    copies, far = table.copies.astype(table.dtype), soft.out_of_reach(table.dtype)

    def part(*ranges: tuple[int, int]) -> NDArray[np.float64]:
        moment = np.zeros((table.n_classes, table.n_rows))
        for a, b in ranges:
            expectations.tile_moments(
                rows.X,
                rows.w,
                rows.sums,
                rows.lacks.arrays,
                tiles,
                known,
                table.codes,
                copies,
                per_sigma,
                far,
                table.batches,
                table.within,
                low,
                a,
                b,
                moment,
            )
        return moment

    return sum_in_order(run_all(part, parts, table.n_threads))
