"""Section 7.3, Figs. 10 and 11: the kernel width and the starting values hardly matter."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...irelief import IRelief
from ..beside import Figure, Pair, Results, measured
from ..experiment import Cell, Experiment, Outcome
from ..pictures import panels
from ..sets import DataSet
from .samples import N_IRRELEVANT, Samples, Split

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Kernel widths; the paper names 0.05, which is too narrow, and no other.
WIDTHS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
#: The fixed width of Fig. 11b, and that to whose weights those of the others are compared.
FIXED, COMMON = 0.5, 1.0


class _OfWidths(Experiment):
    """Fits with all widths, and from a random start, on the training samples of one run."""

    paper = "sun2007"
    repeats = 10

    @property
    def kept_as(self) -> str:
        return "irelief-width"

    def seconds(self, cell: Cell) -> float:
        return 0.8

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        training = Split(cell, data).training
        models = {str(sigma): _fitted(training, sigma) for sigma in WIDTHS}
        random = _fitted(training, FIXED, init="random", random_state=cell.random("start"))
        weights = {sigma: model.feature_weights_ for sigma, model in models.items()}
        return {
            "changes": {sigma: _digits(model.history_) for sigma, model in models.items()},
            "converged": {sigma: bool(model.converged_) for sigma, model in models.items()},
            "random": _digits(random.history_),
            "ends_apart": float(np.linalg.norm(random.feature_weights_ - weights[str(FIXED)])),
            "weights": {sigma: np.round(w, 5).tolist() for sigma, w in weights.items()},
        }


class Figure10(_OfWidths):
    """Figure 10."""

    name = "irelief-fig10"
    title = "Weights with different kernel widths"
    datasets = ("twonorm", "waveform")
    repeats = 1

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = []
        for (dataset, _), runs in self.by_set(outcomes).items():
            for sigma in WIDTHS:
                cosines = [
                    100.0 * float(np.dot(run["weights"][str(sigma)], run["weights"][str(COMMON)]))
                    for run in runs
                ]
                pairs.append(Pair(dataset, f"sigma = {sigma:g}", measured(cosines), None))
        remark = "The paper shows weights, and says: for relatively large widths they do not differ much."
        unit = f"100 times the cosine between the weights and those at sigma = {COMMON:g}"
        return [Results("Figure 10", "set", unit, pairs, [remark])]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_set(outcomes)
        picture, axes = panels(len(found), columns=1, width=8.0)
        for ax, ((dataset, _), runs) in zip(axes, found.items(), strict=True):
            for sigma in WIDTHS:
                w = np.array(runs[0]["weights"][str(sigma)])
                ax.plot(np.arange(1, len(w) + 1), w / max(w.max(), 1e-300), label=f"sigma = {sigma:g}")
            ax.axvline(len(w) - N_IRRELEVANT + 0.5, color="gray", linestyle=":")
            ax.set(title=dataset, xlabel="feature", ylabel="weight")
        axes[0].legend(fontsize="x-small")
        return {self.name: picture}


class Figure11(_OfWidths):
    """Figure 11."""

    name = "irelief-fig11"
    title = "Convergence with different kernel widths and starting values"
    datasets = ("waveform",)

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = []
        for runs in self.by_set(outcomes).values():
            for sigma in map(str, WIDTHS):
                row = f"sigma = {float(sigma):g}"
                settled = 100.0 * float(np.mean([run["converged"][sigma] for run in runs]))
                theirs = Figure(0.0) if sigma == "0.05" else None
                pairs.append(Pair(row, "converged, %", Figure(settled), theirs))
                counts = [float(len(run["changes"][sigma])) for run in runs]
                pairs.append(Pair(row, "iterations", measured(counts), None))
            row = f"sigma = {FIXED:g}, random start"
            pairs.append(Pair(row, "iterations", measured([float(len(run["random"])) for run in runs]), None))
        remarks = [
            "The paper says: it diverges with sigma = 0.05 and converges with all others, the faster the"
            " larger sigma; and from any start, from uniform weights slightly faster.",
            "Ours stops when it goes round in a circle, or after 100 iterations: it has not converged then.",
            *(
                f"The end from a random start is at most {max(run['ends_apart'] for run in runs):.1g} away"
                " from that of uniform weights."
                for runs in self.by_set(outcomes).values()
            ),
        ]
        return [Results("Figure 11", "width", "runs, iterations", pairs, remarks)]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        picture, axes = panels(2, columns=2, width=4.5, height=3.5, sharey=True)
        for runs in self.by_set(outcomes).values():
            for sigma in map(str, WIDTHS):
                changes = runs[0]["changes"][sigma]
                axes[0].semilogy(np.arange(1, len(changes) + 1), changes, label=f"sigma = {float(sigma):g}")
            starts = {"uniform": [run["changes"][str(FIXED)] for run in runs]}
            starts["random"] = [run["random"] for run in runs]
            for (start, curves), marker in zip(starts.items(), "*o", strict=True):
                mean = _mean_of(curves)
                axes[1].semilogy(np.arange(1, len(mean) + 1), mean, marker=marker, label=start)
        axes[0].set(title="different widths, one run", xlim=(0, 60))
        axes[1].set(title=f"different starts, sigma = {FIXED:g}, mean of {len(runs)} runs")
        for ax in axes:
            ax.set(xlabel="iteration", ylabel="change of the weights")
            ax.legend(fontsize="x-small")
        return {self.name: picture}


def _fitted(samples: Samples, sigma: float, **options: Any) -> IRelief:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return IRelief(sigma=sigma, scale=None, n_jobs=1, **options).fit(*samples)


def _digits(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def _mean_of(curves: list[list[float]]) -> np.ndarray:
    """Mean at each iteration over the runs that made it."""
    return np.array(
        [
            np.mean([curve[step] for curve in curves if step < len(curve)])
            for step in range(max(map(len, curves)))
        ]
    )
