"""HKNN: the class whose local hyperplane is nearest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._engine.hyperplanes import ClassHyperplanes
from .._engine.metrics import merge_ties
from .._engine.parameters import constraints, count, number
from ..base.validation import FLOAT_TYPES, ValidationMixin, refuse_dask, validate_data


class HKNNClassifier(ClassifierMixin, ValidationMixin, BaseEstimator):
    r"""HKNN: k nearest neighbors of every class, and the hyperplane through them that passes nearest by.

    With few samples in many dimensions a class is known by points that are far apart, and whose point is the
    nearest is a matter of luck. HKNN fills the gaps: it compares distances from the *hyperplane* through the
    k nearest neighbors :math:`N_1, …, N_k` of a class. With their mean :math:`\bar N` and the columns
    :math:`V = [N_1 - \bar N, …, N_k - \bar N]`

    .. math::

        d_c(x) = \| x - \bar N - V \alpha \|_2,
        \qquad \alpha = (V^\top V + \lambda\,\mathrm{Id})^{-1} V^\top (x - \bar N)

    and the class with the smallest :math:`d_c` wins. The penalty λ keeps the foot of the perpendicular near
    the neighbors, from which a hyperplane would otherwise run to infinity.

    Behind a weighter with ``weighted="euclidean"`` it works in the learned metric; ``True`` is the same for
    Euclidean methods (Simba, G-flip) and multiplies by w instead of √w for the others.

    Parameters
    ----------
    n_neighbors : int, default=7
        Neighbors k from each class, by Euclidean distance; of a smaller class all.
    alpha : float, default=1.0
        λ ≥ 0, in the units of squared distances. 0: the hyperplane (the affine hull) itself; large: the
        distance from the mean of the neighbors. "HKNN with large k" needs λ > 0: as many neighbors as
        features span the whole space, and all distances are 0.
    scale : {"range", "standard", None}, default=None
        Scaling of the features; "range" maps to [0, 1], and features that were constant in ``fit`` are left
        out. None: not at all, as after a weighter.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Neighbors that are tied at the k-th place share it, so that the order of the samples does not matter; a
    neighbor with a share u of the place (with ``sample_weight``, u duplicates) enters the mean with weight u
    and V as the column √u·(N − N̄). For integers that is what u equal columns do.

    References
    ----------
    Vincent, P. and Bengio, Y. (2002). K-local hyperplane and convex distance nearest neighbor algorithms.
    Advances in Neural Information Processing Systems 14, 985-992.

    Examples
    --------
    >>> from highrelief import HKNNClassifier, IRelief
    >>> from highrelief.datasets import make_xor
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y, relevant = make_xor(300, n_irrelevant=20, random_state=0)
    >>> model = make_pipeline(IRelief(weighted="euclidean"), HKNNClassifier())
    >>> bool(model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.8)
    True
    """

    _constraints = constraints(n_neighbors=count(), alpha=number(at_least=0.0))

    def __init__(
        self,
        *,
        n_neighbors: int = 7,
        alpha: float = 1.0,
        scale: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.scale = scale
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the samples of every class, scaled.

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
            The fitted classifier.
        """
        data = self._check_fit(X, y, sample_weight)
        # A constant feature has no scale for new samples.
        ignored = None if self.scale is None else self._constant
        self._references = ClassHyperplanes(data.X, self._scaling, data.codes, data.sample_weight, ignored)
        return self

    def hyperplane_distances(self, X: ArrayLike) -> NDArray[np.float64]:
        """How far samples are from the hyperplane through their nearest neighbors of every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; scaled as in ``fit``.

        Returns
        -------
        distances : array of shape (n_samples, n_classes)
            Euclidean, in the units of the scaled features.
        """
        check_is_fitted(self)
        refuse_dask(X, type(self).__name__)
        self._check_parameters(0)
        samples = validate_data(self, X, dtype=FLOAT_TYPES, reset=False)
        references = self._references
        distances = references.distances(samples, int(self.n_neighbors), float(self.alpha), self._n_threads)
        return merge_ties(distances, references.tie_tolerance)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """−d_c²/(2·mean of d² over the classes); for two classes, as in scikit-learn, one number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decision : array of shape (n_samples, n_classes), or (n_samples,) for two classes
            The largest wins. For two classes the second less the first, (d_0² − d_1²)/(d_0² + d_1²), between
            −1 and 1 and positive where the second wins.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if self.classes_.size == 2 else logits

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Softmax of −d_c²/(2·mean of d² over the classes): a score, not a calibrated probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        scores : array of shape (n_samples, n_classes)
            Rows sum to 1. With two classes a score is never above e/(1 + e) = 0.73.
        """
        shares = np.exp(self._logits(X))
        return shares / shares.sum(axis=1, keepdims=True)

    def _logits(self, X: ArrayLike) -> NDArray[np.float64]:
        distances = self.hyperplane_distances(X)
        # Relative to the largest, so that squares neither overflow nor underflow.
        largest = distances.max(axis=1, keepdims=True)
        known = (largest > 0.0) & (largest < np.inf)
        squares = np.divide(distances, largest, out=np.ones_like(distances), where=known) ** 2
        return -squares / (2.0 * squares.mean(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class whose local hyperplane is nearest; ties go to the smaller class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        classes : array of shape (n_samples,)
            One of ``classes_`` for every sample.
        """
        distances = self.hyperplane_distances(X)
        return self.classes_[np.argmin(distances, axis=1)]

    def _reset(self) -> None:
        self.__dict__.pop("_references", None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_references")
