"""Li, Si, Zhou, Huang and Chen (2015), section IV: stability and accuracy of gene rankings.

The data are four sets of microarrays with few samples and thousands of genes. FREL has three forms, by
Algorithm 1: log loss with L2 (λ = 1), log loss with L1 (λ = 0.01) and square loss with L2 (λ = 0.1). They are
compared with Relief, ReliefF with 10 neighbors, the Fisher score and Lmba, also in ensembles (Algorithm 2,
m = 20 members on 0.9 of the samples) and, for Lmba, with variance reduction.

*Stability*: c = 10 subsets of 0.9 of the samples are drawn without replacement; each gives a ranking (of an
ensemble the mean of its members' ranks); all pairs are compared by eq. (22). The paper inserts averaged ranks
into a formula for ranks; this is shown literally, and with averaged ranks ranked again first.
*Accuracy*: 10-fold cross-validation; features are ranked on the training folds, and the best 50 are evaluated
by 1-NN, 3-NN, a linear and a polynomial SVM. *Trade-off*: the harmonic mean of the two.

The data are used as they are: features are scaled to [0, 1] by the training samples, 34 of the 136 prostate
samples come from a brighter series, and samples are visited in the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ..methods.fisher import FisherScore
from ..methods.frel import FREL
from ..methods.lmba import Lmba
from ..methods.relief import Relief, ReliefF
from ..selection.ensemble import EnsembleWeighting, average_ranks
from ..selection.variance_reduction import VarianceReduction
from ..stability import spearman
from .data import DataSet
from .experiment import Array, Cell, Experiment, Outcome, error, in_range
from .results import Pair, Results, panels, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


# Methods

#: m: members of an ensemble; a: share of the samples of each.
N_MEMBERS, SHARE_OF_MEMBER = 20, 0.9

_LOG_L2: Mapping[str, Any] = {"loss": "log", "penalty": "l2", "alpha": 1.0}
_LOG_L1: Mapping[str, Any] = {"loss": "log", "penalty": "l1", "alpha": 0.01}
_SQUARE_L2: Mapping[str, Any] = {"loss": "square", "penalty": "l2", "alpha": 0.1}

#: Figure 3: "regular" methods, in the paper's order; FREL by Algorithm 1, λ as in section IV-C.
PLAIN: Mapping[str, Any] = {
    "Lmba": Lmba(),
    "Relief": Relief(),
    "ReliefF": ReliefF(n_neighbors=10),
    "Fisher": FisherScore(),
    "Log+L2": FREL(**_LOG_L2),
    "Log+L1": FREL(**_LOG_L1),
    "Square+L2": FREL(**_SQUARE_L2),
}
#: Figures 1, 4 and 5: methods "designed to improve stability", by what is inside the ensemble.
_INSIDE: Mapping[str, Any] = {f"En-{name}": PLAIN[name] for name in PLAIN if name != "Lmba"}
STABLE = (*_INSIDE, "VR-Lmba")
#: Not in the paper: ensembles around the minimum of eq. (2), which Algorithm 1 does not reach.
_MINIMIZED: Mapping[str, Any] = {
    "En-Log+L2, minimized": FREL(solver="exact", **_LOG_L2),
    "En-Log+L1, minimized": FREL(solver="exact", **_LOG_L1),
    "En-Square+L2, minimized": FREL(solver="exact", **_SQUARE_L2),
}
MINIMIZED = tuple(_MINIMIZED)


def ensemble(member: Any, n_members: int = N_MEMBERS) -> EnsembleWeighting:
    """Return Algorithm 2 around a weighter."""
    return EnsembleWeighting(member, n_estimators=n_members, max_samples=SHARE_OF_MEMBER)


def method(name: str, *, n_members: int = N_MEMBERS) -> Any:
    """Return a method by its name in the paper; ensembles with the given number of members."""
    if name == "VR-Lmba":
        return VarianceReduction(Lmba())
    inside = {**_INSIDE, **_MINIMIZED}
    return ensemble(inside[name], n_members) if name in inside else PLAIN[name]


# Sections IV-B to IV-D: stability over ten overlapping subsets of the samples

#: In the paper's order.
DATASETS = ("tox_171", "smk_can_187", "leukemia_golub", "prostate_singh")
#: c subsets, each with the share μ of the samples.
N_SUBSETS, SHARE_OF_SUBSET = 10, 0.9
#: Numbers m of members at which stability is measured; the members of a smaller ensemble are the first ones.
MEMBERS = (1, 2, 5, 10, 15, 20, 30)
#: λ of Log+L2 in Figure 2; the paper's values are on the axis of a picture that is not available.
LAMBDAS = (0.001, 0.01, 0.1, 1.0, 10.0)
#: Algorithm 1, and the minimum that the theory is about.
SOLVERS = {"Algorithm 1": "sgd", "minimized": "exact"}

#: Remark on numbers of the literal reading.
INFLATED = (
    f"Literally, eq. (22) takes averaged ranks for ranks. {N_MEMBERS} random rankings, averaged, score"
    f" {1.0 - 1.0 / N_MEMBERS:.2f} by it: high numbers say little. Re-ranked, random rankings score 0."
)
ONE_DRAW = (
    "The paper has one draw of the ten subsets and pictures without numbers; ours are means over draws. Sizes"
    " of subsets are rounded: 65 of the 72 samples of leukemia, where the paper has 64."
)

TIED = "Ties count as agreement there: of two rankings with few weights above 0, most features share a rank."
SAYS = "The paper says: ensembles of FREL with L2 always have the highest stability, En-Log+L1 the lowest."
MORE = "The last three rows are not in the paper: ensembles around the minimum of eq. (2)."


def literal_stability(rankings: NDArray[np.float64]) -> float:
    """Return eqs. (21) and (22) as printed, also for averaged ranks: one ranking per row."""
    c, d = rankings.shape
    centered = rankings - rankings.mean()
    # Over all pairs: Σ‖R − R'‖² = c Σ‖R‖² − ‖ΣR‖².
    apart = c * np.sum(np.square(centered)) - np.sum(np.square(centered.sum(axis=0)))
    return float(1.0 - 6.0 * apart / (c * (c - 1) / 2) / (d * (float(d) ** 2 - 1.0)))


def on_subsets(estimator: Any, data: DataSet, seed: int) -> list[Any]:
    """Fit the estimator to each of the c subsets, which depend only on the seed."""
    drawn = EnsembleWeighting(
        estimator, n_estimators=N_SUBSETS, max_samples=SHARE_OF_SUBSET, random_state=seed
    )
    return list(drawn.fit(data.X, data.y).estimators_)


def stabilities(fitted: Sequence[Any]) -> Outcome:
    """Return the stability of fits to subsets; for ensembles, of averaged ranks, by number of members."""
    if not isinstance(fitted[0], EnsembleWeighting):
        return _agreement(average_ranks(np.stack([each.feature_weights_ for each in fitted])))
    sums = [np.cumsum(average_ranks(each.member_weights_), axis=0) for each in fitted]
    return {
        str(m): _agreement(np.stack([ranks[m - 1] for ranks in sums]) / m)
        for m in MEMBERS
        if m <= len(sums[0])
    }


def _agreement(rankings: NDArray[np.float64]) -> Outcome:
    return {"literal": literal_stability(rankings), "re-ranked": spearman(rankings)}


def at_twenty(outcome: Outcome) -> Outcome:
    """Return the stability of the figures: of ensembles with m = 20, or of a single method."""
    shown: Outcome = outcome.get(str(N_MEMBERS), outcome)
    return shown


def _extremes(found: Mapping[str, Mapping[str, list[Outcome]]]) -> list[str]:
    """Describe which of the paper's methods are the most and the least stable."""
    sentences = []
    for dataset in DATASETS:
        means = {
            name: np.mean([at_twenty(run)["re-ranked"] for run in found[name][dataset]])
            for name in STABLE
            if dataset in found.get(name, {})
        }
        if len(means) > 1:
            falling = sorted(means, key=lambda name: -means[name])
            sentences.append(
                f"Ours on {dataset}: {falling[0]} is the most stable of the seven, then {falling[1]};"
                f" {falling[-1]} is the least."
            )
    return sentences


def _trends(found: Mapping[str, Mapping[str, list[Outcome]]], solver: str) -> list[str]:
    """Describe how the stability with the largest λ differs from that with the smallest."""
    least, most = (found.get(f"{value:g}, {solver}", {}) for value in (LAMBDAS[0], LAMBDAS[-1]))
    sentences = []
    for dataset in DATASETS:
        if dataset in least and dataset in most:
            changes = [
                f"{name} {_mean(most[dataset], name) - _mean(least[dataset], name):+.1f}"
                for name in ("Log+L2", "En-Log+L2")
            ]
            sentences.append(
                f"Ours on {dataset}, from λ = {LAMBDAS[0]:g} to λ = {LAMBDAS[-1]:g}, re-ranked, points:"
                f" {', '.join(changes)}."
            )
    return sentences


def _mean(runs: Sequence[Outcome], name: str) -> float:
    """Return the stability of a method in per cent, re-ranked."""
    return 100.0 * float(np.mean([run[name]["re-ranked"] for run in runs]))


def _by_members(outcome: Outcome) -> bool:
    """Return whether an outcome is of an ensemble, with values for several m."""
    return "literal" not in outcome


def seed_of(cell: Cell) -> int:
    """Return the seed of the subsets, the same for all methods."""
    return int(Cell(cell.dataset, "", cell.repeat).random("subsets").randint(2**31 - 1))


def setting_of(name: str) -> str:
    """Return the setting of cells that measure the stability of a method."""
    return f"stability of {name}"


class OnMicroarrays(Experiment):
    """Base of the figures: data sets and checkpoints."""

    paper = "li2015"
    datasets = DATASETS
    # The paper has one draw of the subsets, and one of the folds; these differ more than methods do.
    repeats = 3
    shared_cache = "frel"

    def by_method(self, outcomes: Mapping[Cell, Outcome], prefix: str) -> dict[str, dict[str, list[Outcome]]]:
        """Return outcomes by method, after a prefix of the setting, and by set."""
        found: dict[str, dict[str, list[Outcome]]] = {}
        for (dataset, setting), runs in self.by_set(outcomes).items():
            if setting.startswith(prefix):
                found.setdefault(setting.removeprefix(prefix), {})[dataset] = runs
        # In the order of the settings, whatever set came first.
        names = [setting.removeprefix(prefix) for setting in self.settings]
        return {name: found[name] for name in names if name in found}


class Figure1(OnMicroarrays):
    """Figure 1, and the remarks of the text on m."""

    name = "frel-fig1"
    title = "Stability of seven methods (c = 10, μ = a = 0.9, m = 20), and against m"
    settings = tuple(setting_of(name) for name in (*STABLE, *MINIMIZED))

    cell_seconds = 13.0
    seconds_by_set: ClassVar[Mapping[str, float]] = {"tox_171": 7.0, "leukemia_golub": 5.0}

    def seconds(self, cell: Cell) -> float:
        return 1.0 if "VR" in cell.setting else super().seconds(cell)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        name = cell.setting.removeprefix(setting_of(""))
        return stabilities(on_subsets(method(name, n_members=max(MEMBERS)), data, seed_of(cell)))

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        found = self.by_method(outcomes, setting_of(""))
        tables = [
            Results(
                f"Figure 1, {reading}",
                "method",
                "stability, %",
                [
                    Pair(name, dataset, percent([at_twenty(run)[kind] for run in runs]))
                    for name, sets in found.items()
                    for dataset, runs in sets.items()
                ],
                remarks,
            )
            for kind, reading, remarks in (
                ("literal", "eq. (22) literally", [INFLATED, TIED, ONE_DRAW]),
                ("re-ranked", "re-ranked before eq. (22)", [SAYS, *_extremes(found), MORE]),
            )
        ]
        return [*tables, self._against_members(found)]

    def _against_members(self, found: Mapping[str, Mapping[str, list[Outcome]]]) -> Results:
        pairs = [
            Pair(f"{dataset}: {name}", f"m = {m}", percent([run[m]["re-ranked"] for run in runs]))
            for dataset in self.datasets
            for name in STABLE
            if (runs := found.get(name, {}).get(dataset)) and _by_members(runs[0])
            for m in runs[0]
        ]
        statement = (
            "The paper says, without a figure: it grows with m for all methods, and saturates around m = 20."
        )
        return Results(
            "Section IV-D, against m, re-ranked", "set and method", "stability, %", pairs, [statement]
        )

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_method(outcomes, setting_of(""))
        sets = [name for name in self.datasets if any(name in each for each in found.values())]
        if not sets:
            return {}
        bars, axes = panels(2 * len(sets), columns=2, width=5.0, sharex=True, sharey=True)
        lines, against = panels(2 * len(sets), columns=2, width=5.0)
        for place, (dataset, kind) in enumerate(
            (dataset, kind) for dataset in sets for kind in ("literal", "re-ranked")
        ):
            here = {name: by_set[dataset] for name, by_set in found.items() if dataset in by_set}
            heights = [np.mean([at_twenty(run)[kind] for run in runs]) for runs in here.values()]
            axes[place].barh(list(here), heights)
            axes[place].set(title=f"{dataset}, {kind}", xlim=(0, 1))
            for name, runs in here.items():
                if name in STABLE and _by_members(runs[0]):
                    curve = [np.mean([run[m][kind] for run in runs]) for m in runs[0]]
                    against[place].plot([int(m) for m in runs[0]], curve, marker=".", label=name)
            against[place].set(title=f"{dataset}, {kind}", xlabel="m", ylabel="stability")
        axes[0].invert_yaxis()
        against[0].legend(fontsize="x-small")
        return {"frel-fig1": bars, "frel-fig1-members": lines}


class Figure2(OnMicroarrays):
    """Figure 2."""

    name = "frel-fig2"
    title = "Stability of Log+L2 and En-Log+L2 against λ"
    # The paper shows two sets and says that the others are alike.
    settings = tuple(f"λ = {value:g}, {solver}" for solver in SOLVERS for value in LAMBDAS)
    shared_cache = ""
    cell_seconds = 10.0
    seconds_by_set: ClassVar[Mapping[str, float]] = {"tox_171": 5.0, "leukemia_golub": 4.0}

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        value, solver = cell.setting.removeprefix("λ = ").split(", ")
        plain = FREL(alpha=float(value), solver=SOLVERS[solver])
        in_ensemble = stabilities(on_subsets(ensemble(plain), data, seed_of(cell)))
        return {
            "Log+L2": stabilities(on_subsets(plain, data, seed_of(cell))),
            "En-Log+L2": at_twenty(in_ensemble),
        }

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        found = self.by_method(outcomes, "λ = ")
        remarks = {
            "Algorithm 1": [
                "The paper says: with λ the stability of both grows, as in theory. The theory is about the"
                " minimum of eq. (2), which Algorithm 1 does not reach: each of its steps has the length 1,"
                " however steep the penalty is.",
                INFLATED,
                ONE_DRAW,
            ],
            "minimized": [],
        }
        shown = {
            "Log+L2": ("Log+L2", "re-ranked"),
            "En-Log+L2, literally": ("En-Log+L2", "literal"),
            "En-Log+L2, re-ranked": ("En-Log+L2", "re-ranked"),
        }
        return [
            Results(
                f"Figure 2: {solver}",
                "set and method",
                "stability, %",
                [
                    Pair(f"{dataset}: {label}", f"λ = {value:g}", percent([run[name][kind] for run in runs]))
                    for dataset in self.datasets
                    for label, (name, kind) in shown.items()
                    for value in LAMBDAS
                    if (runs := found.get(f"{value:g}, {solver}", {}).get(dataset))
                ],
                [*remarks[solver], *_trends(found, solver)],
            )
            for solver in SOLVERS
        ]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_method(outcomes, "λ = ")
        sets = [name for name in self.datasets if any(name in each for each in found.values())]
        if not sets:
            return {}
        picture, axes = panels(len(sets), columns=2, width=4.5)
        for ax, dataset in zip(axes, sets, strict=True):
            for solver in SOLVERS:
                for name in ("Log+L2", "En-Log+L2"):
                    done = [value for value in LAMBDAS if dataset in found.get(f"{value:g}, {solver}", {})]
                    curve = [
                        np.mean([run[name]["re-ranked"] for run in found[f"{value:g}, {solver}"][dataset]])
                        for value in done
                    ]
                    ax.semilogx(done, curve, marker=".", label=f"{name}, {solver}")
            ax.set(title=dataset, xlabel="λ", ylabel="stability, re-ranked")
        axes[0].legend(fontsize="x-small")
        return {"frel-fig2": picture}


# Sections IV-E and IV-F: accuracy with the 50 best features

#: Training samples, their classes; test samples, their classes.
Fold = tuple[Array, Array, Array, Array]

N_SELECTED = 50
N_FOLDS = 10
#: Share of the test samples that a classifier gets right.
CLASSIFIERS: Mapping[str, Callable[[Fold], float]] = {
    "1NN": lambda fold: 1.0 - error(*fold, 1),
    "3NN": lambda fold: 1.0 - error(*fold, 3),
    "linear SVM": lambda fold: _svm_accuracy(SVC(kernel="linear", C=1.0), fold),
    # The paper names neither degree nor C.
    "polynomial SVM": lambda fold: _svm_accuracy(SVC(kernel="poly", degree=3, C=1.0), fold),
}


def _svm_accuracy(svm: SVC, fold: Fold) -> float:
    X_train, y, X_test, y_test = fold
    return float(svm.fit(X_train, y).score(X_test, y_test))


def best_only(weighter: Any, fold: Fold) -> Fold:
    """Return a fold with the best features of its training samples, scaled by these."""
    X_train, y, X_test, y_test = fold
    weights = weighter.fit(X_train, y).feature_weights_
    best = np.argsort(-weights, kind="stable")[:N_SELECTED]
    X_train, X_test = in_range(X_train[:, best], X_test[:, best])
    return X_train, y, X_test, y_test


def accuracies(weighter: Any, data: DataSet, seed: int) -> Outcome:
    """Return the mean accuracy of each classifier over the folds."""
    X, y = data.X, data.y.astype(np.int64)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y)
    selected_folds = [best_only(clone(weighter), (X[a], y[a], X[b], y[b])) for a, b in folds]
    return {
        name: float(np.mean([accuracy(fold) for fold in selected_folds]))
        for name, accuracy in CLASSIFIERS.items()
    }


def accuracy_setting_of(name: str) -> str:
    """Return the setting of cells that measure the accuracy of a method."""
    return f"accuracy of {name}"


class _Accuracy(OnMicroarrays):
    """Base of Figures 3 and 4."""

    figure: str

    def seconds(self, cell: Cell) -> float:
        return 5.0 if "En-" in cell.setting else 1.0

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        seed = Cell(cell.dataset, "", cell.repeat).random("folds").randint(2**31 - 1)
        weighter = method(cell.setting.removeprefix(accuracy_setting_of("")))
        if "random_state" in weighter.get_params():
            weighter = clone(weighter).set_params(random_state=int(seed))
        return accuracies(weighter, data, int(seed))

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        found = self.by_method(outcomes, accuracy_setting_of(""))
        pairs = [
            Pair(f"{dataset}: {name}", each, percent([run[each] for run in runs]))
            for dataset in self.datasets
            for name, sets in found.items()
            if (runs := sets.get(dataset))
            for each in CLASSIFIERS
        ]
        remarks = [
            "The paper shows bars without numbers, of one cross-validation, and says: no method is"
            " consistently better than another on the four sets; FREL is comparable most of the time.",
            "In the file of tox_171 the nearest neighbor of most samples is one of the three rows beside it:"
            " these seem to be repeated measurements, which flatters 1-NN.",
            "Of the 136 arrays of prostate_singh 34 are about nine times as bright, and stretch the range of"
            " every feature: there the polynomial SVM does badly. On the other 102 it is nearly as good as"
            " the linear one (tried once, with ReliefF).",
            "Features are ranked on the training folds; SVMs have C = 1, the polynomial is of degree 3.",
        ]
        return [Results(self.figure, "set and method", "accuracy, %", pairs, remarks)]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = self.by_method(outcomes, accuracy_setting_of(""))
        values = {
            classifier: {
                name: {
                    dataset: float(np.mean([run[classifier] for run in runs]))
                    for dataset, runs in sets.items()
                }
                for name, sets in found.items()
            }
            for classifier in CLASSIFIERS
        }
        return {self.name: bars(values, "accuracy")} if found else {}


def bars(values: Mapping[str, Mapping[str, Mapping[str, float]]], label: str) -> Picture:
    """Draw a panel per classifier, with a group of bars per set and a bar per method."""
    picture, axes = panels(len(values), columns=2, width=5.0, sharey=True)
    for ax, (classifier, by_name) in zip(axes, values.items(), strict=True):
        sets = list(dict.fromkeys(dataset for by_set in by_name.values() for dataset in by_set))
        width = 0.8 / len(by_name)
        for place, (name, by_set) in enumerate(by_name.items()):
            left = [sets.index(dataset) + (place - 0.5 * len(by_name)) * width for dataset in by_set]
            ax.bar(left, list(by_set.values()), width, align="edge", label=name)
        ax.set_xticks(range(len(sets)), sets)
        ax.set(title=classifier, ylabel=label)
    handles, labels = axes[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=4)
    return picture


class Figure3(_Accuracy):
    """Figure 3."""

    name = "frel-fig3"
    figure = "Figure 3"
    title = "Accuracy with the 50 best features: methods as they are"
    settings = tuple(accuracy_setting_of(name) for name in PLAIN)


class Figure4(_Accuracy):
    """Figure 4."""

    name = "frel-fig4"
    figure = "Figure 4"
    title = "Accuracy with the 50 best features: methods that are to be stable"
    settings = tuple(accuracy_setting_of(name) for name in STABLE)


# Section IV-G: trade-off between stability and accuracy


def trade_off(stable: float, accurate: float) -> float:
    """Return SAT, the harmonic mean of stability and accuracy; 0 if the stability is not positive."""
    return 2.0 * stable * accurate / (stable + accurate) if stable > 0.0 else 0.0


class Figure5(OnMicroarrays):
    """Figure 5, from the cells of Figures 1 and 4."""

    name = "frel-fig5"
    title = "Trade-off between stability and accuracy (SAT) of methods that are to be stable"
    settings = tuple(of(name) for of in (setting_of, accuracy_setting_of) for name in STABLE)

    def seconds(self, cell: Cell) -> float:
        return _figure_of(cell).seconds(cell)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        return _figure_of(cell).run(cell, data)

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        statement = "The paper shows bars without numbers, and says: ensembles of FREL with L2 are the best."
        return [
            Results(
                f"Figure 5, stability {reading}",
                "set and method",
                "SAT, %",
                [
                    Pair(f"{dataset}: {name}", each, percent(values))
                    for each in CLASSIFIERS
                    for name, dataset, values in self._values(outcomes, each, kind)
                ],
                remarks,
            )
            for kind, reading, remarks in (
                ("literal", "literally", [INFLATED]),
                ("re-ranked", "re-ranked", [statement]),
            )
        ]

    def _values(
        self, outcomes: Mapping[Cell, Outcome], classifier: str, kind: str
    ) -> Iterator[tuple[str, str, list[float]]]:
        """Yield method, set, and the trade-off in each repeat."""
        stable = self.by_method(outcomes, setting_of(""))
        accurate = self.by_method(outcomes, accuracy_setting_of(""))
        for dataset in self.datasets:
            for name in stable:
                runs = stable[name].get(dataset, [])
                selected_folds = accurate.get(name, {}).get(dataset, [])
                # An interrupted run may have fewer of the one than of the other.
                both = list(zip(runs, selected_folds, strict=False))
                if both:
                    yield name, dataset, [trade_off(at_twenty(s)[kind], a[classifier]) for s, a in both]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found: dict[str, dict[str, dict[str, float]]] = {}
        for classifier in CLASSIFIERS:
            for name, dataset, values in self._values(outcomes, classifier, "re-ranked"):
                found.setdefault(classifier, {}).setdefault(name, {})[dataset] = float(np.mean(values))
        return {self.name: bars(found, "SAT, re-ranked")} if found else {}


def _figure_of(cell: Cell) -> Figure1 | Figure4:
    """Return the figure of a cell."""
    return Figure1() if cell.setting in Figure1.settings else Figure4()


EXPERIMENTS: tuple[Experiment, ...] = (Figure1(), Figure2(), Figure3(), Figure4(), Figure5())
#: All that is published are Figures 1 to 5.
NOT_RUN: Mapping[str, str] = {}
