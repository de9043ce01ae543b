"""What a stream remembers of the samples that have passed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .ranges import ColumnRanges
from .scaling import Scaling


class Reservoir:
    """A bounded, uniform sample of a stream, and sums over all of it.

    Parameters
    ----------
    n_features : int
        Length of a row.
    dtype : dtype
        Precision of the rows.
    size : int or None
        Most rows to keep; None: all.

    No array is written to after it has been stored: a shallow copy keeps what was there before.
    """

    def __init__(self, n_features: int, dtype: np.dtype, size: int | None) -> None:
        self.rows = np.empty((0, n_features), dtype=dtype)
        self.codes = np.empty(0, dtype=np.int64)
        self.size = size
        self.n_seen = 0
        #: By the first batch, in whose units moments are taken.
        self.first = Scaling.none(n_features, dtype)
        #: Over everything seen: extremes, mean and sum of squared deviations of the features.
        self.low = np.full(n_features, np.inf, dtype=dtype)
        self.high = np.full(n_features, -np.inf, dtype=dtype)
        self.mean = np.zeros(n_features)
        self.squares = np.zeros(n_features)

    def add(
        self,
        X: NDArray[np.floating],
        codes: NDArray[np.int64],
        generator: np.random.RandomState,
    ) -> NDArray[np.int64]:
        """Take in a batch; return the place of each of its rows among those kept, or −1.

        Beyond ``size`` rows, the t-th sample of the stream replaces a random one with probability
        size/t, so that all samples seen so far are kept with the same probability (Vitter's algorithm R).
        """
        self.count(X)
        n_kept = len(self.rows)
        room = len(X) if self.size is None else min(len(X), self.size - n_kept)
        late = np.arange(room, len(X))
        # As one sample after another would draw them.
        drawn = generator.randint(0, self.n_seen - len(X) + 1 + late) if late.size else late
        # Which row of the batch each of the kept places is given, at last.
        taken_by = np.full(n_kept + room, -1, dtype=np.int64)
        taken_by[n_kept:] = np.arange(room)
        enters = drawn < n_kept + room
        taken_by[drawn[enters]] = late[enters]
        changed = np.flatnonzero(taken_by >= 0)
        places = np.full(len(X), -1, dtype=np.int64)
        places[taken_by[changed]] = changed
        if changed.size:
            # In new arrays: whoever holds the old ones can go back.
            self.rows = np.concatenate([self.rows, X[:room]])
            self.codes = np.concatenate([self.codes, codes[:room]])
            self.rows[changed], self.codes[changed] = X[taken_by[changed]], codes[taken_by[changed]]
        return places

    def count(self, X: NDArray[np.floating]) -> None:
        """Take a batch into the extremes and moments, without keeping its rows."""
        if self.n_seen == 0:
            self.first = Scaling.to_range(X.min(axis=0), X.max(axis=0))
        self.low = np.minimum(self.low, X.min(axis=0))
        self.high = np.maximum(self.high, X.max(axis=0))
        # Far out of the first batch they are no numbers: :meth:`scaling` sees that.
        with np.errstate(over="ignore", invalid="ignore"):
            self._join_moments(self.first.apply(X))
        self.n_seen += len(X)

    def _join_moments(self, inside: NDArray[np.floating]) -> None:
        """Join the moments of what was seen and of a batch, after Chan, Golub and LeVeque (1983)."""
        n_new = len(inside)
        batch_mean = inside.mean(axis=0, dtype=np.float64)
        shift = batch_mean - self.mean
        total = self.n_seen + n_new
        deviations = inside - batch_mean
        deviations *= deviations
        squares = self.squares + deviations.sum(axis=0)
        self.squares = squares + shift**2 * (self.n_seen * n_new / total)
        self.mean = self.mean + shift * (n_new / total)

    @property
    def ranges(self) -> ColumnRanges:
        """Of the features, over everything seen."""
        return ColumnRanges(self.low, self.high, self.mean, finite=True)

    def scaling(self, scale: str | None) -> Scaling:
        """Scaling of the features by all that was seen."""
        if scale is None:
            return Scaling.none(self.low.size, self.low.dtype)
        if scale == "range":
            return Scaling.to_range(self.low, self.high)
        if not np.isfinite(self.squares).all():
            raise ValueError(
                "The samples are so far from those of the first batch that their squares, in units of these,"
                ' leave the range of floating point; use scale="range".'
            )
        return self.first.standardised(self.mean, np.sqrt(self.squares / self.n_seen))
