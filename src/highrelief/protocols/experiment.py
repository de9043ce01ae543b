"""What an experiment is: cells that can be computed one by one, and what they come to."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .beside import Results
from .sets import DataSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What a cell came to: numbers, texts and lists of such, as JSON has them.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A part of an experiment that can be computed by itself: one split of one set, say."""

    #: The data set, by its name in the data folder.
    dataset: str
    #: What else is varied ("10 % mislabelled"); empty if nothing is.
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
