"""Box plots side by side, as both figures of the paper have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def draw(ax: Any, boxes: Sequence[Sequence[float]], shift: float, color: str, label: str) -> list[float]:
    """A box at 0, 1, 2, …, where there is one, each moved by ``shift``; returns where they are."""
    places = [place + shift for place, box in enumerate(boxes) if box]
    drawn = ax.boxplot(
        [box for box in boxes if box],
        positions=places,
        widths=0.2,
        manage_ticks=False,
        patch_artist=True,
        medianprops={"color": "black"},
    )
    for box in drawn["boxes"]:
        box.set_facecolor(color)
    drawn["boxes"][0].set_label(label)
    return places
