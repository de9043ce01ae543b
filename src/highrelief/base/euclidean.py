"""Base class of Simba and G-flip: a utility of the margins under a weighted Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.parameters import check_flag, constraints, count, number, optional
from .._engine.threads import even_ranges, n_pieces, run_all
from .._kernels import simba
from .weighter import FeatureWeighter

#: Number of blocks of samples for threads; the first blocks have more pairs than the last.
_PIECES = 16
#: Squares of ranges above this, or below its inverse, overflow or underflow in float64.
_WIDEST = 1e150


def euclidean_margins(
    X: NDArray[np.floating], codes: NDArray[np.int64], squared: NDArray[np.float64], n_threads: int
) -> NDArray[np.float64]:
    """Return ½(‖x − NM‖ − ‖x − NH‖) of every sample, ‖z‖² = Σ_i squared_i·z_i²; 0 without a hit or miss."""

    def of_rows(a: int, b: int) -> NDArray[np.float64]:
        nearest = np.full((2, len(X)), np.inf)
        simba.find_nearest(X, codes, squared, a, b, *nearest)
        return nearest

    # A minimum does not depend on the order.
    n_parts = max(n_pieces(0.5 * X.size * len(X)), _PIECES if n_threads > 1 else 1)
    parts = run_all(of_rows, even_ranges(len(X), n_parts), n_threads)
    nearest = np.minimum.reduce(parts)
    hits, misses = np.sqrt(np.where(np.isfinite(nearest).all(axis=0), nearest, 0.0))
    return 0.5 * (misses - hits)


def slope(margins: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None) -> float:
    """Return β of the sigmoid: 1 over the mean absolute margin; 1 if all margins are 0."""
    mean = np.average(np.abs(margins), weights=sample_weight)
    return float(1.0 / mean) if mean > 0.0 else 1.0


def check_squares(X: NDArray[np.floating]) -> None:
    """Raise ValueError if squares of differences of unscaled features overflow or underflow in float64."""
    if X.dtype != np.float64 or not X.size:
        return
    span = float((X.max(axis=0) * 0.5 - X.min(axis=0) * 0.5).max())
    if not 1.0 / _WIDEST < span < _WIDEST:
        raise ValueError(
            f"With scale=None the features of X range over up to {2.0 * span:.3g}: the squares of their"
            " differences are beyond float64. Use scale='range'."
        )


class EuclideanWeighter(FeatureWeighter):
    """Base of the methods of Gilad-Bachrach, Navot and Tishby (2004).

    Parameters
    ----------
    utility : str
        Function of the margins that is summed.
    beta : float or None
        β of the sigmoid.
    n_restarts : int
        Number of runs, each in another order.
    shuffle : bool
        Whether the orders are random.
    n_features_to_select, weighted, scale, n_jobs, verbose
        See :class:`.weighter.FeatureWeighter`.
    random_state : int, RandomState or None
        Determines the orders.
    """

    _own_metric = "euclidean"
    _constraints = constraints(beta=optional(number(above=0.0)), n_restarts=count(), shuffle=check_flag)

    def __init__(
        self,
        *,
        utility: str = "linear",
        beta: float | None = None,
        n_restarts: int = 1,
        shuffle: bool = True,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.utility = utility
        self.beta = beta
        self.n_restarts = n_restarts
        self.shuffle = shuffle
        self.random_state = random_state

    def _scaled(self, X: NDArray[np.floating], which: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return some columns, scaled as in ``fit`` and in its precision."""
        scaled = self._scaling.of(which).apply(X if which.size == X.shape[1] else X[:, which])
        rows = np.ascontiguousarray(scaled, dtype=self._scaling.offset.dtype)
        if self.scale is None:
            check_squares(rows)
        return rows

    def _slope(
        self, margins: Callable[[], NDArray[np.float64]], sample_weight: NDArray[np.float64] | None = None
    ) -> float:
        """Return β of the sigmoid: the parameter, or from the margins at equal weights.

        NaN for other utilities, which have none.
        """
        if self.utility != "sigmoid":
            return np.nan
        return slope(margins(), sample_weight) if self.beta is None else float(self.beta)

    def margins(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Return the margin of every sample of X, with neighbors in X, under the learned weights.

        ½(‖x − NM‖ − ‖x − NH‖) with ‖z‖² = Σ_i weight_i·z_i², NH the nearest sample of the same class and NM
        the nearest of all others. Positive: the sample is nearer to its own class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; scaled as in ``fit``.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        margins : array of shape (n_samples,)
            0 for a sample without another of its class.
        """
        data = self._check_new_samples(X, y)
        which = np.flatnonzero(self.feature_weights_)
        rows = self._scaled(data.X, which)
        return euclidean_margins(rows, data.codes, self.feature_weights_[which], self._n_threads)
