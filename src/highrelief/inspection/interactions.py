"""Which features act together: how much of the weight of each disappears when another is left out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import stdtrit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._engine.parameters import check_count, random_generator
from ..base.abilities import categories_parameter, takes_measurements
from ..base.categorical import as_columns, chosen_features
from ..base.meta import MetaWeighter, fit_inside, innermost, ranked_by, weights_of
from ..base.progress import watching
from ..base.resampling import SEEDS, run_some, seeded_clone, unseeded
from ..base.selector import WeightSelector, falling
from ..base.validation import check_structure, label_codes, refuse_dask, warn_user
from ..selection.halves import checked_halves, halves, why_not

# Clones of an estimator, fitted to some of the features: what becomes of weights without another.


#: Norms that methods give their weights.
_NORMS = (1, 2, np.inf)
#: Weights with all features, and of each (row) without another (column).
Weights = tuple[NDArray[np.float64], NDArray[np.float64]]


class Told(NamedTuple):
    """What fits are told."""

    X: Any
    y: Any
    sample_weight: Any = None
    batches: Any = None

    def more(self, rows: Any = slice(None)) -> dict[str, Any]:
        """What there is beside X and y, for some of the samples."""
        given = {"sample_weight": self.sample_weight, "batches": self.batches}
        return {name: np.asarray(value)[rows] for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Refits:
    """Fits to some of the features of a table, by places among those that are looked at."""

    estimator: Any
    told: Told
    #: Places of the features in the table.
    features: NDArray[np.int64]
    #: Which features of the table are categories; None: the estimator knows by itself.
    categorical: NDArray[np.bool_] | None

    @classmethod
    def among(cls, features: NDArray[np.int64], estimator: Any, told: Told) -> Self:
        """Refits among these features, by who weighs them."""
        weigher = _who_weighs(estimator)
        _refuse_ranks(weigher)
        parameter = categories_parameter(weigher)
        chosen = weigher.get_params()[parameter] if parameter else None
        mask = None
        if chosen is not None and isinstance(innermost(weigher), WeightSelector):
            mask = chosen_features(chosen, as_columns(told.X), feature_names(estimator, told.X))
        return cls(weigher, told, features, mask)

    @property
    def ours(self) -> bool:
        """Whether fits may run in threads."""
        return isinstance(self.estimator, WeightSelector)

    def weights(self, rows: NDArray[np.int64], among: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        """Weights of some of the features, fitted to some of the samples."""
        return weights_of(self._fitted(rows, among, seed), among.size)

    def _fitted(self, rows: NDArray[np.int64], among: NDArray[np.int64], seed: int) -> Any:
        places = self.features[among]
        member = _without_sizes(self.estimator, places, int(np.shape(self.told.X)[1]))
        if self.categorical is not None:
            member.set_params(**{categories_parameter(member): self.categorical[places]})
        member = seeded_clone(member, unseeded(member), seed)
        X = _safe_indexing(_safe_indexing(self.told.X, places, axis=1), rows)
        # How far a refit has come is not what anybody asks.
        with watching(_nobody):
            member.fit(X, _safe_indexing(self.told.y, rows), **self.told.more(rows))
        return member

    def table(self, rows: NDArray[np.int64], seed: int) -> Weights:
        """Weights with all features, and of each without another, in the same units."""
        everyone = np.arange(self.features.size)
        member = self._fitted(rows, everyone, seed)
        weights = weights_of(member, everyone.size)
        norm = _norm(member, weights)
        without = np.full((everyone.size, everyone.size), np.nan)
        for left_out in everyone:
            others = np.delete(everyone, left_out)
            found = self.weights(rows, others, seed)
            unit = 1.0 if norm is None else _share(weights, others, norm)
            without[others, left_out] = unit * found
        return weights, without

    def table_or_none(self, rows: NDArray[np.int64], seed: int) -> Weights | None:
        """The same; None where the method cannot be fitted to these samples."""
        try:
            return self.table(rows, seed)
        except ValueError:
            return None


def _nobody(done: int, total: int) -> None:
    """Hear how far a fit has come, and tell nobody."""


def feature_names(estimator: Any, X: Any) -> Any:
    """Names of all features; None if they have none."""
    names = getattr(X, "columns", None)
    return getattr(innermost(estimator), "feature_names_in_", None) if names is None else np.asarray(names)


def best_features(estimator: Any, told: Told, n_features: int) -> NDArray[np.int64]:
    """The best features that vary, by the estimator if it is fitted, or by a clone."""
    fitted = estimator
    try:
        check_is_fitted(innermost(fitted))
    except NotFittedError:
        fitted = clone(fitted).fit(told.X, told.y, **told.more())
    order = falling(ranked_by(fitted, weights_of(fitted, int(np.shape(told.X)[1]))))
    best = [j for j in order[:n_features] if _varies(_safe_indexing(told.X, [int(j)], axis=1))]
    if len(best) < 2:
        raise ValueError(f"Of the best {n_features} features {len(best)} vary: it takes two to interact.")
    return np.array(best, dtype=np.int64)


def _varies(column: Any) -> bool:
    """Whether a column, of numbers or words, has two known values."""
    values = column.toarray() if sparse.issparse(column) else np.asarray(column)
    # What is missing differs from itself.
    known = {each for each in values.ravel().tolist() if each is not None and each == each}  # noqa: PLR0124
    return len(known) > 1


def places_of(features: Sequence[Any], names: Any, n_features: int) -> NDArray[np.int64]:
    """Places of features that the user names."""
    known = {} if names is None else {str(name): place for place, name in enumerate(names)}
    places = []
    for each in features:
        if isinstance(each, str) and each in known:
            places.append(known[each])
        elif isinstance(each, (int, np.integer)) and not isinstance(each, bool) and 0 <= each < n_features:
            places.append(int(each))
        else:
            raise ValueError(f"features has {each!r}, which is no feature of X.")
    if len(set(places)) < max(2, len(places)):
        raise ValueError(f"features={features!r} must name at least two features, each once.")
    return np.array(places, dtype=np.int64)


def _who_weighs(estimator: Any) -> Any:
    """What is inside of selectors that pass on the weights of a single fit as they are."""
    while isinstance(estimator, MetaWeighter) and hasattr(estimator, "estimator_"):
        own = getattr(innermost(estimator.estimator_), "feature_weights_", None)
        if own is None or not np.array_equal(own, estimator.feature_weights_):
            break
        estimator = estimator.estimator_
    return estimator


def _without_sizes(estimator: Any, places: NDArray[np.int64], n_features: int) -> Any:
    """A clone that asks for nothing that fewer features do not have."""
    member = clone(estimator)
    changes: dict[str, Any] = {}
    for name, value in member.get_params(deep=True).items():
        last = name.rpartition("__")[2]
        if last == "n_features_to_select" and value is not None:
            changes[name] = None
        elif last == "init" and np.shape(value) == (n_features,):
            changes[name] = np.asarray(value)[places]
    return member.set_params(**changes)


def _refuse_ranks(estimator: Any) -> None:
    """Ranks among fewer features are other numbers: nothing disappears from them."""
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] == "aggregate" and isinstance(value, str) and value == "ranks":
            raise ValueError(
                f"{name}='ranks' of {type(estimator).__name__} gives ranks, of which no part can disappear"
                f" without another feature; {name}='weights' gives weights."
            )


def _norm(fitted: Any, weights: NDArray[np.float64]) -> float | None:
    """The norm in which a method brings weights to length 1; None if they have a size of their own.

    Members of an ensemble do so each by itself: the mean of their weights is shorter.
    """
    inside = fit_inside(innermost(fitted))
    vectors = [weights]
    if isinstance(inside, MetaWeighter) and hasattr(inside, "estimators_"):
        vectors = [weights_of(each, inside.n_features_in_) for each in inside.estimators_]
    vectors = [each for each in vectors if each.any()]
    for p in _NORMS if vectors else ():
        if all(abs(np.linalg.norm(each, p) - 1.0) < 1e-9 for each in vectors):
            return p
    return None


def _share(weights: NDArray[np.float64], others: NDArray[np.int64], norm: float) -> float:
    """How long the weights of the others are, as a part of all."""
    length = float(np.linalg.norm(weights, norm))
    return float(np.linalg.norm(weights[others], norm)) / length if length > 0.0 else 1.0


__all__ = ["InteractionTable", "Pair", "interactions"]

#: Probability that noise alone makes any of the pairs stand out.
_LEVEL = 0.05
#: Least part of a weight that counts: without any one of the others, neighbors are a little nearer.
_LEAST = 0.1
#: Time for half of the samples, of that for all: a quarter where it grows with their square, and some more.
_OF_HALF = 0.3
#: Fewest halves that a standard error is told from.
_FEWEST = 4


class Pair(NamedTuple):
    """Two features, by their places in the table, and what becomes of each without the other."""

    first: int
    second: int
    #: Part of the first one's weight that disappears without the second, and the other way round.
    loss_of_first: float
    loss_of_second: float
    #: Whether it is more than noise; None if noise was not measured.
    first_is_clear: bool | None
    second_is_clear: bool | None


@dataclass(frozen=True)
class InteractionTable:
    """How much of each feature's weight disappears when another is left out: what ``interactions`` finds."""

    #: (m,) places of the features in the table, the best first.
    features: NDArray[np.int64]
    names: list[str]
    #: (m,) weights in the fit to these features.
    weights: NDArray[np.float64]
    #: (m, m) weight of the feature of the row in the fit without that of the column, in the same units; nan
    #: on the diagonal.
    weights_without: NDArray[np.float64]
    #: (m, m) standard errors of ``losses``, and of ``weights`` (m,); None if noise was not measured.
    noise: NDArray[np.float64] | None = None
    weight_noise: NDArray[np.float64] | None = None
    #: Halves of the samples by which it was.
    n_resamples: int = 0

    @property
    def losses(self) -> NDArray[np.float64]:
        """(m, m) part of the row's weight that disappears without the column: 1 all, 0 nothing, < 0 it grows.

        nan on the diagonal, and in the rows of features that do not weigh more than 0 here.
        """
        own = np.where(self.weights > 0.0, self.weights, np.nan)[:, np.newaxis]
        return 1.0 - self.weights_without / own

    @property
    def weighs(self) -> NDArray[np.bool_]:
        """(m,) which features weigh more than 0 here, beyond noise if that was measured."""
        if self.weight_noise is None:
            return self.weights > 0.0
        bound = stdtrit(self.n_resamples - 1, 1.0 - _LEVEL / self.weights.size)
        return self.weights > bound * self.weight_noise

    @property
    def clear(self) -> NDArray[np.bool_] | None:
        """(m, m) which losses are more than noise, at 95 % for all of them together; None if not measured.

        And at least a tenth, of features whose own weight is more than noise.
        """
        if self.noise is None:
            return None
        m, df = self.weights.size, self.n_resamples - 1
        bound = stdtrit(df, 1.0 - 0.5 * _LEVEL / max(m * (m - 1), 1)) * self.noise
        with np.errstate(invalid="ignore"):
            return (np.abs(self.losses) > np.maximum(bound, _LEAST)) & self.weighs[:, np.newaxis]

    def pairs(self) -> list[Pair]:
        """Every two features once: those beyond noise first, the largest loss first.

        Returns
        -------
        pairs : list of Pair
            The better feature of each is the first.
        """
        losses, clear = self.losses, self.clear
        found = []
        for i in range(self.features.size):
            for j in range(i + 1, self.features.size):
                of_pair = (None, None) if clear is None else (bool(clear[i, j]), bool(clear[j, i]))
                places = int(self.features[i]), int(self.features[j])
                found.append(Pair(*places, float(losses[i, j]), float(losses[j, i]), *of_pair))
        return sorted(found, key=_strength, reverse=True)


def _strength(pair: Pair) -> tuple[bool, float]:
    sides = ((pair.loss_of_first, pair.first_is_clear), (pair.loss_of_second, pair.second_is_clear))
    is_clear = any(clear for _, clear in sides)
    counted = [abs(loss) for loss, clear in sides if np.isfinite(loss) and (bool(clear) or not is_clear)]
    return is_clear, max(counted, default=-1.0)


class TooLongError(RuntimeError):
    """More time would be needed than there is."""


def interactions(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Sequence[int] | Sequence[str] | None = None,
    n_features: int = 12,
    n_resamples: int | None = 20,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> InteractionTable:
    r"""How much of each feature's weight disappears when another one is left out: which act together.

    The estimator is fitted to the best m features only, then m times without one of them:

    .. math:: \mathrm{loss}_{fg} = 1 - w_f^{(-g)} / w_f

    Near 1, f says nothing without g: they act together, as the two features of an exclusive or. Near 0, f
    does not need g. Below 0, f weighs more without g: they say the same, and share the credit. Methods whose
    weights have a norm of 1 divide it among fewer without g; their :math:`w^{(-g)}` is multiplied by the norm
    of w without g first, so that 0 still means that nothing changes.

    Noise: the same is done with halves of the samples, two at a time that share none. A statistic of half the
    samples, drawn without replacement, spreads around that of all about as that of all around the truth: the
    standard deviation over the halves is the standard error of the loss. Losses are clear of noise if they
    are beyond Student's t at 95 % for all pairs together (Bonferroni), if they are at least a tenth (without
    any one of the others, neighbors are a little nearer, and many samples show it), and if the weight of f
    itself is beyond noise (of next to nothing, any part is noise).

    A clear loss says that the weight of f depends on g *in this method, among these features*. That the two
    act together on the target follows if the weight without g is about 0; which of three that act together
    does what, it does not tell. The features were chosen by the same samples: those there by chance are
    within noise, but a pair of which one is not among the best m is not seen at all.

    Parameters
    ----------
    estimator : estimator
        A weighter, a meta-estimator around one, or any estimator with ``feature_importances_`` or ``coef_``.
        Fitted to X, its ranking says which features are the best; otherwise a clone is fitted first. It is
        not changed.
    X : {array-like, sparse matrix} or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Their classes, or what else the estimator is to be told.
    features : sequence of int or of str, default=None
        Places or names of the features to look at, at least two; None: the best.
    n_features : int, default=12
        m: how many of the best, at least 2; constant ones are left out. The others among them stand for the
        rest of the table: with very few features, neighbors are near by these alone.
    n_resamples : int, default=20
        Number of halves, an even one; 0 or None: noise is not measured.
    sample_weight : array-like of shape (n_samples,), default=None
        Given to every fit, if not None.
    groups : array-like of shape (n_samples,), default=None
        Samples of the same group are in one half.
    batches : array-like of shape (n_samples,), default=None
        Given to every fit, if not None.
    n_jobs : int or None, default=None
        How many halves at a time; does not change the result.
    random_state : int, RandomState or None, default=None
        Which halves are drawn, and where random numbers of the fits begin, the same in all fits to the same
        samples.

    Returns
    -------
    table : InteractionTable
        ``losses``, ``noise`` and ``clear`` of shape (m, m), ``features``, ``names`` and ``weights`` of shape
        (m,), and ``pairs()``.

    See Also
    --------
    highrelief.plots.InteractionDisplay : The picture.

    Notes
    -----
    (m + 1)·(1 + ``n_resamples``) fits to m features: for 12 of them, tables so small that all together seldom
    take longer than the first fit to all features.

    Examples
    --------
    >>> from highrelief import ReliefF, interactions
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(300, n_irrelevant=50, random_state=0)
    >>> table = interactions(ReliefF().fit(X, y), X, y, random_state=0)
    >>> strongest = table.pairs()[0]
    >>> sorted(strongest[:2]), strongest.first_is_clear
    ([0, 1], True)
    """
    return interactions_within(
        None,
        estimator,
        X,
        y,
        features=features,
        n_features=n_features,
        n_resamples=n_resamples,
        sample_weight=sample_weight,
        groups=groups,
        batches=batches,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def interactions_within(
    seconds: float | None,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[int] | Sequence[str] | None,
    n_features: int,
    n_resamples: int | None,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    batches: ArrayLike | None,
    n_jobs: int | None,
    random_state: Any,
) -> InteractionTable:
    """The same as :func:`interactions`, in about so many seconds of work.

    Raises :class:`TooLongError` if the fits to all samples would take longer, and does not measure the noise
    if that would.
    """
    refuse_dask(X, "interactions")
    check_structure(X)
    check_count("n_features", n_features, at_least=2)
    resamples = checked_halves("n_resamples", n_resamples, or_none=True)
    random = random_generator("random_state", random_state)
    seeds = random.randint(SEEDS, size=resamples // 2 + 1)
    told = Told(X, y, sample_weight, batches)
    names = feature_names(estimator, X)
    if features is None:
        best = best_features(estimator, told, n_features)
    else:
        best = places_of(features, names, int(np.shape(X)[1]))
    refits = Refits.among(best, estimator, told)
    rows, seed = np.arange(_num_samples(X)), int(seeds[-1])
    begin = time.process_time()
    with _unwarned():
        if seconds is not None:
            refits.weights(rows, np.arange(best.size), seed)
            if (time.process_time() - begin) * (best.size + 1) > seconds:
                raise TooLongError
            begin = time.process_time()
        weights, without = refits.table(rows, seed)
    labels = [f"x{j}" if names is None else str(names[j]) for j in best]
    table = InteractionTable(best, labels, weights, without)
    too_long = seconds is not None and (time.process_time() - begin) * _OF_HALF * resamples > seconds
    if not resamples or too_long:
        return table
    codes = _codes(estimator, y)
    reason = why_not(np.bincount(codes) if codes.any() else np.full(2, rows.size // 2), best.size)
    if reason is not None:
        warn_user(reason.replace("Stability", "Noise"), UserWarning)
        return table
    of_groups = label_codes("groups", groups, np.ones(rows.size, dtype=bool))
    pairs = [halves(np.random.RandomState(each), codes, of_groups) for each in seeds[:-1]]
    parts = [half for pair in pairs for half in pair]
    with _unwarned():
        found = run_some(
            lambda half: refits.table_or_none(half, seed),
            parts,
            lambda: False,
            ours=refits.ours,
            n_jobs=n_jobs,
        )
    return _with_noise(table, [each for each in found if each is not None])


@contextmanager
def _unwarned() -> Iterator[None]:
    """Refits say nothing: whether each of them settles is not what is asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _with_noise(
    table: InteractionTable, of_halves: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> InteractionTable:
    if len(of_halves) < _FEWEST:
        warn_user(
            "The method cannot be fitted to most halves of the samples: noise is not known.", UserWarning
        )
        return table
    own = np.where(table.weights > 0.0, table.weights, np.nan)[:, np.newaxis]
    # Of the differences, in units of the weights of all samples: no half divides by next to nothing.
    differences = np.stack([weights[:, np.newaxis] - without for weights, without in of_halves])
    noise = differences.std(axis=0, ddof=1) / own
    weight_noise = np.stack([weights for weights, _ in of_halves]).std(axis=0, ddof=1)
    return replace(table, noise=noise, weight_noise=weight_noise, n_resamples=len(of_halves))


def _codes(estimator: Any, y: Any) -> NDArray[np.int64]:
    """Places of the classes; all 0 where y does not hold classes."""
    labels = np.asarray(y)
    if takes_measurements(innermost(estimator)):
        return np.zeros(len(labels), dtype=np.int64)
    return np.unique(labels, return_inverse=True)[1]
