"""ReliefF of this package and of everyone else."""

from __future__ import annotations

from .. import peers
from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "ReliefF, k = 10, two classes, one thread, warm"
SHAPES = (
    Shape(500, 1000),
    Shape(1000, 1000),
    Shape(2000, 1000),
    Shape(100, 10_000),
    Shape(2000, 5000),
)
GENOTYPES = Shape(1600, 1000, "genotypes")
RIVALS = ("fast_select", "skrebate", "skfeature", "orange", "weka")
SETTINGS = {"n_neighbors": 10}
DISCRETE = "fast-select as it comes takes genotypes for discrete: another distance, another answer."


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float32"
    for shape in SHAPES[:2] if quick else SHAPES:
        entrants = [_ours("float64"), _ours("float32"), *_rivals()]
        arena.race(part, shape.label, shape, entrants, reference=0)
    entrants = [_ours("float64"), _ours("float32"), _ours("int8"), *_rivals(), _discrete()]
    arena.race(part, GENOTYPES.label, GENOTYPES, entrants, reference=0)
    _hold_against_targets(part)


def _ours(dtype: str) -> Entrant:
    return Entrant("highrelief", "relieff", dtype, SETTINGS)


def _rivals() -> list[Entrant]:
    return [Entrant(name, "relieff", peers.load(name).DTYPES[0], SETTINGS) for name in RIVALS]


def _discrete() -> Entrant:
    return Entrant("fast_select", "relieff_discrete", "float32", SETTINGS, suffix="discrete", note=DISCRETE)


def _hold_against_targets(part: Part) -> None:
    single, double = "highrelief float32", "highrelief float64"
    fast_select, skrebate = "fast-select float32", "skrebate float64"
    for size, wanted in (("1000 x 1000", 8.0), ("2000 x 1000", 10.0), ("100 x 10000", 4.0)):
        name = f"ReliefF float32, {size}: times as fast as fast-select"
        part.aim(name, "at least", wanted, part.ratio(size, fast_select, single))
    name = "ReliefF float64, 2000 x 1000: times as fast as fast-select"
    part.aim(name, "at least", 4.5, part.ratio("2000 x 1000", fast_select, double))
    for shape in (*SHAPES, GENOTYPES):
        name = f"ReliefF float32, {shape.label}: times as fast as skrebate"
        part.aim(name, "at least", 500.0, part.ratio(shape.label, skrebate, single))
    for contender, words in (
        ("fast-select discrete float32", "fast-select as it comes (discrete)"),
        (fast_select, "fast-select told that they are numbers"),
    ):
        name = f"ReliefF int8, {GENOTYPES.label}: times as fast as {words}"
        part.aim(name, "at least", 60.0, part.ratio(GENOTYPES.label, contender, "highrelief int8"))
