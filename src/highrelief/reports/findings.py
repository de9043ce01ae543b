"""A fitted estimator becomes plain contents."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..halves import checked_halves, fits_to_halves, why_not
from ..interaction_table import InteractionTable
from . import methods
from .contents import Contents, Stability
from .convergence import convergence
from .features import Weights, feature_table
from .given import Given, given
from .interactions import interactions as in_names
from .interactions import measured
from .origin import about_values, origin, python_again
from .samples import samples
from .sentences import counted
from .shapes import correlations, distributions
from .stability import RankSpread, n_best, stability
from .summary import facts, summary
from .thirds import thirds_in_words


def contents(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_names: Sequence[str] | None = None,
    resamples: int | None = 20,
    random_state: Any = 0,
    n_jobs: int | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    interactions: bool | InteractionTable | str | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    data: Mapping[str, str] | None = None,
    time: Mapping[str, str] | None = None,
    again: str | None = None,
    words: Mapping[str, Sequence[str]] | None = None,
) -> Contents:
    """What stands in the report of a fitted estimator.

    Parameters
    ----------
    estimator, X, y, title, feature_names, sample_names, resamples, random_state, n_jobs, groups, batches
        As :func:`highrelief.report` has them.
    interactions : bool, InteractionTable, str or None
        The same; or what was measured before, or why it was not.
    notes, warnings : sequence of str
        What was decided about the data when it was read, and what the fit warned of.
    data, time : mapping of str to str, default=None
        What is known of the data and of the times, by their names; None: digests of the values, and now.
    again : str, default=None
        What does the same again; None: lines of Python.
    words : mapping of str to sequence of str, default=None
        What the numbers 0, 1, … of some features stand for, by the names of the features.

    Returns
    -------
    contents : Contents
        Plain values.
    """
    resamples = checked_halves("resamples", resamples, or_none=True)
    asked = given(
        estimator,
        X,
        y,
        feature_names=feature_names,
        sample_names=sample_names,
        batches=batches,
        groups=groups,
        words=words,
    )
    weights = Weights.of(asked)
    absent: dict[str, str] = {}

    def part(name: str, found: Any) -> Any:
        """A part of the report; None, and a word why, where there is none."""
        if not isinstance(found, str):
            return found
        absent[name] = found
        return None

    begin = clock.perf_counter()
    resampled = part("stability", _resampled(asked, weights, resamples, random_state, n_jobs))
    known_time = dict(time) if time is not None else {"Made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"}
    if resampled is not None:
        known_time["Resampling took"] = f"{clock.perf_counter() - begin:.2f} s"
    stable, spread = (None, None) if resampled is None else resampled
    course = part("convergence", convergence(estimator))
    margins = part("samples", samples(asked))
    alike = part("correlations", correlations(asked))
    begin = clock.perf_counter()
    if isinstance(interactions, (InteractionTable, str)):
        table = interactions
    else:
        table = measured(
            asked, weights, asked=interactions, resamples=resamples, random_state=random_state, n_jobs=n_jobs
        )
        if not isinstance(table, str):
            known_time["Interactions took"] = f"{clock.perf_counter() - begin:.2f} s"
    together = part("interactions", table if isinstance(table, str) else in_names(asked, table))
    method_words = methods.words(estimator)
    return Contents(
        title=title or f"{methods.title(estimator)}: {counted(asked.X.shape[1], 'feature')} ranked",
        method=methods.title(estimator),
        method_class=type(estimator).__name__,
        method_words=method_words,
        classes=asked.classes,
        class_sizes=asked.class_sizes.tolist(),
        summary=summary(asked, weights, method_words, course, stable, margins, alike, warnings, together),
        facts=facts(asked, weights, course, stable, margins),
        features=feature_table(asked, weights, spread),
        convergence=course,
        stability=stable,
        samples=margins,
        distributions=distributions(asked),
        correlations=alike,
        interactions=together,
        origin=origin(
            estimator,
            data=about_values(asked.X, asked.y) if data is None else data,
            time=known_time,
            again=again or python_again(asked, resamples=resamples, random_state=random_state),
        ),
        notes=list(notes),
        warnings=list(warnings),
        absent=absent,
        thirds=thirds_in_words(asked.y) if asked.measured else "",
    )


def found_interactions(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    asked: bool | None,
    resamples: int,
    random_state: Any,
    n_jobs: int | None,
    groups: ArrayLike | None,
    batches: ArrayLike | None,
    feature_names: Sequence[str] | None,
    words: Mapping[str, Sequence[str]] | None,
) -> InteractionTable | str:
    """Which of the best features act together, before there is a report; or why that is not known."""
    of_data = given(
        estimator,
        X,
        y,
        feature_names=feature_names,
        sample_names=None,
        batches=batches,
        groups=groups,
        words=words,
    )
    return measured(
        of_data,
        Weights.of(of_data),
        asked=asked,
        resamples=resamples,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def _resampled(
    asked: Given, weights: Weights, resamples: int, random_state: Any, n_jobs: int | None
) -> tuple[Stability, RankSpread] | str:
    """How stable the ranking is; or why that is not known, in a sentence."""
    if not resamples:
        return "Stability was not measured: resampling was switched off."
    # With a target that is a number all are halved together, as if half of them were of either class.
    sizes = np.full(2, len(asked.y) // 2) if asked.measured else asked.class_sizes
    reason = why_not(sizes, asked.X.shape[1])
    if reason is not None:
        return reason
    try:
        fits = fits_to_halves(
            asked.unfitted,
            asked.X,
            asked.y,
            resamples=resamples,
            random_state=random_state,
            n_jobs=n_jobs,
            groups=asked.groups,
            batches=asked.batches,
        )
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"Stability was not measured; the method cannot be fitted to half of the samples: {sentence}."
    best = n_best(weights.n_kept, asked.X.shape[1], chosen=weights.chosen)
    together = "each group in one half as a whole"
    drawn = together if asked.groups is not None else "" if asked.measured else "class by class"
    return stability(fits, best, drawn=drawn)
