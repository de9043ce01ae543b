"""What the target is: classes, or numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import MeasurementError, TableError, shown

#: More distinct numbers than this in a target are a measurement rather than classes.
_MOST_NUMBERED_CLASSES = 20
#: Most classes, and fewest samples of each on average where there are more classes than ``_SOME_CLASSES``.
_MOST_CLASSES, _FEWEST_SAMPLES, _SOME_CLASSES = 1000, 2, 20


def checked_classes(y: Sequence[str], target: str) -> NDArray[Any]:
    """The classes as an array; raises if the target does not tell classes apart."""
    if not y:
        raise TableError(f"The target {shown(target)} is missing in every row.")
    distinct = set(y)
    if len(distinct) == 1:
        raise TableError(f"The target {shown(target)} is {shown(y[0])} in every row; two classes are needed.")
    numbers = _numbers(distinct)
    fractions = numbers is not None and bool(np.any(numbers != np.round(numbers)))
    measured = numbers is not None and (
        len(distinct) > _MOST_NUMBERED_CLASSES or (len(distinct) > 2 and fractions)
    )
    if len(distinct) == len(y) and not (measured and fractions):
        raise TableError(
            f"The target {shown(target)} is different in every row: it names samples, not classes."
        )
    if measured:
        raise MeasurementError(
            f"The target {shown(target)} has {len(distinct):,} different numbers: it looks like a"
            " measurement, and classes are needed."
        )
    few = len(distinct) > _SOME_CLASSES and len(y) < _FEWEST_SAMPLES * len(distinct)
    if few or len(distinct) > _MOST_CLASSES:
        raise TableError(
            f"The target {shown(target)} has {len(distinct):,} classes in {len(y):,} rows; at most"
            f" {_MOST_CLASSES:,} are allowed, with {_FEWEST_SAMPLES} samples each on average."
        )
    return np.array(y)


def _numbers(texts: Collection[str]) -> NDArray[np.float64] | None:
    """The numbers that all texts are; None if one is none."""
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


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
