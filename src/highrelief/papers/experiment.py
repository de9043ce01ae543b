"""What an experiment is: cells that can be computed one by one, and what they come to."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from ..selection.knn import NestedKNN
from .data import DataSet
from .results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: What a cell came to: numbers, texts and lists of such, as JSON has them.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A part of an experiment that can be computed by itself: one split of one set, say."""

    #: The data set, by its name in the data folder.
    dataset: str
    #: What else is varied ("10 % mislabeled"); empty if nothing is.
    setting: str
    repeat: int

    @property
    def name(self) -> str:
        """What the cell is kept under."""
        return "/".join((self.dataset, self.setting, str(self.repeat)))

    def random(self, purpose: str = "") -> np.random.RandomState:
        """Random numbers of the cell: the same in every run, whatever else is run."""
        text = f"{self.name}/{purpose}".encode()
        return np.random.RandomState(int.from_bytes(hashlib.sha256(text).digest()[:4], "little"))


class Experiment(ABC):
    """A table or figure of a paper.

    A subclass says which cells there are, computes one, and puts what they came to beside what was published.
    """

    #: What users call it ("lfe-table2"), and the key of its paper.
    name: str
    paper: str
    #: What the paper shows there, in a line.
    title: str
    #: Names of the sets, in the paper's order.
    datasets: tuple[str, ...]
    #: What is varied within a set.
    settings: tuple[str, ...] = ("",)
    #: As many as the paper has.
    repeats: int = 20
    #: Changes whenever a cell would come to something else: what was kept before is then computed anew.
    version: int = 1
    #: Why ours may lie far from the paper's: sentences for the results page.
    reasons: tuple[str, ...] = ()

    @property
    def kept_as(self) -> str:
        """What its cells are kept under: the same for experiments that have the same cells."""
        return self.name

    def cells(self, datasets: Sequence[str], repeats: int) -> list[Cell]:
        """The cells for some sets; repeat by repeat, so that a run cut short has some of everything."""
        return [
            Cell(dataset, setting, repeat)
            for repeat in range(repeats)
            for dataset in datasets
            for setting in self.settings
        ]

    @abstractmethod
    def seconds(self, cell: Cell) -> float:
        """About how long a cell takes on one core."""

    @abstractmethod
    def run(self, cell: Cell, data: DataSet) -> Outcome:
        """Compute a cell."""

    @abstractmethod
    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        """Ours beside theirs, from the cells that are done."""

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Figure]:
        """Pictures by name; none where the paper has none."""
        return {}

    def by_set(self, outcomes: Mapping[Cell, Outcome]) -> dict[tuple[str, str], list[Outcome]]:
        """What cells came to, by set and setting in the paper's order, repeat by repeat."""
        found: dict[tuple[str, str], list[Outcome]] = {}
        for dataset in self.datasets:
            for setting in self.settings:
                cells = [cell for cell in outcomes if (cell.dataset, cell.setting) == (dataset, setting)]
                if cells:
                    ordered = sorted(cells, key=lambda cell: cell.repeat)
                    found[dataset, setting] = [outcomes[cell] for cell in ordered]
        return found


# How the papers judge features: by nearest neighbors, their number chosen on the training samples.


#: Numbers of neighbors to choose from, which the papers do not name. That they end at 15 is from early runs,
#: in which the errors of plain k-NN were then nearer to the published ones.
NEIGHBORS = tuple(range(1, 16, 2))


def folds_of(y: NDArray[Any], n_folds: int = 10) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Stratified folds; a class with fewer samples than folds is missing in some."""
    n_folds = max(2, min(n_folds, int(np.bincount(y).max())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(folds.split(np.zeros(len(y)), y))


def curve(
    known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int, length: int
) -> list[float]:
    """Errors of k-NN on the first 1, 2, … columns; where there are no more, that on all of them."""
    cuts = range(1, min(length, known.shape[1]) + 1)
    found = errors_at(known, y, new, y_new, k, list(cuts))
    return found + [found[-1]] * (length - len(found))


def error(known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int) -> float:
    """Share of the new samples that k-NN gets wrong."""
    return errors_at(known, y, new, y_new, k, [known.shape[1]])[0]


def errors_at(
    known: NDArray[Any], y: NDArray[Any], new: NDArray[Any], y_new: NDArray[Any], k: int, cuts: Sequence[int]
) -> list[float]:
    """Errors of k-NN on the first columns, for some rising numbers of them."""
    n_classes = int(max(y.max(), y_new.max())) + 1
    neighbors = NestedKNN(known, y, n_classes, n_neighbors=k, scale=None)
    predicted = neighbors.predict(new, np.arange(known.shape[1]), cuts)
    return [float(np.mean(each != y_new)) for each in predicted]


def best_count(X: NDArray[Any], y: NDArray[Any], counts: Sequence[int] = NEIGHBORS) -> int:
    """The number of neighbors of the least error in 10-fold cross-validation; of equals the smallest."""
    wrong = np.zeros(len(counts))
    for train, test in folds_of(y):
        wrong += [error(X[train], y[train], X[test], y[test], k) * len(test) for k in counts]
    # Errors are whole numbers of samples; without rounding, equals would differ in the last digit.
    return counts[int(np.argmin(np.round(wrong)))]


def in_range(known: NDArray[Any], new: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both scaled so that every feature of the known samples spans [0, 1]."""
    low, high = known.min(axis=0), known.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return (known - low) / width, (new - low) / width
