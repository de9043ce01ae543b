"""Matrices in blocks of columns or of rows that workers store, for solvers that need products.

Margins and centered tables may be as large as the table itself. Solvers multiply them with vectors and form
Gram matrices; only the products are gathered on the client. :class:`BlockMatrix` multiplies along either
axis: where a product contracts the axis of the blocks, the parts are added by the workers, otherwise they
are concatenated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy import sparse

from .._engine.cached_property import cached_property
from .._engine.threads import one_blas_thread
from .._solvers.losses import weighted_gram
from .scheduler import Executor, sum_arrays
from .table import Bounds, gather_columns, take_columns


class BlockMatrix(ABC):
    """A matrix in blocks along one axis.

    Parameters
    ----------
    blocks : list of Delayed
        Arrays, float64.
    bounds : list of (int, int)
        First column or row of every block, and the end of its last.
    length : int
        Length of the other axis.
    executor : Executor
        Runs the tasks.
    """

    #: The axis that is split into blocks.
    axis: ClassVar[int]
    #: NumPy leaves products with arrays on the left to this class.
    __array_ufunc__ = None

    def __init__(
        self, blocks: Sequence[Delayed], bounds: Sequence[Bounds], length: int, executor: Executor
    ) -> None:
        self._blocks, self._bounds, self._executor = blocks, bounds, executor
        split = bounds[-1][1]
        self.shape = (split, length) if self.axis == 0 else (length, split)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix."""
        return 8 * self.shape[0] * self.shape[1]

    @cached_property
    def T(self) -> _Transposed:  # noqa: N802
        """The transposed matrix, as a factor of products."""
        return _Transposed(self)

    def __matmul__(self, w: Any) -> NDArray[np.float64]:
        if isinstance(w, _Transposed) and w.matrix is self:
            return self.gram()
        if self.axis == 1:
            return self._sum(_times, [w[a:b] for a, b in self._bounds])
        return np.concatenate(self._compute(_times, shared=w))

    def __rmatmul__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.axis == 0:
            return self._sum(_vector_times, [v[..., a:b] for a, b in self._bounds])
        return np.concatenate(self._compute(_vector_times, shared=v), axis=-1)

    def __abs__(self) -> Self:
        return self._mapped(np.abs, self.shape[1 - self.axis])

    @abstractmethod
    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_rows, n_rows)."""

    def _mapped(self, function: Callable[..., NDArray[Any]], length: int, *arguments: Any) -> Self:
        """Return the matrix of the results of a function; ``length``: of the other axis."""
        task = delayed(function, pure=False)
        blocks = [task(block, *arguments) for block in self._blocks]
        return type(self)(blocks, self._bounds, length, self._executor)

    def _compute(
        self, function: Callable[..., NDArray[Any]], *arguments: Sequence[Any], shared: Any = None
    ) -> list[NDArray[Any]]:
        """Return the results of a function of a block, its own arguments and a shared one, by block."""
        task = delayed(function, pure=False)

        def tasks() -> list[Delayed]:
            last = () if shared is None else (self._executor.broadcast(shared),)
            return [task(block, *own, *last) for block, *own in zip(self._blocks, *arguments, strict=True)]

        return self._executor.compute(tasks)

    def _sum(self, function: Callable[..., NDArray[Any]], *arguments: Sequence[Any]) -> NDArray[np.float64]:
        """Return the sum over all blocks of the results of a function of a block and its own arguments."""
        task = delayed(function, pure=False)
        return self._executor.reduce(
            lambda: [task(block, *own) for block, *own in zip(self._blocks, *arguments, strict=True)],
            sum_arrays,
        )

    def _symmetric(self, function: Callable[..., NDArray[Any]], *shared: Any) -> NDArray[np.float64]:
        """Return the symmetric matrix whose parts a function returns for all pairs of blocks."""
        task = delayed(function, pure=False)
        pairs = [(i, j) for j in range(len(self._bounds)) for i in range(j + 1)]

        def tasks() -> list[Delayed]:
            last = [self._executor.broadcast(value) for value in shared]
            return [task(self._blocks[i], self._blocks[j], *last) for i, j in pairs]

        S = np.empty((self.shape[self.axis],) * 2)
        for (i, j), part in zip(pairs, self._executor.compute(tasks), strict=True):
            rows, columns = slice(*self._bounds[i]), slice(*self._bounds[j])
            S[rows, columns], S[columns, rows] = part, part.T
        return S


class _Transposed:
    """The transposed view of a matrix."""

    def __init__(self, matrix: BlockMatrix) -> None:
        self.matrix = matrix
        self.shape = matrix.shape[::-1]

    def __matmul__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return (v.T @ self.matrix).T


class ColumnMatrix(BlockMatrix):
    """A matrix in blocks of columns, arrays of shape (n_rows, width)."""

    axis = 1

    def __getitem__(self, key: tuple[Any, NDArray[Any]]) -> NDArray[np.float64]:
        """Gather some of the columns; of all rows, or of some as :func:`numpy.ix_` selects them."""
        rows, columns = key
        if not isinstance(rows, slice):
            return self[:, columns.ravel()][rows.ravel()]
        indices = np.flatnonzero(columns) if columns.dtype == bool else columns
        out = np.empty((len(self), indices.size))
        return gather_columns(self._blocks, self._bounds, indices, out, self._executor)

    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_rows, n_rows)."""
        return self._sum(_products, self._blocks)

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """Return AᵀLA for a symmetric L, from all pairs of blocks."""
        return self._symmetric(_scatter, L)

    def weighted_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return AᵀCA for a diagonal C."""
        return self.scatter(sparse.diags(weights))


class RowMatrix(BlockMatrix):
    """A matrix in blocks of rows, arrays of shape (height, n_columns)."""

    axis = 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Gather the whole matrix."""
        return np.concatenate(self._executor.compute(lambda: self._blocks)).astype(dtype or np.float64)

    def __getitem__(self, key: Any) -> Any:
        """Return some columns, left on the workers; or gather rows, at increasing indices, or their parts."""
        if isinstance(key, tuple) and isinstance(key[0], slice):
            indices = np.flatnonzero(key[1]) if key[1].dtype == bool else key[1]
            return self._mapped(take_columns, indices.size, indices)
        rows, columns = key if isinstance(key, tuple) else (key, np.arange(self.shape[1])[np.newaxis])
        rows_of_blocks = [rows[(rows >= a) & (rows < b)] - a for a, b in self._bounds]
        return np.concatenate(self._compute(_take_rows, rows_of_blocks, shared=columns))

    # A matrix of rows is a :class:`.._engine.columns.Centered`.

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.shape[1]

    def matrix(self) -> Self:
        """Return the matrix itself."""
        return self

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights.T @ X, (m, n_features); ``weights`` is (n_samples, m)."""
        return weights.T @ self

    def squares(self) -> NDArray[np.float64]:
        """Return the sum of squares of every row."""
        return np.concatenate(self._compute(_squares))

    def gram(self) -> NDArray[np.float64]:
        """Return the scalar products of all rows, (n_rows, n_rows), from all pairs of blocks."""
        return self._symmetric(_products)

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """Return AᵀLA for a symmetric L with few entries, from the pairs of blocks that it links."""
        task = delayed(_scatter_between, pure=False)

        def tasks() -> list[Delayed]:
            linked = []
            for j, columns in enumerate(self._bounds):
                for i, rows in enumerate(self._bounds[: j + 1]):
                    part = L[slice(*rows), slice(*columns)]
                    if part.nnz or i == j == 0:
                        linked.append(task(self._blocks[i], self._blocks[j], part, i == j))
            return linked

        return self._executor.reduce(tasks, sum_arrays)

    def weighted_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return AᵀCA for a diagonal C."""
        return self._sum(_weighted_gram, [weights[a:b] for a, b in self._bounds])


# Tasks


def _times(block: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ w


def _vector_times(block: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return v @ block


def _products(block: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ other.T


def _scatter(block: NDArray[np.float64], other: NDArray[np.float64], L: Any) -> NDArray[np.float64]:
    with one_blas_thread():
        return block.T @ (L @ other)


def _scatter_between(
    block: NDArray[np.float64], other: NDArray[np.float64], L: Any, same: bool
) -> NDArray[np.float64]:
    part = _scatter(block, other, L)
    return part if same else part + part.T


def _take_rows(
    block: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    return block[rows.reshape(-1, 1), columns]


def _weighted_gram(block: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weighted_gram(block, weights)


def _squares(block: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", block, block)
