"""Interactions: the share of the weight of each feature that it loses when another is left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
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
from ..base.categorical import as_columns, categorical_mask
from ..base.meta import MetaWeighter, fit_inside, innermost, ranked_by, weights_of
from ..base.progress import listening
from ..base.resampling import SEEDS, fit_members, seeded_clone, unseeded
from ..base.selector import WeightSelector, best_first, categories_parameter, takes_continuous_target
from ..base.validation import check_structure, label_codes, refuse_dask, warn_user
from ..selection.halves import checked_halves, halves, why_not

__all__ = ["InteractionTable", "Pair", "interactions"]

#: Norms to which methods normalize their weights.
_NORMS = (1, 2, np.inf)
#: Weights with all features, and of each feature (row) without another (column).
Weights = tuple[NDArray[np.float64], NDArray[np.float64]]


class FitData(NamedTuple):
    """Data of the fits."""

    X: Any
    y: Any
    sample_weight: Any = None
    batches: Any = None

    def fit_params(self, rows: Any = slice(None)) -> dict[str, Any]:
        """Return the keyword arguments of ``fit`` for some of the samples."""
        optional = {"sample_weight": self.sample_weight, "batches": self.batches}
        return {name: np.asarray(value)[rows] for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Refits:
    """Fits of clones to subsets of the examined features."""

    estimator: Any
    data: FitData
    #: Column indices of the examined features.
    features: NDArray[np.int64]
    #: Mask of the categorical features of X; None: the estimator detects them.
    categorical: NDArray[np.bool_] | None

    @classmethod
    def among(cls, features: NDArray[np.int64], estimator: Any, data: FitData) -> Self:
        """Return the refits of an estimator among some features."""
        weighting = _weighting_estimator(estimator)
        _refuse_ranks(weighting)
        parameter = categories_parameter(weighting)
        chosen = weighting.get_params()[parameter] if parameter else None
        mask = None
        if chosen is not None and isinstance(innermost(weighting), WeightSelector):
            mask = categorical_mask(chosen, as_columns(data.X), feature_names(estimator, data.X))
        return cls(weighting, data, features, mask)

    @property
    def runs_in_threads(self) -> bool:
        """Whether the estimator is of this package, so that fits may run in threads."""
        return isinstance(self.estimator, WeightSelector)

    def weights(self, rows: NDArray[np.int64], among: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        """Return the weights of some of the features, fitted to some of the samples."""
        return weights_of(self._fitted(rows, among, seed), among.size)

    def _fitted(self, rows: NDArray[np.int64], among: NDArray[np.int64], seed: int) -> Any:
        places = self.features[among]
        member = _without_sizes(self.estimator, places, int(np.shape(self.data.X)[1]))
        if self.categorical is not None:
            member.set_params(**{categories_parameter(member): self.categorical[places]})
        member = seeded_clone(member, unseeded(member), seed)
        X = _safe_indexing(_safe_indexing(self.data.X, places, axis=1), rows)
        # The progress of a single refit is not reported.
        with listening(_ignore_progress):
            member.fit(X, _safe_indexing(self.data.y, rows), **self.data.fit_params(rows))
        return member

    def table(self, rows: NDArray[np.int64], seed: int) -> Weights:
        """Return the weights with all features, and of each without another, in the same units."""
        all_places = np.arange(self.features.size)
        member = self._fitted(rows, all_places, seed)
        weights = weights_of(member, all_places.size)
        norm = weight_norm(member, weights)
        without = np.full((all_places.size, all_places.size), np.nan)
        for left_out in all_places:
            others = np.delete(all_places, left_out)
            found = self.weights(rows, others, seed)
            unit = 1.0 if norm is None else _share(weights, others, norm)
            without[others, left_out] = unit * found
        return weights, without

    def table_or_none(self, rows: NDArray[np.int64], seed: int) -> Weights | None:
        """Return the table, or None if the method cannot be fitted to these samples."""
        try:
            return self.table(rows, seed)
        except ValueError:
            return None


def _ignore_progress(done: int, total: int) -> None:
    """Discard the progress of a fit."""


def feature_names(estimator: Any, X: Any) -> Any:
    """Return the names of all features; None if there are none."""
    names = getattr(X, "columns", None)
    return getattr(innermost(estimator), "feature_names_in_", None) if names is None else np.asarray(names)


def best_features(estimator: Any, data: FitData, n_features: int) -> NDArray[np.int64]:
    """Return the best non-constant features, by the estimator if it is fitted or by a clone."""
    fitted = estimator
    try:
        check_is_fitted(innermost(fitted))
    except NotFittedError:
        fitted = clone(fitted).fit(data.X, data.y, **data.fit_params())
    order = best_first(ranked_by(fitted, weights_of(fitted, int(np.shape(data.X)[1]))))
    best = [j for j in order[:n_features] if _varies(_safe_indexing(data.X, [int(j)], axis=1))]
    if len(best) < 2:
        raise ValueError(
            "Interactions need at least two non-constant features; only"
            f" {len(best)} of the top {n_features} {'varies' if len(best) == 1 else 'vary'}."
        )
    return np.array(best, dtype=np.int64)


def _varies(column: Any) -> bool:
    """Return whether a column has two different values that are not missing."""
    values = column.toarray() if sparse.issparse(column) else np.asarray(column)
    # NaN differs from itself.
    known = {each for each in values.ravel().tolist() if each is not None and each == each}  # noqa: PLR0124
    return len(known) > 1


def places_of(features: Sequence[Any], names: Any, n_features: int) -> NDArray[np.int64]:
    """Return the column indices of features given by index or name."""
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


def _weighting_estimator(estimator: Any) -> Any:
    """Return the estimator inside selectors that do not change the weights of a single fit."""
    while isinstance(estimator, MetaWeighter) and hasattr(estimator, "estimator_"):
        own = getattr(innermost(estimator.estimator_), "feature_weights_", None)
        if own is None or not np.array_equal(own, estimator.feature_weights_):
            break
        estimator = estimator.estimator_
    return estimator


def _without_sizes(estimator: Any, places: NDArray[np.int64], n_features: int) -> Any:
    """Return a clone whose parameters fit to fewer features."""
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
    """Raise if an estimator averages ranks, which depend on the number of features."""
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] == "aggregate" and isinstance(value, str) and value == "ranks":
            raise ValueError(
                f"{name}='ranks' of {type(estimator).__name__} gives ranks, of which no part can disappear"
                f" without another feature; {name}='weights' gives weights."
            )


def weight_norm(fitted: Any, weights: NDArray[np.float64]) -> float | None:
    """Return the norm to which a method normalizes its weights; None if it does not.

    Members of an ensemble are normalized separately; their mean is shorter.
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
    """Return the norm of the weights of the others, relative to that of all."""
    length = float(np.linalg.norm(weights, norm))
    return float(np.linalg.norm(weights[others], norm)) / length if length > 0.0 else 1.0


#: Family-wise error rate over all pairs.
_LEVEL = 0.05
#: Smallest loss that counts: leaving out any feature changes the neighbors a little.
_LEAST = 0.1
#: Fewest halves for a standard error.
_FEWEST = 4


class Pair(NamedTuple):
    """Two features, by column index, and the loss of each without the other."""

    first: int
    second: int
    #: Share of the first one's weight that it loses without the second, and vice versa.
    loss_of_first: float
    loss_of_second: float
    #: Whether the loss is beyond noise; None if noise was not measured.
    first_is_clear: bool | None
    second_is_clear: bool | None


@dataclass(frozen=True)
class InteractionTable:
    """Result of :func:`highrelief.interactions`: losses of weight when another feature is left out."""

    #: (m,) column indices of the features, the best first.
    features: NDArray[np.int64]
    names: list[str]
    #: (m,) weights of the fit to these features.
    weights: NDArray[np.float64]
    #: (m, m) weight of the row's feature in the fit without the column's, in the same units; nan on the
    #: diagonal.
    weights_without: NDArray[np.float64]
    #: (m, m) standard errors of ``losses``, and of ``weights`` (m,); None if noise was not measured.
    noise: NDArray[np.float64] | None = None
    weight_noise: NDArray[np.float64] | None = None
    #: Number of halves of the samples by which noise was measured.
    n_resamples: int = 0

    @property
    def losses(self) -> NDArray[np.float64]:
        """(m, m) share of the row's weight lost without the column: 1 all, 0 nothing, < 0 a gain.

        nan on the diagonal and in the rows of features without a positive weight here.
        """
        own = np.where(self.weights > 0.0, self.weights, np.nan)[:, np.newaxis]
        return 1.0 - self.weights_without / own

    @property
    def weighs(self) -> NDArray[np.bool_]:
        """(m,) which features have a weight here: beyond noise or, if that was not measured, not small.

        Shares of a weight below a tenth of the largest are mostly noise.
        """
        if self.weight_noise is None:
            return self.weights > max(_LEAST * self.weights.max(initial=0.0), 0.0)
        bound = stdtrit(self.n_resamples - 1, 1.0 - _LEVEL / self.weights.size)
        return self.weights > bound * self.weight_noise

    @property
    def clear(self) -> NDArray[np.bool_] | None:
        """(m, m) which losses are beyond noise at a family-wise level of 5 %; None if not measured.

        They must be at least 0.1, of features whose own weight is beyond noise.
        """
        if self.noise is None:
            return None
        m, df = self.weights.size, self.n_resamples - 1
        bound = stdtrit(df, 1.0 - 0.5 * _LEVEL / max(m * (m - 1), 1)) * self.noise
        with np.errstate(invalid="ignore"):
            return (np.abs(self.losses) > np.maximum(bound, _LEAST)) & self.weighs[:, np.newaxis]

    def pairs(self) -> list[Pair]:
        """Return every pair of features: those beyond noise first, then by the weight that is lost or gained.

        Returns
        -------
        pairs : list of Pair
            The better feature of each pair comes first.
        """
        losses, clear = self.losses, self.clear
        found = []
        for i in range(self.features.size):
            for j in range(i + 1, self.features.size):
                of_pair = (None, None) if clear is None else (bool(clear[i, j]), bool(clear[j, i]))
                places = int(self.features[i]), int(self.features[j])
                found.append(Pair(*places, float(losses[i, j]), float(losses[j, i]), *of_pair))
        weights = dict(zip(self.features.tolist(), self.weights.tolist(), strict=True))
        return sorted(found, key=lambda pair: _strength(pair, weights), reverse=True)


def _strength(pair: Pair, weights: Mapping[int, float]) -> tuple[bool, float]:
    """Return whether a pair is clear, and the largest change of a weight; of clear pairs, of a clear one.

    Not the largest share: a feature of nearly no weight may double it by chance.
    """
    sides = (
        (pair.first, pair.loss_of_first, pair.first_is_clear),
        (pair.second, pair.loss_of_second, pair.second_is_clear),
    )
    is_clear = any(clear for *_, clear in sides)
    changes = [
        abs(loss) * weights[feature]
        for feature, loss, clear in sides
        if np.isfinite(loss) and (bool(clear) or not is_clear)
    ]
    return is_clear, max(changes, default=-1.0)


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
    r"""Measure the share of each feature's weight that it loses when another one is left out.

    The estimator is fitted to the best m features only, then m times without one of them:

    .. math:: \mathrm{loss}_{fg} = 1 - w_f^{(-g)} / w_f

    Near 1, f is irrelevant without g: the two matter only in combination, as in an exclusive or. Near 0, f
    does not need g. Below 0, f has a larger weight without g: the two are redundant and share their weight.
    Methods with weights of norm 1 distribute it over fewer features without g; therefore :math:`w^{(-g)}` is
    first multiplied by the norm of w without g, so that 0 still means no change.

    Noise is estimated by repeating this on disjoint halves of the samples. A statistic of half the samples,
    drawn without replacement, varies around that of all samples about as the latter around the truth: the
    standard deviation over the halves is the standard error of the loss. A loss is clear of noise if it
    exceeds Student's t at 95 % for all pairs (Bonferroni), if it is at least 0.1 (leaving out any feature
    changes the neighbors a little, which many samples make significant), and if the weight of f itself is
    beyond noise.

    A clear loss means that the weight of f depends on g *in this method, among these features*. The two
    interact if the weight without g is about 0. Interactions of three features are not resolved. The features
    were chosen on the same samples: those selected by chance stay within noise, but pairs with a feature
    outside the best m are not seen.

    Parameters
    ----------
    estimator : estimator
        A weighter, a meta-estimator around one, or any estimator with ``feature_importances_`` or ``coef_``.
        If fitted, its ranking defines the best features; otherwise a clone is fitted first. It is not
        changed.
    X : {array-like, sparse matrix} or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Class labels, or the target of the estimator.
    features : sequence of int or of str, default=None
        Indices or names of at least two features to examine; None: the best.
    n_features : int, default=12
        Number m of best features, at least 2; constant ones are left out. The others stand in for the rest of
        the table: with very few features, neighbors would depend on the pair alone.
    n_resamples : int, default=20
        Number of halves (even); 0 or None: noise is not measured.
    sample_weight : array-like of shape (n_samples,), default=None
        Passed to every fit, if not None.
    groups : array-like of shape (n_samples,), default=None
        Group labels: samples of a group stay in one half.
    batches : array-like of shape (n_samples,), default=None
        Passed to every fit, if not None.
    n_jobs : int or None, default=None
        Number of halves in parallel; does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the halves and of the fits; fits to the same samples share a seed.

    Returns
    -------
    table : InteractionTable
        ``losses``, ``noise`` and ``clear`` of shape (m, m), ``features``, ``names`` and ``weights`` of shape
        (m,), and ``pairs()``.

    See Also
    --------
    highrelief.plots.InteractionDisplay : Plot of the losses.

    Notes
    -----
    (m + 1)·(1 + ``n_resamples``) fits to m features: for m = 12 they seldom take longer than one fit to all
    features.

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
    refuse_dask(X, "interactions")
    check_structure(X)
    check_count("n_features", n_features, at_least=2)
    resamples = checked_halves("n_resamples", n_resamples, or_none=True)
    random = random_generator("random_state", random_state)
    seeds = random.randint(SEEDS, size=resamples // 2 + 1)
    data = FitData(X, y, sample_weight, batches)
    names = feature_names(estimator, X)
    if features is None:
        best = best_features(estimator, data, n_features)
    else:
        best = places_of(features, names, int(np.shape(X)[1]))
    refits = Refits.among(best, estimator, data)
    rows, seed = np.arange(_num_samples(X)), int(seeds[-1])
    with _warnings_ignored():
        weights, without = refits.table(rows, seed)
    labels = [f"x{j}" if names is None else str(names[j]) for j in best]
    table = InteractionTable(best, labels, weights, without)
    if not resamples:
        return table
    codes = _codes(estimator, y)
    reason = why_not(np.bincount(codes) if codes.any() else np.full(2, rows.size // 2), best.size)
    if reason is not None:
        warn_user(reason.replace("Stability", "Noise"), UserWarning)
        return table
    group_codes = label_codes("groups", groups, np.ones(rows.size, dtype=bool))
    pairs = [halves(np.random.RandomState(each), codes, group_codes) for each in seeds[:-1]]
    half_rows = [half for pair in pairs for half in pair]
    with _warnings_ignored():
        half_tables = fit_members(
            lambda half: refits.table_or_none(half, seed),
            half_rows,
            lambda: False,
            ours=refits.runs_in_threads,
            n_jobs=n_jobs,
        )
    return _with_noise(table, [each for each in half_tables if each is not None])


@contextmanager
def _warnings_ignored() -> Iterator[None]:
    """Suppress the warnings of refits, such as those of convergence."""
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
    # Relative to the weights of all samples, so that no half divides by a weight near 0.
    differences = np.stack([weights[:, np.newaxis] - without for weights, without in of_halves])
    noise = differences.std(axis=0, ddof=1) / own
    weight_noise = np.stack([weights for weights, _ in of_halves]).std(axis=0, ddof=1)
    return replace(table, noise=noise, weight_noise=weight_noise, n_resamples=len(of_halves))


def _codes(estimator: Any, y: Any) -> NDArray[np.int64]:
    """Return class codes; all 0 for a continuous target."""
    labels = np.asarray(y)
    if takes_continuous_target(innermost(estimator)):
        return np.zeros(len(labels), dtype=np.int64)
    return np.unique(labels, return_inverse=True)[1]
