"""DANN: directions in which classes differ within neighborhoods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.nearest import NearestPass
from .._engine.neighbors import Neighborhood
from .._engine.parameters import constraints, count, optional
from .._engine.threads import one_blas_thread
from .._solvers import scatter
from ..base.extraction import FeatureExtractor, check_square
from ..base.training_data import TrainingData

#: Smallest default number of neighbors; otherwise it is a fifth of the samples.
FEWEST_NEIGHBORS = 50


class DANN(FeatureExtractor):
    r"""Scatter between the classes within each sample's neighborhood, averaged; its leading directions.

    .. math:: \bar B = \frac{1}{N} \sum_n \sum_c \pi_{nc} (\bar x_{nc} - \bar x_n)(\bar x_{nc} - \bar x_n)^T

    over the k samples nearest to :math:`x_n`, itself included: :math:`\pi_{nc}` is the share of class c among
    them, :math:`\bar x_{nc}` its mean there and :math:`\bar x_n` that of all. The components are the
    eigenvectors of :math:`\bar B`, of unit length. This is the subspace of Hastie and Tibshirani's
    discriminant adaptive nearest neighbors, as Sun and Wu compare LFE with; the adaptive classifier is not
    part of it.

    Samples tied at the k-th distance share the remaining weight, so that results do not depend on the order
    of the rows.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions, those of the largest eigenvalues; None: all with a positive one. If fewer are
        positive, these are returned, with a warning.
    n_neighbors : int or None, default=None
        Samples in a neighborhood, at least 2; None: a fifth of the samples, at least 50. Never more than
        there are.
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The directions, of unit length, in the units of the scaled features. In each, the entry of largest
        magnitude is positive.
    eigenvalues_ : array of shape (n_components,)
        In decreasing order.
    n_neighbors_ : int
        Samples in a neighborhood.
    solver_ : {"primal", "dual"}
        "dual" if there are more features than samples: no matrix of n_features × n_features is formed.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    LFE : Directions along which nearest misses are far and nearest hits are near.

    References
    ----------
    Hastie, T. and Tibshirani, R. (1996). Discriminant adaptive nearest neighbor classification. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 18(6).

    Sun, Y. and Wu, D. (2008). A RELIEF based feature extraction algorithm. SIAM International Conference on
    Data Mining.

    Examples
    --------
    >>> from highrelief import DANN
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> dann = DANN(n_components=2).fit(X, y)
    >>> abs(dann.components_[:, :2]).argmax(axis=1), dann.transform(X).shape
    (array([0, 1]), (200, 2))
    """

    # Shares of neighbors are multiplied by sample weights.
    _largest_weight = (1e145, 1e145)
    _constraints = constraints(n_neighbors=optional(count(at_least=2)))

    def __init__(
        self,
        *,
        n_components: int | None = None,
        n_neighbors: int | None = None,
        scale: str | None = "range",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_components=n_components, scale=scale, n_jobs=n_jobs)
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the components.

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
            The fitted extractor.
        """
        data = self._check_fit(X, y, sample_weight)
        # Neighbors of all classes: all samples have the same code.
        engine = self._choose_engine(replace(data, codes=np.zeros_like(data.codes)))
        sample_weight = engine.sample_weight
        self.n_neighbors_ = self._neighbors_among(sample_weight.sum())
        search = engine.nearest(Neighborhood(self.n_neighbors_ - 1, "euclidean", pooled=True))
        columns = engine.centered()
        self.solver_ = "dual" if columns.n_samples < columns.n_features else "primal"
        check_square(
            min(columns.n_samples, columns.n_features),
            "DANN",
            'Use fewer samples or features, or LFE with solver="arpack", which makes none of them.',
        )
        if self.solver_ == "dual":
            found = scatter.sample_directions(
                columns, self._scatter(search, data, sample_weight), self.n_components
            )
        else:
            S = self._scatter(search, data, sample_weight, columns.matrix())
            found = scatter.matrix_directions(S, columns, self.n_components)
        if not found.eigenvalues.size:
            raise ValueError(
                f"No neighborhood of n_neighbors={self.n_neighbors_} samples has classes with different"
                " means: DANN finds no direction. More neighbors may help."
            )
        self.execution_ = engine.execution() | search.describe()
        mean = found._replace(eigenvalues=found.eigenvalues / sample_weight.sum())
        return self._set_components(mean, 1.0)

    def _neighbors_among(self, total_sample_weight: float) -> int:
        wanted = self.n_neighbors or max(FEWEST_NEIGHBORS, int(total_sample_weight / 5))
        return int(min(wanted, max(total_sample_weight, 2)))

    def _scatter(
        self,
        search: NearestPass,
        data: TrainingData,
        sample_weight: NDArray[np.float64],
        X: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return N·B̄; without X the matrix M of N·B̄ = XᵀMX, one row per sample."""
        size = data.codes.size if X is None else X.shape[1]
        total = np.zeros((size, size))
        members = [np.flatnonzero(data.codes == c) for c in range(self.classes_.size)]
        with one_blas_thread():
            for samples, P in self._neighborhoods(search):
                times = np.sqrt(sample_weight[samples])[:, np.newaxis]
                for from_mean in _from_means(P, members, X):
                    differences = times * from_mean
                    total += differences.T @ differences
        return total

    def _neighborhoods(self, search: NearestPass) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield some samples, and the weights of all samples in the means of their neighborhoods."""
        for samples, shares in search.shares():
            # The shares of hits are negative in margins.
            P = shares.toarray() * (1.0 / self.n_neighbors_ - 1.0)
            P[np.arange(samples.size), samples] += 1.0 / self.n_neighbors_
            yield samples, P


def _from_means(
    P: NDArray[np.float64], members: list[NDArray[np.int64]], X: NDArray[np.float64] | None
) -> Iterator[NDArray[np.float64]]:
    """Yield √π (x̄_c − x̄) of neighborhoods with weights P for each class; without X as sample weights."""
    means = P if X is None else P @ X
    for of_class in members:
        weights = P[:, of_class]
        root = np.sqrt(weights.sum(axis=1, keepdims=True))
        np.divide(weights, root, out=weights, where=root > 0.0)
        differences = -root * means
        if X is None:
            differences[:, of_class] += weights
        else:
            differences += weights @ X[of_class]
        yield differences
