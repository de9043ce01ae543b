"""Section 7.2: the methods on the UCI sets. A cell is one run of all methods on one set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from ..experiment import Cell, Experiment, Outcome
from ..judges import best_count, error
from ..pictures import panels
from ..sets import DataSet
from .methods import Method, Weights, compared, weighted_error
from .published import CLEAN
from .samples import MISLABELLED, N_IRRELEVANT, Split, cuts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Seconds of a cell, measured on one core.
_SECONDS = {"heart": 2.0, "thyroid": 1.5, "diabetis": 5.0, "segmentation": 2.5, "yeast": 8.0}


class OnUCI(Experiment):
    """Table 2 and Figs. 5 to 9, which have the same runs."""

    paper = "sun2007"
    datasets = tuple(CLEAN)
    settings = tuple(MISLABELLED)
    repeats = 20
    reasons: tuple[str, ...] = (
        "Of the original partitions the files have up to 10; the rest is drawn anew. The irrelevant"
        " features and the wrong labels are drawn anew in any case.",
        "The paper does not say which values of K, sigma and RELIEF-F's number of neighbours there were to"
        " choose from; ours are in `protocols/judges.py` and `protocols/irelief_2007/methods.py`.",
    )

    @property
    def kept_as(self) -> str:
        return "irelief-uci"

    def seconds(self, cell: Cell) -> float:
        return _SECONDS.get(cell.dataset, 6.0)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        split = Split(cell, data)
        k = best_count(split.known, split.y)
        test = (split.new, split.y_new)
        outcome: dict[str, Any] = {
            "K": k,
            "noisy": error(*split.training, *test, k),
            "cuts": cuts(split.n_features),
            "methods": {
                method.name: _judged(method, split, k, keep_weights=cell.repeat == 0)
                for method in compared(len(np.unique(split.true_y)))
            },
        }
        if not MISLABELLED[cell.setting]:
            outcome["clean"] = split.clean_error()
        return outcome

    def drawn(
        self,
        outcomes: Mapping[Cell, Outcome],
        key: str,
        places: Callable[[Outcome], Sequence[int]],
        labels: tuple[str, str],
    ) -> Picture:
        """A panel for every set: the mean over runs of the lists that the methods have under a key.

        ``places``: from a run to the places of the list on the x axis.
        """
        found = self.by_set(outcomes)
        picture, axes = panels(len(found), columns=4, width=3.0, height=2.5)
        for ax, ((dataset, setting), runs) in zip(axes, found.items(), strict=True):
            for method in in_order(runs[0]["methods"]):
                mean = np.mean([run["methods"][method][key] for run in runs], axis=0)
                ax.plot(places(runs[0]), 100.0 * mean, label=method)
            ax.set(title=f"{dataset}, {setting}", xlabel=labels[0], ylabel=labels[1])
            ax.legend(fontsize="x-small")
        return picture


def in_order(methods: Mapping[str, object]) -> list[str]:
    """The methods as Table 2 has them, then the others."""
    return [name for name in ("I-RELIEF", "RELIEF", "Simba", "I-RELIEF-1") if name in methods]


def _judged(method: Method, split: Split, k: int, *, keep_weights: bool) -> Outcome:
    """A method tuned on the training samples alone, and what its weights are worth on the test samples."""
    best, n_best = tuned(method, split, k)
    w = method.weigh(split.training, method.values[best])
    curve = split.curve(w, split.training, (split.new, split.y_new), k)
    return {
        "value": method.values[best],
        "n_features": cuts(split.n_features)[n_best],
        "error": curve[n_best],
        "curve": np.round(curve, 5).tolist(),
        "area": float(roc_auc_score(split.relevant, w)),
        "found": _found(w, split.relevant),
        "weights": np.round(w / max(w.max(), 1e-300), 5).tolist() if keep_weights else None,
    }


def tuned(method: Method, split: Split, k: int) -> tuple[int, int]:
    """Places of the best value and of the best number of features, by cross-validation.

    First the value with the least error of k-NN in the weighted space, then the number of features with the
    least error of k-NN on the features of largest weight; both by features weighed in the same folds.
    """
    folds = list(split.folds())
    weights = [[method.weigh(learn, value) for value in method.values] for learn, _ in folds]
    best = 0
    if len(method.values) > 1:
        wrong = np.zeros(len(method.values))
        for (learn, judge), tried in zip(folds, weights, strict=True):
            wrong += [weighted_error(w, learn, judge, k) * len(judge[1]) for w in tried]
        best = int(np.argmin(np.round(wrong, 6)))
    curves = np.zeros(len(cuts(split.n_features)))
    for (learn, judge), tried in zip(folds, weights, strict=True):
        curves += np.array(split.curve(tried[best], learn, judge, k)) * len(judge[1])
    return best, int(np.argmin(np.round(curves, 6)))


def _found(w: Weights, relevant: NDArray[np.bool_]) -> list[float]:
    """Share of the original features above the threshold, where it lets pass 0, 1, … irrelevant ones."""
    false, true, _ = roc_curve(relevant, w, drop_intermediate=False)
    # Where the curve rises, interp takes the upper end.
    return np.round(np.interp(np.arange(N_IRRELEVANT + 1) / N_IRRELEVANT, false, true), 5).tolist()
