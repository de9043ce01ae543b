"""A width, or a width and a penalty, chosen by five folds: against single fits, and without warm starts."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "Widths chosen by cross-validation, five folds, one thread, warm"
SHAPE, SMALL = Shape(500, 1000), Shape(100, 100)
DTYPE = "float64"
#: Estimator, and number of values that KernelWidthCV tries.
METHODS = (("IRelief", 5), ("IM4E", 5), ("LOGO", 15))


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "single fit"
    shape = SMALL if quick else SHAPE
    for plain, n_values in METHODS:
        case = f"{plain}, {n_values} values, {shape.label}"
        entrants = [
            Entrant("highrelief", "any_of", DTYPE, settings, suffix=suffix, compared=False)
            for suffix, settings in (
                ("single fit", {"name": plain}),
                ("path", {"name": "KernelWidthCV", "inside": plain}),
                ("cold starts", {"name": "KernelWidthCV", "inside": plain, "parameters": {"warm_steps": 0}}),
            )
        ]
        arena.race(part, case, shape, entrants, reference=0)
        single, path = (f"highrelief {each} {DTYPE}" for each in ("single fit", "path"))
        ratio = part.ratio(case, path, single)
        if ratio is not None and not quick:
            part.aim(f"{case}: single fits per value", "at most", 3.0, ratio / n_values)
