"""The engine: the interface between estimators and computation.

An estimator requests margins; an engine decides what is packed, tiled, stored or recomputed.
:class:`LocalRows` uses the threads of this process; :mod:`.sparse` and the Dask backends offer the same
methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached_property import cached_property
from .columns import Centered, CenteredColumns, Columns
from .hyperplanes import LocalHyperplanes
from .labelings import RelabeledRows
from .layout import Packed
from .limits import limits
from .nearest import LocalNearestPass, NearestPass, NeighborMargins
from .neighbors import Neighborhood
from .radius import RadiusNeighborhoods
from .search import NeighborSearch
from .soft import ActiveSetMargins, PairwiseDistances, SoftNeighborhoods

__all__ = ["LocalHyperplanes", "LocalRows", "Neighborhood"]


class LocalRows:
    """Rows of a table, processed by the threads of this process.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes for distances that are stored between passes.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self._table = table
        self._memory = memory

    @cached_property
    def _soft(self) -> PairwiseDistances:
        return PairwiseDistances(self._table, self._memory)

    @property
    def sample_weight(self) -> NDArray[np.float64]:
        """Sample weights."""
        return self._table.unpacked(self._table.sample_weight)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Factor of each sample in a mean: its sample weight, times the weight of its class."""
        return self._table.unpacked(self._table.row_weights)

    def spans_and_rarity(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ranges of the scaled features, and the share of samples away from the common end."""
        table = self._table
        columns = Columns(table.raw, table.scaling, table.ranges)
        spans, rarity = columns.spans, np.clip(np.nan_to_num(columns.rarity, nan=0.5), 0.0, 0.5)
        if table.encoding is None:
            return spans, rarity
        return table.encoding.spans(spans), table.encoding.largest(rarity)

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """Return the choices that were made for these rows, for ``execution_``."""
        chosen: dict[str, Any] = {
            "backend": "threads",
            "n_threads": self._table.n_threads,
            "dtype": self._table.dtype.name,
        }
        if soft:
            chosen["distances"] = "stored" if self._soft.stored else "recomputed"
        return chosen

    def nearest(self, among: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """Return a pass over the nearest neighbors of the anchors (None: all samples)."""
        return self._nearest_pass(among, self._mask(anchors))

    def relabeled(
        self, among: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> RelabeledRows:
        """Return margins under many labelings; sample weights are 1, and no value is missing."""
        return RelabeledRows(self._table, among, class_weights)

    def local_nearest(
        self, among: Neighborhood, anchors: NDArray[np.integer] | None = None
    ) -> LocalNearestPass:
        """Return a pass in this process, which can also list neighbors and compare targets."""
        return self._local_pass(among, self._mask(anchors))

    def _mask(self, anchors: NDArray[np.integer] | None) -> NDArray[np.bool_]:
        mask = self._table.real
        if anchors is not None:
            is_anchor = np.zeros(self._table.n_samples, dtype=bool)
            is_anchor[anchors] = True
            mask = mask & is_anchor[self._table.position]
        return mask

    def _nearest_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> NearestPass:
        return self._local_pass(among, anchors)

    def _local_pass(self, among: Neighborhood, anchors: NDArray[np.bool_]) -> LocalNearestPass:
        search = NeighborSearch(self._table, among, anchors)
        margins = NeighborMargins(self._table, search.columns, among)
        return LocalNearestPass(self._table, among, anchors, search, margins)

    def radius_neighborhoods(self) -> RadiusNeighborhoods:
        """Return margins at all samples within or beyond a radius."""
        return RadiusNeighborhoods(self._table, self._memory)

    def centered(self) -> Centered:
        """Return the scaled rows minus their mean."""
        return CenteredColumns(self._table.raw, self._table.scaling, self._table.n_threads)

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        """Return the neighborhoods under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return SoftNeighborhoods(self._soft, w, sigma)

    def local_hyperplanes(self, n_neighbors: int, penalty: float) -> LocalHyperplanes:
        """Return margins at the hyperplanes of the nearest hits and misses (Cai et al. 2014, eq. 4)."""
        return LocalHyperplanes(self._table, n_neighbors, penalty)

    def active_set_margins(self) -> ActiveSetMargins:
        """Return the margins of single samples under weights of which few are not 0."""
        return ActiveSetMargins(self._table, self._memory)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """Return the σ at which a neighborhood has, in effect, ``share`` of the other samples."""
        return self._soft.width_for_perplexity(w, share, limits.width_anchors)
