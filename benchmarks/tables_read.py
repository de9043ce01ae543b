"""How long it takes to read a wide table, and what readers of others take.

Genes as columns, 200 × 20,000, and 20 × 1,000,000 on demand (``--wide``); written to a temporary folder. The
time is from the path to a matrix of numbers, the target and the names, the best of several, all in turn, with
as many threads as each takes by itself. Then ReliefF and writing are added for ours. Run as
``python -m benchmarks.tables_read``; pandas and PyArrow are raced where they are installed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from highrelief.cli.options import Request
from highrelief.cli.rank import rank
from highrelief.io.reading import Source, read_table
from highrelief.io.roles import Roles


def write(path: Path, n_samples: int, n_features: int) -> None:
    """A table of positive numbers with four decimals, the class first."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("class," + ",".join(f"gene{j}" for j in range(n_features)) + "\n")
        for row in range(n_samples):
            values = rng.lognormal(4.0, 1.5, n_features).round(4).tolist()
            file.write("ab"[row % 2] + "," + ",".join(map(str, values)) + "\n")


def ours(path: Path) -> Any:
    table = read_table(Source(path), Roles("class"))
    return table.X, table.y


def by_polars(path: Path) -> Any:
    frame = pl.read_csv(path)
    return frame.drop("class").to_numpy(), frame["class"].to_list()


def by_pandas(path: Path) -> Any:
    import pandas as pd

    frame = pd.read_csv(path)
    return frame.drop(columns="class").to_numpy(), frame["class"].to_list()


def by_pyarrow(path: Path) -> Any:
    from pyarrow import csv

    # By default a block holds less than a row.
    table = csv.read_csv(path, read_options=csv.ReadOptions(block_size=2**26))
    return np.column_stack([each.to_numpy() for each in table.columns[1:]]), table["class"].to_pylist()


READERS: dict[str, Callable[[Path], Any]] = {"highrelief": ours, "polars": by_polars}
READERS |= {
    name: reader for name, reader in (("pandas", by_pandas), ("pyarrow", by_pyarrow)) if find_spec(name)
}


def best_times(calls: dict[str, Callable[[], Any]], n_rounds: int) -> dict[str, float]:
    """Least seconds on the clock of each call, taken in turn."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(n_rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def race(folder: Path, n_samples: int, n_features: int, n_rounds: int) -> None:
    path = folder / f"{n_samples}x{n_features}.csv"
    write(path, n_samples, n_features)
    X, y = ours(path)
    for name, reader in READERS.items():
        theirs = reader(path)
        if not np.array_equal(X, theirs[0]) or list(y) != list(theirs[1]):
            raise AssertionError(f"{name} reads something else")

    def whole() -> None:
        ranking = rank(Request(str(path), "class", "relieff"))
        ranking.write(folder / "out", force=True)

    calls = {name: (lambda reader=reader: reader(path)) for name, reader in READERS.items()}
    times = best_times({**calls, "read, ReliefF, write": whole}, n_rounds)
    print(f"{n_samples} x {n_features:,}, {path.stat().st_size / 1e6:.0f} MB")
    for name, seconds in times.items():
        print(f"  {name:22s}{seconds:8.2f} s{seconds / times['highrelief']:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.tables_read", description=__doc__)
    parser.add_argument("--wide", action="store_true", help="20 x 1,000,000 too; some readers need minutes")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        race(Path(folder), 200, 20_000, options.rounds)
        if options.wide:
            race(Path(folder), 20, 1_000_000, 1)


if __name__ == "__main__":
    main()
