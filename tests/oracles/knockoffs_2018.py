"""Barber & Candès (2015), eq. (1.9), and Candès, Fan, Janson & Lv (2018): knockoff+, value by value."""

import numpy as np

__all__ = ["knockoff_plus", "knockoff_qvalue"]


def knockoff_plus(W, level):
    """min {t > 0 : (1 + #{W_j <= -t}) / #{W_j >= t} <= level}, over all t that occur."""
    for t in sorted({abs(w) for w in W if w != 0}):
        kept = sum(w >= t for w in W)
        if kept and (1 + sum(w <= -t for w in W)) / kept <= level:
            return t
    return np.inf


def knockoff_qvalue(W, j):
    """Smallest level at which feature j is kept, by trying every level that could matter; at most 1."""
    levels = sorted({(1 + a) / b for a in range(len(W) + 1) for b in range(1, len(W) + 1)})
    for level in levels:
        if level <= 1 and knockoff_plus(W, level) <= W[j]:
            return level
    return 1.0
