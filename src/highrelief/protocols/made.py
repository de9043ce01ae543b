"""Sets that are made here: by a generator, or by hand where a paper explains something by a few points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from ..datasets import make_fermat_spiral, make_ringnorm, make_twonorm, make_waveform

#: Samples, classes, and the places of the target and of the sample that it loses.
Example = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def lost_hit() -> Example:
    """A target whose hits are all alike in features 1, 2; in 2, 3 one of them is much nearer than the rest.

    Misses are as far in features 1, 2 as in 2, 3.
    """
    hits = [
        (1.3, 0.1, 0.1),
        (-1.8, 0.2, 2.8),
        (1.5, 0.5, -2.5),
        (-1.2, -0.8, 2.2),
        (0.9, -1.1, -1.9),
        (-0.6, 1.4, 1.6),
    ]
    misses = [
        (3.5, 0.3, 3.5),
        (-3.2, 0.8, 3.2),
        (3.0, -1.2, -3.0),
        (2.6, 1.6, -2.6),
        (-2.3, -1.7, 2.3),
        (1.7, 2.1, 1.7),
        (-1.4, -2.4, -1.4),
    ]
    return _around_target(hits, misses, lost=1)


def lost_miss() -> Example:
    """A target whose misses are all alike in features 1, 2; in 2, 3 one of them is much nearer than the rest.

    Hits are as far in features 1, 2 as in 2, 3.
    """
    hits = [
        (1.9, 0.1, 1.9),
        (-1.7, 0.4, 1.7),
        (1.4, -0.6, -1.4),
        (-1.1, -0.8, -1.1),
        (0.8, 1.2, 0.8),
        (-0.5, 1.6, -0.5),
    ]
    misses = [
        (2.7, 0.3, 1.5),
        (-2.6, 0.4, 3.0),
        (2.3, -0.8, -2.6),
        (-1.9, -1.2, 2.2),
        (1.6, 1.3, -2.1),
        (-1.3, 1.7, 1.7),
        (1.0, -2.1, -1.3),
    ]
    return _around_target(hits, misses, lost=7)


def _around_target(
    hits: list[tuple[float, float, float]], misses: list[tuple[float, float, float]], *, lost: int
) -> Example:
    X = np.array([(0.0, 0.0, 0.0), *hits, *misses])
    y = np.array([0] * (1 + len(hits)) + [1] * len(misses))
    return X, y, np.array([0, lost])


def shifted_digits() -> tuple[NDArray[np.float32], NDArray[np.int16], None]:
    """The handwritten digits that come with scikit-learn, even and odd, somewhere on larger images.

    Each pixel becomes four, and each digit of 16 by 16 is put at a random place of 24 by 24.
    """
    held = load_digits()
    places = np.random.default_rng(0).integers(24 - 16, size=(len(held.target), 2), endpoint=True)
    X = np.zeros((len(held.target), 24, 24), dtype=np.float32)
    for image, small, (top, left) in zip(X, held.images, places, strict=True):
        image[top : top + 16, left : left + 16] = np.kron(small, np.ones((2, 2)))
    return X.reshape(len(X), -1), (held.target % 2).astype(np.int16), None


#: Sets that only need a generator, or come with scikit-learn; sizes as of the files in circulation. Files
#: have precedence.
GENERATED: Mapping[str, Callable[[], Any]] = {
    "ringnorm": lambda: make_ringnorm(7400, random_state=0),
    "twonorm": lambda: make_twonorm(7400, random_state=0),
    "waveform": lambda: make_waveform(5000, n_classes=2, random_state=0),
    "spiral": lambda: make_fermat_spiral(400, random_state=0),
    "spiral_one_turn": lambda: make_fermat_spiral(400, turns=1.0, random_state=0),
    "lost_hit": lost_hit,
    "lost_miss": lost_miss,
    "shifted_digits": shifted_digits,
}
