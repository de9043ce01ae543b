"""Cells that are folds: ten times 10-fold cross-validation gives a table 100 repeats."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp
from sklearn.model_selection import StratifiedKFold

from ..beside import Figure, Pair, Results, measured
from ..experiment import Cell, Experiment, Outcome
from .learners import Array, Choice

N_FOLDS = 10
#: Section 5.2: what a win takes.
SIGNIFICANT, AT_LEAST = 0.01, 0.5
OURS = "I-M4E"


class Fold:
    """Training and test samples of a cell; features standardised by the training samples.

    Missing values become the mean of the feature there, as Weka's filters have it.
    """

    def __init__(self, X: Array, y: Array, repeat: int) -> None:
        time, fold = divmod(repeat, N_FOLDS)
        train, test = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=time).split(X, y))[fold]
        self.known: Array
        self.new: Array
        self.known, self.new = standardised(X[train], X[test])
        self.y, self.y_new = y[train].astype(np.int64), y[test].astype(np.int64)

    def in_single_precision(self) -> Fold:
        """The same with values of half the size, for wide sets."""
        self.known, self.new = self.known.astype(np.float32), self.new.astype(np.float32)
        return self

    def outcome(self, choices: Mapping[str, Choice]) -> Outcome:
        """Accuracies in per cent, and what was chosen."""
        return {
            "accuracy": {
                name: 100.0 * float(np.mean(choice.predicted == self.y_new))
                for name, choice in choices.items()
            },
            "chosen": {name: [choice.setting, choice.n_features] for name, choice in choices.items()},
        }


def standardised(known: Array, new: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both with mean 0 and deviation 1 of every feature of the known samples, 0 where a value is missing."""
    known, new = np.asarray(known, dtype=np.float64), np.asarray(new, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a feature without any value has no mean: 0 will do
        mean, deviation = np.nan_to_num([np.nanmean(known, axis=0), np.nanstd(known, axis=0)])
    deviation = np.where(deviation > 0.0, deviation, 1.0)
    return np.nan_to_num((known - mean) / deviation), np.nan_to_num((new - mean) / deviation)


class ByFolds(Experiment):
    """A table of accuracies over folds, and how often each method wins against I-M4E."""

    paper = "bei2015"
    repeats = 10 * N_FOLDS
    #: Methods in the paper's order; those that have no column there come with None.
    columns: Sequence[str]
    #: Published accuracies of a set, a method each.
    published: Mapping[str, Mapping[str, float]]
    #: Published wins/ties/losses against I-M4E, by method.
    published_standings: Mapping[str, str]
    #: What the paper calls the sets.
    labels: Mapping[str, str]

    def accuracies(
        self, outcomes: Mapping[Cell, Outcome], part: str | None = None
    ) -> dict[str, dict[str, list[float]]]:
        """Accuracies by set and method, fold by fold: the same folds for all methods of a set."""
        found: dict[str, dict[str, list[float]]] = {}
        for (dataset, _), runs in self.by_set(outcomes).items():
            for run in runs:
                for name, accuracy in (run if part is None else run[part])["accuracy"].items():
                    found.setdefault(dataset, {}).setdefault(name, []).append(accuracy)
        return found

    def table(self, title: str, found: Mapping[str, Mapping[str, list[float]]]) -> Results:
        """Ours beside theirs, and wins, ties and losses."""
        pairs = []
        for dataset, ours in found.items():
            theirs = self.published.get(dataset, {})
            for name in self.columns:
                number = theirs.get(name)
                pairs.append(
                    Pair(
                        self.labels[dataset],
                        name,
                        measured(ours[name]) if name in ours else None,
                        None if number is None else Figure(number, None, 100),
                    )
                )
        return Results(title, "set", "accuracy, %", pairs, self.standings(found) if found else [])

    def standings(self, found: Mapping[str, Mapping[str, list[float]]]) -> list[str]:
        """Wins, ties and losses of the methods against I-M4E, as sentences: ours, and theirs."""
        names = [
            name for name in self.columns if name != OURS and any(name in ours for ours in found.values())
        ]
        counts = {}
        for name in names:
            verdicts = [verdict(ours[name], ours[OURS]) for ours in found.values()]
            counts[name] = "/".join(str(verdicts.count(each)) for each in ("win", "tie", "loss"))
        n_folds = min(len(folds) for ours in found.values() for folds in ours.values())
        return [
            f"Wins/ties/losses against I-M4E, ours, on {len(found)} sets, by at least {n_folds} of 100 folds:"
            f" {_listed(counts)}.",
            f"Theirs, by 100 folds: {_listed(self.published_standings)}.",
        ]


def _listed(counts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def verdict(accuracies: Sequence[float], others: Sequence[float]) -> str:
    """Whether a method wins against another, loses or ties, by the accuracies in the same folds.

    A win takes p < 0.01 in Student's paired two-tailed t-test, and a mean that is higher by at least 0.5 %.
    """
    # Of accuracies that differ by the same in every fold, rounding must not make a test.
    difference = np.round(np.asarray(accuracies) - np.asarray(others), 9)
    ahead = float(difference.mean())
    if abs(ahead) < AT_LEAST or difference.size < 2:
        return "tie"
    if np.ptp(difference) > 0.0 and ttest_1samp(difference, 0.0).pvalue >= SIGNIFICANT:
        return "tie"
    return "win" if ahead > 0.0 else "loss"
