"""Many features judged at once: weights beside those under permuted labels, and what may be kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Standardised weights that differ by less are the same: sums of single precision differ by rounding.
TIED = 1e-4
#: A feature whose weights vary by less than this, relative to their size, does not vary.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class OwnNull:
    """What every feature weighs where labels say nothing: mean, and 1/standard deviation, (n_features,).

    The slope is 0 for a feature that always weighs the same.
    """

    mean: NDArray[np.float64]
    slope: NDArray[np.float64]

    @classmethod
    def of(cls, observed: NDArray[np.floating], null: NDArray[np.floating]) -> OwnNull:
        """From the weights by the labels as they are, (n_features,), and by permuted ones, a row each.

        The observed weight counts as one of them: if labels are exchangeable then so are these
        n_permutations + 1 rows, and they stay so when they are standardised.
        """
        n = len(null) + 1
        mean = (null.sum(axis=0, dtype=np.float64) + observed) / n
        squares = (observed - mean) ** 2
        for each in null:
            squares += (each - mean) ** 2
        deviation = np.sqrt(squares / n)
        varies = deviation > _CONSTANT * np.abs(mean)
        return cls(mean, np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies))

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which features have a null to be compared with."""
        return self.slope > 0.0

    def standardized(self, weights: NDArray[np.floating]) -> NDArray[np.floating]:
        """Weights, (…, n_features), less their means, in standard deviations; single precision stays so."""
        dtype = weights.dtype
        return (weights - self.mean.astype(dtype)) * self.slope.astype(dtype)


def pooled_pvalues(observed: NDArray[np.floating], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """p-value of every feature among the standardised weights of many features under permuted labels.

    (1 + #{null >= observed}) / (1 + size of null): never 0, and as fine as all features together are.

    Parameters
    ----------
    observed : (n_features,)
        Standardised weights.
    null : (n_permutations, n_null_features)
        Those to compare with.
    """
    pool = np.sort(null, axis=None)
    below = np.searchsorted(pool, (observed - TIED).astype(pool.dtype), side="left")
    return np.asarray((1.0 + pool.size - below) / (1.0 + pool.size))


def step_down_maxt(observed: NDArray[np.floating], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """Adjusted p-values of Westfall and Young (1993), by successive maxima.

    The best feature is compared with the maximum over all features in every permutation, the second with
    that over all but the best, and so on; no p-value is below that of a better feature.

    Parameters
    ----------
    observed : (n_features,)
        Standardised weights.
    null : (n_permutations, n_features)
        The same under permuted labels; −inf for a feature that others are not compared with.
    """
    order = np.argsort(-observed, kind="stable")
    # From the worst feature to the best: the maxima over it and all that are worse.
    maxima = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    counts = (maxima >= observed[order] - TIED).sum(axis=0)
    adjusted = np.empty(observed.size)
    adjusted[order] = np.maximum.accumulate((1.0 + counts) / (1.0 + len(null)))
    return adjusted


def benjamini_hochberg(pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest level of the false discovery rate at which each feature is kept (BH 1995)."""
    n = pvalues.size
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * (n / np.arange(1.0, n + 1.0))
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted
