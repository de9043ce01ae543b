"""``highrelief demo``: Fermat's spiral, hidden among thousands of features that say nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..datasets import make_fermat_spiral
from .endings import RunError
from .options import Request
from .output import csv_text, write_folder
from .rank import Ranking, rank
from .screen import NOBODY, Watcher

# How often LOGO finds both features of a spiral of this size: `python -m benchmarks.demo_reliability`.
N_SAMPLES, N_IRRELEVANT, TURNS, METHOD = 400, 3000, 1.0, "logo"
TABLE = "spiral.csv"
TARGET = "branch"


def demo_table(seed: int = 0) -> tuple[str, list[str]]:
    """The table as CSV, and the names of its two features that matter."""
    X, y, relevant = make_fermat_spiral(
        N_SAMPLES, turns=TURNS, n_irrelevant=N_IRRELEVANT, shuffle_features=True, random_state=seed
    )
    names = [f"x{place:04d}" for place in range(X.shape[1])]
    branches = np.where(y == 0, "inner", "outer").tolist()
    rows = ([branch, *values] for branch, values in zip(branches, X.round(3).tolist(), strict=True))
    return csv_text([TARGET, *names], rows), [names[place] for place in np.flatnonzero(relevant)]


def demo(folder: Path, *, n_jobs: int | None = None, watcher: Watcher = NOBODY) -> tuple[Ranking, list[str]]:
    """Write the table, rank its features, write the ranking beside it; returns also which features matter."""
    if folder.exists() and not (folder / TABLE).exists():
        raise RunError(f"{folder} exists already and is not of a demo; --out says another folder.")
    text, relevant = demo_table()
    write_folder(folder, {TABLE: text}, force=True)
    ranking = rank(Request(str(folder / TABLE), TARGET, METHOD), n_jobs=n_jobs, watcher=watcher)
    ranking.write(folder, force=True)
    return ranking, relevant
