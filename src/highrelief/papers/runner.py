"""Runs experiments: says how long it will take, works in parallel, keeps every cell when it is done."""

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
from importlib import import_module
from multiprocessing import active_children, get_context, resource_tracker
from pathlib import Path
from typing import Any

import numpy as np

from .._engine.parameters import checked_thread_count
from .._engine.threads import one_blas_thread
from .._kernels.jit import deferred_interrupts
from ..io.files import flush
from .data import Sets
from .experiment import Cell, Experiment, Outcome

# Cells that are done, on disk: a run that was stopped goes on where it was.


#: What is in a line.
_PARTS = {"dataset", "setting", "repeat", "version", "data", "seconds", "outcome"}


class Kept:
    """What the cells of an experiment came to, a line each, in ``<folder>/<kept_as>.jsonl``."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self._path = folder / f"{experiment.kept_as}.jsonl"
        self._version = experiment.version

    def outcomes(self, digests: dict[str, str]) -> dict[Cell, Outcome]:
        """Cells that are done with the same version of the experiment and the same data."""
        found: dict[Cell, Outcome] = {}
        for line in self._lines():
            cell = Cell(line["dataset"], line["setting"], line["repeat"])
            if line["version"] == self._version and digests.get(cell.dataset) == line["data"]:
                found[cell] = line["outcome"]
        return found

    def seconds(self) -> dict[str, list[float]]:
        """How long the cells of each set took, as far as is known."""
        found: dict[str, list[float]] = {}
        for line in self._lines():
            found.setdefault(f"{line['dataset']}/{line['setting']}", []).append(line["seconds"])
        return found

    def add(self, cell: Cell, outcome: Outcome, *, data: str, seconds: float) -> None:
        """Keep a cell at once: the next moment may be the last."""
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
        # The end of the line before it, which may be lacking, comes first: a torn line spoils no other.
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(line, allow_nan=False))
        flush(self._path)
        if is_new:
            flush(self._path.parent)

    def _lines(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        found = []
        for text in self._path.read_bytes().split(b"\n"):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                # The run ended within this line.
                continue
            if isinstance(line, dict) and line.keys() >= _PARTS:
                found.append(line)
        return found


# The experiments by name, and what cannot be run.


#: Papers, each a file whose ``EXPERIMENTS`` are run and whose ``NOT_RUN`` says what is not, and why.
PAPERS = ("irelief_2007", "lfe_2008", "im4e_2012", "lhr_2014", "frel_2015")


@dataclass(frozen=True)
class Paper:
    """A paper's published tables and figures."""

    #: Its key among the citations.
    key: str
    experiments: tuple[Experiment, ...]
    #: What cannot be run, and why.
    not_run: Mapping[str, str]


def papers() -> list[Paper]:
    """All papers."""
    modules = [import_module(f"{__package__}.{name}") for name in PAPERS]
    return [Paper(each.EXPERIMENTS[0].paper, each.EXPERIMENTS, each.NOT_RUN) for each in modules]


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the papers."""
    return {each.name: each for paper in papers() for each in paper.experiments}


def not_run() -> dict[str, str]:
    """Published tables and figures that cannot be run, and why."""
    return {name: reason for paper in papers() for name, reason in paper.not_run.items()}


def named(name: str) -> Experiment:
    """An experiment by its name."""
    known = experiments()
    if name in known:
        return known[name]
    if name in not_run():
        raise LookupError(f"{name} cannot be run: {not_run()[name]}")
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
    raise LookupError(f"There is no experiment {name!r}; {hint}")


#: Told how many cells are done, and how many there are.
Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """What a run has to do."""

    experiment: Experiment
    folders: tuple[Path, ...]
    kept: Kept
    #: Sets that are at hand, and those that are not.
    datasets: list[str]
    absent: list[str]
    #: Those at hand that come from a generator, not from a file.
    made: list[str]
    done: dict[Cell, Outcome]
    left: list[Cell]
    digests: dict[str, str]

    def seconds(self, n_jobs: int | None) -> float:
        """About how long it will take: as long as such cells took before, or as the experiment guesses."""
        known = self.kept.seconds()

        def of(cell: Cell) -> float:
            measured = known.get(f"{cell.dataset}/{cell.setting}")
            return float(np.median(measured)) if measured else self.experiment.seconds(cell)

        return sum(of(cell) for cell in self.left) / min(checked_thread_count(n_jobs), max(1, len(self.left)))


def plan(
    experiment: Experiment,
    *,
    data: Path | None,
    cache: Path,
    datasets: Sequence[str] | None = None,
    repeats: int | None = None,
) -> Plan:
    """What there is to do, and what is done already."""
    sets, kept = Sets(data, cache), Kept(cache, experiment)
    wanted = wanted_sets(experiment, datasets)
    present = [name for name in wanted if name in sets]
    digests = {name: sets.get(name).digest for name in present}
    if repeats is None or experiment.repeats == 1:
        # Where the paper has one run, others would not be looked at.
        repeats = experiment.repeats
    cells = experiment.cells(present, repeats)
    finished = kept.outcomes(digests)
    return Plan(
        experiment,
        sets.folders,
        kept,
        present,
        [name for name in wanted if name not in present],
        [name for name in present if sets.is_made(name)],
        {cell: finished[cell] for cell in cells if cell in finished},
        [cell for cell in cells if cell not in finished],
        digests,
    )


def wanted_sets(experiment: Experiment, datasets: Sequence[str] | None) -> list[str]:
    """The sets that are asked for, all of them if none is named."""
    if not datasets:
        return list(experiment.datasets)
    for name in datasets:
        if name not in experiment.datasets:
            raise ValueError(
                f"{experiment.name} has no set {name!r}; it has {', '.join(experiment.datasets)}."
            )
    return list(dict.fromkeys(datasets))


def carry_out(planned: Plan, *, n_jobs: int | None = None, tell: Tell | None = None) -> dict[Cell, Outcome]:
    """Compute what is left, and give all cells. Who stops it keeps what is done."""
    outcomes, total = dict(planned.done), len(planned.done) + len(planned.left)
    with closing(_computed(planned, checked_thread_count(n_jobs))) as computed:
        for cell, outcome, seconds in computed:
            planned.kept.add(cell, outcome, data=planned.digests[cell.dataset], seconds=seconds)
            outcomes[cell] = outcome
            if tell is not None:
                tell(len(outcomes), total)
    return outcomes


def _computed(planned: Plan, n_workers: int) -> Generator[tuple[Cell, Outcome, float], None, None]:
    name, folders = planned.experiment.name, planned.folders
    if n_workers == 1 or len(planned.left) < 2:
        for cell in planned.left:
            yield _run(name, folders, cell)
        return
    # Processes of their own: most of what is measured here holds Python's lock.
    others = set(active_children())
    pool = ProcessPoolExecutor(min(n_workers, len(planned.left)), mp_context=get_context("spawn"))
    try:
        with _deaf_children():
            waiting: set[Future[tuple[Cell, Outcome, float]]] = {
                pool.submit(_run, name, folders, cell) for cell in planned.left
            }
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in finished:
                yield each.result()
    except BaseException:
        # Nobody would take what they go on to compute.
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Have processes that are started inside hear no interruption: who started them ends them.

    An interruption of this process waits until it is over. (Where signals cannot be blocked, it is lost.)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif hasattr(signal, "pthread_sigmask"):
        # Or it would be started inside, and unblock the signal.
        resource_tracker.ensure_running()
        # Children have the mask of the thread that starts them; other threads still hear of it.
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
    """A cell, in whatever process; on one core."""
    begin = time.perf_counter()
    with one_blas_thread():
        outcome = named(name).run(cell, Sets(*folders).get(cell.dataset))
    return cell, outcome, time.perf_counter() - begin
