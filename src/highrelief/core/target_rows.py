"""Differences to the nearest neighbours, by how much the neighbours' targets differ."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Columns
from .nearest_rows import NearestPass
from .neighbor_search import Report, nothing
from .neighborhood import HITS, Neighborhood, Neighbors
from .packed import Packed


class TargetDifferences(NamedTuple):
    """Sums over anchors and their neighbours, each neighbour by its share."""

    #: Number of anchors that have neighbours, copies counted.
    n_anchors: float
    #: Σ |y − y'|,
    of_target: float
    #: Σ |x − x'|, feature by feature,
    of_features: NDArray[np.float64]
    #: and Σ |y − y'|·|x − x'|.
    of_both: NDArray[np.float64]


class TargetPass(NearestPass):
    """One pass over the nearest neighbours of the anchors, all rows being of one class.

    Parameters
    ----------
    table : Packed
        The rows.
    among : Neighborhood
        Which neighbours count.
    anchors : (n_rows,) bool
        Whose neighbours.
    """

    def __init__(self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        super().__init__(table, replace(among, pooled=True), anchors)

    def differences(self, y: NDArray[np.float64], report: Report = nothing) -> TargetDifferences:
        """Sum the differences of targets y, (n_samples,), and of features.

        ``report`` is called :attr:`n_reports` times.
        """
        table = self._table
        target = np.zeros(table.n_rows)
        target[table.real] = y[table.position[table.real]]
        n_anchors, of_target = 0.0, 0.0
        of_features, of_both = np.zeros((2, self._n_features))
        for neighbors in self._search.neighbors(report):
            owner, place = neighbors.listed(HITS)
            anchors = neighbors.anchors[owner]
            shares = np.zeros_like(neighbors.shares)
            shares[place] = neighbors.shares[place] * np.abs(target[anchors] - target[neighbors.rows[place]])
            n_anchors += float(table.copies[neighbors.anchors].sum())
            of_target += float(table.copies[anchors] @ shares[place])
            of_features += self._sums_over(neighbors)
            of_both += self._sums_over(replace(neighbors, shares=shares))
        return TargetDifferences(n_anchors, of_target, of_features, of_both)

    def _sums_over(self, neighbors: Neighbors) -> NDArray[np.float64]:
        """Σ |x − x'| over some neighbours that have been found, each by its share."""
        found = copy(self)
        found._search = _Found(self._search.columns, neighbors)  # type: ignore[assignment]
        # All are hits, which count with a minus.
        return -found.sums(with_squares=False)[0]


class _Found:
    """What a search has found, as if it were looked for again."""

    def __init__(self, columns: Columns, neighbors: Neighbors) -> None:
        self.columns = columns
        self._found = neighbors

    def neighbors(self, report: Report) -> Iterator[Neighbors]:
        yield self._found
