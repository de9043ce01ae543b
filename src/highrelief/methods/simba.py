"""Simba: stochastic gradient ascent on the margins."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from .._engine.metrics import tie_tolerance
from .._engine.parameters import constraints, count, one_of, random_generator
from .._engine.threads import even_ranges, n_pieces, run_all
from .._kernels.simba import climb
from ..base.euclidean import EuclideanWeighter, euclidean_margins
from ..base.progress import watched, with_callbacks
from ..base.validation import warn_user


class Simba(EuclideanWeighter):
    r"""Simba: weights that stochastic gradient ascent on the margins finds.

    .. math:: \max_w \sum_n u(\theta_w(x_n)), \\
              \theta_w(x) = \tfrac12 (\|x - \mathrm{NM}\|_w - \|x - \mathrm{NH}\|_w), \quad
              \|z\|_w = \sqrt{\textstyle\sum_i w_i^2 z_i^2}

    NH is the nearest sample of the same class and NM the nearest of all others, under the current w. From
    w = 1 on, every sample in its turn makes the step

    .. math:: w_i \leftarrow w_i + u'(\theta_w(x)) \cdot \tfrac12 \left[ \frac{(x_i - \mathrm{NM}_i)^2}
              {\|x - \mathrm{NM}\|_w} - \frac{(x_i - \mathrm{NH}_i)^2}{\|x - \mathrm{NH}\|_w} \right] w_i

    and at the end ``feature_weights_`` are w²/max(w²). A sample at distance 0 from its nearest hit or miss,
    and one that is alone in its class, makes no step. Of several that are nearest the first in X is
    taken. The order of the samples matters, so that the passes are run again in other orders, always from
    w = 1 on, and the run with the largest sum of margins under its weights is kept.

    Parameters
    ----------
    utility : {"linear", "sigmoid"}, default="linear"
        u(θ): θ, or 1/(1 + exp(−βθ)), by which samples far from the border between the classes count less.
    beta : float or None, default=None
        β of the sigmoid; None is 1 over the mean size of the margins at w = 1.
    n_restarts : int, default=5
        Number of runs, in other orders; with ``shuffle=False`` there is one.
    n_epochs : int, default=1
        How often a run visits every sample.
    shuffle : bool, default=True
        Whether samples are visited in random order, a new one in each epoch, or as they are given.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by the weights, or by their
        square roots for "euclidean"; True is "euclidean", the metric of the method.
    scale : {"range", "standard", None}, default="range"
        Scaling of the features. It sets the length of the steps too.
    n_jobs : int or None, default=None
        Threads, for the runs. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        1 shows the progress of long fits.
    random_state : int, RandomState or None, default=None
        For the random orders.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        w²/max(w²): ≥ 0, the largest 1 whatever the margins. A constant feature weighs 0. All 0 if no class
        has two samples, or if the steps led to w = 0.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    margin_sum_ : float
        Sum of the margins of all samples under the weights.
    margin_sums_ : array of shape (n_runs,)
        The same for every run; the first of the largest is kept.
    n_steps_ : int
        Steps that the kept run made: samples visited but for those passed over.
    beta_ : float
        β of the sigmoid; NaN for "linear".
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Gilad-Bachrach, R., Navot, A. and Tishby, N. (2004). Margin based feature selection - theory and
    algorithms. Proceedings of the 21st International Conference on Machine Learning, 43-50.

    Examples
    --------
    >>> from highrelief import Simba
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=3, random_state=0)
    >>> Simba(n_features_to_select=2, random_state=0).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _constraints = constraints(utility=one_of("linear", "sigmoid"), n_epochs=count())
    _order_dependent = True

    _refuses_dask = "each of its steps depends on the one before."

    def __init__(
        self,
        *,
        utility: str = "linear",
        beta: float | None = None,
        n_restarts: int = 5,
        n_epochs: int = 1,
        shuffle: bool = True,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            utility=utility,
            beta=beta,
            n_restarts=n_restarts,
            shuffle=shuffle,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.n_epochs = n_epochs

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Compute the feature weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y)
        varies = np.flatnonzero(~self._constant)
        rows, codes = self._scaled(data.X, varies), data.codes
        self.beta_ = self._slope(
            lambda: euclidean_margins(rows, codes, np.ones(varies.size), self._n_threads)
        )
        orders = self._orders(len(rows))
        runs = [np.ones(varies.size) for _ in orders]
        n_steps = np.zeros(len(orders), dtype=np.int64)
        # The relative error of a square is twice that of its root.
        tied, smooth = 2.0 * tie_tolerance(rows.dtype), self.utility == "sigmoid"

        def visit(run: int, a: int, b: int) -> None:
            n_steps[run] += climb(rows, codes, orders[run][a:b], tied, smooth, self.beta_, runs[run])

        parts = even_ranges(orders[0].size, self.n_epochs * n_pieces(rows.size * len(rows)))
        with watched(self, total=len(parts) + 1) as progress:
            for a, b in parts:
                run_all(visit, [(run, a, b) for run in range(len(runs))], self._n_threads)
                if progress.advance():
                    warn_user("A callback stopped Simba before the end of a pass.", ConvergenceWarning)
                    break
            found = [_relative_squares(w) for w in runs]
            sums = [euclidean_margins(rows, codes, each, self._n_threads).sum() for each in found]
            progress.advance()
        best = int(np.argmax(sums))
        self.margin_sums_ = np.array(sums)
        self.margin_sum_, self.n_steps_ = float(sums[best]), int(n_steps[best])
        return self._set_found(varies, found[best], codes)

    def _orders(self, n_samples: int) -> list[NDArray[np.int64]]:
        """Return the order in which each run visits the samples, epoch after epoch."""
        here = np.arange(n_samples)
        if not self.shuffle:
            return [np.tile(here, self.n_epochs)]
        generator = random_generator("random_state", self.random_state)
        return [
            np.concatenate([generator.permutation(here) for _ in range(self.n_epochs)])
            for _ in range(self.n_restarts)
        ]

    def _set_found(
        self, varies: NDArray[np.int64], found: NDArray[np.float64], codes: NDArray[np.int64]
    ) -> Self:
        weights = np.zeros(self.n_features_in_)
        if np.bincount(codes).max() > 1:  # else there is no margin
            weights[varies] = found
            if self.n_steps_ == 0:
                warn_user(
                    "Simba made no step: every sample has a hit or a miss at distance 0, and all weights"
                    " are those of the start.",
                    ConvergenceWarning,
                )
            elif not found.any():
                warn_user("The steps of Simba led to w = 0: all weights are 0.", ConvergenceWarning)
        return self._set_weights(weights)


def _relative_squares(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w²/max(w²); 0 if w = 0."""
    largest = np.abs(w).max()
    return (w / largest) ** 2 if largest > 0.0 else np.zeros_like(w)
