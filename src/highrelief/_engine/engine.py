"""The engine: the interface between estimators and computation.

An estimator requests margins; an engine decides what is packed, tiled, stored or recomputed.
:class:`Engine` is what a backend offers: :class:`LocalEngine` here, and its siblings for sparse tables
(:mod:`.sparse`) and for Dask collections (``_dask/column_engine.py``, ``_dask/row_engine.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .active_set import ActiveSetMargins, LocalActiveSetMargins
from .cached_property import cached_property
from .columns import Centered, CenteredColumns
from .hyperplanes import LocalHyperplanes
from .labelings import RelabeledRows
from .layout import LabeledTable, Packed
from .limits import limits
from .nearest import LocalNearestPass, NearestPass, not_offered
from .neighbors import Neighborhood
from .radius import RadiusNeighborhoods
from .soft import (
    LocalPairwiseDistances,
    PairwiseDistances,
    SoftNeighborhoods,
    WeightedPairs,
)

__all__ = ["Engine", "LocalEngine", "LocalHyperplanes", "Neighborhood"]


class Engine(ABC):
    """A labeled table, and all that estimators compute from its rows.

    A backend implements :meth:`nearest` and :attr:`_pairs`, and those of the last methods that it can offer.
    Estimators that need one of the others refuse its tables when they validate X.

    Parameters
    ----------
    table : LabeledTable
        The rows.
    memory : float
        Bytes for distances that are stored between passes.
    """

    def __init__(self, table: LabeledTable, memory: float) -> None:
        self._table = table
        self._memory = memory

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
        columns, encoding = self._table.columns, self._table.encoding
        spans, rarity = columns.spans, np.clip(np.nan_to_num(columns.rarity, nan=0.5), 0.0, 0.5)
        return (spans, rarity) if encoding is None else (encoding.spans(spans), encoding.largest(rarity))

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """Return the choices that were made for these rows, for ``execution_``."""
        chosen: dict[str, Any] = {
            "backend": "threads",
            "n_threads": self._table.n_threads,
            "dtype": self._table.dtype.name,
        }
        if soft:
            chosen["distances"] = "stored" if self._pairs.stored else "recomputed"
        return chosen | self._backend_execution()

    def _backend_execution(self) -> dict[str, Any]:
        """Return the entries of :meth:`execution` that only this backend has."""
        return {}

    # Nearest neighbors

    @abstractmethod
    def nearest(self, neighborhood: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """Return a pass over the nearest neighbors of the anchors (None: all samples)."""

    def _anchor_rows(self, anchors: NDArray[np.integer] | None) -> NDArray[np.bool_]:
        """Return which rows of the layout are anchors; None: all samples."""
        mask = self._table.is_sample
        if anchors is not None:
            is_anchor = np.zeros(self._table.n_samples, dtype=bool)
            is_anchor[anchors] = True
            mask = mask & is_anchor[self._table.sample_of_row]
        return mask

    # Soft neighborhoods

    @property
    @abstractmethod
    def _pairs(self) -> PairwiseDistances[WeightedPairs]:
        """Distances of all pairs of rows; created on first access."""

    def soft_neighborhoods(self, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        """Return the neighborhoods under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 10)."""
        return SoftNeighborhoods(self._pairs.under(w), sigma)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """Return the σ at which a neighborhood has, in effect, ``share`` of the other samples."""
        return self._pairs.under(w).width_for_perplexity(share, limits.width_anchors)

    # Methods that not every backend offers

    @property
    def active_set_margins(self) -> ActiveSetMargins:
        """Margins of single samples under weights of which few are not 0; fits to these rows share them."""
        raise not_offered(self, "active_set_margins")

    def centered(self) -> Centered:
        """Return the scaled rows minus their mean."""
        raise not_offered(self, "centered")

    def relabeled(
        self, neighborhood: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> RelabeledRows:
        """Return margins under many labelings; sample weights are 1, and no value is missing."""
        raise not_offered(self, "relabeled")

    def radius_neighborhoods(self) -> RadiusNeighborhoods:
        """Return margins at all samples within or beyond a radius."""
        raise not_offered(self, "radius_neighborhoods")

    def local_hyperplanes(self, n_neighbors: int, penalty: float) -> LocalHyperplanes:
        """Return margins at the hyperplanes of the nearest hits and misses (Cai et al. 2014, eq. 4)."""
        raise not_offered(self, "local_hyperplanes")


class LocalEngine(Engine):
    """Dense rows, processed by the threads of this process; parameters as in :class:`Engine`."""

    _table: Packed

    def nearest(self, neighborhood: Neighborhood, anchors: NDArray[np.integer] | None = None) -> NearestPass:
        """Return a pass over the nearest neighbors of the anchors (None: all samples)."""
        return LocalNearestPass(self._table, neighborhood, self._anchor_rows(anchors))

    @cached_property
    def _pairs(self) -> LocalPairwiseDistances:
        return LocalPairwiseDistances.of(self._table, self._memory)

    @cached_property
    def active_set_margins(self) -> LocalActiveSetMargins:
        """Margins of single samples under weights of which few are not 0."""
        return LocalActiveSetMargins(self._table, self._memory)

    def centered(self) -> CenteredColumns:
        """Return the scaled rows minus their mean."""
        return CenteredColumns(self._table.raw, self._table.scaling, self._table.n_threads)

    def relabeled(
        self, neighborhood: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> RelabeledRows:
        """Return margins under many labelings; sample weights are 1, and no value is missing."""
        return RelabeledRows.of(self._table, neighborhood, class_weights)

    def radius_neighborhoods(self) -> RadiusNeighborhoods:
        """Return margins at all samples within or beyond a radius."""
        return RadiusNeighborhoods(self._table, self._memory)

    def local_hyperplanes(self, n_neighbors: int, penalty: float) -> LocalHyperplanes:
        """Return margins at the hyperplanes of the nearest hits and misses (Cai et al. 2014, eq. 4)."""
        return LocalHyperplanes(self._table, n_neighbors, penalty)
