"""Margins at the nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import nearest
from .memory import check_room
from .neighbor_pairs import NeighborPairs, mean_gaps
from .neighbor_search import NeighborSearch, Report, nothing
from .neighborhood import HITS, METRICS, MISSES, Neighborhood, Neighbors
from .packed import Packed
from .threads import even_ranges, run_all

#: Differences that are added up before one partial sum is worth another.
_WORK_PER_PART = 1.6e7
#: Rows of which a few vectors of features fit the first cache.
_FEW_ROWS = 128
#: Anchors whose margins are held at a time where the squares of margins are wanted.
_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Compared:
    """Samples compared with their neighbours."""

    #: E|x − miss| − E|x − hit|, one row per sample; or E|x − hit| of all samples, then E|x − miss| of all.
    #: An array, or what multiplies like one where the table lies with workers.
    rows: Any
    #: E‖miss − hit‖₁ of every sample, if it was asked for.
    gaps: NDArray[np.float64]
    #: Which samples are anchors with a hit; the rows of the others are 0.
    counts: NDArray[np.bool_]


class NearestPass:
    """One pass over the nearest neighbours of the anchors.

    Parameters
    ----------
    table : Packed
        The rows.
    among : Neighborhood
        Which neighbours count.
    anchors : (n_rows,) bool
        Whose neighbours.
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
        """All neighbours with a share: whose they are, their rows, and shares: minus those of hits."""
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
        """Every anchor compared with its neighbours; ``gaps`` and what is kept ``apart`` on demand."""
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
        copies = table.unpacked(table.copies)
        owners, others, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        for samples, shares in self.shares(report):
            pairs = shares.tocoo()
            owners.append(samples[pairs.row])
            others.append(pairs.col)
            values.append(pairs.data * copies[samples[pairs.row]])
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
