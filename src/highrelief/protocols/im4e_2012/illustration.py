"""Section 5.1: what the quality of a margin warns of (Figures 1 and 2, Tables 1 and 2).

A target sample is seen in two subspaces, features 1, 2 and features 2, 3. Where one hit is much nearer than
the others, the margin is larger and hangs on that hit; where one miss is, the margin is smaller only because
of it. The entropies see both, before the sample in question is lost. The paper's coordinates are not
published: these are other samples, as many as its entropies say, made to show the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..beside import Figure, Pair, Results
from ..experiment import Cell, Experiment, Outcome
from ..pictures import panels
from ..sets import DataSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Places of the two features that each option weighs by ½.
OPTIONS = {"w(1,2)": (0, 1), "w(2,3)": (1, 2)}
#: Places of the target, and of the sample that it loses.
TARGET = 0
LOST = {"lost_hit": 1, "lost_miss": 7}
#: The total loss L + Q is the cost of the target with σ = 1.
SIGMA = 1.0
COLUMNS = ("L", "E", "Q", "T", "L after", "Q after", "T after")
#: Tables 1 and 2; E is the entropy of the hits, and of the misses.
PUBLISHED: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "lost_hit": {
        "w(1,2)": (-0.959, 1.778, 0.099, -0.860, -0.894, 0.276, -0.618),
        "w(2,3)": (-1.132, 1.585, 0.292, -0.840, -0.763, 0.397, -0.366),
    },
    "lost_miss": {
        "w(1,2)": (-0.514, 1.933, 0.164, -0.350, -0.515, 0.008, -0.507),
        "w(2,3)": (-0.464, 1.863, 0.095, -0.369, -0.667, -0.016, -0.683),
    },
}
_TITLES = {"lost_hit": "Table 1, a hit is lost", "lost_miss": "Table 2, a miss is lost"}
_PANELS = {"lost_hit": "Figure 1", "lost_miss": "Figure 2"}


def softly_near(distances: NDArray[np.float64]) -> tuple[float, float]:
    """Expected distance of the nearest sample, and the entropy of which it is (eqs. 5 and 6)."""
    shares = np.exp(-distances / SIGMA)
    shares /= shares.sum()
    return float(shares @ distances), float(-shares @ np.log(shares))


def losses(X: NDArray[np.float64], y: NDArray[np.int64], w: NDArray[np.float64]) -> dict[str, float]:
    """L of the target, its entropies, Q, and T = L + σQ."""
    distances = np.abs(X - X[TARGET]) @ w
    others = np.arange(len(y)) != TARGET
    hit, hit_entropy = softly_near(distances[others & (y == y[TARGET])])
    miss, miss_entropy = softly_near(distances[y != y[TARGET]])
    L, Q = hit - miss, miss_entropy - hit_entropy
    return {"L": L, "E_hit": hit_entropy, "E_miss": miss_entropy, "Q": Q, "T": L + SIGMA * Q}


class Illustration(Experiment):
    """Figures 1 and 2, Tables 1 and 2."""

    name = "im4e-fig1"
    paper = "bei2015"
    title = "Figures 1 and 2, Tables 1 and 2: losses of a target before and after it loses a hit or a miss"
    datasets = tuple(PUBLISHED)
    repeats = 1

    def seconds(self, cell: Cell) -> float:
        return 0.01

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        left = np.arange(len(data.y)) != LOST[data.name]
        found = {}
        for option, features in OPTIONS.items():
            w = np.zeros(data.X.shape[1])
            w[list(features)] = 0.5
            before, after = losses(data.X, data.y, w), losses(data.X[left], data.y[left], w)
            found[option] = {**before, **{f"{name} after": value for name, value in after.items()}}
        return {"losses": found, "X": data.X.tolist(), "y": data.y.tolist()}

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        tables = []
        for (dataset, _), (run,) in self.by_set(outcomes).items():
            pairs = []
            for option, theirs in PUBLISHED[dataset].items():
                ours = run["losses"][option]
                ours["E"] = ours["E_hit" if dataset == "lost_hit" else "E_miss"]
                for column, number in zip(COLUMNS, theirs, strict=True):
                    pairs.append(Pair(option, column, Figure(1000.0 * ours[column]), Figure(1000.0 * number)))
            tables.append(Results(_TITLES[dataset], "weights", "thousandths", pairs, [_said(run["losses"])]))
        return tables

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_set(outcomes)
        picture, axes = panels(2 * len(found), columns=2)
        places = iter(axes)
        for (dataset, _), (run,) in found.items():
            X, y = np.array(run["X"]), np.array(run["y"])
            for option, (across, up) in OPTIONS.items():
                ax = next(places)
                for label, marker in ((0, "^"), (1, "s")):
                    ax.scatter(X[y == label, across], X[y == label, up], marker=marker)
                for place, name, away in ((TARGET, "target", (-36, -10)), (LOST[dataset], "lost", (7, -4))):
                    ax.annotate(name, X[place, [across, up]], away, textcoords="offset points")
                ax.set(xlabel=f"feature {across + 1}", ylabel=f"feature {up + 1}")
                ax.margins(0.15)
                ax.set_title(f"{_PANELS[dataset]}: {option}")
        return {"im4e-fig1": picture}


def _said(ours: Mapping[str, Mapping[str, float]]) -> str:
    """Which weights the losses prefer, as a sentence."""
    least = {name: min(OPTIONS, key=lambda option: ours[option][name]) for name in ("L", "T", "T after")}
    return (
        f"The margin alone prefers {least['L']}, the total loss {least['T']}, and after the sample is lost"
        f" {least['T after']}; ours and theirs are other samples, so that only the order can be compared."
    )
