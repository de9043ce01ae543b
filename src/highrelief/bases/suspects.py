"""Which samples look as if their label were wrong, by I-RELIEF's probability and by their margins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: I-RELIEF's probability above which a label is suspected: more likely wrong than right.
LIKELY = 0.5


def suspects(
    probability: NDArray[np.float64], margins: NDArray[np.float64], codes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places of the samples that may be mislabelled, the likeliest first.

    Their probability is above 0.5, also if all classes counted as equally large, and their margin is below 0:
    the probability alone suspects most of a small class, or of any where classes are many, since most
    neighbours of any sample are of others. What is not known, nan, is not suspected.
    """
    with np.errstate(invalid="ignore"):
        likely = (probability > LIKELY) & (at_equal_sizes(probability, codes) > LIKELY)
        places = np.flatnonzero(likely & (margins < 0.0))
    return places[np.argsort(-probability[places], kind="stable")]


def at_equal_sizes(probability: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """I-RELIEF's probability as if a sample had as many hits as misses.

    In a wide neighbourhood the share of other classes is their share of all samples: all samples of a small
    class would be suspects.
    """
    hits = np.bincount(codes)[codes] - 1.0
    misses = len(codes) - hits - 1.0
    of_misses, of_hits = probability * hits, (1.0 - probability) * misses
    total = of_misses + of_hits
    return np.divide(of_misses, total, out=np.zeros_like(total), where=total > 0.0)
