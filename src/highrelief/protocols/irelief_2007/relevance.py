"""Figs. 6 to 9: how well the weights tell the original features from the irrelevant ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..beside import Figure, Pair, Results, measured
from ..experiment import Cell, Outcome
from ..pictures import panels
from .samples import N_IRRELEVANT
from .uci import OnUCI

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Below this part of the largest weight, a weight counts as zero.
ZERO = 0.001


class Figure6(OnUCI):
    """Figure 6."""

    name = "irelief-fig6"
    title = "ROC curves for finding the original features among 50 irrelevant ones"

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = [
            Pair(
                f"{dataset}, {setting}",
                method,
                measured([100.0 * run["methods"][method]["area"] for run in runs]),
                None,
            )
            for (dataset, setting), runs in self.by_set(outcomes).items()
            for method in runs[0]["methods"]
        ]
        remark = (
            "The paper shows curves, and says: in almost all sets I-RELIEF has the largest area, RELIEF-F the"
            " second and Simba the smallest; on ringnorm (0 %), heart (10 %), thyroid (10 %) and diabetics"
            " I-RELIEF is much better than RELIEF-F."
        )
        return [Results("Figure 6", "set, mislabelled", "area under the ROC curve, %", pairs, [remark])]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        axes = ("irrelevant features", "original ones, %")
        return {self.name: self.drawn(outcomes, "found", lambda _: range(N_IRRELEVANT + 1), axes)}


class OfOneRun(OnUCI):
    """The weights of one run, the largest of each method 1."""

    repeats = 1
    #: Numbers of weights that are not zero, where the paper says them.
    published: ClassVar[Mapping[tuple[str, str], float]] = {}
    remark = ""

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = []
        for (_, setting), runs in self.by_set(outcomes).items():
            for method, of_method in runs[0]["methods"].items():
                w, row = np.array(of_method["weights"]), f"{method}, {setting}"
                mean_of = {
                    "original: mean": w[:-N_IRRELEVANT],
                    "irrelevant: mean": np.maximum(w[-N_IRRELEVANT:], 0.0),
                    "irrelevant: largest": w[-N_IRRELEVANT:].max(keepdims=True),
                }
                pairs += [
                    Pair(row, name, Figure(100.0 * float(part.mean())), None)
                    for name, part in mean_of.items()
                ]
                theirs = self.published.get((method, setting))
                pairs.append(
                    Pair(
                        row,
                        "weights above zero",
                        Figure(float(np.count_nonzero(w > ZERO))),
                        None if theirs is None else Figure(theirs),
                    )
                )
        return [
            Results(
                f"Figure {self.name[-1]}",
                "method, mislabelled",
                "% of the largest weight",
                pairs,
                [self.remark],
            )
        ]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_set(outcomes)
        n_methods = max(len(runs[0]["methods"]) for runs in found.values())
        picture, axes = panels(
            n_methods * len(found), columns=n_methods, height=2.2, sharex=True, sharey=True
        )
        free = iter(axes)
        for (_, setting), runs in found.items():
            for method, of_method in runs[0]["methods"].items():
                ax, w = next(free), np.maximum(of_method["weights"], 0.0)
                original = len(w) - N_IRRELEVANT
                ax.bar(np.arange(1, original + 1), w[:original], label="original")
                ax.bar(np.arange(original + 1, len(w) + 1), w[original:], label="irrelevant")
                ax.set(title=f"{method}, {setting}", xlabel="feature", ylabel="weight")
        axes[0].legend(fontsize="x-small")
        return {self.name: picture}


class Figure7(OfOneRun):
    """Figure 7."""

    name = "irelief-fig7"
    title = "Weights on ringnorm; the first 20 features are the original ones"
    datasets = ("ringnorm",)
    remark = (
        "The paper says: RELIEF-F's weights are similar to I-RELIEF's but larger on useless features; with"
        " wrong labels RELIEF-F and Simba become much worse, I-RELIEF does not."
    )


class Figure8(OfOneRun):
    """Figure 8."""

    name = "irelief-fig8"
    title = "Weights on waveform; the first 21 features are the original ones"
    datasets = ("waveform",)
    published: ClassVar[Mapping[tuple[str, str], float]] = {("Simba", "0 %"): 10.0}
    remark = (
        "The paper says as of Fig. 7; that Simba's weights are zero but for 10 features; and that, with wrong"
        " labels, Simba's largest weight is that of an irrelevant feature."
    )


class Figure9(OfOneRun):
    """Figure 9."""

    name = "irelief-fig9"
    title = "Weights on diabetics; the first 8 features are the original ones"
    datasets = ("diabetis",)
    remark = "The paper says: I-RELIEF is the clear winner, although its errors are those of RELIEF-F."
