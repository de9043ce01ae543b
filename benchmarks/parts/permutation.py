"""Weights under permuted labels, all at once and by fits of the same weighter, one after the other."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "1,000 permutations of the labels by ReliefF, one thread"
SHAPES = (Shape(500, 5000), Shape(100, 10_000), Shape(1000, 1000))
N_PERMUTATIONS = 1000
#: Fits that are run; their time stands for that of all.
N_FITS = 20
#: How many times as long as all at once the fits take.
WANTED = {SHAPES[0]: 15.0}


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief at once float64"
    for shape in SHAPES[:1] if quick else SHAPES:
        case = f"{N_PERMUTATIONS:,} permutations {shape.label}"
        entrants = [
            Entrant(
                "highrelief",
                "permutations",
                "float64",
                {"n_permutations": N_PERMUTATIONS},
                suffix="at once",
            ),
            Entrant(
                "highrelief",
                "permuted_fits",
                "float64",
                {"n_permutations": N_FITS},
                suffix="fits",
                times=N_PERMUTATIONS / N_FITS,
                note=f"{N_FITS} fits, times {N_PERMUTATIONS // N_FITS}.",
            ),
        ]
        arena.race(part, case, shape, entrants, reference=0, most_rounds=5)
        if shape in WANTED:
            times = part.ratio(case, "highrelief fits float64", "highrelief at once float64")
            part.aim(f"{case}: time of as many fits, times that at once", "at least", WANTED[shape], times)
