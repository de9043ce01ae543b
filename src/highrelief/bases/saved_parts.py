"""Whether the parts of an estimator that comes from a file fit together.

Compiled code follows places of samples, codes of classes and lengths without a look. After a fit they are
right; a file may hold any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.class_distances import ClassDistances
from ..core.class_hyperplanes import ClassHyperplanes
from ..core.reservoir import Reservoir
from ..core.scaling import Scaling
from ..kernels.packing import FEATURE_BLOCK, ROW_BLOCK

#: One number for every feature, if they are there.
_VECTORS = ("feature_weights_", "_w", "_nu", "_constant")


def misfits(value: Any) -> Iterator[str]:
    """Names of the estimators of ours, inside of a value, whose parts do not fit together."""
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (list, tuple)) or (isinstance(each, np.ndarray) and each.dtype == object):
            waiting += list(each)
        elif hasattr(each, "get_params") and hasattr(each, "__dict__"):
            waiting += vars(each).values()
            if type(each).__module__.startswith("highrelief.") and not _fits(vars(each)):
                yield type(each).__name__


def _fits(parts: dict[str, Any]) -> bool:
    """Whether the attributes of an estimator are of one number of features and of classes."""
    sized = [name for name in (*_VECTORS, "_scaling", "_references", "_reservoir") if name in parts]
    if not sized:
        return True
    n_features = parts.get("n_features_in_")
    if not isinstance(n_features, int):
        return False
    n_classes = np.size(parts["classes_"]) if "classes_" in parts else 0
    scaling, references, reservoir = (parts.get(name) for name in ("_scaling", "_references", "_reservoir"))
    return (
        all(_is_array(parts[name], (n_features,), "fb") for name in _VECTORS if name in parts)
        and (scaling is None or _scales(scaling, n_features))
        and (references is None or _refers(references, parts, n_classes))
        and (reservoir is None or _streams(reservoir, parts, n_classes))
    )


def _is_array(value: Any, shape: tuple[int, ...], kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind in kinds


def _is_within(value: Any, size: int, low: int, high: int) -> bool:
    """Whether it is an array of so many whole numbers, from ``low`` to below ``high``."""
    return _is_array(value, (size,), "i") and bool(np.all((value >= low) & (value < high)))


def _scales(scaling: Any, n_features: int) -> bool:
    arrays = (scaling.offset, scaling.divisor, *([] if scaling.unit is None else [scaling.unit]))
    return isinstance(scaling, Scaling) and all(_is_array(each, (n_features,), "f") for each in arrays)


def _refers(references: Any, parts: dict[str, Any], n_classes: int) -> bool:
    """Whether the samples that new ones are compared with are whole, and of the estimator's features."""
    if references.n_classes != n_classes:
        return False
    if isinstance(references, ClassHyperplanes):
        rows, starts = references._rows, references._starts
        n, d = rows.shape
        return (
            d == parts["n_features_in_"]
            and n > 0
            and _is_array(rows, (n, d), "f")
            and _is_within(starts, n_classes + 1, 0, n + 1)
            and bool(np.all(np.diff(starts) > 0))
            and (starts[0], starts[-1]) == (0, n)
            and all(_is_array(each, (n,), "f") for each in (references._copies, references._squares))
            and _is_array(references._center, (d,), "f")
            and _is_within(references._ignored, references._ignored.size, 0, d)
            and _scales(references._scaling, d)
        )
    n, d = np.shape(references._given)
    layout = np.size(references._position)
    return (
        isinstance(references, ClassDistances)
        and d == np.count_nonzero(parts["feature_weights_"] > 0.0)
        and _is_array(references._given, (n, d), "f")
        and layout % ROW_BLOCK == 0
        and _is_within(references._position, layout, -1, n)
        and _is_within(references._codes, layout, 0, n_classes)
        and bool(np.all(np.diff(references._codes) >= 0))
        and _is_array(references._copies, (layout,), "f")
        and _is_array(references._w, (-(-max(d, 1) // FEATURE_BLOCK) * FEATURE_BLOCK,), "f")
        and _scales(references._scaling, d)
    )


def _streams(reservoir: Any, parts: dict[str, Any], n_classes: int) -> bool:
    """Whether the samples that a stream has kept are of its features and classes."""
    n_features, n = parts["n_features_in_"], len(reservoir.rows)
    sums = (reservoir.low, reservoir.high, reservoir.mean, reservoir.squares)
    return (
        isinstance(reservoir, Reservoir)
        and _is_array(reservoir.rows, (n, n_features), "f")
        and _is_within(reservoir.codes, n, 0, n_classes)
        and all(_is_array(each, (n_features,), "f") for each in sums)
        and _scales(reservoir.first, n_features)
        and _is_within(parts.get("_class_counts"), n_classes, 0, 2**62)
        and {"_w", "_nu"} <= parts.keys()
    )
