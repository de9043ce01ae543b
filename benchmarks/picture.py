"""Charts of a stored run."""

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


#: Packages that compute ReliefF: name in a run, and label.
RELIEFF_PACKAGES = {
    "highrelief float32": "highrelief",
    "fast-select float32": "fast-select",
    "skfeature float64": "scikit-feature",
    "Weka float64": "Weka",
    "Orange3 float64": "Orange",
    "skrebate float64": "scikit-rebate",
}


def draw_speed(run: Run, path: Path) -> None:
    """Draw the CPU time of ReliefF, package by package, if the run has it."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "highrelief"
    import matplotlib.pyplot as plt

    part = run.parts.get("relieff")
    cases = [
        case for case in ("1000 x 1000", "100 x 10000") if part and part.value(case, "highrelief float32")
    ]
    if part is None or not cases:
        return
    figure, axes = plt.subplots(
        1, len(cases), figsize=(4.2 * len(cases), 3.2), squeeze=False, layout="constrained"
    )
    for ax, case in zip(axes[0], cases, strict=True):
        samples, features = (f"{int(each):,}" for each in case.split(" x "))
        bar_speed(ax, part, case)
        ax.set_title(f"ReliefF, {samples} samples × {features} features", loc="left", fontsize=10)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
    plt.close(figure)


def bar_speed(ax: Any, part: Part, case: str) -> None:
    """Draw a bar per package: the CPU time of a ReliefF fit, on a logarithmic axis."""
    from matplotlib.ticker import NullLocator

    seconds = {label: part.value(case, name) for name, label in RELIEFF_PACKAGES.items()}
    times = {label: value for label, value in seconds.items() if value is not None}
    bar_values(ax, times, {label: _duration(value) for label, value in times.items()})
    ax.set_xscale("log")
    ax.set_xlim(min(times.values()) / 2, max(times.values()) * 12)
    ax.xaxis.set_major_locator(NullLocator())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("CPU time of a fit (logarithmic)", fontsize=9)


def bar_values(ax: Any, values: dict[str, float], labels: dict[str, str]) -> None:
    """Draw labeled horizontal bars, the first one highlighted."""
    colors = ["#c2410c", *["#94a3b8"] * (len(values) - 1)]
    bars = ax.barh(list(values), list(values.values()), color=colors)
    ax.bar_label(bars, [labels[name] for name in values], padding=3, fontsize=9)
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0, labelsize=9)
    ax.set_xticks([])
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _duration(seconds: float) -> str:
    return f"{1000.0 * seconds:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"


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
