"""Who is told how a run goes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from ...table import LabelledTable

#: Of more classes than the former, the screen lists the latter.
_MOST_SHOWN, _FEW_SHOWN = 20, 5

#: Told how many steps are done, and the most there can be.
Tell = Callable[[int, int], None]


class Watcher:
    """Told how a run goes; this one keeps it to itself."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def working(self, what: str) -> AbstractContextManager[Tell]:
        """Entered around what may take long; gives what can be told how far it has come."""
        return nullcontext(lambda done, total: None)

    def table(self, table: LabelledTable) -> None:
        """What was read, and by which rules."""
        if table.measured:
            target = f"a target from {table.y.min():g} to {table.y.max():g}"
        else:
            counts = [f"{name} ({count:,})" for name, count in class_counts(table).items()]
            shown = counts if len(counts) <= _MOST_SHOWN else counts[:_FEW_SHOWN]
            rest = f" and {len(counts) - len(shown):,} more" if len(shown) < len(counts) else ""
            target = f"classes {', '.join(shown)}{rest}"
        self.note(f"{len(table.y):,} samples, {len(table.feature_names):,} features, {target}")
        for note in table.notes:
            self.note(f"- {note}")


#: Where nobody looks.
NOBODY = Watcher()


def class_counts(table: LabelledTable) -> dict[str, int]:
    """How many samples each class has."""
    classes, counts = np.unique(table.y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))
