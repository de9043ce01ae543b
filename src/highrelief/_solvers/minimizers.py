"""Minimizers of penalized margin losses, exact up to rounding.

``loss`` is a sum over the rows of A (see :mod:`.losses`); for a mean, the factors of the loss contain 1/n.
The method for each problem was chosen by measurement: ``python -m benchmarks.solvers``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._engine.active_set import MarginColumns
from .._engine.threads import one_blas_thread
from .hinge import minimize_hinge_l1, minimize_hinge_l2
from .losses import HingeLoss, LogLoss, Minimum, SmoothLoss, Vector
from .smooth import minimize_smooth_l1, minimize_smooth_l2

__all__ = ["Minimum", "minimize_l1", "minimize_l2"]


def minimize_l2(
    loss: SmoothLoss | HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool = False
) -> Minimum:
    """Minimize loss(Aw) + α‖w‖₂² over w, or over w ≥ 0. The minimizer is unique.

    Smooth losses are minimized by Newton's method: in the weights if there are at most as many of them as
    rows, otherwise in the span of the rows. The hinge loss is minimized by Newton's method on its dual.

    Parameters
    ----------
    loss : SmoothLoss or HingeLoss
        Loss of the scores Aw.
    A : (n_rows, n_features) float64
        Rows of the scores.
    alpha : float
        Penalty, > 0.
    positive : bool
        Whether to constrain w ≥ 0.

    Returns
    -------
    minimum : Minimum
        Weights, residual (near rounding), Newton steps.
    """
    with one_blas_thread():
        if isinstance(loss, HingeLoss):
            return minimize_hinge_l2(loss, A, alpha, positive=positive)
        return minimize_smooth_l2(loss, A, alpha, positive=positive)


def minimize_l1(
    loss: SmoothLoss | HingeLoss,
    A: NDArray[np.float64],
    alpha: float,
    positive: bool = False,
    start: Vector | None = None,
    tol: float = 1e-10,
) -> Minimum:
    """Minimize loss(Aw) + α‖w‖₁ over w, or over w ≥ 0.

    Smooth losses are minimized by warm-started Newton steps on the nonzero weights; the hinge loss as a
    linear program, of all columns or by column generation. If there are several minimizers, equal columns
    have equal weights.

    Parameters
    ----------
    loss : SmoothLoss or HingeLoss
        Loss of the scores Aw.
    A : (n_rows, n_features) float64
        Rows of the scores.
    alpha : float
        Penalty, > 0.
    positive : bool
        Whether to constrain w ≥ 0.
    start : (n_features,) or None
        Weights near the minimum; for the hinge loss only their support is used.
    tol : float
        Tolerance of the residual: the largest violation of the optimality conditions over the larger of α and
        the largest |derivative of the loss| at w = 0.

    Returns
    -------
    minimum : Minimum
        Weights, residual, Newton steps.
    """
    with one_blas_thread():
        if isinstance(loss, HingeLoss):
            return minimize_hinge_l1(loss, A, alpha, positive=positive, start=start)
        return minimize_smooth_l1(loss, A, alpha, positive=positive, start=start, tol=tol)


# Non-negative weights with an L1 penalty on the logistic loss of margins, over all features.


class SparseWeights(NamedTuple):
    """Weights that minimize the penalized loss, and the largest violation of the optimality conditions."""

    weights: NDArray[np.float64]
    residual: float


def sparse_logistic(
    margins: MarginColumns, alpha: float, start: NDArray[np.float64], *, tol: float = 1e-10
) -> SparseWeights:
    """Minimize Σ_n log(1 + exp(−wᵀz̄_n)) + α‖w‖₁ over w ≥ 0.

    Feature j stays at 0 as long as −∂loss/∂w_j = Σ_n z̄_nj/(1 + exp(wᵀz̄_n)) ≤ α. The problem is solved for
    the features of ``start``, and again with features that violate this condition, until none does.
    """
    features = np.flatnonzero(start)
    Z, w = margins.columns(features), start[features]
    loss, residual = LogLoss(margins.sample_weight), 0.0
    while True:
        if features.size:
            best = minimize_l1(loss, Z, alpha, positive=True, start=w, tol=tol)
            w, residual = best.weights, best.residual
        slopes = margins.sample_weight * expit(-(Z @ w))
        # Including features at the bound: duplicate columns share their weight.
        violating = margins.features_above(slopes, alpha * (1.0 - margins.rounding))
        entering = violating[~np.isin(violating, features)][: max(w.size, slopes.size)]
        if not entering.size:
            break
        features = np.concatenate([features, entering])
        Z = np.hstack([Z, margins.columns(entering)])
        w = np.concatenate([w, np.zeros(entering.size)])
    weights = np.zeros(start.size)
    weights[features] = w
    return SparseWeights(weights, residual)
