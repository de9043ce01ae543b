"""How near the distance pass and a whole ReliefF come to the limit kernel."""

from __future__ import annotations

from .. import peers
from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "All Manhattan distances, and a whole ReliefF, against the limit kernel"
DTYPES = ("float32", "float64")
SHAPES = (Shape(1000, 1000, "unit"), Shape(2000, 1000, "unit"), Shape(100, 10_000, "unit"))
WHOLE = Shape(2000, 5000)
CONTENDERS = ("highrelief", "limit", "sklearn_distances")


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "limit kernel float32"
    for shape in SHAPES[:1] if quick else SHAPES:
        entrants = [
            Entrant(peer, "distances", dtype, suffix="distance pass" if peer == "highrelief" else "")
            for peer in CONTENDERS
            for dtype in reversed(DTYPES)
        ]
        entrants += [Entrant("highrelief", "grid_distances", d, suffix="ReliefF's pass") for d in DTYPES]
        case = f"distances {shape.label}"
        arena.race(part, case, shape, entrants, reference=0, most_rounds=25, memory=False)
        _aim_at_passes(part, case)
    shape = SHAPES[0]._replace(kind="continuous") if quick else WHOLE
    _race_whole(arena, part, shape)


def _aim_at_passes(part: Part, case: str) -> None:
    for dtype in DTYPES:
        share = part.ratio(case, f"limit kernel {dtype}", f"highrelief distance pass {dtype}")
        part.aim(f"{case} {dtype}: share of the limit kernel's rate", "at least", 0.9, share, unit="")


def _race_whole(arena: Arena, part: Part, shape: Shape) -> None:
    settings = {"n_neighbors": 10}
    ours = [Entrant("highrelief", "relieff", dtype, settings, suffix="ReliefF") for dtype in DTYPES]
    limit = [Entrant("limit", "distances", dtype) for dtype in DTYPES]
    case = f"whole fit {shape.label}"
    arena.race(part, case, shape, [*ours, *limit])
    label = peers.load("limit").NAME
    for dtype in DTYPES:
        share = part.ratio(case, f"{label} {dtype}", f"highrelief ReliefF {dtype}")
        part.aim(
            f"ReliefF {dtype}, {shape.label}: share of the limit's rate", "at least", 0.75, share, unit=""
        )
