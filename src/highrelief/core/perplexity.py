"""The kernel width at which a neighbourhood has a wanted size."""

from __future__ import annotations

import math
from collections.abc import Callable

#: How far from the first guess, as a factor, a width is looked for.
_REACH = 1e8
_LONGEST_STEP = 3.0
#: Newton's error is of the order of the square of its last step.
_LAST_STEP = 1e-6


def width_for_entropy(entropy: Callable[[float], tuple[float, float]], target: float, guess: float) -> float:
    """Solve entropy(σ) = target for σ; ``entropy`` returns the value and its derivative by log σ.

    Entropy grows with σ. Newton's steps in log σ, kept inside a bracket. Where no width reaches the
    target (all distances equal, or more ties at the smallest distance than the target allows), the end
    of the range that comes nearest to it.
    """
    low, high = math.log(guess / _REACH), math.log(guess * _REACH)
    x = math.log(guess)
    for _ in range(100):
        value, slope = entropy(math.exp(x))
        if value < target:
            low = x
        else:
            high = x
        step = (target - value) / slope if slope > 0.0 else math.copysign(math.inf, target - value)
        following = x + max(-_LONGEST_STEP, min(_LONGEST_STEP, step))
        if not (low < following < high or abs(step) < _LAST_STEP):
            following = 0.5 * (low + high)
        last = abs(following - x) < _LAST_STEP
        x = following
        if last:
            break
    return math.exp(x)
