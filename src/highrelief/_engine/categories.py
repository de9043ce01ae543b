"""Categorical features as numeric columns.

Two values of a categorical feature differ by 0 or by 1. A feature of one or two levels is a column of 0 and
1. One of more levels is one-hot encoded: two levels differ in two columns, whose differences count one half.
The columns of a missing value are 0, and :class:`MissingLevels` has the expected differences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._kernels import missing, packing
from .cached_property import cached_property
from .memory import check_room
from .missing import MissingValues
from .scaling import MissingMask, Scaling, precise_type

#: Probabilities of levels that are in memory at a time.
_SHARES_AT_ONCE = 2**20
#: Code of a missing value.
MISSING = -1
#: Integers of at most so many distinct values are levels, as in scikit-rebate.
MOST_LEVELS = 10
#: Columns whose values are counted at a time.
_COLUMNS_AT_ONCE = 256


def level_counts(X: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of distinct values of each column whose values are levels; others have 11.

    The values of a column are levels if there are at most two, or at most ten integers. NaN is not a
    value.
    """
    counts = np.empty(X.shape[1], np.int64)
    for start in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        part = np.ascontiguousarray(X[:, start : start + _COLUMNS_AT_ONCE].T)
        part = part.view(np.uint8) if part.dtype == bool else part
        low, high = np.fmin.reduce(part, axis=1), np.fmax.reduce(part, axis=1)
        missing = np.isnan(part)
        is_end = (part == low[:, np.newaxis]) | (part == high[:, np.newaxis])
        n_values = np.where(low < high, 2, 1)
        several = ~(is_end | missing).all(axis=1)
        n_values[several] = MOST_LEVELS + 1
        whole = several & ((part == np.floor(part)) | missing).all(axis=1)
        # A NaN is last, and not larger than a number.
        rising = np.sort(part[whole], axis=1)
        n_values[whole] = 1 + (rising[:, 1:] > rising[:, :-1]).sum(axis=1)
        counts[start : start + _COLUMNS_AT_ONCE] = np.minimum(n_values, MOST_LEVELS + 1)
    return counts


@dataclass(frozen=True)
class Encoding:
    """Map from features to columns, and the levels of the categorical features."""

    #: (n_columns,) feature of each column, ascending.
    owner: NDArray[np.int64]
    #: (n_categorical,) the categorical features.
    features: NDArray[np.int64]
    #: (n_categorical,) numbers of levels.
    n_levels: NDArray[np.int64]
    #: (n_categorical, n_samples) the level of each sample, or ``MISSING``.
    codes: NDArray[np.int64]
    #: Whether differences are squared for distances.
    squared: bool = False

    @classmethod
    def of(
        cls, n_features: int, features: NDArray[np.int64], codes: NDArray[np.int64], *, squared: bool = False
    ) -> Self:
        """Return the columns of a table with some categorical features."""
        n_levels = codes.max(axis=1, initial=MISSING) + 1
        width = np.ones(n_features, np.int64)
        width[features] = np.where(n_levels > 2, n_levels, 1)
        return cls(np.repeat(np.arange(n_features), width), features, n_levels, codes, squared)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.owner[-1]) + 1

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """First column of every feature."""
        return np.searchsorted(self.owner, np.arange(self.n_features))

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Mask of the categorical features."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[self.features] = True
        return mask

    @cached_property
    def _is_half(self) -> NDArray[np.bool_]:
        """Columns whose differences count one half."""
        return np.bincount(self.owner)[self.owner] > 1

    def table(self, numbers: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return all columns; ``numbers`` are those of the numeric features."""
        n_samples, n_columns = self.codes.shape[1], self.owner.size
        check_room(
            float(n_samples) * n_columns * dtype.itemsize,
            f"The {n_columns} columns that the categories of {n_samples} samples become",
            "Use fewer categories: merge rare ones.",
        )
        X = np.empty((n_samples, n_columns), dtype)
        X[:, self.first[~self.is_categorical]] = numbers
        of_levels = np.flatnonzero(self.is_categorical[self.owner])
        place = np.searchsorted(self.features, self.owner[of_levels])
        # A feature of two levels has one column.
        level = np.where(self.n_levels[place] > 2, of_levels - self.first[self.owner[of_levels]], 1)
        for start in range(0, of_levels.size, _COLUMNS_AT_ONCE):
            part = slice(start, start + _COLUMNS_AT_ONCE)
            X[:, of_levels[part]] = (self.codes[place[part]] == level[part, np.newaxis]).T
        return X

    def of_samples(self, samples: NDArray[np.bool_ | np.int64]) -> Self:
        """Return the encoding of some samples."""
        return replace(self, codes=self.codes[:, samples])

    def of_features(self, scaling: Scaling, constant: NDArray[np.bool_]) -> tuple[Scaling, NDArray[np.bool_]]:
        """Return the scaling of the features, and which are constant, from those of the columns.

        Categorical features are not scaled.
        """
        scaling = scaling.of(self.first)
        offset, divisor = scaling.offset.copy(), scaling.divisor.copy()
        offset[self.features], divisor[self.features] = 0.0, 1.0
        return replace(scaling, offset=offset, divisor=divisor), np.logical_and.reduceat(constant, self.first)

    def of_columns(self, scaling: Scaling) -> Scaling:
        """Return the scaling of the columns, from that of the features."""
        scaling = scaling.of(self.owner)
        half = np.sqrt(2.0) if self.squared else 2.0
        return replace(
            scaling, divisor=np.where(self._is_half, half, scaling.divisor).astype(scaling.divisor.dtype)
        )

    def joined(self, of_columns: NDArray[np.float64], *, rooted: bool = False) -> NDArray[np.float64]:
        """Return differences of features, summed over their columns, along the last axis.

        ``rooted``: columns are scaled for squares, but the differences are not squared.
        """
        if rooted:
            of_columns = of_columns * np.where(self._is_half, np.sqrt(0.5), 1.0)
        return np.add.reduceat(of_columns, self.first, axis=-1)

    def largest(self, of_columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest value of the columns of each feature."""
        return np.maximum.reduceat(of_columns, self.first)

    def spans(self, of_columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ranges of the features, from those of their columns: 1 if categorical and varying."""
        spans = self.largest(of_columns)
        return np.where(self.is_categorical & (spans > 0.0), 1.0, spans)

    @property
    def observed(self) -> NDArray[np.float64]:
        """Levels of the categorical features, (n_samples, n_categorical), NaN where one is missing."""
        return np.where(self.codes == MISSING, np.nan, self.codes).T

    @cached_property
    def missing_mask(self) -> MissingMask | None:
        """Missing mask of the categorical features; None if no value is missing."""
        missing_codes = self.codes == MISSING
        incomplete = missing_codes.any(axis=1)
        if not incomplete.any():
            return None
        samples, which = np.nonzero(missing_codes[incomplete].T)
        count = np.bincount(samples, minlength=self.codes.shape[1])
        return MissingMask(self.features[incomplete], np.concatenate([[0], np.cumsum(count)]), which)


class MissingLevels(MissingValues):
    """Missing values of categorical features (Kononenko 1994; Robnik-Šikonja and Kononenko 2003).

    A missing value and the value v differ by 1 − P(v | class of the sample it is missing from), two missing
    values by 1 − Σ_v P(v | one class)·P(v | the other). For a class without observed values, P(v) is that of
    all samples.

    Parameters
    ----------
    encoding : Encoding
        The features.
    X : (n_samples, n_columns)
        The table.
    scaling : Scaling
        Of the columns.
    sample_of_row : (n_rows,) int64
        The row of the table at each row of the layout, or ``PADDING``.
    codes : (n_rows,) int64
        Class of each row of the layout.
    sample_weight : (n_samples,) float64 or None
        Sample weights; None: 1.
    n_threads : int
        Number of threads.
    n_classes : int or None
        Number of classes; None: as many as the codes have.
    """

    def __init__(
        self,
        encoding: Encoding,
        missing_mask: MissingMask,
        X: NDArray[Any],
        scaling: Scaling,
        sample_of_row: NDArray[np.int64],
        codes: NDArray[np.int64],
        *,
        sample_weight: NDArray[np.float64] | None = None,
        n_threads: int = 1,
        n_classes: int | None = None,
    ) -> None:
        super().__init__(
            missing_mask, X, scaling, sample_of_row, sample_weight=sample_weight, n_threads=n_threads
        )
        self._encoding = encoding
        self.set_of, self.n_sets = codes, int(codes.max()) + 1 if n_classes is None else n_classes
        self._classes = codes[self._row_of]

    root_unit = 1.0

    @cached_property
    def excess(self) -> NDArray[np.floating]:
        """Amount by which a difference is too small if one value is missing."""
        shape = (self.n_sets, self._n_chunks, self.features.size, missing.CHUNK)
        excess = packing.aligned_zeros(shape, precise_type(self._X.dtype))
        which = np.searchsorted(self._encoding.features, self.features)
        n_levels = np.maximum(self._encoding.n_levels[which], 1)
        by_row = np.zeros((self.n_sets, which.size, self._n_chunks * missing.CHUNK))
        # Features of many levels are processed separately: others need less memory.
        order = np.argsort(n_levels, kind="stable")
        start = 0
        while start < order.size:
            end = start + 1
            while (
                end < order.size and (end + 1 - start) * n_levels[order[end]] * self.n_sets <= _SHARES_AT_ONCE
            ):
                end += 1
            block = order[start:end]
            by_row[:, block[:, np.newaxis], self._row_of] = self._excess_of(which[block])
            start = end
        chunks = by_row.reshape(self.n_sets, which.size, self._n_chunks, missing.CHUNK)
        np.copyto(excess, chunks.transpose(0, 2, 1, 3))
        return excess

    def _spans(self, squared: bool) -> NDArray[np.float64]:
        return np.ones(self.features.size)

    @cached_property
    def squared_excess(self) -> NDArray[np.floating]:
        """Excess of squared differences: a difference is 0 or 1, and so is its square."""
        return self.excess

    def _excess_of(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the excess of some categorical features, (n_sets, n_some, n_samples)."""
        codes, n_levels = self._encoding.codes[which], self._encoding.n_levels[which]
        P = self._shares(codes, max(int(n_levels.max()), 1))
        missing_codes = codes == MISSING
        at = np.maximum(codes, 0)
        places = np.arange(which.size)[:, np.newaxis]
        expected = 1.0 - P[:, places, at]
        # Difference in the columns: one half for one-hot columns, or the column itself.
        found = np.where(n_levels[:, np.newaxis] > 2, 0.5, (codes == 1).astype(np.float64))
        both = 1.0 - np.einsum("sfv,tfv->stf", P, P)
        half = 0.5 * both[:, self._classes].transpose(0, 2, 1)
        nothing = (P.sum(axis=(0, 2)) == 0.0)[:, np.newaxis]
        return np.where(nothing, 0.0, np.where(missing_codes, half, expected - found))

    def _shares(self, codes: NDArray[np.int64], n_levels: int) -> NDArray[np.float64]:
        """Return P(level | class), (n_sets, n_some, n_levels)."""
        n_some, n_sets = len(codes), self.n_sets
        sample_weight = np.ones(self._classes.size) if self._sample_weight is None else self._sample_weight
        cell = (np.arange(n_some)[:, np.newaxis] * n_levels + codes) * n_sets + self._classes
        seen = codes != MISSING
        weights = np.broadcast_to(sample_weight, codes.shape)[seen]
        found = np.bincount(cell[seen], weights=weights, minlength=n_some * n_levels * n_sets)
        # NumPy returns integers if there are no values.
        counts: NDArray[np.float64] = found.astype(np.float64, copy=False)
        counts = counts.reshape(n_some, n_levels, n_sets).transpose(2, 0, 1)
        of_class = counts.sum(axis=2, keepdims=True)
        counts = np.where(of_class > 0.0, counts, counts.sum(axis=0))
        total = counts.sum(axis=2, keepdims=True)
        return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0.0)


# Levels of a categorical feature


def level_codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the level codes of a column; None, NaN, NaT and pandas' NA are missing.

    Levels are sorted if possible, so that the order of the samples does not matter.
    """
    if values.dtype == object:
        return _codes_of_objects(values.tolist())
    codes = np.full(values.size, MISSING)
    seen = ~is_missing(values)
    codes[seen] = np.unique(values[seen], return_inverse=True)[1]
    return codes


def level_codes_of_columns(X: NDArray[Any], features: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the level codes of some columns of an array of numbers, (n_columns, n_samples)."""
    codes = np.empty((features.size, len(X)), np.int64)
    for start in range(0, features.size, _COLUMNS_AT_ONCE):
        part = np.ascontiguousarray(X[:, features[start : start + _COLUMNS_AT_ONCE]].T)
        order = np.argsort(part, axis=1, kind="stable")
        rising = np.take_along_axis(part, order, axis=1)
        in_order = np.zeros(part.shape, np.int64)
        np.cumsum(rising[:, 1:] > rising[:, :-1], axis=1, out=in_order[:, 1:])
        in_order[np.isnan(rising)] = MISSING
        np.put_along_axis(codes[start : start + _COLUMNS_AT_ONCE], order, in_order, axis=1)
    return codes


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are missing: None, NaN, NaT and pandas' NA."""
    if values.dtype == object:
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    return np.not_equal(values, values)


def _codes_of_objects(values: Iterable[Any]) -> NDArray[np.int64]:
    numbers: dict[Any, int] = {}
    codes = [MISSING if _is_missing(value) else numbers.setdefault(value, len(numbers)) for value in values]
    try:
        ordered = sorted(numbers)
    except TypeError:  # of different types
        ordered = sorted(numbers, key=lambda level: (type(level).__name__, str(level)))
    place = np.empty(len(numbers) + 1, np.int64)
    place[[numbers[level] for level in ordered]] = np.arange(len(numbers))
    place[MISSING] = MISSING
    return place[codes]


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    equal = value == value  # noqa: PLR0124
    # pandas' NA is neither equal nor unequal to itself.
    return not isinstance(equal, bool | np.bool_) or not equal
