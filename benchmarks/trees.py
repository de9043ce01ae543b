"""Two trees of this package in turn: CPU time and peak memory of the same fits, new over old.

``python -m benchmarks.trees OLD`` (``make freeze-speed OLD=...``) runs the package in ``OLD/src`` and that of
this tree, one process each, on one thread; the calls are those of ``peers/highrelief.py`` of this tree.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .data import Shape
from .tables import Table
from .workers import ROOT, Process

#: A row is slower, or takes more memory, above this ratio of the new tree to the old one.
WORSE = 1.05
#: Memory of a row below this many MiB is mostly the allocator's.
LEAST_MEMORY = 2.0
ROUNDS = 9
SECONDS = 300.0

SQUARE, WIDE, TALL = Shape(500, 2000), Shape(200, 6000), Shape(2500, 60)
K, STEPS = {"n_neighbors": 10}, {"sigma": 5.0, "max_iter": 10}
#: Name, method of ``peers/highrelief.py``, its settings, table, precision.
ROWS: tuple[tuple[str, str, dict[str, Any], Shape, str], ...] = (
    ("ReliefF", "relieff", K, Shape(1000, 2000), "float32"),
    ("ReliefF, tall", "relieff", K, Shape(4000, 30), "float64"),
    ("MultiSURF", "surf", {"method": "MultiSURF"}, SQUARE, "float64"),
    ("IRelief", "irelief", STEPS, SQUARE, "float64"),
    ("LOGO", "logo", {"sigma": 5.0, "alpha": 1.0, "max_iter": 5}, SQUARE, "float64"),
    ("IM4E", "im4e", STEPS, SQUARE, "float64"),
    ("FREL, exact", "frel", {"loss": "log", "penalty": "l2", "alpha": 1e-2}, SQUARE, "float64"),
    ("LHRelief", "lhr", K | {"alpha": 0.1, "max_iter": 5}, SQUARE, "float64"),
    ("Simba", "simba", {}, SQUARE, "float64"),
    ("ReliefF, sparse", "relieff_sparse", K, Shape(1500, 8000, "words"), "float32"),
    ("ReliefF, genotypes", "relieff", K, Shape(1500, 10_000, "genotypes"), "int8"),
    ("ReliefF, missing values", "relieff_incomplete", K | {"share": 0.05}, SQUARE, "float64"),
    ("ReliefF, Dask by columns", "relieff_dask", K | {"by": "columns"}, WIDE, "float64"),
    ("ReliefF, Dask by rows", "relieff_dask", K | {"by": "rows"}, TALL, "float64"),
)


@dataclass
class Tree:
    """A tree, the process that runs its package, and what a row took there."""

    process: Process
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    @classmethod
    def at(cls, folder: Path) -> Tree:
        source = str(folder.resolve() / "src")
        code = "import highrelief; print(highrelief.__file__)"
        found = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": source},
            capture_output=True,
            text=True,
            check=False,
        )
        if not found.stdout.startswith(source):
            raise SystemExit(f"{source} is not imported: {found.stdout or found.stderr}")
        return cls(Process(None, {"PYTHONPATH": source}, threads=1))

    def prepare(self, method: str, settings: dict[str, Any], shape: Shape, dtype: str) -> None:
        """Load a row; its first fit is not counted, and gives the weights."""
        self.process.ask({"do": "clear"}, SECONDS)
        request = {"slot": "row", "peer": "highrelief", "method": method, "settings": settings}
        self.process.ask(
            {"do": "prepare"} | request | {"shape": shape, "dtype": dtype, "folder": None}, SECONDS
        )
        self.process.ask({"do": "round", "slot": "row", "memory": False}, SECONDS)
        self.weights = self.process.ask({"do": "answer", "slot": "row"}, SECONDS)["weights"]
        self.cpu, self.memory = [], []

    def measure(self) -> None:
        answer = self.process.ask({"do": "round", "slot": "row", "memory": True}, SECONDS)
        self.cpu.append(answer["cpu"])
        self.memory.append(answer["memory"])


def compare(old: Tree, new: Tree, rounds: int, only: str) -> Table:
    """Best CPU time and least peak memory of each row, and their ratios."""
    table = Table(
        "New tree over old tree, one thread",
        ["", "old, s", "new, s", "CPU", "old, MiB", "new, MiB", "memory", ""],
        [],
    )
    for name, method, settings, shape, dtype in ROWS:
        if only not in name:
            continue
        for tree in (old, new):
            tree.prepare(method, settings, shape, dtype)
        for turn in range(rounds):
            # Neither always goes first.
            for tree in (old, new) if turn % 2 == 0 else (new, old):
                tree.measure()
        seconds, sizes = [min(tree.cpu) for tree in (old, new)], [min(tree.memory) for tree in (old, new)]
        slower = seconds[1] / seconds[0]
        larger = max(sizes[1], LEAST_MEMORY) / max(sizes[0], LEAST_MEMORY)
        verdict = [
            word
            for word, found in (
                ("slower", slower > WORSE),
                ("more memory", larger > WORSE),
                ("other weights", old.weights != new.weights),
            )
            if found
        ]
        table.rows.append(
            [
                f"{name}, {shape.n_samples} x {shape.n_features} {dtype}",
                *(*(f"{each:.4f}" for each in seconds), f"{slower:.3f}"),
                *(*(f"{each:.1f}" for each in sizes), f"{larger:.3f}"),
                ", ".join(verdict),
            ]
        )
        print(f"  {name}: {slower:.3f}", flush=True)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("old", type=Path, help="folder of the tree to compare with")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="fits per row and tree (default: %(default)s)"
    )
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    chosen = parser.parse_args()
    trees = [Tree.at(chosen.old), Tree.at(ROOT)]
    try:
        table = compare(*trees, chosen.rounds, chosen.only)
    finally:
        for tree in trees:
            tree.process.close()
    print(table.text())
    return int(any(row[-1] for row in table.rows))


if __name__ == "__main__":
    sys.exit(main())
