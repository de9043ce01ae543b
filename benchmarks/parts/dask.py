"""What Dask costs over the same fit in one process: one worker process with two threads, two threads here."""

from __future__ import annotations

from typing import Any

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Figure, Part

TITLE = "A Dask cluster of one worker process with two threads, wall time"
WIDE, TALL = Shape(2000, 20_000), Shape(20_000, 50)
CASES: tuple[tuple[str, str, Shape, dict[str, Any]], ...] = (
    ("ReliefF", "relieff", WIDE, {"n_neighbors": 10}),
    ("I-RELIEF, three iterations", "irelief", WIDE, {"sigma": 5.0, "max_iter": 3}),
    ("ReliefF", "relieff", TALL, {"n_neighbors": 10}),
    ("I-RELIEF, three iterations", "irelief", TALL, {"sigma": 5.0, "max_iter": 3}),
)
#: How many times as long as here a fit may take; of the wide table, which is what the target is about.
WANTED = {WIDE: 1.25}


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float64"
    for name, method, wanted, settings in CASES:
        shape = wanted.smaller() if quick else wanted
        case = f"{name}, {shape.label}"
        both = [
            Entrant(peer, method, "float64", settings | {"n_jobs": 2}, threads=2)
            for peer in ("highrelief", "dask_cluster")
        ]
        finished = arena.race(part, case, shape, both, reference=0)
        if len(finished) < 2:
            continue
        here, there = finished
        ratio = min(there.wall) / min(here.wall)
        for each in finished:
            part.figures.append(Figure(case, each.label, "wall time", "s", min(each.wall)))
        part.figures.append(Figure(case, there.label, "wall time over that in one process", "times", ratio))
        if shape in WANTED:
            part.aim(f"{case}: wall time on Dask over that in one process", "at most", WANTED[shape], ratio)
