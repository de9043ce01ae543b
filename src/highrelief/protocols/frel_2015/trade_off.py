"""Section IV-G: stability and accuracy in one number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..beside import Pair, Results, measured
from ..experiment import Cell, Outcome
from ..sets import DataSet
from . import accuracy, stability
from .accuracy import CLASSIFIERS, Figure4, bars
from .methods import STABLE
from .stability import INFLATED, Figure1, OnMicroarrays, at_twenty

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def trade_off(stable: float, accurate: float) -> float:
    """SAT, the harmonic mean of stability and accuracy; 0 for what is not stable at all."""
    return 2.0 * stable * accurate / (stable + accurate) if stable > 0.0 else 0.0


class Figure5(OnMicroarrays):
    """Figure 5, from the cells of Figures 1 and 4."""

    name = "frel-fig5"
    title = "Trade-off between stability and accuracy (SAT) of methods that are to be stable"
    settings = tuple(of(name) for of in (stability.setting_of, accuracy.setting_of) for name in STABLE)

    def seconds(self, cell: Cell) -> float:
        return _shown_by(cell).seconds(cell)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        return _shown_by(cell).run(cell, data)

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        says = "The paper shows bars without numbers, and says: ensembles of FREL with L2 are the best."
        return [
            Results(
                f"Figure 5, stability {reading}",
                "set and method",
                "SAT, %",
                [
                    Pair(f"{dataset}: {name}", each, measured(100.0 * np.array(values)), None)
                    for each in CLASSIFIERS
                    for name, dataset, values in self._values(outcomes, each, kind)
                ],
                remarks,
            )
            for kind, reading, remarks in (
                ("literal", "literally", [INFLATED]),
                ("re-ranked", "re-ranked", [says]),
            )
        ]

    def _values(
        self, outcomes: Mapping[Cell, Outcome], classifier: str, kind: str
    ) -> Iterator[tuple[str, str, list[float]]]:
        """Method, set, and the trade-off in each repeat."""
        stable = self.by_method(outcomes, stability.setting_of(""))
        accurate = self.by_method(outcomes, accuracy.setting_of(""))
        for dataset in self.datasets:
            for name in stable:
                runs = stable[name].get(dataset, [])
                judged = accurate.get(name, {}).get(dataset, [])
                # Where a run was cut short, there may be fewer of the one than of the other.
                both = list(zip(runs, judged, strict=False))
                if both:
                    yield name, dataset, [trade_off(at_twenty(s)[kind], a[classifier]) for s, a in both]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found: dict[str, dict[str, dict[str, float]]] = {}
        for classifier in CLASSIFIERS:
            for name, dataset, values in self._values(outcomes, classifier, "re-ranked"):
                found.setdefault(classifier, {}).setdefault(name, {})[dataset] = float(np.mean(values))
        return {self.name: bars(found, "SAT, re-ranked")} if found else {}


def _shown_by(cell: Cell) -> Figure1 | Figure4:
    """The figure whose cell it is."""
    return Figure1() if cell.setting in Figure1.settings else Figure4()
