"""Fermat's spiral among up to 10,000 irrelevant features: Figure 1, Tables 1 and 2.

Two classes of 200 points each on the branches of a spiral, in two features; the others are N(0, 1). The five
features of largest weight are kept (of LOGO's those with a weight at all) and judged by five classifiers. The
paper seems to have weighted all samples, those it tests on included: its accuracies of LDA and naive Bayes
rise with the number of irrelevant features. That is repeated here; beside it features are selected in
each training fold.

The paper gives no equation of the spiral, nor how often it goes round. Here r = ±√θ without noise: two and a
half turns, as the generator of this package has it, and one turn, of which there is more to find. A file
``spiral.npz`` in the data folder takes the place of the first.
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

from ...bases.weighter import FeatureWeighter
from ...irelief import IRelief
from ...lhr import LHRelief
from ...logo import LOGO
from ..beside import Pair, Results, measured, share
from ..experiment import Cell, Experiment, Outcome
from ..judges import folds_of
from ..pictures import panels
from ..sets import DataSet
from .boxes import draw
from .classifiers import Chosen, chosen, right
from .published import CLASSIFIERS, TABLE_1, TABLE_2, WEIGHTERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: The sets, and how their rows are named.
TURNS = {"spiral": "2.5 turns", "spiral_one_turn": "1 turn"}
ROWS = "spiral and irrelevant features"
#: Of both classes together.
N_SAMPLES = 400
N_KEPT = 5
#: For LHR the paper has k = 7 and λ = 10⁻³. Of the others it says nothing; LOGO has what its own paper has,
#: I-RELIEF neighbourhoods of half the samples.
MADE: Mapping[str, Callable[[], FeatureWeighter]] = {
    "LHR": lambda: LHRelief(n_neighbors=7, alpha=1e-3),
    "I-RELIEF": lambda: IRelief(perplexity=0.5),
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
        # LHR seldom settles, and LOGO's penalty may leave nothing: both are among the reasons given.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="alpha=.* leaves no feature")
        weights = MADE[weighter]().fit(X, y).feature_weights_
    n = min(n, max(1, int(np.sum(weights > 0.0))))
    return np.argsort(-weights, kind="stable")[:n]


def hidden(cell: Cell, data: DataSet) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Samples with as many irrelevant features as the cell says, their classes, places of the relevant ones.

    Samples and features are shuffled: folds differ from repeat to repeat, and where weights are equal, the
    features of the spiral do not come first.
    """
    order = cell.random("samples").permutation(len(data.y))
    irrelevant = cell.random("irrelevant").standard_normal((len(order), int(cell.setting)))
    X = np.hstack([np.asarray(data.X, dtype=np.float64)[order], irrelevant])
    columns = cell.random("features").permutation(X.shape[1])
    relevant = np.flatnonzero(columns < data.X.shape[1])
    return X[:, columns], data.y[order].astype(np.int64), relevant


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


def _row(dataset: str, setting: str) -> str:
    return f"{TURNS[dataset]}, {int(setting):,}"


def _same(kept: NDArray[Any], train: Places) -> NDArray[Any]:
    return kept


def _selected_on(weighter: str, X: NDArray[Any], y: NDArray[Any], train: Places) -> NDArray[Any]:
    return X[:, best_features(weighter, X[train], y[train], N_KEPT)]


class _OnSpiral(Experiment):
    """Cells of the experiments on the spiral: all weighters at one number of irrelevant features."""

    paper = "cai2014"
    datasets = tuple(TURNS)
    settings = tuple(str(dimension) for dimension in TABLE_1)
    repeats = 10
    version = 2
    reasons = (
        "The paper gives no equation, range or noise of its spiral. Ours have no noise, so that neighbours in"
        " the two features are right nearly always; without irrelevant features the paper's are not.",
        "With 2.5 turns the branches are so narrow that none of the three found both features among 1,000"
        " irrelevant ones or more, and the penalty of LOGO's own paper leaves no feature at all (some one is"
        " then kept). With one turn all three find them among 1,000.",
        "The printed tables contradict themselves: from 1,000 irrelevant features on all numbers of LHR are"
        " the same in both, and those of 9,000 and 10,000 as well; one accuracy is 0; in Table 1 the averages"
        " of LHR and I-RELIEF at 0 irrelevant features are not those of the numbers beside them.",
        "The paper's numbers are of one draw, judged on 400 samples, which is what its standard errors are"
        " taken from; whether a method finds one feature or both is up to the draw.",
        "The parameters of I-RELIEF and LOGO are not in the paper. With one turn LOGO with those of its own"
        " paper leaves the two features of the spiral and no other, which the paper's LOGO cannot have done.",
    )

    @property
    def kept_as(self) -> str:
        return "lhr-spiral"

    def seconds(self, cell: Cell) -> float:
        return 25.0 + 0.004 * int(cell.setting)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        X, y, relevant = hidden(cell, data)
        outcome: Outcome = {"ten-fold": {}, "one out": {}, "inside": {}, "found": {}}
        for weighter in WEIGHTERS:
            best = best_features(weighter, X, y, N_KEPT)
            on_all = folds(y, partial(_same, X[:, best]))
            inside = folds(y, partial(_selected_on, weighter, X, y))
            outcome["ten-fold"][weighter] = ten_fold(y, on_all)
            outcome["one out"][weighter] = one_out(y, on_all)
            outcome["inside"][weighter] = ten_fold(y, inside)
            outcome["found"][weighter] = int(np.isin(best, relevant).sum())
        if cell.setting == "0":
            outcome["points"] = [data.X[data.y == code].round(3).tolist() for code in (0, 1)]
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
            for (dataset, setting), runs in self.by_set(outcomes).items():
                ours = {name: [run[part][weighter][name] for run in runs] for name in CLASSIFIERS}
                ours["Aver."] = np.mean([ours[name] for name in CLASSIFIERS], axis=0).tolist()
                for (name, values), theirs in zip(
                    ours.items(), published[int(setting)][weighter], strict=True
                ):
                    printed = share(theirs, N_SAMPLES)
                    pairs.append(Pair(_row(dataset, setting), name, measured(values), printed))
            tables.append(Results(f"{title}: {weighter}", ROWS, "accuracy, %", pairs))
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
            Pair(
                _row(dataset, setting),
                weighter,
                measured([float(run["found"][weighter]) for run in runs]),
                None,
            )
            for (dataset, setting), runs in self.by_set(outcomes).items()
            for weighter in WEIGHTERS
        ]
        remark = "The paper shows box plots of the numbers in its Tables 1 and 2."
        title = "Figure 1: features of the spiral among the five of largest weight"
        return [Results(title, ROWS, "of two", pairs, [remark])]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_set(outcomes)
        shown = list(dict.fromkeys(dataset for dataset, _ in found))
        if not shown:
            return {}
        picture, axes = panels(3 * len(shown), width=4.6, height=3.8)
        for i, dataset in enumerate(shown):
            spiral, *plots = axes[3 * i : 3 * i + 3]
            runs = {int(setting): each for (name, setting), each in found.items() if name == dataset}
            drawn = runs[0][0]["points"] if 0 in runs else []
            for points, marker in zip(drawn, "ox", strict=False):
                spiral.plot(*np.array(points).T, marker, markersize=3, linestyle="none")
            spiral.set(title=f"(a) {TURNS[dataset]}", aspect="equal")
            _boxes(plots[0], runs, "ten-fold", "(b) ten-fold")
            _boxes(plots[1], runs, "one out", "(c) leave-one-out")
        axes[1].legend()
        return {"lhr-fig1": picture}


def _boxes(ax: Any, runs: Mapping[int, Sequence[Outcome]], part: str, title: str) -> None:
    """Accuracies of the five classifiers against the number of irrelevant features."""
    for i, weighter in enumerate(WEIGHTERS):
        means = [
            [float(np.mean([run[part][weighter][name] for run in several])) for name in CLASSIFIERS]
            for several in runs.values()
        ]
        places = draw(ax, means, 0.25 * (i - 1), f"C{i}", weighter)
        ax.plot(places, [np.mean(each) for each in means], color=f"C{i}")
    ax.set_xticks(range(len(runs)), [f"{dimension:,}" for dimension in runs], rotation=60)
    ax.set(title=title, xlabel="irrelevant features", ylabel="accuracy of five classifiers, %")
