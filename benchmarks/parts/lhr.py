"""LHR against NumPy and SciPy with quadprog."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "LHR, k = 7, lambda = 0.001, three iterations, one thread, warm"
WIDE, SMALL = Shape(400, 5000), Shape(100, 500)
FORMS = (("per_anchor", "per sample"), ("with_pdist", "and pdist"))


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float64"
    shape = SMALL if quick else WIDE
    settings = {"n_neighbors": 7, "alpha": 1e-3, "max_iter": 3}
    # In float32 distances that differ by a millionth are tied, and a tie moves all later neighbors.
    ours = [
        Entrant("highrelief", "lhr", dtype, settings, compared=dtype == "float64")
        for dtype in ("float64", "float32")
    ]
    rivals = [Entrant("quadprog_lhr", method, "float64", settings, suffix=name) for method, name in FORMS]
    arena.race(part, shape.label, shape, [*ours, *rivals], reference=0)
    if quick:
        return
    for _, suffix in FORMS:
        name = f"LHR, {shape.label}: times as fast as NumPy and quadprog {suffix}"
        ratio = part.ratio(shape.label, f"NumPy and quadprog {suffix} float64", "highrelief float64")
        part.aim(name, "at least", 20.0, ratio)
