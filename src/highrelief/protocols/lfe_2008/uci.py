"""Section 5.1: six sets of the UCI collection with ten irrelevant features, judged by nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from ...relief import ReliefF
from ..beside import Figure, Pair, Results, measured, p_value
from ..experiment import Cell, Experiment, Outcome
from ..judges import error, in_range
from ..pictures import panels
from ..sets import DataSet
from .directions import (
    NEAREST,
    Clock,
    Samples,
    Split,
    at_hand,
    dann_directions,
    draw_curves,
    lfe_directions,
    nca_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

N_IRRELEVANT = 10
#: Table 1: training samples.
N_TRAIN = {"banana": 400, "twonorm": 400, "waveform": 400, "ringnorm": 400, "splice": 1000, "thyroid": 140}
#: Numbers of components at which NCA, which has to be fitted for each, is judged.
NCA_COMPONENTS = (1, 2, 5, 10, 20, 30)
METHODS = ("KNN", "RELIEF", "DANN", "NCA", "LFE")

#: Table 2: test errors in per cent, mean and deviation over 20 runs.
TABLE_2: Mapping[str, Sequence[tuple[float, float]]] = {
    "banana": ((37.1, 2.1), (12.3, 0.7), (23.0, 4.4), (25.4, 4.4), (18.2, 2.5)),
    "splice": ((26.6, 1.8), (11.4, 0.9), (14.1, 0.7), (13.9, 0.4), (12.0, 0.7)),
    "waveform": ((12.6, 0.7), (10.8, 0.5), (11.1, 0.8), (10.9, 0.5), (9.8, 0.6)),
    "ringnorm": ((39.2, 1.3), (31.3, 2.8), (24.1, 2.7), (26.8, 1.2), (22.0, 1.3)),
    "twonorm": ((3.9, 0.3), (3.5, 0.4), (2.9, 0.3), (3.8, 0.5), (2.6, 0.2)),
    "thyroid": ((17.0, 3.0), (9.5, 3.0), (8.8, 3.4), (7.0, 2.6), (6.2, 2.8)),
}
#: Table 2: p-values of LFE against RELIEF and against NCA; + where LFE is the better one, - where not.
P_VALUES: Mapping[str, tuple[str, str]] = {
    "banana": ("< 0.001-", "< 0.001+"),
    "splice": ("0.02-", "0.002+"),
    "waveform": ("< 0.001+", "< 0.001+"),
    "ringnorm": ("< 0.001+", "< 0.001+"),
    "twonorm": ("< 0.001+", "< 0.001+"),
    "thyroid": ("0.001+", "0.36+"),
}
#: Table 3: seconds of a run, on a Pentium 4 of 2.8 GHz.
TABLE_3: Mapping[str, Mapping[str, float]] = {
    "banana": {"NCA": 12.6, "DANN": 3.6, "LFE": 3.3, "PCA": 3.0},
    "splice": {"NCA": 383.6, "DANN": 8.4, "LFE": 8.4, "PCA": 4.8},
    "waveform": {"NCA": 38.8, "DANN": 4.4, "LFE": 4.3, "PCA": 4.2},
    "ringnorm": {"NCA": 39.4, "DANN": 4.7, "LFE": 4.7, "PCA": 4.7},
    "twonorm": {"NCA": 41.6, "DANN": 4.7, "LFE": 4.8, "PCA": 4.7},
    "thyroid": {"NCA": 4.9, "DANN": 3.2, "LFE": 3.3, "PCA": 3.2},
}
#: Seconds of a cell, measured on one core.
_SECONDS = {"splice": 16.0, "thyroid": 2.0}


def split_of(cell: Cell, data: DataSet) -> Split:
    """The samples of a run, with irrelevant features, each feature scaled to [0, 1]."""
    irrelevant = cell.random("irrelevant").standard_normal((len(data.X), N_IRRELEVANT))
    X = np.hstack([data.X, irrelevant])
    train, test = data.split(cell.repeat, N_TRAIN[data.name])
    known, new = in_range(X[train], X[test])
    return Split(known, data.y[train].astype(np.int64), new, data.y[test].astype(np.int64))


def relief_weights(samples: Samples, nearest: int) -> NDArray[np.float64]:
    """RELIEF-F's weights as factors of features, so that d² = Σ w (x − x')²; negative ones removed."""
    X, y = samples
    model = ReliefF(n_neighbors=at_hand(nearest, y), scale=None).fit(X, y)
    return np.sqrt(np.maximum(model.feature_weights_, 0.0))


def relief_error(split: Split) -> float:
    """Test error in the space weighted by RELIEF-F, its M chosen by cross-validation."""
    wrong = np.zeros(len(NEAREST))
    for learn, (X, y) in split.folds():
        weights = [relief_weights(learn, nearest) for nearest in NEAREST]
        wrong += [error(learn[0] * w, learn[1], X * w, y, split.k) * len(y) for w in weights]
    chosen = relief_weights((split.known, split.y), NEAREST[int(np.argmin(wrong))])
    return split.error(lambda X: X * chosen)


class _OnUCI(Experiment):
    """Cells of the experiments on the UCI sets: all methods on one partition."""

    paper = "sun2008"
    datasets = tuple(TABLE_2)
    repeats = 20

    @property
    def kept_as(self) -> str:
        return "lfe-uci"

    def seconds(self, cell: Cell) -> float:
        return _SECONDS.get(cell.dataset, 4.0)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        split, clock = split_of(cell, data), Clock()
        training = (split.known, split.y)
        inside = split.curves_inside(lambda learn: [lfe_directions(learn, M) for M in NEAREST])
        best, n_lfe = np.unravel_index(int(np.argmin(inside)), inside.shape)
        n_dann = int(np.argmin(split.curves_inside(lambda learn: [dann_directions(learn)])))
        lfe = clock.timed("LFE", lambda: lfe_directions(training, NEAREST[best]))
        dann = clock.timed("DANN", lambda: dann_directions(training))
        pca = clock.timed("PCA", lambda: PCA().fit(split.known).components_.T)
        nca = {}
        for t in _sizes(split):
            model = clock.timed("NCA", partial(nca_of, t, training))
            nca[str(t)] = split.error(model.transform)
        curves = {"LFE": split.curve(lfe), "DANN": split.curve(dann), "PCA": split.curve(pca)}
        return {
            "errors": {
                "KNN": split.error(lambda X: X),
                "RELIEF": relief_error(split),
                "DANN": curves["DANN"][n_dann],
                "LFE": curves["LFE"][n_lfe],
            },
            "curves": curves,
            "nca": nca,
            "seconds": clock.seconds,
            "metric": np.round(lfe @ lfe.T, 5).tolist() if cell.repeat == 0 else None,
            "chosen": {"K": split.k, "M": NEAREST[best], "LFE": int(n_lfe) + 1, "DANN": n_dann + 1},
        }


def _sizes(split: Split) -> list[int]:
    return [t for t in NCA_COMPONENTS if t <= min(split.known.shape[1], len(split.y))]


class Table2(_OnUCI):
    """Table 2."""

    name = "lfe-table2"
    title = "Test errors of k-NN with ten irrelevant features, and paired t-tests"
    reasons = (
        "The splits differ: the files have up to 10 of the original ones, and the rest is drawn anew.",
        "NCA is scikit-learn's, started from principal components, by L-BFGS; the paper's came"
        " down by gradient steps, which may have ended elsewhere.",
        "The paper does not say how a weight of RELIEF enters the distance; here d² = Σ w (x - x')². With w²"
        " in its place the first three errors on splice are 11.1, 10.9 and 13.7 % instead of 12.6, 12.1 and"
        " 13.3 %, those on twonorm 4.9, 5.0 and 4.8 % instead of 4.3, 4.3 and 3.8 %.",
        "The paper does not say which values of M and K there were to choose from; ours are in"
        " `protocols/lfe_2008` and `protocols/judges.py`.",
    )

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs: list[Pair] = []
        tests: list[Pair] = []
        for (dataset, _), runs in self.by_set(outcomes).items():
            ours = {name: [100.0 * run["errors"][name] for run in runs] for name in runs[0]["errors"]}
            ours["NCA"] = [100.0 * run["nca"][_best_of_nca(runs)] for run in runs]
            for method, (mean, deviation) in zip(METHODS, TABLE_2[dataset], strict=True):
                pairs.append(Pair(dataset, method, measured(ours[method]), Figure(mean, deviation, 20)))
            for rival, theirs in zip(("RELIEF", "NCA"), P_VALUES[dataset], strict=True):
                tested = _tested(ours["LFE"], ours[rival])
                tests.append(Pair(dataset, f"LFE against {rival}", tested, _quoted(theirs)))
        return [
            Results("Table 2", "set", "test error, %", pairs),
            Results("Table 2, paired t-tests", "set", "p-value, + where LFE is better, - where not", tests),
        ]


class Figure2(_OnUCI):
    """Figure 2."""

    name = "lfe-fig2"
    title = "Test error against the number of components"

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = []
        for (dataset, _), runs in self.by_set(outcomes).items():
            for method in ("LFE", "DANN", "PCA"):
                curves = 100.0 * np.array([run["curves"][method] for run in runs])
                best = int(np.argmin(curves.mean(axis=0)))
                pairs.append(Pair(dataset, f"{method}: least error", measured(curves[:, best]), None))
                pairs.append(Pair(dataset, f"{method}: components", Figure(best + 1.0), None))
            best_of_nca = _best_of_nca(runs)
            errors = [100.0 * run["nca"][best_of_nca] for run in runs]
            pairs.append(Pair(dataset, "NCA: least error", measured(errors), None))
            pairs.append(Pair(dataset, "NCA: components", Figure(float(best_of_nca)), None))
        remark = "The paper shows curves, and says: LFE is the best, DANN and NCA second, PCA the worst."
        return [Results("Figure 2", "set", "test error, %", pairs, [remark])]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_set(outcomes)
        picture, axes = panels(len(found))
        for ax, ((dataset, _), runs) in zip(axes, found.items(), strict=True):
            draw_curves(ax, dataset, runs)
        axes[0].legend()
        return {"lfe-fig2": picture}


class Figure3(_OnUCI):
    """Figure 3."""

    name = "lfe-fig3"
    title = "Learned metric matrices; the last ten rows are irrelevant features"
    datasets = ("banana", "splice", "waveform", "ringnorm", "twonorm")
    repeats = 1

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = []
        for (dataset, _), runs in self.by_set(outcomes).items():
            W = np.abs(np.array(runs[0]["metric"]))
            irrelevant = W[-N_IRRELEVANT:].mean()
            relevant = W[:-N_IRRELEVANT, :-N_IRRELEVANT].mean()
            pairs.append(Pair(dataset, "mean size of W: relevant", Figure(100.0 * relevant), None))
            pairs.append(Pair(dataset, "with an irrelevant one", Figure(100.0 * irrelevant), None))
        remark = "The paper shows pictures: what belongs to irrelevant features is near zero."
        return [Results("Figure 3", "set", "percent of the Frobenius norm", pairs, [remark])]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_set(outcomes)
        picture, axes = panels(len(found))
        for ax, ((dataset, _), runs) in zip(axes, found.items(), strict=True):
            W = np.array(runs[0]["metric"])
            ax.imshow(W, cmap="RdBu_r", vmin=-np.abs(W).max(), vmax=np.abs(W).max())
            ax.set(title=dataset, xticks=[], yticks=[])
        return {"lfe-fig3": picture}


class Table3(_OnUCI):
    """Table 3."""

    name = "lfe-table3"
    title = "CPU time of a fit; the paper's machine is of 2003"

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        pairs = []
        for (dataset, _), runs in self.by_set(outcomes).items():
            for method, theirs in TABLE_3[dataset].items():
                ours = Figure(1000.0 * float(np.median([run["seconds"][method] for run in runs])))
                pairs.append(Pair(dataset, method, ours, Figure(1000.0 * theirs)))
        remarks = [
            "Ours is one fit; the paper's figures seem to hold more: PCA takes 3 s for 12 features. What can"
            " be compared is the order: NCA is by far the slowest. NCA's is that with the most components"
            f" of {', '.join(map(str, NCA_COMPONENTS))} that the set has.",
            "The row of the faces is with lfe-fig4.",
        ]
        return [Results("Table 3", "set", "milliseconds", pairs, remarks)]


def _best_of_nca(runs: Sequence[Outcome]) -> str:
    """The number of components with the least mean test error, which is how the paper judges NCA."""
    return min(runs[0]["nca"], key=lambda t: float(np.mean([run["nca"][t] for run in runs])))


def _tested(ours: Sequence[float], rival: Sequence[float]) -> Figure | None:
    """The p-value of a paired t-test, written as the paper does."""
    p = p_value(ours, rival)
    if p is None:
        return None
    sign = "+" if np.mean(ours) < np.mean(rival) else "-"
    return Figure(p, text=("< 0.001" if p < 0.001 else f"{p:.2g}") + sign)


def _quoted(p: str) -> Figure:
    return Figure(float(p.strip("<+- ")), text=p)
