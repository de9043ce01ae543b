"""Puts the numbers into docs/batches.md: ``python docs/batches.py DATA``, the folder of data sets."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedShuffleSplit

from highrelief import IRelief, ReliefF

PAGE = Path(__file__).parent / "batches.md"
#: Genes that are looked at.
BEST = 50
#: A gene with this area under the curve tells the batches apart.
TELLS = 0.9
METHODS = {"ReliefF": ReliefF, "IRelief": IRelief}
WAYS = ("plain", "within", "across")


class Arrays(NamedTuple):
    """Arrays, their classes, and which of them are of the other laboratory."""

    X: NDArray[Any]
    y: NDArray[np.integer]
    batches: NDArray[np.int64]

    def of(self, rows: NDArray[np.int64]) -> Arrays:
        """Some of the arrays."""
        return Arrays(self.X[rows], self.y[rows], self.batches[rows])


def read(folder: Path) -> Arrays:
    """The prostate arrays of Singh et al. (2002)."""
    with np.load(folder / "microarray" / "prostate_singh.npz") as data:
        X, y, others = data["X"], data["y"], data["test_idx"]
    return Arrays(X, y, np.isin(np.arange(len(y)), others).astype(np.int64))


def area(X: NDArray[Any], marked: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Area under the curve of every gene, whichever way it goes: ½ tells nothing, 1 all."""
    n, m = marked.sum(), (~marked).sum()
    below = (rankdata(X, axis=0)[marked].sum(axis=0) - n * (n + 1) / 2) / (n * m)
    return np.maximum(below, 1.0 - below)


def weights(method: type, arrays: Arrays, way: str) -> NDArray[np.float64]:
    """Weights of the genes, with the batches kept apart or not."""
    if way == "plain":
        return method().fit(arrays.X, arrays.y).feature_weights_
    fitted = method(batch_neighbors=way).fit(arrays.X, arrays.y, batches=arrays.batches)
    return fitted.feature_weights_


def best(found: NDArray[np.float64]) -> NDArray[np.int64]:
    """The genes that weigh most."""
    return np.argsort(-found, kind="stable")[:BEST]


def brightness(arrays: Arrays) -> list[str]:
    """How different the laboratories are."""
    X, other = arrays.X, arrays.batches == 1
    tells = area(X, other)
    used = np.median(np.ptp(X[~other], axis=0) / np.ptp(X, axis=0))
    tumors = [int(arrays.y[part].sum()) for part in (~other, other)]
    return [
        f"- {(~other).sum()} arrays of one laboratory ({tumors[0]} tumors) with a mean intensity of"
        f" {X[~other].mean():.0f}, and {other.sum()} of another ({tumors[1]} tumors) with"
        f" {X[other].mean():.0f}.",
        f"- {100 * np.mean(tells >= TELLS):.0f} % of all {X.shape[1]:,} genes tell the laboratories apart"
        f" (area under the curve at least {TELLS}).",
        f"- Scaled to [0, 1] as one table, the {(~other).sum()} darker arrays use {100 * used:.0f} % of the"
        " range of a gene (median).",
    ]


def all_arrays(arrays: Arrays) -> list[str]:
    """The best genes of all arrays beside those of the darker ones alone."""
    darker = arrays.of(np.flatnonzero(arrays.batches == 0))
    laboratory, tumor = area(arrays.X, arrays.batches == 1), area(darker.X, darker.y == 1)
    lines = [
        "| method | fit | tell the laboratories apart | among the best of the darker arrays |"
        " distinguish tumors from normal tissue, darker arrays |",
        "|---|---|---:|---:|---:|",
    ]
    for name, method in METHODS.items():
        alone = best(weights(method, darker, "plain"))
        found = {"darker arrays alone": alone} | {
            f"all, {way}": best(weights(method, arrays, way)) for way in WAYS
        }
        for way, genes in found.items():
            lines.append(
                f"| `{name}` | {way} | {np.sum(laboratory[genes] >= TELLS)} of {BEST} |"
                f" {np.intersect1d(genes, alone).size} of {BEST} | {np.median(tumor[genes]):.2f} |"
            )
    return lines


def fresh_arrays(arrays: Arrays, n_splits: int = 20) -> list[str]:
    """Genes of half of the darker arrays and all brighter ones, judged by the other half."""
    darker, other = (np.flatnonzero(arrays.batches == batch) for batch in (0, 1))
    splits = list(
        StratifiedShuffleSplit(n_splits, test_size=0.5, random_state=0).split(darker, arrays.y[darker])
    )
    lines = [
        f"| method | fit | among the best {BEST} of the fresh arrays |"
        " distinguish tumors from normal tissue there |",
        "|---|---|---:|---:|",
    ]
    for name, method in METHODS.items():
        shared: dict[str, list[int]] = {}
        tells: dict[str, list[float]] = {}
        for fitted, left in splits:
            fresh = arrays.of(darker[left])
            wanted, tumor = best(weights(method, fresh, "plain")), area(fresh.X, fresh.y == 1)
            half = darker[fitted]
            with_others = arrays.of(np.concatenate([half, other]))
            found = {"half of the darker arrays": best(weights(method, arrays.of(half), "plain"))}
            found |= {f"and the brighter, {way}": best(weights(method, with_others, way)) for way in WAYS}
            for way, genes in found.items():
                shared.setdefault(way, []).append(np.intersect1d(genes, wanted).size)
                tells.setdefault(way, []).append(float(np.median(tumor[genes])))
        for way, numbers in shared.items():
            error = np.std(numbers, ddof=1) / np.sqrt(n_splits)
            lines.append(
                f"| `{name}` | {way} | {np.mean(numbers):.1f} ± {error:.1f} | {np.mean(tells[way]):.3f} |"
            )
    return lines


def confounded(
    share: float, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Two batches of 100, with a ``share`` of class 0 and of class 1; 3 tells classes apart, 8 batches."""
    batches = np.arange(200) % 2
    y = np.where(random.uniform(size=200) < share, batches, 1 - batches)
    X = random.normal(size=(200, 12))
    X[:, 3] += 1.5 * y
    X[:, 8] += 6.0 * batches
    return X, y, batches


def simulated(n_tables: int = 50) -> list[str]:
    """How often the feature of the class ranks first."""
    lines = [
        "| samples of a batch that are of one class | method | plain | within | across |",
        "|---:|---|---:|---:|---:|",
    ]
    for share in (0.5, 0.7, 0.9):
        for name, method in METHODS.items():
            first = dict.fromkeys(WAYS, 0)
            for seed in range(n_tables):
                table = Arrays(*confounded(share, np.random.default_rng(seed)))
                for way in WAYS:
                    first[way] += int(np.argmax(weights(method, table, way)) == 3)
            shown = " | ".join(f"{100 * first[way] / n_tables:.0f} %" for way in WAYS)
            lines.append(f"| {100 * share:.0f} % | `{name}` | {shown} |")
    return lines


def put(text: str, name: str, lines: list[str]) -> str:
    """The page with new lines between the marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def main(folder: Path) -> None:
    """Make the tables of the page."""
    arrays = read(folder)
    parts: dict[str, Callable[[], list[str]]] = {
        "brightness": lambda: brightness(arrays),
        "all arrays": lambda: all_arrays(arrays),
        "fresh arrays": lambda: fresh_arrays(arrays),
        "simulated": simulated,
    }
    text = PAGE.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, lines in parts.items():
            text = put(text, name, lines())
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
