"""I-RELIEF: margins over soft neighborhoods under the metric that the weights define."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.engine import Engine
from .._solvers.fixed_point import unit_positive_part
from ..base.progress import with_callbacks
from ..base.soft import ClassMargins, GridPoint, RepeatedWeighter, Width
from ..base.training_data import TrainingData


class IRelief(ClassMargins, RepeatedWeighter):
    r"""I-RELIEF: the weights that maximize the expected margin in the space they make themselves.

    Neighbors are not found once, but have weights by their distances under the current feature weights,
    :math:`d_{ni} = \sum_j w_j |x_{nj} - x_{ij}|` and :math:`f(d) = \exp(-d/\sigma)`:

    .. math::

        \nu &= \frac{1}{N} \sum_n \gamma_n \Bigl(
            \sum_{i \in M_n} \alpha_{in} |x_n - x_i| - \sum_{i \in H_n} \beta_{in} |x_n - x_i| \Bigr), \\
        w &\leftarrow (\nu)^+ / \|(\nu)^+\|_2

    where α and β are f(d) divided by its sum over the misses M and over the hits H of sample n, and γ = 1 −
    Σ_M f / Σ_{M ∪ H} f is the probability that the sample is no outlier. This is iterated until w converges.

    Parameters
    ----------
    sigma : "auto" or float, default="auto"
        Kernel width σ, in the units of Σ_j w_j|x_j| with ‖w‖₂ = 1. With a number the iteration of the paper
        runs. "auto" finds, in every step, the σ at which the entropy of softmax(−d/σ) over all other samples
        is on average log(``perplexity``·(N − 1)), and averages the steps. It is measured at 1,024 samples if
        there are more.
    margin : {"nearest", "prior"} or None, default=None
        For more than two classes: misses of all classes together (I-RELIEF-2, eq. 21), or class by class,
        weighted by P(c)/(1 − P(y)) (I-RELIEF-1, eq. 20). None: "prior" where neither ``sigma`` nor
        ``perplexity`` is a number, "nearest" otherwise.
    outliers : bool or None, default=None
        Whether likely outliers count less (γ); False sets γ = 1. None: False where neither ``sigma`` nor
        ``perplexity`` is a number, True otherwise.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, instead of the last. None: with
        ``sigma="auto"`` only.
    perplexity : float or None, default=None
        Effective number of neighbors, as a fraction of all samples, for ``sigma="auto"``. None: 0.5, and the
        final weights are combined with the margin at equal weights, see the notes.
    max_iter : int or None, default=None
        Largest number of iterations. None: a schedule of 10 averaged ones, or at most 100 plain ones.
    tol : float, default=1e-5
        The iteration ends when ‖w − w_before‖₂ is smaller.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Initial weights. "uniform" is 1/n_features, as in the paper.
    memory_budget : float or None, default=None
        Bytes for storing the distances of all pairs between passes; if they need more, they are recomputed in
        each pass. Twice as many, up to 200 MB, also store the weights of the pairs, which identify features
        whose margin stays negative. None: half of the free memory. Results are bitwise identical for any
        value. A fit also needs a scaled copy of X, or, if X has at least 10 times more features than samples
        and the distances are stored, of a block of its columns; and as much again for features with missing
        values.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean and in P(c), each > 0; "balanced" is N/(C·n_c) for the n_c samples
        of a class, so that all C classes contribute equally.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether hits and misses are in the batch of a sample, or in the other
        batches.
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
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        ≥ 0, Euclidean norm 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    outlier_proba_ : array of shape (n_samples,)
        1 − γ_n at the final weights: how likely the sample is mislabeled. NaN for samples of weight 0.
    sigma_ : float
        The kernel width; with "auto" that of the final weights.
    n_iter_ : int
        Iterations run.
    converged_ : bool
        Whether the weights converged, or the whole schedule of ``max_iter=None`` was run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no solution.
    cycle_length_ : int
        Length of the cycle that the iteration ended in; 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, whether distances were stored or recomputed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes ----- With ``sigma="auto"`` and ``perplexity=None`` there is no parameter to choose. Besides the
    averaged weights w, the margin ν at equal weights is computed once, at a perplexity of 0.7, with γ = 1 and
    misses class by class. The result is :math:`(w/\|w\|_2 + c\,\nu/\|\nu\|_2)^+` at unit norm, with :math:`c
    = \cos^2(w, \nu^+)`: for features that matter only in combination ν is small, and w dominates; among
    redundant features ν prevents a random preference of w.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), 1035-1051.

    Examples
    --------
    >>> from highrelief import IRelief
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=50, random_state=0)
    >>> IRelief(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _allows_missing = True
    _refuses_dask: str | None = None
    _takes_sparse = True
    _margin_may_be_none = True
    _uniform = None

    def __init__(
        self,
        *,
        sigma: str | float = "auto",
        margin: str | None = None,
        outliers: bool | None = None,
        averaging: bool | None = None,
        perplexity: float | None = None,
        max_iter: int | None = None,
        tol: float = 1e-5,
        init: str | ArrayLike = "uniform",
        memory_budget: float | None = None,
        class_weight: Any = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            sigma=sigma,
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            memory_budget=memory_budget,
            random_state=random_state,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.margin = margin
        self.outliers = outliers
        self.class_weight = class_weight
        self.batch_neighbors = batch_neighbors

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Weigh the features (Sun 2007, Fig. 2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. NaN is allowed: a difference to a missing value is replaced by its expectation over
            the observed values.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.
        batches : array-like of shape (n_samples,), default=None
            Batch of each sample, a name or a number. Features are scaled within each batch, and
            ``batch_neighbors`` determines which batches neighbors are in. A sample without a hit or a miss
            there contributes nothing.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y, sample_weight, batches)
        return self._learn(data, self._choose_engine(data), self._first_weights())  # (1)

    def _learn(
        self, data: TrainingData, engine: Engine, w: NDArray[np.float64], point: GridPoint | None = None
    ) -> Self:
        """Run the iteration of Fig. 2 from weights w."""
        first, width = self._first_margin(engine), self._width(engine, point)

        def step(w: NDArray[np.float64]) -> NDArray[np.float64] | None:
            near = engine.soft_neighborhoods(w, width(w))  # (3), (4): P_m, P_h, P_o of eqs. (8), (9), (10)
            nu = near.mean_margin(  # eq. (11)
                pooled=self._pooled, outliers=self._downweights_outliers, only_positive=True
            )
            return unit_positive_part(nu)  # (5): eq. (12)

        w = self._repeat(step, w)  # (2), (6), (7): until ‖w⁽ᵗ⁾ − w⁽ᵗ⁻¹⁾‖ < θ
        return self._set_fitted(data, engine, self._joined(w, first), width)

    @property
    def _pooled(self) -> bool:
        return not self._parameter_free if self.margin is None else super()._pooled

    @property
    def _downweights_outliers(self) -> bool:
        """Whether likely outliers have less weight."""
        return not self._parameter_free if self.outliers is None else self.outliers

    def _set_fitted(self, data: TrainingData, engine: Engine, w: NDArray[np.float64], width: Width) -> Self:
        """Set the weights at unit norm, and the width and the outlier probabilities under them."""
        unit = unit_positive_part(w)  # a mean of unit vectors is shorter
        self._set_weights(w if unit is None else unit)
        self.sigma_ = width(self.feature_weights_)
        self.outlier_proba_ = np.full(data.included.size, np.nan)
        self.outlier_proba_[data.included] = (
            1.0 - engine.soft_neighborhoods(self.feature_weights_, self.sigma_).inlier
        )
        self.execution_ = engine.execution(soft=True)
        return self
