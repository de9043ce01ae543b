r"""Normal scores of features that take few values: what lies behind ties, drawn with a look at the others.

A Gaussian copula says that a value is seen because something Gaussian lies between two bounds. Where lots
decide among equals, what lies behind two features of few values is less correlated than they are, and so are
knockoffs that are drawn from it: null features beside real ones win against them. So scores of equals are
drawn from what the model says of them, given the scores of the other features and the bounds; correlations
are estimated anew from these, in turns (Gibbs sampling).

Hoff, P. D. (2007). Extending the rank likelihood for semiparametric copula estimation. Annals of Applied
Statistics 1(1), 265-283.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from .gaussian_knockoffs import Spectrum

#: Turns. Correlations are about what they will be after five to ten.
_TURNS = 20
#: Share of the samples that equal the next larger one up to which lots may decide: they are few.
_FEW_TIES = 0.05
#: Chances of values farther out than this are not told apart.
_TINY = 1e-12


def latent_scores(
    X: NDArray[np.float64],
    scores: NDArray[np.float64],
    random: np.random.RandomState,
    copies: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Scores that are in the order of the values, and among equals as the model says.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        Values.
    scores : (n_samples, n_features) float64
        Normal scores, lots drawn among equals.
    random : RandomState
        Where random numbers come from; not asked if there are few ties.
    copies : (n_samples,) float64, default=None
        How often samples count.
    """
    in_order = np.sort(X, axis=0)
    tied = np.flatnonzero((in_order[1:] == in_order[:-1]).mean(axis=0) > _FEW_TIES)
    if tied.size == 0 or X.shape[1] == 1:
        return scores
    bounds = [_bounds(X[:, j], in_order[:, j]) for j in tied]
    Z = scores.copy()
    for _ in range(_TURNS):
        mean = np.average(Z, axis=0, weights=copies)
        scale = np.sqrt(np.average(np.square(Z - mean), axis=0, weights=copies))
        Z = (Z - mean) / scale
        within = [(ends - mean[j]) / scale[j] for j, ends in zip(tied, bounds, strict=True)]
        _take_turns(Z, Spectrum.shrunk(Z, copies), tied, within, random)
        Z = Z * scale + mean
    return Z


def _bounds(values: NDArray[np.float64], in_order: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between which scores each sample is, (2, n_samples)."""
    ends = [np.searchsorted(in_order, values, side=side) for side in ("left", "right")]
    return np.asarray(ndtri(np.stack(ends) / values.size))


def _take_turns(
    Z: NDArray[np.float64],
    covariance: Spectrum,
    tied: NDArray[np.intp],
    bounds: list[NDArray[np.float64]],
    random: np.random.RandomState,
) -> None:
    """Draw the scores of each feature with ties given all others, in place.

    With Ω the inverse of the covariance, z_j given the others has the mean z_j − (Ω z)_j/Ω_jj and the
    variance 1/Ω_jj. Ω is known by the eigenvectors V: no p × p matrix is made, but Z V is kept up to date.
    """
    vectors = covariance.vectors
    # Where the eigenvectors are all there are, nothing is left beside them, and its variance may be 0.
    rest = 0.0 if vectors.shape[0] == vectors.shape[1] else 1.0 / covariance.rest
    beyond = 1.0 / covariance.values - rest
    along = Z @ vectors
    for j, ends in zip(tied, bounds, strict=True):
        row = vectors[j]
        inverse = float(np.square(row) @ beyond) + rest
        mean = Z[:, j] - (along @ (beyond * row) + Z[:, j] * rest) / inverse
        drawn = _drawn_between(mean, 1.0 / np.sqrt(inverse), ends, random)
        along += np.outer(drawn - Z[:, j], row)
        Z[:, j] = drawn


def _drawn_between(
    mean: NDArray[np.float64], deviation: float, ends: NDArray[np.float64], random: np.random.RandomState
) -> NDArray[np.float64]:
    """Gaussian numbers that lie between two ends."""
    low, high = ndtr((ends - mean) / deviation)
    chances = low + (high - low) * random.random_sample(mean.size)
    return np.clip(mean + deviation * ndtri(np.clip(chances, _TINY, 1.0 - _TINY)), *ends)
