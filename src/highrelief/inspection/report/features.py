"""The features of a report: weights, univariate baseline, distributions, redundancy and interactions.

The univariate baseline of classes is the Fisher score: scatter between the classes over scatter within them.
A categorical feature counts as one indicator per level, with the scatters summed. The baseline of a
continuous target is the share of its variance that a feature explains: the squared correlation, or for a
categorical feature that of the level means. Missing values are ignored.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from ..._engine.limits import limits
from ...base.meta import fit_inside
from ...base.selector import lowest_ranks
from ...io.cells import counted
from ...methods.fisher import FisherScore
from ...selection.redundancy import pairwise_pearson, pearson
from ..interactions import InteractionTable, Pair, interactions
from ..recommendation import Recommendation, fit_work
from .contents import (
    Correlations,
    Distribution,
    FeatureTable,
    Interactions,
    Member,
    PairPicture,
    SampleMap,
    SimilarFeatures,
    TwoFeatures,
)
from .diagnostics import RankSpread
from .inputs import ReportInputs
from .wording import is_one_by_one, listed, percent, title

# Univariate baseline


def univariate_ranks(inputs: ReportInputs) -> NDArray[np.int64]:
    """Return the ranks of the features by the univariate baseline."""
    if inputs.continuous_target:
        return lowest_ranks(_explained(inputs))
    values = inputs.X if inputs.X.dtype.kind == "f" else inputs.X.astype(np.float64)
    if inputs.missing is None and not inputs.categorical:
        return FisherScore().fit(values, inputs.codes).ranking_
    return lowest_ranks(_fisher(inputs, values))


def univariate_score_name(inputs: ReportInputs) -> str:
    """Return the name of the univariate baseline."""
    return "the squared correlation with the target" if inputs.continuous_target else "the Fisher score"


def _fisher(inputs: ReportInputs, values: NDArray[np.floating]) -> NDArray[np.float64]:
    numeric = [place for place in range(values.shape[1]) if place not in inputs.categorical]
    scores = np.zeros(values.shape[1])
    scores[numeric] = _ratio(*_scatters(_in_unit_range(values[:, numeric]), inputs.codes))
    for place in inputs.categorical:
        between, within, count = _scatters(_indicators(values[:, place]), inputs.codes)
        scores[place] = _ratio(between.sum(), within.sum(), count.max(initial=0))
    return scores


def _scatters(
    values: NDArray[np.float64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the scatter of columns between and within classes, and their numbers of values."""
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
    """Return the Fisher score; the scatter within is at least the rounding error."""
    smallest = np.maximum(count, 1.0) * np.finfo(np.float64).eps ** 2
    # A constant feature differs from its mean by rounding only.
    varies = between + within > smallest
    return np.where(varies, between / np.maximum(within, smallest), 0.0)


def _in_unit_range(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale columns to [0, 1], constant ones to 0; halved first, since a range may overflow."""
    halved = values.astype(np.float64) / 2.0
    known = ~np.isnan(halved)
    low = np.where(known, halved, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, halved, -np.inf).max(axis=0, initial=-np.inf)
    some = low < high
    low = np.where(np.isfinite(low), low, 0.0)
    return np.where(known, (halved - low) / np.where(some, high - low, 1.0), np.nan)


def _indicators(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return one indicator column per level of a categorical feature."""
    known = ~np.isnan(values)
    indicators = (values[:, np.newaxis] == np.unique(values[known])).astype(np.float64)
    indicators[~known] = np.nan
    return indicators


def _explained(inputs: ReportInputs) -> NDArray[np.float64]:
    """Return the share of the target's variance that each feature explains."""
    target = _in_unit_range(inputs.y.astype(np.float64)[:, np.newaxis])
    scores = np.zeros(inputs.X.shape[1])
    numeric = [place for place in range(inputs.X.shape[1]) if place not in inputs.categorical]
    values = _in_unit_range(inputs.X[:, numeric])
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    apart = np.where(known, values - _mean(values, known, count), 0.0)
    also = np.where(known, target - _mean(np.broadcast_to(target, values.shape), known, count), 0.0)
    scores[numeric] = _share((apart * also).sum(axis=0) ** 2, (apart**2).sum(axis=0) * (also**2).sum(axis=0))
    for place in inputs.categorical:
        column = inputs.X[:, place]
        there = ~np.isnan(column)
        if there.any():
            levels = np.unique(column[there], return_inverse=True)[1]
            between, within, _ = _scatters(target[there], levels)
            scores[place] = _share(between, between + within)[0]
    return scores


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-24)


# Weights and the feature table

#: Number of best features named in sentences.
N_NAMED = 10
#: Share of the features ranked before one that the univariate baseline misses.
_FAR_DOWN = 0.25


@dataclass(frozen=True)
class Weights:
    """The weights and the selection."""

    values: NDArray[np.float64]
    kept: NDArray[np.bool_]
    order: NDArray[np.int64]
    #: Whether the number of selected features was set by the user or by cross-validation.
    chosen: bool
    #: Whether only one of each group of redundant features is selected.
    filtered: bool
    #: "weights", "set" (0 or 1), "ranks", or "evidence".
    kind: str

    #: Whether the recommended features are selected.
    recommended: bool = False

    @classmethod
    def of(cls, inputs: ReportInputs, recommendation: Recommendation | str = "") -> Weights:
        """Return the weights of the estimator; recommended features are selected unless the user chose."""
        estimator = inputs.estimator
        # A redundancy filter selects among those that the estimator inside selects.
        inside = estimator.estimator if hasattr(estimator, "groups_") else estimator
        chosen = hasattr(estimator, "n_features_") or any(
            getattr(each, "n_features_to_select", None) is not None for each in (estimator, inside)
        )
        recommended = not chosen and not isinstance(recommendation, str)
        return cls(
            np.asarray(estimator.feature_weights_, dtype=np.float64),
            recommendation.features
            if recommended and isinstance(recommendation, Recommendation)
            else np.asarray(estimator.get_support()),
            inputs.order,
            chosen,
            hasattr(estimator, "groups_"),
            _kind(fit_inside(estimator)),
            recommended,
        )

    @property
    def comparable(self) -> bool:
        """Whether ratios of weights are meaningful."""
        return self.kind == "weights"

    @property
    def n_positive(self) -> int:
        """Number of positive weights."""
        return int(np.count_nonzero(self.values > 0.0))

    @property
    def n_kept(self) -> int:
        """Number of selected features."""
        return int(np.count_nonzero(self.kept))

    def share_of_best(self, n_best: int) -> float:
        """Return the share of the best features in the sum of positive weights."""
        positive = np.maximum(self.values, 0.0)
        # The sum of the weights may overflow.
        positive = positive / (positive.max() or 1.0)
        return float(positive[self.order[:n_best]].sum() / positive.sum()) if positive.any() else 0.0


def _kind(inside: Any) -> str:
    if hasattr(inside, "score_losses_"):
        return "set"
    if hasattr(inside, "evidence_"):
        return "evidence"
    return "ranks" if getattr(inside, "aggregate", None) == "ranks" else "weights"


def feature_table(inputs: ReportInputs, weights: Weights, spread: RankSpread | None) -> FeatureTable:
    """Return the table of all features, ordered by rank."""
    order = inputs.order
    univariate = univariate_ranks(inputs)
    low, high, frequency = (
        (None, None, None)
        if spread is None
        else (each[order].tolist() for each in (spread.low, spread.high, spread.frequency))
    )
    return FeatureTable(
        [inputs.feature_names[j] for j in order],
        inputs.ranks[order].tolist(),
        weights.values[order].tolist(),
        weights.kept[order].tolist(),
        univariate[order].tolist(),
        low,
        high,
        frequency,
        _describe_weights(inputs, weights, univariate, spread),
        None if inputs.missing is None else inputs.missing[order].tolist(),
        univariate_score_name(inputs),
    )


def describe_selection(weights: Weights) -> str:
    """Describe how many features are selected, and why."""
    kept = f"{counted(weights.n_kept, 'feature')} {'is' if weights.n_kept == 1 else 'are'} kept"
    if not weights.n_kept:
        return "No feature is kept: none is beyond chance."
    decided = {
        ": the best of each group of redundant features": weights.filtered,
        ": the members of the set": weights.kind == "set",
        ", as recommended": weights.recommended or weights.kind == "evidence",
        ", as was chosen": weights.chosen,
    }
    if any(decided.values()):
        return f"{kept}{next(why for why, applies in decided.items() if applies)}."
    if not weights.n_positive:
        return f"{kept}, since one must be; none has a weight above 0."
    if weights.kind == "ranks":
        return f"{kept}: mean ranks do not show which are irrelevant."
    return f"{kept}: {'that' if weights.n_kept == 1 else 'all'} with a weight above 0."


def _describe_weights(
    inputs: ReportInputs, weights: Weights, univariate: NDArray[np.int64], spread: RankSpread | None
) -> list[str]:
    n_features = weights.values.size
    sentences = [describe_selection(weights)]
    if weights.comparable and weights.n_positive > N_NAMED:
        share, even = weights.share_of_best(N_NAMED), N_NAMED / weights.n_positive
        sentences.append(
            f"The best {N_NAMED} hold {percent(share)} of all positive weight; if all {weights.n_positive:,}"
            f" weighed the same, they would hold {percent(even)}."
        )
    negative = int(np.count_nonzero(weights.values < 0.0))
    if negative:
        nearer = (
            "neighbors of other targets are more alike than those of the same"
            if inputs.continuous_target
            else "neighbors of other classes are nearer than those of the own"
        )
        sentences.append(
            f"{counted(negative, 'feature')} {'weighs' if negative == 1 else 'weigh'} less than 0: by"
            f" {'it' if negative == 1 else 'them'} {nearer}. So it is, by chance, for about half of all"
            " features that are of no use."
        )
    zero = int(np.count_nonzero(weights.values == 0.0))
    if zero:
        sentences.append(
            f"{counted(zero, 'feature')} {'weighs' if zero == 1 else 'weigh'} 0"
            + (" and share one rank." if zero > 1 else ".")
        )
    interacting = interacting_features(inputs, weights, univariate, spread)
    if interacting:
        sentences.append(describe_interacting(inputs, interacting, n_features, certain=spread is not None))
    return sentences


def interacting_features(
    inputs: ReportInputs, weights: Weights, univariate: NDArray[np.int64], spread: RankSpread | None
) -> list[tuple[str, int]]:
    """Return the best features with a poor univariate rank, and that rank, if the halves confirm them."""
    if is_one_by_one(inputs.estimator):
        return []
    n_features = weights.values.size
    # Of few features, ten may be nearly all.
    best = [j for j in inputs.order[: min(N_NAMED, n_features // 4)] if weights.values[j] > 0.0]
    far = max(_FAR_DOWN * n_features, min(2.0 * N_NAMED, 0.5 * n_features))
    # A frequency nearer to 1 than to its expectation by chance.
    sure = [j for j in best if spread is None or spread.frequency[j] >= 0.5 + 0.5 * spread.frequency.mean()]
    return [(inputs.feature_names[j], int(univariate[j])) for j in sure if univariate[j] > far]


def describe_interacting(
    inputs: ReportInputs, interacting: list[tuple[str, int]], n_features: int, *, certain: bool
) -> str:
    """Describe features that rank high, but not by the univariate baseline."""
    names = listed([f"{name} ({rank:,})" for name, rank in interacting], N_NAMED)
    one = len(interacting) == 1
    seems = "it seems" if one else "they seem"
    linear = inputs.continuous_target
    other_effects = "other than straight lines" if linear else "differences that means do not show"
    chance = "" if certain else f"; or {'it is' if one else 'they are'} there by chance"
    return (
        f"{names} {'is' if one else 'are'} among the best by {title(inputs.estimator)}, but far down alone"
        f" (rank by {univariate_score_name(inputs)}, of {n_features:,}): {seems} to interact with others,"
        f" or by {other_effects}{chance}."
    )


# Distributions, correlations and redundancy of the best features

#: Features whose distributions are shown.
N_DISTRIBUTIONS = 12
#: Features whose correlations are shown.
N_CORRELATIONS = 30
#: Groups of redundant features named in sentences, and features named of each.
N_NAMED_GROUPS, N_NAMED_IN_GROUP = 10, 8
#: Levels of a categorical feature that are shown; numbers of few distinct values are shown as levels.
N_LEVELS = 8
N_FEW = 6
#: Groups of a redundancy filter that are listed.
N_GROUPS = 100
#: |r| from which on two features count as redundant.
SAME = 0.8
#: Maximum number of points per class, and per feature.
_POINTS, _ALL_POINTS = 200, 1_500


def distributions(inputs: ReportInputs) -> list[Distribution]:
    """Return the distributions of the best features, by class."""
    best = inputs.order[:N_DISTRIBUTIONS]
    values = inputs.X[:, best].astype(np.float64)
    n_classes = len(inputs.classes)
    most = min(_POINTS, max(10, _ALL_POINTS // n_classes))
    boxes, points = [], []
    for c in range(n_classes):
        of_class = np.sort(values[inputs.codes == c], axis=0)
        if np.isnan(of_class).any() or not len(of_class):
            known = [column[~np.isnan(column)] for column in of_class.T]
            boxes.append([quartiles(each).tolist() if each.size else [] for each in known])
            points.append([each[evenly(each.size, most)].tolist() for each in known])
        else:
            boxes.append(quartiles(of_class).T.tolist())
            points.append(of_class[evenly(len(of_class), most)].T.tolist())
    ranks = inputs.ranks
    levels = {j: found for j in best.tolist() if (found := few_levels(inputs, j)) is not None}
    return [
        Distribution(inputs.feature_names[j], int(ranks[j]), [], [], *_shares(inputs, *levels[j]))
        if j in levels
        else Distribution(
            inputs.feature_names[j],
            int(ranks[j]),
            [boxes[c][place] for c in range(n_classes)],
            [points[c][place] for c in range(n_classes)],
        )
        for place, j in enumerate(best)
    ]


def few_levels(inputs: ReportInputs, feature: int) -> tuple[list[str], NDArray[np.float64]] | None:
    """Return the labels of a feature's values and the index of each sample's (NaN if missing).

    None for a number of more than 6 distinct values.
    """
    values = inputs.X[:, feature].astype(np.float64)
    if feature in inputs.levels:
        return inputs.levels[feature], values
    known = ~np.isnan(values)
    distinct, index = np.unique(values[known], return_inverse=True)
    if not 0 < distinct.size <= N_FEW:
        return None
    codes = np.full(values.size, np.nan)
    codes[known] = index
    return [f"{each:.6g}" for each in distinct], codes


def _shares(
    inputs: ReportInputs, names: list[str], values: NDArray[np.float64]
) -> tuple[list[str], list[list[float]]]:
    """Return the most frequent levels of a feature, the rest merged, and their shares in each class."""
    known = ~np.isnan(values)
    numbers = values[known].astype(np.int64)
    counts = np.zeros((len(inputs.classes), len(names)))
    np.add.at(counts, (inputs.codes[known], numbers), 1.0)
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    shown = order if order.size <= N_LEVELS else order[: N_LEVELS - 1]
    # In alphabetical order; the merged rest comes last.
    shown = np.sort(shown)
    labels, columns = [names[level] for level in shown], counts[:, shown]
    if shown.size < order.size:
        labels.append(f"{order.size - shown.size:,} others")
        columns = np.column_stack([columns, counts.sum(axis=1) - columns.sum(axis=1)])
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return labels, (columns / totals).tolist()


def quartiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return minimum, quartiles and maximum of columns without overflow."""
    with np.errstate(over="ignore"):
        wide = ~np.isfinite(values.max(axis=0) - values.min(axis=0))
    # NumPy interpolates by differences, which may overflow.
    unit = np.where(wide, 0.5, 1.0)
    return np.quantile(values * unit, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0) / unit


def evenly(n_values: int, most: int) -> NDArray[np.int64]:
    """Return at most ``most`` evenly spaced indices of a sorted list, including both ends."""
    if n_values <= most:
        return np.arange(n_values)
    return np.round(np.linspace(0.0, n_values - 1.0, most)).astype(np.int64)


def correlations(inputs: ReportInputs) -> Correlations | str:
    """Return the correlations of the best features; or a sentence with the reason if there are none."""
    best = inputs.order[:N_CORRELATIONS]
    if best.size < 2:
        return "With one feature there is nothing to correlate."
    best = np.array([j for j in best if j not in inputs.categorical], dtype=np.int64)
    n_categories = min(inputs.order.size, N_CORRELATIONS) - best.size
    if best.size < 2:
        reason = "Categories have no correlations, and among the best features there are no two others."
        return " ".join([reason, *_describe_groups(inputs)])
    values = inputs.X[:, best].astype(np.float64)
    matrix = pairwise_pearson(values) if np.isnan(values).any() else pearson(values)
    varies = np.flatnonzero(~np.isnan(matrix.diagonal()))
    constant = np.setdiff1d(np.arange(best.size), varies)
    order, groups = _clustered_order(matrix, varies)
    order = np.concatenate([order, constant])
    names = [inputs.feature_names[j] for j in best]
    filtered = hasattr(inputs.estimator, "groups_")
    similar = (
        _filter_groups(inputs)
        if filtered
        else [_similar(inputs, best[group], matrix[group[0], group]) for group in groups]
    )
    named = [[each.representative, *(member.name for member in each.members)] for each in similar]
    words = _describe_filter(inputs, named) if filtered else _describe_redundancy(inputs, named, best.size)
    ranks = inputs.ranks
    return Correlations(
        [names[place] for place in order],
        [int(ranks[best[place]]) for place in order],
        [[None if np.isnan(r) else float(r) for r in matrix[place, order]] for place in order],
        named,
        words + _cautions(n_categories, incomplete=bool(np.isnan(values).any())),
        similar,
        filtered,
    )


def _similar(
    inputs: ReportInputs, features: NDArray[np.int64], similarities: NDArray[np.float64]
) -> SimilarFeatures:
    """Return a group of features with their similarities to the best one."""
    named = [(inputs.feature_names[j], int(inputs.ranks[j])) for j in features]
    members = [Member(*each, float(r)) for each, r in zip(named[1:], similarities[1:], strict=True)]
    return SimilarFeatures(*named[0], members)


def _filter_groups(inputs: ReportInputs) -> list[SimilarFeatures]:
    """Return the groups of a redundancy filter that have two or more features."""
    several = [group for group in inputs.estimator.groups_ if group.size > 1]
    return [_similar(inputs, group, inputs.estimator.similarity_[group]) for group in several[:N_GROUPS]]


def _describe_groups(inputs: ReportInputs) -> list[str]:
    """Describe the groups of a redundancy filter, for reports without a heat map; else nothing."""
    if not hasattr(inputs.estimator, "groups_"):
        return []
    named = [
        (each.representative, [member.name for member in each.members])
        for each in _filter_groups(inputs)[:N_NAMED_GROUPS]
    ]
    sentences = _describe_filter(inputs, [[first, *others] for first, others in named])
    return sentences + [f"{first} stands for {listed(others, N_NAMED_IN_GROUP)}." for first, others in named]


def _cautions(n_categories: int, *, incomplete: bool) -> list[str]:
    sentences = []
    if n_categories:
        sentences.append(
            f"{counted(n_categories, 'category', 'categories')} among the best"
            f" {'has' if n_categories == 1 else 'have'} no correlations and"
            f" {'is' if n_categories == 1 else 'are'} left out here."
        )
    if incomplete:
        sentences.append("Where values are missing, a correlation is that of the samples that have both.")
    return sentences


def _clustered_order(
    matrix: NDArray[np.float64], varies: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[list[int]]]:
    """Return an order with similar features adjacent, and the groups of redundant features.

    By complete linkage on 1 − |r|: any two features of a group have |r| ≥ 0.8. Groups and their features are
    ordered by rank.
    """
    if varies.size < 2:
        return varies, []
    # An unknown correlation counts as 0.
    apart = 1.0 - np.abs(np.nan_to_num(matrix[np.ix_(varies, varies)]))
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), method="complete", optimal_ordering=True)
    labels = fcluster(tree, 1.0 - SAME + 1e-12, criterion="distance")
    groups = [varies[labels == label].tolist() for label in dict.fromkeys(labels.tolist())]
    return varies[leaves_list(tree)], [group for group in groups if len(group) > 1]


def _describe_filter(inputs: ReportInputs, groups: list[list[str]]) -> list[str]:
    fitted = inputs.estimator
    n_grouped = int(np.count_nonzero(fitted.labels_ >= 0))
    if not n_grouped:
        return ["No feature is kept, so none was compared with others."]
    sentences = [
        f"The {n_grouped:,} features that were compared form {counted(len(fitted.groups_), 'group')} of"
        f" redundant features (similarity ≥ {fitted.threshold:g}): only the best of each is kept."
    ]
    n_several = sum(group.size > 1 for group in fitted.groups_)
    if n_several > len(groups):
        sentences.append(
            f"Of {n_several:,} groups with two or more features the first {len(groups)} are listed."
        )
    return sentences


def _describe_redundancy(inputs: ReportInputs, groups: list[list[str]], n_shown: int) -> list[str]:
    if not groups:
        return [f"No two of the best {n_shown} features are redundant (all |r| < {SAME:g})."]
    named = groups[:N_NAMED_GROUPS]
    sentences = [f"{listed(group, N_NAMED_IN_GROUP)} are redundant (|r| ≥ {SAME:g})." for group in named]
    if len(groups) > len(named):
        sentences.append(f"So are {counted(len(groups) - len(named), 'more group')} of features.")
    sentences.append("In each group, one feature contains most of the information of the others.")
    if len(inputs.codes) < 10:
        sentences.append(
            f"With {len(inputs.codes)} samples, correlations as large as these come about by chance."
        )
    return sentences


# Pictures of pairs, and of the best features over the samples

#: Features and samples of the map.
N_MAP_FEATURES, N_MAP_SAMPLES = 30, 400
#: Standard deviations at which the colors of the map end.
_MAP_END = 2.5


def pair_picture(inputs: ReportInputs, first: int, second: int) -> PairPicture:
    """Return the classes by the values of two features: counts of few values, otherwise points."""
    names = inputs.feature_names[first], inputs.feature_names[second]
    one, other = few_levels(inputs, first), few_levels(inputs, second)
    n_classes = len(inputs.classes)
    if one is not None and other is not None and max(len(one[0]), len(other[0])) <= N_LEVELS:
        counts = np.zeros((n_classes, len(one[0]), len(other[0])), dtype=np.int64)
        both = ~(np.isnan(one[1]) | np.isnan(other[1]))
        places = (inputs.codes[both], one[1][both].astype(int), other[1][both].astype(int))
        np.add.at(counts, places, 1)
        return PairPicture(*names, one[0], other[0], counts.tolist())
    values = inputs.X[:, [first, second]].astype(np.float64)
    known = ~np.isnan(values).any(axis=1)
    most = max(10, _ALL_POINTS // n_classes)
    of_class = [np.flatnonzero(known & (inputs.codes == c)) for c in range(n_classes)]
    points = [values[rows[evenly(rows.size, most)]].tolist() for rows in of_class]
    return PairPicture(*names, points=points)


def sample_map(inputs: ReportInputs, n_kept: int) -> SampleMap | None:
    """Return the values of the best features over the samples; None for fewer than two."""
    best = [
        int(j) for j in inputs.order[: min(max(n_kept, 10), N_MAP_FEATURES)] if j not in inputs.categorical
    ]
    values = inputs.X[:, best].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread = np.nanstd(values, axis=0)
        scaled = (values - np.nanmean(values, axis=0)) / spread
    best = [
        j for j, deviation in zip(best, spread, strict=True) if np.isfinite(deviation) and deviation > 0.0
    ]
    if len(best) < 2:
        return None
    scaled = scaled[:, np.isfinite(spread) & (spread > 0.0)]
    by_target = inputs.y.astype(np.float64) if inputs.continuous_target else inputs.codes
    # Within a class by the mean of the features, turned to the side of the best one.
    sides = np.sign(np.nan_to_num(np.array([_side(scaled[:, 0], column) for column in scaled.T])))
    within = np.nanmean(scaled * np.where(sides == 0.0, 1.0, sides), axis=1)
    order = np.lexsort((np.nan_to_num(within), by_target))
    rows = order[evenly(order.size, N_MAP_SAMPLES)]
    clipped = np.clip(scaled[rows], -_MAP_END, _MAP_END).round(2)
    return SampleMap(
        [inputs.feature_names[j] for j in best],
        rows.tolist(),
        [inputs.sample_names[n] for n in rows],
        inputs.codes[rows].tolist(),
        [[None if np.isnan(each) else float(each) for each in column] for column in clipped.T],
    )


def _side(best: NDArray[np.float64], column: NDArray[np.float64]) -> float:
    return float(np.nansum(best * column))


# Interactions of the best features

#: Features that are left out one by one.
N_INTERACTIONS = 12
#: Share of a weight from which on its loss counts as large.
_MUCH = 0.5
#: Pairs in the table, and pairs named in a sentence.
N_PAIRS, N_NAMED_PAIRS = 15, 3


def measure_interactions(
    inputs: ReportInputs,
    *,
    requested: bool | None,
    resamples: int,
    random_state: Any,
    n_jobs: int | None,
) -> InteractionTable | str:
    """Measure the interactions of the best features; return a sentence with the reason if that fails.

    ``requested``: True or False as the user set it; None measures only within ``limits.interaction_work``,
    fewer features or halves if need be.
    """
    reason = _reason_not_measured(inputs, requested=requested)
    if reason is not None:
        return reason
    plan = (N_INTERACTIONS, resamples) if requested else _affordable(inputs, resamples)
    if plan is None:
        return (
            "Interactions were not measured: fitting the best features again and again, each time without one"
            " of them, is too much work for this table. Use interactions=True, or --interactions."
        )
    n_features, n_halves = plan
    values = inputs.X[:, inputs.order[:n_features]].astype(np.float64)
    varies = np.nanmin(values, axis=0, initial=np.inf) < np.nanmax(values, axis=0, initial=-np.inf)
    best = inputs.order[:n_features][varies]
    if best.size < 2:
        return "Interactions were not measured: they need two features that vary."
    try:
        with warnings.catch_warnings():
            # With too few samples for halves, a sentence of the report says that noise is unknown.
            warnings.simplefilter("ignore")
            return interactions(
                inputs.unfitted,
                inputs.X,
                inputs.y,
                features=best.tolist(),
                n_features=n_features,
                n_resamples=n_halves,
                groups=inputs.groups,
                batches=inputs.batches,
                n_jobs=n_jobs,
                random_state=random_state,
            )
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"Interactions were not measured: {sentence[0].lower()}{sentence[1:]}."


def _affordable(inputs: ReportInputs, resamples: int) -> tuple[int, int] | None:
    """Return the numbers of features and halves within the limit of work; None if there are none."""
    n_samples, n_all = inputs.X.shape
    for n_features, most in ((N_INTERACTIONS, resamples), (N_INTERACTIONS, 4), (6, 4), (6, 0)):
        n_halves = min(most, resamples)
        n_fits = (n_features + 1) * (1.0 + 0.25 * n_halves)
        work = n_fits * fit_work(inputs.estimator, n_samples, min(n_features, n_all))
        if work <= limits.interaction_work:
            return n_features, n_halves
    return None


def _reason_not_measured(inputs: ReportInputs, *, requested: bool | None) -> str | None:
    if requested is False:
        return "Interactions were not measured: this was switched off."
    if is_one_by_one(inputs.estimator):
        return (
            f"The {title(inputs.estimator)} weighs each feature alone: no weight depends on another feature."
        )
    if hasattr(fit_inside(inputs.estimator), "partner_"):
        return _describe_partners(inputs)
    if not Weights.of(inputs).comparable:
        return "Interactions were not measured: the method gives no weights of which a share could be lost."
    return None


def partner_pairs(inputs: ReportInputs) -> list[tuple[int, int]]:
    """Return the pairs that HighRelief found, by column index, the better feature first."""
    partners = getattr(fit_inside(inputs.estimator), "partner_", None)
    if partners is None:
        return []
    pairs = [(int(j), int(partners[j])) for j in inputs.order if partners[j] >= 0]
    return list(dict.fromkeys((min(each), max(each)) for each in pairs))


def _describe_partners(inputs: ReportInputs) -> str:
    pairs = partner_pairs(inputs)
    name = type(fit_inside(inputs.estimator)).__name__
    if not pairs:
        return f"{name} tests pairs of features itself and found none that interact."
    named = [f"{inputs.feature_names[i]} and {inputs.feature_names[j]}" for i, j in pairs]
    return f"{name} tests pairs of features itself. It found: {'; '.join(named[:10])}."


def named_interactions(inputs: ReportInputs, table: InteractionTable) -> Interactions:
    """Return the interactions with feature names, the strongest pairs and sentences."""
    # The loss of a weight within noise is meaningless.
    losses, clear = np.where(table.weighs[:, np.newaxis], table.losses, np.nan), table.clear
    pairs = [each for each in table.pairs() if _is_known(each)]
    is_clear = [each for each in pairs if each.first_is_clear or each.second_is_clear]
    # Without noise, what two features of some weight lose by half.
    weighs = dict(zip(table.features.tolist(), table.weighs.tolist(), strict=True))
    large = [each for each in pairs if _largest_loss(each, weighs) >= _MUCH]
    listed_pairs = (large if clear is None else is_clear)[:N_PAIRS]
    found = Interactions(
        [inputs.feature_names[j] for j in table.features],
        [int(inputs.ranks[j]) for j in table.features],
        [[None if np.isnan(each) else float(each) for each in row] for row in losses],
        None if clear is None else clear.tolist(),
        [_named_pair(inputs, each) for each in listed_pairs],
        [],
    )
    return replace(found, words=_describe_interactions(inputs, table, found))


def _largest_loss(pair: Pair, weighs: Mapping[int, bool]) -> float:
    """Return the largest part of a weight that is lost or gained, of features that have one."""
    sides = ((pair.first, pair.loss_of_first), (pair.second, pair.loss_of_second))
    return max((abs(loss) for j, loss in sides if weighs[j] and np.isfinite(loss)), default=0.0)


def _is_known(pair: Pair) -> bool:
    return bool(np.isfinite(pair.loss_of_first) or np.isfinite(pair.loss_of_second))


def _named_pair(inputs: ReportInputs, pair: Pair) -> TwoFeatures:
    of_first, of_second = (
        None if np.isnan(each) else float(each) for each in (pair.loss_of_first, pair.loss_of_second)
    )
    found = TwoFeatures(
        inputs.feature_names[pair.first],
        inputs.feature_names[pair.second],
        of_first,
        of_second,
        bool(pair.first_is_clear),
        bool(pair.second_is_clear),
    )
    return replace(found, kind=_pair_kind(found))


def _pair_kind(pair: TwoFeatures) -> str:
    if not pair.first_is_clear and not pair.second_is_clear:
        return ""
    losses = [loss for _, loss in _clear_losses(pair)]
    if not losses:
        return "redundant"
    return "interact" if max(losses) >= _MUCH else "interact in part"


def interacting_pairs(found: Interactions) -> list[TwoFeatures]:
    """Return the pairs in which one feature clearly loses at least half of its weight without the other."""
    return [each for each in found.pairs if each.kind == "interact"]


def describe_pairs(pairs: list[TwoFeatures]) -> str:
    """Describe interacting pairs and the losses of each feature, in a sentence."""
    sentences = []
    for each in pairs:
        losses = " and ".join(f"{name} {percent(min(loss, 1.0))}" for name, loss in _clear_losses(each))
        sentences.append(f"{each.first} and {each.second} ({losses})")
    pairs_in_words = listed(sentences, N_NAMED_PAIRS)
    return (
        f"Features that interact, and the share of its weight that each loses without the other:"
        f" {pairs_in_words}."
    )


def _clear_losses(pair: TwoFeatures) -> list[tuple[str, float]]:
    """Return the features of a pair that clearly lose weight without the other, and the losses."""
    sides = (
        (pair.first, pair.loss_of_first, pair.first_is_clear),
        (pair.second, pair.loss_of_second, pair.second_is_clear),
    )
    return [(name, loss) for name, loss, clear in sides if clear and loss is not None and loss > 0.0]


def _describe_interactions(inputs: ReportInputs, table: InteractionTable, found: Interactions) -> list[str]:
    n_shown = counted(table.features.size, "feature")
    sentences = [
        f"{title(inputs.estimator)} weighed the best {n_shown} again, by these alone, and each time without"
        " one of them. Where a weight disappears, the two interact; where it grows, they are redundant and"
        " share the credit."
    ]
    if table.noise is None:
        strongest = (
            f"The strongest pair is {found.pairs[0].first} and {found.pairs[0].second}."
            if found.pairs
            else "No weight changes by half."
        )
        return [*sentences, strongest, "Noise was not measured, so that small changes mean nothing."]
    interacting = interacting_pairs(found)
    less = [each for each in found.pairs if each.kind == "interact in part"]
    same = [each for each in found.pairs if each.kind == "redundant"]
    if interacting:
        sentences.append(describe_pairs(interacting))
    else:
        sentences.append(
            "No two of them are seen to interact: none clearly loses half of its weight without another."
        )
    if less:
        losses = [
            f"{name} {percent(loss)} without {each.second if name == each.first else each.first}"
            for each in less
            for name, loss in _clear_losses(each)
        ]
        sentences.append(f"Some lose a smaller part of their weight: {listed(losses, N_NAMED_PAIRS)}.")
    if same:
        names = [f"{each.first} and {each.second}" for each in same]
        sentences.append(
            f"{listed(names, N_NAMED_PAIRS)} are redundant: without one, the weight of the other grows."
        )
    sentences.append(
        f"What is faint is within noise, measured on {table.n_resamples} halves of the samples: chance makes"
        " any of all these pairs stand out in at most about one of twenty tables. Pairs of which one is not"
        " among the best are not seen."
    )
    return sentences
