"""Margins of single samples under weights of which few are not 0: an active set of features.

z̄_n = Σ_i α_in|x_n − x_i| − Σ_i β_in|x_n − x_i| has as many entries as the table. A sparse solution needs the
columns of its own features; of all others it needs the sums Σ_n r_n z̄_nj = Σ_ni c_ni|x_nj − x_ij|, which
take neither the memory nor the time of the columns.

Most of these sums can be skipped: if the coefficients change from c to c', no sum grows by more than the
range of its feature times Σ(c' − c)⁺. A feature that stays below the threshold by this bound is not summed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .cached_property import cached_property
from .layout import DenseTable, Packed
from .limits import limits
from .missing_pairs import MissingCorrection
from .pair_sums import Coefficients, PairSums
from .soft import LocalPairwiseDistances, LocalWeightedPairs, SoftNeighborhoods, WeightedPairs


class ActiveSetMargins(ABC):
    """Margins under weights that change and of which few are not 0.

    Parameters
    ----------
    table : DenseTable
        The rows.
    stored : bool
        Whether there is memory for distances and coefficients of all pairs.
    copied : float
        Largest share of active features of which a copy of the columns pays, if distances are stored.
    """

    def __init__(self, table: DenseTable, *, stored: bool, copied: float) -> None:
        self.table, self.stored, self._copied = table, stored, copied
        #: Number of features summed, per evaluation.
        self.n_summed: list[int] = []
        #: Active features, and the rows with these alone.
        self._last_active: tuple[NDArray[np.int64], Packed] | None = None
        #: Correction for missing values, of all features.
        self.correction = MissingCorrection.of(table)

    @abstractmethod
    def _under(self, w: NDArray[np.float64]) -> ActivePairs:
        """Return the pairs under weights w, and the sums over them."""

    @abstractmethod
    def _all_fingerprints(self) -> NDArray[np.float64]:
        """Return :attr:`PairwiseDistances.fingerprints` of all features."""

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """Return the σ at which a neighborhood has, in effect, ``share`` of the other samples."""
        pairs = self._under(w).pairs
        # The choice of anchors must not depend on the active features.
        some = self.table.total_sample_weight > limits.width_anchors
        return pairs.width_for_perplexity(share, limits.width_anchors, self._fingerprints if some else None)

    @cached_property
    def _fingerprints(self) -> NDArray[np.float64]:
        return self._all_fingerprints()

    def execution(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return {
            "distances": "stored" if self.stored else "recomputed",
            "features_summed": list(self.n_summed),
        }

    def at(self, w: NDArray[np.float64], sigma: float) -> MarginColumns:
        """Return the margins under weights w and the kernel exp(−d/σ)."""
        active = self._under(w)
        return MarginColumns(self, SoftNeighborhoods(active.pairs, sigma), active.sums)

    def _active(self, w: NDArray[np.float64]) -> tuple[Packed | None, NDArray[np.float64]]:
        """Return the rows with the active features alone (None: all, if they are many), and their weights."""
        features = np.flatnonzero(w)
        if not self.stored or features.size > self._copied * w.size or features.size == w.size:
            self._last_active = None
            return None, w
        if self._last_active is None or not np.array_equal(self._last_active[0], features):
            self._last_active = features, self.table.of_features(features)
        return self._last_active[1], w[features]


#: Function of the coefficients of all pairs and a threshold: bounds of Σ over pairs of coefficient·|x − x'|,
#: for all features of the table whose sum may be above the threshold.
Sums = Callable[[Coefficients, float], "BoundedSums"]


class ActivePairs(NamedTuple):
    """Pairs of rows under weights of the active features, and sums over them for all features."""

    pairs: WeightedPairs
    sums: Sums


class LocalActiveSetMargins(ActiveSetMargins):
    """Margins by the threads of this process.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes for distances and coefficients of pairs.
    """

    table: Packed

    def __init__(self, table: Packed, memory: float) -> None:
        n_stored = int(min(memory // table.pair_bytes(table.dtype.itemsize), 2 + limits.stored_references))
        # Whether distances, coefficients and a reference fit into memory.
        super().__init__(table, stored=n_stored > 2, copied=0.5)
        self._memory = memory
        self._distances: LocalPairwiseDistances | None = None
        self._references: deque[Reference] = deque(maxlen=max(n_stored - 2, 0))

    def _under(self, w: NDArray[np.float64]) -> ActivePairs:
        active, w = self._active(w)
        table = self.table if active is None else active
        if self._distances is None or self._distances.table is not table:
            self._distances = LocalPairwiseDistances.of(table, self._memory)
        pairs = self._distances.under(w)
        return ActivePairs(pairs, partial(self._screened_sums, pairs) if self.stored else exact_sums(pairs))

    def _all_fingerprints(self) -> NDArray[np.float64]:
        whole = self._distances
        if whole is None or whole.table is not self.table:
            whole = LocalPairwiseDistances.of(self.table, self._memory)
        return whole.fingerprints

    def _screened_sums(self, pairs: LocalWeightedPairs, by: Coefficients, threshold: float) -> BoundedSums:
        """Return the sums from stored distances, without the features that the references exclude."""
        tiles = pairs.tiles().copy()
        sums = PairSums(self.table, tiles, by, self.correction)
        spans = self.table.spans
        features = self._may_be_above(tiles, by.own, threshold)
        if features.size <= limits.max_bounded_share * spans.size or spans.size < limits.min_bounded_features:
            exact = sums.sums(features)
            return BoundedSums(features, exact, exact.copy(), sums.sums)
        low, high = sums.bounds()
        self._references.append(Reference(tiles, by.own, high))
        return BoundedSums(np.arange(spans.size), low, high.copy(), sums.sums)

    def _may_be_above(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, threshold: float
    ) -> NDArray[np.int64]:
        """Return the features that the references do not bound below a threshold."""
        spans = self.table.spans
        bound = np.full(spans.size, np.inf)
        for reference in reversed(self._references):
            np.minimum(bound, reference.bounds(tiles, own, spans), out=bound)
            if np.count_nonzero(bound > threshold) <= limits.max_bounded_share * spans.size:
                break
        return np.flatnonzero(bound > threshold)


class BoundedSums(NamedTuple):
    """Lower and upper bounds of the sums of some features, and a function that computes them."""

    features: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: Callable[[NDArray[np.int64]], NDArray[np.float64]]

    @classmethod
    def exact_of(cls, sums: NDArray[np.float64]) -> Self:
        """Return the sums of all features as their bounds."""
        return cls(np.arange(sums.size), sums, sums.copy(), lambda features: sums[features])


def exact_sums(pairs: WeightedPairs) -> Sums:
    """Return the function that computes the sums of all features of the pairs, whatever the threshold."""
    return lambda by, threshold: BoundedSums.exact_of(pairs.sum_differences(by))


class Reference:
    """Coefficients of pairs, and upper bounds of their sums.

    ``own``: coefficients between duplicates; None if these are equal.
    """

    def __init__(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, high: NDArray[np.float64]
    ) -> None:
        self._tiles, self._own, self._high = tiles, own, high

    def bounds(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, spans: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return upper bounds of the sums of other coefficients."""
        growth = np.maximum(tiles - self._tiles, 0.0).sum(dtype=np.float64)
        if own is not None and self._own is not None:
            growth += np.maximum(own - self._own, 0.0).sum()
        rounding = 16.0 * np.finfo(tiles.dtype).eps * np.abs(tiles).sum(dtype=np.float64)
        return self._high + (growth + rounding) * spans


class MarginColumns:
    """Margins z̄_n of all samples under one w: columns, and sums over samples.

    Rows and row weights are in the order of the layout; padding has weight 0.
    """

    def __init__(self, source: ActiveSetMargins, neighborhoods: SoftNeighborhoods, sums: Sums) -> None:
        self._source, self._neighborhoods, self._sums = source, neighborhoods, sums
        self._table = source.table
        self._shares = neighborhoods.shares(pooled=True)[0]
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    @property
    def sample_weight(self) -> NDArray[np.float64]:
        """Sample weight of each row, times the weight of its class; 0 for padding."""
        return self._table.row_weights

    @property
    def rounding(self) -> float:
        """Relative difference, by rounding, between a sum and that of the margins in their columns."""
        return 1e-9 if self._table.dtype == np.float64 else 1e-4

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return z̄ of all rows for some features, (n_rows, n_features); the last result is cached."""
        if self._last is not None and np.array_equal(self._last[0], features):
            return self._last[1]
        of_table = features, self._table, self._source.correction
        Z = self._neighborhoods.margin_columns(*of_table, pooled=True)[:, : features.size]
        self._last = features, Z
        return Z

    def features_above(self, row_weights: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
        """Return the features j with Σ_n r_n z̄_nj above a threshold, in descending order of the sums."""
        sums = self._bounded_sums(row_weights, threshold)
        uncertain = (sums.low <= threshold) & (sums.high > threshold)
        exact = sums.exact(sums.features[uncertain])
        sums.low[uncertain], sums.high[uncertain] = exact, exact
        above = sums.low > threshold
        return sums.features[above][np.argsort(-sums.high[above], kind="stable")]

    def largest_sum(self, row_weights: NDArray[np.float64], features: NDArray[np.int64]) -> float:
        """Return the largest Σ_n r_n z̄_nj; ``features`` probably include its feature."""
        known = float((row_weights @ self.columns(features)).max(initial=-np.inf))
        sums = self._bounded_sums(row_weights, known)
        may_be = sums.high >= sums.low.max(initial=known)
        return float(sums.exact(sums.features[may_be]).max(initial=known))

    def _bounded_sums(self, row_weights: NDArray[np.float64], threshold: float) -> BoundedSums:
        """Return bounds of Σ_n r_n z̄_nj of all features whose sum may be above the threshold."""
        sums = self._sums(self._neighborhoods.coefficients(self._shares * row_weights), threshold)
        self._source.n_summed.append(sums.features.size)
        return sums
