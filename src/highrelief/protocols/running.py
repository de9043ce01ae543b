"""Runs experiments: says how long it will take, works in parallel, keeps every cell when it is done."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, resource_tracker
from pathlib import Path

import numpy as np

from ..core.parameters import checked_thread_count
from ..core.threads import one_blas_thread
from ..kernels.interruption import held_interrupts
from .experiment import Cell, Experiment, Outcome
from .kept import Kept
from .registry import named
from .sets import Sets

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
        with held_interrupts():
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
