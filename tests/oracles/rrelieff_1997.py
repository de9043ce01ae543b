"""RReliefF (Robnik-Sikonja and Kononenko 1997, 2003)."""

import numpy as np

from .relief_1994 import neighbor_shares
from .shared import copies_seen_from, difference, distances, weights_of


def rrelieff(X, y, k, rank_decay=20.0, metric="manhattan", s=None, anchors=None, tol=1e-12):
    """The pseudocode of the paper, Fig. 3, over all samples or over the anchors.

    Its d(i, j) is exp(-(rank / sigma)^2) divided by the sum over the k nearest: `neighbor_shares`.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    s = weights_of(X, s)
    D = distances(X, metric=metric)
    counted = y[s > 0]
    y = (y - counted.min()) / (counted.max() - counted.min())
    n_dc, m = 0.0, 0.0
    n_da, n_dcda = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in range(len(X)) if anchors is None else anchors:
        if s[i] == 0:
            continue
        m += s[i]
        shares = neighbor_shares(D[i], copies_seen_from(i, s), k, rank_decay, tol)
        for j in range(len(X)):
            diff_y, diff_x = abs(y[i] - y[j]), difference(X[i], X[j], metric)
            n_dc += s[i] * diff_y * shares[j]
            n_da += s[i] * diff_x * shares[j]
            n_dcda += s[i] * diff_y * diff_x * shares[j]
    first = n_dcda / n_dc if n_dc > 0 else 0.0
    second = (n_da - n_dcda) / (m - n_dc) if m - n_dc > 1e-12 * m else 0.0
    return first - second
