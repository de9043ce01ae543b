"""The search for the nearest neighbors of every class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import candidates, nearest, packing, soft
from .._kernels import distances as distances_kernels
from .._kernels import missing as missing_kernels
from .columns import Columns
from .distances import Distances, ProductDistances, Range, TileDistances
from .layout import Packed
from .missing import MissingOfBoth, MissingValues
from .neighbors import METRICS, Neighborhood, Neighbors
from .quantized import UNEQUAL, Plan, WholeNumbers
from .threads import even_ranges, run_all

# How the weight of a neighborhood is divided among its candidates, by their exact distances.


class Division(NamedTuple):
    """How the weight of a slot is divided among its candidates; see :func:`.kernels.shares.share`."""

    sample_weight: NDArray[np.float64]
    k: float
    rank_weights: NDArray[np.float64]
    uniform: bool
    exact: bool
    euclidean: bool
    tolerance: float

    def divide(
        self,
        found: Neighbors,
        exact: NDArray[np.float64],
        ranges: list[tuple[int, int]] | None = None,
        n_threads: int = 1,
    ) -> None:
        """Write the shares of the candidates, whose exact distances are given."""
        lists = found.start, found.count, found.sure, found.rows, exact, found.shares

        def divide(a: int, b: int) -> None:
            candidates.share(a, b, found.anchors, *self, *lists)

        run_all(divide, [(0, found.anchors.size)] if ranges is None else ranges, n_threads)


def added_exact(
    columns: Columns,
    position: NDArray[np.int64],
    found: Neighbors,
    metric: int,
    ranges: list[tuple[int, int]] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Exact distances of the candidates that are not sure, over the columns; squares for Euclidean ones."""
    exact = np.zeros(found.rows.size)
    lists = found.start, found.count, found.sure, found.rows, exact
    for array, first, which in columns.blocks():
        block = (array, first, columns.distance_factors[which], metric, position, found.anchors)

        def measure(a: int, b: int, block: tuple[Any, ...] = block) -> None:
            nearest.add_exact(*block, a, b, *lists)

        run_all(measure, [(0, found.anchors.size)] if ranges is None else ranges, n_threads)
        del array, block, measure  # before the next block is copied
    return exact


# Who cannot be a neighbor: padding, a sample itself, and who is in no batch that counts.


def mask_pairs(
    table: Packed, D: NDArray[np.uint32], anchors: NDArray[np.int64], others: tuple[int, int]
) -> None:
    """Put them out of reach in D, distances of the anchors to a range of other rows."""
    first, n_columns = others[0], others[1] - others[0]
    candidates.mask_pairs(D, anchors, first, n_columns, table.padding, table.sample_weight)
    if table.batch_constraint is not None:
        soft.mask_batches(D, anchors, first, n_columns, table.batches, table.within)


def n_available(table: Packed, pooled: bool) -> NDArray[np.int64]:
    """Number of rows that could be neighbors, by row and slot."""
    if table.batch_constraint is not None:
        available = table.n_available_rows
        hits = available[np.arange(table.n_rows), table.codes]
        return np.stack([hits, available.sum(axis=1) - hits], axis=1) if pooled else available
    # A row that stands for several copies of a sample is a neighbor of itself.
    hits = table.class_sizes[table.codes] - (table.sample_weight <= 1.0)
    if pooled:
        return np.stack([hits, table.n_samples - table.class_sizes[table.codes]], axis=1)
    by_class = np.tile(table.class_sizes, (table.n_rows, 1))
    by_class[np.arange(table.n_rows), table.codes] = hits
    return by_class


# Expected distances, where values are missing: what is found without regard to it, and what that lacks.


#: Parts of a whole number that expectations are rounded to where distances are whole numbers.
_PARTS = 2.0**16
Missing = MissingValues | MissingOfBoth

#: The largest whole number of steps that a distance may be.
_MOST_STEPS = 2.0**32 - 2.0**16


class _Piece(NamedTuple):
    """A part of the columns, and whether it is the last."""

    columns: Any
    last: bool


class ExpectedDistances:
    """Distances, possibly a little off, to which what missing values are expected to add is added.

    A row lacks the same of every other: lack(a, b) is a sum over the features that a lacks, and the expected
    distance is the one found plus lack(a, b) + lack(b, a); see :mod:`..kernels.missing`.

    Parameters
    ----------
    base : Distances
        Where the smallest value of a column stands for what is missing.
    missing : MissingValues or MissingOfBoth
        What is missing.
    columns : Columns
        Of the table.
    squared : bool
        Whether distances are sums of squares.
    """

    exact = False

    def __init__(self, base: Distances, missing: Missing, columns: Columns, squared: bool) -> None:
        self._base, self._missing, self._columns = base, missing, columns
        self._squared, self._n_threads = squared, missing.n_threads
        self.as_float = base.as_float
        #: Steps that a step of ``base`` is divided into, and what one unit of a scaled feature is in keys.
        self._times, self._per_unit = 1.0, self._distance_unit
        if isinstance(base, WholeNumbers):
            if base.exact:
                longest = float(columns.spans.sum()) / base.step
                self._times = max(1.0, min(_PARTS, np.floor(_MOST_STEPS / (1.0 + longest))))
            self._per_unit = self._times / base.step

    @property
    def _distance_unit(self) -> float:
        """What makes an excess, or a squared one, part of a distance as ``columns.distance_factors`` do."""
        unit = self._columns.distance_unit
        return (unit * self._missing.root_unit) ** 2 if self._squared else unit

    @property
    def relative(self) -> float:
        """What distances may be off by, relatively: levels may be spaced equally only up to a tolerance."""
        return UNEQUAL if self._base.exact else self._base.relative + (2.0**-23 if self.as_float else 0.0)

    @property
    def off(self) -> NDArray[np.float64]:
        """By how much the distances of each row may be off, once all columns have been seen."""
        rounding = self._missing.rounding(self._squared) * self._per_unit
        steps = 0.0 if self.as_float else 1.0
        return self._times * self._base.off + rounding + rounding.max() + steps

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return self._base.describe() | {"n_incomplete_features": int(self._missing.features.size)}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Cut the columns so that a piece takes about this many bytes: which part, out of how many."""
        return self._base.pieces(most_bytes)

    def piece(self, part: int, n_parts: int) -> _Piece:
        """Columns of one part, as the distances need them."""
        return _Piece(self._base.piece(part, n_parts), part == n_parts - 1)

    def add_tiles(
        self,
        piece: _Piece,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others into D, mirrored into E: D itself for the same rows."""
        self._base.add_tiles(piece.columns, rows, others, D, E, add=add)
        if not piece.last:
            return
        own = self._correction(rows, others)
        theirs = own if rows == others else self._correction(others, rows)
        self._add(D, rows[1] - rows[0], others[1] - others[0], own, theirs)
        if rows != others:
            self._add(E, others[1] - others[0], rows[1] - rows[0], theirs, own)

    def fill_rows(
        self, piece: _Piece, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all."""
        self._base.fill_rows(piece.columns, rows, D, add=add)
        if piece.last:
            missing, n_rows = self._missing, self._missing.n_rows
            own = missing.lack_blocks(rows, (0, -(-n_rows // missing_kernels.CHUNK)), squared=self._squared)
            everyone = np.arange(n_rows)
            theirs = missing.lack_blocks(everyone, (0, 0), squared=self._squared, others=rows)
            self._add(D, rows.size, n_rows, own, theirs)

    def put_own(
        self,
        D: NDArray[np.uint32],
        anchors: NDArray[np.int64],
        others: Range,
        sample_weight: NDArray[np.float64],
    ) -> None:
        """Put what two copies of a sample are expected to differ by in its place in D, if it has several."""
        own = np.flatnonzero((anchors >= others[0]) & (anchors < others[1]) & (sample_weight[anchors] > 1.0))
        rows = anchors[own]
        total = np.zeros(rows.size)
        factors = np.full(self._missing.features.size, self._per_unit)
        self._missing.add_to_pairs(rows, rows, factors, total, self._squared)
        keys = total.astype(np.float32).view(np.uint32) if self.as_float else np.rint(total).astype(np.uint32)
        D[own, rows - others[0]] = keys

    def add_exact(self, found: Neighbors, exact: NDArray[np.float64]) -> None:
        """Add to the exact distances of candidates that are not sure what is expected."""
        owner, place = found.unsure()
        distances = exact[place]
        factors = np.full(self._missing.features.size, self._distance_unit)
        self._missing.add_to_pairs(found.anchors[owner], found.rows[place], factors, distances, self._squared)
        exact[place] = np.maximum(distances, 0.0)

    def _correction(self, rows: Range, others: Range) -> NDArray[np.floating]:
        chunks = others[0] // missing_kernels.CHUNK, -(-others[1] // missing_kernels.CHUNK)
        return self._missing.lack_blocks(np.arange(*rows), chunks, squared=self._squared)

    def _add(
        self,
        D: NDArray[np.uint32],
        n_rows: int,
        n_columns: int,
        own: NDArray[np.floating],
        theirs: NDArray[np.floating],
    ) -> None:
        def of_rows(a: int, b: int) -> None:
            if self.as_float:
                floats = D.view(np.float32)
                missing_kernels.add_to_floats(floats, a, b, n_columns, own, theirs, self._per_unit)
            else:
                missing_kernels.add_to_steps(D, a, b, n_columns, own, theirs, self._per_unit, self._times)

        run_all(of_rows, even_ranges(n_rows, 4 * self._n_threads, missing_kernels.CHUNK), self._n_threads)


#: Below this share of the samples, anchors are cheaper one by one than by symmetric tiles.
FEW_ANCHORS = 1 / 4
#: With this many times as many bytes to a row as rows, all distances take a fifth of the table at most.
WIDE = 20
#: Rows whose distances to each other are held at a time where there are too many for all.
BAND = 2048
#: Lists of neighbors may always be as large as this.
LISTS_BYTES = 2.0**26
#: Bytes of a piece of the columns where they are taken piece by piece, and of all where they are not.
_PIECE_BYTES = 2.0**24
#: Bytes that the neighbors of a batch of anchors take at most: all rows may be tied.
_BATCH_BYTES = 2.0**27
#: Anchors whose distances to all rows are held at a time.
_ANCHORS_AT_ONCE = 256
#: Anchors whose neighbors are held at a time.
_SETTLED_AT_ONCE = 8192


Report = Callable[[], object]


def nothing() -> None:
    """Report nothing."""


class NeighborSearch:
    """A search for the nearest neighbors of the anchors.

    Distances, possibly a little off (:class:`WholeNumbers`, :class:`ProductDistances`), say who may be a
    neighbor; exact ones decide where that is not enough. Where they come from depends on the shape of the
    data alone:

    * many more features than samples: all distances, gathered over blocks of columns;
    * few anchors: their distances to all rows;
    * otherwise distances between bands of rows, from which every anchor keeps a list of its nearest. An
      anchor whose list is too short for its ties is then worked on as one of few.

    Parameters
    ----------
    table : Packed
        The rows.
    among : Neighborhood
        Which neighbors count.
    anchors : (n_rows,) bool
        Whose neighbors.
    """

    def __init__(self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        self._table = table
        self._pooled = among.pooled
        self._metric = METRICS[among.metric]
        self._uniform = among.rank_decay is None
        self._n_ranks = among.n_ranks(table.total_sample_weight)
        # Copies may be more than there is room to list ranks of.
        self._rank_weights = np.empty(0) if self._uniform else among.rank_weights(table.total_sample_weight)
        self._tolerance = table.tie_tolerance
        self._n_slots = 2 if among.pooled else table.n_classes
        self.columns = self._make_columns()
        self._distances: Distances = self._choose_distances()
        if table.missing is not None:
            squared = self._metric != nearest.MANHATTAN
            self._distances = ExpectedDistances(self._distances, table.missing, self.columns, squared)
        self._anchors = anchors
        self._chosen = anchors & table.has_hit
        self._way = _way(table, anchors, self._n_slots, self._capacity)

    @property
    def _capacity(self) -> int:
        k = self._n_ranks
        return (2 * k if self._table.counted else k) + candidates.SPARE_KEYS

    def _make_columns(self) -> Columns:
        return Columns(self._table.raw, self._table.scaling, self._table.ranges)

    def _choose_distances(self) -> Distances:
        table = self._table
        if self._metric != nearest.MANHATTAN:
            return ProductDistances(self.columns, table.position, table.n_threads)
        numbers = WholeNumbers(self.columns, table.position, self._tolerance, table.n_threads, self._plan())
        if numbers.too_coarse:
            return TileDistances(self.columns, table.position, table.n_threads)
        return numbers

    def _plan(self) -> Plan | None:
        """How columns become whole numbers; None: as a look at the table says."""
        return None

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return self._distances.describe()

    @property
    def n_reports(self) -> int:
        """How often a search reports."""
        if self._way == "all":
            return len(self._pieces)
        if self._way == "rows":
            return 1 if len(self._pieces) > 1 else -(-int(self._chosen.sum()) // _ANCHORS_AT_ONCE)
        n_bands = len(self._bands)
        return n_bands * (n_bands + 1) // 2

    def neighbors(self, report: Report = nothing) -> Iterator[Neighbors]:
        """Neighbors of all anchors that have a hit, some anchors at a time."""
        anchors = np.flatnonzero(self._chosen)
        if self._way == "all":
            yield from self._from_all_distances(anchors, report)
        elif self._way == "bands":
            yield from self._from_lists(anchors, report)
        else:
            yield from self._from_rows(anchors, report)

    def _from_all_distances(self, anchors: NDArray[np.int64], report: Report) -> Iterator[Neighbors]:
        table = self._table
        D = self._all_distances(report)
        self._mask_pairs(D, np.arange(table.n_rows), (0, table.n_rows))
        # Rows of D in the order of the anchors, unless they are all of them.
        for start, end in self._batches(anchors):
            chosen = anchors[start:end]
            whole = chosen.size and chosen[-1] - chosen[0] + 1 == chosen.size
            rows = D[chosen[0] : chosen[-1] + 1] if whole else _copied_rows(D, chosen)
            yield self._candidates(rows, chosen)

    def _all_distances(self, report: Report) -> NDArray[np.uint32]:
        """Distances of all rows to all, gathered over blocks of columns."""
        distances, everything = self._distances, (0, self._table.n_rows)
        D = distance_array(self._table.n_rows, self._table.n_rows)
        for part, n_parts in self._pieces:
            piece = distances.piece(part, n_parts)
            distances.add_tiles(piece, everything, everything, D, D, add=part > 0)
            report()
        return D

    def _batches(self, anchors: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Cut anchors so that the neighbors of a batch, were they all rows, fit into little memory."""
        most = max(64, int(_BATCH_BYTES / (24.0 * self._table.n_rows)))
        return even_ranges(anchors.size, -(-anchors.size // most))

    def _from_rows(
        self, anchors: NDArray[np.int64], report: Report, whole: Any = None
    ) -> Iterator[Neighbors]:
        """Neighbors from the distances of some anchors at a time to all rows.

        ``whole``: all columns in one piece, if they are there already.
        """
        table, distances = self._table, self._distances
        pieces = [(0, 1)] if whole is not None else self._pieces
        # Where there are several pieces, each is made once.
        at_once = _ANCHORS_AT_ONCE if len(pieces) == 1 else anchors.size
        if len(pieces) == 1 and whole is None:
            whole = distances.piece(0, 1)
        for start in range(0, anchors.size, at_once):
            chosen = anchors[start : start + at_once]
            rows = padded_rows(chosen)
            D = distance_array(rows.size, _padded_columns(table.n_rows))
            for part, n_parts in pieces:
                piece = distances.piece(part, n_parts) if whole is None else whole
                distances.fill_rows(piece, rows, D, add=part > 0)
                del piece
            self._mask_pairs(D, chosen, (0, table.n_rows))
            yield self._candidates(D, chosen)
            report()

    @property
    def _pieces(self) -> list[tuple[int, int]]:
        """Parts of the columns that are worked on at a time: all, unless there are many more than rows."""
        table = self._table
        whole = not (_is_wide(table) or table.n_rows <= BAND)
        return self._distances.pieces(np.inf if whole else _PIECE_BYTES)

    @property
    def _bands(self) -> list[tuple[int, int]]:
        n_rows = self._table.n_rows
        return even_ranges(n_rows, -(-n_rows // BAND), multiple=distances_kernels.TILE)

    def _from_lists(self, anchors: NDArray[np.int64], report: Report) -> Iterator[Neighbors]:
        table, distances = self._table, self._distances
        capacity = self._capacity
        lists = np.full((table.n_rows, self._n_slots, capacity), candidates.EMPTY_KEY)
        filled = np.zeros((table.n_rows, self._n_slots), np.int64)
        piece = distances.piece(0, 1)
        bands = self._bands
        widest = max(b - a for a, b in bands)
        D, E = distance_array(widest, widest), distance_array(widest, widest)
        for i, rows in enumerate(bands):
            for others in bands[i:]:
                mirror = D if rows == others else E
                distances.add_tiles(piece, rows, others, D, mirror)
                self._offer(D, rows, others, lists, filled)
                if rows != others:
                    self._offer(mirror, others, rows, lists, filled)
                report()
        del D, E
        available = n_available(table, self._pooled)
        # Candidates take three times the room of the lists that they come from.
        at_once = max(64, min(_SETTLED_AT_ONCE, int(LISTS_BYTES / (24.0 * self._n_slots * capacity))))
        for start in range(0, anchors.size, at_once):
            found, short = self._settle(anchors[start : start + at_once], lists, filled, available)
            yield found
            if short.size:
                yield from self._from_rows(short, nothing, piece)

    def _offer(
        self,
        D: NDArray[np.uint32],
        rows: tuple[int, int],
        others: tuple[int, int],
        lists: NDArray[np.uint64],
        filled: NDArray[np.int64],
    ) -> None:
        table = self._table
        self._mask_pairs(D, np.arange(*rows), others)

        def work(a: int, b: int) -> None:
            candidates.update_lists(
                D,
                rows[0],
                a,
                b,
                others[0],
                others[1] - others[0],
                self._chosen,
                table.codes,
                table.class_starts,
                self._pooled,
                self._capacity,
                lists,
                filled,
            )

        run_all(work, self._shares_of_work(rows[1] - rows[0]), table.n_threads)

    def _mask_pairs(self, D: NDArray[np.uint32], anchors: NDArray[np.int64], others: tuple[int, int]) -> None:
        table = self._table
        mask_pairs(table, D, anchors, others)
        available = table.batch_constraint is None or table.within
        if isinstance(self._distances, ExpectedDistances) and table.counted and available:
            self._distances.put_own(D, anchors, others, table.sample_weight)

    @property
    def _error_bound(self) -> tuple[NDArray[np.float64], float, float]:
        """What distances may be off by, in their units and relatively, and which of them count as equal."""
        distances = self._distances
        if distances.exact:
            return distances.off, 0.0, 0.0
        # Squares differ, relatively, by twice as much as what they are squares of.
        twice = 2.0 if self._metric == nearest.EUCLIDEAN else 1.0
        return distances.off, distances.relative, twice * self._tolerance

    def _candidates(self, D: NDArray[np.uint32], anchors: NDArray[np.int64]) -> Neighbors:
        table = self._table
        found = Neighbors.room(anchors, self._n_slots, 0)
        error_bound = self._error_bound

        def work(a: int, b: int) -> NDArray[np.int64]:
            return candidates.find_candidates(
                D,
                a,
                b,
                anchors,
                table.codes,
                table.class_starts,
                table.sample_weight,
                table.counted,
                self._pooled,
                float(self._n_ranks),
                self._uniform,
                self._distances.as_float,
                *error_bound,
                found.start,
                found.count,
                found.sure,
            )

        ranges = self._shares_of_work(anchors.size)
        parts = run_all(work, ranges, table.n_threads)
        free = 0
        for (a, b), part in zip(ranges, parts, strict=True):
            found.start[a:b] += free
            free += part.size
        found.rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
        found.shares = np.zeros(free)
        self._share(found)
        return found

    def _settle(
        self,
        anchors: NDArray[np.int64],
        lists: NDArray[np.uint64],
        filled: NDArray[np.int64],
        available: NDArray[np.int64],
    ) -> tuple[Neighbors, NDArray[np.int64]]:
        """Neighbors of the anchors whose lists say enough, and the other anchors."""
        table = self._table
        found = Neighbors.room(anchors, self._n_slots, anchors.size * self._n_slots * self._capacity)
        short = np.zeros(anchors.size, dtype=bool)
        error_bound = self._error_bound

        def work(a: int, b: int) -> None:
            candidates.candidates_from_lists(
                lists,
                filled,
                available,
                a,
                b,
                anchors,
                table.sample_weight,
                table.counted,
                float(self._n_ranks),
                self._uniform,
                self._distances.as_float,
                *error_bound,
                found.start,
                found.count,
                found.sure,
                found.rows,
                short,
            )

        run_all(work, self._shares_of_work(anchors.size), table.n_threads)
        # What was found for the others is not used.
        found.count[short] = 0
        found.sure[short] = 0
        self._share(found)
        return found, anchors[short]

    def _shares_of_work(self, n: int) -> list[tuple[int, int]]:
        """Cut work whose parts do not depend on each other, for the threads there are."""
        n_threads = self._table.n_threads
        return even_ranges(n, 4 * n_threads if n_threads > 1 else 1)

    def _share(self, found: Neighbors) -> None:
        """Divide the weight of each slot among its candidates, by their exact distances where it matters."""
        exact = np.zeros(found.rows.size)
        ranges = self._shares_of_work(found.anchors.size)
        if self._must_measure:
            self._measure(found, exact, ranges)
            if isinstance(self._distances, ExpectedDistances):
                self._distances.add_exact(found, exact)
        self._division.divide(found, exact, ranges, self._table.n_threads)

    @property
    def _must_measure(self) -> bool:
        return not self._distances.exact or not self._uniform

    @property
    def _division(self) -> Division:
        euclidean = self._metric == nearest.EUCLIDEAN
        ranks = (float(self._n_ranks), self._rank_weights, self._uniform)
        return Division(self._table.sample_weight, *ranks, self._distances.exact, euclidean, self._tolerance)

    def _measure(self, found: Neighbors, exact: NDArray[np.float64], ranges: list[tuple[int, int]]) -> None:
        """Add up the exact distances of the candidates that are not sure."""
        exact += added_exact(
            self.columns, self._table.position, found, self._metric, ranges, self._table.n_threads
        )


def padded_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same rows, the last of them repeated, in whole blocks of the kernels."""
    return np.concatenate([rows, np.repeat(rows[-1:], -rows.size % packing.ROW_BLOCK)])


def _is_wide(table: Packed) -> bool:
    return table.row_bytes >= WIDE * table.n_samples


def _way(table: Packed, anchors: NDArray[np.bool_], n_slots: int, capacity: int) -> str:
    """How neighbors are looked for, by the shape of the data alone."""
    if np.count_nonzero(anchors) < FEW_ANCHORS * table.n_samples:
        return "rows"
    if _is_wide(table) or table.n_rows <= BAND:
        return "all"
    lists = 8.0 * table.n_rows * n_slots * capacity
    return "rows" if lists > LISTS_BYTES else "bands"


def _padded_columns(n: int) -> int:
    return -(-n // 64) * 64


def distance_array(n_rows: int, n_columns: int) -> NDArray[np.uint32]:
    """Room for distances; the kernels look at 64 columns at a time, and beyond the last."""
    width = _padded_columns(n_columns)
    return np.empty(n_rows * width + 64, np.uint32)[: n_rows * width].reshape(n_rows, width)


def _copied_rows(D: NDArray[np.uint32], rows: NDArray[np.int64]) -> NDArray[np.uint32]:
    copy = distance_array(rows.size, D.shape[1])
    np.take(D, rows, axis=0, out=copy)
    return copy
