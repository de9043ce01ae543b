"""``highrelief rank`` and ``demo``: a ranking, its record, which can be repeated, and its report."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.compilation import clock, compilation_seconds
from ..base.meta import fit_inside
from ..base.selector import categories_parameter
from ..datasets import make_fermat_spiral
from ..inspection.interactions import InteractionTable
from ..inspection.report.inputs import about_software, json_value
from ..io.cells import TableError, counted, quoted
from ..io.roles import InputTable
from .errors import RunError, UsageError, distinct_messages, on_one_line
from .options import AUTO, Request
from .output import REPORT, csv_text, json_text, write_folder, write_text
from .request import (
    check_batches,
    create_weighter,
    data_record,
    default_method,
    prepare,
    read_for,
    request_from,
    resolve,
    source_of,
    version_differences,
)
from .screen import SILENT, Listener

if TYPE_CHECKING:
    from ..inspection.report.inputs import ReportInputs
    from ..inspection.report.report import Assessment

# --max-redundancy


def with_redundancy_filter(estimator: Any, threshold: float | None) -> Any:
    """Return the estimator, in a redundancy filter if there is a threshold."""
    if threshold is None:
        return estimator
    from ..selection.redundancy import RedundancyFilter  # noqa: PLC0415  seldom used

    return RedundancyFilter(estimator, threshold=threshold, n_jobs=getattr(estimator, "n_jobs", None))


def group_columns(fitted: Any) -> dict[str, list[object]]:
    """Return the columns of ``ranking.csv`` about redundancy groups; none without a filter."""
    if not hasattr(fitted, "groups_"):
        return {}
    grouped = fitted.labels_ >= 0
    return {
        "group": [int(label) + 1 if label >= 0 else "" for label in fitted.labels_],
        "similarity": [
            float(each) if known else "" for each, known in zip(fitted.similarity_, grouped, strict=True)
        ],
    }


def groups_as_json(fitted: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the groups of two or more features for ``run.json``; nothing without a filter."""
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


# Interactions of the best features

INTERACTIONS = "interactions.csv"
_HEADER = ("feature", "without", "weight", "weight_without", "loss", "noise", "beyond_noise")


def measure_interactions(
    ranking: Ranking, *, n_jobs: int | None = None, listener: Listener = SILENT
) -> InteractionTable | str:
    """Measure the interactions of the best features; or return a sentence with the reason why not."""
    from ..inspection.report import features  # noqa: PLC0415  not needed for the fit
    from ..inspection.report.report import planned_resampling  # noqa: PLC0415

    request, inputs = ranking.request, _report_inputs(ranking)
    with listener.step("Weighing the best features without one another"):
        return features.measure_interactions(
            inputs,
            requested=request.interactions,
            resamples=planned_resampling(inputs, _resamples(request)).n_halves,
            random_state=request.seed,
            n_jobs=n_jobs,
        )


def write_interactions(ranking: Ranking, found: InteractionTable | str, folder: Path) -> list[str]:
    """Write ``interactions.csv``, and its summary into ``run.json``; return the names of further files."""
    record = ranking.record()
    record["result"]["interactions"] = found if isinstance(found, str) else _as_json(ranking, found)
    texts = {"run.json": json_text(record)}
    if isinstance(found, str):
        (folder / INTERACTIONS).unlink(missing_ok=True)
    else:
        texts[INTERACTIONS] = csv_text(_HEADER, _rows(ranking, found))
    for name, text in texts.items():
        write_text(folder / name, text, force=True)
    return list(texts)[1:]


def _rows(ranking: Ranking, found: InteractionTable) -> Iterator[tuple[object, ...]]:
    """Yield one row for each ordered pair of features; unknown values are empty."""
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
    """Return the pairs whose interaction is beyond noise."""
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
    #: The table as read, and as the method needs it.
    read: InputTable
    table: InputTable
    estimator: Any
    #: Warnings of the fit.
    warnings: list[str]
    started: datetime
    #: Time of reading, of fitting, and of compiling if kernels were compiled.
    seconds: dict[str, float]
    #: The recommended features and the stability of the ranking, once they are known.
    assessment: Assessment | None = None

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Mask of the features to keep: those recommended, or as many as were requested."""
        if self.assessment is not None:
            return self.assessment.weights.kept
        return np.asarray(self.estimator.get_support())

    @property
    def order(self) -> NDArray[np.int64]:
        """Column indices by rank; ties in the order of the table."""
        return np.argsort(self.estimator.ranking_, kind="stable")

    def csv(self) -> str:
        """Return ``ranking.csv``."""
        kept = self.kept
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
        """Return ``run.json``: request, parameters, data, results, times and versions."""
        estimator = self.estimator
        inside = fit_inside(estimator)
        outcomes = ("n_iter_", "converged_", "cycle_length_", "sigma_", "execution_")
        found = {
            name.rstrip("_"): json_value(getattr(inside, name)) for name in outcomes if hasattr(inside, name)
        }
        found |= groups_as_json(estimator, self.table.feature_names)
        return {
            "command": "rank",
            "request": self.request.as_json(),
            "parameters": json_value(dict(sorted(estimator.get_params().items()))),
            "data": data_record(self.table),
            "result": {
                "kept": int(self.kept.sum()),
                **self._recommendation(),
                "warnings": self.warnings,
                **found,
            },
            "time": {"started": self.started.isoformat(timespec="seconds"), **self.seconds},
            **about_software(),
        }

    def _recommendation(self) -> dict[str, Any]:
        """Return the recommendation as ``run.json`` stores it; nothing if it is not known."""
        if self.assessment is None:
            return {}
        finding, found = self.assessment.finding(), self.assessment.recommendation
        record: dict[str, Any] = {"n_features": finding.n_features, "reason": finding.reason}
        if not isinstance(found, str):
            names = self.table.feature_names
            record["features"] = [names[j] for j in self.order if found.features[j]]
            record |= {"level": found.level, "by": found.by, "n_features_at_fdr": found.n_at_fdr}
        record |= {"finding": finding.headline, "trust": finding.trust, "trust_reason": finding.trust_reason}
        return {"recommendation": record}

    def sentences(self) -> list[str]:
        """Return the finding, the number of features to keep, and how far to trust it."""
        if self.assessment is None:
            return []
        finding = self.assessment.finding()
        return [
            " ".join([finding.headline, *finding.sentences]),
            f"{finding.keep}. {finding.reason}",
            f"Trust: {finding.trust}. {finding.trust_reason}",
        ]

    def write(self, folder: Path, *, force: bool) -> None:
        """Write ``ranking.csv`` and ``run.json``; delete the report of an earlier run."""
        texts = {"ranking.csv": self.csv(), "run.json": json_text(self.record())}
        write_folder(folder, texts, force=force, without=(REPORT, INTERACTIONS))


def rank(
    request: Request,
    *,
    n_jobs: int | None = None,
    folder: Path | None = None,
    digest: Mapping[str, str] | None = None,
    wrap: Callable[[Any], Any] | None = None,
    listener: Listener = SILENT,
    n_best: int | None = None,
    doing: str = "",
) -> Ranking:
    """Read the table and fit the method.

    ``folder`` is searched for files that were moved. ``digest`` has the SHA-256 that the files must have.
    ``wrap`` puts the weighter into another estimator, whose ``fit`` takes groups. ``n_best`` is the number of
    features to select with --max-redundancy. ``doing`` completes the description of the fit.
    """
    source = source_of(request, folder)
    auto = request.method == AUTO
    if not auto:  # invalid settings are found before a large table is read
        request, estimator = _configure(request, n_jobs, wrap)
    started, begin, compiled = datetime.now(UTC), clock(), compilation_seconds()
    with listener.step("Reading the table"):
        as_read = read_for(request, source, None if auto else estimator)
        if auto:
            method = default_method(continuous_target=as_read.continuous_target, controlled=wrap is not None)
            request, estimator = _configure(replace(request, method=method), n_jobs, wrap)
        table = prepare(as_read, request)
    if digest is not None and dict(digest) != table.digest:
        raise TableError("The data is not what it was in the run to repeat: its SHA-256 differs.")
    read = clock()
    listener.table(table)
    if auto:
        kind = "a continuous target" if table.continuous_target else "class labels"
        listener.note(f"- Method: {request.method}, the default for {kind}.")
    if n_best is not None and request.max_redundancy is not None:
        estimator.set_params(n_features_to_select=min(n_best, len(table.feature_names)))
    with listener.step(f"Weighing {counted(len(table.feature_names), 'feature')}{doing}"):
        groups = None if wrap is None else table.groups
        messages = fit_to_table(estimator, table, request.settings, groups)
    for each in messages:
        listener.note(f"- {each}")
    seconds = {"reading": round(read - begin, 3), "fitting": round(clock() - read, 3)}
    if compilation_seconds() > compiled:
        seconds["compiling"] = round(compilation_seconds() - compiled, 3)
    return Ranking(request, as_read, table, estimator, messages, started, seconds)


def _configure(
    request: Request, n_jobs: int | None, wrap: Callable[[Any], Any] | None
) -> tuple[Request, Any]:
    """Return the request with automatic options set, and its estimator."""
    estimator = create_weighter(request.method, request.settings, seed=request.seed, n_jobs=n_jobs)
    check_batches(request.method, estimator, request.batch)
    estimator = estimator if wrap is None else wrap(estimator)
    estimator = with_redundancy_filter(estimator, request.max_redundancy)
    return resolve(request, estimator), estimator


# How many features to keep


def _resamples(request: Request) -> int | str:
    return "auto" if request.resamples is None else request.resamples


def _report_inputs(ranking: Ranking) -> ReportInputs:
    """Return the inputs of the report."""
    from ..inspection.report.inputs import report_inputs  # noqa: PLC0415  not needed for the fit

    table = ranking.table
    return report_inputs(
        ranking.estimator,
        table.X,
        table.y,
        feature_names=table.feature_names,
        sample_names=table.sample_names,
        batches=table.batches,
        groups=table.groups,
        value_labels=table.levels,
    )


#: Seconds from which on the expected time of resampling is noted.
_LONG = 10.0


def _rounded(seconds: float) -> str:
    """Return a rough duration in words."""
    if seconds < 90.0:
        return f"{10 * max(round(seconds / 10.0), 1)} s"
    return f"{round(seconds / 60.0):,} min" if seconds < 5400.0 else f"{seconds / 3600.0:,.0f} h"


def assess(ranking: Ranking, *, n_jobs: int | None = None, listener: Listener = SILENT) -> Ranking:
    """Return the ranking with a recommended number of features and its stability."""
    from ..inspection.report.report import assess as assess_inputs  # noqa: PLC0415  not needed for the fit
    from ..inspection.report.report import planned_resampling  # noqa: PLC0415

    inputs, resamples = _report_inputs(ranking), _resamples(ranking.request)
    planned = planned_resampling(inputs, resamples)
    begin = clock()
    expected = planned.n_fits * ranking.seconds["fitting"]
    if expected >= _LONG:
        measured = (
            "stability" if planned.n_permutations == 0 else "stability and the number of features to keep"
        )
        listener.note(
            f"- Next, for {measured}: fits to {planned.words} of the samples, about {_rounded(expected)}."
        )
    try:
        with listener.step(f"Fitting {planned.words}" if planned.words else "Assessing the ranking"):
            found = assess_inputs(
                inputs, resamples=resamples, random_state=ranking.request.seed, n_jobs=n_jobs
            )
    except MemoryError as error:
        raise RunError(
            "The machine has not enough memory to resample this table; use --resamples 0."
        ) from error
    seconds = {**ranking.seconds, "resampling": round(clock() - begin, 3)}
    return replace(ranking, assessment=found, seconds=seconds)


def fit_to_table(
    estimator: Any, table: InputTable, settings: Mapping[str, Any], groups: Any = None
) -> list[str]:
    """Fit an estimator; return the distinct messages of its warnings."""
    if table.categorical:
        estimator.set_params(**{categories_parameter(estimator): table.categorical})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            labels = {"batches": table.batches, "groups": groups}
            estimator.fit(
                table.X, table.y, **{name: each for name, each in labels.items() if each is not None}
            )
        except (ValueError, TypeError) as error:
            sentence = on_one_line(error)
            if any(sentence.startswith(f"{name}=") for name in settings):
                raise UsageError(sentence) from error
            raise TableError(sentence) from error
        except MemoryError as error:
            short = "The machine has not enough memory for this table and method"
            needed = on_one_line(error)
            raise RunError(f"{short}: {needed}" if needed else f"{short}.") from error
    return distinct_messages(caught)


def repeat(
    record: Path,
    *,
    n_jobs: int | None = None,
    listener: Listener = SILENT,
    **report_options: Any,
) -> Ranking:
    """Repeat the run of a ``run.json`` on the same data; options of the report may differ."""
    try:
        recorded = json.loads(record.read_text(encoding="utf-8"))
        if recorded["command"] != "rank":
            raise TableError(
                f"{record} is the record of {quoted(recorded['command'])}; only a ranking can be repeated."
            )
        request, digest = request_from(recorded["request"]), dict(recorded["data"]["sha256"])
        notes = version_differences(recorded)
    except TableError:
        raise
    except OSError as error:
        raise TableError(f"{record} cannot be read: {error.strerror}.") from error
    except UsageError as error:
        raise TableError(f"{record} is no record of a run. {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TableError(f"{record} is no record of a run.") from error
    for note in notes:
        listener.note(f"- {note}")
    request = replace(request, **report_options)
    return rank(request, n_jobs=n_jobs, folder=record.parent, digest=digest, listener=listener)


# The report


def write_report(
    ranking: Ranking, folder: Path, *, n_jobs: int | None = None, listener: Listener = SILENT
) -> Path:
    """Write the report of a ranking into its folder; return the path."""
    from ..inspection.report.page import ranking_page  # noqa: PLC0415
    from ..inspection.report.report import report_contents  # noqa: PLC0415  not needed for the fit

    if ranking.assessment is None:
        ranking = assess(ranking, n_jobs=n_jobs, listener=listener)
        ranking.write(folder, force=True)
    interactions = measure_interactions(ranking, n_jobs=n_jobs, listener=listener)
    write_interactions(ranking, interactions, folder)
    request, table = ranking.request, ranking.table
    try:
        with listener.step("Making the report"):
            page = ranking_page(
                report_contents(
                    ranking.estimator,
                    table.X,
                    table.y,
                    title=Path(request.data).name,
                    feature_names=table.feature_names,
                    sample_names=table.sample_names,
                    resamples=_resamples(request),
                    assessment=ranking.assessment,
                    random_state=request.seed,
                    n_jobs=n_jobs,
                    groups=table.groups,
                    batches=table.batches,
                    interactions=interactions,
                    notes=table.notes,
                    warnings=ranking.warnings,
                    data=digest_facts(table),
                    time={"Started": ranking.started.isoformat(timespec="seconds")}
                    | {
                        f"{step.capitalize()} took": f"{each:.2f} s" for step, each in ranking.seconds.items()
                    },
                    value_labels=table.levels,
                    again=f"highrelief rank --repeat {shlex.quote(str(folder / 'run.json'))}",
                )
            )
    except MemoryError as error:
        raise RunError(
            "The machine has not enough memory for the report; the other files are written."
        ) from error
    write_text(folder / REPORT, page, force=True)
    return folder / REPORT


def digest_facts(table: InputTable) -> dict[str, str]:
    """Return the digests of the files of a table, for a report."""
    return {f"SHA-256 of {name}": each for name, each in table.digest.items()}


# The demo: Fermat's spiral among irrelevant features, with the default method

# How often both features of a spiral of this size are found: `python -m benchmarks.demo_reliability`.
N_SAMPLES, N_IRRELEVANT, TURNS = 400, 1000, 1.0
_TABLE, _TARGET = "spiral.csv", "branch"


def demo(
    folder: Path, *, n_jobs: int | None = None, listener: Listener = SILENT
) -> tuple[Ranking, list[str]]:
    """Write the table of the demo and its ranking; return the ranking and the relevant features."""
    if folder.exists() and not (folder / _TABLE).exists():
        raise RunError(f"{folder} exists already and is not of a demo; use --out with another folder.")
    X, y, relevant = make_fermat_spiral(
        N_SAMPLES, turns=TURNS, n_irrelevant=N_IRRELEVANT, shuffle_features=True, random_state=0
    )
    names = [f"x{j:04d}" for j in range(X.shape[1])]
    branches = np.where(y == 0, "inner", "outer").tolist()
    rows = ([branch, *values] for branch, values in zip(branches, X.round(3).tolist(), strict=True))
    write_folder(folder, {_TABLE: csv_text([_TARGET, *names], rows)}, force=True)
    ranking = rank(Request(str(folder / _TABLE), _TARGET), n_jobs=n_jobs, listener=listener)
    ranking.write(folder, force=True)
    return ranking, [names[j] for j in np.flatnonzero(relevant)]
