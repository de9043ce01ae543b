"""What a request comes to: the table, the method by its name, and the record of a run."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from ..catalog import METHODS, OTHERS, Method
from ..inspection.report.origin import about_software
from ..io.cells import quoted
from ..io.imputation import RULES
from ..io.reading import Source
from ..io.roles import LabeledTable, Roles
from ..io.text import Dialect, is_charset
from ..selection.halves import checked_halves
from .endings import UsageError
from .options import DECLARED, Request, as_kept
from .screen import class_counts

#: Types of JSON that stand for those of a request.
_JSON = {tuple: (list, tuple), Mapping: (dict,), float: (float, int)}


def source_of(request: Request, folder: Path | None = None) -> Source:
    """Return where the table is; files that are not where they were are looked for in ``folder``."""
    rules = ("auto", *RULES)
    if request.missing not in rules:
        raise UsageError(f"--missing is one of {', '.join(rules)}, and not {request.missing!r}.")
    if request.transpose and request.labels is None:
        raise UsageError(
            "--transpose needs --labels FILE: a table of features as rows has no column of classes."
        )
    separator = request.separator
    if separator is not None and (
        not separator or set(separator) & set('"\r\n\0') or not _is_text(separator)
    ):
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
    labels = None if request.labels is None else _found(request.labels, folder)
    return Source(_found(request.data, folder), dialect, transpose=request.transpose, labels=labels)


def roles_of(request: Request) -> Roles:
    """Return what the columns are."""
    return Roles(request.target, request.identifiers, request.drop, request.groups, request.batch)


def request_from(record: Mapping[str, Any]) -> Request:
    """Return the request of a ``run.json``."""
    if not isinstance(record, Mapping) or not {"data", "target"} <= set(record) <= set(DECLARED):
        raise UsageError("The record of the run does not say what was asked for.")
    for name, value in record.items():
        if not _is_as_kept(name, value):
            raise UsageError(f"The record of the run was changed: {name} cannot be {quoted(value)}.")
    if "resamples" in record:
        checked_halves("resamples", record["resamples"], or_none=True)
    return Request(**{name: as_kept(value) for name, value in record.items()})


def _is_as_kept(name: str, value: Any) -> bool:
    """Whether a value of a record is of the type that it was written with; True is no whole number here."""
    kind = DECLARED[name].kept_as
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    types = [each for part in kinds for each in _JSON.get(get_origin(part) or part, (part,))]
    inside = value if isinstance(value, (list, tuple)) else ()
    is_known = type(value) in types and all(isinstance(each, str) for each in inside)
    return is_known and _has_numbers_of_64_bits(value)


def _has_numbers_of_64_bits(value: Any) -> bool:
    """Whether no integer inside a value of a record is too large for NumPy."""
    inside = [value]
    while inside:
        each = inside.pop()
        if isinstance(each, int) and abs(each) >= 2**63:
            return False
        inside += each.values() if isinstance(each, dict) else each if isinstance(each, (list, tuple)) else ()
    return True


def _is_text(value: str) -> bool:
    """Whether a string has no half of a surrogate pair, which JSON and odd arguments may have."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _found(path: str, folder: Path | None) -> Path:
    given = Path(path)
    beside = None if folder is None else folder / given.name
    # Not the methods of Path, which raise where a name is too long.
    is_beside = beside is not None and not os.path.exists(given) and os.path.exists(beside)
    return beside if beside is not None and is_beside else given


# What is kept of a run, so that it can be repeated and understood.


def as_text(record: Mapping[str, Any]) -> str:
    """A record as it stands in ``run.json``."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def about_data(table: LabeledTable) -> dict[str, Any]:
    """What the data was."""
    target: dict[str, Any] = (
        {"target": {"least": float(table.y.min()), "most": float(table.y.max())}}
        if table.continuous_target
        else {"classes": class_counts(table)}
    )
    return {
        "sha256": dict(table.digest),
        "samples": len(table.y),
        "features": len(table.feature_names),
        **target,
        "notes": table.notes,
    }


def other_software(record: Mapping[str, Any]) -> list[str]:
    """What a record was made with that is not of the same version here, in a sentence."""
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
    """A version in a record of somebody else: as it is if it looks like one, quoted and cut otherwise."""
    text = str(found)
    return text if re.fullmatch(r"\d[0-9A-Za-z.+!_-]{0,30}", text, re.ASCII) else quoted(found, 30)


# The methods by the names that the command knows them by.


#: Characters of a parameter and its value.
_LONGEST_SETTING = 10_000


def named(name: str) -> Method:
    """The method of a name."""
    if name in METHODS:
        return METHODS[name]
    close = get_close_matches(name.lower(), METHODS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"it knows {', '.join(METHODS)}."
    raise UsageError(f"There is no method {name!r}; {hint}")


def weighter(name: str, settings: Mapping[str, Any], *, seed: int, n_jobs: int | None) -> Any:
    """An estimator for a method, with its parameters."""
    import highrelief  # noqa: PLC0415  a method's class is imported when it is asked for

    method = named(name)
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


def able(ability: Callable[[Any], bool]) -> list[str]:
    """The methods that have an ability, as they are without settings."""
    return [name for name in METHODS if ability(weighter(name, {}, seed=0, n_jobs=None))]


def check_batches(name: str, estimator: Any, column: str | None) -> None:
    """Raise if a column of batches is named for a method that takes none."""
    if column is not None and not _takes_batches(estimator):
        others = ", ".join(able(_takes_batches))
        raise UsageError(f"--batch {column}: {name} takes no batches; these do: {others}.")


def _takes_batches(estimator: Any) -> bool:
    return "batches" in inspect.signature(estimator.fit).parameters


def parsed_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parameters given as ``name=value``; a value is a Python literal, or else a word."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set needs name=value, and got {text!r}.")
        if len(text) > _LONGEST_SETTING:
            raise UsageError(
                f"--set {quoted(name)}: its value is longer than {_LONGEST_SETTING:,} characters."
            )
        try:
            settings[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, TypeError):
            settings[name.strip()] = value.strip()
        except (RecursionError, MemoryError) as error:
            raise UsageError(f"--set {quoted(text)}: the value is nested too deeply.") from error
    return settings


def cited(name: str) -> tuple[str, ...]:
    """Keys of the references of a method."""
    return (OTHERS[name] if name in OTHERS else named(name)).references
