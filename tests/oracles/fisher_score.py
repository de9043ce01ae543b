"""Fisher score."""

import numpy as np

from .shared import weights_of


def fisher(X, y, s=None):
    """sum_c n_c (mu_cj - mu_j)^2 / sum_c n_c var_cj with population variances.

    0 for a constant feature; infinite if a feature varies between the classes only.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    X, y, s = X[s > 0], y[s > 0], s[s > 0]
    scores = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        x = X[:, j]
        if x.max() == x.min():
            continue
        mu = np.sum(s * x) / np.sum(s)
        between = within = 0.0
        for c in np.unique(y):
            xc, sc = x[y == c], s[y == c]
            n_c = np.sum(sc)
            # A class of equal values has variance 0 exactly, whatever the rounding of its mean.
            mu_c = xc[0] if xc.max() == xc.min() else np.sum(sc * xc) / n_c
            var_c = np.sum(sc * (xc - mu_c) ** 2) / n_c
            between += n_c * (mu_c - mu) ** 2
            within += n_c * var_c
        scores[j] = between / within if within > 0 else np.inf
    return scores
