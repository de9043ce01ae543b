"""Ours beside theirs: numbers with their spread, and how far apart they are in standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Standard errors from which on a difference is pointed at.
FAR = 2.0


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats."""

    mean: float
    #: Standard deviation over the repeats, and how many there are; None if it is not known.
    deviation: float | None = None
    n: int | None = None
    #: As it is written, where that is neither a mean alone nor one with its deviation ("< 0.001").
    text: str | None = None

    @property
    def error(self) -> float | None:
        """Standard error of the mean."""
        if self.deviation is None or not self.n:
            return None
        return self.deviation / math.sqrt(self.n)

    def __str__(self) -> str:
        """As the papers write it: 22.0(1.3)."""
        if self.text is not None:
            return self.text
        return f"{self.mean:.1f}" if self.deviation is None else f"{self.mean:.1f}({self.deviation:.1f})"


@dataclass(frozen=True)
class Share(Estimate):
    """A share of samples in per cent, whose deviation follows from it."""

    def __str__(self) -> str:
        return f"{self.mean:.1f}"


def share(percent: float, n: int) -> Share:
    """With the deviation of a single sample being right or wrong."""
    return Share(percent, math.sqrt(percent * (100.0 - percent)), n)


def measured(values: Sequence[float] | NDArray[np.float64]) -> Estimate:
    """Mean and deviation of what was measured."""
    several = len(values) > 1
    return Estimate(float(np.mean(values)), float(np.std(values, ddof=1)) if several else None, len(values))


def p_value(ours: Sequence[float], rival: Sequence[float]) -> float | None:
    """Of the two-tailed paired t-test; None if there is nothing to test, 1 if there is no difference."""
    if len(ours) < 2:
        return None
    difference = np.array(ours) - np.array(rival)
    if np.ptp(difference) == 0.0:
        return 1.0 if difference[0] == 0.0 else 0.0
    return float(ttest_rel(ours, rival).pvalue)


@dataclass(frozen=True)
class Pair:
    """One number of a table: ours, theirs, or both."""

    row: str
    column: str
    ours: Estimate | None
    theirs: Estimate | None

    @property
    def apart(self) -> float | None:
        """Ours less theirs, in standard errors of the difference; None where that is not known.

        Where the paper gives no deviation, ours stands in for it: its repeats are as ours.
        """
        if self.ours is None or self.theirs is None or self.ours.error is None:
            return None
        theirs = self.theirs.error
        if theirs is None:
            theirs = self.ours.deviation / math.sqrt(self.theirs.n) if self.theirs.n else 0.0  # type: ignore[operator]
        together = math.hypot(self.ours.error, theirs)
        return (self.ours.mean - self.theirs.mean) / together if together > 0.0 else None

    @property
    def is_far(self) -> bool:
        """Whether the two differ by more than chance explains."""
        return self.apart is not None and abs(self.apart) > FAR


@dataclass(frozen=True)
class Results:
    """A table: ours beside theirs."""

    title: str
    #: What the rows are, and what the numbers are ("error, %").
    rows: str
    unit: str
    pairs: list[Pair]
    #: What is to be said with it.
    remarks: list[str] = field(default_factory=list)

    @property
    def row_names(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys(pair.row for pair in self.pairs))

    @property
    def column_names(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys(pair.column for pair in self.pairs))

    def lines(self) -> list[list[str]]:
        """The table as texts: a row each, each cell ``ours / theirs (standard errors apart)``."""
        cells = {(pair.row, pair.column): pair for pair in self.pairs}
        head = [self.rows, *self.column_names]
        body = [
            [row, *(_text(cells.get((row, column))) for column in self.column_names)]
            for row in self.row_names
        ]
        return [head, *body]

    def markdown(self) -> str:
        """The table for a page; ``**…**`` where ours is far from theirs."""
        head, *body = self.lines()
        cells = {(pair.row, pair.column): pair for pair in self.pairs}
        rows = [" | ".join(head), "|".join("---" for _ in head)]
        for line in body:
            marked = [line[0]]
            for column, text in zip(self.column_names, line[1:], strict=True):
                pair = cells.get((line[0], column))
                marked.append(f"**{text}**" if pair is not None and pair.is_far else text)
            rows.append(" | ".join(marked))
        return "\n".join(f"| {row} |" for row in rows)


def _text(pair: Pair | None) -> str:
    if pair is None:
        return ""
    ours = "-" if pair.ours is None else str(pair.ours)
    theirs = "-" if pair.theirs is None else str(pair.theirs)
    apart = "" if pair.apart is None else f" ({pair.apart:+.1f})"
    return f"{ours} / {theirs}{apart}"


# Pictures of several panels, as the papers have them.


def panels(
    n: int, *, columns: int = 3, width: float = 3.6, height: float = 3.2, **options: Any
) -> tuple[Figure, list[Any]]:
    """A picture and the axes of its n panels, row by row; ``options`` as in ``Figure.subplots``."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(columns, n)
    rows = -(-n // columns)
    picture = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = picture.subplots(rows, columns, squeeze=False, **options).ravel()
    for ax in axes[n:]:
        ax.set_axis_off()
    return picture, list(np.asarray(axes)[:n])
