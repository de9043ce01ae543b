"""Margins at the nearest neighbors under many labelings of the same rows, for permutation tests.

Distances do not depend on labels. The neighbors of every row are sorted once. For pairs that are neighbors
under many labelings, the margins of B labelings are a product of (B, pairs) coefficients and (pairs,
features) differences. Other pairs are added one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, labelings
from .layout import LabeledTable, Packed
from .limits import limits
from .memory import check_room
from .metrics import METRICS
from .neighbors import Neighborhood
from .threads import even_ranges, one_blas_thread, run_all

#: Number of square matrices in memory at a time: distances, orders, uses, places.
_N_SQUARES = 6


class RelabeledRows:
    """Margins of rows under many labelings.

    Parameters
    ----------
    table : LabeledTable
        The rows, of sample weight 1, without missing values and without a batch constraint.
    neighborhood : Neighborhood
        Which neighbors count.
    class_weights : (n_classes,) float64 or None
        Factor of the samples of a class in sums over samples.
    distances : function of whether differences are squared
        Returns :func:`added_distances` of all columns.
    summed : function of pairs and of whether differences are squared
        Returns :func:`summed_pairs` of all columns.
    """

    def __init__(
        self,
        table: LabeledTable,
        neighborhood: Neighborhood,
        class_weights: NDArray[np.float64] | None,
        distances: Callable[[bool], NDArray[np.float64]],
        summed: Callable[[Pairs, bool], NDArray[np.floating]],
    ) -> None:
        self._table, self._neighborhood, self._summed = table, neighborhood, summed
        self._n_classes = table.n_classes
        self._n_threads = table.n_threads
        self._tolerance = table.tie_tolerance
        self._class_weights = np.ones(table.n_classes) if class_weights is None else class_weights
        self._metric = METRICS[neighborhood.metric]
        check_room(
            8.0 * _N_SQUARES * float(table.n_samples) ** 2,
            f"The neighbors of {table.n_samples} samples in order, which permuted labels are counted by,",
            "Use fewer samples.",
        )
        self._ranked, self._sorted = _ranked(self._metric.from_sums(distances(self._metric.squares)))
        self._tied = np.empty(len(self._ranked), np.bool_)
        labelings.has_ties(self._sorted, self._tolerance, self._tied)

    @classmethod
    def of(
        cls, table: Packed, neighborhood: Neighborhood, class_weights: NDArray[np.float64] | None = None
    ) -> Self:
        """Return the rows of a table in this process."""
        functions = partial(added_distances, table), partial(summed_pairs, table)
        return cls(table, neighborhood, class_weights, *functions)

    def mean_margins(
        self, labels: NDArray[np.integer], dtype: type[np.floating] = np.float64
    ) -> NDArray[np.floating]:
        """Return the mean of E|x − miss| − E|x − hit| over the samples, (n_labelings, n_features).

        ``labels`` (n_labelings, n_samples) are class codes, each present. In float32 sums are accurate to
        about six digits, and take half the time.
        """
        out = np.zeros((len(labels), self._table.n_features), dtype)
        n_slots = 2 if self._neighborhood.pooled else self._n_classes
        n_entries = labels.size * n_slots * self._neighborhood.n_neighbors
        for a, b in even_ranges(len(labels), -(-n_entries // limits.label_entries)):
            pairs = self._pairs(np.ascontiguousarray(labels[a:b], dtype=np.int64), out.dtype)
            out[a:b] = self._summed(pairs, self._metric.squares_margins)
        return out

    def _pairs(self, labels: NDArray[np.int64], dtype: np.dtype) -> Pairs:
        """Return the pairs that are neighbors under any labeling, with their coefficients."""
        neighborhood, n = self._neighborhood, labels.shape[1]
        n_slots = 2 if neighborhood.pooled else self._n_classes
        rank_weights = neighborhood.rank_weights(n)
        lists = (self._ranked, self._sorted, self._tied, labels)
        uses = np.zeros(self._ranked.shape, np.int64)
        labelings.count_uses(*lists, n_slots, neighborhood.pooled, rank_weights.size, self._tolerance, uses)
        # A pair has no direction: the coefficients of both directions are added.
        rows = np.arange(n)[:, np.newaxis]
        pair = np.minimum(rows, self._ranked) * n + np.maximum(rows, self._ranked)
        often = np.bincount(pair.ravel(), uses.ravel(), minlength=n * n) >= limits.pair_share * len(labels)
        chosen = np.flatnonzero(often)
        column = np.where(often, np.cumsum(often) - 1, -1)[pair]
        coefficients = np.zeros((len(labels), chosen.size), dtype)
        n_scarce = int(uses[column < 0].sum())
        start = np.empty(len(labels) + 1, np.int64)
        first, second = np.empty(n_scarce, np.int64), np.empty(n_scarce, np.int64)
        scarce = np.empty(n_scarce, dtype)
        labelings.fill_coefficients(
            *lists,
            self._row_weights(labels),
            self._factors(labels),
            n_slots,
            neighborhood.pooled,
            rank_weights,
            neighborhood.rank_decay is None,
            self._tolerance,
            column,
            coefficients,
            start,
            first,
            second,
            scarce,
        )
        return Pairs(coefficients, chosen // n, chosen % n, (start, first, second, scarce))

    def _row_weights(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the factor of every sample in the mean; 0 for one that is alone in its class."""
        weights = self._class_weights[labels]
        sizes = _class_sizes(labels, self._n_classes)
        alone = np.take_along_axis(sizes, labels, axis=1) < 2
        return np.where(alone, 0.0, weights / weights.sum(axis=1, keepdims=True))

    def _factors(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return sign and weight of hits and misses, (n_labelings, class of the sample, slot)."""
        n_classes = self._n_classes
        if self._neighborhood.pooled:
            return np.tile([-1.0, 1.0], (len(labels), n_classes, 1))
        priors = _class_sizes(labels, n_classes) * self._class_weights
        priors = priors / priors.sum(axis=1, keepdims=True)
        factors = priors[:, np.newaxis, :] / (1.0 - priors)[:, :, np.newaxis]
        factors[:, np.arange(n_classes), np.arange(n_classes)] = -1.0
        return factors


def _class_sizes(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    return np.stack([(labels == c).sum(axis=1) for c in range(n_classes)], axis=1)


def _ranked(D: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the others of every sample by distance, and the distances, (n_samples, n_samples − 1)."""
    np.fill_diagonal(D, -1.0)
    order = np.argsort(D, axis=1, kind="stable")
    return np.ascontiguousarray(order[:, 1:]), np.take_along_axis(D, order, axis=1)[:, 1:].copy()


def added_distances(table: Packed, squares: bool) -> NDArray[np.float64]:
    """Return the distances of all pairs; Euclidean ones squared, so that they add up over columns."""
    return _squared(table) if squares else _manhattan(table)


def summed_pairs(table: Packed, pairs: Pairs, squared: bool) -> NDArray[np.floating]:
    """Return sums of coefficient·(squared) difference over pairs, (n_labelings, n_features)."""
    dtype = pairs.coefficients.dtype
    X = np.ascontiguousarray(table.unpacked(table.X)[:, : table.n_features], dtype=dtype)
    out = np.zeros((len(pairs.coefficients), X.shape[1]), dtype)
    width = max(limits.label_columns, int(limits.label_bytes / (out.itemsize * max(pairs.first.size, 1))))

    def of_columns(a: int, b: int) -> None:
        block = np.ascontiguousarray(X[:, a:b])
        differences = np.empty((pairs.first.size, b - a), dtype)
        labelings.differences(block, pairs.first, pairs.second, squared, differences)
        with one_blas_thread():
            sums = pairs.coefficients @ differences
        labelings.add_differences(block, *pairs.scarce, squared, sums)
        out[:, a:b] = sums

    # Split by the shape alone: the bits are the same for any number of threads.
    cuts = even_ranges(X.shape[1], -(-X.shape[1] // width), multiple=16)
    run_all(of_columns, cuts, table.n_threads)
    return out


def _manhattan(table: Packed) -> NDArray[np.float64]:
    X, sums, n = table.X, table.row_sums, table.n_rows
    D = np.empty((n, n))

    def fill(i: int, j: int) -> None:
        T = np.empty((distances.TILE, distances.TILE))
        i1, j1 = min(i + distances.TILE, n), min(j + distances.TILE, n)
        distances.distance_tile(X, sums, i, i1, j, j1, T)
        D[i:i1, j:j1] = T[: i1 - i, : j1 - j]
        D[j:j1, i:i1] = T[: i1 - i, : j1 - j].T

    corners = range(0, n, distances.TILE)
    run_all(fill, [(i, j) for i in corners for j in corners if j >= i], table.n_threads)
    return table.unpacked(table.unpacked(D).T.copy())


def _squared(table: Packed) -> NDArray[np.float64]:
    X = np.ascontiguousarray(table.unpacked(table.X)[:, : table.n_features], dtype=np.float64)
    D = np.zeros((len(X), len(X)))
    for a, b in even_ranges(X.shape[1], -(-X.shape[1] // 1024)):
        labelings.add_squared_distances(np.ascontiguousarray(X[:, a:b]), 0, len(X), D)
    return D


@dataclass(frozen=True)
class Pairs:
    """Pairs of samples in the matrix product, and rare pairs that are added one by one."""

    #: (n_labelings, n_pairs) coefficients of frequent pairs, and their rows.
    coefficients: NDArray[np.floating]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    #: Start of the rare pairs of every labeling, (n_labelings + 1,), their rows and coefficients.
    scarce: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.floating]]
