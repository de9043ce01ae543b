"""Scaling of features, ranges of columns, and missing masks.

:class:`Scaling` maps x to (x·unit − offset)/divisor before distances are computed: to the range [0, 1], or to
mean 0 and standard deviation 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._kernels import missing, packing
from . import arrays
from .arrays import entries_of
from .cached_property import cached_property
from .limits import limits
from .threads import even_ranges, run_all

# Ranges of the columns of a table of any memory order and type, without a copy


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type that represents all values: float32 for itself and for one-byte numbers."""
    return np.dtype(np.float32) if dtype == np.float32 or dtype.itemsize == 1 else np.dtype(np.float64)


def precise_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type of results: float32 for itself, float64 for all others."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


@dataclass(frozen=True)
class ColumnRanges:
    """Minima and maxima of the columns, approximate means, and whether all values are finite."""

    low: NDArray[np.floating]
    high: NDArray[np.floating]
    mean: NDArray[np.floating]
    finite: bool

    @classmethod
    def of(cls, X: NDArray[Any], n_threads: int = 1) -> Self:
        """Return the ranges of a table, in one pass over it."""
        dtype = float_type(X.dtype)
        largest = np.finfo(dtype).max
        n_samples, n_features = X.shape
        low = np.full(n_features, np.inf, dtype)
        high = np.full(n_features, -np.inf, dtype)
        total = np.zeros(n_features, dtype)

        def of_columns(a: int, b: int) -> bool:
            array, first = one_block(X, a, b, dtype)
            of = slice(a, b)
            return bool(
                packing.column_ranges(
                    array, 0, n_samples, first, first + b - a, largest, low[of], high[of], total[of]
                )
            )

        parts = even_ranges(n_features, max(n_blocks(X), n_threads), multiple=16)
        finite = all(run_all(of_columns, parts, n_threads))
        return cls(low, high, total / dtype.type(n_samples), finite)

    @property
    def infinite(self) -> bool:
        """Whether there are infinite values; a column of NaN alone has an empty range."""
        return bool((self.low == -np.inf).any() or (self.high == np.inf).any())

    def scaled_spans(self, scaling: Scaling) -> NDArray[np.float64]:
        """Return the widths of the ranges of the scaled columns."""
        unit = 1 if scaling.unit is None else scaling.unit
        with np.errstate(over="ignore"):
            return (np.abs(self.high * unit - self.low * unit) / scaling.divisor).astype(np.float64)

    def of_features(self, features: NDArray[np.int64]) -> Self:
        """Return the ranges of some columns."""
        return type(self)(self.low[features], self.high[features], self.mean[features], self.finite)


def c_ordered(X: NDArray[Any]) -> NDArray[Any]:
    """Return the table in C order if a copy saves more time than it costs memory.

    A small table is a single block, which every pass would copy. A large one is returned as is.
    """
    n_samples, n_features = X.shape
    most = limits.wide_copy_bytes if n_features >= limits.wide_copy_ratio * n_samples else limits.block_bytes
    if X.flags.c_contiguous or X.nbytes > most:
        return X
    copy = np.empty(X.shape, X.dtype)
    for start in range(0, n_features, limits.copied_columns):
        part = slice(start, start + limits.copied_columns)
        copy[:, part] = X[:, part]
    return copy


def n_blocks(X: NDArray[Any]) -> int:
    """Return the number of blocks that the columns are split into."""
    n_samples, n_features = X.shape
    if X.flags.c_contiguous and X.dtype == float_type(X.dtype):
        return max(1, -(-n_features // limits.block_columns))
    return max(1, -(-n_features * n_samples * float_type(X.dtype).itemsize // limits.block_bytes))


def one_block(X: NDArray[Any], start: int, end: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    """Return a C-ordered array of floats with the columns, and the index of the first of them in it."""
    if X.flags.c_contiguous and X.flags.aligned and X.dtype == dtype:
        return writable_view(X), start
    return np.ascontiguousarray(X[:, start:end], dtype=dtype), 0


class _Memory:
    """Memory of an array, marked as writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def writable_view(X: NDArray[Any]) -> NDArray[Any]:
    """Return a writable view: kernels only read it, but Numba would recompile for read-only arrays."""
    return X if X.flags.writeable else np.asarray(_Memory(X))


# Missing values of a table


@dataclass(frozen=True)
class MissingMask:
    """Which values of a table are missing."""

    #: (n_incomplete,) features with missing values.
    features: NDArray[np.int64]
    #: (n_samples + 1,) first missing value of each sample, and the index into ``features`` of each.
    start: NDArray[np.int64]
    which: NDArray[np.int64]

    @classmethod
    def extract(
        cls, X: NDArray[np.floating], n_threads: int, ranges: ColumnRanges | None = None
    ) -> tuple[Self, NDArray[np.floating]]:
        """Return the missing mask, and a copy of the table with the minimum of the column in place of NaN.

        The table has no infinite values. A column without any value becomes 0. ``ranges``: of the columns, if
        known.
        """
        filled = arrays.empty(X.shape, X.dtype)
        np.copyto(filled, X)
        n_samples, n_features = X.shape
        by_row = np.zeros(n_samples, np.int64)
        parts = even_ranges(n_samples, 16)

        def count(a: int, b: int) -> None:
            missing.count_missing(filled, a, b, by_row)

        run_all(count, parts, n_threads)
        ranges = ColumnRanges.of(X, n_threads) if ranges is None else ranges
        # A sum of finite values may overflow, but is not NaN.
        features = np.flatnonzero(np.isnan(ranges.mean))
        start = np.concatenate([[0], np.cumsum(by_row)])
        which = np.empty(start[-1], np.int64)
        place = np.full(n_features, -1)
        place[features] = np.arange(features.size)
        low = np.where(np.isfinite(ranges.low), ranges.low, ranges.low.dtype.type(0))

        def fill(a: int, b: int) -> None:
            missing.fill_missing(filled, place, low, a, b, start, which)

        run_all(fill, parts, n_threads)
        return cls(features, start, which), filled

    def of_samples(self, samples: NDArray[np.bool_ | np.integer]) -> Self:
        """Return the mask of some samples, in their order."""
        rows = np.flatnonzero(samples) if samples.dtype == np.bool_ else samples
        count = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(count)])
        return type(self)(self.features, start, self.which[entries_of(self.start[rows], count)[1]])

    def of_features(self, features: NDArray[np.int64]) -> Self | None:
        """Return the mask of some features, numbered among these; None if none of them is incomplete."""
        place = np.full(int(self.features.max(initial=-1)) + 1, -1)
        incomplete = np.flatnonzero(np.isin(features, self.features))
        if incomplete.size == 0:
            return None
        place[features[incomplete]] = np.arange(incomplete.size)
        selected = place[self.features[self.which]]
        before = np.concatenate([[0], np.cumsum(selected >= 0)])
        return type(self)(incomplete, before[self.start], selected[selected >= 0])

    def restore_nan(
        self, X: NDArray[np.floating], samples: NDArray[np.bool_] | None = None
    ) -> NDArray[np.floating]:
        """Return a copy of X, of all samples or of some, with NaN where a value is missing."""
        chosen = self if samples is None else self.of_samples(samples)
        X = X.copy()
        X[np.repeat(np.arange(len(X)), np.diff(chosen.start)), chosen.features[chosen.which]] = np.nan
        return X

    def mask(self, a: int, b: int) -> NDArray[np.bool_]:
        """Return from which samples the a-th to b-th of ``features`` are missing, (b − a, n_samples)."""
        of = slice(*np.searchsorted(self._by_feature[0], [a, b]))
        features, samples = self._by_feature[0][of], self._by_feature[1][of]
        mask = np.zeros((b - a, self.start.size - 1), dtype=bool)
        mask[features - a, samples] = True
        return mask

    @cached_property
    def _by_feature(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        samples = np.repeat(np.arange(self.start.size - 1), np.diff(self.start))
        order = np.argsort(self.which, kind="stable")
        return self.which[order], samples[order]


#: Smaller ranges are multiplied by a power of 2, by item size: parts of them must not underflow.
_NARROW, _LIFT = {4: 2.0**-100, 8: 2.0**-960}, {4: 2.0**60, 8: 2.0**200}
#: Valid values of ``scale``.
SCALES = ("range", "standard", None)


@dataclass(frozen=True)
class Scaling:
    """(x·unit − offset)/divisor, feature by feature, in the precision of the data.

    ``unit`` is 1/4 for features whose range would overflow, a power of 2 for those whose range is so small
    that parts of it would underflow, and None if there are neither.
    """

    offset: NDArray[np.floating]
    divisor: NDArray[np.floating]
    unit: NDArray[np.floating] | None = None

    @classmethod
    def none(cls, n_features: int, dtype: np.dtype) -> Self:
        """Return the identity."""
        return cls(np.zeros(n_features, dtype), np.ones(n_features, dtype))

    @classmethod
    def to_range(cls, low: NDArray[np.floating], high: NDArray[np.floating]) -> Self:
        """Return the scaling that maps the minimum to 0 and the maximum to 1; a constant feature to 0."""
        huge = np.finfo(low.dtype).max / 4
        unit = None
        if max(-low.min(), high.max()) > huge:
            unit = np.where(np.maximum(-low, high) > huge, 0.25, 1.0).astype(low.dtype)
            low, high = low * unit, high * unit
        divisor = high - low
        divisor[divisor == 0.0] = 1.0
        if divisor.min() < _NARROW[low.dtype.itemsize]:
            lifted = np.where(divisor < _NARROW[low.dtype.itemsize], _LIFT[low.dtype.itemsize], 1.0)
            lifted = lifted.astype(low.dtype)
            unit = lifted if unit is None else unit * lifted
            low, divisor = low * lifted, divisor * lifted
        return cls(low, divisor, unit)

    def standardized(self, mean: NDArray[np.floating], deviation: NDArray[np.floating]) -> Self:
        """Return the scaling to mean 0 and standard deviation 1, from these moments under this scaling.

        In two steps, so that no square of a large or small value is computed.
        """
        varies = deviation > 0.0
        offset = self.offset + self.divisor * np.where(varies, mean, 0.0)
        divisor = self.divisor * np.where(varies, deviation, 1.0)
        dtype = self.offset.dtype
        return type(self)(offset.astype(dtype), divisor.astype(dtype), self.unit)

    def of(self, features: NDArray[np.bool_ | np.int64] | slice) -> Self:
        """Return the scaling of some features."""
        unit = None if self.unit is None else self.unit[features]
        return type(self)(self.offset[features], self.divisor[features], unit)

    def times(self, w: NDArray[np.float64]) -> Self:
        """Return the scaling that also multiplies by weights, in float64."""
        return type(self)(self.offset * w, self.divisor, w if self.unit is None else self.unit * w)

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return scaled rows.

        By a division, not a multiplication by the inverse: the maximum becomes exactly 1.
        """
        scaled = X - self.offset if self.unit is None else X * self.unit - self.offset
        scaled /= self.divisor
        return scaled

    def apply_clipped(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return scaled rows; new samples far from those of the fit are clipped to the largest float."""
        with np.errstate(over="ignore"):
            return finite(self.apply(X))

    def slopes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return two factors whose product scales differences.

        The product may overflow if differences are small.
        """
        unit = np.ones(self.divisor.size) if self.unit is None else self.unit.astype(np.float64)
        return unit, 1.0 / self.divisor.astype(np.float64)

    def invert(self, scaled: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return scaled rows in the units of the data."""
        X = scaled * self.divisor + self.offset
        return X if self.unit is None else X / self.unit


def finite(values: NDArray[np.floating], dtype: Any = None) -> NDArray[np.floating]:
    """Clip values, in place, to the largest float of their type, or of another; NaN stays."""
    largest = float(np.finfo(values.dtype if dtype is None else dtype).max)
    return np.clip(values, -largest, largest, out=values)


def feature_scaling(
    X: NDArray[Any],
    scale: str | None,
    weights: NDArray[np.float64] | None,
    ranges: ColumnRanges | None = None,
    missing_mask: MissingMask | None = None,
) -> Scaling:
    """Return the scaling of the features of a table; ``weights`` are sample weights.

    Missing values do not count; ``ranges`` of the columns may be known.

    ``"range"``: (x − min)/(max − min). ``"standard"``: (x − mean)/standard deviation. None: as is.
    """
    dtype = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    if scale is None:
        return Scaling.none(X.shape[1], dtype)
    ranges = ColumnRanges.of(X) if ranges is None else ranges
    to_range = Scaling.to_range(ranges.low.astype(dtype, copy=False), ranges.high.astype(dtype, copy=False))
    if scale == "range":
        return to_range
    mean, variance = np.empty(X.shape[1]), np.empty(X.shape[1])
    for start in range(0, X.shape[1], limits.moment_columns):
        part = slice(start, start + limits.moment_columns)
        inside = to_range.of(part).apply(X[:, part])
        mean[part] = np.average(inside, axis=0, weights=weights)
        variance[part] = np.average((inside - mean[part]) ** 2, axis=0, weights=weights)
    if missing_mask is not None:
        for k, j in enumerate(missing_mask.features):
            observed = ~missing_mask.mask(k, k + 1)[0]
            inside = to_range.of(slice(j, j + 1)).apply(X[observed, j : j + 1])[:, 0]
            counts = None if weights is None else weights[observed]
            mean[j] = np.average(inside, weights=counts) if observed.any() else 0.0
            variance[j] = np.average((inside - mean[j]) ** 2, weights=counts) if observed.any() else 0.0
    return to_range.standardized(mean, np.sqrt(variance))
