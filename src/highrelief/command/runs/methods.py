"""The methods by the names that the command knows them by."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ...catalogue import BESIDE, METHODS, Method
from ...table.errors import shown
from .errors import UsageError

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

    home = getattr(highrelief, named(name).home)
    known = inspect.signature(home).parameters
    for setting in settings:
        if setting not in known:
            raise UsageError(f"{name} has no parameter {setting!r}; it has {', '.join(known)}.")
    common = {"random_state": seed, "n_jobs": n_jobs}
    return home(**{key: value for key, value in common.items() if key in known} | dict(settings))


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
