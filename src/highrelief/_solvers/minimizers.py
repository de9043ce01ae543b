"""Minimizers of penalized margin losses, exact to rounding.

``loss`` is a sum over the rows of A (see :mod:`.losses`); a mean has its 1/n in the factors of the loss.
Which method solves what was chosen by measurement: ``python -m benchmarks.solvers``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._engine.soft import MarginColumns
from .._engine.threads import one_blas_thread
from .hinge import minimize_hinge_l1, minimize_hinge_l2
from .losses import HingeLoss, LogLoss, Minimum, SmoothLoss, Vector
from .smooth import minimize_smooth_l1, minimize_smooth_l2

__all__ = ["Minimum", "minimize_l1", "minimize_l2"]


def minimize_l2(
    loss: SmoothLoss | HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool = False
) -> Minimum:
    """Minimize loss(Aw) + α‖w‖₂² over w, or over w ≥ 0. The minimizer is unique.

    Smooth losses by Newton's method: in the weights where there are no more of them than rows, otherwise
    in the span of the rows. The hinge by Newton's method on its dual.

    Parameters
    ----------
    loss : SmoothLoss or HingeLoss
        Of the scores Aw.
    A : (n_rows, n_features) float64
        What the scores are made of.
    alpha : float
        > 0.
    positive : bool
        Whether weights must not be negative.

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

    Smooth losses by Newton's method on the features that are not 0, warm-started; the hinge as a linear
    program, of all columns or growing by those that ask to join. Where there are several minimizers, equal
    columns have equal weights.

    Parameters
    ----------
    loss : SmoothLoss or HingeLoss
        Of the scores Aw.
    A : (n_rows, n_features) float64
        What the scores are made of.
    alpha : float
        > 0.
    positive : bool
        Whether weights must not be negative.
    start : (n_features,) or None
        Weights near the minimum; the hinge takes its columns that are not 0.
    tol : float
        Relative residual to reach: largest violation of the conditions of a minimum, over the larger of α
        and the largest |derivative of the loss| at w = 0.

    Returns
    -------
    minimum : Minimum
        Weights, residual, Newton steps.
    """
    with one_blas_thread():
        if isinstance(loss, HingeLoss):
            return minimize_hinge_l1(loss, A, alpha, positive=positive, start=start)
        return minimize_smooth_l1(loss, A, alpha, positive=positive, start=start, tol=tol)


# Non-negative weights with an L1 penalty on the logistic loss of margins, over all features of a table.


class SparseWeights(NamedTuple):
    """Weights that minimize the penalized loss, and the largest violation of the conditions of a minimum."""

    weights: NDArray[np.float64]
    residual: float


def sparse_logistic(
    margins: MarginColumns, alpha: float, start: NDArray[np.float64], *, tol: float = 1e-10
) -> SparseWeights:
    """Minimize Σ_n log(1 + exp(−wᵀz̄_n)) + α‖w‖₁ over w ≥ 0.

    Feature j stays at 0 as long as −∂loss/∂w_j = Σ_n z̄_nj/(1 + exp(wᵀz̄_n)) ≤ α. So the problem is solved for
    the features of ``start``, and again with those that then ask to join, until none does.
    """
    features = np.flatnonzero(start)
    Z, w = margins.columns(features), start[features]
    loss, residual = LogLoss(margins.sample_weight), 0.0
    while True:
        if features.size:
            best = minimize_l1(loss, Z, alpha, positive=True, start=w, tol=tol)
            w, residual = best.weights, best.residual
        slopes = margins.sample_weight * expit(-(Z @ w))
        # Also those on the edge: a copy of a feature gets its share of the weight.
        asking = margins.features_above(slopes, alpha * (1.0 - margins.rounding))
        joining = asking[~np.isin(asking, features)][: max(w.size, slopes.size)]
        if not joining.size:
            break
        features = np.concatenate([features, joining])
        Z = np.hstack([Z, margins.columns(joining)])
        w = np.concatenate([w, np.zeros(joining.size)])
    weights = np.zeros(start.size)
    weights[features] = w
    return SparseWeights(weights, residual)
