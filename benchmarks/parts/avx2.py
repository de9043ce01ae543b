"""The distance pass compiled for a machine without AVX-512, against the limit kernel for the same."""

from __future__ import annotations

from ..data import Shape
from ..machine import haswell_variables
from ..race import Arena, Entrant
from ..results import Part

TITLE = "AVX2: everything compiled for Haswell"
DTYPES = ("float32", "float64")
SHAPE = Shape(2000, 1000, "unit")


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "limit kernel haswell float32"
    try:
        variables = haswell_variables()
    except LookupError as error:
        part.notes.append(f"Not measured: {error}.")
        return
    shape = SHAPE._replace(n_samples=1000) if quick else SHAPE
    target = {"target": "haswell"}
    entrants = []
    for dtype in reversed(DTYPES):
        entrants.append(Entrant("highrelief", "distances", dtype, suffix="haswell", environment=variables))
        entrants.append(Entrant("limit", "distances", dtype, target, suffix="haswell"))
    case = f"distances {shape.label}"
    arena.race(part, case, shape, entrants, reference=0, most_rounds=25, memory=False)
    for dtype in DTYPES:
        share = part.ratio(case, f"limit kernel haswell {dtype}", f"highrelief haswell {dtype}")
        part.aim(f"AVX2, {case} {dtype}: share of the limit kernel's rate", "at least", 0.7, share, unit="")
