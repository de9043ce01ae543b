"""Convergence, stability and sample margins of a report, in numbers and in sentences.

Stability is measured by fits to random halves of the samples. A weight varies over halves as it would over
new tables of full size: the mean of half of n samples, drawn without replacement, has the variance σ²/n
around the mean of all, as the mean of n new samples has around the truth. This holds to first order; weights
of irrelevant features, which are pure noise, vary more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.meta import fit_inside
from ...base.weighter import LIKELY, suspects
from ...io.cells import counted
from ...plots.convergence import ran_its_schedule, weight_tolerance
from ...selection.halves import HALF, HalfFits, agreement_by_size, members, ranking_agreement
from ...stability import default_sizes
from .contents import Convergence, Estimate, Samples, Stability
from .inputs import ReportInputs
from .wording import is_one_by_one, listed, number, percent, with_interval

_CHANGE = "Change of the weights (Euclidean norm)"
#: Methods that make a fixed number of passes.
_PASSES = ("FREL", "Lmba", "Simba")


def convergence(estimator: Any) -> Convergence | str:
    """Return the convergence of an iteration; or a sentence with the reason if there is none."""
    inside = fit_inside(estimator)
    name = type(inside).__name__
    if getattr(inside, "history_", None) is None:
        return _reason_without_history(inside)
    steps = [float(change) for change in inside.history_]
    cycle = int(getattr(inside, "cycle_length_", 0))
    converged = bool(getattr(inside, "converged_", False))
    if name == "GFlip":
        return Convergence(
            steps,
            "Features taken in or out, in each sweep",
            None,
            converged,
            0,
            _describe_flips(steps, converged),
        )
    if name == "OnlineIRelief":
        sentences = [
            f"{counted(len(steps), 'pass', 'passes')} over the samples; the last changed the weights by"
            f" {number(steps[-1])}. There is no bound to wait for: it ends when all passes are made."
        ]
        return Convergence(steps, f"{_CHANGE} in each pass", None, converged, 0, sentences, scheduled=True)
    scheduled = ran_its_schedule(inside)
    sentences = _describe_convergence(inside, steps, converged, cycle, scheduled=scheduled)
    meaning = f"{_CHANGE} in each iteration"
    tolerance = weight_tolerance(inside)
    return Convergence(steps, meaning, tolerance, converged, cycle, sentences, scheduled=scheduled)


def _reason_without_history(inside: Any) -> str:
    name = type(inside).__name__
    if hasattr(inside, "estimators_"):
        ends = [bool(each.converged_) for each in inside.estimators_ if hasattr(each, "converged_")]
        settled = f"; {sum(ends):,} of {len(ends):,} converged" if ends else ""
        return (
            f"The result is the mean of {counted(len(inside.estimators_), 'fit')}, each by itself{settled}."
        )
    if getattr(inside, "solver", None) == "exact":
        return f"{name} solved its problem exactly: there are no steps to show."
    if name in _PASSES:
        return f"{name} goes through the samples a fixed number of times; convergence does not apply."
    if name == "OnlineIRelief":
        return "The samples came as a stream; convergence does not apply."
    return f"{name} does not iterate."


def _describe_flips(steps: list[float], converged: bool) -> list[str]:
    sweeps = counted(len(steps), "sweep")
    if converged:
        return [
            f"It converged after {sweeps}: in the last, no feature was taken in or out, so that no single"
            " change improves the set. Other orders of the features may lead to other sets."
        ]
    return [
        f"It did not converge in {sweeps}: the last still took {counted(int(steps[-1]), 'feature')} in or"
        " out. A larger max_iter would help."
    ]


def _describe_convergence(
    inside: Any, steps: list[float], converged: bool, cycle: int, *, scheduled: bool
) -> list[str]:
    iterations = counted(len(steps), "iteration")
    if not steps:
        return [
            "It stopped in the first iteration: no feature had a positive mean margin, so that no weights"
            " follow. By this method, nothing tells the classes apart."
        ]
    last = f"the last changed the weights by {number(steps[-1])}"
    if cycle:
        return [
            f"It did not converge: the weights repeat after every {cycle} iterations."
            f" The weights shown are one of {cycle} points that it goes round; features that weigh much in"
            f" this one may weigh little in the next. {_advice(inside)}"
        ]
    if not converged:
        return [f"It did not converge in {iterations}; {last}. {_advice(inside)}"]
    if scheduled:
        return [f"{iterations}, the weights averaged over them, are the whole method; {last}."]
    return [f"It converged after {iterations}; {last}."]


def _advice(inside: Any) -> str:
    """Suggest parameters that may help convergence."""
    if not hasattr(inside, "sigma"):
        return "Fewer iterations (max_iter=2) are often better than more, or another method such as I-RELIEF."
    if getattr(inside, "_averages", False):
        return "A larger max_iter or a larger sigma may help."
    return 'averaging=True, which settles between the points, a larger sigma or sigma="auto" may help.'


# Stability over halves of the samples

#: Quantiles of the ranks over the halves.
LOW, HIGH = 0.05, 0.95
#: Largest selection that counts as "the best" as is.
_FEW = 50
#: Number of best features for larger selections.
_SOME = 20
#: Agreement beyond chance: poor below the first, excellent above the second (Fleiss; Nogueira et al. 2018).
POOR, EXCELLENT = 0.4, 0.75
#: Smallest difference of two agreements from which on the asymptotic interval is rough: selections of up to 3
#: features, of all but 3, or of 4 of 9. In simulations its coverage drops to 85 %.
_ROUGH = 0.3
#: Agreement below this is reported as none.
_CHANCE = 0.1
#: Share of the halves that counts as nearly all.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class RankSpread:
    """Spread of the ranks over the halves, in the order of the columns."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    #: Share of the halves in which a feature is among the best.
    frequency: NDArray[np.float64]


def n_best(n_kept: int, n_features: int, *, chosen: bool) -> int:
    """Return the number of features that count as the best.

    All selected ones if their number was chosen, was recommended or is small; otherwise 20. At most half of
    the features unless chosen: a selection of nearly all features is stable by chance.
    """
    if chosen and 0 < n_kept < n_features:
        return n_kept
    if 0 < n_kept <= min(_FEW, n_features // 2):
        return n_kept
    return min(_SOME, max(1, n_features // 2))


def stability(fits: HalfFits, n_best: int, *, drawn: str = "class by class") -> tuple[Stability, RankSpread]:
    """Return the agreement of the halves on ranking and selection, and the spread of every rank.

    ``drawn``: how the halves were drawn ("class by class"), for the sentences.
    """
    n_resamples, n_features = fits.scores.shape
    low, high = np.quantile(fits.ranks, [LOW, HIGH], axis=0)
    spread = RankSpread(low, high, members(fits, n_best).mean(axis=0))
    sizes = sorted({*default_sizes(n_features).tolist(), n_best})
    by_size = [Estimate(*each) for each in agreement_by_size(fits, sizes)]
    ranking = Estimate(*ranking_agreement(fits))
    selection = by_size[sizes.index(n_best)]
    sentences = _describe_stability(fits, n_best, ranking, selection, spread, drawn)
    return Stability(n_resamples, HALF, n_best, ranking, selection, sizes, by_size, sentences), spread


def describe_agreement(n_best: int, estimate: Estimate) -> str:
    """Describe an agreement on the best features, as a sentence without its full stop."""
    value, lower = estimate.value or 0.0, estimate.lower or 0.0
    one = n_best == 1
    best = "the best feature" if one else f"the best {n_best:,} features"
    are, change = ("is", "changes") if one else ("are", "change")
    if lower <= 0.0 and value < _CHANCE:
        return f"no agreement of two halves of the samples on {best} is seen beyond chance"
    if lower <= 0.0:
        return (
            f"the interval is wide, and {best} may {change.rstrip('s')} as much as by chance from one half of"
            " the samples to another"
        )
    if value < POOR:
        return f"{best} {change} much from one half of the samples to another"
    if value < EXCELLENT:
        return f"{best} {change} in part from one half of the samples to another"
    degree = "mostly" if value < 0.95 else "nearly" if value < 1.0 else "exactly"
    return f"{best} {are} {degree} the same in two halves of the samples"


def _describe_stability(
    fits: HalfFits,
    n_best: int,
    ranking: Estimate,
    selection: Estimate,
    spread: RankSpread,
    drawn: str,
) -> list[str]:
    """Describe the stability in sentences."""
    n_resamples, n_features = fits.scores.shape
    which = "which feature is the best" if n_best == 1 else f"which features are the best {n_best:,}"
    there = "the best" if n_best == 1 else f"among the best {n_best:,}"
    sentences = [
        f"The method was fitted again to {n_resamples} halves of the samples: {n_resamples // 2} times they"
        f" were cut in two at random{drawn and ', '}{drawn}. Two halves share no sample, so that they"
        " agree only on what is in the data and not on its noise. 0 is agreement by chance, 1 is the same"
        " result.",
        f"The rankings of all features by two halves agree by {with_interval(ranking)} (Spearman's rank"
        " correlation).",
        f"On {which}, two halves agree by {with_interval(selection)} (Nogueira's stability):"
        f" {describe_agreement(n_best, selection)}.",
        "Either ranking is made of half of the samples; that of all samples is somewhat more stable.",
        "The range of a rank is where it lies in 90 % of the halves. A half varies around the whole about as"
        " much as the whole varies around the truth, so that the range shows how far the rank is to be"
        " trusted. (Subsets of 90 % share most of their samples and look more stable than they are.)",
    ]
    if n_features / (n_best * (n_features - n_best)) >= _ROUGH:
        sentences.append(
            "Lists so short, or of so few features, agree in large steps: the interval is rough, and may be"
            " too narrow."
        )
    often = int(np.count_nonzero(spread.frequency >= NEARLY_ALL))
    sentences.append(
        f"{counted(often, 'feature')} {'is' if often == 1 else 'are'} {there} in at least"
        f" {percent(NEARLY_ALL)} of the halves."
        if often
        else f"No feature is {there} in {percent(NEARLY_ALL)} of the halves."
    )
    equal = float(fits.tied.max(axis=1).mean())
    if equal > 0.5 * n_features:
        sentences.append(
            f"In a half, {equal:,.0f} of {n_features:,} features have the same weight on average and share"
            " one rank, the lowest of theirs: the ranges of ranks and Spearman's correlation mean little for"
            " them. Where some of them are among the best, they count as if drawn by lot."
        )
    if fits.n_unsettled:
        sentences.append(f"In {fits.n_unsettled} of {n_resamples} halves the method did not converge.")
    return sentences


# Margins of the samples, and suspected labels

#: Measured on 27 tables of scikit-learn, UCI, IDA and microarrays.
HARD_OR_MISLABELED = (
    "Each is a hard sample, or one with a wrong label: look at it again. In well-known tables, the labels of"
    " which are taken for right, 0 to 18 % of the samples are named so, 4 % on median."
)
#: Maximum number of samples listed.
_NAMED = 50
#: Share of the samples with a positive margin, averaged over the classes, from which on others are named.
_PREDICTS = 0.85
#: Share of suspects above which overlapping classes are the likelier explanation.
_MANY = 0.2


def samples(inputs: ReportInputs, *, stands_out: bool = True) -> Samples | str:
    """Return margins and suspects; or a sentence with the reason if there are none.

    Samples are named only if the weights tell the classes apart: if a feature ``stands_out``, and at least
    85 % of the samples, averaged over the classes, are nearer to their own class.
    """
    estimator = inputs.estimator
    if inputs.continuous_target:
        return "The target is a number: samples have no classes, and so no margins between them."
    if not hasattr(estimator, "margins"):
        if is_one_by_one(estimator):
            return "The method knows no neighbors, so that samples have no margins by it."
        return "The method gives samples no margins."
    if not np.any(estimator.feature_weights_ > 0.0):
        return "No feature weighs more than 0: under such weights, margins of samples mean nothing."
    more = {} if inputs.batches is None else {"batches": inputs.batches}
    margins = np.asarray(estimator.margins(inputs.table, inputs.y, **more), dtype=np.float64)
    probability = getattr(fit_inside(estimator), "outlier_proba_", None)
    reason = _reason_not_named(inputs, margins, stands_out=stands_out)
    chosen = np.empty(0, dtype=np.int64)
    reasons: list[str] = []
    if reason is not None:
        sentences = [_MARGIN_WORDS, reason]
    elif probability is None:
        chosen, reasons, sentences = _by_margin(inputs, margins)
    else:
        chosen, reasons, sentences = _by_probability(inputs, margins, np.asarray(probability))
    if inputs.numbered:
        sentences.append("Samples are numbered from 1, in the order of the table.")
    return Samples(
        inputs.sample_names,
        inputs.codes.tolist(),
        _finite_or_none(margins),
        None if probability is None else _finite_or_none(probability),
        chosen[:_NAMED].tolist(),
        reasons,
        sentences,
        int(chosen.size),
    )


_MARGIN_WORDS = (
    "The margin of a sample is how much farther other classes are than its own, under the weights. Below 0 it"
    " is nearer to another class."
)


def _reason_not_named(inputs: ReportInputs, margins: NDArray[np.float64], *, stands_out: bool) -> str | None:
    """Return why no samples are named; None if they are."""
    if not stands_out:
        return "No sample is named as suspect: no feature stands out, so that margins are those of noise."
    with np.errstate(invalid="ignore"):
        positive = margins > 0.0
    shares = [float(positive[inputs.codes == c].mean()) for c in range(len(inputs.classes))]
    share = float(np.mean(shares))
    if share >= _PREDICTS:
        return None
    return (
        f"No sample is named as suspect: {percent(share)} of the samples (averaged over the classes) have a"
        f" positive margin. Names would mean something from {percent(_PREDICTS)} on; below, classes overlap,"
        " and a negative margin is no sign of a wrong label."
    )


def _by_probability(
    inputs: ReportInputs, margins: NDArray[np.float64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Return the samples that I-RELIEF considers mislabeled, the likeliest first, with evidence."""
    chosen = suspects(probability, margins, inputs.codes)
    reasons = [
        f"probability {probability[n]:.2f} that the label {inputs.classes[inputs.codes[n]]} is wrong; margin"
        f" {number(margins[n])}"
        for n in chosen[:_NAMED]
    ]
    sentences = [
        "The probability that a label is wrong is I-RELIEF's: the share of the sample's neighborhood, under"
        " the weights, that belongs to other classes. The margin is how much farther other classes are"
        f" than its own. Named are samples whose probability is above {LIKELY:g}, also if all classes counted"
        " as equally large, and whose margin is below 0: they are nearer to another class."
    ]
    sentences.append(_how_many(inputs, chosen, "may be mislabeled", "may be mislabeled"))
    if chosen.size:
        sentences.append(HARD_OR_MISLABELED)
    with np.errstate(invalid="ignore"):
        others = int(np.count_nonzero(probability > LIKELY) - chosen.size)
    if others:
        sentences.append(
            f"{counted(others, 'more sample')} {'has' if others == 1 else 'have'} a probability above"
            f" {LIKELY:g} and {'is' if others == 1 else 'are'} not named: by margin nearer to the own class"
            " after all, or among other classes only because those have more samples."
        )
    return chosen, reasons, sentences + _cautions(inputs, chosen)


def _by_margin(
    inputs: ReportInputs, margins: NDArray[np.float64]
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Return the samples with negative margin, the most negative first, with evidence."""
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(margins < 0.0)
    chosen = places[np.argsort(margins[places], kind="stable")]
    own = [inputs.classes[code] for code in inputs.codes[chosen[:_NAMED]]]
    reasons = [
        f"margin {number(margin)}: nearer to another class than to its own, {label}"
        for margin, label in zip(margins[chosen[:_NAMED]], own, strict=True)
    ]
    sentences = [
        "The margin of a sample is how much farther other classes are than its own, under the weights. Below"
        " 0 it is nearer to another class: a hard sample, at the border between classes or odd, or one with a"
        " wrong label. The margin does not show which; I-RELIEF has a probability for it."
    ]
    sentences.append(_how_many(inputs, chosen, "has a margin below 0", "have a margin below 0"))
    return chosen, reasons, sentences + _cautions(inputs, chosen)


def _how_many(inputs: ReportInputs, chosen: NDArray[np.int64], one: str, many: str) -> str:
    if chosen.size == 0:
        return f"No sample {one}."
    names = listed([inputs.sample_names[n] for n in chosen], 5)
    left = f" The first {_NAMED} are named here." if chosen.size > _NAMED else ""
    verb = one if chosen.size == 1 else many
    return f"{counted(chosen.size, 'sample')} of {len(inputs.codes):,} {verb}: {names}.{left}"


def _cautions(inputs: ReportInputs, chosen: NDArray[np.int64]) -> list[str]:
    """Return sentences of caution about the suspects."""
    sentences = []
    share = chosen.size / len(inputs.codes)
    if share > _MANY:
        sentences.append(
            f"That is {percent(share)} of all samples, more than labels are usually wrong: the classes"
            " overlap, or one surrounds another."
        )
    if inputs.X.shape[1] > len(inputs.codes):
        sentences.append(
            "The weights have seen the labels, and there are more features than samples: margins of new"
            " samples would be smaller."
        )
    return sentences


def _finite_or_none(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
