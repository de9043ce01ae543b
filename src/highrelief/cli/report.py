"""``report.html``: the page of a run, beside what it was made from."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .endings import RunError
from .output import REPORT, write_text
from .rank import interactions_of, write_interactions
from .screen import NOBODY, Watcher

if TYPE_CHECKING:
    from .compare import ComparedMethods
    from .rank import Ranking


def check_pages() -> None:
    """Raise, before anything is computed, if pages cannot be made here."""
    if find_spec("jinja2") is None:
        raise RunError("The report needs jinja2: pip install 'highrelief[report]', or --no-report.")


def write_report(
    ranking: Ranking, folder: Path, *, n_jobs: int | None = None, watcher: Watcher = NOBODY
) -> Path:
    """Make the page of a ranking that was written to a folder; returns where it is."""
    from ..inspection.report.findings import contents as found  # noqa: PLC0415  the fit need not wait for it
    from ..inspection.report.page import ranking_page  # noqa: PLC0415

    found_together = interactions_of(ranking, n_jobs=n_jobs, watcher=watcher)
    write_interactions(ranking, found_together, folder)
    resamples = ranking.request.resamples
    what = f"Ranking {resamples} halves of the samples" if resamples else "Making the report"
    with _shortage_told(), watcher.working(what):
        contents = found(
            ranking.estimator,
            ranking.table.X,
            ranking.table.y,
            title=Path(ranking.request.data).name,
            feature_names=ranking.table.feature_names,
            sample_names=ranking.table.sample_names,
            resamples=resamples,
            random_state=ranking.request.seed,
            n_jobs=n_jobs,
            groups=ranking.table.groups,
            batches=ranking.table.batches,
            interactions=found_together,
            notes=ranking.table.notes,
            warnings=ranking.warnings,
            data=_digests(ranking.table.digest),
            time={"Started": ranking.started.isoformat(timespec="seconds")}
            | {f"{part.capitalize()} took": f"{seconds:.2f} s" for part, seconds in ranking.seconds.items()},
            value_labels=ranking.table.levels,
            again=f"highrelief rank --repeat {shlex.quote(str(folder / 'run.json'))}",
        )
        page = ranking_page(contents)
    return _written(folder, page)


def write_comparison_report(compared: ComparedMethods, folder: Path) -> Path:
    """Make the page of a comparison that was written to a folder; returns where it is."""
    from ..inspection.report.report import comparison_report  # noqa: PLC0415

    report = comparison_report(
        compared.found,
        title=Path(compared.request.data).name,
        feature_names=compared.table.feature_names,
        methods=compared.weighters,
        parameters={"inner folds": str(compared.inner_folds), "seed": str(compared.request.seed)}
        | ({} if compared.request.groups is None else {"groups": compared.request.groups}),
        data=_digests(compared.table.digest),
        again=shlex.join(["highrelief", "compare", *compared.arguments()]),
        notes=compared.table.notes,
        warnings=compared.warnings,
    )
    return _written(folder, report.html)


@contextmanager
def _shortage_told() -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise RunError(
            "The machine has not enough memory for the report; the other files are written."
        ) from error


def _digests(digest: Mapping[str, str]) -> dict[str, str]:
    return {f"SHA-256 of {name}": each for name, each in digest.items()}


def _written(folder: Path, page: str) -> Path:
    write_text(folder / REPORT, page, force=True)
    return folder / REPORT
