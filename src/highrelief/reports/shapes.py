"""What the best features look like: their values by class, and which of them say the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from ..core.similarity import pairwise_pearson, pearson
from .contents import Correlations, Distribution, Member, SimilarFeatures
from .given import Given
from .sentences import counted, listed

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
    words = _words_of_filter(given, named) if filtered else _words(given, named, best.size)
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
    """An order in which features that go together are neighbours, and groups of those that say the same.

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


def _words(given: Given, groups: list[list[str]], n_shown: int) -> list[str]:
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
