"""scikit-learn's checks of tables and targets, without NumPy's warnings of what they compute.

Whether all values are finite is first seen by their sum, which large ones make infinite, or not a number;
whether targets are whole numbers by a conversion, which large ones do not survive.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import assert_all_finite as _assert_all_finite
from sklearn.utils import check_array as _check_array
from sklearn.utils import check_X_y as _check_X_y
from sklearn.utils.multiclass import check_classification_targets as _check_classification_targets
from sklearn.utils.multiclass import type_of_target as _type_of_target
from sklearn.utils.validation import validate_data as _validate_data

__all__ = [
    "assert_all_finite",
    "check_X_y",
    "check_array",
    "check_classification_targets",
    "type_of_target",
    "unwarned",
    "validate_data",
]

Check = TypeVar("Check", bound=Callable[..., Any])


def unwarned(check: Check) -> Check:
    """The same function, in which numbers may overflow."""

    @wraps(check)
    def checked(*given: Any, **more: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return check(*given, **more)

    return checked  # type: ignore[return-value]


def _in_order(check: Check) -> Check:
    """The same function of targets, with a sentence about those that cannot be sorted."""

    @wraps(check)
    def checked(y: Any, *more: Any) -> Any:
        try:
            return check(y, *more)
        except TypeError as error:
            kinds = sorted({type(each).__name__ for each in np.asarray(y, dtype=object).ravel()})
            if len(kinds) < 2:
                raise
            raise TypeError(
                f"y mixes labels of the types {', '.join(kinds)}, which have no common order; make them all"
                " words, by y.astype(str) for example."
            ) from error

    return checked  # type: ignore[return-value]


assert_all_finite = unwarned(_assert_all_finite)
check_array = unwarned(_check_array)
check_X_y = unwarned(_check_X_y)  # noqa: N816  as scikit-learn calls it
validate_data = unwarned(_validate_data)
check_classification_targets = unwarned(_in_order(_check_classification_targets))
type_of_target = unwarned(_in_order(_type_of_target))
