"""What missing values add to passes over all pairs of rows under weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._kernels import missing as missing_kernels
from .._kernels import packing
from .._kernels.missing import CHUNK
from .arrays import entries_of
from .cached_property import cached_property
from .layout import Packed, sum_in_order
from .missing import MissingValues
from .threads import run_all

Places = NDArray[np.int64]
#: start, which, place, factors, excess: see :mod:`..kernels.incomplete`.
CorrectionArrays = tuple[Places, Places, Places, NDArray[np.floating], NDArray[np.floating]]


class MissingCorrection:
    """What the rows of a table lack, and what that adds to distances under weights, and to sums over pairs.

    Copies of a row that lacks values are not equal: each may have others.

    Parameters
    ----------
    table : Packed
        The rows.
    """

    def __init__(self, table: Packed) -> None:
        self._table = table
        missing = table.missing
        if missing is None:
            self.features = self._which = self._rows = np.empty(0, np.int64)
            self._start = np.zeros(table.n_rows + 1, np.int64)
            self._excess = packing.aligned_zeros((0, 0, CHUNK), table.dtype)
        else:
            # Of numbers: what is expected of them does not depend on classes.
            assert isinstance(missing, MissingValues)
            self.features, self._start, self._which = missing.features, missing.start, missing.which
            self._excess = missing.excess[0]
            self._rows = np.repeat(np.arange(table.n_rows), np.diff(self._start))
        self._by_chunk = listed_by_chunk(self._rows, self._which, table.n_rows)
        #: E|V − V'| of every value that is missing.
        self._between_duplicates = 2.0 * self._of_pairs(self._rows).astype(np.float64)
        self.put_under(np.zeros(table.n_features))

    @property
    def any(self) -> bool:
        """Whether something is missing."""
        return self._which.size > 0

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Take these weights from now on."""
        factors = w[self.features]
        #: For the kernels.
        self.arrays: CorrectionArrays = (*self._by_chunk, factors.astype(self._table.dtype), self._excess)
        #: (n_rows,) how far two copies of a row are from each other.
        self.between_duplicates = self._by_row(self._between_duplicates * factors[self._which])

    def between_own_duplicates(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_n factors[n]·E|V − V'|, of every incomplete feature over the rows n that lack it."""
        terms = factors[self._rows] * self._between_duplicates
        return _sums_at(self._which, terms, self.features.size)

    def add_between_duplicates(
        self, own: NDArray[np.float64], features: NDArray[np.int64], Z: NDArray[np.float64]
    ) -> None:
        """Add own[n]·E|V − V'| to Z[n] where row n lacks a feature; the columns of Z are some of them."""
        columns = self._columns_of(features)[self._which]
        kept = columns >= 0
        rows = self._rows[kept]
        Z[rows, columns[kept]] += own[rows] * self._between_duplicates[kept]

    def sums(
        self,
        S: NDArray[np.floating],
        parts: list[tuple[int, int]],
        features: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """What missing values add to Σ over pairs of coefficient·|x − x'|: for all features, 0 if unwanted.

        From the coefficients S, summed by the same parts of the tiles as the rest; (n_incomplete,).
        """
        wanted = np.zeros(self._table.n_features, dtype=bool)
        wanted[features] = True

        def of_tiles(a: int, b: int) -> NDArray[np.float64]:
            found = np.zeros(self.features.size)
            missing_kernels.add_correction_products(
                self.arrays, wanted[self.features], S, self._table.n_rows, a, b, found
            )
            return found

        if not self.any:
            return np.zeros(0)
        return sum_in_order(run_all(of_tiles, parts, self._table.n_threads))

    def added_to(
        self, sums: NDArray[np.float64], correction_sums: NDArray[np.float64], own: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Sums of all features with what missing values add, and what copies of a row add to each other."""
        if self.any:
            sums[self.features] += (
                correction_sums if own is None else correction_sums + self.between_own_duplicates(own)
            )
        return sums

    def add_to_columns(self, anchors: NDArray[np.int64], columns: NDArray[np.floating]) -> None:
        """Add what is missing to the distances of all rows to at most 64 of them."""
        if not self.any:
            return
        count = np.diff(self._start)[anchors]
        places, entries = entries_of(self._start[anchors], count)
        _, which, place = listed_by_chunk(places, self._which[entries], CHUNK)
        excess = np.zeros((self.features.size, CHUNK), self._excess.dtype)
        excess[:, : anchors.size] = self._excess[anchors // CHUNK, :, anchors % CHUNK].T
        missing_kernels.add_column_correction(self.arrays, which, place, excess, columns)

    def of_features(self, features: NDArray[np.int64]) -> tuple[Places, Places, Places, NDArray[np.floating]]:
        """What each row lacks of some features, the place of incomplete features among these, and excess."""
        columns = self._columns_of(features)
        kept = columns[self._which] >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return before[self._start], self._which[kept], columns, self._excess

    def content(self) -> NDArray[np.float64]:
        """What tells apart rows that lack other features, (n_rows, 1)."""
        return self._by_row(np.cos(self.features[self._which] + 0.5))[:, np.newaxis]

    def _columns_of(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = np.full(self._table.n_features, -1)
        columns[features] = np.arange(features.size)
        return columns[self.features]

    def _of_pairs(self, others: NDArray[np.int64]) -> NDArray[np.floating]:
        return self._excess[others // CHUNK, self._which, others % CHUNK]

    def _by_row(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        return _sums_at(self._rows, terms, self._table.n_rows)


def listed_by_chunk(rows: Places, which: Places, n_rows: int) -> tuple[Places, Places, Places]:
    """Where what each chunk lacks begins; the features, in order, and the place of the row in its chunk."""
    n_chunks = -(-n_rows // CHUNK)
    chunk, place = np.divmod(rows, CHUNK)
    order = np.lexsort((place, which, chunk))
    start = np.searchsorted(chunk[order], np.arange(n_chunks + 1))
    return start, which[order], place[order]


def _sums_at(places: NDArray[np.int64], terms: NDArray[np.float64], n_places: int) -> NDArray[np.float64]:
    """The sum of the terms at each place."""
    return np.bincount(places, weights=terms, minlength=n_places).astype(np.float64, copy=False)


# What missing values add to the distances between fitted samples and new ones.


class FittedExpectations:
    """Expected differences of new samples and fitted ones where values of either are missing.

    A missing value may be any of those that the fitted samples have, as often as they have it, whether the
    sample without it is one of them or a new one.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        The fitted samples, scaled, from 0 on; NaN where a value is missing.
    position : (n_rows,) int64
        The sample at each row of the layout, or ``PADDING``.
    sample_weight : (n_rows,) float64
        How often each row counts; 0 for padding.
    w : (at least n_features,) float64
        Weights of the distance.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        position: NDArray[np.int64],
        sample_weight: NDArray[np.float64],
        w: NDArray[np.float64],
    ) -> None:
        self._X, self._position, self._sample_weight, self._w = X, position, sample_weight, w[: X.shape[1]]
        self._real = position != packing.PADDING
        self._n_chunks = -(-position.size // CHUNK)
        missing = np.isnan(X)
        #: Of every row of the layout; padding lacks nothing.
        correction_sums = missing[position] & self._real[:, np.newaxis]
        rows, which = np.nonzero(correction_sums)
        self._lacked = listed_by_chunk(rows, which, position.size)

    def correction(self, new: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
        """What to add to the distances of all rows to at most 64 new samples, in as many columns as wanted.

        As if the smallest value stood where one is missing; without entries if there is nothing to add.
        """
        which, place = np.nonzero(np.isnan(new).T)
        fitted_lack = self._lacked[1].size > 0
        if not fitted_lack and which.size == 0:
            return np.empty((0, 0))
        n_features = new.shape[1]
        # Of new samples only what fitted ones lack is asked for, and the other way round.
        of_new, of_fitted = np.zeros((n_features, CHUNK)), np.empty((self._n_chunks, 0, CHUNK))
        if fitted_lack:
            missing_kernels.excess_at(np.ascontiguousarray(new.T), *self._observed, of_new)
        if which.size > 0:
            of_fitted = self._excess
        out = np.zeros((self._sample_weight.size, n_columns))
        missing_kernels.add_column_correction((*self._lacked, self._w, of_fitted), which, place, of_new, out)
        return out

    @cached_property
    def _observed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of the features in order, and how likely a missing one is to be each, (n_features, n)."""
        sample_weight = np.empty(len(self._X))
        sample_weight[self._position[self._real]] = self._sample_weight[self._real]
        values = self._X.T
        order = np.argsort(values, axis=1, kind="stable")  # NaN comes last
        shares = np.where(np.isnan(values), 0.0, sample_weight)
        shares /= shares.sum(axis=1, keepdims=True)
        ordered = np.take_along_axis(values, order, axis=1)
        return np.nan_to_num(ordered, nan=0.0), np.take_along_axis(shares, order, axis=1)

    @cached_property
    def _excess(self) -> NDArray[np.float64]:
        """By how much a difference is too small where a new sample lacks the value, by row of the layout."""
        rows = np.zeros((self._X.shape[1], self._n_chunks * CHUNK))
        rows[:, : self._position.size] = self._X[self._position].T
        found = np.empty_like(rows)
        missing_kernels.excess_at(rows, *self._observed, found)
        chunks = found.reshape(found.shape[0], self._n_chunks, CHUNK)
        return np.ascontiguousarray(chunks.transpose(1, 0, 2))
