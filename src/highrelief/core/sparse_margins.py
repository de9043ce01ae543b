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
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, packing
from .cached_property import cached_property
from .lacks import Lacks
from .packed import Packed
from .pair_sums import PairSums
from .soft_neighborhoods import SoftNeighborhoods
from .soft_rows import WIDTH_ANCHORS, SoftPasses

#: Sums of earlier coefficients that are kept, if there is memory, to bound later ones. An iteration makes
#: about three; one that runs in a cycle of two finds those of the step before the last.
_REFERENCES = 8
#: Fewer features are all summed: that takes no longer than to find out which.
_FEWEST_FEATURES = 256
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
        n_stored = int(min(memory // pairs, 2 + _REFERENCES))
        #: Whether distances, coefficients and a reference fit.
        self.stored = n_stored > 2
        self.references: deque[Reference] = deque(maxlen=max(n_stored - 2, 0))
        #: Number of features whose sums were made, each time.
        self.n_summed: list[int] = []
        self._features: NDArray[np.int64] | None = None
        #: What is missing, of all features.
        self.lacks = Lacks(table)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """Return σ at which a neighbourhood holds, in effect, ``share`` of the other samples."""
        passes, w = self._under(w)
        if self.table.n_copies > WIDTH_ANCHORS:
            # Which samples stand for all must not depend on the features that are at work.
            passes.content = self._content
        return passes.width_for_perplexity(w, share, WIDTH_ANCHORS)

    @cached_property
    def _content(self) -> NDArray[np.float64]:
        whole = self._passes if self._passes.table is self.table else self._passes_over(self.table)
        return whole.content

    def _passes_over(self, table: Packed) -> SoftPasses:
        return SoftPasses(table, self._memory)

    def _few(self, n_features: int, n_all: int) -> bool:
        """Whether so few features are at work that a copy of their columns pays."""
        return 2 * n_features <= n_all

    def execution(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return {
            "distances": "stored" if self.stored else "recomputed",
            "features_summed": list(self.n_summed),
        }

    def at(self, w: NDArray[np.float64], sigma: float) -> MarginColumns:
        """Margins under weights w and the kernel exp(−d/σ)."""
        passes, w = self._under(w)
        return self._columns(passes, self._neighborhoods(passes, w, sigma))

    def _neighborhoods(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        return SoftNeighborhoods(passes, w, sigma)

    def _columns(self, passes: SoftPasses, near: SoftNeighborhoods) -> MarginColumns:
        return MarginColumns(self, passes, near)

    def _under(self, w: NDArray[np.float64]) -> tuple[SoftPasses, NDArray[np.float64]]:
        """Passes over the features of positive weight alone, and their weights."""
        features = np.flatnonzero(w)
        if not self.stored or not self._few(features.size, w.size):
            features = np.arange(w.size)
        if self._features is None or not np.array_equal(self._features, features):
            self._features = features
            table = self.table if features.size == w.size else self.table.of_features(features)
            self._passes = self._passes_over(table)
        return self._passes, w[features]


class BoundedSums(NamedTuple):
    """Sums of some features: numbers between which they lie, and how to find them."""

    features: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    of: Callable[[NDArray[np.int64]], NDArray[np.float64]]


class Reference:
    """Coefficients of pairs, and values that the sums which they gave do not exceed.

    ``own``: of rows and their further copies, where these are not equal.
    """

    def __init__(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, high: NDArray[np.float64]
    ) -> None:
        self._tiles, self._own, self._high = tiles, own, high

    def bounds(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, spans: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Values that the sums of other coefficients do not exceed."""
        growth = np.maximum(tiles - self._tiles, 0.0).sum(dtype=np.float64)
        if own is not None and self._own is not None:
            growth += np.maximum(own - self._own, 0.0).sum()
        rounding = 16.0 * np.finfo(tiles.dtype).eps * np.abs(tiles).sum(dtype=np.float64)
        return self._high + (growth + rounding) * spans


class MarginColumns:
    """The margins z̄_n of all samples under one w: columns of them, and sums over samples.

    Rows, and row weights, are in the order of the layout; padding counts nothing.
    """

    def __init__(self, source: SparseMargins, passes: SoftPasses, near: SoftNeighborhoods) -> None:
        self._source, self._passes, self._near = source, passes, near
        self._table = source.table
        self._shares = near.shares(pooled=True)[0]
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    @property
    def copies(self) -> NDArray[np.float64]:
        """How often each row counts, times the weight of its class; 0 for padding."""
        return self._table.row_weights

    @property
    def rounding(self) -> float:
        """By how much, relatively, a sum may differ from that of the same margins in their columns."""
        return 1e-9 if self._table.dtype == np.float64 else 1e-4

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """z̄ of all rows for some features, (n_rows, n_features of them); the last ones are remembered."""
        if self._last is not None and np.array_equal(self._last[0], features):
            return self._last[1]
        X = self._written(features)
        Z = self._near.margin_columns(X, features, self._source.lacks, pooled=True)[:, : features.size]
        self._last = features, Z
        return Z

    def _written(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        """Columns of some features, scaled, in the layout."""
        table = self._table
        width = packing.padded_width(features.size, table.dtype.itemsize)
        X = packing.aligned_zeros((table.n_rows, width), table.dtype)
        table.scaled.write(features, X)
        return X

    def features_above(self, row_weights: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
        """Features j with Σ_n r_n z̄_nj above a threshold, those with the largest sums first."""
        sums = self._sums(row_weights, threshold)
        near = (sums.low <= threshold) & (sums.high > threshold)
        exact = sums.of(sums.features[near])
        sums.low[near], sums.high[near] = exact, exact
        above = sums.low > threshold
        return sums.features[above][np.argsort(-sums.high[above], kind="stable")]

    def largest_sum(self, row_weights: NDArray[np.float64], features: NDArray[np.int64]) -> float:
        """The largest Σ_n r_n z̄_nj; it is probably that of one of the given features."""
        known = float((row_weights @ self.columns(features)).max(initial=-np.inf))
        sums = self._sums(row_weights, known)
        may_be = sums.high >= sums.low.max(initial=known)
        return float(sums.of(sums.features[may_be]).max(initial=known))

    def _sums(self, row_weights: NDArray[np.float64], threshold: float) -> BoundedSums:
        """Σ_n r_n z̄_nj of all features where they may be above the threshold."""
        factors = self._shares * row_weights
        if self._source.stored:
            sums = self._screened_sums(factors, threshold)
        else:
            exact = self._near.margin_sum(factors)
            sums = BoundedSums(np.arange(exact.size), exact, exact.copy(), lambda features: exact[features])
        self._source.n_summed.append(sums.features.size)
        return sums

    def _may_be_above(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, threshold: float
    ) -> NDArray[np.int64]:
        """Features that no earlier sum says stay below a threshold, until few are left."""
        spans = self._table.scaled.spans
        bound = np.full(spans.size, np.inf)
        for reference in reversed(self._source.references):
            np.minimum(bound, reference.bounds(tiles, own, spans), out=bound)
            if np.count_nonzero(bound > threshold) <= _TOO_MANY * spans.size:
                break
        return np.flatnonzero(bound > threshold)

    def _screened_sums(self, factors: NDArray[np.float64], threshold: float) -> BoundedSums:
        """The same from stored distances, leaving out what earlier sums say of later ones."""
        tiles = self._passes.tiles()[0].copy()
        by = self._near.coefficients(factors)
        pairs = PairSums(self._table, tiles, by, self._source.lacks)
        spans = self._table.scaled.spans
        features = self._may_be_above(tiles, by.own, threshold)
        if features.size <= _TOO_MANY * spans.size or spans.size < _FEWEST_FEATURES:
            exact = pairs.of(features)
            return BoundedSums(features, exact, exact.copy(), pairs.of)
        low, high = pairs.rough()
        self._source.references.append(Reference(tiles, by.own, high))
        return BoundedSums(np.arange(spans.size), low, high.copy(), pairs.of)
