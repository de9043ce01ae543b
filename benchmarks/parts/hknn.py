"""HKNN: distances of new samples from local hyperplanes, against NumPy and scikit-learn's k-NN."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "HKNN, half of the samples fitted, the others asked for, k = 7, one thread, warm"
WIDE, TALL, SMALL = Shape(2000, 5000), Shape(4000, 50), Shape(200, 300)
SETTINGS = {"n_neighbors": 7, "alpha": 1.0}
DTYPES = ("float64", "float32")


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief float64"
    for shape in (SMALL,) if quick else (WIDE, TALL):
        entrants = [Entrant("highrelief", "hknn", dtype, SETTINGS) for dtype in DTYPES]
        entrants += [
            Entrant("numpy_hknn", method, "float64", SETTINGS, suffix=suffix)
            for method, suffix in (("per_query", "per query"), ("with_products", "with products"))
        ]
        entrants += [Entrant("sklearn_knn", "hknn", dtype, SETTINGS) for dtype in DTYPES]
        arena.race(part, shape.label, shape, entrants, reference=0)
    if quick:
        return
    for dtype in DTYPES:
        name = f"HKNN {dtype}, {WIDE.label}: time over that of sklearn's k-NN"
        ratio = part.ratio(WIDE.label, f"highrelief {dtype}", f"sklearn k-NN {dtype}")
        part.aim(name, "at most", 3.0, ratio)
    name = f"HKNN float64, {WIDE.label}: times as fast as NumPy per query"
    part.aim(name, "at least", 10.0, part.ratio(WIDE.label, "NumPy per query float64", "highrelief float64"))
