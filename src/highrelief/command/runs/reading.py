"""A table as a method takes it: what stays missing, which columns are categories, what the target is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...bases.abilities import takes_categories, takes_measurements, takes_missing
from ...table import LabelledTable, Source, TableError, read_table
from ...table.completing import completed, counted_holes, missing_values, without_empty
from ...table.errors import MeasurementError, WordsError
from .errors import UsageError
from .methods import able
from .request import Request


def resolved(request: Request, estimator: Any) -> Request:
    """The request with what it leaves to the method decided, as a record keeps it; raises if it cannot be."""
    if "categorical_features" in request.settings:
        raise UsageError("--categorical COLUMN says which features are categories, and not --set.")
    if request.categorical and not takes_categories(estimator):
        raise UsageError(
            f"--categorical: {request.method} takes numbers only{_instead(takes_categories, 'categories')}."
        )
    if request.missing == "keep" and not takes_missing(estimator):
        raise UsageError(
            f"--missing keep: {request.method} needs all values{_instead(takes_missing, 'missing ones')}."
        )
    if request.missing != "auto":
        return request
    return replace(request, missing="keep" if takes_missing(estimator) else "median")


def read_for(estimator: Any, request: Request, source: Source) -> tuple[LabelledTable, LabelledTable]:
    """The table as it was read, and as the estimator gets it; ``request`` is resolved."""
    roles = replace(
        request.roles(),
        measured=takes_measurements(estimator),
        words=takes_categories(estimator),
        categorical=request.categorical,
    )
    try:
        as_read = read_table(source, roles)
    except MeasurementError as error:
        raise TableError(f"{_unended(error)}{_instead(takes_measurements, 'numbers')}.") from error
    except WordsError as error:
        raise TableError(f"{_unended(error)}{_instead(takes_categories, 'words')}.") from error
    instead = _instead(takes_categories, "them as categories") if as_read.left_out else ""
    if instead:
        note = f"{request.method} takes no words{instead}."
        as_read = replace(as_read, notes=[*as_read.notes, note])
    table = completed(as_read, request.missing)
    holes = missing_values(table)
    if holes.any():
        note = f"{counted_holes(holes)} stay missing: differences to them are those to be expected."
        table = replace(table, notes=[*table.notes, note])
    return as_read, table


def read_to_compare(request: Request, source: Source, groups: str | None) -> LabelledTable:
    """The table that several methods, and the classifiers that judge them, get: numbers with classes."""
    try:
        table = without_empty(read_table(source, request.roles(groups)))
    except MeasurementError as error:
        raise TableError(f"{_unended(error)} to compare by.") from error
    holes = missing_values(table)
    if not holes.any():
        return table
    note = f"{counted_holes(holes)}: in each fold the medians of the samples that are fitted stand in."
    return replace(table, notes=[*table.notes, note])


def _instead(ability: Callable[[Any], bool], what: str) -> str:
    """Which methods take what another does not, as the end of a sentence; nothing if none does."""
    *others, last = able(ability) or [""]
    names = f"{', '.join(others)} or {last}" if others else last
    return f"; --method {names} takes {what}" if names else ""


def _unended(error: TableError) -> str:
    return str(error).rstrip(".")
