"""Cells that are done, on disk: a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..core.whole_files import flush
from .experiment import Cell, Experiment, Outcome

#: What is in a line.
_PARTS = {"dataset", "setting", "repeat", "version", "data", "seconds", "outcome"}


class Kept:
    """What the cells of an experiment came to, a line each, in ``<folder>/<kept_as>.jsonl``."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self._path = folder / f"{experiment.kept_as}.jsonl"
        self._version = experiment.version

    def outcomes(self, digests: dict[str, str]) -> dict[Cell, Outcome]:
        """Cells that are done with the same version of the experiment and the same data."""
        found: dict[Cell, Outcome] = {}
        for line in self._lines():
            cell = Cell(line["dataset"], line["setting"], line["repeat"])
            if line["version"] == self._version and digests.get(cell.dataset) == line["data"]:
                found[cell] = line["outcome"]
        return found

    def seconds(self) -> dict[str, list[float]]:
        """How long the cells of each set took, as far as is known."""
        found: dict[str, list[float]] = {}
        for line in self._lines():
            found.setdefault(f"{line['dataset']}/{line['setting']}", []).append(line["seconds"])
        return found

    def add(self, cell: Cell, outcome: Outcome, *, data: str, seconds: float) -> None:
        """Keep a cell at once: the next moment may be the last."""
        line = {
            "dataset": cell.dataset,
            "setting": cell.setting,
            "repeat": cell.repeat,
            "version": self._version,
            "data": data,
            "seconds": round(seconds, 3),
            "outcome": outcome,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self._path.exists()
        # The end of the line before it, which may be lacking, comes first: a torn line spoils no other.
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(line, allow_nan=False))
        flush(self._path)
        if is_new:
            flush(self._path.parent)

    def _lines(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        found = []
        for text in self._path.read_bytes().split(b"\n"):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                # The run ended within this line.
                continue
            if isinstance(line, dict) and line.keys() >= _PARTS:
                found.append(line)
        return found
