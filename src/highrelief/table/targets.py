"""What the target is: classes, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import MeasurementError, TableError, shown

#: More distinct numbers than this in a target are a measurement rather than classes.
_MOST_NUMBERED_CLASSES = 20


def checked_classes(y: NDArray[Any], target: str) -> NDArray[Any]:
    """Raise if the target does not tell classes apart."""
    if y.size == 0:
        raise TableError(f"The target {shown(target)} is missing in every row.")
    distinct = np.unique(y)
    if distinct.size == 1:
        raise TableError(f"The target {shown(target)} is {shown(y[0])} in every row; two classes are needed.")
    measured = _is_measurement(distinct)
    if distinct.size == y.size and not (measured and _has_fractions(distinct)):
        raise TableError(
            f"The target {shown(target)} is different in every row: it names samples, not classes."
        )
    if measured:
        raise MeasurementError(
            f"The target {shown(target)} has {distinct.size:,} different numbers: it looks like a"
            " measurement, and classes are needed."
        )
    return y


def _is_measurement(distinct: NDArray[Any]) -> bool:
    try:
        distinct.astype(np.float64)
    except ValueError:
        return False
    return bool(distinct.size > _MOST_NUMBERED_CLASSES or (distinct.size > 2 and _has_fractions(distinct)))


def _has_fractions(distinct: NDArray[Any]) -> bool:
    values = distinct.astype(np.float64)
    return bool(np.any(values != np.round(values)))


def checked_numbers(
    numbers: NDArray[Any], words: Sequence[str | None], places: Sequence[str], target: str
) -> NDArray[np.float64]:
    """The target as numbers, NaN where it is missing; raises if it does not tell samples apart.

    ``numbers``: as far as they were read as such; ``words``: as they are written; ``places``: of the rows,
    for messages.
    """
    y = np.array(numbers, dtype=np.float64)
    for row in np.flatnonzero(np.isnan(y)).tolist():
        y[row] = _number_of(words[row], places[row], target)
    known = y[~np.isnan(y)]
    if known.size == 0:
        raise TableError(f"The target {shown(target)} is missing in every row.")
    if np.isinf(known).any():
        row = int(np.argmax(np.isinf(y)))
        raise TableError(f"The target {shown(target)} is infinite, or too large, in {places[row]}.")
    if np.all(known == known[0]):
        raise TableError(
            f"The target {shown(target)} is {known[0]:.15g} in every row; samples must differ in it."
        )
    return y


def _number_of(word: str | None, place: str, target: str) -> float:
    try:
        return np.nan if word is None else float(word)
    except ValueError as error:
        raise TableError(
            f"The target {shown(target)} is {shown(word)} in {place}, and this method needs a target of"
            " numbers; --missing-value says that it stands for a missing one."
        ) from error
