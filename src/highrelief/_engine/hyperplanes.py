"""Local hyperplanes: margins at convex combinations of the nearest neighbors (Cai et al. 2014).

A reduction of the k nearest neighbors under weights that change: a sample is compared with the point of the
hyperplane of its hits, and of its misses, that is closest to it. :class:`ClassHyperplanes` classifies new
samples by their distances from the hyperplanes of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import hyperplanes
from .arrays import portions
from .columns import Columns
from .layout import Packed, sum_in_order
from .limits import limits
from .metrics import tie_tolerance
from .neighbors import HITS, MISSES, Neighborhood, Neighbors
from .scaling import Scaling
from .search import LocalSearch
from .threads import even_ranges, one_blas_thread, run_all

#: Smallest mean margin, relative to the range of its feature, that is not rounded to 0.
_SMALLEST_MARGIN = 1e-12

Indices = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass
class ConvexCombinations:
    """Lists of neighbors, hits then misses of each anchor, and the closest convex combinations."""

    #: (n_anchors,) rows of the layout.
    anchors: Indices
    #: (2·n_anchors,) start and length of each list.
    start: Indices
    size: Indices
    #: Rows of the layout, their weights u among the k, and their coefficients α.
    rows: Indices
    sample_weight: Vector
    coefficients: Vector

    @classmethod
    def of(cls, anchors: Indices, owner: Indices, rows: Indices, sample_weight: Vector) -> ConvexCombinations:
        """Return lists of entries in order; ``owner`` is the list of each."""
        size = np.bincount(owner, minlength=2 * anchors.size)
        return cls(anchors, np.cumsum(size) - size, size, rows, sample_weight, np.zeros(rows.size))

    def merged(self, equal: Indices) -> tuple[ConvexCombinations, Indices]:
        """Return the lists with equal rows merged, and the index there of each entry here.

        ``equal``: the representative of every row.
        """
        n_rows = equal.size
        owner = np.repeat(np.arange(self.size.size), self.size)
        keys, place = np.unique(owner * n_rows + equal[self.rows], return_inverse=True)
        sample_weight = np.bincount(place, weights=self.sample_weight, minlength=keys.size).astype(np.float64)
        return ConvexCombinations.of(self.anchors, keys // n_rows, keys % n_rows, sample_weight), place

    def portions(self) -> list[tuple[int, int]]:
        """Return ranges of anchors whose Gram matrices take little memory."""
        entries = (self.size * (self.size + 1) // 2).reshape(-1, 2).sum(axis=1)
        return portions(8.0 * entries, limits.gram_bytes)


class LocalHyperplanes:
    """Margins |x − miss| − |x − hit|, miss and hit the closest convex combinations of the neighbors of x.

    The k nearest rows by Σ_j w_j|x_j − x'_j| are combined so that ½(x − Hα)ᵀW(x − Hα) + λ·Σα_i²/u_i is
    minimal, Σα = 1, α ≥ 0. u_i is the weight of row i among the k: its sample weight, or less if it is tied
    with the k-th.

    Parameters
    ----------
    table : Packed
        The rows.
    n_neighbors : int
        k.
    penalty : float
        λ.
    """

    def __init__(self, table: Packed, n_neighbors: int, penalty: float) -> None:
        self._table = table
        self._neighborhood = Neighborhood(n_neighbors, pooled=True)
        self._penalty = penalty
        self._columns = table.columns
        self._distances: dict[str, Any] = {}

    def describe(self) -> dict[str, Any]:
        """Return the choices of the last search, for ``execution_``."""
        return self._distances

    def mean_margin(self, w: Vector) -> Vector:
        """Return the mean over the samples of |x − miss| − |x − hit|, (n_features,)."""
        table = self._table
        total = np.zeros(table.n_features)
        for found in self._combinations(w):
            weights, lists = table.row_weights[found.anchors], self._lists(found)

            def of_block(
                array: NDArray[np.floating],
                first: int,
                of: slice,
                weights: Vector = weights,
                lists: tuple[Any, ...] = lists,
            ) -> None:
                def part(a: int, b: int) -> Vector:
                    out = np.zeros(of.stop - of.start)
                    hyperplanes.add_margin(array, first, lists[0], weights, *lists[1:], a, b, out)
                    return out

                total[of] += sum_in_order(run_all(part, self._parts(weights.size), table.n_threads))

            _over_blocks(self._columns, of_block)
        mean = total * self._columns.factors / table.total_weight
        # A rounding error instead of 0 would distinguish rows that agree in all features of positive weight.
        return np.where(np.abs(mean) > _SMALLEST_MARGIN * self._columns.spans, mean, 0.0)

    def margins(self, w: Vector) -> Vector:
        """Return Σ_j w_j(|x_j − miss_j| − |x_j − hit_j|) of every sample; 0 for one without a hit."""
        table = self._table
        margins = np.zeros(table.n_rows)
        factors = w * self._columns.factors
        for found in self._combinations(w):
            out, lists = np.zeros(found.anchors.size), self._lists(found)

            def of_block(
                array: NDArray[np.floating],
                first: int,
                of: slice,
                out: Vector = out,
                lists: tuple[Any, ...] = lists,
            ) -> None:
                def part(a: int, b: int) -> None:
                    hyperplanes.sample_margins(array, first, lists[0], factors[of], *lists[1:], a, b, out)

                run_all(part, self._parts(out.size), table.n_threads)

            _over_blocks(self._columns, of_block)
            margins[found.anchors] = out
        return table.unpacked(margins)

    def _parts(self, n_anchors: int) -> list[tuple[int, int]]:
        """Return ranges of anchors, which do not depend on the number of threads."""
        table = self._table
        work = 2.0 * n_anchors * table.n_features * min(self._neighborhood.n_neighbors, table.n_samples)
        return even_ranges(n_anchors, min(table.n_parts(table.n_features), 1 + int(work / limits.part_work)))

    def _lists(self, found: ConvexCombinations) -> tuple[Any, ...]:
        """Return the arguments of the margin kernels: anchors and neighbors as rows of the table."""
        sample_of_row = self._table.sample_of_row
        return (
            sample_of_row[found.anchors],
            found.start,
            found.size,
            sample_of_row[found.rows],
            found.coefficients,
        )

    # From weights to convex combinations

    def _combinations(self, w: Vector) -> Iterator[ConvexCombinations]:
        """Yield the neighbors of all samples that have a hit, some at a time, with their coefficients."""
        if not w.any():
            return
        weighted = self._table.under(w)
        search = LocalSearch.of(weighted, self._neighborhood, self._table.is_sample)
        self._distances = search.describe()
        roots = np.sqrt(w[w > 0.0])
        equal: Indices | None = None
        for neighbors in search.neighbors():
            found = self._neighbor_lists(neighbors)
            if found.size.max(initial=0) <= limits.long_list:
                self._combine(found, weighted.columns, roots)
            else:
                # The coefficient of merged rows is distributed over them by weight.
                equal = _equal_rows(weighted) if equal is None else equal
                merged, place = found.merged(equal)
                self._combine(merged, weighted.columns, roots)
                found.coefficients = (merged.coefficients / merged.sample_weight)[place] * found.sample_weight
            yield found

    def _neighbor_lists(self, neighbors: Neighbors) -> ConvexCombinations:
        """Return lists of the neighbors that have a share, with their weights among the k."""
        owner, place = neighbors.all_listed()
        sample_weight = neighbors.shares[place] * self._slot_weights(neighbors.anchors).ravel()[owner]
        return ConvexCombinations.of(neighbors.anchors, owner, neighbors.rows[place], sample_weight)

    def _slot_weights(self, anchors: Indices) -> Vector:
        """Return the total weight of the neighbors of anchors, by slot: k, or that of all rows if less."""
        table = self._table
        own = table.sample_weight[anchors]
        of_class = table.priors[table.codes[anchors]] * table.total_sample_weight
        found = np.empty((anchors.size, 2))
        found[:, HITS] = of_class - own + np.maximum(own - 1.0, 0.0)
        found[:, MISSES] = table.total_sample_weight - of_class
        return np.minimum(found, self._neighborhood.n_neighbors)

    def _combine(self, found: ConvexCombinations, columns: Columns, roots: Vector) -> None:
        """Compute the coefficients of the closest convex combinations (Cai et al. 2014, eq. 4).

        ``columns``: features of positive weight, times the weight; ``roots``: square roots of these weights.
        """
        # Units in which squares of differences are at most about 1.
        unit = float((columns.spans / roots).max()) or 1.0
        for portion in found.portions():
            self._combine_portion(
                found, columns, columns.factors / roots / unit, self._penalty / unit / unit, portion
            )

    def _combine_portion(
        self,
        found: ConvexCombinations,
        columns: Columns,
        factors: Vector,
        penalty: float,
        portion: tuple[int, int],
    ) -> None:
        table = self._table
        a0, a1 = portion
        start, size = found.start[2 * a0 : 2 * a1], found.size[2 * a0 : 2 * a1]
        entries = size * (size + 1) // 2
        place = np.cumsum(entries) - entries
        gram = np.zeros(int(entries.sum()))
        anchors, rows = table.sample_of_row[found.anchors[a0:a1]], table.sample_of_row[found.rows]
        systems = [(2 * a, 2 * b) for a, b in self._parts(a1 - a0)]

        def of_block(array: NDArray[np.floating], first: int, of: slice) -> None:
            def part(s: int, t: int) -> None:
                hyperplanes.add_gram(array, first, factors[of], anchors, start, size, rows, place, s, t, gram)

            run_all(part, systems, table.n_threads)

        def solve(s: int, t: int) -> None:
            hyperplanes.solve_mixtures(
                gram, place, start, size, found.sample_weight, penalty, s, t, found.coefficients
            )

        _over_blocks(columns, of_block)
        run_all(solve, systems, table.n_threads)


def _over_blocks(columns: Columns, work: Callable[[NDArray[np.floating], int, slice], None]) -> None:
    """Call ``work`` with each block: an array, the index of its first column there, and the columns."""
    # Split at the same columns as the sums: the bits are the same for any memory order and type of the table.
    for a, b in even_ranges(columns.n_features, columns.n_blocks, multiple=hyperplanes.FEATURES_AT_ONCE):
        array, first = columns.block(a, b)
        work(array, first, slice(a, b))


def _equal_rows(table: Packed) -> Indices:
    """Return, for every row of the layout, the first one that is equal in all features."""
    first: dict[bytes, int] = {}
    return np.array(
        [
            first.setdefault(table.raw[sample_of_row].tobytes(), row) if table.is_sample[row] else row
            for row, sample_of_row in enumerate(table.sample_of_row)
        ]
    )


# New samples


# New samples are clipped, in units of the range of the fitted ones: their squares must not overflow.
_FARTHEST = 1e150
# In single precision: beyond it their contribution to a distance is a rounding error.
_FARTHEST_SINGLE = 1e18


class ClassHyperplanes:
    """Fitted samples by class, and distances of new samples from the hyperplanes of their nearest neighbors.

    Squared distances by matrix products, |x|² + |y|² − 2x·y, relative to the mean of the fitted samples,
    select candidates for the k nearest; exact distances decide if these are not certain. Products have the
    precision of the fitted samples, everything else is in float64.

    Parameters
    ----------
    X : (n_samples, n_features) float32 or float64
        The fitted samples, not scaled.
    scaling : Scaling
        Of the features.
    codes : (n_samples,) int
        Class codes 0 … n_classes − 1, each present.
    sample_weight : (n_samples,) or None
        Sample weights; None: 1.
    ignored : (n_features,) bool or None
        Constant features, in which new samples are set to the fitted value; None: none.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        scaling: Scaling,
        codes: NDArray[np.integer],
        sample_weight: NDArray[np.float64] | None = None,
        ignored: NDArray[np.bool_] | None = None,
    ) -> None:
        by_class = np.argsort(codes, kind="stable")
        self.n_classes = int(codes.max()) + 1
        self._starts = np.searchsorted(codes[by_class], np.arange(self.n_classes + 1))
        self._sample_weight = np.ones(codes.size) if sample_weight is None else sample_weight[by_class]
        self._scaling = scaling
        self._ignored = np.flatnonzero(np.zeros(X.shape[1], bool) if ignored is None else ignored)
        rows = np.ascontiguousarray(scaling.apply(X[by_class]))
        low, high = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
        # A power of 2, which rounds nothing: the largest range is near 1. Halves do not overflow.
        self._exponent = int(np.frexp((high / 2.0 - low / 2.0).max())[1]) + 1
        self._rows = np.ldexp(rows, -self._exponent)
        self._center = self._rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        self._squares = np.empty(len(rows))
        for start in range(0, len(rows), limits.centered_rows):
            which = slice(start, start + limits.centered_rows)
            self._squares[which] = _squares(self._rows[which] - self._center)

    @property
    def tie_tolerance(self) -> float:
        """Relative difference below which distances are tied."""
        return tie_tolerance(self._rows.dtype)

    def distances(
        self, X: NDArray[np.floating], n_neighbors: int, alpha: float, n_threads: int
    ) -> NDArray[np.float64]:
        """Return the distances of the rows of X, not scaled, (n_rows, n_classes)."""
        found = np.empty((len(X), self.n_classes))
        # λ has the units of squares.
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
                self._sample_weight,
                n_neighbors,
                ridge,
                self._off(from_center),
                self.tie_tolerance,
                found[a:b],
            )

        # Split by the shape alone: the rounding of a product may depend on its size.
        size = int(limits.query_bytes / (self._rows.dtype.itemsize * len(self._rows)))
        size = min(max(size, limits.min_query_rows), limits.max_query_rows)
        blocks = [(start, min(start + size, len(X))) for start in range(0, len(X), size)]
        run_all(of_block, blocks, n_threads)
        with np.errstate(over="ignore"):
            return np.ldexp(found, self._exponent)

    def _in_units(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return samples, scaled, in float64 and C order, in units of the range of the fitted ones."""
        with np.errstate(over="ignore", under="ignore"):
            scaled = self._scaling.apply(X).astype(np.float64, copy=False)
            units = np.ldexp(scaled, -self._exponent, order="C")
        units[:, self._ignored] = self._rows[0, self._ignored]
        return np.clip(units, -_FARTHEST, _FARTHEST, out=units)

    def _products(self, from_center: NDArray[np.float64]) -> NDArray[np.floating]:
        """Return the scalar products of new and fitted samples, centered."""
        n, d = self._rows.shape
        queries: NDArray[np.floating] = from_center
        if self._rows.dtype == np.float32:
            queries = np.clip(from_center, -_FARTHEST_SINGLE, _FARTHEST_SINGLE).astype(np.float32)
        total = np.zeros((len(queries), n), self._rows.dtype)
        for a in range(0, n, limits.centered_rows):
            for first in range(0, d, limits.product_width):
                which = slice(first, first + limits.product_width)
                rows = self._rows[a : a + limits.centered_rows, which] - self._center[which]
                with one_blas_thread():
                    total[:, a : a + limits.centered_rows] += queries[:, which] @ rows.T
        return total

    def _off(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the error bound of the squared distances of samples."""
        d = queries.shape[1]
        # 2·Σ|x·y| ≤ |x|² + |y|²; n_additions bounds the additions of each sum.
        n_additions = min(limits.product_width, d) + d // limits.product_width + 16.0
        rounding = float(np.finfo(self._rows.dtype).eps) / 2.0
        # Bound on underflow of single terms; the largest are near 1.
        vanished = d * float(np.finfo(self._rows.dtype).tiny)
        return 2.0 * n_additions * rounding * (_squares(queries) + self._squares.max()) + vanished


def _squares(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the squared norms of rows."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
