"""What evens out a table: weights of the classes, and the levels of a column that samples belong to."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.held import brought_here
from ..core.levels import is_absent
from .checks import check_array


def class_weights_of(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    copies: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """How much the samples of each class count in sums over samples; None if all count the same, 1.

    "balanced": N/(C·n_c) with n_c the copies of class c, so that every class counts the same in all.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        weights = np.array([_weight_of(each, class_weight) for each in classes.tolist()])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights=copies, minlength=classes.size)
        weights = counts.sum() / (classes.size * counts)
    else:
        raise ValueError(
            f"class_weight={class_weight!r} is not known; it must be None, 'balanced', or a dict with a"
            " weight > 0 for each class."
        )
    return None if np.all(weights == 1.0) else weights


def _weight_of(name: Any, class_weight: Mapping[Any, Any]) -> float:
    if name not in class_weight:
        raise ValueError(
            f"class_weight={class_weight!r} has no weight for the class {name!r}, which is in y; it needs one"
            " for each."
        )
    weight = class_weight[name]
    if isinstance(weight, (bool, np.bool_)) or not isinstance(weight, Real):
        raise TypeError(f"class_weight={class_weight!r}: {weight!r} must be a number > 0.")
    if not 0.0 < float(weight) < np.inf:
        raise ValueError(f"class_weight={class_weight!r}: {weight!r} must be > 0, and finite.")
    return float(weight)


def label_codes(name: str, levels: ArrayLike | None, kept: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Numbers from 0 on for the groups, or batches, of the samples that count; ``name`` is for messages."""
    if levels is None:
        return None
    levels = brought_here(levels)
    checked = check_array(levels, ensure_2d=False, dtype=None, ensure_all_finite=False, input_name=name)
    if checked.shape != kept.shape:
        raise ValueError(
            f"{name} must name the {_SINGULAR[name]} of each of the {kept.size} samples; got an array of"
            f" shape {checked.shape}."
        )
    nowhere = np.flatnonzero(kept & is_absent(checked))
    if nowhere.size:
        raise ValueError(
            f"{name} has a missing value, at sample {nowhere[0]}; each sample needs a {_SINGULAR[name]}."
        )
    try:
        return np.unique(checked[kept], return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"{name} must hold names or numbers, all of one kind: {error}.") from error


_SINGULAR = {"groups": "group", "batches": "batch"}
