r"""How much a ranking depends on which samples were drawn, by fits to halves of them.

Two halves that share no sample are two small studies: their agreement is what chance has left of the
ranking, 0 where nothing but chance made it. (Subsets that overlap agree on noise too: two random halves
share half of their samples, two subsets of 90 % nearly all.) A weight spreads over the halves as it would
over new tables as large as the given one: a mean over half of n samples, drawn without replacement, varies by
σ²/n around that of all, as means over n new samples do around the truth. That holds to first order; weights
of features of no use, which are noise alone, vary more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import rankdata

from ..selector_base import lowest_ranks
from .contents import Estimate, Stability
from .halves import HALF, HalfFits
from .sentences import counted, percent, with_interval

#: Quantiles of the ranks.
LOW, HIGH = 0.05, 0.95
#: Up to so many kept features are "the best" as they are.
_FEW = 50
#: How many are the best where more are kept.
_SOME = 20
#: Steps of the curve over sizes, times powers of 10.
_STEPS = (1, 2, 5)
#: Marks of agreement beyond chance: poor below the first, excellent above the second (Fleiss, as Nogueira et
#: al. 2018 take them over for the stability of selections).
POOR, EXCELLENT = 0.4, 0.75
#: Lists shorter than this agree by so few steps that their interval, made for many, is rough.
_ROUGH = 3
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


def stability(fits: HalfFits, n_best: int) -> tuple[Stability, RankSpread]:
    """Agreement of the halves on the ranking and on the best features, and the spread of every rank."""
    scores = fits.scores
    n_resamples, n_features = scores.shape
    falling = -np.sort(-scores, axis=1)
    best = members(scores, falling, n_best)
    ranks = np.stack([lowest_ranks(row) for row in scores])
    low, high = np.quantile(ranks, [LOW, HIGH], axis=0)
    spread = RankSpread(low, high, best.mean(axis=0))
    sizes = sorted(set(_sizes(n_features)) | {n_best})
    by_size = [selection_agreement(members(scores, falling, size), size) for size in sizes]
    ranking = ranking_agreement(scores)
    selection = by_size[sizes.index(n_best)]
    told = _words(fits, n_best, ranking, selection, spread)
    return Stability(n_resamples, HALF, n_best, ranking, selection, sizes, by_size, told), spread


def members(scores: NDArray[np.float64], falling: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """How far each feature belongs to the best so many of each row: 1, 0, or a share among equals.

    Features that are tied for the last places share them, as if they were drawn by lot: the order of the
    columns decides nothing, and thousands of weights of 0 have next to no part in it.
    """
    last = falling[:, size - 1 : size]
    above, tied = scores > last, scores == last
    places = size - above.sum(axis=1, keepdims=True)
    return above + tied * (places / tied.sum(axis=1, keepdims=True))


def selection_agreement(best: NDArray[np.float64], size: int) -> Estimate:
    """Nogueira's stability of the best features of two halves: what they share, beyond chance.

    For two selections of one size it is Kuncheva's index (r·d − k²)/(k (d − k)); where places are shared, r
    is what lots would give on average.
    """
    d = best.shape[1]
    most = size * (d - size)
    least = (max(0, 2 * size - d) * d - size**2) / most
    return agreement((best @ best.T * d - size**2) / most, least=least, step=d / most)


def ranking_agreement(scores: NDArray[np.float64]) -> Estimate:
    """Spearman's rank correlation of two halves; 0 with a ranking in which all are equal."""
    d = scores.shape[1]
    centered = rankdata(scores, axis=1) - 0.5 * (d + 1)
    length = np.linalg.norm(centered, axis=1, keepdims=True)
    unit = np.divide(centered, length, out=np.zeros_like(centered), where=length > 0.0)
    return agreement(unit @ unit.T, least=-1.0, step=12.0 / (d * (d**2 - 1)))


def agreement(matrix: NDArray[np.float64], *, least: float, step: float) -> Estimate:
    r"""Mean agreement of two halves that share no sample, with a 95 % confidence interval.

    The mean over J pairs estimates how well two independent tables of half the size agree. It varies with
    the samples: to first order each moves it by some g, all n of them by a sum of the variance n·Var(g). The
    mean agreement of one half with the halves of other pairs moves by the sum over its own n/2 samples, drawn
    without replacement from n: of the variance (n/4)·Var(g). So

    .. math:: \mathrm{Var} \approx \max\bigl(4 \operatorname{Var}_i(h_i), \operatorname{Var}_j(a_j)\bigr)
              + \operatorname{Var}_j(a_j) / J

    with :math:`h_i` the mean agreement of half i with those of other pairs and :math:`a_j` that within pair
    j, which counts where the first order vanishes (two halves differ from the whole by the same, up and down:
    what is left is of second order, and varies with the samples as with the cut). The last term is for the
    finite number of pairs. Student's t with 2J − 1 degrees of freedom. A
    jackknife over the halves would only tell how well 2J of them stand for all halves of the same samples:
    its intervals hold the truth in a third to a half of the cases.

    Where J pairs all agree alike, another could still differ, with a probability of up to 1 − 0.05^(1/J):
    the interval reaches at least that share of a step to either side.

    Parameters
    ----------
    matrix : array of shape (2J, 2J)
        Agreement of any two halves; those of pair j are in the rows 2j and 2j + 1.
    least : float
        The smallest that an agreement can be; the largest is 1.
    step : float
        By how much two agreements differ at least, if they differ.

    Returns
    -------
    estimate : Estimate
        The mean, and the part of its interval that is possible.
    """
    n = len(matrix)
    partner = np.arange(n) ^ 1
    within = matrix[np.arange(0, n, 2), np.arange(1, n, 2)]
    others = matrix.sum(axis=1) - matrix.diagonal() - matrix[np.arange(n), partner]
    by_half = others / (n - 2)
    value = float(within.mean())
    second_order = within.var(ddof=1)
    variance = max(4.0 * by_half.var(ddof=1), second_order) + second_order / within.size
    half = max(float(stdtrit(n - 1, 0.975) * np.sqrt(variance)), step * (1.0 - 0.05 ** (1.0 / within.size)))
    # Rounding must not carry the mean beyond its bounds either.
    return Estimate(*(min(max(each, least), 1.0) for each in (value, value - half, value + half)))


def _sizes(n_features: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, … below the number of features."""
    return [step * 10**power for power in range(7) for step in _STEPS if step * 10**power < n_features]


def in_words(n_best: int, estimate: Estimate) -> str:
    """What an agreement means for the best features, as a sentence without its point."""
    value, lower = estimate.value or 0.0, estimate.lower or 0.0
    one = n_best == 1
    best = "the best feature" if one else f"the best {n_best:,} features"
    are, change = ("is", "changes") if one else ("are", "change")
    if lower <= 0.0 and value < _CHANCE:
        return f"two halves of the samples do not agree on {best} more than by chance"
    if lower <= 0.0:
        return f"it is not certain that two halves of the samples agree on {best} more than by chance"
    if value < POOR:
        return f"{best} {change} much from one half of the samples to another"
    if value < EXCELLENT:
        return f"{best} {change} in part from one half of the samples to another"
    degree = "mostly" if value < 0.95 else "nearly" if value < 1.0 else "exactly"
    return f"{best} {are} {degree} the same in all halves of the samples"


def _words(
    fits: HalfFits, n_best: int, ranking: Estimate, selection: Estimate, spread: RankSpread
) -> list[str]:
    """What the halves say."""
    n_resamples, n_features = fits.scores.shape
    which = "which feature is the best" if n_best == 1 else f"which features are the best {n_best:,}"
    there = "the best" if n_best == 1 else f"among the best {n_best:,}"
    told = [
        f"The method was fitted anew to {n_resamples} halves of the samples: {n_resamples // 2} times they"
        " were cut in two at random, class by class. Two halves share no sample, so that they agree only on"
        " what is in the data and not on its noise. 0 is agreement by chance, 1 is the same result.",
        f"The rankings of all features by two halves agree by {with_interval(ranking)} (Spearman's rank"
        " correlation).",
        f"On {which}, two halves agree by {with_interval(selection)} (Nogueira's stability):"
        f" {in_words(n_best, selection)}.",
        "Either ranking is made of half of the samples; that of all samples is somewhat more stable.",
        "The range of a rank is where it lies in 90 % of the halves. A half varies around the whole about as"
        " much as the whole varies around the truth, so that the range shows how far the rank is to be"
        " trusted. (Subsets of 90 % share most of their samples and look more stable than they are.)",
    ]
    if n_best < _ROUGH:
        told.append("For so short a list the interval is rough, and may be too narrow.")
    often = int(np.count_nonzero(spread.frequency >= NEARLY_ALL))
    told.append(
        f"{counted(often, 'feature')} {'is' if often == 1 else 'are'} {there} in at least"
        f" {percent(NEARLY_ALL)} of the halves."
        if often
        else f"No feature is {there} in {percent(NEARLY_ALL)} of the halves."
    )
    equal = float(np.mean([np.max(np.unique(row, return_counts=True)[1]) for row in fits.scores]))
    if equal > 0.5 * n_features:
        told.append(
            f"In a half, {equal:,.0f} of {n_features:,} features have the same weight on average, most often"
            " 0, and share one rank, the lowest of theirs: the ranges of ranks and Spearman's correlation say"
            " little about them. For the best features they count by lot."
        )
    if fits.n_unsettled:
        told.append(f"In {fits.n_unsettled} of {n_resamples} halves the method did not come to rest.")
    return told
