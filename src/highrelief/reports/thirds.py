"""Samples in three parts by a target that is a number, where others have classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .sentences import number

#: What the parts are called.
THIRDS = ("lower", "middle", "upper")


def thirds(target: NDArray[np.float64]) -> NDArray[np.int64]:
    """In which third each sample is; equal targets are in the same one, so that some may be empty."""
    below, above = _bounds(target)
    return (target > below).astype(np.int64) + (target > above)


def thirds_in_words(target: NDArray[np.float64]) -> str:
    """What the thirds are, in a sentence."""
    below, above = (number(each) for each in _bounds(target))
    return (
        "Lower, middle and upper are the thirds of the samples by their target: up to"
        f" {below}, above that and up to {above}, and above."
    )


def _bounds(target: NDArray[np.float64]) -> tuple[float, float]:
    below, above = np.quantile(target, [1.0 / 3.0, 2.0 / 3.0], method="lower")
    return float(below), float(above)
