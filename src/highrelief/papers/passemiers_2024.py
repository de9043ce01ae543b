"""Passemiers, Folco, Raimondi, Birolo, Moreau and Fariselli (2024): nonlinear signals among noise.

Four problems with features uniform on [0, 1]: a ring (RING), the sign of a product (XOR), either of the two
(RING+XOR), and either of these or a noisy sum (RING+XOR+SUM). The first 2, 2, 4 and 6 of m features are
relevant. Each table of n samples is cut into six folds, and features are ranked on five of them. The measure
is the share of the p relevant features among the first p; tied features all have the worst of their ranks.

A repeat is one fold; every six repeats there is a new table. The published numbers are from the results that
the authors published with their code, means over m = 8, 16, …, 512, as ours are in the tables by problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import KFold

from .data import PROBLEMS, DataSet, nonlinear_problem
from .experiment import Cell, Experiment, Outcome
from .rankers import RANKERS, comparison, draw_methods, installed, not_installed, omissions, rank
from .results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SAMPLES = (1000, 500, 250)
FEATURES = (2, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
#: Numbers of features that the means are over, and those of the tables by number.
AVERAGED = (8, 16, 32, 64, 128, 256, 512)
SHOWN = (8, 32, 128, 512, 2048)
N_FOLDS = 6

#: By number of samples and method: per cent on RING, XOR, RING+XOR and RING+XOR+SUM.
PUBLISHED: Mapping[int, Mapping[str, tuple[float, ...]]] = {
    1000: {
        "Random forest": (100.0, 57.1, 92.9, 88.9),
        "TreeSHAP": (100.0, 34.5, 88.7, 82.5),
        "mRMR": (100.0, 3.6, 86.3, 77.4),
        "Mutual information": (97.6, 6.0, 42.3, 40.9),
        "LassoNet": (26.2, 100.0, 49.4, 65.1),
        "Relief, one neighbor": (34.5, 85.7, 38.7, 46.0),
        "Saliency maps": (21.4, 61.9, 34.5, 54.0),
    },
    500: {
        "Random forest": (100.0, 50.0, 76.8, 68.7),
        "TreeSHAP": (94.0, 27.4, 56.0, 65.5),
        "mRMR": (100.0, 3.6, 45.2, 45.2),
        "Mutual information": (88.1, 6.0, 37.5, 37.3),
        "LassoNet": (11.9, 85.7, 40.5, 59.1),
        "Relief, one neighbor": (27.4, 67.9, 32.1, 36.5),
        "Saliency maps": (16.7, 47.6, 23.8, 42.5),
    },
    250: {
        "Random forest": (88.1, 46.4, 38.7, 53.2),
        "TreeSHAP": (64.3, 31.0, 27.4, 48.4),
        "mRMR": (70.2, 6.0, 28.6, 29.8),
        "Mutual information": (64.3, 4.8, 29.8, 29.0),
        "LassoNet": (2.4, 71.4, 30.4, 43.3),
        "Relief, one neighbor": (14.3, 56.0, 22.6, 32.1),
        "Saliency maps": (7.1, 32.1, 15.5, 37.3),
    },
}
#: Shares in per cent by method, number of samples, problem and number of features.
Shares = dict[tuple[str, int, str, int], float]


def setting_of(method: str, n: int, m: int) -> str:
    """Return the setting of a cell."""
    return f"{method} n={n} m={m}"


def design_of(setting: str) -> tuple[str, int, int]:
    """Return the method, the number of samples and the number of features of a setting."""
    found = re.fullmatch(r"(.+) n=(\d+) m=(\d+)", setting)
    assert found is not None
    return found[1], int(found[2]), int(found[3])


class Recovery(Experiment):
    """Share of the relevant features among the first: one fold and one method are a cell."""

    name = "passemiers-recovery"
    paper = "passemiers2024"
    title = "Share of the p relevant features among the first p, nonlinear problems with noise"
    datasets = tuple(PROBLEMS)
    repeats = N_FOLDS
    cell_seconds = 3.0

    def cells(self, datasets: Sequence[str], repeats: int) -> list[Cell]:
        methods = [name for name in installed() if not RANKERS[name].continuous_target]
        return [
            Cell(problem, setting_of(method, n, m), repeat)
            for repeat in range(repeats)
            for m in FEATURES
            for n in SAMPLES
            for problem in datasets
            if m >= PROBLEMS[problem]
            for method in methods
        ]

    def absence(self, settings: Sequence[str]) -> str:
        return not_installed([each.partition(" n=")[0].partition(" *")[0] for each in settings])

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        method, n, m = design_of(cell.setting)
        table, fold = divmod(cell.repeat, N_FOLDS)
        X, y, _ = nonlinear_problem(
            cell.dataset, n, m, (2024, table, n, m, list(PROBLEMS).index(cell.dataset))
        )
        train, _ = list(KFold(N_FOLDS).split(X))[fold]
        return rank(method, X[train], y[train], np.arange(m) < PROBLEMS[cell.dataset])

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        shares, tables = _shares(outcomes), []
        for n in SAMPLES:
            present = {m for _, size, _, m in shares if size == n}
            averaged = [m for m in AVERAGED if m in present]
            by_problem = _means(shares, n, averaged, lambda problem, _: problem)
            for row in by_problem.values():
                if len(row) == len(PROBLEMS):
                    row["mean"] = float(np.mean(list(row.values())))
            published = {
                name: {**dict(zip(PROBLEMS, values, strict=True)), "mean": float(np.mean(values))}
                for name, values in PUBLISHED[n].items()
                if len(averaged) == len(AVERAGED)
            }
            over = f"n = {n:,}, mean over m = {', '.join(map(str, averaged))}"
            by_number = _means(shares, n, [m for m in SHOWN if m in present], lambda _, m: f"m = {m}")
            tables += [comparison(over, "share found, %", by_problem, published)] if by_problem else []
            tables += [comparison(f"n = {n:,}, by m", "share found, %", by_number)] if by_number else []
        for table in tables[:1]:
            table.remarks.extend(
                omissions((design_of(cell.setting)[0], run) for cell, run in outcomes.items())
            )
        return tables

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
        for (method, n, problem, m), share in sorted(_shares(outcomes).items(), key=_by_design):
            x, y = curves.setdefault(f"{problem}, n = {n:,}", {}).setdefault(method, ([], []))
            x.append(m)
            y.append(share)
        if not curves:
            return {}
        return {self.name: draw_methods(curves, xlabel="features", ylabel="share found, %")}


def _shares(outcomes: Mapping[Cell, Outcome]) -> Shares:
    found: dict[tuple[str, int, str, int], list[float]] = {}
    for cell, run in outcomes.items():
        if "ranks" in run:
            method, n, m = design_of(cell.setting)
            share = np.mean(np.array(run["ranks"]) <= len(run["ranks"]))
            found.setdefault((method, n, cell.dataset, m), []).append(100.0 * float(share))
    return {key: float(np.mean(values)) for key, values in found.items()}


def _by_design(item: tuple[tuple[str, int, str, int], float]) -> tuple[int, int, int]:
    (_, n, problem, m), _ = item
    return -n, list(PROBLEMS).index(problem), m


def _means(
    shares: Shares, n: int, numbers: Sequence[int], column_of: Callable[[str, int], str]
) -> dict[str, dict[str, float]]:
    """Return means by method and column, where the method has all designs of the column."""
    designs: dict[str, set[tuple[str, int]]] = {}
    for m in numbers:
        for problem in PROBLEMS:
            if any(key[1:] == (n, problem, m) for key in shares):
                designs.setdefault(column_of(problem, m), set()).add((problem, m))
    table = {
        method: {
            column: float(np.mean([shares[method, n, problem, m] for problem, m in sorted(of_column)]))
            for column, of_column in designs.items()
            if all((method, n, problem, m) in shares for problem, m in of_column)
        }
        for method in RANKERS
    }
    return {method: row for method, row in table.items() if row}


EXPERIMENTS: tuple[Experiment, ...] = (Recovery(),)
NOT_RUN: Mapping[str, str] = {}
