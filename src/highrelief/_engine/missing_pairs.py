"""Corrections for missing values in distances of pairs of rows and in sums over them.

Adds E|x − V| − |x − low| (see :mod:`.missing`) to weighted distances and to Σ c·|x − x'|, for the pair
sources of :mod:`.soft` and :mod:`.radius`, to the distances of :mod:`.search`, and to those of new samples
from fitted ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._kernels import missing as missing_kernels
from .._kernels import packing
from .._kernels.missing import CHUNK
from .arrays import entries_of
from .cached_property import cached_property
from .columns import Columns
from .distances import Distances, Range
from .layout import LabeledTable, Layout, sum_in_order
from .missing import MissingValues, MixedMissingValues
from .neighbors import ErrorBound, Neighbors
from .quantized import LEVEL_TOLERANCE, QuantizedDistances
from .threads import even_ranges, run_all

Places = NDArray[np.int64]
#: start, which, place, factors, excess: see :func:`.._kernels.missing.add_products`.
CorrectionArrays = tuple[Places, Places, Places, NDArray[np.floating], NDArray[np.floating]]


class MissingCorrection:
    """Correction of weighted distances, and of sums over pairs, for missing values.

    Duplicates of a row with missing values are not equal: each may have other values there.

    Parameters
    ----------
    layout : Layout
        The rows.
    missing : MissingValues, MixedMissingValues or None
        Their missing values.
    n_features : int
        Number of features.
    dtype : dtype
        Type of the values.
    """

    def __init__(
        self,
        layout: Layout,
        missing: MissingValues | MixedMissingValues | None,
        n_features: int,
        dtype: np.dtype[Any],
    ) -> None:
        self._layout, self._n_features, self._dtype = layout, n_features, dtype
        if missing is None:
            self.features = self._which = self._rows = np.empty(0, np.int64)
            self._start = np.zeros(layout.n_rows + 1, np.int64)
            self._excess = packing.aligned_zeros((0, 0, CHUNK), dtype)
        else:
            # Numeric features only: their expectations do not depend on classes.
            assert isinstance(missing, MissingValues)
            assert missing.n_sets == 1
            self.features, self._start, self._which = missing.features, missing.start, missing.which
            self._excess = missing.excess[0]
            self._rows = np.repeat(np.arange(layout.n_rows), np.diff(self._start))
        self._by_chunk = listed_by_chunk(self._rows, self._which, layout.n_rows)
        own_excess = self._excess[self._rows // CHUNK, self._which, self._rows % CHUNK]
        #: E|V − V'| of every value that is missing.
        self._between_duplicates = 2.0 * own_excess.astype(np.float64)

    @classmethod
    def of(cls, table: LabeledTable, *, ignored: bool = False) -> Self:
        """Return the correction of a table; ``ignored``: an empty one, as if no value were missing."""
        return cls(table, None if ignored else table.missing, table.n_features, table.dtype)

    @property
    def any(self) -> bool:
        """Whether values are missing."""
        return self._which.size > 0

    def under(self, w: NDArray[np.float64]) -> CorrectionArrays:
        """Return the correction of distances under weights w, as the kernels read it."""
        return *self._by_chunk, w[self.features].astype(self._dtype), self._excess

    def between_duplicates(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance between two duplicates of every row under weights w, (n_rows,)."""
        return self._by_row(self._between_duplicates * w[self.features][self._which])

    def between_own_duplicates(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_n factors[n]·E|V − V'| of every incomplete feature over the rows it is missing from."""
        terms = factors[self._rows] * self._between_duplicates
        return _sums_at(self._which, terms, self.features.size)

    def add_between_duplicates(
        self, own: NDArray[np.float64], features: NDArray[np.int64], Z: NDArray[np.float64]
    ) -> None:
        """Add own[n]·E|V − V'| to Z[n] if a feature is missing from row n; columns of Z: ``features``."""
        columns = self._columns_of(features)[self._which]
        selected = columns >= 0
        rows = self._rows[selected]
        Z[rows, columns[selected]] += own[rows] * self._between_duplicates[selected]

    def sums(
        self,
        S: NDArray[np.floating],
        parts: list[tuple[int, int]],
        features: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the correction of Σ over pairs of coefficient·|x − x'| for some features, 0 for others.

        Computed from the coefficients S, with one partial sum per range of ``parts``; (n_incomplete,).
        """
        requested = np.zeros(self._n_features, dtype=bool)
        requested[features] = True
        correction = self.under(np.zeros(self._n_features))

        def of_tiles(a: int, b: int) -> NDArray[np.float64]:
            found = np.zeros(self.features.size)
            missing_kernels.add_correction_products(
                correction, requested[self.features], S, self._layout.n_rows, a, b, found
            )
            return found

        if not self.any:
            return np.zeros(0)
        return sum_in_order(run_all(of_tiles, parts, self._layout.n_threads))

    def added_to(
        self, sums: NDArray[np.float64], correction_sums: NDArray[np.float64], own: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the sums of all features plus their corrections, those between duplicates included."""
        if self.any:
            sums[self.features] += (
                correction_sums if own is None else correction_sums + self.between_own_duplicates(own)
            )
        return sums

    def add_to_columns(
        self, correction: CorrectionArrays, anchors: NDArray[np.int64], columns: NDArray[np.floating]
    ) -> None:
        """Add a correction (see :meth:`under`) to the distances of all rows to at most 64 of them."""
        if not self.any:
            return
        count = np.diff(self._start)[anchors]
        places, entries = entries_of(self._start[anchors], count)
        _, which, place = listed_by_chunk(places, self._which[entries], CHUNK)
        excess = np.zeros((self.features.size, CHUNK), self._excess.dtype)
        excess[:, : anchors.size] = self._excess[anchors // CHUNK, :, anchors % CHUNK].T
        missing_kernels.add_column_correction(correction, which, place, excess, columns)

    def of_features(self, features: NDArray[np.int64]) -> tuple[Places, Places, Places, NDArray[np.floating]]:
        """Return start and list of each row's missing values, the column of each feature, and the excess."""
        columns = self._columns_of(features)
        selected = columns[self._which] >= 0
        before = np.concatenate([[0], np.cumsum(selected)])
        return before[self._start], self._which[selected], columns, self._excess

    def fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between rows with different missing values, (n_rows, 1)."""
        return self._by_row(np.cos(self.features[self._which] + 0.5))[:, np.newaxis]

    def _columns_of(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = np.full(self._n_features, -1)
        columns[features] = np.arange(features.size)
        return columns[self.features]

    def _by_row(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        return _sums_at(self._rows, terms, self._layout.n_rows)


def listed_by_chunk(rows: Places, which: Places, n_rows: int) -> tuple[Places, Places, Places]:
    """Return the start of each chunk's missing values, their features, sorted, and rows in the chunk."""
    n_chunks = -(-n_rows // CHUNK)
    chunk, place = np.divmod(rows, CHUNK)
    order = np.lexsort((place, which, chunk))
    start = np.searchsorted(chunk[order], np.arange(n_chunks + 1))
    return start, which[order], place[order]


def _sums_at(places: NDArray[np.int64], terms: NDArray[np.float64], n_places: int) -> NDArray[np.float64]:
    """Return the sum of the terms at each place."""
    return np.bincount(places, weights=terms, minlength=n_places).astype(np.float64, copy=False)


# Distances that select nearest neighbors


#: Steps per step of an integer grid, to which expectations are rounded.
_PARTS = 2.0**16
Missing = MissingValues | MixedMissingValues

#: Largest distance in steps.
_MOST_STEPS = 2.0**32 - 2.0**16


class _Piece(NamedTuple):
    """A part of the columns, and whether it is the last."""

    columns: Any
    last: bool


class ExpectedDistances(Distances):
    """Distances plus the expected contribution of missing values.

    E d(a, b) = d(a, b) + c(a, b) + c(b, a), with c(a, b) the correction of the values missing from a: a sum
    over these features, see :meth:`.missing.MissingValues.correction_blocks`.

    Parameters
    ----------
    base : Distances
        Distances with the smallest value of the column in place of a missing one.
    missing : MissingValues or MixedMissingValues
        Missing values of the table.
    columns : Columns
        The table.
    """

    exact = False

    def __init__(self, base: Distances, missing: Missing, columns: Columns) -> None:
        self._base, self._missing, self._columns = base, missing, columns
        self.as_float, self.squares, self._n_threads = base.as_float, base.squares, missing.n_threads
        #: Steps per step of ``base``, and keys per unit of a scaled feature.
        self._times, self._per_unit = 1.0, self._distance_unit
        if isinstance(base, QuantizedDistances):
            if base.exact:
                longest = float(columns.spans.sum()) / base.plan.step
                self._times = max(1.0, min(_PARTS, np.floor(_MOST_STEPS / (1.0 + longest))))
            self._per_unit = self._times / base.plan.step

    @property
    def _distance_unit(self) -> float:
        """Factor from an excess, or a squared one, to the units of ``columns.distance_factors``."""
        unit = self._columns.distance_unit
        return (unit * self._missing.root_unit) ** 2 if self.squares else unit

    def error_bound(self) -> ErrorBound:
        """Return the error bound of the keys, after all columns were added."""
        base, rounding = self._base.error_bound(), self._missing.rounding(self.squares) * self._per_unit
        steps = 0.0 if self.as_float else 1.0
        absolute = self._times * base.absolute + rounding + rounding.max() + steps
        # Levels are equally spaced up to a tolerance only.
        relative = LEVEL_TOLERANCE if base.exact else base.relative + (2.0**-23 if self.as_float else 0.0)
        return ErrorBound(self.as_float, False, absolute, relative)

    def describe(self) -> dict[str, Any]:
        """Return the choices that were made, for ``execution_``."""
        return self._base.describe() | {"n_incomplete_features": int(self._missing.features.size)}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Return parts of the columns, (index, number of parts), of about this many bytes each."""
        return self._base.pieces(most_bytes)

    def piece(self, part: int, n_parts: int) -> _Piece:
        """Return the columns of one part in the form that the distances need."""
        return _Piece(self._base.piece(part, n_parts), part == n_parts - 1)

    def add_tiles(
        self,
        piece: _Piece,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        D_transposed: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others to D, and transposed; D is both for equal ranges."""
        self._base.add_tiles(piece.columns, rows, others, D, D_transposed, add=add)
        if not piece.last:
            return
        own = self._correction(rows, others)
        other = own if rows == others else self._correction(others, rows)
        self._add(D, rows[1] - rows[0], others[1] - others[0], own, other)
        if rows != others:
            self._add(D_transposed, others[1] - others[0], rows[1] - rows[0], other, own)

    def fill_rows(
        self, piece: _Piece, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all rows."""
        self._base.fill_rows(piece.columns, rows, D, add=add)
        if piece.last:
            missing, n_rows = self._missing, self._missing.n_rows
            own = missing.correction_blocks(rows, (0, -(-n_rows // CHUNK)), squared=self.squares)
            all_rows = np.arange(n_rows)
            other = missing.correction_blocks(all_rows, (0, 0), squared=self.squares, others=rows)
            self._add(D, rows.size, n_rows, own, other)

    def duplicate_keys(self, rows: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the keys of the expected distances between duplicates of each row."""
        total = np.zeros(rows.size)
        factors = np.full(self._missing.features.size, self._per_unit)
        self._missing.add_to_pairs(rows, rows, factors, total, self.squares)
        return total.astype(np.float32).view(np.uint32) if self.as_float else np.rint(total).astype(np.uint32)

    def measure(self, found: Neighbors, ranges: list[Range]) -> NDArray[np.float64]:
        """Return exact distances of the uncertain candidates, corrected for missing values."""
        exact = self._base.measure(found, ranges)
        owner, place = found.uncertain()
        distances = exact[place]
        factors = np.full(self._missing.features.size, self._distance_unit)
        self._missing.add_to_pairs(found.anchors[owner], found.rows[place], factors, distances, self.squares)
        exact[place] = np.maximum(distances, 0.0)
        return exact

    def _correction(self, rows: Range, others: Range) -> NDArray[np.floating]:
        chunks = others[0] // CHUNK, -(-others[1] // CHUNK)
        return self._missing.correction_blocks(np.arange(*rows), chunks, squared=self.squares)

    def _add(
        self,
        D: NDArray[np.uint32],
        n_rows: int,
        n_columns: int,
        own: NDArray[np.floating],
        other: NDArray[np.floating],
    ) -> None:
        def of_rows(a: int, b: int) -> None:
            if self.as_float:
                floats = D.view(np.float32)
                missing_kernels.add_to_floats(floats, a, b, n_columns, own, other, self._per_unit)
            else:
                missing_kernels.add_to_steps(D, a, b, n_columns, own, other, self._per_unit, self._times)

        run_all(of_rows, even_ranges(n_rows, 4 * self._n_threads, CHUNK), self._n_threads)


# New samples


class FittedExpectations:
    """Expected differences of new samples and fitted ones if values of either are missing.

    A missing value, of a fitted sample or of a new one, is distributed as the observed values of the fitted
    samples.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        The fitted samples, scaled, minimum 0; NaN where a value is missing.
    sample_of_row : (n_rows,) int64
        The sample at each row of the layout, or ``PADDING``.
    sample_weight : (n_rows,) float64
        Sample weight of each row; 0 for padding.
    w : (at least n_features,) float64
        Weights of the distance.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        sample_of_row: NDArray[np.int64],
        sample_weight: NDArray[np.float64],
        w: NDArray[np.float64],
    ) -> None:
        self._X, self._sample_of_row, self._sample_weight, self._w = (
            X,
            sample_of_row,
            sample_weight,
            w[: X.shape[1]],
        )
        self._is_sample = sample_of_row != packing.PADDING
        self._n_chunks = -(-sample_of_row.size // CHUNK)
        missing = np.isnan(X)
        #: By row of the layout; padding has no missing values.
        missing_rows = missing[sample_of_row] & self._is_sample[:, np.newaxis]
        rows, which = np.nonzero(missing_rows)
        self._missing_lists = listed_by_chunk(rows, which, sample_of_row.size)

    def correction(self, new: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
        """Return the correction of the distances of all rows to at most 64 new samples, (n_rows, n_columns).

        Distances use the smallest value in place of a missing one. Empty if no value is missing.
        """
        which, place = np.nonzero(np.isnan(new).T)
        fitted_missing = self._missing_lists[1].size > 0
        if not fitted_missing and which.size == 0:
            return np.empty((0, 0))
        n_features = new.shape[1]
        # Each side's excess is needed only if values are missing from the other.
        of_new, of_fitted = np.zeros((n_features, CHUNK)), np.empty((self._n_chunks, 0, CHUNK))
        if fitted_missing:
            missing_kernels.excess_at(np.ascontiguousarray(new.T), *self._observed, of_new)
        if which.size > 0:
            of_fitted = self._excess
        out = np.zeros((self._sample_weight.size, n_columns))
        missing_kernels.add_column_correction(
            (*self._missing_lists, self._w, of_fitted), which, place, of_new, out
        )
        return out

    @cached_property
    def _observed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sorted values of the features, and the probability of each for a missing value, (n_features, n)."""
        sample_weight = np.empty(len(self._X))
        sample_weight[self._sample_of_row[self._is_sample]] = self._sample_weight[self._is_sample]
        values = self._X.T
        order = np.argsort(values, axis=1, kind="stable")  # NaN comes last
        shares = np.where(np.isnan(values), 0.0, sample_weight)
        shares /= shares.sum(axis=1, keepdims=True)
        ordered = np.take_along_axis(values, order, axis=1)
        return np.nan_to_num(ordered, nan=0.0), np.take_along_axis(shares, order, axis=1)

    @cached_property
    def _excess(self) -> NDArray[np.float64]:
        """Excess if the value is missing from the new sample, by row of the layout."""
        rows = np.zeros((self._X.shape[1], self._n_chunks * CHUNK))
        rows[:, : self._sample_of_row.size] = self._X[self._sample_of_row].T
        found = np.empty_like(rows)
        missing_kernels.excess_at(rows, *self._observed, found)
        chunks = found.reshape(found.shape[0], self._n_chunks, CHUNK)
        return np.ascontiguousarray(chunks.transpose(1, 0, 2))
