"""``highrelief compare``: several methods on one table, by accuracy on held-out samples."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.selector import takes_continuous_target
from ..inspection.comparison import Comparison, compare
from ..inspection.report.inputs import about_software
from ..io.cells import TableError
from ..io.roles import InputTable
from .errors import UsageError, distinct_messages, on_one_line
from .options import Request
from .output import REPORT, csv_text, json_text, write_folder, write_text
from .rank import digest_facts
from .request import check_batches, create_weighter, data_record, read_for_comparison, source_of
from .screen import SILENT, Listener

#: Fields of a request that are not options of a comparison, with their values in its record.
FIXED = {"method": "", "resamples": 0}


@dataclass(frozen=True)
class MethodComparison:
    """A comparison with its request, table and estimators."""

    request: Request
    methods: tuple[str, ...]
    folds: int
    inner_folds: int
    table: InputTable
    result: Comparison
    #: Distinct messages of warnings.
    warnings: list[str]
    #: The unfitted estimators, by name.
    weighters: Mapping[str, Any]

    def write_report(self, folder: Path) -> Path:
        """Write the report into a folder; return the path."""
        from ..inspection.report.report import comparison_report  # noqa: PLC0415

        request = self.request
        report = comparison_report(
            self.result,
            title=Path(request.data).name,
            feature_names=self.table.feature_names,
            methods=self.weighters,
            parameters={"inner folds": str(self.inner_folds), "seed": str(request.seed)}
            | ({} if request.groups is None else {"groups": request.groups}),
            data=digest_facts(self.table),
            again=shlex.join(["highrelief", "compare", *self.arguments()]),
            notes=self.table.notes,
            warnings=self.warnings,
        )
        write_text(folder / REPORT, report.html, force=True)
        return folder / REPORT

    def arguments(self) -> list[str]:
        """Return the arguments of ``highrelief compare`` that repeat the comparison."""
        words = [*self.request.arguments(without=FIXED), "--methods", ",".join(self.methods)]
        return [*words, "--folds", str(self.folds), "--inner-folds", str(self.inner_folds)]

    def csv(self) -> str:
        """Return ``comparison.csv``: a row for each method and classifier."""
        rows = list(self.result.rows())
        return csv_text(list(rows[0]), (list(row.values()) for row in rows))

    def record(self) -> dict[str, Any]:
        """Return ``run.json``."""
        request = {**self.request.as_json(), "methods": list(self.methods)}
        request |= {"folds": self.folds, "inner_folds": self.inner_folds}
        return {
            "command": "compare",
            "request": request,
            "data": data_record(self.table),
            "result": {"warnings": self.warnings},
            **about_software(),
        }

    def write(self, folder: Path, *, force: bool) -> None:
        """Write ``comparison.csv`` and ``run.json``; delete the report of an earlier run."""
        texts = {"comparison.csv": self.csv(), "run.json": json_text(self.record())}
        write_folder(folder, texts, force=force, without=(REPORT,))


def compare_methods(
    request: Request,
    methods: Sequence[str],
    *,
    folds: int = 10,
    inner_folds: int = 5,
    n_jobs: int | None = None,
    listener: Listener = SILENT,
) -> MethodComparison:
    """Read the table and compare the methods on it."""
    if not methods:
        raise UsageError("--methods names none; `highrelief methods` lists them.")
    if len(set(methods)) < len(methods):
        raise UsageError(f"--methods names one twice: {','.join(methods)}.")
    weighters = {
        name: create_weighter(name, request.settings, seed=request.seed, n_jobs=None) for name in methods
    }
    for name, each in weighters.items():
        check_batches(name, each, request.batch)
        if takes_continuous_target(each):
            raise UsageError(
                f"{name} needs a continuous target, and a comparison needs classes;"
                " leave it out of --methods."
            )
    source = source_of(request)
    with listener.step("Reading the table"):
        table = read_for_comparison(request, source)
    listener.table(table)
    with (
        listener.step(f"Comparing {len(methods)} methods") as report,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            result = compare(
                weighters,
                table.X,
                table.y,
                groups=table.groups,
                batches=table.batches,
                cv=folds,
                inner_cv=inner_folds,
                n_jobs=n_jobs,
                random_state=request.seed,
                progress=lambda done, total, _: report(done, total),
            )
        except ValueError as error:
            raise TableError(on_one_line(error)) from error
    return MethodComparison(
        request,
        tuple(methods),
        folds,
        inner_folds,
        table,
        result,
        distinct_messages(caught),
        weighters,
    )
