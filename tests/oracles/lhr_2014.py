"""LHR (Cai, Ruan, Ng and Akutsu 2014)."""

import numpy as np
from scipy.optimize import nnls

from .relief_1994 import neighbor_shares
from .shared import copies_seen_from, distances, remembered, weights_of


def nearest_mixture(x, H, w, lam, u=None):
    """Eq. 4: argmin over a >= 0, sum a = 1 of 1/2 |x - sum_i a_i h_i|^2_W + lam sum_i a_i^2 / u_i.

    Rows of H are the neighbors, u_i the number of copies of each (None: one). As sum a = 1, the
    objective is half of |sum_i a_i p_i|^2 with p_i = (sqrt(w) (h_i - x), sqrt(2 lam / u_i) e_i): the
    point of smallest norm in the hull of the p_i. It is b / sum b for the b >= 0 that minimizes
    |sum_i b_i p_i|^2 + (sum b - 1)^2 (Lawson and Hanson 1974, chapter 23), a problem without a
    constraint on the sum; no Gram matrix is formed.
    """
    H = np.asarray(H, dtype=float)
    u = np.ones(len(H)) if u is None else np.asarray(u, dtype=float)
    points = np.vstack([np.sqrt(w)[:, np.newaxis] * (H - x).T, np.diag(np.sqrt(2 * lam / u))])
    scale = np.abs(points).max() or 1.0
    system = np.vstack([points / scale, np.ones(len(H))])
    b, _ = nnls(system, np.append(np.zeros(len(points)), 1.0))
    return b / b.sum()


def distance_to_hyperplane(X, n, candidates, d, k, w, lam, tol):
    """|x_n - H a|, feature by feature, for the k nearest of the candidates (copies of each row).

    Ties at the k-th distance share the places left, so that u_i need not be whole.
    """
    places = neighbor_shares(d, candidates, k, tol=tol) * min(k, candidates.sum())
    near = np.flatnonzero(places)
    a = nearest_mixture(X[n], X[near], w, lam, places[near])
    return np.abs(X[n] - a @ X[near])


@remembered
def lhr_rows(X, y, w, k, lam, s=None, tol=1e-12):
    """z_n = |x_n - H_miss a| - |x_n - H_hit b|, (n, d), under the weights w; misses pooled."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    D = distances(X, w)
    rows = np.zeros_like(X)
    for n in range(len(X)):
        copies = copies_seen_from(n, s)
        hits = np.where(y == y[n], copies, 0.0)
        misses = np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        rows[n] = distance_to_hyperplane(X, n, misses, D[n], k, w, lam, tol)
        rows[n] -= distance_to_hyperplane(X, n, hits, D[n], k, w, lam, tol)
    return rows


def lhr(X, y, k, lam, n_iter, s=None, tol=1e-12, factors=1.0):
    """Repeat w = (z)^+ / |(z)^+| with z = (1/N) sum_n z_n, from w = 1/sqrt(d), n_iter times."""
    s = weights_of(X, s)
    w = np.full(np.shape(X)[1], np.shape(X)[1] ** -0.5)
    for _ in range(n_iter):
        counted = factors * s
        z = counted @ lhr_rows(X, y, w, k, lam, s, tol) / counted.sum()
        w = np.maximum(z, 0.0) / np.linalg.norm(np.maximum(z, 0.0))
    return w
