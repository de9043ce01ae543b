"""Missing values: where they are, and what differences are expected to be there.

A missing value of a numeric feature may be any of the observed ones: the difference to a sample with the
value x is E|x − V|, that of two samples without one is E|V − V'|, with V and V' drawn from all observed
values of the feature, each as often as it occurs (copies counted). Nothing is imputed: no value takes the
place of what is missing, neither in the answer nor in the choice of neighbours.

In memory the smallest observed value stands where one is missing, so that every kernel can work on the table,
and the *excess*, by which differences are then wrong, is added: see :mod:`..kernels.missing`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..kernels import missing as kernels
from ..kernels import packing
from .absent import Absent
from .scaling import Scaling
from .threads import even_ranges, run_all

#: Values of a block of columns whose excess is found at a time.
_VALUES_AT_ONCE = 2**18


class MissingValues:
    """What is missing from the rows of a layout, and the excess of the differences there.

    Parameters
    ----------
    absent : Absent
        What is missing from the table.
    X : (n_samples, n_features) float32 or float64
        The table, the smallest value of the column in the place of what is missing.
    scaling : Scaling
        Of the features.
    position : (n_rows,) int64
        The row of the table that stands at each row of the layout, or ``PADDING``.
    copies : (n_samples,) float64 or None
        How often each sample counts; None: once.
    n_threads : int
        Threads to use.
    """

    def __init__(
        self,
        absent: Absent,
        X: NDArray[np.floating],
        scaling: Scaling,
        position: NDArray[np.int64],
        *,
        copies: NDArray[np.float64] | None = None,
        n_threads: int = 1,
    ) -> None:
        self._absent, self._X, self._scaling, self._copies = absent, X, scaling, copies
        self._n_threads = n_threads
        self.features = absent.features
        self._row_of = np.empty(X.shape[0], np.int64)
        real = np.flatnonzero(position != packing.PADDING)
        self._row_of[position[real]] = real
        count = np.zeros(position.size, np.int64)
        count[real] = np.diff(absent.start)[position[real]]
        #: What each row lacks, as places in ``features``.
        self.start = np.concatenate([[0], np.cumsum(count)])
        self.which = absent.of_samples(position[real]).which
        self._n_chunks = -(-position.size // kernels.CHUNK)
        #: Which set of expectations each row has.
        self.set_of = np.zeros(position.size, np.int64)

    @cached_property
    def excess(self) -> NDArray[np.floating]:
        """By how much |x − x'| is too small where one lacks the value, in scaled units."""
        shape = (1, self._n_chunks, self.features.size, kernels.CHUNK)
        excess = packing.aligned_zeros(shape, self._X.dtype)

        def of_features(a: int, b: int) -> None:
            values, missing = self._scaled(a, b), self._absent.mask(a, b)
            values[missing] = np.inf
            if self._copies is None:
                ordered, copies, copies_in_order = np.sort(values, axis=1), np.empty(0), np.empty((0, 0))
            else:
                order = np.argsort(values, axis=1, kind="stable")
                ordered = np.take_along_axis(values, order, axis=1)
                copies, copies_in_order = self._copies, self._copies[order]
            kernels.expected_excess(values, ordered, copies_in_order, copies, self._row_of, a, excess[0])

        run_all(of_features, self._blocks(), self._n_threads)
        return excess

    @cached_property
    def squared_excess(self) -> NDArray[np.floating]:
        """The same for (x − x')²: E(x − V)² for one missing value, E(V − V')² for two."""
        shape = (1, self._n_chunks, self.features.size, kernels.CHUNK)
        excess = packing.aligned_zeros(shape, self._X.dtype)
        copies = np.ones(self._row_of.size) if self._copies is None else self._copies
        by_row = np.zeros((self.features.size, self._n_chunks * kernels.CHUNK))
        for a, b in self._blocks():
            values, missing = self._scaled(a, b).astype(np.float64), self._absent.mask(a, b)
            weights = np.where(missing, 0.0, copies)
            whole = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            mean = (weights * values).sum(axis=1, keepdims=True) / whole
            variance = (weights * (values - mean) ** 2).sum(axis=1, keepdims=True) / whole
            # E(x − V)² − x², and half of E(V − V')².
            found = np.where(missing, variance, variance + mean * (mean - 2.0 * values))
            by_row[a:b, self._row_of] = found
        chunks = by_row.reshape(self.features.size, self._n_chunks, kernels.CHUNK)
        excess[0] = chunks.transpose(1, 0, 2)
        return excess

    def lacks(
        self,
        rows: NDArray[np.int64],
        first: int,
        end: int,
        factors: NDArray[np.float64],
        squared: bool = False,
    ) -> NDArray[np.floating]:
        """lack(a, b) of some rows a to the rows b from ``first``, where a chunk begins, to before ``end``.

        ``factors``: of the ``features``, (n_incomplete,). The expected distance of a and b is the one found
        without regard to what is missing, plus lack(a, b) + lack(b, a).
        """
        chunk = kernels.CHUNK
        excess = self.squared_excess if squared else self.excess
        factors = factors.astype(excess.dtype)
        n_chunks = -(-(end - first) // chunk)
        out = packing.aligned_zeros((n_chunks, rows.size, chunk), excess.dtype)

        def of_chunk(c: int) -> None:
            kernels.add_lacks(
                rows, first // chunk + c, self.start, self.which, factors, self.set_of, excess, out[c]
            )

        run_all(of_chunk, [(c,) for c in range(n_chunks)], self._n_threads)
        return out.transpose(1, 0, 2).reshape(rows.size, n_chunks * chunk)[:, : end - first]

    def add_to_pairs(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        factors: NDArray[np.float64],
        distances: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add lack(a, b) + lack(b, a) to the distances of pairs."""
        excess = self.squared_excess if squared else self.excess

        def of_pairs(a: int, b: int) -> None:
            kernels.add_pair_lacks(
                rows[a:b], others[a:b], self.start, self.which, factors, self.set_of, excess, distances[a:b]
            )

        run_all(of_pairs, even_ranges(rows.size, 16), self._n_threads)

    def sums(
        self,
        rows: NDArray[np.int64],
        first: int,
        coefficients: NDArray[np.floating],
        squared: bool = False,
    ) -> NDArray[np.float64]:
        """Σ_a Σ_b coefficients[a, b]·(excess of a and b where a lacks the feature), (n_incomplete,).

        For rows a, and rows b from ``first`` on, where a chunk begins. If C holds the coefficients of
        ordered pairs, what is missing adds sums(C + Cᵀ) to Σ C·|x − x'|.
        """
        chunk = kernels.CHUNK
        excess = self.squared_excess if squared else self.excess
        n_chunks = -(-coefficients.shape[1] // chunk)
        padded = np.zeros((rows.size, n_chunks * chunk), excess.dtype)
        padded[:, : coefficients.shape[1]] = coefficients

        def of_chunk(c: int) -> NDArray[np.float64]:
            found = np.zeros(self.features.size)
            part = np.ascontiguousarray(padded[:, c * chunk : (c + 1) * chunk])
            kernels.sum_lacks(
                rows, first // chunk + c, part, self.start, self.which, self.set_of, excess, found
            )
            return found

        total = np.zeros(self.features.size)
        for found in run_all(of_chunk, [(c,) for c in range(n_chunks)], self._n_threads):
            total += found
        return total

    def _scaled(self, a: int, b: int) -> NDArray[np.floating]:
        """Values of some features, from 0 on, (b − a, n_samples)."""
        features = self.features[a:b]
        X = np.ascontiguousarray(self._X[:, features].T)
        scaling = self._scaling.of(features)
        if scaling.unit is not None:
            X *= scaling.unit[:, np.newaxis]
        low = X.min(axis=1, keepdims=True)
        X -= low
        X /= scaling.divisor[:, np.newaxis]
        return X

    def _blocks(self) -> list[tuple[int, int]]:
        n_features, n_samples = self.features.size, self._row_of.size
        return even_ranges(n_features, max(1, -(-n_features * n_samples // _VALUES_AT_ONCE)))
