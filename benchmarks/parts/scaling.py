"""How time grows with the number of samples and of features."""

from __future__ import annotations

import math

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Figure, Part

TITLE = "Growth with samples and features, float32, one thread"
SAMPLES = (250, 500, 1000, 2000, 4000)
FEATURES = (250, 1000, 4000, 16_000)
FIXED = 1000


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief ReliefF float32"
    by_samples = [Shape(n, FIXED) for n in (SAMPLES[:3] if quick else SAMPLES)]
    by_features = [Shape(FIXED, d) for d in (FEATURES[:3] if quick else FEATURES)]
    for shape in dict.fromkeys(by_samples + by_features):
        arena.race(part, shape.label, shape, _entrants(), most_rounds=8)
    for shapes, words, size in ((by_samples, "samples", 0), (by_features, "features", 1)):
        for each in _entrants():
            _write_exponent(part, each.label, shapes[-2:], words, size)


def _entrants() -> list[Entrant]:
    return [
        Entrant("highrelief", "relieff", "float32", {"n_neighbors": 10}, suffix="ReliefF"),
        Entrant(
            "highrelief", "irelief", "float32", {"sigma": 0.5, "max_iter": 3}, suffix="I-RELIEF, 3 steps"
        ),
    ]


def _write_exponent(part: Part, label: str, shapes: list[Shape], words: str, size: int) -> None:
    """Slope between the two largest, on logarithmic scales: 2 for quadratic, 1 for linear growth."""
    smaller, larger = (part.value(shape.label, label) for shape in shapes)
    if smaller is not None and larger is not None:
        exponent = math.log(larger / smaller) / math.log(shapes[1][size] / shapes[0][size])
        part.figures.append(Figure(f"in the number of {words}", label, "exponent of growth", "", exponent))
