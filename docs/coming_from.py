"""Make the figures of coming_from.md: the same tables weighed by highrelief, scikit-rebate and fast-select.

``python docs/coming_from.py`` where benchmarks/requirements/bench.txt is installed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import highrelief

PAGE = Path(__file__).with_name("coming_from.md")
#: Seeds over which a figure is averaged.
SEEDS = range(20)

Weights = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def contenders(name: str, **parameters: Any) -> list[Weights]:
    """Weights by each, everything but ``parameters`` as it comes."""

    def ours(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return getattr(highrelief, name)(**parameters).fit(X, y).feature_weights_

    def scikit_rebate(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        import skrebate  # noqa: PLC0415

        return getattr(skrebate, name)(n_jobs=1, **parameters).fit(X.copy(), y).feature_importances_

    def fast(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        import fast_select  # noqa: PLC0415

        fitted = getattr(fast_select, name)(backend="cpu", n_jobs=1, **parameters).fit(X.copy(), y)
        return fitted.feature_importances_

    return [ours, scikit_rebate, fast]


def numbers(random: np.random.Generator, n_classes: int = 2) -> tuple[NDArray[Any], NDArray[Any]]:
    """300 × 11 numbers; the first feature knows the class."""
    y = random.integers(0, n_classes, 300)
    X = random.normal(size=(300, 11))
    X[:, 0] += y
    return X, y


def row(what: str, cells: list[Any]) -> str:
    """A row of a table."""
    return "| " + " | ".join([what, *map(str, cells)]) + " |"


def means(make: Callable[[np.random.Generator], list[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Mean over the seeds of an array for each contender."""
    runs = [make(np.random.default_rng(seed)) for seed in SEEDS]
    return [np.mean(each, axis=0) for each in zip(*runs, strict=True)]


def largest_differences() -> str:
    """By how much weights differ from ours where they should not: numbers, two classes, no ties."""
    rows = []
    for name, parameters in (("ReliefF", {"n_neighbors": 10}), ("SURF", {}), ("MultiSURF", {})):
        ours, *others = contenders(name, **parameters)
        X, y = numbers(np.random.default_rng(0))
        expected = ours(X, y)
        apart = [np.abs(other(X, y) - expected).max() for other in others]
        rows.append(row(f"`{name}`", [f"{value:.1g}" for value in apart]))
    return "\n".join(rows)


def answers() -> str:
    """What becomes of weights where the three differ."""
    reliefs = contenders("ReliefF", n_neighbors=10)
    random = np.random.default_rng(0)
    genotypes, classes = random.integers(0, 3, (200, 10)).astype(float), random.integers(0, 2, 200)
    order = random.permutation(200)
    moved = [np.abs(f(genotypes, classes) - f(genotypes[order], classes[order])).max() for f in reliefs]
    largest = [np.abs(f(genotypes, classes)).max() for f in reliefs]
    rows = [
        row(
            "genotypes: change of a weight when the rows are shuffled (largest weight)",
            [f"{a:.1g} ({b:.3f})" for a, b in zip(moved, largest, strict=True)],
        )
    ]

    def with_count(random: np.random.Generator) -> list[NDArray[Any]]:
        X, y = numbers(random)
        counted = X.copy()
        counted[:, 10] = random.integers(0, 4, 300)
        return [f(counted, y)[0] / f(X, y)[0] for f in reliefs]

    rows.append(
        row(
            "a column of noise becomes a count from 0 to 3: weight of the first feature, times",
            [f"{value:.2f}" for value in means(with_count)],
        )
    )

    def unequal(random: np.random.Generator) -> list[NDArray[Any]]:
        y = np.repeat([0, 1, 2], [180, 90, 30])
        X = random.normal(size=(300, 11))
        return [f(X, y)[1:].mean() for f in reliefs]

    rows.append(
        row(
            "three classes, 180, 90 and 30 samples, noise only: mean weight",
            [f"{value:+.4f}" for value in means(unequal)],
        )
    )
    return "\n".join(rows)


def main() -> None:
    """Rewrite what stands between the marks of the page."""
    warnings.filterwarnings("ignore")
    text = PAGE.read_text(encoding="utf-8")
    for mark, made in (("equal", largest_differences()), ("answers", answers())):
        pattern = rf"(<!-- {mark} -->\n(?:\|.*\n){{2}})(?:\|.*\n)*"
        text, n = re.subn(pattern, lambda found, made=made: found.group(1) + made + "\n", text)
        if n != 1:
            raise SystemExit(f"coming_from.md has no table <!-- {mark} -->")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
