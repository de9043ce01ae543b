"""The finding of a report: which features stand out, how many to keep, and how far to trust it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, f_oneway, pearsonr

from ...base.meta import fit_inside
from ..recommendation import LEVEL, Recommendation
from .contents import Answer, Finding, Interactions, PairPicture, Stability
from .diagnostics import EXCELLENT, NEARLY_ALL, POOR, RankSpread
from .features import Weights, few_levels, interacting_pairs, pair_picture, partner_pairs
from .inputs import ReportInputs
from .wording import is_one_by_one, listed, number, percent, two_digits

#: Features named in the headline, and examined by themselves.
_NAMED, _EXAMINED = 5, 20
#: Ratio of weights from which on there is a gap between them.
_GAP = 1.5
#: p-value above which a feature by itself shows no association with the target.
_ALONE = 0.05
#: Pictures of pairs.
_PICTURES = 3
#: Samples of the smallest class below which trust is never high.
_FEW_SAMPLES = 10


def finding(
    inputs: ReportInputs,
    weights: Weights,
    recommendation: Recommendation | str,
    stability: Stability | None,
    spread: RankSpread | None,
    interactions: Interactions | None = None,
) -> Finding:
    """Return the finding in words."""
    if isinstance(recommendation, str):
        best = [inputs.feature_names[j] for j in weights.order[:_NAMED]]
        return Finding(
            f"The best {'feature is' if len(best) == 1 else 'features are'} {listed(best, _NAMED)}.",
            [],
            "How many to keep is not known",
            recommendation,
            "unknown",
            "Without a recommendation there is nothing to assess.",
            None,
            None,
        )
    best = [int(j) for j in weights.order if recommendation.features[j]]
    without_effect = _without_effect_alone(inputs, best)
    sentences = (
        [
            *_gap(inputs, weights, recommendation, best),
            *_in_halves(best, stability, spread),
            *_alone(inputs, best, without_effect),
            *_pairs(inputs, interactions),
        ]
        if best
        else [_next(inputs, weights, recommendation)]
    )
    grade, reason = trust(inputs, recommendation, stability, spread)
    return Finding(
        _headline(inputs, best, without_effect),
        sentences,
        recommendation.headline,
        recommendation.reason,
        grade,
        reason,
        recommendation.n_features,
        recommendation.threshold,
        answers(inputs, weights, recommendation, stability, spread),
    )


def pair_pictures(
    inputs: ReportInputs, recommendation: Recommendation | str, interactions: Interactions | None
) -> list[PairPicture]:
    """Return pictures of the pairs that interact; if none is known, of two that only both matter."""
    places = {name: j for j, name in enumerate(inputs.feature_names)}
    pairs = [] if interactions is None else interacting_pairs(interactions)
    chosen = [(places[each.first], places[each.second]) for each in pairs] or partner_pairs(inputs)
    if not chosen and not isinstance(recommendation, str):
        best = [int(j) for j in inputs.order if recommendation.features[j]]
        together = _without_effect_alone(inputs, best)
        if len(together) == 2 or len(best) == 2:
            chosen = [tuple(together if len(together) == 2 else best)]  # type: ignore[list-item]
    return [pair_picture(inputs, *each) for each in chosen[:_PICTURES]]


# Which stand out


def _names(inputs: ReportInputs, features: Sequence[int], most: int = _NAMED) -> str:
    return listed([inputs.feature_names[j] for j in features], most)


def _headline(inputs: ReportInputs, best: list[int], without_effect: list[int]) -> str:
    n_features = inputs.X.shape[1]
    if not best:
        return "No feature stands out from chance."
    verb = "stands" if len(best) == 1 else "stand"
    if len(best) > _NAMED:
        first = _names(inputs, best[:3])
        return f"{len(best):,} of {n_features:,} features stand out, first of all {first}."
    if len(best) > 1 and without_effect == best:
        return f"{_names(inputs, best)} stand out, and matter only in combination."
    return f"{_names(inputs, best)} {verb} out."


def _gap(
    inputs: ReportInputs, weights: Weights, recommendation: Recommendation, best: list[int]
) -> list[str]:
    """Compare the recommended features with the next one."""
    others = [int(j) for j in weights.order if not recommendation.features[j]]
    if not others:
        return []
    it, each = ("It", "It has") if len(best) == 1 else ("They", "Each has")
    if not weights.comparable:
        if recommendation.adjusted_pvalues is None:
            return []
        largest = float(recommendation.adjusted_pvalues[best].max())
        next_one = float(recommendation.adjusted_pvalues[others].min())
        are = "is" if len(best) == 1 else "are at most"
        p = "Its adjusted p-value" if len(best) == 1 else "Their adjusted p-values"
        return [f"{p} {are} {number(largest)}; the smallest of the others is {number(next_one)}."]
    least, following = float(weights.values[best].min()), float(weights.values[others].max())
    if following <= 0.0:
        return [f"{it} alone {'has' if len(best) == 1 else 'have'} a positive weight."]
    ratio = least / following
    if ratio >= _GAP:
        times = f"{ratio:,.1f}" if ratio < 10.0 else f"{ratio:,.0f}"
        next_name = inputs.feature_names[max(others, key=lambda j: weights.values[j])]
        return [f"{each} at least {times} times the weight of the next feature, {next_name}."]
    return [_next_in_rank(inputs, until_gap(weights, others))]


def _next_in_rank(inputs: ReportInputs, close: list[int]) -> str:
    """Describe features that are not recommended, although there is no gap before them."""
    if not close:
        return "Weights fall without a gap: the features next in rank are only a little weaker."
    are = "is" if len(close) == 1 else "are"
    return f"{_names(inputs, close)} {are} nearly as strong but not beyond chance; then the weights drop."


def until_gap(weights: Weights, features: list[int]) -> list[int]:
    """Return the first features up to a gap in their weights; none if there is no gap after a few of them."""
    values = weights.values[features[: _NAMED + 1]]
    for n, (weight, following) in enumerate(pairwise(values), start=1):
        if weight > 0.0 and weight >= _GAP * following:
            return features[:n]
    return []


def _next(inputs: ReportInputs, weights: Weights, recommendation: Recommendation) -> str:
    """Describe how far the best feature is from being recommended."""
    best = int(weights.order[0])
    name, weight = inputs.feature_names[best], float(weights.values[best])
    if recommendation.threshold is not None and weights.comparable and weight > 0.0:
        return (
            f"The best feature, {name}, has a weight of {number(weight)}; {number(recommendation.threshold)}"
            " or more would be beyond chance. The order of the features means little."
        )
    return f"The best feature is {name}. The order of the features means little."


def _in_halves(best: list[int], stability: Stability | None, spread: RankSpread | None) -> list[str]:
    if stability is None or spread is None or stability.n_best != len(best):
        return []
    often = spread.frequency[best]
    halves = f"{stability.n_resamples} halves of the samples"
    if len(best) == 1:
        return [f"It ranks first in {_share_of(float(often[0]), halves)}."]
    if (often == 1.0).all():
        return [f"They take the first {len(best):,} ranks in all {halves}."]
    if len(best) <= _NAMED:
        low, high = percent(float(often.min())), percent(float(often.max()))
        each = low if low == high else f"{low} to {high}"
        return [f"Each of them is among the first {len(best):,} in {each} of {halves}."]
    again = int(np.count_nonzero(often >= NEARLY_ALL))
    number_again = "All" if again == len(best) else f"{again:,}"
    are = "is" if again == 1 else "are"
    return [
        f"{number_again} of them {are} among the first {len(best):,} in at least {percent(NEARLY_ALL)} of"
        f" {halves}."
    ]


def _share_of(share: float, halves: str) -> str:
    return f"all {halves}" if share == 1.0 else f"{percent(share)} of {halves}"


def _without_effect_alone(inputs: ReportInputs, best: Sequence[int]) -> list[int]:
    """Return the features that show no association with the target by themselves."""
    if is_one_by_one(inputs.estimator):
        return []
    return [j for j in best[:_EXAMINED] if pvalue_alone(inputs, j) > _ALONE]


def pvalue_alone(inputs: ReportInputs, feature: int) -> float:
    """Return the p-value of the association of one feature with the target.

    Of features with few values that of χ², or of an analysis of variance for a continuous target; of numbers
    that of an analysis of variance, or of Pearson's correlation.
    """
    values, levels = inputs.X[:, feature].astype(np.float64), few_levels(inputs, feature)
    known = ~np.isnan(values)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if inputs.continuous_target and levels is None:
                found = pearsonr(values[known], inputs.y[known]).pvalue
            elif inputs.continuous_target:
                found = f_oneway(*_by(levels[1][known], inputs.y[known])).pvalue  # type: ignore[index]
            elif levels is None:
                found = f_oneway(*_by(inputs.codes[known], values[known])).pvalue
            else:
                table = np.zeros((len(inputs.classes), len(levels[0])))
                np.add.at(table, (inputs.codes[known], levels[1][known].astype(int)), 1.0)
                table = table[table.any(axis=1)][:, table.any(axis=0)]
                found = chi2_contingency(table).pvalue if min(table.shape) > 1 else 1.0
        except ValueError:
            return 0.0
    return float(found) if np.isfinite(found) else 0.0


def _by(codes: NDArray[np.number], values: NDArray[np.number]) -> list[NDArray[np.number]]:
    return [values[codes == code] for code in np.unique(codes)]


def _alone(inputs: ReportInputs, best: list[int], without_effect: list[int]) -> list[str]:
    if not without_effect or len(best) == 1:
        return []
    target = "the target" if inputs.continuous_target else "the class"
    ps = [f"p = {pvalue_alone(inputs, j):.2f}" for j in without_effect[:_NAMED]]
    if len(without_effect) == 2 == len(best):
        return [f"Alone, neither is associated with {target} ({' and '.join(ps)}): use both or none."]
    named = [f"{inputs.feature_names[j]} ({p})" for j, p in zip(without_effect[:_NAMED], ps, strict=True)]
    left = len(without_effect) - len(named)
    more = f" and {left} more" if left else ""
    is_ = "is" if len(without_effect) == 1 else "are"
    matters = "it matters" if len(without_effect) == 1 else "they matter"
    return [
        f"Alone, {listed(named) if not more else ', '.join(named)}{more} {is_} not associated with {target}:"
        f" {matters} in combination."
    ]


def _pairs(inputs: ReportInputs, interactions: Interactions | None) -> list[str]:
    if interactions is not None:
        pairs = interacting_pairs(interactions)
        if not pairs:
            return []
        named = [f"{each.first} and {each.second}" for each in pairs]
        return [f"They interact: without one, the other loses most of its weight ({listed(named, 3)})."]
    found = partner_pairs(inputs)
    if not found:
        return []
    named = [f"{inputs.feature_names[i]} and {inputs.feature_names[j]}" for i, j in found]
    by = type(fit_inside(inputs.estimator)).__name__
    pairs_are = "pair" if len(named) == 1 else "pairs"
    return [f"Interacting {pairs_are}, by {by}: {listed(named, 3)}."]


# How far to trust it


def trust(
    inputs: ReportInputs,
    recommendation: Recommendation | str,
    stability: Stability | None,
    spread: RankSpread | None,
) -> tuple[str, str]:
    """Return "high", "moderate", "low" or "unknown", with a sentence.

    By the agreement of two halves of the samples on the recommended features (Nogueira's stability): high
    from 0.75 on, low below 0.4. Never high for a class of fewer than 10 samples.
    """
    if isinstance(recommendation, str) or recommendation.n_features == 0:
        return "low", "Nothing here is distinguishable from noise; more samples may change that."
    if stability is None or spread is None:
        return "unknown", "Stability was not measured, so that only chance is excluded."
    value = stability.selection.value or 0.0
    what = "this feature" if recommendation.n_features == 1 else f"these {stability.n_best:,} features"
    agree = (
        f"Two halves of the samples agree on {what} by {two_digits(value)} (0 is chance, 1 is identical;"
        f" {stability.n_resamples} halves)"
    )
    grade = "high" if value >= EXCELLENT else "moderate" if value >= POOR else "low"
    smallest = len(inputs.y) if inputs.continuous_target else int(inputs.class_sizes.min())
    if grade == "high" and smallest < _FEW_SAMPLES:
        grade, rest = "moderate", f", but there are few samples ({smallest})"
    elif grade == "high" and recommendation.level is None:
        grade, rest = "moderate", ", but chance was not excluded"
    elif grade == "high":
        rest = ""
    elif (recommendation.n_at_fdr or 0) >= 2 * recommendation.n_features:
        rest = (
            f". About {recommendation.n_at_fdr:,} features are related to the target; which of them come"
            " first depends on the samples"
        )
    else:
        rest = f": {'part' if grade == 'moderate' else 'most'} of the list would change with other samples"
    return grade, f"{agree}{rest}."


# Other answers


def answers(
    inputs: ReportInputs,
    weights: Weights,
    recommendation: Recommendation,
    stability: Stability | None,
    spread: RankSpread | None,
) -> list[Answer]:
    """Return the recommended number and others, each with the question that it answers."""
    estimator = inputs.estimator
    level = recommendation.level
    decided = (
        "Which does the method select?"
        if level is None
        else f"Which can be reported, with a chance of at most {100.0 * level:g} % that any is false?"
    )
    found = [Answer(decided, recommendation.n_features, recommendation.reason, recommended=True)]
    if recommendation.n_at_fdr is not None:
        found.append(
            Answer(
                "Which list is worth following up, if some of it may be false?",
                recommendation.n_at_fdr,
                f"False discovery rate {100.0 * LEVEL:g} % (Benjamini and Hochberg), from the same p-values.",
            )
        )
    if stability is not None and spread is not None:
        again = int(np.count_nonzero(spread.frequency >= NEARLY_ALL))
        found.append(
            Answer(
                "Which would come back with other samples?",
                again,
                f"Among the best {stability.n_best:,} in at least {percent(NEARLY_ALL)} of"
                f" {stability.n_resamples} halves of the samples.",
            )
        )
    by_cv = getattr(estimator, "n_features_", None) if hasattr(estimator, "cv_results_") else None
    found.append(
        Answer(
            "How many predict best?",
            None if by_cv is None else int(by_cv),
            "Largest cross-validated accuracy."
            if by_cv is not None
            else "Not computed: use CrossValidatedSelector, or highrelief compare.",
        )
    )
    if estimator.n_features_to_select is not None:
        found.append(Answer("How many were requested?", weights.n_kept, "n_features_to_select."))
    if weights.comparable:
        found.append(
            Answer(
                "Which have a positive weight?",
                weights.n_positive,
                "No selection: about half of all irrelevant features have one by chance."
                if (weights.values < 0.0).any()
                else "No selection: irrelevant features have one, too.",
            )
        )
    return found
