"""The features from the best on, and what is to be said of their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from ...base.meta import fit_inside
from ...base.selector import lowest_ranks
from ...methods.fisher import FisherScore
from ...plots.drawing import counted
from ...selection.redundancy import pairwise_pearson, pearson
from .contents import Correlations, Distribution, FeatureTable, Member, SimilarFeatures
from .diagnostics import RankSpread
from .inputs import Given
from .wording import is_one_by_one, listed, percent, title

# How well each feature does by itself, beside those that act together.
#
# For classes by the Fisher score: scatter between the classes over scatter within them. A category counts
# as one 0/1 feature for each of its values, the scatters added up; with two values that is the score of
# either. For a target that is a number by its share of the target's variance: the squared correlation, for
# a category that of the means of its values. What is missing takes no part.


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


#: How many of the best are named and counted together.
N_NAMED = 10
#: A feature is far down alone if so large a part of all features is before it.
_FAR_DOWN = 0.25


@dataclass(frozen=True)
class Weights:
    """The weights, and what follows from them at once."""

    values: NDArray[np.float64]
    kept: NDArray[np.bool_]
    order: NDArray[np.int64]
    #: Whether the number of kept features was chosen, by the user or by a cross-validation.
    chosen: bool
    #: Whether only one of each group of features that say the same is kept.
    filtered: bool
    #: "weights"; or "set" if they are 1 and 0, or "ranks".
    kind: str

    @classmethod
    def of(cls, given: Given) -> Weights:
        """Weights of a fitted estimator."""
        estimator = given.estimator
        return cls(
            np.asarray(estimator.feature_weights_, dtype=np.float64),
            np.asarray(estimator.get_support()),
            given.order,
            estimator.n_features_to_select is not None or hasattr(estimator, "n_features_"),
            hasattr(estimator, "groups_"),
            _kind(fit_inside(estimator)),
        )

    @property
    def comparable(self) -> bool:
        """Whether it means anything that one weight is twice another."""
        return self.kind == "weights"

    @property
    def n_positive(self) -> int:
        """How many weigh more than 0."""
        return int(np.count_nonzero(self.values > 0.0))

    @property
    def n_kept(self) -> int:
        """How many are kept."""
        return int(np.count_nonzero(self.kept))

    def share_of_best(self, n_best: int) -> float:
        """What part of all positive weight the best hold."""
        positive = np.maximum(self.values, 0.0)
        # Sums of weights may be too large for a number.
        positive = positive / (positive.max() or 1.0)
        return float(positive[self.order[:n_best]].sum() / positive.sum()) if positive.any() else 0.0


def _kind(inside: Any) -> str:
    if hasattr(inside, "score_losses_"):
        return "set"
    return "ranks" if getattr(inside, "aggregate", None) == "ranks" else "weights"


def feature_table(given: Given, weights: Weights, spread: RankSpread | None) -> FeatureTable:
    """All features, the best first."""
    order = given.order
    alone = ranks_alone(given)
    low, high, frequency = (
        (None, None, None)
        if spread is None
        else (each[order].tolist() for each in (spread.low, spread.high, spread.frequency))
    )
    return FeatureTable(
        [given.feature_names[j] for j in order],
        given.ranks[order].tolist(),
        weights.values[order].tolist(),
        weights.kept[order].tolist(),
        alone[order].tolist(),
        low,
        high,
        frequency,
        _weights_in_words(given, weights, alone, spread),
        None if given.missing is None else given.missing[order].tolist(),
        by_what(given),
    )


def kept_in_words(weights: Weights) -> str:
    """How many features are kept, and why."""
    kept = f"{counted(weights.n_kept, 'feature')} {'is' if weights.n_kept == 1 else 'are'} kept"
    if weights.filtered:
        return f"{kept}: the best of each group that says the same."
    if weights.chosen:
        return f"{kept}, as was chosen."
    if not weights.n_positive:
        return f"{kept}, since one must be; none has a weight above 0."
    if weights.kind == "set":
        return f"{kept}: the members of the set."
    if weights.kind == "ranks":
        return f"{kept}: mean ranks do not say which are of no use."
    return f"{kept}: {'that' if weights.n_kept == 1 else 'all'} with a weight above 0."


def _weights_in_words(
    given: Given, weights: Weights, alone: NDArray[np.int64], spread: RankSpread | None
) -> list[str]:
    n_features = weights.values.size
    told = [kept_in_words(weights)]
    if weights.comparable and weights.n_positive > N_NAMED:
        share, even = weights.share_of_best(N_NAMED), N_NAMED / weights.n_positive
        told.append(
            f"The best {N_NAMED} hold {percent(share)} of all positive weight; if all {weights.n_positive:,}"
            f" weighed the same, they would hold {percent(even)}."
        )
    negative = int(np.count_nonzero(weights.values < 0.0))
    if negative:
        nearer = (
            "neighbors of other targets are more alike than those of the same"
            if given.measured
            else "neighbors of other classes are nearer than those of the own"
        )
        told.append(
            f"{counted(negative, 'feature')} {'weighs' if negative == 1 else 'weigh'} less than 0: by"
            f" {'it' if negative == 1 else 'them'} {nearer}. So it is, by chance, for about half of all"
            " features that are of no use."
        )
    zero = int(np.count_nonzero(weights.values == 0.0))
    if zero:
        told.append(
            f"{counted(zero, 'feature')} {'weighs' if zero == 1 else 'weigh'} 0"
            + (" and share one rank." if zero > 1 else ".")
        )
    together = act_together(given, weights, alone, spread)
    if together:
        told.append(in_company(given, together, n_features, certain=spread is not None))
    return told


def act_together(
    given: Given, weights: Weights, alone: NDArray[np.int64], spread: RankSpread | None
) -> list[tuple[str, int]]:
    """The best features that are far down alone, and where: those that halves of the samples confirm."""
    if is_one_by_one(given.estimator):
        return []
    n_features = weights.values.size
    # Of few features, ten would be nearly all.
    best = [j for j in given.order[: min(N_NAMED, n_features // 4)] if weights.values[j] > 0.0]
    far = max(_FAR_DOWN * n_features, min(2.0 * N_NAMED, 0.5 * n_features))
    # Nearer to always than to what chance gives, which is much where the best are half of all.
    sure = [j for j in best if spread is None or spread.frequency[j] >= 0.5 + 0.5 * spread.frequency.mean()]
    return [(given.feature_names[j], int(alone[j])) for j in sure if alone[j] > far]


def in_company(given: Given, together: list[tuple[str, int]], n_features: int, *, certain: bool) -> str:
    """A sentence about features that are among the best, but not alone."""
    names = listed([f"{name} ({rank:,})" for name, rank in together], N_NAMED)
    one = len(together) == 1
    seems = "it seems" if one else "they seem"
    chance = "" if certain else f"; or {'it is' if one else 'they are'} there by chance"
    return (
        f"{names} {'is' if one else 'are'} among the best by {title(given.estimator)}, but far down alone"
        f" (rank by {by_what(given)}, of {n_features:,}): {seems} to act together with others, or by"
        f" {'other than straight lines' if given.measured else 'differences that means do not show'}{chance}."
    )


# What the best features look like: their values by class, and which of them say the same.


#: Features whose distributions are shown.
N_DISTRIBUTIONS = 12
#: Features whose correlations are shown.
N_CORRELATIONS = 30
#: Groups of features that say the same that are named in words, and how many features of each.
N_NAMED_GROUPS, N_NAMED_IN_GROUP = 10, 8
#: Words of a feature that are shown.
N_LEVELS = 8
#: Groups of a selector that leaves redundant features out that are listed.
N_GROUPS = 100
#: |r| from which on two features say much the same.
SAME = 0.8
#: Most points of a class, and of all classes of a feature.
_POINTS, _ALL_POINTS = 200, 1_500


def distributions(given: Given) -> list[Distribution]:
    """Values of the best features, class by class."""
    best = given.order[:N_DISTRIBUTIONS]
    values = given.X[:, best].astype(np.float64)
    n_classes = len(given.classes)
    most = min(_POINTS, max(10, _ALL_POINTS // n_classes))
    boxes, points = [], []
    for c in range(n_classes):
        of_class = np.sort(values[given.codes == c], axis=0)
        if np.isnan(of_class).any() or not len(of_class):
            known = [column[~np.isnan(column)] for column in of_class.T]
            boxes.append([quartiles(each).tolist() if each.size else [] for each in known])
            points.append([each[evenly(each.size, most)].tolist() for each in known])
        else:
            boxes.append(quartiles(of_class).T.tolist())
            points.append(of_class[evenly(len(of_class), most)].T.tolist())
    ranks = given.ranks
    return [
        Distribution(given.feature_names[j], int(ranks[j]), [], [], *_shares(given, int(j)))
        if j in given.levels
        else Distribution(
            given.feature_names[j],
            int(ranks[j]),
            [boxes[c][place] for c in range(n_classes)],
            [points[c][place] for c in range(n_classes)],
        )
        for place, j in enumerate(best)
    ]


def _shares(given: Given, feature: int) -> tuple[list[str], list[list[float]]]:
    """The most frequent words of a feature, the others taken together, and their shares of each class."""
    names, values = given.levels[feature], given.X[:, feature]
    known = ~np.isnan(values)
    numbers = values[known].astype(np.int64)
    counts = np.zeros((len(given.classes), len(names)))
    np.add.at(counts, (given.codes[known], numbers), 1.0)
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    shown = order if order.size <= N_LEVELS else order[: N_LEVELS - 1]
    # As they stand in the alphabet; the others come last.
    shown = np.sort(shown)
    labels, columns = [names[level] for level in shown], counts[:, shown]
    if shown.size < order.size:
        labels.append(f"{order.size - shown.size:,} others")
        columns = np.column_stack([columns, counts.sum(axis=1) - columns.sum(axis=1)])
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return labels, (columns / totals).tolist()


def quartiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least, lower quartile, median, upper quartile and most of columns; finite whatever is finite."""
    with np.errstate(over="ignore"):
        wide = ~np.isfinite(values.max(axis=0) - values.min(axis=0))
    # Between values, NumPy goes by their difference, which may be too large for a number.
    unit = np.where(wide, 0.5, 1.0)
    return np.quantile(values * unit, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0) / unit


def evenly(n_values: int, most: int) -> NDArray[np.int64]:
    """Places in an ordered list, at most so many, evenly from the first to the last."""
    if n_values <= most:
        return np.arange(n_values)
    return np.round(np.linspace(0.0, n_values - 1.0, most)).astype(np.int64)


def correlations(given: Given) -> Correlations | str:
    """Correlations of the best features; or why there are none, in a sentence."""
    best = given.order[:N_CORRELATIONS]
    if best.size < 2:
        return "With one feature there is nothing to correlate."
    best = np.array([j for j in best if j not in given.categorical], dtype=np.int64)
    n_categories = min(given.order.size, N_CORRELATIONS) - best.size
    if best.size < 2:
        reason = "Categories have no correlations, and among the best features there are no two others."
        return " ".join([reason, *_groups_in_words(given)])
    values = given.X[:, best].astype(np.float64)
    matrix = pairwise_pearson(values) if np.isnan(values).any() else pearson(values)
    varies = np.flatnonzero(~np.isnan(matrix.diagonal()))
    constant = np.setdiff1d(np.arange(best.size), varies)
    order, groups = _side_by_side(matrix, varies)
    order = np.concatenate([order, constant])
    names = [given.feature_names[j] for j in best]
    filtered = hasattr(given.estimator, "groups_")
    similar = (
        _of_filter(given)
        if filtered
        else [_similar(given, best[group], matrix[group[0], group]) for group in groups]
    )
    named = [[each.representative, *(member.name for member in each.members)] for each in similar]
    words = _words_of_filter(given, named) if filtered else _redundancy_in_words(given, named, best.size)
    ranks = given.ranks
    return Correlations(
        [names[place] for place in order],
        [int(ranks[best[place]]) for place in order],
        [[None if np.isnan(r) else float(r) for r in matrix[place, order]] for place in order],
        named,
        words + _cautions(n_categories, incomplete=bool(np.isnan(values).any())),
        similar,
        filtered,
    )


def _similar(given: Given, features: NDArray[np.int64], similarities: NDArray[np.float64]) -> SimilarFeatures:
    """A group of features, from the best on, and their similarities to the first."""
    named = [(given.feature_names[j], int(given.ranks[j])) for j in features]
    members = [Member(*each, float(r)) for each, r in zip(named[1:], similarities[1:], strict=True)]
    return SimilarFeatures(*named[0], members)


def _of_filter(given: Given) -> list[SimilarFeatures]:
    """Groups of two and more features of a selector that keeps one of each."""
    several = [group for group in given.estimator.groups_ if group.size > 1]
    return [_similar(given, group, given.estimator.similarity_[group]) for group in several[:N_GROUPS]]


def _groups_in_words(given: Given) -> list[str]:
    """What such a selector left out, where there is no picture; nothing of any other."""
    if not hasattr(given.estimator, "groups_"):
        return []
    named = [
        (each.representative, [member.name for member in each.members])
        for each in _of_filter(given)[:N_NAMED_GROUPS]
    ]
    told = _words_of_filter(given, [[first, *others] for first, others in named])
    return told + [f"{first} stands for {listed(others, N_NAMED_IN_GROUP)}." for first, others in named]


def _cautions(n_categories: int, *, incomplete: bool) -> list[str]:
    told = []
    if n_categories:
        told.append(
            f"{counted(n_categories, 'category', 'categories')} among the best"
            f" {'has' if n_categories == 1 else 'have'} no correlations and"
            f" {'is' if n_categories == 1 else 'are'} left out here."
        )
    if incomplete:
        told.append("Where values are missing, a correlation is that of the samples that have both.")
    return told


def _side_by_side(
    matrix: NDArray[np.float64], varies: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[list[int]]]:
    """An order in which features that go together are neighbors, and groups of those that say the same.

    By complete linkage on 1 − |r|: in a group every two features have |r| ≥ 0.8, not only those next to each
    other in a chain. The groups come, and are ordered, by the rank of their features.
    """
    if varies.size < 2:
        return varies, []
    # What cannot be told of two features with missing values puts them nowhere near each other.
    apart = 1.0 - np.abs(np.nan_to_num(matrix[np.ix_(varies, varies)]))
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), method="complete", optimal_ordering=True)
    labels = fcluster(tree, 1.0 - SAME + 1e-12, criterion="distance")
    groups = [varies[labels == label].tolist() for label in dict.fromkeys(labels.tolist())]
    return varies[leaves_list(tree)], [group for group in groups if len(group) > 1]


def _words_of_filter(given: Given, groups: list[list[str]]) -> list[str]:
    fitted = given.estimator
    n_grouped = int(np.count_nonzero(fitted.labels_ >= 0))
    if not n_grouped:
        return ["No feature is kept, and so none was looked at for others that say the same."]
    told = [
        f"The {n_grouped:,} features that were looked at are of {counted(len(fitted.groups_), 'group')} that"
        f" say the same (similarity ≥ {fitted.threshold:g}): the best of each is kept, the others are not."
    ]
    n_several = sum(group.size > 1 for group in fitted.groups_)
    if n_several > len(groups):
        told.append(f"Of {n_several:,} groups with two or more features the first {len(groups)} are listed.")
    return told


def _redundancy_in_words(given: Given, groups: list[list[str]], n_shown: int) -> list[str]:
    if not groups:
        return [f"No two of the best {n_shown} features say much the same (all |r| < {SAME:g})."]
    named = groups[:N_NAMED_GROUPS]
    told = [f"{listed(group, N_NAMED_IN_GROUP)} say much the same (|r| ≥ {SAME:g})." for group in named]
    if len(groups) > len(named):
        told.append(f"So do {counted(len(groups) - len(named), 'more group')} of features.")
    told.append(
        "In each group, one feature says most of what the others say: high ranks side by side are not news."
    )
    if len(given.codes) < 10:
        told.append(f"With {len(given.codes)} samples, correlations as large as these come about by chance.")
    return told
