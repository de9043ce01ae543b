"""k-NN that scores feature weights on samples left out: in the learned metric, and on the best features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin

from .._engine.memory import check_room
from .._engine.scaling import Scaling, feature_scaling

#: Neighbors of :class:`LearnedMetricKNN`.
N_NEIGHBORS = 5
#: Distances and votes that differ by less, relatively, are equal: scaling splits true ties by rounding.
_TIED = 1e-9
#: Columns that :class:`NestedKNN` copies at a time.
_COLUMNS_AT_ONCE = 1024
#: Part of the squared lengths of two rows by which rounding may move the square of their distance.
_ROUNDING = 1e-13
#: Scaled values of new samples are clipped here: squares stay finite.
_FAR = 1e100


class LearnedMetricKNN(ClassifierMixin, BaseEstimator):
    """5-NN by the distance Σ_j w_j|x_j − x'_j|, with votes shared by ties.

    Neighbors as far as the fifth share the votes that are left; of classes with equal votes the smaller wins.
    A sample of weight s counts as s neighbors. Missing values are replaced by the mean of the training
    samples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Training samples, not scaled.
    codes : array of shape (n_samples,)
        Indices of their classes.
    classes : array of shape (n_classes,)
        The classes.
    sample_weight : array of shape (n_samples,) or None
        Weights of the samples.
    scaling : Scaling
        Scaling of the features.
    feature_weights : array of shape (n_features,)
        Weights of the features, ≥ 0.
    """

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        scaling: Scaling,
        feature_weights: NDArray[np.float64],
    ) -> None:
        self.X, self.codes, self.classes, self.sample_weight = X, codes, classes, sample_weight
        self.scaling, self.feature_weights = scaling, feature_weights
        self.classes_, self.feature_weights_ = classes, feature_weights
        self._active = np.flatnonzero(feature_weights > 0.0)
        training = self._weighted(X)
        self._means = _observed_means(training, sample_weight)
        self._training = np.where(np.isnan(training), self._means, training)
        self._members = np.zeros((codes.size, classes.size))
        self._members[np.arange(codes.size), codes] = 1.0 if sample_weight is None else sample_weight

    def _weighted(self, X: NDArray[Any]) -> NDArray[np.float64]:
        scaled = self.scaling.of(self._active).apply(X[:, self._active])
        return np.asarray(scaled, dtype=np.float64) * self.feature_weights[self._active]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return shares of the votes, (n_samples, n_classes)."""
        rows = self._weighted(np.asarray(X))
        distances = cdist(np.where(np.isnan(rows), self._means, rows), self._training, "cityblock")
        counts = self._members.sum(axis=1)
        k = min(float(N_NEIGHBORS), counts.sum())
        order = np.argsort(distances, axis=1)
        last = np.argmax(np.cumsum(counts[order], axis=1) >= k, axis=1)
        farthest = np.take_along_axis(distances, order[np.arange(len(rows)), last][:, np.newaxis], axis=1)
        nearer = distances < farthest * (1.0 - _TIED)
        as_far = ~nearer & (distances <= farthest * (1.0 + _TIED))
        left = k - nearer @ counts
        votes = nearer @ self._members + (left / (as_far @ counts))[:, np.newaxis] * (as_far @ self._members)
        return votes / k

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the most votes."""
        votes = self.predict_proba(X)
        most = votes.max(axis=1, keepdims=True)
        return self.classes_[np.argmax(votes >= most * (1.0 - _TIED), axis=1)]


def accuracy(
    classifier: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Return the weighted share of samples whose class is predicted.

    Of several classes that are equally likely each is right by its share: names of classes decide nothing.
    """
    shares = classifier.predict_proba(X)
    likely = shares >= shares.max(axis=1, keepdims=True) * (1.0 - _TIED)
    right = (likely & (classifier.classes_ == y[:, np.newaxis])).any(axis=1) / likely.sum(axis=1)
    return float(np.average(right, weights=sample_weight))


def _observed_means(X: NDArray[np.float64], sample_weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return weighted means of the observed values of columns; 0 where none is observed."""
    counts = ~np.isnan(X) * (1.0 if sample_weight is None else sample_weight[:, np.newaxis])
    sums = np.sum(np.where(np.isnan(X), 0.0, X) * counts, axis=0)
    return np.asarray(sums / np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny))


class NestedKNN:
    """k-NN by the Euclidean distance in nested sets of features, all of them in one pass.

    Neighbors as far as the k-th share the votes that are left, so that the order of the samples does not
    matter. Of classes with equal votes the one with the lower code wins, as in scikit-learn.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Training samples.
    codes : array of shape (n_samples,)
        Their classes, 0 … n_classes − 1.
    n_classes : int
        Number of classes, of which some may be missing here.
    n_neighbors : int
        k; all samples if there are fewer.
    scale : "range", "standard" or None
        Scaling of the features, by ``X`` alone.
    sample_weight : array of shape (n_samples,) or None
        Weights of the samples: a sample of weight s counts as s neighbors.
    """

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.int64],
        n_classes: int,
        *,
        n_neighbors: int,
        scale: str | None,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self._X, self._codes, self._scale, self._sample_weight = X, codes, scale, sample_weight
        self._members = np.zeros((len(codes), n_classes))
        self._members[np.arange(len(codes)), codes] = 1.0 if sample_weight is None else sample_weight
        self._k = min(float(n_neighbors), self._members.sum())

    def predict(
        self, X: NDArray[Any], order: NDArray[np.int64], cuts: Sequence[int]
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the classes of new samples by the first features in ``order``, for each of the rising cuts.

        The distances of one cut are part of those of the next.
        """
        # Squares of distances minus the squared lengths of the new samples, which change no order.
        check_room(
            24.0 * len(X) * len(self._X),
            f"The distances of {len(X)} samples to {len(self._X)}",
            "Use more folds, or a classifier that needs no distance matrix.",
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
        """Return columns of new and of training samples, near 0, where distances keep their digits."""
        own = np.asarray(self._X[:, features], dtype=np.float64)
        new = np.asarray(X[:, features], dtype=np.float64)
        # A feature that is constant in the training samples cannot order them; new values may be far off.
        constant = np.all(own == own[0], axis=0)
        new = np.where(constant, own[0], new)
        scaling = (
            self._unscaled()
            if self._scale is None
            else feature_scaling(own, self._scale, self._sample_weight)
        )
        near = scaling.apply(own)
        with np.errstate(over="ignore"):
            far = np.clip(scaling.apply(new), -_FAR, _FAR)
        middle = near.mean(axis=0)
        return far - middle, near - middle

    def _unscaled(self) -> Scaling:
        """Return one unit for all features: distances keep their order, and squares stay finite."""
        largest = float(np.max(np.abs(self._X), initial=0.0))
        return Scaling(np.zeros(1), np.array([largest if largest > 0.0 else 1.0]))

    def _votes(
        self, squares: NDArray[np.float64], rounding: NDArray[np.float64], scratch: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the votes of the k nearest for each class; ``scratch`` is overwritten."""
        n_new, n_own = squares.shape
        if self._sample_weight is not None or self._k == n_own:
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
        """Return the votes where several neighbors may be as far as the k-th and share what is left."""
        beyond = squares - self._last(squares)[:, np.newaxis]
        rounding = rounding[:, np.newaxis]
        votes = (beyond < -rounding).astype(np.float64) @ self._members
        as_far = (np.abs(beyond) <= rounding).astype(np.float64) @ self._members
        left = self._k - votes.sum(axis=1, keepdims=True)
        return votes + left / as_far.sum(axis=1, keepdims=True) * as_far

    def _last(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the square at the k-th neighbor."""
        if self._sample_weight is None:
            k = int(self._k)
            return np.partition(squares, k - 1, axis=1)[:, k - 1]
        order = np.argsort(squares, axis=1)
        counted = np.cumsum(self._sample_weight[order], axis=1)
        # The sum of all may be a little below k.
        place = np.minimum(np.sum(counted < self._k, axis=1), squares.shape[1] - 1)
        return np.take_along_axis(squares, np.take_along_axis(order, place[:, np.newaxis], 1), 1)[:, 0]
