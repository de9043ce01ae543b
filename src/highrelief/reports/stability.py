r"""How much a ranking depends on which samples were drawn, by fits to halves of them, in numbers and words.

A weight spreads over halves as it would over new tables as large as the given one: a mean over half of n
samples, drawn without replacement, varies by σ²/n around that of all, as means over n new samples do around
the truth. That holds to first order; weights of features of no use, which are noise alone, vary more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..halves import HALF, HalfFits, agreement_by_size, members, ranking_agreement
from ..stability import usual_sizes
from .contents import Estimate, Stability
from .sentences import counted, percent, with_interval

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
    told = _words(fits, n_best, ranking, selection, spread, drawn)
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


def _words(
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
