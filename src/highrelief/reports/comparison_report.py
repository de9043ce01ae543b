"""``highrelief.comparison_report``: a comparison of methods becomes one page that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..catalogue import METHODS
from ..citations import REFERENCES, address, as_text
from ..comparison import Comparison
from .comparison_contents import JUDGES, comparison_contents
from .contents import Origin, Reference
from .methods import cited
from .origin import about_software
from .report import Report


def comparison_report(
    comparison: Comparison,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str = "Comparison of methods",
    feature_names: Sequence[str] | None = None,
    methods: Mapping[str, Any] | None = None,
    judges: Mapping[str, str] = JUDGES,
    parameters: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
    time: Mapping[str, str] | None = None,
    again: str | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Report:
    """What a comparison of methods has found, on one page that needs nothing else.

    Methods side by side: accuracy with intervals, how stable rankings and selections are, how many features
    are kept and which, time; in words that tell which differences chance may have given.

    Parameters
    ----------
    comparison : Comparison
        What :func:`highrelief.comparison.compare` found.
    path : str or path, default=None
        A file to write the page to.
    title : str, default="Comparison of methods"
        Of the page.
    feature_names : sequence of str, default=None
        In the order of the columns; None: x0, x1, …
    methods : mapping of str to estimator, default=None
        What was given to ``compare``: for parameters and papers. None: names that the command knows, such as
        "irelief", have their papers.
    judges : mapping of str to str
        What the classifiers are, by name.
    parameters, data, time : mapping of str to str, default=None
        More to be told of how the comparison was made, of the data (file, SHA-256) and of times.
    again : str, default=None
        What does the same again.
    notes, warnings : sequence of str
        What was decided about the data, and what was warned of.

    Returns
    -------
    report : Report
        ``contents`` are the plain values, ``html`` is the page, ``save(path)`` writes it.

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> import highrelief
    >>> from highrelief.comparison import compare
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> methods = {"relieff": highrelief.ReliefF(), "fisher": highrelief.FisherScore()}
    >>> found = compare(methods, X, y, cv=5, inner_cv=3, classifiers=["knn"], random_state=0)
    >>> report = highrelief.comparison_report(found, methods=methods)
    >>> for sentence in report.contents.summary[1].split(". "):
    ...     print(sentence)
    With knn, relieff is the most accurate: 95.0 % (95 % interval 89.3 % to 100.0 %)
    Less accurate by more than chance gives: fisher (by 35.0 points)
    Without a choice, all features reach 55.0 %; relieff is above that by more than chance gives.
    """
    known = Origin(
        {
            "outer folds": str(len(comparison.folds)),
            **(parameters or {}),
            **{name: repr(each) for name, each in (methods or {}).items()},
        },
        dict(data or {}),
        _versions(),
        dict(time) if time is not None else {"made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"},
        again,
        _references(comparison, methods or {}),
    )
    made = Report(
        comparison_contents(
            comparison,
            known,
            feature_names=feature_names,
            judges=judges,
            title=title,
            notes=notes,
            warnings=warnings,
        )
    )
    if path is not None:
        made.save(path)
    return made


def _versions() -> dict[str, str]:
    software = about_software()
    return {
        "highrelief": software["highrelief"],
        **software["versions"],
        "system": software["machine"]["system"],
    }


def _references(comparison: Comparison, methods: Mapping[str, Any]) -> list[Reference]:
    """The papers of the methods, each once."""
    keys: list[str] = []
    for method in comparison.methods:
        if method.name in methods:
            keys += cited(methods[method.name])
        elif method.name in METHODS:
            keys += METHODS[method.name].references
    return [Reference(as_text(key), REFERENCES[key], address(key)) for key in dict.fromkeys(keys)]
