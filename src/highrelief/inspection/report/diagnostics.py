"""How a method came to rest, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.meta import fit_inside
from ...base.weighter import LIKELY, suspects
from ...plots.convergence import ran_its_schedule, weight_tolerance
from ...plots.drawing import counted
from ...selection.halves import HALF, HalfFits, agreement_by_size, members, ranking_agreement
from ...stability import usual_sizes
from .contents import Convergence, Estimate, Samples, Stability
from .inputs import Given
from .wording import is_one_by_one, listed, number, percent, with_interval

_CHANGE = "Change of the weights (Euclidean norm)"
#: Why a method has nothing to show, by its class.
_PASSES = ("FREL", "Lmba", "Simba")


def convergence(estimator: Any) -> Convergence | str:
    """The course of an iteration; or why there is none, in a sentence."""
    inside = fit_inside(estimator)
    name = type(inside).__name__
    if getattr(inside, "history_", None) is None:
        return _why_not(inside)
    steps = [float(change) for change in inside.history_]
    cycle = int(getattr(inside, "cycle_length_", 0))
    converged = bool(getattr(inside, "converged_", False))
    if name == "GFlip":
        return Convergence(
            steps, "Features taken in or out, in each sweep", None, converged, 0, _of_flips(steps, converged)
        )
    if name == "OnlineIRelief":
        told = [
            f"{counted(len(steps), 'pass', 'passes')} over the samples; the last changed the weights by"
            f" {number(steps[-1])}. There is no bound to wait for: it ends when all passes are made."
        ]
        return Convergence(steps, f"{_CHANGE} in each pass", None, converged, 0, told, scheduled=True)
    scheduled = ran_its_schedule(inside)
    told = _convergence_in_words(inside, steps, converged, cycle, scheduled=scheduled)
    meaning = f"{_CHANGE} in each iteration"
    tolerance = weight_tolerance(inside)
    return Convergence(steps, meaning, tolerance, converged, cycle, told, scheduled=scheduled)


def _why_not(inside: Any) -> str:
    name = type(inside).__name__
    if hasattr(inside, "estimators_"):
        ends = [bool(each.converged_) for each in inside.estimators_ if hasattr(each, "converged_")]
        settled = f"; {sum(ends):,} of {len(ends):,} came to rest" if ends else ""
        return (
            f"The result is the mean of {counted(len(inside.estimators_), 'fit')}, each by itself{settled}."
        )
    if getattr(inside, "solver", None) == "exact":
        return f"{name} solved its problem exactly: there are no steps to show."
    if name in _PASSES:
        return f"{name} goes through the samples a fixed number of times: there is nothing to come to rest."
    if name == "OnlineIRelief":
        return "The samples came as a stream: there is nothing to come to rest."
    return f"{name} does not iterate."


def _of_flips(steps: list[float], converged: bool) -> list[str]:
    sweeps = counted(len(steps), "sweep")
    if converged:
        return [
            f"It came to rest after {sweeps}: in the last, no feature was taken in or out, so that no single"
            " change improves the set. Other orders of the features may lead to other sets."
        ]
    return [
        f"It did not come to rest in {sweeps}: the last still took {counted(int(steps[-1]), 'feature')} in or"
        " out. A larger max_iter would help."
    ]


def _convergence_in_words(
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
            f"It did not come to rest: the weights come back after {cycle} iterations, and so on for ever."
            f" The weights shown are one of {cycle} points that it goes round; features that weigh much in"
            f" this one may weigh little in the next. {_advice(inside)}"
        ]
    if not converged:
        return [f"It did not come to rest in {iterations}; {last}. {_advice(inside)}"]
    if scheduled:
        return [f"{iterations}, the weights averaged over them, are the whole method; {last}."]
    return [f"It came to rest after {iterations}; {last}."]


def _advice(inside: Any) -> str:
    """What may help."""
    if not hasattr(inside, "sigma"):
        return "Fewer iterations (max_iter=2) are often better than more, or another method such as I-RELIEF."
    if getattr(inside, "_averages", False):
        return "A larger max_iter or a larger sigma may help."
    return 'averaging=True, which settles between the points, a larger sigma or sigma="auto" may help.'


# How much a ranking depends on which samples were drawn, by fits to halves of them, in numbers and words.
#
# A weight spreads over halves as it would over new tables as large as the given one: a mean over half of n
# samples, drawn without replacement, varies by σ²/n around that of all, as means over n new samples do
# around the truth. That holds to first order; weights of features of no use, which are noise alone, vary
# more.


#: Quantiles of the ranks.
LOW, HIGH = 0.05, 0.95
#: Up to so many kept features are "the best" as they are.
_FEW = 50
#: How many are the best where more are kept.
_SOME = 20
#: Marks of agreement beyond chance: poor below the first, excellent above the second (Fleiss, as Nogueira et
#: al. 2018 take them over for the stability of selections).
POOR, EXCELLENT = 0.4, 0.75
#: Agreements that differ by so much at least are so few that their interval, made for many, is rough: those
#: of up to 3 features, or of all but 3, and those of 4 of 9. Simulated, it may hold the truth in 85 % only.
_ROUGH = 0.3
#: Agreement that is as good as none.
_CHANCE = 0.1
#: Share of the halves from which on a feature counts as found in nearly all.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class RankSpread:
    """What the halves say about every feature, in the order of the table."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    #: Share of the halves in which a feature is among the best.
    frequency: NDArray[np.float64]


def n_best(n_kept: int, n_features: int, *, chosen: bool) -> int:
    """How many features count as the best.

    As many as are kept, if somebody chose that number or if they are few; otherwise 20. At most half of the
    features, unless chosen: which of nearly all are the best says little.
    """
    if chosen and n_kept < n_features:
        return n_kept
    if n_kept <= min(_FEW, n_features // 2):
        return n_kept
    return min(_SOME, max(1, n_features // 2))


def stability(fits: HalfFits, n_best: int, *, drawn: str = "class by class") -> tuple[Stability, RankSpread]:
    """Agreement of the halves on the ranking and on the best features, and the spread of every rank.

    ``drawn``: what halving paid regard to, in words.
    """
    n_resamples, n_features = fits.scores.shape
    low, high = np.quantile(fits.ranks, [LOW, HIGH], axis=0)
    spread = RankSpread(low, high, members(fits, n_best).mean(axis=0))
    sizes = sorted({*usual_sizes(n_features).tolist(), n_best})
    by_size = [Estimate(*each) for each in agreement_by_size(fits, sizes)]
    ranking = Estimate(*ranking_agreement(fits))
    selection = by_size[sizes.index(n_best)]
    told = _stability_in_words(fits, n_best, ranking, selection, spread, drawn)
    return Stability(n_resamples, HALF, n_best, ranking, selection, sizes, by_size, told), spread


def in_words(n_best: int, estimate: Estimate) -> str:
    """What an agreement means for the best features, as a sentence without its point."""
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


def _stability_in_words(
    fits: HalfFits,
    n_best: int,
    ranking: Estimate,
    selection: Estimate,
    spread: RankSpread,
    drawn: str,
) -> list[str]:
    """What the halves say."""
    n_resamples, n_features = fits.scores.shape
    which = "which feature is the best" if n_best == 1 else f"which features are the best {n_best:,}"
    there = "the best" if n_best == 1 else f"among the best {n_best:,}"
    told = [
        f"The method was fitted anew to {n_resamples} halves of the samples: {n_resamples // 2} times they"
        f" were cut in two at random{drawn and ', '}{drawn}. Two halves share no sample, so that they"
        " agree only on what is in the data and not on its noise. 0 is agreement by chance, 1 is the same"
        " result.",
        f"The rankings of all features by two halves agree by {with_interval(ranking)} (Spearman's rank"
        " correlation).",
        f"On {which}, two halves agree by {with_interval(selection)} (Nogueira's stability):"
        f" {in_words(n_best, selection)}.",
        "Either ranking is made of half of the samples; that of all samples is somewhat more stable.",
        "The range of a rank is where it lies in 90 % of the halves. A half varies around the whole about as"
        " much as the whole varies around the truth, so that the range shows how far the rank is to be"
        " trusted. (Subsets of 90 % share most of their samples and look more stable than they are.)",
    ]
    if n_features / (n_best * (n_features - n_best)) >= _ROUGH:
        told.append(
            "Lists so short, or of so few features, agree in large steps: the interval is rough, and may be"
            " too narrow."
        )
    often = int(np.count_nonzero(spread.frequency >= NEARLY_ALL))
    told.append(
        f"{counted(often, 'feature')} {'is' if often == 1 else 'are'} {there} in at least"
        f" {percent(NEARLY_ALL)} of the halves."
        if often
        else f"No feature is {there} in {percent(NEARLY_ALL)} of the halves."
    )
    equal = float(fits.tied.max(axis=1).mean())
    if equal > 0.5 * n_features:
        told.append(
            f"In a half, {equal:,.0f} of {n_features:,} features have the same weight on average and share"
            " one rank, the lowest of theirs: the ranges of ranks and Spearman's correlation say little about"
            " them. Where some of them are among the best, they count as if drawn by lot."
        )
    if fits.n_unsettled:
        told.append(f"In {fits.n_unsettled} of {n_resamples} halves the method did not come to rest.")
    return told


# Margins of the samples, and which of them look as if their label were wrong.


#: How often this happens where labels are right: 27 tables of scikit-learn, UCI, IDA and microarrays.
USUAL = (
    "Each is a hard sample, or one with a wrong label: look at it again. In well-known tables, the labels of"
    " which are taken for right, 0 to 18 % of the samples are named so, 4 % on median."
)
#: The most samples that are named.
_NAMED = 50
#: Share of negative margins from which on they say more about the classes than about single samples.
_MANY = 0.2


def samples(given: Given) -> Samples | str:
    """Margins and suspects; or why there are none, in a sentence."""
    estimator = given.estimator
    if given.measured:
        return "The target is a number: samples have no classes, and so no margins between them."
    if not hasattr(estimator, "margins"):
        if is_one_by_one(estimator):
            return "The method knows no neighbors, so that samples have no margins by it."
        return "The method gives samples no margins."
    if not np.any(estimator.feature_weights_ > 0.0):
        return "No feature weighs more than 0: under such weights, margins of samples mean nothing."
    more = {} if given.batches is None else {"batches": given.batches}
    margins = np.asarray(estimator.margins(given.table, given.y, **more), dtype=np.float64)
    probability = getattr(fit_inside(estimator), "outlier_proba_", None)
    if probability is None:
        chosen, reasons, told = _by_margin(given, margins)
    else:
        chosen, reasons, told = _by_probability(given, margins, np.asarray(probability))
    if given.numbered:
        told.append("Samples are numbered from 1, in the order of the table.")
    return Samples(
        given.sample_names,
        given.codes.tolist(),
        _known(margins),
        None if probability is None else _known(probability),
        chosen[:_NAMED].tolist(),
        reasons,
        told,
        int(chosen.size),
    )


def _by_probability(
    given: Given, margins: NDArray[np.float64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Samples whose label I-RELIEF takes for wrong, the likeliest first."""
    chosen = suspects(probability, margins, given.codes)
    reasons = [
        f"probability {probability[n]:.2f} that the label {given.classes[given.codes[n]]} is wrong; margin"
        f" {number(margins[n])}"
        for n in chosen[:_NAMED]
    ]
    told = [
        "The probability that a label is wrong is I-RELIEF's: the share of the sample's neighborhood, under"
        " the weights, that belongs to other classes. The margin says how much farther other classes are"
        f" than its own. Named are samples whose probability is above {LIKELY:g}, also if all classes counted"
        " as equally large, and whose margin is below 0: they are nearer to another class."
    ]
    told.append(_how_many(given, chosen, "may be mislabeled", "may be mislabeled"))
    if chosen.size:
        told.append(USUAL)
    with np.errstate(invalid="ignore"):
        others = int(np.count_nonzero(probability > LIKELY) - chosen.size)
    if others:
        told.append(
            f"{counted(others, 'more sample')} {'has' if others == 1 else 'have'} a probability above"
            f" {LIKELY:g} and {'is' if others == 1 else 'are'} not named: by margin nearer to the own class"
            " after all, or among other classes only because those have more samples."
        )
    return chosen, reasons, told + _caution(given, chosen)


def _by_margin(given: Given, margins: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Samples that are nearer to another class, the most negative first."""
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(margins < 0.0)
    chosen = places[np.argsort(margins[places], kind="stable")]
    own = [given.classes[code] for code in given.codes[chosen[:_NAMED]]]
    reasons = [
        f"margin {number(margin)}: nearer to another class than to its own, {label}"
        for margin, label in zip(margins[chosen[:_NAMED]], own, strict=True)
    ]
    told = [
        "The margin of a sample is how much farther other classes are than its own, under the weights. Below"
        " 0 it is nearer to another class: a hard sample, at the border between classes or odd, or one with a"
        " wrong label. The margin does not tell which; I-RELIEF has a probability for it."
    ]
    told.append(_how_many(given, chosen, "has a margin below 0", "have a margin below 0"))
    return chosen, reasons, told + _caution(given, chosen)


def _how_many(given: Given, chosen: NDArray[np.int64], one: str, many: str) -> str:
    if chosen.size == 0:
        return f"No sample {one}."
    names = listed([given.sample_names[n] for n in chosen], 5)
    left = f" The first {_NAMED} are named here." if chosen.size > _NAMED else ""
    verb = one if chosen.size == 1 else many
    return f"{counted(chosen.size, 'sample')} of {len(given.codes):,} {verb}: {names}.{left}"


def _caution(given: Given, chosen: NDArray[np.int64]) -> list[str]:
    """What keeps suspects from being taken for more than they are."""
    told = []
    share = chosen.size / len(given.codes)
    if share > _MANY:
        told.append(
            f"That is {percent(share)} of all samples, more than labels are usually wrong: the classes"
            " overlap, or one surrounds another."
        )
    if given.X.shape[1] > len(given.codes):
        told.append(
            "The weights have seen the labels, and there are more features than samples: margins of new"
            " samples would be smaller."
        )
    return told


def _known(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
