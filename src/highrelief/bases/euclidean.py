"""What Simba and G-flip share: a utility of the margins under a Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.euclidean_margins import check_squares, euclidean_margins, slope
from ..core.parameters import check_choice, check_count, check_flag, check_number
from .weighter import FeatureWeighter


class EuclideanWeighter(FeatureWeighter):
    """Base of the methods of Gilad-Bachrach, Navot and Tishby (2004): their parameters, and margins.

    Parameters
    ----------
    utility : str
        What is summed, of the margins.
    beta : float or None
        β of the sigmoid.
    n_restarts : int
        Number of runs, in other orders.
    shuffle : bool
        Whether orders are random.
    n_features_to_select, weighted, scale, n_jobs, verbose
        As of every weighter.
    random_state : int, RandomState or None
        Of the orders.
    """

    # What ``utility`` may be.
    _utilities: tuple[str, ...] = ()
    _own_metric = "euclidean"

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

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        check_choice("utility", self.utility, self._utilities)
        if self.beta is not None:
            check_number("beta", self.beta, above=0.0)
        check_count("n_restarts", self.n_restarts)
        check_flag("shuffle", self.shuffle)

    def _scaled(self, X: NDArray[np.floating], which: NDArray[np.int64]) -> NDArray[np.floating]:
        """Some columns, scaled as in ``fit`` and in its precision."""
        scaled = self._scaling.of(which).apply(X if which.size == X.shape[1] else X[:, which])
        rows = np.ascontiguousarray(scaled, dtype=self._scaling.offset.dtype)
        if self.scale is None:
            check_squares(rows)
        return rows

    def _slope(
        self, margins: Callable[[], NDArray[np.float64]], copies: NDArray[np.float64] | None = None
    ) -> float:
        """β of a sigmoid: as the user gave it, or by the margins while all features count the same.

        NaN for other utilities, which have none.
        """
        if self.utility != "sigmoid":
            return np.nan
        return slope(margins(), copies) if self.beta is None else float(self.beta)

    def margins(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Margin of every sample among the given ones, under the learned weights.

        ½(‖x − NM‖ − ‖x − NH‖) with ‖z‖² = Σ_i weight_i·z_i², NH the nearest sample of the same class and NM
        the nearest of all others. Positive: the sample is nearer to its own class.

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
        table = self._margin_table(X, y)
        which = np.flatnonzero(self.feature_weights_)
        rows = self._scaled(table.X, which)
        return euclidean_margins(rows, table.codes, self.feature_weights_[which], self._n_threads)
