r"""Model-X knockoffs: a feature is selected if its weight exceeds that of its knockoff by a margin.

A feature and its knockoff are exchangeable: knockoffs are drawn without y, and swapping a feature with its
knockoff leaves their joint distribution with all others unchanged. One fit weighs features and knockoffs
together. Null features win and lose equally often; the losses estimate the false wins.

Null hypothesis: y and the feature are independent *given all other features*. A feature that is only
correlated with a relevant one is null, and so is each of two identical features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, svd
from scipy.linalg.blas import dger
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import has_fit_parameter

from .._engine.limits import limits
from .._engine.memory import memory_budget
from .._engine.parameters import check_choice, check_number, checked_thread_count, random_generator
from .._engine.threads import one_blas_thread
from ..base.meta import CONTROLS, Decision, weights_of
from ..base.resampling import SEEDS, seeded_clone, unseeded
from ..base.validation import check_array, checked_sample_weight, refuse_dask, warn_user

# Gaussian knockoffs: copies with the same correlations that are independent of the classes
#
# For rows x of mean 0 and covariance Σ, and S = diag(s) with 0 ≤ S ≤ 2Σ, a row of knockoffs is drawn from
#
# .. math:: \tilde x \mid x \sim N\bigl(x - S \Sigma^{-1} x,\; 2S - S \Sigma^{-1} S\bigr).
#
# Then x and x̃ have the covariance [Σ, Σ − S; Σ − S, Σ], and any features can change places with their
# knockoffs.


#: Share of Ledoit and Wolf's shrinkage that is used. All of it weakens correlations so much that null
#: features beside those that count win against their knockoffs too often (a false discovery rate of
#: 0.22 ± 0.01 at 0.2, correlations of 0.5, 100 features of 300 samples; 0.15 with the true covariance); half
#: of it gives 0.14, and none 0.07, at a quarter of the power.
HALF_WAY = 0.5
#: Of two samples, or of their copies, there is nothing to shrink by: the covariance must have an inverse.
_LEAST_SHRINKAGE = 1e-6
_MOST_SWEEPS = 30
#: Share of the loss by which a sweep must improve it. Any s is valid: it is only a matter of power.
_ENOUGH = 1e-5


@dataclass(frozen=True)
class Spectrum:
    """A covariance as eigenvectors, without those of one repeated eigenvalue."""

    #: (p, m), orthonormal columns.
    vectors: NDArray[np.float64]
    #: (m,) their eigenvalues.
    values: NDArray[np.float64]
    #: Eigenvalue of all that is orthogonal to them.
    rest: float

    @property
    def n_features(self) -> int:
        """Number of features, p."""
        return int(self.vectors.shape[0])

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The covariance matrix, p × p."""
        full = (self.vectors * (self.values - self.rest)) @ self.vectors.T
        full[np.diag_indices_from(full)] += self.rest
        return full

    @classmethod
    def of(cls, matrix: NDArray[np.float64]) -> Spectrum:
        """Decompose a matrix."""
        values, vectors = eigh(matrix)
        return cls(vectors, values, float(values[0]))

    @classmethod
    def shrunk(cls, Z: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None) -> Spectrum:
        """Estimate for centered rows, (1 − γ) ZᵀZ/n + γ m I, m the mean variance, γ ``HALF_WAY`` to theirs.

        Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance
        matrices. Journal of Multivariate Analysis 88, 365-411. All by the rows: the samples are often the
        fewer.
        """
        n = float(len(Z)) if sample_weight is None else float(sample_weight.sum())
        counted = Z if sample_weight is None else Z * np.sqrt(sample_weight)[:, np.newaxis]
        _, singular, rows = svd(counted, full_matrices=False)
        values = singular**2 / n
        p = Z.shape[1]
        mean, squares = values.sum() / p, float(values @ values)
        lengths = np.square(Z).sum(axis=1)
        fourth = float(np.square(lengths) @ (np.ones(len(Z)) if sample_weight is None else sample_weight)) / n
        off = squares - p * mean**2
        shrinkage = min(max(fourth - squares, 0.0) / n, off) / off if off > 0.0 else 1.0
        shrinkage = max(shrinkage * HALF_WAY, _LEAST_SHRINKAGE)
        return cls(rows.T, (1.0 - shrinkage) * values + shrinkage * mean, float(shrinkage * mean))

    def least(self) -> float:
        """The smallest eigenvalue."""
        smallest = float(self.values.min())
        return smallest if self.vectors.shape[1] == self.n_features else min(smallest, self.rest)


def draw_knockoffs(
    Z: NDArray[np.float64], covariance: Spectrum, random: np.random.RandomState, *, equal: bool
) -> NDArray[np.float64]:
    """Knockoffs of centered rows; with one s for all features, or with one for each.

    The s are those of minimum variance-based reconstructability (:func:`diagonal`).
    """
    noise = random.standard_normal(Z.shape)
    if equal:
        return _with_one(Z, covariance, one_for_all(covariance), noise)
    sigma = covariance.matrix
    s = diagonal(sigma)
    solved = cho_solve(cho_factor(sigma), np.diag(s))
    spread = 2.0 * np.diag(s) - s[:, np.newaxis] * solved
    # Positive definite, as S < 2Σ; rounding may cost what is left in nearly dependent features.
    spread[np.diag_indices_from(spread)] += 1e-10
    return np.asarray(Z - Z @ solved + noise @ cholesky(0.5 * (spread + spread.T)))


def _with_one(
    Z: NDArray[np.float64], covariance: Spectrum, s: float, noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return knockoffs with S = s I, computed in the eigenvectors of Σ."""
    values = np.append(covariance.values, covariance.rest)
    shift = s / values
    size = np.sqrt(np.maximum(2.0 * s - s * shift, 0.0))
    along = Z @ covariance.vectors * (shift[-1] - shift[:-1])
    along += noise @ covariance.vectors * (size[:-1] - size[-1])
    return np.asarray((1.0 - shift[-1]) * Z + size[-1] * noise + along @ covariance.vectors.T)


def one_for_all(covariance: Spectrum) -> float:
    """Return the common s with minimal tr S⁻¹ + tr (2Σ − S)⁻¹."""
    p, m = covariance.vectors.shape
    least = 2.0 * covariance.least()

    def loss(s: float) -> float:
        rest = (p - m) / (2.0 * covariance.rest - s) if p > m else 0.0
        return float(p / s + (1.0 / (2.0 * covariance.values - s)).sum() + rest)

    found = minimize_scalar(loss, bounds=(0.0, least), method="bounded", options={"xatol": 1e-6 * least})
    return float(found.x)


def diagonal(sigma: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""The s with the least reconstructability: minimal tr S⁻¹ + tr (2Σ − S)⁻¹, by coordinate descent.

    That is the trace of the inverse of the covariance of x and x̃: no feature can be reconstructed from the
    others and all knockoffs. With c the column j of M = (2Σ − S)⁻¹, s_j + δ adds δ‖c‖²/(1 − δ c_j) to tr M,
    and the best δ is (1 − ‖c‖ s_j)/(c_j + ‖c‖): always inside of what is possible.

    Spector, A. and Janson, L. (2022). Powerful knockoffs via minimizing reconstructability. Annals of
    Statistics 50, 252-276.

    Parameters
    ----------
    sigma : array of shape (p, p)
        Positive definite.

    Returns
    -------
    s : array of shape (p,)
        Positive, with 2Σ − S positive definite.
    """
    p = len(sigma)
    s = np.full(p, one_for_all(Spectrum.of(sigma)))
    before = np.inf
    for _ in range(_MOST_SWEEPS):
        # Recomputed in each sweep, because updates accumulate rounding errors.
        M = np.asfortranarray(cho_solve(cho_factor(2.0 * sigma - np.diag(s)), np.eye(p)))
        loss = float((1.0 / s).sum() + np.trace(M))
        if before - loss <= _ENOUGH * loss:
            break
        before = loss
        for j in range(p):
            column = M[:, j].copy()
            length = float(np.sqrt(column @ column))
            delta = (1.0 - length * s[j]) / (column[j] + length)
            s[j] += delta
            M = dger(delta / (1.0 - delta * column[j]), column, column, a=M, overwrite_a=1)
    return s


# Normal scores of features with ties, drawn given the other features
#
# In a Gaussian copula, a tied value bounds a latent score. Breaking ties at random weakens correlations, also
# those of the knockoffs, and null features correlated with relevant ones win against them. So scores are
# sampled given the bounds and the other features, and correlations estimated from them, in turn (Gibbs
# sampling).
#
# Hoff, P. D. (2007). Extending the rank likelihood for semiparametric copula estimation. Annals of Applied
# Statistics 1(1), 265-283.


#: Gibbs sweeps. Correlations settle after five to ten.
_TURNS = 20
#: Largest fraction of tied samples for which ties are broken at random.
_FEW_TIES = 0.05
#: Scores are clipped here, where tail probabilities lose their precision.
_TINY = 1e-12


def latent_scores(
    X: NDArray[np.float64],
    scores: NDArray[np.float64],
    random: np.random.RandomState,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return scores in the order of the values; those of ties are drawn from the model.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        Values.
    scores : (n_samples, n_features) float64
        Normal scores, lots drawn among equals.
    random : RandomState
        Random generator; not used if there are few ties.
    sample_weight : (n_samples,) float64, default=None
        How often samples count.
    """
    in_order = np.sort(X, axis=0)
    tied = np.flatnonzero((in_order[1:] == in_order[:-1]).mean(axis=0) > _FEW_TIES)
    if tied.size == 0 or X.shape[1] == 1:
        return scores
    bounds = [_bounds(X[:, j], in_order[:, j]) for j in tied]
    Z = scores.copy()
    for _ in range(_TURNS):
        mean = np.average(Z, axis=0, weights=sample_weight)
        scale = np.sqrt(np.average(np.square(Z - mean), axis=0, weights=sample_weight))
        Z = (Z - mean) / scale
        within = [(ends - mean[j]) / scale[j] for j, ends in zip(tied, bounds, strict=True)]
        _take_turns(Z, Spectrum.shrunk(Z, sample_weight), tied, within, random)
        Z = Z * scale + mean
    return Z


def _bounds(values: NDArray[np.float64], in_order: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower and upper bound of the score of each sample, (2, n_samples)."""
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
    """Draw Gaussian numbers between two bounds."""
    low, high = ndtr((ends - mean) / deviation)
    chances = low + (high - low) * random.random_sample(mean.size)
    return np.clip(mean + deviation * ndtri(np.clip(chances, _TINY, 1.0 - _TINY)), *ends)


__all__ = ["decide_by_knockoffs"]

#: Models of the marginal distributions.
MARGINALS = ("empirical", "gaussian")


def decide_by_knockoffs(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    control: str = "fdr",
    level: float = 0.1,
    marginals: str = "empirical",
    covariance: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
) -> Decision:
    r"""Select the features that exceed their knockoffs by a margin that bounds the false discovery rate.

    W is the weight of a feature minus that of its knockoff, both from one fit to all 2p columns; which of the
    two comes first is up to lots. Kept is what has a W of at least

    .. math:: T = \min\{t > 0 : (1 + \#\{j : W_j \le -t\}) / \#\{j : W_j \ge t\} \le \text{level}\}

    (knockoff+). The false discovery rate is then at most ``level`` if rows are independent and the
    distribution of the features is known; here their correlations are estimated, and it holds as far as the
    model does: a Gaussian copula. The 1 has a price: nothing is kept unless 1/``level`` features are, 10 at
    0.1. Two features that act together are not found among thousands at that level; permutation is for them.

    Parameters
    ----------
    estimator : estimator
        What weighs the features; it is cloned, and fitted once.
    X : array-like of shape (n_samples, n_features)
        Numbers, none of them missing.
    y : array-like of shape (n_samples,)
        The target of the estimator.
    control : {"fdr"}, default="fdr"
        The family-wise error rate is beyond knockoffs: the first feature that wins by chance is no rarer than
        one in two.
    level : float, default=0.1
        Bound of the false discovery rate, in (0, 1).
    marginals : {"empirical", "gaussian"}, default="empirical"
        "empirical": features are mapped to normal scores; each knockoff permutes the feature's values. Binary
        features have binary knockoffs, and the ranges by which weighters scale are equal. The scores of ties
        are sampled from the model. "gaussian": features are modeled as Gaussian, without a transformation.
    covariance : array-like of shape (n_features, n_features), default=None
        Covariance of the features, where it is known; with ``marginals="gaussian"`` only. None estimates the
        correlations from X, shrunk after Ledoit and Wolf.
    n_jobs : int or None, default=None
        Threads of the fit, unless the estimator has its own ``n_jobs``; results are identical.
    random_state : int, RandomState or None, default=None
        Which knockoffs are drawn.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; a sample of weight s counts as s equal samples with the same knockoffs.
    groups, batches : None
        Knockoffs know neither: samples are independent, and of one distribution.

    Returns
    -------
    decision : Decision
        ``statistic`` is W, ``threshold`` is T; ``qvalues`` the smallest level at which a feature would be
        kept.

    Notes
    -----
    Up to 600 features the knockoffs are those of minimum variance-based reconstructability (Spector and
    Janson, 2022), exact for each feature; beyond, all features share one s, and no matrix of all pairs of
    features is made: 20,000 features of 72 samples take no more memory than a few copies of X.

    References
    ----------
    Candès, E., Fan, Y., Janson, L. and Lv, J. (2018). Panning for gold: model-X knockoffs for high
    dimensional controlled variable selection. Journal of the Royal Statistical Society B 80, 551-577.

    Barber, R. F. and Candès, E. (2015). Controlling the false discovery rate via knockoffs. Annals of
    Statistics 43, 2055-2085.
    """
    _check(control, level, marginals, covariance, groups, batches)
    # Not the stream of the seed itself: tables are drawn from small seeds too, and noise that were the same
    # numbers would make each knockoff its feature.
    random = np.random.RandomState(random_generator("random_state", random_state).randint(SEEDS, size=4))
    samples, target, sample_weight = _validated(estimator, X, y, sample_weight)
    if samples.shape[1] < 1.0 / level:
        warn_user(
            f"Knockoffs keep no fewer than {int(np.ceil(1.0 / level))} features at level={level!r}, and"
            f" X has {samples.shape[1]} feature(s): nothing can be kept.",
            UserWarning,
        )
    with one_blas_thread():
        copied = knockoffs_of(
            samples, random, marginals=marginals, covariance=covariance, sample_weight=sample_weight
        )
    swapped = random.random_sample(samples.shape[1]) < 0.5
    member = _member(estimator, n_jobs, int(random.randint(SEEDS)))
    metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
    side_by_side = np.hstack([np.where(swapped, copied, samples), np.where(swapped, samples, copied)])
    member.fit(side_by_side, target, **metadata)
    first, second = np.split(weights_of(member, side_by_side.shape[1]), 2)
    W = np.where(swapped, second - first, first - second)
    threshold, qvalues = knockoff_cut(W, level)
    return Decision(threshold <= W, W, None, qvalues, None, threshold)


def knockoff_cut(W: NDArray[np.float64], level: float) -> tuple[float, NDArray[np.float64]]:
    """Return the threshold of knockoff+, inf if none is valid, and the smallest level of each feature.

    Parameters
    ----------
    W : array of shape (n_features,)
        By how much features win against their knockoffs.
    level : float
        Bound of the false discovery rate.

    Returns
    -------
    threshold : float
        What W must be at least.
    qvalues : array of shape (n_features,)
        1 for features that do not win.
    """
    qvalues = np.ones(W.size)
    wins, losses = np.sort(W[W > 0.0]), np.sort(-W[W < 0.0])
    if not wins.size:
        return np.inf, qvalues
    # Only positive statistics can be the best threshold.
    n_selected = wins.size - np.searchsorted(wins, wins, side="left")
    rates = (1.0 + losses.size - np.searchsorted(losses, wins, side="left")) / n_selected
    best = np.minimum(np.minimum.accumulate(rates), 1.0)
    qvalues[W > 0.0] = best[np.searchsorted(wins, W[W > 0.0], side="left")]
    reached = np.flatnonzero(rates <= level)
    return float(wins[reached[0]]) if reached.size else np.inf, qvalues


def knockoffs_of(
    X: NDArray[np.float64],
    random: np.random.RandomState,
    *,
    marginals: str = "empirical",
    covariance: ArrayLike | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return knockoffs of X; those of constant features are equal to them."""
    varies = X.min(axis=0) < X.max(axis=0)
    knockoffs = X.copy()
    if not varies.any():
        return knockoffs
    given = X[:, varies]
    _check_room(given)
    scores = given
    if marginals == "empirical":
        scores = latent_scores(given, _normal_scores(given, random), random, sample_weight)
    mean = np.average(scores, axis=0, weights=sample_weight)
    scale = np.sqrt(np.average(np.square(scores - mean), axis=0, weights=sample_weight))
    if covariance is not None:
        known = _checked_covariance(covariance, varies)
        scale = np.sqrt(known.diagonal())
        spectrum = Spectrum.of(known / np.outer(scale, scale))
    else:
        spectrum = Spectrum.shrunk((scores - mean) / scale, sample_weight)
    Z = (scores - mean) / scale
    drawn = draw_knockoffs(Z, spectrum, random, equal=given.shape[1] > limits.max_individual_s)
    if marginals == "gaussian":
        knockoffs[:, varies] = mean + scale * drawn
    else:
        places = drawn.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        knockoffs[:, varies] = np.take_along_axis(np.sort(given, axis=0), places, axis=0)
    return knockoffs


def _normal_scores(X: NDArray[np.float64], random: np.random.RandomState) -> NDArray[np.float64]:
    """Return Φ⁻¹ of (rank − ½)/n in each column, ties broken at random."""
    lots = random.permutation(len(X))
    places = X[lots].argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    ranks = np.empty_like(places)
    ranks[lots] = places
    return np.asarray(ndtri((ranks + 0.5) / len(X)))


# Validation


def _check(
    control: str,
    level: float,
    marginals: str,
    covariance: ArrayLike | None,
    groups: ArrayLike | None,
    batches: ArrayLike | None,
) -> None:
    check_choice("control", control, CONTROLS)
    if control == "fwer":
        raise ValueError(
            "control='fwer' is beyond knockoffs, whose first choice is wrong by chance in up to one of two"
            " cases; use control='fdr', or method='permutation' or 'stability'."
        )
    check_number("level", level, above=0.0, below=1.0)
    check_choice("marginals", marginals, MARGINALS)
    if covariance is not None and marginals != "gaussian":
        raise ValueError("covariance is that of the features as they are: it needs marginals='gaussian'.")
    for name, value in (("groups", groups), ("batches", batches)):
        if value is not None:
            raise ValueError(
                "Knockoffs take samples to be independent and of one distribution, and do not support"
                f" {name}; use method='permutation' or 'stability'."
            )


def _validated(
    estimator: Any, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], Any, NDArray[np.float64] | None]:
    """Return the samples of positive weight, their targets, and their weights."""
    refuse_dask(X, "decide_by_knockoffs", "knockoffs are drawn of tables in memory.")
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse; knockoffs are drawn for all values, so X must be an array: X.toarray()."
        )
    categorical = [
        value for name, value in estimator.get_params().items() if name.endswith("categorical_features")
    ]
    if any(value is not None and np.size(value) for value in categorical):
        raise ValueError("Knockoffs are of features that are numbers; categorical_features must be None.")
    samples = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
    if np.isnan(samples).any():
        raise ValueError(
            "X has missing values (NaN), of which no knockoffs can be drawn; fill them in first."
        )
    weights, included = checked_sample_weight(sample_weight, samples)
    if weights is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(f"The fit of {type(estimator).__name__} does not take sample_weight.")
    target = None
    if y is not None:
        check_consistent_length(samples, y)
        target = np.asarray(y)[included]
    return samples[included], target, weights


def _checked_covariance(covariance: ArrayLike, varies: NDArray[np.bool_]) -> NDArray[np.float64]:
    known = check_array(covariance, dtype=np.float64, input_name="covariance")
    if known.shape != (varies.size, varies.size):
        raise ValueError(
            f"covariance must be of shape ({varies.size}, {varies.size}), for the features of X; got"
            f" {known.shape}."
        )
    known = known[np.ix_(varies, varies)]
    if not np.allclose(known, known.T) or np.linalg.eigvalsh(known).min() <= 0.0:
        raise ValueError("covariance must be symmetric and positive definite.")
    return known


def _check_room(X: NDArray[np.float64]) -> None:
    """Raise MemoryError if eigenvectors, scores, noise and knockoffs do not fit into memory together."""
    n, p = X.shape
    needed = 8.0 * (9 * n * p + (6 * p * p if p <= limits.max_individual_s else 2 * p * min(n, p)))
    if needed > memory_budget(None):
        raise MemoryError(
            f"Knockoffs of {p} features of {n} samples need about {needed / 2**30:.1f} GiB; keep fewer"
            " features first, by something that does not look at y."
        )


def _member(estimator: Any, n_jobs: int | None, seed: int) -> Any:
    """Return a clone; without ``n_jobs`` of its own it gets this one."""
    checked_thread_count(n_jobs)
    member = seeded_clone(estimator, unseeded(estimator), seed)
    if n_jobs is not None and getattr(member, "n_jobs", 0) is None:
        member.set_params(n_jobs=n_jobs)
    return member
