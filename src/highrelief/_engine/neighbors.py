"""Which neighbors count, and who they turned out to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._kernels import nearest
from .arrays import entries_of
from .memory import check_room

METRICS = {
    "manhattan": nearest.MANHATTAN,
    "euclidean": nearest.EUCLIDEAN,
    "sqeuclidean": nearest.SQUARED_EUCLIDEAN,
}
#: Slots of a neighborhood whose misses are one set.
HITS, MISSES = 0, 1


@dataclass(frozen=True)
class Neighborhood:
    """Which neighbors count, and how much.

    ``pooled``: the misses of all classes are one set; otherwise k come from each class, weighted by
    P(c)/(1 − P(y)). ``rank_decay``: a neighbor weighs exp(−(rank/rank_decay)²); None: all the same.
    """

    n_neighbors: int
    metric: str = "manhattan"
    pooled: bool = False
    rank_decay: float | None = None

    def n_ranks(self, total_sample_weight: float) -> int:
        """The number k of ranks, as far as there are samples."""
        return min(self.n_neighbors, math.ceil(total_sample_weight))

    def rank_weights(self, total_sample_weight: float) -> NDArray[np.float64]:
        """Weights of the ranks 1 … k."""
        n_ranks = self.n_ranks(total_sample_weight)
        check_room(
            16.0 * n_ranks,
            f"The weights of the ranks of {n_ranks:g} neighbors",
            "Fewer n_neighbors would do.",
        )
        ranks = np.arange(1.0, n_ranks + 1.0)
        if self.rank_decay is None:
            return np.ones(ranks.size)
        # Relative to the first rank: the same shares, and no 0/0 for a short decay.
        return np.exp((1.0 - ranks**2) / self.rank_decay**2)


@dataclass
class Neighbors:
    """Neighbors of some anchors, by slot, in flat arrays; see :mod:`..kernels.nearest`."""

    anchors: NDArray[np.int64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    sure: NDArray[np.int64]
    rows: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def room(cls, anchors: NDArray[np.int64], n_slots: int, n_places: int) -> Neighbors:
        """Places for this many neighbors."""
        shape = (anchors.size, n_slots)
        start, count, sure = (np.zeros(shape, np.int64) for _ in range(3))
        return cls(anchors, start, count, sure, np.empty(n_places, np.int64), np.zeros(n_places))

    def without(self, slot: int) -> Neighbors:
        """Leave one slot empty."""
        count = self.count.copy()
        count[:, slot] = 0
        return replace(self, count=count)

    def listed(self, slot: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of all neighbors in a slot that have a share: whose they are, and their places in the lists."""
        return self._sharing(self.start[:, slot], self.count[:, slot])

    def all_listed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same in all slots; an anchor has a number in each of them, one after the other."""
        return self._sharing(self.start.ravel(), self.count.ravel())

    def _sharing(
        self, first: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        owner, place = entries_of(first, count)
        shares = self.shares[place] > 0.0
        return owner[shares], place[shares]

    def unsure(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of all candidates that are not sure: whose they are, and their places in the lists."""
        n_slots = self.start.shape[1]
        first, count = (self.start + self.sure).ravel(), (self.count - self.sure).ravel()
        owner, place = entries_of(first, count)
        return owner // n_slots, place

    def reordered(self, order: NDArray[np.int64]) -> Neighbors:
        """The same with the anchors in another order."""
        return replace(
            self,
            anchors=self.anchors[order],
            start=self.start[order],
            count=self.count[order],
            sure=self.sure[order],
        )
