"""Contents as JSON has them, small enough to be carried in a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from .contents import Contents

#: Digits of a number.
_DIGITS = 6
#: Quantiles of ranks have a place after the point below this.
_FEW_RANKS = 100


def as_json(contents: Contents) -> dict[str, Any]:
    """Contents as dicts, lists, texts and numbers.

    Numbers have at most 6 digits: features keep their order, which ``ranks`` says, also where rounded weights
    are equal. Quantiles of ranks are rounded to whole ones from 100 on, frequencies to four places. What is
    not finite becomes None. Texts stay as they are.
    """
    made: dict[str, Any] = _converted(contents)
    features = made["features"]
    # Twenty thousand of each: no digits that nobody can see.
    for name in ("rank_low", "rank_high"):
        features[name] = _each(
            features[name], lambda rank: round(rank, 1) if rank < _FEW_RANKS else round(rank)
        )
    features["frequency"] = _each(features["frequency"], lambda share: round(share, 4) or 0)
    return made


def _each(values: list[Any] | None, short: Callable[[float], float]) -> list[float] | None:
    return None if values is None else [short(value) for value in values]


def _converted(value: Any) -> Any:
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, (list, tuple)):
        # Lists of names and ranks are long, and there is nothing to convert in them.
        done = bool(value) and isinstance(value[0], (str, bool, int))
        return list(value) if done else [_converted(each) for each in value]
    if isinstance(value, dict):
        return {name: _converted(each) for name, each in value.items()}
    if is_dataclass(value):
        return {each.name: _converted(getattr(value, each.name)) for each in fields(value)}
    return value


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    # 3 and 3.0 are the same number in JSON's eyes, and the former is shorter.
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
