"""``highrelief rank``: a table becomes a ranking, and a record from which it can be made again."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bases.abilities import categories_parameter
from ...reports.origin import about_software, plain
from ...table import LabelledTable, TableError
from ...table.errors import shown
from .errors import RunError, UsageError, in_one_line, told_once
from .files import REPORT, csv_text, write_folder
from .interactions import INTERACTIONS
from .methods import check_batches, weighter
from .reading import read_for, resolved
from .record import about_data, as_text, other_software
from .redundancy import group_columns, groups_as_json, without_redundancy
from .request import Request
from .watching import NOBODY, Watcher


@dataclass(frozen=True)
class Ranking:
    """A fitted method on a table."""

    request: Request
    #: As it was read, and as the method got it.
    read: LabelledTable
    table: LabelledTable
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
        inside = getattr(estimator, "estimator_", estimator)
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
    source = request.source(folder)
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
    with watcher.working(f"Weighing {len(table.feature_names):,} features"):
        told = fitted(estimator, table, request.settings, groups=None if around is None else table.groups)
    for each in told:
        watcher.note(f"- {each}")
    seconds = {"reading": round(read - begin, 3), "fitting": round(time.perf_counter() - read, 3)}
    return Ranking(request, as_read, table, estimator, told, started, seconds)


def fitted(
    estimator: Any, table: LabelledTable, settings: Mapping[str, Any], groups: Any = None
) -> list[str]:
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
    resamples: int | None = None,
    interactions: bool | None = None,
    n_jobs: int | None = None,
    watcher: Watcher = NOBODY,
) -> Ranking:
    """The run of a ``run.json`` again, on the same data; what is asked of its report may differ."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
        if kept["command"] != "rank":
            raise TableError(
                f"{record} is the record of {shown(kept['command'])}; only a ranking can be repeated."
            )
        request, digest = Request.from_json(kept["request"]), dict(kept["data"]["sha256"])
        notes = other_software(kept)
    except TableError:
        raise
    except OSError as error:
        raise TableError(f"{record} cannot be read: {error.strerror}.") from error
    except UsageError as error:
        raise TableError(f"{record} is no record of a run. {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TableError(f"{record} is no record of a run.") from error
    if resamples is not None:
        request = replace(request, resamples=resamples)
    if interactions is not None:
        request = replace(request, interactions=interactions)
    for note in notes:
        watcher.note(f"- {note}")
    return rank(request, n_jobs=n_jobs, folder=record.parent, digest=digest, watcher=watcher)
