"""Urbanowicz, Olson, Schmitt, Meeker and Moore (2018): power to find features in simulated archives.

The archive has 30 replicates of each scenario: genotypes with main effects, pairs and higher orders of
interaction, heterogeneity, missing values, imbalance, several classes, continuous attributes and endpoints,
and multiplexers. Files are ``rebate/<scenario>_<replicate>.npz`` in the data folder, with ``X``, ``y`` and
the mask ``relevant``; those that exist are used.

*Power* is the share of replicates in which all R relevant features are among the first R (in the figure: the
first p %) of the ranking; tied features all have the worst of their ranks. For multiplexers the relevant
features are the address bits. Means are over scenarios. *Precision* and *recall* are those of the
recommended set, if the method has one: the share that is relevant (of multiplexers every feature matters), a
mean over the tables with a recommendation, and the share of the relevant features that it contains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import DataSet, Sets
from .experiment import Cell, Experiment, Outcome
from .rankers import RANKERS, REFERENCE, comparison, draw_methods, installed, not_installed, omissions, rank
from .results import Estimate, Pair, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Group of the files in the data folder.
GROUP = "rebate"
#: Outcomes by method and scenario.
Outcomes = dict[str, dict[str, list[Outcome]]]

#: Scenarios: pattern of the name, theme, and column within the theme.
THEMES: Sequence[tuple[str, str, str]] = (
    (r"core2wayEpistasis_s_(\d+)_", "Pairs", "n = {}"),
    (r"XOR_xor_(\d+)_", "Higher orders", "XOR of {}"),
    (r"epi_order_", "Higher orders", "3-way"),
    (r"2wayEpiHeterogeneity_.*_r_(\d+)_", "Heterogeneity", "{} %"),
    (r"(\d+)_bit_multiplexer", "Multiplexers", "{} bits"),
    (r"2wayEpi_NA_.*_NA_([\d.]+)_", "Missing values", "share {}"),
    (r"2wayEpi_ImbalancedData_.*_imb_([\d.]+)_", "Imbalance", "larger class {}"),
    (r"mainEff_s_.*_her_([\d.]+)_", "Main effects", "heritability {}"),
    (r"mainEff_additive_(\d+)_.*_r_(\d+)_", "Additive", "{} main effects, {} %"),
    (r"2wayEpi_additive_.*_r_(\d+)_", "Additive", "two pairs, {} %"),
    (r"(\d+)Class", "Classes", "{} classes"),
    (r"2wayEpiFeatures_a_(\d+)_", "Features", "{} features"),
    (r"CA_", "Attributes", "continuous"),
    (r"MA_", "Attributes", "mixed"),
    (r"2wayEpi_contEndpoint_.*_sd_([\d.]+)_", "Continuous endpoints", "deviation {}"),
    (r"CE_Threshold", "Continuous endpoints", "threshold"),
)
#: Theme of scenarios of other names, each its own column.
OTHERS = "Others"
#: Percentages of the features in the figure.
PERCENTAGES = np.arange(1, 101)


def scenario_of(dataset: str) -> str:
    """Return the scenario of a file name."""
    return dataset.rpartition("_")[0]


def theme_of(scenario: str) -> tuple[str, str]:
    """Return the theme of a scenario and its column there."""
    for pattern, theme, column in THEMES:
        found = re.match(pattern, scenario)
        if found:
            return theme, column.format(*found.groups())
    return OTHERS, scenario


def power(outcomes: Sequence[Outcome]) -> float:
    """Return the percentage of outcomes with all R relevant features among the first R."""
    return 100.0 * float(np.mean([run["ranks"][-1] <= len(run["ranks"]) for run in outcomes]))


def power_curve(outcomes: Sequence[Outcome]) -> Any:
    """Return the percentage with all relevant features among the first 1, 2, …, 100 % of the features."""
    needed = [100.0 * run["ranks"][-1] / run["n_features"] for run in outcomes]
    return 100.0 * np.mean(np.array(needed)[:, None] <= PERCENTAGES, axis=0)


class Power(Experiment):
    """Power of all methods on the archive: one table and one method are a cell."""

    name = "rebate-power"
    paper = "urbanowicz2018"
    title = "Power to rank all relevant features first, on simulated archives"
    # Shown if the folder has none.
    datasets = (f"{GROUP}/<scenario>_<replicate>",)
    repeats = 30
    cell_seconds = 1.5

    def find_datasets(self, sets: Sets) -> Sequence[str]:
        names = [name for name in sets.names(GROUP) if re.fullmatch(r".+_\d+", name)]
        return sorted(names, key=_natural) or self.datasets

    def cells(self, datasets: Sequence[str], repeats: int) -> list[Cell]:
        methods = installed()
        found = [
            Cell(name, method, replicate)
            for name in datasets
            if (replicate := int(name.rpartition("_")[2])) <= repeats
            for method in methods
        ]
        return sorted(found, key=lambda cell: cell.repeat)

    def absence(self, settings: Sequence[str]) -> str:
        return not_installed(settings)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        relevant = data.extras["relevant"].astype(bool)
        everything = np.ones_like(relevant) if "multiplexer" in cell.dataset else None
        return rank(cell.setting, data.X, data.y, relevant, everything)

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        found = _by_method(outcomes)
        overall = _overall(found)
        tables = {cell.dataset for cell in outcomes}
        overall.remarks.append(f"{len(tables)} tables, {len({*map(scenario_of, tables)})} scenarios.")
        overall.remarks.extend(omissions((cell.setting, run) for cell, run in outcomes.items()))
        themes = {theme: _powers(found, theme) for theme in _themes(outcomes)}
        return [
            overall,
            _best_others(themes),
            *(comparison(theme, "power, %", powers) for theme, powers in themes.items()),
        ]

    def figures(self, outcomes: Mapping[Cell, Outcome]) -> dict[str, Picture]:
        found = _by_method(outcomes)
        curves = {
            theme: {
                method: (PERCENTAGES, np.mean([power_curve(each) for each in scenarios.values()], axis=0))
                for method, runs in found.items()
                if (scenarios := _of_theme(runs, theme))
            }
            for theme in _themes(outcomes)
        }
        if not curves:
            return {}
        return {self.name: draw_methods(curves, xlabel="first features, %", ylabel="power, %")}


def _natural(name: str) -> list[Any]:
    """Return a key that sorts numbers within names by value."""
    return [
        float(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+(?:\.\d+)?)", name))
    ]


def _by_method(outcomes: Mapping[Cell, Outcome]) -> Outcomes:
    """Return the outcomes of methods that applied, in the order of the rankers."""
    found: Outcomes = {}
    for method in RANKERS:
        cells = [cell for cell in outcomes if cell.setting == method and "ranks" in outcomes[cell]]
        for cell in sorted(cells, key=lambda cell: _natural(cell.dataset)):
            found.setdefault(method, {}).setdefault(scenario_of(cell.dataset), []).append(outcomes[cell])
    return found


def _themes(outcomes: Mapping[Cell, Outcome]) -> list[str]:
    """Return the themes of the outcomes in order."""
    found = {theme_of(scenario_of(cell.dataset))[0] for cell, run in outcomes.items() if "ranks" in run}
    known = dict.fromkeys([*(theme for _, theme, _ in THEMES), OTHERS])
    return [theme for theme in known if theme in found]


def _of_theme(runs: Mapping[str, list[Outcome]], theme: str) -> dict[str, list[Outcome]]:
    return {scenario: each for scenario, each in runs.items() if theme_of(scenario)[0] == theme}


def _powers(found: Outcomes, theme: str) -> dict[str, dict[str, float]]:
    """Return powers by method and column, means over the scenarios, if the method has all of them."""
    columns: dict[str, dict[str, None]] = {}
    for scenario in (scenario for runs in found.values() for scenario in _of_theme(runs, theme)):
        columns.setdefault(theme_of(scenario)[1], {})[scenario] = None
    powers = {
        method: {
            column: float(np.mean([power(runs[scenario]) for scenario in scenarios]))
            for column, scenarios in columns.items()
            if scenarios.keys() <= runs.keys()
        }
        for method, runs in found.items()
    }
    return {method: row for method, row in powers.items() if row}


def _overall(found: Outcomes) -> Results:
    """Return means over all scenarios, and differences from HighRelief over the scenarios of both."""
    base = {scenario: power(runs) for scenario, runs in found.get(REFERENCE, {}).items()}
    pairs: list[Pair] = []
    ahead = []
    for method, runs in found.items():
        powers = {scenario: power(each) for scenario, each in runs.items()}
        both = [scenario for scenario in powers if scenario in base]
        flat = [each for outcomes in runs.values() for each in outcomes]
        columns = {"scenarios": Estimate(len(powers), text=str(len(powers)))}
        columns["power"] = Estimate(float(np.mean(list(powers.values()))))
        if both:
            difference = float(np.mean([powers[scenario] - base[scenario] for scenario in both]))
            mark = " ▲" if difference > 0.0 else ""
            columns[f"minus {REFERENCE}"] = Estimate(difference, text=f"{difference:+.1f}{mark}")
            if difference > 0.0:
                ahead.append(f"{method} ({difference:+.1f})")
        if "recommended" in flat[0]:
            shares = [run["right"] / run["recommended"] for run in flat if run["recommended"]]
            if shares:
                columns["precision"] = Estimate(100.0 * float(np.mean(shares)))
            recall = [run["found"] / len(run["ranks"]) for run in flat]
            columns["recall"] = Estimate(100.0 * float(np.mean(recall)))
        seconds = float(np.median([run["seconds"] for run in flat]))
        columns["CPU seconds, median"] = Estimate(seconds, text=f"{seconds:.2g}")
        pairs += [Pair(method, column, value) for column, value in columns.items()]
    remarks = [f"Ahead of {REFERENCE} on the same scenarios: {', '.join(ahead)}."] if ahead else []
    if base and not ahead:
        remarks = [f"No method is ahead of {REFERENCE} in the mean."]
    return Results("All scenarios", "method", "%, means over scenarios", pairs, remarks)


def _best_others(themes: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Results:
    """Return HighRelief and the best other method by theme, means over the columns of the theme."""
    pairs: list[Pair] = []
    behind = []
    for theme, powers in themes.items():
        width = max(len(row) for row in powers.values())
        means = {name: float(np.mean([*row.values()])) for name, row in powers.items() if len(row) == width}
        ours = means.pop(REFERENCE, None)
        pairs.append(Pair(theme, REFERENCE, None if ours is None else Estimate(ours)))
        if means:
            best = max(means, key=lambda name: means[name])
            is_behind = ours is not None and means[best] > ours
            text = f"{means[best]:.1f} ({best}){' ▲' if is_behind else ''}"
            pairs.append(Pair(theme, "best other method", Estimate(means[best], text=text)))
            if ours is not None and is_behind:
                behind.append(f"{theme} by {means[best] - ours:.1f}")
    remarks = [f"{REFERENCE} is behind on {', '.join(behind)}."] if behind else []
    return Results("Themes", "theme", "power, %, means over columns", pairs, remarks)


EXPERIMENTS: tuple[Experiment, ...] = (Power(),)
NOT_RUN: Mapping[str, str] = {}
