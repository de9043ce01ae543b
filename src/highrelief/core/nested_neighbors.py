"""k-NN on the first few features of a ranking, for many numbers of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scaling import Scaling, feature_scaling

#: Columns that are copied at a time.
_COLUMNS_AT_ONCE = 1024
#: Part of the squared lengths of two rows by which rounding may move the square of their distance.
_ROUNDING = 1e-13
#: Scaled values beyond this, of samples far outside of what was fitted, are cut off: squares stay finite.
_FAR = 1e100


class NestedNeighbors:
    """The k nearest of some samples to others, by the Euclidean distance in more and more features.

    Neighbours that are as far as the k-th share the votes that are left, so that the order of the samples
    does not matter. A class that has as many votes as another wins by its lower code, as in scikit-learn.

    Parameters
    ----------
    X : array of shape (n_fitted, n_features)
        Samples of known classes.
    codes : array of shape (n_fitted,)
        Their classes, 0 … n_classes − 1.
    n_classes : int
        Number of classes, of which some may be missing here.
    n_neighbors : int
        k; all samples if there are fewer.
    scale : "range", "standard" or None
        How the features are scaled, by ``X`` alone.
    copies : array of shape (n_fitted,) or None
        How often each sample counts: two copies are two neighbours.
    """

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.int64],
        n_classes: int,
        *,
        n_neighbors: int,
        scale: str | None,
        copies: NDArray[np.float64] | None = None,
    ) -> None:
        self._X, self._scale, self._copies = X, scale, copies
        self._members = np.zeros((len(codes), n_classes))
        self._members[np.arange(len(codes)), codes] = 1.0 if copies is None else copies
        self._k = min(float(n_neighbors), self._members.sum())

    def predict(
        self, X: NDArray[Any], order: NDArray[np.int64], cuts: Sequence[int]
    ) -> Iterator[NDArray[np.int64]]:
        """Classes of new samples by the first features in ``order``, one array for each of the rising cuts.

        What the features of one cut contribute to the distances is kept for the next.
        """
        squares = np.zeros((len(X), len(self._X)))
        lengths, own_lengths = np.zeros((len(X), 1)), np.zeros(len(self._X))
        for begin, end in pairwise([0, *cuts]):
            for start in range(begin, end, _COLUMNS_AT_ONCE):
                new, own = self._scaled(X, order[start : min(start + _COLUMNS_AT_ONCE, end)])
                lengths += np.sum(new**2, axis=1, keepdims=True)
                own_lengths += np.sum(own**2, axis=1)
                squares -= 2.0 * (new @ own.T)
            yield self._classes(squares + lengths + own_lengths, _ROUNDING * (lengths + own_lengths.max()))

    def _scaled(
        self, X: NDArray[Any], features: NDArray[np.int64]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Some columns of the new and of the own samples, near 0, where distances keep their digits."""
        own = np.asarray(self._X[:, features], dtype=np.float64)
        new = np.asarray(X[:, features], dtype=np.float64)
        # A feature that is the same in all own samples tells none from another; new ones may be far off.
        constant = np.all(own == own[0], axis=0)
        new = np.where(constant, own[0], new)
        scaling = self._unscaled() if self._scale is None else feature_scaling(own, self._scale, self._copies)
        near = scaling.apply(own)
        with np.errstate(over="ignore"):
            far = np.clip(scaling.apply(new), -_FAR, _FAR)
        middle = near.mean(axis=0)
        return far - middle, near - middle

    def _unscaled(self) -> Scaling:
        """One unit for all features: distances keep their order, and squares stay finite."""
        largest = float(np.max(np.abs(self._X), initial=0.0))
        return Scaling(np.zeros(1), np.array([largest if largest > 0.0 else 1.0]))

    def _classes(self, squares: NDArray[np.float64], rounding: NDArray[np.float64]) -> NDArray[np.int64]:
        last = self._last(squares)[:, np.newaxis]
        nearer = (squares < last - rounding).astype(np.float64)
        as_far = (np.abs(squares - last) <= rounding).astype(np.float64)
        votes, tied = nearer @ self._members, as_far @ self._members
        left = self._k - votes.sum(axis=1, keepdims=True)
        votes += left / tied.sum(axis=1, keepdims=True) * tied
        # Sums of parts of votes that are the same may differ in their last bits.
        return np.argmax(np.round(votes, 9), axis=1)

    def _last(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distance, squared, of the k-th neighbour."""
        if self._copies is None:
            k = int(self._k)
            return np.partition(squares, k - 1, axis=1)[:, k - 1]
        order = np.argsort(squares, axis=1)
        counted = np.cumsum(self._copies[order], axis=1)
        # The sum of all may be a little below k.
        place = np.minimum(np.sum(counted < self._k, axis=1), squares.shape[1] - 1)
        return np.take_along_axis(squares, np.take_along_axis(order, place[:, np.newaxis], 1), 1)[:, 0]
