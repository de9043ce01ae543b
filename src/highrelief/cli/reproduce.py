"""``highrelief reproduce``: an experiment of a paper, our results beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..inspection.report.inputs import about_software
from ..papers.data import SOURCES, BadSetError, FetchError, Sets
from ..papers.data import fetch as fetch_set
from ..papers.experiment import Cell, Experiment, Outcome
from ..papers.results import Results
from ..papers.runner import Plan, find_experiment, plan, requested_datasets, run_plan
from .errors import RunError, UsageError
from .output import json_text, write_file, write_folder
from .screen import SILENT, Listener


@dataclass(frozen=True)
class Reproduction:
    """An experiment and its results."""

    experiment: Experiment
    outcomes: dict[Cell, Outcome]
    results: list[Results]
    #: Data sets of the paper that are not available.
    absent: list[str]
    #: Data sets made by a generator.
    made: list[str]

    def markdown(self) -> str:
        """Return the tables, large deviations and their likely reasons as Markdown."""
        parts = [
            f"# {self.experiment.title}\n",
            *(f"{each}\n" for each in _set_notes(self.absent, self.made)),
        ]
        for table in self.results:
            parts += [f"## {table.heading}\n"]
            parts += [table.markdown(), "", *(f"- {each}" for each in table.remarks), ""]
        far = deviations(self.results)
        if far:
            parts += ["## Far apart\n", *(f"- {each}" for each in far), ""]
        if far and self.experiment.reasons:
            parts += ["Likely reasons:\n", *(f"- {each}" for each in self.experiment.reasons), ""]
        return "\n".join(parts)

    def write(self, folder: Path, *, force: bool) -> list[str]:
        """Write the tables, as Markdown and as JSON, and the figures; return the names of the files."""
        record = {
            "experiment": self.experiment.name,
            "cells": len(self.outcomes),
            "absent": self.absent,
            "made": self.made,
            "results": [asdict(table) for table in self.results],
            **about_software(),
        }
        texts = {"results.md": self.markdown(), "results.json": json_text(json.loads(json.dumps(record)))}
        write_folder(folder, texts, force=force)
        names = list(texts)
        for name, picture in self.experiment.figures(self.outcomes).items():
            write_file(folder / f"{name}.png", partial(_save, picture), force=True)
            names.append(f"{name}.png")
        return names


def _save(picture: Any, path: Path) -> None:
    picture.savefig(path, format="png", dpi=120)


def reproduce(
    name: str,
    *,
    data: Path | None,
    cache: Path,
    datasets: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    repeats: int | None = None,
    n_jobs: int | None = None,
    fetch: bool = False,
    listener: Listener = SILENT,
) -> Reproduction:
    """Run an experiment; cells with a checkpoint are not computed again."""
    if data is not None and not data.is_dir():
        raise UsageError(f"There is no folder {data}.")
    try:
        experiment = find_experiment(name)
        sets = Sets(data, cache)
        wanted = requested_datasets(experiment, datasets, sets)
        failed = _fetch(wanted, sets, cache, listener) if fetch else []
        planned = plan(
            experiment, data=data, cache=cache, datasets=wanted, settings=settings, repeats=repeats
        )
    except BadSetError as error:
        raise RunError(str(error)) from error
    except (LookupError, ValueError) as error:
        raise UsageError(str(error.args[0])) from error
    listener.note(f"{experiment.name}: {experiment.title}")
    for each in _set_notes(planned.missing, planned.generated):
        listener.note(each)
    if not planned.datasets and failed:
        raise RunError(failed[0])
    if not planned.datasets:
        raise UsageError(
            f"None of its sets is at hand ({', '.join(planned.missing)}); use --data FOLDER, or"
            " --fetch to download those that OpenML has."
        )
    outcomes = _run_cells(planned, n_jobs, listener)
    return Reproduction(
        experiment, outcomes, experiment.results(outcomes), planned.missing, planned.generated
    )


def _run_cells(planned: Plan, n_jobs: int | None, listener: Listener) -> dict[Cell, Outcome]:
    """Compute the remaining cells, with notes on their number and time."""
    n_cells = len(planned.done) + len(planned.remaining)
    begin = f"{n_cells:,} cell{'s' * (n_cells != 1)}, {len(planned.done):,} of them done"
    rest = f"; the rest will take about {duration(planned.seconds(n_jobs))}" if planned.remaining else ""
    listener.note(f"{begin}{rest}.")
    try:
        with listener.step(f"Running {planned.experiment.name}") as report:
            return run_plan(planned, n_jobs=n_jobs, progress=report)
    except KeyboardInterrupt:
        listener.note("What is done is kept: the same command goes on from here.")
        raise


def _set_notes(absent: Sequence[str], made: Sequence[str]) -> list[str]:
    found = {"Not at hand": absent, "Made by a generator": made}
    return [f"{what}: {', '.join(names)}" for what, names in found.items() if names]


def _fetch(wanted: Sequence[str], sets: Sets, cache: Path, listener: Listener) -> list[str]:
    """Fetch data sets that are neither available nor generated from OpenML; return the errors."""
    failed = []
    for name in wanted:
        if name not in sets and name in SOURCES:
            listener.note(f"Fetching {name} from OpenML")
            try:
                fetch_set(name, cache)
            except FetchError as error:
                listener.note(str(error))
                failed.append(str(error))
    return failed


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 90.0:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


def deviations(results: Sequence[Results]) -> list[str]:
    """Return the results that are more than two standard errors from the published ones."""
    return [
        f"{pair.row}, {pair.column}: {pair.reproduced} against {pair.published},"
        f" {pair.z_score:+.1f} standard errors"
        for table in results
        for pair in table.pairs
        if pair.is_far
    ]
