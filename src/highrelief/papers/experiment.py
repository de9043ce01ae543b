"""Experiments of the papers: cells that run independently, and evaluation by k-nearest neighbors."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from ..selection.knn import NestedKNN
from .data import DataSet, Sets
from .results import Results, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: An array of any type.
Array = NDArray[Any]
#: Result of a cell, of JSON types.
Outcome = dict[str, Any]
#: X and y.
Samples = tuple[Array, Array]


@dataclass(frozen=True)
class Cell:
    """A part of an experiment that runs independently, such as one split of one set."""

    #: Name of the data set in the data folder.
    dataset: str
    #: Varied condition ("10 % mislabeled"); may be empty.
    setting: str
    repeat: int

    @property
    def name(self) -> str:
        """Unique name of the cell within its experiment."""
        return "/".join((self.dataset, self.setting, str(self.repeat)))

    def random(self, purpose: str = "") -> np.random.RandomState:
        """Return a random generator seeded by the cell and a purpose."""
        text = f"{self.name}/{purpose}".encode()
        return np.random.RandomState(int.from_bytes(hashlib.sha256(text).digest()[:4], "little"))


class Experiment(ABC):
    """A table or figure of a paper.

    A subclass lists its cells, runs one, and compares their outcomes with the published numbers.
    """

    #: Name of the experiment ("lfe-table2"), and citation key of its paper.
    name: str
    paper: str
    #: Content of the table or figure, in a line.
    title: str
    #: Names of the data sets, in the paper's order.
    datasets: tuple[str, ...]
    #: Conditions varied within a set.
    settings: tuple[str, ...] = ("",)
    #: Number of repeats in the paper.
    repeats: int = 20
    #: Increase it whenever outcomes change, to invalidate checkpoints.
    version: int = 1
    #: Likely reasons for differences from the paper, as sentences.
    reasons: tuple[str, ...] = ()
    #: Name of the checkpoint file if experiments share their cells; empty: the name of the experiment.
    shared_cache: str = ""
    #: Approximate run time of a cell on one core, and exceptions by data set.
    cell_seconds: float = 1.0
    seconds_by_set: ClassVar[Mapping[str, float]] = {}

    @property
    def cache_name(self) -> str:
        """Name of the checkpoint file."""
        return self.shared_cache or self.name

    def find_datasets(self, sets: Sets) -> Sequence[str]:
        """Return the names of the data sets; an archive returns those in the folders."""
        return self.datasets

    def cells(self, datasets: Sequence[str], repeats: int) -> list[Cell]:
        """Return the cells of some sets, ordered by repeat, so that a stopped run covers all sets."""
        return [
            Cell(dataset, setting, repeat)
            for repeat in range(repeats)
            for dataset in datasets
            for setting in self.settings
        ]

    def absence(self, settings: Sequence[str]) -> str:
        """Return why there are no cells with some settings, as a sentence; empty by default."""
        return ""

    def seconds(self, cell: Cell) -> float:
        """Return the approximate run time of a cell on one core."""
        return self.seconds_by_set.get(cell.dataset, self.cell_seconds)

    @abstractmethod
    def run(self, cell: Cell, data: DataSet) -> Outcome:
        """Compute a cell."""

    @abstractmethod
    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        """Return tables of reproduced and published numbers from the finished cells."""

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Figure]:
        """Return figures by name; none by default."""
        return {}

    def by_set(self, outcomes: Mapping[Cell, Outcome]) -> dict[tuple[str, str], list[Outcome]]:
        """Return outcomes by data set and setting in the paper's order, sorted by repeat."""
        found: dict[tuple[str, str], list[Outcome]] = {}
        for dataset in self.datasets:
            for setting in self.settings:
                cells = [cell for cell in outcomes if (cell.dataset, cell.setting) == (dataset, setting)]
                if cells:
                    ordered = sorted(cells, key=lambda cell: cell.repeat)
                    found[dataset, setting] = [outcomes[cell] for cell in ordered]
        return found

    def draw_panels(
        self,
        outcomes: Mapping[Cell, Outcome],
        draw: Callable[[Any, list[Outcome]], None],
        *,
        legends: bool = False,
        fontsize: str | None = None,
        **options: Any,
    ) -> dict[str, Figure]:
        """Return a figure with one panel per data set and setting, drawn by ``draw(ax, runs)``.

        The legend is in the first panel, or with ``legends`` in every one; ``options`` as in ``panels``.
        """
        found = self.by_set(outcomes)
        if not found:
            return {}
        figure, axes = panels(len(found), **options)
        for place, (ax, ((dataset, setting), runs)) in enumerate(zip(axes, found.items(), strict=True)):
            draw(ax, runs)
            ax.set_title(", ".join(each for each in (dataset, setting) if each))
            if ax.get_legend_handles_labels()[0] and (legends or place == 0):
                ax.legend(fontsize=fontsize)
        return {self.name: figure}


def fit_quietly(model: Any, X: Array, y: Array) -> Any:
    """Fit a model without warnings, such as those of iterations that do not converge with some settings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def available_neighbors(n_neighbors: float, y: Array) -> int:
    """Return the number of neighbors, at most as many as the smallest class has."""
    return max(1, min(int(n_neighbors), int(np.bincount(y).min()) - 1))


def split_with_irrelevant(
    cell: Cell, data: DataSet, n_irrelevant: int, n_train: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the partition of a repeat as X_train, y_train, X_test, y_test, scaled to [0, 1].

    Irrelevant features, N(0, 1), are appended to the original ones.
    """
    irrelevant = cell.random("irrelevant").standard_normal((len(data.X), n_irrelevant))
    X, y = np.hstack([data.X, irrelevant]), data.y.astype(np.int64)
    train, test = data.split(cell.repeat, n_train)
    X_train, X_test = in_range(X[train], X[test])
    return X_train, y[train], X_test, y[test]


# Evaluation by k-nearest neighbors; k is chosen on the training samples

#: Candidate numbers of neighbors, which the papers do not state. With a maximum of 15 the errors of plain
#: k-NN were closest to the published ones in early runs.
NEIGHBORS = tuple(range(1, 16, 2))


def folds_of(y: Array, n_folds: int = 10) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return stratified folds; a class with fewer samples than folds is missing in some."""
    n_folds = max(2, min(n_folds, int(np.bincount(y).max())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(folds.split(np.zeros(len(y)), y))


def training_folds(X: Array, y: Array) -> Iterator[tuple[Samples, Samples]]:
    """Yield the fitting and the validation samples of each fold of the training samples."""
    for train, test in folds_of(y):
        yield (X[train], y[train]), (X[test], y[test])


def curve(X_train: Array, y: Array, X_test: Array, y_test: Array, k: int, length: int) -> list[float]:
    """Return errors of k-NN on the first 1, 2, … columns, padded by the error on all of them."""
    cuts = range(1, min(length, X_train.shape[1]) + 1)
    found = errors_at(X_train, y, X_test, y_test, k, list(cuts))
    return found + [found[-1]] * (length - len(found))


def error(X_train: Array, y: Array, X_test: Array, y_test: Array, k: int) -> float:
    """Return the test error of k-NN."""
    return errors_at(X_train, y, X_test, y_test, k, [X_train.shape[1]])[0]


def errors_at(
    X_train: Array, y: Array, X_test: Array, y_test: Array, k: int, cuts: Sequence[int]
) -> list[float]:
    """Return errors of k-NN on the first columns, for increasing numbers of columns."""
    n_classes = int(max(y.max(), y_test.max())) + 1
    neighbors = NestedKNN(X_train, y, n_classes, n_neighbors=k, scale=None)
    predicted = neighbors.predict(X_test, np.arange(X_train.shape[1]), cuts)
    return [float(np.mean(each != y_test)) for each in predicted]


def best_count(X: Array, y: Array, counts: Sequence[int] = NEIGHBORS) -> int:
    """Return the number of neighbors with the least error in 10-fold cross-validation; ties: the smallest."""
    wrong = np.zeros(len(counts))
    for train, test in folds_of(y):
        wrong += [error(X[train], y[train], X[test], y[test], k) * len(test) for k in counts]
    # Errors are integer counts; without rounding, ties would differ in the last digit.
    return counts[int(np.argmin(np.round(wrong)))]


def in_range(X_train: Array, X_test: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale both so that every feature of the training samples spans [0, 1]."""
    low, high = X_train.min(axis=0), X_train.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return (X_train - low) / width, (X_test - low) / width
