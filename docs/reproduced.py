"""Makes docs/reproduced.md: every experiment that can be run, ours beside theirs.

``python docs/reproduced.py DATA [REPEATS]`` does what the commands on the page do, and goes on where it was
stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from highrelief.citations import as_text
from highrelief.protocols.beside import FAR
from highrelief.protocols.experiment import Experiment
from highrelief.protocols.registry import experiments, not_run
from highrelief.runs.reproduce import Reproduction, reproduced

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
CACHE = Path(".highrelief-reproduced")

BEGINNING = """# The papers' experiments

What the papers report, and what this library gets when it does the same: `highrelief reproduce` lists the
experiments, and runs one of them on a folder of data sets. Each cell below is *ours / theirs (difference in
standard errors)*, means with standard deviations over the repeats in brackets; **bold** where the two are
more than two standard errors apart, with the likely reasons beneath. Nothing was tuned to a published number,
and features are always chosen on training samples alone.

Done so far: the LFE paper. This page is made by `python docs/reproduced.py DATA {repeats}`.
"""


def main(data: Path, repeats: int) -> None:
    """Run what is not kept, and write the page."""
    parts, paper = [BEGINNING.format(repeats=repeats)], ""
    for name, experiment in experiments().items():
        if experiment.paper != paper:
            paper = experiment.paper
            parts.append(f"\n## {as_text(paper)}\n")
        wanted = min(repeats, experiment.repeats)
        found = reproduced(name, data=data, cache=CACHE, repeats=wanted, n_jobs=-1)
        parts += _part(experiment, found, wanted)
    parts.append("\n## Not run\n")
    parts += [f"- `{name}`: {reason}" for name, reason in not_run().items()]
    (HERE / "reproduced.md").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _part(experiment: Experiment, found: Reproduction, repeats: int) -> list[str]:
    command = f"highrelief reproduce {experiment.name} --data DATA --repeats {repeats}"
    of = f"{repeats} of the paper's {experiment.repeats} repeats"
    parts = [f"\n### {experiment.title}\n", f"`{command}` ({of})\n"]
    if found.absent:
        parts.append(f"Not at hand: {', '.join(found.absent)}.\n")
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
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
