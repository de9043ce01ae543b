"""What is kept of a run, so that it can be repeated and understood."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...reports.origin import about_software
from ...table import LabelledTable
from ...table.errors import shown
from .watching import class_counts


def as_text(record: Mapping[str, Any]) -> str:
    """A record as it stands in ``run.json``."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def about_data(table: LabelledTable) -> dict[str, Any]:
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
