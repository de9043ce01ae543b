"""What is done about values that are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import TableError, counted, listed, shown
from .roles import LabeledTable

RULES = ("keep", "median", "drop-features", "drop-samples", "error")


def completed(table: LabeledTable, rule: str) -> LabeledTable:
    """The table with what is missing dealt with by one of the rules.

    ``"keep"``: it stays missing. ``"median"``: the median of the feature stands in, of a category the most
    frequent one; a feature of which half or more is missing is left out. ``"drop-features"``,
    ``"drop-samples"``: what has a missing value is left out. ``"error"``: there must be none.
    """
    table = without_empty(table)
    holes = missing_values(table)
    if rule == "keep" or not holes.any():
        return table
    of_feature, of_sample = np.any(holes, axis=0), np.any(holes, axis=1)
    if rule == "error":
        row, column = np.argwhere(holes)[0]
        raise TableError(
            f"{counted(int(holes.sum()), 'value is', 'values are')} missing, the first in"
            f" {shown(table.feature_names[column])} of sample {row + 1}; --missing says what to"
            " do about it."
        )
    if rule == "drop-samples":
        kept = ~of_sample
        if not kept.any() or np.unique(table.y[kept]).size < 2:
            what = "different targets" if table.measured else "classes"
            raise TableError(
                f"Without the samples that miss a value there are not two {what} left (--missing)."
            )
        left_out = counted(int(of_sample.sum()), "sample")
        return _of_samples(table, kept, f"{left_out} left out for missing values.")
    if rule == "drop-features":
        return _of_features(table, np.logical_not(of_feature), "values are missing")
    table = _of_features(table, holes.mean(axis=0) < 0.5, "half of the values or more are missing")
    holes = np.isnan(table.X)
    if not holes.any():
        return table
    X = table.X.copy()
    stands_in = _medians(X, holes)
    for place in table.categorical:
        stands_in[place] = _most_frequent(X[~holes[:, place], place])
    X[holes] = np.broadcast_to(stands_in, X.shape)[holes]
    note = f"{counted_holes(holes)}: the median of the feature stands in"
    if holes[:, table.categorical].any():
        note += ", of categories the most frequent one"
    return replace(table, X=X, notes=[*table.notes, f"{note}."])


def missing_values(table: LabeledTable) -> NDArray[np.bool_]:
    """Where values are missing."""
    return np.isnan(table.X) if table.X.dtype.kind == "f" else np.zeros(table.X.shape, dtype=bool)


def counted_holes(holes: NDArray[np.bool_]) -> str:
    """How many values are missing, for a note."""
    n_features = int(holes.any(axis=0).sum())
    return f"{counted(int(holes.sum()), 'missing value')} in {counted(n_features, 'feature')}"


def _most_frequent(values: NDArray[Any]) -> Any:
    """The value that occurs most often; of equals the smallest, the first in the alphabet."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[np.argmax(counts)]


def _medians(X: NDArray[Any], holes: NDArray[np.bool_]) -> NDArray[Any]:
    """Medians of what is there: all columns at once, since NumPy takes them one by one."""
    ordered = np.sort(X, axis=0)  # NaN comes last
    count, columns = (~holes).sum(axis=0), np.arange(X.shape[1])
    return (ordered[(count - 1) // 2, columns] + ordered[count // 2, columns]) / 2


def without_empty(table: LabeledTable) -> LabeledTable:
    """The table without the features that have no value at all."""
    if table.X.dtype.kind != "f":
        return table
    return _of_features(table, ~np.isnan(table.X).all(axis=0), "all values are missing")


def _of_features(table: LabeledTable, kept: NDArray[np.bool_], why: str) -> LabeledTable:
    if kept.all():
        return table
    if not kept.any():
        raise TableError(f"No feature is left: {why} (--missing).")
    names = np.array(table.feature_names, dtype=object)
    note = f"{counted(int((~kept).sum()), 'feature')} left out, {why}: {listed(names[~kept].tolist())}."
    return replace(table, X=table.X[:, kept], feature_names=names[kept].tolist(), notes=[*table.notes, note])


def _of_samples(table: LabeledTable, kept: NDArray[np.bool_], note: str) -> LabeledTable:
    names = table.sample_names
    return replace(
        table,
        X=table.X[kept],
        y=table.y[kept],
        sample_names=None if names is None else [name for name, row in zip(names, kept, strict=True) if row],
        groups=None if table.groups is None else table.groups[kept],
        batches=None if table.batches is None else table.batches[kept],
        notes=[*table.notes, note],
    )
