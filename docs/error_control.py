"""Measures how often error control errs, and puts tables and pictures into docs/error_control.md.

``python docs/error_control.py measure [NAME ...]`` runs the experiments (those that were not, or those whose
names begin so) and keeps what they count in docs/error_control.json; ``python docs/error_control.py page``
makes the tables and pictures from it. Every number can be made again from its seeds.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, norm, ttest_ind

from highrelief import IM4E, LOGO, ErrorControlledSelector, IRelief, LHRelief, MultiSURF, ReliefF
from highrelief.datasets import make_epistasis, make_xor

PAGE = Path(__file__).parent / "error_control.md"
KEPT = Path(__file__).parent / "error_control.json"
PICTURES = Path(__file__).parent / "pictures"
LEVEL = 0.1
WEIGHTERS = {
    "ReliefF": ReliefF(),
    "MultiSURF": MultiSURF(),
    # The averages alone: the tables were measured before they were joined with the first look.
    "IRelief": IRelief(perplexity=0.5),
    "LOGO": LOGO(),
    "IM4E": IM4E(),
    "LHRelief": LHRelief(),
}


class Problem(NamedTuple):
    """A table, and which of its features are not null."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    real: NDArray[np.bool_]


def noise(random: np.random.RandomState, n: int, d: int, dependence: str) -> NDArray[np.float64]:
    """Features that have nothing to do with any label: independent, in blocks of 10, or along a chain."""
    values = random.standard_normal((n, d))
    if dependence == "blocks":
        return (
            np.sqrt(0.2) * values
            + np.sqrt(0.8) * np.repeat(random.standard_normal((n, -(-d // 10))), 10, 1)[:, :d]
        )
    if dependence == "chain":
        for j in range(1, d):
            values[:, j] = 0.9 * values[:, j - 1] + np.sqrt(1.0 - 0.81) * values[:, j]
    return values


def nothing_real(seed: int, dependence: str, n: int = 60, d: int = 100) -> Problem:
    """Noise, and labels by lot."""
    random = np.random.RandomState(seed)
    return Problem(noise(random, n, d, dependence), random.permutation(np.arange(n) % 2), np.zeros(d, bool))


def shifted(
    seed: int, dependence: str, n: int = 100, d: int = 200, n_real: int = 5, shift: float = 1.0
) -> Problem:
    """Features that are larger in one class by so many standard deviations, beside noise."""
    random = np.random.RandomState(seed)
    y = random.permutation(np.arange(n) % 2)
    real = noise(random, n, n_real, "independent") + shift * y[:, np.newaxis]
    X = np.hstack([real, noise(random, n, d - n_real, dependence)])
    return Problem(X, y, np.arange(d) < n_real)


def xor(seed: int, dependence: str, n: int = 150, d: int = 100) -> Problem:
    """Two features that tell the class together, and nothing alone."""
    random = np.random.RandomState(seed)
    X, y, real = make_xor(n, n_irrelevant=0, random_state=random)
    X = np.hstack([X, noise(random, n, d - X.shape[1], dependence)])
    return Problem(X, y, np.arange(d) < real.size)


def epistasis(seed: int, dependence: str, n: int = 300, d: int = 100) -> Problem:
    """Two genotypes that tell the class together, and nothing alone."""
    X, y, real = make_epistasis(n, heritability=0.4, n_irrelevant=d - 2, random_state=seed)
    return Problem(X.astype(np.float64), y, real)


def few(seed: int, dependence: str) -> Problem:
    """A quarter of few features is real, and strong."""
    return shifted(seed, dependence, d=20, n_real=5, shift=1.5)


def many(seed: int, dependence: str) -> Problem:
    """A fifth of many features is real, and strong."""
    return shifted(seed, dependence, d=200, n_real=40, shift=1.5)


class Experiment(NamedTuple):
    """One row of a table."""

    part: str
    problem: Callable[..., Problem]
    weighter: str
    dependence: str = "independent"
    control: str = "fdr"
    keep_found: bool = True
    n_seeds: int = 200
    n_permutations: int = 50
    shape: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """What it is kept as."""
        words = (self.part, self.problem.__name__, self.weighter, self.dependence, self.control)
        return " ".join((*words, "second" if self.keep_found else "plain"))


#: For weighters that take longer.
SMALL = (("n", 60), ("d", 40))
NARROW = (("d", 40),)
ALL = ("independent", "blocks", "chain")
EXPERIMENTS = [
    *(
        Experiment("null", nothing_real, "ReliefF", dependence, control, n_seeds=400)
        for dependence in ALL
        for control in ("fdr", "fwer")
    ),
    *(Experiment("real", shifted, "ReliefF", dependence) for dependence in ALL),
    *(
        Experiment("round", problem, weighter, keep_found=keep, n_seeds=100)
        for problem in (few, many)
        for weighter in ("ReliefF", "MultiSURF")
        for keep in (False, True)
    ),
    Experiment("real", xor, "ReliefF"),
    Experiment("real", xor, "ReliefF", "blocks"),
    Experiment("real", epistasis, "ReliefF", n_seeds=100),
    *(Experiment("real", shifted, "ReliefF", dependence, "fwer", n_seeds=100) for dependence in ALL),
    Experiment("null", nothing_real, "MultiSURF", control="fwer", n_seeds=100, shape=SMALL),
    Experiment("null", nothing_real, "IRelief", control="fwer", n_seeds=100, shape=SMALL),
    Experiment("real", shifted, "MultiSURF", "blocks", n_seeds=100, shape=NARROW),
    Experiment("real", xor, "MultiSURF", n_seeds=50, shape=NARROW),
    Experiment("real", xor, "IRelief", n_seeds=40, shape=NARROW),
    Experiment("real", shifted, "IRelief", n_seeds=40, shape=NARROW),
    *(
        Experiment("round", few, weighter, keep_found=keep, n_seeds=20)
        for weighter in ("IRelief", "IM4E", "LHRelief")
        for keep in (False, True)
    ),
    Experiment("null", nothing_real, "LOGO", control="fwer", n_seeds=40, shape=SMALL),
    Experiment("real", shifted, "LOGO", n_seeds=20, shape=NARROW),
]


def judged(kept: NDArray[np.bool_], real: NDArray[np.bool_]) -> list[float]:
    """Share of false features among those kept, whether there is any, and share of the real ones found."""
    false = int((kept & ~real).sum())
    found = float(kept[real].mean()) if real.any() else np.nan
    return [round(each, 4) for each in (false / max(1, int(kept.sum())), float(false > 0), found)]


def by_t_tests(problem: Problem) -> NDArray[np.bool_]:
    """Benjamini and Hochberg's procedure on t-tests of single features."""
    classes = np.unique(problem.y)
    pvalues = ttest_ind(*(problem.X[problem.y == each] for each in classes)).pvalue
    return np.asarray(false_discovery_control(np.nan_to_num(pvalues, nan=1.0)) <= LEVEL)


def run(experiment: Experiment, n_seeds: int | None = None) -> dict[str, Any]:
    """All seeds of an experiment."""
    counts, beside = [], []
    for seed in range(experiment.n_seeds if n_seeds is None else n_seeds):
        problem = experiment.problem(seed, experiment.dependence, **dict(experiment.shape))
        selector = ErrorControlledSelector(
            WEIGHTERS[experiment.weighter],
            control=experiment.control,
            level=LEVEL,
            n_permutations=experiment.n_permutations,
            keep_found=experiment.keep_found,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = selector.fit(problem.X, problem.y).get_support()
        counts.append(judged(kept, problem.real))
        beside.append(judged(by_t_tests(problem), problem.real))
    n, d = problem.X.shape
    table = {"n": n, "d": d, "real": int(problem.real.sum())}
    return {**table, "seeds": len(counts), "counts": counts, "t_tests": beside}


class Rate(NamedTuple):
    """A realized rate and where, at 95 %, the true one lies."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"

    @classmethod
    def of(cls, values: list[float]) -> Rate:
        """Wilson's interval; for shares between 0 and 1 it is wider than need be."""
        n, mean, z = len(values), float(np.mean(values)), float(norm.ppf(0.975))
        center = (mean + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(mean * (1 - mean) / n + z**2 / (4 * n**2))
        return cls(mean, max(0.0, center - half), min(1.0, center + half))


def error_of(kept: dict[str, Any], control: str) -> Rate:
    """The realized error rate that was to be controlled."""
    return Rate.of([row[0 if control == "fdr" else 1] for row in kept["counts"]])


def power_of(rows: list[list[float]]) -> float:
    """Share of the real features that are found."""
    return float(np.nanmean([row[2] for row in rows]))


def measure(names: list[str]) -> None:
    """Run the experiments, and keep what they count after each."""
    for experiment in EXPERIMENTS:
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        wanted = not names or any(experiment.name.startswith(name) for name in names)
        if wanted and (names or experiment.name not in kept):
            found = run(experiment)
            kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
            kept[experiment.name] = found
            KEPT.write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")
            print(experiment.name, error_of(found, experiment.control), flush=True)


CALLED = {
    nothing_real: "nothing",
    shifted: "shifts of 1 s.d.",
    xor: "XOR of 2",
    epistasis: "epistasis of 2",
    few: "shifts of 1.5 s.d.",
    many: "shifts of 1.5 s.d.",
}


def null_table(kept: dict[str, Any]) -> list[str]:
    """Realized error where nothing is real."""
    lines = ["| weighter | features | table | seeds | FDR = FWER, nominal 0.1, by `fdr` | by `fwer` |"]
    lines += ["|---|---|---|---:|---|---|"]
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each in EXPERIMENTS:
        if each.part == "null" and each.name in kept:
            rows.setdefault((each.weighter, each.dependence), {})[each.control] = kept[each.name]
    for (weighter, dependence), by in rows.items():
        first = next(iter(by.values()))
        rates = [str(error_of(by[control], control)) if control in by else "" for control in ("fdr", "fwer")]
        shape = f"{first['n']} by {first['d']}"
        lines.append(
            f"| `{weighter}` | {dependence} | {shape} | {first['seeds']} | {rates[0]} | {rates[1]} |"
        )
    return lines


def real_table(kept: dict[str, Any]) -> list[str]:
    """Realized error and power where few features are real."""
    lines = [
        "| weighter | real features | noise | table | control | seeds | realized error | power |"
        " t-tests: FDR | power |"
    ]
    lines += ["|---|---|---|---|---|---:|---|---:|---:|---:|"]
    for each in EXPERIMENTS:
        if each.part != "real" or each.name not in kept:
            continue
        found = kept[each.name]
        others = found["t_tests"]
        lines.append(
            f"| `{each.weighter}` | {found['real']}: {CALLED[each.problem]} | {each.dependence} |"
            f" {found['n']} by {found['d']} | {each.control} | {found['seeds']} |"
            f" {error_of(found, each.control)} | {power_of(found['counts']):.2f} |"
            f" {np.mean([row[0] for row in others]):.3f} | {power_of(others):.2f} |"
        )
    return lines


def round_table(kept: dict[str, Any]) -> list[str]:
    """What the second round changes."""
    lines = ["| weighter | table | real | seeds | FDR, one round | power | FDR, two rounds | power |"]
    lines += ["|---|---|---:|---:|---|---:|---|---:|"]
    for each in EXPERIMENTS:
        other = each._replace(keep_found=True)
        if each.part != "round" or each.keep_found or not {each.name, other.name} <= set(kept):
            continue
        one, two = kept[each.name], kept[other.name]
        lines.append(
            f"| `{each.weighter}` | {one['n']} by {one['d']} | {one['real']} | {one['seeds']} |"
            f" {error_of(one, 'fdr')} | {power_of(one['counts']):.2f} |"
            f" {error_of(two, 'fdr')} | {power_of(two['counts']):.2f} |"
        )
    return lines


TABLES = {"permutation-null": null_table, "permutation-real": real_table, "permutation-rounds": round_table}


def draw(kept: dict[str, Any]) -> None:
    """Realized error of every experiment beside the nominal one, and power beside that of t-tests."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    shown = [each for each in EXPERIMENTS if each.part != "round" and each.name in kept]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 0.28 * len(shown) + 1.2), sharey=True, layout="constrained"
    )
    places = np.arange(len(shown))[::-1]
    for place, each in zip(places, shown, strict=True):
        rate = error_of(kept[each.name], each.control)
        left.plot([rate.low, rate.high], [place, place], color="C0")
        left.plot(rate.mean, place, "o", color="C0", markersize=4)
        if each.part == "real":
            right.plot(power_of(kept[each.name]["counts"]), place, "o", color="C0", label="permutations")
            right.plot(power_of(kept[each.name]["t_tests"]), place, "x", color="C1", label="t-tests")
    left.axvline(LEVEL, color="black", linewidth=0.8, linestyle="--")
    left.set(xlim=(0, 0.25), xlabel=f"realized error, 95 % interval; nominal {LEVEL:g}")
    left.set_yticks(
        places,
        [f"{each.weighter}, {CALLED[each.problem]}, {each.dependence}, {each.control}" for each in shown],
        fontsize=8,
    )
    right.set(xlim=(-0.03, 1.03), xlabel="power")
    handles, labels = right.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    right.legend(unique.values(), unique.keys(), loc="upper left", fontsize=8)
    figure.savefig(PICTURES / "error-control-permutation.png", dpi=110)


def write_tables(path: Path, tables: Mapping[str, list[str]]) -> None:
    """Write the lines of tables into a page, between the marks of their names."""
    text = path.read_text(encoding="utf-8")
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = before + begin + "\n".join(["", *lines, "", ""]) + end + rest.partition(end)[2]
    path.write_text(text, encoding="utf-8")


def page() -> None:
    """Write the tables into the page, and draw the picture."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    write_tables(PAGE, {name: table(kept) for name, table in TABLES.items()})
    draw(kept)


if __name__ == "__main__":
    if sys.argv[1:2] == ["page"]:
        page()
    elif sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2:])
    else:
        sys.exit(__doc__)
