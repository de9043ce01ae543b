"""Random subsets of the samples, without replacement, groups kept together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

#: Draws after which it is given up to find a subset that suits.
MOST_DRAWS = 100
Drawn = TypeVar("Drawn")


def draw_subset(
    random: np.random.RandomState, n_samples: int, size: int, groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Places of ``size`` samples, in rising order.

    With ``groups`` (a number from 0 on for each sample) whole groups are taken in random order, as many as
    come nearest to ``size``: at least one, and not all unless all samples are wanted.
    """
    if groups is None:
        return np.sort(random.permutation(n_samples)[:size])
    sizes = np.bincount(groups)
    order = random.permutation(sizes.size)
    drawn = np.cumsum(sizes[order])
    if size < n_samples:
        drawn = drawn[:-1]
    n_drawn = int(np.argmin(np.abs(drawn - size))) + 1
    return np.flatnonzero(np.isin(groups, order[:n_drawn]))


def draw_suitable(draw: Callable[[], Drawn], suits: Callable[[Drawn], bool]) -> Drawn | None:
    """Return the first subset, or pair of subsets, that suits; None if none of ``MOST_DRAWS`` does."""
    for _ in range(MOST_DRAWS):
        drawn = draw()
        if suits(drawn):
            return drawn
    return None
