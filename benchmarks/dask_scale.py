"""How fits scale on a Dask cluster: what is counted beside the model, one worker against two, a prediction.

``python -m benchmarks.dask_scale measure [counted] [scaling] [scheduler]`` counts and times on this machine
(all, if nothing is named), and keeps what it finds in docs/scale.json; ``python -m benchmarks.dask_scale``
makes the tables of docs/scale.md from that.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from math import ceil, log, log2
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from highrelief._dask.table import Partition, block_sizes

from . import dask_costs as costs
from .dask_costs import FAN_IN, Bytes, Problem
from .machine import environment
from .tables import between_marks

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT, PAGE = DOCS / "scale.json", DOCS / "scale.md"
N_ROUNDS = 3
N_EMPTY_TASKS = 20_000

# What is predicted, and what is assumed.

SAMPLES, FEATURES, WORKERS = 500_000, 800_000, 1000
#: Of a worker, with one thread, and of the machine of the client.
WORKER_MEMORY, CLIENT_MEMORY = 16e9, 64e9
#: Bytes per second into one machine, and out of it: 10 Gbit/s.
BANDWIDTH = 1.25e9
#: Pairs × features per second and thread, from docs/performance.md: ReliefF, 2,350 × 230,000 int8, 2.78 s on
#: two threads; I-RELIEF, 2,000 × 1,000 float32, 10 iterations of 2 passes, 0.928 s on one.
RELIEFF_RATE = 2350**2 / 2 * 230_000 / 2.78 / 2
IRELIEF_RATE = 2000**2 / 2 * 1000 * 20 / 0.928


class Choice(NamedTuple):
    """A way to weigh the features of the table, and what it takes."""

    name: str
    by: Partition
    n_blocks: int
    tasks: int
    between: float
    computing: float
    network: float
    scheduling: float
    worker: float
    client: float

    @property
    def possible(self) -> bool:
        """Whether the machines have the memory."""
        return self.worker <= WORKER_MEMORY and self.client <= CLIENT_MEMORY

    @property
    def seconds(self) -> float:
        """Time in all, if nothing is done while something else is."""
        return self.computing + self.network + self.scheduling

    def repeated(self, times: int, name: str) -> Choice:
        """The same so many times."""
        grown = {
            each: times * getattr(self, each)
            for each in ("tasks", "between", "computing", "network", "scheduling")
        }
        return self._replace(name=name, **grown)

    @property
    def ends_by(self) -> str:
        """What there is too little of first, or what takes longest."""
        if self.client > CLIENT_MEMORY:
            return "memory of the client"
        if self.worker > WORKER_MEMORY:
            return "memory of a worker"
        times = {"network": self.network, "scheduler": self.scheduling, "computing": self.computing}
        return max(times, key=lambda name: times[name])


def choices(tasks_per_second: float = 1000.0) -> list[Choice]:
    """What there is to choose from for 500,000 × 800,000 genotypes on 1,000 workers."""

    def problem(
        by: Partition, n: int, *, itemsize: int = 1, n_anchors: int | None = None, height: int = 0
    ) -> Problem:
        sizes = block_sizes(by, (n, FEATURES), itemsize, ((n,), (FEATURES,)), WORKERS)
        n_blocks = ceil(n / height) if height else len(sizes)
        return Problem(n, FEATURES, itemsize, n_blocks, WORKERS, n_anchors=n_anchors, measures=False)

    def relieff(name: str, by: Partition, of: Problem) -> Choice:
        if by == "columns":
            tasks, sent = costs.relieff_columns_tasks(of), costs.relieff_columns_bytes(of)
        else:
            tasks, sent = costs.relieff_rows_tasks(of), costs.relieff_rows_bytes(of)
        computing = costs.pair_features(of) / RELIEFF_RATE / WORKERS
        told, client = costs.lists_size(of, of.anchors), costs.client_memory(of, by)
        return _choice(name, by, of, tasks, sent, computing, tasks_per_second, told, client)

    sample = problem("columns", 20_000, itemsize=4)
    iteration = costs.irelief_columns_tasks(sample, 1) - costs.irelief_columns_tasks(sample, 0)
    more, less = (costs.irelief_columns_bytes(sample, n) for n in (1, 0))
    of_iteration = Bytes(*(a - b for a, b in zip(more, less, strict=True)))
    few = relieff("20,000 samples at random, by columns", "columns", problem("columns", 20_000))
    return [
        relieff("all pairs, by columns", "columns", problem("columns", SAMPLES)),
        relieff("all pairs, by rows", "rows", problem("rows", SAMPLES)),
        relieff(
            "all pairs, by rows, were blocks of 4,096 rows allowed",
            "rows",
            problem("rows", SAMPLES, height=4096),
        ),
        relieff("`n_anchors=1000`, by columns", "columns", problem("columns", SAMPLES, n_anchors=1000)),
        few,
        few.repeated(25, "25 such samples, one after the other"),
        relieff("100,000 samples at random, by columns", "columns", problem("columns", 100_000)),
        _choice(
            "20,000 samples as float32, one iteration of I-RELIEF, by columns",
            "columns",
            sample,
            iteration,
            of_iteration,
            costs.pair_features(sample, 2) / IRELIEF_RATE / WORKERS,
            tasks_per_second,
            costs.coefficients_size(sample),
            costs.irelief_client_memory(sample),
        ),
    ]


def _choice(
    name: str,
    by: Partition,
    of: Problem,
    tasks: Counter[str],
    sent: Bytes,
    computing: float,
    tasks_per_second: float,
    told: float,
    client: float,
) -> Choice:
    """One choice; what goes up a tree, and what everybody is told, takes its way step by step."""
    network = sent.between / WORKERS / BANDWIDTH
    own = of.table / WORKERS
    if by == "columns":
        up = ceil(log(of.n_workers, FAN_IN)) * (FAN_IN - 1) * costs.distances_size(of) + sent.to_client
        network = max(network, (up + ceil(log2(WORKERS)) * told) / BANDWIDTH)
        worker = own + costs.task_memory(of, by)
    else:
        blocks = costs.fetched(of, 2.0 * of.n_pairs) / (WORKERS - 1)
        worker = own + blocks * costs.block_size(of) + costs.task_memory(of, by)
    return Choice(
        name,
        by,
        of.n_blocks,
        tasks.total(),
        sent.between,
        computing,
        network,
        tasks.total() / tasks_per_second,
        worker,
        client,
    )


# Measuring


def measure(what: list[str]) -> None:
    """Measure what is named, or all, and keep it."""
    found = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told to make so many steps
        warnings.filterwarnings("ignore", message="Sending large graph")
        for name, run in (("counted", counts), ("scaling", scaling), ("scheduler", scheduler)):
            if not what or name in what:
                before = os.getloadavg()[0]
                found[name] = {"rows": [], **run()}
                found[name]["where"] = _where(before)
    KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _where(load_before: float) -> str:
    """Machine, time and sources, for the reader."""
    machine = environment()
    return (
        f"{machine['processor']}, {machine['cores']} cores, which others used at the same time (load"
        f" {load_before:.1f} before and {os.getloadavg()[0]:.1f} after, of which these fits are a part);"
        f" {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, sources {machine['commit']}."
    )


def counts() -> dict[str, Any]:
    """What Dask counts beside the model."""
    from .dask_count import each_case

    rows: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        rows.append(row)
        print(row, flush=True)

    each_case(note)
    return {"rows": rows}


def scaling() -> dict[str, Any]:
    """Best times of fits here, on one worker and on two, one after the other."""
    from .dask_count import Case, cluster

    cases = [
        Case("relieff", "columns", 1500, 12_000, 1500),
        Case("irelief", "columns", 1500, 12_000, 1500, n_iterations=3),
        Case("relieff", "rows", 16_000, 50, 2000),
        Case("irelief", "rows", 16_000, 50, 2000, n_iterations=3),
    ]
    with ExitStack() as stack:
        clients = {n: stack.enter_context(cluster(n)) for n in (1, 2)}
        rows = [_times(case, clients) for case in cases]
    return {"rows": rows}


def scheduler() -> dict[str, Any]:
    """Empty tasks per second of CPU time of this process, which holds client and scheduler."""
    import dask
    from dask.delayed import delayed

    from .dask_count import cluster

    task = delayed(int, pure=False)
    with cluster(2):
        dask.compute(*[task() for _ in range(100)])
        start = time.process_time()
        dask.compute(*[task() for _ in range(N_EMPTY_TASKS)])
        busy = time.process_time() - start
    print(f"{busy / N_EMPTY_TASKS:.2g} s of CPU time per task", flush=True)
    return {"tasks per second": N_EMPTY_TASKS / busy}


def _times(case: Any, clients: dict[int, Any]) -> dict[str, Any]:
    """Best wall times of a fit here, on one worker, and on two, and CPU times of the busiest process."""
    from .dask_count import fit, laid_out

    X, y = case.table()
    here, tables = case.estimator().set_params(n_jobs=1), {}
    here.fit(X, y)  # compile
    for n, client in clients.items():
        with client.as_current():
            tables[n] = laid_out(case, X)
            fit(case, tables[n], y)
    walls: dict[str, list[float]] = {"here": [], "one": [], "two": []}
    busiest: dict[str, list[float]] = {"here": [], "one": [], "two": []}
    for _ in range(N_ROUNDS):
        start = time.process_time()
        walls["here"].append(_seconds(lambda: here.fit(X, y)))
        busiest["here"].append(time.process_time() - start)
        for n, name in ((1, "one"), (2, "two")):
            with clients[n].as_current():
                before = clients[n].run(time.process_time)
                walls[name].append(_seconds(partial(fit, case, tables[n], y)))
                after = clients[n].run(time.process_time)
            busiest[name].append(max(after[worker] - before[worker] for worker in before))
    row: dict[str, Any] = {"case": case.label}
    row |= {name: min(each) for name, each in walls.items()}
    row |= {f"CPU {name}": min(each) for name, each in busiest.items()}
    print(row, flush=True)
    return row


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


# The page


def counted_lines(found: dict[str, Any]) -> list[str]:
    """A table: the model beside what Dask counted."""
    lines = [
        "| fit | workers | tasks: model | counted | MB sent by workers: model | counted |"
        " MB shared by the client: model | counted |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found["counted"]["rows"]:
        least, most = (f"{row[f'{name} of the model'] / 1e6:.3g}" for name in ("least", "most"))
        cells = [
            row["case"],
            str(row["workers"]),
            f"{row['tasks of the model']:,}",
            f"{row['tasks']:,}",
            least if least == most else f"{least} to {most}",
            f"{row['sent'] / 1e6:.3g}",
            f"{row['shared by the model'] / 1e6:.2g}",
            f"{row['shared'] / 1e6:.2g}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    rows = found["counted"]["rows"]
    same = sum(row["same tasks"] for row in rows)
    return [*lines, "", f"In {same} of {len(rows)} fits the tasks are the same, name by name."]


def scaling_lines(found: dict[str, Any]) -> list[str]:
    """A table: one worker against two."""
    lines = [
        f"{found['scaling']['where']} Best of {N_ROUNDS}, one after the other.",
        "",
        "| fit | in this process, 1 thread, s | 1 worker, s | 2 workers, s | 1 worker over 2 |"
        " CPU time here, s | of the 1 worker, s | of the busier of 2, s | 1 worker over the busier of 2 |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return lines + [
        f"| {row['case']} | {row['here']:.2f} | {row['one']:.2f} | {row['two']:.2f} |"
        f" {row['one'] / row['two']:.2f} | {row['CPU here']:.2f} | {row['CPU one']:.2f} |"
        f" {row['CPU two']:.2f} | {row['CPU one'] / row['CPU two']:.2f} |"
        for row in found["scaling"]["rows"]
    ]


def prediction_lines(found: dict[str, Any]) -> list[str]:
    """A table: what there is to choose from, and what ends each."""
    rate = found["scheduler"]["tasks per second"]
    machines = (
        f"{SAMPLES:,} x {FEATURES:,} int8 ({SAMPLES * FEATURES / 1e9:.0f} GB) on {WORKERS:,} workers of one"
        f" thread and {WORKER_MEMORY / 1e9:.0f} GB; {CLIENT_MEMORY / 1e9:.0f} GB at the client;"
        f" {8 * BANDWIDTH / 1e9:.0f} Gbit/s; {rate:,.0f} tasks per second, which is what client and scheduler"
        f" manage of {N_EMPTY_TASKS:,} empty ones in a second of CPU time; {RELIEFF_RATE / 1e9:.0f} billion"
        f" pairs of samples times features per second and thread for ReliefF and {IRELIEF_RATE / 1e9:.0f} for"
        " I-RELIEF ([measured](performance.md))."
    )
    lines = [
        machines,
        "",
        "| what | blocks | tasks | sent between workers | computing | network | scheduler | all three |"
        " memory of a worker |"
        " of the client | what ends it |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for choice in choices(rate):
        ends = choice.ends_by if choice.possible else f"**{choice.ends_by}**"
        lines.append(
            f"| {choice.name} | {choice.n_blocks:,} | {choice.tasks:,} | {_size(choice.between)} |"
            f" {_time(choice.computing)} | {_time(choice.network)} | {_time(choice.scheduling)} |"
            f" {_time(choice.seconds)} | {_size(choice.worker)} | {_size(choice.client)} | {ends} |"
        )
    return lines


def _size(n_bytes: float) -> str:
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes / 1e6:.3g} MB"


def _time(seconds: float) -> str:
    if seconds >= 7200.0:
        return f"{seconds / 3600.0:.3g} h"
    return f"{seconds / 60.0:.3g} min" if seconds >= 120.0 else f"{seconds:.3g} s"


def write_page() -> None:
    """Make the tables of the page from what was measured."""
    found, text = json.loads(KEPT.read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    for name, lines in (
        ("counted", counted_lines(found)),
        ("scaling", scaling_lines(found)),
        ("prediction", prediction_lines(found)),
    ):
        text = between_marks(text, name, lines)
    PAGE.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Measure, or write the page."""
    if arguments[:1] == ["measure"]:
        measure(arguments[1:])
    else:
        write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
