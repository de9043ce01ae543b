"""How features are made comparable before distances are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .absent import Absent
from .ranges import ColumnRanges

#: Columns that are copied at a time.
_COLUMNS_AT_ONCE = 1024
#: Ranges below this are multiplied with a power of 2, by the bytes of a number: parts of them must not be 0.
_NARROW, _LIFT = {4: 2.0**-100, 8: 2.0**-960}, {4: 2.0**60, 8: 2.0**200}
#: What ``scale`` may be.
SCALES = ("range", "standard", None)


@dataclass(frozen=True)
class Scaling:
    """(x·unit − offset)/divisor, feature by feature, in the precision of the data.

    ``unit`` is 1/4 for features whose range would overflow, a power of 2 for those whose range is so small
    that parts of it are 0, and None if there are neither.
    """

    offset: NDArray[np.floating]
    divisor: NDArray[np.floating]
    unit: NDArray[np.floating] | None = None

    @classmethod
    def none(cls, n_features: int, dtype: np.dtype) -> Self:
        """Leave everything as it is."""
        return cls(np.zeros(n_features, dtype), np.ones(n_features, dtype))

    @classmethod
    def to_range(cls, low: NDArray[np.floating], high: NDArray[np.floating]) -> Self:
        """Map the smallest value to 0 and the largest to 1; a constant feature to 0."""
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

    def standardised(self, mean: NDArray[np.floating], deviation: NDArray[np.floating]) -> Self:
        """Go on to mean 0 and standard deviation 1, given those under this scaling.

        In two steps, so that no square of a large or small value is ever taken.
        """
        varies = deviation > 0.0
        offset = self.offset + self.divisor * np.where(varies, mean, 0.0)
        divisor = self.divisor * np.where(varies, deviation, 1.0)
        dtype = self.offset.dtype
        return type(self)(offset.astype(dtype), divisor.astype(dtype), self.unit)

    def of(self, features: NDArray[np.bool_ | np.int64] | slice) -> Self:
        """The same for some of the features."""
        unit = None if self.unit is None else self.unit[features]
        return type(self)(self.offset[features], self.divisor[features], unit)

    def times(self, w: NDArray[np.float64]) -> Self:
        """Go on to multiply what is scaled by weights, in float64."""
        return type(self)(self.offset * w, self.divisor, w if self.unit is None else self.unit * w)

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scale rows.

        By a division, not a multiplication by the inverse: the largest value becomes 1 exactly.
        """
        scaled = X - self.offset if self.unit is None else X * self.unit - self.offset
        scaled /= self.divisor
        return scaled

    def apply_far_out(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scale rows that may be far from those of the fit: the farthest become the largest number."""
        with np.errstate(over="ignore"):
            return finite(self.apply(X))

    def slopes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What differences are multiplied with, in two steps.

        Their product may be beyond the largest number, where differences are small.
        """
        unit = np.ones(self.divisor.size) if self.unit is None else self.unit.astype(np.float64)
        return unit, 1.0 / self.divisor.astype(np.float64)

    def invert(self, scaled: NDArray[np.floating]) -> NDArray[np.floating]:
        """Bring scaled rows back to the units of the data."""
        X = scaled * self.divisor + self.offset
        return X if self.unit is None else X / self.unit


def finite(values: NDArray[np.floating], dtype: Any = None) -> NDArray[np.floating]:
    """Values, in place, none beyond the largest number of their type, or of another; NaN stays."""
    largest = float(np.finfo(values.dtype if dtype is None else dtype).max)
    return np.clip(values, -largest, largest, out=values)


def feature_scaling(
    X: NDArray[Any],
    scale: str | None,
    weights: NDArray[np.float64] | None,
    ranges: ColumnRanges | None = None,
    absent: Absent | None = None,
) -> Scaling:
    """Scaling for the features of a table; ``weights`` counts copies of its rows, ``ranges`` may be known.

    What is ``absent`` does not count.

    ``"range"``: (x − min)/(max − min). ``"standard"``: (x − mean)/standard deviation. None: as it is.
    """
    dtype = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    if scale is None:
        return Scaling.none(X.shape[1], dtype)
    ranges = ColumnRanges.of(X) if ranges is None else ranges
    to_range = Scaling.to_range(ranges.low.astype(dtype, copy=False), ranges.high.astype(dtype, copy=False))
    if scale == "range":
        return to_range
    mean, variance = np.empty(X.shape[1]), np.empty(X.shape[1])
    for start in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        inside = to_range.of(part).apply(X[:, part])
        mean[part] = np.average(inside, axis=0, weights=weights)
        variance[part] = np.average((inside - mean[part]) ** 2, axis=0, weights=weights)
    if absent is not None:
        for k, j in enumerate(absent.features):
            observed = ~absent.mask(k, k + 1)[0]
            inside = to_range.of(slice(j, j + 1)).apply(X[observed, j : j + 1])[:, 0]
            counts = None if weights is None else weights[observed]
            mean[j] = np.average(inside, weights=counts) if observed.any() else 0.0
            variance[j] = np.average((inside - mean[j]) ** 2, weights=counts) if observed.any() else 0.0
    return to_range.standardised(mean, np.sqrt(variance))
