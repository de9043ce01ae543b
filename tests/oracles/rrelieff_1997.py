"""RReliefF (Robnik-Sikonja and Kononenko 1997, 2003)."""

import numpy as np

from .missing_1994 import expected_distances
from .relief_1994 import neighbor_shares
from .shared import copies_seen_from, remembered, weights_of


@remembered
def rrelieff(
    X,
    y,
    k,
    rank_decay=20.0,
    metric="manhattan",
    s=None,
    anchors=None,
    tol=1e-12,
    categorical=(),
    reach=None,
):
    """The pseudocode of the paper, Fig. 3, over all samples or over the anchors.

    Its d(i, j) is exp(-(rank / sigma)^2) divided by the sum over the k nearest: `neighbor_shares`. NaN in X
    is a missing value, whose differences are expected ones, for the features in `categorical`, which hold
    codes, over the values of all samples: there are no classes. With `reach`, (n, n) bool, only those in it
    are neighbors, and a sample without any is not counted.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    s = weights_of(X, s)
    D, E = expected_distances(X, metric, s, categorical, reach=reach)
    counted = y[s > 0]
    y = (y - counted.min()) / (counted.max() - counted.min())
    n_dc, m = 0.0, 0.0
    n_da, n_dcda = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in range(len(X)) if anchors is None else anchors:
        if s[i] == 0:
            continue
        shares = neighbor_shares(D[i], copies_seen_from(i, s, reach), k, rank_decay, tol)
        m += s[i] * (shares.sum() > 0)
        for j in range(len(X)):
            diff_y, diff_x = abs(y[i] - y[j]), E[i, j]
            n_dc += s[i] * diff_y * shares[j]
            n_da += s[i] * diff_x * shares[j]
            n_dcda += s[i] * diff_y * diff_x * shares[j]
    first = n_dcda / n_dc if n_dc > 0 else 0.0
    second = (n_da - n_dcda) / (m - n_dc) if m - n_dc > 1e-12 * m else 0.0
    return first - second
