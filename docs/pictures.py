"""Draws the pictures of docs/plots.md and docs/interactions.md, and the chart of README.md.

``python docs/pictures.py`` runs the examples of each page and saves the last display before each picture.
``python docs/pictures.py why`` draws only the chart of README.md, from stored results.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

HERE = Path(__file__).parent
PAGES = ("plots.md", "interactions.md")
#: Methods of the chart of README.md, with their names in the benchmark of Passemiers et al. (2024).
RECOVERY = {
    "highrelief": "HighRelief",
    "random forest": "Random forest",
    "TreeSHAP": "TreeSHAP",
    "mRMR": "mRMR",
    "Relief": "Relief, one neighbor",
    "mutual information": "Mutual information",
}


def main() -> None:
    """Write the pictures beside the pages."""
    mpl.use("Agg")
    draw_why()
    for page in PAGES if sys.argv[1:] != ["why"] else ():
        draw(page)


def recovery() -> dict[str, float]:
    """Mean share of relevant features found, per method, in percent: ours if measured, else as published."""
    text = (HERE / "reproduced" / "passemiers_2024.md").read_text("utf-8")
    found = {}
    for label, method in RECOVERY.items():
        # The last column of a table by problems: the mean over problems, "ours / published".
        rows = re.findall(rf"^\| {re.escape(method)} \|.* (\S+) / (\S+) \|$", text, flags=re.MULTILINE)
        means = [float(ours if ours != "-" else published) for ours, published in rows]
        found[label] = sum(means) / len(means)
    return found


def draw_why() -> None:
    """Write the charts of README.md and docs/index.md, from benchmarks/results.json and docs/reproduced."""
    import matplotlib.pyplot as plt

    sys.path.insert(0, str(HERE.parent))
    from benchmarks import picture, results

    run = results.load(HERE.parent / "benchmarks" / "results.json")
    shares = recovery()

    def draw_speed(ax: Any) -> None:
        picture.bar_speed(ax, run.parts["relieff"], "1000 x 1000")
        ax.set_title("Speed: ReliefF, 1,000 samples × 1,000 features", loc="left", fontsize=10)

    def draw_recovery(ax: Any) -> None:
        picture.bar_values(ax, shares, {name: f"{share:.0f} %" for name, share in shares.items()})
        ax.set_title("Recovery: nonlinear signals among noise", loc="left", fontsize=10)
        ax.set_xlabel("relevant features found, mean over 84 settings", fontsize=9)
        ax.set_xlim(0, 115)

    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.3), layout="constrained")
    draw_speed(axes[0])
    draw_recovery(axes[1])
    save(figure, HERE / "pictures" / "why.png", dpi=140)
    for name, panel in (("speed", draw_speed), ("recovery", draw_recovery)):
        figure, ax = plt.subplots(figsize=(4.8, 3.3), layout="constrained")
        panel(ax)
        save(figure, HERE / "pictures" / f"why-{name}.png", dpi=140)


def draw(page: str) -> None:
    """Write the pictures of a page."""
    names: dict = {}
    # Text, then the name of the picture that follows it, and so on.
    parts = re.split(r"^!\[.*\]\((.+\.png)\)$", (HERE / page).read_text("utf-8"), flags=re.MULTILINE)
    for text, picture in zip(parts[::2], parts[1::2], strict=False):
        for example in doctest.DocTestParser().get_examples(text):
            exec(example.source, names)
        save(names["display"].figure_, HERE / picture)


def save(figure: Any, target: Path, dpi: int = 80) -> None:
    """Write a figure without the version of matplotlib, so that equal pictures have equal bytes."""
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=dpi, metadata={"Software": None})
    print(f"{target.relative_to(HERE)}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
