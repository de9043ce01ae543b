"""The table that a user of scikit-rebate reported: 2,350 samples, 230,000 features, 32 hours on 64 cores."""

from __future__ import annotations

import os

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part
from .memory import aim_at_memory

TITLE = "2,350 x 230,000, ReliefF, two threads"
SHAPE = Shape(2350, 230_000, "cheap")


def run(arena: Arena, part: Part, quick: bool) -> None:
    shape = SHAPE._replace(n_features=10_000) if quick else SHAPE
    threads = min(2, os.cpu_count() or 1)
    if threads < 2:
        part.notes.append("One core: measured on one thread.")
    settings = {"n_neighbors": 10, "n_jobs": threads}
    for dtype, wanted in (("float32", 60.0), ("int8", 10.0)):
        arena.dismiss()  # one table at a time
        entrant = Entrant("highrelief", "relieff", dtype, settings, threads=threads, compared=False)
        # Once: more would only find a quieter minute.
        if arena.race(part, shape.label, shape, [entrant], most_rounds=1) and not quick:
            part.aim(f"ReliefF {dtype}, {shape.label}: wall time", "at most", wanted, min(entrant.wall), "s")
            aim_at_memory(part, f"ReliefF {shape.label}", entrant, shape)
    arena.dismiss()
