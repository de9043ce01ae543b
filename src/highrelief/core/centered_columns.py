"""A table, scaled and measured from its mean: what scatter matrices are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached_property import cached_property
from .scaling import Scaling
from .threads import even_ranges, one_blas_thread, run_all

#: Columns that are worked on at a time. Sums are cut here, whatever the number of threads.
_COLUMNS_AT_ONCE = 1024
#: Columns of a product with all others.
_COLUMNS_OF_PRODUCT = 256


class CenteredColumns:
    """The columns of a table, scaled, minus their means, in float64; made when they are asked for.

    Parameters
    ----------
    X : (n_samples, n_features)
        The table, as it was given.
    scaling : Scaling
        Of the features.
    n_threads : int
        Threads to use.
    """

    def __init__(self, X: NDArray[Any], scaling: Scaling, n_threads: int) -> None:
        self._X = X
        self._scaling = scaling
        self._n_threads = n_threads

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self._X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._X.shape[1]

    @property
    def _cuts(self) -> list[tuple[int, int]]:
        return even_ranges(self.n_features, -(-self.n_features // _COLUMNS_AT_ONCE))

    def _block(self, a: int, b: int) -> NDArray[np.float64]:
        columns = slice(a, b)
        block = self._scaling.of(columns).apply(self._X[:, columns]).astype(np.float64, copy=False)
        # First from a value that is there: of large ones that are all the same, the sum may be no number.
        block -= block[0].copy()
        block -= block.mean(axis=0)
        return block

    def whole(self) -> NDArray[np.float64]:
        """All columns, (n_samples, n_features)."""
        X = np.empty(self._X.shape)
        for a, b in self._cuts:
            X[:, a:b] = self._block(a, b)
        return X

    def matrix(self) -> NDArray[np.float64]:
        """Something to multiply vectors with: all columns."""
        return self._held

    def squares(self) -> NDArray[np.float64]:
        """Sums of the squares of every row."""
        return np.einsum("ij,ij->i", self._held, self._held)

    def scatter(self, L: Any) -> NDArray[np.float64]:
        """XᵀLX, (n_features, n_features)."""
        X = self._held
        S = np.empty((X.shape[1], X.shape[1]))

        def of_columns(a: int, b: int) -> None:
            with one_blas_thread():
                S[:, a:b] = X.T @ (L @ X[:, a:b])

        cuts = even_ranges(len(S), -(-len(S) // _COLUMNS_OF_PRODUCT))
        run_all(of_columns, cuts, self._n_threads)
        return S

    @cached_property
    def _held(self) -> NDArray[np.float64]:
        return self.whole()

    def gram(self) -> NDArray[np.float64]:
        """Scalar products of all rows, (n_samples, n_samples)."""

        def of_columns(a: int, b: int) -> NDArray[np.float64]:
            block = self._block(a, b)
            with one_blas_thread():
                return block @ block.T

        total = np.zeros((self.n_samples, self.n_samples))
        cuts = self._cuts
        # No more than one product for each thread is held, and they are added in the order of the columns.
        for first in range(0, len(cuts), self._n_threads):
            for part in run_all(of_columns, cuts[first : first + self._n_threads], self._n_threads):
                total += part
        return total

    def combined(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows by each column of ``weights`` (n_samples, m): (m, n_features)."""
        out = np.empty((weights.shape[1], self.n_features))

        def of_columns(a: int, b: int) -> None:
            block = self._block(a, b)
            with one_blas_thread():
                out[:, a:b] = weights.T @ block

        run_all(of_columns, self._cuts, self._n_threads)
        return out
