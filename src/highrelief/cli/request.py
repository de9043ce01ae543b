"""What is asked for: everything that a ranking depends on, so that it can be asked for again."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, Self

from ..catalog import BESIDE, METHODS, Method
from ..inspection.report.origin import about_software
from ..io.cells import shown
from ..io.imputation import RULES
from ..io.reading import Source
from ..io.roles import LabeledTable, Roles
from ..io.text import Dialect, is_charset
from ..selection.halves import checked_halves
from .endings import UsageError
from .screen import class_counts

#: Halves of the samples that are ranked again for the report, unless the user says otherwise.
RESAMPLES = 20


#: Types that the parts of a record are written with.
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("data", "target", "method", "missing"), (str,)),
    **dict.fromkeys(("labels", "separator", "decimal", "encoding", "batch", "groups"), (str, NoneType)),
    **dict.fromkeys(("identifiers", "drop", "missing_values", "categorical"), (list, tuple)),
    **dict.fromkeys(("seed", "resamples"), (int,)),
    "settings": (dict,),
    **dict.fromkeys(("transpose", "default_missing"), (bool,)),
    "max_redundancy": (float, int, NoneType),
    "interactions": (bool, NoneType),
}


@dataclass(frozen=True)
class Request:
    """A table and a method."""

    data: str
    target: str
    method: str = "irelief"
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    labels: str | None = None
    transpose: bool = False
    identifiers: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    #: "auto" leaves to the method whether values stay missing.
    missing: str = "auto"
    missing_values: tuple[str, ...] = ()
    #: Whether the default tokens for a missing value count beside ``missing_values``.
    default_missing: bool = True
    #: Columns of numbers that are categories.
    categorical: tuple[str, ...] = ()
    #: Column of batches: neighbors are within them, or across if the method's settings say so.
    batch: str | None = None
    #: Similarity from which on features say the same, and only the best is kept.
    max_redundancy: float | None = None
    #: Of the report; the ranking does not depend on them.
    resamples: int = RESAMPLES
    groups: str | None = None
    #: Whether the best features are weighed again without one another; None: if it does not take long.
    interactions: bool | None = None

    def source(self, folder: Path | None = None) -> Source:
        """Where the table is; files that are not where they were are looked for in ``folder``."""
        rules = ("auto", *RULES)
        if self.missing not in rules:
            raise UsageError(f"--missing is one of {', '.join(rules)}, and not {self.missing!r}.")
        if self.transpose and self.labels is None:
            raise UsageError(
                "--transpose needs --labels FILE: a table of features as rows has no column of classes."
            )
        if self.separator is not None and (
            not self.separator or set(self.separator) & set('"\r\n\0') or not _is_text(self.separator)
        ):
            raise UsageError(f"--sep cannot be {shown(self.separator)}.")
        if self.decimal not in (None, ".", ","):
            raise UsageError(f"--decimal is a point or a comma, and not {self.decimal!r}.")
        if self.encoding is not None and not is_charset(self.encoding):
            raise UsageError(
                f"--encoding={shown(self.encoding)} is invalid: use the name of a character set, such as"
                " utf-8 or latin-1."
            )
        dialect = Dialect(
            self.separator, self.decimal, self.encoding, self.missing_values, self.default_missing
        )
        labels = None if self.labels is None else _found(self.labels, folder)
        return Source(_found(self.data, folder), dialect, transpose=self.transpose, labels=labels)

    def roles(self, groups: str | None = None) -> Roles:
        """What the columns are."""
        return Roles(self.target, self.identifiers, self.drop, groups or self.groups, self.batch)

    def as_json(self) -> dict[str, Any]:
        """The request as it is kept in ``run.json``."""
        return asdict(self)

    def arguments(self) -> list[str]:
        """DATA and the options of the table, as the command takes them; what is as usual is left out."""
        # A path is not taken for an option.
        data = f"./{self.data}" if self.data.startswith("-") else self.data
        words = [data, "--target", self.target]
        repeated = {"--id": self.identifiers, "--drop": self.drop, "--missing-value": self.missing_values}
        # A tab would become spaces where the words are copied from a page.
        separator = "tab" if self.separator == "\t" else self.separator
        single = {"--labels": self.labels, "--sep": separator, "--decimal": self.decimal}
        single |= {"--batch": self.batch, "--batch-neighbors": self.settings.get("batch_neighbors")}
        single |= {"--encoding": self.encoding, "--seed": str(self.seed) if self.seed else None}
        for option, value in single.items():
            words += [] if value is None else [option, value]
        for option, values in repeated.items():
            words += [word for value in values for word in (option, value)]
        words += [] if self.default_missing else ["--no-default-missing"]
        return [*words, "--transpose"] if self.transpose else words

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """A request that was kept."""
        known = {each.name for each in fields(cls)}
        if not isinstance(kept, Mapping) or not {"data", "target"} <= set(kept) <= known:
            raise UsageError("The record of the run does not say what was asked for.")
        for name, value in kept.items():
            if not _is_as_kept(name, value):
                raise UsageError(f"The record of the run was changed: {name} cannot be {shown(value)}.")
        checked_halves("resamples", kept.get("resamples", RESAMPLES), or_none=True)
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        return cls(**given)


def _is_as_kept(name: str, value: Any) -> bool:
    """Whether a value of a record is of the type that it was written with; True is no whole number here."""
    inside = value if isinstance(value, (list, tuple)) else ()
    is_known = type(value) in _TYPES[name] and all(isinstance(each, str) for each in inside)
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
        if table.measured
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
    return text if re.fullmatch(r"\d[0-9A-Za-z.+!_-]{0,30}", text, re.ASCII) else shown(found, 30)


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
                f"--set {shown(name)}: its value is longer than {_LONGEST_SETTING:,} characters."
            )
        try:
            settings[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, TypeError):
            settings[name.strip()] = value.strip()
        except (RecursionError, MemoryError) as error:
            raise UsageError(f"--set {shown(text)}: the value is nested too deeply.") from error
    return settings


def cited(name: str) -> tuple[str, ...]:
    """Keys of the references of a method."""
    return BESIDE[name] if name in BESIDE else named(name).references
