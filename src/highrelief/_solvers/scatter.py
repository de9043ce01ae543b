"""Leading eigenvectors of a scatter matrix XᵀLX, by the shape of X: in the features, or in the samples.

L is symmetric, one row per sample, and its rows add up to 0, so that X may be measured from its mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh

from .._engine.columns import CenteredTable
from .._engine.threads import one_blas_thread

#: Where fewer than one in so many eigenvectors are wanted, they are found one by one.
_FEW = 4
#: Below this size everything is found at once.
_SMALL = 64
#: Entries of a vector that differ by less, relatively, are equally large.
_SAME_SIZE = 1e-6


class Directions(NamedTuple):
    """Positive eigenvalues, and eigenvectors that belong to the first of them."""

    #: All positive ones in decreasing order, but for :func:`by_arpack`: those that were asked for.
    eigenvalues: NDArray[np.float64]
    #: (n_found, n_features) of unit length; the entry of largest magnitude is positive.
    vectors: NDArray[np.float64]


def laplacian(shares: sparse.csr_array) -> sparse.csr_array:
    """L of Σ c_ni (x_n − x_i)(x_n − x_i)ᵀ = XᵀLX, for the shares c_ni of sample i among n's neighbors."""
    both_ways = sparse.csr_array(shares + shares.T)
    # Not diags_array: SciPy 1.11 has none.
    return sparse.csr_array(sparse.diags(both_ways.sum(axis=1)) - both_ways)


def of_features(columns: CenteredTable, L: Any, n_wanted: int | None) -> Directions:
    """Directions of XᵀLX, from that matrix itself; ``n_wanted``: the most, None for all."""
    return of_matrix(columns.scatter(L), columns, n_wanted, L)


def of_matrix(
    S: NDArray[np.float64], columns: CenteredTable, n_wanted: int | None, L: Any = None
) -> Directions:
    """Directions of a scatter matrix S of the centered rows.

    ``L`` of XᵀLX, if S is a difference of scatter matrices, which may cancel.
    """
    with one_blas_thread():
        values, vectors = _leading(S, n_wanted, _Rounding.of(columns, L))
    return Directions(values, _signed(vectors.T))


def of_samples(columns: CenteredTable, L: Any, n_wanted: int | None) -> Directions:
    """Directions of XᵀLX, without a matrix of n_features × n_features.

    X = GQᵀ with GGᵀ = XXᵀ and orthonormal Q, G with no more columns than X has rows: the eigenvectors of XᵀLX
    are Qu with those of GᵀLG, and Qu = Xᵀ(LGu)/σ needs no inverse.
    """
    K = columns.gram()
    G = _root(K)
    rounding = _Rounding(max(columns.n_samples, columns.n_features), _summed(K.diagonal(), L))
    with one_blas_thread():
        values, vectors = _leading(G.T @ (L @ G), n_wanted, rounding)
        weights = L @ (G @ vectors) / values[: vectors.shape[1]]
    found = columns.combined(weights)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return Directions(values, _signed(found))


def by_arpack(columns: CenteredTable, L: Any, n_wanted: int) -> Directions:
    """Directions of XᵀLX by products with X, L and Xᵀ alone; fewer than there are features are wanted."""
    X = columns.matrix()
    shape = (columns.n_features, columns.n_features)
    operator = LinearOperator(shape, matvec=lambda v: X.T @ (L @ (X @ v)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(columns.n_features)
    with one_blas_thread():
        if not operator.matvec(start).any():  # the matrix is 0, with which ARPACK cannot begin
            return Directions(np.empty(0), np.empty((0, columns.n_features)))
        values, vectors = eigsh(operator, n_wanted, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    n_positive = _Rounding.of(columns, L).n_positive(values)
    return Directions(values[:n_positive], _signed(vectors[:, :n_positive].T))


class _Rounding(NamedTuple):
    """How large eigenvalues come out that are 0."""

    #: The longer side of the table.
    size: int
    #: How much is added up, signs apart.
    summed: float

    @classmethod
    def of(cls, columns: CenteredTable, L: Any) -> Self:
        """In scatter matrices of the centered rows."""
        return cls(max(columns.n_samples, columns.n_features), _summed(columns.squares(), L))

    def n_positive(self, values: NDArray[np.float64]) -> int:
        """How many eigenvalues are positive, and not by rounding."""
        largest = float(np.abs(values).max(initial=0.0))
        floor = np.finfo(np.float64).eps * max(self.size * largest, self.summed)
        return int(np.count_nonzero(values > floor))


def _summed(squares: NDArray[np.float64], L: Any) -> float:
    """Σ_i |x_i|²·Σ_j |L_ij|, which no sum of entries of L times scalar products exceeds; without L Σ|x|²."""
    return float(squares.sum() if L is None else squares @ abs(L).sum(axis=1))


def _root(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """G with GGᵀ = K, as many columns as K has rank: a Cholesky decomposition, largest pivots first."""
    with one_blas_thread():
        factor, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    G = np.zeros((len(K), rank))
    G[pivots - 1] = np.tril(factor)[:, :rank]
    return G


def _leading(
    S: NDArray[np.float64], n_wanted: int | None, rounding: _Rounding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All positive eigenvalues in decreasing order, eigenvectors (columns) of the first."""
    S = (S + S.T) / 2.0
    if n_wanted is None or n_wanted * _FEW > len(S) or len(S) < _SMALL:
        values, vectors = np.linalg.eigh(S)
        first = vectors[:, ::-1][:, :n_wanted]
    else:
        values, first = _few_vectors(S, n_wanted)
    values = values[::-1]
    n_positive = rounding.n_positive(values)
    return values[:n_positive], first[:, :n_positive]


def _few_vectors(S: NDArray[np.float64], n_wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All eigenvalues in increasing order, eigenvectors of the largest in decreasing order.

    Both from one reduction to a tridiagonal matrix, which costs a third of all eigenvectors.
    """
    n = len(S)
    size, _ = lapack.dsytrd_lwork(n, lower=1)
    reduced, diagonal, beside, tau, _ = lapack.dsytrd(S, lower=1, lwork=int(size))
    values = linalg.eigvalsh_tridiagonal(diagonal, beside)
    _, inner = linalg.eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(n - n_wanted, n - 1), lapack_driver="stemr"
    )
    vectors = np.asfortranarray(inner[:, ::-1])
    # The reflections that made S tridiagonal leave the first entry alone.
    vectors[1:] = lapack.dormqr("L", "N", reduced[1:, :-1], tau, vectors[1:], lwork=64 * n_wanted)[0]
    return values, vectors


def _signed(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with the sign that makes the entry of largest magnitude positive; of equal ones, the first."""
    if not vectors.size:
        return vectors
    size = np.abs(vectors)
    place = np.argmax(size >= (1.0 - _SAME_SIZE) * size.max(axis=1, keepdims=True), axis=1)
    return vectors * np.where(vectors[np.arange(len(vectors)), place] < 0.0, -1.0, 1.0)[:, np.newaxis]
