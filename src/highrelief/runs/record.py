"""What is kept of a run, so that it can be repeated and understood."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from ..table import LabelledTable
from .watching import class_counts

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")


def as_text(record: Mapping[str, Any]) -> str:
    """A record as it stands in ``run.json``."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def about_data(table: LabelledTable, digest: Mapping[str, str]) -> dict[str, Any]:
    """What the data was."""
    return {
        "sha256": dict(digest),
        "samples": len(table.y),
        "features": len(table.feature_names),
        "classes": class_counts(table),
        "notes": table.notes,
    }


def about_software() -> dict[str, Any]:
    """What it was computed with."""
    return {
        "highrelief": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "machine": {"system": platform.platform(), "processor": platform.machine()},
    }


def other_software(record: Mapping[str, Any]) -> list[str]:
    """What a record was made with that is not of the same version here, in a sentence."""
    here = about_software()
    now = {"highrelief": here["highrelief"], **here["versions"]}
    then = {"highrelief": record.get("highrelief"), **dict(record.get("versions") or {})}
    differ = [
        f"{name} {then[name]} (here {now[name]})" for name in now if then.get(name, now[name]) != now[name]
    ]
    return [f"The run to repeat was made with {', '.join(differ)}: digits may differ."] if differ else []


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has no form for as it is written in Python."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
