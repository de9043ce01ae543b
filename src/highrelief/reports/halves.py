"""An estimator fitted anew to halves of the samples, two halves at a time that share none."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_count, random_generator
from ..core.subsets import MOST_DRAWS
from ..members import SEEDS
from ..meta_base import MetaTable
from ..resampling import Draw, ResampledWeighter, suiting

#: Share of the samples in each.
HALF = 0.5


@dataclass(frozen=True)
class HalfFits:
    """What the features are ranked by in each half; rows 2j and 2j + 1 are of halves that share no sample."""

    scores: NDArray[np.float64]
    #: Halves in which the method did not come to rest.
    n_unsettled: int


def checked_resamples(resamples: Any) -> int:
    """Number of halves; 0 for none."""
    if resamples is None:
        return 0
    check_count("resamples", resamples, at_least=0)
    if int(resamples) == 0:
        return 0
    if int(resamples) < 4 or int(resamples) % 2:
        raise ValueError(
            f"resamples={resamples!r} must be 0, or an even number of at least 4: halves of the samples come"
            " in pairs."
        )
    return int(resamples)


def why_not(class_sizes: NDArray[np.int64], n_features: int) -> str | None:
    """Why a table cannot be halved, in a sentence; None if it can."""
    if n_features < 2:
        return "With one feature there is no ranking that could change."
    if np.count_nonzero(class_sizes >= 2) < 2 or class_sizes.max() < 4:
        return (
            "Stability was not measured: half of the samples would not hold two classes with a sample to"
            " compare with. It takes two classes, one of 4 samples and another of 2, at least."
        )
    return None


def fits_to_halves(
    estimator: Any, X: Any, y: NDArray[Any], *, resamples: int, random_state: Any, n_jobs: int | None
) -> HalfFits:
    """Fit clones to halves of the samples; what they warn of is not passed on."""
    fits = _HalfFits(
        estimator, n_estimators=resamples, max_samples=HALF, n_jobs=n_jobs, random_state=random_state
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits._fit_members(X, y, None, None)
    inside = (getattr(member, "estimator_", member) for member in fits.estimators_)
    unsettled = sum(not getattr(each, "converged_", True) for each in inside)
    return HalfFits(fits.member_weights_, unsettled)


def _ranked_by(fitted: Any, n_features: int) -> NDArray[np.float64]:
    return np.asarray(fitted._ranked_by)


class _HalfFits(ResampledWeighter):
    """Fits to halves; every class is halved too, so that none is lost by chance."""

    _size_name = "the share"
    _ask = staticmethod(_ranked_by)

    def _draws(self, table: MetaTable, groups: NDArray[np.int64] | None) -> list[Draw]:
        random = random_generator("random_state", self.random_state)
        suits = suiting(table)
        draws = []
        for seed in random.randint(SEEDS, size=self.n_estimators // 2):
            of_pair = np.random.RandomState(seed)
            for _ in range(MOST_DRAWS):
                pair = halves(of_pair, table.codes)
                if all(suits(half) for half in pair):
                    break
            else:
                raise ValueError(
                    f"none of {MOST_DRAWS} pairs of halves, drawn at random, holds different samples of two"
                    " classes on either side"
                )
            draws += [Draw(half, int(of_pair.randint(SEEDS))) for half in pair]
        return draws


def halves(
    random: np.random.RandomState, codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the samples in two halves of all, class by class; what cannot be halved goes to and fro."""
    first = np.zeros(codes.size, dtype=bool)
    extra = int(random.randint(2))
    for c in range(int(codes.max()) + 1):
        of_class = random.permutation(np.flatnonzero(codes == c))
        size = (of_class.size + extra) // 2
        if of_class.size % 2:
            extra = 1 - extra
        first[of_class[:size]] = True
    return np.flatnonzero(first), np.flatnonzero(~first)
