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
    """What every feature weighs where labels say nothing: its mean and variance, (n_features,).

    A weight is standardised by the mean and the standard deviation of those under permuted labels and itself.
    If labels are exchangeable then so are the n_permutations + 1 rows of weights, and they stay so: the
    observed row is not treated differently. Nor is another row that is put in its place.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_permutations: int

    @classmethod
    def of(cls, null: NDArray[np.floating]) -> OwnNull:
        """From the weights by permuted labels, (n_permutations, n_features)."""
        mean = null.mean(axis=0, dtype=np.float64)
        squares = np.zeros_like(mean)
        for each in null:
            squares += (each - mean) ** 2
        return cls(mean, squares / len(null), len(null))

    def with_one_more(self, weights: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the null and one weight more, (…, n_features) each."""
        n = self.n_permutations
        apart = weights - self.mean
        return self.mean + apart / (n + 1), np.sqrt((self.variance + apart**2 / (n + 1)) * (n / (n + 1)))

    def standardized(self, weights: NDArray[np.floating]) -> NDArray[np.float64]:
        """Weights of the labels as they are, or in their place, (…, n_features); 0 where nothing varies."""
        mean, deviation = self.with_one_more(weights)
        return np.asarray((weights - mean) * _slope(mean, deviation))

    def standardized_null(
        self, observed: NDArray[np.floating], null: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """The weights by permuted labels beside the observed ones; single precision stays so if it can."""
        mean, deviation = self.with_one_more(observed)
        slope = _slope(mean, deviation)
        dtype = null.dtype if slope.max(initial=0.0) < np.finfo(null.dtype).max else np.dtype(np.float64)
        return np.asarray((null - mean.astype(dtype)) * slope.astype(dtype))

    def varies(self, observed: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features have anything to be compared with."""
        return _slope(*self.with_one_more(observed)) > 0.0

    def of_features(self, columns: NDArray[np.bool_] | slice) -> OwnNull:
        """Those of some features."""
        return OwnNull(self.mean[columns], self.variance[columns], self.n_permutations)


def _slope(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/deviation; 0 where there is none, but for rounding."""
    varies = deviation > _CONSTANT * np.abs(mean)
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)


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


def global_pvalue(observed: NDArray[np.floating], null: NDArray[np.floating]) -> float:
    """p-value of "no feature is real": how often permuted labels get to a rate as low as the observed ones.

    The rate is the lowest that :func:`benjamini_hochberg` makes of :func:`pooled_pvalues`. Features that
    depend on each other reach low ones together, more often than the procedure allows for; here every row
    is judged among all others as the observed one is, so that this p-value is exact whatever they depend on.

    Parameters
    ----------
    observed : (n_features,)
        Standardised weights.
    null : (n_permutations, n_features)
        The same under permuted labels.
    """
    n_permutations, n = null.shape
    own = observed.astype(null.dtype)
    pool = np.sort(np.concatenate([own, null.ravel()]))

    def lowest(row: NDArray[np.floating], from_: float) -> float:
        top = np.sort(row[row >= from_])
        least = (top - TIED).astype(top.dtype)
        in_row = np.sort(row[row >= from_ - 2.0 * TIED])
        above = pool.size - np.searchsorted(pool, least) - (in_row.size - np.searchsorted(in_row, least))
        rates = (1.0 + above) / (1.0 + n_permutations * n) * (n / np.arange(top.size, 0.0, -1.0))
        return float(min(rates.min(initial=1.0), 1.0))

    reached = lowest(own, -np.inf)
    # Nothing below this can have a p-value, and so a rate, as low.
    most = int(reached * (1 + n_permutations * n)) + n
    from_ = float(pool[-most]) if most < pool.size else -np.inf
    count = sum(lowest(each, from_) <= reached * (1.0 + 1e-12) for each in null)
    return (1.0 + count) / (1.0 + n_permutations)
