"""``--max-redundancy``: of features that say the same only the best is kept, and the record says which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def without_redundancy(estimator: Any, threshold: float | None) -> Any:
    """The estimator, or a filter around it if features may be no more similar than so much."""
    if threshold is None:
        return estimator
    from ...redundancy import RedundancyFilter  # noqa: PLC0415  seldom asked for

    return RedundancyFilter(estimator, threshold=threshold, n_jobs=getattr(estimator, "n_jobs", None))


def group_columns(fitted: Any) -> dict[str, list[object]]:
    """Columns of ``ranking.csv`` about groups: of each feature, by place; none without a filter."""
    if not hasattr(fitted, "groups_"):
        return {}
    looked_at = fitted.labels_ >= 0
    return {
        "group": [int(label) + 1 if label >= 0 else "" for label in fitted.labels_],
        "similarity": [
            float(each) if known else "" for each, known in zip(fitted.similarity_, looked_at, strict=True)
        ],
    }


def groups_as_json(fitted: Any, names: Sequence[str]) -> dict[str, Any]:
    """Groups of two and more features for ``run.json``; nothing without a filter."""
    if not hasattr(fitted, "groups_"):
        return {}
    several = [group for group in fitted.groups_ if group.size > 1]
    return {
        "looked_at": int(np.count_nonzero(fitted.labels_ >= 0)),
        "groups": [
            {
                "representative": names[group[0]],
                "others": {names[j]: float(fitted.similarity_[j]) for j in group[1:]},
            }
            for group in several
        ],
    }
