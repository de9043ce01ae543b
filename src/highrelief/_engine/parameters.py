"""Checks of parameters.

Each error names the parameter, its value and the valid values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from .threads import thread_count


def check_choice(name: str, value: Any, choices: Sequence[Any], *, beside: str = "") -> None:
    """Raise unless ``value`` is one of ``choices``; ``beside`` names other valid values."""
    for choice in choices:
        if value is choice or (isinstance(value, str) and isinstance(choice, str) and value == choice):
            return
    listed = ", ".join(repr(choice) for choice in choices) + beside
    raise ValueError(f"{name}={value!r} is not known; it must be one of {listed}.")


def check_bytes(name: str, value: Any) -> None:
    """Raise unless ``value`` is a number of bytes, or None."""
    if value is not None and not (isinstance(value, Real) and value == np.inf):
        check_number(name, value, at_least=0.0)


def check_flag(name: str, value: Any) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be True or False.")


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> None:
    """Raise unless ``value`` is a finite number in the given range."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number.")
    bounds = []
    if above is not None:
        bounds.append(f"> {above:g}")
    if at_least is not None:
        bounds.append(f">= {at_least:g}")
    if at_most is not None:
        bounds.append(f"<= {at_most:g}")
    if below is not None:
        bounds.append(f"< {below:g}")
    try:
        number = float(value)
    except OverflowError:  # an integer
        number = np.inf
    if (
        not np.isfinite(number)
        or (above is not None and number <= above)
        or (at_least is not None and number < at_least)
        or (at_most is not None and number > at_most)
        or (below is not None and number >= below)
    ):
        raise ValueError(f"{name}={value!r} must be a finite number {' and '.join(bounds)}".rstrip() + ".")


def check_whole(name: str, value: Any, expected: str, suits: Callable[[int], bool]) -> None:
    """Raise unless ``value`` is an integer that ``suits`` accepts; ``expected`` describes these."""
    if not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be {expected}.")
    if not suits(int(value)):
        raise ValueError(f"{name}={value!r} must be {expected}.")


def check_seed(name: str, seed: Any) -> None:
    """Raise unless ``seed`` can seed a random generator."""
    if seed is None or seed is np.random or isinstance(seed, np.random.RandomState):
        return
    expected = "None, an integer between 0 and 2**32 - 1, or a numpy.random.RandomState"
    check_whole(name, seed, expected, lambda number: 0 <= number < 2**32)


def random_generator(name: str, seed: Any) -> np.random.RandomState:
    """Return a random generator; None: a fresh one, leaving NumPy's global state alone."""
    check_seed(name, seed)
    if seed is None:
        return np.random.RandomState()
    if seed is np.random:
        return np.random.mtrand._rand
    return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(int(seed))


def check_count(
    name: str, value: Any, *, at_least: int = 1, at_most: int | None = None, of: str = ""
) -> None:
    """Raise unless ``value`` is an integer in the given range."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be an integer.")
    if int(value) < at_least:
        raise ValueError(f"{name}={value!r} must be at least {at_least}.")
    if at_most is not None and int(value) > at_most:
        raise ValueError(f"{name}={value!r} is more than the {at_most} {of}; use at most {at_most}.")


def checked_thread_count(n_jobs: Any) -> int:
    """Return the number of threads for ``n_jobs``, after checking it."""
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, "None, or an integer that is not 0", lambda n: n != 0)
    return thread_count(n_jobs)


# What the classes of estimators declare of their parameters, each by itself.


#: Takes the name of a parameter and its value, and raises unless it can be used.
Check = Callable[[str, Any], None]


def constraints(**checks: Check) -> Mapping[str, Check]:
    """Return the ``_constraints`` of a class: a check for each of its parameters."""
    return checks


def check_declared(estimator: object) -> None:
    """Raise if a parameter violates the ``_constraints`` of its class, or of a base class."""
    declared: dict[str, Check] = {}
    for each in reversed(type(estimator).__mro__):
        declared |= vars(each).get("_constraints", {})
    for name, check in declared.items():
        if hasattr(estimator, name):
            check(name, getattr(estimator, name))


def count(*, at_least: int = 1) -> Check:
    """Return a check for an integer that is not too small."""
    return partial(check_count, at_least=at_least)


def number(**bounds: Any) -> Check:
    """Return a check for a finite number in the given range."""
    return partial(check_number, **bounds)


def positive_or(*words: str) -> Check:
    """Return a check for a number above 0, or one of ``words``."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, str):
            check_choice(name, value, words, beside=", or a number > 0")
        else:
            check_number(name, value, above=0.0)

    return check


def one_of(*choices: Any) -> Check:
    """Return a check for one of ``choices``."""
    return partial(check_choice, choices=choices)


def optional(check: Check) -> Check:
    """Return a check that lets None pass, too."""
    return lambda name, value: None if value is None else check(name, value)
