"""``highrelief rank``: a table becomes a ranking, and a record from which it can be made again."""

from __future__ import annotations

import json
import platform
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..table import LabelledTable, TableError, read_table
from ..table.completing import completed
from .errors import RunError, UsageError
from .files import csv_text, write_folder
from .methods import weighter
from .request import Request

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")


class Watcher:
    """Who is told how a run goes; here nobody."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def working(self, what: str) -> AbstractContextManager[None]:
        """Entered around what may take long."""
        return nullcontext()


NOBODY = Watcher()


@dataclass(frozen=True)
class Ranking:
    """A fitted method on a table."""

    request: Request
    #: As it was read, and without missing values.
    read: LabelledTable
    table: LabelledTable
    estimator: Any
    #: What the fit warned of.
    warnings: list[str]
    #: SHA-256 of the files, by their names.
    digest: dict[str, str]
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
        rows = (
            (int(ranks[j]), self.table.feature_names[j], float(weights[j]), "yes" if kept[j] else "no")
            for j in self.order
        )
        return csv_text(("rank", "feature", "weight", "kept"), rows)

    def record(self) -> dict[str, Any]:
        """``run.json``: what was asked for, of what, with what, and how it went."""
        estimator = self.estimator
        return {
            "highrelief": __version__,
            "command": "rank",
            "request": self.request.as_json(),
            "parameters": {name: _plain(value) for name, value in sorted(estimator.get_params().items())},
            "data": {
                "sha256": self.digest,
                "samples": len(self.table.y),
                "features": len(self.table.feature_names),
                "classes": class_counts(self.table),
                "notes": self.table.notes,
            },
            "result": {
                "kept": int(estimator.get_support().sum()),
                "warnings": self.warnings,
                **{
                    name.rstrip("_"): _plain(getattr(estimator, name))
                    for name in ("n_iter_", "converged_", "cycle_length_", "sigma_", "execution_")
                    if hasattr(estimator, name)
                },
            },
            "time": {"started": self.started.isoformat(timespec="seconds"), **self.seconds},
            "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
            "machine": {
                "system": platform.platform(),
                "processor": platform.machine(),
                "python": sys.implementation.name,
            },
        }

    def write(self, folder: Path, *, force: bool) -> None:
        """Write ``ranking.csv`` and ``run.json``."""
        record = json.dumps(self.record(), indent=2, ensure_ascii=False) + "\n"
        write_folder(folder, {"ranking.csv": self.csv(), "run.json": record}, force=force)


def rank(
    request: Request,
    *,
    n_jobs: int | None = None,
    folder: Path | None = None,
    digest: Mapping[str, str] | None = None,
    watcher: Watcher = NOBODY,
) -> Ranking:
    """Read the table, fit the method.

    ``folder``: where files are looked for that are not where they were. ``digest``: of the files that are
    expected; others are refused.
    """
    source = request.source(folder)
    estimator = weighter(request.method, request.settings, seed=request.seed, n_jobs=n_jobs)
    started, begin = datetime.now(UTC), time.perf_counter()
    with watcher.working("Reading the table"):
        as_read = read_table(source, request.roles())
        table = completed(as_read, request.missing)
        found = source.digest()
    if digest is not None and dict(digest) != found:
        raise TableError("The data is not what it was in the run to repeat: its SHA-256 differs.")
    read = time.perf_counter()
    watcher.note(
        f"{len(table.y):,} samples, {len(table.feature_names):,} features, classes"
        f" {', '.join(f'{name} ({count:,})' for name, count in class_counts(table).items())}"
    )
    for note in table.notes:
        watcher.note(f"- {note}")
    with watcher.working(f"Weighing {len(table.feature_names):,} features"):
        told = fitted(estimator, table, request.settings)
    for each in told:
        watcher.note(f"- {each}")
    seconds = {"reading": round(read - begin, 3), "fitting": round(time.perf_counter() - read, 3)}
    return Ranking(request, as_read, table, estimator, told, found, started, seconds)


def class_counts(table: LabelledTable) -> dict[str, int]:
    """How many samples each class has."""
    classes, counts = np.unique(table.y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


def fitted(estimator: Any, table: LabelledTable, settings: Mapping[str, Any]) -> list[str]:
    """Fit an estimator; returns what it warned of, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(table.X, table.y)
        except (ValueError, TypeError) as error:
            sentence = " ".join(str(error).split())
            if any(sentence.startswith(f"{name}=") for name in settings):
                raise UsageError(sentence) from error
            raise TableError(sentence) from error
        except MemoryError as error:
            raise RunError("The machine has not enough memory for this table and method.") from error
    told = [" ".join(str(each.message).split()) for each in caught]
    return list(dict.fromkeys(told))


def repeated(record: Path, *, n_jobs: int | None = None, watcher: Watcher = NOBODY) -> Ranking:
    """The run of a ``run.json`` again, on the same data."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
        request, digest = Request.from_json(kept["request"]), kept["data"]["sha256"]
    except OSError as error:
        raise TableError(f"{record} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{record} is no record of a run.") from error
    return rank(request, n_jobs=n_jobs, folder=record.parent, digest=digest, watcher=watcher)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has no form for as it is written in Python."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
