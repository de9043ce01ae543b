"""HKNN (Vincent and Bengio, "K-local hyperplane and convex distance nearest neighbor algorithms", 2002)."""

import numpy as np

from .relief_1994 import neighbor_shares
from .shared import distance, remembered, weights_of


def hknn_ridge_distance(x, neighbors, lam):
    """||x - mean - V a||, a = (V'V + lam Id)^-1 V'(x - mean), V's columns the neighbors minus their mean.

    lam = 0: a of least squares.
    """
    mean = np.mean(neighbors, axis=0)
    V = (np.asarray(neighbors, dtype=float) - mean).T
    r = x - mean
    if lam == 0:
        a = np.linalg.lstsq(V, r, rcond=None)[0]
    else:
        a = np.linalg.solve(V.T @ V + lam * np.eye(V.shape[1]), V.T @ r)
    return float(np.linalg.norm(r - V @ a))


def hknn_shared_distance(x, neighbors, u, lam):
    """The same where neighbor i counts u_i times: in the mean, and by the column sqrt(u_i) (N_i - mean)."""
    mean = u @ neighbors / u.sum()
    V = (np.sqrt(u)[:, np.newaxis] * (neighbors - mean)).T
    r = x - mean
    a = np.linalg.solve(V.T @ V + lam * np.eye(V.shape[1]), V.T @ r)
    return float(np.linalg.norm(r - V @ a))


@remembered
def hknn_distances(Q, X, y, k, lam, s=None):
    """Distance of every row of Q from the local hyperplane of every class, in sorted order; lam > 0.

    Neighbors tied at the k-th place share it; s counts copies, of which k are taken.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    classes = np.unique(y[s > 0])
    found = np.zeros((len(Q), len(classes)))
    for q in range(len(Q)):
        d = np.array([distance(Q[q], x, metric="euclidean") for x in X])
        for place, c in enumerate(classes):
            of_class = np.where(y == c, s, 0.0)
            u = min(k, of_class.sum()) * neighbor_shares(d, of_class, k)
            found[q, place] = hknn_shared_distance(Q[q], X[u > 0], u[u > 0], lam)
    return found


def hknn_scores(distances):
    """Softmax of -distance^2 / (2 mean squared distance), row by row."""
    scores = np.zeros_like(distances)
    for q, d in enumerate(distances):
        e = np.exp(-(d**2) / (2 * np.mean(d**2)))
        scores[q] = e / e.sum()
    return scores
