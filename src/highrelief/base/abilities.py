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
    return _parameter(estimator, "categorical_features")


def stays_within_batches(estimator: Any) -> bool:
    """Whether neighbors are of the batch of a sample, and not of the others."""
    parameter = _parameter(estimator, "batch_neighbors")
    return not parameter or estimator.get_params()[parameter] == "within"


def weighs_classes(estimator: Any) -> bool:
    """Whether classes were given weights, so that large ones need not have the most to say."""
    parameter = _parameter(estimator, "class_weight")
    return bool(parameter) and estimator.get_params()[parameter] is not None


def _parameter(estimator: Any, name: str) -> str:
    """What a parameter is called, its own or of what is inside; nothing if there is none."""
    return min((each for each in estimator.get_params() if each.split("__")[-1] == name), key=len, default="")


def takes_measurements(estimator: Any) -> bool:
    """Whether the target is a number rather than a class, also where its values are whole."""
    return is_regressor(estimator) or bool(getattr(get_tags(estimator), "continuous_target", False))
