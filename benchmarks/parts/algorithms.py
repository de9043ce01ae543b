"""Every algorithm of the package, on every shape, in every precision."""

from __future__ import annotations

from ..race import Arena, Entrant
from ..results import Part
from .relieff import GENOTYPES, SHAPES

TITLE = "Every algorithm, one thread, warm"
IRELIEF = {"sigma": 0.5, "max_iter": 10}
FREL = {"loss": "log", "penalty": "l2", "alpha": 1.0}
METHODS = (
    ("Relief", "relief", {}),
    ("ReliefF", "relieff", {"n_neighbors": 10}),
    ("IRelief stored", "irelief", IRELIEF),
    ("IRelief recomputed", "irelief_recomputed", IRELIEF),
    ("OnlineIRelief", "online_irelief", {"sigma": 0.5}),
    ("LOGO", "logo", {"sigma": 2.0, "alpha": 1.0, "max_iter": 10}),
    ("IM4E", "im4e", {"sigma": 0.05, "max_iter": 10}),
    ("FREL", "frel", {**FREL, "solver": "sgd"}),
    ("FREL exact", "frel", FREL),
    ("Lmba", "lmba", {}),
    ("LHRelief", "lhr", {"n_neighbors": 7, "alpha": 1e-3, "max_iter": 10}),
    ("Simba", "simba", {}),
    ("GFlip", "gflip", {}),
    ("FisherScore", "fisher_score", {}),
)


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "highrelief ReliefF float32"
    part.notes.append(
        "IRelief, LOGO, IM4E, LHRelief: ten iterations. OnlineIRelief, Simba: one pass over the samples."
    )
    for shape in (SHAPES[0],) if quick else (*SHAPES, GENOTYPES):
        dtypes = ["float32", "float64", *(["int8"] if shape is GENOTYPES else [])]
        entrants = [
            Entrant("highrelief", method, dtype, settings, suffix=name, compared=False)
            for name, method, settings in METHODS
            for dtype in dtypes
        ]
        # Most of them need a second or less; the few long ones must not fill the afternoon.
        arena.race(part, shape.label, shape, entrants, most_rounds=5)
