"""Matrices whose blocks lie with workers, for solvers that ask for products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..threads import one_blas_thread
from .table import Cut
from .work import Work


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
            _sum,
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
        out = np.empty((len(self), places.size))
        if not places.size:
            return out
        owner = np.searchsorted([b for _, b in self._cuts], places, side="right")
        owners = np.unique(owner)
        task = delayed(_taken, pure=False)
        parts = self._work.results(
            lambda: [task(self._blocks[k], places[owner == k] - self._cuts[k][0]) for k in owners]
        )
        for k, part in zip(owners, parts, strict=True):
            out[:, owner == k] = part
        return out

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows."""
        task = delayed(_gram, pure=False)
        return self._work.total(lambda: [task(block) for block in self._blocks], _sum)

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


# What workers do


def _times(block: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ w


def _vector_times(block: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return v @ block


def _taken(block: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.float64]:
    return block[:, which]


def _gram(block: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_blas_thread():
        return block @ block.T


def _scattered(block: NDArray[np.float64], other: NDArray[np.float64], L: Any) -> NDArray[np.float64]:
    with one_blas_thread():
        return block.T @ (L @ other)


def _sum(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
