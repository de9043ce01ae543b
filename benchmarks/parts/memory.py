"""Peak memory above the caller's table."""

from __future__ import annotations

import numpy as np

from ..data import Shape
from ..memory import MIB
from ..race import Arena, Entrant
from ..results import Part

TITLE = "Peak memory above the table, one thread"
K = {"n_neighbors": 10}
STEPS = {"sigma": 0.5, "max_iter": 2}
#: Tall, balanced, wide, and genotypes that must not be blown up.
CASES = (
    ("Relief", "relief", Shape(2000, 5000), "float32", {}),
    ("ReliefF", "relieff", Shape(20_000, 20), "float32", K),
    ("ReliefF", "relieff", Shape(2000, 5000), "float32", K),
    ("ReliefF", "relieff", Shape(2000, 5000), "float64", K),
    ("ReliefF", "relieff", Shape(500, 100_000, "cheap"), "float32", K),
    ("ReliefF", "relieff", Shape(500, 200_000, "cheap"), "int8", K),
    ("ReliefF", "relieff", Shape(2000, 10_000, "cheap"), "int8", K),
    ("I-RELIEF stored", "irelief", Shape(2000, 5000), "float32", STEPS),
    ("I-RELIEF recomputed", "irelief_recomputed", Shape(2000, 5000), "float32", STEPS),
    ("I-RELIEF recomputed", "irelief_recomputed", Shape(10_000, 100), "float64", STEPS),
    ("I-RELIEF stored", "irelief", Shape(500, 100_000, "cheap"), "float32", STEPS),
    ("online I-RELIEF", "online_irelief", Shape(1000, 5000), "float32", {"sigma": 0.5}),
    ("FisherScore", "fisher_score", Shape(2000, 5000), "float32", {}),
)
SPARE = 200e6 / MIB


def run(arena: Arena, part: Part, quick: bool) -> None:
    for name, method, shape, dtype, settings in CASES[:3] if quick else CASES:
        case = f"{name} {shape.label}"
        entrant = Entrant("highrelief", method, dtype, settings, compared=False)
        # Twice: the first fit may compile.
        arena.race(part, case, shape, [entrant], most_rounds=2)
        aim_at_memory(part, case, entrant, shape)


def aim_at_memory(part: Part, case: str, entrant: Entrant, shape: Shape) -> None:
    """One working copy in the table's own precision and 200 MB; a fifth of it where d ≥ 10 n."""
    table = shape.n_samples * shape.n_features * np.dtype(entrant.dtype).itemsize / MIB
    share = 0.2 if shape.n_features >= 10 * shape.n_samples else 1.0
    name = f"{case} {entrant.dtype}: peak above the table of {table:.0f} MiB"
    part.aim(name, "at most", share * table + SPARE, entrant.memory, unit="MiB")
