"""What the experiments on the UCI sets begin with: irrelevant features, wrong labels, values in [0, 1]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bases.selector import n_positive
from ..experiment import Cell
from ..judges import best_count, error, errors_at, folds_of, in_range
from ..sets import DataSet
from .published import N_TRAIN

#: X and y.
Samples = tuple[NDArray[Any], NDArray[Any]]

N_IRRELEVANT = 50
#: Share of the training samples that are mislabelled, by setting.
MISLABELLED = {"0 %": 0.0, "10 %": 0.1}


class Split:
    """The samples of a run: a random partition, the irrelevant features after the original ones, scaled."""

    def __init__(self, cell: Cell, data: DataSet) -> None:
        irrelevant = cell.random("irrelevant").standard_normal((len(data.X), N_IRRELEVANT))
        X, y = np.hstack([data.X, irrelevant]), data.y.astype(np.int64)
        train, test = data.split(cell.repeat, N_TRAIN[data.name])
        self.known, self.new = in_range(X[train], X[test])
        self.true_y, self.y_new = y[train], y[test]
        share = MISLABELLED.get(cell.setting, 0.0)
        self.y = mislabelled(self.true_y, share, cell.random("mislabelled"))
        self.n_features = X.shape[1]
        self.relevant = np.arange(self.n_features) < data.X.shape[1]
        # Features of equal weight come in random order: the original ones have no advantage by their place.
        self._lots = cell.random("lots").permutation(self.n_features)

    @property
    def training(self) -> Samples:
        """What a method may learn from."""
        return self.known, self.y

    def clean_error(self) -> float:
        """Test error of k-NN with the original features and the true labels, K chosen there."""
        known, new = self.known[:, self.relevant], self.new[:, self.relevant]
        return error(known, self.true_y, new, self.y_new, best_count(known, self.true_y))

    def folds(self) -> Iterator[tuple[Samples, Samples]]:
        """The folds of the training samples: those to learn from, those to judge by."""
        for train, test in folds_of(self.y):
            yield (self.known[train], self.y[train]), (self.known[test], self.y[test])

    def curve(self, w: NDArray[np.float64], learn: Samples, judge: Samples, k: int) -> list[float]:
        """Errors of k-NN with the features of largest weight, as many as ``cuts`` says."""
        return curve_at(cuts(self.n_features), w, self._lots, learn, judge, k)


def curve_at(
    numbers: Sequence[int],
    w: NDArray[np.float64],
    lots: NDArray[np.int64],
    learn: Samples,
    judge: Samples,
    k: int,
) -> list[float]:
    """Errors of k-NN with the features of largest weight, for some numbers of them.

    Of features of equal weight that of the smaller lot comes first. Those whose weight is not positive are
    never chosen: from there on the curve is flat.
    """
    most = n_positive(w)
    sizes = sorted({min(number, most) for number in numbers})
    first = np.lexsort((lots, -w))[: sizes[-1]]
    wrong = errors_at(learn[0][:, first], learn[1], judge[0][:, first], judge[1], k, sizes)
    found = dict(zip(sizes, wrong, strict=True))
    return [found[min(number, most)] for number in numbers]


def mislabelled(y: NDArray[np.int64], share: float, random: np.random.RandomState) -> NDArray[np.int64]:
    """Labels of which a share, drawn at random, are changed to one of the other classes."""
    changed, classes = y.copy(), np.unique(y)
    for place in random.permutation(len(y))[: round(share * len(y))]:
        changed[place] = random.choice(classes[classes != y[place]])
    return changed


def cuts(n_features: int) -> list[int]:
    """Numbers of features at which errors are measured: all up to 30, then every fifth."""
    return [n for n in range(1, n_features + 1) if n <= 30 or n % 5 == 0 or n == n_features]
