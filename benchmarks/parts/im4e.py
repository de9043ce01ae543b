"""I-M4E against NumPy and SciPy."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "I-M4E with costs and entropies, sigma = 0.05, ten iterations, one thread, warm"
WIDE, SMALL = Shape(200, 10_000), Shape(200, 500)
DTYPES = ("float32", "float64")


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float64"
    shape = SMALL if quick else WIDE
    settings = {"sigma": 0.05, "max_iter": 10}
    ours = [Entrant("highrelief", "im4e", dtype, settings) for dtype in reversed(DTYPES)]
    numpy = [
        Entrant("numpy_im4e", method, dtype, settings, suffix=suffix)
        for method, suffix in (("per_anchor", "per anchor"), ("with_pdist", "and pdist"))
        for dtype in DTYPES
    ]
    arena.race(part, shape.label, shape, [*ours, *numpy], reference=0)
    if quick:
        return
    for dtype in DTYPES:
        for suffix in ("per anchor", "and pdist"):
            name = f"I-M4E {dtype}, {shape.label}: times as fast as NumPy {suffix} {dtype}"
            ratio = part.ratio(shape.label, f"NumPy {suffix} {dtype}", f"highrelief {dtype}")
            part.aim(name, "at least", 20.0, ratio)
