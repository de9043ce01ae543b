"""What missing values cost."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "5 % of the values missing, ReliefF with k = 10, one thread, warm"
SHAPES = (Shape(1000, 1000), Shape(200, 5000), Shape(100, 10_000), Shape(3000, 300))
DTYPES = ("float32", "float64")
SETTINGS = {"n_neighbors": 10}
INCOMPLETE = {**SETTINGS, "share": 0.05}
#: How many times as long a table with missing values may take.
WANTED = 2.5
ANOTHER_TABLE = "A table with missing values has other weights."


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float32"
    for shape in SHAPES[:2] if quick else SHAPES:
        entrants = []
        for dtype in reversed(DTYPES):
            entrants.append(Entrant("highrelief", "relieff", dtype, SETTINGS))
            entrants.append(
                Entrant(
                    "highrelief",
                    "relieff_incomplete",
                    dtype,
                    INCOMPLETE,
                    suffix="missing",
                    note=ANOTHER_TABLE,
                )
            )
        arena.race(part, shape.label, shape, entrants, reference=0)
        for dtype in DTYPES:
            times = part.ratio(shape.label, f"highrelief missing {dtype}", f"highrelief {dtype}")
            name = f"ReliefF {dtype}, {shape.label}: time with 5 % missing, times that without"
            part.aim(name, "at most", WANTED, times)
