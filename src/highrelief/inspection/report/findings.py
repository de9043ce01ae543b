"""The contents of a report from a fitted estimator: summary, facts and sections."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...base.selector import stays_within_batches, weighs_classes
from ...plots.drawing import counted
from ...selection.halves import checked_halves, fits_to_halves, why_not
from ..interactions import InteractionTable
from . import wording
from .contents import Contents, Convergence, Correlations, Interactions, Samples, Stability
from .diagnostics import RankSpread, convergence, describe_agreement, n_best, samples, stability
from .features import N_NAMED, Weights, correlations, describe_selection, distributions, feature_table
from .inputs import ReportInputs, describe_tertiles, report_inputs
from .interactions import describe_pairs, interacting_pairs, measure_interactions, named_interactions
from .origin import about_values, origin, python_again
from .wording import listed, number, percent, two_digits, with_article, with_interval

# Summary and facts

#: Class size below which results depend much on chance.
_FEW_SAMPLES = 10
#: Ratio of class sizes from which on the report warns of imbalance.
_OUTWEIGHS = 4


def summary(
    inputs: ReportInputs,
    weights: Weights,
    method_words: str,
    convergence: Convergence | None,
    stability: Stability | None,
    samples: Samples | None,
    correlations: Correlations | None,
    warnings: Sequence[str],
    interacting: Interactions | None = None,
) -> list[str]:
    """Summarize the result in sentences."""
    about_data = [_what_was_done(inputs), *_what_is_missing(inputs)]
    sentences = [*about_data, method_words, *_where_neighbors_are(inputs), _what_was_found(inputs, weights)]
    if convergence is not None:
        sentences.append(convergence.words[0])
    if stability is not None:
        agreement = describe_agreement(stability.n_best, stability.selection)
        sentences.append(
            f"{agreement[0].upper()}{agreement[1:]}: agreement {with_interval(stability.selection)}, where 0"
            " is chance and 1 is the same result."
        )
    if samples is not None:
        sentences.append(_about_samples(inputs, samples))
    if interacting is not None and interacting_pairs(interacting):
        sentences.append(describe_pairs(interacting_pairs(interacting)))
    if correlations is not None and correlations.groups:
        sentences.append(correlations.words[0])
    return sentences + _cautions(inputs, weights, warnings)


def _what_was_done(inputs: ReportInputs) -> str:
    if inputs.continuous_target:
        return _what_was_done_for_numbers(inputs)
    classes = [f"{name} ({size:,})" for name, size in zip(inputs.classes, inputs.class_sizes, strict=True)]
    n_samples, n_features = inputs.X.shape
    name = with_article(inputs.estimator)
    tell = "it tells" if n_features == 1 else "they tell"
    return (
        f"{name} ranked {counted(n_features, 'feature')} by how well {tell} the classes of {n_samples:,}"
        f" samples apart: {listed(classes)}."
    )


def _what_was_done_for_numbers(inputs: ReportInputs) -> str:
    n_samples, n_features = inputs.X.shape
    return (
        f"{with_article(inputs.estimator)} ranked {counted(n_features, 'feature')} by how far near samples"
        f" that differ in {'it' if n_features == 1 else 'them'} differ in the target too, a number between"
        f" {number(inputs.y.min())} and {number(inputs.y.max())} for each of {n_samples:,} samples."
    )


def _what_is_missing(inputs: ReportInputs) -> list[str]:
    """Describe how much is missing and how the method treats it."""
    if inputs.missing is None:
        return []
    share, n_incomplete = float(inputs.missing.mean()), int(np.count_nonzero(inputs.missing))
    most = int(np.argmax(inputs.missing))
    which = f"{percent(float(inputs.missing[most]))} of {inputs.feature_names[most]}"
    return [
        f"{percent(share)[0].upper()}{percent(share)[1:]} of the values {'are' if share >= 0.015 else 'is'}"
        f" missing, in {counted(n_incomplete, 'feature')}{', at most ' + which if n_incomplete > 1 else ''}."
        " Nothing was put in their place: a difference to a missing value is the one to be expected."
    ]


def _where_neighbors_are(inputs: ReportInputs) -> list[str]:
    """Describe the batches, if there are any."""
    if inputs.batches is None:
        return []
    n_batches = counted(np.unique(np.asarray(inputs.batches).astype(str)).size, "batch", "batches")
    where = "of its own batch" if stays_within_batches(inputs.estimator) else "of the other batches"
    return [
        f"The samples were measured in {n_batches}: a sample has neighbors {where} only. Ranks of features"
        " alone, boxes and correlations are those of all batches together."
    ]


def _what_was_found(inputs: ReportInputs, weights: Weights) -> str:
    if not weights.n_positive:
        nothing = (
            "nothing goes with the target" if inputs.continuous_target else "nothing tells the classes apart"
        )
        return (
            f"No feature weighs more than 0: by this method {nothing}, and the order of the features means"
            " nothing."
        )
    ranks = inputs.ranks
    # Name all features that share the last rank.
    n_first = int(np.count_nonzero(ranks <= ranks[weights.order[:5]].max()))
    best = [inputs.feature_names[j] for j in weights.order[:n_first] if weights.values[j] > 0.0]
    found = f"The best {'feature is' if len(best) == 1 else 'features are'} {listed(best, 5)}."
    if weights.comparable and weights.n_positive > N_NAMED:
        share = percent(weights.share_of_best(N_NAMED))
        found += f" The best {N_NAMED} hold {share} of all positive weight."
    return f"{found} {describe_selection(weights)}"


def _about_samples(inputs: ReportInputs, samples: Samples) -> str:
    """Return the sentence that counts suspects, with its interpretation."""
    if not samples.suspects:
        return samples.words[1]
    if samples.outlier_probability is not None:
        return (
            f"{samples.words[1]} By I-RELIEF, more of what is near is of other classes. A wrong label is one"
            " reason, a hard sample another."
        )
    return f"{samples.words[1]} Such samples are hard, and need not be mislabeled."


def _cautions(inputs: ReportInputs, weights: Weights, warnings: Sequence[str]) -> list[str]:
    sentences = []
    sizes = np.array([len(inputs.y)]) if inputs.continuous_target else inputs.class_sizes
    small = [f"{inputs.classes[c]} ({size})" for c, size in enumerate(sizes) if size < _FEW_SAMPLES]
    if small and inputs.continuous_target:
        sentences.append("Be careful: there are few samples, so that much is up to chance.")
    elif small:
        which = f"{'class' if len(small) == 1 else 'classes'} {listed(small, 5)}"
        sentences.append(f"Be careful: there are few samples of {which}, so that much is up to chance.")
    if sizes.max() >= _OUTWEIGHS * sizes.min() and not weighs_classes(inputs.estimator):
        sentences.append(
            f"Be careful: the classes differ much in size, {sizes.min():,} to {sizes.max():,} samples. Every"
            " sample counts, so that large classes have the most to say about the weights."
        )
    if inputs.X.shape[1] > 10 * len(inputs.codes):
        sentences.append(
            f"Be careful: there are {inputs.X.shape[1] / len(inputs.codes):,.0f} times as many features as"
            " samples. Among so many, some look good by chance; trust those that come back in most halves of"
            " the samples."
        )
    if warnings:
        sentences.append(f"The fit gave {counted(len(warnings), 'warning')}, shown below.")
    return sentences


def facts(
    inputs: ReportInputs,
    weights: Weights,
    convergence: Convergence | None,
    stability: Stability | None,
    samples: Samples | None,
) -> list[tuple[str, str]]:
    """Return the key figures of the report as (name, value)."""
    found = [
        ("Samples", f"{len(inputs.codes):,}"),
        ("Target", f"{number(inputs.y.min())} to {number(inputs.y.max())}")
        if inputs.continuous_target
        else ("Classes", f"{len(inputs.classes):,}"),
        ("Features", f"{inputs.X.shape[1]:,}"),
        ("Kept", f"{weights.n_kept:,}"),
    ]
    if inputs.missing is not None:
        found.append(("Missing values", percent(float(inputs.missing.mean()))))
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
    value_labels: Mapping[str, Sequence[str]] | None = None,
) -> Contents:
    """Return the contents of the report of a fitted estimator.

    Parameters
    ----------
    estimator, X, y, title, feature_names, sample_names, resamples, random_state, n_jobs, groups, batches
        As in :func:`highrelief.report`.
    interactions : bool, InteractionTable, str or None
        As in :func:`highrelief.report`; or interactions measured before, or the reason why they were not.
    notes, warnings : sequence of str
        Notes on how the data was read, and warnings of the fit.
    data, time : mapping of str to str, default=None
        Facts about the data and the run times, by name; None: digests of the values, and the current time.
    again : str, default=None
        Command that reproduces the report; None: Python code.
    value_labels : mapping of str to sequence of str, default=None
        Labels of the values 0, 1, … of some features, by feature name.

    Returns
    -------
    contents : Contents
        Plain values.
    """
    resamples = checked_halves("resamples", resamples, or_none=True)
    inputs = report_inputs(
        estimator,
        X,
        y,
        feature_names=feature_names,
        sample_names=sample_names,
        batches=batches,
        groups=groups,
        value_labels=value_labels,
    )
    weights = Weights.of(inputs)
    absent: dict[str, str] = {}

    def part(name: str, section: Any) -> Any:
        """Return a section; for a string, record it as the reason and return None."""
        if not isinstance(section, str):
            return section
        absent[name] = section
        return None

    begin = clock.perf_counter()
    resampled = part("stability", _resampled(inputs, weights, resamples, random_state, n_jobs))
    known_time = dict(time) if time is not None else {"Made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"}
    if resampled is not None:
        known_time["Resampling took"] = f"{clock.perf_counter() - begin:.2f} s"
    stable, spread = (None, None) if resampled is None else resampled
    course = part("convergence", convergence(estimator))
    margins = part("samples", samples(inputs))
    alike = part("correlations", correlations(inputs))
    begin = clock.perf_counter()
    if isinstance(interactions, (InteractionTable, str)):
        table = interactions
    else:
        table = measure_interactions(
            inputs,
            weights,
            requested=interactions,
            resamples=resamples,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        if not isinstance(table, str):
            known_time["Interactions took"] = f"{clock.perf_counter() - begin:.2f} s"
    interacting = part("interactions", table if isinstance(table, str) else named_interactions(inputs, table))
    method_words = wording.words(estimator)
    return Contents(
        title=title or f"{wording.title(estimator)}: {counted(inputs.X.shape[1], 'feature')} ranked",
        method=wording.title(estimator),
        method_class=type(estimator).__name__,
        method_words=method_words,
        classes=inputs.classes,
        class_sizes=inputs.class_sizes.tolist(),
        summary=summary(inputs, weights, method_words, course, stable, margins, alike, warnings, interacting),
        facts=facts(inputs, weights, course, stable, margins),
        features=feature_table(inputs, weights, spread),
        convergence=course,
        stability=stable,
        samples=margins,
        distributions=distributions(inputs),
        correlations=alike,
        interactions=interacting,
        origin=origin(
            estimator,
            data=about_values(inputs.X, inputs.y) if data is None else data,
            time=known_time,
            again=again or python_again(inputs, resamples=resamples, random_state=random_state),
        ),
        notes=list(notes),
        warnings=list(warnings),
        absent=absent,
        tertiles=describe_tertiles(inputs.y) if inputs.continuous_target else "",
    )


def measure_top_interactions(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    requested: bool | None,
    resamples: int,
    random_state: Any,
    n_jobs: int | None,
    groups: ArrayLike | None,
    batches: ArrayLike | None,
    feature_names: Sequence[str] | None,
    value_labels: Mapping[str, Sequence[str]] | None,
) -> InteractionTable | str:
    """Measure the interactions of the best features without a report; or return the reason why not."""
    inputs = report_inputs(
        estimator,
        X,
        y,
        feature_names=feature_names,
        sample_names=None,
        batches=batches,
        groups=groups,
        value_labels=value_labels,
    )
    return measure_interactions(
        inputs,
        Weights.of(inputs),
        requested=requested,
        resamples=resamples,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def _resampled(
    inputs: ReportInputs, weights: Weights, resamples: int, random_state: Any, n_jobs: int | None
) -> tuple[Stability, RankSpread] | str:
    """Measure how stable the ranking is; or return a sentence with the reason why not."""
    if not resamples:
        return "Stability was not measured: resampling was switched off."
    # A continuous target is halved as one class; sizes are as if there were two equal ones.
    sizes = np.full(2, len(inputs.y) // 2) if inputs.continuous_target else inputs.class_sizes
    reason = why_not(sizes, inputs.X.shape[1])
    if reason is not None:
        return reason
    try:
        fits = fits_to_halves(
            inputs.unfitted,
            inputs.X,
            inputs.y,
            resamples=resamples,
            random_state=random_state,
            n_jobs=n_jobs,
            groups=inputs.groups,
            batches=inputs.batches,
        )
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"Stability was not measured; the method cannot be fitted to half of the samples: {sentence}."
    best = n_best(weights.n_kept, inputs.X.shape[1], chosen=weights.chosen)
    if inputs.groups is not None:
        drawn = "each group in one half as a whole"
    else:
        drawn = "" if inputs.continuous_target else "class by class"
    return stability(fits, best, drawn=drawn)
