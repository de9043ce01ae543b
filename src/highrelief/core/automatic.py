"""Weights where the user chooses no kernel width: what margins tell before and after weights are learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rows import LocalRows
from .solvers import euclidean_norm, unit_positive_part

#: Share of all samples that neighbourhoods under learned weights hold, in effect.
LEARNED_SHARE = 0.5
#: The same before anything is learned, where single features show best over wide neighbourhoods.
FIRST_SHARE = 0.7


def first_margin(rows: LocalRows, n_features: int) -> NDArray[np.float64]:
    """ν of Sun 2007, eq. (11), while all weights are equal, over wide neighbourhoods, (n_features,).

    No sample counts as an outlier (γ = 1), and the misses of each class count by themselves (eq. 20).
    """
    equal = np.full(n_features, 1.0 / n_features)
    near = rows.soft_neighborhoods(equal, rows.width_for_perplexity(equal, FIRST_SHARE))
    return near.mean_margin(pooled=False, outliers=False)


def joined(learned: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """(w/‖w‖₂ + c·ν/‖ν‖₂)⁺ at unit norm: learned weights w, and the margin ν that they began with.

    c = cos²(w, ν⁺) is the share of w that ν explains. Where features act only together ν does not show those
    that w has found, c is small, and the many small ν of the others add little. Where many features tell the
    same, ν shows them too; w prefers some of them by chance, and ν sets that right.
    """
    unit, shown = unit_positive_part(learned), unit_positive_part(first)
    if unit is None or shown is None:
        return learned if unit is None else unit
    share = float((unit * shown).sum()) ** 2
    both = unit_positive_part(unit + share / euclidean_norm(first) * first)
    return unit if both is None else both
