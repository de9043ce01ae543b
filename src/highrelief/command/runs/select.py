"""``highrelief select``: the table again, with the best features only."""

from __future__ import annotations

import io
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...table import LabelledTable
from ...table.errors import listed
from .errors import UsageError
from .files import check_free, csv_text, put, write_file
from .rank import Ranking

#: What is written, by the end of the file's name.
KINDS = (".csv", ".tsv", ".parquet", ".feather", ".npz")


def check_selection(path: Path, *, force: bool) -> None:
    """Raise if a file cannot be written as it is asked for, before anything is computed."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"--out must end in one of {', '.join(KINDS)}; {path.name!r} does not.")
    check_free(path, force=force)


def write_selection(ranking: Ranking, n_best: int, path: Path, *, force: bool) -> list[str]:
    """Write the samples, their classes and the best features as they are; returns the names of these."""
    ranked = ranking.table.feature_names
    if n_best > len(ranked):
        raise UsageError(f"--top {n_best} is more than the {len(ranked):,} features there are.")
    filtered = ranking.request.max_redundancy is not None
    best = ranking.estimator.get_support(indices=True) if filtered else ranking.order[:n_best]
    return write_features(ranking, {ranked[j] for j in best}, path, force=force)


def write_features(ranking: Ranking, chosen: Set[str], path: Path, *, force: bool) -> list[str]:
    """Write the samples, their classes and the features of these names as they are; returns the names."""
    kind = path.suffix.lower()
    table = ranking.read
    places = [j for j, name in enumerate(table.feature_names) if name in chosen]
    names = [table.feature_names[j] for j in places]
    X, target = table.X[:, places], ranking.request.target
    words = [name for name in names if len(table.levels.get(name, ())) > 2]
    if words and kind == ".npz":
        raise UsageError(f"--out: NPZ holds numbers only, and {listed(words)} has words; .csv would do.")
    write_file(path, lambda part: _write(part, kind, table, names, X, target), force=force)
    return names


def _write(
    path: Path, kind: str, table: LabelledTable, names: list[str], X: NDArray[Any], target: str
) -> None:
    if kind == ".npz":
        arrays: dict[str, Any] = {"X": X, "y": table.y, "feature_names": np.array(names)}
        if table.sample_names is not None:
            arrays["sample_names"] = np.array(table.sample_names)
        with path.open("wb") as file:
            np.savez(file, **arrays)
        return
    samples = {} if table.sample_names is None else {_free("sample", [*names, target]): table.sample_names}
    columns: dict[str, Any] = {**samples, target: table.y.tolist()}
    columns.update({name: _values(X[:, place], table.levels.get(name)) for place, name in enumerate(names)})
    if kind in (".parquet", ".feather"):
        import polars as pl  # noqa: PLC0415

        frame = pl.DataFrame({name: pl.Series(values, nan_to_null=True) for name, values in columns.items()})
        # Not to the path: for a full disk Polars raises a ComputeError, or an OSError without a number.
        content = io.BytesIO()
        frame.write_parquet(content) if kind == ".parquet" else frame.write_ipc(content)
        path.write_bytes(content.getbuffer())
        return
    values = [
        [_field(each) for each in np.asarray(column, dtype=object).tolist()] for column in columns.values()
    ]
    text = csv_text(list(columns), zip(*values, strict=True), separator="\t" if kind == ".tsv" else ",")
    put(text, path)


def _values(column: NDArray[Any], levels: Sequence[str] | None) -> Any:
    """A feature as it was read: numbers, or the words that they stand for; None for a missing word."""
    if levels is None:
        return column
    return [None if np.isnan(code) else levels[int(code)] for code in column.tolist()]


def _field(value: Any) -> Any:
    """A value as it is written: whole numbers without a point, nothing for a missing one."""
    if not isinstance(value, float):
        return "" if value is None else value
    if np.isnan(value):
        return ""
    return int(value) if value.is_integer() and abs(value) < 2.0**53 else value


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name
