"""Phrases of the report: lists of names, numbers, and the titles and descriptions of methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...catalog import METHODS, WRAPPERS, Method
from .contents import Estimate

#: The typographic minus sign.
MINUS = "\N{MINUS SIGN}"


def listed(names: Sequence[str], most: int = 10) -> str:
    """Join names as "A, B and C"; of many the first, and the number of the others."""
    shown = list(names[:most])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def percent(share: float) -> str:
    """Format a share as "43 %"; values near 0 and 1 are not rounded to them."""
    if 0.0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1.0:
        return "more than 99 %"
    return f"{100.0 * share:.0f} %"


def number(value: float) -> str:
    """Format a number to three digits, with a typographic minus sign."""
    return f"{value:.3g}".replace("-", MINUS)


def two_digits(value: float | None) -> str:
    """Format a measure to two decimals, without −0.00; None as a dash."""
    return "\N{EN DASH}" if value is None else f"{value:z.2f}".replace("-", MINUS)


def with_interval(estimate: Estimate) -> str:
    """Format an estimate and its interval as "0.55 (95 % interval 0.40 to 0.70)"."""
    if estimate.value is None:
        return "unknown"
    if estimate.lower is None or estimate.upper is None:
        return two_digits(estimate.value)
    interval = f"95 % interval {two_digits(estimate.lower)} to {two_digits(estimate.upper)}"
    return f"{two_digits(estimate.value)} ({interval})"


# Title, description and references of a fitted estimator

_OF_CLASS = {method.home: method for method in METHODS.values() if not method.inside}


def title(estimator: Any) -> str:
    """Return the title of the method, including wrappers."""
    around, inside = _taken_apart(estimator)
    method = _known(inside)
    name = type(inside).__name__ if method is None else method.title
    outer, *inner = [each.title for each in around] or [name]
    return " ".join([outer, *(each.lower() for each in inner), *([name] if around else [])])


def with_article(estimator: Any) -> str:
    """Return the title with its article, as at the start of a sentence."""
    around, inside = _taken_apart(estimator)
    outside = around[0] if around else _known(inside)
    name = title(estimator)
    if outside is None or not outside.article:
        return name
    return f"{outside.article} {name[0].lower()}{name[1:]}" if around else f"{outside.article} {name}"


def words(estimator: Any) -> str:
    """Describe the method and its wrappers in a few sentences."""
    around, inside = _taken_apart(estimator)
    method = _known(inside)
    own = f"{type(inside).__name__} gives each feature a weight." if method is None else method.words
    return " ".join([own, *(each.words for each in reversed(around))])


def reference_keys(estimator: Any) -> list[str]:
    """Return the keys of the references, those of the method first."""
    around, inside = _taken_apart(estimator)
    method = _known(inside)
    keys = [] if method is None else list(method.references)
    return list(dict.fromkeys([*keys, *(key for each in reversed(around) for key in each.references)]))


def is_one_by_one(estimator: Any) -> bool:
    """Return whether the method scores each feature separately."""
    method = _known(_taken_apart(estimator)[1])
    return method is not None and method.univariate


def _taken_apart(estimator: Any) -> tuple[list[Method], Any]:
    """Return the wrappers, outermost first, and the innermost estimator."""
    around = []
    while type(estimator).__name__ in WRAPPERS and _is_ours(type(estimator)):
        around.append(WRAPPERS[type(estimator).__name__])
        estimator = estimator._wrapped
    return around, estimator


def _known(estimator: Any) -> Method | None:
    """Return the catalog entry of an estimator or of a base class."""
    found = (_OF_CLASS.get(each.__name__) for each in type(estimator).__mro__ if _is_ours(each))
    return next((method for method in found if method is not None), None)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("highrelief.")
