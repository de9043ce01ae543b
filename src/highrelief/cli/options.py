"""The options of the commands, each declared once.

The fields of `Request` are the options that a ranking depends on. They define the options of the commands
(`with_request`), the request of a command line (`request_of`), its record in ``run.json`` and what
``--repeat`` reads. Other options are types for Typer, at the end.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, asdict, dataclass, field, fields
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

import typer
from typer.models import ArgumentInfo

from .errors import UsageError

if TYPE_CHECKING:
    from ..catalog import Method

# Callbacks of Typer: checks beyond types, and conversions


def _check_resamples(resamples: int | None) -> int | None:
    if resamples is not None and (resamples % 2 or resamples == 2):
        raise typer.BadParameter("halves come in pairs: 0, or an even number from 4 on.")
    return resamples


def _check_redundancy(threshold: float | None) -> float | None:
    if threshold is not None and not threshold > 0.0:
        raise typer.BadParameter("a number above 0, and at most 1.")
    return threshold


def _check_seed(seed: int) -> int:
    if not 0 <= seed < 2**32:
        raise typer.BadParameter(f"{seed}; use an integer from 0 to {2**32 - 1}.")
    return seed


def _check_jobs(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0; use a positive number, or -1 for all cores.")
    return jobs


def _negate(flag: bool) -> bool:
    return not flag


def _tab_separator(separator: str | None) -> str | None:
    return "\t" if separator in ("\\t", "tab") else separator


#: Metavar of options without a value, for which some versions of Typer show the type.
FLAG = " "
#: The method that is chosen by the target.
AUTO = "auto"


@dataclass(frozen=True)
class Request:
    """The options that a ranking depends on: a table, a method and their settings.

    A field declares its type in ``run.json``, its type on the command line if that differs, and its option.
    Files are checked where they are read (readable=False).
    """

    data: Annotated[
        str,
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV (also .gz), Parquet, Feather, ARFF, NPZ or h5ad; - reads the standard input.",
            show_default=False,
            readable=False,
        ),
    ]
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column with the class labels, or a continuous target.",
            show_default=False,
        ),
    ]
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Method; `highrelief methods` lists them. auto is high-relief for classes and"
            " high-relief-regressor for a continuous target; with --control, relieff and rrelieff.",
        ),
    ] = AUTO
    settings: Annotated[
        Mapping[str, Any],
        list[str],
        typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the method; can be repeated."),
    ] = field(default_factory=dict)
    seed: Annotated[
        int,
        typer.Option(metavar="N", callback=_check_seed, help="Seed of methods that draw random numbers."),
    ] = 0
    labels: Annotated[
        str | None,
        Path,
        typer.Option(metavar="FILE", help="Second file with the labels, by sample name.", readable=False),
    ] = None
    transpose: Annotated[
        bool,
        typer.Option(
            "--transpose", metavar=FLAG, help="Rows are features and columns samples; needs --labels."
        ),
    ] = False
    identifiers: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option("--id", metavar="COLUMN", help="Column that names the samples; can be repeated."),
    ] = ()
    drop: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option(metavar="COLUMN", help="Column to leave out; can be repeated."),
    ] = ()
    drop_text: Annotated[
        bool,
        typer.Option(
            "--drop-text", metavar=FLAG, help="Leave out text columns that the method does not support."
        ),
    ] = False
    genotypes: Annotated[
        bool,
        typer.Option(
            "--genotypes",
            metavar=FLAG,
            help="Count the minor alleles of genotypes written as AG, A/G, A|G or 0/1.",
        ),
    ] = False
    separator: Annotated[
        str | None,
        typer.Option(
            "--sep", metavar="CHARACTER", callback=_tab_separator, help="Field separator (default: detected)."
        ),
    ] = None
    decimal: Annotated[str | None, typer.Option(metavar=".|,", help="Decimal mark (default: detected).")] = (
        None
    )
    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Text encoding (default: UTF-8).")] = (
        None
    )
    missing: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Missing values: auto (keep them where the method can, otherwise median), keep, median,"
            " drop-features, drop-samples or error.",
        ),
    ] = "auto"
    missing_values: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option(
            "--missing-value",
            metavar="TOKEN",
            help="Token for a missing value, beside the defaults (NA, NaN, null, ? …); repeatable.",
        ),
    ] = ()
    default_missing: Annotated[
        bool,
        typer.Option(
            "--no-default-missing",
            metavar=FLAG,
            callback=_negate,
            help="Only empty fields and --missing-value stand for missing values.",
        ),
    ] = True
    categorical: Annotated[
        tuple[str, ...],
        list[str],
        typer.Option(metavar="COLUMN", help="Numeric column that is categorical; can be repeated."),
    ] = ()
    batch: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of batches; neighbors are searched within them."),
    ] = None
    max_redundancy: Annotated[
        float | None,
        typer.Option(
            max=1.0,
            metavar="0…1",
            callback=_check_redundancy,
            help="Keep one of redundant features: |correlation| of at least this, such as 0.9.",
        ),
    ] = None
    resamples: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            callback=_check_resamples,
            help="Fits to halves of the samples, for stability (default: 4 to 20; 0: no refits, and no"
            " recommended number of features).",
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of groups; each stays in one fold, or in one half of a report."
        ),
    ] = None
    interactions: Annotated[
        bool | None,
        typer.Option(
            "--interactions/--no-interactions",
            metavar=FLAG,
            help="Measure interactions of the best features for the report (default: if it is quick).",
            show_default=False,
        ),
    ] = None

    def as_json(self) -> dict[str, Any]:
        """Return the request as ``run.json`` stores it."""
        return asdict(self)

    def arguments(self, without: Collection[str] = ()) -> list[str]:
        """Return the request as arguments of a command, without some fields and defaults."""
        # The path must not be parsed as an option.
        words = [f"./{self.data}" if self.data.startswith("-") and self.data != "-" else self.data]
        for name, declaration in FIELDS.items():
            value = getattr(self, name)
            if name == "data" or name in without or value == declaration.default:
                continue
            if name == "settings":
                words += [word for each in value.items() for word in _setting(*each)]
            elif isinstance(value, bool):
                words.append(flag(name).split("/")[0 if value else -1])
            elif name == "separator" and value == "\t":
                # A tab character would become spaces when it is copied from a page.
                words += [flag(name), "tab"]
            else:
                values = value if isinstance(value, tuple) else (value,)
                words += [word for each in values for word in (flag(name), str(each))]
        return words


def _setting(name: str, value: Any) -> tuple[str, str]:
    """Return the option and its value that set a parameter of a method."""
    if name == "batch_neighbors":
        return "--batch-neighbors", value
    return flag("settings"), f"{name}={value!r}"


class Declaration(NamedTuple):
    """Declaration of a field of `Request`."""

    #: Type in a record, and on the command line.
    record_type: Any
    option_type: Any
    #: Typer's argument or option.
    option: Any
    default: Any


def _declarations() -> dict[str, Declaration]:
    hints = get_type_hints(Request, include_extras=True)
    return {
        each.name: Declaration(parts[0], parts[-2], parts[-1], default)
        for each in fields(Request)
        for parts in [get_args(hints[each.name])]
        for default in [each.default if each.default_factory is MISSING else each.default_factory()]
    }


FIELDS = _declarations()

#: Options of the report, which may differ when a run is repeated.
REPORT_OPTIONS = ("resamples", "interactions")


def flag(name: str) -> str:
    """Return the name of an option on the command line."""
    option = FIELDS[name].option if name in FIELDS else None
    # In Annotated, Typer keeps the first name of an option in the place of its default.
    named = getattr(option, "metavar" if isinstance(option, ArgumentInfo) else "default", None)
    return named if isinstance(named, str) else f"--{name.replace('_', '-')}"


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


# The options of a command, and their request


def with_request(
    panels: Mapping[str, str], *, optional: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add fields of `Request` to the options that a command declares itself.

    ``panels`` lists all options by their panels, in the order of --help, ``optional`` those fields that may
    be left out.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        parameters = [
            _in_panel(own.get(name) or _parameter(name, name in optional.split()), panel)
            for panel, names in panels.items()
            for name in names.split()
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            command(**{name: given[name] for name in own})

        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (own["context"], *parameters)]
        )
        return run

    return decorate


def _in_panel(parameter: inspect.Parameter, panel: str) -> inspect.Parameter:
    """Return a parameter whose option --help shows in a panel; arguments have one of their own."""
    kind, option = get_args(parameter.annotation)
    if not isinstance(option, ArgumentInfo):
        option = copy(option)
        option.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[kind, option])


def _parameter(name: str, optional: bool) -> inspect.Parameter:
    """Return a field of `Request` as a parameter that Typer reads."""
    record_type, option_type, option, default = FIELDS[name]
    if record_type is bool:
        default = False  # without the flag
    elif default is MISSING and not optional:
        default = inspect.Parameter.empty
    elif optional or option_type is not record_type:
        option_type, default = option_type | None, None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[option_type, option]
    )


def request_of(context: typer.Context, **fixed: Any) -> Request:
    """Return the request of a command line; ``fixed`` are fields that the command has no options for."""
    given = context.params
    if given["data"] is None or given["target"] is None:
        raise UsageError("DATA and --target COLUMN are needed, or --repeat run.json.")
    values = {
        name: field_value(value) for name, value in given.items() if name in FIELDS and value is not None
    }
    values["settings"] = parse_settings(values.get("settings", ())) | _batch_setting(given)
    return Request(**values | fixed)


def field_value(value: Any) -> Any:
    """Convert a value of the command line or of JSON to that of a field."""
    if isinstance(value, Path):
        return str(value)
    return tuple(value) if isinstance(value, list) else value


def _batch_setting(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting of --batch-neighbors."""
    where = given["batch_neighbors"]
    if where is None:
        return {}
    if given["batch"] is None:
        raise UsageError("--batch-neighbors needs --batch COLUMN.")
    if where not in ("within", "across"):
        raise UsageError(f"--batch-neighbors is within or across, and not {where!r}.")
    return {"batch_neighbors": where}


# Methods and their settings

#: Most characters of a setting.
_MAX_SETTING = 10_000


def method_named(name: str) -> Method:
    """Return the catalog entry of a method; raise with close matches if there is none."""
    from ..catalog import METHODS  # noqa: PLC0415

    if name in METHODS:
        return METHODS[name]
    close = get_close_matches(name.lower(), METHODS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"available: {', '.join(METHODS)}."
    raise UsageError(f"There is no method {name!r}; {hint}")


def reference_keys(name: str) -> tuple[str, ...]:
    """Return the keys of the references of a method."""
    from ..catalog import OTHERS  # noqa: PLC0415

    return (OTHERS[name] if name in OTHERS else method_named(name)).references


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parse settings ``name=value``; a value is a Python literal, or else a string."""
    from ..io.cells import quoted  # noqa: PLC0415

    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set needs name=value, and got {text!r}.")
        if len(text) > _MAX_SETTING:
            raise UsageError(f"--set {quoted(name)}: its value is longer than {_MAX_SETTING:,} characters.")
        try:
            settings[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, TypeError):
            settings[name.strip()] = value.strip()
        except (RecursionError, MemoryError) as error:
            raise UsageError(f"--set {quoted(text)}: the value is nested too deeply.") from error
    return settings


# Options of several commands that are not fields of a request

BatchNeighbors = Annotated[
    str | None,
    typer.Option(
        metavar="within|across", help="With --batch: search neighbors within (default) or across batches."
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        callback=_check_jobs,
        help="Number of threads, -1 for all cores; results do not depend on it.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", metavar=FLAG, help="Write no report.html.")]
Force = Annotated[bool, typer.Option("--force", metavar=FLAG, help="Overwrite existing files.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Show only the results.")]
Debug = Annotated[bool, typer.Option("--debug", metavar=FLAG, help="Show a traceback of errors.")]
