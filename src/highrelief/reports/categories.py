"""Which features are categories, and the words behind their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bases.abilities import categories_parameter
from ..bases.mixed import chosen_features
from ..core.encoding import ABSENT
from ..core.levels import level_codes

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
    names = [_written(values[row]) for row in first[known != ABSENT]]
    return np.where(codes == ABSENT, np.nan, codes), names


def _written(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, (int, float, np.number)) else str(value)
