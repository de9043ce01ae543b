"""Leading eigenvectors of a scatter matrix XᵀLX, computed in the features or in the samples.

L is symmetric with one row per sample and zero row sums, so that X may be centered.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh

from .._engine.columns import Centered
from .._engine.threads import one_blas_thread

#: A partial decomposition is used for less than one in this many eigenvectors.
_PARTIAL_FROM = 4
#: Matrices below this size are decomposed in full.
_SMALL_MATRIX = 64
#: Relative tolerance for entries of equal magnitude.
_EQUAL_MAGNITUDE = 1e-6


class Directions(NamedTuple):
    """Positive eigenvalues, and the eigenvectors of the largest of them."""

    #: All positive ones in decreasing order; for :func:`arpack_directions` at most ``n_components``.
    eigenvalues: NDArray[np.float64]
    #: (n_vectors, n_features) of unit length; the entry of largest magnitude is positive.
    vectors: NDArray[np.float64]


def laplacian(shares: sparse.csr_array) -> sparse.csr_array:
    """Return L with Σ c_ni (x_n − x_i)(x_n − x_i)ᵀ = XᵀLX, for the shares c_ni of neighbor i of sample n."""
    symmetric = sparse.csr_array(shares + shares.T)
    # SciPy 1.11 has no diags_array.
    return sparse.csr_array(sparse.diags(symmetric.sum(axis=1)) - symmetric)


def feature_directions(columns: Centered, L: Any, n_components: int | None) -> Directions:
    """Return directions of XᵀLX by decomposing it; ``n_components`` at most, None for all."""
    return matrix_directions(columns.scatter(L), columns, n_components, L)


def matrix_directions(
    S: NDArray[np.float64], columns: Centered, n_components: int | None, L: Any = None
) -> Directions:
    """Return directions of a scatter matrix S of the centered rows.

    ``L``: the matrix of XᵀLX, if S is a difference of scatter matrices, which may cancel.
    """
    with one_blas_thread():
        values, vectors = _leading_eigenpairs(S, n_components, _Rounding.of(columns, L))
    return Directions(values, _fix_signs(vectors.T))


def sample_directions(columns: Centered, L: Any, n_components: int | None) -> Directions:
    """Return directions of XᵀLX without an n_features × n_features matrix.

    X = GQᵀ with GGᵀ = XXᵀ and orthonormal Q, where G has at most as many columns as X has rows: the
    eigenvectors of XᵀLX are Qu for the eigenvectors u of GᵀLG, and Qu = Xᵀ(LGu)/σ needs no inverse.
    """
    K = columns.gram()
    G = _pivoted_cholesky(K)
    rounding = _Rounding(max(columns.n_samples, columns.n_features), _term_bound(K.diagonal(), L))
    with one_blas_thread():
        values, vectors = _leading_eigenpairs(G.T @ (L @ G), n_components, rounding)
        weights = L @ (G @ vectors) / values[: vectors.shape[1]]
    found = columns.combined(weights)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return Directions(values, _fix_signs(found))


def arpack_directions(columns: Centered, L: Any, n_components: int) -> Directions:
    """Return directions of XᵀLX by products with X, L and Xᵀ alone; n_components < n_features."""
    X = columns.matrix()
    shape = (columns.n_features, columns.n_features)
    operator = LinearOperator(shape, matvec=lambda v: X.T @ (L @ (X @ v)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(columns.n_features)
    with one_blas_thread():
        if not operator.matvec(start).any():  # ARPACK cannot start with a zero matrix
            return Directions(np.empty(0), np.empty((0, columns.n_features)))
        values, vectors = eigsh(operator, n_components, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    n_positive = _Rounding.of(columns, L).n_positive(values)
    return Directions(values[:n_positive], _fix_signs(vectors[:, :n_positive].T))


class _Rounding(NamedTuple):
    """Rounding error of eigenvalues."""

    #: The larger of the numbers of samples and features.
    size: int
    #: Bound of the sum of the magnitudes of all terms.
    term_bound: float

    @classmethod
    def of(cls, columns: Centered, L: Any) -> Self:
        """Return the rounding error for scatter matrices of the centered rows."""
        return cls(max(columns.n_samples, columns.n_features), _term_bound(columns.squares(), L))

    def n_positive(self, values: NDArray[np.float64]) -> int:
        """Count the eigenvalues that are positive beyond rounding."""
        largest = float(np.abs(values).max(initial=0.0))
        floor = np.finfo(np.float64).eps * max(self.size * largest, self.term_bound)
        return int(np.count_nonzero(values > floor))


def _term_bound(squares: NDArray[np.float64], L: Any) -> float:
    """Return Σ_i |x_i|²·Σ_j |L_ij|, an upper bound of |Σ_ij L_ij x_iᵀx_j|; without L, Σ|x|²."""
    return float(squares.sum() if L is None else squares @ abs(L).sum(axis=1))


def _pivoted_cholesky(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return G with GGᵀ = K and rank(K) columns, by a pivoted Cholesky decomposition."""
    with one_blas_thread():
        factor, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    G = np.zeros((len(K), rank))
    G[pivots - 1] = np.tril(factor)[:, :rank]
    return G


def _leading_eigenpairs(
    S: NDArray[np.float64], n_components: int | None, rounding: _Rounding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all positive eigenvalues in decreasing order, and the eigenvectors (columns) of the first."""
    S = (S + S.T) / 2.0
    if n_components is None or n_components * _PARTIAL_FROM > len(S) or len(S) < _SMALL_MATRIX:
        values, vectors = np.linalg.eigh(S)
        first = vectors[:, ::-1][:, :n_components]
    else:
        values, first = _few_eigenpairs(S, n_components)
    values = values[::-1]
    n_positive = rounding.n_positive(values)
    return values[:n_positive], first[:, :n_positive]


def _few_eigenpairs(
    S: NDArray[np.float64], n_components: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all eigenvalues in ascending order, and the eigenvectors of the largest in descending order.

    Both from one reduction to a tridiagonal matrix, which costs a third of all eigenvectors.
    """
    n = len(S)
    size, _ = lapack.dsytrd_lwork(n, lower=1)
    reduced, diagonal, off_diagonal, tau, _ = lapack.dsytrd(S, lower=1, lwork=int(size))
    values = linalg.eigvalsh_tridiagonal(diagonal, off_diagonal)
    _, inner = linalg.eigh_tridiagonal(
        diagonal, off_diagonal, select="i", select_range=(n - n_components, n - 1), lapack_driver="stemr"
    )
    vectors = np.asfortranarray(inner[:, ::-1])
    # The reflections of the tridiagonalization do not change the first entry.
    vectors[1:] = lapack.dormqr("L", "N", reduced[1:, :-1], tau, vectors[1:], lwork=64 * n_components)[0]
    return values, vectors


def _fix_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flip the signs of rows so that the entry of largest magnitude, the first of equal ones, is positive."""
    if not vectors.size:
        return vectors
    size = np.abs(vectors)
    place = np.argmax(size >= (1.0 - _EQUAL_MAGNITUDE) * size.max(axis=1, keepdims=True), axis=1)
    return vectors * np.where(vectors[np.arange(len(vectors)), place] < 0.0, -1.0, 1.0)[:, np.newaxis]
