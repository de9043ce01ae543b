"""``highrelief reproduce``: an experiment of a paper, ours beside theirs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..protocols.beside import Results
from ..protocols.experiment import Cell, Experiment, Outcome
from ..protocols.openml import SOURCES, FetchError
from ..protocols.openml import fetch as fetch_set
from ..protocols.registry import named
from ..protocols.running import carry_out, plan, wanted_sets
from ..protocols.sets import Sets
from .errors import RunError, UsageError
from .files import write_file, write_folder
from .record import about_software, as_text
from .watching import NOBODY, Watcher


@dataclass(frozen=True)
class Reproduction:
    """An experiment and what it came to."""

    experiment: Experiment
    outcomes: dict[Cell, Outcome]
    results: list[Results]
    #: Sets of the paper that are not at hand.
    absent: list[str]
    #: Sets that came from a generator.
    made: list[str]

    def markdown(self) -> str:
        """The tables as a page has them."""
        parts = [f"# {self.experiment.title}\n"]
        for table in self.results:
            parts += [f"## {table.title} ({table.unit}): ours / theirs (standard errors apart)\n"]
            parts += [table.markdown(), "", *(f"- {each}" for each in table.remarks), ""]
        return "\n".join(parts)

    def write(self, folder: Path, *, force: bool) -> list[str]:
        """Write the tables, as text and as JSON, and the figures; returns the names of the files."""
        record = {
            "experiment": self.experiment.name,
            "cells": len(self.outcomes),
            "absent": self.absent,
            "made": self.made,
            "results": [asdict(table) for table in self.results],
            **about_software(),
        }
        texts = {"results.md": self.markdown(), "results.json": as_text(json.loads(json.dumps(record)))}
        write_folder(folder, texts, force=force)
        names = list(texts)
        for name, picture in self.experiment.figures(self.outcomes).items():
            write_file(folder / f"{name}.png", partial(_save, picture), force=True)
            names.append(f"{name}.png")
        return names


def _save(picture: Any, path: Path) -> None:
    picture.savefig(path, format="png", dpi=120)


def reproduced(
    name: str,
    *,
    data: Path | None,
    cache: Path,
    datasets: Sequence[str] | None = None,
    repeats: int | None = None,
    n_jobs: int | None = None,
    fetch: bool = False,
    watcher: Watcher = NOBODY,
) -> Reproduction:
    """Run an experiment; cells that are done already are not computed again."""
    try:
        experiment = named(name)
        if fetch:
            _fetch(wanted_sets(experiment, datasets), Sets(data, cache), cache, watcher)
        planned = plan(experiment, data=data, cache=cache, datasets=datasets, repeats=repeats)
    except (LookupError, ValueError) as error:
        raise UsageError(str(error.args[0])) from error
    watcher.note(f"{experiment.name}: {experiment.title}")
    if planned.absent:
        watcher.note(f"Not at hand: {', '.join(planned.absent)}")
    if planned.made:
        watcher.note(f"Made by a generator: {', '.join(planned.made)}")
    if not planned.datasets:
        raise UsageError(
            f"None of its sets is at hand ({', '.join(planned.absent)}); --data says where they are,"
            " --fetch gets those that OpenML has."
        )
    n_cells = len(planned.done) + len(planned.left)
    watcher.note(
        f"{n_cells:,} cells, {len(planned.done):,} of them done; the rest will take about"
        f" {spoken(planned.seconds(n_jobs))}."
    )
    with watcher.working(f"Running {experiment.name}") as tell:
        outcomes = carry_out(planned, n_jobs=n_jobs, tell=tell)
    return Reproduction(experiment, outcomes, experiment.results(outcomes), planned.absent, planned.made)


def _fetch(wanted: Sequence[str], sets: Sets, cache: Path, watcher: Watcher) -> None:
    """Get from OpenML what is neither at hand nor made here, as far as it has it."""
    for name in wanted:
        if name not in sets and name in SOURCES:
            watcher.note(f"Fetching {name} from OpenML")
            try:
                fetch_set(name, cache)
            except FetchError as error:
                raise RunError(str(error)) from error


def spoken(seconds: float) -> str:
    """A time as one says it."""
    if seconds < 90.0:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


def far_apart(results: Sequence[Results]) -> list[str]:
    """What lies more than two standard errors from what was published."""
    return [
        f"{pair.row}, {pair.column}: {pair.ours} against {pair.theirs}, {pair.apart:+.1f} standard errors"
        for table in results
        for pair in table.pairs
        if pair.is_far
    ]
