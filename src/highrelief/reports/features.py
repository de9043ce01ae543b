"""The features from the best on, and what is to be said of their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bases.meta import fit_inside
from .alone import by_what, ranks_alone
from .contents import FeatureTable
from .given import Given
from .methods import is_one_by_one, title
from .sentences import counted, listed, percent
from .stability import RankSpread

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
        _words(given, weights, alone, spread),
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


def _words(given: Given, weights: Weights, alone: NDArray[np.int64], spread: RankSpread | None) -> list[str]:
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
            "neighbours of other targets are more alike than those of the same"
            if given.measured
            else "neighbours of other classes are nearer than those of the own"
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
