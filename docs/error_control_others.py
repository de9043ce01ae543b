"""Makes the numbers and the picture of docs/error_control_others.md.

``python docs/error_control_others.py SEEDS [PART ...]``: how often stability selection and knockoffs are
wrong, each about its own null, and what they find.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, ttest_ind

from highrelief import IRelief, ReliefF
from highrelief.datasets import make_xor
from highrelief.selection.knockoffs import decide_by_knockoffs
from highrelief.selection.stability_selection import decide_by_stability, decided, expected_false, usual_size

HERE = Path(__file__).parent
PAGE = HERE / "error_control_others.md"
KEPT = HERE / "error_control_others.json"
N_PAIRS = 20
LEVEL = {"stability": 0.1, "knockoffs": 0.2}
#: What knockoffs are weighed by: the averaged iteration alone, which finds what acts together.
WEIGHTER = IRelief(perplexity=0.5)


class Problem(NamedTuple):
    """A table drawn from a seed, and the features that y depends on given all others."""

    draw: Callable[[int], tuple[NDArray[np.float64], NDArray[np.int64]]]
    true: NDArray[np.bool_]


# Tables


def covariance(design: str, p: int) -> NDArray[np.float64]:
    """Covariance of the features."""
    places = np.arange(p)
    if design == GENOTYPES:
        design = "AR 0.7"
    if design.startswith("AR"):
        return float(design.rsplit(maxsplit=1)[-1]) ** np.abs(np.subtract.outer(places, places))
    if design == "blocks":
        return np.where(np.equal.outer(places // 10, places // 10), 0.7, 0.0) + 0.3 * np.eye(p)
    return np.eye(p)


DESIGNS = ("independent", "AR 0.5", "AR 0.9", "blocks")
#: Numbers 0, 1, 2, behind which is a chain.
GENOTYPES = "genotypes"


def problem(design: str, n: int, p: int, n_true: int, strength: float = 5.0) -> Problem:
    """Gaussian features, of which some, evenly spaced and of alternating sign, make the classes."""
    root = np.linalg.cholesky(covariance(design, p))
    true = np.zeros(p, dtype=bool)
    true[np.linspace(0, p - 1, n_true).astype(int)] = True
    effects = np.where(true, strength / np.sqrt(max(n_true, 1)), 0.0)
    effects[true] *= np.where(np.arange(n_true) % 2, 1.0, -1.0)

    def draw(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        random = np.random.RandomState(seed)
        X = random.standard_normal((n, p)) @ root.T
        if design == GENOTYPES:
            X = (X > 0.2).astype(np.float64) + (X > 1.0)
            X -= X.mean(axis=0)
        return X, (X @ effects + random.logistic(size=n) > 0.0).astype(np.int64)

    return Problem(draw, true)


def parity(n: int, p: int) -> Problem:
    """Two features that act only together."""
    true = np.arange(p) < 2
    return Problem(lambda seed: make_xor(n, n_irrelevant=p - 2, random_state=seed)[:2], true)


def pairs(n: int, p: int, n_pairs: int) -> Problem:
    """Products of pairs of features, added up: none counts by itself."""
    true = np.arange(p) < 2 * n_pairs

    def draw(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        X = np.random.RandomState(seed).standard_normal((n, p))
        products = X[:, : 2 * n_pairs : 2] * X[:, 1 : 2 * n_pairs : 2]
        return X, (products.sum(axis=1) > 0.0).astype(np.int64)

    return Problem(draw, true)


# What is found


def by_t_tests(X: NDArray[np.float64], y: NDArray[np.int64], level: float) -> NDArray[np.bool_]:
    """Features kept by Benjamini and Hochberg's rule on t-tests."""
    return np.asarray(false_discovery_control(ttest_ind(X[y == 0], X[y == 1]).pvalue) <= level)


def rate(found: list[float]) -> tuple[float, float]:
    """Mean, and its standard error."""
    values = np.array(found)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def false_share(support: NDArray[np.bool_], null: NDArray[np.bool_]) -> float:
    """False discovery proportion."""
    return float((support & null).sum() / max(support.sum(), 1))


def stability(task: Problem, n_seeds: int, estimator: Any) -> dict[str, Any]:
    """Errors about features that are named with a probability of at most q/p, and power, beside t-tests."""
    level = LEVEL["stability"]
    p = task.true.size
    bound = expected_false(p, N_PAIRS, "r-concave")
    q = usual_size(p, bound, level)
    by_seed = []
    for seed in range(n_seeds):
        X, y = task.draw(seed)
        fwer = decide_by_stability(estimator, X, y, level=level, n_pairs=N_PAIRS, n_jobs=1, random_state=seed)
        counts = np.rint(2 * N_PAIRS * fwer.statistic).astype(np.int64)
        by_seed.append((fwer, decided(counts, bound(q), "fdr", level), by_t_tests(X, y, level)))
    shares = np.stack([fwer.statistic for fwer, _, _ in by_seed])
    # Halves of other tables are drawn afresh. What is not clearly named more often than by lot is null, and
    # all is where nothing is true.
    error = shares.std(axis=0, ddof=1) / np.sqrt(n_seeds)
    null = (shares.mean(axis=0) - 2.0 * error <= q / p) | ~task.true.any()
    false = [int((fwer.support & null).sum()) for fwer, _, _ in by_seed]
    return {
        "n_null": int(null.sum()),
        "expected_false": rate(false),
        "fwer": rate([float(each > 0) for each in false]),
        "fdr": rate([false_share(fdr.support, null) for _, fdr, _ in by_seed]),
        "power_fwer": _power([fwer.support for fwer, _, _ in by_seed], task.true),
        "power_fdr": _power([fdr.support for _, fdr, _ in by_seed], task.true),
        "power_t": _power([t for _, _, t in by_seed], task.true),
    }


def knockoffs(task: Problem, n_seeds: int, estimator: Any, **options: Any) -> dict[str, Any]:
    """Errors about features that y does not need given the others, and power, beside t-tests."""
    level = LEVEL["knockoffs"]
    kept, by_t = [], []
    for seed in range(n_seeds):
        X, y = task.draw(seed)
        decision = decide_by_knockoffs(estimator, X, y, level=level, n_jobs=1, random_state=seed, **options)
        kept.append(decision.support)
        by_t.append(by_t_tests(X, y, level))
    return {
        "fdr": rate([false_share(each, ~task.true) for each in kept]),
        "fdr_t": rate([false_share(each, ~task.true) for each in by_t]),
        "power": _power(kept, task.true),
        "power_t": _power(by_t, task.true),
    }


def _power(kept: list[NDArray[np.bool_]], true: NDArray[np.bool_]) -> tuple[float, float] | None:
    return rate([float(each[true].mean()) for each in kept]) if true.any() else None


def measure_stability(n_seeds: int) -> dict[str, Any]:
    """All rows of the table."""
    cells: dict[str, Any] = {}
    for design in DESIGNS:
        for name, n_true in (("global null", 0), ("few true", 4)):
            _say(cells, f"{design}, {name}", stability(problem(design, 120, 60, n_true), n_seeds, ReliefF()))
    _say(cells, "XOR, 2 true", stability(parity(240, 60), n_seeds, ReliefF()))
    return cells


def measure_knockoffs(n_seeds: int) -> dict[str, Any]:
    """All rows of the table."""
    cells: dict[str, Any] = {}
    for design in DESIGNS:
        for name, n_true in (("global null", 0), ("15 true", 15)):
            _say(cells, f"{design}, {name}", knockoffs(problem(design, 300, 100, n_true), n_seeds, WEIGHTER))
    _say(cells, "products of 5 pairs, 10 true", knockoffs(pairs(600, 60, 5), n_seeds, WEIGHTER))
    for name, n_true in (("global null", 0), ("15 true", 15)):
        found = knockoffs(problem(GENOTYPES, 300, 60, n_true), n_seeds, WEIGHTER)
        _say(cells, f"{GENOTYPES}, {name}", found)
    return cells


PARTS = {"stability": measure_stability, "knockoffs": measure_knockoffs}


def _say(cells: dict[str, Any], name: str, found: dict[str, Any]) -> None:
    cells[name] = found
    print(name, found, flush=True)


# Words and pictures


def shown(found: Any) -> str:
    """A mean and its standard error."""
    return "" if found is None else f"{found[0]:.3f} ± {found[1]:.3f}"


def tables(cells: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The tables of the page, by the marks that they stand between."""
    of_stability = [
        "| features, problem | null features | E V | P(V > 0) | false among kept, `fdr` | power, `fwer` |"
        " power, `fdr` | power, t-tests |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    columns = ("expected_false", "fwer", "fdr", "power_fwer", "power_fdr", "power_t")
    for name, cell in cells["stability"].items():
        numbers = " | ".join(shown(cell[each]) for each in columns)
        of_stability.append(f"| {name} | {cell['n_null']} | {numbers} |")
    of_knockoffs = [
        "| features, problem | false among kept | power | false among kept, t-tests | power, t-tests |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, cell in cells["knockoffs"].items():
        numbers = " | ".join(shown(cell[each]) for each in ("fdr", "power", "fdr_t", "power_t"))
        of_knockoffs.append(f"| {name} | {numbers} |")
    return {"stability": of_stability, "knockoffs": of_knockoffs}


def draw_pictures(cells: dict[str, dict[str, Any]]) -> None:
    """Realized errors beside the level, two standard errors to either side."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    measures = {
        "stability": ("fwer", "share of tables with a null feature kept"),
        "knockoffs": ("fdr", "share of null features among those kept"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axis, (method, (name, label)) in zip(axes, measures.items(), strict=True):
        of_cells = {each: cell[name] for each, cell in cells[method].items()}
        means, errors = np.array(list(of_cells.values())).T
        axis.errorbar(means, np.arange(means.size), xerr=2 * errors, fmt="o", capsize=3)
        axis.axvline(LEVEL[method], linestyle="--", color="0.4", label="level")
        axis.set_yticks(np.arange(means.size), list(of_cells))
        axis.invert_yaxis()
        axis.set(title=method, xlabel=label, xlim=(-0.01, None))
        axis.legend(loc="upper right")
    figure.savefig(HERE / "pictures" / "error_control_others.png", dpi=80, metadata={"Software": None})


def put(text: str, name: str, lines: list[str]) -> str:
    """The page with new lines between the marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def main(n_seeds: int, parts: list[str]) -> None:
    """Measure what is asked for, keep the numbers, and put all of them into the page."""
    cells = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            cells[part] = PARTS[part](n_seeds)
    KEPT.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in tables(cells).items():
        text = put(text, name, lines)
    PAGE.write_text(text, encoding="utf-8")
    draw_pictures(cells)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or list(PARTS))
