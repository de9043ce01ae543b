"""Soft neighbourhoods by blocks of rows.

One pass over the pairs of blocks gathers smallest distances and masses, which merge; a second finds the same
distances again and weighs the features by what follows from all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from ...kernels import distances, packing, soft, soft_margins
from ..cached_property import cached_property
from ..lacks import Lacks
from ..packed import Packed
from ..pair_sums import Coefficients
from ..soft_neighborhoods import (
    SoftNeighborhoods,
    Statistics,
    merge_statistics,
    tile_moments,
    tile_statistics,
)
from ..soft_rows import AnchorColumns, SoftPasses
from ..threads import even_ranges
from ..weighted_rows import WeightedRows
from .row_blocks import RowBlock, RowBlocks, Stack, both
from .work import added


class Kernel(NamedTuple):
    """Weights and width of a soft neighbourhood, for all tasks of a pass."""

    w: NDArray[np.float64]
    per_sigma: np.floating


class Around(NamedTuple):
    """What a second pass knows of all samples; by class and sample."""

    kernel: Kernel
    low: NDArray[np.floating]
    scales: NDArray[np.floating]


class RowPasses(SoftPasses):
    """Passes over all pairs of rows, whose distances are found again in each."""

    def __init__(self, table: Packed, memory: float, blocks: RowBlocks) -> None:
        super().__init__(table, memory)
        self.blocks = blocks
        self.stored = self._keeps_coefficients = False
        self.left = memory
        self._tiles = np.empty((0, distances.TILE, distances.TILE), table.dtype)

    @cached_property
    def rows(self) -> RowsUnderWeights:  # type: ignore[override]
        """The rows under the last weights."""
        return RowsUnderWeights(self.table, self.blocks)

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature."""
        return self.blocks.total_of_pairs(_differences, shared=self.around(by))

    def around(self, by: Coefficients) -> Around:
        """What makes coefficients of distances, for the workers."""
        assert self._w is not None
        return Around(Kernel(self._w, by.per_sigma), self.by_sample(by.low), self.by_sample(by.scales))

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """The same: the workers do not know which can be left out."""
        return self.sum_differences(by)

    def by_sample(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """What is known by class and row of the layout, by class and sample."""
        return np.ascontiguousarray(self.table.unpacked(of_rows.T).T)

    def by_row(self, parts: list[NDArray[Any]], padding: float) -> NDArray[Any]:
        """What blocks know by class and sample, by class and row of the layout."""
        known = np.concatenate(parts, axis=1)
        found = np.take(known, self.table.position, axis=1)
        found[:, ~self.table.real] = padding
        return found

    def _anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> RowAnchorColumns:
        return RowAnchorColumns(self, anchors, weights)


class RowsUnderWeights:
    """Rows under weights that change, in blocks that lie with the workers.

    Offers what :class:`.weighted_rows.WeightedRows` does.
    """

    by_blocks = False

    def __init__(self, table: Packed, blocks: RowBlocks) -> None:
        self._table, self._blocks = table, blocks
        self.lacks = Lacks(table)
        self.given = np.empty(0)
        self._sums: NDArray[np.float64] | None = None

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self.given, self._sums = w, None

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sums of all rows under the weights, (n_rows,)."""
        if self._sums is None:
            self._sums = self._of_rows(self._blocks.each(_sums, shared=self.given))
        return self._sums

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        return self._of_rows(self._blocks.each(_content))

    def _of_rows(self, parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        known = np.concatenate(parts)
        out = np.zeros((self._table.n_rows, *known.shape[1:]))
        out[self._table.real] = known[self._table.position[self._table.real]]
        return out


class RowNeighborhoods(SoftNeighborhoods):
    """Who is near whom, from statistics that pairs of blocks have gathered."""

    _passes: RowPasses

    def _statistics_of_pairs(self) -> Statistics:
        passes = self._passes
        kernel = Kernel(self._w, self._per_sigma)
        found = passes.blocks.gathered_from_pairs(_statistics, _merged, self._per_sigma, shared=kernel)
        low, mass = zip(*found, strict=True)
        return passes.by_row(list(low), passes.far), passes.by_row(list(mass), 0.0)

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        passes = self._passes
        around = Around(Kernel(self._w, self._per_sigma), passes.by_sample(self._low), np.empty(0))
        return passes.by_row(passes.blocks.gathered_from_pairs(_moments, added, shared=around), 0.0)

    def margin_columns(
        self, X: NDArray[np.floating], features: NDArray[np.int64], lacks: Lacks, *, pooled: bool
    ) -> NDArray[np.float64]:
        """Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i| of every row, for some features; X is with the workers."""
        passes = self._passes
        passes.put_under(self._w)
        by = self.coefficients(self.shares(pooled)[0])
        shared = (passes.around(by), features)
        found = passes.blocks.gathered_from_pairs(_margins, added, shared=shared)
        return passes.rows._of_rows(found)


class RowAnchorColumns(AnchorColumns):
    """Distances of all rows to the anchors, which lie with the workers.

    They are kept there if they fit into the memory that every worker may take, otherwise found again.
    """

    _passes: RowPasses

    def _prepare(self) -> None:
        passes, table = self._passes, self._passes.table
        blocks, samples = passes.blocks, table.position[self._anchors]
        w = passes.rows.given
        # Padding is no anchor.
        self._weights = np.where(samples >= 0, self._weights, 0.0)
        own = [np.flatnonzero((samples >= a) & (samples < b)) for a, b in blocks.cuts]
        chosen = [samples[which] - a for which, (a, _) in zip(own, blocks.cuts, strict=True)]
        parts = blocks.each(_anchor_rows, chosen, shared=w)
        rows = packing.aligned_zeros((samples.size, parts[0][0].shape[1]), table.dtype)
        sums = np.zeros(samples.size)
        for which, (of_block, of_sums) in zip(own, parts, strict=True):
            rows[which], sums[which] = of_block, of_sums
        given = blocks.work.shared((w, rows, sums, samples))
        tasks = blocks.of_blocks(_anchor_distances, given)
        size = float(table.n_samples) * samples.size * table.dtype.itemsize
        fits = size <= passes.left * blocks.work.n_workers
        self._distances: list[Delayed] = blocks.work.made(tasks) if fits else tasks
        low = np.min(blocks.work.results(lambda: blocks.of_blocks(_smallest, None, self._distances)), axis=0)
        several = table.own_copies[self._anchors] > 1.0
        self._low = np.where(several, np.minimum(low, table.dtype.type(0.0)), low)

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Mean entropy of the anchors' neighbourhoods, and its derivative by log σ."""
        blocks, anchors = self._passes.blocks, self._anchors
        moments = np.empty((3, anchors.size))
        copies = self._passes.table.own_copies[anchors]
        soft.own_entropy_moments(copies, self._between_copies[anchors], per_sigma, self._low, moments)
        moments = moments + blocks.total(_entropy_moments, self._distances, shared=(self._low, per_sigma))
        entropy, slope = soft.entropy_of_moments(moments, self._weights)
        return entropy / self._weights.sum(), slope / self._weights.sum()


# What workers do


def _under(stack: Stack, w: NDArray[np.float64]) -> WeightedRows:
    rows = WeightedRows(stack)
    rows.put_under(w)
    return rows


def _active(blocks: list[RowBlock], w: NDArray[np.float64]) -> tuple[Stack, WeightedRows]:
    """Blocks with the features that count, under their weights."""
    features = np.flatnonzero(w)
    stack = Stack(blocks, None if features.size == w.size else features)
    return stack, _under(stack, w[features])


def _of_blocks(stack: Stack, of_rows: NDArray[Any]) -> list[NDArray[Any]]:
    """What is known by class and row of the layout, by class and sample of each block."""
    by_sample = stack.unpacked(of_rows.T).T
    return np.split(by_sample, np.cumsum(stack.heights)[:-1], axis=1)


def _laid_out(stack: Stack, of_samples: NDArray[np.floating], padding: float) -> NDArray[np.floating]:
    """What is known by class and sample of the table, by class and row of the layout."""
    # Not an index, which would leave the classes of a sample side by side.
    found = np.take(of_samples, stack.samples, axis=1)
    found[:, ~stack.real] = padding
    return found


def _no_tiles(stack: Stack) -> NDArray[np.floating]:
    return np.empty((0, distances.TILE, distances.TILE), stack.dtype)


def _statistics(block: RowBlock, other: RowBlock | None, kernel: Kernel) -> list[Statistics]:
    stack, rows = _active(both(block, other), kernel.w)
    low, mass = tile_statistics(
        stack, rows, _no_tiles(stack), False, kernel.per_sigma, [tuple(stack.cross_tiles)]
    )
    return list(zip(_of_blocks(stack, low), _of_blocks(stack, mass), strict=True))


def _merged(parts: list[Statistics], per_sigma: np.floating) -> Statistics:
    low, mass = np.array(parts[0][0], order="C"), np.array(parts[0][1], order="C")
    for other_low, other_mass in parts[1:]:
        merge_statistics(
            low, mass, np.ascontiguousarray(other_low), np.ascontiguousarray(other_mass), per_sigma
        )
    return low, mass


def _moments(block: RowBlock, other: RowBlock | None, around: Around) -> list[NDArray[np.float64]]:
    kernel = around.kernel
    stack, rows = _active(both(block, other), kernel.w)
    low = _laid_out(stack, around.low, soft.out_of_reach(stack.dtype))
    parts = [tuple(stack.cross_tiles)]
    moments = tile_moments(stack, rows, _no_tiles(stack), False, kernel.per_sigma, low, parts)
    return _of_blocks(stack, moments)


def _coefficients(stack: Stack, around: Around) -> Coefficients:
    low = _laid_out(stack, around.low, soft.out_of_reach(stack.dtype))
    return Coefficients(around.kernel.per_sigma, low, _laid_out(stack, around.scales, 0.0))


def _differences(block: RowBlock, other: RowBlock | None, around: Around) -> NDArray[np.float64]:
    """Σ over the pairs of coefficient·|x − x'|, feature by feature."""
    stack = Stack(both(block, other))
    rows = _under(stack, around.kernel.w)
    return rows.sum_differences(_no_tiles(stack), _coefficients(stack, around), stack.cross_tiles)


def _margins(
    block: RowBlock, other: RowBlock | None, shared: tuple[Around, NDArray[np.int64]]
) -> list[NDArray[np.float64]]:
    """Margins of the rows of each block for some features, as far as they come from the other."""
    around, features = shared
    stack, rows = _active(both(block, other), around.kernel.w)
    by = _coefficients(stack, around)
    columns = Stack(both(block, other), features).X
    copies = stack.copies.astype(stack.dtype)
    Z = np.zeros(columns.shape)
    for side, (first, last) in enumerate(stack.parts):
        low, high = stack.parts[-1 - side]
        for start in range(first, last, distances.TILE):
            own = np.arange(start, start + distances.TILE)
            D = packing.aligned_zeros((high - low, own.size), stack.dtype)
            soft.computed_columns(
                rows.X[low:high], rows.w, rows.sums[low:high], rows.X[own], rows.sums[own], D
            )
            if other is None:
                D[own, np.arange(own.size)] = soft.out_of_reach(stack.dtype)
            soft_margins.margins_from_distances(
                columns, D, low, start, stack.codes, copies, by.per_sigma, by.low, by.scales, Z
            )
    of_samples = stack.unpacked(Z[:, : features.size])
    return np.split(of_samples, np.cumsum(stack.heights)[:-1])


def _sums(block: RowBlock, w: NDArray[np.float64]) -> NDArray[np.float64]:
    stack = Stack([block])
    return stack.unpacked(_under(stack, w).sums)


def _content(block: RowBlock, shared: None) -> NDArray[np.float64]:
    stack = Stack([block])
    return stack.unpacked(WeightedRows(stack).content())


def _anchor_rows(
    block: RowBlock, w: NDArray[np.float64], which: NDArray[np.int64]
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Some rows of a block with the features that count, and their sums."""
    stack, rows = _active([block], w)
    row_of = np.empty(len(block), np.int64)
    row_of[stack.position[stack.real]] = np.flatnonzero(stack.real)
    return rows.X[row_of[which]], rows.sums[row_of[which]]


def _anchor_distances(
    block: RowBlock,
    shared: tuple[NDArray[np.float64], NDArray[np.floating], NDArray[np.float64], NDArray[np.int64]],
) -> list[tuple[NDArray[np.floating], NDArray[np.floating]]]:
    """Distances of the rows of a block to the anchors, some of these at a time, and copies of the rows."""
    w, anchors, anchor_sums, samples = shared
    stack, rows = _active([block], w)
    found = []
    for a, b in even_ranges(len(anchors), len(anchors), multiple=distances.TILE):
        D = packing.aligned_zeros((stack.n_rows, b - a), stack.dtype)
        soft.computed_columns(rows.X, rows.w, rows.sums, anchors[a:b], anchor_sums[a:b], D)
        D[stack.samples[:, np.newaxis] == samples[a:b]] = soft.out_of_reach(stack.dtype)
        found.append((D, stack.copies.astype(stack.dtype)))
    return found


def _smallest(
    block: RowBlock, shared: None, found: list[tuple[NDArray[np.floating], NDArray[np.floating]]]
) -> NDArray[np.floating]:
    return np.concatenate([D.min(axis=0) for D, _ in found])


def _entropy_moments(
    block: RowBlock,
    shared: tuple[NDArray[np.floating], np.floating],
    found: list[tuple[NDArray[np.floating], NDArray[np.floating]]],
) -> NDArray[np.float64]:
    low, per_sigma = shared
    moments, first = np.zeros((3, low.size)), 0
    for D, copies in found:
        last = first + D.shape[1]
        of_chunk = np.zeros((3, D.shape[1]))
        soft.add_entropy_moments(D, copies, per_sigma, low[first:last], of_chunk)
        moments[:, first:last] = of_chunk
        first = last
    return moments
