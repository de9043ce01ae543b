"""What an estimator can be given beside a table of numbers with classes, asked of the estimator itself."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_regressor
from sklearn.utils import get_tags


def takes_missing(estimator: Any) -> bool:
    """Whether values may be missing."""
    return bool(get_tags(estimator).input_tags.allow_nan)


def takes_categories(estimator: Any) -> bool:
    """Whether features may be categories."""
    return bool(getattr(get_tags(estimator), "categories", False))


def categories_parameter(estimator: Any) -> str:
    """The name of the parameter that says which features are categories, its own or of what is inside."""
    named = [name for name in estimator.get_params() if name.split("__")[-1] == "categorical_features"]
    return min(named, key=len, default="")


def takes_measurements(estimator: Any) -> bool:
    """Whether the target is a number rather than a class."""
    return is_regressor(estimator) or bool(getattr(get_tags(estimator), "continuous_target", False))
