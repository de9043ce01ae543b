"""Lists of who may be among the nearest, and how they merge.

A list holds, of every anchor and slot, all candidates up to the k-th distance and those tied with it, if
these are few. Otherwise it is cut: it holds as many as are needed to tell the k-th distance, and who is tied
with it is looked for once more (:mod:`.row_ties`). The candidates of several lists that are beyond the k-th
of all of them leave. Hence lists merge in any order to the same, and none is long, whatever the ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import nearest, shares
from ..distances import Distances
from ..float_distances import ProductDistances, TileDistances
from ..neighborhood import Neighbors
from ..whole_numbers import Plan, WholeNumbers
from .row_blocks import Stack

#: How distances are found: as whole numbers by a plan, or in floats.
Kind = Plan | type[ProductDistances] | type[TileDistances]
#: Candidates tied with the k-th that a list holds beside those that tell its distance.
ROOM = 64
#: Candidates of lists that are looked through at a time, were all as long as the longest.
_SIDE_BY_SIDE = 2**19


@dataclass(frozen=True)
class Wanted:
    """Which neighbours are looked for, for all tasks of a search."""

    kind: Kind
    metric: int
    tolerance: float
    #: How many neighbours.
    k: float
    #: Weights of the ranks 1 … k, or none where they are all the same; and whether they are.
    rank_weights: NDArray[np.float64]
    uniform: bool
    #: Whether the misses of all classes are one set.
    pooled: bool
    n_slots: int
    #: (n_samples,) who is an anchor, and how often each counts.
    chosen: NDArray[np.bool_]
    copies: NDArray[np.float64]

    @property
    def exact(self) -> bool:
        """Whether whole numbers say all there is to say of distances."""
        return isinstance(self.kind, Plan) and not self.kind.grid.size

    @property
    def tied_within(self) -> float:
        """Distances that differ by less, relatively, are tied."""
        return 0.0 if self.exact and self.uniform else self.tolerance

    def copies_among(self, anchors: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How often neighbours count: who stands for several copies has all others beside itself."""
        return self.copies[rows] - (rows == anchors)

    def distances(self, stack: Stack) -> Distances:
        """Distances between the rows of a stack."""
        if isinstance(self.kind, Plan):
            return WholeNumbers(stack.columns, stack.position, self.tolerance, 1, self.kind)
        return self.kind(stack.columns, stack.position, 1)

    def doubt(self, distances: Distances) -> tuple[NDArray[np.float64], float, float]:
        """What distances may be off by, in their units and relatively, and which of them count as equal."""
        if distances.exact:
            return distances.off, 0.0, 0.0
        # Squares differ, relatively, by twice as much as what they are squares of.
        twice = 2.0 if self.metric == nearest.EUCLIDEAN else 1.0
        return distances.off, distances.relative, twice * self.tolerance


class Candidates(NamedTuple):
    """Candidates of some anchors, anchor by anchor and slot by slot; all are places in the table."""

    anchors: NDArray[np.int64]
    #: (n_anchors, n_slots) how many there are.
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    #: Their distances.
    exact: NDArray[np.float64]
    #: (n_anchors, n_slots) the distance from which on candidates were left out; infinite: none was.
    cut_at: NDArray[np.float64]

    @property
    def start(self) -> NDArray[np.int64]:
        """Where the candidates of every anchor and slot begin."""
        return (np.cumsum(self.counts) - self.counts.ravel()).reshape(self.counts.shape)

    @property
    def lists(self) -> NDArray[np.int64]:
        """The number of the list, of all anchors and slots, that every candidate is in."""
        return np.repeat(np.arange(self.counts.size), self.counts.ravel())

    def kept(self, which: NDArray[np.bool_]) -> Candidates:
        """Some of the candidates."""
        counts = np.bincount(self.lists[which], minlength=self.counts.size).reshape(self.counts.shape)
        return Candidates(self.anchors, counts, self.rows[which], self.exact[which], self.cut_at)

    def shared(self, wanted: Wanted) -> NDArray[np.float64]:
        """What each candidate gets of a weight of 1 that those of an anchor and slot share."""
        found = np.zeros(self.rows.size)
        shares.share(
            0,
            self.anchors.size,
            self.anchors,
            wanted.copies,
            wanted.k,
            wanted.rank_weights,
            wanted.uniform,
            False,
            False,
            wanted.tied_within,
            self.start,
            self.counts,
            np.zeros_like(self.counts),
            self.rows,
            self.exact,
            found,
        )
        return found

    def nearest(self, wanted: Wanted) -> Candidates:
        """Those up to the k-th and who is tied with it; where these are many, none of those needed least."""
        kept, cut_at = np.zeros(self.rows.size, dtype=bool), np.full(self.counts.size, np.inf)
        counts, start = self.counts.ravel(), self.start.ravel()
        for lists in _groups(counts):
            owner = np.repeat(np.arange(lists.size), counts[lists])
            place = np.arange(owner.size) - np.repeat(np.cumsum(counts[lists]) - counts[lists], counts[lists])
            entries = start[lists][owner] + place
            anchors = self.anchors[lists // self.counts.shape[1]]
            shape = lists.size, int(counts[lists].max())
            distances, copies = np.full(shape, np.inf), np.zeros(shape)
            distances[owner, place] = self.exact[entries]
            copies[owner, place] = wanted.copies_among(anchors[owner], self.rows[entries])
            near, cut_at[lists] = _near(distances, copies, self.cut_at.ravel()[lists], wanted)
            kept[entries] = near[owner, place]
        return self.kept(kept)._replace(cut_at=cut_at.reshape(self.cut_at.shape))


def _groups(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Numbers of lists of about the same length, so many that side by side they take little room."""
    order = np.argsort(counts, kind="stable")
    order = order[np.searchsorted(counts[order], 1) :]
    while order.size:
        room = counts[order] * np.arange(1, order.size + 1)
        n = max(1, int(np.searchsorted(room, _SIDE_BY_SIDE, side="right")))
        yield order[:n]
        order = order[n:]


def _near(
    distances: NDArray[np.float64],
    copies: NDArray[np.float64],
    cut_at: NDArray[np.float64],
    wanted: Wanted,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Who stays in lists that are rows, and where these are cut then."""
    order, last = _up_to_kth(distances, copies, wanted)
    reach = wanted.tied_within * last
    needed = np.zeros(distances.shape, dtype=bool)
    which = np.nonzero(order >= 0)
    needed[which[0], order[which]] = True
    near = distances - last[:, np.newaxis] <= reach[:, np.newaxis]
    many = np.count_nonzero(near, axis=1) > np.count_nonzero(needed, axis=1) + ROOM
    cut = many | (cut_at - last <= reach)
    near[cut] = needed[cut]
    return near, np.where(cut, last, np.inf)


def _up_to_kth(
    distances: NDArray[np.float64], copies: NDArray[np.float64], wanted: Wanted
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places of the nearest in every row until there are k copies, then −1; and the distance of the last."""
    n_lists, width = distances.shape
    some = copies[copies > 0.0]
    most = min(width, int(np.ceil(wanted.k / min(some.min(initial=1.0), 1.0))))
    order = np.argpartition(distances, most - 1, axis=1)[:, :most] if most < width else None
    if order is None:
        order = np.argsort(distances, axis=1, kind="stable")
    else:
        nearest_first = np.argsort(np.take_along_axis(distances, order, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(order, nearest_first, axis=1)
    covered = np.cumsum(np.take_along_axis(copies, order, axis=1), axis=1)
    # As in the kernel that shares: what is left of a copy by rounding is none.
    enough = np.minimum(wanted.k, copies.sum(axis=1)) * (1.0 - 1e-9)
    held = np.count_nonzero(distances < np.inf, axis=1)
    end = np.minimum(np.count_nonzero(covered < enough[:, np.newaxis], axis=1), np.minimum(held, most) - 1)
    last = distances[np.arange(n_lists), order[np.arange(n_lists), end]]
    return np.where(np.arange(most) > end[:, np.newaxis], -1, order), last


def merged(lists: list[Candidates | None], wanted: Wanted) -> Candidates | None:
    """The candidates of several lists of the same anchors that are still among the nearest.

    None where there are no anchors.
    """
    parts = [each for each in lists if each is not None]
    if not parts:
        return None
    counts = np.sum([part.counts for part in parts], axis=0)
    order = np.argsort(np.concatenate([part.lists for part in parts]), kind="stable")
    rows = np.concatenate([part.rows for part in parts])[order]
    exact = np.concatenate([part.exact for part in parts])[order]
    cut_at = np.min([part.cut_at for part in parts], axis=0)
    return Candidates(parts[0].anchors, counts, rows, exact, cut_at).nearest(wanted)


class Ties(NamedTuple):
    """Lists that are cut: what is known of those tied with the last neighbour, of whom there are many."""

    #: Numbers of the lists, of all anchors and slots.
    lists: NDArray[np.int64]
    #: The distance of the last neighbour, and the weight that all who are tied with it share.
    last: NDArray[np.float64]
    weight: NDArray[np.float64]
    #: How many copies they are, all together, once they are counted.
    copies: NDArray[np.float64]


@dataclass
class BlockNeighbors(Neighbors):
    """Neighbours of the anchors of a block with their shares, as places in the table.

    Those who are tied with the last one are not among them where they are many.
    """

    ties: Ties


def settled(found: Candidates | None, wanted: Wanted) -> BlockNeighbors:
    """Neighbours of all anchors of a block."""
    if found is None:
        nobody, nothing = np.empty(0, np.int64), np.empty(0)
        room = Neighbors.room(nobody, wanted.n_slots, 0)
        return BlockNeighbors(**vars(room), ties=Ties(nobody, nothing, nothing, nothing))
    shares = found.shared(wanted)
    lists, cut_at = found.lists, found.cut_at.ravel()
    cut = np.flatnonzero(cut_at < np.inf)
    # Those who are tied and in a list are found again with the others.
    tied = cut_at[lists] < np.inf
    last = cut_at[lists[tied]]
    tied[tied] = last - found.exact[tied] <= wanted.tied_within * last
    weight = np.bincount(lists[tied], weights=shares[tied], minlength=cut_at.size).astype(np.float64)
    used = (shares > 0.0) & ~tied
    left = found.kept(used)
    return BlockNeighbors(
        left.anchors,
        left.start,
        left.counts,
        np.zeros_like(left.counts),
        left.rows,
        shares[used],
        Ties(cut, cut_at[cut], weight[cut], np.zeros(cut.size)),
    )
