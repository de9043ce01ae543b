"""Means over some samples instead of all, and how far they may be off."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

#: Anchors of the first look.
FIRST_LOOK = 64


class AnchorSample:
    """Sums over anchors that were drawn without replacement, and the means they stand for.

    Parameters
    ----------
    copies : (n_samples,)
        How often each sample counts.
    n_features : int
        Length of the vectors that are averaged.
    """

    def __init__(self, copies: NDArray[np.float64], n_features: int) -> None:
        self._copies = copies
        self._sums = np.zeros((2, n_features))
        self._weight = 0.0
        self._squared_weight = 0.0
        self.n_drawn = 0

    def add(self, anchors: NDArray[np.integer], sums: NDArray[np.float64]) -> None:
        """Take in more anchors, given Σ s·z and Σ s·z² over them."""
        self._sums += sums
        self._weight += float(self._copies[anchors].sum())
        self._squared_weight += float(np.square(self._copies[anchors]).sum())
        self.n_drawn += anchors.size

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean over the anchors."""
        return self._sums[0] / self._weight

    def half_width(self, risk: float) -> NDArray[np.float64]:
        r"""By how much the mean over all samples may differ, but for a two-sided ``risk``.

        .. math:: t_{m-1, 1 - risk/2}\, s \sqrt{(1 - m/N) / m}

        s² is the variance among the m anchors, m the effective number where samples count differently. With
        all samples drawn nothing is left to chance.
        """
        left_out = 1.0 - self.n_drawn / self._copies.size
        if left_out <= 0.0:
            return np.zeros(self._sums.shape[1])
        m = self._weight**2 / self._squared_weight
        if m <= 1.0:
            return np.full(self._sums.shape[1], np.inf)
        spread = np.maximum(self._sums[1] / self._weight - self.mean**2, 0.0) * m / (m - 1.0)
        return stdtrit(m - 1.0, 1.0 - risk / 2.0) * np.sqrt(spread * left_out / m)

    def intervals(self, confidence: float) -> NDArray[np.float64]:
        """Confidence interval of each mean, (n_features, 2)."""
        half = self.half_width(1.0 - confidence)
        return np.stack([self.mean - half, self.mean + half], axis=1)


def looks(n_anchors: int) -> list[tuple[int, int]]:
    """Ranges of a random order of the samples: each look doubles the number of anchors."""
    borders = [0, min(FIRST_LOOK, n_anchors)]
    while borders[-1] < n_anchors:
        borders.append(min(2 * borders[-1], n_anchors))
    return list(pairwise(borders))


def is_settled(
    mean: NDArray[np.float64], half_width: NDArray[np.float64], n_top: int | None, max_error: float
) -> bool:
    """Whether no feature left out can be better than one in the top by more than ``max_error``.

    ``n_top`` None: the top are the features with a positive mean, the others compare with 0.
    """
    if n_top is None:
        positive = mean > 0.0
        lowest, highest = (mean - half_width)[positive], (mean + half_width)[~positive]
        return bool(np.all(lowest >= -max_error) and np.all(highest <= max_error))
    if n_top >= mean.size:
        return True
    order = np.argsort(-mean, kind="stable")
    top, rest = order[:n_top], order[n_top:]
    return bool((mean + half_width)[rest].max() - (mean - half_width)[top].min() <= max_error)
