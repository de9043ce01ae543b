"""I-RELIEF."""

import numpy as np

from .shared import class_priors, copies_seen_from, distance, remembered, weights_of


def softmax(d, copies, sigma):
    """copies_i f(d_i) / sum_j copies_j f(d_j) with f(d) = exp(-d / sigma); eqs. 8 and 9.

    The smallest distance is subtracted first, which cancels in the ratio and avoids 0/0.
    Candidates with 0 copies get 0.
    """
    p = np.zeros(len(d))
    smallest = min(d[i] for i in range(len(d)) if copies[i] > 0)
    for i in range(len(d)):
        if copies[i] > 0:
            p[i] = copies[i] * np.exp(-(d[i] - smallest) / sigma)
    return p / p.sum()


def soft_margin_row(x, label, R, labels, copies, w, sigma, margin, priors):
    """The soft margin vector mbar - hbar of one point and its gamma; eqs. 8 to 11.

    Parameters
    ----------
    x, label : the point and its class.
    R, labels, copies : reference points, their classes, and how many copies of each count (0 for
        the point itself).
    margin : "nearest": mbar is one softmax over all misses (eq. 21, I-RELIEF-2). "prior": one
        softmax per other class c, with the factor P(c) / (1 - P(label)) (eq. 20, I-RELIEF-1).
    priors : dict or array, class -> P(class).

    Returns
    -------
    row, gamma : without a hit or without a miss row = 0 and gamma = 0.
    """
    d = np.array([distance(x, r, w) for r in R])
    diffs = np.abs(R - x)
    hits = np.where(labels == label, copies, 0.0)
    misses = np.where(labels != label, copies, 0.0)
    if hits.sum() == 0 or misses.sum() == 0:
        return np.zeros(R.shape[1]), 0.0

    if margin == "nearest":
        alpha = softmax(d, misses, sigma)
    elif margin == "prior":
        alpha = np.zeros(len(R))
        for c in np.unique(labels[misses > 0]):
            of_class = np.where(labels == c, copies, 0.0)
            alpha += priors[c] / (1 - priors[label]) * softmax(d, of_class, sigma)
    else:
        raise ValueError(f"unknown margin {margin!r}")
    beta = softmax(d, hits, sigma)

    mbar, hbar = np.zeros(R.shape[1]), np.zeros(R.shape[1])
    for i in range(len(R)):
        mbar += alpha[i] * diffs[i]
        hbar += beta[i] * diffs[i]

    # gamma = 1 - P_o of eq. 10 is the share of the hits; summed so, nothing cancels when small.
    everyone = softmax(d, copies, sigma)
    gamma = everyone[labels == label].sum()
    return mbar - hbar, float(gamma)


@remembered
def soft_margin_rows(X, y, w, sigma, margin="nearest", s=None, reach=None, factors=1.0):
    """(Z, gamma): rows mbar_n - hbar_n without gamma, (n, d), and gamma_n, (n,); eqs. 8 to 11.

    A sample without a hit has gamma 0 and the row 0. With `reach` only those in it are neighbors,
    and count for the priors; `factors` multiply what a sample counts in these.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    Z, gamma = np.zeros_like(X), np.zeros(len(X))
    for n in range(len(X)):
        if s[n] == 0:
            continue
        copies = copies_seen_from(n, s, reach)
        priors = class_priors(y, factors * s * (1.0 if reach is None else reach[n]))
        Z[n], gamma[n] = soft_margin_row(X[n], y[n], X, y, copies, w, sigma, margin, priors)
    return Z, gamma


def positive_part_normalized(nu):
    """(nu)^+ / ||(nu)^+||_2 of eq. 12, or None where it is undefined (no positive component)."""
    positive = np.maximum(nu, 0.0)
    norm = np.sqrt(np.sum(positive**2))
    return positive / norm if norm > 0 else None


def irelief_nu(X, y, w, sigma, margin="nearest", outliers=True, s=None, reach=None, factors=1.0):
    """nu = (1/N) sum_n gamma_n (mbar_n - hbar_n); eqs. 11 and 22. outliers=False: gamma_n = 1."""
    Z, gamma = soft_margin_rows(X, y, w, sigma, margin, s, reach, factors)
    s = factors * weights_of(X, s)
    nu = np.zeros(Z.shape[1])
    for n in range(len(Z)):
        nu += s[n] * (gamma[n] if outliers else 1.0) * Z[n]
    return nu / s.sum()


def irelief_step(X, y, w, sigma, margin="nearest", outliers=True, s=None, reach=None, factors=1.0):
    """One iteration of Fig. 2, eq. 12: the next w, or None if no component of nu is positive."""
    return positive_part_normalized(irelief_nu(X, y, w, sigma, margin, outliers, s, reach, factors))


def irelief(X, y, sigma, margin="nearest", outliers=True, n_iter=1, w0=None, s=None, reach=None, factors=1.0):
    """Fig. 2 without the stopping rule: the list [w1, ..., wT], T = n_iter.

    w0 = 1/I in every component unless given. If no component of nu is positive, the iteration
    stops: the list then ends with the last w there was, and is [0] if that happens at once.
    """
    n_features = np.shape(X)[1]
    w = np.full(n_features, 1.0 / n_features) if w0 is None else np.asarray(w0, dtype=float)
    iterates = []
    for _ in range(n_iter):
        w = irelief_step(X, y, w, sigma, margin, outliers, s, reach, factors)
        if w is None:
            break
        iterates.append(w)
    return iterates if iterates else [np.zeros(n_features)]
