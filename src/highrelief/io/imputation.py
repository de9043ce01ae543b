"""Missing values: imputation, or removal of features or samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import TableError, counted, quoted, quoted_list
from .roles import InputTable

RULES = ("keep", "median", "drop-features", "drop-samples", "error")


def impute(table: InputTable, rule: str) -> InputTable:
    """Return the table with missing values treated by one of the rules.

    ``"keep"``: they stay missing. ``"median"``: they become the median of the feature, or its most frequent
    category; features with half or more missing are left out. ``"drop-features"``, ``"drop-samples"``:
    features or samples with a missing value are left out. ``"error"``: a missing value raises.
    """
    table = drop_empty_features(table)
    missing = missing_mask(table)
    if rule == "keep" or not missing.any():
        return table
    of_feature, of_sample = np.any(missing, axis=0), np.any(missing, axis=1)
    if rule == "error":
        row, column = np.argwhere(missing)[0]
        raise TableError(
            f"{counted(int(missing.sum()), 'value is', 'values are')} missing, the first in"
            f" {quoted(table.feature_names[column])} of sample {row + 1}; use another rule"
            " for --missing."
        )
    if rule == "drop-samples":
        kept = ~of_sample
        if not kept.any() or np.unique(table.y[kept]).size < 2:
            what = "different targets" if table.continuous_target else "classes"
            raise TableError(
                f"Without the samples that miss a value there are not two {what} left (--missing)."
            )
        n_dropped = counted(int(of_sample.sum()), "sample")
        return _keep_samples(table, kept, f"{n_dropped} left out for missing values.")
    if rule == "drop-features":
        return _keep_features(table, np.logical_not(of_feature), "values are missing")
    table = _keep_features(table, missing.mean(axis=0) < 0.5, "half of the values or more are missing")
    missing = np.isnan(table.X)
    if not missing.any():
        return table
    X = table.X.copy()
    replacement = _medians(X, missing)
    for index in table.categorical:
        replacement[index] = _most_frequent(X[~missing[:, index], index])
    X[missing] = np.broadcast_to(replacement, X.shape)[missing]
    note = f"{missing_summary(missing)}: the median of the feature stands in"
    if missing[:, table.categorical].any():
        note += ", of categories the most frequent one"
    return replace(table, X=X, notes=[*table.notes, f"{note}."])


def missing_mask(table: InputTable) -> NDArray[np.bool_]:
    """Return where values are missing."""
    return np.isnan(table.X) if table.X.dtype.kind == "f" else np.zeros(table.X.shape, dtype=bool)


def missing_summary(missing: NDArray[np.bool_]) -> str:
    """Return the number of missing values and of features that have some, for a note."""
    n_features = int(missing.any(axis=0).sum())
    return f"{counted(int(missing.sum()), 'missing value')} in {counted(n_features, 'feature')}"


def _most_frequent(values: NDArray[Any]) -> Any:
    """Return the most frequent value; of ties the smallest."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[np.argmax(counts)]


def _medians(X: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the medians of the observed values; all columns at once, which NumPy's nanmedian does not do."""
    ordered = np.sort(X, axis=0)  # NaN comes last
    count, columns = (~missing).sum(axis=0), np.arange(X.shape[1])
    return (ordered[(count - 1) // 2, columns] + ordered[count // 2, columns]) / 2


def drop_empty_features(table: InputTable) -> InputTable:
    """Return the table without features that have no value at all."""
    if table.X.dtype.kind != "f":
        return table
    return _keep_features(table, ~np.isnan(table.X).all(axis=0), "all values are missing")


def _keep_features(table: InputTable, kept: NDArray[np.bool_], why: str) -> InputTable:
    if kept.all():
        return table
    if not kept.any():
        raise TableError(f"No feature is left: {why} (--missing).")
    names = np.array(table.feature_names, dtype=object)
    note = f"{counted(int((~kept).sum()), 'feature')} left out, {why}: {quoted_list(names[~kept].tolist())}."
    return replace(table, X=table.X[:, kept], feature_names=names[kept].tolist(), notes=[*table.notes, note])


def _keep_samples(table: InputTable, kept: NDArray[np.bool_], note: str) -> InputTable:
    names = table.sample_names
    by_column = {
        name: [value for value, row in zip(values, kept, strict=True) if row]
        for name, values in table.identifiers.items()
    }
    return replace(
        table,
        X=table.X[kept],
        y=table.y[kept],
        sample_names=None if names is None else [name for name, row in zip(names, kept, strict=True) if row],
        identifiers=by_column,
        groups=None if table.groups is None else table.groups[kept],
        batches=None if table.batches is None else table.batches[kept],
        notes=[*table.notes, note],
    )
