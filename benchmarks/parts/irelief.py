"""I-RELIEF: stored and recomputed distances, NumPy, the limit, and another learner of a metric."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "I-RELIEF, sigma = 0.5, ten iterations, one thread, warm"
TALL, WIDE, SMALL = Shape(2000, 1000), Shape(100, 10_000), Shape(500, 100)
DTYPES = ("float32", "float64")
STEPS = 10
ONE_STEP = f"NumPy at {TALL.label}: one iteration measured, times {STEPS}; all cost the same."


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief stored float32"
    if quick:
        _race(arena, part, SMALL, numpy_steps=STEPS)
        return
    _race(arena, part, WIDE, numpy_steps=STEPS)
    _race(arena, part, TALL, numpy_steps=1)
    _race_nca(arena, part)
    _hold_against_targets(part)


def _race(arena: Arena, part: Part, shape: Shape, numpy_steps: int) -> None:
    settings = {"sigma": 0.5, "max_iter": STEPS}
    ours = [
        Entrant("highrelief", method, dtype, settings, suffix=suffix)
        for dtype in reversed(DTYPES)
        for method, suffix in (("irelief", "stored"), ("irelief_recomputed", "recomputed"))
    ]
    some_steps = {"sigma": 0.5, "max_iter": numpy_steps}
    partly = numpy_steps < STEPS
    numpy = [
        Entrant(
            "numpy_irelief",
            method,
            dtype,
            some_steps,
            suffix=suffix,
            times=STEPS / numpy_steps,
            compared=not partly,
            note=ONE_STEP if partly else "",
        )
        for method, suffix in (("irelief", ""), ("irelief_in_place", "in place"))
        for dtype in DTYPES
    ]
    limit = [Entrant("limit", "irelief", dtype, {"max_iter": STEPS}, compared=False) for dtype in DTYPES]
    arena.race(part, shape.label, shape, [*ours, *numpy, *limit], reference=0)


def _race_nca(arena: Arena, part: Part) -> None:
    """As many steps of the gradient as of the fixed point."""
    settings = {"sigma": 0.5, "max_iter": 50}
    ours = [Entrant("highrelief", "irelief", dtype, settings, suffix="stored") for dtype in reversed(DTYPES)]
    nca = Entrant("sklearn_nca", "irelief", "float64", settings)
    arena.race(part, f"{SMALL.label}, 50 iterations", SMALL, [*ours, nca], reference=0)


def _hold_against_targets(part: Part) -> None:
    case = TALL.label
    # The targets come from a NumPy version in float64, NumPy's own precision; the others are as plain to see.
    for dtype, wanted, numpy in (
        ("float32", 100.0, "NumPy per anchor float64"),
        ("float32", 100.0, "NumPy per anchor float32"),
        ("float32", 100.0, "NumPy per anchor in place float32"),
        ("float64", 60.0, "NumPy per anchor float64"),
        ("float64", 60.0, "NumPy per anchor in place float64"),
    ):
        name = f"I-RELIEF {dtype}, {case}: times as fast as {numpy}"
        part.aim(name, "at least", wanted, part.ratio(case, numpy, f"highrelief stored {dtype}"))
    for dtype in DTYPES:
        ours = f"highrelief stored {dtype}"
        name = f"I-RELIEF {dtype}, {case}: time over that of the limit kernel's passes"
        part.aim(name, "at most", 1.0, part.ratio(case, ours, f"limit kernel {dtype}"))
        name = f"I-RELIEF {dtype}, {case}: time with recomputed over stored distances"
        part.aim(name, "at most", 1.5, part.ratio(case, f"highrelief recomputed {dtype}", ours))
