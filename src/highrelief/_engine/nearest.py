"""Margins at the nearest neighbors.

A search (:mod:`.search`) yields :class:`.neighbors.Neighbors`: for some anchors, lists of hits and misses
with their shares. :class:`NeighborMargins` turns such lists into z = E|x − miss| − E|x − hit|, one row per
anchor or summed over the anchors. :class:`NearestPass` joins the two and is what estimators use, on any
backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._kernels import nearest
from .arrays import portions, within_lists
from .columns import Columns
from .layout import LabeledTable, Layout, Packed
from .limits import limits
from .memory import check_room
from .metrics import METRICS
from .neighbors import HITS, MISSES, Neighborhood, Neighbors
from .search import LocalSearch, NeighborSearch, Report, no_report
from .threads import even_ranges, run_all

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class SampleMargins:
    """Margins of all samples, and the gaps between hits and misses, for hinge losses."""

    #: E|x − miss| − E|x − hit|, one row per sample; or E|x − hit| of all samples, then E|x − miss| of all.
    #: An array, or a matrix on the workers that multiplies like one.
    rows: Any
    #: E‖miss − hit‖₁ of every sample, if requested.
    gaps: NDArray[np.float64]
    #: Whether a sample is an anchor with a hit; the rows of the others are 0.
    counts: NDArray[np.bool_]


class TargetDifferences(NamedTuple):
    """Sums over anchors and their neighbors, each neighbor weighted by its share."""

    #: Total sample weight of the anchors that have neighbors.
    n_anchors: float
    #: Σ |y − y'|
    of_target: float
    #: Σ |x − x'| of every feature
    of_features: NDArray[np.float64]
    #: Σ |y − y'|·|x − x'| of every feature
    of_both: NDArray[np.float64]


class SignedShares(NamedTuple):
    """All neighbors with a share, as parallel arrays."""

    #: Index of the anchor in ``Neighbors.anchors``.
    owner: Indices
    #: Row of the neighbor.
    rows: Indices
    #: Share of a miss; minus the share of a hit.
    values: NDArray[np.float64]


def slot_factors(table: Layout, pooled: bool) -> NDArray[np.float64]:
    """Return the sign and weight of hits and misses, by stratum of the anchor and slot."""
    if pooled:
        return np.tile([-1.0, 1.0], (table.n_strata, 1))
    factors = table.miss_factors.copy()
    factors[table.strata, table.codes] = -1.0
    return factors


def signed_shares(table: Layout, factors: NDArray[np.float64], neighbors: Neighbors) -> SignedShares:
    """Return all neighbors with their shares times the factor of their slot."""
    owners, rows, signed = [], [], []
    for slot in range(factors.shape[1]):
        owner, place = neighbors.listed(slot)
        owners.append(owner)
        rows.append(neighbors.rows[place])
        signed.append(factors[table.strata[neighbors.anchors[owner]], slot] * neighbors.shares[place])
    return SignedShares(np.concatenate(owners), np.concatenate(rows), np.concatenate(signed))


class NeighborMargins:
    """Margins z = E|x − miss| − E|x − hit| at listed neighbors.

    Parameters
    ----------
    table : Packed
        The layout of the rows.
    columns : Columns
        Their values.
    neighborhood : Neighborhood
        Metric, number of neighbors, pooled misses.
    """

    def __init__(self, table: Packed, columns: Columns, neighborhood: Neighborhood) -> None:
        self._table, self._columns = table, columns
        self._metric = METRICS[neighborhood.metric]
        self._squared = self._metric.squares_margins
        self._n_neighbors = min(neighborhood.n_neighbors, table.n_samples)
        self._slot_factors = slot_factors(table, neighborhood.pooled)

    @property
    def _n_features(self) -> int:
        encoding = self._table.encoding
        return self._table.n_features if encoding is None else encoding.n_features

    @property
    def column_factors(self) -> NDArray[np.float64]:
        """Factors that bring margins from the units of the columns to scaled ones."""
        return self._metric.margin_factors(self._columns.factors)

    def sums(self, lists: Iterable[Neighbors], *, with_squares: bool) -> NDArray[np.float64]:
        """Return Σ s·z over all anchors, s their weights; ``with_squares`` also Σ s²z and Σ s²z²."""
        table, columns = self._table, self._columns
        if with_squares and not (table.missing is None and table.encoding is None):
            return self._sums_of_rows(lists)
        total = np.zeros((3 if with_squares else 1, table.n_features))
        excess: NDArray[np.float64] | float = 0.0
        for neighbors in lists:
            excess = excess + self._excess(neighbors)

            def of_columns(a: int, b: int, n_threads: int = 1, neighbors: Neighbors = neighbors) -> None:
                array, first = columns.precise_block(a, b)
                total[:, a:b] += self._block_moments(neighbors, array, first, b - a, with_squares, n_threads)

            if columns.precise_in_place:
                for a, b in columns.cuts():
                    of_columns(a, b, table.n_threads)
            else:
                # Each thread copies, and works on, columns of its own.
                run_all(of_columns, columns.cuts(), table.n_threads)
        factors = self.column_factors
        total[:2] *= factors
        if with_squares:
            total[2] *= factors**2
        total = self._of_features(total)
        total[0] += excess
        return total

    def sample_margins(
        self, lists: Iterable[Neighbors], *, separate: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Return the margins of all samples; ``separate``: of hits and of misses; ``gaps`` on request."""
        table = self._table
        n = table.n_samples
        check_room(
            8.0 * (2 * n if separate else n) * table.n_features * (1 if table.missing is None else 2),
            f"The margins of {n} samples in each of {table.n_features} features",
            "Use fewer features or samples.",
        )
        out = np.zeros((2 * n if separate else n, table.n_features))
        excess = None if table.missing is None else np.zeros((len(out), self._n_features))
        between = np.zeros(n if gaps else 0)
        counts = np.zeros(n, dtype=bool)
        for found in lists:
            neighbors = found.reordered(np.argsort(table.sample_of_row[found.anchors]))
            samples = table.sample_of_row[neighbors.anchors]
            counts[samples] = True
            parts = [(neighbors, 0)]
            if separate:
                parts = [(neighbors.without(MISSES), 0), (neighbors.without(HITS), n)]
            for part, first in parts:
                self._fill_rows(part, out[first : first + n], samples)
                if excess is not None:
                    self._add_excess(part, excess[first : first + n], samples)
            if gaps:
                between[samples] = mean_gaps(table, self._columns, neighbors)
        out *= self.column_factors
        out = self._of_features(out)
        if excess is not None:
            out += excess
        if separate:
            np.negative(out[:n], out=out[:n])
        return SampleMargins(out, between, counts)

    def under(self, w: NDArray[np.float64], lists: Iterable[Neighbors]) -> NDArray[np.float64]:
        """Return Σ_j w_j·z_j of every sample; 0 if it is no anchor."""
        # One product over all samples: BLAS rounds a row by its place in the matrix.
        return self.sample_margins(lists).rows @ w

    def pairs(self, lists: Iterable[Neighbors]) -> NeighborPairs:
        """Return the nearest hits and misses of every anchor side by side."""
        table = self._table
        n_pairs, places = np.zeros(table.n_samples, np.int64), np.arange(self._n_neighbors)
        hits, misses = np.zeros((2, table.n_samples, self._n_neighbors), np.int64)
        gaps = np.zeros(hits.shape)
        for neighbors in lists:
            samples = table.sample_of_row[neighbors.anchors]
            n_found = []
            for slot, of_slot in ((HITS, hits), (MISSES, misses)):
                owner, rank, row = _in_order(table, self._columns, neighbors, slot)
                used = rank < self._n_neighbors
                of_slot[samples[owner[used]], rank[used]] = table.sample_of_row[row[used]]
                n_found.append(np.bincount(owner[used], minlength=samples.size))
            n_pairs[samples] = np.minimum(*n_found)
            each, pair = np.nonzero(places < n_pairs[samples][:, np.newaxis])
            pairs = samples[each], pair
            rows, others = table.row_of_sample[hits[pairs]], table.row_of_sample[misses[pairs]]
            gaps[pairs] = distances_between(table, self._columns, rows, others)
        return NeighborPairs(hits, misses, n_pairs, gaps)

    def target_differences(self, y: NDArray[np.float64], lists: Iterable[Neighbors]) -> TargetDifferences:
        """Return sums of differences between anchors and neighbors of targets y, and of features.

        All neighbors are hits: samples with a continuous target are of one class.
        """
        table = self._table
        target = table.laid_out(y)
        n_anchors, of_target = 0.0, 0.0
        of_features, of_both = np.zeros((2, self._n_features))
        for neighbors in lists:
            owner, place = neighbors.listed(HITS)
            anchors = neighbors.anchors[owner]
            shares = np.zeros_like(neighbors.shares)
            shares[place] = neighbors.shares[place] * np.abs(target[anchors] - target[neighbors.rows[place]])
            n_anchors += float(table.sample_weight[neighbors.anchors].sum())
            of_target += float(table.sample_weight[anchors] @ shares[place])
            # Hits have the factor -1.
            of_features -= self.sums([neighbors], with_squares=False)[0]
            of_both -= self.sums([replace(neighbors, shares=shares)], with_squares=False)[0]
        return TargetDifferences(n_anchors, of_target, of_features, of_both)

    def _of_features(self, of_columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Join the columns of each categorical feature, along the last axis."""
        encoding = self._table.encoding
        if encoding is None:
            return of_columns
        return encoding.joined(of_columns, rooted=self._metric.rooted)

    def _sums_of_rows(self, lists: Iterable[Neighbors]) -> NDArray[np.float64]:
        """Compute :meth:`sums` with squares from the margins of single anchors."""
        table = self._table
        total = np.zeros((3, self._n_features))
        for found in lists:
            for a, b in even_ranges(found.anchors.size, -(-found.anchors.size // limits.squared_anchors)):
                neighbors = found.reordered(np.arange(a, b))
                z = np.zeros((b - a, table.n_features))
                self._fill_rows(neighbors, z, np.arange(b - a))
                z = self._of_features(z * self.column_factors)
                self._add_excess(neighbors, z, np.arange(b - a))
                s = table.row_weights[neighbors.anchors]
                total += np.stack([s @ z, s**2 @ z, s**2 @ z**2])
        return total

    def _excess(self, neighbors: Neighbors) -> NDArray[np.float64] | float:
        """Return the contribution of missing values to Σ s·z, (n_features,)."""
        table = self._table
        if table.missing is None:
            return 0.0
        owner, rows, signed = signed_shares(table, self._slot_factors, neighbors)
        anchors = neighbors.anchors[owner]
        coefficients = self._excess_unit * table.row_weights[anchors] * signed
        excess = np.zeros(self._n_features)
        excess[table.missing.features] = table.missing.pair_sums(anchors, rows, coefficients, self._squared)
        return excess

    @property
    def _excess_unit(self) -> float:
        missing = self._table.missing
        return missing.root_unit**2 if missing is not None and self._squared else 1.0

    def _add_excess(self, neighbors: Neighbors, out: NDArray[np.float64], places: Indices) -> None:
        """Add the contribution of missing values to the margin of every anchor, at rising ``places``."""
        missing = self._table.missing
        if missing is None:
            return
        owner, rows, signed = signed_shares(self._table, self._slot_factors, neighbors)
        order = np.argsort(owner, kind="stable")
        pairs = (places[owner[order]], neighbors.anchors[owner[order]], rows[order])
        missing.add_to_rows(*pairs, self._excess_unit * signed[order], out, self._squared)

    def _fill_rows(self, neighbors: Neighbors, out: NDArray[np.float64], samples: Indices) -> None:
        """Write the margins of the anchors, in the units of the columns, to the rows of their samples."""
        for a, b in self._columns.cuts():
            array, first = self._columns.precise_block(a, b)
            # Nothing is copied if the anchors are all samples, in their order. A part of the columns is: its
            # rows are not contiguous, and the kernel would be compiled once more.
            whole = (samples.size, b - a) == out.shape
            margins = out if whole else np.zeros((samples.size, b - a))
            block = (array, first, margins)

            def part(start: int, end: int, block: tuple[Any, ...] = block) -> None:
                array, first, margins = block
                self._add_margins(neighbors, array, first, start, end, margins, by_row=True)

            n_threads = self._table.n_threads
            run_all(part, even_ranges(samples.size, n_threads, multiple=16), n_threads)
            if not whole:
                out[samples, a:b] = margins

    def _block_moments(
        self,
        neighbors: Neighbors,
        array: NDArray[np.floating],
        first: int,
        width: int,
        with_squares: bool,
        n_threads: int,
    ) -> NDArray[np.float64]:
        def add(a: int, b: int, out: NDArray[np.float64]) -> None:
            self._add_margins(neighbors, array, first, a, b, out)

        n_listed = self._n_neighbors * self._slot_factors.shape[1]
        shape = (3 if with_squares else 1, width)
        return sum_over_anchors(self._table, neighbors.anchors.size, n_listed, shape, add, n_threads)

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
        if len(out) == 1 and not by_row and not squared and table.n_samples <= limits.few_rows:
            nearest.few_rows_margin(
                array,
                first,
                out.shape[1],
                table.sample_of_row,
                neighbors.anchors,
                a,
                b,
                table.strata,
                table.row_weights,
                self._slot_factors,
                *neighbors_of,
                out[0],
            )
            return
        nearest.margins(
            array,
            first,
            out.shape[1],
            squared,
            table.sample_of_row,
            neighbors.anchors,
            a,
            b,
            table.strata,
            table.row_weights,
            self._slot_factors,
            *neighbors_of,
            by_row,
            len(out) > 1 and not by_row,
            out,
        )


def sum_over_anchors(
    table: LabeledTable,
    n_anchors: int,
    n_listed: int,
    shape: tuple[int, int],
    add: Callable[[int, int, NDArray[np.float64]], None],
    n_threads: int,
) -> NDArray[np.float64]:
    """Return what ``add`` adds to an array of zeros for all anchors, of ``n_listed`` neighbors each.

    ``add``: function of a range of the anchors and of the array.
    """

    def part(a: int, b: int) -> NDArray[np.float64]:
        out = np.zeros(shape)
        add(a, b, out)
        return out

    # Split by the shape of the table alone: sums have the same order for any number of threads, and for any
    # memory order and type of the table.
    work = float(n_anchors) * table.n_features * n_listed
    n_parts = min(table.n_parts(table.n_features), 1 + int(work / limits.part_work))
    total = np.zeros(shape)
    for each in run_all(part, even_ranges(n_anchors, n_parts, multiple=16), n_threads):
        total += each
    return total


def not_offered(backend: object, method: str) -> NotImplementedError:
    """Return the error of a method that a backend does not offer."""
    return NotImplementedError(f"{type(backend).__name__} does not offer {method}: use a dense X in memory.")


class NearestPass(ABC):
    """One pass over the nearest neighbors of the anchors: a search, and margins at its result.

    Parameters
    ----------
    table : LabeledTable
        The layout of the rows.
    neighborhood : Neighborhood
        Which neighbors count.
    anchors : (n_rows,) bool
        Rows whose neighbors are searched for.
    search : NeighborSearch
        Finds them.
    """

    def __init__(
        self,
        table: LabeledTable,
        neighborhood: Neighborhood,
        anchors: NDArray[np.bool_],
        search: NeighborSearch,
    ) -> None:
        self._table, self._neighborhood, self._anchors, self._search = table, neighborhood, anchors, search
        self._slot_factors = slot_factors(table, neighborhood.pooled)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return self._search.describe()

    @property
    def n_reports(self) -> int:
        """Number of times that a pass reports progress."""
        return self._search.n_reports

    @abstractmethod
    def sums(self, report: Report = no_report, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Return Σ s·z over the anchors, s their weights; ``with_squares`` also Σ s²z and Σ s²z²."""

    @abstractmethod
    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j w_j·z_j of every sample; 0 if it is no anchor."""

    # Methods that not every backend offers

    def sample_margins(
        self, report: Report = no_report, *, separate: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Return the margins of all samples; ``separate``: of hits and of misses; ``gaps`` on request.

        For dense rows.
        """
        raise not_offered(self, "sample_margins")

    def pairs(self, report: Report = no_report) -> NeighborPairs:
        """Return the nearest hits and misses of every anchor side by side; for dense rows in this process."""
        raise not_offered(self, "pairs")

    def target_differences(self, y: NDArray[np.float64], report: Report = no_report) -> TargetDifferences:
        """Return sums of differences between anchors and neighbors of targets y, and of features.

        For rows in this process.
        """
        raise not_offered(self, "target_differences")

    # Methods of all backends

    def mean(self, report: Report = no_report) -> NDArray[np.float64]:
        """Return the mean of z over the anchors, (n_features,).

        ``report`` is called :attr:`n_reports` times.
        """
        total = self.sums(report, with_squares=False)[0]
        return total / self._table.row_weights[self._anchors].sum()

    def margins(self) -> NDArray[np.float64]:
        """Return z of every sample, (n_samples, n_features); 0 if it is no anchor."""
        return self.sample_margins().rows

    def shares(self, report: Report = no_report) -> Iterator[tuple[Indices, sparse.csr_array]]:
        """Yield the coefficients of all samples in E[miss] − E[hit] of some anchors at a time.

        Each item has the anchors, as indices of samples, and a matrix (n_anchors, n_samples): shares of
        misses, minus those of hits.
        """
        table = self._table
        for neighbors in self._search.neighbors(report):
            owner, rows, signed = signed_shares(table, self._slot_factors, neighbors)
            shape = (neighbors.anchors.size, table.n_samples)
            yield (
                table.sample_of_row[neighbors.anchors],
                sparse.csr_array((signed, (owner, table.sample_of_row[rows])), shape=shape),
            )

    def all_shares(self, report: Report = no_report) -> sparse.csr_array:
        """Return :meth:`shares` of all samples, each times its sample weight, (n_samples, n_samples)."""
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


class LocalNearestPass(NearestPass):
    """A pass over dense rows by the threads of this process; parameters as in :class:`NearestPass`."""

    def __init__(self, table: Packed, neighborhood: Neighborhood, anchors: NDArray[np.bool_]) -> None:
        super().__init__(table, neighborhood, anchors, LocalSearch.of(table, neighborhood, anchors))
        self._margins = NeighborMargins(table, table.columns, neighborhood)

    def sums(self, report: Report = no_report, *, with_squares: bool = True) -> NDArray[np.float64]:
        """Return Σ s·z over the anchors, s their weights; ``with_squares`` also Σ s²z and Σ s²z²."""
        return self._margins.sums(self._search.neighbors(report), with_squares=with_squares)

    def sample_margins(
        self, report: Report = no_report, *, separate: bool = False, gaps: bool = False
    ) -> SampleMargins:
        """Return the margins of all samples; ``separate``: of hits and of misses; ``gaps`` on request."""
        return self._margins.sample_margins(self._search.neighbors(report), separate=separate, gaps=gaps)

    def margins_under(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j w_j·z_j of every sample; 0 if it is no anchor."""
        return self._margins.under(w, self._search.neighbors())

    def pairs(self, report: Report = no_report) -> NeighborPairs:
        """Return the nearest hits and misses of every anchor side by side."""
        return self._margins.pairs(self._search.neighbors(report))

    def target_differences(self, y: NDArray[np.float64], report: Report = no_report) -> TargetDifferences:
        """Return sums of differences between anchors and neighbors of targets y, and of features."""
        return self._margins.target_differences(y, self._search.neighbors(report))


# Hits and misses side by side, and distances between them.


def mean_gaps(table: Packed, columns: Columns, neighbors: Neighbors) -> NDArray[np.float64]:
    """Return E‖miss − hit‖₁ of every anchor over its neighbors by their shares, (n_anchors,)."""
    hit_owner, hit = neighbors.listed(HITS)
    miss_owner, miss = neighbors.listed(MISSES)
    n_misses = np.bincount(miss_owner, minlength=neighbors.anchors.size)
    first_miss = np.cumsum(n_misses) - n_misses
    gaps = np.zeros(neighbors.anchors.size)
    # Each hit is paired with all misses of its anchor.
    n_pairs = n_misses[hit_owner]
    for start, end in portions(n_pairs, limits.pairs_at_once):
        repeats = n_pairs[start:end]
        pair_hit = np.repeat(hit[start:end], repeats)
        owner = np.repeat(hit_owner[start:end], repeats)
        pair_miss = miss[first_miss[owner] + within_lists(repeats)]
        distances = distances_between(table, columns, neighbors.rows[pair_hit], neighbors.rows[pair_miss])
        shares = neighbors.shares[pair_hit] * neighbors.shares[pair_miss]
        gaps += np.bincount(owner, weights=shares * distances, minlength=gaps.size)
    return gaps


@dataclass(frozen=True)
class NeighborPairs:
    """The j-th nearest hit and the j-th nearest miss of every sample, where both exist.

    Ties are broken by the order of the samples.
    """

    #: (n_samples, n_pairs) indices of samples.
    hits: Indices
    misses: Indices
    #: (n_samples,) number of pairs.
    n_pairs: Indices
    #: (n_samples, n_pairs) ‖miss − hit‖₁.
    gaps: NDArray[np.float64]


def distances_between(table: Packed, columns: Columns, rows: Indices, others: Indices) -> NDArray[np.float64]:
    """Return scaled Manhattan distances of pairs of rows of the layout."""
    exact = np.zeros(rows.size)
    start = np.arange(rows.size).reshape(-1, 1)
    one, none = np.ones_like(start), np.zeros_like(start)
    ranges = even_ranges(rows.size, table.n_threads)
    for array, first, which in columns.blocks():
        block = (array, first, columns.factors[which], nearest.MANHATTAN, table.sample_of_row, rows)

        def measure(a: int, b: int, block: tuple[Any, ...] = block) -> None:
            nearest.add_exact(*block, a, b, start, one, none, others, exact)

        run_all(measure, ranges, table.n_threads)
        del array, block, measure  # free the block before the next is copied
    if table.missing is not None:
        table.missing.add_to_pairs(rows, others, np.ones(table.missing.features.size), exact)
        np.maximum(exact, 0.0, out=exact)
    return exact


def _in_order(
    table: Packed, columns: Columns, neighbors: Neighbors, slot: int
) -> tuple[Indices, Indices, Indices]:
    """Sort the neighbors in a slot by distance: return their anchors, ranks from 0 on, and rows."""
    owner, place = neighbors.listed(slot)
    rows = neighbors.rows[place]
    distance = distances_between(table, columns, neighbors.anchors[owner], rows)
    order = np.lexsort((distance, owner))
    owner, rows, distance = owner[order], rows[order], distance[order]
    # Distances that differ by rounding are tied.
    farther = np.diff(distance, prepend=0.0) > table.tie_tolerance * distance
    order = np.lexsort((table.sample_of_row[rows], np.cumsum(farther), owner))
    rank = within_lists(np.bincount(owner, minlength=neighbors.anchors.size))
    return owner, rank, rows[order]
