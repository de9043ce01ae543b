"""The page of a ranking."""

from __future__ import annotations

from dataclasses import replace

from .assembling import assemble
from .contents import Contents

#: Rows that stand in the page itself: for paper, for readers without scripts, and for screen readers.
N_PLAIN = 50
#: Features whose rank intervals are drawn.
N_INTERVALS = 25


def ranking_page(contents: Contents) -> str:
    """A report as one HTML document that opens without a network.

    Parameters
    ----------
    contents : Contents
        What is to be shown.

    Returns
    -------
    str
        The document.
    """
    return assemble(
        "ranking.html.j2",
        _drawn(contents),
        ("ranking_table.js", "weights.js", "ranking.js"),
        contents=contents,
        n_plain=min(N_PLAIN, len(contents.features.names)),
        n_intervals=min(N_INTERVALS, len(contents.features.names)),
    )


def _drawn(contents: Contents) -> dict[str, object]:
    """What the scripts draw; sentences stand in the page already."""
    return {
        "classes": contents.classes,
        "class_sizes": contents.class_sizes,
        "features": replace(contents.features, words=[]),
        "convergence": contents.convergence,
        "stability": contents.stability,
        "samples": contents.samples,
        "distributions": contents.distributions,
        "correlations": contents.correlations,
        "n_intervals": N_INTERVALS,
    }
