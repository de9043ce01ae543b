"""Ensembles of 20 members on a table like the leukemia data of Golub et al., against a plain loop."""

from __future__ import annotations

import os

from ..data import Shape
from ..race import Arena, Entrant
from ..results import Part

TITLE = "Ensembles of 20 members"
SHAPE = Shape(72, 7129)
MEMBERS = ("FisherScore", "ReliefF", "IRelief", "FREL", "LOGO", "IM4E")
#: Wall seconds for 20 members on two threads.
TARGETS = {"FREL": 5.0}


def run(arena: Arena, part: Part, quick: bool) -> None:
    import highrelief

    part.unit = "highrelief float64"
    n_members = 5 if quick else 20
    threads = min(2, os.cpu_count() or 1)
    for member in MEMBERS:
        if member not in highrelief.__all__:
            continue
        entrants = [
            Entrant(
                peer,
                "ensemble",
                "float64",
                {"member": member, "n_estimators": n_members, "n_jobs": n},
                suffix="" if n == 1 else f"{n} threads",
                threads=n,
            )
            for n in sorted({1, threads})
            for peer in ("highrelief", "plain_loop")
        ]
        case = f"{n_members} {member} {SHAPE.label}"
        finished = arena.race(part, case, SHAPE, entrants, reference=0, most_rounds=15)
        ours = [each for each in finished if each.peer == "highrelief"]
        if member in TARGETS and not quick and ours:
            part.aim(
                f"{case}, {ours[-1].threads} threads: wall time",
                "at most",
                TARGETS[member],
                min(ours[-1].wall),
                "s",
            )
