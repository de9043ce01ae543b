"""Values of a categorical feature, of any kind, as numbers of levels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import ABSENT


def level_codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """Number the levels of a column; None, NaN, NaT and pandas' NA are missing.

    Levels are numbered in their order, if they have one, so that the order of the samples does not matter.
    """
    if values.dtype == object:
        return _codes_of_objects(values.tolist())
    codes = np.full(values.size, ABSENT)
    seen = ~is_absent(values)
    codes[seen] = np.unique(values[seen], return_inverse=True)[1]
    return codes


def is_absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are missing: None, NaN, NaT and pandas' NA."""
    if values.dtype == object:
        return np.array([_is_absent(value) for value in values.tolist()], dtype=bool)
    return np.not_equal(values, values)


def _codes_of_objects(values: Iterable[Any]) -> NDArray[np.int64]:
    numbers: dict[Any, int] = {}
    codes = [ABSENT if _is_absent(value) else numbers.setdefault(value, len(numbers)) for value in values]
    try:
        ordered = sorted(numbers)
    except TypeError:  # of different kinds
        ordered = sorted(numbers, key=lambda level: (type(level).__name__, str(level)))
    place = np.empty(len(numbers) + 1, np.int64)
    place[[numbers[level] for level in ordered]] = np.arange(len(numbers))
    place[ABSENT] = ABSENT
    return place[codes]


def _is_absent(value: Any) -> bool:
    if value is None:
        return True
    equal = value == value  # noqa: PLR0124
    # What pandas has for nothing is not even equal or unequal to itself.
    return not isinstance(equal, bool | np.bool_) or not equal
