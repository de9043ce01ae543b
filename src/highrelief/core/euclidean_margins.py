"""Margins at the nearest hit and miss under a weighted Euclidean distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import simba
from .threads import even_ranges, n_pieces, run_all

#: Pieces that the samples are cut into, for threads: the first of them have more pairs than the last.
_PIECES = 16
#: Ranges beyond this, or below its inverse, have squares that float64 does not hold.
_WIDEST = 1e150


def euclidean_margins(
    X: NDArray[np.floating], codes: NDArray[np.int64], squared: NDArray[np.float64], n_threads: int
) -> NDArray[np.float64]:
    """½(‖x − NM‖ − ‖x − NH‖) of every sample, ‖z‖² = Σ_i squared_i·z_i²; 0 without a hit or a miss."""

    def of_rows(a: int, b: int) -> NDArray[np.float64]:
        nearest = np.full((2, len(X)), np.inf)
        simba.find_nearest(X, codes, squared, a, b, *nearest)
        return nearest

    # The least is the same in whatever order it is found.
    n_parts = max(n_pieces(0.5 * X.size * len(X)), _PIECES if n_threads > 1 else 1)
    parts = run_all(of_rows, even_ranges(len(X), n_parts), n_threads)
    nearest = np.minimum.reduce(parts)
    hits, misses = np.sqrt(np.where(np.isfinite(nearest).all(axis=0), nearest, 0.0))
    return 0.5 * (misses - hits)


def slope(margins: NDArray[np.float64], copies: NDArray[np.float64] | None = None) -> float:
    """β of a sigmoid: 1 over the mean size of the margins, those that are 0 included; 1 if all are 0."""
    size = np.average(np.abs(margins), weights=copies)
    return float(1.0 / size) if size > 0.0 else 1.0


def check_squares(X: NDArray[np.floating]) -> None:
    """Raise if squares of differences overflow, or vanish, in float64: only without a scaling they can."""
    if X.dtype != np.float64 or not X.size:
        return
    span = float((X.max(axis=0) * 0.5 - X.min(axis=0) * 0.5).max())
    if not 1.0 / _WIDEST < span < _WIDEST:
        raise ValueError(
            f"With scale=None the features of X range over up to {2.0 * span:.3g}: the squares of their"
            " differences are beyond float64. scale='range' would do."
        )
