"""The SURF family of this package and of everyone else."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "SURF, SURF*, MultiSURF, MultiSURF*, two classes, one thread, warm"
METHODS = ("MultiSURF", "MultiSURFStar", "SURF", "SURFStar")
SHAPE, SMALL, WIDE = Shape(1000, 1000), Shape(200, 200), Shape(100, 10_000)
OTHER_MEAN = "fast-select's SURF leaves the distance of a sample to itself out of the mean: another radius."


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float32"
    for shape in (SMALL,) if quick else (SMALL, SHAPE, WIDE):
        for method in METHODS:
            arena.race(part, _case(method, shape), shape, _entrants(method, shape), reference=0)
    if not quick:
        _hold_against_targets(part)


def _case(method: str, shape: Shape) -> str:
    return f"{method}, {shape.label}"


def _entrants(method: str, shape: Shape) -> list[Entrant]:
    settings = {"method": method}
    # In float32 a distance within a millionth of the radius is tied with it: one pair of thousands.
    entrants = [
        Entrant("highrelief", "surf", dtype, settings, compared=dtype == "float64")
        for dtype in ("float64", "float32")
    ]
    same = method.startswith("Multi")
    note = "" if same else OTHER_MEAN
    entrants.append(Entrant("fast_select", "surf", "float32", settings, compared=same, note=note))
    # Seconds for the small table, many minutes for the others.
    if shape is SMALL:
        entrants.append(Entrant("skrebate", "surf", "float64", settings))
    return entrants


def _hold_against_targets(part: Part) -> None:
    """Fast-select works in float32, whatever it is given."""
    for method in METHODS:
        for dtype in ("float32", "float64"):
            name = f"{method} {dtype}, {SHAPE.label}: times as fast as fast-select"
            ratio = part.ratio(_case(method, SHAPE), "fast-select float32", f"highrelief {dtype}")
            part.aim(name, "at least", 5.0, ratio)
