"""The options of the commands, each declared once.

The fields of `Request` are what a ranking depends on. From them follow the options of the commands
(`with_request`), the request that these make (`request_of`), its record in ``run.json`` and what ``--repeat``
reads. Options that have no part in it are types for Typer, at the end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import typer

from .endings import UsageError

# What Typer checks beyond types, and what it passes on.


def _in_pairs(resamples: int) -> int:
    if resamples % 2 or resamples == 2:
        raise typer.BadParameter("halves come in pairs: 0, or an even number from 4 on.")
    return resamples


def _above_zero(threshold: float | None) -> float | None:
    if threshold is not None and not threshold > 0.0:
        raise typer.BadParameter("a number above 0, and at most 1.")
    return threshold


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 threads do nothing.")
    return jobs


def _negated(flag: bool) -> bool:
    return not flag


def _tab(separator: str | None) -> str | None:
    return "\t" if separator in ("\\t", "tab") else separator


@dataclass(frozen=True)
class Request:
    """A table, a method and what else a ranking depends on.

    A field has its type in ``run.json``, then its type on the command line if that is another one, then the
    option. Whether a file is readable is checked where it is read (readable=False).
    """

    data: Annotated[
        str,
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV (also .gz), Parquet, Feather, ARFF, NPZ or h5ad.",
            show_default=False,
            readable=False,
        ),
    ]
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            help="Column with the classes; for some methods with numbers.",
            show_default=False,
        ),
    ]
    method: Annotated[
        str, typer.Option("--method", "-m", help="How to weigh; `highrelief methods` lists them.")
    ] = "irelief"
    settings: Annotated[
        Mapping[str, Any],
        list[str],
        typer.Option("--set", help="Parameter of the method, name=value; can be repeated."),
    ] = field(default_factory=dict)
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="For methods that draw random numbers.")] = 0
    labels: Annotated[
        str | None,
        Path,
        typer.Option(help="Second file: the classes by the names of the samples.", readable=False),
    ] = None
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Rows are features and columns samples; needs --labels.")
    ] = False
    identifiers: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option("--id", help="Column that names the samples; can be repeated."),
    ] = ()
    drop: Annotated[
        tuple[str, ...], list[str], typer.Option(help="Column to leave out; can be repeated.")
    ] = ()
    separator: Annotated[
        str | None, typer.Option("--sep", callback=_tab, help="What separates the fields, if not found out.")
    ] = None
    decimal: Annotated[str | None, typer.Option(help="Decimal mark, if not found out.")] = None
    encoding: Annotated[str | None, typer.Option(help="How the text is written, if not in UTF-8.")] = None
    missing: Annotated[
        str,
        typer.Option(
            help="Missing values: auto (keep them where the method can, otherwise median), keep, median,"
            " drop-features, drop-samples or error.",
        ),
    ] = "auto"
    missing_values: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option(
            "--missing-value",
            help="Token for a missing value, beside the defaults (NA, NaN, null, ? …); repeatable.",
        ),
    ] = ()
    default_missing: Annotated[
        bool,
        typer.Option(
            "--no-default-missing",
            callback=_negated,
            help="Only empty fields and --missing-value stand for missing values.",
        ),
    ] = True
    categorical: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option(help="Column of numbers that are categories; can be repeated."),
    ] = ()
    batch: Annotated[
        str | None, typer.Option(help="Column of batches: neighbors are looked for within them.")
    ] = None
    max_redundancy: Annotated[
        float | None,
        typer.Option(
            max=1.0,
            callback=_above_zero,
            help="Keep one of features that say the same: |correlation| of so much, such as 0.9, or more.",
        ),
    ] = None
    resamples: Annotated[
        int,
        typer.Option(
            min=0,
            callback=_in_pairs,
            help="Halves of the samples ranked again for the report; 0 for none.",
        ),
    ] = 20
    groups: Annotated[
        str | None,
        typer.Option(help="Column: equal values stay in one fold, or in one half of a report."),
    ] = None
    interactions: Annotated[
        bool | None,
        typer.Option(
            "--interactions/--no-interactions",
            help="Weigh the best features without one another, for the report; by default if it is quick.",
            show_default=False,
        ),
    ] = None

    def as_json(self) -> dict[str, Any]:
        """Return the request as ``run.json`` stores it."""
        return asdict(self)

    def arguments(self, without: Collection[str] = ()) -> list[str]:
        """Return the request as words of a command; some fields and defaults are left out."""
        # A path is not taken for an option.
        words = [f"./{self.data}" if self.data.startswith("-") else self.data]
        for name, declared in DECLARED.items():
            value = getattr(self, name)
            if name == "data" or name in without or value == declared.default:
                continue
            if name == "settings":
                words += [word for each in value.items() for word in _setting(*each)]
            elif isinstance(value, bool):
                words.append(flag(name).split("/")[0 if value else -1])
            elif name == "separator" and value == "\t":
                words += [
                    flag(name),
                    "tab",
                ]  # a tab would become spaces where the words are copied from a page
            else:
                values = value if isinstance(value, tuple) else (value,)
                words += [word for each in values for word in (flag(name), str(each))]
        return words


def _setting(name: str, value: Any) -> tuple[str, str]:
    """Return the option and the word that give a method a parameter."""
    if name == "batch_neighbors":
        return "--batch-neighbors", value
    return flag("settings"), f"{name}={value!r}"


class Declared(NamedTuple):
    """How a field of `Request` is declared."""

    #: Type in a record, and on the command line.
    kept_as: Any
    given_as: Any
    #: As Typer knows it.
    option: Any
    default: Any


def _declarations() -> dict[str, Declared]:
    hints = get_type_hints(Request, include_extras=True)
    return {
        each.name: Declared(parts[0], parts[-2], parts[-1], default)
        for each in fields(Request)
        for parts in [get_args(hints[each.name])]
        for default in [each.default if each.default_factory is MISSING else each.default_factory()]
    }


DECLARED = _declarations()

#: Options of the report, which may differ when a run is repeated.
OF_REPORT = ("resamples", "interactions")


def flag(name: str) -> str:
    """Return an option as users write it."""
    option = DECLARED[name].option if name in DECLARED else None
    # In Annotated, Typer keeps the first name of an option in the place of its default.
    named = getattr(option, "metavar", None) or getattr(option, "default", None)
    return named if isinstance(named, str) else f"--{name.replace('_', '-')}"


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether the user gave an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


# The options of a command, and the request that they make.


def with_request(order: str, *, optional: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options of a request to those that a command declares itself.

    ``order`` lists all options of the command as --help does, ``optional`` those of a request that it can do
    without.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        names = order.split()
        parameters = [own.get(name) or _parameter(name, name in optional.split()) for name in names]

        @wraps(command)
        def run(**given: Any) -> None:
            command(**{name: given[name] for name in own})

        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (own["context"], *parameters)]
        )
        return run

    return decorate


def _parameter(name: str, optional: bool) -> inspect.Parameter:
    """Return a field of `Request` as a parameter that Typer reads."""
    kept_as, given_as, option, default = DECLARED[name]
    if kept_as is bool:
        default = False  # as long as the flag is not given
    elif default is MISSING and not optional:
        default = inspect.Parameter.empty
    elif optional or given_as is not kept_as:
        given_as, default = given_as | None, None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[given_as, option]
    )


def request_of(context: typer.Context, **fixed: Any) -> Request:
    """Return the request that the options of a command make; ``fixed`` are fields that it does not offer."""
    from .request import parsed_settings  # noqa: PLC0415

    given = context.params
    if given["data"] is None or given["target"] is None:
        raise UsageError("DATA and --target COLUMN are needed, or --repeat run.json.")
    values = {name: as_kept(value) for name, value in given.items() if name in DECLARED and value is not None}
    values["settings"] = parsed_settings(values.get("settings", ())) | _where_neighbors_are(given)
    return Request(**values | fixed)


def as_kept(value: Any) -> Any:
    """Return a value of the command line, or of JSON, as a field of `Request`."""
    if isinstance(value, Path):
        return str(value)
    return tuple(value) if isinstance(value, list) else value


def _where_neighbors_are(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting that --batch-neighbors stands for."""
    where = given["batch_neighbors"]
    if where is None:
        return {}
    if given["batch"] is None:
        raise UsageError("--batch-neighbors needs --batch COLUMN.")
    if where not in ("within", "across"):
        raise UsageError(f"--batch-neighbors is within or across, and not {where!r}.")
    return {"batch_neighbors": where}


# Options of several commands that are no field of a request.


BatchNeighbors = Annotated[
    str | None, typer.Option(help="within (the usual) or across: where, with --batch, neighbors are.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", callback=_not_zero, help="Threads, -1 for all; the result does not depend on it."
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.")]
Force = Annotated[bool, typer.Option("--force", help="Write over what is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show the result only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
