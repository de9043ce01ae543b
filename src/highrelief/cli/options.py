"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from .request import Request


# Whether a file may be read is said by who reads it, as all else that is wrong with files: readable=False.
DATA = typer.Argument(
    metavar="DATA",
    help="CSV, TSV (also .gz), Parquet, Feather, ARFF, NPZ or h5ad.",
    show_default=False,
    readable=False,
)
TARGET = typer.Option(
    "--target", "-t", help="Column with the classes; for some methods with numbers.", show_default=False
)
Data = Annotated[Path, DATA]
Target = Annotated[str, TARGET]
Method = Annotated[str, typer.Option("--method", "-m", help="How to weigh; `highrelief methods` lists them.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Parameter of the method, name=value; can be repeated.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="For methods that draw random numbers.")]


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 threads do nothing.")
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", callback=_not_zero, help="Threads, -1 for all; the result does not depend on it."
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Second file: the classes by the names of the samples.", readable=False),
]
Transpose = Annotated[
    bool, typer.Option("--transpose", help="Rows are features and columns samples; needs --labels.")
]
Identifiers = Annotated[
    list[str] | None, typer.Option("--id", help="Column that names the samples; can be repeated.")
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column of numbers that are categories; can be repeated.")
]
Batch = Annotated[str | None, typer.Option(help="Column of batches: neighbors are looked for within them.")]
BatchNeighbors = Annotated[
    str | None, typer.Option(help="within (the usual) or across: where, with --batch, neighbors are.")
]
Groups = Annotated[
    str | None, typer.Option(help="Column: equal values stay in one fold, or in one half of a report.")
]
Control = Annotated[
    str | None,
    typer.Option(
        help="Keep the features that are real: fdr bounds the share of false ones, fwer the chance of any.",
        show_default=False,
    ),
]
Level = Annotated[float, typer.Option(help="With --control: the error rate.")]
By = Annotated[str, typer.Option(help="With --control: permutation, stability or knockoff.")]
Permutations = Annotated[
    int, typer.Option(min=1, help="With --control: how often labels are dealt out at random.")
]
ExchangeGroups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="With --control: column; labels are exchanged within equal values, or of whole groups.",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; can be repeated.")]
Separator = Annotated[str | None, typer.Option("--sep", help="What separates the fields, if not found out.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal mark, if not found out.")]
Encoding = Annotated[str | None, typer.Option(help="How the text is written, if not in UTF-8.")]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: auto (keep them where the method can, otherwise median), keep, median,"
        " drop-features, drop-samples or error."
    ),
]
MissingValue = Annotated[
    list[str] | None,
    typer.Option(help="Token for a missing value, beside the defaults (NA, NaN, null, ? …); repeatable."),
]
NoDefaultMissing = Annotated[
    bool,
    typer.Option(
        "--no-default-missing",
        help="Only empty fields and --missing-value stand for missing values.",
    ),
]


def _in_pairs(resamples: int) -> int:
    if resamples % 2 or resamples == 2:
        raise typer.BadParameter("halves come in pairs: 0, or an even number from 4 on.")
    return resamples


Resamples = Annotated[
    int,
    typer.Option(
        min=0, callback=_in_pairs, help="Halves of the samples ranked again for the report; 0 for none."
    ),
]


def _above_zero(threshold: float | None) -> float | None:
    if threshold is not None and not threshold > 0.0:
        raise typer.BadParameter("a number above 0, and at most 1.")
    return threshold


MaxRedundancy = Annotated[
    float | None,
    typer.Option(
        max=1.0,
        callback=_above_zero,
        help="Keep one of features that say the same: |correlation| of so much, such as 0.9, or more.",
    ),
]
Interactions = Annotated[
    bool | None,
    typer.Option(
        "--interactions/--no-interactions",
        help="Weigh the best features without one another, for the report; by default if it is quick.",
        show_default=False,
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.")]
Force = Annotated[bool, typer.Option("--force", help="Write over what is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show the result only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


# What is asked for, from the options of a command.


#: Options that are not called as what they are kept in.
_CALLED = {"data": "DATA", "settings": "--set", "identifiers": "--id"}


def option(name: str) -> str:
    """What users call the option that is kept under a name."""
    return _CALLED.get(name, f"--{name.replace('_', '-')}")


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the user gave an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def request_of(context: typer.Context) -> Request:
    """What is asked for, from the options by their names; a command may lack some."""
    from .endings import UsageError  # noqa: PLC0415
    from .request import Request, parsed_settings  # noqa: PLC0415

    given = context.params
    if given["data"] is None or given["target"] is None:
        raise UsageError("DATA and --target COLUMN are needed, or --repeat run.json.")
    return Request(
        data=str(given["data"]),
        target=given["target"],
        method=given.get("method", ""),
        settings=parsed_settings(given.get("settings") or ()) | _where_neighbors_are(given),
        seed=given["seed"],
        labels=None if given["labels"] is None else str(given["labels"]),
        transpose=given["transpose"],
        identifiers=tuple(given["identifiers"] or ()),
        drop=tuple(given["drop"] or ()),
        separator={"\\t": "\t", "tab": "\t"}.get(given["sep"], given["sep"]),
        decimal=given["decimal"],
        encoding=given["encoding"],
        missing=given.get("missing", "auto"),
        missing_values=tuple(given["missing_value"] or ()),
        default_missing=not given["no_default_missing"],
        categorical=tuple(given.get("categorical") or ()),
        resamples=given.get("resamples", 0),
        interactions=given.get("interactions"),
        max_redundancy=given.get("max_redundancy"),
        batch=given.get("batch"),
        # Of the report, or of the permutations; a comparison keeps them by themselves.
        groups=given.get("groups") if "resamples" in given or "control" in given else None,
    )


def _where_neighbors_are(given: Mapping[str, Any]) -> dict[str, Any]:
    """The setting that --batch-neighbors stands for."""
    from .endings import UsageError  # noqa: PLC0415

    where = given.get("batch_neighbors")
    if where is None:
        return {}
    if given["batch"] is None:
        raise UsageError("--batch-neighbors needs --batch COLUMN.")
    if where not in ("within", "across"):
        raise UsageError(f"--batch-neighbors is within or across, and not {where!r}.")
    return {"batch_neighbors": where}
