"""Margins at the nearest neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._kernels import nearest
from .arrays import within_lists
from .columns import Columns
from .layout import Packed
from .memory import check_room
from .neighbors import HITS, METRICS, MISSES, Neighborhood, Neighbors
from .search import NeighborSearch, Report, nothing
from .threads import even_ranges, run_all

# Hits and misses of a sample side by side, and the distances between them.


#: Pairs whose distances are held at a time; all samples may be tied.
_PAIRS_AT_ONCE = 2**21

Indices = NDArray[np.int64]


def mean_gaps(table: Packed, columns: Columns, neighbors: Neighbors) -> NDArray[np.float64]:
    """E‖miss − hit‖₁ of every anchor, over the hits and misses that share its weight, (n_anchors,)."""
    hit_owner, hit = neighbors.listed(HITS)
    miss_owner, miss = neighbors.listed(MISSES)
    n_misses = np.bincount(miss_owner, minlength=neighbors.anchors.size)
    first_miss = np.cumsum(n_misses) - n_misses
    gaps = np.zeros(neighbors.anchors.size)
    # Each hit meets all misses of its anchor.
    meetings = n_misses[hit_owner]
    for start, end in _portions(meetings):
        here = meetings[start:end]
        pair_hit = np.repeat(hit[start:end], here)
        owner = np.repeat(hit_owner[start:end], here)
        pair_miss = miss[first_miss[owner] + within_lists(here)]
        apart = distances_between(table, columns, neighbors.rows[pair_hit], neighbors.rows[pair_miss])
        shares = neighbors.shares[pair_hit] * neighbors.shares[pair_miss]
        gaps += np.bincount(owner, weights=shares * apart, minlength=gaps.size)
    return gaps


@dataclass(frozen=True)
class NeighborPairs:
    """The j-th nearest hit and the j-th nearest miss of every sample, as far as there are both.

    Ties go to the sample that comes first in the table.
    """

    #: (n_samples, n_pairs) places in the table.
    hits: Indices
    misses: Indices
    #: (n_samples,) how many pairs there are.
    n_pairs: Indices
    #: (n_samples, n_pairs) ‖miss − hit‖₁.
    gaps: NDArray[np.float64]

    @classmethod
    def room(cls, n_samples: int, n_neighbors: int) -> Self:
        """Places for the pairs of all samples."""
        shape = (n_samples, n_neighbors)
        hits, misses = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        return cls(hits, misses, np.zeros(n_samples, np.int64), np.zeros(shape))

    def fill(self, table: Packed, columns: Columns, neighbors: Neighbors) -> None:
        """Put the pairs of some anchors in their places."""
        samples = table.position[neighbors.anchors]
        n_found = []
        for slot, places in ((HITS, self.hits), (MISSES, self.misses)):
            owner, rank, row = _in_order(table, columns, neighbors, slot)
            used = rank < places.shape[1]
            places[samples[owner[used]], rank[used]] = table.position[row[used]]
            n_found.append(np.bincount(owner[used], minlength=samples.size))
        self.n_pairs[samples] = np.minimum(*n_found)
        each, pair = np.nonzero(np.arange(self.hits.shape[1]) < self.n_pairs[samples][:, np.newaxis])
        row_of = np.empty(table.n_samples, np.int64)
        row_of[table.position[table.real]] = np.flatnonzero(table.real)
        sample = samples[each]
        self.gaps[sample, pair] = distances_between(
            table, columns, row_of[self.hits[sample, pair]], row_of[self.misses[sample, pair]]
        )


def distances_between(table: Packed, columns: Columns, rows: Indices, others: Indices) -> NDArray[np.float64]:
    """Manhattan distances of pairs of rows of the layout, scaled."""
    exact = np.zeros(rows.size)
    start = np.arange(rows.size).reshape(-1, 1)
    one, none = np.ones_like(start), np.zeros_like(start)
    ranges = even_ranges(rows.size, table.n_threads)
    for array, first, which in columns.blocks():
        block = (array, first, columns.factors[which], nearest.MANHATTAN, table.position, rows)

        def measure(a: int, b: int, block: tuple[Any, ...] = block) -> None:
            nearest.add_exact(*block, a, b, start, one, none, others, exact)

        run_all(measure, ranges, table.n_threads)
        del array, block, measure  # before the next block is copied
    if table.missing is not None:
        table.missing.add_to_pairs(rows, others, np.ones(table.missing.features.size), exact)
        np.maximum(exact, 0.0, out=exact)
    return exact


def _in_order(
    table: Packed, columns: Columns, neighbors: Neighbors, slot: int
) -> tuple[Indices, Indices, Indices]:
    """Neighbors in a slot from the nearest on: whose they are, their ranks from 0 on, and their rows."""
    owner, place = neighbors.listed(slot)
    rows = neighbors.rows[place]
    distance = distances_between(table, columns, neighbors.anchors[owner], rows)
    order = np.lexsort((distance, owner))
    owner, rows, distance = owner[order], rows[order], distance[order]
    # What differs by rounding is tied.
    farther = np.diff(distance, prepend=0.0) > table.tie_tolerance * distance
    order = np.lexsort((table.position[rows], np.cumsum(farther), owner))
    rank = within_lists(np.bincount(owner, minlength=neighbors.anchors.size))
    return owner, rank, rows[order]


def _portions(counts: Indices) -> list[tuple[int, int]]:
    """Cut a list so that the counts of a portion add up to little."""
    portion = np.cumsum(counts) // _PAIRS_AT_ONCE
    borders = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [counts.size]])
    return [(int(a), int(b)) for a, b in pairwise(borders) if b > a]


#: Differences that are added up before one partial sum is worth another.
_WORK_PER_PART = 1.6e7
#: Rows of which a few vectors of features fit the first cache.
_FEW_ROWS = 128
#: Anchors whose margins are held at a time where the squares of margins are wanted.
_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Compared:
    """Samples compared with their neighbors."""

    #: E|x − miss| − E|x − hit|, one row per sample; or E|x − hit| of all samples, then E|x − miss| of all.
    #: An array, or what multiplies like one where the table lies with workers.
    rows: Any
    #: E‖miss − hit‖₁ of every sample, if it was asked for.
    gaps: NDArray[np.float64]
    #: Which samples are anchors with a hit; the rows of the others are 0.
    counts: NDArray[np.bool_]


class NearestPass:
    """One pass over the nearest neighbors of the anchors.

    Parameters
    ----------
    table : Packed
        The rows.
    among : Neighborhood
        Which neighbors count.
    anchors : (n_rows,) bool
        Whose neighbors.
    """

    _search_type: type[NeighborSearch] = NeighborSearch

    def __init__(self, table: Packed, among: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        self._table = table
        self._anchors = anchors
        self._metric = METRICS[among.metric]
        self._n_neighbors = min(among.n_neighbors, table.n_samples)
        self._factors = _slot_factors(table, among.pooled)
        self._search = self._make_search(among)

    def _make_search(self, among: Neighborhood) -> NeighborSearch:
        return self._search_type(self._table, among, self._anchors)

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return self._search.describe()

    @property
    def n_reports(self) -> int:
        """How often a pass reports."""
        return self._search.n_reports

    def mean(self, report: Report = nothing) -> NDArray[np.float64]:
        """Mean over the anchors of E|x − miss| − E|x − hit|, (n_features,).

        ``report`` is called :attr:`n_reports` times.
        """
        total = self.sums(report, with_squares=False)[0]
        return total / self._table.row_weights[self._anchors].sum()

    def sums(self, report: Report = nothing, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Σ s·z over the anchors, z = E|x − miss| − E|x − hit|, s their weights; if wanted, Σ s²z, Σ s²z²."""
        table = self._table
        if with_squares and not (table.missing is None and table.encoding is None):
            return self._sums_of_rows(report)
        total = np.zeros((3 if with_squares else 1, table.n_features))
        columns = self._search.columns
        excess: NDArray[np.float64] | float = 0.0
        for neighbors in self._search.neighbors(report):
            excess = excess + self._excess(neighbors)

            def of_columns(a: int, b: int, n_threads: int = 1, neighbors: Neighbors = neighbors) -> None:
                array, first = columns.precise_block(a, b)
                total[:, a:b] += self._block_moments(neighbors, array, first, b - a, with_squares, n_threads)

            if columns.as_it_is:
                for a, b in columns.cuts():
                    of_columns(a, b, table.n_threads)
            else:
                # Each thread copies, and works on, columns of its own.
                run_all(of_columns, columns.cuts(), table.n_threads)
        factors = self._margin_factors()
        total[:2] *= factors
        if with_squares:
            total[2] *= factors**2
        total = self._joined(total)
        total[0] += excess
        return total

    @property
    def _n_features(self) -> int:
        encoding = self._table.encoding
        return self._table.n_features if encoding is None else encoding.n_features

    def _joined(self, of_columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Differences of features from those of their columns, along the last axis."""
        encoding = self._table.encoding
        if encoding is None:
            return of_columns
        return encoding.joined(of_columns, rooted=self._metric == nearest.EUCLIDEAN)

    def _sums_of_rows(self, report: Report) -> NDArray[np.float64]:
        """:meth:`sums` with squares, from margins of one anchor after the other."""
        table = self._table
        total = np.zeros((3, self._n_features))
        for found in self._search.neighbors(report):
            for a, b in even_ranges(found.anchors.size, -(-found.anchors.size // _ROWS_AT_ONCE)):
                neighbors = found.reordered(np.arange(a, b))
                z = np.zeros((b - a, table.n_features))
                self._fill_rows(neighbors, z, np.arange(b - a))
                z = self._joined(z * self._margin_factors())
                self._add_excess(neighbors, z, np.arange(b - a))
                s = table.row_weights[neighbors.anchors]
                total += np.stack([s @ z, s**2 @ z, s**2 @ z**2])
        return total

    # What missing values add

    def _excess(self, neighbors: Neighbors) -> NDArray[np.float64] | float:
        """What missing values add to Σ s·z, (n_features,)."""
        table = self._table
        if table.missing is None:
            return 0.0
        owner, rows, signed = self._signed(neighbors)
        anchors = neighbors.anchors[owner]
        coefficients = self._excess_unit * table.row_weights[anchors] * signed
        excess = np.zeros(self._n_features)
        excess[table.missing.features] = table.missing.pair_sums(anchors, rows, coefficients, self._squared)
        return excess

    @property
    def _squared(self) -> bool:
        return self._metric == nearest.SQUARED_EUCLIDEAN

    @property
    def _excess_unit(self) -> float:
        missing = self._table.missing
        return missing.root_unit**2 if missing is not None and self._squared else 1.0

    def _add_excess(self, neighbors: Neighbors, out: NDArray[np.float64], places: NDArray[np.int64]) -> None:
        """Add what missing values add to the margin of every anchor to its row, at rising places."""
        missing = self._table.missing
        if missing is None:
            return
        owner, rows, signed = self._signed(neighbors)
        order = np.argsort(owner, kind="stable")
        pairs = (places[owner[order]], neighbors.anchors[owner[order]], rows[order])
        missing.add_to_rows(*pairs, self._excess_unit * signed[order], out, self._squared)

    def _signed(
        self, neighbors: Neighbors
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """All neighbors with a share: whose they are, their rows, and shares: minus those of hits."""
        owners, rows, signed = [], [], []
        for slot in range(self._factors.shape[1]):
            owner, place = neighbors.listed(slot)
            owners.append(owner)
            rows.append(neighbors.rows[place])
            factors = self._factors[self._table.kinds[neighbors.anchors[owner]], slot]
            signed.append(factors * neighbors.shares[place])
        return np.concatenate(owners), np.concatenate(rows), np.concatenate(signed)

    def rows(self) -> NDArray[np.float64]:
        """E|x − miss| − E|x − hit| of every sample, (n_samples, n_features); 0 if it is no anchor."""
        return self.compared().rows

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j w_j·(E|x − miss| − E|x − hit|)_j of every sample; 0 if it is no anchor."""
        return self.rows() @ w

    def compared(self, report: Report = nothing, *, apart: bool = False, gaps: bool = False) -> Compared:
        """Every anchor compared with its neighbors; ``gaps`` and what is kept ``apart`` on demand."""
        table = self._table
        n = table.n_samples
        check_room(
            8.0 * (2 * n if apart else n) * table.n_features * (1 if table.missing is None else 2),
            f"The margins of {n} samples in each of {table.n_features} features",
            "Fewer features or samples would do.",
        )
        out = np.zeros((2 * n if apart else n, table.n_features))
        excess = None if table.missing is None else np.zeros((len(out), self._n_features))
        between = np.zeros(n if gaps else 0)
        for found in self._search.neighbors(report):
            neighbors = found.reordered(np.argsort(table.position[found.anchors]))
            samples = table.position[neighbors.anchors]
            parts = [(neighbors, 0)]
            if apart:
                parts = [(neighbors.without(MISSES), 0), (neighbors.without(HITS), n)]
            for part, first in parts:
                self._fill_rows(part, out[first : first + n], samples)
                if excess is not None:
                    self._add_excess(part, excess[first : first + n], samples)
            if gaps:
                between[samples] = mean_gaps(table, self._search.columns, neighbors)
        out *= self._margin_factors()
        out = self._joined(out)
        if excess is not None:
            out += excess
        if apart:
            np.negative(out[:n], out=out[:n])
        return Compared(out, between, table.unpacked(self._anchors & table.has_hit))

    def pairs(self, report: Report = nothing) -> NeighborPairs:
        """The nearest hits and misses of every anchor side by side, from the nearest on."""
        found = NeighborPairs.room(self._table.n_samples, self._n_neighbors)
        for neighbors in self._search.neighbors(report):
            found.fill(self._table, self._search.columns, neighbors)
        return found

    def shares(self, report: Report = nothing) -> Iterator[tuple[NDArray[np.int64], sparse.csr_array]]:
        """Who counts how much in E[miss] − E[hit] of some anchors at a time.

        Yields the anchors, as places in the table, and a matrix (n_anchors, n_samples): shares of misses,
        minus those of hits.
        """
        table = self._table
        for neighbors in self._search.neighbors(report):
            owner, rows, signed = self._signed(neighbors)
            shape = (neighbors.anchors.size, table.n_samples)
            yield (
                table.position[neighbors.anchors],
                sparse.csr_array((signed, (owner, table.position[rows])), shape=shape),
            )

    def all_shares(self, report: Report = nothing) -> sparse.csr_array:
        """:meth:`shares` of all samples, each times its copies, (n_samples, n_samples)."""
        table = self._table
        sample_weight = table.unpacked(table.sample_weight)
        owners, others, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        for samples, shares in self.shares(report):
            pairs = shares.tocoo()
            owners.append(samples[pairs.row])
            others.append(pairs.col)
            values.append(pairs.data * sample_weight[samples[pairs.row]])
        places = np.concatenate(owners), np.concatenate(others)
        return sparse.csr_array((np.concatenate(values), places), shape=(table.n_samples,) * 2)

    def _fill_rows(self, neighbors: Neighbors, out: NDArray[np.float64], samples: NDArray[np.int64]) -> None:
        """Write the margins of the anchors, in the units of the blocks, to the rows of their samples."""
        # Where all samples are here, in their order, nothing is copied.
        whole = samples.size == len(out)
        for a, b in self._search.columns.cuts():
            array, first = self._search.columns.precise_block(a, b)
            margins = out[:, a:b] if whole else np.zeros((samples.size, b - a))
            block = (array, first, margins)

            def part(start: int, end: int, block: tuple[Any, ...] = block) -> None:
                array, first, margins = block
                self._add_margins(neighbors, array, first, start, end, margins, by_row=True)

            n_threads = self._table.n_threads
            run_all(part, even_ranges(samples.size, n_threads, multiple=16), n_threads)
            if not whole:
                out[samples, a:b] = margins

    def _margin_factors(self) -> NDArray[np.float64]:
        factors = self._search.columns.factors
        return factors**2 if self._squared else factors

    def _block_moments(
        self,
        neighbors: Neighbors,
        array: NDArray[np.floating],
        first: int,
        width: int,
        with_squares: bool,
        n_threads: int,
    ) -> NDArray[np.float64]:
        table = self._table
        shape = (3 if with_squares else 1, width)

        def part(a: int, b: int) -> NDArray[np.float64]:
            out = np.zeros(shape)
            self._add_margins(neighbors, array, first, a, b, out)
            return out

        # Cut by the shape of the table alone, so that the order of the sums is the same for any number of
        # threads, and for any order and type of the table.
        work = float(neighbors.anchors.size) * table.n_features * self._n_neighbors * self._factors.shape[1]
        n_parts = min(table.n_parts(table.n_features), 1 + int(work / _WORK_PER_PART))
        parts = even_ranges(neighbors.anchors.size, n_parts, multiple=16)
        total = np.zeros(shape)
        for each in run_all(part, parts, n_threads):
            total += each
        return total

    def _add_margins(
        self,
        neighbors: Neighbors,
        array: NDArray[np.floating],
        first: int,
        a: int,
        b: int,
        out: NDArray[np.float64],
        *,
        by_row: bool = False,
    ) -> None:
        table = self._table
        neighbors_of = (neighbors.start, neighbors.count, neighbors.rows, neighbors.shares)
        squared = self._squared
        if len(out) == 1 and not by_row and not squared and table.n_samples <= _FEW_ROWS:
            nearest.few_rows_margin(
                array,
                first,
                out.shape[1],
                table.position,
                neighbors.anchors,
                a,
                b,
                table.kinds,
                table.row_weights,
                self._factors,
                *neighbors_of,
                out[0],
            )
            return
        nearest.margins(
            array,
            first,
            out.shape[1],
            squared,
            table.position,
            neighbors.anchors,
            a,
            b,
            table.kinds,
            table.row_weights,
            self._factors,
            *neighbors_of,
            by_row,
            len(out) > 1 and not by_row,
            out,
        )


def _slot_factors(table: Packed, pooled: bool) -> NDArray[np.float64]:
    """Sign and weight of hits and misses, by kind of the anchor and slot."""
    if pooled:
        return np.tile([-1.0, 1.0], (table.n_kinds, 1))
    factors = table.miss_factors.copy()
    factors[table.kinds, table.codes] = -1.0
    return factors


# Differences to the nearest neighbors, by how much the neighbors' targets differ.


class TargetDifferences(NamedTuple):
    """Sums over anchors and their neighbors, each neighbor by its share."""

    #: Number of anchors that have neighbors, copies counted.
    n_anchors: float
    #: Σ |y − y'|,
    of_target: float
    #: Σ |x − x'|, feature by feature,
    of_features: NDArray[np.float64]
    #: and Σ |y − y'|·|x − x'|.
    of_both: NDArray[np.float64]


class TargetPass(NearestPass):
    """One pass over the nearest neighbors of the anchors, all rows being of one class.

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
            n_anchors += float(table.sample_weight[neighbors.anchors].sum())
            of_target += float(table.sample_weight[anchors] @ shares[place])
            of_features += self._sums_over(neighbors)
            of_both += self._sums_over(replace(neighbors, shares=shares))
        return TargetDifferences(n_anchors, of_target, of_features, of_both)

    def _sums_over(self, neighbors: Neighbors) -> NDArray[np.float64]:
        """Σ |x − x'| over some neighbors that have been found, each by its share."""
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
