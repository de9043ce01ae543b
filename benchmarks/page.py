"""Pages of the documentation on performance, written from a stored run and nothing else."""

from __future__ import annotations

from pathlib import Path

from . import results
from .results import Part, Run
from .tables import Table, all_targets, number, part_tables, target_table

_SUMMARY = """# Performance

{chart}CPU time of one fit on one thread, after compilation. Weights are compared before times: these packages
compute the same ReliefF weights, except Orange, which samples its anchors at random.

{findings}

Measured on one machine ({machine}). Ratios depend on the processor, mostly on the width of its
vector instructions, and vary by 10 % between runs. [All tables]({tables}) include the targets that were
missed; [how it is measured](benchmarks.md) explains the method. `make bench` repeats the measurements on your
machine. `python -m benchmarks page` writes this page from `{source}`.
"""

_TABLES = """# Performance tables

Every stored measurement. [Performance]({summary}) has the summary, [how it is measured](benchmarks.md) the
method. Written by `python -m benchmarks page` from `{source}`.

One thread unless stated otherwise, kernels compiled beforehand, contenders alternating within one run. A time
is the minimum CPU time over all rounds. Peak memory is what a fit allocates beyond the input data.
"""

_SEVERAL_RUNS = """**The parts come from several runs**, with different commits or settings, which each part
states. Compare figures within a part only.
"""

#: Sentences of the summary, and the targets whose measured values fill their gaps.
_FINDINGS = (
    (
        "**ReliefF** at 1,000 × 1,000 is {} times as fast as fast-select and {} times as fast as"
        " scikit-rebate; at 100 × 10,000, {} and {} times.",
        "ReliefF float32, 1000 x 1000: times as fast as fast-select",
        "ReliefF float32, 1000 x 1000: times as fast as skrebate",
        "ReliefF float32, 100 x 10000: times as fast as fast-select",
        "ReliefF float32, 100 x 10000: times as fast as skrebate",
    ),
    (
        "**MultiSURF** at 1,000 × 1,000 is {} times as fast as fast-select in float32, {} times in float64.",
        "MultiSURF float32, 1000 x 1000: times as fast as fast-select",
        "MultiSURF float64, 1000 x 1000: times as fast as fast-select",
    ),
    (
        "**Large data:** ReliefF on 2,350 × 230,000 takes {} s in float32 and {} s as int8 genotypes on two"
        " threads, with {} and {} MiB of memory beyond the data.",
        "ReliefF float32, 2350 x 230000: wall time",
        "ReliefF int8, 2350 x 230000: wall time",
        "ReliefF 2350 x 230000 float32: peak above the table of 2062 MiB",
        "ReliefF 2350 x 230000 int8: peak above the table of 515 MiB",
    ),
    (
        "**Sparse data:** ReliefF on 2,000 × 20,000 with 2 % nonzero values is {} times as fast as on the dense"
        " array.",
        "ReliefF float32, words 2000 x 20000: times as fast as with all zeros",
    ),
    (
        "**Missing values:** with 5 % missing, ReliefF takes {} times as long at 1,000 × 1,000 and {} times"
        " at 100 × 10,000.",
        "ReliefF, 1000 x 1000, float32: time with 5 % missing, times that without",
        "ReliefF, 100 x 10000, float32: time with 5 % missing, times that without",
    ),
    (
        "**Error control:** 1,000 permutations in one pass are {} times as fast as 1,000 fits.",
        "1,000 permutations 500 x 5000: time of as many fits, times that at once",
    ),
    (
        "**I-RELIEF** takes {} times the two passes over all features of a C++ kernel tuned for this"
        " machine.",
        "I-RELIEF float32, 2000 x 1000: time over that of the limit kernel's passes",
    ),
    (
        "**LOGO** at 200 × 10,000 is {} times as fast as NumPy and SciPy, **LHR** at 400 × 5,000 {} times as"
        " fast as quadprog.",
        "LOGO float64, 200 x 10000: times as fast as NumPy and SciPy",
        "LHR, 400 x 5000: times as fast as NumPy and quadprog per sample",
    ),
    (
        "**Smaller gain:** exact FREL with a smooth penalty, {} to {} times as fast as NumPy and SciPy.",
        "FREL exact, 200 x 10000, hinge + l2, 1: times as fast as NumPy and SciPy",
        "FREL exact, 200 x 10000, log + l2, 0.001: times as fast as NumPy and SciPy",
    ),
    (
        "**First fit:** compilation takes {} s once per machine; later processes spend {} s beyond"
        " their imports.",
        "first ReliefF float32, nothing compiled: compilation",
        "first ReliefF float32, kernels on disk: above importing scikit-learn and Numba",
    ),
)


def write_page(source: Path, page: Path) -> None:
    """Write the summary and the tables beside it, and their charts if matplotlib is installed."""
    run = results.load(source)
    tables = page.with_name(f"{page.stem}_tables.md")
    charts = [page.with_suffix(".svg"), tables.with_suffix(".svg")]
    try:
        from . import picture

        picture.draw_speed(run, charts[0])
        picture.draw(run, charts[1])
    except ImportError:
        print("matplotlib is not installed: the charts are not redrawn.")
    chart, other = (each if each.exists() else None for each in charts)
    page.write_text(summary(run, source.name, chart, tables.name), encoding="utf-8")
    tables.write_text(markdown(run, source.name, other, page.name), encoding="utf-8")


def summary(run: Run, source: str, chart: Path | None, tables: str) -> str:
    """Text of the page that comes first: a chart and the main findings."""
    reached = {each.name: number(each.reached) for each in all_targets(run)}
    findings = [
        "- " + sentence.format(*(reached[name] for name in names))
        for sentence, *names in _FINDINGS
        if reached.keys() >= set(names)
    ]
    place = run.environment
    return _SUMMARY.format(
        chart=f"![ReliefF: CPU time of highrelief and five other packages]({chart.name})\n\n"
        if chart
        else "",
        findings="\n".join(findings),
        machine=f"{place.get('processor', 'unknown')}, {place.get('cores', '?')} cores",
        tables=tables,
        source=f"benchmarks/{source}",
    )


def markdown(run: Run, source: str, picture: Path | None, summary: str) -> str:
    """Text of the page of tables."""
    blocks = [_TABLES.format(source=f"benchmarks/{source}", summary=summary)]
    if len({(part.commit, part.seconds) for part in run.parts.values()}) > 1:
        blocks.append(_SEVERAL_RUNS)
    if picture is not None:
        blocks.append(f"![Times, shares of the limit, growth]({picture.name})\n")
    blocks += [_section(part) for part in run.parts.values()]
    targets = all_targets(run)
    if targets:
        missed = sum(not each.met for each in targets)
        blocks.append(f"## Targets\n\n{len(targets) - missed} reached, {missed} missed.\n")
        blocks.append(target_table(targets).markdown() + "\n")
    blocks.append("## Machine and versions\n")
    blocks.append(_place(run).markdown())
    return "\n".join(blocks).rstrip() + "\n"


def _section(part: Part) -> str:
    made = (
        f"{part.date}, sources {part.commit}, {part.seconds:g} s per contender, {part.minutes:.1f} minutes."
    )
    notes = "".join(f"- {note}\n" for note in part.notes)
    tables = "\n\n".join(
        table.markdown(folded=table.title.startswith("Agreement")) for table in part_tables(part)
    )
    return "\n".join(filter(None, [f"## {part.title}\n", made + "\n", notes, tables + "\n"]))


def _place(run: Run) -> Table:
    rows = []
    for name, value in run.environment.items():
        pairs = value.items() if isinstance(value, dict) else [(name, value)]
        rows += [[key, str(entry)] for key, entry in pairs]
    return Table("Machine and versions", ["", ""], rows)
