"""The class whose samples are nearest on average: what learned weights are judged by on samples left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names

from .base import FeatureWeighter
from .core.class_distances import ClassDistances
from .input_base import Table

#: Expected distances that differ by less, relatively, are equal: scaling splits true ties by rounding.
TIES = {"float64": 1e-12, "float32": 1e-6}
#: From a classifier, samples, their classes and how often they count, to a number that is to be large.
Scorer = Callable[[Any, NDArray[Any], NDArray[Any], NDArray[np.float64] | None], float]


class NearestClass(ClassifierMixin, BaseEstimator):
    r"""The rule of I-M4E (Bei and Hong 2015, eq. 10) under the weights of any weighter.

    A sample is of the class with the smallest :math:`\Psi_c(x) = \sum_{y_n = c} P^c_n d(x, x_n)`, with P the
    softmax of −d/σ over the fitted samples of class c, and d the learned distance.

    Parameters
    ----------
    weighter : FeatureWeighter
        A fitted one, with a width ``sigma_``.
    table : Table
        The samples it was fitted to.
    """

    def __init__(self, weighter: FeatureWeighter, table: Table) -> None:
        self.weighter = weighter
        self.table = table
        self.classes_ = weighter.classes_
        self.feature_weights_ = weighter.feature_weights_
        self.sigma_ = weighter.sigma_
        self._active = np.flatnonzero(self.feature_weights_ > 0.0)
        self._tie = TIES[weighter._scaling.offset.dtype.name]
        self._references = ClassDistances(
            table.observed[:, self._active],
            weighter._scaling.of(self._active),
            table.codes,
            self.feature_weights_[self._active],
            self.sigma_,
            table.copies,
        )

    def expected_distances(self, X: ArrayLike) -> NDArray[np.float64]:
        """Ψ of samples, (n_samples, n_classes)."""
        psi = self._references.expected(np.asarray(X)[:, self._active], self.weighter._n_threads)
        nearest = psi.min(axis=1, keepdims=True)
        return np.where(psi <= nearest * (1.0 + self._tie), nearest, psi)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class with the smallest expected distance; ties go to the smaller class."""
        return self.classes_[np.argmin(self.expected_distances(X), axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Softmax of −Ψ/σ over the classes."""
        psi = self.expected_distances(X)
        shares = np.exp((psi.min(axis=1, keepdims=True) - psi) / self.sigma_)
        return shares / shares.sum(axis=1, keepdims=True)


def accuracy(
    rule: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Share of the samples, or of their copies, that are put into their class."""
    return float(np.average(rule.predict(X) == y, weights=sample_weight))


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
