"""Fermat's spiral among up to 10,000 irrelevant features: Figure 1, Tables 1 and 2.

Two classes of 200 points each on the branches of a spiral, in two features; the others are N(0, 1). The five
features of largest weight are kept (of LOGO's those with a weight at all) and judged by five classifiers. The
paper seems to have weighted all samples, those it tests on included: its accuracies of LDA and naive Bayes
rise with the number of irrelevant features. That is repeated here; beside it features are selected in
each training fold.

The paper gives no equation of the spiral. Here r = ±√θ goes round once, without noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ...base import FeatureWeighter
from ...datasets import make_fermat_spiral
from ...irelief import IRelief
from ...lhr import LHRelief
from ...logo import LOGO
from ..beside import Figure, Pair, Results, measured
from ..experiment import Cell, Experiment, Outcome
from ..judges import folds_of
from ..pictures import panels
from ..sets import DataSet
from .boxes import draw
from .classifiers import Chosen, chosen, right
from .published import CLASSIFIERS, TABLE_1, TABLE_2, WEIGHTERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TURNS = 1.0
N_KEPT = 5
#: For LHR the paper has k = 7 and λ = 10⁻³. Of the others it says nothing; LOGO has what its own paper has.
MADE: Mapping[str, Callable[[], FeatureWeighter]] = {
    "LHR": lambda: LHRelief(n_neighbors=7, alpha=1e-3),
    "I-RELIEF": IRelief,
    "LOGO": lambda: LOGO(sigma=2.0, alpha=1.0),
}
#: Accuracies by classifier.
Accuracies = dict[str, float]
#: Places of samples.
Places = NDArray[np.int64]
#: From the places of the training samples to the kept features of all samples.
Columns = Callable[[Places], NDArray[Any]]


def best_features(weighter: str, X: NDArray[Any], y: NDArray[Any], n: int) -> NDArray[np.int64]:
    """The n features of largest weight, the largest first; those without a weight only if none has one."""
    with warnings.catch_warnings():
        # LHR seldom settles, which is among the reasons for what comes out.
        warnings.simplefilter("ignore", ConvergenceWarning)
        weights = MADE[weighter]().fit(X, y).feature_weights_
    n = min(n, max(1, int(np.sum(weights > 0.0))))
    return np.argsort(-weights, kind="stable")[:n]


def points(cell: Cell, n_samples: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The spiral of a repeat, the same for any number of irrelevant features."""
    random = Cell(cell.dataset, "", cell.repeat).random("points")
    X, y, _ = make_fermat_spiral(n_samples, turns=TURNS, noise=0.0, random_state=random)
    return X, y


@dataclass(frozen=True)
class Fold:
    """A tenth of the samples to judge by, the others to learn from, and what is learnt from these."""

    train: Places
    test: Places
    #: The kept features of all samples.
    X: NDArray[Any]
    choice: Chosen


def folds(y: NDArray[Any], columns: Columns) -> list[Fold]:
    """Ten folds, with what the classifiers choose on the training samples."""
    found = []
    for train, test in folds_of(y):
        X = columns(train)
        found.append(Fold(train, test, X, chosen(X[train], y[train])))
    return found


def ten_fold(y: NDArray[Any], parts: Sequence[Fold]) -> Accuracies:
    """Accuracies in ten-fold cross-validation."""
    return _shares([_right(y, each, each.train, each.test) for each in parts], y)


def one_out(y: NDArray[Any], parts: Sequence[Fold]) -> Accuracies:
    """Accuracies by leave-one-out.

    What a classifier has to choose is chosen once for each tenth of the samples, on the other nine.
    """
    everyone = np.arange(len(y))
    counts = [
        _right(y, part, np.delete(everyone, each), np.array([each])) for part in parts for each in part.test
    ]
    return _shares(counts, y)


def _right(y: NDArray[Any], part: Fold, train: Places, test: Places) -> dict[str, int]:
    return right(part.X[train], y[train], part.X[test], y[test], part.choice)


def _shares(counts: Sequence[Mapping[str, int]], y: NDArray[Any]) -> Accuracies:
    return {name: 100.0 * sum(count[name] for count in counts) / len(y) for name in CLASSIFIERS}


def _same(kept: NDArray[Any], train: Places) -> NDArray[Any]:
    return kept


def _selected_on(weighter: str, X: NDArray[Any], y: NDArray[Any], train: Places) -> NDArray[Any]:
    return X[:, best_features(weighter, X[train], y[train], N_KEPT)]


class _OnSpiral(Experiment):
    """Cells of the experiments on the spiral: all weighters at one number of irrelevant features."""

    paper = "cai2014"
    datasets = ("spiral",)
    settings = tuple(str(dimension) for dimension in TABLE_1)
    repeats = 10
    reasons = (
        "The paper gives no equation, range or noise of its spiral. Ours has no noise, so that whoever finds"
        " its two features is right nearly always; without irrelevant features the paper's classifiers are"
        " not.",
        "The printed tables contradict themselves: from 1,000 irrelevant features on all numbers of LHR are"
        " the same in both, and those of 9,000 and 10,000 as well; one accuracy is 0; the averages at 0"
        " irrelevant features are not those of the numbers beside them.",
        "Our LHR loses one of the two features more often the more irrelevant ones there are: its iteration"
        " does not settle, and how the paper's ended is not said.",
        "The parameters of I-RELIEF and LOGO are not in the paper. LOGO with those of its own paper leaves"
        " the two features of the spiral and no other, which the paper's LOGO cannot have done.",
    )

    @property
    def kept_as(self) -> str:
        return "lhr-spiral"

    def seconds(self, cell: Cell) -> float:
        return 15.0 + 0.0035 * int(cell.setting)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        spiral, y = points(cell, len(data.y))
        irrelevant = cell.random("irrelevant").standard_normal((len(y), int(cell.setting)))
        X = np.hstack([spiral, irrelevant])
        outcome: Outcome = {"ten-fold": {}, "one out": {}, "inside": {}, "found": {}}
        for weighter in WEIGHTERS:
            best = best_features(weighter, X, y, N_KEPT)
            on_all = folds(y, partial(_same, X[:, best]))
            inside = folds(y, partial(_selected_on, weighter, X, y))
            outcome["ten-fold"][weighter] = ten_fold(y, on_all)
            outcome["one out"][weighter] = one_out(y, on_all)
            outcome["inside"][weighter] = ten_fold(y, inside)
            outcome["found"][weighter] = int(np.sum(best < 2))
        return outcome

    def beside(
        self,
        outcomes: Mapping[Cell, Outcome],
        part: str,
        published: Mapping[int, Mapping[str, Sequence[float]]],
        title: str,
    ) -> list[Results]:
        """A table for each weighter: accuracies by number of irrelevant features."""
        tables = []
        for weighter in WEIGHTERS:
            pairs = []
            for (_, setting), runs in self.by_set(outcomes).items():
                ours = {name: [run[part][weighter][name] for run in runs] for name in CLASSIFIERS}
                ours["Aver."] = np.mean([ours[name] for name in CLASSIFIERS], axis=0).tolist()
                for (name, values), theirs in zip(
                    ours.items(), published[int(setting)][weighter], strict=True
                ):
                    pairs.append(Pair(setting, name, measured(values), Figure(theirs, None, self.repeats)))
            tables.append(Results(f"{title}: {weighter}", "irrelevant features", "accuracy, %", pairs))
        return tables


class Table1(_OnSpiral):
    """Table 1."""

    name = "lhr-table1"
    title = "Ten-fold cross-validation on the spiral with irrelevant features"

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        return [
            *self.beside(outcomes, "ten-fold", TABLE_1, "Table 1, features selected on all samples"),
            *self.beside(outcomes, "inside", TABLE_1, "Table 1, features selected inside the fold"),
        ]


class Table2(_OnSpiral):
    """Table 2."""

    name = "lhr-table2"
    title = "Leave-one-out on the spiral with irrelevant features"

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        tables = self.beside(outcomes, "one out", TABLE_2, "Table 2, features selected on all samples")
        tables[0].remarks.append(
            "400 selections for every number would take hours: inside the fold features are selected for"
            " `lhr-table1` alone."
        )
        return tables


class Figure1(_OnSpiral):
    """Figure 1."""

    name = "lhr-fig1"
    title = "The spiral, and the accuracies of five classifiers against the number of irrelevant features"

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = [
            Pair(setting, weighter, measured([float(run["found"][weighter]) for run in runs]), None)
            for (_, setting), runs in self.by_set(outcomes).items()
            for weighter in WEIGHTERS
        ]
        remark = "The paper shows box plots of the numbers in its Tables 1 and 2."
        title = "Figure 1: features of the spiral among the five of largest weight"
        return [Results(title, "irrelevant features", "of two", pairs, [remark])]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        picture, (spiral, *plots) = panels(3, width=4.6, height=3.8)
        X, y = points(Cell("spiral", "", 0), 400)
        for code, marker in ((0, "o"), (1, "x")):
            spiral.plot(*X[y == code].T, marker, markersize=3, linestyle="none")
        spiral.set(title="(a) the spiral", aspect="equal")
        found = self.by_set(outcomes)
        for ax, part, title in (
            (plots[0], "ten-fold", "(b) ten-fold"),
            (plots[1], "one out", "(c) leave-one-out"),
        ):
            for i, weighter in enumerate(WEIGHTERS):
                means = [
                    [float(np.mean([run[part][weighter][name] for run in runs])) for name in CLASSIFIERS]
                    for runs in found.values()
                ]
                places = draw(ax, means, 0.25 * (i - 1), f"C{i}", weighter)
                ax.plot(places, [np.mean(each) for each in means], color=f"C{i}")
            ax.set_xticks(range(len(found)), [f"{int(setting):,}" for _, setting in found], rotation=60)
            ax.set(title=title, xlabel="irrelevant features", ylabel="accuracy of five classifiers, %")
        plots[0].legend()
        return {"lhr-fig1": picture}
