"""k-NN on the first few features of a ranking, for many numbers of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .memory import check_room
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
        self._X, self._codes, self._scale, self._copies = X, codes, scale, copies
        self._members = np.zeros((len(codes), n_classes))
        self._members[np.arange(len(codes)), codes] = 1.0 if copies is None else copies
        self._k = min(float(n_neighbors), self._members.sum())

    def predict(
        self, X: NDArray[Any], order: NDArray[np.int64], cuts: Sequence[int]
    ) -> Iterator[NDArray[np.int64]]:
        """Classes of new samples by the first features in ``order``, one array for each of the rising cuts.

        What the features of one cut contribute to the distances is kept for the next.
        """
        # Squares of distances less the squared lengths of the new samples, which make no neighbour nearer.
        check_room(
            24.0 * len(X) * len(self._X),
            f"The distances of {len(X)} samples to {len(self._X)}",
            "More folds would do, or a classifier that finds neighbours without them.",
        )
        squares = np.zeros((len(X), len(self._X)))
        added, lengths, own_lengths = np.empty_like(squares), np.zeros(len(X)), np.zeros(len(self._X))
        for begin, end in pairwise([0, *cuts]):
            for start in range(begin, end, _COLUMNS_AT_ONCE):
                new, own = self._scaled(X, order[start : min(start + _COLUMNS_AT_ONCE, end)])
                lengths += np.sum(new**2, axis=1)
                own_length = np.sum(own**2, axis=1)
                own_lengths += own_length
                np.matmul(-2.0 * new, own.T, out=added)
                added += own_length
                squares += added
            rounding = _ROUNDING * (lengths + own_lengths.max())
            # Sums of parts of votes that are the same may differ in their last bits.
            yield np.argmax(np.round(self._votes(squares, rounding, added), 9), axis=1)

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

    def _votes(
        self, squares: NDArray[np.float64], rounding: NDArray[np.float64], scratch: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How many of the k nearest are of each class; ``scratch`` is overwritten."""
        n_new, n_own = squares.shape
        if self._copies is not None or self._k == n_own:
            return self._shared_votes(squares, rounding)
        k, n_classes = int(self._k), self._members.shape[1]
        np.copyto(scratch, squares)
        scratch.partition((k - 1, k), axis=1)
        last, following = scratch[:, k - 1], scratch[:, k]
        rows, near = np.nonzero(squares <= last[:, np.newaxis])
        places = rows * n_classes + self._codes[near]
        votes = np.bincount(places, minlength=n_new * n_classes).reshape(n_new, n_classes).astype(np.float64)
        tied = following - last <= rounding
        votes[tied] = self._shared_votes(squares[tied], rounding[tied])
        return votes

    def _shared_votes(
        self, squares: NDArray[np.float64], rounding: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same where several may be as far as the k-th, and share the votes that are left."""
        beyond = squares - self._last(squares)[:, np.newaxis]
        rounding = rounding[:, np.newaxis]
        votes = (beyond < -rounding).astype(np.float64) @ self._members
        as_far = (np.abs(beyond) <= rounding).astype(np.float64) @ self._members
        left = self._k - votes.sum(axis=1, keepdims=True)
        return votes + left / as_far.sum(axis=1, keepdims=True) * as_far

    def _last(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where the k-th neighbour is."""
        if self._copies is None:
            k = int(self._k)
            return np.partition(squares, k - 1, axis=1)[:, k - 1]
        order = np.argsort(squares, axis=1)
        counted = np.cumsum(self._copies[order], axis=1)
        # The sum of all may be a little below k.
        place = np.minimum(np.sum(counted < self._k, axis=1), squares.shape[1] - 1)
        return np.take_along_axis(squares, np.take_along_axis(order, place[:, np.newaxis], 1), 1)[:, 0]
