"""What a report is asked for: a fitted estimator and its data, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..._engine.cached_property import cached_property
from ..._engine.categories import MISSING, level_codes
from ...base.abilities import categories_parameter, takes_measurements, takes_missing
from ...base.categorical import chosen_features
from ...base.selector import WeightSelector
from ...base.validation import check_array, check_classification_targets, plain
from .wording import number

# Which features are categories, and the words behind their numbers.


#: What stands for each number from 0 on, by the place of the feature.
Levels = dict[int, list[str]]


def categorical_places(estimator: Any, X: Any) -> list[int]:
    """Places of the features that an estimator was told to be categories."""
    parameter = categories_parameter(estimator)
    told = estimator.get_params(deep=True)[parameter] if parameter else None
    if told is None:
        return []
    table = X if hasattr(X, "columns") else np.asarray(X)
    return np.flatnonzero(chosen_features(told, table, getattr(table, "columns", None))).tolist()


def coded(X: Any, places: Sequence[int]) -> tuple[Any, Levels]:
    """A table with numbers from 0 on in some columns, NaN for what is missing, and what they stand for."""
    if not places:
        return X, {}
    columns = [_column(X, place) for place in range(np.shape(X)[1])]
    levels: Levels = {}
    for place in places:
        columns[place], levels[place] = _codes(columns[place])
    precision = X.dtype if getattr(getattr(X, "dtype", None), "kind", "") == "f" else np.float64
    return np.column_stack([np.asarray(each, dtype=precision) for each in columns]), levels


def words_behind(
    X: NDArray[Any], names: Sequence[str], words: Mapping[str, Sequence[str]], levels: Levels
) -> Levels:
    """Levels with words in place of their numbers, and the levels of other features that have words.

    ``words``: what the numbers of the table stand for, by the names of the features.
    """
    found = dict(levels)
    for place, name in enumerate(names):
        if name not in words:
            continue
        if place in levels:
            found[place] = [words[name][int(float(number))] for number in levels[place]]
        # Where a median stands in, there may be numbers between.
        elif np.isin(X[~np.isnan(X[:, place]), place], np.arange(len(words[name]))).all():
            found[place] = list(words[name])
    return found


def _column(X: Any, place: int) -> NDArray[Any]:
    if not hasattr(X, "columns"):
        return np.asarray(X)[:, place]
    values = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    return np.asarray(values.to_numpy())


def _codes(values: NDArray[Any]) -> tuple[NDArray[np.float64], list[str]]:
    codes = level_codes(values)
    known, first = np.unique(codes, return_index=True)
    names = [_written(values[row]) for row in first[known != MISSING]]
    return np.where(codes == MISSING, np.nan, codes), names


def _written(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, (int, float, np.number)) else str(value)


# Samples in three parts by a target that is a number, where others have classes.


#: What the parts are called.
THIRDS = ("lower", "middle", "upper")


def thirds(target: NDArray[np.float64]) -> NDArray[np.int64]:
    """In which third each sample is; equal targets are in the same one, so that some may be empty."""
    below, above = _bounds(target)
    return (target > below).astype(np.int64) + (target > above)


def thirds_in_words(target: NDArray[np.float64]) -> str:
    """What the thirds are, in a sentence."""
    below, above = (number(each) for each in _bounds(target))
    return (
        "Lower, middle and upper are the thirds of the samples by their target: up to"
        f" {below}, above that and up to {above}, and above."
    )


def _bounds(target: NDArray[np.float64]) -> tuple[float, float]:
    below, above = np.quantile(target, [1.0 / 3.0, 2.0 / 3.0], method="lower")
    return float(below), float(above)


@dataclass(frozen=True)
class Given:
    """A fitted estimator, the samples it was fitted to, and what all is called."""

    estimator: Any
    #: As it was given: the estimator may ask for the names of its columns.
    table: Any
    #: The same as an array of numbers, NaN where a value is missing.
    X: NDArray[Any]
    y: NDArray[Any]
    #: Place of each sample's class among the classes.
    codes: NDArray[np.int64]
    classes: list[str]
    feature_names: list[str]
    sample_names: list[str]
    #: Whether the samples are only numbered.
    numbered: bool
    #: Whether a sample was measured with another, and whether two are of one patient; None: no matter.
    batches: ArrayLike | None = None
    groups: ArrayLike | None = None
    #: Whether the target is a number; ``classes`` are then thirds of the samples by it.
    measured: bool = False
    #: Places of the features that are categories; ``X`` holds their numbers from 0 on.
    categorical: frozenset[int] = frozenset()
    #: The words behind the numbers of features that have some, by place.
    levels: Levels = field(default_factory=dict)

    @cached_property
    def missing(self) -> NDArray[np.float64] | None:
        """What share of each feature is missing; None if nothing is."""
        if self.X.dtype.kind != "f":
            return None
        share = np.isnan(self.X).mean(axis=0)
        return share if share.any() else None

    @property
    def unfitted(self) -> Any:
        """What can be fitted to rows of ``X``, and weighs as the estimator does."""
        # To group the features of every half again would not change their weights.
        estimator = self.estimator.estimator if hasattr(self.estimator, "groups_") else self.estimator
        if not self.categorical:
            return estimator
        parameter = categories_parameter(estimator)
        return clone(estimator).set_params(**{parameter: sorted(self.categorical)})

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks of the features, 1 = best; equals share the lowest."""
        return self.estimator.ranking_

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Features from the best on; of equals the one that comes first in the table."""
        return np.argsort(self.ranks, kind="stable")

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """How many samples each class has."""
        return np.bincount(self.codes, minlength=len(self.classes))


def given(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    feature_names: Sequence[str] | None,
    sample_names: Sequence[str] | None,
    batches: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    words: Mapping[str, Sequence[str]] | None = None,
) -> Given:
    """Judge what a report is asked for; raises where it cannot be made, and says what would help.

    ``words``: what numbers in X stand for, by the names of the features.
    """
    _check_estimator(estimator)
    places = categorical_places(estimator, X)
    in_numbers, levels = coded(X, places)
    # scikit-learn adds up all values first, which may be too large for a number together.
    with np.errstate(invalid="ignore"):
        values = check_array(
            in_numbers,
            dtype="numeric",
            input_name="X",
            estimator="report",
            ensure_all_finite="allow-nan" if takes_missing(estimator) else True,
        )
    labels = column_or_1d(y)
    if len(labels) != len(values):
        raise ValueError(
            f"X has {len(values):,} samples and y {len(labels):,}; report needs a label for each."
        )
    measured = takes_measurements(estimator)
    if measured:
        labels = check_array(labels, ensure_2d=False, dtype=np.float64, input_name="y", estimator="report")
        classes, codes = np.array(THIRDS), thirds(labels)
    else:
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    _check_same_data(estimator, X, values, None if measured else classes)
    named = [] if sample_names is None else [str(name) for name in sample_names]
    rows = named or _row_names(X) or [f"sample {n}" for n in range(1, len(values) + 1)]
    columns = _column_names(estimator, X) if feature_names is None else [str(each) for each in feature_names]
    _check_length("sample_names", rows, len(values), "samples")
    _check_length("feature_names", columns, values.shape[1], "features")
    numbered = not named and not _row_names(X)
    shown = [str(plain(each)) for each in classes]
    return Given(
        estimator,
        X,
        values,
        labels,
        codes,
        shown,
        columns,
        rows,
        numbered,
        batches=batches,
        groups=groups,
        measured=measured,
        categorical=frozenset(places),
        levels=words_behind(values, columns, words or {}, levels),
    )


def _check_estimator(estimator: Any) -> None:
    kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    if isinstance(estimator, type):
        raise TypeError(f"report needs a fitted estimator, and not the class: {kind}().fit(X, y).")
    if isinstance(estimator, WeightSelector):
        check_is_fitted(estimator)
        if not np.isfinite(estimator.feature_weights_).all():
            raise ValueError(
                f"{kind} has weights that are no finite numbers, which cannot be shown. Values of X may be"
                " too large to be compared as they are; features in other units would help."
            )
        return
    if hasattr(estimator, "steps") or hasattr(estimator, "best_estimator_"):
        raise TypeError(
            f"report takes the weighter itself, and not the {kind} around it: pass its last step or its"
            " best_estimator_, with X as that one was given it."
        )
    if hasattr(estimator, "transform") and type(estimator).__module__.startswith("highrelief."):
        raise TypeError(
            f"{kind} makes new directions out of the features and has no weight for each, so that there is"
            " nothing to rank. A weighter such as IRelief or ReliefF has."
        )
    raise TypeError(
        f"{kind} has no feature_weights_ to report. report takes a fitted weighter of highrelief, such as"
        f" IRelief; EnsembleWeighting is one around any estimator that has feature_importances_ or coef_."
    )


def _check_same_data(estimator: Any, X: Any, values: NDArray[Any], classes: NDArray[Any] | None) -> None:
    """Raise if these cannot be the samples that the estimator was fitted to."""
    kind = type(estimator).__name__
    if values.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {values.shape[1]:,} features, but {kind} was fitted to {estimator.n_features_in_:,}:"
            " report needs the X and y of its fit."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise ValueError(f"The columns of X are not those, in their order, that {kind} was fitted to.")
    fitted_classes = getattr(estimator, "classes_", None) if classes is not None else ()
    if fitted_classes is None:
        raise TypeError(f"{kind} was not fitted to classes; a report is about samples of different classes.")
    if list(fitted_classes) != list(() if classes is None else classes):
        raise ValueError(
            f"The classes in y are not those that {kind} was fitted to: report needs the X and y of its fit."
        )
    probability = getattr(estimator, "outlier_proba_", None)
    n_fitted = len(probability) if probability is not None else getattr(estimator, "_n_samples", len(values))
    if n_fitted != len(values):
        raise ValueError(
            f"X has {len(values):,} samples, but {kind} was fitted to {n_fitted:,}: report needs the X and y"
            " of its fit."
        )


def _check_length(name: str, names: list[str], wanted: int, of: str) -> None:
    if len(names) != wanted:
        raise ValueError(f"{name} has {len(names):,} names for the {wanted:,} {of} of X.")


def _column_names(estimator: Any, X: Any) -> list[str]:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def _row_names(X: Any) -> list[str]:
    """Names in the index of a pandas frame; none where it only counts."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return []
    return [str(name) for name in index]
