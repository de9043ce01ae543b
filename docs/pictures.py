"""Makes the pictures of docs/plots.md and docs/interactions.md, from the examples that are on the pages.

``python docs/pictures.py`` runs each page from its beginning and saves the last display in front of each
picture.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).parent
PAGES = ("plots.md", "interactions.md")


def main() -> None:
    """Write the pictures beside the pages."""
    mpl.use("Agg")
    for page in PAGES:
        draw(page)


def draw(page: str) -> None:
    """Write the pictures of a page."""
    names: dict = {}
    # Text, then the name of the picture that follows it, and so on.
    parts = re.split(r"^!\[.*\]\((.+\.png)\)$", (HERE / page).read_text("utf-8"), flags=re.MULTILINE)
    for text, picture in zip(parts[::2], parts[1::2], strict=False):
        for example in doctest.DocTestParser().get_examples(text):
            exec(example.source, names)
        target = HERE / picture
        target.parent.mkdir(exist_ok=True)
        # Without the version of matplotlib: the same bytes for the same picture.
        names["display"].figure_.savefig(target, dpi=80, metadata={"Software": None})
        print(f"{target.relative_to(HERE)}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
