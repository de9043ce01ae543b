"""Tables of which few values are not 0: given with their zeros, and without."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "Sparse tables, against the same tables with all zeros, one thread, warm"
#: Of 50 values one is not 0; and counts as of single cells, where it is one of 20.
WORDS, CELLS, SMALL = Shape(2000, 20_000, "words"), Shape(5000, 30_000, "cells"), Shape(400, 4000, "words")
K = {"n_neighbors": 10}
STEPS = {"sigma": 5.0, "max_iter": 3}
DTYPES = ("float64", "float32")


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief sparse float32"
    if quick:
        _race(arena, part, SMALL, "relieff", K)
        return
    _race(arena, part, WORDS, "relieff", K)
    _race(arena, part, WORDS, "irelief", STEPS, case=f"I-RELIEF, three iterations, {WORDS.label}")
    _race(arena, part, CELLS, "relieff", K, dtypes=("float32",))
    for dtype in DTYPES:
        name = f"ReliefF {dtype}, {WORDS.label}: times as fast as with all zeros"
        wanted = part.ratio(WORDS.label, f"highrelief {dtype}", f"highrelief sparse {dtype}")
        part.aim(name, "at least", 5.0, wanted)


def _race(
    arena: Arena,
    part: Part,
    shape: Shape,
    method: str,
    settings: dict[str, float],
    case: str | None = None,
    dtypes: tuple[str, ...] = DTYPES,
) -> None:
    entrants = [
        Entrant("highrelief", name, dtype, settings, suffix=suffix)
        for dtype in dtypes
        for name, suffix in ((method, ""), (f"{method}_sparse", "sparse"))
    ]
    arena.race(part, case or shape.label, shape, entrants, reference=0)
