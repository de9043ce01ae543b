"""Margins of single samples, for the few features that a sparse solution is about.

z̄_n = Σ_i α_in|x_n − x_i| − Σ_i β_in|x_n − x_i| has as many entries as the table. A sparse solution needs the
columns of its own features, and of all others only to know that they stay out: the sums Σ_n r_n z̄_nj, which
are sums over pairs, Σ_ni c_ni|x_nj − x_ij|, and take neither the memory nor the time of the columns.

Most of these sums need not be made at all. When the coefficients have changed from c to c', no sum has grown
by more than the range of its feature times Σ(c' − c)⁺. A feature that stays below the threshold by this bound
is left alone, so that an iteration that hardly moves costs no more than its own features.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, packing, soft
from .packed import Packed
from .pair_sums import PairSums
from .soft_neighborhoods import SoftNeighborhoods
from .soft_rows import SoftPasses
from .threads import run_all

#: Sums of earlier coefficients that are kept to bound later ones: at the zero vector, and at the solution.
_REFERENCES = 2
#: Beyond this share of the features, all are summed, and become the reference of what follows.
_TOO_MANY = 0.2


class SparseMargins:
    """Margins under weights that change, of which few are not 0.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on distances and coefficients of pairs.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self.table = table
        self._memory = memory
        pairs = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
        #: Whether distances, coefficients and references fit.
        self.stored = (2 + _REFERENCES) * pairs <= memory
        self.references: deque[Reference] = deque(maxlen=_REFERENCES)
        #: Number of features whose sums were made, each time.
        self.n_summed: list[int] = []
        self._features: NDArray[np.int64] | None = None

    def width_for_perplexity(self, w: NDArray[np.float64], share: float, n_anchors: int) -> float:
        """Return σ at which a neighbourhood holds, in effect, ``share`` of the other samples."""
        passes, w = self._under(w)
        return passes.width_for_perplexity(w, share, n_anchors)

    def at(self, w: NDArray[np.float64], sigma: float) -> MarginColumns:
        """Margins under weights w and the kernel exp(−d/σ)."""
        passes, w = self._under(w)
        return MarginColumns(self, passes, SoftNeighborhoods(passes, w, sigma))

    def _under(self, w: NDArray[np.float64]) -> tuple[SoftPasses, NDArray[np.float64]]:
        """Passes over the features of positive weight alone, and their weights."""
        features = np.flatnonzero(w)
        if not self.stored or 2 * features.size > w.size:
            features = np.arange(w.size)
        if self._features is None or not np.array_equal(self._features, features):
            self._features = features
            table = self.table if features.size == w.size else self.table.of_features(features)
            self._passes = SoftPasses(table, self._memory)
        return self._passes, w[features]


class Reference:
    """Coefficients of pairs, and the sums that they gave."""

    def __init__(self, tiles: NDArray[np.floating], sums: NDArray[np.float64]) -> None:
        self._tiles, self._sums = tiles, sums

    def bounds(self, tiles: NDArray[np.floating], spans: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values that the sums of other coefficients do not exceed."""
        growth = np.maximum(tiles - self._tiles, 0.0).sum(dtype=np.float64)
        rounding = 16.0 * np.finfo(tiles.dtype).eps * np.abs(tiles).sum(dtype=np.float64)
        return self._sums + (growth + rounding) * spans


class MarginColumns:
    """The margins z̄_n of all samples under one w: columns of them, and sums over samples.

    Rows, and row weights, are in the order of the layout; padding counts nothing.
    """

    def __init__(self, source: SparseMargins, passes: SoftPasses, near: SoftNeighborhoods) -> None:
        self._source, self._passes, self._near = source, passes, near
        self._table = source.table
        self._shares = near.shares(pooled=True)[0]

    @property
    def copies(self) -> NDArray[np.float64]:
        """How often each row counts; 0 for padding."""
        return self._table.copies

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """z̄ of all rows for some features, (n_rows, n_features of them)."""
        table, passes = self._table, self._passes
        width = packing.padded_width(features.size, table.dtype.itemsize)
        X = packing.aligned_zeros((table.n_rows, width), table.dtype)
        table.scaled.write(features, X)
        Z = np.zeros((table.n_rows, width))
        by = self._near.coefficients(self._shares)

        def of_rows(a: int, b: int) -> None:
            for start in range(a, b, distances.TILE):
                D = passes.distances_to(np.arange(start, min(start + distances.TILE, b)))
                soft.margins_from_distances(
                    X, D, start, table.codes, passes.copies, by.per_sigma, by.low, by.scales, Z
                )

        run_all(of_rows, table.row_ranges(), table.n_threads)
        return Z[:, : features.size]

    def sums_above(
        self, row_weights: NDArray[np.float64], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Features j with Σ_n r_n z̄_nj above a threshold, and these sums."""
        factors = self._shares * row_weights
        if not self._source.stored:
            sums = self._near.margin_sum(factors)
            features = np.arange(sums.size)
        else:
            features, sums = self._screened_sums(factors, threshold)
        above = sums > threshold
        self._source.n_summed.append(features.size)
        return features[above], sums[above]

    def _screened_sums(
        self, factors: NDArray[np.float64], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sums of all features that may be above the threshold."""
        tiles = self._passes.tiles()[0].copy()
        pairs = PairSums(self._table, tiles, self._near.coefficients(factors))
        spans = self._table.scaled.spans
        bound = np.full(spans.size, np.inf)
        for reference in self._source.references:
            np.minimum(bound, reference.bounds(tiles, spans), out=bound)
        features = np.flatnonzero(bound > threshold)
        if features.size <= _TOO_MANY * spans.size:
            return features, pairs.of(features)
        features = np.arange(spans.size)
        sums = pairs.of(features)
        self._source.references.append(Reference(tiles, sums))
        return features, sums
