"""Parts of sentences: names in a row, numbers, shares."""

from __future__ import annotations

from collections.abc import Sequence

from ..plots.drawing import counted
from .contents import Estimate

__all__ = ["counted", "listed", "number", "percent", "two_digits", "with_interval"]

#: As it is printed; a hyphen is shorter.
MINUS = "\N{MINUS SIGN}"


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names in a row: "A, B and C"; of many the first, and how many more."""
    shown = list(names[:most])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def percent(share: float) -> str:
    """A share of a whole: "43 %"; next to nothing and nearly all are not rounded away."""
    if 0.0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1.0:
        return "more than 99 %"
    return f"{100.0 * share:.0f} %"


def number(value: float) -> str:
    """A number of three digits, with a sign that is one."""
    return f"{value:.3g}".replace("-", MINUS)


def two_digits(value: float) -> str:
    """A measure between −1 and 1; next to nothing has no sign."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


def with_interval(estimate: Estimate) -> str:
    """A measure and its interval: "0.55 (95 % interval 0.40 to 0.70)"."""
    if estimate.value is None:
        return "unknown"
    if estimate.lower is None or estimate.upper is None:
        return two_digits(estimate.value)
    interval = f"95 % interval {two_digits(estimate.lower)} to {two_digits(estimate.upper)}"
    return f"{two_digits(estimate.value)} ({interval})"
