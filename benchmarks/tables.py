"""Runs as tables, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .results import Part, Run, Target


def between_marks(text: str, name: str, lines: Sequence[str]) -> str:
    """Return a page with new lines between the marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


class Table(NamedTuple):
    """Rows of words under a title; the first column names the row."""

    title: str
    head: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        """For a terminal."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]

        def line(row: Sequence[str]) -> str:
            first, *others = (
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            return "  ".join([first, *others]).rstrip()

        return "\n".join([self.title, *map(line, [self.head, *self.rows])])

    def markdown(self, folded: bool = False) -> str:
        """For a page; folded: readers open it by a click."""
        rule = ["---", *["---:"] * (len(self.head) - 1)]
        lines = ["| " + " | ".join(row) + " |" for row in [self.head, rule, *self.rows]]
        if folded:
            return "\n".join([f"<details><summary>{self.title}</summary>", "", *lines, "", "</details>"])
        return "\n".join([f"**{self.title}**", "", *lines])


def number(value: float | None) -> str:
    """Three digits, without a power of ten where it can be avoided."""
    if value is None:
        return "-"
    if value != 0 and abs(value) < 1e-4:
        return f"{value:.1e}"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".") if value else "0"


def part_tables(part: Part) -> Iterator[Table]:
    """One table per quantity: contenders by cases; for times, the ratios too; then how answers agree."""
    for quantity in dict.fromkeys(each.quantity for each in part.figures):
        figures = [each for each in part.figures if each.quantity == quantity]
        values = {(each.contender, each.case): each.value for each in figures}
        unit = figures[0].unit
        yield _matrix(f"{quantity}, {unit}".rstrip(", "), values)
        ratios = _ratios(values, part.unit)
        if quantity == "CPU time" and ratios:
            yield _matrix(f"{quantity}, times that of {part.unit}", ratios)
    if part.agreements:
        yield agreement_table(part)


def _ratios(values: dict[tuple[str, str], float], unit: str) -> dict[tuple[str, str], float]:
    return {
        (contender, case): value / values[unit, case]
        for (contender, case), value in values.items()
        if values.get((unit, case))
    }


def _matrix(title: str, values: dict[tuple[str, str], float]) -> Table:
    contenders = list(dict.fromkeys(contender for contender, _ in values))
    cases = list(dict.fromkeys(case for _, case in values))
    if len(cases) > len(contenders) and len(cases) > 6:
        rows = [[case, *(number(values.get((each, case))) for each in contenders)] for case in cases]
        return Table(title, ["", *contenders], rows)
    rows = [[each, *(number(values.get((each, case))) for case in cases)] for each in contenders]
    return Table(title, ["", *cases], rows)


def agreement_table(part: Part) -> Table:
    """Who gives the same answer."""
    rows = []
    for each in part.agreements:
        verdict = f"differs: {each.differs}" if each.differs else "same" if each.same else "DISAGREES"
        figures = [f"{each.correlation:.6f}", f"{each.difference:.1e}"]
        rows.append([each.contender, each.reference, each.case, *figures, verdict])
    head = ["weights of", "against", "on", "correlation", "largest difference", "verdict"]
    return Table("Agreement (difference relative to the largest value)", head, rows)


def target_table(targets: Sequence[Target]) -> Table:
    """Targets and what was reached, losses as plain as wins."""
    rows = [
        [
            each.name,
            f"{each.sense} {number(each.wanted)} {each.unit}".rstrip(),
            f"{number(each.reached)} {each.unit}".rstrip(),
            "reached" if each.met else "MISSED",
        ]
        for each in targets
    ]
    return Table("Targets", ["", "target", "measured", ""], rows)


def all_targets(run: Run) -> list[Target]:
    """Those of all parts."""
    return [each for part in run.parts.values() for each in part.targets]
