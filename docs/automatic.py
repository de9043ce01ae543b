"""Make the numbers of docs/automatic.md.

``python docs/automatic.py measure [DATA]`` fits whatever is missing in docs/automatic.csv (and, with a folder
of data sets, in docs/automatic_data.csv); ``python docs/automatic.py`` writes the tables of the page.

The problems are fixed by the rule of :func:`problems`, and the rules were chosen on the seeds
``DEVELOPMENT``; the files hold the seeds ``FRESH``, which no rule has seen.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from highrelief import IM4E, LOGO, IRelief, MultiSURF, ReliefF
from highrelief.datasets import (
    add_irrelevant_features,
    make_epistasis,
    make_fermat_spiral,
    make_ringnorm,
    make_twonorm,
    make_waveform,
    make_xor,
)

DEVELOPMENT = (0, 1)
FRESH = (1001, 1002, 1003)

SAMPLES = (50, 100, 200, 500, 1000, 2000)
IRRELEVANT = (10, 50, 200, 1000, 5000)
MISLABELED = (0.0, 0.1, 0.0, 0.0, 0.2, 0.0)
#: Most samples² × features of one problem, so that the whole study takes an hour on one core.
MOST_TERMS = 1.5e9
#: Samples to measure the error of k-NN with, and most samples × features that it is measured at.
N_TEST, MOST_TO_CLASSIFY = 500, 6e4
#: Fixed widths that the best is chosen from in hindsight, and most samples² × features for that.
WIDTHS, MOST_FOR_WIDTHS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4), 6e7

RULES: dict[str, Callable[[], Any]] = {
    "IRelief()": lambda: IRelief(n_jobs=1),
    "IM4E()": lambda: IM4E(n_jobs=1),
    "LOGO()": lambda: LOGO(n_jobs=1),
    "n/2, averaged": lambda: IRelief(perplexity=0.5, n_jobs=1),
    "n/2, averaged, gamma = 1": lambda: IRelief(perplexity=0.5, outliers=False, n_jobs=1),
    "one wide step": lambda: IRelief(perplexity=0.7, outliers=False, margin="prior", max_iter=1, n_jobs=1),
    "ReliefF, k = 10": lambda: ReliefF(n_neighbors=10, n_jobs=1),
    "ReliefF, k = 50": lambda: ReliefF(n_neighbors=50, n_jobs=1),
    "MultiSURF": lambda: MultiSURF(n_jobs=1),
}
RIVALS = ("ReliefF, k = 10", "MultiSURF")
TIE = 0.005

HERE = Path(__file__).parent
PAGE, GENERATED, REAL = HERE / "automatic.md", HERE / "automatic.csv", HERE / "automatic_data.csv"


class Family(NamedTuple):
    """A generator, and how many features can hide its relevant ones from n samples."""

    make: Callable[..., Any]
    most_irrelevant: Callable[[int], float]


def _parity(order: int, kind: str) -> Family:
    """XOR: a distance over p features sees one of k that act together as p^(-k/2), the noise as 1/n."""
    return Family(
        lambda n, **more: make_xor(n, order=order, kind=kind, **more), lambda n: 2.0 * n ** (2.0 / order)
    )


def _epistasis(heritability: float) -> Family:
    """Two loci; the heritability is the square of the size of their effect."""
    return Family(
        lambda n, **more: make_epistasis(n, heritability=heritability, **more),
        lambda n: 10.0 * heritability * n,
    )


FAMILIES = {
    "twonorm": Family(make_twonorm, lambda n: np.inf),
    "ringnorm": Family(make_ringnorm, lambda n: np.inf),
    "waveform, 2 classes": Family(lambda n, **more: make_waveform(n, n_classes=2, **more), lambda n: np.inf),
    "waveform, 3 classes": Family(make_waveform, lambda n: np.inf),
    "spiral": Family(make_fermat_spiral, lambda n: 2.0 * n),
    "XOR of 2": _parity(2, "continuous"),
    "XOR of 3": _parity(3, "continuous"),
    "XOR of 4": _parity(4, "continuous"),
    "binary XOR of 2": _parity(2, "binary"),
    "binary XOR of 3": _parity(3, "binary"),
    "binary XOR of 4": _parity(4, "binary"),
    "epistasis 0.05": _epistasis(0.05),
    "epistasis 0.1": _epistasis(0.1),
    "epistasis 0.2": _epistasis(0.2),
    "epistasis 0.4": _epistasis(0.4),
}


class Problem(NamedTuple):
    """What is generated; with a seed, a table."""

    family: str
    n_samples: int
    n_irrelevant: int
    mislabeled: float

    def table(self, seed: int) -> Table:
        """The table of that seed: labels are wrong in the samples to fit, not in those to test with."""
        drawn = FAMILIES[self.family].make(
            self.n_samples + N_TEST, n_irrelevant=self.n_irrelevant, random_state=seed
        )
        X, y, relevant = drawn[0].astype(np.float32), drawn[1].copy(), drawn[2]
        n = self.n_samples
        random = np.random.default_rng([seed, n, self.n_irrelevant])
        wrong = random.permutation(n)[: round(self.mislabeled * n)]
        n_classes = y.max() + 1
        y[wrong] = (y[wrong] + random.integers(1, n_classes, wrong.size)) % n_classes
        return Table(X[:n], y[:n], relevant, X[n:], y[n:])


class Table(NamedTuple):
    """Samples to fit and to test with."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


def problems() -> Iterator[Problem]:
    """Half of all combinations, spread evenly, of those that can be solved and computed.

    Of family number f, size number i and number of irrelevant features j those with even f + i + j; of
    these, one after the other, every third has wrong labels. Then one problem without irrelevant features
    for every family, mostly for the error of k-NN (two columns of waveform are irrelevant anyway).
    """
    count = 0
    for f, (name, family) in enumerate(FAMILIES.items()):
        for i, n in enumerate(SAMPLES):
            for j, n_irrelevant in enumerate(IRRELEVANT):
                if (f + i + j) % 2 or n_irrelevant > family.most_irrelevant(n):
                    continue
                if n**2 * (n_irrelevant + 20) > MOST_TERMS:
                    continue
                yield Problem(name, n, n_irrelevant, MISLABELED[count % len(MISLABELED)])
                count += 1
    for f, name in enumerate(FAMILIES):
        yield Problem(name, SAMPLES[1 + f % 5], 0, MISLABELED[f % len(MISLABELED)])


def area(relevant: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Area under the ROC of finding the relevant features; ties count half, NaN if all are relevant."""
    return float("nan") if relevant.all() else float(roc_auc_score(relevant, weights))


def neighbor_error(table: Table, weighter: Any) -> float:
    """Share of the test samples that 5 neighbors under the weights classify wrongly; NaN if too large."""
    if table.X.size > MOST_TO_CLASSIFY:
        return float("nan")
    weighter.set_params(weighted=True)
    near = KNeighborsClassifier(5, metric="manhattan").fit(weighter.transform(table.X), table.y)
    return float(np.mean(near.predict(weighter.transform(table.X_test)) != table.y_test))


def measured(table: Table, *, errors: bool, widths: bool) -> dict[str, float]:
    """Area and error of every rule on one table."""
    row = {}
    for name, make in RULES.items():
        weighter = make().fit(table.X, table.y)
        row[name] = area(table.relevant, weighter.feature_weights_)
        if errors:
            row["error " + name] = neighbor_error(table, weighter)
    if widths:
        for width in WIDTHS:
            fixed = IRelief(sigma=width, max_iter=30, n_jobs=1).fit(table.X, table.y)
            row[f"sigma = {width}"] = area(table.relevant, fixed.feature_weights_)
    return row


def measure_generated() -> None:
    """Fit what is not yet in the file."""
    names = [*RULES, *(f"error {rule}" for rule in RULES), *(f"sigma = {width}" for width in WIDTHS)]
    with Rows(GENERATED, [*Problem._fields, "seed", *names]) as rows:
        for number, seed in enumerate(FRESH):
            for problem in problems():
                key = [str(part) for part in (*problem, seed)]
                if key in rows:
                    continue
                table = problem.table(seed)
                small = len(table.X) * table.X.size <= MOST_FOR_WIDTHS
                found = measured(table, errors=number == 0, widths=number == 0 and small)
                rows.add(key, [found.get(name, float("nan")) for name in names])


def data_tables(folder: Path) -> Iterator[tuple[str, int, Table]]:
    """The sets of ``ida`` and ``uci``, 50 irrelevant features added, at most 400 samples to fit."""
    for path in sorted([*folder.glob("ida/*.npz"), *folder.glob("uci/*.npz")]):
        with np.load(path) as stored:
            samples, classes = stored["X"].astype(np.float32), stored["y"]
        complete = ~np.isnan(samples).any(axis=1)  # k-NN asks for it; four samples of wpbc are not
        samples, classes = samples[complete], np.unique(classes[complete], return_inverse=True)[1]
        common = np.bincount(classes)[classes] > 9
        for seed in FRESH:
            X, relevant = add_irrelevant_features(samples[common], 50, random_state=seed)
            y = np.unique(classes[common], return_inverse=True)[1]
            n = len(y)
            X, X_test, y, y_test = train_test_split(
                X,
                y,
                train_size=min(400, n // 2),
                test_size=min(N_TEST, n // 2),
                random_state=seed,
                stratify=y,
            )
            yield path.stem, seed, Table(X.astype(np.float32), y, relevant, X_test.astype(np.float32), y_test)


def measure_data(folder: Path) -> None:
    """The same for the data sets."""
    names = [*RULES, *(f"error {rule}" for rule in RULES)]
    with Rows(REAL, ["data", "seed", *names]) as rows:
        for name, seed, table in data_tables(folder):
            if [name, str(seed)] not in rows:
                found = measured(table, errors=True, widths=False)
                rows.add([name, str(seed)], [found[each] for each in names])


class Rows:
    """A file of comma-separated rows that grows, and is continued where it stopped."""

    def __init__(self, path: Path, header: list[str]) -> None:
        self._path, self._header = path, header

    def __enter__(self) -> Rows:
        new = not self._path.exists()
        self._known = [] if new else [list(row.values()) for row in read(self._path)]
        self._file = self._path.open("a", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        if new:
            self._writer.writerow(self._header)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __contains__(self, key: list[str]) -> bool:
        return any(row[: len(key)] == key for row in self._known)

    def add(self, key: list[str], numbers: list[float]) -> None:
        """Write one row; what was not measured stays empty."""
        self._writer.writerow([*key, *("" if np.isnan(number) else f"{number:.4f}" for number in numbers)])
        self._file.flush()


def read(path: Path) -> list[dict[str, str]]:
    """Rows of such a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


Row = dict[str, Any]


def numbers(row: dict[str, str]) -> Row:
    """A row with numbers instead of words."""
    texts = ("family", "data")
    return {name: each if name in texts else float(each) if each else np.nan for name, each in row.items()}


def holds(row: Row, rule: str) -> bool:
    """Whether a rule wins or ties against the better rival."""
    return bool(row[rule] >= max(row[rival] for rival in RIVALS) - TIE)


def share(rows: list[Row], rule: str) -> str:
    """In how many rows that is so."""
    return f"{100 * np.mean([holds(row, rule) for row in rows]):.0f} %" if rows else "-"


def mean(rows: list[Row], name: str) -> str:
    """Mean over the rows that have it."""
    values = [row[name] for row in rows if not np.isnan(row[name])]
    return f"{np.mean(values):.3f}" if values else "-"


def with_area(rows: list[Row]) -> list[Row]:
    """Those with irrelevant features to tell from relevant ones."""
    return [row for row in rows if not np.isnan(row[RIVALS[0]])]


def configurations(rows: list[Row]) -> list[Row]:
    """Means over the seeds."""
    merged: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        merged.setdefault(tuple(row[field] for field in Problem._fields), []).append(row)
    return [
        dict(zip(Problem._fields, key, strict=True)) | {r: np.mean([row[r] for row in same]) for r in RULES}
        for key, same in merged.items()
    ]


def rules(rows: list[Row]) -> list[str]:
    """All rules: area, how often they hold, regret, error of k-NN."""
    found = with_area(rows)
    averaged = configurations(found)
    tried = [row for row in found if not np.isnan(row[f"sigma = {WIDTHS[0]}"])]
    for row in tried:
        row["best sigma"] = max(row[f"sigma = {width}"] for width in WIDTHS)
    lines = [
        "| rule | mean area | wins or ties | means over the seeds that do | regret against the best sigma |"
        " error of 5-NN |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for rule in RULES:
        regret = np.mean([row["best sigma"] - row[rule] for row in tried])
        lines.append(
            f"| {rule} | {mean(found, rule)} | {share(found, rule)} | {share(averaged, rule)} |"
            f" {regret:+.3f} | {mean(rows, 'error ' + rule)} |"
        )
    best = max((f"sigma = {width}" for width in WIDTHS), key=lambda name: float(mean(tried, name)))
    lines += [
        "",
        f"{len(found)} tables of {len(averaged)} problems; the regret is over {len(tried)} of them, where the"
        f" best fixed sigma in hindsight has a mean area of {mean(tried, 'best sigma')}, and the best one for"
        f" all, {best}, of {mean(tried, best)}.",
    ]
    return lines


def parts(rows: list[Row], field: str, values: list[Any]) -> list[str]:
    """Mean area, and how often the rules hold, for every value of a field."""
    found = with_area(rows)
    shown = [rule for rule in RULES if rule not in RIVALS]
    lines = [
        f"| {field.replace('_', ' ')} | tables | " + " | ".join([*shown, *RIVALS]) + " |",
        "|---|" + "---:|" * (1 + len(shown) + len(RIVALS)),
    ]
    for value in values:
        some = [row for row in found if row[field] == value]
        if not some:
            continue
        cells = [f"{mean(some, rule)} ({share(some, rule)})" for rule in shown]
        cells += [mean(some, rule) for rule in RIVALS]
        name = f"{value:g}" if isinstance(value, float | int) else value
        lines.append(f"| {name} | {len(some)} | " + " | ".join(cells) + " |")
    return lines


def whole(rows: list[Row]) -> list[str]:
    """Every problem, the means over the seeds, and a mark where the default loses."""
    lines = [
        "| problem | n | irrelevant | wrong labels | `IRelief()` | `IM4E()` | `LOGO()` | n/2, averaged |"
        " ReliefF, k = 10 | MultiSURF | `IRelief()` |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in configurations(with_area(rows)):
        difference = row["IRelief()"] - max(row[rival] for rival in RIVALS)
        result = "ties" if abs(difference) <= TIE else "wins" if difference > 0 else "**loses**"
        shown = ("IRelief()", "IM4E()", "LOGO()", "n/2, averaged", *RIVALS)
        lines.append(
            f"| {row['family']} | {row['n_samples']:g} | {row['n_irrelevant']:g} |"
            f" {100 * row['mislabeled']:.0f} % | "
            + " | ".join(f"{row[rule]:.3f}" for rule in shown)
            + f" | {result} |"
        )
    return lines


def data(rows: list[Row]) -> list[str]:
    """Area and error on the data sets."""
    shown = [rule for rule in RULES if rule != "one wide step"]
    lines = ["| data | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    names = list(dict.fromkeys(row["data"] for row in rows))
    for name in names:
        some = [row for row in rows if row["data"] == name]
        cells = [f"{mean(some, rule)}, {mean(some, 'error ' + rule)}" for rule in shown]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    cells = [f"**{mean(rows, rule)}, {mean(rows, 'error ' + rule)}**" for rule in shown]
    lines.append("| mean | " + " | ".join(cells) + " |")
    lines.append("| area wins or ties | " + " | ".join(share(rows, rule) for rule in shown) + " |")
    return lines


def put(text: str, name: str, lines: list[str]) -> str:
    """The page with new lines between the marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def write_page() -> None:
    """Make the tables of the page."""
    generated = [numbers(row) for row in read(GENERATED)]
    tables = {
        "rules": rules(generated),
        "families": parts(generated, "family", list(FAMILIES)),
        "irrelevant": parts(generated, "n_irrelevant", [float(number) for number in (0, *IRRELEVANT)]),
        "samples": parts(generated, "n_samples", [float(n) for n in SAMPLES]),
        "labels": parts(generated, "mislabeled", sorted(set(MISLABELED))),
        "data": data([numbers(row) for row in read(REAL)]),
        "whole": whole(generated),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        text = put(text, name, lines)
    PAGE.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Measure, or write the page."""
    if arguments[:1] != ["measure"]:
        write_page()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the plain iteration often runs in a cycle
        for folder in arguments[1:]:
            measure_data(Path(folder))
        measure_generated()


if __name__ == "__main__":
    main(sys.argv[1:])
