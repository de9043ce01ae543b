"""Soft neighbourhoods by blocks of columns: workers add up distances, and weigh their own columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ...kernels import distances, packing
from ..cached_property import cached_property
from ..lacks import Lacks
from ..packed import Packed
from ..pair_sums import Coefficients, PairSums, sums_of_products
from ..soft_neighborhoods import SoftNeighborhoods, Statistics, parts_of_pass, tile_moments, tile_statistics
from ..soft_rows import SoftPasses
from ..weighted_rows import WeightedBlocks, fill_from_minima
from .column_blocks import ColumnBlock, ColumnBlocks, Layout, added
from .work import boughs, in_turn, own_threads


class ColumnPasses(SoftPasses):
    """Passes over all pairs of rows, whose distances lie with a worker."""

    rows: ColumnWeightedRows  # type: ignore[assignment]

    def __init__(self, table: Packed, memory: float, blocks: ColumnBlocks) -> None:
        super().__init__(table, memory)
        self.rows = ColumnWeightedRows(table, blocks)
        if not self.stored:
            size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
            raise MemoryError(
                f"By columns, {table.n_samples} samples need {size / 1e6:.3g} MB for the distances of all"
                f" pairs, but memory_budget allows {memory / 1e6:.3g} MB. Raise it, or have Dask's"
                ' configuration say highrelief.partition="rows".'
            )

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature."""
        return self.rows.summed(by)

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """The same: the workers do not know which can be left out."""
        return self.sum_differences(by)


class ColumnWeightedRows:
    """Rows under weights that change; columns lie with the workers, and the distances with one of them."""

    by_blocks = True

    def __init__(self, table: Packed, blocks: ColumnBlocks) -> None:
        self._table, self._blocks = table, blocks
        self.lacks = Lacks(table)
        self.sums = np.zeros(table.n_rows)
        self._given = np.empty(0)
        self._held: _Held | None = None

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        self._given, self._held = w, None

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Bring the distances of all pairs here, and the sums of the rows."""
        (near,) = self._blocks.work.results(lambda: [self._distances()])
        tiles[...], self.sums = near.tiles, near.sums

    def ask(self, function: Callable[..., Any], *more: Any) -> Any:
        """What a function of the distances returns, with the worker that has them."""
        (answer,) = self._blocks.work.results(
            lambda: [delayed(function, pure=False)(self._distances(), *more)]
        )
        return answer

    def summed(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature: each worker for its own columns."""
        work, blocks = self._blocks.work, self._blocks

        def tasks() -> list[Delayed]:
            made = delayed(_coefficients, pure=False)(self._distances(), work.shared(by))
            return blocks.of_blocks(_sums_of_products, work.halfway(made))

        return np.concatenate(work.results(tasks))

    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, unless they are equal, (n_rows, 3); weights do not matter."""
        (content,) = self._blocks.total(_content)
        return content

    def _distances(self) -> Delayed:
        """For the tasks of a round: the distances of all pairs. They stay until the weights change.

        Tasks that add them up are bound to the workers of the blocks. Where one of these is lost, nobody can
        make again what it took along, and another attempt begins with these.
        """
        blocks, work, w, loss = self._blocks, self._blocks.work, self._given, self._blocks.work.loss
        if self._held is None or self._held.loss is not loss:
            minima = blocks.of_blocks(
                _minima,
                None,
                lambda cut: (w[slice(*cut)],),
                # A block of which nothing counts has no part in the distances.
                where=(lambda cut: bool(w[slice(*cut)].any())) if w.any() else lambda cut: True,
            )
            given = blocks.shared_layout, self._table.dtype, self._table.n_threads
            near = delayed(_near, pure=False)(boughs(minima, added), *given)
            self._held = _Held(work.made([near])[0], loss, work.places_of(blocks.blocks))
        # Other fits may have noted a loss since.
        work.bind(self._held.places)
        return self._held.near


class _Held(NamedTuple):
    """Distances that a worker keeps for the next rounds."""

    near: Delayed
    #: The last loss of workers before they were asked for.
    loss: object
    #: The workers that they are made by alone.
    places: frozenset[str]


class ColumnNeighborhoods(SoftNeighborhoods):
    """Who is near whom, from statistics that the worker gathers which has the distances."""

    _passes: ColumnPasses

    def _statistics_of_pairs(self) -> Statistics:
        self._passes.put_under(self._w)
        return self._passes.rows.ask(_statistics, self._per_sigma)

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        self._passes.put_under(self._w)
        return self._passes.rows.ask(_moments, self._per_sigma, self._low)


def summed_differences(blocks: ColumnBlocks, pairs: PairSums) -> NDArray[np.float64]:
    """Σ over pairs of coefficient·|x − x'|, whose coefficients are here: each worker for its own columns."""
    return blocks.joined(_sums_of_products, shared=(pairs.tiles, pairs.row_totals))


# What workers do


class Near:
    """The distances of all pairs, with the worker that has them.

    Offers what passes over stored distances ask of rows.
    """

    def __init__(
        self, tiles: NDArray[np.floating], sums: NDArray[np.float64], layout: Layout, n_threads: int
    ) -> None:
        self.tiles, self.sums, self._layout, self._n_threads = tiles, sums, layout, n_threads
        #: No row: kernels find all distances stored.
        self.X, self.w = np.empty((0, 0), tiles.dtype), np.empty(0, tiles.dtype)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is sent to whom, and moved to the disk."""
        return object.__sizeof__(self) + self.tiles.nbytes + self.sums.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        """What is sent, or moved to the disk: nothing that can be made again."""
        return Near, (self.tiles, self.sums, self._layout, self._n_threads)

    @cached_property
    def table(self) -> Packed:
        """The layout of the rows, for all threads of the worker whose task asks first."""
        return self._layout.bare(self.tiles.dtype, own_threads(self._n_threads))

    @cached_property
    def lacks(self) -> Lacks:
        """Nothing is missing."""
        return Lacks(self.table)


@in_turn
def _minima(
    block: ColumnBlock, shared: Any, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = WeightedBlocks(block.table)
    rows.put_under(w)
    return rows.minima()


@in_turn
def _near(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    layout: Layout,
    dtype: np.dtype[Any],
    n_threads: int,
) -> Near:
    """Distances of all pairs, from the sums of smaller values over all columns."""
    minima, sums = added(parts)
    near = Near(packing.aligned_zeros(minima.shape, dtype), sums.copy(), layout, n_threads)
    fill_from_minima(near.table, minima, near.sums, near.lacks, near.tiles)
    return near


@in_turn
def _statistics(near: Near, per_sigma: np.floating) -> Statistics:
    return tile_statistics(near.table, near, near.tiles, True, per_sigma, parts_of_pass(near.table))


@in_turn
def _moments(near: Near, per_sigma: np.floating, low: NDArray[np.floating]) -> NDArray[np.float64]:
    return tile_moments(near.table, near, near.tiles, True, per_sigma, low, parts_of_pass(near.table))


@in_turn
def _coefficients(near: Near, by: Coefficients) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Coefficients of all pairs, and their sums by row."""
    tiles = packing.aligned_zeros(near.tiles.shape, near.tiles.dtype)
    tiles[...] = near.tiles  # which others will ask again
    pairs = PairSums(near.table, tiles, by, near.lacks)
    return pairs.tiles, pairs.row_totals


@in_turn
def _sums_of_products(
    block: ColumnBlock, shared: tuple[NDArray[np.floating], NDArray[np.float64]]
) -> NDArray[np.float64]:
    return sums_of_products(block.table, np.arange(block.table.n_features), *shared)


def _content(block: ColumnBlock, shared: Any) -> tuple[NDArray[np.float64]]:
    return (WeightedBlocks(block.table, block.first).content(),)
