"""The performance page of the documentation, made from a stored run and from nothing else."""

from __future__ import annotations

from pathlib import Path

from . import results
from .results import Part, Run
from .tables import Table, all_targets, part_tables, target_table

_INTRODUCTION = """# Performance

Made by `python -m benchmarks page` from `{source}`; nothing here is written by hand. How it is measured, and
how to measure it on your machine: [How it is measured](benchmarks.md).

One thread unless it says otherwise, everything compiled beforehand, contenders taking turns in one run; a
time is the least CPU time of all rounds. Peak memory is what a fit takes beyond what was held before it,
the caller's table. Machines differ, in vector width above all; so do runs, by 10 % and more on a shared
machine.
"""

_SEVERAL_RUNS = """**The parts below come from several runs**, of different sources or settings; each
says which. Compare figures within a part only.
"""


def write_page(source: Path, page: Path) -> None:
    """Write the page, and the picture beside it where there is matplotlib."""
    run = results.load(source)
    picture = page.with_suffix(".svg")
    try:
        from .picture import draw

        draw(run, picture)
    except ImportError:
        print(f"No matplotlib: {picture.name} is left as it is.")
    page.write_text(markdown(run, source.name, picture if picture.exists() else None), encoding="utf-8")


def markdown(run: Run, source: str, picture: Path | None) -> str:
    """The text of the page."""
    blocks = [_INTRODUCTION.format(source=f"benchmarks/{source}")]
    if len({(part.commit, part.seconds) for part in run.parts.values()}) > 1:
        blocks.append(_SEVERAL_RUNS)
    targets = all_targets(run)
    if targets:
        missed = sum(not each.met for each in targets)
        blocks.append(f"## Targets\n\n{len(targets) - missed} reached, {missed} missed.\n")
        blocks.append(target_table(targets).markdown() + "\n")
    if picture is not None:
        blocks.append(f"![Times, shares of the limit, growth]({picture.name})\n")
    blocks += [_section(part) for part in run.parts.values()]
    blocks.append(_place(run).markdown())
    return "\n".join(blocks).rstrip() + "\n"


def _section(part: Part) -> str:
    made = (
        f"{part.date}, sources {part.commit}, {part.seconds:g} s per contender, {part.minutes:.1f} minutes."
    )
    notes = "".join(f"- {note}\n" for note in part.notes)
    tables = "\n\n".join(table.markdown() for table in part_tables(part))
    return "\n".join(filter(None, [f"## {part.title}\n", made + "\n", notes, tables + "\n"]))


def _place(run: Run) -> Table:
    rows = []
    for name, value in run.environment.items():
        pairs = value.items() if isinstance(value, dict) else [(name, value)]
        rows += [[key, str(entry)] for key, entry in pairs]
    return Table("Machine and versions", ["", ""], rows)
