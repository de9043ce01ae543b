"""Which features weigh more than they would if the labels were dealt out at random."""

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
from .._engine.memory import check_room
from ..base.meta import Decision, weights_of
from ..base.resampling import SEEDS, fit_members, seeded_clone, unseeded
from ..base.training_data import TrainingData
from ..methods.relief import Relief, ReliefF

# Labels dealt out anew, so that no feature has anything to do with them.


def same_within(labels: NDArray[np.int64], groups: NDArray[np.int64]) -> bool:
    """Whether all samples of a group have the same label, in every group."""
    order = np.lexsort((labels, groups))
    grouped, label = groups[order], labels[order]
    return not bool(np.any((grouped[1:] == grouped[:-1]) & (label[1:] != label[:-1])))


def relabelings(
    seeds: NDArray[np.int64],
    n_samples: int,
    strata: NDArray[np.int64] | None = None,
    blocks: NDArray[np.int64] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Whose label each sample gets, (n_samples,), one after the other.

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
    """A permutation of 0 … n − 1 that leaves every place in its stratum."""
    shuffled = random.permutation(n)
    if strata is None:
        return shuffled
    places = np.empty(n, dtype=np.int64)
    places[np.argsort(strata, kind="stable")] = shuffled[np.argsort(strata[shuffled], kind="stable")]
    return places


# Many features judged at once: weights beside those under permuted labels, and what may be kept.


#: Standardized weights that differ by less are the same: sums of single precision differ by rounding.
TIED = 1e-4
#: A feature whose weights vary by less than this, relative to their size, does not vary.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class OwnNull:
    """What every feature weighs where labels say nothing: its mean and variance, (n_features,).

    A weight is standardized by the mean and the standard deviation of those under permuted labels and itself.
    If labels are exchangeable then so are the n_permutations + 1 rows of weights, and they stay so: the
    observed row is not treated differently. Nor is another row that is put in its place.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_permutations: int

    @classmethod
    def of(cls, null: NDArray[np.floating]) -> OwnNull:
        """From the weights by permuted labels, (n_permutations, n_features)."""
        mean = null.mean(axis=0, dtype=np.float64)
        squares = np.zeros_like(mean)
        for each in null:
            squares += (each - mean) ** 2
        return cls(mean, squares / len(null), len(null))

    def with_one_more(self, weights: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the null and one weight more, (…, n_features) each."""
        n = self.n_permutations
        apart = weights - self.mean
        return self.mean + apart / (n + 1), np.sqrt((self.variance + apart**2 / (n + 1)) * (n / (n + 1)))

    def standardized(self, weights: NDArray[np.floating]) -> NDArray[np.float64]:
        """Weights of the labels as they are, or in their place, (…, n_features); 0 where nothing varies."""
        mean, deviation = self.with_one_more(weights)
        return np.asarray((weights - mean) * _slope(mean, deviation))

    def standardized_null(
        self, observed: NDArray[np.floating], null: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """The weights by permuted labels beside the observed ones; single precision stays so if it can."""
        mean, deviation = self.with_one_more(observed)
        slope = _slope(mean, deviation)
        dtype = null.dtype if slope.max(initial=0.0) < np.finfo(null.dtype).max else np.dtype(np.float64)
        return np.asarray((null - mean.astype(dtype)) * slope.astype(dtype))

    def varies(self, observed: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features have anything to be compared with."""
        return _slope(*self.with_one_more(observed)) > 0.0

    def of_features(self, columns: NDArray[np.bool_] | slice) -> OwnNull:
        """Those of some features."""
        return OwnNull(self.mean[columns], self.variance[columns], self.n_permutations)


def _slope(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/deviation; 0 where there is none, but for rounding."""
    varies = deviation > _CONSTANT * np.abs(mean)
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)


def pooled_pvalues(observed: NDArray[np.floating], null: NDArray[np.floating]) -> NDArray[np.float64]:
    """p-value of every feature among the standardized weights of many features under permuted labels.

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
    """Adjusted p-values of Westfall and Young (1993), by successive maxima.

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
    # From the worst feature to the best: the maxima over it and all that are worse.
    maxima = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    counts = (maxima >= observed[order] - TIED).sum(axis=0)
    adjusted = np.empty(observed.size)
    adjusted[order] = np.maximum.accumulate((1.0 + counts) / (1.0 + len(null)))
    return adjusted


def benjamini_hochberg(pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest level of the false discovery rate at which each feature is kept (BH 1995)."""
    n = pvalues.size
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * (n / np.arange(1.0, n + 1.0))
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def global_pvalue(observed: NDArray[np.floating], null: NDArray[np.floating]) -> float:
    """p-value of "no feature is real": how often permuted labels get to a rate as low as the observed ones.

    The rate is the lowest that :func:`benjamini_hochberg` makes of :func:`pooled_pvalues`. Features that
    depend on each other reach low ones together, more often than the procedure allows for; here every row
    is judged among all others as the observed one is, so that this p-value is exact whatever they depend on.

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
    # Nothing below this can have a p-value, and so a rate, as low.
    most = int(reached * (1 + n_permutations * n)) + n
    from_ = float(pool[-most]) if most < pool.size else -np.inf
    count = sum(lowest(each, from_) <= reached * (1.0 + 1e-12) for each in null)
    return (1.0 + count) / (1.0 + n_permutations)


#: What is compared: the weights, or the weights times the mean margin.
STATISTICS = ("auto", "weights", "margins")
#: Most fits with the features that were found kept beside the labels.
MOST_REALIGNED = 200
#: Samples up to which lists of all neighbors are held.
_MOST_LISTED = 8192
#: Tables of weights by permuted labels that there are at the same time.
_N_NULLS = 3
#: Weights from which on they cannot be squared, and where they are in single precision.
_LARGEST, _LARGEST_SINGLE = 1e140, 1e15

Advance = Callable[[], bool]


@dataclass(frozen=True)
class Exchange:
    """Which labels may be exchanged."""

    #: (n_samples,) labels move within these; None: anywhere.
    strata: NDArray[np.int64] | None
    #: (n_samples,) samples that get the same label again; None: each its own.
    blocks: NDArray[np.int64] | None

    @classmethod
    def among(
        cls, y: NDArray[Any], groups: NDArray[np.int64] | None, batches: NDArray[np.int64] | None
    ) -> Exchange:
        """Within batches; within groups, or, where all samples of a group have one label, of whole groups."""
        labels = _label_codes(y)
        blocks = groups if groups is not None and same_within(labels, groups) else None
        strata = [each for each in (groups if blocks is None else None, batches) if each is not None]
        if not strata:
            return cls(None, blocks)
        codes = np.unique(np.stack(strata), axis=1, return_inverse=True)[1].ravel()
        if blocks is not None:
            # A group that is in two batches is exchanged in each by itself.
            blocks = np.unique(np.stack([blocks, codes]), axis=1, return_inverse=True)[1].ravel()
        found = cls(codes, blocks)
        if same_within(labels, codes):
            raise ValueError(
                "Labels cannot be permuted: all samples of a batch, or of a batch and group, have the same"
                " label, so that nothing tells what goes with the label from what goes with the batch."
            )
        return found

    def places(self, seeds: NDArray[np.int64], n_samples: int) -> list[NDArray[np.int64]]:
        """Whose label each sample gets, permutation by permutation."""
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
        Which labels may be exchanged.
    statistic : str
        One of ``STATISTICS``.
    weighter : FeatureWeighter or None
        The weighter of this package in the middle of it, if there is one.
    n_jobs : int or None
        How many fits at a time.
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
        """Compare the weights with those by permuted labels, and keep what stands out.

        ``keep_found``: what is found is kept beside the labels in a second round, in which the rows of all
        other features are permuted against both. Only if something is found: where nothing is, the labels
        are all that there is to permute, and the first round is exact.
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
            "Fewer permutations or features would do.",
        )
        places = self.exchange.places(seeds, self.data.n_samples)
        weights, null = self._weights(places)
        own = OwnNull.of(null)
        varies = own.varies(weights)
        if not varies.any():
            return _decision(varies, np.empty(0), np.empty(0), np.empty(0), control, level)
        # What never varies is no part of it: neither of the pool, nor of the number of features.
        columns = slice(None) if varies.all() else varies
        own, weights = own.of_features(columns), weights[columns]
        observed, null = own.standardized(weights), own.standardized_null(weights, null[:, columns])
        others = np.ones(observed.size, dtype=np.bool_)
        least = global_pvalue(observed, null) if control == "fdr" else 0.0
        evidence = np.maximum(_evidence(observed, null, others, control), least)
        found = evidence <= level
        if keep_found and found.any() and not found.all() and self.exchange.blocks is None:
            again = self._realigned(_among(varies, found, False), places[:MOST_REALIGNED])
            if again:
                null, others = own.standardized(np.stack(again)[:, columns]), ~found
                evidence = np.maximum(_evidence(observed, null, others, control), least)
        pvalues = _pvalues(observed, null, others) if control == "fdr" else evidence
        return _decision(varies, observed, pvalues, evidence, control, level)

    # Weights by permuted labels

    def _weights(
        self, places: Sequence[NDArray[np.int64]]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """What is compared, by the labels as they are and by permuted ones."""
        if self.all_at_once:
            as_they_are = np.arange(self.data.n_samples)
            codes = self.data.codes[np.stack([as_they_are, *places])]
            weights = self._relabeled_rows().mean_margins(codes, np.float32)
            for _ in places:
                self.advance()
            return weights[0], weights[1:]
        observed = self._compared(self.fitted, self.data.X, self.data.y)
        return observed, np.stack(self._refits([(self.data.X, self.data.y[each]) for each in places]))

    @property
    def all_at_once(self) -> bool:
        """Whether neighbors do not depend on labels, and nothing else is told: no refits are needed."""
        fitted, data = self.fitted, self.data
        # Class weights that follow from the sizes of classes differ where whole groups are exchanged.
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
            and data.n_samples <= _MOST_LISTED
            # In single precision: squares must be numbers.
            and _largest(fitted, data) < _LARGEST_SINGLE
            and pairs_fit_on_client(data.X)
        )
        return plain and not resized and self.statistic != "margins"

    def _relabeled_rows(self) -> RelabeledRows:
        weighter, data = clone(self.fitted), self.data
        X = data.X if np.issubdtype(data.X.dtype, np.floating) else data.X.astype(np.float64)
        engine = weighter._engine(weighter._check_fit(X, data.y))
        return engine.relabeled(weighter._neighborhood(), weighter._class_weights)

    def _realigned(
        self, found: NDArray[np.bool_], places: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.floating]]:
        """Weights with the features that were found left beside the labels, and all others moved."""
        X = self.data.X
        return self._refits([(partial(_moved, X, found, each), self.data.y) for each in places])

    def _refits(self, tables: Sequence[tuple[Any, NDArray[Any]]]) -> list[NDArray[np.floating]]:
        names = unseeded(self.fitted)
        seeds = np.random.RandomState(len(tables)).randint(SEEDS, size=len(tables))
        fit = partial(self._refit, names)
        arguments = [(*each, int(seed)) for each, seed in zip(tables, seeds, strict=True)]
        with warnings.catch_warnings():
            # What a weighter says of labels that mean nothing is of no use to anyone.
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
        return self._compared(member, samples, y)

    def _compared(self, fitted: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """The weights of a fitted estimator; times its mean margin, unless they are margins."""
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
    """The largest weight, signs apart."""
    return float(np.abs(weights_of(fitted, data.X.shape[1])).max())


def _among(varies: NDArray[np.bool_], of_those: NDArray[Any], otherwise: Any) -> NDArray[Any]:
    """What is known of features that vary, in its place among all."""
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
    """What is compared with the level; ``others`` are the features whose weights make the null."""
    if control == "fdr":
        return benjamini_hochberg(_pvalues(observed, null, others))
    return step_down_maxt(observed, np.where(others, null, -np.inf))


def _pvalues(
    observed: NDArray[np.floating], null: NDArray[np.floating], others: NDArray[np.bool_]
) -> NDArray[np.float64]:
    return pooled_pvalues(observed, null if others.all() else null[:, others])


def _moved(X: Any, found: NDArray[np.bool_], places: NDArray[np.int64]) -> Any:
    """The table with the rows of all features but those found in another order."""
    if sparse.issparse(X):
        columns = np.concatenate([np.flatnonzero(found), np.flatnonzero(~found)])
        rows = X.tocsr()
        together = sparse.hstack([rows[:, found], rows[places][:, ~found]], format="csr")
        return together[:, np.argsort(columns)].asformat(X.format)
    if is_dask_table(X):
        return X.with_permuted_rows(found, places)
    moved = X[places]
    moved[:, found] = X[:, found]
    return moved


def _label_codes(y: NDArray[Any]) -> NDArray[np.int64]:
    axis = 0 if y.ndim > 1 else None
    return np.unique(y, axis=axis, return_inverse=True)[1].ravel()
