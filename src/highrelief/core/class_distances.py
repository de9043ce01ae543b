"""Expected distances of new samples to the classes of fitted ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import distances, expectations, packing, soft, weighted
from .threads import run_all

# Queries farther out are out of reach of all samples alike; their sums must not overflow.
_FARTHEST = 1e100


class ClassDistances:
    """Ψ_c(x) = Σ_{n in c} P_n d(x_n, x), with P the softmax of −d/σ over class c (Bei and Hong 2012, eq. 10).

    In float64, whatever the data are: a decision may hang on the last digits.

    Parameters
    ----------
    X : (n_samples, n_features)
        The fitted samples, scaled; only features of positive weight.
    codes : (n_samples,) int
        Class codes 0 … n_classes − 1, each present.
    w : (n_features,)
        Weights of the distance.
    sigma : float
        Kernel width.
    copies : (n_samples,) or None
        How often each sample counts; None: once.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        codes: NDArray[np.integer],
        w: NDArray[np.float64],
        sigma: float,
        copies: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_classes = int(codes.max()) + 1
        self._sigma = sigma
        # From the smallest values on: what all have in common would cost digits of the sums.
        self._low = X.min(axis=0).astype(np.float64)
        position, self._codes = packing.class_layout(codes, self.n_classes)
        real = position != packing.PADDING
        self._copies = np.zeros(position.size)
        self._copies[real] = 1.0 if copies is None else copies[position[real]]
        self._w = np.zeros(-(-max(w.size, 1) // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK)
        self._w[: w.size] = w
        self._rows, self._sums = self._laid_out(X[position], real)

    def expected(self, X: NDArray[np.floating], n_threads: int) -> NDArray[np.float64]:
        """Ψ of the rows of X, scaled like the fitted ones, (n_rows, n_classes)."""
        blocks = [(start, min(start + distances.TILE, len(X))) for start in range(0, len(X), distances.TILE)]
        per_sigma = 1.0 / min(max(self._sigma, 1e-290), 1e290)
        far = soft.out_of_reach(np.float64)

        def of_block(a: int, b: int) -> NDArray[np.float64]:
            queries, sums = self._laid_out(X[a:b], np.ones(b - a, dtype=bool))
            found = np.empty((self.n_classes, len(queries)))
            expectations.expected_distances(
                self._rows,
                self._w,
                self._sums,
                self._codes,
                self._copies,
                queries,
                sums,
                per_sigma,
                far,
                found,
            )
            return found[:, : b - a].T

        return np.concatenate(run_all(of_block, blocks, n_threads))

    def _laid_out(
        self, X: NDArray[np.floating], real: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows, whole blocks of them, as wide as the weights, and their weighted sums."""
        n_rows = -(-len(X) // packing.ROW_BLOCK) * packing.ROW_BLOCK
        rows = packing.aligned_zeros((n_rows, self._w.size), np.float64)
        with np.errstate(over="ignore"):
            above = X.astype(np.float64) - self._low
        rows[: len(X), : X.shape[1]] = np.where(
            real[:, np.newaxis], np.clip(above, -_FARTHEST, _FARTHEST), 0.0
        )
        sums = np.zeros(n_rows)
        weighted.add_row_sums(rows, self._w, 0, n_rows, sums)
        return rows, sums
