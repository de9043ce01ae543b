"""LOGO: against NumPy and SciPy, and what its later iterations cost."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "LOGO, sigma = 2, lambda = 1, one thread, warm"
CASE = Shape(200, 10_000)
SMALL = Shape(60, 300)
STEPS = 5
#: Later iterations, on tables with few and with many features.
FEW, MANY = Shape(200, 2000), Shape(200, 20_000)
EARLY, LATE = 8, 24


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float64"
    shape = SMALL if quick else CASE
    settings = {"sigma": 2.0, "alpha": 1.0, "max_iter": STEPS}
    entrants = [
        Entrant("highrelief", "logo", "float64", settings),
        Entrant("highrelief", "logo", "float32", settings),
        Entrant("numpy_logo", "logo", "float64", settings),
    ]
    arena.race(part, shape.label, shape, entrants, reference=0)
    if quick:
        return
    name = f"LOGO float64, {CASE.label}: times as fast as NumPy and SciPy"
    part.aim(name, "at least", 20.0, part.ratio(CASE.label, "NumPy and SciPy float64", "highrelief float64"))
    _later_iterations(arena, part)


def _later_iterations(arena: Arena, part: Part) -> None:
    """An iteration that hardly moves must not feel the features that are at 0."""
    for shape in (FEW, MANY):
        entrants = [
            Entrant(
                "highrelief",
                "logo",
                "float64",
                {"sigma": 10.0, "alpha": 2.0, "max_iter": steps},
                suffix=f"{steps} iterations",
                compared=False,
            )
            for steps in (EARLY, LATE)
        ]
        arena.race(part, f"{shape.label}, later iterations", shape, entrants, reference=0)
    few, many = (_seconds_between(part, shape) for shape in (FEW, MANY))
    name = (
        f"LOGO, iterations {EARLY + 1} to {LATE}: time with {MANY.n_features} over {FEW.n_features} features"
    )
    part.aim(name, "at most", 2.0, many / few if few and many else None)


def _seconds_between(part: Part, shape: Shape) -> float | None:
    """What the iterations cost by which the two runs differ."""
    case = f"{shape.label}, later iterations"
    early, late = (part.value(case, f"highrelief {steps} iterations float64") for steps in (EARLY, LATE))
    return None if early is None or late is None else late - early
