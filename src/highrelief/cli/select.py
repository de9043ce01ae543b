"""``highrelief select``: the table with the best features only."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.meta import CONTROLS
from ..catalog import any_of
from ..io.cells import counted, quoted_list
from ..io.roles import InputTable
from ..selection.error_control import METHODS, ErrorControlledSelector
from .errors import UsageError
from .options import Request
from .output import check_free, csv_text, write_file, write_text, write_utf8
from .rank import Ranking, rank
from .screen import SILENT, Listener

#: Formats by file extension.
KINDS = (".csv", ".tsv", ".parquet", ".feather", ".npz")


def check_selection(path: Path, *, force: bool, controlled: bool) -> None:
    """Raise if the files of a selection cannot be written; call before a long computation."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"--out must end in one of {', '.join(KINDS)}; {path.name!r} does not.")
    check_free(path, force=force)
    if controlled:
        check_free(statistics_file(path), force=force)


def write_selection(ranking: Ranking, n_best: int, path: Path, *, force: bool) -> list[str]:
    """Write the samples, their labels and the best features as read; return the names of the features."""
    ranked = ranking.table.feature_names
    if n_best > len(ranked):
        raise UsageError(f"--top {n_best} is more than the {counted(len(ranked), 'feature')} of the table.")
    filtered = ranking.request.max_redundancy is not None
    best = ranking.estimator.get_support(indices=True) if filtered else ranking.order[:n_best]
    return write_features(ranking, {ranked[j] for j in best}, path, force=force)


def write_recommended(ranking: Ranking, path: Path, *, force: bool) -> list[str]:
    """Write the samples, their labels and the recommended features as read; return the names."""
    names = ranking.table.feature_names
    if ranking.assessment is None or isinstance(ranking.assessment.recommendation, str):
        reason = "" if ranking.assessment is None else f" {ranking.assessment.recommendation}"
        raise UsageError(f"Use --top N, to keep N features.{reason}")
    kept = ranking.assessment.recommendation.features
    return write_features(ranking, {names[j] for j in np.flatnonzero(kept)}, path, force=force)


def write_features(ranking: Ranking, chosen: Set[str], path: Path, *, force: bool) -> list[str]:
    """Write the samples, their labels and the named features as read; return the names in order."""
    kind = path.suffix.lower()
    table = ranking.read
    places = [j for j, name in enumerate(table.feature_names) if name in chosen]
    names = [table.feature_names[j] for j in places]
    X, target = table.X[:, places], ranking.request.target
    words = [name for name in names if len(table.levels.get(name, ())) > 2]
    if words and kind == ".npz":
        raise UsageError(f"--out: NPZ holds numbers only, and {quoted_list(words)} has words; use .csv.")
    write_file(path, lambda part: _write(part, kind, table, names, X, target), force=force)
    return names


def _write(path: Path, kind: str, table: InputTable, names: list[str], X: NDArray[Any], target: str) -> None:
    if kind == ".npz":
        arrays: dict[str, Any] = {"X": X, "y": table.y, "feature_names": np.array(names)}
        if table.sample_names is not None:
            arrays["sample_names"] = np.array(table.sample_names)
        # As np.savez, of which older versions leave the archive open where the disk is full.
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        return
    columns: dict[str, Any] = {}
    by_column = dict(table.identifiers)
    if table.sample_names is not None and not by_column:
        by_column = {"sample": table.sample_names}
    for name, values in by_column.items():
        # R's write.table gives the column of row names no name.
        columns[_free(name or "sample", [*columns, *names, target])] = values
    columns[target] = table.y.tolist()
    columns.update({name: _values(X[:, place], table.levels.get(name)) for place, name in enumerate(names)})
    if kind in (".parquet", ".feather"):
        import polars as pl  # noqa: PLC0415

        frame = pl.DataFrame({name: pl.Series(values, nan_to_null=True) for name, values in columns.items()})
        # Not to the path: for a full disk Polars raises a ComputeError, or an OSError without a number.
        content = io.BytesIO()
        frame.write_parquet(content) if kind == ".parquet" else frame.write_ipc(content)
        path.write_bytes(content.getbuffer())
        return
    fields = [
        [_field(each) for each in np.asarray(column, dtype=object).tolist()] for column in columns.values()
    ]
    text = csv_text(list(columns), zip(*fields, strict=True), separator="\t" if kind == ".tsv" else ",")
    write_utf8(text, path)


def _values(column: NDArray[Any], levels: Sequence[str] | None) -> Any:
    """Return a feature as read: its numbers, or the text they encode; None for missing text."""
    if levels is None:
        return column
    return [None if np.isnan(code) else levels[int(code)] for code in column.tolist()]


def _field(value: Any) -> Any:
    """Return a value as a CSV field: integers without a point, missing values empty."""
    if not isinstance(value, float):
        return "" if value is None else value
    if np.isnan(value):
        return ""
    return int(value) if value.is_integer() and abs(value) < 2.0**53 else value


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


# --control: features selected at an error rate

#: Statistics of the features, and the names of their columns.
_STATISTICS = {
    "statistic_": "statistic",
    "pvalues_": "p",
    "qvalues_": "q",
    "selection_probability_": "selected_in",
}
_RATES = {"fdr": "false discovery rate", "fwer": "family-wise error rate"}


@dataclass(frozen=True)
class Control:
    """Options of the error control."""

    control: str
    level: float = 0.1
    by: str = "permutation"
    n_permutations: int = 200

    def __post_init__(self) -> None:
        for option, value, known in (("control", self.control, CONTROLS), ("by", self.by, METHODS)):
            if value not in known:
                raise UsageError(f"--{option} is one of {', '.join(known)}, and not {value!r}.")
        if not 0.0 < self.level < 1.0:
            raise UsageError(f"--level must be above 0 and below 1, and {self.level:g} is not.")

    def wrap(self, weighter: Any, *, seed: int, n_jobs: int | None) -> ErrorControlledSelector:
        """Return the selector around a weighter."""
        return ErrorControlledSelector(
            weighter,
            method=self.by,
            control=self.control,
            level=self.level,
            n_permutations=self.n_permutations,
            n_jobs=n_jobs,
            random_state=seed,
        )


@dataclass(frozen=True)
class ControlledSelection:
    """The features selected at an error rate."""

    control: Control
    ranking: Ranking

    @property
    def selector(self) -> ErrorControlledSelector:
        """The fitted selector, without a redundancy filter around it."""
        fitted = self.ranking.estimator
        selector: ErrorControlledSelector = fitted.estimator_ if self._filtered else fitted
        return selector

    @property
    def _filtered(self) -> bool:
        return self.ranking.request.max_redundancy is not None

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which features are selected and not redundant."""
        real = self.selector.get_support()
        return real & self.ranking.estimator.get_support() if self._filtered else real

    @property
    def n_kept(self) -> int:
        """Number of features that are kept."""
        return int(self.kept.sum())

    def header(self) -> list[str]:
        """Return the names of the columns."""
        known = [name for each, name in _STATISTICS.items() if hasattr(self.selector, each)]
        return ["rank", "feature", "weight", *known, "kept"]

    def rows(self, *, kept_only: bool) -> list[list[Any]]:
        """Return one row per feature, those kept first, each part by rank."""
        selector, names = self.selector, self.ranking.table.feature_names
        known = [getattr(selector, each) for each in _STATISTICS if hasattr(selector, each)]
        kept = self.kept
        order = [*(j for j in self.ranking.order if kept[j]), *(j for j in self.ranking.order if not kept[j])]
        return [
            [
                int(selector.ranking_[j]),
                names[j],
                float(selector.feature_weights_[j]),
                *(float(each[j]) for each in known),
                "yes" if kept[j] else "no",
            ]
            for j in order
            if kept[j] or not kept_only
        ]

    def sentence(self) -> str:
        """Return a sentence with the number of features kept, and the error rate."""
        rate = f"{_RATES[self.control.control]} of {self.control.level:g}, by {self.control.by}"
        n_features = len(self.ranking.table.feature_names)
        if self.n_kept == 0:
            found = f"None of the {counted(n_features, 'feature')} is found to be real at a {rate}."
            return f"{found} {self._advice()}"
        n_real = int(self.selector.get_support().sum())
        are = "feature is" if n_real == 1 else "features are"
        found = f"{n_real:,} of {n_features:,} {are} kept at a {rate}."
        if not self._filtered:
            return found
        return f"{found[:-1]}; {self.n_kept:,} of them are not redundant, and are written."

    def _advice(self) -> str:
        """Return what may select features where none was found."""
        tries = [f"a larger --level than {self.control.level:g}"]
        if self.control.control == "fwer":
            tries.append("--control fdr, which is less strict")
        if self.ranking.request.method != "high-relief":
            tries.append("`highrelief rank` with --method high-relief, which also scans pairs of features")
        return f"Try {any_of([*tries, 'more samples'])}; --top N keeps a fixed number."

    def write(self, path: Path, *, force: bool) -> Path:
        """Write the table with the features kept, and the statistics of all features to a second file."""
        names, kept = self.ranking.table.feature_names, self.kept
        write_features(
            self.ranking,
            {name for name, is_kept in zip(names, kept, strict=True) if is_kept},
            path,
            force=force,
        )
        statistics = statistics_file(path)
        write_text(statistics, csv_text(self.header(), self.rows(kept_only=False)), force=force)
        return statistics


def statistics_file(path: Path) -> Path:
    """Return the path of the file with the statistics of all features."""
    return path.with_name(f"{path.stem}.features.csv")


def select_controlled(
    request: Request, control: Control, *, n_jobs: int | None = None, listener: Listener = SILENT
) -> ControlledSelection:
    """Read the table, weight its features, select those that pass the error control."""
    repeats = f", {control.n_permutations:,} permutations" if control.by == "permutation" else ""
    ranking = rank(
        request,
        n_jobs=n_jobs,
        doing=repeats,
        wrap=lambda weighter: control.wrap(weighter, seed=request.seed, n_jobs=n_jobs),
        listener=listener,
    )
    return ControlledSelection(control, ranking)
