"""Clones of an estimator, fitted to some of the features: what becomes of weights without another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .abilities import categories_parameter
from .members import seeded_clone, unseeded
from .meta import MetaWeighter, fit_inside, innermost, ranked_by, weights_of
from .mixed import as_columns, chosen_features
from .progress import watching
from .selector import WeightSelector, falling

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
