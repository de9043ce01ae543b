"""Soft neighbourhoods, and the mean margin under them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..kernels import soft
from .soft_rows import SoftPasses
from .threads import even_ranges, run_all
from .weighted_rows import Coefficients


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
        self._low, self._mass = self._statistics()

    @property
    def inlier(self) -> NDArray[np.float64]:
        """γ_n = 1 − P_o (eq. 10), (n_samples,); 0 for a sample without a hit."""
        return self._table.unpacked(self._factors(pooled=True, outliers=True)[1])

    def mean_margin(
        self, *, pooled: bool, outliers: bool, only_positive: bool = False
    ) -> NDArray[np.float64]:
        """ν = (1/N) Σ_n γ_n (Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i|) (eq. 11), (n_features,).

        ``pooled``: the misses of all classes are one set (eq. 21), otherwise each class counts by itself,
        times P(c)/(1 − P(y)) (eq. 20). Without ``outliers`` γ is 1. With ``only_positive`` what is not
        positive may come as any number ≤ 0: eq. (12) asks for no more, and it takes less time.
        """
        table = self._table
        factors, inlier = self._factors(pooled, outliers)
        scales = factors.astype(table.dtype)
        self._passes.put_under(self._w)
        summed = self._passes.positive_sums if only_positive else self._passes.sum_differences
        nu = summed(Coefficients(self._per_sigma, self._low, scales))
        counted = table.copies @ (inlier if outliers else inlier > 0.0)
        nu[np.abs(nu) <= self._rounding() * counted * table.scaled.spans] = 0.0
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
        passes.put_under(self._w)
        tiles, known = passes.tiles(filled=False)
        rows = passes.rows

        def part(a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
            found = np.full(shape, passes.far, table.dtype), np.zeros(shape)
            soft.tile_statistics(
                rows.X,
                rows.w,
                rows.sums,
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
        passes.note_filled()
        for more in others:
            self._merge(low, mass, *more)
        # A sample's own further copies are hits at distance 0.
        several = np.flatnonzero(table.copies > 1.0)
        at = table.codes[several], several
        own_low, own_mass = low[at], mass[at]
        self._merge(own_low, own_mass, np.zeros(several.size, table.dtype), table.copies[several] - 1.0)
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
