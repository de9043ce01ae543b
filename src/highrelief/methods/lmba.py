"""Lmba: FREL's square loss over several neighbors."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.columns import Columns
from .._engine.neighbors import Neighborhood
from .._engine.parameters import constraints, count
from .._kernels import descent
from ..base.progress import watched, with_callbacks
from ..base.training_data import TrainingData
from ..base.weighter import FeatureWeighter


class Lmba(FeatureWeighter):
    r"""Lmba: one pass of unit steps down the square loss over the k nearest hits and misses.

    .. math:: L(w, x) = \frac{1}{k} \sum_{j=1}^{k} E_j^2 + \max(0, \Delta_j - \bar E_j)^2

    with :math:`E_j = w^T |x - \mathrm{NH}_j(x)|`, :math:`\bar E_j = w^T |x - \mathrm{NM}_j(x)|` and
    :math:`\Delta_j` the Manhattan distance of the j-th nearest hit and the j-th nearest miss (of all other
    classes). From w = 1 on, each sample in its turn: w ← w − ∂L/∂w / ‖∂L/∂w‖₂. There is no penalty. A
    sample that is alone in its class is passed over; where there are fewer than k hits or misses, there are
    as many pairs. Tied neighbors are ordered as in X.

    Li et al. (2015) compare FREL with a method of this name without defining it; this is our reading.

    Parameters
    ----------
    n_neighbors : int, default=10
        k, of hits and of misses; the misses of all other classes are one set.
    n_epochs : int, default=1
        How often to go through the samples.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        The weights; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm. IEEE
    Transactions on Neural Networks and Learning Systems 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief import Lmba
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=3, random_state=0)
    >>> Lmba(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _order_dependent = True
    _constraints = constraints(n_neighbors=count(), n_epochs=count())

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        n_epochs: int = 1,
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
        return self._descend(self._check_fit(X, y))

    @with_callbacks
    def _fit_with_steps(self, X: ArrayLike, y: ArrayLike, shares: ArrayLike) -> Self:
        """Weigh the features by steps of the length n·s_i for sample i, instead of 1; 1/n each is ``fit``.

        A factor of its loss would not do: the step does not depend on the size of the slope.
        """
        data = self._check_fit(X, y)
        lengths = np.asarray(shares, dtype=np.float64)
        if lengths.shape != (len(data.X),):
            raise ValueError(f"shares has the shape {lengths.shape}, but there are {len(data.X)} samples.")
        if not (np.isfinite(lengths) & (lengths >= 0.0)).all():
            raise ValueError("shares must be finite and at least 0.")
        return self._descend(data, lengths)

    def _descend(self, data: TrainingData, shares: NDArray[np.float64] | None = None) -> Self:
        """Descend by steps of length n·s_i for shares s_i of the samples; None: of equal length."""
        n = len(data.X)
        engine = self._choose_engine(data)
        search = engine.nearest(Neighborhood(self.n_neighbors, pooled=True))
        with watched(self, total=search.n_reports + 1) as progress:
            pairs = search.pairs(progress.advance)
            columns = Columns(data.X, self._scaling, data.ranges)
            array, first = columns.block(0, columns.n_features)
            w = np.where(self._constant, 0.0, 1.0)
            descent.descend_pairs(
                array[:, first:],
                columns.factors,
                pairs.hits,
                pairs.misses,
                pairs.n_pairs,
                pairs.gaps,
                np.ones(n) if shares is None else n * shares,
                int(self.n_epochs),
                w,
            )
            progress.advance()
        self.execution_ = engine.execution() | search.describe()
        return self._set_weights(w if pairs.n_pairs.any() else np.zeros_like(w))

    def margins(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Return the margin of every sample of X, with neighbors in X, under the learned weights.

        wᵀ(E|x − NM(x)| − E|x − NH(x)|), means over the k nearest, with the weights as they are, sign and
        size included. Positive: the sample is nearer to its own class.

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
        engine, _ = self._margin_engine(X, y)
        return engine.nearest(Neighborhood(self.n_neighbors, pooled=True)).margins() @ self.feature_weights_
