"""LHR: margins at hyperplanes of the nearest neighbors, under the metric that the weights define."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.engine import Engine
from .._engine.hyperplanes import LocalHyperplanes
from .._engine.parameters import constraints, count, number
from .._solvers.fixed_point import fixed_point, unit_positive_part
from ..base.progress import watched, with_callbacks
from ..base.weighter import FeatureWeighter


class LHRelief(FeatureWeighter):
    r"""LHR, local hyperplane RELIEF: margins at the points nearest to a sample in the hulls of its neighbors.

    The nearest hit and the nearest miss of RELIEF are single, noisy samples. LHR finds the k nearest of each,
    under :math:`\sum_j w_j |x_j - x'_j|`, and the point of their convex hull (mixtures of the columns of H)
    that is nearest to the sample, with W = diag(w):

    .. math::

        \alpha = \arg\min_{\alpha \ge 0,\ \sum \alpha = 1}
            \tfrac12 (x - H\alpha)^\top W (x - H\alpha) + \lambda\, \alpha^\top \alpha,
        \qquad
        z = \frac{1}{N} \sum_n |x_n - H_{\mathrm{miss}} \alpha_n| - |x_n - H_{\mathrm{hit}} \beta_n|,
        \qquad w \leftarrow (z)^+ / \|(z)^+\|_2 .

    Neighbors and mixtures are recomputed in every iteration, from w = 1/√n_features on. The iteration seldom
    converges, and may alternate between interacting features; ``history_`` and a warning show this, and the
    weights are those of the last iteration. With ``n_neighbors=1`` the first iteration is RELIEF.

    Parameters
    ----------
    n_neighbors : int, default=7
        k, of hits and of misses; the misses of all other classes are one set. Fewer if there are fewer.
    alpha : float, default=1e-3
        The penalty λ ≥ 0. The larger, the nearer is the mixture to the mean of the k. See Notes on 0.
    max_iter : int, default=20
        Largest number of iterations. More are not always better: on XOR the relevant features are found after
        2 iterations, and lost again after 20.
    tol : float, default=1e-4
        The iteration ends when ‖w − w_before‖₂ is smaller.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean, each > 0; "balanced" is N/(C·n_c) for the n_c samples of a class,
        so that all C classes contribute equally.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by the weights, or their square
        roots for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        ≥ 0, Euclidean norm 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    n_iter_ : int
        Iterations run.
    converged_ : bool
        Whether the weights stood still.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no solution.
    cycle_length_ : int
        Length of the cycle that the iteration ended in; 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The quadratic problem is solved exactly, by active sets in float64, for lists of any length.

    Sample weights and ties are not in the paper: c equal neighbors with the total coefficient α cost
    :math:`\lambda \alpha^2 / c`, so that is what a sample of weight c costs. Those tied with the k-th
    distance share the places left among the k equally, and a neighbor with a share u of a place costs
    :math:`\lambda \alpha^2 / u`. Results do not depend on the order of the rows.

    A λ below 1e-12 times the largest squared distance in a neighborhood, 0 included, counts as that: of
    several mixtures that are as near, the one of smallest :math:`\sum \alpha^2 / u` is taken. Only
    features of weight 0 can tell such mixtures apart; they have margins too, by which they may come back.

    References
    ----------
    Cai, H., Ruan, P., Ng, M. and Akutsu, T. (2014). Feature weight estimation for gene selection: a local
    hyperlinear learning approach. BMC Bioinformatics 15:70.

    Examples
    --------
    >>> from highrelief import LHRelief
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=50, random_state=0)
    >>> LHRelief(max_iter=2, n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _refuses_dask = "it solves a problem of its own for every sample."
    _constraints = constraints(
        n_neighbors=count(),
        alpha=number(at_least=0.0),
        max_iter=count(),
        tol=number(at_least=0.0),
    )

    def __init__(
        self,
        *,
        n_neighbors: int = 7,
        alpha: float = 1e-3,
        max_iter: int = 20,
        tol: float = 1e-4,
        class_weight: Any = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the feature weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        engine = self._choose_engine(self._check_fit(X, y, sample_weight))
        planes = self._hyperplanes(engine)

        def step(w: NDArray[np.float64]) -> NDArray[np.float64] | None:
            z = planes.mean_margin(w)  # eqs. (4) and (5), under w
            return unit_positive_part(z)

        start = np.full(self.n_features_in_, 1.0 / np.sqrt(self.n_features_in_))
        with watched(self, total=self.max_iter) as progress:
            end = fixed_point(step, start, max_iter=self.max_iter, tol=self.tol, report=progress.advance)
        self._set_iterations(end, complete=False, advice="LHR often does not: see what other max_iter give.")
        self.execution_ = engine.execution() | planes.describe()
        return self._set_weights(end.weights)

    def margins(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Return the margin of every sample of X, with neighbors in X, under the learned weights.

        ``ρ_n = Σ_j w_j (|x_n − H_miss α|_j − |x_n − H_hit β|_j)``, the neighbors and the mixtures found
        under w. Positive: the sample is nearer to the hyperplane of its own class.

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
        engine, w = self._margin_engine(X, y)
        return self._hyperplanes(engine).margins(w)

    def _hyperplanes(self, engine: Engine) -> LocalHyperplanes:
        return engine.local_hyperplanes(self.n_neighbors, float(self.alpha))
