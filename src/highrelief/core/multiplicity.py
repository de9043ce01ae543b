"""Many features judged at once: weights beside those under permuted labels, and what may be kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Standardised weights that differ by less are the same: sums of single precision differ by rounding.
TIED = 1e-4
#: A feature whose weights vary by less than this, relative to their size, does not vary.
_CONSTANT = 1e-12


def standardized(
    weights: NDArray[np.float64], null: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
    """Every feature measured by its own null: less its mean, in its standard deviations.

    Parameters
    ----------
    weights : (n_features,)
        By the labels as they are.
    null : (n_permutations, n_features)
        By permuted labels. Overwritten.

    Returns
    -------
    observed : (n_features,)
        The weights, standardised; 0 where a feature always weighs the same.
    null : (n_permutations, n_features)
        The same of those under permuted labels.

    Notes
    -----
    Mean and deviation are those of the observed weight and the others together. If labels are exchangeable
    then so are these n_permutations + 1 rows, standardised: the observed one is not treated differently.
    """
    n = len(null) + 1
    mean = (null.sum(axis=0, dtype=np.float64) + weights) / n
    observed = weights - mean
    null -= mean.astype(null.dtype, copy=False)
    deviation = np.sqrt((np.einsum("bf,bf->f", null, null, dtype=np.float64) + observed**2) / n)
    varies = deviation > _CONSTANT * np.abs(mean)
    slope = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    null *= slope.astype(null.dtype, copy=False)
    return observed * slope, null


def pooled_pvalues(observed: NDArray[np.float64], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """p-value of every feature among the standardised weights of all features under permuted labels.

    (1 + #{null >= observed}) / (1 + n_permutations·n_features): never 0, and as fine as all features
    together are. 1 for features that never vary, which are no part of the null.
    """
    varies = (observed != 0.0) | null.any(axis=0)
    pvalues = np.ones(observed.size)
    pool = np.sort(null if varies.all() else null[:, varies], axis=None)
    below = np.searchsorted(pool, (observed[varies] - TIED).astype(pool.dtype), side="left")
    pvalues[varies] = (1.0 + pool.size - below) / (1.0 + pool.size)
    return pvalues


def step_down_maxt(observed: NDArray[np.float64], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """Adjusted p-values of Westfall and Young (1993), by successive maxima.

    The best feature is compared with the maximum over all features in every permutation, the second with
    that over all but the best, and so on; no p-value is below that of a better feature. Features that do not
    vary have 1.
    """
    varies = (observed != 0.0) | null.any(axis=0)
    adjusted = np.ones(observed.size)
    order = np.flatnonzero(varies)[np.argsort(-observed[varies], kind="stable")]
    # From the worst feature to the best: the maxima over it and all that are worse.
    maxima = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    counts = (maxima >= observed[order] - TIED).sum(axis=0)
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
