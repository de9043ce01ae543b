"""A stored run as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .results import Part, Run


def draw(run: Run, path: Path) -> None:
    """Ratios to the rivals, shares of the limit, growth; whatever of it the run has."""
    import matplotlib as mpl

    mpl.use("Agg")
    # The same figures give the same file, byte by byte.
    mpl.rcParams["svg.hashsalt"] = "highrelief"
    import matplotlib.pyplot as plt

    panels = [
        (title, panel, run.parts[name])
        for name, title, panel in (
            ("relieff", "ReliefF: times as long as highrelief float32", _draw_rivals),
            ("limit", "Share of the limit kernel's rate", _draw_shares),
            ("scaling", "Growth, float32, one thread (CPU seconds)", _draw_growth),
            ("algorithms", "Every algorithm, CPU seconds", _draw_algorithms),
        )
        if name in run.parts and run.parts[name].figures
    ]
    if not panels:
        return
    figure, axes = plt.subplots(len(panels), 1, figsize=(9, 3.6 * len(panels)), squeeze=False)
    for ax, (title, panel, part) in zip(axes[:, 0], panels, strict=True):
        panel(ax, part)
        ax.set_title(title, loc="left", fontsize=11)
        ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, metadata=metadata)
    plt.close(figure)


def _bars(ax: Any, values: dict[tuple[str, str], float]) -> None:
    """Groups of bars: a group per case, a bar per contender."""
    cases = list(dict.fromkeys(case for case, _ in values))
    contenders = list(dict.fromkeys(contender for _, contender in values))
    width = 0.85 / len(contenders)
    for place, contender in enumerate(contenders):
        at = [
            k + (place - (len(contenders) - 1) / 2) * width
            for k, c in enumerate(cases)
            if (c, contender) in values
        ]
        heights = [values[c, contender] for c in cases if (c, contender) in values]
        ax.bar(at, heights, width, label=contender)
    ax.set_xticks(range(len(cases)), cases, fontsize=8)
    ax.legend(fontsize=7, ncols=2, frameon=False)


def _draw_rivals(ax: Any, part: Part) -> None:
    values = {}
    for each in part.figures:
        unit = part.value(each.case, part.unit)
        if each.quantity == "CPU time" and unit and each.contender != part.unit:
            values[each.case, each.contender] = each.value / unit
    _bars(ax, values)
    ax.set_yscale("log")
    ax.axhline(1.0, color="black", linewidth=0.8)


def _draw_shares(ax: Any, part: Part) -> None:
    shares = {}
    for each in part.figures:
        dtype = each.contender.rsplit(" ", 1)[-1]
        limit = part.value(each.case, f"limit kernel {dtype}")
        if each.quantity == "CPU time" and limit and each.contender.startswith("highrelief"):
            shares[each.case, dtype] = limit / each.value
    _bars(ax, shares)
    ax.axhline(1.0, color="black", linewidth=0.8)


def _draw_growth(ax: Any, part: Part) -> None:
    for contender in dict.fromkeys(each.contender for each in part.figures):
        for fixed, words in ((1, "samples at 1000 features"), (0, "features of 1000 samples")):
            points = []
            for each in part.figures:
                size = each.case.split(" x ")
                if (each.contender, each.quantity) == (contender, "CPU time") and size[fixed] == "1000":
                    points.append((int(size[1 - fixed]), each.value))
            ax.plot(*zip(*sorted(points), strict=True), marker="o", label=f"{contender}, {words}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.legend(fontsize=7, frameon=False)


def _draw_algorithms(ax: Any, part: Part) -> None:
    times = [
        each for each in part.figures if each.quantity == "CPU time" and each.contender.endswith("float32")
    ]
    _bars(ax, {(each.case, each.contender.removeprefix("highrelief ")): each.value for each in times})
    ax.set_yscale("log")
