"""Contents of the page of a comparison as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ...catalog import METHODS
from ...selection.cross_validation import N_NEIGHBORS
from ..comparison import Accuracy, Comparison, MethodResult, difference_interval
from .contents import Estimate, Origin
from .wording import listed, two_digits

#: Descriptions of the classifiers of :func:`highrelief.inspection.comparison.compare`.
CLASSIFIER_DESCRIPTIONS = {
    "knn": f"the {N_NEIGHBORS} nearest neighbors, on features scaled to [0, 1]",
    "linear-svm": "a linear support vector machine, C = 1, on standardized features",
}
#: Features in the table of selection frequencies.
N_CHOSEN = 25


@dataclass(frozen=True)
class ClassifierResult:
    """Accuracy of a classifier on the features that a method selects."""

    classifier: str
    accuracy: Estimate
    #: Accuracy in each fold.
    folds: list[float]
    #: Gain over all features, paired by fold; the bounds are None if they cannot be estimated.
    gain: Estimate
    #: Deficit to the most accurate method (0 for itself), paired by fold.
    behind: Estimate
    #: Harmonic mean of ranking stability and accuracy; None for the baseline.
    tradeoff: float | None


@dataclass(frozen=True)
class ComparedMethod:
    """Results of a method over the outer folds."""

    name: str
    #: Description in a line; empty if unknown.
    words: str
    is_baseline: bool
    #: In the order of ``ComparisonContents.classifiers``.
    classifier_results: list[ClassifierResult]
    #: Number of selected features: median, minimum and maximum over the folds.
    n_features: Estimate
    #: Mean rank correlation between folds; None for the baseline.
    ranking_stability: float | None
    #: Nogueira's stability of the selections.
    selection_stability: Estimate
    #: Median time of one fit over the folds; None for the baseline.
    seconds: float | None


@dataclass(frozen=True)
class ChosenFeatures:
    """Selection frequencies and ranks of the features that are selected most often."""

    features: list[str]
    #: Methods, without the baseline.
    methods: list[str]
    #: Feature by method: share of the folds in which it is selected, and its median rank; None if its weight
    #: is 0 in most folds, where its rank is arbitrary.
    shares: list[list[float]]
    ranks: list[list[float | None]]
    words: list[str]


@dataclass(frozen=True)
class ComparisonContents:
    """Contents of the page of a comparison."""

    title: str
    summary: list[str]
    #: Key figures: name and value.
    facts: list[tuple[str, str]]
    classifiers: list[str]
    #: Descriptions by name, as far as known.
    classifier_descriptions: dict[str, str]
    #: Confidence level of the intervals of the accuracy, in [0, 1].
    confidence: float
    n_folds: int
    #: In the order of the arguments; the last is the baseline.
    methods: list[ComparedMethod]
    chosen: ChosenFeatures
    origin: Origin
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def comparison_contents(
    comparison: Comparison,
    origin: Origin,
    *,
    feature_names: Sequence[str] | None = None,
    classifier_descriptions: Mapping[str, str] = CLASSIFIER_DESCRIPTIONS,
    title: str = "Comparison of methods",
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> ComparisonContents:
    """Return the contents of the page of a comparison.

    Parameters
    ----------
    comparison : Comparison
        The result of :func:`highrelief.inspection.comparison.compare`.
    origin : Origin
        Provenance of the comparison.
    feature_names : sequence of str, default=None
        In the order of the columns; x0, x1, … if None.
    classifier_descriptions : mapping of str to str
        Descriptions of the classifiers, by name.
    title : str
        Title of the page.
    notes, warnings : sequence of str
        Notes on the data, and warnings.

    Returns
    -------
    ComparisonContents
        Plain values.
    """
    n_features = comparison.methods[0].selections.shape[1]
    names = [f"x{each}" for each in range(n_features)]
    if feature_names is not None:
        names = [str(each) for each in feature_names]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; the comparison is of {n_features} features.")
    methods = _methods(comparison)
    accuracies, n_folds = comparison.methods[0].accuracy, len(comparison.folds)
    confidence = next(iter(accuracies.values())).confidence
    n_samples = len(set(np.concatenate([np.concatenate(fold) for fold in comparison.folds]).tolist()))
    return ComparisonContents(
        title=title,
        summary=_summary(methods, n_features, n_folds, confidence),
        facts=[
            ("Samples", f"{n_samples:,}"),
            ("Features", f"{n_features:,}"),
            ("Methods", str(len(methods) - 1)),
            ("Folds", str(n_folds)),
        ],
        classifiers=list(accuracies),
        classifier_descriptions={
            name: str(classifier_descriptions[name]) for name in accuracies if name in classifier_descriptions
        },
        confidence=confidence,
        n_folds=n_folds,
        methods=methods,
        chosen=_chosen(comparison.methods[:-1], names),
        origin=origin,
        notes=list(notes),
        warnings=list(warnings),
    )


# Numbers


def _methods(comparison: Comparison) -> list[ComparedMethod]:
    baseline = comparison.methods[-1]
    best = {name: _most_accurate(comparison, name) for name in baseline.accuracy}
    found = []
    for method in comparison.methods:
        is_baseline = method is baseline
        counts = method.n_features
        selection = method.selection_stability
        found.append(
            ComparedMethod(
                name=method.name,
                words="every feature is kept" if is_baseline else _words(method.name),
                is_baseline=is_baseline,
                classifier_results=[
                    ClassifierResult(
                        classifier=name,
                        accuracy=Estimate(accuracy.mean, *accuracy.interval),
                        folds=accuracy.folds.tolist(),
                        gain=_difference(accuracy, baseline.accuracy[name]),
                        behind=_difference(best[name].accuracy[name], accuracy),
                        tradeoff=_number_or_none(method.tradeoff[name]),
                    )
                    for name, accuracy in method.accuracy.items()
                ],
                n_features=Estimate(float(np.median(counts)), float(counts.min()), float(counts.max())),
                ranking_stability=_number_or_none(method.ranking_stability),
                # The measure is at most 1; the interval of its estimate may reach beyond.
                selection_stability=Estimate(
                    _number_or_none(selection.stability),
                    _number_or_none(selection.lower),
                    _number_or_none(min(selection.upper, 1.0)),
                ),
                seconds=None if is_baseline else float(np.median(method.seconds)),
            )
        )
    return found


def _most_accurate(comparison: Comparison, classifier: str) -> MethodResult:
    """Return the most accurate method without the baseline; the first of equals."""
    return max(comparison.methods[:-1], key=lambda each: round(each.accuracy[classifier].mean, 12))


def _difference(accuracy: Accuracy, other: Accuracy) -> Estimate:
    """Return the difference of two accuracies, paired by fold."""
    above = accuracy.folds - other.folds
    ends = difference_interval(above, accuracy.n_fitted, accuracy.n_left_out, confidence=accuracy.confidence)
    return Estimate(float(above.mean()), _number_or_none(ends[0]), _number_or_none(ends[1]))


def _number_or_none(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _words(name: str) -> str:
    return METHODS[name].summary if name in METHODS else ""


def _chosen(methods: Sequence[MethodResult], names: Sequence[str]) -> ChosenFeatures:
    """Return the features selected by most methods and most often, ties by rank."""
    shares = np.stack([each.selections.mean(axis=0) for each in methods])
    weights = [np.asarray(each.weights) for each in methods]
    ranks = np.stack([np.median(rankdata(-each, axis=1), axis=0) for each in weights])
    weighs = np.stack([np.median(each != 0.0, axis=0) > 0.0 for each in weights])
    often = (shares >= 0.5).sum(axis=0)
    order = np.lexsort((ranks.mean(axis=0), -shares.mean(axis=0), -often))
    shown = [each for each in order[:N_CHOSEN] if shares[:, each].any()]
    return ChosenFeatures(
        features=[names[each] for each in shown],
        methods=[each.name for each in methods],
        shares=shares[:, shown].T.tolist(),
        ranks=[
            [
                float(rank) if weighing else None
                for rank, weighing in zip(ranks[:, each], weighs[:, each], strict=True)
            ]
            for each in shown
        ],
        words=_chosen_words(often, len(methods)),
    )


# Sentences


def _summary(methods: list[ComparedMethod], n_features: int, n_folds: int, confidence: float) -> list[str]:
    chosen, baseline = methods[:-1], methods[-1]
    how_many = "One method" if len(chosen) == 1 else f"{len(chosen)} methods"
    sentences = [
        f"{how_many} chose among {n_features:,} features: {listed([each.name for each in chosen])}. In each"
        f" of {n_folds} folds some samples were left out, the others alone chose the features, and then the"
        " samples left out were classified."
    ]
    for place, classifier in enumerate(each.classifier for each in baseline.classifier_results):
        sentences_of_classifier = [
            _best_words(chosen, place, classifier, confidence),
            _against_all(chosen, baseline, place),
        ]
        sentences.append(" ".join(sentences_of_classifier))
    if len(chosen) > 1:
        sentences += [*_stability_words(chosen), _size_words(chosen)]
    return sentences


def _best_words(methods: list[ComparedMethod], place: int, classifier: str, confidence: float) -> str:
    """Describe the most accurate method, and which of the others differ by more than chance."""
    by_method = {each.name: each.classifier_results[place] for each in methods}
    best = [name for name, each in by_method.items() if round(each.behind.value or 0.0, 12) == 0.0]
    top = by_method[best[0]].accuracy
    ends = f"{100.0 * confidence:g} % interval {percent(top.lower)} to {percent(top.upper)}"
    reached = f"{percent(top.value)} ({ends})"
    if len(methods) == 1:
        return f"With {classifier}, {best[0]} reaches {reached}."
    if len(best) > 1:
        words = [f"With {classifier}, {listed(best)} are equally accurate: {percent(top.value)}."]
    else:
        words = [f"With {classifier}, {best[0]} is the most accurate: {reached}."]
    beyond_chance = [name for name, each in by_method.items() if name not in best and is_apart(each.behind)]
    within_chance = [name for name in by_method if name not in best and name not in beyond_chance]
    if beyond_chance:
        points = [
            f"{name} (by {100.0 * (by_method[name].behind.value or 0.0):.1f} points)"
            for name in beyond_chance
        ]
        words.append(f"Less accurate by more than chance gives: {listed(points)}.")
    if within_chance:
        words.append(f"For {listed(within_chance)} the difference is within what chance gives.")
    return " ".join(words)


def _against_all(methods: list[ComparedMethod], baseline: ComparedMethod, place: int) -> str:
    """Describe whether selection improved on all features."""
    words = (
        f"Without selection, all features reach {percent(baseline.classifier_results[place].accuracy.value)}"
    )
    gains = {
        each.name: each.classifier_results[place].gain
        for each in methods
        if is_apart(each.classifier_results[place].gain)
    }
    better = [name for name, gain in gains.items() if (gain.value or 0.0) > 0.0]
    worse = [name for name in gains if name not in better]
    verdicts = [
        f"{listed(names)} {'are' if len(names) > 1 else 'is'} {where} that by more than chance gives"
        for names, where in ((better, "above"), (worse, "below"))
        if names
    ]
    return f"{words}; {'; '.join(verdicts) or 'no difference from that is beyond what chance gives'}."


def _stability_words(methods: list[ComparedMethod]) -> list[str]:
    ranked = {each.name: each.ranking_stability for each in methods if each.ranking_stability is not None}
    if not ranked:
        return []
    most, least = max(ranked, key=lambda name: ranked[name]), min(ranked, key=lambda name: ranked[name])
    if two_digits(ranked[most]) == two_digits(ranked[least]):
        return [
            f"The rankings of {listed(list(ranked))} depend equally on which samples are drawn: between folds"
            f" the ranks correlate by {two_digits(ranked[most])} on average (1 is the same ranking in every"
            " fold, 0 is chance)."
        ]
    return [
        f"The ranking of {most} depends least on which samples are drawn, that of {least} most: between folds"
        f" the ranks correlate by {two_digits(ranked[most])} and {two_digits(ranked[least])} on average (1 is"
        " the same ranking in every fold, 0 is chance)."
    ]


def _size_words(methods: list[ComparedMethod]) -> str:
    least = min(each.n_features.value or 0.0 for each in methods)
    fewest = [each for each in methods if each.n_features.value == least]
    low = min(each.n_features.lower or 0.0 for each in fewest)
    high = max(each.n_features.upper or 0.0 for each in fewest)
    over = "in every fold" if low == high else f"on median, {low:,.0f} to {high:,.0f} over the folds"
    if len(fewest) == len(methods):
        return f"All methods keep equally many features: {least:,.0f} {over}."
    return f"The fewest features are kept by {listed([each.name for each in fewest])}: {least:,.0f} {over}."


def is_apart(difference: Estimate) -> bool:
    """Return whether the interval of a difference excludes 0."""
    if difference.lower is None or difference.upper is None:
        return False
    return difference.lower > 0.0 or difference.upper < 0.0


def percent(share: float | None) -> str:
    """Format a share in per cent; None as a dash."""
    return "–" if share is None else f"{100.0 * share:.1f} %"  # noqa: RUF001


def _chosen_words(often: NDArray[np.int64], n_methods: int) -> list[str]:
    """Describe how far the methods agree."""
    by_any, by_all = int((often > 0).sum()), int((often == n_methods).sum())
    if by_any == 0:
        return ["No feature is kept in half of the folds by any method."]
    selected_often = (
        f"{by_any:,} feature{'s are' if by_any > 1 else ' is'} kept in at least half of the folds"
    )
    if n_methods == 1:
        return [f"{selected_often}."]
    every_method = "both" if n_methods == 2 else f"all {n_methods}"
    return [f"{selected_often} by one method or more, {by_all:,} by {every_method}."]
