"""Distances of new samples from the hyperplanes through their nearest neighbours of every class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import hyperplanes
from .distances import tie_tolerance
from .scaling import Scaling
from .threads import one_blas_thread, run_all

#: Bytes of the scalar products that a thread holds at a time, and samples at least and at most.
_PRODUCT_BYTES = 2.0**25
_FEWEST_ROWS, _MOST_ROWS = 16, 512
#: Columns of a matrix product; bounds the error of its sums.
_COLUMNS_PER_PRODUCT = 2048
#: Fitted rows that are measured from the centre at a time.
_ROWS_PER_PRODUCT = 1024
# Samples farther out, in units of the range of the fitted ones, are cut: their squares must not overflow.
_FARTHEST = 1e150
# In products in single precision: beyond it their part in a distance is rounding.
_FARTHEST_SINGLE = 1e18


class ClassHyperplanes:
    """Fitted samples by class, whose nearest span a hyperplane for every new sample.

    Squared distances by matrix products, |x|² + |y|² − 2x·y, measured from the mean of the fitted samples,
    say who may be among the k nearest; exact ones decide where that is not enough. Products are in the
    precision of the fitted samples, everything else is in float64.

    Parameters
    ----------
    X : (n_samples, n_features) float32 or float64
        The fitted samples, not scaled.
    scaling : Scaling
        Of the features.
    codes : (n_samples,) int
        Class codes 0 … n_classes − 1, each present.
    copies : (n_samples,) or None
        How often each sample counts; None: once.
    ignored : (n_features,) bool or None
        Constant features, in which new samples count as if they were like the fitted ones; None: none.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        scaling: Scaling,
        codes: NDArray[np.integer],
        copies: NDArray[np.float64] | None = None,
        ignored: NDArray[np.bool_] | None = None,
    ) -> None:
        by_class = np.argsort(codes, kind="stable")
        self.n_classes = int(codes.max()) + 1
        self._starts = np.searchsorted(codes[by_class], np.arange(self.n_classes + 1))
        self._copies = np.ones(codes.size) if copies is None else copies[by_class]
        self._scaling = scaling
        self._ignored = np.flatnonzero(np.zeros(X.shape[1], bool) if ignored is None else ignored)
        rows = np.ascontiguousarray(scaling.apply(X[by_class]))
        low, high = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
        # A power of 2, by which nothing is rounded: the largest range is near 1, the halves do not overflow.
        self._exponent = int(np.frexp((high / 2.0 - low / 2.0).max())[1]) + 1
        self._rows = np.ldexp(rows, -self._exponent)
        self._center = self._rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        self._squares = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS_PER_PRODUCT):
            which = slice(start, start + _ROWS_PER_PRODUCT)
            self._squares[which] = _squares(self._rows[which] - self._center)

    @property
    def tie_tolerance(self) -> float:
        """Distances that differ by less, relatively, are equal."""
        return tie_tolerance(self._rows.dtype)

    def distances(
        self, X: NDArray[np.floating], n_neighbors: int, alpha: float, n_threads: int
    ) -> NDArray[np.float64]:
        """Distances of the rows of X, not scaled, (n_rows, n_classes)."""
        found = np.empty((len(X), self.n_classes))
        # λ is in the units of squares.
        with np.errstate(over="ignore", under="ignore"):
            ridge = float(np.ldexp(np.float64(alpha), -2 * self._exponent))

        def of_block(a: int, b: int) -> None:
            queries = self._in_units(X[a:b])
            from_center = queries - self._center
            hyperplanes.hyperplane_distances(
                queries,
                _squares(from_center),
                self._rows,
                self._squares,
                self._products(from_center),
                self._starts,
                self._copies,
                n_neighbors,
                ridge,
                self._off(from_center),
                self.tie_tolerance,
                found[a:b],
            )

        # Cut by the shape alone: the rounding of a product may depend on its size.
        size = int(_PRODUCT_BYTES / (self._rows.dtype.itemsize * len(self._rows)))
        size = min(max(size, _FEWEST_ROWS), _MOST_ROWS)
        blocks = [(start, min(start + size, len(X))) for start in range(0, len(X), size)]
        run_all(of_block, blocks, n_threads)
        with np.errstate(over="ignore"):
            return np.ldexp(found, self._exponent)

    def _in_units(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Samples scaled, in float64 and C-ordered, in units of the range of the fitted ones."""
        with np.errstate(over="ignore", under="ignore"):
            scaled = self._scaling.apply(X).astype(np.float64, copy=False)
            units = np.ldexp(scaled, -self._exponent, order="C")
        units[:, self._ignored] = self._rows[0, self._ignored]
        return np.clip(units, -_FARTHEST, _FARTHEST, out=units)

    def _products(self, from_center: NDArray[np.float64]) -> NDArray[np.floating]:
        """Scalar products of samples and fitted ones, measured from the centre."""
        n, d = self._rows.shape
        queries: NDArray[np.floating] = from_center
        if self._rows.dtype == np.float32:
            queries = np.clip(from_center, -_FARTHEST_SINGLE, _FARTHEST_SINGLE).astype(np.float32)
        total = np.zeros((len(queries), n), self._rows.dtype)
        for a in range(0, n, _ROWS_PER_PRODUCT):
            for first in range(0, d, _COLUMNS_PER_PRODUCT):
                which = slice(first, first + _COLUMNS_PER_PRODUCT)
                rows = self._rows[a : a + _ROWS_PER_PRODUCT, which] - self._center[which]
                with one_blas_thread():
                    total[:, a : a + _ROWS_PER_PRODUCT] += queries[:, which] @ rows.T
        return total

    def _off(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much squared distances of samples may be off."""
        d = queries.shape[1]
        # 2·Σ|x·y| ≤ |x|² + |y|²; each of the sums has at most so many additions.
        n_additions = min(_COLUMNS_PER_PRODUCT, d) + d // _COLUMNS_PER_PRODUCT + 16.0
        rounding = float(np.finfo(self._rows.dtype).eps) / 2.0
        # What single terms lose that are too small for their type; the largest are near 1.
        vanished = d * float(np.finfo(self._rows.dtype).tiny)
        return 2.0 * n_additions * rounding * (_squares(queries) + self._squares.max()) + vanished


def _squares(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Squared lengths of rows."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
