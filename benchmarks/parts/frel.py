"""FREL: the minimizer against NumPy and SciPy, and both solvers on a microarray's shape."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "FREL, one thread, warm"
WIDE, MICROARRAY, SMALL = Shape(200, 10_000), Shape(72, 7129), Shape(100, 1000)
#: λ such that the penalty neither rules nor is idle: a few dozen features with L1. What L-BFGS-B takes
#: depends on it, most of all with the square loss.
CASES = (
    ("log", "l2", 0.1),
    ("log", "l2", 1e-3),
    ("log", "l1", 0.005),
    ("square", "l2", 1.0),
    ("square", "l2", 1e-3),
    ("hinge", "l2", 1.0),
)


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief exact float64"
    shape = SMALL if quick else WIDE
    for loss, penalty, alpha in CASES:
        settings = {"loss": loss, "penalty": penalty, "alpha": alpha}
        case = f"{shape.label}, {loss} + {penalty}, {alpha:g}"
        ours = Entrant("highrelief", "frel", "float64", settings | {"solver": "exact"}, suffix="exact")
        arena.race(part, case, shape, [ours, Entrant("numpy_frel", "frel", "float64", settings)], reference=0)
        if not quick:
            name = f"FREL exact, {case}: times as fast as NumPy and SciPy"
            part.aim(name, "at least", 20.0, part.ratio(case, "NumPy and SciPy float64", ours.label))
    if quick:
        return
    settings = {"loss": "log", "penalty": "l2", "alpha": 1.0}
    both = [
        Entrant("highrelief", "frel", "float64", settings | {"solver": solver}, suffix=solver)
        for solver in ("exact", "sgd")
    ]
    arena.race(part, f"{MICROARRAY.label}, log + l2, 1", MICROARRAY, both, reference=None)
