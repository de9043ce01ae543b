"""What missing values cost."""

from __future__ import annotations

from typing import Any

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "5 % of the values missing, one thread, warm"
SQUARE, WIDE, WIDER, TALL = Shape(1000, 1000), Shape(200, 5000), Shape(100, 10_000), Shape(3000, 300)
DTYPES = ("float32", "float64")
SHARE = {"share": 0.05}
#: Name, how it is called, with what, and on which tables.
METHODS: tuple[tuple[str, str, dict[str, Any], tuple[Shape, ...]], ...] = (
    ("ReliefF", "relieff", {"n_neighbors": 10}, (SQUARE, TALL, WIDE, WIDER)),
    ("MultiSURF", "surf", {"method": "MultiSURF"}, (SQUARE, TALL, WIDE)),
    ("I-RELIEF, ten iterations", "irelief", {"sigma": 5.0, "max_iter": 10}, (SQUARE, TALL, WIDE)),
)
#: How many times as long a table with missing values may take.
WANTED = 2.5
ANOTHER_TABLE = "A table with missing values has other weights."


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float32"
    for name, call, settings, shapes in METHODS:
        for shape in shapes[:1] if quick else shapes:
            _race(arena, part, f"{name}, {shape.label}", shape, call, settings)


def _race(arena: Arena, part: Part, case: str, shape: Shape, call: str, settings: dict[str, Any]) -> None:
    entrants = []
    for dtype in reversed(DTYPES):
        entrants.append(Entrant("highrelief", call, dtype, settings))
        entrants.append(
            Entrant(
                "highrelief",
                f"{call}_incomplete",
                dtype,
                settings | SHARE,
                suffix="missing",
                note=ANOTHER_TABLE,
            )
        )
    arena.race(part, case, shape, entrants, reference=0)
    for dtype in DTYPES:
        times = part.ratio(case, f"highrelief missing {dtype}", f"highrelief {dtype}")
        part.aim(f"{case}, {dtype}: time with 5 % missing, times that without", "at most", WANTED, times)
