"""Parts of sentences: names in a row, numbers, shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...catalog import METHODS, WRAPPERS, Method
from ...plots.drawing import counted
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


# What a fitted estimator is called, how it decides, and which papers are behind it.


_OF_CLASS = {method.home: method for method in METHODS.values() if not method.inside}


def title(estimator: Any) -> str:
    """The method as papers call it; with what is wrapped around it."""
    around, inside = _taken_apart(estimator)
    method = _known(inside)
    name = type(inside).__name__ if method is None else method.title
    outer, *inner = [each.title for each in around] or [name]
    return " ".join([outer, *(each.lower() for each in inner), *([name] if around else [])])


def with_article(estimator: Any) -> str:
    """The same as a sentence begins."""
    outside = type(estimator).__name__
    name = title(estimator)
    if outside == "EnsembleWeighting" and _is_ours(estimator):
        return f"An {name[0].lower()}{name[1:]}"
    return f"The {name}" if outside == "FisherScore" else name


def words(estimator: Any) -> str:
    """How the method decides, in a few sentences."""
    around, inside = _taken_apart(estimator)
    method = _known(inside)
    own = f"{type(inside).__name__} gives each feature a weight." if method is None else method.words
    return " ".join([own, *(each.words for each in reversed(around))])


def cited(estimator: Any) -> list[str]:
    """Keys of the references, those of the method first."""
    around, inside = _taken_apart(estimator)
    method = _known(inside)
    keys = [] if method is None else list(method.references)
    return list(dict.fromkeys([*keys, *(key for each in reversed(around) for key in each.references)]))


def is_one_by_one(estimator: Any) -> bool:
    """Whether features are judged one by one, as the Fisher score does."""
    return type(_taken_apart(estimator)[1]).__name__ == "FisherScore"


def _taken_apart(estimator: Any) -> tuple[list[Method], Any]:
    """What is around the method, from outside in, and the estimator in the middle."""
    around = []
    while type(estimator).__name__ in WRAPPERS and _is_ours(estimator):
        around.append(WRAPPERS[type(estimator).__name__])
        estimator = estimator.estimator
    return around, estimator


def _known(estimator: Any) -> Method | None:
    """The method of an estimator, or of what it is derived from."""
    found = (_OF_CLASS.get(each.__name__) for each in type(estimator).__mro__ if _is_ours_class(each))
    return next((method for method in found if method is not None), None)


def _is_ours(estimator: Any) -> bool:
    return _is_ours_class(type(estimator))


def _is_ours_class(kind: type) -> bool:
    return kind.__module__.startswith("highrelief.")
