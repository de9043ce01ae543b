"""Mean margins over sampled anchors, with confidence intervals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

#: Expected number of rare values among the anchors from which on these estimate their variance.
_EXPECTED = 10
#: Number of anchors in the first round.
FIRST_ROUND = 64


class AnchorSample:
    """Sums over anchors drawn without replacement, and estimates of means over all samples.

    Parameters
    ----------
    weights : (n_samples,)
        Weights of the samples in the mean.
    spans : (n_features,)
        Ranges of the features; no margin is larger.
    rarity : (n_features,)
        Approximate fraction of the samples that are not at the common end of a feature's range.
    """

    def __init__(
        self, weights: NDArray[np.float64], spans: NDArray[np.float64], rarity: NDArray[np.float64]
    ) -> None:
        self._weights = weights
        self._spans, self._rarity = spans, rarity
        self._sums = np.zeros((3, spans.size))
        self._weight_drawn = 0.0
        self._squares_drawn = 0.0
        self.n_drawn = 0

    def add(self, anchors: NDArray[np.integer], sums: NDArray[np.float64]) -> None:
        """Add anchors, given Σ s·z, Σ s²·z and Σ s²·z² over them, with their weights s."""
        self._sums += sums
        self._weight_drawn += float(self._weights[anchors].sum())
        self._squares_drawn += float(np.square(self._weights[anchors]).sum())
        self.n_drawn += anchors.size

    @property
    def mean(self) -> NDArray[np.float64]:
        """Weighted mean over the anchors."""
        return self._sums[0] / self._weight_drawn

    def half_width(self, risk: float) -> NDArray[np.float64]:
        r"""Return half the width of the confidence interval of the mean over all samples at 1 − ``risk``.

        .. math:: t_{m-1, 1 - risk/2} \sqrt{\frac{m}{m - 1} \Bigl(1 - \frac{n}{N}\Bigr)
                  \frac{\sum s^2 (z - \bar z)^2}{(\sum s)^2}}

        for n anchors of N samples, m being the effective number of anchors under sample weights. It is 0 once
        all samples were drawn. Anchors may miss the few samples in which a nearly constant feature differs:
        if fewer than ten of them are expected among the anchors, the variance of a margin is at least their
        fraction times the squared range.
        """
        left_out = 1.0 - self.n_drawn / self._weights.size
        if left_out <= 0.0:
            return np.zeros(self._spans.size)
        m = self._weight_drawn**2 / self._squares_drawn
        if m <= 1.0:
            return np.full(self._spans.size, np.inf)
        _, weighted, squares = self._sums
        spread = squares - 2.0 * self.mean * weighted + self.mean**2 * self._squares_drawn
        variance = np.maximum(spread, 0.0) / self._weight_drawn**2 * m / (m - 1.0)
        rare = self.n_drawn * self._rarity < _EXPECTED
        least = np.where(rare, self._rarity * self._spans**2 / m, 0.0)
        return stdtrit(m - 1.0, 1.0 - risk / 2.0) * np.sqrt(np.maximum(variance, least) * left_out)

    def intervals(self, confidence: float) -> NDArray[np.float64]:
        """Return the confidence interval of each mean, (n_features, 2)."""
        half = self.half_width(1.0 - confidence)
        return np.stack([self.mean - half, self.mean + half], axis=1)


def sampling_rounds(n_anchors: int) -> list[tuple[int, int]]:
    """Return ranges of a random order of the samples: each round doubles the number of anchors."""
    borders = [0, min(FIRST_ROUND, n_anchors)]
    while borders[-1] < n_anchors:
        borders.append(min(2 * borders[-1], n_anchors))
    return list(pairwise(borders))


def is_settled(
    mean: NDArray[np.float64], half_width: NDArray[np.float64], n_top: int | None, max_error: float
) -> bool:
    """Return whether no other feature can exceed one of the top features by more than ``max_error``.

    ``n_top`` None: the top features are those of positive mean, and the others are compared with 0.
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
