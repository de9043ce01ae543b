"""Makes docs/reproduced.md: every experiment that can be run, ours beside theirs.

``python docs/reproduced.py DATA [CACHE]`` does what the commands on the page do, and goes on where it was
stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from highrelief.citations import as_text
from highrelief.protocols.beside import FAR
from highrelief.protocols.experiment import Experiment
from highrelief.protocols.registry import papers
from highrelief.runs.reproduce import Reproduction, reproduced

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
CACHE = Path(".highrelief-reproduced")

BEGINNING = """# The papers' experiments

What the papers report, and what this library gets when it does the same: `highrelief reproduce` lists the
experiments, and runs one of them on a folder of data sets (`--data`), with sets that are made here, and with
what OpenML has (`--fetch`). Each cell below is *ours / theirs (difference in standard errors)*, means with
standard deviations over the repeats in brackets; **bold** where the two are more than two standard errors
apart, with the likely reasons beneath. Nothing was tuned to a published number. Features are chosen on
training samples alone, unless a table says that they were chosen on all samples, as some papers seem to
have done.

This page is made by `python docs/reproduced.py DATA`, which does what the commands on it do.
"""

#: Repeats shown here, where they are fewer than the paper's. All of it takes about two hours on two cores.
SHOWN: dict[str, int] = {}


def main(data: Path, cache: Path) -> None:
    """Run what is not kept, and write the page."""
    parts = [BEGINNING]
    for paper in papers():
        parts.append(f"\n## {as_text(paper.key)}\n")
        for experiment in paper.experiments:
            wanted = SHOWN.get(experiment.name, experiment.repeats)
            found = reproduced(experiment.name, data=data, cache=cache, repeats=wanted, n_jobs=-1)
            parts += _part(experiment, found, wanted)
        parts.append("\n### Not run\n")
        parts += [f"- `{name}`: {reason}" for name, reason in paper.not_run.items()]
    (HERE / "reproduced.md").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _part(experiment: Experiment, found: Reproduction, repeats: int) -> list[str]:
    command = f"highrelief reproduce {experiment.name} --data DATA --repeats {repeats}"
    of = "" if repeats == experiment.repeats else f" ({repeats} of the paper's {experiment.repeats} repeats)"
    parts = [f"\n### {experiment.title}\n", f"`{command}`{of}\n"]
    if found.absent:
        parts.append(f"Not at hand: {', '.join(found.absent)}.\n")
    if found.made:
        parts.append(f"Made by a generator: {', '.join(found.made)}.\n")
    for table in found.results:
        parts += [f"{table.title}, {table.unit}:\n", table.markdown(), ""]
        parts += [f"- {each}" for each in table.remarks]
    far = [pair for table in found.results for pair in table.pairs if pair.is_far]
    if far:
        parts.append(f"\nMore than {FAR:g} standard errors apart: {len(far)}. Likely reasons:\n")
        parts += [f"- {each}" for each in (experiment.reasons or ("not known.",))]
    for name, picture in experiment.figures(found.outcomes).items():
        picture.savefig(PICTURES / f"{name}.png", dpi=70, metadata={"Software": None})
        parts.append(f"\n![{experiment.title}](pictures/{name}.png)")
    return parts


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else CACHE)
