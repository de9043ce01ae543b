"""Two stored runs side by side: what got faster, what slower, what is noise."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from . import results
from .results import Figure, Run
from .tables import Table, number

#: Smaller changes are ties on a shared machine, whatever the rounds say.
SMALLEST = 0.10


def compare(old: Path, new: Path, smallest: float = SMALLEST) -> str:
    """A report on the two runs."""
    before, after = results.load(old), results.load(new)
    rows = changes(before, after, smallest)
    head = ["", "old", "new", "new/old", "noise", ""]
    lines = [_differences_of_place(before, after)]
    for part in dict.fromkeys(key[0] for key, *_ in rows):
        of_part = [row for key, *row in rows if key[0] == part]
        lines.append(Table(f"\n{part}", head, of_part).text())
    counts = {word: sum(row[-1] == word for row in rows) for word in ("better", "worse", "")}
    lines.append(
        f"\n{counts['better']} better, {counts['worse']} worse, {counts['']} within noise"
        f" (10 % at least; more where the rounds of a figure differ more among themselves)."
        if smallest == SMALLEST
        else f"\n{counts['better']} better, {counts['worse']} worse, {counts['']} within {smallest:.0%}."
    )
    return "\n".join(filter(None, lines))


def changes(before: Run, after: Run, smallest: float) -> list[tuple]:
    """Rows (key, name, old, new, ratio, noise, verdict) for every figure that both runs have."""
    old = _by_key(before)
    rows = []
    for key, figure in _by_key(after).items():
        if key not in old or not old[key].value > 0.0 or not figure.value > 0.0:
            continue
        ratio = figure.value / old[key].value
        noise = max(smallest, spread(figure), spread(old[key]))
        verdict = ""
        if abs(math.log(ratio)) > math.log1p(noise):
            verdict = "worse" if (ratio > 1.0) == _less_is_better(figure) else "better"
        name = f"{figure.case}, {figure.contender}, {figure.quantity}"
        words = [number(old[key].value), number(figure.value), f"{ratio:.2f}", f"{noise:.0%}", verdict]
        rows.append((key, name, *words))
    return rows


def spread(figure: Figure) -> float:
    """How far a quarter of the rounds is above the best: what the best itself may be off by."""
    if len(figure.rounds) < 3:
        return 0.2 if figure.unit == "s" else 0.0
    return float(np.quantile(figure.rounds, 0.25) / min(figure.rounds) - 1.0)


def _less_is_better(figure: Figure) -> bool:
    return figure.unit != "times"


def _by_key(run: Run) -> dict[tuple[str, str, str, str], Figure]:
    return {
        (name, each.case, each.contender, each.quantity): each
        for name, part in run.parts.items()
        for each in part.figures
    }


def _differences_of_place(before: Run, after: Run) -> str:
    """What differs between the two machines or their software: a difference may be theirs."""
    names = before.environment.keys() | after.environment.keys()
    pairs = {name: (before.environment.get(name), after.environment.get(name)) for name in sorted(names)}
    return "\n".join(f"{name}: {a} → {b}" for name, (a, b) in pairs.items() if a != b)
