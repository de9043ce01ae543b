"""Sections IV-E and IV-F: how well classifiers do with the 50 best features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ..beside import Pair, Results, measured
from ..experiment import Cell, Outcome
from ..judges import error, in_range
from ..pictures import panels
from ..sets import DataSet
from .methods import PLAIN, STABLE, method
from .stability import OnMicroarrays

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Training samples, their classes; test samples, their classes.
Fold = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

N_SELECTED = 50
N_FOLDS = 10
#: Share of the test samples that a classifier gets right.
CLASSIFIERS: Mapping[str, Callable[[Fold], float]] = {
    "1NN": lambda fold: 1.0 - error(*fold, 1),
    "3NN": lambda fold: 1.0 - error(*fold, 3),
    "linear SVM": lambda fold: _svm_accuracy(SVC(kernel="linear", C=1.0), fold),
    # The paper names neither degree nor C.
    "polynomial SVM": lambda fold: _svm_accuracy(SVC(kernel="poly", degree=3, C=1.0), fold),
}


def _svm_accuracy(svm: SVC, fold: Fold) -> float:
    known, y, new, y_new = fold
    return float(svm.fit(known, y).score(new, y_new))


def best_only(weighter: Any, fold: Fold) -> Fold:
    """A fold with the features that the weighter finds best on its training samples, scaled by these."""
    known, y, new, y_new = fold
    weights = weighter.fit(known, y).feature_weights_
    best = np.argsort(-weights, kind="stable")[:N_SELECTED]
    known, new = in_range(known[:, best], new[:, best])
    return known, y, new, y_new


def accuracies(weighter: Any, data: DataSet, seed: int) -> Outcome:
    """Accuracy of each classifier, a mean over the folds."""
    X, y = data.X, data.y.astype(np.int64)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y)
    judged = [best_only(clone(weighter), (X[a], y[a], X[b], y[b])) for a, b in folds]
    return {
        name: float(np.mean([accuracy(fold) for fold in judged])) for name, accuracy in CLASSIFIERS.items()
    }


def setting_of(name: str) -> str:
    """The cells that measure the accuracy of a method."""
    return f"accuracy of {name}"


class _Accuracy(OnMicroarrays):
    """What Figures 3 and 4 share."""

    figure: str

    def seconds(self, cell: Cell) -> float:
        return 5.0 if "En-" in cell.setting else 1.0

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        seed = Cell(cell.dataset, "", cell.repeat).random("folds").randint(2**31 - 1)
        weighter = method(cell.setting.removeprefix(setting_of("")))
        if "random_state" in weighter.get_params():
            weighter = clone(weighter).set_params(random_state=int(seed))
        return accuracies(weighter, data, int(seed))

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        found = self.by_method(outcomes, setting_of(""))
        pairs = [
            Pair(f"{dataset}: {name}", each, measured([100.0 * run[each] for run in runs]), None)
            for dataset in self.datasets
            for name, sets in found.items()
            if (runs := sets.get(dataset))
            for each in CLASSIFIERS
        ]
        remarks = [
            "The paper shows bars without numbers, of one cross-validation, and says: no method is"
            " consistently better than another on the four sets; FREL is comparable most of the time.",
            "In the file of tox_171 the nearest neighbour of most samples is one of the three rows beside it:"
            " these seem to be repeated measurements, which flatters 1-NN.",
            "Of the 136 arrays of prostate_singh 34 are about nine times as bright, and stretch the range of"
            " every feature: there the polynomial SVM does badly. On the other 102 it is nearly as good as"
            " the linear one (tried once, with ReliefF).",
            "Features are ranked on the training folds; SVMs have C = 1, the polynomial is of degree 3.",
        ]
        return [Results(self.figure, "set and method", "accuracy, %", pairs, remarks)]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_method(outcomes, setting_of(""))
        values = {
            classifier: {
                name: {
                    dataset: float(np.mean([run[classifier] for run in runs]))
                    for dataset, runs in sets.items()
                }
                for name, sets in found.items()
            }
            for classifier in CLASSIFIERS
        }
        return {self.name: bars(values, "accuracy")} if found else {}


def bars(values: Mapping[str, Mapping[str, Mapping[str, float]]], label: str) -> Picture:
    """A panel for each classifier, in it a group of bars for each set, one for each method."""
    picture, axes = panels(len(values), columns=2, width=5.0, sharey=True)
    for ax, (classifier, by_name) in zip(axes, values.items(), strict=True):
        sets = list(dict.fromkeys(dataset for by_set in by_name.values() for dataset in by_set))
        width = 0.8 / len(by_name)
        for place, (name, by_set) in enumerate(by_name.items()):
            left = [sets.index(dataset) + (place - 0.5 * len(by_name)) * width for dataset in by_set]
            ax.bar(left, list(by_set.values()), width, align="edge", label=name)
        ax.set_xticks(range(len(sets)), sets)
        ax.set(title=classifier, ylabel=label)
    handles, labels = axes[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=4)
    return picture


class Figure3(_Accuracy):
    """Figure 3."""

    name = "frel-fig3"
    figure = "Figure 3"
    title = "Accuracy with the 50 best features: methods as they are"
    settings = tuple(setting_of(name) for name in PLAIN)


class Figure4(_Accuracy):
    """Figure 4."""

    name = "frel-fig4"
    figure = "Figure 4"
    title = "Accuracy with the 50 best features: methods that are to be stable"
    settings = tuple(setting_of(name) for name in STABLE)
