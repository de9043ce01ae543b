"""I-M4E (Bei and Hong, "Maximizing margin quality and quantity", 2012)."""

import numpy as np

from .irelief_2007 import softmax
from .shared import copies_seen_from, distance, distances, remembered, weights_of


@remembered
def im4e_probabilities(X, y, w, sigma, s=None, reach=None):
    """(alpha, beta), both (n, n): eqs. 5 and 6, the softmax over hits and over misses of each row.

    Entries are for all copies of a sample together. A row without a hit is 0 in both.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    D = distances(X, w)
    alpha, beta = np.zeros_like(D), np.zeros_like(D)
    for n in range(len(X)):
        copies = copies_seen_from(n, s, reach)
        hits, misses = np.where(y == y[n], copies, 0.0), np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        alpha[n] = softmax(D[n], hits, sigma)
        beta[n] = softmax(D[n], misses, sigma)
    return alpha, beta


def im4e_entropies(p, s=None):
    """-sum p log p of every row (section 2.2), natural logarithm; copies are outcomes of their own."""
    s = weights_of(p, s)
    entropies = np.zeros(len(p))
    for n in range(len(p)):
        copies = copies_seen_from(n, s)
        for i in range(len(p)):
            if p[n, i] > 0:
                entropies[n] -= p[n, i] * np.log(p[n, i] / copies[i])
    return entropies


def im4e_two_lambda_v(X, alpha, beta, s=None, factors=1.0):
    """sum_n (sum_m beta |x_n - x_m| - sum_h alpha |x_n - x_h|), the bracket above eq. 9."""
    X = np.asarray(X, dtype=float)
    s = factors * weights_of(X, s)
    total = np.zeros(X.shape[1])
    for n in range(len(X)):
        for i in range(len(X)):
            total += s[n] * (beta[n, i] - alpha[n, i]) * np.abs(X[n] - X[i])
    return total


def im4e_cost(X, alpha, beta, w, sigma, lam, s=None, factors=1.0):
    """Eq. 3."""
    s = weights_of(X, s)
    quality = np.sum(factors * s * (im4e_entropies(beta, s) - im4e_entropies(alpha, s)))
    return float(-w @ im4e_two_lambda_v(X, alpha, beta, s, factors) + sigma * quality + lam * np.sum(w**2))


def im4e(X, y, sigma, n_iter, w0=None, lam=None, s=None, w_step=None, reach=None, factors=1.0):
    """Algorithm 1 without the stopping rule: list of (w_t, cost_t, sum of E_hit, sum of E_miss).

    w_step: from (2 lambda v, lambda) to w; by default eq. 9. Stops where no component of v is positive.
    """
    X = np.asarray(X, dtype=float)
    s = weights_of(X, s)
    lam = (factors * s).sum() if lam is None else lam
    w = np.full(X.shape[1], 1.0 / X.shape[1]) if w0 is None else np.asarray(w0, dtype=float)
    path = []
    for _ in range(n_iter):
        alpha, beta = im4e_probabilities(X, y, w, sigma, s, reach)
        v = im4e_two_lambda_v(X, alpha, beta, s, factors)
        if v.max() <= 0:
            break
        w = np.maximum(v, 0.0) / np.maximum(v, 0.0).sum() if w_step is None else w_step(v, lam)
        hit, miss = (np.sum(factors * s * im4e_entropies(p, s)) for p in (alpha, beta))
        path.append((w, im4e_cost(X, alpha, beta, w, sigma, lam, s, factors), hit, miss))
    return path


def im4e_simplex_minimizer(v, lam, n_iter=20000):
    """Minimize -w.v + lam |w|^2 over w >= 0, sum w = 1, slowly: move weight between two features.

    From the one, of those that have weight, where C falls most when it loses some, to the one where C falls
    most when it gains some; as much as lowers C most.
    """
    w = np.full(len(v), 1.0 / len(v))
    for _ in range(n_iter):
        gradient = 2 * lam * w - v
        gains = np.argmin(gradient)
        loses = np.argmax(np.where(w > 0, gradient, -np.inf))
        if gradient[loses] - gradient[gains] < 1e-13:
            break
        moved = min(w[loses], (gradient[loses] - gradient[gains]) / (4 * lam))
        w[loses] -= moved
        w[gains] += moved
    return w


def im4e_psi(Q, X, y, w, sigma, s=None):
    """Psi_c of eq. 10 for every row of Q: (len(Q), number of classes), classes in sorted order."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    psi = np.zeros((len(Q), len(np.unique(y))))
    for q in range(len(Q)):
        d = np.array([distance(Q[q], x, w) for x in X])
        for place, c in enumerate(np.unique(y)):
            psi[q, place] = softmax(d, np.where(y == c, s, 0.0), sigma) @ d
    return psi
