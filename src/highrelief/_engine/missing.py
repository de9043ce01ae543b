"""Missing values: the expectation of differences to them, without imputation.

A missing value of a numeric feature may be any observed one: its difference to x is E|x − V|, that of two
missing values is E|V − V'|, with V and V' drawn from the observed values with their sample weights. In memory
the smallest observed value replaces a missing one, so that every kernel can process the table; the *excess*,
by which differences are then off, is added as a correction (:mod:`.._kernels.missing`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._kernels import missing as missing_kernels
from .._kernels import packing
from .._kernels.missing import excess_of_columns
from . import arrays
from .cached_property import cached_property
from .limits import limits
from .scaling import ColumnRanges, MissingMask, Scaling, writable_view
from .threads import even_ranges, run_all

#: Ranges beyond two to this power, or below its inverse, have squares that could overflow or vanish.
_USUAL_EXPONENT = 40
#: Largest exponent of weighted sums over pairs: a few of them can be added without overflow.
_LARGEST_EXPONENT = 1000


class MissingValues:
    """Missing values of the rows of a layout, and the excess of their differences.

    Parameters
    ----------
    missing_mask : MissingMask
        Which values of the table are missing.
    X : (n_samples, n_features) float32 or float64
        The table, with the smallest value of the column in place of missing ones.
    scaling : Scaling
        Of the features.
    sample_of_row : (n_rows,) int64
        The row of the table at each row of the layout, or ``PADDING``.
    sample_weight : (n_samples,) float64 or None
        Sample weights; None: 1.
    n_threads : int
        Number of threads.
    owner : (n_columns,) int64 or None
        The feature that each column of the table belongs to; None: itself.
    ranges : ColumnRanges or None
        Of the columns, if known.
    root_unit : float or None
        See the attribute; None: it follows from the ranges.
    """

    def __init__(
        self,
        missing_mask: MissingMask,
        X: NDArray[np.floating],
        scaling: Scaling,
        sample_of_row: NDArray[np.int64],
        *,
        sample_weight: NDArray[np.float64] | None = None,
        n_threads: int = 1,
        owner: NDArray[np.int64] | None = None,
        ranges: ColumnRanges | None = None,
        root_unit: float | None = None,
    ) -> None:
        self._known_ranges, self._known_root_unit = ranges, root_unit
        self._missing_mask, self._X, self._scaling, self._sample_weight = (
            missing_mask,
            X,
            scaling,
            sample_weight,
        )
        self.n_threads = n_threads
        #: (n_incomplete,) features with missing values, and their columns.
        self.features = missing_mask.features if owner is None else owner[missing_mask.features]
        self._columns = missing_mask.features
        self._row_of = np.empty(X.shape[0], np.int64)
        sample_rows = np.flatnonzero(sample_of_row != packing.PADDING)
        self._row_of[sample_of_row[sample_rows]] = sample_rows
        count = np.zeros(sample_of_row.size, np.int64)
        count[sample_rows] = np.diff(missing_mask.start)[sample_of_row[sample_rows]]
        #: Missing values of each row, as indices into ``features``.
        self.start = np.concatenate([[0], np.cumsum(count)])
        self.which = missing_mask.of_samples(sample_of_row[sample_rows]).which
        self._n_chunks = -(-sample_of_row.size // missing_kernels.CHUNK)
        #: Set of expectations of each row, and the number of sets.
        self.set_of = np.zeros(sample_of_row.size, np.int64)
        self.n_sets = 1
        self._rounded: dict[bool, NDArray[np.floating]] = {}

    @cached_property
    def excess(self) -> NDArray[np.floating]:
        """Amount by which |x − x'| is too small if one value is missing, in scaled units."""
        shape = (1, self._n_chunks, self.features.size, missing_kernels.CHUNK)
        excess = arrays.empty(shape, self._X.dtype)
        n_samples = self._row_of.size
        find, sample_weight = excess_of_columns, np.empty(0)
        if self._sample_weight is not None:
            sample_weight = self._sample_weight
        if n_samples > limits.max_network_samples:
            find = missing_kernels.excess_in_order
            sample_weight = np.ones(n_samples) if self._sample_weight is None else sample_weight
            # For padding rows, which the network clears itself.
            excess.fill(0)
        X, low, per_unit = self._values, self._low, self._per_unit
        down = self._exponents
        if down.any():
            X, low = np.ldexp(X, -down), np.ldexp(low, -down)
            per_unit = np.ldexp(per_unit, down[self._columns])
        by = (per_unit, sample_weight, self._row_of, excess[0])

        def of_features(a: int, b: int) -> None:
            find(X, self._columns, a, b, low, self._missing_mask.start, self._missing_mask.which, *by)

        run_all(of_features, self._blocks(), self.n_threads)
        return excess

    @cached_property
    def _values(self) -> NDArray[np.floating]:
        """The table in units in which no range overflows."""
        return writable_view(self._X) if self._scaling.unit is None else self._X * self._scaling.unit

    @cached_property
    def _ranges(self) -> ColumnRanges:
        known = self._known_ranges
        return ColumnRanges.of(self._X, self.n_threads) if known is None else known

    @cached_property
    def _low(self) -> NDArray[np.floating]:
        """Smallest values of all columns."""
        low = self._ranges.low
        return low if self._scaling.unit is None else low * self._scaling.unit

    @property
    def _exponents(self) -> NDArray[np.int64]:
        """Powers of 2 by which the columns are divided, so that weighted sums over pairs do not overflow."""
        high = self._ranges.high if self._scaling.unit is None else self._ranges.high * self._scaling.unit
        total = 0.0 if self._sample_weight is None else self._sample_weight.sum()
        # Halves: the difference of two large numbers may overflow.
        _, width = np.frexp(high.astype(np.float64) / 2.0 - self._low.astype(np.float64) / 2.0)
        _, weight_exponent = np.frexp(max(total, float(self._row_of.size)))
        return np.maximum(width.astype(np.int64) + 2 * weight_exponent - _LARGEST_EXPONENT, 0)

    @cached_property
    def _per_unit(self) -> NDArray[np.float64]:
        """Factor of a difference of values, for the incomplete columns."""
        return 1.0 / self._scaling.divisor[self._columns].astype(np.float64)

    @cached_property
    def root_unit(self) -> float:
        """A power of 2 whose square is the unit of :attr:`squared_excess`; 1 for ordinary ranges."""
        if self._known_root_unit is not None:
            return self._known_root_unit
        exponent = int(np.frexp(self._widths.max(initial=0.0))[1])
        return float(np.ldexp(1.0, exponent)) if abs(exponent) > _USUAL_EXPONENT else 1.0

    @cached_property
    def squared_excess(self) -> NDArray[np.floating]:
        """Excess of (x − x')²: E(x − V)² for one missing value, E(V − V')² for two."""
        shape = (1, self._n_chunks, self.features.size, missing_kernels.CHUNK)
        excess = packing.aligned_zeros(shape, self._X.dtype)
        sample_weight = np.ones(self._row_of.size) if self._sample_weight is None else self._sample_weight
        by_row = np.zeros((self.features.size, self._n_chunks * missing_kernels.CHUNK))
        for a, b in self._blocks():
            values, missing = self._scaled(a, b) / self.root_unit, self._missing_mask.mask(a, b)
            values = values.astype(np.float64)
            weights = np.where(missing, 0.0, sample_weight)
            whole = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            mean = (weights * values).sum(axis=1, keepdims=True) / whole
            variance = (weights * (values - mean) ** 2).sum(axis=1, keepdims=True) / whole
            # E(x − V)² − x², and half of E(V − V')².
            found = np.where(missing, variance, variance + mean * (mean - 2.0 * values))
            by_row[a:b, self._row_of] = found
        chunks = by_row.reshape(self.features.size, self._n_chunks, missing_kernels.CHUNK)
        excess[0] = chunks.transpose(1, 0, 2)
        return excess

    @property
    def parts(self) -> list[MissingValues]:
        """Missing values by kind of feature: here one kind."""
        return [self]

    @property
    def n_rows(self) -> int:
        """Number of rows of the layout."""
        return self.start.size - 1

    def rounding(self, squared: bool) -> NDArray[np.float64]:
        """Return the error bound of the correction of each row if all factors are 1, (n_rows,)."""
        # No excess exceeds the range.
        most = self._spans(squared)
        n_missing, largest = np.diff(self.start), np.empty(self.n_rows)
        missing_kernels.sum_listed(self.start, self.which, most, largest)
        # Each term has one rounding error of its own and some from its computation, of at most eps/2 each.
        return (n_missing.max() + 16.0) * 0.5 * float(np.finfo(np.float32).eps) * largest

    def _single(self, squared: bool) -> NDArray[np.floating]:
        """Return the excess in float32, if its range suffices."""
        excess = self.squared_excess if squared else self.excess
        if excess.dtype == np.float32 or (self.root_unit != 1.0 and not squared):
            return excess
        if squared not in self._rounded:
            self._rounded[squared] = arrays.empty(excess.shape, np.float32)
            np.copyto(self._rounded[squared], excess, casting="same_kind")
        return self._rounded[squared]

    def _spans(self, squared: bool) -> NDArray[np.float64]:
        """Return the ranges of the scaled features, or their squares in the unit of the excess."""
        return (self._widths / self.root_unit) ** 2 if squared else self._widths

    @cached_property
    def _widths(self) -> NDArray[np.float64]:
        high, low = self._ranges.high[self._columns], self._low[self._columns]
        if self._scaling.unit is not None:
            high = high * self._scaling.unit[self._columns]
        return (high.astype(np.float64) - low) * self._per_unit

    def correction_blocks(
        self,
        rows: NDArray[np.int64],
        chunks: tuple[int, int],
        squared: bool = False,
        *,
        others: NDArray[np.int64] | None = None,
    ) -> NDArray[np.floating]:
        """Return corrections c(a, b) of rows a to the rows b of some chunks, (n_chunks, n_rows, CHUNK).

        c(a, b) is the sum of the excess over the values missing from a; the expected distance of a and b is
        the distance in memory plus c(a, b) + c(b, a). In float32, if its range suffices. ``others``: rows b,
        instead of those of the chunks.
        """
        excess = self._single(squared)
        if others is not None:
            excess, chunks = _of_rows(excess, others), (0, -(-others.size // missing_kernels.CHUNK))
        out = arrays.empty((chunks[1] - chunks[0], rows.size, missing_kernels.CHUNK), excess.dtype)

        def of_chunk(c: int) -> None:
            missing_kernels.fill_corrections(
                rows, chunks[0] + c, self.start, self.which, self.set_of, excess, out[c]
            )

        run_all(of_chunk, [(c,) for c in range(len(out))], self.n_threads)
        return out

    def add_to_pairs(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        factors: NDArray[np.float64],
        distances: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add the corrections c(a, b) + c(b, a) to the distances of pairs."""
        excess = self.squared_excess if squared else self.excess

        def of_pairs(a: int, b: int) -> None:
            missing_kernels.add_pair_corrections(
                rows, others, a, b, self.start, self.which, factors, self.set_of, excess, distances
            )

        run_all(of_pairs, even_ranges(rows.size, 16), self.n_threads)

    def pair_sums(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        squared: bool = False,
    ) -> NDArray[np.float64]:
        """Return Σ coefficient·(excess of a pair) over listed pairs, (n_incomplete,)."""
        excess = self.squared_excess if squared else self.excess
        n_rows = self.start.size - 1
        dense = self.which.size * n_rows / limits.values_per_access
        listed = 2.0 * rows.size * self.which.size / max(1, n_rows)
        if listed < dense:
            return self._listed_sums(rows, others, coefficients, excess)
        # The value may be missing from either.
        rows, others = np.concatenate([rows, others]), np.concatenate([others, rows])
        coefficients = np.concatenate([coefficients, coefficients]).astype(excess.dtype)
        chunk_of = others // missing_kernels.CHUNK
        order = np.argsort(chunk_of.astype(np.uint16) if n_rows < 2**22 else chunk_of, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(chunk_of, minlength=self._n_chunks))])
        lists = self._members

        def of_chunks(a: int, b: int) -> NDArray[np.float64]:
            found = np.zeros(self.features.size)
            C = packing.aligned_zeros((n_rows, missing_kernels.CHUNK), excess.dtype)
            for c in range(a, b):
                at = (order, starts[c], starts[c + 1], C)
                missing_kernels.scatter_coefficients(rows, others, coefficients, *at)
                missing_kernels.sum_corrections(c, C, *lists, excess, found)
                missing_kernels.clear_coefficients(rows, others, *at)
            return found

        return self._added(of_chunks, even_ranges(self._n_chunks, limits.missing_sums))

    def add_to_rows(
        self,
        owners: NDArray[np.int64],
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        out: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add coefficient·(excess of a pair) to the row of ``out`` that owns it; columns are features.

        ``owners`` are sorted.
        """
        excess = self.squared_excess if squared else self.excess
        borders = np.searchsorted(owners, [a for a, _ in even_ranges(len(out), 16)] + [len(out)])

        def of_pairs(a: int, b: int) -> None:
            lists = (self.start, self.which, self.features, self.set_of)
            missing_kernels.add_pair_excess(owners, rows, others, coefficients, a, b, *lists, excess, out)

        run_all(of_pairs, list(pairwise(borders.tolist())), self.n_threads)

    def _listed_sums(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        excess: NDArray[np.floating],
    ) -> NDArray[np.float64]:
        owners, places = np.zeros(rows.size, np.int64), np.arange(self.features.size)

        def of_pairs(a: int, b: int) -> NDArray[np.float64]:
            found = np.zeros((1, self.features.size))
            lists = (self.start, self.which, places, self.set_of)
            missing_kernels.add_pair_excess(owners, rows, others, coefficients, a, b, *lists, excess, found)
            return found[0]

        return self._added(of_pairs, even_ranges(rows.size, limits.missing_sums))

    def _added(
        self, part: Callable[..., NDArray[np.float64]], parts: list[tuple[int, int]]
    ) -> NDArray[np.float64]:
        """Return the sum of partial sums, in their order."""
        total = np.zeros(self.features.size)
        for found in run_all(part, parts, self.n_threads):
            total += found
        return total

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows from which a feature is missing, by set: where each list begins, and the lists."""
        first = np.zeros(self.n_sets * self.features.size + 1, np.int64)
        members = np.empty(self.which.size, np.int64)
        missing_kernels.list_members(self.start, self.which, self.set_of, self.features.size, first, members)
        return first, members

    def _scaled(self, a: int, b: int) -> NDArray[np.floating]:
        """Return the scaled values of some features minus their minimum, (b − a, n_samples)."""
        features = self._columns[a:b]
        X = np.ascontiguousarray(self._X[:, features].T)
        scaling = self._scaling.of(features)
        if scaling.unit is not None:
            X *= scaling.unit[:, np.newaxis]
        low = X.min(axis=1, keepdims=True)
        X -= low
        X /= scaling.divisor[:, np.newaxis]
        return X

    def _blocks(self) -> list[tuple[int, int]]:
        n_features, n_samples = self.features.size, self._row_of.size
        return even_ranges(n_features, max(1, -(-n_features * n_samples // limits.excess_values)))


def _of_rows(excess: NDArray[np.floating], rows: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return the excess of some rows only, in chunks of their own."""
    chunk = missing_kernels.CHUNK
    n_sets, _, n_features, _ = excess.shape
    n_chunks = -(-rows.size // chunk)
    chosen = np.zeros((n_chunks * chunk, n_sets, n_features), excess.dtype)
    chosen[: rows.size] = excess[:, rows // chunk, :, rows % chunk]
    out = packing.aligned_empty((n_sets, n_chunks, n_features, chunk), excess.dtype)
    np.copyto(out, chosen.reshape(n_chunks, chunk, n_sets, n_features).transpose(2, 0, 3, 1))
    return out


# Numeric and categorical features together


class MixedMissingValues:
    """Missing values of numeric and of categorical features; see :class:`MissingValues`.

    Parameters
    ----------
    parts : list of MissingValues
        Missing values of the numeric, and of the categorical features.
    """

    def __init__(self, parts: list[MissingValues]) -> None:
        #: Missing values of the numeric, and of the categorical features.
        self.parts = parts
        self.n_threads = parts[0].n_threads
        self.features = np.concatenate([part.features for part in parts])
        borders = np.cumsum([0, *(part.features.size for part in parts)])
        self._slices = [slice(a, b) for a, b in pairwise(borders)]

    @property
    def n_rows(self) -> int:
        """Number of rows of the layout."""
        return self.parts[0].n_rows

    @property
    def root_unit(self) -> float:
        """A power of 2 whose square is the unit of a squared excess."""
        return max(part.root_unit for part in self.parts)

    def _unit(self, part: MissingValues, squared: bool) -> float:
        return (part.root_unit / self.root_unit) ** 2 if squared else 1.0

    def rounding(self, squared: bool) -> NDArray[np.float64]:
        """Return the error bound of the correction of each row, (n_rows,)."""
        return sum(
            (part.rounding(squared) * self._unit(part, squared) for part in self.parts),
            start=np.zeros(self.n_rows),
        )

    def correction_blocks(
        self,
        rows: NDArray[np.int64],
        chunks: tuple[int, int],
        squared: bool = False,
        *,
        others: NDArray[np.int64] | None = None,
    ) -> NDArray[np.floating]:
        """Return corrections c(a, b) of rows a to the rows b of some chunks, (n_chunks, n_rows, CHUNK)."""
        total = None
        for part in self.parts:
            found = part.correction_blocks(rows, chunks, squared, others=others)
            found *= found.dtype.type(self._unit(part, squared))
            total = found if total is None else total + found
        assert total is not None
        return total

    def add_to_pairs(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        factors: NDArray[np.float64],
        distances: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add the corrections c(a, b) + c(b, a) to the distances of pairs."""
        for part, of in zip(self.parts, self._slices, strict=True):
            part.add_to_pairs(rows, others, factors[of] * self._unit(part, squared), distances, squared)

    def pair_sums(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        squared: bool = False,
    ) -> NDArray[np.float64]:
        """Return Σ coefficient·(excess of a pair) over listed pairs, (n_incomplete,)."""
        found = [
            part.pair_sums(rows, others, coefficients, squared) * self._unit(part, squared)
            for part in self.parts
        ]
        return np.concatenate(found)

    def add_to_rows(
        self,
        owners: NDArray[np.int64],
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        out: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add coefficient·(excess of a pair) to the row of ``out`` that owns it; columns are features."""
        for part in self.parts:
            scaled = coefficients * self._unit(part, squared)
            part.add_to_rows(owners, rows, others, scaled, out, squared)
