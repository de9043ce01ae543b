"""The five classifiers that judge features; what they have to choose is chosen on the training samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from ...hknn import HKNNClassifier
from ..judges import error, folds_of, in_range

#: Of the SVM with an RBF kernel: C, and γ in units of 1/(number of features × variance).
SVM_CHOICES = tuple(product((1.0, 30.0), (0.3, 3.0)))
#: Of k-NN.
KNN_CHOICES = (1, 3, 5, 9, 15)
#: Of HKNN: neighbours of each class, and the penalty λ.
HKNN_CHOICES = tuple(product((3, 7), (0.1, 1.0)))


@dataclass(frozen=True)
class Chosen:
    """What five-fold cross-validation chose."""

    svm: tuple[float, float]
    n_neighbors: int
    hknn: tuple[int, float]


def chosen(X: NDArray[Any], y: NDArray[Any]) -> Chosen:
    """What makes the fewest mistakes in five folds of the training samples; of equals the first."""
    svm, knn, hknn = (np.zeros(len(choices)) for choices in (SVM_CHOICES, KNN_CHOICES, HKNN_CHOICES))
    with _quickly():
        for train, test in folds_of(y, 5):
            known, new = in_range(X[train], X[test])
            fold = (known, y[train], new, y[test])
            svm += [_svm_right(*fold, each) for each in SVM_CHOICES]
            knn += [_knn_right(*fold, k) for k in KNN_CHOICES]
            hknn += list(_hknn_right(*fold, HKNN_CHOICES))
    return Chosen(
        SVM_CHOICES[int(np.argmax(svm))],
        KNN_CHOICES[int(np.argmax(knn))],
        HKNN_CHOICES[int(np.argmax(hknn))],
    )


def right(
    known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], choice: Chosen
) -> dict[str, int]:
    """How many new samples each classifier gets right; features are scaled by the known ones to [0, 1]."""
    known, new = in_range(known, new)
    with _quickly():
        return {
            "SVM": _svm_right(known, y, new, y_new, choice.svm),
            "LDA": int(np.sum(LinearDiscriminantAnalysis().fit(known, y).predict(new) == y_new)),
            "NB": int(np.sum(GaussianNB().fit(known, y).predict(new) == y_new)),
            "KNN": _knn_right(known, y, new, y_new, choice.n_neighbors),
            "HKNN": next(_hknn_right(known, y, new, y_new, (choice.hknn,))),
        }


def _svm_right(
    known: NDArray[Any],
    y: NDArray[Any],
    new: NDArray[Any],
    y_new: NDArray[Any],
    choice: tuple[float, float],
) -> int:
    C, factor = choice
    gamma = factor / (known.shape[1] * max(float(known.var()), np.finfo(float).tiny))
    return int(np.sum(SVC(C=C, gamma=gamma).fit(known, y).predict(new) == y_new))


def _knn_right(known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int) -> int:
    return round((1.0 - error(known, y, new, y_new, k)) * len(y_new))


def _hknn_right(
    known: NDArray[Any],
    y: NDArray[Any],
    new: NDArray[Any],
    y_new: NDArray[Any],
    choices: tuple[tuple[int, float], ...],
) -> Iterator[int]:
    model = HKNNClassifier().fit(known, y)
    for n_neighbors, alpha in choices:
        # Both are only used when distances are measured.
        model.set_params(n_neighbors=n_neighbors, alpha=alpha)
        yield int(np.sum(model.predict(new) == y_new))


def _quickly() -> Any:
    """Without scikit-learn's checks, which take longer than fits of this size."""
    return config_context(assume_finite=True, skip_parameter_validation=True)
