"""LFE: directions along which nearest misses are far and nearest hits are near."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._engine.columns import Centered
from .._engine.limits import limits
from .._engine.memory import check_room
from .._engine.neighbors import Neighborhood
from .._engine.parameters import constraints, count, one_of
from .._solvers import scatter
from ..base.extraction import FeatureExtractor, check_square

#: Valid values of ``metric`` and ``solver``.
METRICS = ("euclidean", "manhattan")
SOLVERS = ("auto", "primal", "dual", "arpack")


class LFE(FeatureExtractor):
    r"""Local feature extraction: the metric in which the margins of the samples are largest.

    RELIEF weighs features; LFE finds a whole matrix,

    .. math:: \max_W \sum_n \Bigl( E[m_n^T W m_n] - E[h_n^T W h_n] \Bigr)
              \quad \text{s.t. } \|W\|_F = 1,\ W \succeq 0,

    with the differences :math:`m_n`, :math:`h_n` between :math:`x_n` and its k nearest misses and hits. The
    solution is in the eigenvectors :math:`\bar a_i` of

    .. math:: \Sigma_{mh} = \sum_n \Bigl( E[m_n m_n^T] - E[h_n h_n^T] \Bigr)

    with positive eigenvalues :math:`\sigma_i`: :math:`W = A A^T` with the columns
    :math:`a_i = \bar a_i \sqrt{\sigma_i / P}`, :math:`P = \sqrt{\sum_{\sigma_j > 0} \sigma_j^2}`. P, the
    objective's largest value, is called discriminant power; to keep t components loses
    :math:`\sum_{i>t} \sigma_i^2 / P` of it. Euclidean distances of projected samples are distances under W.

    Samples tied at the k-th distance share the remaining weight, so that results do not depend on the order
    of the rows. If there are fewer than k, all of them count. A sample without another of its class
    contributes nothing. Misses of several classes are pooled.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions, those of the largest eigenvalues; None: all with a positive one. If fewer are
        positive, these are returned, with a warning.
    n_neighbors : int, default=1
        Nearest hits, and nearest misses of all other classes together.
    metric : {"euclidean", "manhattan"}, default="euclidean"
        Distance by which neighbors are found, in the space of the scaled features.
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1].
    solver : {"auto", "primal", "dual", "arpack"}, default="auto"
        "primal": the matrix above, n_features × n_features. "dual": the same answer from matrices of
        n_samples × n_samples. "arpack": neither, by products with the matrix alone; needs ``n_components``
        and knows no eigenvalue beyond: the sum in P is over those found, and W the best matrix of that rank.
        "auto": the smaller of the first two; "arpack" if even that has more than 8,192 rows and at most a
        twentieth of its directions are wanted.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The :math:`a_i`, in the units of the scaled features. In each, the entry of largest magnitude is
        positive.
    eigenvalues_ : array of shape (n_components,)
        The :math:`\sigma_i`, in decreasing order.
    discriminant_power_ : float
        P, over all positive eigenvalues, also those whose directions are not selected.
    discriminant_power_ratio_ : array of shape (n_components,)
        Fraction of each component, :math:`\sigma_i^2/P^2`. Their sum is the fraction of all components.
    metric_ : array of shape (n_features, n_features)
        W, computed on access; of Frobenius norm 1 if all components are selected.
    solver_ : str
        The solver that was used.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How the results were computed: threads, precision, kind of distances.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    DANN : Directions in which the classes of a neighborhood differ.

    References
    ----------
    Sun, Y. and Wu, D. (2008). A RELIEF based feature extraction algorithm. SIAM International Conference on
    Data Mining.

    Examples
    --------
    >>> from highrelief import LFE
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> lfe = LFE(n_components=2, n_neighbors=5).fit(X, y)
    >>> abs(lfe.components_[:, :2]).argmax(axis=1), lfe.transform(X).shape
    (array([0, 1]), (200, 2))
    """

    _refuses_dask: str | None = None
    _constraints = constraints(
        n_neighbors=count(),
        metric=one_of(*METRICS),
        solver=one_of(*SOLVERS),
    )

    discriminant_power_: float
    discriminant_power_ratio_: NDArray[np.float64]

    def __init__(
        self,
        *,
        n_components: int | None = None,
        n_neighbors: int = 1,
        metric: str = "euclidean",
        scale: str | None = "range",
        solver: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_components=n_components, scale=scale, n_jobs=n_jobs)
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.solver = solver

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.solver == "arpack" and self.n_components is None:
            raise ValueError("solver='arpack' finds a few components: set n_components.")

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
        engine = self._choose_engine(data)
        search = engine.nearest(Neighborhood(self.n_neighbors, self.metric, pooled=True))
        shares = search.all_shares()
        if not shares.nnz:
            raise ValueError("No class in y has two samples: without hits there are no margins.")
        # Eqs. (3.5) and (3.6) of Sun and Wu 2008: Σ_mh is a sum over pairs of neighbors, and so XᵀLX.
        found = self._directions(engine.centered(), scatter.laplacian(shares))
        if not found.eigenvalues.size:
            raise ValueError(
                "No direction has a positive margin: in all of them samples are nearer to other classes than"
                f" to their own (n_samples = {len(data.X)}, n_features = {self.n_features_in_},"
                f" n_neighbors={self.n_neighbors}). More neighbors, or other features, may help."
            )
        # Eqs. (3.13) and (3.14), relative to the largest, so that squares neither overflow nor underflow.
        largest = found.eigenvalues[0]
        power = largest * np.linalg.norm(found.eigenvalues / largest)
        share = found.eigenvalues[: len(found.vectors)] / power
        self.discriminant_power_ = float(power)
        self.discriminant_power_ratio_ = share**2
        self.execution_ = engine.execution() | search.describe()
        return self._set_components(found, np.sqrt(share))

    def _chosen_solver(self, n_samples: int, n_features: int) -> str:
        # ARPACK computes some eigenvalues, never all.
        if self.solver != "auto" and (self.solver != "arpack" or self.n_components != n_features):
            return self.solver
        side = min(n_samples, n_features)
        if side > limits.max_eigh_rows and self.n_components is not None and self.n_components <= side // 20:
            return "arpack"
        return "dual" if n_samples < n_features else "primal"

    def _directions(self, columns: Centered, L: Any) -> scatter.Directions:
        n_samples, n_features = columns.n_samples, columns.n_features
        self.solver_ = self._chosen_solver(n_samples, n_features)
        if self.solver_ != "arpack":
            check_square(
                n_samples if self.solver_ == "dual" else n_features,
                f"LFE with solver={self.solver_!r}",
                'solver="arpack" with n_components makes none of them.',
            )
        if self.solver_ == "dual":
            return scatter.sample_directions(columns, L, self.n_components)
        if self.solver_ == "arpack" and self.n_components is not None:
            return scatter.arpack_directions(columns, L, self.n_components)
        return scatter.feature_directions(columns, L, self.n_components)

    _large_properties = ("metric_",)

    @property
    def metric_(self) -> NDArray[np.float64]:
        """W = Σ a_i a_iᵀ over the components, (n_features, n_features)."""
        check_is_fitted(self)
        n_features = self.components_.shape[1]
        check_room(
            8.0 * n_features**2,
            f"metric_ of {n_features} features",
            "components_ holds the same: metric_ is components_.T @ components_.",
        )
        return self.components_.T @ self.components_
