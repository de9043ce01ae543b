"""``highrelief compare``: several methods on one table, judged on samples that they have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.selector import takes_continuous_target
from ..inspection.comparison import Comparison, compare
from ..inspection.report.origin import about_software
from ..io.cells import TableError
from ..io.roles import LabeledTable
from .endings import UsageError, in_one_line, told_once
from .options import Request
from .output import REPORT, csv_text, write_folder
from .rank import read_to_compare
from .request import about_data, as_text, check_batches, source_of, weighter
from .screen import NOBODY, Watcher

#: Fields of a request that a comparison does not offer, as its record has them.
FIXED = {"method": "", "resamples": 0}


@dataclass(frozen=True)
class ComparedMethods:
    """A comparison and what it was made of."""

    request: Request
    methods: tuple[str, ...]
    folds: int
    inner_folds: int
    table: LabeledTable
    found: Comparison
    #: What was warned of, each once.
    warnings: list[str]
    #: The methods as they were given to the comparison, by name.
    weighters: Mapping[str, Any]

    def arguments(self) -> list[str]:
        """What ``highrelief compare`` is given to do the same again."""
        words = [*self.request.arguments(without=FIXED), "--methods", ",".join(self.methods)]
        return [*words, "--folds", str(self.folds), "--inner-folds", str(self.inner_folds)]

    def csv(self) -> str:
        """``comparison.csv``: a row for each method and classifier."""
        rows = list(self.found.rows())
        return csv_text(list(rows[0]), (list(row.values()) for row in rows))

    def record(self) -> dict[str, Any]:
        """``run.json``."""
        request = {**self.request.as_json(), "methods": list(self.methods)}
        request |= {"folds": self.folds, "inner_folds": self.inner_folds}
        return {
            "command": "compare",
            "request": request,
            "data": about_data(self.table),
            "result": {"warnings": self.warnings},
            **about_software(),
        }

    def write(self, folder: Path, *, force: bool) -> None:
        """Write ``comparison.csv`` and ``run.json``; an earlier report does not stay beside them."""
        texts = {"comparison.csv": self.csv(), "run.json": as_text(self.record())}
        write_folder(folder, texts, force=force, without=(REPORT,))


def compared(
    request: Request,
    methods: Sequence[str],
    *,
    folds: int = 10,
    inner_folds: int = 5,
    n_jobs: int | None = None,
    watcher: Watcher = NOBODY,
) -> ComparedMethods:
    """Read the table, compare the methods on it."""
    if not methods:
        raise UsageError("--methods names none; `highrelief methods` lists them.")
    if len(set(methods)) < len(methods):
        raise UsageError(f"--methods names one twice: {','.join(methods)}.")
    weighters = {name: weighter(name, request.settings, seed=request.seed, n_jobs=None) for name in methods}
    for name, each in weighters.items():
        check_batches(name, each, request.batch)
        if takes_continuous_target(each):
            raise UsageError(
                f"{name} weighs features for a target of numbers, and a comparison is judged by classes;"
                " leave it out of --methods."
            )
    source = source_of(request)
    with watcher.working("Reading the table"):
        table = read_to_compare(request, source)
    watcher.table(table)
    with (
        watcher.working(f"Comparing {len(methods)} methods") as tell,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            found = compare(
                weighters,
                table.X,
                table.y,
                groups=table.groups,
                batches=table.batches,
                cv=folds,
                inner_cv=inner_folds,
                n_jobs=n_jobs,
                random_state=request.seed,
                progress=lambda done, total, _: tell(done, total),
            )
        except ValueError as error:
            raise TableError(in_one_line(error)) from error
    return ComparedMethods(
        request,
        tuple(methods),
        folds,
        inner_folds,
        table,
        found,
        told_once(caught),
        weighters,
    )
