r"""How much the best features depend on which samples were drawn: fits to halves that share no sample.

Two halves that share no sample are two small studies: their agreement is what chance has left of the
ranking, 0 where nothing but chance made it. (Subsets that overlap agree on noise too: two random halves
share half of their samples, two subsets of 90 % nearly all.)
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from .._engine.cached_property import cached_property
from .._engine.parameters import check_count, random_generator
from ..base.meta import fit_inside, ranked_by, weights_of
from ..base.resampling import (
    MOST_DRAWS,
    SEEDS,
    Draw,
    ResampledWeighter,
    draw_subset,
    draw_suitable,
    subset_check,
)
from ..base.selector import lowest_ranks
from ..base.training_data import TrainingData

#: Fraction of the samples in each half.
HALF = 0.5
#: Indices of the samples of two halves.
Pair = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class HalfFits:
    """Values by which features are ranked in each half; rows 2j and 2j + 1 are disjoint halves."""

    scores: NDArray[np.float64]
    #: Number of halves in which the method did not converge.
    n_unsettled: int

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks in each half, 1 = best; ties have the lowest of their ranks."""
        return np.stack([lowest_ranks(row) for row in self.scores])

    @cached_property
    def tied(self) -> NDArray[np.int64]:
        """Number of features with the rank of each, including itself."""
        return np.stack([np.bincount(row)[row] for row in self.ranks])


class Agreement(NamedTuple):
    """Agreement of two halves, 0 by chance and 1 if they are equal, and its 95 % confidence interval."""

    value: float
    lower: float
    upper: float


def checked_halves(name: str, number: Any, *, or_none: bool = False) -> int:
    """Return a valid number of halves; 0 for none, if that is allowed."""
    if number is None and or_none:
        return 0
    check_count(name, number, at_least=0)
    if int(number) == 0 and or_none:
        return 0
    if int(number) < 4 or int(number) % 2:
        raise ValueError(
            f"{name}={number!r} must be {'0, or ' * or_none}an even number of at least 4: halves of the"
            " samples come in pairs."
        )
    return int(number)


def why_not(class_sizes: NDArray[np.int64], n_features: int) -> str | None:
    """Return why the samples cannot be halved, in a sentence; None if they can."""
    if n_features < 2:
        return "With one feature there is no ranking that could change."
    if np.count_nonzero(class_sizes >= 2) < 2 or class_sizes.max() < 4:
        return (
            "Stability was not measured: half of the samples would not hold two classes with a sample to"
            " compare with. It takes two classes, one of 4 samples and another of 2, at least."
        )
    return None


def _scores(fitted: Any, n_features: int) -> NDArray[np.float64]:
    return ranked_by(fitted, weights_of(fitted, n_features))


class PairedFits(ResampledWeighter):
    """Base of fits to disjoint pairs of halves of the samples."""

    _size_name = "the share"
    _refuses_dask = None

    @abstractmethod
    def _pair(
        self, random: np.random.RandomState, codes: NDArray[np.int64], groups: NDArray[np.int64] | None
    ) -> Pair:
        """Draw two disjoint halves of the samples."""

    def _draws(self, data: TrainingData, groups: NDArray[np.int64] | None) -> list[Draw]:
        random = random_generator("random_state", self.random_state)
        is_suitable = subset_check(data)

        def both_suitable(pair: Pair) -> bool:
            return all(half.size > 1 and is_suitable(half) for half in pair)

        draws = []
        for seed in random.randint(SEEDS, size=self.n_estimators // 2):
            of_pair = np.random.RandomState(seed)
            pair = draw_suitable(partial(self._pair, of_pair, data.codes, groups), both_suitable)
            if pair is None:
                raise ValueError(
                    f"None of {MOST_DRAWS} pairs of halves, drawn at random, holds different samples of two"
                    " classes on either side: there are too few samples, or groups."
                )
            draws += [Draw(half, int(of_pair.randint(SEEDS))) for half in pair]
        return draws


class _HalfFits(PairedFits):
    """Fits to stratified halves."""

    _member_values = staticmethod(_scores)

    def _pair(
        self, random: np.random.RandomState, codes: NDArray[np.int64], groups: NDArray[np.int64] | None
    ) -> Pair:
        if groups is not None and groups.max() == 0:
            raise ValueError("All samples are of one group, which is kept together: it cannot be halved.")
        return halves(random, codes, groups)


def fits_to_halves(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    resamples: int,
    random_state: Any,
    n_jobs: int | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    verbose: int = 0,
    kind: type[PairedFits] = _HalfFits,
) -> HalfFits:
    """Fit clones to halves of the samples, which ``kind`` draws; their warnings are ignored.

    By default halves are stratified by class. With groups, each group is in one half, and halves are not
    stratified.
    """
    fits = kind(
        estimator,
        n_estimators=resamples,
        max_samples=HALF,
        n_jobs=n_jobs,
        verbose=verbose,
        random_state=random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits._fit_members(X, y, sample_weight, groups, batches)
    unsettled = sum(not getattr(fit_inside(each), "converged_", True) for each in fits.estimators_)
    return HalfFits(fits.member_weights_, unsettled)


def halves(
    random: np.random.RandomState, codes: NDArray[np.int64], groups: NDArray[np.int64] | None = None
) -> Pair:
    """Return the indices of two halves, stratified; the odd samples of classes go to either in turn."""
    first = np.zeros(codes.size, dtype=bool)
    if groups is not None:
        first[draw_subset(random, codes.size, codes.size // 2, groups)] = True
        return np.flatnonzero(first), np.flatnonzero(~first)
    extra = int(random.randint(2))
    for c in range(int(codes.max()) + 1):
        of_class = random.permutation(np.flatnonzero(codes == c))
        size = (of_class.size + extra) // 2
        if of_class.size % 2:
            extra = 1 - extra
        first[of_class[:size]] = True
    return np.flatnonzero(first), np.flatnonzero(~first)


# Agreement


def agreement_by_size(fits: HalfFits, sizes: Sequence[int]) -> list[Agreement]:
    """Return the agreement of two halves on the best features, for several numbers of them."""
    return [selection_agreement(members(fits, size), size) for size in sizes]


def members(fits: HalfFits, size: int) -> NDArray[np.float64]:
    """Return how far each feature is among the best of each half: 1, 0, or a fraction for ties.

    Features that are tied for the last places share them, so that results do not depend on the order of the
    columns.
    """
    return np.clip((size + 1 - fits.ranks) / fits.tied, 0.0, 1.0)


def selection_agreement(best: NDArray[np.float64], size: int) -> Agreement:
    """Return Nogueira's stability of the best features of two halves: their overlap beyond chance.

    For two selections of one size it is Kuncheva's index (r·d − k²)/(k (d − k)); where places are shared, r
    is what lots would give on average.
    """
    d = best.shape[1]
    most = size * (d - size)
    least = (max(0, 2 * size - d) * d - size**2) / most
    return agreement((best @ best.T * d - size**2) / most, least=least, step=d / most)


def ranking_agreement(fits: HalfFits) -> Agreement:
    """Return Spearman's rank correlation of two halves; 0 if all features of one are tied."""
    d = fits.ranks.shape[1]
    # Ties have the mean of their ranks.
    centered = fits.ranks + 0.5 * (fits.tied - 1) - 0.5 * (d + 1)
    length = np.linalg.norm(centered, axis=1, keepdims=True)
    unit = np.divide(centered, length, out=np.zeros_like(centered), where=length > 0.0)
    return agreement(unit @ unit.T, least=-1.0, step=12.0 / (d * (d**2 - 1)))


def agreement(matrix: NDArray[np.float64], *, least: float, step: float) -> Agreement:
    r"""Return the mean agreement of two disjoint halves, with a 95 % confidence interval.

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
    jackknife over the halves would only show how well 2J of them stand for all halves of the same samples:
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
    agreement : Agreement
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
    # Clips rounding errors of the mean too.
    return Agreement(*(min(max(each, least), 1.0) for each in (value, value - half, value + half)))
