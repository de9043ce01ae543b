r"""How well each feature does by itself, beside those that act together.

For classes by the Fisher score: scatter between the classes over scatter within them. A category counts as
one 0/1 feature for each of its values, the scatters added up; with two values that is the score of either.
For a target that is a number by its share of the target's variance: the squared correlation, for a category
that of the means of its values. What is missing takes no part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..bases.selector import lowest_ranks
from ..fisher import FisherScore
from .given import Given


def ranks_alone(given: Given) -> NDArray[np.int64]:
    """Ranks of the features, each judged by itself."""
    if given.measured:
        return lowest_ranks(_explained(given))
    values = given.X if given.X.dtype.kind == "f" else given.X.astype(np.float64)
    if given.missing is None and not given.categorical:
        return FisherScore().fit(values, given.codes).ranking_
    return lowest_ranks(_fisher(given, values))


def by_what(given: Given) -> str:
    """What features are judged by, alone."""
    return "the squared correlation with the target" if given.measured else "the Fisher score"


def _fisher(given: Given, values: NDArray[np.floating]) -> NDArray[np.float64]:
    numeric = [place for place in range(values.shape[1]) if place not in given.categorical]
    scores = np.zeros(values.shape[1])
    scores[numeric] = _ratio(*_scatters(_in_unit_range(values[:, numeric]), given.codes))
    for place in given.categorical:
        between, within, count = _scatters(_indicators(values[:, place]), given.codes)
        scores[place] = _ratio(between.sum(), within.sum(), count.max(initial=0))
    return scores


def _scatters(
    values: NDArray[np.float64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Scatter of columns between classes and within them, and their numbers of values."""
    known = ~np.isnan(values)
    count = known.sum(axis=0).astype(np.float64)
    center = _mean(values, known, count)
    between, within = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for code in range(int(codes.max()) + 1):
        of_class = codes == code
        there, size = known[of_class], known[of_class].sum(axis=0)
        own = _mean(values[of_class], there, size)
        between += size * (own - center) ** 2
        within += (np.where(there, values[of_class] - own, 0.0) ** 2).sum(axis=0)
    return between, within, count


def _mean(
    values: NDArray[np.float64], known: NDArray[np.bool_], count: NDArray[np.number]
) -> NDArray[np.float64]:
    return np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1)


def _ratio(
    between: NDArray[np.float64], within: NDArray[np.float64], count: NDArray[np.float64]
) -> NDArray[np.float64]:
    """As the Fisher score has it: what is within counts as no smaller than rounding."""
    smallest = np.maximum(count, 1.0) * np.finfo(np.float64).eps ** 2
    # A feature that does not vary differs from its mean by rounding only.
    varies = between + within > smallest
    return np.where(varies, between / np.maximum(within, smallest), 0.0)


def _in_unit_range(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Columns scaled to [0, 1]; constant ones are 0. Halved first: a range may not be a number."""
    halved = values.astype(np.float64) / 2.0
    known = ~np.isnan(halved)
    low = np.where(known, halved, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, halved, -np.inf).max(axis=0, initial=-np.inf)
    some = low < high
    low = np.where(np.isfinite(low), low, 0.0)
    return np.where(known, (halved - low) / np.where(some, high - low, 1.0), np.nan)


def _indicators(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """A column of 0 and 1 for each value of a category."""
    known = ~np.isnan(values)
    indicators = (values[:, np.newaxis] == np.unique(values[known])).astype(np.float64)
    indicators[~known] = np.nan
    return indicators


def _explained(given: Given) -> NDArray[np.float64]:
    """What part of the target's variance each feature explains."""
    target = _in_unit_range(given.y.astype(np.float64)[:, np.newaxis])
    scores = np.zeros(given.X.shape[1])
    numeric = [place for place in range(given.X.shape[1]) if place not in given.categorical]
    values = _in_unit_range(given.X[:, numeric])
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    apart = np.where(known, values - _mean(values, known, count), 0.0)
    also = np.where(known, target - _mean(np.broadcast_to(target, values.shape), known, count), 0.0)
    scores[numeric] = _share((apart * also).sum(axis=0) ** 2, (apart**2).sum(axis=0) * (also**2).sum(axis=0))
    for place in given.categorical:
        column = given.X[:, place]
        there = ~np.isnan(column)
        if there.any():
            levels = np.unique(column[there], return_inverse=True)[1]
            between, within, _ = _scatters(target[there], levels)
            scores[place] = _share(between, between + within)[0]
    return scores


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-24)
