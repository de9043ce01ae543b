"""How many features to keep: one recommended number, with its reason.

A method that controls an error rate itself decides itself. Of any other, the weights are compared with those
of fits to permuted labels, which have the same size and dependence, but nothing to find.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._engine.limits import limits
from .._engine.parameters import random_generator
from ..base.meta import fit_inside, weights_of
from ..base.progress import watched
from ..base.resampling import SEEDS
from ..base.selector import takes_continuous_target
from ..base.validation import label_codes
from ..io.cells import counted
from ..methods.high_relief import tail_evidence
from ..selection.cross_validation import CrossValidatedSelector
from ..selection.error_control import ErrorControlledSelector
from ..selection.kernel_width import KernelWidthCV
from ..selection.permutation import Exchange, PermutationTest, benjamini_hochberg
from ..selection.redundancy import RedundancyFilter
from .interactions import weight_norm

#: Familywise error rate of the recommendation, and false discovery rate of the longer list beside it.
LEVEL = 0.1
#: Share of the null weights that its exponential tail continues, and their smallest number.
_TAIL, _FEWEST_IN_TAIL = 0.05, 20
#: Share of equal null weights from which on they are weights of unused features, such as 0.
_UNUSED = 0.05
#: Fits to halves: fewest and most.
_HALVES = (4, 20)
#: Null weights of a round: fewest and most, and the fits that these may take. One fit has them from 60
#: features on.
_NULL_WEIGHTS = (60, 200)
_PERMUTATIONS = (5, 20)
#: Rounds of permutations.
_ROUNDS = 2
#: Work of a fit to half of the samples relative to all; of HighRelief, whose scan of pairs grows more slowly.
_OF_HALF, _OF_HALF_SEARCH = 0.25, 0.35
#: Passes over all pairs of samples that take as long as the searches of HighRelief.
_SEARCHES = 30.0
#: Fits that every resampling may take.
_FITS = 3.0
#: Features by which the work of a pair of samples counts more than those that it has.
_PAIR = 50


def fit_work(fitted: Any, n_samples: int, n_features: int) -> float:
    """Return the work of a fit like a given one, in squared samples times features times iterations."""
    n_iter = max(float(np.max(getattr(fit_inside(fitted), "n_iter_", 1))), 1.0)
    passes = _SEARCHES if _searches(fitted) else n_iter
    return float(n_samples) ** 2 * (n_features + _PAIR) * passes


def _searches(fitted: Any) -> bool:
    """Return whether a fit is one of HighRelief."""
    return hasattr(fit_inside(fitted), "found_by_")


class Resampling(NamedTuple):
    """Numbers of refits."""

    #: To halves of the samples; 0 or an even number.
    n_halves: int
    #: To permuted labels, in each of two rounds; 0 for a method that decides itself.
    n_permutations: int

    @property
    def n_fits(self) -> float:
        """Their work, in fits to all samples."""
        return _OF_HALF * self.n_halves + _ROUNDS * self.n_permutations

    @property
    def words(self) -> str:
        """The refits in words."""
        halves = [f"{self.n_halves} halves"] if self.n_halves else []
        permutations = [counted(self.n_permutations, "permutation")] if self.n_permutations else []
        return " and ".join(halves + permutations)


def default_resampling(fitted: Any, n_samples: int, n_features: int) -> Resampling:
    """Return the numbers of refits by default: the work of three fits, and more on small tables.

    They depend on the size of the table and the iterations of the fit only, so that a repeated run does the
    same. A method that decides itself is not fitted to permuted labels.
    """
    fits = max(_FITS, limits.resampling_work / fit_work(fitted, n_samples, n_features))
    of_half = _OF_HALF_SEARCH if _searches(fitted) else _OF_HALF
    n_permutations = 0
    if not decides_itself(fitted):
        least, most = (
            min(-(-n_weights // n_features), n_fits)
            for n_weights, n_fits in zip(_NULL_WEIGHTS, _PERMUTATIONS, strict=True)
        )
        n_permutations = int(min(max(fits / (2 * _ROUNDS), least), max(most, _PERMUTATIONS[0])))
    fewest, all_halves = _HALVES
    half_pairs = (fits - _ROUNDS * n_permutations) / (2.0 * of_half)
    return Resampling(2 * int(min(max(half_pairs, fewest / 2), all_halves / 2)), n_permutations)


@dataclass(frozen=True)
class Recommendation:
    """The features to keep, and why."""

    #: (n_features,) mask of the recommended features.
    features: NDArray[np.bool_]
    #: Their number.
    n_features: int
    #: Bound on the probability that any of them does not matter; None if no error rate is controlled.
    level: float | None
    #: One or two sentences.
    reason: str
    #: What decided: "permuted labels", or the name of a method that decides itself.
    by: str
    #: (n_features,) p-values, adjusted for the number of features; None if there are none.
    adjusted_pvalues: NDArray[np.float64] | None = None
    #: Number of features at a false discovery rate of ``LEVEL``; None if unknown.
    n_at_fdr: int | None = None
    #: Smallest weight that would be recommended; None if that is no matter of the weight alone.
    threshold: float | None = None

    @property
    def headline(self) -> str:
        """The number of features to keep, in words."""
        of_all = f"of {counted(self.features.size, 'feature')}"
        return f"Keep {self.n_features:,} {of_all}" if self.n_features else f"Keep none {of_all}"


def recommend(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_permutations: int,
    refit: Any = None,
    table: Any = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Recommendation | str:
    """Recommend features of a fitted estimator; or return a sentence with the reason if that is not possible.

    Weights of permuted fits are pooled over the features, and the largest 5 % are continued by an exponential
    tail. Weights that a method normalizes are first turned into mean margins, which have a size. A feature is
    recommended if its p-value times the number of features is at most 0.1: then a table without signal gives
    none in nine of ten cases.

    Parameters
    ----------
    estimator : estimator
        A fitted weighter, or a meta-estimator around one.
    X : array of shape (n_samples, n_features)
        The samples of its fit; codes of categories.
    y : array of shape (n_samples,)
        Their classes or target.
    n_permutations : int
        Number of fits to permuted labels.
    refit : estimator, default=None
        Estimator for fits to X, if it has other categorical features than ``estimator``.
    table : array or frame, default=None
        X as it was passed to ``fit``; None: X.
    groups, batches : array of shape (n_samples,), default=None
        Labels are permuted within batches and groups, or whole groups are.
    random_state : int or RandomState, default=0
        Seed of the permutations.
    n_jobs : int or None, default=None
        Number of fits in parallel; does not change the result.
    """
    if isinstance(estimator, RedundancyFilter):
        inner = recommend(
            estimator.estimator_,
            X,
            y,
            n_permutations=n_permutations,
            refit=refit,
            table=table,
            groups=groups,
            batches=batches,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return inner if isinstance(inner, str) else _without_redundant(inner, estimator)
    own = _own_decision(estimator)
    if own is not None:
        return own
    if n_permutations == 0:
        return "No number of features is recommended: resampling is switched off."
    fitted = _fitted_weighter(estimator)
    given = fitted if refit is None else _same_width(clone(_inside(refit)), fitted)
    scale = _scale(fitted)
    selector = ErrorControlledSelector(given, n_jobs=n_jobs)
    passed = {name: each for name, each in (("groups", groups), ("batches", batches)) if each is not None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = selector._check_fit(X, y, **passed)
            strata = (label_codes(name, passed.get(name), data.included) for name in ("groups", "batches"))
            exchange = Exchange.among(data.y, *strata)
            with watched(selector, total=_ROUNDS * n_permutations) as progress:
                test = PermutationTest(
                    given,
                    data,
                    exchange,
                    "weights" if scale is None else "margins",
                    selector._weighter,
                    n_jobs,
                    progress.advance,
                )
                seeds = random_generator("random_state", random_state).randint(SEEDS, size=n_permutations)
                observed = _Observed.of(fitted, X if table is None else table, y, batches, scale)
                return _by_permutation(observed, test, exchange.places(seeds, data.n_samples))
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"No number of features is recommended: {sentence[0].lower()}{sentence[1:]}."


# Methods that decide themselves


def decides_itself(estimator: Any) -> bool:
    """Return whether a fitted estimator controls an error rate, or selects a set."""
    if isinstance(estimator, RedundancyFilter):
        return decides_itself(estimator.estimator_)
    return (
        isinstance(estimator, ErrorControlledSelector)
        or (hasattr(estimator, "adjusted_pvalues_") and hasattr(estimator, "support_"))
        or hasattr(estimator, "score_losses_")
    )


def _own_decision(estimator: Any) -> Recommendation | None:
    """Return the decision of an estimator that controls an error rate, or selects a set; else None."""
    name = type(estimator).__name__
    if hasattr(estimator, "adjusted_pvalues_") and hasattr(estimator, "support_"):
        support, level = np.asarray(estimator.support_), float(estimator.level)
        n_at_fdr = int(np.count_nonzero(estimator.qvalues_ <= LEVEL))
        how = f"by the p-values of {name}"
        return Recommendation(
            support,
            int(support.sum()),
            level,
            _reason(int(support.sum()), support.size, level, how),
            name,
            estimator.adjusted_pvalues_,
            n_at_fdr,
        )
    if isinstance(estimator, ErrorControlledSelector):
        support, level = estimator._decision.support, float(estimator.level)
        number = int(support.sum())
        if estimator.control == "fwer":
            reason = _reason(number, support.size, level, f"by {estimator.method}")
        else:
            kept = f"{counted(number, 'feature')} {'is' if number == 1 else 'are'}" if number else "None is"
            reason = f"{kept} selected at a false discovery rate of {level:.0%}, by {estimator.method}."
        return Recommendation(support, number, level, reason, f"error control by {estimator.method}")
    if hasattr(estimator, "score_losses_"):
        support = np.asarray(estimator.feature_weights_) > 0.0
        number = int(support.sum())
        reason = (
            f"{name} selects a set of {counted(number, 'feature')} itself; whether it is"
            " beyond chance is not tested."
        )
        return Recommendation(support, number, None, reason, name)
    return None


def _without_redundant(found: Recommendation, estimator: RedundancyFilter) -> Recommendation:
    """Return a recommendation without features that a better one represents."""
    grouped = estimator.labels_ >= 0
    first = np.zeros(grouped.size, dtype=bool)
    first[[group[0] for group in estimator.groups_]] = True
    features = found.features & (first | ~grouped)
    n_left_out = found.n_features - int(features.sum())
    reason = found.reason
    if n_left_out:
        are = "is" if n_left_out == 1 else "are"
        reason += f" {counted(n_left_out, 'more feature')} {are} redundant and left out."
    return Recommendation(
        features,
        int(features.sum()),
        found.level,
        reason,
        found.by,
        found.adjusted_pvalues,
        found.n_at_fdr,
        found.threshold,
    )


# Permuted labels


def _inside(estimator: Any) -> Any:
    """Return the estimator whose weights a wrapper passes on."""
    while isinstance(estimator, (KernelWidthCV, CrossValidatedSelector, RedundancyFilter)):
        estimator = estimator.estimator
    return estimator


def _fitted_weighter(estimator: Any) -> Any:
    """Return the fitted estimator whose weights a wrapper passes on."""
    while isinstance(estimator, (KernelWidthCV, CrossValidatedSelector)):
        estimator = estimator.estimator_
    return estimator


def _same_width(estimator: Any, fitted: Any) -> Any:
    """Set the kernel width that a fit chose, if it chose one."""
    if "sigma" in estimator.get_params() and hasattr(fitted, "sigma_"):
        estimator.set_params(sigma=float(fitted.sigma_))
    return estimator


def _scale(fitted: Any) -> float | None:
    """Return the norm to which a method normalizes its weights, so that they have no size; else None."""
    if not hasattr(fitted, "margins"):
        return None
    return weight_norm(fitted, weights_of(fitted, fitted.n_features_in_))


def _mean_margins(products: NDArray[np.floating], norm: float) -> NDArray[np.float64]:
    r"""Return the mean margins of features, from weights of unit norm times the mean margin of the samples.

    The latter is :math:`m = \sum_j w_j \nu_j` with :math:`w = \nu^+ / \lVert \nu^+ \rVert`, therefore
    :math:`\nu_j^+ = w_j m / \sum_j w_j^2`; for the Euclidean norm, :math:`w_j m`.
    """
    products = np.asarray(products, dtype=np.float64)
    length = np.linalg.norm(products, norm, axis=-1, keepdims=True)
    squares = np.sum(products**2, axis=-1, keepdims=True)
    return products * np.divide(length**2, squares, out=np.ones_like(squares), where=squares > 0.0)


class _Observed(NamedTuple):
    """Weights of the fit to the labels as they are, and the statistics that are compared."""

    weights: NDArray[np.float64]
    statistics: NDArray[np.float64]
    #: The norm of the weights; None: they are the statistics themselves.
    norm: float | None
    continuous_target: bool

    @classmethod
    def of(cls, fitted: Any, table: Any, y: Any, batches: ArrayLike | None, norm: float | None) -> _Observed:
        weights = weights_of(fitted, fitted.n_features_in_)
        statistics = weights
        if norm is not None:
            more = {} if batches is None else {"batches": batches}
            margin = float(np.mean(np.nan_to_num(fitted.margins(table, y, **more))))
            statistics = _in_units(weights * margin, norm)
        return cls(weights, statistics, norm, takes_continuous_target(fitted))


def _in_units(products: NDArray[np.floating], norm: float | None) -> NDArray[np.float64]:
    """Return statistics: weights as they are, or mean margins."""
    if norm is None or norm == 2:
        return np.asarray(products, dtype=np.float64)
    return _mean_margins(products, norm)


def _by_permutation(
    observed: _Observed, test: PermutationTest, places: list[NDArray[np.int64]]
) -> Recommendation:
    """Compare weights with those under permuted labels, in two rounds.

    In the second, the features found in the first stay aligned with the labels, and the rows of all others
    are permuted against both: once something is found, noise may weigh more or less than before.
    """
    weights, statistic = observed.weights, observed.statistics
    needed, n_fits = float(np.log(weights.size / LEVEL)), len(places)
    null = _Null.of(_in_units(test.null(places), observed.norm))
    evidence = null.evidence(statistic)
    features, threshold = (evidence >= needed) & (weights > 0.0), null.threshold(needed)
    if features.any() and not features.all() and test.exchange.blocks is None:
        again = test.realigned(features, places)
        n_fits += len(again)
        second = _Null.of(_in_units(np.stack(again), observed.norm)[:, ~features])
        # If no other feature has a weight then, noise has less than before.
        if second.varies:
            evidence = np.minimum(evidence, second.evidence(statistic))
            features &= evidence >= needed
            threshold = max(threshold, second.threshold(needed))
    number, pvalues = int(features.sum()), np.exp(-evidence)
    what = "permuted targets" if observed.continuous_target else "permuted labels"
    return Recommendation(
        features,
        number,
        LEVEL,
        _reason(number, features.size, LEVEL, f"estimated from {counted(n_fits, 'fit')} to {what}"),
        what,
        np.minimum(1.0, features.size * pvalues),
        int(np.count_nonzero((benjamini_hochberg(pvalues) <= LEVEL) & (weights > 0.0))),
        _weight_at(threshold, observed),
    )


def _weight_at(statistic: float, observed: _Observed) -> float | None:
    """Return the weight of a statistic; None if there is none."""
    best = int(np.argmax(observed.weights))
    if not np.isfinite(statistic) or not observed.statistics[best] > 0.0:
        return None
    return float(statistic * observed.weights[best] / observed.statistics[best])


@dataclass(frozen=True)
class _Null:
    """Distribution of the statistics under permuted labels.

    In units of the square root of the distance from the median its tail is lighter than exponential, for
    weights that are means, like those of ReliefF, as for squares, like those of the Fisher score.
    """

    median: float
    #: Roots, in ascending order.
    roots: NDArray[np.float64]
    #: Number of them in the tail.
    n_tail: int

    @classmethod
    def of(cls, statistics: NDArray[np.floating]) -> _Null:
        """Pool the statistics of all fits and features; 5 % of those of used features are the tail."""
        median = float(np.median(statistics))
        roots = np.sort(_root(statistics - median), axis=None)
        values, counts = np.unique(roots, return_counts=True)
        used = roots.size
        if counts.max() > max(_UNUSED * roots.size, 1):
            used = int(np.count_nonzero(roots > values[counts.argmax()]))
        return cls(median, roots, max(int(_TAIL * used), min(_FEWEST_IN_TAIL, used // 2), 1))

    @property
    def varies(self) -> bool:
        """Whether there is noise at all; a sparse method may give no weight to any feature."""
        return bool(self.roots[-1] > self.roots[0])

    def evidence(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return -log p."""
        roots = _root(statistics - self.median)
        if self.varies:
            return tail_evidence(roots, self.roots, n_tail=self.n_tail)
        return np.where(roots > self.roots[0], np.log(1.0 + self.roots.size), 0.0)

    def threshold(self, needed: float) -> float:
        """Return the smallest statistic with the needed evidence; inf if there is none."""
        low, high = 0.0, max(float(self.roots[-1]), 1e-150)

        def suffices(root: float) -> bool:
            return bool(self.evidence(np.array([self.median + root**2]))[0] >= needed)

        while not suffices(high):
            low, high = high, 2.0 * high
            if high > 1e150:
                return float("inf")
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return self.median + high**2


def _root(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return square roots with the sign of the values."""
    values = np.asarray(values, dtype=np.float64)
    return np.sign(values) * np.sqrt(np.abs(values))


def _reason(number: int, n_features: int, level: float, how: str) -> str:
    """Return the sentence for a familywise error rate."""
    rate = f"familywise error rate {100.0 * level:g} %, {how}"
    if number == 0:
        return f"No weight exceeds what chance gives among {counted(n_features, 'feature')} ({rate})."
    those = "This weight exceeds" if number == 1 else f"These {number:,} weights exceed"
    return f"{those} what chance gives among {counted(n_features, 'feature')} ({rate})."
