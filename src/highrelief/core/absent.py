"""Which values of a table are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..kernels import missing as kernels
from . import kept_memory
from .cached_property import cached_property
from .lists import entries_of
from .ranges import ColumnRanges
from .threads import even_ranges, run_all


@dataclass(frozen=True)
class Absent:
    """Which values of a table are missing."""

    #: (n_incomplete,) the features with missing values.
    features: NDArray[np.int64]
    #: (n_samples + 1,) and, for each missing value, its place in ``features``, sample by sample.
    start: NDArray[np.int64]
    which: NDArray[np.int64]

    @classmethod
    def taken_out(
        cls, X: NDArray[np.floating], n_threads: int, ranges: ColumnRanges | None = None
    ) -> tuple[Self, NDArray[np.floating]]:
        """Find what is missing; and a copy of the table with the smallest value of the column in its place.

        The table has no infinite values. A column without any value becomes 0. ``ranges`` of the columns may
        be known.
        """
        filled = kept_memory.empty(X.shape, X.dtype)
        np.copyto(filled, X)
        n_samples, n_features = X.shape
        by_row = np.zeros(n_samples, np.int64)
        parts = even_ranges(n_samples, 16)

        def count(a: int, b: int) -> None:
            kernels.count_missing(filled, a, b, by_row)

        run_all(count, parts, n_threads)
        ranges = ColumnRanges.of(X, n_threads) if ranges is None else ranges
        # A sum of finite values may overflow, but is a number.
        features = np.flatnonzero(np.isnan(ranges.mean))
        start = np.concatenate([[0], np.cumsum(by_row)])
        which = np.empty(start[-1], np.int64)
        place = np.full(n_features, -1)
        place[features] = np.arange(features.size)
        low = np.where(np.isfinite(ranges.low), ranges.low, ranges.low.dtype.type(0))

        def fill(a: int, b: int) -> None:
            kernels.fill_missing(filled, place, low, a, b, start, which)

        run_all(fill, parts, n_threads)
        return cls(features, start, which), filled

    def of_samples(self, samples: NDArray[np.bool_ | np.integer]) -> Self:
        """The same for some of the samples, in their order."""
        rows = np.flatnonzero(samples) if samples.dtype == np.bool_ else samples
        count = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(count)])
        return type(self)(self.features, start, self.which[entries_of(self.start[rows], count)[1]])

    def of_features(self, features: NDArray[np.int64]) -> Self | None:
        """The same for some of the features of the table, the only ones there are then; None: nothing is."""
        place = np.full(int(self.features.max(initial=-1)) + 1, -1)
        incomplete = np.flatnonzero(np.isin(features, self.features))
        if incomplete.size == 0:
            return None
        place[features[incomplete]] = np.arange(incomplete.size)
        kept = place[self.features[self.which]]
        before = np.concatenate([[0], np.cumsum(kept >= 0)])
        return type(self)(incomplete, before[self.start], kept[kept >= 0])

    def put_back(
        self, X: NDArray[np.floating], samples: NDArray[np.bool_] | None = None
    ) -> NDArray[np.floating]:
        """A copy of X, which may be some of the samples only, with NaN where a value is missing."""
        chosen = self if samples is None else self.of_samples(samples)
        X = X.copy()
        X[np.repeat(np.arange(len(X)), np.diff(chosen.start)), chosen.features[chosen.which]] = np.nan
        return X

    def mask(self, a: int, b: int) -> NDArray[np.bool_]:
        """Which samples lack the a-th to b-th of ``features``, (b − a, n_samples)."""
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
