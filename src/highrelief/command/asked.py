"""What is asked for, from the options of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from .runs.request import Request

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
    from .runs.errors import UsageError  # noqa: PLC0415
    from .runs.methods import parsed_settings  # noqa: PLC0415
    from .runs.request import Request  # noqa: PLC0415

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
    from .runs.errors import UsageError  # noqa: PLC0415

    where = given.get("batch_neighbors")
    if where is None:
        return {}
    if given["batch"] is None:
        raise UsageError("--batch-neighbors needs --batch COLUMN.")
    if where not in ("within", "across"):
        raise UsageError(f"--batch-neighbors is within or across, and not {where!r}.")
    return {"batch_neighbors": where}
