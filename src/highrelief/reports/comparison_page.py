"""The page of a comparison."""

from __future__ import annotations

from .assembling import assemble
from .comparison_contents import ComparisonContents, percent


def comparison_page(contents: ComparisonContents) -> str:
    """A comparison as one HTML document that opens without a network.

    Parameters
    ----------
    contents : ComparisonContents
        What is to be shown.

    Returns
    -------
    str
        The document.

    Raises
    ------
    ModuleNotFoundError
        If Jinja2 is not installed.
    """
    return assemble(
        "comparison.html.j2",
        {"classifiers": contents.classifiers, "methods": contents.methods, "n_folds": contents.n_folds},
        ("comparison.js",),
        contents=contents,
        spoken=[_spoken(contents, place) for place in range(len(contents.classifiers))],
    )


def _spoken(contents: ComparisonContents, place: int) -> str:
    """The accuracies of a classifier, for those who do not see the chart."""
    return ", ".join(
        f"{each.name} {percent(each.judgements[place].accuracy.value)}" for each in contents.methods
    )
