"""What the methods with soft neighbourhoods share: the kernel width, and the margin of a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import FeatureWeighter
from .core.parameters import check_choice, check_flag, check_number
from .core.rows import LocalRows

#: Which misses form a neighbourhood: of all classes (eq. 21), or of each by itself (eq. 20).
MARGINS = ("nearest", "prior")


class SoftWeighter(FeatureWeighter):
    """Base of the weighters whose neighbours are weighed by exp(−d/σ)."""

    sigma: str | float
    perplexity: float
    margin: str
    outliers: bool
    sigma_: float

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if isinstance(self.sigma, str):
            check_choice("sigma", self.sigma, ("auto",), beside=", or a number > 0")
        else:
            check_number("sigma", self.sigma, above=0.0)
        check_number("perplexity", self.perplexity, above=0.0, at_most=1.0)
        check_choice("margin", self.margin, MARGINS)
        check_flag("outliers", self.outliers)

    @property
    def _automatic(self) -> bool:
        return isinstance(self.sigma, str)

    @property
    def _pooled(self) -> bool:
        """Whether the misses of all classes are one set (eq. 21), or each class counts by itself (eq. 20)."""
        return self.margin == "nearest"

    def _width(self, rows: LocalRows, w: NDArray[np.float64]) -> float:
        """σ as the user gave it, or such that neighbourhoods under w have the wanted size."""
        if self._automatic:
            return rows.width_for_perplexity(w, self.perplexity)
        return float(self.sigma)

    def margins(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Expected margin of every sample among the given ones, under the learned weights.

        ρ_n = Σ_i α_in ‖x_n − x_i‖_w − Σ_i β_in ‖x_n − x_i‖_w: how much farther the misses are than the hits,
        each weighed by exp(−d/σ) (Sun 2007, eq. 11, without γ). Positive: the sample is nearer to its own
        class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, scaled here as in ``fit``.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        margins : array of shape (n_samples,)
            0 for a sample that is alone in its class.
        """
        rows, w = self._margin_rows(X, y)
        return rows.soft_margin_rows(w, self.sigma_, pooled=self._pooled).margins @ w
