"""Measures how often HighRelief recommends a feature that does not matter, and what it finds.

``python docs/error_control_high_relief.py measure [NAME ...]`` runs what is not stored, or the scenarios
whose names begin so, and stores the counts in docs/error_control_high_relief.json after each; ``page`` writes
the tables of docs/error_control_high_relief.md. Tables are drawn from seeds from 10,000 on, which were not
used to design HighRelief. Boruta is measured if it is installed.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from error_control import Rate, judged, noise, write_tables
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, norm, ttest_ind
from sklearn.ensemble import RandomForestClassifier

from highrelief import ErrorControlledSelector, HighRelief, IRelief, ReliefF
from highrelief.datasets import make_epistasis, make_xor

HERE = Path(__file__).parent
PAGE = HERE / "error_control_high_relief.md"
STORED = HERE / "error_control_high_relief.json"
LEVEL = 0.1
FIRST_SEED = 10_000


class Problem(NamedTuple):
    """A table, and which of its features are not null."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    #: Features that matter, which power is about.
    relevant: NDArray[np.bool_]
    #: Features that may be recommended without an error: those that matter, and those correlated with them.
    right: NDArray[np.bool_]
    batches: NDArray[np.int64] | None = None


Draw = Callable[[np.random.RandomState, int, int], Problem]


# Tables


def classes(random: np.random.RandomState, n: int, n_classes: int = 2) -> NDArray[np.int64]:
    """Return classes of equal size in random order."""
    return random.permutation(np.arange(n) % n_classes)


def genotypes(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    """Return independent genotypes with minor allele frequencies from 0.05 to 0.5."""
    return random.binomial(2, random.uniform(0.05, 0.5, d), (n, d)).astype(np.float64)


def linked(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    """Return genotypes, sums of two chromosomes whose neighboring loci are correlated."""
    thresholds = norm.ppf(random.uniform(0.05, 0.5, d))
    return np.sum([noise(random, n, d, "chain") < thresholds for _ in range(2)], axis=0).astype(np.float64)


def null(
    values: Callable[[np.random.RandomState, int, int], NDArray[np.float64]], n_classes: int = 2
) -> Draw:
    """Return a drawer of tables whose classes are random."""

    def draw(random: np.random.RandomState, n: int, d: int) -> Problem:
        nothing = np.zeros(d, bool)
        return Problem(values(random, n, d), classes(random, n, n_classes), nothing, nothing)

    return draw


def unbalanced(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return normal noise with one sample of ten in the smaller class."""
    found = null(gaussian)(random, n, d)
    return found._replace(y=random.permutation((np.arange(n) < n // 10).astype(np.int64)))


def gaussian(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    """Return independent normal values."""
    return noise(random, n, d, "independent")


def skewed(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    """Return log-normal values in one half of the columns, rare counts in the other."""
    values = np.exp(1.5 * random.standard_normal((n, d)))
    values[:, ::2] = random.poisson(0.3, values[:, ::2].shape)
    return values


def with_holes(values: NDArray[np.float64], random: np.random.RandomState) -> NDArray[np.float64]:
    """Return the values, a fifth of them missing."""
    return np.where(random.random_sample(values.shape) < 0.2, np.nan, values)


def batch_noise(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return noise with means and shares of the classes that differ between three batches."""
    batches = np.arange(n) % 3
    y = (random.random_sample(n) < np.array([0.2, 0.5, 0.8])[batches]).astype(np.int64)
    X = gaussian(random, n, d) + 2.0 * random.standard_normal((3, d))[batches]
    return Problem(X, y, np.zeros(d, bool), np.zeros(d, bool), batches)


def first(d: int, n: int) -> NDArray[np.bool_]:
    """Return a mask of the first features."""
    return np.arange(d) < n


def beside(
    found: tuple[Any, Any, Any], random: np.random.RandomState, d: int, dependence: str = "independent"
) -> Problem:
    """Return relevant features beside noise."""
    X, y, _ = found
    relevant = first(d, X.shape[1])
    values = np.hstack([X, noise(random, len(X), d - X.shape[1], dependence)])
    return Problem(values, np.asarray(y), relevant, relevant)


def main_effects(random: np.random.RandomState, n: int, d: int, dependence: str = "independent") -> Problem:
    """Return five features shifted by one standard deviation, beside noise."""
    y = classes(random, n)
    X = gaussian(random, n, 5) + y[:, np.newaxis]
    return beside((X, y, None), random, d, dependence)


def pair(random: np.random.RandomState, n: int, d: int, dependence: str = "independent") -> Problem:
    """Return two numbers whose product has the sign of the class."""
    return beside(make_xor(n, n_irrelevant=0, random_state=random), random, d, dependence)


def epistasis(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return two genotypes without main effects that determine the risk."""
    X, y, _ = make_epistasis(n, heritability=0.4, n_irrelevant=d - 2, random_state=random)
    return Problem(X.astype(np.float64), np.asarray(y), first(d, 2), first(d, 2))


def parity(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return three bits whose parity is the class, beside random bits."""
    X = random.randint(0, 2, (n, d))
    return Problem(X.astype(np.float64), X[:, :3].sum(axis=1) % 2, first(d, 3), first(d, 3))


def two_mechanisms(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return a class by a product of two features, or by two others if that is small."""
    X = gaussian(random, n, d)
    strong = np.abs(X[:, 0] * X[:, 1]) > 0.5
    y = np.where(strong, X[:, 0] * X[:, 1] > 0.0, X[:, 2] + X[:, 3] > 0.0).astype(np.int64)
    return Problem(X, y, first(d, 4), first(d, 4))


def correlated(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return blocks of ten features correlated by 0.8; the first features of two blocks are shifted."""
    X = noise(random, n, d, "blocks")
    y = (X[:, 0] + X[:, 10] + random.standard_normal(n) > 0.0).astype(np.int64)
    relevant = np.zeros(d, bool)
    relevant[[0, 10]] = True
    return Problem(X, y, relevant, first(d, 20))


def linked_pair(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return blocks of ten linked loci; one locus of each of the first two blocks determines the risk."""
    X = np.hstack([linked(random, n, 10) for _ in range(d // 10)])
    high = (X[:, 4] > np.median(X[:, 4])) ^ (X[:, 14] > np.median(X[:, 14]))
    y = (random.random_sample(n) < np.where(high, 0.85, 0.15)).astype(np.int64)
    relevant = np.zeros(d, bool)
    relevant[[4, 14]] = True
    return Problem(X, y, relevant, first(d, 20))


def missing_pair(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return epistasis with a fifth of the values missing."""
    found = epistasis(random, n, d)
    return found._replace(X=with_holes(found.X, random))


def batch_effects(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return noise of batches with five features that are shifted within the batches."""
    found = batch_noise(random, n, d)
    found.X[:, :5] += found.y[:, np.newaxis]
    return found._replace(relevant=first(d, 5), right=first(d, 5))


def many(random: np.random.RandomState, n: int, d: int) -> Problem:
    """Return a fifth of the features shifted by 1.5 standard deviations, beside noise."""
    y = classes(random, n)
    X = gaussian(random, n, d // 5) + 1.5 * y[:, np.newaxis]
    return beside((X, y, None), random, d)


class Scenario(NamedTuple):
    """A row of a table."""

    draw: Draw
    n: int
    d: int
    #: Number of tables.
    n_tables: int = 200

    def problem(self, seed: int) -> Problem:
        """Return a table."""
        return self.draw(np.random.RandomState(FIRST_SEED + seed), self.n, self.d)


#: Nothing matters: any recommendation is an error.
NULL: Mapping[str, Scenario] = {
    "normal": Scenario(null(gaussian), 120, 50),
    "genotypes": Scenario(null(genotypes), 120, 50),
    "linked genotypes": Scenario(null(linked), 120, 50),
    "skewed values and rare counts": Scenario(null(skewed), 120, 50),
    "blocks correlated by 0.8": Scenario(null(lambda *shape: noise(*shape, "blocks")), 120, 50),
    "five classes": Scenario(null(gaussian, 5), 120, 50),
    "twenty samples": Scenario(null(gaussian), 20, 50),
    "twenty samples, genotypes": Scenario(null(genotypes), 20, 50),
    "classes 9:1": Scenario(unbalanced, 150, 50),
    "a fifth missing": Scenario(null(lambda *shape: with_holes(genotypes(*shape), shape[0])), 120, 50),
    "batches, confounded": Scenario(batch_noise, 120, 50),
    "1,000 features": Scenario(null(gaussian), 60, 1000),
}
#: Some features matter.
SIGNAL: Mapping[str, Scenario] = {
    "5 shifts of 1 s.d.": Scenario(main_effects, 100, 100, 30),
    "20 shifts of 1.5 s.d.": Scenario(many, 100, 100, 30),
    "XOR of 2 numbers": Scenario(pair, 150, 100, 30),
    "epistasis of 2": Scenario(epistasis, 300, 100, 100),
    "parity of 3 bits": Scenario(parity, 300, 50, 30),
    "two mechanisms": Scenario(two_mechanisms, 300, 100, 30),
    "correlated, 2 matter": Scenario(correlated, 150, 100, 100),
    "linked loci, a pair": Scenario(linked_pair, 300, 100, 30),
    "epistasis, a fifth missing": Scenario(missing_pair, 300, 50, 30),
    "5 shifts, batches": Scenario(batch_effects, 120, 50, 30),
}


# Methods: each returns the mask of what it keeps, or None if it does not apply


def by_high_relief(problem: Problem, seed: int) -> NDArray[np.bool_]:
    """Return what HighRelief recommends."""
    return HighRelief(level=LEVEL, random_state=seed).fit(problem.X, problem.y, problem.batches).support_


def by_t_tests(correction: str) -> Callable[[Problem, int], NDArray[np.bool_] | None]:
    """Return a selection by t-tests of single features."""

    def select(problem: Problem, seed: int) -> NDArray[np.bool_] | None:
        if problem.batches is not None:
            return None
        groups = (problem.X[problem.y == each] for each in np.unique(problem.y))
        p = np.nan_to_num(ttest_ind(*groups, nan_policy="omit").pvalue, nan=1.0)
        adjusted = p.size * p if correction == "bonferroni" else false_discovery_control(p)
        return np.asarray(adjusted <= LEVEL)

    return select


def by_selector(weighter: Any, **options: Any) -> Callable[[Problem, int], NDArray[np.bool_] | None]:
    """Return a selection by ErrorControlledSelector."""

    def select(problem: Problem, seed: int) -> NDArray[np.bool_] | None:
        if options.get("method") == "knockoff" and (np.isnan(problem.X).any() or problem.batches is not None):
            return None
        selector = ErrorControlledSelector(weighter, level=LEVEL, random_state=seed, **options)
        given = {} if problem.batches is None else {"batches": problem.batches}
        return np.asarray(selector.fit(problem.X, problem.y, **given).get_support())

    return select


def by_boruta(problem: Problem, seed: int) -> NDArray[np.bool_] | None:
    """Return what Boruta confirms, with the forest that its documentation recommends."""
    if np.isnan(problem.X).any() or problem.batches is not None:
        return None
    forest = RandomForestClassifier(max_depth=5, class_weight="balanced", n_jobs=1)
    model = import_module("boruta").BorutaPy(forest, n_estimators="auto", random_state=seed)
    return np.asarray(model.fit(problem.X, problem.y).support_)


#: By name: selection, and number of tables with a signal at most.
METHODS: Mapping[str, tuple[Callable[[Problem, int], NDArray[np.bool_] | None], int]] = {
    "HighRelief": (by_high_relief, 1000),
    "t-tests, Bonferroni": (by_t_tests("bonferroni"), 1000),
    "t-tests, BH": (by_t_tests("bh"), 1000),
    "permutation, ReliefF": (by_selector(ReliefF(), control="fwer"), 6),
    "knockoffs, IRelief": (by_selector(IRelief(perplexity=0.5), method="knockoff"), 10),
    "Boruta": (by_boruta, 3),
}


# Measuring


def counts_of(scenario: Scenario, method: str, n_tables: int) -> list[list[float]]:
    """Return, by table, the false share, whether anything is false, and the share of what matters."""
    rows = []
    for seed in range(n_tables):
        problem = scenario.problem(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = METHODS[method][0](problem, seed)
        if kept is None:
            return []
        false, any_false, _ = judged(kept, problem.right)
        power = float(kept[problem.relevant].mean()) if problem.relevant.any() else float(kept.any())
        rows.append([false, any_false, round(power, 4)])
    return rows


def stored() -> dict[str, dict[str, list[list[float]]]]:
    """Return the counts by scenario and method."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    return found


def measure(names: list[str]) -> None:
    """Run the scenarios, and store the counts after each method."""
    cells = [(name, each, "HighRelief") for name, each in {**NULL, **SIGNAL}.items()]
    cells += [(name, each, method) for method in list(METHODS)[1:] for name, each in SIGNAL.items()]
    for name, scenario, method in cells:
        if method == "Boruta" and not find_spec("boruta"):
            continue
        found = stored()
        if (names and any(name.startswith(each) for each in names)) or (
            not names and method not in found.get(name, {})
        ):
            counts = counts_of(scenario, method, min(scenario.n_tables, METHODS[method][1]))
            found = stored()
            found.setdefault(name, {})[method] = counts
            STORED.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
            rate = Rate.of([row[1] for row in counts]) if counts else "does not apply"
            print(name, method, rate, flush=True)


# The page


def null_table() -> list[str]:
    """Return how often anything is recommended although nothing matters."""
    lines = ["| table | samples, features | tables | something recommended |", "|---|---|---:|---|"]
    found = stored()
    for name, scenario in NULL.items():
        if name in found:
            rows = found[name]["HighRelief"]
            rate = Rate.of([row[1] for row in rows])
            lines.append(f"| {name} | {scenario.n} by {scenario.d:,} | {len(rows)} | {rate} |")
    every = [row[1] for name in NULL if name in found for row in found[name]["HighRelief"]]
    return [*lines, f"| all | | {len(every)} | {Rate.of(every)} |"]


def signal_table() -> list[str]:
    """Return realized error rates and power of HighRelief."""
    lines = ["| table | samples, features | tables | any false feature | false share | power |"]
    lines += ["|---|---|---:|---|---:|---:|"]
    found = stored()
    for name, scenario in SIGNAL.items():
        if name in found:
            rows = np.array(found[name]["HighRelief"])
            lines.append(
                f"| {name} | {scenario.n} by {scenario.d} | {len(rows)} | {Rate.of(list(rows[:, 1]))} |"
                f" {rows[:, 0].mean():.3f} | {rows[:, 2].mean():.2f} |"
            )
    return lines


def power_table() -> list[str]:
    """Return power / share of tables with a false feature, of all methods."""
    found = stored()
    methods = [method for method in METHODS if any(found.get(name, {}).get(method) for name in SIGNAL)]
    lines = [f"| table | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for name in SIGNAL:
        cells = []
        for method in methods:
            rows = np.array(found.get(name, {}).get(method, []))
            cells.append(f"{rows[:, 2].mean():.2f} / {rows[:, 1].mean():.2f}" if len(rows) else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


TABLES = {"null": null_table, "signal": signal_table, "power": power_table}


def page() -> None:
    """Write the tables into the page."""
    write_tables(PAGE, {name: table() for name, table in TABLES.items()})


if __name__ == "__main__":
    if sys.argv[1:2] == ["page"]:
        page()
    elif sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2:])
    else:
        sys.exit(__doc__)
