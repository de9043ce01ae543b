"""Permutation tests: weights of features compared with their weights under permuted labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from .._dask.collections import is_dask_table, pairs_fit_on_client
from .._engine.labelings import RelabeledRows
from .._engine.limits import limits
from .._engine.memory import check_room
from ..base.meta import Decision, weights_of
from ..base.resampling import SEEDS, fit_members, seeded_clone, unseeded
from ..base.training_data import TrainingData
from ..methods.relief import Relief, ReliefF

# Permuted labels


def same_within(labels: NDArray[np.int64], groups: NDArray[np.int64]) -> bool:
    """Return whether all samples of each group have the same label."""
    order = np.lexsort((labels, groups))
    grouped, label = groups[order], labels[order]
    return not bool(np.any((grouped[1:] == grouped[:-1]) & (label[1:] != label[:-1])))


def relabelings(
    seeds: NDArray[np.int64],
    n_samples: int,
    strata: NDArray[np.int64] | None = None,
    blocks: NDArray[np.int64] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield, for each permutation, the sample whose label each sample gets, (n_samples,).

    Parameters
    ----------
    seeds : (n_permutations,) int
        Where the random numbers of each begin: more of them leave the first ones as they are.
    n_samples : int
        Number of samples.
    strata : (n_samples,) int, default=None
        Labels move within these only; numbers from 0 on.
    blocks : (n_samples,) int, default=None
        Samples of the same number, which have the same label, get the same label again, and are of one
        stratum.

    Yields
    ------
    places : (n_samples,) int
        Sample whose label goes here.
    """
    first = np.arange(n_samples)
    unit_of = first
    if blocks is not None:
        _, first, unit_of = np.unique(blocks, return_index=True, return_inverse=True)
    of_units = None if strata is None else strata[first]
    for seed in seeds:
        yield first[_shuffled(np.random.RandomState(seed), first.size, of_units)][unit_of]


def _shuffled(random: np.random.RandomState, n: int, strata: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return a permutation of 0 … n − 1 within strata."""
    shuffled = random.permutation(n)
    if strata is None:
        return shuffled
    places = np.empty(n, dtype=np.int64)
    places[np.argsort(strata, kind="stable")] = shuffled[np.argsort(strata[shuffled], kind="stable")]
    return places


# Tests of many features


#: Standardized weights that differ by less are equal: sums in single precision differ by rounding.
TIED = 1e-4
#: A feature whose weights vary by less than this, relative to their size, does not vary.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class OwnNull:
    """Mean and variance of the weights of every feature under permuted labels, (n_features,).

    A weight is standardized by the mean and the standard deviation of those under permuted labels and itself.
    If labels are exchangeable then so are the n_permutations + 1 rows of weights, and they stay so: the
    observed row is not treated differently. Nor is another row that is put in its place.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_permutations: int

    @classmethod
    def of(cls, null: NDArray[np.floating]) -> OwnNull:
        """Compute it from weights under permuted labels, (n_permutations, n_features)."""
        mean = null.mean(axis=0, dtype=np.float64)
        squares = np.zeros_like(mean)
        for each in null:
            squares += (each - mean) ** 2
        return cls(mean, squares / len(null), len(null))

    def with_one_more(self, weights: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of the null and one more weight, (…, n_features) each."""
        n = self.n_permutations
        apart = weights - self.mean
        return self.mean + apart / (n + 1), np.sqrt((self.variance + apart**2 / (n + 1)) * (n / (n + 1)))

    def standardized(self, weights: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return standardized observed weights, (…, n_features); 0 for features that do not vary."""
        mean, deviation = self.with_one_more(weights)
        return np.asarray((weights - mean) * _slope(mean, deviation))

    def standardized_null(
        self, observed: NDArray[np.floating], null: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Return standardized weights under permuted labels, in their precision if it suffices."""
        mean, deviation = self.with_one_more(observed)
        slope = _slope(mean, deviation)
        dtype = null.dtype if slope.max(initial=0.0) < np.finfo(null.dtype).max else np.dtype(np.float64)
        return np.asarray((null - mean.astype(dtype)) * slope.astype(dtype))

    def varies(self, observed: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return the mask of the features whose weights vary."""
        return _slope(*self.with_one_more(observed)) > 0.0

    def of_features(self, columns: NDArray[np.bool_] | slice) -> OwnNull:
        """Return the null of some features."""
        return OwnNull(self.mean[columns], self.variance[columns], self.n_permutations)


def _slope(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1/deviation; 0 where it is 0 up to rounding."""
    varies = deviation > _CONSTANT * np.abs(mean)
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)


def pooled_pvalues(observed: NDArray[np.floating], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the p-value of every feature in the pooled null of all features.

    (1 + #{null >= observed}) / (1 + size of null): never 0, and as fine as all features together are.

    Parameters
    ----------
    observed : (n_features,)
        Standardized weights.
    null : (n_permutations, n_null_features)
        Those to compare with.
    """
    pool = np.sort(null, axis=None)
    below = np.searchsorted(pool, (observed - TIED).astype(pool.dtype), side="left")
    return np.asarray((1.0 + pool.size - below) / (1.0 + pool.size))


def step_down_maxt(observed: NDArray[np.floating], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the adjusted p-values of Westfall and Young (1993), by successive maxima.

    The best feature is compared with the maximum over all features in every permutation, the second with
    that over all but the best, and so on; no p-value is below that of a better feature.

    Parameters
    ----------
    observed : (n_features,)
        Standardized weights.
    null : (n_permutations, n_features)
        The same under permuted labels; −inf for a feature that others are not compared with.
    """
    order = np.argsort(-observed, kind="stable")
    # Maxima over each feature and all worse ones.
    maxima = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    counts = (maxima >= observed[order] - TIED).sum(axis=0)
    adjusted = np.empty(observed.size)
    adjusted[order] = np.maximum.accumulate((1.0 + counts) / (1.0 + len(null)))
    return adjusted


def benjamini_hochberg(pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest false discovery rate at which each feature is selected (BH 1995)."""
    n = pvalues.size
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * (n / np.arange(1.0, n + 1.0))
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def global_pvalue(observed: NDArray[np.floating], null: NDArray[np.floating]) -> float:
    """Return the p-value of the global null: how often permuted labels reach a rate as low as the observed.

    The rate is the lowest that :func:`benjamini_hochberg` makes of :func:`pooled_pvalues`. Features that
    depend on each other reach low ones together, more often than the procedure allows for; here every row
    is compared with all others as the observed one is, so this p-value is exact under any dependence.

    Parameters
    ----------
    observed : (n_features,)
        Standardized weights.
    null : (n_permutations, n_features)
        The same under permuted labels.
    """
    n_permutations, n = null.shape
    own = observed.astype(null.dtype)
    pool = np.sort(np.concatenate([own, null.ravel()]))

    def lowest(row: NDArray[np.floating], from_: float) -> float:
        top = np.sort(row[row >= from_])
        least = (top - TIED).astype(top.dtype)
        in_row = np.sort(row[row >= from_ - 2.0 * TIED])
        above = pool.size - np.searchsorted(pool, least) - (in_row.size - np.searchsorted(in_row, least))
        rates = (1.0 + above) / (1.0 + n_permutations * n) * (n / np.arange(top.size, 0.0, -1.0))
        return float(min(rates.min(initial=1.0), 1.0))

    reached = lowest(own, -np.inf)
    # Smaller statistics cannot have a p-value, and so a rate, as low.
    most = int(reached * (1 + n_permutations * n)) + n
    from_ = float(pool[-most]) if most < pool.size else -np.inf
    count = sum(lowest(each, from_) <= reached * (1.0 + 1e-12) for each in null)
    return (1.0 + count) / (1.0 + n_permutations)


#: Statistics: the weights, or the weights times the mean margin.
STATISTICS = ("auto", "weights", "margins")
#: Largest number of fits of the second round.
MOST_REALIGNED = 200
#: Copies of the weights under permuted labels that are in memory at a time.
_N_NULLS = 3
#: Smallest weights whose squares overflow, in double and in single precision.
_LARGEST, _LARGEST_SINGLE = 1e140, 1e15

Advance = Callable[[], bool]


@dataclass(frozen=True)
class Exchange:
    """Which labels are exchangeable."""

    #: (n_samples,) labels are permuted within these strata; None: among all samples.
    strata: NDArray[np.int64] | None
    #: (n_samples,) blocks of samples that keep a common label; None: each sample is a block.
    blocks: NDArray[np.int64] | None

    @classmethod
    def among(
        cls, y: NDArray[Any], groups: NDArray[np.int64] | None, batches: NDArray[np.int64] | None
    ) -> Exchange:
        """Permute within batches, and within groups, or whole groups if each has a single label."""
        labels = _label_codes(y)
        blocks = groups if groups is not None and same_within(labels, groups) else None
        strata = [each for each in (groups if blocks is None else None, batches) if each is not None]
        if not strata:
            return cls(None, blocks)
        codes = np.unique(np.stack(strata), axis=1, return_inverse=True)[1].ravel()
        if blocks is not None:
            # A group in two batches is permuted within each.
            blocks = np.unique(np.stack([blocks, codes]), axis=1, return_inverse=True)[1].ravel()
        found = cls(codes, blocks)
        if same_within(labels, codes):
            raise ValueError(
                "Labels cannot be permuted: all samples of a batch, or of a batch and group, have the same"
                " label; label and batch are confounded."
            )
        return found

    def places(self, seeds: NDArray[np.int64], n_samples: int) -> list[NDArray[np.int64]]:
        """Return, for each permutation, the sample whose label each sample gets."""
        return list(relabelings(seeds, n_samples, self.strata, self.blocks))


@dataclass(frozen=True)
class PermutationTest:
    """Refits of an estimator to permuted labels.

    Parameters
    ----------
    fitted : estimator
        A clone that was fitted to the data.
    data : TrainingData
        Its training data.
    exchange : Exchange
        Which labels are exchangeable.
    statistic : str
        One of ``STATISTICS``.
    weighter : FeatureWeighter or None
        The innermost estimator, if it is a weighter of this package.
    n_jobs : int or None
        Number of concurrent fits.
    advance : callable
        Called after every fit; returns whether to stop.
    """

    fitted: Any
    data: TrainingData
    exchange: Exchange
    statistic: str
    weighter: Any
    n_jobs: int | None
    advance: Advance

    def decide(self, seeds: NDArray[np.int64], control: str, level: float, *, keep_found: bool) -> Decision:
        """Compare the weights with those under permuted labels, and select the significant features.

        ``keep_found``: a second round keeps the selected features aligned with the labels, and permutes the
        rows of all others against both. If no feature was selected, there is no second round, and the first
        one is exact.
        """
        n_features, largest = self.data.X.shape[1], _largest(self.fitted, self.data)
        if not largest < _LARGEST:
            raise ValueError(
                f"The weights are as large as {largest:g}, and sums of squares of such numbers leave the"
                ' range of floating point; use scale="range".'
            )
        check_room(
            8.0 * _N_NULLS * seeds.size * n_features,
            f"The weights of {n_features} features by {seeds.size} permutations",
            "Use fewer permutations or features.",
        )
        places = self.exchange.places(seeds, self.data.n_samples)
        weights, null = self._weights(places)
        own = OwnNull.of(null)
        varies = own.varies(weights)
        if not varies.any():
            return _decision(varies, np.empty(0), np.empty(0), np.empty(0), control, level)
        # Features that never vary are excluded from the pool and from the number of tests.
        columns = slice(None) if varies.all() else varies
        own, weights = own.of_features(columns), weights[columns]
        observed, null = own.standardized(weights), own.standardized_null(weights, null[:, columns])
        others = np.ones(observed.size, dtype=np.bool_)
        least = global_pvalue(observed, null) if control == "fdr" else 0.0
        evidence = np.maximum(_evidence(observed, null, others, control), least)
        found = evidence <= level
        if keep_found and found.any() and not found.all() and self.exchange.blocks is None:
            again = self.realigned(_among(varies, found, False), places[:MOST_REALIGNED])
            if again:
                null, others = own.standardized(np.stack(again)[:, columns]), ~found
                evidence = np.maximum(_evidence(observed, null, others, control), least)
        pvalues = _pvalues(observed, null, others) if control == "fdr" else evidence
        return _decision(varies, observed, pvalues, evidence, control, level)

    # Weights under permuted labels

    def _weights(
        self, places: Sequence[NDArray[np.int64]]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return the statistics under the observed and under permuted labels."""
        if self.all_at_once:
            identity = np.arange(self.data.n_samples)
            codes = self.data.codes[np.stack([identity, *places])]
            weights = self._relabeled_rows().mean_margins(codes, np.float32)
            for _ in places:
                self.advance()
            return weights[0], weights[1:]
        return self._statistic(self.fitted, self.data.X, self.data.y), self.null(places)

    def null(self, places: Sequence[NDArray[np.int64]]) -> NDArray[np.floating]:
        """Return the statistics under permuted labels, (n_permutations, n_features)."""
        if self.all_at_once:
            return self._weights(places)[1]
        return np.stack(self._refits([(self.data.X, self.data.y[each]) for each in places]))

    @property
    def all_at_once(self) -> bool:
        """Whether no refits are needed: neighbors do not depend on labels, and there is no metadata."""
        fitted, data = self.fitted, self.data
        # Balanced class weights change where whole groups are permuted.
        resized = self.exchange.blocks is not None and isinstance(
            fitted.get_params().get("class_weight"), str
        )
        plain = (
            type(fitted) in (Relief, ReliefF)
            and not fitted._draws_anchors
            and getattr(fitted, "categorical_features", None) is None
            and not sparse.issparse(data.X)
            and data.ranges.finite
            and data.sample_weight is None
            and not data.metadata_for("estimator")
            and data.n_samples <= limits.label_samples
            # Squares must be finite in single precision.
            and _largest(fitted, data) < _LARGEST_SINGLE
            and pairs_fit_on_client(data.X)
        )
        return plain and not resized and self.statistic != "margins"

    def _relabeled_rows(self) -> RelabeledRows:
        weighter, data = clone(self.fitted), self.data
        X = data.X if np.issubdtype(data.X.dtype, np.floating) else data.X.astype(np.float64)
        engine = weighter._choose_engine(weighter._check_fit(X, data.y))
        return engine.relabeled(weighter._neighborhood(), weighter._class_weights)

    def realigned(
        self, found: NDArray[np.bool_], places: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.floating]]:
        """Return weights with selected features aligned with the labels, and the rows of others permuted."""
        X = self.data.X
        return self._refits([(partial(_permuted, X, found, each), self.data.y) for each in places])

    def _refits(self, tables: Sequence[tuple[Any, NDArray[Any]]]) -> list[NDArray[np.floating]]:
        names = unseeded(self.fitted)
        seeds = np.random.RandomState(len(tables)).randint(SEEDS, size=len(tables))
        fit = partial(self._refit, names)
        arguments = [(*each, int(seed)) for each, seed in zip(tables, seeds, strict=True)]
        with warnings.catch_warnings():
            # Warnings about permuted labels are of no use.
            warnings.simplefilter("ignore")
            weights = fit_members(
                fit,
                arguments,
                self.advance,
                ours=self.weighter is not None,
                n_jobs=self.n_jobs,
                X=self.data.X,
            )
        return [each for each in weights if each is not None]

    def _refit(self, names: list[str], argument: tuple[Any, NDArray[Any], int]) -> NDArray[np.float64]:
        X, y, seed = argument
        samples = X() if callable(X) else X
        member = seeded_clone(self.fitted, names, seed)
        member.fit(samples, y, **self.data.metadata_for("estimator"))
        return self._statistic(member, samples, y)

    def _statistic(self, fitted: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the statistic of a fitted estimator."""
        weights = weights_of(fitted, self.data.X.shape[1])
        if not self._by_margins:
            return weights
        metadata = self.data.metadata_for("estimator")
        batches = {"batches": metadata["batches"]} if "batches" in metadata else {}
        margins = np.average(np.nan_to_num(fitted.margins(X, y, **batches)), weights=self.data.sample_weight)
        return weights * float(margins)

    @property
    def _by_margins(self) -> bool:
        if self.statistic != "auto":
            return self.statistic == "margins"
        return hasattr(self.fitted, "margins") and not isinstance(self.weighter, (Relief, ReliefF))


def _largest(fitted: Any, data: TrainingData) -> float:
    """Return the largest absolute weight."""
    return float(np.abs(weights_of(fitted, data.X.shape[1])).max())


def _among(varies: NDArray[np.bool_], of_those: NDArray[Any], otherwise: Any) -> NDArray[Any]:
    """Return values of the varying features among all features."""
    values = np.full(varies.size, otherwise, dtype=of_those.dtype)
    values[varies] = of_those
    return values


def _decision(
    varies: NDArray[np.bool_],
    observed: NDArray[np.float64],
    pvalues: NDArray[np.float64],
    evidence: NDArray[np.float64],
    control: str,
    level: float,
) -> Decision:
    evidence = _among(varies, evidence, 1.0)
    statistic, support = _among(varies, observed, 0.0), evidence <= level
    return Decision(
        support=support,
        statistic=statistic,
        pvalues=_among(varies, pvalues, 1.0),
        qvalues=evidence if control == "fdr" else None,
        threshold=float(statistic[support].min(initial=np.inf)),
    )


def _evidence(
    observed: NDArray[np.floating], null: NDArray[np.floating], others: NDArray[np.bool_], control: str
) -> NDArray[np.float64]:
    """Return what is compared with the level; ``others``: mask of the features that form the null."""
    if control == "fdr":
        return benjamini_hochberg(_pvalues(observed, null, others))
    return step_down_maxt(observed, np.where(others, null, -np.inf))


def _pvalues(
    observed: NDArray[np.floating], null: NDArray[np.floating], others: NDArray[np.bool_]
) -> NDArray[np.float64]:
    return pooled_pvalues(observed, null if others.all() else null[:, others])


def _permuted(X: Any, found: NDArray[np.bool_], places: NDArray[np.int64]) -> Any:
    """Return X with the rows of all features permuted, except for the selected ones."""
    if sparse.issparse(X):
        columns = np.concatenate([np.flatnonzero(found), np.flatnonzero(~found)])
        rows = X.tocsr()
        together = sparse.hstack([rows[:, found], rows[places][:, ~found]], format="csr")
        return together[:, np.argsort(columns)].asformat(X.format)
    if is_dask_table(X):
        return X.with_permuted_rows(found, places)
    permuted = X[places]
    permuted[:, found] = X[:, found]
    return permuted


def _label_codes(y: NDArray[Any]) -> NDArray[np.int64]:
    axis = 0 if y.ndim > 1 else None
    return np.unique(y, axis=axis, return_inverse=True)[1].ravel()
