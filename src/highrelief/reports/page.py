"""The page of a ranking."""

from __future__ import annotations

from .assembling import assemble
from .contents import Contents, FeatureTable

#: Rows that stand in the page itself: for paper, for readers without scripts, and for screen readers.
N_PLAIN = 50
#: Features whose rank intervals are drawn, at most; those of weight 0 only to fill up a short list.
N_INTERVALS, N_FEWEST = 25, 10
#: Features that a page carries: with these it has about 10 MB, and searching and sorting stay quick.
N_CARRIED = 100_000


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
    n_features = len(contents.features.names)
    return assemble(
        "ranking.html.j2",
        _drawn(contents),
        ("ranking_table.js", "weights.js", "ranking.js"),
        contents=contents,
        n_carried=min(N_CARRIED, n_features),
        n_plain=min(N_PLAIN, n_features),
        n_intervals=_n_intervals(contents.features),
    )


def _drawn(contents: Contents) -> dict[str, object]:
    """What the scripts draw; sentences stand in the page already."""
    return {
        "classes": contents.classes,
        "class_sizes": contents.class_sizes,
        "features": _best(contents.features, N_CARRIED),
        "n_features": len(contents.features.names),
        "n_kept": sum(contents.features.kept),
        "convergence": contents.convergence,
        "stability": contents.stability,
        "samples": contents.samples,
        "distributions": contents.distributions,
        "correlations": contents.correlations,
        "interactions": contents.interactions,
        "n_intervals": _n_intervals(contents.features),
    }


def _n_intervals(features: FeatureTable) -> int:
    weighing = sum(weight > 0.0 for weight in features.weights[:N_INTERVALS])
    return min(max(weighing, N_FEWEST), len(features.names))


def _best(features: FeatureTable, number: int) -> FeatureTable:
    """The best so many features, without words."""
    low, high, frequency, missing = (
        None if each is None else each[:number]
        for each in (features.rank_low, features.rank_high, features.frequency, features.missing)
    )
    return FeatureTable(
        features.names[:number],
        features.ranks[:number],
        features.weights[:number],
        features.kept[:number],
        features.ranks_alone[:number],
        low,
        high,
        frequency,
        [],
        missing,
        features.alone,
    )
