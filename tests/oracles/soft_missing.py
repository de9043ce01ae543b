"""I-RELIEF, LOGO and I-M4E where differences of samples are given, as they are if values are missing.

E[n, i, j] is the (expected) difference of samples n and i on feature j; E[n, n] is that of two copies of n.
"""

import numpy as np

from .automatic_width import _mean_entropy
from .im4e_2015 import im4e_entropies
from .irelief_2007 import positive_part_normalized, softmax
from .logo_2010 import logistic_l1
from .shared import class_priors, copies_seen_from, remembered, weights_of


def differences_to_fitted(Q, X, copies=None):
    """E|q - x| of new samples Q and fitted ones X, (len(Q), len(X), n_features); NaN is a missing value.

    What is missing may be any of the fitted observed values of the feature, each as often as it occurs.
    """
    Q, X = np.asarray(Q, dtype=float), np.asarray(X, dtype=float)
    copies = weights_of(X, copies)
    E = np.zeros((len(Q), len(X), X.shape[1]))
    for j in range(X.shape[1]):
        observed = ~np.isnan(X[:, j])
        if not observed.any():
            continue
        values, shares = X[observed, j], copies[observed] / copies[observed].sum()
        for q in range(len(Q)):
            for i in range(len(X)):
                of_q, p = (values, shares) if np.isnan(Q[q, j]) else (Q[q : q + 1, j], [1.0])
                of_i, r = (values, shares) if np.isnan(X[i, j]) else (X[i : i + 1, j], [1.0])
                E[q, i, j] = np.asarray(p) @ np.abs(np.subtract.outer(of_q, of_i)) @ np.asarray(r)
    return E


@remembered
def given_soft_margins(E, y, w, sigma, margin="nearest", s=None):
    """(Z, gamma) of :func:`soft_margin_rows`, eqs. 8 to 11 of Sun 2007, with |x_n - x_i| = E[n, i]."""
    y, s = np.asarray(y), weights_of(E, s)
    priors = class_priors(y, s)
    Z, gamma = np.zeros((len(E), E.shape[2])), np.zeros(len(E))
    for n in range(len(E)):
        copies = copies_seen_from(n, s)
        hits, misses = np.where(y == y[n], copies, 0.0), np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        d = E[n] @ w
        if margin == "nearest":
            alpha = softmax(d, misses, sigma)
        else:
            alpha = sum(
                p / (1 - priors[y[n]]) * softmax(d, np.where(y == c, copies, 0.0), sigma)
                for c, p in priors.items()
                if c != y[n]
            )
        beta = softmax(d, hits, sigma)
        Z[n] = (alpha - beta) @ E[n]
        gamma[n] = softmax(d, copies, sigma)[y == y[n]].sum()
    return Z, gamma


@remembered
def given_sigma(E, w, share=0.5, s=None):
    """The sigma of :func:`sigma_for_perplexity`, by halving."""
    D, s = E @ w, weights_of(E, s)
    target = np.log(max(2.0, share * (s.sum() - 1)))
    low, high = 1e-2 * D.mean(), 1e4 * D.mean()
    assert _mean_entropy(D, low, s) < target < _mean_entropy(D, high, s)
    while high / low > 1 + 1e-13:
        middle = np.sqrt(low * high)
        if _mean_entropy(D, middle, s) > target:
            high = middle
        else:
            low = middle
    return np.sqrt(low * high)


def given_irelief_step(E, y, w, sigma, margin="nearest", outliers=True, s=None):
    """One iteration of Sun 2007, Fig. 2."""
    Z, gamma = given_soft_margins(E, y, w, sigma, margin, s)
    s = weights_of(E, s)
    return positive_part_normalized((s * (gamma if outliers else 1.0)) @ Z / s.sum())


def given_irelief(E, y, sigma, margin="nearest", outliers=True, n_iter=1, s=None):
    """The w after so many iterations from 1/I in every component."""
    w = np.full(E.shape[2], 1.0 / E.shape[2])
    for _ in range(n_iter):
        w = given_irelief_step(E, y, w, sigma, margin, outliers, s)
    return w


@remembered
def given_irelief_auto(E, y, share=0.5, margin="nearest", outliers=True, n_iter=10, s=None):
    """The averaged iteration, at unit norm."""
    w = np.full(E.shape[2], 1.0 / E.shape[2])
    for t in range(1, n_iter + 1):
        image = given_irelief_step(E, y, w, given_sigma(E, w, share, s), margin, outliers, s)
        w = w + (image - w) / t
    return w / np.sqrt(np.sum(w**2))


@remembered
def given_logo(E, y, sigma, alpha, n_iter, s=None):
    """The fixed-point iteration of :func:`logo`: its w after so many iterations from 1."""
    w = np.ones(E.shape[2])
    for _ in range(n_iter):
        w = logistic_l1(given_soft_margins(E, y, w, sigma, s=s)[0], alpha, s)
    return w


@remembered
def given_logo_auto(E, y, share=0.5, n_iter=10, s=None):
    """The averaged iteration of :func:`logo_auto`."""
    w, copies = np.ones(E.shape[2]), weights_of(E, s)
    for t in range(1, n_iter + 1):
        Z, _ = given_soft_margins(E, y, w, given_sigma(E, w, share, s), s=s)
        solution = logistic_l1(Z, 0.2 * np.max(copies @ Z) / 2, s)
        w = w + (solution / np.sqrt(np.sum(solution**2)) - w) / t
    return w / np.sqrt(np.sum(w**2))


@remembered
def given_im4e(E, y, sigma, n_iter, s=None):
    """Algorithm 1 of Bei and Hong: list of (w_t, cost_t, sum of E_hit, sum of E_miss), lambda = N."""
    y, s = np.asarray(y), weights_of(E, s)
    lam = s.sum()
    w = np.full(E.shape[2], 1.0 / E.shape[2])
    path = []
    for _ in range(n_iter):
        alpha, beta = np.zeros(E.shape[:2]), np.zeros(E.shape[:2])
        for n in range(len(E)):
            copies = copies_seen_from(n, s)
            hits, misses = np.where(y == y[n], copies, 0.0), np.where(y != y[n], copies, 0.0)
            if hits.sum() > 0 and misses.sum() > 0:
                alpha[n], beta[n] = softmax(E[n] @ w, hits, sigma), softmax(E[n] @ w, misses, sigma)
        v = sum(s[n] * (beta[n] - alpha[n]) @ E[n] for n in range(len(E)))
        w = np.maximum(v, 0.0) / np.maximum(v, 0.0).sum()
        hit, miss = (np.sum(s * im4e_entropies(p, s)) for p in (alpha, beta))
        path.append((w, float(-w @ v + sigma * (miss - hit) + lam * np.sum(w**2)), hit, miss))
    return path


def given_psi(E, y, w, sigma, s=None):
    """Psi_c of eq. 10 from the differences of new samples to fitted ones, (n_new, n_fitted, n_features)."""
    y, s = np.asarray(y), weights_of(E[0], s)
    psi = np.zeros((len(E), len(np.unique(y))))
    for q in range(len(E)):
        d = E[q] @ w
        for place, c in enumerate(np.unique(y)):
            psi[q, place] = softmax(d, np.where(y == c, s, 0.0), sigma) @ d
    return psi
