"""k-NN in the learned metric: what weights are judged by on samples left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names

from ..core.scaling import Scaling

#: Neighbours that vote.
N_NEIGHBORS = 5
#: Distances that differ by less, relatively, are equal: scaling splits true ties by rounding.
_TIED = 1e-9
#: From a classifier, samples, their classes and how often they count, to a number that is to be large.
Scorer = Callable[[Any, NDArray[Any], NDArray[Any], NDArray[np.float64] | None], float]


class NeighborRule(ClassifierMixin, BaseEstimator):
    """The class of most of the five fitted samples that are nearest by Σ_j w_j|x_j − x'_j|.

    Neighbours as far as the fifth share its vote; of classes with as many votes the smaller wins. Copies of a
    sample are neighbours of their own. What is missing stands at the mean of the fitted samples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The fitted samples, not scaled.
    codes : array of shape (n_samples,)
        Their places among ``classes``.
    classes : array of shape (n_classes,)
        The classes.
    copies : array of shape (n_samples,) or None
        How often each sample counts.
    scaling : Scaling
        Of the features.
    weights : array of shape (n_features,)
        Of the features, ≥ 0.
    """

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        copies: NDArray[np.float64] | None,
        scaling: Scaling,
        weights: NDArray[np.float64],
    ) -> None:
        self.X, self.codes, self.classes, self.copies = X, codes, classes, copies
        self.scaling, self.weights = scaling, weights
        self.classes_, self.feature_weights_ = classes, weights
        self._active = np.flatnonzero(weights > 0.0)
        fitted = self._weighted(X)
        self._means = _known_means(fitted, copies)
        self._fitted = np.where(np.isnan(fitted), self._means, fitted)
        self._members = np.zeros((codes.size, classes.size))
        self._members[np.arange(codes.size), codes] = 1.0 if copies is None else copies

    def _weighted(self, X: NDArray[Any]) -> NDArray[np.float64]:
        scaled = self.scaling.of(self._active).apply(X[:, self._active])
        return np.asarray(scaled, dtype=np.float64) * self.weights[self._active]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Shares of the votes, (n_samples, n_classes)."""
        rows = self._weighted(np.asarray(X))
        distances = cdist(np.where(np.isnan(rows), self._means, rows), self._fitted, "cityblock")
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
        """Class with the most votes."""
        votes = self.predict_proba(X)
        most = votes.max(axis=1, keepdims=True)
        return self.classes_[np.argmax(votes >= most * (1.0 - _TIED), axis=1)]


def _known_means(X: NDArray[np.float64], copies: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Means of the known values of columns, each sample counted as its copies; 0 where none is known."""
    counts = ~np.isnan(X) * (1.0 if copies is None else copies[:, np.newaxis])
    sums = np.sum(np.where(np.isnan(X), 0.0, X) * counts, axis=0)
    return np.asarray(sums / np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny))


def accuracy(
    rule: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Share of the samples, or of their copies, that are put into their class.

    Of several classes that are equally likely each is right by its share: names of classes decide nothing.
    """
    shares = rule.predict_proba(X)
    likely = shares >= shares.max(axis=1, keepdims=True) * (1.0 - _TIED)
    right = (likely & (rule.classes_ == y[:, np.newaxis])).any(axis=1) / likely.sum(axis=1)
    return float(np.average(right, weights=sample_weight))


def checked_scorer(scoring: Any) -> Scorer:
    """What ``scoring`` says: None for accuracy, a name that scikit-learn knows, or a callable."""
    if scoring is None:
        return accuracy
    if isinstance(scoring, str) and scoring in get_scorer_names():
        scorer = get_scorer(scoring)
    elif callable(scoring) and not isinstance(scoring, type):
        scorer = scoring
    else:
        raise ValueError(
            f"scoring={scoring!r} must be None, the name of one of scikit-learn's scores, such as 'accuracy'"
            " or 'neg_log_loss', or a callable of a classifier, samples and their classes."
        )
    weighs = "sample_weight" in inspect.signature(scorer).parameters

    def score(
        rule: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> float:
        more = {"sample_weight": sample_weight} if weighs and sample_weight is not None else {}
        return float(scorer(rule, X, y, **more))

    return score
