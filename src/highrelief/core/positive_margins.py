"""Sums over pairs for the features whose sum may be positive: nothing else becomes a weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, packing, pair_sums
from .packed import Packed
from .pair_sums import Coefficients, parts_of_tiles
from .threads import run_all
from .weighted_rows import WeightedRows

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
        self._copies = table.copies.astype(table.dtype)
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
        if rows.lacks.any:
            lacked = np.isin(which, rows.lacks.features)
            # What missing values add to a difference is no larger than the span.
            terms[lacked] += sizes.sum() * table.scaled.spans[which[lacked]]
        self._bounds[which] = found + rounding * terms
        sums = np.zeros(table.n_features)
        sums[which] = found
        return sums

    def _renew(self, tiles: NDArray[np.floating], by: Coefficients) -> tuple[NDArray[np.float64], float]:
        """Find the coefficients: their sums and those of their sizes by row, and Σ|change| + |Σ change|."""
        table = self._table

        def part(a: int, b: int) -> tuple[NDArray[np.float64], float, float]:
            of_rows = np.zeros((2, table.n_rows))
            moved, drift = pair_sums.renew_coefficients(
                tiles,
                self._coefficients,
                table.codes,
                self._copies,
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
