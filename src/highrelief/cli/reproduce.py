"""``highrelief reproduce``: an experiment of a paper, ours beside theirs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..inspection.report.origin import about_software
from ..papers.data import SOURCES, BadSetError, FetchError, Sets
from ..papers.data import fetch as fetch_set
from ..papers.experiment import Cell, Experiment, Outcome
from ..papers.results import Results
from ..papers.runner import Plan, find_experiment, plan, requested_datasets, run_plan
from .endings import RunError, UsageError
from .output import write_file, write_folder
from .request import as_text
from .screen import NOBODY, Watcher


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
        """The tables as a page has them, and why ours may be far from theirs where it is."""
        parts = [f"# {self.experiment.title}\n", *(f"{each}\n" for each in self.notes())]
        for table in self.results:
            parts += [f"## {table.title} ({table.unit}): ours / theirs (standard errors apart)\n"]
            parts += [table.markdown(), "", *(f"- {each}" for each in table.remarks), ""]
        far = far_apart(self.results)
        if far:
            parts += ["## Far apart\n", *(f"- {each}" for each in far), ""]
        if far and self.experiment.reasons:
            parts += ["Likely reasons:\n", *(f"- {each}" for each in self.experiment.reasons), ""]
        return "\n".join(parts)

    def notes(self) -> list[str]:
        """What is to be known about the sets."""
        return _about_sets(self.absent, self.made)

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
    if data is not None and not data.is_dir():
        raise UsageError(f"There is no folder {data}.")
    try:
        experiment = find_experiment(name)
        wanted = requested_datasets(experiment, datasets)
        failed = _fetch(wanted, Sets(data, cache), cache, watcher) if fetch else []
        planned = plan(experiment, data=data, cache=cache, datasets=wanted, repeats=repeats)
    except BadSetError as error:
        raise RunError(str(error)) from error
    except (LookupError, ValueError) as error:
        raise UsageError(str(error.args[0])) from error
    watcher.note(f"{experiment.name}: {experiment.title}")
    for each in _about_sets(planned.missing, planned.generated):
        watcher.note(each)
    if not planned.datasets and failed:
        raise RunError(failed[0])
    if not planned.datasets:
        raise UsageError(
            f"None of its sets is at hand ({', '.join(planned.missing)}); --data says where they are,"
            " --fetch gets those that OpenML has."
        )
    outcomes = _all_cells(planned, n_jobs, watcher)
    return Reproduction(
        experiment, outcomes, experiment.results(outcomes), planned.missing, planned.generated
    )


def _all_cells(planned: Plan, n_jobs: int | None, watcher: Watcher) -> dict[Cell, Outcome]:
    """Compute what is left, and tell what the user has to know of it."""
    n_cells = len(planned.done) + len(planned.remaining)
    begin = f"{n_cells:,} cell{'s' * (n_cells != 1)}, {len(planned.done):,} of them done"
    rest = f"; the rest will take about {spoken(planned.seconds(n_jobs))}" if planned.remaining else ""
    watcher.note(f"{begin}{rest}.")
    try:
        with watcher.working(f"Running {planned.experiment.name}") as tell:
            return run_plan(planned, n_jobs=n_jobs, progress=tell)
    except KeyboardInterrupt:
        watcher.note("What is done is kept: the same command goes on from here.")
        raise


def _about_sets(absent: Sequence[str], made: Sequence[str]) -> list[str]:
    found = {"Not at hand": absent, "Made by a generator": made}
    return [f"{what}: {', '.join(names)}" for what, names in found.items() if names]


def _fetch(wanted: Sequence[str], sets: Sets, cache: Path, watcher: Watcher) -> list[str]:
    """Get from OpenML what is neither at hand nor made here, as far as it has it; tells what failed."""
    failed = []
    for name in wanted:
        if name not in sets and name in SOURCES:
            watcher.note(f"Fetching {name} from OpenML")
            try:
                fetch_set(name, cache)
            except FetchError as error:
                watcher.note(str(error))
                failed.append(str(error))
    return failed


def spoken(seconds: float) -> str:
    """A time as one says it."""
    if seconds < 90.0:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


def far_apart(results: Sequence[Results]) -> list[str]:
    """What lies more than two standard errors from what was published."""
    return [
        f"{pair.row}, {pair.column}: {pair.reproduced} against {pair.published},"
        f" {pair.z_score:+.1f} standard errors"
        for table in results
        for pair in table.pairs
        if pair.is_far
    ]
