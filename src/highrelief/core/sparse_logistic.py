"""Non-negative weights with an L1 penalty on the logistic loss of margins, over all features of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .losses import LogLoss
from .minimizers import minimize_l1
from .sparse_margins import MarginColumns


class SparseWeights(NamedTuple):
    """Weights that minimise the penalised loss, and the largest violation of the conditions of a minimum."""

    weights: NDArray[np.float64]
    residual: float


def sparse_logistic(
    margins: MarginColumns, alpha: float, start: NDArray[np.float64], *, tol: float = 1e-10
) -> SparseWeights:
    """Minimise Σ_n log(1 + exp(−wᵀz̄_n)) + α‖w‖₁ over w ≥ 0.

    Feature j stays at 0 as long as −∂loss/∂w_j = Σ_n z̄_nj/(1 + exp(wᵀz̄_n)) ≤ α. So the problem is solved for
    the features of ``start``, and again with those that then ask to join, until none does.
    """
    features = np.flatnonzero(start)
    Z, w = margins.columns(features), start[features]
    loss, residual = LogLoss(margins.copies), 0.0
    while True:
        if features.size:
            best = minimize_l1(loss, Z, alpha, positive=True, start=w, tol=tol)
            w, residual = best.weights, best.residual
        slopes = margins.copies * expit(-(Z @ w))
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
