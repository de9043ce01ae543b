"""Matrices whose blocks lie with workers, for solvers that ask for products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy import sparse

from .._engine.cached_property import cached_property
from .._engine.threads import one_blas_thread
from .._solvers.losses import weighted_gram
from .scheduler import Work, added
from .table import Cut, columns_of, taken


class ColumnMatrix:
    """A matrix in blocks of columns.

    Parameters
    ----------
    blocks : list of Delayed
        Arrays of shape (n_rows, width).
    cuts : list of (int, int)
        First and last column of every block.
    n_rows : int
        Number of rows.
    work : Work
        Who works on it.
    """

    #: Products with arrays on the left are asked of this class, not of NumPy.
    __array_ufunc__ = None

    def __init__(self, blocks: Sequence[Delayed], cuts: Sequence[Cut], n_rows: int, work: Work) -> None:
        self._blocks, self._cuts, self._work = blocks, cuts, work
        self.shape = (n_rows, cuts[-1][1])

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def T(self) -> _Transposed:  # noqa: N802
        """The transposed matrix, to be multiplied."""
        return _Transposed(self)

    def __matmul__(self, w: Any) -> NDArray[np.float64]:
        if isinstance(w, _Transposed) and w.of is self:
            return self.gram()
        task = delayed(_times, pure=False)
        return self._work.total(
            lambda: [task(block, w[a:b]) for block, (a, b) in zip(self._blocks, self._cuts, strict=True)],
            added,
        )

    def __rmatmul__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._joined(_vector_times, v)

    def __abs__(self) -> ColumnMatrix:
        task = delayed(np.abs, pure=False)
        return ColumnMatrix([task(block) for block in self._blocks], self._cuts, len(self), self._work)

    def __getitem__(self, key: tuple[Any, NDArray[Any]]) -> NDArray[np.float64]:
        """Some of the columns, brought here; of all rows, or of some as :func:`numpy.ix_` names them."""
        rows, columns = key
        if not isinstance(rows, slice):
            return self[:, columns.ravel()][rows.ravel()]
        places = np.flatnonzero(columns) if columns.dtype == bool else columns
        return columns_of(self._blocks, self._cuts, places, np.empty((len(self), places.size)), self._work)

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows."""
        task = delayed(_gram, pure=False)
        return self._work.total(lambda: [task(block) for block in self._blocks], added)

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """AᵀLA with a symmetric L, from all pairs of blocks."""
        task = delayed(_scattered, pure=False)
        pairs = [(i, j) for j in range(len(self._cuts)) for i in range(j + 1)]

        def tasks() -> list[Delayed]:
            shared = self._work.shared(L)
            return [task(self._blocks[i], self._blocks[j], shared) for i, j in pairs]

        S = np.empty((self.shape[1],) * 2)
        for (i, j), part in zip(pairs, self._work.results(tasks), strict=True):
            rows, columns = slice(*self._cuts[i]), slice(*self._cuts[j])
            S[rows, columns], S[columns, rows] = part, part.T
        return S

    def weighted_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """AᵀCA with a diagonal C."""
        return self.scatter(sparse.diags(weights))

    def _joined(self, function: Callable[..., NDArray[Any]], v: NDArray[np.float64]) -> NDArray[np.float64]:
        task = delayed(function, pure=False)

        def tasks() -> list[Delayed]:
            shared = self._work.shared(v)
            return [task(block, shared) for block in self._blocks]

        return np.concatenate(self._work.results(tasks), axis=-1)


class _Transposed:
    """A matrix in blocks of columns, transposed."""

    def __init__(self, of: ColumnMatrix) -> None:
        self.of = of
        self.shape = of.shape[::-1]

    def __matmul__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.of._joined(_vector_times, v.T).T


class RowMatrix:
    """A matrix in blocks of rows.

    Vectors, products of its columns and, where they are asked for as arrays, some of its rows or columns are
    brought here; the matrix itself stays with the workers.

    Parameters
    ----------
    blocks : list of Delayed
        Arrays of shape (height, n_columns).
    heights : list of int
        Number of rows of every block.
    n_columns : int
        Number of columns.
    work : Work
        Who works on it.
    """

    __array_ufunc__ = None

    def __init__(self, blocks: Sequence[Delayed], heights: Sequence[int], n_columns: int, work: Work) -> None:
        self._blocks, self._heights, self._work = blocks, heights, work
        self._cuts = list(pairwise(accumulate(heights, initial=0)))
        self.shape = (self._cuts[-1][1], n_columns)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix."""
        return 8 * self.shape[0] * self.shape[1]

    @cached_property
    def T(self) -> _TransposedRows:  # noqa: N802
        """The transposed matrix, to be multiplied."""
        return _TransposedRows(self)

    def __matmul__(self, w: Any) -> NDArray[np.float64]:
        if isinstance(w, _TransposedRows) and w.of is self:
            return self.gram()
        return np.concatenate(self._each(_times, shared=w))

    def __rmatmul__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._total(_vector_times, [v[..., a:b] for a, b in self._cuts])

    def __abs__(self) -> RowMatrix:
        return self._mapped(np.abs, self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of it, brought here."""
        return np.concatenate(self._work.results(lambda: self._blocks)).astype(dtype or np.float64)

    def __getitem__(self, key: Any) -> Any:
        """Some columns, which stay with the workers; or rows, at rising places, or parts of them, here."""
        if isinstance(key, tuple) and isinstance(key[0], slice):
            which = np.flatnonzero(key[1]) if key[1].dtype == bool else key[1]
            return self._mapped(taken, which.size, which)
        rows, columns = key if isinstance(key, tuple) else (key, np.arange(self.shape[1])[np.newaxis])
        of_blocks = [rows[(rows >= a) & (rows < b)] - a for a, b in self._cuts]
        return np.concatenate(self._each(_rows_taken, of_blocks, shared=columns))

    def weighted_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """AᵀCA with a diagonal C."""
        return self._total(_weighted_gram, [weights[a:b] for a, b in self._cuts])

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        return np.concatenate(self._each(_squares))

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_rows, n_rows)."""
        task = delayed(_products, pure=False)
        n_blocks = len(self._cuts)
        pairs = [(i, j) for j in range(n_blocks) for i in range(j + 1)]
        found = self._work.results(lambda: [task(self._blocks[i], self._blocks[j]) for i, j in pairs])
        K = np.empty((len(self),) * 2)
        for (i, j), part in zip(pairs, found, strict=True):
            rows, columns = slice(*self._cuts[i]), slice(*self._cuts[j])
            K[rows, columns], K[columns, rows] = part, part.T
        return K

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """AᵀLA with a symmetric L that has few entries, from the pairs of blocks that it links."""
        task = delayed(_scattered_between, pure=False)

        def tasks() -> list[Delayed]:
            found = []
            for j, of_columns in enumerate(self._cuts):
                for i, of_rows in enumerate(self._cuts[: j + 1]):
                    part = L[slice(*of_rows), slice(*of_columns)]
                    if part.nnz or i == j == 0:
                        found.append(task(self._blocks[i], self._blocks[j], part, i == j))
            return found

        return self._work.total(tasks, added)

    def _mapped(self, function: Callable[..., NDArray[Any]], n_columns: int, *more: Any) -> RowMatrix:
        task = delayed(function, pure=False)
        return RowMatrix([task(block, *more) for block in self._blocks], self._heights, n_columns, self._work)

    def _each(
        self, function: Callable[..., NDArray[Any]], *more: Sequence[Any], shared: Any = None
    ) -> list[NDArray[Any]]:
        """What a function of a block, of its own arguments and of what is shared returns, block by block."""
        task = delayed(function, pure=False)

        def tasks() -> list[Delayed]:
            given = () if shared is None else (self._work.shared(shared),)
            return [task(block, *own, *given) for block, *own in zip(self._blocks, *more, strict=True)]

        return self._work.results(tasks)

    def _total(self, function: Callable[..., NDArray[Any]], *more: Sequence[Any]) -> NDArray[np.float64]:
        task = delayed(function, pure=False)
        return self._work.total(
            lambda: [task(block, *own) for block, *own in zip(self._blocks, *more, strict=True)], added
        )


class _TransposedRows:
    """A matrix in blocks of rows, transposed."""

    def __init__(self, of: RowMatrix) -> None:
        self.of = of
        self.shape = of.shape[::-1]

    def __matmul__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return (v.T @ self.of).T


# What workers do


def _times(block: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ w


def _vector_times(block: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return v @ block


def _gram(block: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ block.T


def _scattered(block: NDArray[np.float64], other: NDArray[np.float64], L: Any) -> NDArray[np.float64]:
    with one_blas_thread():
        return block.T @ (L @ other)


def _rows_taken(
    block: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    return block[rows.reshape(-1, 1), columns]


def _weighted_gram(block: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weighted_gram(block, weights)


def _squares(block: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", block, block)


def _products(block: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ other.T


def _scattered_between(
    block: NDArray[np.float64], other: NDArray[np.float64], L: Any, same: bool
) -> NDArray[np.float64]:
    part = _scattered(block, other, L)
    return part if same else part + part.T
