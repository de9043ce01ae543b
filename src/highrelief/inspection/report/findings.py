"""A fitted estimator becomes plain contents."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...base.abilities import stays_within_batches, weighs_classes
from ...plots.drawing import counted
from ...selection.halves import checked_halves, fits_to_halves, why_not
from ..interactions import InteractionTable
from . import wording
from .contents import Contents, Convergence, Correlations, Interactions, Samples, Stability
from .diagnostics import RankSpread, convergence, in_words, n_best, samples, stability
from .features import N_NAMED, Weights, correlations, distributions, feature_table, kept_in_words
from .inputs import Given, given, thirds_in_words
from .interactions import acting_together, measured
from .interactions import in_words as in_words_of_pairs
from .interactions import interactions as in_names
from .origin import about_values, origin, python_again
from .wording import listed, number, percent, two_digits, with_article, with_interval

# What was done and found, in sentences that a stranger understands alone, and the figures that stand out.


#: Samples of a class below which much is up to chance.
_FEW_SAMPLES = 10
#: How many times larger a class is that outweighs another.
_OUTWEIGHS = 4


def summary(
    given: Given,
    weights: Weights,
    method_words: str,
    convergence: Convergence | None,
    stability: Stability | None,
    samples: Samples | None,
    correlations: Correlations | None,
    warnings: Sequence[str],
    together: Interactions | None = None,
) -> list[str]:
    """The result in sentences."""
    about_data = [_what_was_done(given), *_what_is_missing(given)]
    told = [*about_data, method_words, *_where_neighbors_are(given), _what_was_found(given, weights)]
    if convergence is not None:
        told.append(convergence.words[0])
    if stability is not None:
        said = in_words(stability.n_best, stability.selection)
        told.append(
            f"{said[0].upper()}{said[1:]}: agreement {with_interval(stability.selection)}, where 0 is chance"
            " and 1 is the same result."
        )
    if samples is not None:
        told.append(_about_samples(given, samples))
    if together is not None and acting_together(together):
        told.append(in_words_of_pairs(acting_together(together)))
    if correlations is not None and correlations.groups:
        told.append(correlations.words[0])
    return told + _cautions(given, weights, warnings)


def _what_was_done(given: Given) -> str:
    if given.measured:
        return _what_was_done_for_numbers(given)
    classes = [f"{name} ({size:,})" for name, size in zip(given.classes, given.class_sizes, strict=True)]
    n_samples, n_features = given.X.shape
    name = with_article(given.estimator)
    tell = "it tells" if n_features == 1 else "they tell"
    return (
        f"{name} ranked {counted(n_features, 'feature')} by how well {tell} the classes of {n_samples:,}"
        f" samples apart: {listed(classes)}."
    )


def _what_was_done_for_numbers(given: Given) -> str:
    n_samples, n_features = given.X.shape
    return (
        f"{with_article(given.estimator)} ranked {counted(n_features, 'feature')} by how far near samples"
        f" that differ in {'it' if n_features == 1 else 'them'} differ in the target too, a number between"
        f" {number(given.y.min())} and {number(given.y.max())} for each of {n_samples:,} samples."
    )


def _what_is_missing(given: Given) -> list[str]:
    """How much is missing, and what the method makes of it."""
    if given.missing is None:
        return []
    share, n_incomplete = float(given.missing.mean()), int(np.count_nonzero(given.missing))
    most = int(np.argmax(given.missing))
    which = f"{percent(float(given.missing[most]))} of {given.feature_names[most]}"
    return [
        f"{percent(share)[0].upper()}{percent(share)[1:]} of the values {'are' if share >= 0.015 else 'is'}"
        f" missing, in {counted(n_incomplete, 'feature')}{', at most ' + which if n_incomplete > 1 else ''}."
        " Nothing was put in their place: a difference to a missing value is the one to be expected."
    ]


def _where_neighbors_are(given: Given) -> list[str]:
    """What batches are about, if there are any."""
    if given.batches is None:
        return []
    n_batches = counted(np.unique(np.asarray(given.batches).astype(str)).size, "batch", "batches")
    where = "of its own batch" if stays_within_batches(given.estimator) else "of the other batches"
    return [
        f"The samples were measured in {n_batches}: a sample has neighbors {where} only. Ranks of features"
        " alone, boxes and correlations are those of all batches together."
    ]


def _what_was_found(given: Given, weights: Weights) -> str:
    if not weights.n_positive:
        nothing = "nothing goes with the target" if given.measured else "nothing tells the classes apart"
        return (
            f"No feature weighs more than 0: by this method {nothing}, and the order of the features means"
            " nothing."
        )
    ranks = given.ranks
    # None of those that share a rank is better than the others.
    n_first = int(np.count_nonzero(ranks <= ranks[weights.order[:5]].max()))
    best = [given.feature_names[j] for j in weights.order[:n_first] if weights.values[j] > 0.0]
    found = f"The best {'feature is' if len(best) == 1 else 'features are'} {listed(best, 5)}."
    if weights.comparable and weights.n_positive > N_NAMED:
        share = percent(weights.share_of_best(N_NAMED))
        found += f" The best {N_NAMED} hold {share} of all positive weight."
    return f"{found} {kept_in_words(weights)}"


def _about_samples(given: Given, samples: Samples) -> str:
    """The second sentence of the part, which counts; with what it means."""
    if not samples.suspects:
        return samples.words[1]
    if samples.outlier_probability is not None:
        return (
            f"{samples.words[1]} By I-RELIEF, more of what is near is of other classes. A wrong label is one"
            " reason, a hard sample another."
        )
    return f"{samples.words[1]} Such samples are hard, and need not be mislabeled."


def _cautions(given: Given, weights: Weights, warnings: Sequence[str]) -> list[str]:
    told = []
    sizes = np.array([len(given.y)]) if given.measured else given.class_sizes
    small = [f"{given.classes[c]} ({size})" for c, size in enumerate(sizes) if size < _FEW_SAMPLES]
    if small and given.measured:
        told.append("Be careful: there are few samples, so that much is up to chance.")
    elif small:
        which = f"{'class' if len(small) == 1 else 'classes'} {listed(small, 5)}"
        told.append(f"Be careful: there are few samples of {which}, so that much is up to chance.")
    if sizes.max() >= _OUTWEIGHS * sizes.min() and not weighs_classes(given.estimator):
        told.append(
            f"Be careful: the classes differ much in size, {sizes.min():,} to {sizes.max():,} samples. Every"
            " sample counts, so that large classes have the most to say about the weights."
        )
    if given.X.shape[1] > 10 * len(given.codes):
        told.append(
            f"Be careful: there are {given.X.shape[1] / len(given.codes):,.0f} times as many features as"
            " samples. Among so many, some look good by chance; trust those that come back in most halves of"
            " the samples."
        )
    if warnings:
        told.append(f"The fit gave {counted(len(warnings), 'warning')}, shown below.")
    return told


def facts(
    given: Given,
    weights: Weights,
    convergence: Convergence | None,
    stability: Stability | None,
    samples: Samples | None,
) -> list[tuple[str, str]]:
    """Figures that stand out."""
    found = [
        ("Samples", f"{len(given.codes):,}"),
        ("Target", f"{number(given.y.min())} to {number(given.y.max())}")
        if given.measured
        else ("Classes", f"{len(given.classes):,}"),
        ("Features", f"{given.X.shape[1]:,}"),
        ("Kept", f"{weights.n_kept:,}"),
    ]
    if given.missing is not None:
        found.append(("Missing values", percent(float(given.missing.mean()))))
    if stability is not None and stability.selection.value is not None:
        best = "feature" if stability.n_best == 1 else f"{stability.n_best:,}"
        found.append((f"Stability of the best {best}", two_digits(stability.selection.value)))
    if samples is not None and samples.outlier_probability is not None:
        found.append(("Labels to check", f"{samples.n_suspects:,}"))
    if convergence is not None and not convergence.scheduled:
        found.append(("Came to rest", "yes" if convergence.converged else "no"))
    return found


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
    method_words = wording.words(estimator)
    return Contents(
        title=title or f"{wording.title(estimator)}: {counted(asked.X.shape[1], 'feature')} ranked",
        method=wording.title(estimator),
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
