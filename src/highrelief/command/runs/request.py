"""What is asked for: everything that a ranking depends on, so that it can be asked for again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, Self

from ...halves import checked_halves
from ...table import Roles, Source
from ...table.completing import RULES
from ...table.delimited import Dialect, is_charset
from ...table.errors import shown
from .errors import UsageError

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
    #: Column of batches: neighbours are within them, or across if the method's settings say so.
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
    return type(value) in _TYPES[name] and all(isinstance(each, str) for each in inside)


def _is_text(value: str) -> bool:
    """Whether a string has no half of a surrogate pair, which JSON and odd arguments may have."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _found(path: str, folder: Path | None) -> Path:
    given = Path(path)
    beside = None if folder is None else folder / given.name
    # Not the methods of Path, which raise where a name is too long.
    is_beside = beside is not None and not os.path.exists(given) and os.path.exists(beside)
    return beside if beside is not None and is_beside else given
