"""Tables of reproduced and published numbers, with their differences in standard errors."""

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


#: Number of standard errors from which on a difference is highlighted.
FAR = 2.0


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats."""

    mean: float
    #: Standard deviation over the repeats, and their number; None if unknown.
    deviation: float | None = None
    n: int | None = None
    #: Text to print instead of the numbers ("< 0.001").
    text: str | None = None

    @property
    def error(self) -> float | None:
        """Standard error of the mean."""
        if self.deviation is None or not self.n:
            return None
        return self.deviation / math.sqrt(self.n)

    def __str__(self) -> str:
        """Format as in the papers: 22.0(1.3)."""
        if self.text is not None:
            return self.text
        return f"{self.mean:.1f}" if self.deviation is None else f"{self.mean:.1f}({self.deviation:.1f})"


@dataclass(frozen=True)
class Share(Estimate):
    """A share of samples in per cent, printed without its deviation."""

    def __str__(self) -> str:
        return f"{self.mean:.1f}"


def share(percent: float, n: int) -> Share:
    """Return a share in per cent with its binomial standard deviation."""
    return Share(percent, math.sqrt(percent * (100.0 - percent)), n)


def measured(values: Sequence[float] | NDArray[np.float64]) -> Estimate:
    """Return the mean and the standard deviation of values."""
    several = len(values) > 1
    return Estimate(float(np.mean(values)), float(np.std(values, ddof=1)) if several else None, len(values))


def percent(values: Sequence[float] | NDArray[np.float64]) -> Estimate:
    """Return the mean and the standard deviation of shares, in per cent."""
    return measured(100.0 * np.asarray(values))


def p_value(values: Sequence[float], rival: Sequence[float]) -> float | None:
    """Return the p-value of the two-tailed paired t-test; None for fewer than two pairs."""
    if len(values) < 2:
        return None
    difference = np.array(values) - np.array(rival)
    if np.ptp(difference) == 0.0:
        return 1.0 if difference[0] == 0.0 else 0.0
    return float(ttest_rel(values, rival).pvalue)


@dataclass(frozen=True)
class Pair:
    """One number of a table: reproduced, published, or both."""

    row: str
    column: str
    reproduced: Estimate | None
    published: Estimate | None = None

    @property
    def z_score(self) -> float | None:
        """Difference in standard errors; None if unknown.

        Where the paper gives no deviation, that of the reproduced repeats is used.
        """
        if self.reproduced is None or self.published is None or self.reproduced.error is None:
            return None
        published = self.published.error
        if published is None:
            published = self.reproduced.deviation / math.sqrt(self.published.n) if self.published.n else 0.0  # type: ignore[operator]
        standard_error = math.hypot(self.reproduced.error, published)
        return (self.reproduced.mean - self.published.mean) / standard_error if standard_error > 0.0 else None

    @property
    def is_far(self) -> bool:
        """Whether the two differ by more than chance explains."""
        return self.z_score is not None and abs(self.z_score) > FAR


@dataclass(frozen=True)
class Results:
    """A table of reproduced and published numbers."""

    title: str
    #: Header of the rows, and unit of the numbers ("error, %").
    rows: str
    unit: str
    pairs: list[Pair]
    #: Remarks, as sentences.
    remarks: list[str] = field(default_factory=list)

    @property
    def row_names(self) -> list[str]:
        """Names of the rows in order."""
        return list(dict.fromkeys(pair.row for pair in self.pairs))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns in order."""
        return list(dict.fromkeys(pair.column for pair in self.pairs))

    @property
    def has_published(self) -> bool:
        """Whether any number was published."""
        return any(pair.published is not None for pair in self.pairs)

    @property
    def heading(self) -> str:
        """Title, unit, and what the cells contain."""
        cells = ": ours / theirs (standard errors apart)" if self.has_published else ""
        return f"{self.title} ({self.unit}){cells}"

    def lines(self) -> list[list[str]]:
        """Return the table as text, with cells ``reproduced / published (standard errors apart)``.

        Where nothing was published, cells contain the reproduced number only.
        """
        cells = {(pair.row, pair.column): pair for pair in self.pairs}
        head = [self.rows, *self.column_names]
        body = [
            [row, *(_text(cells.get((row, column)), self.has_published) for column in self.column_names)]
            for row in self.row_names
        ]
        return [head, *body]

    def markdown(self) -> str:
        """Return the table in Markdown, bold where the two differ by more than chance."""
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


def _text(pair: Pair | None, has_published: bool) -> str:
    if pair is None:
        return ""
    reproduced = "-" if pair.reproduced is None else str(pair.reproduced)
    if not has_published:
        return reproduced
    published = "-" if pair.published is None else str(pair.published)
    z_score = "" if pair.z_score is None else f" ({pair.z_score:+.1f})"
    return f"{reproduced} / {published}{z_score}"


def panels(
    n: int, *, columns: int = 3, width: float = 3.6, height: float = 3.2, **options: Any
) -> tuple[Figure, list[Any]]:
    """Return a figure and the axes of its n panels, row by row; ``options`` as in ``Figure.subplots``."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(columns, n)
    rows = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options).ravel()
    for ax in axes[n:]:
        ax.set_axis_off()
    return figure, list(np.asarray(axes)[:n])
