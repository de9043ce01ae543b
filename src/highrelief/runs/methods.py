"""The methods by the names that the command knows them by."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .errors import UsageError


@dataclass(frozen=True)
class Method:
    """A method as the command offers it."""

    #: Name of the class.
    home: str
    #: What it is, in a line.
    summary: str
    #: Keys of its references.
    references: tuple[str, ...]


METHODS: Mapping[str, Method] = {
    "irelief": Method(
        "IRelief", "I-RELIEF: margins under the weights they make; nothing to tune", ("sun2007",)
    ),
    "online-irelief": Method("OnlineIRelief", "I-RELIEF, one sample after another", ("sun2007",)),
    "relief": Method("Relief", "nearest hit and nearest miss", ("kira1992",)),
    "relieff": Method("ReliefF", "k nearest of every class", ("kononenko1994", "robnik2003")),
    "logo": Method("LOGO", "few features that give every sample a margin", ("sun2010",)),
    "im4e": Method("IM4E", "margins that do not hang on single samples", ("bei2012",)),
    "frel": Method("FREL", "margin losses with a penalty; stable rankings", ("li2015",)),
    "lmba": Method("Lmba", "FREL's square loss over several neighbours", ("li2015",)),
    "lhr": Method("LHRelief", "margins to local hyperplanes", ("cai2014",)),
    "simba": Method("Simba", "gradient steps on the margin, with restarts", ("gilad2004",)),
    "gflip": Method("GFlip", "features flipped while the margins grow", ("gilad2004",)),
    "fisher": Method("FisherScore", "one feature at a time: between over within classes", ("duda1973",)),
}


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


def parsed_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parameters given as ``name=value``; a value is a Python literal, or else a word."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set needs name=value, and got {text!r}.")
        try:
            settings[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            settings[name.strip()] = value.strip()
    return settings


#: Papers of what is no weighter, by the names of the classes in small letters.
_BESIDE = {"lfe": ("sun2008",), "dann": ("hastie1996", "sun2008"), "hknn": ("vincent2002",)}


def cited(name: str) -> tuple[str, ...]:
    """Keys of the references of a method."""
    return _BESIDE[name] if name in _BESIDE else named(name).references
