"""Passes over all pairs of rows, and the kernel width that they lead to."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, packing, soft
from .cached_property import cached_property
from .packed import Packed
from .pair_sums import Coefficients
from .perplexity import width_for_entropy
from .positive_margins import PositiveMargins
from .scaling import Scaling
from .threads import even_ranges, run_all
from .weighted_rows import WeightedBlocks, WeightedRows, weighted_rows

#: Pairs × features from which on a sum takes so long that it is worth to find out which can be left out,
FEWEST_TERMS = 1e8
#: if distances and coefficients take no more than this together,
MOST_BYTES = 2e8
#: and if weights (of norm 1) change by no more than this.
SMALL_STEP = 5e-3
#: Most anchors whose neighbourhoods are measured when a kernel width is looked for.
WIDTH_ANCHORS = 1024


class SoftPasses:
    """Passes over all pairs of rows under weights that change from one to the next.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on keeping distances; what does not fit is computed again. The answers are the
        same, bit for bit.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self.table = table
        self.far = soft.out_of_reach(table.dtype)
        self.copies = table.copies.astype(table.dtype)
        size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
        self.stored = size <= memory
        # Coefficients take as much room as distances.
        n_terms = float(table.n_rows) ** 2 * table.n_features
        self._keeps_coefficients = n_terms >= FEWEST_TERMS and 2.0 * size <= min(memory, MOST_BYTES)
        self._memory = memory
        self.left = memory - size * (self.stored + self._keeps_coefficients)
        self._tiles: NDArray[np.floating] = np.empty((0, distances.TILE, distances.TILE), table.dtype)
        self._w: NDArray[np.float64] | None = None
        #: How far the last weights are from those before them.
        self._step = np.inf
        self._known = False

    @cached_property
    def rows(self) -> WeightedRows | WeightedBlocks:
        """The rows under the last weights."""
        return weighted_rows(self.table, self._memory)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float, n_anchors: int) -> float:
        """Kernel width at which the neighbourhoods have a wanted size.

        σ such that the mean over anchors of the entropy of softmax(−d/σ), over all other samples, is
        log(share·(N − 1)), at least log 2. Over all samples if these, with their copies, are at most
        ``n_anchors``, otherwise over that many of them.
        """
        table = self.table
        self.put_under(w)
        columns = self._anchor_columns(*self._anchors(n_anchors))
        # A kernel far wider than any distance gives all others the same share, and the slope is then the
        # variance of the distances over σ².
        far = self.rows.sums + self.rows.lacks.between_copies
        widest = 1e3 * float(far[table.real].mean())
        if not widest > 0.0:
            return 1.0
        spread = widest * math.sqrt(max(0.0, columns.entropy(self.per_sigma(widest))[1]))
        if not spread > 1e-9 * widest:
            return widest
        return width_for_entropy(
            lambda sigma: columns.entropy(self.per_sigma(sigma)),
            target=columns.wanted_entropy(share),
            # What independent distances would need (the random-energy model).
            guess=spread / math.sqrt(2.0 * max(0.1, -math.log(share))),
        )

    def _anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> AnchorColumns:
        return AnchorColumns(self, anchors, weights)

    def per_sigma(self, sigma: float) -> np.floating:
        """1/σ in the precision of the data.

        Finite however small σ is, and never so small that what is out of reach comes near.
        """
        largest = 1e30 if self.table.dtype == np.float32 else 1e290
        return self.table.dtype.type(1.0 / min(max(sigma, 1.0 / largest), largest))

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Weigh distances by w from now on.

        What was made for the same weights before is still there: a width is looked for before it is used.
        """
        if self._w is None or not np.array_equal(self._w, w):
            self._step = np.inf if self._w is None else float(np.linalg.norm(w - self._w))
            self._w, self._known = w.copy(), False
            self.rows.put_under(w)

    def tiles(self, *, filled: bool = True) -> tuple[NDArray[np.floating], bool]:
        """Where distances are kept, an array without entries if they are not; and whether they are there.

        They are there on return if they are wanted ``filled`` and are kept at all.
        """
        if self.stored and self._tiles.size == 0:
            shape = (self.table.n_tiles, distances.TILE, distances.TILE)
            self._tiles = packing.aligned_zeros(shape, self.table.dtype)
        if (filled or self.rows.by_blocks) and self.stored and not self._known:
            self.rows.fill(self._tiles)
            self._known = True
        return self._tiles, self._known

    def distances_to(self, rows: NDArray[np.int64]) -> NDArray[np.floating]:
        """Distances of all rows to some of them, a multiple of the row block but at most 64."""
        columns = packing.aligned_zeros((self.table.n_rows, rows.size), self.table.dtype)
        if self._known:
            soft.stored_columns(self._tiles, rows, columns)
        else:
            X, sums = self.rows.X, self.rows.sums
            soft.computed_columns(X, self.rows.w, sums, X[rows], sums[rows], columns)
            self.rows.lacks.add_to_columns(rows, columns)
            columns[rows, np.arange(rows.size)] = self.far
            if self.table.reach is not None:
                same = self.table.batches[:, np.newaxis] == self.table.batches[rows]
                columns[same != self.table.within] = self.far
        return columns

    def note_filled(self) -> None:
        """All tiles have been filled by a pass."""
        self._known = self.stored

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature."""
        sums = self.rows.sum_differences(self.tiles()[0], by)
        if self.rows.by_blocks:
            self._known = False
        return sums

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """The same where it is positive, any number ≤ 0 elsewhere."""
        if self._step > SMALL_STEP or self._positive is None:
            return self.sum_differences(by)
        return self._positive.sums(self.tiles()[0], by)

    @cached_property
    def _positive(self) -> PositiveMargins | None:
        rows = self.rows
        if not self._keeps_coefficients or isinstance(rows, WeightedBlocks):
            return None
        return PositiveMargins(self.table, rows)

    def _anchors(self, n_anchors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All rows, or so many spread evenly over their copies in an order that depends on content alone.

        Neither the order of the rows nor the names of the classes matter, and a row of weight s is s rows.
        Returns packed rows, a multiple of the row block, and how often each was drawn.
        """
        table = self.table
        if max(table.n_samples, table.n_copies) <= n_anchors:
            return np.arange(table.n_rows), table.copies
        rows = np.flatnonzero(table.real)
        by_content = rows[np.lexsort(self.content[rows].T[::-1])]
        ends = np.cumsum(table.copies[by_content])
        positions = (np.arange(n_anchors) + 0.5) / n_anchors * ends[-1]
        drawn = by_content[np.searchsorted(ends, positions)]
        anchors, weights = np.unique(drawn, return_counts=True)
        missing = -anchors.size % packing.ROW_BLOCK
        return (
            np.concatenate([anchors, np.repeat(anchors[-1:], missing)]),
            np.concatenate([weights, np.zeros(missing)]),
        )

    @cached_property
    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, whatever the weights, (n_rows, 3 or 4)."""
        content = self.rows.content()
        lacks = self.rows.lacks
        return np.hstack([content, lacks.content()]) if lacks.any else content


class AnchorColumns:
    """Distances of all rows to some of them, the anchors, in chunks of columns.

    Kept if they fit into what is left of the memory, otherwise found again whenever they are needed.
    """

    def __init__(self, passes: SoftPasses, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        self._passes = passes
        self._anchors, self._weights = anchors, weights
        reach = passes.table.copies_in_reach
        if reach is not None:
            self._weights = np.where(reach[anchors] > 0.0, weights, 0.0)
        self._between_copies = passes.rows.lacks.between_copies
        self._prepare()

    def _prepare(self) -> None:
        """Cut the anchors, and have room for their distances."""
        passes, anchors = self._passes, self._anchors
        passes.tiles()
        size = float(passes.table.n_rows) * anchors.size * passes.table.dtype.itemsize
        self._chunks = even_ranges(anchors.size, anchors.size, multiple=distances.TILE)
        self._kept: dict[int, tuple[NDArray[np.floating], NDArray[np.floating]]] | None = (
            {} if size <= passes.left else None
        )

    def wanted_entropy(self, share: float) -> float:
        """Mean over the anchors of log(share·(number of other samples)), at least log 2 if there are two."""
        table = self._passes.table
        reach = table.copies_in_reach
        if reach is None:
            return math.log(max(2.0, share * (table.n_copies - 1.0)))
        counts = self._weights > 0.0
        others = reach[self._anchors[counts]]
        wanted = np.log(np.minimum(np.maximum(2.0, share * others), np.maximum(others, 1.0)))
        return float(np.average(wanted, weights=self._weights[counts])) if wanted.size else 0.0

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Mean entropy of the anchors' neighbourhoods, and its derivative by log σ."""
        table = self._passes.table

        def of_columns(a: int, b: int) -> tuple[float, float]:
            D, low = self._columns(a, b)
            anchors = self._anchors[a:b]
            moments = np.empty((3, anchors.size))
            own = table.own_copies[anchors], self._between_copies[anchors]
            soft.own_entropy_moments(*own, per_sigma, low, moments)
            soft.add_entropy_moments(D, self._passes.copies, per_sigma, low, moments)
            entropy, slope = soft.entropy_of_moments(moments, self._weights[a:b])
            return entropy, slope

        parts = run_all(of_columns, self._chunks, table.n_threads)
        total = self._weights.sum()
        return sum(part[0] for part in parts) / total, sum(part[1] for part in parts) / total

    def _columns(self, a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Distances to anchors a … b, and the smallest to each."""
        if self._kept is not None and a in self._kept:
            return self._kept[a]
        anchors = self._anchors[a:b]
        D = self._passes.distances_to(anchors)
        low = D.min(axis=0)
        several = self._passes.table.own_copies[anchors] > 1.0
        low[several] = np.minimum(low, self._between_copies[anchors])[several]
        if self._kept is not None:
            self._kept[a] = D, low
        return D, low


def width_among(
    X: NDArray[np.floating],
    w: NDArray[np.float64],
    share: float,
    *,
    n_anchors: int,
    n_threads: int,
) -> float:
    """Kernel width for samples whose classes do not matter, over ``n_anchors`` of them."""
    one_class = np.zeros(len(X), dtype=np.int64)
    scaling = Scaling.none(X.shape[1], X.dtype)
    table = Packed(X, one_class, 1, scaling=scaling, n_threads=n_threads)
    return SoftPasses(table, memory=0.0).width_for_perplexity(w, share, n_anchors)
