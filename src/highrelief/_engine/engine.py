"""Where rows are worked on: the seam between the estimators and the machine.

An estimator asks for margins; what is packed, tiled, stored or computed again is decided behind these
methods. Another place to work (a cluster) offers the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached_property import cached_property
from .columns import CenteredColumns, CenteredTable, Columns
from .hyperplanes import LocalHyperplanes
from .labelings import RelabeledRows
from .layout import Packed
from .nearest import NearestPass, TargetPass
from .neighbors import Neighborhood
from .radius import RadiusPasses
from .soft import WIDTH_ANCHORS, SoftNeighborhoods, SoftPasses, SparseMargins

__all__ = ["LocalHyperplanes", "LocalRows", "Neighborhood"]


class LocalRows:
    """Rows of a table in this process, worked on by its threads.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on keeping distances between two passes over them.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self._table = table
        self._memory = memory

    @cached_property
    def _soft(self) -> SoftPasses:
        return SoftPasses(self._table, self._memory)

    @property
    def sample_weight(self) -> NDArray[np.float64]:
        """How often each sample counts."""
        return self._table.unpacked(self._table.sample_weight)

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much the term of each sample counts: its copies, times the weight of its class."""
        return self._table.unpacked(self._table.row_weights)

    def spans_and_rarity(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ranges of the scaled features, and the share of samples away from the common end of each."""
        table = self._table
        columns = Columns(table.raw, table.scaling, table.ranges)
        spans, rarity = columns.spans, np.clip(np.nan_to_num(columns.rarity, nan=0.5), 0.0, 0.5)
        if table.encoding is None:
            return spans, rarity
        return table.encoding.spans(spans), table.encoding.largest(rarity)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        chosen: dict[str, Any] = {
            "backend": "threads",
            "n_threads": self._table.n_threads,
            "dtype": self._table.dtype.name,
        }
        if soft:
            chosen["distances"] = "stored" if self._soft.stored else "recomputed"
        return chosen

    def nearest(self, among: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """One pass over the nearest neighbors of the anchors (None: all samples)."""
        return self._nearest_pass(among, self._mask(anchors))

    def relabeled(
        self, among: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> RelabeledRows:
        """The nearest neighbors of all samples under many labelings; every sample once, and complete."""
        return RelabeledRows(self._table, among, class_weights)

    def nearest_targets(self, among: Neighborhood, anchors: NDArray[np.integer] | None = None) -> TargetPass:
        """The same where samples have no classes, but targets."""
        return TargetPass(self._table, among, self._mask(anchors))

    def _mask(self, anchors: NDArray[np.integer] | None) -> NDArray[np.bool_]:
        mask = self._table.real
        if anchors is not None:
            wanted = np.zeros(self._table.n_samples, dtype=bool)
            wanted[anchors] = True
            mask = mask & wanted[self._table.position]
        return mask

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> NearestPass:
        return NearestPass(self._table, among, anchors)

    def by_distance(self) -> RadiusPasses:
        """Passes over the distances of all pairs, and margins at all samples within or beyond a radius."""
        return RadiusPasses(self._table, self._memory)

    def centered(self) -> CenteredTable:
        """The rows, scaled, measured from their mean."""
        return CenteredColumns(self._table.raw, self._table.scaling, self._table.n_threads)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        """Who is near whom under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return SoftNeighborhoods(self._soft, w, sigma)

    def local_hyperplanes(self, n_neighbors: int, penalty: float) -> LocalHyperplanes:
        """Samples against the hyperplanes of their nearest hits and misses (Cai et al. 2014, eq. 4)."""
        return LocalHyperplanes(self._table, n_neighbors, penalty)

    def sparse_margins(self) -> SparseMargins:
        """Margins of single samples for few features, under weights that are mostly 0."""
        return SparseMargins(self._table, self._memory)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """σ at which a neighborhood holds, in effect, ``share`` of the other samples."""
        return self._soft.width_for_perplexity(w, share, WIDTH_ANCHORS)
