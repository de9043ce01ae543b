"""Simba and G-flip against NumPy and SciPy."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "Simba (one run) and G-flip, in the given order, one thread, warm"
SIMBA, WIDE, GFLIP, SMALL = Shape(300, 500), Shape(100, 10_000), Shape(300, 500), Shape(60, 40)


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float64"
    for shape in (SMALL,) if quick else (SIMBA, WIDE):
        entrants = [
            Entrant("highrelief", "simba", "float64", {}),
            Entrant("highrelief", "simba", "float32", {}),
            Entrant("numpy_simba", "differences", "float64", {}, suffix="differences"),
            Entrant("numpy_simba", "products", "float64", {}, suffix="products"),
        ]
        arena.race(part, f"Simba {shape.label}", shape, entrants, reference=0)
    shape = SMALL if quick else GFLIP
    case = f"G-flip {shape.label}"
    naive = Entrant("numpy_simba", "gflip", "float64", {}, suffix="recomputing")
    arena.race(part, case, shape, [Entrant("highrelief", "gflip", "float64", {}), naive], reference=0)
    if not quick:
        ratio = part.ratio(case, naive.label, "highrelief float64")
        part.aim(f"{case}: times as fast as recomputing in NumPy and SciPy", "at least", 20.0, ratio)
