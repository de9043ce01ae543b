"""What more threads bring, and what they cost."""

from __future__ import annotations

import hashlib
import os
import threading
import time

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Figure, Part

TITLE = "Threads"
CASES = (
    ("ReliefF", "relieff", Shape(2000, 5000), {"n_neighbors": 10}),
    ("I-RELIEF, 10 iterations", "irelief", Shape(2000, 1000), {"sigma": 0.5, "max_iter": 10}),
)

#: Cores that two independent threads get on a machine that has nothing else to do.
QUIET = 1.9
_BUFFER = bytes(2**20)


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief 1 thread float32"
    if (os.cpu_count() or 1) < 2:
        part.notes.append("Not measured: one core.")
        return
    for name, method, wanted, settings in CASES:
        shape = wanted._replace(n_samples=1000, n_features=1000) if quick else wanted
        entrants = [
            Entrant(
                "highrelief",
                method,
                "float32",
                settings | {"n_jobs": n},
                suffix=f"{n} thread" + "s" * (n > 1),
                threads=n,
            )
            for n in _counts()
        ]
        case = f"{name} {shape.label}"
        free = cores_for_two()
        finished = arena.race(part, case, shape, entrants, reference=0, most_rounds=25)
        free = min(free, cores_for_two())
        if len(finished) == len(entrants):
            _evaluate(part, case, *finished[:2], free)
            _write_walls(part, case, finished)


def cores_for_two() -> float:
    """CPU seconds that two threads without anything in common get per second of wall time, at best."""

    def work() -> None:
        for _ in range(400):
            hashlib.sha256(_BUFFER)  # releases the interpreter lock

    best = 0.0
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        best = max(best, (time.process_time() - cpu) / (time.perf_counter() - wall))
    return best


def _counts() -> list[int]:
    """1, 2, 4 … as far as there are cores."""
    cores = os.cpu_count() or 1
    return [2**p for p in range(cores.bit_length()) if 2**p <= cores]


def _evaluate(part: Part, case: str, one: Entrant, two: Entrant, free: float) -> None:
    growth = min(two.cpu) / min(one.cpu)
    part.aim(f"{case}: CPU work of two threads over one", "at most", 1.08, growth)
    # Work that only one core could do at a time: two cores were busy for `cpu` in all, over `wall`. From the
    # round with the least wall time, in which other programs took least.
    wall, cpu = min(zip(two.wall, two.cpu, strict=True))
    by_wall = max(0.0, (2.0 * wall - cpu) / cpu)
    # The main thread does what is not shared out, and waits meanwhile. Other programs do not disturb this
    # figure, but it would be too high if that thread took part in the shared work.
    by_thread = min(two.main) / min(two.cpu)
    for quantity, share in (("from wall and CPU time", by_wall), ("CPU of the main thread", by_thread)):
        part.figures.append(Figure(case, two.label, f"serial share, {quantity}", "", share))
    if free >= QUIET:
        part.aim(f"{case}: serial share, from wall and CPU time", "at most", 0.05, by_wall, unit="")
    else:
        part.notes.append(
            f"{case}: other programs were running (two independent threads got {free:.2f} cores): wall"
            " times say little; the serial share is that of the main thread."
        )
        part.aim(f"{case}: serial share, CPU of the main thread", "at most", 0.05, by_thread, unit="")


def _write_walls(part: Part, case: str, entrants: list[Entrant]) -> None:
    part.figures.append(Figure(case, entrants[0].label, "wall time", "s", min(entrants[0].wall)))
    for each in entrants[1:]:
        ratio = min(entrants[0].wall) / min(each.wall)
        part.figures.append(Figure(case, each.label, "wall time of one thread over this", "times", ratio))
