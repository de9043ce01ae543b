"""What missing values add to the distances between fitted samples and new ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import incomplete, packing
from ..kernels.missing import CHUNK
from .cached_property import cached_property
from .lacks import listed_by_chunk


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
    copies : (n_rows,) float64
        How often each row counts; 0 for padding.
    w : (at least n_features,) float64
        Weights of the distance.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        position: NDArray[np.int64],
        copies: NDArray[np.float64],
        w: NDArray[np.float64],
    ) -> None:
        self._X, self._position, self._copies, self._w = X, position, copies, w[: X.shape[1]]
        self._real = position != packing.PADDING
        self._n_chunks = -(-position.size // CHUNK)
        missing = np.isnan(X)
        #: Of every row of the layout; padding lacks nothing.
        lacked = missing[position] & self._real[:, np.newaxis]
        rows, which = np.nonzero(lacked)
        self._lacked = listed_by_chunk(rows, which, position.size)

    def lacks(self, new: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
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
            incomplete.excess_at(np.ascontiguousarray(new.T), *self._observed, of_new)
        if which.size > 0:
            of_fitted = self._excess
        out = np.zeros((self._copies.size, n_columns))
        incomplete.add_column_lacks((*self._lacked, self._w, of_fitted), which, place, of_new, out)
        return out

    @cached_property
    def _observed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of the features in order, and how likely a missing one is to be each, (n_features, n)."""
        copies = np.empty(len(self._X))
        copies[self._position[self._real]] = self._copies[self._real]
        values = self._X.T
        order = np.argsort(values, axis=1, kind="stable")  # NaN comes last
        shares = np.where(np.isnan(values), 0.0, copies)
        shares /= shares.sum(axis=1, keepdims=True)
        ordered = np.take_along_axis(values, order, axis=1)
        return np.nan_to_num(ordered, nan=0.0), np.take_along_axis(shares, order, axis=1)

    @cached_property
    def _excess(self) -> NDArray[np.float64]:
        """By how much a difference is too small where a new sample lacks the value, by row of the layout."""
        rows = np.zeros((self._X.shape[1], self._n_chunks * CHUNK))
        rows[:, : self._position.size] = self._X[self._position].T
        found = np.empty_like(rows)
        incomplete.excess_at(rows, *self._observed, found)
        chunks = found.reshape(found.shape[0], self._n_chunks, CHUNK)
        return np.ascontiguousarray(chunks.transpose(1, 0, 2))
