"""What a run found out, and how it is stored."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 2


@dataclass
class Figure:
    """One measured number."""

    #: What was done, and on what.
    case: str
    contender: str
    quantity: str
    unit: str
    value: float
    #: What every round gave, if the value is the best of several.
    rounds: list[float] = field(default_factory=list)


@dataclass
class Agreement:
    """How far a contender's weights are from the reference."""

    case: str
    contender: str
    reference: str
    correlation: float
    #: Largest difference, relative to the largest weight.
    difference: float
    #: False: it should agree and does not; its times are those of something else.
    same: bool
    #: Why it may differ.
    differs: str = ""


@dataclass
class Target:
    """What was to be reached, and what was."""

    name: str
    #: "at least" or "at most".
    sense: str
    wanted: float
    reached: float
    unit: str = "times"

    @property
    def met(self) -> bool:
        return self.reached >= self.wanted if self.sense == "at least" else self.reached <= self.wanted


@dataclass
class Part:
    """One part of a run."""

    name: str
    title: str
    #: The contender whose time is 1 in a table of ratios; none: no such table.
    unit: str = ""
    date: str = ""
    minutes: float = 0.0
    #: State of the sources, and seconds per contender: parts of one file may come from several runs.
    commit: str = ""
    seconds: float = 0.0
    figures: list[Figure] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def value(self, case: str, contender: str, quantity: str = "CPU time") -> float | None:
        """A figure's value, None if it was not measured."""
        for each in self.figures:
            if (each.case, each.contender, each.quantity) == (case, contender, quantity):
                return each.value
        return None

    def ratio(self, case: str, over: str, under: str, quantity: str = "CPU time") -> float | None:
        """One contender's value over another's."""
        numbers = self.value(case, over, quantity), self.value(case, under, quantity)
        return None if numbers[0] is None or not numbers[1] else numbers[0] / numbers[1]

    def aim(self, name: str, sense: str, wanted: float, reached: float | None, unit: str = "times") -> None:
        """Hold a figure against its target, if it was measured."""
        if reached is not None:
            self.targets.append(Target(name, sense, wanted, reached, unit))


@dataclass
class Run:
    """All parts of a run, and where it was made."""

    environment: dict[str, Any]
    parts: dict[str, Part] = field(default_factory=dict)


def save(run: Run, path: Path) -> None:
    """Write a run as JSON."""
    stored = {"format": FORMAT, **asdict(run)}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> Run:
    """Read a run."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored.get("format") != FORMAT:
        raise SystemExit(f"{path} is not a run that this version stored (format {stored.get('format')}).")
    return Run(stored["environment"], {name: _part(each) for name, each in stored["parts"].items()})


def _part(stored: dict[str, Any]) -> Part:
    lists = {"figures": Figure, "agreements": Agreement, "targets": Target}
    return Part(**{k: [lists[k](**each) for each in v] if k in lists else v for k, v in stored.items()})
