"""Runner of experiments: plans cells, runs them in parallel processes and checkpoints each."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from multiprocessing import active_children, get_context, resource_tracker
from pathlib import Path
from typing import Any

import numpy as np

from .._engine.parameters import checked_thread_count
from .._engine.threads import one_blas_thread
from .._kernels.jit import deferred_interrupts
from ..io.files import sync
from .data import Sets
from .experiment import Cell, Experiment, Outcome

# Checkpoints


#: Fields of a line.
_FIELDS = {"dataset", "setting", "repeat", "version", "data", "seconds", "outcome"}


class Checkpoints:
    """Outcomes of finished cells, one per line of ``<folder>/<cache_name>.jsonl``."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self._path = folder / f"{experiment.cache_name}.jsonl"
        self._version = experiment.version

    def outcomes(self, digests: dict[str, str]) -> dict[Cell, Outcome]:
        """Return the outcomes of the current version of the experiment on the current data."""
        found: dict[Cell, Outcome] = {}
        for line in self._lines():
            cell = Cell(line["dataset"], line["setting"], line["repeat"])
            if line["version"] == self._version and digests.get(cell.dataset) == line["data"]:
                found[cell] = line["outcome"]
        return found

    def seconds(self) -> dict[str, list[float]]:
        """Return the run times of finished cells, by set and setting."""
        found: dict[str, list[float]] = {}
        for line in self._lines():
            found.setdefault(f"{line['dataset']}/{line['setting']}", []).append(line["seconds"])
        return found

    def add(self, cell: Cell, outcome: Outcome, *, data: str, seconds: float) -> None:
        """Append the outcome of a cell and flush it to disk."""
        line = {
            "dataset": cell.dataset,
            "setting": cell.setting,
            "repeat": cell.repeat,
            "version": self._version,
            "data": data,
            "seconds": round(seconds, 3),
            "outcome": outcome,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self._path.exists()
        # The newline comes first, so that a torn line does not corrupt the next one.
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(line, allow_nan=False))
        sync(self._path)
        if is_new:
            sync(self._path.parent)

    def _lines(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        found = []
        for text in self._path.read_bytes().split(b"\n"):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                # A run was stopped while writing this line.
                continue
            if isinstance(line, dict) and line.keys() >= _FIELDS:
                found.append(line)
        return found


# Experiments by name

#: Modules of the papers, each with ``EXPERIMENTS``, and ``NOT_RUN`` with reasons.
PAPERS = (
    "irelief_2007",
    "lfe_2008",
    "im4e_2012",
    "lhr_2014",
    "frel_2015",
    "urbanowicz_2018",
    "passemiers_2024",
)


@dataclass(frozen=True)
class Paper:
    """A paper's published tables and figures."""

    #: Citation key.
    key: str
    experiments: tuple[Experiment, ...]
    #: Tables and figures that cannot be run, and why.
    not_run: Mapping[str, str]


def papers() -> list[Paper]:
    """Return all papers."""
    modules = [import_module(f"{__package__}.{name}") for name in PAPERS]
    return [Paper(each.EXPERIMENTS[0].paper, each.EXPERIMENTS, each.NOT_RUN) for each in modules]


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order of the papers."""
    return {each.name: each for paper in papers() for each in paper.experiments}


def not_run() -> dict[str, str]:
    """Return the published tables and figures that cannot be run, and why."""
    return {name: reason for paper in papers() for name, reason in paper.not_run.items()}


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    known = experiments()
    if name in known:
        return known[name]
    if name in not_run():
        raise LookupError(f"{name} cannot be run: {not_run()[name]}")
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
    raise LookupError(f"There is no experiment {name!r}; {hint}")


#: Data sets that a message lists.
_MOST_SHOWN = 30

#: Called with the number of finished cells and their total number.
ProgressListener = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """Finished and remaining cells of a run."""

    experiment: Experiment
    folders: tuple[Path, ...]
    checkpoints: Checkpoints
    #: Available and missing data sets.
    datasets: list[str]
    missing: list[str]
    #: Available sets that are generated.
    generated: list[str]
    done: dict[Cell, Outcome]
    remaining: list[Cell]
    digests: dict[str, str]

    def seconds(self, n_jobs: int | None) -> float:
        """Return the expected run time, from earlier run times or the estimate of the experiment."""
        known = self.checkpoints.seconds()

        def of(cell: Cell) -> float:
            measured = known.get(f"{cell.dataset}/{cell.setting}")
            return float(np.median(measured)) if measured else self.experiment.seconds(cell)

        return sum(of(cell) for cell in self.remaining) / min(
            checked_thread_count(n_jobs), max(1, len(self.remaining))
        )


def plan(
    experiment: Experiment,
    *,
    data: Path | None,
    cache: Path,
    datasets: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    repeats: int | None = None,
) -> Plan:
    """Plan a run: find its data sets, finished and remaining cells."""
    sets, checkpoints = Sets(data, cache), Checkpoints(cache, experiment)
    requested = requested_datasets(experiment, datasets, sets)
    present = [name for name in requested if name in sets]
    digests = {name: sets.get(name).digest for name in present}
    if repeats is None or experiment.repeats == 1:
        # Where the paper has one run, others would not be looked at.
        repeats = experiment.repeats
    cells = experiment.cells(present, repeats)
    if settings:
        cells = [cell for cell in cells if _matching([cell.setting], settings)]
        if present and not cells:
            raise ValueError(
                experiment.absence(settings)
                or f"{experiment.name} has no cells with the settings {', '.join(settings)}; use patterns"
                " such as 'HighRelief*', or leave them out."
            )
    finished = checkpoints.outcomes(digests)
    return Plan(
        experiment,
        sets.folders,
        checkpoints,
        present,
        [name for name in requested if name not in present],
        [name for name in present if sets.is_generated(name)],
        {cell: finished[cell] for cell in cells if cell in finished},
        [cell for cell in cells if cell not in finished],
        digests,
    )


def requested_datasets(experiment: Experiment, datasets: Sequence[str] | None, sets: Sets) -> list[str]:
    """Return the sets that match any of the names or patterns, or all sets if none is given."""
    known = list(experiment.find_datasets(sets))
    for name in datasets or ():
        if not _matching(known, [name]):
            shown = [*known[:_MOST_SHOWN], *(["…"] if len(known) > _MOST_SHOWN else [])]
            raise ValueError(f"{experiment.name} has no set {name!r}; it has {', '.join(shown)}.")
    if not datasets:
        return known
    return list(dict.fromkeys(each for name in datasets for each in _matching(known, [name])))


def _matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def run_plan(
    planned: Plan, *, n_jobs: int | None = None, progress: ProgressListener | None = None
) -> dict[Cell, Outcome]:
    """Run the remaining cells and return all outcomes; finished cells survive an interruption."""
    outcomes, total = dict(planned.done), len(planned.done) + len(planned.remaining)
    with closing(_computed(planned, checked_thread_count(n_jobs))) as computed:
        for cell, outcome, seconds in computed:
            planned.checkpoints.add(cell, outcome, data=planned.digests[cell.dataset], seconds=seconds)
            outcomes[cell] = outcome
            if progress is not None:
                progress(len(outcomes), total)
    return outcomes


def _computed(planned: Plan, n_workers: int) -> Generator[tuple[Cell, Outcome, float], None, None]:
    name, folders = planned.experiment.name, planned.folders
    if n_workers == 1 or len(planned.remaining) < 2:
        for cell in planned.remaining:
            yield _run(name, folders, cell)
        return
    # Processes, since most of the work holds the GIL.
    others = set(active_children())
    pool = ProcessPoolExecutor(min(n_workers, len(planned.remaining)), mp_context=get_context("spawn"))
    try:
        with _interrupts_blocked_in_children():
            waiting: set[Future[tuple[Cell, Outcome, float]]] = {
                pool.submit(_run, name, folders, cell) for cell in planned.remaining
            }
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in finished:
                yield each.result()
    except BaseException:
        # Their results would be lost.
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _interrupts_blocked_in_children() -> Iterator[None]:
    """Block SIGINT in processes that are started inside; the parent terminates them.

    An interrupt of the parent is deferred until the end. (Where signals cannot be blocked, it is lost.)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif hasattr(signal, "pthread_sigmask"):
        # Started inside, the resource tracker would unblock the signal.
        resource_tracker.ensure_running()
        # Children inherit the mask of the starting thread; other threads still receive the signal.
        with deferred_interrupts():
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                yield
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
    else:
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)


def _run(name: str, folders: tuple[Path, ...], cell: Cell) -> tuple[Cell, Outcome, float]:
    """Run a cell on one core, in any process."""
    begin = time.perf_counter()
    with one_blas_thread():
        outcome = find_experiment(name).run(cell, Sets(*folders).get(cell.dataset))
    return cell, outcome, time.perf_counter() - begin
