"""Labeled tables as the kernels see them: the layout of the rows, and their scaled values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing
from .batches import BatchConstraint, MissingLevelsWithin, MissingValuesWithin
from .cached_property import cached_property
from .categories import Encoding, MissingLevels
from .columns import Columns, ColumnStatistics, ScaledColumns, SparseColumns, SparseTable, nearer_end
from .metrics import tie_tolerance
from .missing import MissingValues, MixedMissingValues
from .scaling import ColumnRanges, MissingMask, Scaling
from .threads import even_ranges

#: Partial sums are split by the shape of the data alone, so that their order, and hence every bit of a
#: result, is the same for any number of threads.
_MOST_PARTS = 64
_PARTIAL_SUMS_BYTES = 2**26


class Layout:
    """The order in which the kernels see the rows of a labeled table, with their weights; no values.

    Rows are sorted by class and padded to whole blocks of the kernels.

    Parameters
    ----------
    codes : (n_samples,) int
        Class codes 0 … n_classes − 1, each present.
    n_classes : int
        Number of classes.
    sample_weight : (n_samples,) float64, all > 0, or None
        Sample weights: a sample of weight 2 counts as two equal ones. None: 1.
    n_threads : int
        Number of threads.
    class_weights : (n_classes,) float64, all > 0, or None
        Factor of the samples of a class in sums over samples, and of the class as a miss. None: 1.
    batch_constraint : BatchConstraint or None
        Which samples may be neighbors. None: all.
    """

    def __init__(
        self,
        codes: NDArray[np.integer],
        n_classes: int,
        *,
        sample_weight: NDArray[np.float64] | None = None,
        n_threads: int = 1,
        class_weights: NDArray[np.float64] | None = None,
        batch_constraint: BatchConstraint | None = None,
    ) -> None:
        self.n_samples = codes.size
        self.n_classes = n_classes
        self.n_threads = n_threads
        self.has_sample_weight = sample_weight is not None
        self.sample_of_row, self.codes = self._laid_out(codes)
        self.is_sample = self.sample_of_row != packing.PADDING
        self.input_codes, self._input_sample_weight = codes, sample_weight
        self.sample_weight = np.zeros(self.n_rows)
        self.sample_weight[self.is_sample] = (
            1.0 if sample_weight is None else sample_weight[self.sample_of_row[self.is_sample]]
        )
        self.total_sample_weight = float(self.sample_weight.sum())
        of_classes = np.bincount(self.codes, weights=self.sample_weight, minlength=n_classes)
        self.priors = of_classes / self.total_sample_weight
        self.class_weights = None if class_weights is None else class_weights[:n_classes]
        self.batch_constraint = batch_constraint
        #: Factor of each row in a sum over samples.
        self.row_weights = (
            self.sample_weight if class_weights is None else self.sample_weight * class_weights[self.codes]
        )
        self.total_weight = (
            self.total_sample_weight if class_weights is None else float(self.row_weights.sum())
        )
        self.n_tiles = distances.n_tiles(self.n_rows)

    def _laid_out(self, codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sample of each row of the layout, or ``PADDING``, and its class."""
        return packing.class_layout(codes, self.n_classes)

    @cached_property
    def padding(self) -> NDArray[np.int64]:
        """Rows of the layout without a sample."""
        return np.flatnonzero(~self.is_sample)

    @cached_property
    def class_starts(self) -> NDArray[np.int64]:
        """First row of every class, and the end of the last."""
        return np.searchsorted(self.codes, np.arange(self.n_classes + 1))

    @property
    def n_rows(self) -> int:
        """Number of rows of the layout, padding included."""
        return self.sample_of_row.size

    @cached_property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of every class, whatever their weights."""
        return np.bincount(self.codes[self.is_sample], minlength=self.n_classes)

    @cached_property
    def has_hit(self) -> NDArray[np.bool_]:
        """Rows that have a hit: another row of their class, or a weight above 1."""
        if self.batch_constraint is not None:
            hits = self.n_available_rows[np.arange(self.n_rows), self.codes]
            # With a continuous target all samples are of one class, and there are no misses.
            misses = (self.n_available_rows.sum(axis=1) > hits) | (self.n_classes == 1)
            return self.is_sample & (hits > 0) & misses
        return self.is_sample & ((self.class_sizes[self.codes] > 1) | (self.sample_weight > 1.0))

    @cached_property
    def miss_factors(self) -> NDArray[np.float64]:
        """P(c)/(1 − P(y)) for anchors of a stratum, of class y (rows), and misses of class c (columns).

        Kononenko's factor; P(c)/(1 − P(c)), as Sun 2007 prints it in eq. (19), is not 1 for two classes. P is
        estimated among the samples that may be neighbors, with sample and class weights.
        """
        if self.batch_constraint is None:
            priors = self.priors
            if self.class_weights is not None:
                priors = priors * self.class_weights
                priors = priors / priors.sum()
            others = 1.0 - priors
            for c in np.flatnonzero(others <= 0.0):  # so small that rounding leaves nothing of them
                others[c] = np.delete(priors, c).sum()
            return np.tile(priors, (self.n_classes, 1)) / others[:, np.newaxis]
        amounts = self.batch_constraint.available_by_class(
            self.input_codes, self.n_classes, self._input_sample_weight
        )
        if self.class_weights is not None:
            amounts = amounts * self.class_weights
        by_class = np.repeat(amounts[np.newaxis], self.n_classes, axis=0)  # class, batch, class of misses
        of_misses = by_class.copy()
        of_misses[np.arange(self.n_classes), :, np.arange(self.n_classes)] = 0.0
        of_misses = of_misses.sum(axis=2, keepdims=True)
        factors = np.divide(by_class, of_misses, out=np.zeros_like(by_class), where=of_misses > 0.0)
        return factors.reshape(-1, self.n_classes)

    @property
    def within(self) -> bool:
        """Whether only rows of the same batch may be neighbors."""
        return self.batch_constraint is None or self.batch_constraint.within

    @cached_property
    def batches(self) -> NDArray[np.int64]:
        """Batch of every row, 0 for padding; no entries if there is no batch constraint."""
        if self.batch_constraint is None:
            return np.empty(0, np.int64)
        return np.where(self.is_sample, self.batch_constraint.batches[self.sample_of_row], 0)

    @cached_property
    def strata(self) -> NDArray[np.int64]:
        """Rows of :attr:`miss_factors` for every row: its class, or its class and batch."""
        return (
            self.codes
            if self.batch_constraint is None
            else self.codes * self.batch_constraint.n_batches + self.batches
        )

    @property
    def n_strata(self) -> int:
        """Number of rows of :attr:`miss_factors`."""
        return self.n_classes * (1 if self.batch_constraint is None else self.batch_constraint.n_batches)

    @cached_property
    def own_weight(self) -> NDArray[np.float64]:
        """Weight of every row among its own neighbors: its duplicates, itself included."""
        return self.sample_weight if self.within else np.minimum(self.sample_weight, 1.0)

    @cached_property
    def n_available_rows(self) -> NDArray[np.int64]:
        """Number of rows that may be neighbors of every row, by class; with a batch constraint only."""
        assert self.batch_constraint is not None
        found = self.batch_constraint.available_by_class(self.input_codes, self.n_classes)[
            self.batches
        ].astype(np.int64)
        if self.within:
            # A row of weight above 1 is a neighbor of itself.
            found[np.arange(self.n_rows), self.codes] -= self.sample_weight <= 1.0
        return found

    @cached_property
    def n_pairs(self) -> float:
        """Total weight of the ordered pairs that may be neighbors, a sample and itself included."""
        if self.batch_constraint is None:
            return self.total_sample_weight**2
        amounts = self.batch_constraint.available_by_class(
            self.input_codes, self.n_classes, self.input_sample_weight
        )
        return float(self.sample_weight @ amounts.sum(axis=1)[self.batches])

    @property
    def input_sample_weight(self) -> NDArray[np.float64]:
        """Sample weights in the order of the input."""
        return np.ones(self.n_samples) if self._input_sample_weight is None else self._input_sample_weight

    @cached_property
    def available_weight(self) -> NDArray[np.float64] | None:
        """Total weight of the possible neighbors of every row; None: all others."""
        if self.batch_constraint is None:
            return None
        amounts = self.batch_constraint.available_by_class(
            self.input_codes, self.n_classes, self.input_sample_weight
        )
        found = amounts.sum(axis=1)[self.batches]
        return np.maximum(found - np.minimum(self.sample_weight, 1.0), 0.0) if self.within else found

    @cached_property
    def row_of_sample(self) -> NDArray[np.int64]:
        """Row of the layout of every sample."""
        return self.unpacked(np.arange(self.n_rows))

    def laid_out(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return values by sample in the order of the rows; 0 for padding."""
        out = np.zeros((self.n_rows, *values.shape[1:]))
        out[self.row_of_sample] = values
        return out

    def unpacked(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return values by row of the layout in the order of the samples."""
        out = np.empty((self.n_samples, *rows.shape[1:]), dtype=rows.dtype)
        out[self.sample_of_row[self.is_sample]] = rows[self.is_sample]
        return out

    def pair_bytes(self, itemsize: int) -> float:
        """Return the bytes of one value per pair of rows, in tiles."""
        return float(self.n_tiles) * distances.TILE**2 * itemsize

    def pair_tiles(self, dtype: Any) -> NDArray[Any]:
        """Return zeros for one value per pair of rows, (n_tiles, TILE, TILE)."""
        return packing.aligned_zeros((self.n_tiles, distances.TILE, distances.TILE), dtype)

    def n_parts(self, width: int) -> int:
        """Return the number of partial sums, of ``width`` numbers each, of a sum."""
        return min(max(_PARTIAL_SUMS_BYTES // (8 * width), 4), _MOST_PARTS)

    def row_ranges(self, width: int = 1) -> list[tuple[int, int]]:
        """Return ranges of rows, each with a partial sum of ``width`` numbers."""
        return even_ranges(self.n_rows, self.n_parts(width), multiple=distances.TILE)


class LabeledTable(Layout, ABC):
    """A labeled table: the layout of its rows, and metadata of its features; a backend adds the values.

    Parameters
    ----------
    X : array, CSR matrix or Dask table of shape (n_samples, n_features)
        The table.
    codes, n_classes, **layout
        As in :class:`Layout`.
    scaling : Scaling
        Of the features.
    ranges : ColumnRanges or None
        Of the columns, if known.
    """

    #: The table.
    raw: Any
    #: Missing values; None if no value is missing.
    missing: MissingValues | MixedMissingValues | None = None
    #: The features that the columns belong to, if some are categorical. None: each column is a feature.
    encoding: Encoding | None = None

    def __init__(
        self,
        X: Any,
        codes: NDArray[np.integer],
        n_classes: int,
        *,
        scaling: Scaling,
        ranges: ColumnRanges | None = None,
        **layout: Any,
    ) -> None:
        super().__init__(codes, n_classes, **layout)
        self.raw, self.n_features = X, X.shape[1]
        self.dtype: np.dtype[Any] = X.dtype
        self.scaling, self.ranges = scaling, ranges

    @property
    @abstractmethod
    def columns(self) -> ColumnStatistics:
        """The columns, and the factors that scale their differences."""

    @property
    @abstractmethod
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""

    @property
    def row_bytes(self) -> float:
        """Bytes that a row of the table takes."""
        return self.n_features * self.dtype.itemsize

    @property
    def tie_tolerance(self) -> float:
        """Relative difference below which distances are tied."""
        return tie_tolerance(self.dtype)

    @property
    def rounding_of_sums(self) -> float:
        """Error bound of a sum of margins that is 0, relative to the sum of its terms.

        Smaller sums are set to 0: a balance of hits and misses must not get the weight 1e-17.
        """
        return float(8.0 * np.finfo(self.dtype).eps + self.n_rows * 2.0**-54)

    def _with_values(
        self,
        X: NDArray[Any],
        scaling: Scaling,
        ranges: ColumnRanges | None,
        missing_mask: MissingMask | None = None,
    ) -> Packed:
        """Return other values of the same rows."""
        return Packed(
            X,
            self.input_codes,
            self.n_classes,
            scaling=scaling,
            sample_weight=self._input_sample_weight,
            n_threads=self.n_threads,
            ranges=ranges,
            missing_mask=missing_mask,
            class_weights=self.class_weights,
            batch_constraint=self.batch_constraint,
        )


class DenseTable(LabeledTable):
    """A labeled table of which some columns can be read into the memory of this process."""

    @abstractmethod
    def of_features(self, features: NDArray[np.int64]) -> Packed:
        """Return the rows with some of the features only."""

    @abstractmethod
    def packed_columns(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the columns of some features, scaled, in the layout."""


class Packed(DenseTable):
    """A labeled table in the memory of this process: its layout, and its values, scaled for the kernels.

    Parameters
    ----------
    X : (n_samples, n_features) float32, float64 or one-byte numbers
        The table.
    codes, n_classes
        As in :class:`Layout`.
    missing_mask : MissingMask or None
        Which values are missing; the smallest value of the column replaces them.
    encoding : Encoding or None
        The features that the columns belong to, if some are categorical. None: each column is a feature.
    **metadata
        See :class:`LabeledTable`.
    """

    raw: NDArray[Any]

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.integer],
        n_classes: int,
        *,
        missing_mask: MissingMask | None = None,
        encoding: Encoding | None = None,
        **metadata: Any,
    ) -> None:
        super().__init__(X, codes, n_classes, **metadata)
        self.encoding, self._missing_mask = encoding, missing_mask

    @cached_property
    def X(self) -> NDArray[np.floating]:  # noqa: N802
        """A copy of the rows, scaled, in the layout."""
        return self.scaled.whole()

    @cached_property
    def columns(self) -> Columns:
        """The columns, and the factors that scale their differences."""
        return Columns(self.raw, self.scaling, self.ranges)

    @cached_property
    def scaled(self) -> ScaledColumns:
        """The columns, scaled and laid out on access."""
        return ScaledColumns(
            self.raw,
            self.sample_of_row,
            self.scaling,
            sample_weight=self._input_sample_weight,
            ranges=self.ranges,
            n_threads=self.n_threads,
        )

    @property
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""
        return self.scaled.spans

    @cached_property
    def missing(self) -> MissingValues | MixedMissingValues | None:
        """Missing values of the rows, and the excess of their differences; None if no value is missing."""
        layout = (self.raw, self.scaling, self.sample_of_row)
        more: dict[str, Any] = {"sample_weight": self._input_sample_weight, "n_threads": self.n_threads}
        values: type[MissingValues] = MissingValues
        levels: type[MissingLevels] = MissingLevels
        if self.batch_constraint is not None and self.batch_constraint.within:
            values, levels = MissingValuesWithin, MissingLevelsWithin
            more["batches"] = self.batch_constraint.batches
        encoding, parts = self.encoding, []
        if self._missing_mask is not None:
            owner = None if encoding is None else encoding.owner
            parts.append(values(self._missing_mask, *layout, **more, owner=owner, ranges=self.ranges))
        if encoding is not None and encoding.missing_mask is not None:
            parts.append(levels(encoding, encoding.missing_mask, *layout, self.codes, **more))
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else MixedMissingValues(parts)

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Sum of every row, with the additions of the distance tiles."""
        sums = np.empty(self.n_rows)
        distances.row_sums(self.X, sums)
        return sums

    def of_features(self, features: NDArray[np.int64]) -> Packed:
        """Return the rows with some of the features only."""
        # np.take is faster than an index, but copies a table that is not C-ordered as a whole.
        if self.raw.flags.c_contiguous:
            X = np.take(self.raw, features, axis=1)
        else:
            X = np.ascontiguousarray(self.raw[:, features])
        ranges = None if self.ranges is None else self.ranges.of_features(features)
        missing_mask = None if self._missing_mask is None else self._missing_mask.of_features(features)
        return self._with_values(X, self.scaling.of(features), ranges, missing_mask)

    def packed_columns(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the columns of some features, scaled, in the layout."""
        width = packing.padded_width(features.size, self.dtype.itemsize)
        X = packing.aligned_zeros((self.n_rows, width), self.dtype)
        self.scaled.write(features, X)
        return X

    def under(self, w: NDArray[np.float64]) -> Packed:
        """Return the rows with every scaled feature times its weight, without features of weight 0."""
        features = np.flatnonzero(w)
        table = self if features.size == self.n_features else self.of_features(features)
        scaling = table.scaling.times(w[features])
        return self._with_values(table.raw, scaling, table.ranges, table._missing_mask)


def sum_in_order(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of partial sums, added from the first to the last."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


# Sparse tables


class SparsePacked(LabeledTable):
    """A labeled table whose zeros are not stored; ``raw`` is a :data:`.columns.SparseTable`."""

    raw: SparseTable
    ranges: ColumnRanges

    @cached_property
    def columns(self) -> SparseColumns:
        """The columns, and the factors that scale their differences."""
        return SparseColumns(self.raw, self.scaling, self.ranges)

    @property
    def row_bytes(self) -> float:
        """Mean number of bytes of a row of the table: values and column indices."""
        return self.raw.nnz * (self.dtype.itemsize + 4) / self.n_samples

    @property
    def spans(self) -> NDArray[np.float64]:
        """Ranges of the scaled columns."""
        return self.columns.spans

    def distances_from_ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values of :class:`.columns.ScaledColumns`: the stored ones, and that of 0 by column."""
        indices, unit = self.columns.indices, self.scaling.unit
        values = self.raw.data.astype(np.float64)
        sample_weight = self.input_sample_weight
        weighted = values * np.repeat(sample_weight, np.diff(self.raw.indptr))
        mean = np.bincount(indices, weights=weighted, minlength=self.n_features) / sample_weight.sum()
        low, high = self.ranges.low.astype(np.float64), self.ranges.high.astype(np.float64)
        end = nearer_end(mean, low, high)
        if unit is not None:
            values, end = values * unit[indices], end * unit
        divisor = self.scaling.divisor.astype(np.float64)
        return np.abs(values - end[indices]) / divisor[indices], np.abs(end) / divisor
