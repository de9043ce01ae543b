"""Lists of different lengths, one after another in a flat array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def within_lists(count: Places) -> Places:
    """Place of every entry in its own list, from 0 on, given how long the lists are."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)


def entries_of(first: Places, count: Places) -> tuple[Places, Places]:
    """Numbers of lists, each as often as it is long, and the places of their entries in the array."""
    return np.repeat(np.arange(count.size), count), np.repeat(first, count) + within_lists(count)
