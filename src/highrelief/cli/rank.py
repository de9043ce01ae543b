"""``highrelief rank``: a table becomes a ranking, and a record from which it can be made again."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.meta import fit_inside
from ..base.selector import categories_parameter, takes_categories, takes_continuous_target, takes_missing
from ..inspection.interactions import InteractionTable
from ..inspection.report.origin import about_software, plain
from ..io.cells import MeasurementError, TableError, WordsError, counted, shown
from ..io.imputation import completed, counted_holes, missing_values, without_empty
from ..io.reading import Source, read_table
from ..io.roles import LabeledTable
from .endings import RunError, UsageError, in_one_line, told_once
from .options import Request
from .output import REPORT, csv_text, write_folder, write_text
from .request import (
    able,
    about_data,
    as_text,
    check_batches,
    other_software,
    request_from,
    roles_of,
    source_of,
    weighter,
)
from .screen import NOBODY, Watcher

# A table as a method takes it: what stays missing, which columns are categories, what the target is.


def resolved(request: Request, estimator: Any) -> Request:
    """The request with what it leaves to the method decided, as a record keeps it; raises if it cannot be."""
    if "categorical_features" in request.settings:
        raise UsageError("--categorical COLUMN says which features are categories, and not --set.")
    if request.categorical and not takes_categories(estimator):
        raise UsageError(
            f"--categorical: {request.method} takes numbers only{_instead(takes_categories, 'categories')}."
        )
    if request.missing == "keep" and not takes_missing(estimator):
        raise UsageError(
            f"--missing keep: {request.method} needs all values{_instead(takes_missing, 'missing ones')}."
        )
    if request.missing != "auto":
        return request
    return replace(request, missing="keep" if takes_missing(estimator) else "median")


def read_for(estimator: Any, request: Request, source: Source) -> tuple[LabeledTable, LabeledTable]:
    """The table as it was read, and as the estimator gets it; ``request`` is resolved."""
    roles = replace(
        roles_of(request),
        measured=takes_continuous_target(estimator),
        words=takes_categories(estimator),
        categorical=request.categorical,
    )
    try:
        as_read = read_table(source, roles)
    except MeasurementError as error:
        raise TableError(f"{_unended(error)}{_instead(takes_continuous_target, 'numbers')}.") from error
    except WordsError as error:
        raise TableError(f"{_unended(error)}{_instead(takes_categories, 'words')}.") from error
    instead = _instead(takes_categories, "them as categories") if as_read.left_out else ""
    if instead:
        note = f"{request.method} takes no words{instead}."
        as_read = replace(as_read, notes=[*as_read.notes, note])
    table = completed(as_read, request.missing)
    holes = missing_values(table)
    if holes.any():
        note = f"{counted_holes(holes)} stay missing: differences to them are those to be expected."
        table = replace(table, notes=[*table.notes, note])
    return as_read, table


def read_to_compare(request: Request, source: Source) -> LabeledTable:
    """The table that several methods, and the classifiers that judge them, get: numbers with classes."""
    try:
        table = without_empty(read_table(source, roles_of(request)))
    except MeasurementError as error:
        raise TableError(f"{_unended(error)} to compare by.") from error
    holes = missing_values(table)
    if not holes.any():
        return table
    note = f"{counted_holes(holes)}: in each fold the medians of the samples that are fitted stand in."
    return replace(table, notes=[*table.notes, note])


def _instead(ability: Callable[[Any], bool], what: str) -> str:
    """Which methods take what another does not, as the end of a sentence; nothing if none does."""
    *others, last = able(ability) or [""]
    names = f"{', '.join(others)} or {last}" if others else last
    return f"; --method {names} takes {what}" if names else ""


def _unended(error: TableError) -> str:
    return str(error).rstrip(".")


# ``--max-redundancy``: of features that say the same only the best is kept, and the record says which.


def without_redundancy(estimator: Any, threshold: float | None) -> Any:
    """The estimator, or a filter around it if features may be no more similar than so much."""
    if threshold is None:
        return estimator
    from ..selection.redundancy import RedundancyFilter  # noqa: PLC0415  seldom asked for

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


# ``interactions.csv``: what becomes of the weight of each of the best features without another.


#: What the file is called.
INTERACTIONS = "interactions.csv"
_HEADER = ("feature", "without", "weight", "weight_without", "loss", "noise", "beyond_noise")


def interactions_of(
    ranking: Ranking, *, n_jobs: int | None = None, watcher: Watcher = NOBODY
) -> InteractionTable | str:
    """Weigh the best features of a ranking again without one another; or why not, in a sentence."""
    from ..inspection.report.findings import measure_top_interactions  # noqa: PLC0415  the fit need not wait for it

    request, table = ranking.request, ranking.table
    with watcher.working("Weighing the best features without one another"):
        return measure_top_interactions(
            ranking.estimator,
            table.X,
            table.y,
            requested=request.interactions,
            resamples=request.resamples,
            random_state=request.seed,
            n_jobs=n_jobs,
            groups=table.groups,
            batches=table.batches,
            feature_names=table.feature_names,
            value_labels=table.levels,
        )


def write_interactions(ranking: Ranking, found: InteractionTable | str, folder: Path) -> list[str]:
    """Write ``interactions.csv``, and what it holds into ``run.json``; returns the names of the files."""
    record = ranking.record()
    record["result"]["interactions"] = found if isinstance(found, str) else _as_json(ranking, found)
    texts = {"run.json": as_text(record)}
    if isinstance(found, str):
        (folder / INTERACTIONS).unlink(missing_ok=True)
    else:
        texts[INTERACTIONS] = csv_text(_HEADER, _rows(ranking, found))
    for name, text in texts.items():
        write_text(folder / name, text, force=True)
    return list(texts)[1:]


def _rows(ranking: Ranking, found: InteractionTable) -> Iterator[tuple[object, ...]]:
    """One row for each two features, in this order; nothing where something is not known."""
    names = [ranking.table.feature_names[j] for j in found.features]
    losses, clear = found.losses, found.clear
    for i, name in enumerate(names):
        for j, other in enumerate(names):
            if i != j:
                beyond = "" if clear is None else "yes" if clear[i, j] else "no"
                noise = None if found.noise is None else found.noise[i, j]
                numbers = (found.weights[i], found.weights_without[i, j], losses[i, j], noise)
                yield (name, other, *(_number(each) for each in numbers), beyond)


def _number(value: Any) -> float | str:
    return "" if value is None or np.isnan(value) else float(value)


def _as_json(ranking: Ranking, found: InteractionTable) -> dict[str, Any]:
    """What is beyond noise, pair by pair."""
    names = ranking.table.feature_names
    clear = [each for each in found.pairs() if each.first_is_clear or each.second_is_clear]
    return {
        "features": [names[j] for j in found.features],
        "halves": found.n_resamples,
        "beyond_noise": [
            {
                "first": names[each.first],
                "second": names[each.second],
                "loss_of_first": _number(each.loss_of_first),
                "loss_of_second": _number(each.loss_of_second),
            }
            for each in clear
        ],
    }


@dataclass(frozen=True)
class Ranking:
    """A fitted method on a table."""

    request: Request
    #: As it was read, and as the method got it.
    read: LabeledTable
    table: LabeledTable
    estimator: Any
    #: What the fit warned of.
    warnings: list[str]
    started: datetime
    #: What reading and fitting took.
    seconds: dict[str, float]

    @property
    def order(self) -> NDArray[np.int64]:
        """Features from the best on; of equals the one that comes first in the table."""
        return np.argsort(self.estimator.ranking_, kind="stable")

    def csv(self) -> str:
        """``ranking.csv``."""
        kept = self.estimator.get_support()
        ranks, weights = self.estimator.ranking_, self.estimator.feature_weights_
        more = group_columns(self.estimator)
        rows = (
            (
                int(ranks[j]),
                self.table.feature_names[j],
                float(weights[j]),
                "yes" if kept[j] else "no",
                *(column[j] for column in more.values()),
            )
            for j in self.order
        )
        return csv_text(("rank", "feature", "weight", "kept", *more), rows)

    def record(self) -> dict[str, Any]:
        """``run.json``: what was asked for, of what, with what, and how it went."""
        estimator = self.estimator
        inside = fit_inside(estimator)
        outcomes = ("n_iter_", "converged_", "cycle_length_", "sigma_", "execution_")
        found = {name.rstrip("_"): plain(getattr(inside, name)) for name in outcomes if hasattr(inside, name)}
        found |= groups_as_json(estimator, self.table.feature_names)
        return {
            "command": "rank",
            "request": self.request.as_json(),
            "parameters": plain(dict(sorted(estimator.get_params().items()))),
            "data": about_data(self.table),
            "result": {"kept": int(estimator.get_support().sum()), "warnings": self.warnings, **found},
            "time": {"started": self.started.isoformat(timespec="seconds"), **self.seconds},
            **about_software(),
        }

    def write(self, folder: Path, *, force: bool) -> None:
        """Write ``ranking.csv`` and ``run.json``; the report of an earlier run does not stay beside them."""
        texts = {"ranking.csv": self.csv(), "run.json": as_text(self.record())}
        write_folder(folder, texts, force=force, without=(REPORT, INTERACTIONS))


def rank(
    request: Request,
    *,
    n_jobs: int | None = None,
    folder: Path | None = None,
    digest: Mapping[str, str] | None = None,
    around: Callable[[Any], Any] | None = None,
    watcher: Watcher = NOBODY,
    n_best: int | None = None,
) -> Ranking:
    """Read the table, fit the method.

    ``n_best``: how many features are wanted of which no two say the same, where that is asked for.
    ``folder``: where files are looked for that are not where they were. ``digest``: of the files that are
    expected; others are refused. ``around``: puts another estimator, which takes groups, around the method.
    """
    source = source_of(request, folder)
    estimator = weighter(request.method, request.settings, seed=request.seed, n_jobs=n_jobs)
    check_batches(request.method, estimator, request.batch)
    estimator = estimator if around is None else around(estimator)
    estimator = without_redundancy(estimator, request.max_redundancy)
    request = resolved(request, estimator)
    started, begin = datetime.now(UTC), time.perf_counter()
    with watcher.working("Reading the table"):
        as_read, table = read_for(estimator, request, source)
    if digest is not None and dict(digest) != table.digest:
        raise TableError("The data is not what it was in the run to repeat: its SHA-256 differs.")
    read = time.perf_counter()
    watcher.table(table)
    if n_best is not None and request.max_redundancy is not None:
        estimator.set_params(n_features_to_select=min(n_best, len(table.feature_names)))
    with watcher.working(f"Weighing {counted(len(table.feature_names), 'feature')}"):
        told = fitted(estimator, table, request.settings, groups=None if around is None else table.groups)
    for each in told:
        watcher.note(f"- {each}")
    seconds = {"reading": round(read - begin, 3), "fitting": round(time.perf_counter() - read, 3)}
    return Ranking(request, as_read, table, estimator, told, started, seconds)


def fitted(estimator: Any, table: LabeledTable, settings: Mapping[str, Any], groups: Any = None) -> list[str]:
    """Fit an estimator; returns what it warned of, each once."""
    if table.categorical:
        estimator.set_params(**{categories_parameter(estimator): table.categorical})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = {"batches": table.batches, "groups": groups}
            told_of = {name: each for name, each in given.items() if each is not None}
            estimator.fit(table.X, table.y, **told_of)
        except (ValueError, TypeError) as error:
            sentence = in_one_line(error)
            if any(sentence.startswith(f"{name}=") for name in settings):
                raise UsageError(sentence) from error
            raise TableError(sentence) from error
        except MemoryError as error:
            short = "The machine has not enough memory for this table and method"
            needed = in_one_line(error)
            raise RunError(f"{short}: {needed}" if needed else f"{short}.") from error
    return told_once(caught)


def repeated(
    record: Path,
    *,
    n_jobs: int | None = None,
    watcher: Watcher = NOBODY,
    **of_report: Any,
) -> Ranking:
    """Repeat the run of a ``run.json`` on the same data, with other options ``of_report``."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
        if kept["command"] != "rank":
            raise TableError(
                f"{record} is the record of {shown(kept['command'])}; only a ranking can be repeated."
            )
        request, digest = request_from(kept["request"]), dict(kept["data"]["sha256"])
        notes = other_software(kept)
    except TableError:
        raise
    except OSError as error:
        raise TableError(f"{record} cannot be read: {error.strerror}.") from error
    except UsageError as error:
        raise TableError(f"{record} is no record of a run. {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TableError(f"{record} is no record of a run.") from error
    for note in notes:
        watcher.note(f"- {note}")
    request = replace(request, **of_report)
    return rank(request, n_jobs=n_jobs, folder=record.parent, digest=digest, watcher=watcher)
