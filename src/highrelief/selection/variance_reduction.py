"""Variance reduction: samples are weighted by the distances of their margin vectors."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter

from .._engine.engine import Engine
from .._engine.neighbors import Neighborhood
from .._engine.parameters import constraints, count, optional
from .._engine.scaling import feature_scaling
from .._engine.threads import one_blas_thread
from ..base.meta import SingleFitWeighter, weights_of
from ..base.progress import watched, with_callbacks
from ..base.selector import WeighterTags
from ..base.training_data import Samples, TrainingData, choose_engine, column_ranges, working_memory
from ..base.validation import assert_all_finite, check_spans
from ..methods.lmba import Lmba

#: Neighbors in a margin vector, if the wrapped estimator has no ``n_neighbors``.
_N_NEIGHBORS = 10
#: Largest range of unscaled features; its inverse is the smallest.
_WIDEST = 1e290


class VarianceReduction(SingleFitWeighter):
    r"""Weight samples by the distances of their margin vectors, then compute feature weights under these.

    .. math:: z_n = \sum_{j=1}^{k} |x_n - \mathrm{NM}_j(x_n)| - |x_n - \mathrm{NH}_j(x_n)|, \qquad
              s_n \propto \Bigl( \frac{1}{N - 1} \sum_{m \ne n} \|z_n - z_m\|_2 \Bigr)^{-1}, \quad
              \sum_n s_n = 1

    NH and NM are the k nearest hits and misses (of all other classes) by the Manhattan distance; of fewer
    than k, the mean counts k times. A sample whose margin vector is far from the others has the largest
    influence on the feature weights, and gets the lowest weight. The wrapped estimator gets the
    ``sample_weight`` N·s_n; :class:`Lmba`, which has none, gets steps of length N·s_n instead of 1.

    In the weighters of this package a sample of weight above 1 is a hit of itself, at distance 0.

    Parameters
    ----------
    estimator : estimator
        :class:`Lmba`, or any weighter whose ``fit`` takes ``sample_weight``. VR-Lmba of Li et al. (2015) is
        ``VarianceReduction(Lmba())``.
    n_neighbors : int or None, default=None
        k, the hits and misses of a margin vector; None: that of the wrapped estimator, or 10 if it has none.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is the metric of the wrapped weighter.
    n_jobs : int or None, default=None
        Threads of the margin vectors, and of the wrapped weighter unless it has its own ``n_jobs``.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    sample_weights_ : array of shape (n_samples,)
        s_n; they add up to 1.
    feature_weights_ : array of shape (n_features,)
        Those of ``estimator_``.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Han, Y. and Yu, L. (2010). A variance reduction framework for stable feature selection. ICDM.

    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm. IEEE
    Transactions on Neural Networks and Learning Systems 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief import Lmba, VarianceReduction
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=3, random_state=0)
    >>> VarianceReduction(Lmba(), n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    _constraints = constraints(n_neighbors=optional(count()))

    def __init__(
        self,
        estimator: Any,
        *,
        n_neighbors: int | None = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_neighbors = n_neighbors

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if not isinstance(self.estimator, Lmba) and not has_fit_parameter(self.estimator, "sample_weight"):
            raise TypeError(
                f"estimator={self.estimator!r} must be an Lmba, or take sample_weight in its fit: there is no"
                " other way to weigh its samples."
            )

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.categories = False
        return tags

    def _check_categories(self) -> None:
        chosen = getattr(self._weighter, "categorical_features", None)
        if chosen is not None and np.size(chosen):
            raise ValueError(
                "Margin vectors are of numbers: inside VarianceReduction"
                f" categorical_features={chosen!r} must be None."
            )

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        # Margin vectors need all values, whatever the wrapped estimator supports.
        samples = super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
        if sparse.issparse(samples.X):
            raise TypeError(
                "VarianceReduction does not support sparse X: it compares dense rows. Use X.toarray(), if it"
                " fits into memory."
            )
        assert_all_finite(samples.X, input_name="X", estimator_name=type(self).__name__)
        return samples

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> Self:
        """Weigh the samples, then the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Passed to the fit of ``estimator``, if that takes them; the neighbors in the margin vectors are
            then as its ``batch_neighbors`` determines, too.

        Returns
        -------
        self : object
            The fitted meta-estimator.
        """
        data = self._check_fit(X, y, batches=batches)
        self._check_classes(data.y)
        with watched(self, total=2) as progress:
            self.sample_weights_ = nearness_shares(self._margin_vectors(data))
            progress.advance()
            self.estimator_ = self._fitted_member(data)
            progress.advance()
        return self._set_weights(weights_of(self.estimator_, self.n_features_in_))

    def _fitted_member(self, data: TrainingData) -> Any:
        """Return the wrapped estimator, fitted with the sample weights."""
        member = self._clone_for_all()
        if isinstance(member, Lmba):
            return member._fit_with_steps(data.X, data.y, self.sample_weights_)
        n_samples = self.sample_weights_.size
        metadata = data.metadata_for("estimator")
        return member.fit(data.X, data.y, sample_weight=n_samples * self.sample_weights_, **metadata)

    def _margin_vectors(self, data: TrainingData) -> NDArray[np.float64]:
        """Return z_n/k."""
        k = getattr(self.estimator, "n_neighbors", None) if self.n_neighbors is None else self.n_neighbors
        if not isinstance(k, Integral):
            k = _N_NEIGHBORS
        return self._margin_engine(data).nearest(Neighborhood(int(k), pooled=True)).margins()

    def _margin_engine(self, data: TrainingData) -> Engine:
        """Return the engine for the samples, scaled as in the wrapped weighter, or else to [0, 1]."""
        weighter = self._weighter
        if weighter is None:
            X = np.asarray(data.X, dtype=np.float64)
            ranges = column_ranges(X)
            numeric = replace(data, X=X, sample_weight=None, known_ranges=ranges)
            scaling = feature_scaling(X, "range", None)
            return choose_engine(numeric, scaling, self._n_threads, working_memory())
        batches = data.metadata_for("estimator").get("batches")
        if batches is not None:
            batch_constraint = weighter._batch_constraint(
                batches, np.ones(data.n_samples, dtype=bool), data.X
            )
            return weighter._choose_engine(replace(data, batch_constraint=batch_constraint))
        if weighter.scale is None and (data.ranges.low < data.ranges.high).any():
            check_spans(data.ranges, _WIDEST, 1.0 / _WIDEST)
        return choose_engine(data, self._scaling, self._n_threads, working_memory())


def nearness_shares(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1/(mean Euclidean distance to the other vectors), divided by their sum (Han and Yu 2010)."""
    # In units in which squares are finite, and centered, so that differences keep their digits.
    largest = float(np.abs(vectors).max(initial=0.0))
    vectors = np.ldexp(vectors, -int(np.frexp(largest)[1]))
    vectors -= vectors.mean(axis=0)
    with one_blas_thread():
        products = vectors @ vectors.T
    squares = np.diagonal(products)
    apart = np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2.0 * products, 0.0))
    np.fill_diagonal(apart, 0.0)
    mean = apart.sum(axis=1) / max(len(vectors) - 1, 1)
    if mean.min() == 0.0:  # all are the same
        return np.full(len(vectors), 1.0 / len(vectors))
    nearness = 1.0 / mean
    return nearness / nearness.sum()
