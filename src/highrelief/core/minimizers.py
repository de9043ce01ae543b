"""Minimisers of penalised margin losses, exact to rounding.

``loss`` is a sum over the rows of A (see :mod:`.losses`); a mean has its 1/n in the factors of the loss.
Which method solves what was chosen by measurement: ``python -m benchmarks.solvers``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .hinge import minimize_hinge_l1, minimize_hinge_l2
from .lasso import minimize_smooth_l1
from .losses import HingeLoss, SmoothLoss
from .optimality import Minimum, Vector
from .ridge import minimize_smooth_l2
from .threads import one_blas_thread

__all__ = ["Minimum", "minimize_l1", "minimize_l2"]


def minimize_l2(
    loss: SmoothLoss | HingeLoss, A: NDArray[np.float64], alpha: float, positive: bool = False
) -> Minimum:
    """Minimise loss(Aw) + α‖w‖₂² over w, or over w ≥ 0. The minimiser is unique.

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
    """Minimise loss(Aw) + α‖w‖₁ over w, or over w ≥ 0.

    Smooth losses by Newton's method on the features that are not 0, warm-started; the hinge as a linear
    programme, of all columns or growing by those that ask to join. Where there are several minimisers, equal
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
