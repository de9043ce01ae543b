"""LFE and DANN: against scikit-learn's PCA and NCA, and against LFE in NumPy."""

from __future__ import annotations

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "LFE, 20 components, one thread, warm"
#: The size of the paper's face data.
FACES = Shape(500, 5100)
TALL = Shape(5000, 200)
#: NCA is too slow for more; the paper gives it 50 principal components.
FEW, SMALL = Shape(500, 50), Shape(100, 50)
SETTINGS = {"n_components": 20, "n_neighbors": 3}


def run(arena: Arena, part: Part, quick: bool) -> None:
    part.unit = "sklearn PCA float64"
    for shape in (SMALL,) if quick else (FACES, FEW, TALL):
        entrants = [
            Entrant("highrelief", "lfe", "float64", SETTINGS),
            Entrant("highrelief", "lfe", "float32", SETTINGS, compared=False),
            Entrant("highrelief", "dann", "float64", {"n_components": 20}, suffix="DANN", compared=False),
            Entrant("sklearn_pca", "lfe", "float64", SETTINGS),
            Entrant("sklearn_pca", "lfe", "float32", SETTINGS),
        ]
        if shape != TALL:
            entrants.append(Entrant("numpy_lfe", "lfe", "float64", SETTINGS))
        if shape in (FEW, SMALL):
            entrants.append(Entrant("sklearn_nca", "lfe", "float64", SETTINGS))
        arena.race(part, shape.label, shape, entrants, reference=0)
    if not quick:
        name = f"LFE float64, {FACES.label}: time over that of scikit-learn's PCA, full"
        ratio = part.ratio(FACES.label, "highrelief float64", "sklearn PCA float64")
        part.aim(name, "at most", 2.0, ratio)
