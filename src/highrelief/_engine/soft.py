"""Soft neighborhoods, and the mean margin under them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing, soft
from .._kernels import missing as missing_kernels
from .cached_property import cached_property
from .layout import Packed, sum_in_order
from .memory import check_room
from .missing_pairs import MissingCorrection
from .pair_sums import Coefficients, PairSums, PositiveMargins, WeightedRows, weighted_rows
from .scaling import Scaling
from .threads import even_ranges, run_all

# The kernel width at which a neighborhood has a wanted size.


#: How far from the first guess, as a factor, a width is looked for.
_REACH = 1e8
_LONGEST_STEP = 3.0
#: Newton's error is of the order of the square of its last step.
_LAST_STEP = 1e-6


def width_for_entropy(entropy: Callable[[float], tuple[float, float]], target: float, guess: float) -> float:
    """Solve entropy(σ) = target for σ; ``entropy`` returns the value and its derivative by log σ.

    Entropy grows with σ. Newton's steps in log σ, kept inside a bracket. Where no width reaches the
    target (all distances equal, or more ties at the smallest distance than the target allows), the end
    of the range that comes nearest to it.
    """
    low, high = math.log(guess / _REACH), math.log(guess * _REACH)
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


# Passes over all pairs of rows, and the kernel width that they lead to.


#: Pairs × features from which on a sum takes so long that it is worth to find out which can be left out,
FEWEST_TERMS = 1e8
#: if distances and coefficients take no more than this together,
MOST_BYTES = 2e8
#: and if weights (of norm 1) change by no more than this.
SMALL_STEP = 5e-3
#: Most anchors whose neighborhoods are measured when a kernel width is looked for.
WIDTH_ANCHORS = 1024


class RowsOfPass(Protocol):
    """Rows under weights, as a pass over all pairs needs them; X is empty where distances are stored."""

    @property
    def X(self) -> NDArray[np.floating]:  # noqa: N802
        """The rows in the layout."""

    @property
    def w(self) -> NDArray[np.floating]:
        """The weights of their columns."""

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sums of the rows under the weights."""

    @property
    def correction(self) -> MissingCorrection:
        """The correction for missing values."""


class WeightedTable(RowsOfPass, Protocol):
    """Rows under weights that change: dense, sparse or on Dask workers."""

    @property
    def by_blocks(self) -> bool:
        """Whether distances must be stored before they are used."""

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Set the weights."""

    def fill(self, tiles: NDArray[np.floating]) -> None:
        """Store the distances of all pairs."""

    def sum_differences(self, tiles: NDArray[np.floating], by: Coefficients) -> NDArray[np.float64]:
        """Return Σ over pairs of coefficient·|x − x'|, feature by feature."""

    def content(self) -> NDArray[np.float64]:
        """Return values by which rows are equal or differ, (n_rows, 3), whatever the weights."""


class SoftPasses:
    """Passes over all pairs of rows under weights that change from one to the next.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on keeping distances; what does not fit is computed again. The answers are the
        same, bit for bit.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self.table = table
        self.far = soft.masked_distance(table.dtype)
        self.sample_weight = table.sample_weight.astype(table.dtype)
        size = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
        self.stored = size <= memory
        # Coefficients take as much room as distances.
        n_terms = float(table.n_rows) ** 2 * table.n_features
        self._keeps_coefficients = n_terms >= FEWEST_TERMS and 2.0 * size <= min(memory, MOST_BYTES)
        self._memory = memory
        self.left = memory - size * (self.stored + self._keeps_coefficients)
        self._tiles: NDArray[np.floating] = np.empty((0, distances.TILE, distances.TILE), table.dtype)
        self._w: NDArray[np.float64] | None = None
        #: How far the last weights are from those before them.
        self._step = np.inf
        self._known = False

    @cached_property
    def rows(self) -> WeightedTable:
        """The rows under the last weights."""
        return weighted_rows(self.table, self._memory)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float, n_anchors: int) -> float:
        """Kernel width at which the neighborhoods have a wanted size.

        σ such that the mean over anchors of the entropy of softmax(−d/σ), over all other samples, is
        log(share·(N − 1)), at least log 2. Over all samples if these, with their copies, are at most
        ``n_anchors``, otherwise over that many of them.
        """
        table = self.table
        self.put_under(w)
        columns = self._anchor_columns(*self._anchors(n_anchors))
        # A kernel far wider than any distance gives all others the same share, and the slope is then the
        # variance of the distances over σ².
        far = self.rows.sums + self.rows.correction.between_duplicates
        widest = 1e3 * float(far[table.real].mean())
        if not widest > 0.0:
            return 1.0
        spread = widest * math.sqrt(max(0.0, columns.entropy(self.per_sigma(widest))[1]))
        if not spread > 1e-9 * widest:
            return widest
        return width_for_entropy(
            lambda sigma: columns.entropy(self.per_sigma(sigma)),
            target=columns.wanted_entropy(share),
            # What independent distances would need (the random-energy model).
            guess=spread / math.sqrt(2.0 * max(0.1, -math.log(share))),
        )

    def _anchor_columns(self, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> AnchorColumns:
        return AnchorColumns(self, anchors, weights)

    def per_sigma(self, sigma: float) -> np.floating:
        """1/σ in the precision of the data.

        Finite however small σ is, and never so small that what is out of reach comes near.
        """
        largest = 1e30 if self.table.dtype == np.float32 else 1e290
        return self.table.dtype.type(1.0 / min(max(sigma, 1.0 / largest), largest))

    def put_under(self, w: NDArray[np.float64]) -> None:
        """Weigh distances by w from now on.

        What was made for the same weights before is still there: a width is looked for before it is used.
        """
        if self._w is None or not np.array_equal(self._w, w):
            self._step = np.inf if self._w is None else float(np.linalg.norm(w - self._w))
            self._w, self._known = w.copy(), False
            self.rows.put_under(w)

    def tiles(self, *, filled: bool = True) -> tuple[NDArray[np.floating], bool]:
        """Where distances are kept, an array without entries if they are not; and whether they are there.

        They are there on return if they are wanted ``filled`` and are kept at all.
        """
        if self.stored and self._tiles.size == 0:
            shape = (self.table.n_tiles, distances.TILE, distances.TILE)
            self._tiles = packing.aligned_zeros(shape, self.table.dtype)
        if (filled or self.rows.by_blocks) and self.stored and not self._known:
            self.rows.fill(self._tiles)
            self._known = True
        return self._tiles, self._known

    def distances_to(self, rows: NDArray[np.int64]) -> NDArray[np.floating]:
        """Distances of all rows to some of them, a multiple of the row block but at most 64."""
        columns = packing.aligned_zeros((self.table.n_rows, rows.size), self.table.dtype)
        if self._known:
            soft.stored_columns(self._tiles, rows, columns)
        else:
            X, sums = self.rows.X, self.rows.sums
            soft.computed_columns(X, self.rows.w, sums, X[rows], sums[rows], columns)
            self.rows.correction.add_to_columns(rows, columns)
            columns[rows, np.arange(rows.size)] = self.far
            if self.table.batch_constraint is not None:
                same = self.table.batches[:, np.newaxis] == self.table.batches[rows]
                columns[same != self.table.within] = self.far
        return columns

    def note_filled(self) -> None:
        """All tiles have been filled by a pass."""
        self._known = self.stored

    def sum_differences(self, by: Coefficients) -> NDArray[np.float64]:
        """Σ over pairs of coefficient·|x − x'|, feature by feature."""
        sums = self.rows.sum_differences(self.tiles()[0], by)
        if self.rows.by_blocks:
            self._known = False
        return sums

    def positive_sums(self, by: Coefficients) -> NDArray[np.float64]:
        """The same where it is positive, any number ≤ 0 elsewhere."""
        if self._step > SMALL_STEP or self._positive is None:
            return self.sum_differences(by)
        return self._positive.sums(self.tiles()[0], by)

    @cached_property
    def _positive(self) -> PositiveMargins | None:
        rows = self.rows
        if not self._keeps_coefficients or not isinstance(rows, WeightedRows):
            return None
        return PositiveMargins(self.table, rows)

    def _anchors(self, n_anchors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All rows, or so many spread evenly over their copies in an order that depends on content alone.

        Neither the order of the rows nor the names of the classes matter, and a row of weight s is s rows.
        Returns packed rows, a multiple of the row block, and how often each was drawn.
        """
        table = self.table
        if max(table.n_samples, table.total_sample_weight) <= n_anchors:
            return np.arange(table.n_rows), table.sample_weight
        rows = np.flatnonzero(table.real)
        by_content = rows[np.lexsort(self.content[rows].T[::-1])]
        ends = np.cumsum(table.sample_weight[by_content])
        positions = (np.arange(n_anchors) + 0.5) / n_anchors * ends[-1]
        drawn = by_content[np.searchsorted(ends, positions)]
        anchors, weights = np.unique(drawn, return_counts=True)
        missing = -anchors.size % packing.ROW_BLOCK
        return (
            np.concatenate([anchors, np.repeat(anchors[-1:], missing)]),
            np.concatenate([weights, np.zeros(missing)]),
        )

    @cached_property
    def content(self) -> NDArray[np.float64]:
        """What tells rows apart, whatever the weights, (n_rows, 3 or 4)."""
        content = self.rows.content()
        correction = self.rows.correction
        return np.hstack([content, correction.content()]) if correction.any else content


class AnchorColumns:
    """Distances of all rows to some of them, the anchors, in chunks of columns.

    Kept if they fit into what is left of the memory, otherwise found again whenever they are needed.
    """

    def __init__(self, passes: SoftPasses, anchors: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        self._passes = passes
        self._anchors, self._weights = anchors, weights
        batch_constraint = passes.table.available_weight
        if batch_constraint is not None:
            self._weights = np.where(batch_constraint[anchors] > 0.0, weights, 0.0)
        self._between_duplicates = passes.rows.correction.between_duplicates
        self._prepare()

    def _prepare(self) -> None:
        """Cut the anchors, and have room for their distances."""
        passes, anchors = self._passes, self._anchors
        passes.tiles()
        size = float(passes.table.n_rows) * anchors.size * passes.table.dtype.itemsize
        self._chunks = even_ranges(anchors.size, anchors.size, multiple=distances.TILE)
        self._kept: dict[int, tuple[NDArray[np.floating], NDArray[np.floating]]] | None = (
            {} if size <= passes.left else None
        )

    def wanted_entropy(self, share: float) -> float:
        """Mean over the anchors of log(share·(number of other samples)), at least log 2 if there are two."""
        table = self._passes.table
        batch_constraint = table.available_weight
        if batch_constraint is None:
            return math.log(max(2.0, share * (table.total_sample_weight - 1.0)))
        counts = self._weights > 0.0
        others = batch_constraint[self._anchors[counts]]
        wanted = np.log(np.minimum(np.maximum(2.0, share * others), np.maximum(others, 1.0)))
        return float(np.average(wanted, weights=self._weights[counts])) if wanted.size else 0.0

    def entropy(self, per_sigma: np.floating) -> tuple[float, float]:
        """Mean entropy of the anchors' neighborhoods, and its derivative by log σ."""
        table = self._passes.table

        def of_columns(a: int, b: int) -> tuple[float, float]:
            D, low = self._columns(a, b)
            anchors = self._anchors[a:b]
            moments = np.empty((3, anchors.size))
            own = table.own_weight[anchors], self._between_duplicates[anchors]
            soft.own_entropy_moments(*own, per_sigma, low, moments)
            soft.add_entropy_moments(D, self._passes.sample_weight, per_sigma, low, moments)
            entropy, slope = soft.entropy_of_moments(moments, self._weights[a:b])
            return entropy, slope

        parts = run_all(of_columns, self._chunks, table.n_threads)
        total = self._weights.sum()
        return sum(part[0] for part in parts) / total, sum(part[1] for part in parts) / total

    def _columns(self, a: int, b: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Distances to anchors a … b, and the smallest to each."""
        if self._kept is not None and a in self._kept:
            return self._kept[a]
        anchors = self._anchors[a:b]
        D = self._passes.distances_to(anchors)
        low = D.min(axis=0)
        several = self._passes.table.own_weight[anchors] > 1.0
        low[several] = np.minimum(low, self._between_duplicates[anchors])[several]
        if self._kept is not None:
            self._kept[a] = D, low
        return D, low


def width_among(
    X: NDArray[np.floating],
    w: NDArray[np.float64],
    share: float,
    *,
    n_anchors: int,
    n_threads: int,
) -> float:
    """Kernel width for samples whose classes do not matter, over ``n_anchors`` of them."""
    one_class = np.zeros(len(X), dtype=np.int64)
    scaling = Scaling.none(X.shape[1], X.dtype)
    table = Packed(X, one_class, 1, scaling=scaling, n_threads=n_threads)
    return SoftPasses(table, memory=0.0).width_for_perplexity(w, share, n_anchors)


#: Parts of a pass over all pairs, each of some ranges of tiles.
Parts = Sequence[tuple[tuple[int, int], ...]]
#: Smallest distance and mass of every class, seen from every row: (n_classes, n_rows) each.
Statistics = tuple[NDArray[np.floating], NDArray[np.float64]]


class _Misses(NamedTuple):
    """The misses of all classes as one set, seen from every row."""

    #: (n_classes, n_rows) the masses of the classes, 0 for the row's own.
    mass_by_class: NDArray[np.float64]
    #: (n_classes, n_rows) what such a mass counts around the nearest miss of all.
    relative: NDArray[np.float64]
    #: (n_rows,) the nearest miss, and the mass around it.
    low: NDArray[np.float64]
    mass: NDArray[np.float64]


class SoftNeighborhoods:
    """Who is near whom under weights w: P_m, P_h and P_o of Sun 2007, eqs. (8) to (10).

    For every row n and class c, the smallest distance ``low`` to a row i of c, and the mass
    Σ_i f(d_ni − low) with f(d) = exp(−d/σ). All probabilities follow from the two.

    Parameters
    ----------
    passes : SoftPasses
        The rows, and what is known of their distances.
    w : (n_features,)
        Weights.
    sigma : float
        Kernel width.
    """

    def __init__(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> None:
        self._passes = passes
        self._table = passes.table
        self._w = w.copy()
        self._per_sigma = passes.per_sigma(sigma)
        passes.put_under(self._w)
        #: (n_rows,) how far further copies of a row are from it.
        self._between_duplicates = passes.rows.correction.between_duplicates
        self._low, self._mass = self._statistics()

    @property
    def inlier(self) -> NDArray[np.float64]:
        """γ_n = 1 − P_o (eq. 10), (n_samples,); 0 for a sample without a hit."""
        return self._table.unpacked(self._inlier_and_outlier()[0])

    @property
    def log_inlier(self) -> NDArray[np.float64]:
        """The logarithm of γ_n, (n_samples,), however small γ_n is; 0 for a sample without a hit."""
        table, misses = self._table, self._misses
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            of_hits = np.log(self._mass[table.codes, rows])
            farther = (self._low[table.codes, rows] - misses.low) * float(self._per_sigma)
            # γ = 1/(1 + exp(excess)): how much more the misses weigh.
            excess = np.log(misses.mass) - of_hits + farther
            log_inlier = -np.logaddexp(0.0, excess)
        return table.unpacked(np.where(self._valid, log_inlier, 0.0))

    def entropies(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Entropy of P_h and of P_m over the misses of all classes (Bei and Hong 2015), (n_samples,) each.

        In nats; both are 0 for a sample without a hit. Copies of a sample count one by one.
        """
        table, misses, moment = self._table, self._misses, self._moments()
        rows = np.arange(table.n_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            hit_mass = self._mass[table.codes, rows]
            hit = np.log(hit_mass) + moment[table.codes, rows] / hit_mass
            # Around the nearest miss of all, instead of the nearest of each class.
            shift = np.where(misses.relative > 0.0, (self._low - misses.low) * float(self._per_sigma), 0.0)
            moment[table.codes, rows] = 0.0
            of_misses = (misses.relative * (moment + misses.mass_by_class * shift)).sum(axis=0)
            miss = np.log(misses.mass) + of_misses / misses.mass
        valid = self._valid
        return table.unpacked(np.where(valid, hit, 0.0)), table.unpacked(np.where(valid, miss, 0.0))

    def mean_margin(
        self, *, pooled: bool, outliers: bool, hard: bool = False, only_positive: bool = False
    ) -> NDArray[np.float64]:
        """ν = (1/N) Σ_n γ_n (Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i|) (eq. 11), (n_features,).

        ``pooled``: the misses of all classes are one set (eq. 21), otherwise each class counts by itself,
        times P(c)/(1 − P(y)) (eq. 20). Without ``outliers`` γ is 1; with ``hard`` it is 1 − γ: samples
        among misses count most. With ``only_positive`` what is not positive may come as any number ≤ 0:
        eq. (12) asks for no more, and it takes less time.
        """
        table = self._table
        shares, inlier = self.shares(pooled)
        weight = table.row_weights * inlier if outliers else table.row_weights
        if hard:
            weight = table.row_weights * self._inlier_and_outlier()[1]
        self._passes.put_under(self._w)
        summed = self._passes.positive_sums if only_positive else self._passes.sum_differences
        nu = summed(self.coefficients(shares * weight))
        terms = weight.sum() * table.scaled.spans
        terms[self._passes.rows.correction.features] *= 2.0
        nu[np.abs(nu) <= table.rounding_of_sums * terms] = 0.0
        return nu / table.total_weight

    def margins(self, *, pooled: bool) -> NDArray[np.float64]:
        """ρ_n = Σ_i P_m d_ni − Σ_i P_h d_ni, without γ, (n_samples,); 0 for a sample without a hit."""
        shares, _ = self.shares(pooled)
        # E[d] = low + σ·moment/mass of every class, times the mass that the shares divide by.
        with np.errstate(invalid="ignore"):
            sums = self._low * self._mass + self._moments() / float(self._per_sigma)
        return self._table.unpacked(np.where(shares != 0.0, shares * sums, 0.0).sum(axis=0))

    def margin_columns(
        self,
        X: NDArray[np.floating],
        features: NDArray[np.int64],
        correction: MissingCorrection,
        *,
        pooled: bool,
    ) -> NDArray[np.float64]:
        """Σ_i P_m|x_n − x_i| − Σ_i P_h|x_n − x_i| of every row, over columns in the layout.

        These are the ``features`` of the table that ``correction`` belongs to.
        """
        table, passes = self._table, self._passes
        passes.put_under(self._w)
        passes.tiles()
        by = self.coefficients(self.shares(pooled)[0])
        check_room(
            8.0 * X.size,
            f"The margins of {len(X)} samples in each of {X.shape[1]} features",
            "Fewer features would do, or a larger alpha, by which fewer are looked at.",
        )
        Z = np.zeros(X.shape)
        correction_sums = correction.of_features(features)

        def of_rows(a: int, b: int) -> None:
            for start in range(a, b, distances.TILE):
                D = passes.distances_to(np.arange(start, min(start + distances.TILE, b)))
                soft.margins_from_distances(
                    X, D, 0, start, table.codes, passes.sample_weight, by.per_sigma, by.low, by.scales, Z
                )
                if correction.any:
                    missing_kernels.add_margin_corrections(
                        *correction_sums,
                        D,
                        start,
                        table.codes,
                        passes.sample_weight,
                        by.per_sigma,
                        by.low,
                        by.scales,
                        Z,
                    )

        run_all(of_rows, table.row_ranges(), table.n_threads)
        if by.own is not None:
            correction.add_between_duplicates(by.own, features, Z)
        return Z

    def margin_sum(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_n Σ_i factors[class of i, n]·f(d_ni − low)·|x_n − x_i|, feature by feature."""
        self._passes.put_under(self._w)
        return self._passes.sum_differences(self.coefficients(factors))

    def coefficients(self, factors: NDArray[np.float64]) -> Coefficients:
        """What makes of the distances the coefficients of such a sum."""
        scales = factors.astype(self._table.dtype)
        return Coefficients(self._per_sigma, self._low, scales, self._own_coefficients(factors))

    def _own_coefficients(self, factors: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Those of rows and their further copies, where these are not equal; None if all are.

        Copies may differ in features of weight 0, which are as far from each other as if they were equal.
        """
        if not self._passes.rows.correction.any or not self._table.counted:
            return None
        own = factors[self._table.codes, np.arange(self._table.n_rows)]
        return own * self._own_mass()[0]

    def _own_mass(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(s − 1)·f(d − low) of the s − 1 further copies in reach of every row, and (d − low)/σ."""
        table = self._table
        sample_weight = table.own_weight
        low = self._low[table.codes, np.arange(table.n_rows)].astype(np.float64)
        several = sample_weight > 1.0
        # Beyond, the share is 0, and stays 0 times a finite number.
        with np.errstate(over="ignore"):
            e = np.minimum(
                np.where(several, self._between_duplicates - low, 0.0) * float(self._per_sigma), 1e3
            )
        return np.where(several, sample_weight - 1.0, 0.0) * np.exp(-e), e

    def _statistics(self) -> Statistics:
        """Smallest distance and mass of every class, seen from every row."""
        table = self._table
        low, mass = self._statistics_of_pairs()
        # A sample's own further copies are hits, at distance 0 if nothing is missing.
        several = np.flatnonzero(table.own_weight > 1.0)
        at = table.codes[several], several
        own_low, own_mass = low[at], mass[at]
        own = self._between_duplicates[several].astype(table.dtype)
        merge_statistics(own_low, own_mass, own, table.own_weight[several] - 1.0, self._per_sigma)
        low[at], mass[at] = own_low, own_mass
        return low, mass

    def _statistics_of_pairs(self) -> Statistics:
        """The same without further copies of the rows themselves."""
        table, passes = self._table, self._passes
        passes.put_under(self._w)
        tiles, known = passes.tiles(filled=False)
        found = tile_statistics(table, passes.rows, tiles, known, self._per_sigma, parts_of_pass(table))
        passes.note_filled()
        return found

    @cached_property
    def _misses(self) -> _Misses:
        table, low, mass = self._table, self._low, self._mass
        of_misses = mass.copy()
        of_misses[table.codes, np.arange(table.n_rows)] = 0.0
        batch_constraint = np.where(of_misses > 0.0, low, np.inf)
        miss_low = batch_constraint.min(axis=0)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            relative = np.exp((miss_low - batch_constraint) * float(self._per_sigma))
            return _Misses(of_misses, relative, miss_low, (of_misses * relative).sum(axis=0))

    @cached_property
    def _valid(self) -> NDArray[np.bool_]:
        """Rows that have a hit and a miss."""
        hit_mass = self._mass[self._table.codes, np.arange(self._table.n_rows)]
        return self._table.real & (hit_mass > 0.0) & (self._misses.mass > 0.0)

    def shares(self, pooled: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of f(d − low) in the margin of every row, (n_classes, n_rows), and γ, (n_rows,).

        −1/Σf for hits; 1/Σf for misses, over all of them or over each class times P(c)/(1 − P(y)). A row
        without a hit or without a miss gets zeros.
        """
        table, misses = self._table, self._misses
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if pooled:
                shares = misses.relative / misses.mass
            else:
                shares = table.miss_factors[table.kinds].T / misses.mass_by_class
            shares[misses.mass_by_class <= 0.0] = 0.0
            rows = np.arange(table.n_rows)
            shares[table.codes, rows] = -1.0 / self._mass[table.codes, rows]
        shares[:, ~self._valid] = 0.0
        return shares, self._inlier_and_outlier()[0]

    def _inlier_and_outlier(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """γ and 1 − γ of every row, (n_rows,) each; both are 0 without a hit or without a miss."""
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
        """Σ f·(d − low)/σ over the rows of every class, seen from every row, (n_classes, n_rows)."""
        table = self._table
        moments = self._moments_of_pairs()
        if table.counted and self._between_duplicates.any():
            mass, e = self._own_mass()
            moments[table.codes, np.arange(table.n_rows)] += mass * e
        return moments

    def _moments_of_pairs(self) -> NDArray[np.float64]:
        """The same without further copies of the rows themselves."""
        table, passes = self._table, self._passes
        passes.put_under(self._w)
        tiles, known = passes.tiles(filled=False)
        parts = parts_of_pass(table)
        moments = tile_moments(table, passes.rows, tiles, known, self._per_sigma, self._low, parts)
        passes.note_filled()
        return moments


def parts_of_pass(table: Packed) -> Parts:
    """Into which parts a pass over all pairs is cut that gathers something of every row."""
    cut = even_ranges(table.n_tiles, table.n_parts(2 * table.n_classes * table.n_rows))
    return [(each,) for each in cut]


def tile_statistics(
    table: Packed,
    rows: RowsOfPass,
    tiles: NDArray[np.floating],
    known: bool,
    per_sigma: np.floating,
    parts: Parts,
) -> Statistics:
    """Smallest distance and mass of every class, seen from every row, over the pairs of some tiles.

    ``known``: whether the distances are in the tiles; otherwise they are computed, and stored if there is
    room. ``parts``: ranges of the tiles, those of a part one after the other.
    """
    shape = (table.n_classes, table.n_rows)
    sample_weight, far = table.sample_weight.astype(table.dtype), soft.masked_distance(table.dtype)

    def part(*ranges: tuple[int, int]) -> Statistics:
        found = np.full(shape, far, table.dtype), np.zeros(shape)
        for a, b in ranges:
            soft.tile_statistics(
                rows.X,
                rows.w,
                rows.sums,
                rows.correction.arrays,
                tiles,
                known,
                table.codes,
                sample_weight,
                per_sigma,
                far,
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
    table: Packed,
    rows: RowsOfPass,
    tiles: NDArray[np.floating],
    known: bool,
    per_sigma: np.floating,
    low: NDArray[np.floating],
    parts: Parts,
) -> NDArray[np.float64]:
    """Σ f·(d − low)/σ over the rows of every class, seen from every row; as :func:`tile_statistics`."""
    sample_weight, far = table.sample_weight.astype(table.dtype), soft.masked_distance(table.dtype)

    def part(*ranges: tuple[int, int]) -> NDArray[np.float64]:
        moment = np.zeros((table.n_classes, table.n_rows))
        for a, b in ranges:
            soft.tile_moments(
                rows.X,
                rows.w,
                rows.sums,
                rows.correction.arrays,
                tiles,
                known,
                table.codes,
                sample_weight,
                per_sigma,
                far,
                table.batches,
                table.within,
                low,
                a,
                b,
                moment,
            )
        return moment

    return sum_in_order(run_all(part, parts, table.n_threads))


# Margins of single samples, for the few features that a sparse solution is about.
#
# z̄_n = Σ_i α_in|x_n − x_i| − Σ_i β_in|x_n − x_i| has as many entries as the table. A sparse solution needs
# the columns of its own features, and of all others only to know that they stay out: the sums Σ_n r_n
# z̄_nj, which are sums over pairs, Σ_ni c_ni|x_nj − x_ij|, and take neither the memory nor the time of the
# columns.
#
# Most of these sums need not be made at all. When the coefficients have changed from c to c', no sum has
# grown by more than the range of its feature times Σ(c' − c)⁺. A feature that stays below the threshold by
# this bound is left alone, so that an iteration that hardly moves costs no more than its own features.


#: Sums of earlier coefficients that are kept, if there is memory, to bound later ones. An iteration makes
#: about three; one that runs in a cycle of two finds those of the step before the last.
_REFERENCES = 8
#: Fewer features are all summed: that takes no longer than to find out which.
_FEWEST_FEATURES = 256
#: Beyond this share of the features, all are summed, and become the reference of what follows.
_TOO_MANY = 0.2


class SparseMargins:
    """Margins under weights that change, of which few are not 0.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on distances and coefficients of pairs.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self.table = table
        self._memory = memory
        pairs = float(table.n_tiles) * distances.TILE**2 * table.dtype.itemsize
        n_stored = int(min(memory // pairs, 2 + _REFERENCES))
        #: Whether distances, coefficients and a reference fit.
        self.stored = n_stored > 2
        self.references: deque[Reference] = deque(maxlen=max(n_stored - 2, 0))
        #: Number of features whose sums were made, each time.
        self.n_summed: list[int] = []
        self._features: NDArray[np.int64] | None = None
        #: What is missing, of all features.
        self.correction = MissingCorrection(table)

    def width_for_perplexity(self, w: NDArray[np.float64], share: float) -> float:
        """Return σ at which a neighborhood holds, in effect, ``share`` of the other samples."""
        passes, w = self._under(w)
        if self.table.total_sample_weight > WIDTH_ANCHORS:
            # Which samples stand for all must not depend on the features that are at work.
            passes.content = self._content
        return passes.width_for_perplexity(w, share, WIDTH_ANCHORS)

    @cached_property
    def _content(self) -> NDArray[np.float64]:
        whole = self._passes if self._passes.table is self.table else self._passes_over(self.table)
        return whole.content

    def _passes_over(self, table: Packed) -> SoftPasses:
        return SoftPasses(table, self._memory)

    def _few(self, n_features: int, n_all: int) -> bool:
        """Whether so few features are at work that a copy of their columns pays."""
        return 2 * n_features <= n_all

    def execution(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return {
            "distances": "stored" if self.stored else "recomputed",
            "features_summed": list(self.n_summed),
        }

    def at(self, w: NDArray[np.float64], sigma: float) -> MarginColumns:
        """Margins under weights w and the kernel exp(−d/σ)."""
        passes, w = self._under(w)
        return self._columns(passes, self._neighborhoods(passes, w, sigma))

    def _neighborhoods(self, passes: SoftPasses, w: NDArray[np.float64], sigma: float) -> SoftNeighborhoods:
        return SoftNeighborhoods(passes, w, sigma)

    def _columns(self, passes: SoftPasses, near: SoftNeighborhoods) -> MarginColumns:
        return MarginColumns(self, passes, near)

    def _under(self, w: NDArray[np.float64]) -> tuple[SoftPasses, NDArray[np.float64]]:
        """Passes over the features of positive weight alone, and their weights."""
        features = np.flatnonzero(w)
        if not self.stored or not self._few(features.size, w.size):
            features = np.arange(w.size)
        if self._features is None or not np.array_equal(self._features, features):
            self._features = features
            table = self.table if features.size == w.size else self.table.of_features(features)
            self._passes = self._passes_over(table)
        return self._passes, w[features]


class BoundedSums(NamedTuple):
    """Sums of some features: numbers between which they lie, and how to find them."""

    features: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    of: Callable[[NDArray[np.int64]], NDArray[np.float64]]


class Reference:
    """Coefficients of pairs, and values that the sums which they gave do not exceed.

    ``own``: of rows and their further copies, where these are not equal.
    """

    def __init__(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, high: NDArray[np.float64]
    ) -> None:
        self._tiles, self._own, self._high = tiles, own, high

    def bounds(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, spans: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Values that the sums of other coefficients do not exceed."""
        growth = np.maximum(tiles - self._tiles, 0.0).sum(dtype=np.float64)
        if own is not None and self._own is not None:
            growth += np.maximum(own - self._own, 0.0).sum()
        rounding = 16.0 * np.finfo(tiles.dtype).eps * np.abs(tiles).sum(dtype=np.float64)
        return self._high + (growth + rounding) * spans


class MarginColumns:
    """The margins z̄_n of all samples under one w: columns of them, and sums over samples.

    Rows, and row weights, are in the order of the layout; padding counts nothing.
    """

    def __init__(self, source: SparseMargins, passes: SoftPasses, near: SoftNeighborhoods) -> None:
        self._source, self._passes, self._near = source, passes, near
        self._table = source.table
        self._shares = near.shares(pooled=True)[0]
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    @property
    def sample_weight(self) -> NDArray[np.float64]:
        """How often each row counts, times the weight of its class; 0 for padding."""
        return self._table.row_weights

    @property
    def rounding(self) -> float:
        """By how much, relatively, a sum may differ from that of the same margins in their columns."""
        return 1e-9 if self._table.dtype == np.float64 else 1e-4

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """z̄ of all rows for some features, (n_rows, n_features of them); the last ones are remembered."""
        if self._last is not None and np.array_equal(self._last[0], features):
            return self._last[1]
        X = self._written(features)
        Z = self._near.margin_columns(X, features, self._source.correction, pooled=True)[:, : features.size]
        self._last = features, Z
        return Z

    def _written(self, features: NDArray[np.int64]) -> NDArray[np.floating]:
        """Columns of some features, scaled, in the layout."""
        table = self._table
        width = packing.padded_width(features.size, table.dtype.itemsize)
        X = packing.aligned_zeros((table.n_rows, width), table.dtype)
        table.scaled.write(features, X)
        return X

    def features_above(self, row_weights: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
        """Features j with Σ_n r_n z̄_nj above a threshold, those with the largest sums first."""
        sums = self._sums(row_weights, threshold)
        near = (sums.low <= threshold) & (sums.high > threshold)
        exact = sums.of(sums.features[near])
        sums.low[near], sums.high[near] = exact, exact
        above = sums.low > threshold
        return sums.features[above][np.argsort(-sums.high[above], kind="stable")]

    def largest_sum(self, row_weights: NDArray[np.float64], features: NDArray[np.int64]) -> float:
        """The largest Σ_n r_n z̄_nj; it is probably that of one of the given features."""
        known = float((row_weights @ self.columns(features)).max(initial=-np.inf))
        sums = self._sums(row_weights, known)
        may_be = sums.high >= sums.low.max(initial=known)
        return float(sums.of(sums.features[may_be]).max(initial=known))

    def _sums(self, row_weights: NDArray[np.float64], threshold: float) -> BoundedSums:
        """Σ_n r_n z̄_nj of all features where they may be above the threshold."""
        factors = self._shares * row_weights
        if self._source.stored:
            sums = self._screened_sums(factors, threshold)
        else:
            exact = self._near.margin_sum(factors)
            sums = BoundedSums(np.arange(exact.size), exact, exact.copy(), lambda features: exact[features])
        self._source.n_summed.append(sums.features.size)
        return sums

    def _may_be_above(
        self, tiles: NDArray[np.floating], own: NDArray[np.float64] | None, threshold: float
    ) -> NDArray[np.int64]:
        """Features that no earlier sum says stay below a threshold, until few are left."""
        spans = self._table.scaled.spans
        bound = np.full(spans.size, np.inf)
        for reference in reversed(self._source.references):
            np.minimum(bound, reference.bounds(tiles, own, spans), out=bound)
            if np.count_nonzero(bound > threshold) <= _TOO_MANY * spans.size:
                break
        return np.flatnonzero(bound > threshold)

    def _screened_sums(self, factors: NDArray[np.float64], threshold: float) -> BoundedSums:
        """The same from stored distances, leaving out what earlier sums say of later ones."""
        tiles = self._passes.tiles()[0].copy()
        by = self._near.coefficients(factors)
        pairs = PairSums(self._table, tiles, by, self._source.correction)
        spans = self._table.scaled.spans
        features = self._may_be_above(tiles, by.own, threshold)
        if features.size <= _TOO_MANY * spans.size or spans.size < _FEWEST_FEATURES:
            exact = pairs.of(features)
            return BoundedSums(features, exact, exact.copy(), pairs.of)
        low, high = pairs.rough()
        self._source.references.append(Reference(tiles, by.own, high))
        return BoundedSums(np.arange(spans.size), low, high.copy(), pairs.of)
