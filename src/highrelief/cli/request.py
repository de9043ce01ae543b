"""From a request to its table and estimator, and the record of a run."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from ..base.selector import takes_categories, takes_continuous_target, takes_missing
from ..catalog import any_of, methods_with
from ..inspection.report.inputs import about_software
from ..io.cells import ContinuousTargetError, NoNumbersError, TableError, quoted, quoted_list
from ..io.files import STANDARD_INPUT
from ..io.genotypes import count_alleles
from ..io.imputation import RULES, drop_empty_features, impute, missing_mask, missing_summary
from ..io.reading import Source, read_table
from ..io.roles import InputTable, Roles
from ..io.text import Dialect, is_charset
from ..selection.halves import checked_halves
from .errors import UsageError
from .options import FIELDS, Request, field_value, method_named

# The estimator


def create_weighter(name: str, settings: Mapping[str, Any], *, seed: int, n_jobs: int | None) -> Any:
    """Return the estimator of a method with its parameters."""
    import highrelief  # noqa: PLC0415  imports the class of a method on access

    method = method_named(name)
    home = getattr(highrelief, method.home)
    inside = getattr(highrelief, method.inside) if method.inside else None
    own = [each for each in inspect.signature(home).parameters if inside is None or each != "estimator"]
    inner = [each for each in (inspect.signature(inside).parameters if inside else ()) if each not in own]
    for setting in settings:
        if setting not in (*own, *inner):
            raise UsageError(f"{name} has no parameter {setting!r}; it has {', '.join([*own, *inner])}.")
    values = {"random_state": seed, "n_jobs": n_jobs, **settings}
    wrapped = [inside(**{each: values[each] for each in inner if each in values})] if inside else []
    return home(*wrapped, **{each: values[each] for each in own if each in values})


def default_method(*, continuous_target: bool, controlled: bool = False) -> str:
    """Return the method that ``--method auto`` stands for; ``controlled``: fitted to permuted labels, too."""
    # HighRelief permutes labels itself; ReliefF weighs all permutations in one pass.
    if continuous_target:
        return "rrelieff" if controlled else "high-relief-regressor"
    return "relieff" if controlled else "high-relief"


def _alternatives(ability: Callable[[Any], bool], what: str, *, continuous_target: bool = False) -> str:
    """Return the methods that have an ability as the end of a sentence."""
    names = methods_with(
        ability, among=lambda estimator: takes_continuous_target(estimator) == continuous_target
    )
    return f"; use --method {any_of(names)} for {what}" if names else ""


def check_batches(name: str, estimator: Any, column: str | None) -> None:
    """Raise if --batch is set for a method without batches."""
    if column is not None and not _takes_batches(estimator):
        others = ", ".join(methods_with(_takes_batches))
        raise UsageError(f"--batch {column}: {name} takes no batches; these do: {others}.")


def _takes_batches(estimator: Any) -> bool:
    return "batches" in inspect.signature(estimator.fit).parameters


def resolve(request: Request, estimator: Any) -> Request:
    """Return the request with automatic options set for the estimator; raise if it does not support one."""
    if "categorical_features" in request.settings:
        raise UsageError("--set categorical_features is not supported; use --categorical COLUMN.")
    if request.categorical and not takes_categories(estimator):
        others = _alternatives(takes_categories, "categorical columns")
        raise UsageError(f"--categorical: {request.method} takes numbers only{others}.")
    if request.missing == "keep" and not takes_missing(estimator):
        others = _alternatives(takes_missing, "missing values")
        raise UsageError(f"--missing keep: {request.method} needs all values{others}.")
    if request.missing != "auto":
        return request
    return replace(request, missing="keep" if takes_missing(estimator) else "median")


# The table


def source_of(request: Request, folder: Path | None = None) -> Source:
    """Return the path and format of the table; files that were moved are searched in ``folder``."""
    rules = ("auto", *RULES)
    if request.missing not in rules:
        raise UsageError(f"--missing is one of {', '.join(rules)}, and not {request.missing!r}.")
    if request.transpose and request.labels is None:
        raise UsageError(
            "--transpose needs --labels FILE: a table of features as rows has no column of classes."
        )
    if request.data == request.labels == str(STANDARD_INPUT):
        raise UsageError("DATA and --labels cannot both be -, the standard input.")
    separator = request.separator
    # Surrogates may come from JSON, or from arguments that are not UTF-8.
    if separator is not None and (not separator or re.search('["\r\n\0\ud800-\udfff]', separator)):
        raise UsageError(f"--sep cannot be {quoted(separator)}.")
    if request.decimal not in (None, ".", ","):
        raise UsageError(f"--decimal is a point or a comma, and not {request.decimal!r}.")
    if request.encoding is not None and not is_charset(request.encoding):
        raise UsageError(
            f"--encoding={quoted(request.encoding)} is invalid: use the name of a character set, such as"
            " utf-8 or latin-1."
        )
    dialect = Dialect(
        separator, request.decimal, request.encoding, request.missing_values, request.default_missing
    )
    labels = None if request.labels is None else _find(request.labels, folder)
    return Source(_find(request.data, folder), dialect, transpose=request.transpose, labels=labels)


def _find(name: str, folder: Path | None) -> Path:
    path = Path(name)
    # Not the methods of Path, which raise if a name is too long.
    if folder is None or os.path.exists(path) or not os.path.exists(folder / path.name):
        return path
    return folder / path.name


def _roles(request: Request) -> Roles:
    return Roles(
        request.target,
        request.identifiers,
        request.drop,
        request.groups,
        request.batch,
        categorical=request.categorical,
        genotypes=request.genotypes,
    )


def read_for(request: Request, source: Source, estimator: Any | None) -> InputTable:
    """Read the table of a request for an estimator; None: for the methods that ``auto`` stands for."""
    auto = estimator is None
    roles = replace(
        _roles(request),
        continuous_target=None if auto else takes_continuous_target(estimator),
        text_as_categories=auto or takes_categories(estimator),
    )
    try:
        table = read_table(source, roles)
    except ContinuousTargetError as error:
        others = _alternatives(takes_continuous_target, "a continuous target", continuous_target=True)
        raise TableError(f"{str(error).rstrip('.')}{others}.") from error
    except NoNumbersError as error:
        others = _alternatives(takes_categories, "categorical columns")
        raise TableError(f"{str(error).rstrip('.')}{others}.") from error
    if table.dropped_columns and not request.drop_text:
        others = _alternatives(
            takes_categories, "categorical columns", continuous_target=table.continuous_target
        )
        raise _text_columns(table, f"which {request.method} does not support{others}, ")
    return table


def _text_columns(table: InputTable, reason: str) -> TableError:
    """Return the error for text columns that would be left out."""
    contain = "contains" if len(table.dropped_columns) == 1 else "contain"
    return TableError(
        f"{quoted_list(table.dropped_columns)} {contain} text, {reason}--genotypes to count the alleles of"
        " genotypes such as AG or A/G, or --drop-text to leave them out."
    )


def prepare(as_read: InputTable, request: Request) -> InputTable:
    """Return the table of a resolved request as its estimator needs it: alleles counted, values imputed."""
    table = impute(count_alleles(as_read), request.missing)
    missing = missing_mask(table)
    if missing.any():
        summary = missing_summary(missing)
        table = _with_note(
            table, f"{summary} are not imputed: differences to them are replaced by their expectation."
        )
    return table


def read_for_comparison(request: Request, source: Source) -> InputTable:
    """Read a table of numbers and classes, as all methods and the classifiers of a comparison need it."""
    try:
        as_read = read_table(source, _roles(request))
    except ContinuousTargetError as error:
        raise TableError(f"{str(error).rstrip('.')} to compare by.") from error
    if as_read.dropped_columns and not request.drop_text:
        raise _text_columns(as_read, "and a comparison needs numbers; use ")
    table = drop_empty_features(count_alleles(as_read))
    missing = missing_mask(table)
    if not missing.any():
        return table
    note = f"{missing_summary(missing)}: in each fold the medians of the samples that are fitted stand in."
    return _with_note(table, note)


def _with_note(table: InputTable, note: str) -> InputTable:
    return replace(table, notes=[*table.notes, note])


# The record of a run

#: Types of JSON for the types of a request.
_JSON = {tuple: (list, tuple), Mapping: (dict,), float: (float, int)}


def data_record(table: InputTable) -> dict[str, Any]:
    """Return the part of ``run.json`` about the data."""
    target: dict[str, Any] = (
        {"target": {"least": float(table.y.min()), "most": float(table.y.max())}}
        if table.continuous_target
        else {"classes": table.class_counts}
    )
    return {
        "sha256": dict(table.digest),
        "samples": len(table.y),
        "features": len(table.feature_names),
        **target,
        "notes": table.notes,
    }


def request_from(record: Mapping[str, Any]) -> Request:
    """Return the request of a ``run.json``; raise if it was not written by this program."""
    if not isinstance(record, Mapping) or not {"data", "target"} <= set(record) <= set(FIELDS):
        raise UsageError("The record of the run does not contain its options.")
    for name, value in record.items():
        if not _has_declared_type(name, value):
            raise UsageError(f"The record of the run was changed: {name} cannot be {quoted(value)}.")
    if "resamples" in record:
        checked_halves("resamples", record["resamples"], or_none=True)
    return Request(**{name: field_value(value) for name, value in record.items()})


def _has_declared_type(name: str, value: Any) -> bool:
    """Return whether a value of a record has the type of its field; a bool is not an integer here."""
    kind = FIELDS[name].record_type
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    types = [each for part in kinds for each in _JSON.get(get_origin(part) or part, (part,))]
    items = value if isinstance(value, (list, tuple)) else ()
    return type(value) in types and all(isinstance(each, str) for each in items) and _fits_int64(value)


def _fits_int64(value: Any) -> bool:
    """Return whether no integer inside a value of a record is too large for NumPy."""
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, int) and abs(each) >= 2**63:
            return False
        stack += each.values() if isinstance(each, dict) else each if isinstance(each, (list, tuple)) else ()
    return True


def version_differences(record: Mapping[str, Any]) -> list[str]:
    """Return a sentence about packages whose version differs from that in a record; empty if none does."""
    here = about_software()
    now = {"highrelief": here["highrelief"], **here["versions"]}
    then = {"highrelief": record.get("highrelief"), **dict(record.get("versions") or {})}
    differ = [
        f"{name} {_version(then[name])} (here {now[name]})"
        for name in now
        if then.get(name, now[name]) != now[name]
    ]
    return [f"The run to repeat was made with {', '.join(differ)}: digits may differ."] if differ else []


def _version(found: object) -> str:
    """Return a version of a record, quoted and truncated if it does not look like one."""
    text = str(found)
    return text if re.fullmatch(r"\d[0-9A-Za-z.+!_-]{0,30}", text, re.ASCII) else quoted(found, 30)
