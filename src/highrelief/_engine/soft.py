"""Soft neighborhoods and margins under them (Sun 2007): a reduction of distances by softmax(−d/σ).

:class:`PairwiseDistances` and :class:`WeightedPairs`, its passes under weights, are what a backend offers.
:class:`SoftNeighborhoods` computes the probabilities P_h, P_m, P_o and the mean margin
ν = (1/N) Σ_n γ_n (Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i|).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing, soft
from .._kernels import missing as missing_kernels
from .cached_property import cached_property
from .layout import DenseTable, LabeledTable, Layout, Packed, sum_in_order
from .limits import limits
from .memory import check_room
from .missing_pairs import MissingCorrection
from .pair_sums import Coefficients, PairSource, PositiveMargins, RowsUnderWeights, weighted_rows
from .scaling import Scaling
from .threads import even_ranges, run_all

# Kernel width


#: Bounds of the width relative to the first guess, as a factor.
_BRACKET = 1e8
_LONGEST_STEP = 3.0
#: The error of Newton's method is of the order of the square of its last step.
_LAST_STEP = 1e-6


def width_for_entropy(entropy: Callable[[float], tuple[float, float]], target: float, guess: float) -> float:
    """Solve entropy(σ) = target for σ; ``entropy`` returns the value and its derivative by log σ.

    Entropy grows with σ. Newton's method in log σ, restricted to a bracket. If no width reaches the target
    (all distances are equal, or more are tied at the smallest distance than the target allows), the end of
    the bracket that is closest to it is returned.
    """
    low, high = math.log(guess / _BRACKET), math.log(guess * _BRACKET)
    x = math.log(guess)
    for _ in range(100):
        value, slope = entropy(math.exp(x))
        if value < target:
            low = x
        else:
            high = x
        step = (target - value) / slope if slope > 0.0 else math.copysign(math.inf, target - value)
        following = x + max(-_LONGEST_STEP, min(_LONGEST_STEP, step))
        if not (low < following < high or abs(step) < _LAST_STEP):
            following = 0.5 * (low + high)
        last = abs(following - x) < _LAST_STEP
        x = following
        if last:
            break
    return math.exp(x)


# Distances of all pairs


Pairs_co = TypeVar("Pairs_co", bound="WeightedPairs", covariant=True)


class PairwiseDistances(ABC, Generic[Pairs_co]):
    """Distances of all pairs of rows; :meth:`under` gives them the weights of a pass.

    Parameters
    ----------
    table : LabeledTable
        The rows.
    correction : MissingCorrection
        Correction for missing values.
    """

    #: Whether distances are stored between passes. Results are bitwise identical.
    stored: bool

    def __init__(self, table: LabeledTable, correction: MissingCorrection) -> None:
        self.table, self.correction = table, correction
        self._w: NDArray[np.float64] | None = None
        #: Euclidean distance of the last weights from those before.
        self._step = np.inf

    def under(self, w: NDArray[np.float64]) -> Pairs_co:
        """Return the pairs under weights w.

        The last weights, given again, are the same array, by which caches recognize them: a width is computed
        before it is used.
        """
        if self._w is None or not np.array_equal(self._w, w):
            self._step = np.inf if self._w is None else float(np.linalg.norm(w - self._w))
            self._w = w.copy()
        return self._weighted(self._w)

    @abstractmethod
    def _weighted(self, w: NDArray[np.float64]) -> Pairs_co:
        """Return the pairs under weights w, which must not be modified."""

    @abstractmethod
    def _row_fingerprints(self) -> NDArray[np.float64]:
        """Return numbers that differ between unequal rows, whatever the weights, (n_rows, 3)."""

    @cached_property
    def fingerprints(self) -> NDArray[np.float64]:
        """Numbers that differ between unequal rows, whatever the weights, (n_rows, 3 or 4)."""
        fingerprints, correction = self._row_fingerprints(), self.correction
        return np.hstack([fingerprints, correction.fingerprints()]) if correction.any else fingerprints


class WeightedPairs(ABC):
    """Passes over all pairs of rows under weights: what a backend computes for soft neighborhoods.

    Immutable: results depend on the weights given here, whatever passes there were under others.

    Parameters
    ----------
    distances : PairwiseDistances
        The rows.
    w : (n_features,)
        Weights.
    """

    def __init__(self, distances: PairwiseDistances[WeightedPairs], w: NDArray[np.float64]) -> None:
        self.table, self.correction, self.w = distances.table, distances.correction, w
        self._unweighted = distances

    @cached_property
    def between_duplicates(self) -> NDArray[np.float64]:
        """Distance between two duplicates of every row, (n_rows,)."""
        return self.correction.between_duplicates(self.w)

    @property
    @abstractmethod
    def row_sums(self) -> NDArray[np.float64]:
        """Weighted sum of every row, (n_rows,)."""

    @abstractmethod
    def statistics(self, per_sigma: np.floating) -> Statistics:
        """Return the smallest distance and mass of every class for every row, over other rows."""

    @abstractmethod
    def moments(self, per_sigma: np.floating, low: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return Σ f·(d − low)/σ over the other rows of every class, for every row, (n_classes, n_rows)."""

    @abstractmethod
    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature."""

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| where it is positive, any number ≤ 0 elsewhere."""
        return self.sum_differences(by)

    @abstractmethod
    def margin_columns(
        self, by: Coefficients, features: NDArray[np.int64], table: DenseTable, correction: MissingCorrection
    ) -> NDArray[np.float64]:
        """Return Σ_i coefficient·|x_n − x_i| of every row for some features of a table, then padding.

        The table has the same rows, and perhaps other features. ``correction``: that of this table.
        """

    @abstractmethod
    def anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> AnchorEntropy:
        """Return the distances of all rows to some of them, each of which has a weight."""

    def width_for_perplexity(
        self, share: float, n_anchors: int, fingerprints: NDArray[np.float64] | None = None
    ) -> float:
        """Return the kernel width at which neighborhoods have a given perplexity.

        σ such that the mean over anchors of the entropy of softmax(−d/σ), over all other samples, is
        log(share·(N − 1)), at least log 2. The anchors are all samples if their total weight is at most
        ``n_anchors``, otherwise that many of them, in order of ``fingerprints`` (None: of these rows).
        """
        table = self.table
        anchors, weights = self._anchors(n_anchors, fingerprints)
        if table.available_weight is not None:
            weights = np.where(table.available_weight[anchors] > 0.0, weights, 0.0)
        columns = self.anchor_columns(anchors, weights)
        # With a kernel far wider than any distance all others have the same share, and the slope is the
        # variance of the distances over σ².
        distances_to_zero = self.row_sums + self.between_duplicates
        widest = 1e3 * float(distances_to_zero[table.is_sample].mean())
        if not widest > 0.0:
            return 1.0
        spread = widest * math.sqrt(max(0.0, columns.entropy(inverse_width(widest, table.dtype))[1]))
        if not spread > 1e-9 * widest:
            return widest
        return width_for_entropy(
            lambda sigma: columns.entropy(inverse_width(sigma, table.dtype)),
            target=target_entropy(table, anchors, weights, share),
            # Exact for independent distances (the random-energy model).
            guess=spread / math.sqrt(2.0 * max(0.1, -math.log(share))),
        )

    def _anchors(
        self, n_anchors: int, fingerprints: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return all rows, or ``n_anchors`` spread evenly over the sample weight in order of fingerprints.

        Neither the order of the rows nor the names of the classes matter, and a row of weight s counts as s
        rows. Returns rows of the layout, a multiple of the row block, and the number of times that each was
        drawn.
        """
        table = self.table
        if max(table.n_samples, table.total_sample_weight) <= n_anchors:
            return np.arange(table.n_rows), table.sample_weight
        if fingerprints is None:
            fingerprints = self._unweighted.fingerprints
        rows = np.flatnonzero(table.is_sample)
        by_content = rows[np.lexsort(fingerprints[rows].T[::-1])]
        ends = np.cumsum(table.sample_weight[by_content])
        positions = (np.arange(n_anchors) + 0.5) / n_anchors * ends[-1]
        drawn = by_content[np.searchsorted(ends, positions)]
        anchors, weights = np.unique(drawn, return_counts=True)
        missing = -anchors.size % packing.ROW_BLOCK
        return (
            np.concatenate([anchors, np.repeat(anchors[-1:], missing)]),
            np.concatenate([weights, np.zeros(missing)]),
        )


def inverse_width(sigma: float, dtype: np.dtype[Any]) -> np.floating:
    """Return 1/σ in the precision of the data.

    Clipped so that it is finite, and that a masked distance keeps a share of 0.
    """
    largest = 1e30 if dtype == np.float32 else 1e290
    return dtype.type(1.0 / min(max(sigma, 1.0 / largest), largest))


def target_entropy(
    table: Layout, anchors: NDArray[np.int64], weights: NDArray[np.float64], share: float
) -> float:
    """Return the anchors' mean of log(share·(number of other samples)), at least log 2 for two."""
    available = table.available_weight
    if available is None:
        return math.log(max(2.0, share * (table.total_sample_weight - 1.0)))
    counts = weights > 0.0
    others = available[anchors[counts]]
    target = np.log(np.minimum(np.maximum(2.0, share * others), np.maximum(others, 1.0)))
    return float(np.average(target, weights=weights[counts])) if target.size else 0.0


class AnchorEntropy(Protocol):
    """Distances of all rows to some of them, the anchors, reduced to entropies."""

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Return the mean entropy of the anchors' neighborhoods, and its derivative by log σ."""


# Pairs in this process


class LocalPairwiseDistances(PairwiseDistances["LocalWeightedPairs"]):
    """Distances of all pairs of rows in this process.

    Parameters
    ----------
    table : LabeledTable
        The rows.
    memory : float
        Bytes for stored distances; without room for them they are recomputed in every pass.
    rows : PairSource
        The rows as they are read.
    """

    def __init__(self, table: LabeledTable, memory: float, rows: PairSource) -> None:
        super().__init__(table, rows.correction)
        size = table.pair_bytes(table.dtype.itemsize)
        self.stored = size <= memory
        # Coefficients take as much memory as distances.
        n_terms = float(table.n_rows) ** 2 * table.n_features
        self._stores_coefficients = n_terms >= limits.screened_terms and 2.0 * size <= min(
            memory, limits.screened_bytes
        )
        self.remaining_memory = memory - size * (self.stored + self._stores_coefficients)
        self.rows = rows
        self._tiles: NDArray[np.floating] = np.empty((0, distances.TILE, distances.TILE), table.dtype)
        #: Weights of the distances in the tiles, and the rows under them; None: the tiles are not filled.
        self._filled: tuple[NDArray[np.float64], RowsUnderWeights] | None = None

    @classmethod
    def of(cls, table: Packed, memory: float) -> Self:
        """Return the distances of dense rows, which are read as the shape of the table suggests."""
        return cls(table, memory, weighted_rows(table, memory))

    def _weighted(self, w: NDArray[np.float64]) -> LocalWeightedPairs:
        return LocalWeightedPairs(self, w, self._step)

    def read(
        self, w: NDArray[np.float64], *, filled: bool = True
    ) -> tuple[RowsUnderWeights, NDArray[np.floating], bool]:
        """Return the rows under weights w, the array of distances, and whether it is filled.

        The array is empty if distances are not stored. With ``filled`` it is filled first if they are.
        """
        if self.stored and self._tiles.size == 0:
            self._tiles = self.table.pair_tiles(self.table.dtype)
        if self._filled is not None and self._filled[0] is w:
            return self._filled[1], self._tiles, True
        self._filled = None
        source, known = self.rows.read(w, self._tiles, filled=filled and self.stored)
        if known:
            self._filled = w, source
        return source, self._tiles, known

    def reduced(self, w: NDArray[np.float64], reduction: Callable[..., Any], *arguments: Any) -> Any:
        """Return a reduction of all tiles, such as :func:`tile_statistics`, which also fills them."""
        source, tiles, known = self.read(w, filled=False)
        found = reduction(self.table, source, tiles, known, *arguments, parts_of_pass(self.table))
        if self.stored:
            self._filled = w, source
        return found

    def sum_differences(self, w: NDArray[np.float64], by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature."""
        _, tiles, _ = self.read(w)
        if self.rows.must_store:
            self._filled = None  # coefficients overwrite the distances
        return self.rows.sum_differences(w, tiles, by)

    @cached_property
    def positive(self) -> PositiveMargins | None:
        """Sums of the features for which they may be positive; None if there is no room, or no need."""
        return self.rows.positive_margins() if self._stores_coefficients else None

    def _row_fingerprints(self) -> NDArray[np.float64]:
        return self.rows.fingerprints()


class LocalWeightedPairs(WeightedPairs):
    """Passes over all pairs of rows by the threads of this process.

    Parameters
    ----------
    distances : LocalPairwiseDistances
        The rows, and their distances under the weights of the last pass.
    w : (n_features,)
        Weights.
    step : float
        Euclidean distance of w from the weights before.
    """

    def __init__(self, distances: LocalPairwiseDistances, w: NDArray[np.float64], step: float) -> None:
        super().__init__(distances, w)
        self._distances, self._step = distances, step

    @property
    def row_sums(self) -> NDArray[np.float64]:
        """Weighted sum of every row, (n_rows,)."""
        return self._distances.read(self.w, filled=False)[0].sums

    def tiles(self) -> NDArray[np.floating]:
        """Return the distances of all pairs, if they are stored: the array that later passes overwrite."""
        return self._distances.read(self.w)[1]

    def statistics(self, per_sigma: np.floating) -> Statistics:
        """Return the smallest distance and mass of every class for every row, over other rows."""
        return self._distances.reduced(self.w, tile_statistics, per_sigma)

    def moments(self, per_sigma: np.floating, low: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return Σ f·(d − low)/σ over the other rows of every class, for every row, (n_classes, n_rows)."""
        return self._distances.reduced(self.w, tile_moments, per_sigma, low)

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| for every feature."""
        return self._distances.sum_differences(self.w, by)

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'| where it is positive, any number ≤ 0 elsewhere."""
        if self._step > limits.small_step or self._distances.positive is None:
            return self.sum_differences(by)
        return self._distances.positive.sums(self.tiles(), by)

    def margin_columns(
        self, by: Coefficients, features: NDArray[np.int64], table: DenseTable, correction: MissingCorrection
    ) -> NDArray[np.float64]:
        """Return Σ_i coefficient·|x_n − x_i| of every row for some features of a table."""
        return margin_columns(self.table, self._distances_to(), by, features, table, correction)

    def anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> AnchorColumns:
        """Return the distances of all rows to some of them, each of which has a weight."""
        room = self._distances.remaining_memory
        return AnchorColumns(self, self._distances_to(), anchors, weights, room)

    def _distances_to(self) -> DistanceColumns:
        return partial(distance_columns, self.table, self.correction, *self._distances.read(self.w))


#: Function of some rows, a multiple of the row block but at most 64: distances of all rows to these.
DistanceColumns = Callable[[NDArray[np.int64]], NDArray[np.floating]]


def distance_columns(
    table: LabeledTable,
    correction: MissingCorrection,
    source: RowsUnderWeights,
    tiles: NDArray[np.floating],
    known: bool,
    rows: NDArray[np.int64],
) -> NDArray[np.floating]:
    """Return the distances of all rows to some of them; ``known``: from the tiles."""
    columns = packing.aligned_zeros((table.n_rows, rows.size), table.dtype)
    if known:
        soft.stored_columns(tiles, rows, columns)
        return columns
    X, masked = source.X, soft.masked_distance(table.dtype)
    soft.computed_columns(X, source.w, source.sums, X[rows], source.sums[rows], columns)
    correction.add_to_columns(source.correction, rows, columns)
    columns[rows, np.arange(rows.size)] = masked
    if table.batch_constraint is not None:
        same = table.batches[:, np.newaxis] == table.batches[rows]
        columns[same != table.within] = masked
    return columns


def margin_columns(
    pairs: Layout,
    distances_to: DistanceColumns,
    by: Coefficients,
    features: NDArray[np.int64],
    table: DenseTable,
    correction: MissingCorrection,
) -> NDArray[np.float64]:
    """Return Σ_i coefficient·|x_n − x_i| of every row for some features of a table.

    ``correction`` is that of the table, whose rows are those of ``pairs``.
    """
    X = table.packed_columns(features)
    sample_weight = pairs.sample_weight.astype(X.dtype)
    check_room(
        8.0 * X.size,
        f"The margins of {len(X)} samples in each of {X.shape[1]} features",
        "Use fewer features, or a larger alpha, which selects fewer.",
    )
    Z = np.zeros(X.shape)
    missing_lists = correction.of_features(features)

    def of_rows(a: int, b: int) -> None:
        for start in range(a, b, distances.TILE):
            D = distances_to(np.arange(start, min(start + distances.TILE, b)))
            kernel = (pairs.codes, sample_weight, by.per_sigma, by.low, by.scales, Z)
            soft.margins_from_distances(X, D, 0, start, *kernel)
            if correction.any:
                missing_kernels.add_margin_corrections(*missing_lists, D, start, *kernel)

    run_all(of_rows, pairs.row_ranges(), pairs.n_threads)
    if by.own is not None:
        correction.add_between_duplicates(by.own, features, Z)
    return Z


class AnchorColumns:
    """Distances of all rows to some of them, the anchors, in chunks of columns; an :class:`AnchorEntropy`.

    Cached if they fit into ``room`` bytes, otherwise recomputed on every access.
    """

    def __init__(
        self,
        pairs: WeightedPairs,
        distances_to: DistanceColumns,
        anchors: NDArray[np.int64],
        weights: NDArray[np.float64],
        room: float,
    ) -> None:
        self._table, self._between_duplicates = pairs.table, pairs.between_duplicates
        self._distances_to, self._anchors, self._weights = distances_to, anchors, weights
        self._sample_weight = pairs.table.sample_weight.astype(pairs.table.dtype)
        size = float(pairs.table.n_rows) * anchors.size * pairs.table.dtype.itemsize
        self._chunks = even_ranges(anchors.size, anchors.size, multiple=distances.TILE)
        self._cached: dict[int, tuple[NDArray[np.floating], NDArray[np.floating]]] | None = (
            {} if size <= room else None
        )

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Return the mean entropy of the anchors' neighborhoods, and its derivative by log σ."""
        table = self._table

        def of_columns(a: int, b: int) -> tuple[float, float]:
            D, low = self._columns(a, b)
            anchors = self._anchors[a:b]
            moments = np.empty((3, anchors.size))
            own = table.own_weight[anchors], self._between_duplicates[anchors]
            soft.own_entropy_moments(*own, per_sigma, low, moments)
            soft.add_entropy_moments(D, self._sample_weight, per_sigma, low, moments)
            entropy, slope = soft.entropy_of_moments(moments, self._weights[a:b])
            return entropy, slope

        parts = run_all(of_columns, self._chunks, table.n_threads)
        total = self._weights.sum()
        return sum(part[0] for part in parts) / total, sum(part[1] for part in parts) / total

    def _columns(self, a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return the distances to anchors a … b, and the smallest to each."""
        if self._cached is not None and a in self._cached:
            return self._cached[a]
        anchors = self._anchors[a:b]
        D = self._distances_to(anchors)
        low = D.min(axis=0)
        several = self._table.own_weight[anchors] > 1.0
        low[several] = np.minimum(low, self._between_duplicates[anchors])[several]
        if self._cached is not None:
            self._cached[a] = D, low
        return D, low


def width_among(
    X: NDArray[np.floating],
    w: NDArray[np.float64],
    share: float,
    *,
    n_anchors: int,
    n_threads: int,
) -> float:
    """Return the kernel width for samples regardless of class, over ``n_anchors`` of them."""
    one_class = np.zeros(len(X), dtype=np.int64)
    scaling = Scaling.none(X.shape[1], X.dtype)
    table = Packed(X, one_class, 1, scaling=scaling, n_threads=n_threads)
    return LocalPairwiseDistances.of(table, memory=0.0).under(w).width_for_perplexity(share, n_anchors)


#: Tasks of a pass over all pairs: ranges of tiles each.
Parts = Sequence[tuple[tuple[int, int], ...]]
#: Smallest distance and mass of every class for every row: (n_classes, n_rows) each.
Statistics = tuple[NDArray[np.floating], NDArray[np.float64]]


class _Misses(NamedTuple):
    """The misses of all classes as one set, for every row."""

    #: (n_classes, n_rows) mass of each class, 0 for the row's own.
    mass_by_class: NDArray[np.float64]
    #: (n_classes, n_rows) factor from such a mass to the one relative to the nearest miss of all classes.
    relative: NDArray[np.float64]
    #: (n_rows,) smallest distance to a miss, and the mass relative to it.
    low: NDArray[np.float64]
    mass: NDArray[np.float64]


class SoftNeighborhoods:
    """Soft neighborhoods under weights w: P_m, P_h and P_o of Sun 2007, eqs. (8) to (10).

    For every row n and class c, the smallest distance ``low`` to a row i of c, and the mass
    Σ_i f(d_ni − low) with f(d) = exp(−d/σ). All probabilities follow from the two.

    Parameters
    ----------
    pairs : WeightedPairs
        Passes over all pairs of rows under the weights.
    sigma : float
        Kernel width.
    """

    def __init__(self, pairs: WeightedPairs, sigma: float) -> None:
        self._pairs, self._table = pairs, pairs.table
        self._per_sigma = inverse_width(sigma, pairs.table.dtype)
        self._low, self._mass = self._statistics()

    @property
    def inlier(self) -> NDArray[np.float64]:
        """γ_n = 1 − P_o (eq. 10), (n_samples,); 0 for a sample without a hit."""
        return self._table.unpacked(self._inlier_and_outlier()[0])

    @property
    def log_inlier(self) -> NDArray[np.float64]:
        """Logarithm of γ_n, (n_samples,), accurate for any γ_n; 0 for a sample without a hit."""
        table, misses = self._table, self._misses
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            of_hits = np.log(self._mass[table.codes, rows])
            farther = (self._low[table.codes, rows] - misses.low) * float(self._per_sigma)
            # γ = 1/(1 + exp(excess)), excess the log of the ratio of misses to hits.
            excess = np.log(misses.mass) - of_hits + farther
            log_inlier = -np.logaddexp(0.0, excess)
        return table.unpacked(np.where(self._valid, log_inlier, 0.0))

    def entropies(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the entropy of P_h and of P_m over all misses (Bei and Hong 2015), (n_samples,) each.

        In nats; both are 0 for a sample without a hit. Duplicates count separately.
        """
        table, misses, moment = self._table, self._misses, self._moments()
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            hit_mass = self._mass[table.codes, rows]
            hit = np.log(hit_mass) + moment[table.codes, rows] / hit_mass
            # Relative to the nearest miss of all classes, instead of the nearest of each.
            shift = np.where(misses.relative > 0.0, (self._low - misses.low) * float(self._per_sigma), 0.0)
            moment[table.codes, rows] = 0.0
            of_misses = (misses.relative * (moment + misses.mass_by_class * shift)).sum(axis=0)
            miss = np.log(misses.mass) + of_misses / misses.mass
        valid = self._valid
        return table.unpacked(np.where(valid, hit, 0.0)), table.unpacked(np.where(valid, miss, 0.0))

    def mean_margin(
        self, *, pooled: bool, outliers: bool, hard: bool = False, only_positive: bool = False
    ) -> NDArray[np.float64]:
        """Return ν = (1/N) Σ_n γ_n (Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i|) (eq. 11), (n_features,).

        ``pooled``: the misses of all classes are one set (eq. 21), otherwise each class counts separately,
        times P(c)/(1 − P(y)) (eq. 20). Without ``outliers`` γ is 1; with ``hard`` it is 1 − γ: samples
        among misses count most. With ``only_positive`` any number ≤ 0 may stand for what is not positive,
        which takes less time and suffices for eq. (12).
        """
        table = self._table
        shares, inlier = self.shares(pooled)
        weight = table.row_weights * inlier if outliers else table.row_weights
        if hard:
            weight = table.row_weights * self._inlier_and_outlier()[1]
        summed = self._pairs.positive_sums if only_positive else self._pairs.sum_differences
        nu = summed(self.coefficients(shares * weight))
        terms = weight.sum() * table.spans
        terms[self._pairs.correction.features] *= 2.0
        nu[np.abs(nu) <= table.rounding_of_sums * terms] = 0.0
        return nu / table.total_weight

    def margins(self, *, pooled: bool) -> NDArray[np.float64]:
        """Return ρ_n = Σ_i P_m d_ni − Σ_i P_h d_ni, without γ, (n_samples,); 0 for a sample without a hit."""
        shares, _ = self.shares(pooled)
        # E[d] = low + σ·moment/mass of every class; the shares divide by the mass.
        with np.errstate(invalid="ignore"):
            sums = self._low * self._mass + self._moments() / float(self._per_sigma)
        return self._table.unpacked(np.where(shares != 0.0, shares * sums, 0.0).sum(axis=0))

    def margin_columns(
        self, features: NDArray[np.int64], table: DenseTable, correction: MissingCorrection, *, pooled: bool
    ) -> NDArray[np.float64]:
        """Return Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i| of every row for some features of a table.

        The table has the same rows, and perhaps other features. ``correction``: that of this table.
        """
        by = self.coefficients(self.shares(pooled)[0])
        return self._pairs.margin_columns(by, features, table, correction)

    def coefficients(self, factors: NDArray[np.float64]) -> Coefficients:
        """Return the coefficients of Σ_n Σ_i factors[class of i, n]·f(d_ni − low)·|x_n − x_i|."""
        scales = factors.astype(self._table.dtype)
        return Coefficients(self._per_sigma, self._low, scales, self._own_coefficients(factors))

    def _own_coefficients(self, factors: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the coefficients between duplicates of each row; None if all duplicates are equal.

        Duplicates may also differ in features of weight 0, which do not contribute to distances.
        """
        if not self._pairs.correction.any or not self._table.has_sample_weight:
            return None
        own = factors[self._table.codes, np.arange(self._table.n_rows)]
        return own * self._own_mass()[0]

    def _own_mass(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (s − 1)·f(d − low) of the s − 1 other duplicates of every row, and (d − low)/σ."""
        table = self._table
        sample_weight = table.own_weight
        low = self._low[table.codes, np.arange(table.n_rows)].astype(np.float64)
        several = sample_weight > 1.0
        # Clipped: the share underflows to 0 and must not be multiplied by infinity.
        with np.errstate(over="ignore"):
            e = np.minimum(
                np.where(several, self._pairs.between_duplicates - low, 0.0) * float(self._per_sigma), 1e3
            )
        return np.where(several, sample_weight - 1.0, 0.0) * np.exp(-e), e

    def _statistics(self) -> Statistics:
        """Return the smallest distance and mass of every class for every row."""
        table = self._table
        low, mass = self._pairs.statistics(self._per_sigma)
        # Duplicates of a sample are hits, at distance 0 if no value is missing.
        several = np.flatnonzero(table.own_weight > 1.0)
        at = table.codes[several], several
        own_low, own_mass = low[at], mass[at]
        own = self._pairs.between_duplicates[several].astype(table.dtype)
        merge_statistics(own_low, own_mass, own, table.own_weight[several] - 1.0, self._per_sigma)
        low[at], mass[at] = own_low, own_mass
        return low, mass

    @cached_property
    def _misses(self) -> _Misses:
        table, low, mass = self._table, self._low, self._mass
        of_misses = mass.copy()
        of_misses[table.codes, np.arange(table.n_rows)] = 0.0
        lows = np.where(of_misses > 0.0, low, np.inf)
        miss_low = lows.min(axis=0)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            relative = np.exp((miss_low - lows) * float(self._per_sigma))
            return _Misses(of_misses, relative, miss_low, (of_misses * relative).sum(axis=0))

    @cached_property
    def _valid(self) -> NDArray[np.bool_]:
        """Rows that have a hit and a miss."""
        hit_mass = self._mass[self._table.codes, np.arange(self._table.n_rows)]
        return self._table.is_sample & (hit_mass > 0.0) & (self._misses.mass > 0.0)

    def shares(self, pooled: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factors of f(d − low) in the margin of every row, (n_classes, n_rows), and γ, (n_rows,).

        −1/Σf for hits; 1/Σf for misses, over all of them or over each class times P(c)/(1 − P(y)). Zeros for
        a row without a hit or without a miss.
        """
        table, misses = self._table, self._misses
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if pooled:
                shares = misses.relative / misses.mass
            else:
                shares = table.miss_factors[table.strata].T / misses.mass_by_class
            shares[misses.mass_by_class <= 0.0] = 0.0
            rows = np.arange(table.n_rows)
            shares[table.codes, rows] = -1.0 / self._mass[table.codes, rows]
        shares[:, ~self._valid] = 0.0
        return shares, self._inlier_and_outlier()[0]

    def _inlier_and_outlier(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return γ and 1 − γ of every row, (n_rows,) each; both are 0 without a hit or without a miss."""
        table, misses = self._table, self._misses
        per_sigma = float(self._per_sigma)
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            hit_low = self._low[table.codes, rows].astype(np.float64)
            closest = np.minimum(hit_low, misses.low)
            of_hits = self._mass[table.codes, rows] * np.exp((closest - hit_low) * per_sigma)
            of_misses = misses.mass * np.exp((closest - misses.low) * per_sigma)
            inlier, outlier = of_hits / (of_hits + of_misses), of_misses / (of_hits + of_misses)
        return np.where(self._valid, inlier, 0.0), np.where(self._valid, outlier, 0.0)

    def _moments(self) -> NDArray[np.float64]:
        """Return Σ f·(d − low)/σ over the rows of every class, for every row, (n_classes, n_rows)."""
        table = self._table
        moments = self._pairs.moments(self._per_sigma, self._low)
        if table.has_sample_weight and self._pairs.between_duplicates.any():
            mass, e = self._own_mass()
            moments[table.codes, np.arange(table.n_rows)] += mass * e
        return moments


def parts_of_pass(table: Layout) -> Parts:
    """Return the tasks of a pass over all pairs that computes something for every row."""
    cut = even_ranges(table.n_tiles, table.n_parts(2 * table.n_classes * table.n_rows))
    return [(each,) for each in cut]


def tile_statistics(
    table: Layout,
    source: RowsUnderWeights,
    tiles: NDArray[np.floating],
    known: bool,
    per_sigma: np.floating,
    parts: Parts,
) -> Statistics:
    """Return the smallest distance and mass of every class for every row, over the pairs of some tiles.

    ``known``: whether the tiles contain the distances; otherwise they are computed, and stored if there is
    room. ``parts``: ranges of tiles; those of one part are processed in order.
    """
    shape = (table.n_classes, table.n_rows)
    sample_weight, masked = table.sample_weight.astype(tiles.dtype), soft.masked_distance(tiles.dtype)

    def part(*ranges: tuple[int, int]) -> Statistics:
        found = np.full(shape, masked, tiles.dtype), np.zeros(shape)
        for a, b in ranges:
            soft.tile_statistics(
                *source,
                tiles,
                known,
                table.codes,
                sample_weight,
                per_sigma,
                masked,
                table.batches,
                table.within,
                a,
                b,
                *found,
            )
        return found

    (low, mass), *others = run_all(part, parts, table.n_threads)
    for more in others:
        merge_statistics(low, mass, *more, per_sigma)
    return low, mass


def merge_statistics(
    low: NDArray[np.floating],
    mass: NDArray[np.float64],
    other_low: NDArray[np.floating],
    other_mass: NDArray[np.float64],
    per_sigma: np.floating,
) -> None:
    """Merge the statistics over other rows into ``low`` and ``mass``."""
    soft.merge_statistics(
        low.reshape(-1), mass.reshape(-1), other_low.reshape(-1), other_mass.reshape(-1), float(per_sigma)
    )


def tile_moments(
    table: Layout,
    source: RowsUnderWeights,
    tiles: NDArray[np.floating],
    known: bool,
    per_sigma: np.floating,
    low: NDArray[np.floating],
    parts: Parts,
) -> NDArray[np.float64]:
    """Return Σ f·(d − low)/σ over the rows of every class, for every row; see :func:`tile_statistics`."""
    sample_weight, masked = table.sample_weight.astype(tiles.dtype), soft.masked_distance(tiles.dtype)

    def part(*ranges: tuple[int, int]) -> NDArray[np.float64]:
        moment = np.zeros((table.n_classes, table.n_rows))
        for a, b in ranges:
            soft.tile_moments(
                *source,
                tiles,
                known,
                table.codes,
                sample_weight,
                per_sigma,
                masked,
                table.batches,
                table.within,
                low,
                a,
                b,
                moment,
            )
        return moment

    return sum_in_order(run_all(part, parts, table.n_threads))
